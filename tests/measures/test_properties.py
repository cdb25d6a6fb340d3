"""What every measure must not depend on, whatever the numbers: drawn by Hypothesis."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bottomup.core.errors import UserError
from bottomup.measures import geometry, isotropy, neighbors, probes, projection, similarity
from bottomup.measures.change import within_types
from bottomup.measures.classifier_bound import classifier_bound
from bottomup.measures.mutual_information import (
    cluster,
    entropy,
    mutual_information,
    shuffled,
    without_blocks,
)
from bottomup.measures.pairs import pwcca_rows
from bottomup.measures.pwcca import moments_of, pwcca_distance, pwcca_from_moments
from bottomup.views.moments import Moments

N = 90
SEEDS = st.integers(0, 2**32 - 1)
# A whole view, or one neuron, at another scale.
SCALES = st.sampled_from([1e-8, 1e-3, 1.0, 1e4, 1e8])
# A neuron that is larger than the others as in GPT-2, of both signs or beside a large constant.
MASSIVE = st.sampled_from([(3e3, 0.0), (1e6, 0.0), (1.0, 1e4), (3e3, 1e4), (1e-6, 0.0)])

PWCCA = {
    "definition by x": pwcca_distance,
    "definition by y": partial(pwcca_distance, weights="y"),
}
BY_COVARIANCES = {
    **PWCCA,
    "svcca-2019": partial(pwcca_distance, variant="svcca-2019"),
    "cka": partial(similarity.linear_cka, debiased=False),
    "procrustes": similarity.procrustes_distance,
    "svcca": similarity.svcca_distance,
    "svcca of all": partial(similarity.svcca_distance, variance=1.0),
}
OF_TWO = {
    **BY_COVARIANCES,
    "cka_debiased": similarity.linear_cka,
    "rsa": similarity.rsa,
}
of_two = pytest.mark.parametrize("measure", OF_TWO.values(), ids=OF_TWO)
by_covariances = pytest.mark.parametrize("measure", BY_COVARIANCES.values(), ids=BY_COVARIANCES)


def pair(seed, d_x=4, d_y=6):
    """Two views with something in common, each with a mean of its own."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(N, 3))
    x, y = (common @ rng.normal(size=(3, d)) + rng.normal(size=(N, d)) for d in (d_x, d_y))
    return x + rng.normal(size=d_x), y - rng.normal(size=d_y)


def rotation(seed, d):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def labeled(seed, kinds=3):
    """A view, labels that it half tells, sentences of five and blocks of two sentences."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(N) % kinds)
    view = np.eye(kinds)[labels] @ rng.normal(size=(kinds, 4)) + rng.normal(size=(N, 4))
    return view, labels, np.arange(N) // 5, np.arange(N) // 10


def massive(view, neuron, scale, offset):
    changed = view.copy()
    changed[:, neuron] = changed[:, neuron] * scale + offset
    return changed


# Two views


@of_two
@given(SEEDS, SCALES, SCALES)
def test_the_scale_of_views_costs_no_digits(measure, seed, a, b):
    x, y = pair(seed)
    assert measure(a * x, b * y) == pytest.approx(measure(x, y), abs=1e-9)


@of_two
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e100, 1e300])
def test_a_scale_that_costs_all_digits_is_refused(measure, scale):
    x, y = pair(1)
    for views in ((scale * x, y), (x, scale * y)):
        with pytest.raises(UserError, match=r"to 1e-50|too large to square|at least 1e-50"):
            measure(*views)


@of_two
@given(SEEDS)
def test_the_order_of_occurrences_is_nothing(measure, seed):
    x, y = pair(seed)
    order = np.random.default_rng(seed).permutation(N)
    assert measure(x[order], y[order]) == pytest.approx(measure(x, y), abs=1e-9)


@by_covariances
@given(SEEDS)
def test_occurrences_that_come_twice_count_as_once(measure, seed):
    x, y = pair(seed)
    twice = np.repeat(np.arange(N), 2)
    assert measure(x[twice], y[twice]) == pytest.approx(measure(x, y), abs=1e-9)


@of_two
@given(SEEDS, st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_views_may_be_the_states_of_a_subject(measure, seed, dtype):
    x, y = (torch.from_numpy(8 * view).to(dtype).requires_grad_() for view in pair(seed))
    exact = measure(*(view.detach().double().numpy() for view in (x, y)))
    assert measure(x, y) == pytest.approx(exact, abs=1e-12)


@of_two
@given(SEEDS, st.sampled_from([np.float16, np.float32, np.int32]))
def test_views_of_any_number_format_are_those_numbers(measure, seed, dtype):
    x, y = ((8 * view).astype(dtype) for view in pair(seed))
    exact = measure(x.astype(np.float64), y.astype(np.float64))
    assert measure(x, y) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", [*PWCCA, "cka", "procrustes", "svcca", "svcca of all"])
@given(SEEDS, st.sampled_from([0.0, 5.0, -1e4]))
def test_constant_neurons_are_nothing(name, seed, value):
    x, y = pair(seed)
    x_padded, y_padded = (np.hstack([np.full((N, 2), value), view]) for view in (x, y))
    assert OF_TWO[name](x_padded, y_padded) == pytest.approx(OF_TWO[name](x, y), abs=1e-9)


@pytest.mark.parametrize("name", ["cka_debiased", "cka", "procrustes", "svcca"])
@given(SEEDS, SCALES)
def test_rotations_shifts_and_scales_are_nothing(name, seed, scale):
    x, y = pair(seed)
    turned, other = scale * (x @ rotation(seed, 4) + 3), y @ rotation(seed, 6) - 2
    assert OF_TWO[name](turned, other) == pytest.approx(OF_TWO[name](x, y), abs=1e-9)


@given(SEEDS, st.lists(SCALES, min_size=6, max_size=6), st.integers(0, 5), MASSIVE)
def test_pwcca_ignores_the_scale_of_each_neuron_of_the_other_view(seed, scales, neuron, one):
    x, y = pair(seed)
    value = pwcca_distance(x, y)
    assert pwcca_distance(x, y * scales) == pytest.approx(value, abs=1e-9)
    assert pwcca_distance(x, massive(y, neuron, *one)) == pytest.approx(value, abs=1e-9)
    mixed = y @ np.random.default_rng(seed).normal(size=(6, 6)) * scales + 2
    assert pwcca_distance(x, mixed) == pytest.approx(value, abs=1e-6)
    assert similarity.svcca_distance(x * scales[:4], y * scales, 1.0) == pytest.approx(
        similarity.svcca_distance(x, y, 1.0), abs=1e-9
    )


@given(SEEDS, MASSIVE)
def test_a_massive_neuron_of_the_weighting_view_takes_its_weight_and_no_digits(seed, one):
    """By the definition, from the data."""
    x, y = pair(seed)
    x = massive(x, 1, *one)
    a, b = x - x.mean(0), y - y.mean(0)
    # Bases of the views, which do not depend on the scale of neurons.
    q, _ = np.linalg.qr(a / a.std(0))
    u, rho, _ = np.linalg.svd(q.T @ np.linalg.qr(b)[0])
    alpha = np.abs((q @ u).T @ a).sum(1)[: len(rho)]
    expected = 1 - alpha @ rho / alpha.sum()
    assert pwcca_distance(x, y) == pytest.approx(expected, abs=1e-9)


@of_two
@given(SEEDS)
def test_distances_and_similarities_keep_to_their_range(measure, seed):
    x, y = pair(seed)
    least, most = {"procrustes": (0, 2), "cka_debiased": (-1, 1), "rsa": (-1, 1)}.get(
        next(name for name, other in OF_TWO.items() if other is measure), (0, 1)
    )
    for other in (y, x, -x, np.random.default_rng(seed).normal(size=(N, 3))):
        assert least - 1e-12 <= measure(x, other) <= most + 1e-12


@given(SEEDS, st.lists(st.integers(1, N - 1), min_size=1, max_size=5))
def test_moments_of_odd_parts_in_any_order_are_those_of_one_pass(seed, cuts):
    x, y = pair(seed)
    parts = np.split(np.random.default_rng(seed).permutation(N), np.unique(cuts))
    streamed, merged = Moments(4, 6), Moments(4, 6)
    for rows in parts:
        streamed.update(x[rows], y[rows])
        merged.merge(moments_of(x[rows], y[rows]))
    for moments in (streamed, merged):
        assert pwcca_from_moments(moments) == pytest.approx(pwcca_distance(x, y), abs=1e-10)


@given(SEEDS, SCALES, MASSIVE)
def test_what_is_left_without_a_block_does_not_depend_on_scales(seed, scale, one):
    x, y = pair(seed)
    blocks = np.random.default_rng(seed).integers(4, size=N)
    [row, *_] = pwcca_rows(x, y, blocks, ["definition"])
    [other, *_] = pwcca_rows(scale * x, massive(y, 0, *one), blocks, ["definition"])
    assert other["without"] == pytest.approx(row["without"], abs=1e-8)
    for block in range(4):
        kept = blocks != block
        expected = pwcca_distance(x[kept], y[kept])
        assert row["without"][block] == pytest.approx(expected, abs=1e-9)


@given(SEEDS, MASSIVE, SCALES)
def test_change_within_types_ignores_names_order_and_scales(seed, one, scale):
    x, y = pair(seed)
    rng = np.random.default_rng(seed)
    types, blocks = np.arange(N) % 7, rng.integers(3, size=N)
    found = within_types(x, y, types, blocks, 3)
    assert 0 <= found["distance"] <= 1
    order, names = rng.permutation(N), rng.permutation(7) + 100
    changed = scale * x[order], massive(y, 2, *one)[order], names[types][order], blocks[order]
    other = within_types(*changed, 3)
    assert other["distance"] == pytest.approx(found["distance"], abs=1e-9)
    assert other["without"] == pytest.approx(found["without"], abs=1e-8)


@given(SEEDS)
def test_a_neuron_that_tells_the_type_alone_is_nothing_within_types(seed):
    x, y = pair(seed)
    types, blocks = np.arange(N) % 7, np.arange(N) % 3
    of_types = np.random.default_rng(seed).normal(size=7)[types] * 1e4
    padded = np.column_stack([of_types, y])
    found = (within_types(x, of_y, types, blocks, 3)["distance"] for of_y in (y, padded))
    assert np.ptp(list(found)) < 1e-9


# Labels and clusters


@given(SEEDS)
def test_information_ignores_names_and_order_and_is_symmetric(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(5, size=N), rng.integers(4, size=N)
    value = mutual_information(a, b)
    assert 0 <= value <= min(entropy(a), entropy(b)) + 1e-12
    order = rng.permutation(N)
    names = np.array(list("vwxyz"))[rng.permutation(5)]
    assert mutual_information(names[a][order], -b[order]) == pytest.approx(value, abs=1e-12)
    assert mutual_information(b, a) == pytest.approx(value, abs=1e-12)
    twice = np.repeat(np.arange(N), 2)
    assert mutual_information(a[twice], b[twice]) == pytest.approx(value, abs=1e-12)
    blocks = np.arange(N) // 30
    for block, of_rest in enumerate(without_blocks(a, b, blocks, 3)):
        rest = blocks != block
        assert of_rest == pytest.approx(mutual_information(a[rest], b[rest]), abs=1e-12)


@given(SEEDS, st.integers(-60, 60))
def test_clusters_are_numbered_shared_by_equal_rows_and_of_any_scale(seed, exponent):
    view = np.random.default_rng(seed).normal(size=(30, 4))[np.arange(N) % 30]
    found = cluster(view, 7, seed=seed)
    assert found.shape == (N,) and found.min() >= 0 and found.max() < 7
    assert (found == found[np.arange(N) % 30]).all()
    assert (cluster(view * 2.0**exponent, 7, seed=seed) == found).all()


@given(SEEDS, st.sampled_from([0.0, 1e4, -1e8]), SCALES)
def test_clusters_that_lie_apart_are_found_far_from_0_and_at_any_scale(seed, offset, scale):
    kinds = np.arange(N) % 3
    noise = np.random.default_rng(seed).normal(size=(N, 4))
    found = cluster(scale * (100 * np.eye(4)[kinds] + noise + offset), 3, seed=1)
    if len(np.unique(found)) == 3:  # the first centers may be two of one kind
        assert mutual_information(kinds, found) == pytest.approx(np.log(3))


# One view


@pytest.mark.parametrize("metric", neighbors.METRICS)
@given(SEEDS, SCALES, st.sampled_from([0.0, 1e4]))
def test_neighbors_are_the_true_ones_at_any_scale_and_offset(metric, seed, scale, offset):
    view = np.random.default_rng(seed).normal(size=(N, 6)) + offset * np.eye(6)[0]
    found = neighbors.nearest(scale * view, 5, metric=metric)
    assert_nearest(view, found, metric)
    order = np.random.default_rng(seed).permutation(N)
    assert_nearest(view[order], neighbors.nearest(view[order], 5, metric=metric), metric)


@pytest.mark.parametrize("metric", neighbors.METRICS)
@pytest.mark.parametrize("d", [3, 64])
@given(SEEDS, st.sampled_from([30.0, 100.0, 300.0, 1e3, 3e3, 1e4]))
def test_one_neuron_of_both_signs_hides_no_neighbor(metric, d, seed, ratio):
    view = massive(np.random.default_rng(seed).normal(size=(N, d)), 0, ratio, 0.0)
    assert_nearest(view, neighbors.nearest(view, 5, metric=metric), metric)


def assert_nearest(view, found, metric):
    """By distances in extended precision, to 1e-4 of them."""
    points = view.astype(np.longdouble)
    if metric == "cosine":
        points /= np.sqrt((points**2).sum(1, keepdims=True))
    squares = ((points[:, None] - points) ** 2).sum(2)
    np.fill_diagonal(squares, np.inf)
    expected = np.sort(squares, axis=1)[:, : found.shape[1]]
    np.testing.assert_allclose(np.take_along_axis(squares, found, 1), expected, rtol=1e-4)


MEASURES = {
    "self_similarity": lambda view, words, _: isotropy.self_similarity(view, words),
    "intra_sentence": lambda view, _, sentences: isotropy.intra_sentence_similarity(
        view, sentences
    ),
    "variance": lambda view, words, _: isotropy.maximum_explainable_variance(view, words),
    "anisotropy": lambda view, words, _: isotropy.anisotropy(view, words),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(SEEDS, SCALES)
def test_isotropy_ignores_scale_rotation_names_and_order(measure, seed, scale):
    view, words, sentences, _ = labeled(seed)
    value = measure(view, words, sentences)
    assert value <= 1 + 1e-12
    order = np.random.default_rng(seed).permutation(N)
    turned, names = scale * (view @ rotation(seed, 4)), np.array(["b", "", "a"])[words]
    for changed in (turned, -turned):
        other = measure(changed[order], names[order], 30 - sentences[order])
        assert other == pytest.approx(value, abs=1e-9)
    low = view.astype(np.float16)
    exact = measure(low.astype(np.float64), words, sentences)
    assert measure(low, words, sentences) == pytest.approx(exact, abs=1e-12)


@given(SEEDS, st.lists(SCALES, min_size=4, max_size=4), MASSIVE)
def test_standardized_isotropy_ignores_the_scale_of_each_neuron(seed, scales, one):
    view, *_ = labeled(seed)
    whole = dict((name, rows.copy()) for name, rows in isotropy.versions(view))
    for changed in (view * scales, massive(view, 2, *one)):
        other = dict((name, rows.copy()) for name, rows in isotropy.versions(changed))
        np.testing.assert_allclose(other["standardized"], whole["standardized"], atol=1e-9)


def of_all(measure):
    """A measure of a view, as of a text of a single block."""
    return lambda view: measure(view, np.zeros(len(view), dtype=int), 1)[0][0]


GEOMETRY = {
    "matrix_entropy": geometry.matrix_entropy,
    "curvature": geometry.curvature,
    "intrinsic_dimension": of_all(geometry.intrinsic_dimensions),
    "effective_rank": of_all(geometry.effective_ranks),
}


@pytest.mark.parametrize("name", GEOMETRY)
@given(SEEDS, SCALES)
def test_geometry_ignores_scale_rotation_and_the_way_back(name, seed, scale):
    """And the order of occurrences, but for curvature; and shifts, but for the entropy."""
    view, measure = labeled(seed)[0], GEOMETRY[name]
    value, turned = measure(view), scale * (view @ rotation(seed, 4))
    order = np.random.default_rng(seed).permutation(N)
    changed = [turned, -turned, turned[::-1]]
    changed += [turned[order]] if name != "curvature" else []
    changed += [turned + 3 * scale] if name != "matrix_entropy" else []
    for other in changed:
        assert measure(other) == pytest.approx(value, rel=1e-6)


@settings(max_examples=settings.default.max_examples // 2)
@given(SEEDS, st.lists(st.sampled_from([-40, -20, 0, 12, 30]), min_size=4, max_size=4), SCALES)
def test_probes_and_the_bound_ignore_the_scale_of_each_neuron(seed, exponents, scale):
    view, labels, _, blocks = labeled(seed)
    # By powers of two nothing is rounded: the same to the last bit.
    powers = view * np.exp2(exponents)
    bits = partial(probes.online_code_length, n_labels=3, device="cpu")
    bound = partial(classifier_bound, seed=1, device="cpu")
    assert bits(powers, labels) == bits(view, labels)
    value = bound(view, labels, blocks, 9)
    assert bound(powers, labels, blocks, 9).mi_nats == value.mi_nats <= value.entropy_nats
    assert bits(scale * view + 1e4 * scale, labels) == pytest.approx(bits(view, labels), rel=0.01)
    other = bound(scale * view, labels, blocks, 9).mi_nats
    assert other == pytest.approx(value.mi_nats, abs=1e-3)


@settings(max_examples=settings.default.max_examples // 2)
@given(SEEDS)
def test_probes_and_the_bound_ignore_names_of_labels_and_constant_neurons(seed):
    view, labels, _, blocks = labeled(seed)
    padded = np.column_stack([view, np.full(N, 1e4)])
    names = np.array([20, 0, 10])[labels]
    value = classifier_bound(view, labels, blocks, 9, 1, "cpu").mi_nats
    renamed = classifier_bound(view, names, blocks, 9, 1, "cpu").mi_nats
    assert renamed == pytest.approx(value, abs=1e-3)
    bits = probes.online_code_length(view, labels, 3, device="cpu")
    renamed = probes.online_code_length(padded, np.array([2, 0, 1])[labels], 3, device="cpu")
    assert renamed == pytest.approx(bits, rel=0.01)


@given(SEEDS, SCALES)
def test_a_picture_is_standardized_from_any_place_and_scale(seed, scale):
    picture = np.random.default_rng(seed).normal(size=(20, 2))
    found = projection.standardize(scale * (picture + 10))
    np.testing.assert_allclose(found, projection.standardize(picture), atol=1e-9)
    assert np.square(found).sum(1).mean() == pytest.approx(1)
    assert np.abs(found.mean(0)).max() < 1e-9


# What cannot be measured


def of_one_view():
    words, sentences, blocks = np.arange(N) % 3, np.arange(N) // 5, np.arange(N) // 10
    return {
        "cluster": lambda view: cluster(view, 3, 1),
        "pwcca": lambda view: pwcca_distance(view, np.random.default_rng(0).normal(size=(N, 3))),
        "moments": lambda view: moments_of(view, view).merge(Moments(4, 4)),
        **{
            name: partial(lambda view, measure: measure(view, pair(0)[0]), measure=measure)
            for name, measure in OF_TWO.items()
        },
        "similarity": lambda view: list(similarity.similarity(view, view, blocks)),
        **{
            name: partial(lambda view, measure: measure(view, words, sentences), measure=measure)
            for name, measure in MEASURES.items()
        },
        "isotropy": lambda view: list(isotropy.isotropy([view], words, sentences, blocks)),
        "geometry": lambda view: list(geometry.geometry([view], sentences, blocks, N, 1)),
        "nearest": lambda view: neighbors.nearest(view, 3),
        "probe": lambda view: list(
            probes.probe("tag", view, words, words, sentences, blocks, 9, device="cpu")
        ),
        "mix": lambda view: list(
            probes.scalar_mix("tag", [view], words, sentences, blocks, 9, device="cpu")
        ),
        "code": lambda view: probes.online_code_length(view, words, 3, device="cpu"),
        "bound": lambda view: classifier_bound(view, words, blocks, 9, 1, "cpu"),
        "picture": lambda view: projection.pictures([view], 10),
    }


each = pytest.mark.parametrize("measure", of_one_view().values(), ids=of_one_view())
BAD = {
    "NaN": np.where(np.arange(4 * N).reshape(N, 4) == 7, np.nan, 1.5),
    "infinity": np.where(np.arange(4 * N).reshape(N, 4) == 7, np.inf, 1.5),
    "text": np.full((N, 4), "a"),
    "objects": np.full((N, 4), None),
    "complex": np.full((N, 4), 1j),
    "one axis": np.zeros(N),
    "three axes": np.zeros((2, N, 4)),
    "no width": np.zeros((N, 0)),
    "no rows": np.zeros((0, 4)),
}


@each
@pytest.mark.parametrize("view", BAD.values(), ids=BAD)
def test_a_view_that_is_none_is_refused_in_one_line(measure, view, request):
    if request.node.callspec.id.startswith(("NaN-moments", "infinity-moments", "no rows-moments")):
        pytest.skip("moments add up what they are given, and refuse when asked for a value")
    with pytest.raises((UserError, ValueError)) as error:
        measure(view)
    assert type(error.value) in (UserError, ValueError)
    assert "\n" not in str(error.value) and len(str(error.value)) > 20


@each
def test_rows_that_do_not_match_are_refused_in_one_line(measure, request):
    view = np.random.default_rng(0).normal(size=(N - 1, 4))
    if request.node.callspec.id in ("cluster", "nearest", "picture", "moments"):
        pytest.skip("it is given one view alone, so no other rows can differ")
    with pytest.raises(UserError, match=str(N)) as error:
        measure(view)
    assert "\n" not in str(error.value)


@each
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, np.uint8])
def test_any_real_numbers_are_measured(measure, dtype):
    measure((20 * np.random.default_rng(0).random(size=(N, 4))).astype(dtype))


@each
def test_a_view_of_one_neuron_is_measured_or_refused_in_one_line(measure, request):
    view = np.random.default_rng(0).normal(size=(N, 1))
    if "rsa" in request.node.callspec.id:  # in the table of similarities it has no value
        with pytest.raises(UserError, match="RSA needs rows that vary"):
            measure(view)
    elif request.node.callspec.id == "moments":
        with pytest.raises(UserError, match="width 4 and 4 given to moments of width 1 and 1"):
            measure(view)
    else:
        measure(view)


def test_shuffled_information_is_refused_as_information_is():
    for measure in (mutual_information, lambda a, b: shuffled(a, b, 1)):
        with pytest.raises(ValueError, match="3 labels and 2 clusters"):
            measure(np.arange(3), np.arange(2))
        with pytest.raises(ValueError, match=r"shapes \(3, 2\) and \(3, 2\)"):
            measure(np.zeros((3, 2)), np.zeros((3, 2)))
