"""What a folder of a checkpoint may not do: all but to hold safetensors and say what they are."""

import dataclasses
import json
import pickle
import shutil

import pytest
import torch
import transformers
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from transformers import PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.subjects import admission
from bottomup.subjects.admission import admitted, first_line, weight_files
from tests.subjects import every_family
from tests.subjects.test_checkpoint_folders import edit, refused

IDS = torch.tensor([[3, 4, 5, 6]])
OPENINGS = [subjects.load, lambda path: subjects.untrained(path, 1)]


def states(folder):
    return torch.stack(subjects.load(folder).hidden_states(IDS))


class Run:
    """What a pickle does to who opens it."""

    def __reduce__(self):
        return open, ("was_run", "w")


@pytest.mark.parametrize("name", ["m.bin", "../p.safetensors", "sub/p.safetensors", "", 3, None])
def test_an_index_names_safetensors_beside_it_alone(folder, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shutil.move(folder / "model.safetensors", folder.parent / "p.safetensors")
    (folder / "m.bin").write_bytes(pickle.dumps(Run()))
    (folder / "sub").mkdir()
    shutil.copy(folder.parent / "p.safetensors", folder / "sub")
    index = folder / "model.safetensors.index.json"
    for named in (name, str(folder.parent / "p.safetensors")):
        index.write_text(json.dumps({"weight_map": {"a": "q.safetensors", "b": named}}))
        refused(folder, "index.json names .* as a file of weights; allowed: names that end in .saf")
    index.write_text(json.dumps({"weight_map": {"a": "q.safetensors"}}))
    refused(folder, "index.json names q.safetensors, which is not there")
    with pytest.raises(UserError):
        weight_files(folder)
    assert not (tmp_path / "was_run").exists()


def test_nothing_but_what_is_admitted_is_seen(folder):
    """Not by from_pretrained either, which looks for adapters, templates and other weights."""
    for name in ("adapter_config.json", "chat_template.jinja", "pytorch_model.bin", "own.py"):
        (folder / name).write_text("{}")
    (folder / "model.fp16.safetensors").write_text("")
    with admitted(folder, weights=True) as there:
        seen = {path.name for path in there.iterdir()}
        assert constants.HF_HUB_OFFLINE
    assert not there.exists()
    wanted = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert wanted <= seen <= wanted | {"special_tokens_map.json"}


def test_of_the_map_of_special_tokens_only_names_of_tokens_are_seen(folder):
    """transformers takes the rest for arguments, such as a vocabulary in another folder."""
    written = {"vocab": "/elsewhere", "vocab_file": "/elsewhere", "unk_token": "<unk>"}
    (folder / "special_tokens_map.json").write_text(json.dumps(written))
    with admitted(folder) as there:
        seen = json.loads((there / "special_tokens_map.json").read_text())
    assert seen == {"unk_token": "<unk>"}


@pytest.mark.long
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((f"{under}attn_implementation", "a/kernel") for under in ("", "_")),
        ("_experts_implementation", "a/kernel"),
        ("use_kernels", True),
        ("kernel_config", {"a": "a/kernel"}),
        ("transformers_weights", "m.bin"),
        ("torch_dtype", "hub"),
        ("dtype", "load"),
        ("return_dict", False),
        ("use_return_dict", False),
        ("fusion_config", {"patch_embeddings": True}),
        ("_name_or_path", "a/model"),
        ("trust_remote_code", True),
        ("extra_files", ["/elsewhere.safetensors"]),
        ("fast_tokenizer_files", ["tokenizer.4.0.json"]),
        ("enable_sampling", True),
        ("chunk_size_feed_forward", 3),
    ],
)
def test_how_a_model_is_run_is_not_its_configs_to_say(folder, key, value, inside):
    expected = states(folder)
    edit(folder / "config.json", **({"other_config": {key: value}} if inside else {key: value}))
    assert torch.equal(states(folder), expected)
    with admitted(folder) as there:
        assert key not in (there / "config.json").read_text()


@pytest.mark.parametrize("named", ["pipeline", "AutoModel", "set_seed", "BertConfig"])
def test_a_config_calls_nothing_but_models(folder, named, monkeypatch):
    """The classes that it says to be of are made, to see whether they predict."""
    called = []
    monkeypatch.setattr(transformers, named, lambda *given: called.append(given), raising=True)
    edit(folder / "config.json", architectures=[named])
    assert not subjects.load(folder).predicts_tokens
    assert not called


def test_what_a_family_knows_of_its_shape_is_left(folder):
    """In transformers as it is installed: adapters of X-MOD, kernels of Mamba and all others. The
    type of numbers, the form of an answer and how much is computed at once are known to all, and
    ours to say."""
    known = {
        field.name
        for kind in every_family.classes(PreTrainedConfig, "configuration_")
        for field in dataclasses.fields(kind)
    }
    assert {"adapter_reduction_factor", "conv_kernel", "id2label"} <= known
    edit(folder / "config.json", **dict.fromkeys(known))
    with admitted(folder) as there:
        assert known - json.loads((there / "config.json").read_text()).keys() == {
            "chunk_size_feed_forward",
            "dtype",
            "return_dict",
        }


@pytest.mark.long
def test_no_family_is_larger_than_what_is_allowed(folder):
    """As its config is without being told, which is of a published model."""
    for family, kind in CONFIG_MAPPING.items():
        try:
            usual = kind().to_dict() | {"quantization_config": None}
        except Exception:  # a family that is made of others
            continue
        (folder / "config.json").write_text(json.dumps(usual, default=str))
        with admitted(folder):
            assert family


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_model_of_too_many_parts(folder, opening, monkeypatch):
    monkeypatch.setattr(admission, "MOST_PARTS", 1000)
    assert opening(folder).layers == 2
    edit(folder / "config.json", num_hidden_layers=1000)
    refused(folder, "config.json describes a model of more than 1000 parts; fetch", opening)


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        ({"quantization_config": {"quant_method": "any"}}, r"quantized \(quantization_config: any"),
        ({"quantization_config": {"load_in_8bit": True}}, r"quantized \(quantization_config\)"),
        (
            {"text_config": {"compression_config": {"a": 1}}},
            r"are quantized .*dequantize",
        ),
        ({"text_config": [{"auto_map": {}}]}, r"own \(auto_map\), .* delete auto_map in a"),
        ({"model_type": None}, "does not load the model in .*: The"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers: 1000000000; allowed: at most 32768"),
        ({"num_labels": 10**12}, "num_labels: 1000000000000; allowed: at most 1048576"),
        ({"attention_types": [[["global"], 10**9]]}, "attention_types: 1000000000; allowed: at m"),
        ({"text_config": {"block_sizes": [1, 10**9]}}, "block_sizes: 1000000000; allowed: at most"),
        ({"hidden_size": 10**9}, r"describes a model of \d+ numbers, and its weights hold \d+"),
        ({"vocab_size": 10**12}, r"describes a model of \d+ numbers, and its weights hold \d+"),
    ],
)
def test_what_cannot_be_left_out_is_refused_in_a_line(folder, opening, values, pattern):
    edit(folder / "config.json", **values)
    refused(folder, pattern, opening)


@pytest.mark.parametrize(
    "of_program",
    [
        {"sudachi_kwargs": {"sudachi_config_path": "downloads/a/sudachi.json"}},
        {"sudachi_kwargs": {"sudachi_resource_dir": "a"}},
        {"mecab_kwargs": {"mecab_dic": None, "mecab_option": "-r a/mecabrc -d a"}},
    ],
)
def test_no_tokenizer_gives_a_program_files_of_its_own(folder, of_program):
    """A config of Sudachi's names plug-ins, which are libraries that it loads and runs."""
    usual = {"sudachi_kwargs": {"sudachi_dict_type": "core", "sudachi_config_path": None}}
    edit(folder / "tokenizer_config.json", **usual)
    with admitted(folder) as seen:
        assert usual.items() <= json.loads((seen / "tokenizer_config.json").read_text()).items()
    edit(folder / "tokenizer_config.json", **of_program)
    with pytest.raises(UserError, match=r"_config.json has .*, which is never"), admitted(folder):
        pass


def test_a_key_that_is_not_there_is_told_as_such():
    """Its error has nothing but the key."""
    assert first_line(KeyError("config")) == "it lacks 'config'"


def test_a_config_so_deep_that_json_gives_up(folder):
    (folder / "config.json").write_text('{"a":' * 100_000)
    refused(folder, r"config.json is not JSON \(maximum recursion depth")


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.int32, torch.bool, torch.float8_e4m3fn, torch.uint8]
)
def test_weights_are_floating_point_numbers(folder, dtype):
    weights = load_file(folder / "model.safetensors")
    name = "bert.encoder.layer.1.output.dense.weight"
    weights[name] = weights[name].to(dtype)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    refused(
        folder,
        rf"weights in .* with: 1, of which {name} is .*; allowed: F64, F32, F16, BF16\. If they",
    )


def test_buffers_of_older_versions_may_be_whole_numbers(folder):
    expected = states(folder)
    weights = load_file(folder / "model.safetensors")
    weights["bert.embeddings.position_ids"] = torch.arange(12)[None]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert torch.equal(states(folder), expected)


def test_without_weights_a_twin_is_of_bounded_size(folder, monkeypatch):
    (folder / "model.safetensors").unlink()
    assert subjects.untrained(folder, 1).layers == 2
    monkeypatch.setattr(admission, "LARGEST", 100)
    refused(folder, "at most 100 are built", OPENINGS[1])


@pytest.mark.parametrize("alone", [True, False])
def test_an_adapter_is_named(folder, alone):
    """Beside a whole model, too: the model alone is another one."""
    for path in folder.iterdir() if alone else []:
        path.unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "a/model"}')
    for opening in OPENINGS:
        refused(folder, r"holds an adapter for the model a/model; .*merge_and_unload", opening)


def test_whole_numbers_are_those_of_a_models_own_buffers(tmp_path):
    """As the expert of each token; not quantized weights, nor others of the same end."""
    part = torch.zeros(2, dtype=torch.int64)
    save_file({"layers.0.ffn.gate.tid2eid": part}, tmp_path / "model.safetensors")
    admission.require_numbers(tmp_path, set(), {"tid2eid"})
    for whole in (set(), {"eid"}):
        with pytest.raises(UserError, match=r"gate\.tid2eid is I64"):
            admission.require_numbers(tmp_path, set(), whole)
