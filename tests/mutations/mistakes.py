"""The mistakes: by room, in which file, what stands there, and what is put in its place."""

# ruff: noqa: E501

from dataclasses import dataclass

# By room, the tests that are to notice.
TESTS = {
    "corpus": ["tests/corpus"],
    "model": ["tests/model"],
    "objectives": ["tests/objectives"],
    "training": ["tests/training"],
    "subjects": ["tests/subjects"],
    "views": ["tests/views"],
    "measures": ["tests/measures"],
    "heads": ["tests/heads"],
    "claims": ["tests/claims"],
    "figures": ["tests/figures"],
    "workflow": ["tests/workflow/test_config.py", "tests/workflow/test_accepted_configs.py"],
    "scripts": ["tests/corpus", "tests/views", "tests/measures", "tests/heads", "tests/claims"],
    "rules": ["tests/workflow/test_jobs.py"],
    "stale": [f"tests/workflow/test_{name}.py" for name in ("contents", "digest", "wildcards")],
}
TESTS["scripts"] += ["tests/figures/test_plot_figure.py"]
TESTS["stale"] += ["tests/test_planned.py", "tests/workflow/test_records.py"]


@dataclass(frozen=True)
class Mistake:
    """A mistake in one place of one file."""

    room: str
    file: str
    old: str
    new: str

    def made(self, text: str) -> str:
        """The text of the file with the mistake."""
        assert text.count(self.old) == 1, f"{self.old!r}: {text.count(self.old)} in {self.file}"
        return text.replace(self.old, self.new)


def of(room: str, file: str, *pairs: tuple[str, str]) -> list[Mistake]:
    folder = "" if room in ("scripts", "rules") or "/" in file else f"bottomup/{room}/"
    name = f"{room}/{file}" if room in ("scripts", "rules") else f"{folder}{file}"
    return [Mistake(room, name, old, new) for old, new in pairs]


MISTAKES = [
    *of(
        "corpus",
        "blocks.py",
        ("N_BLOCKS = 20", "N_BLOCKS = 10"),
        ("order[np.argsort(-lengths[order]", "order[np.argsort(lengths[order]"),
        ("(size + lengths[document], block)", "(size + 1, block)"),
        ('generator(seed, "blocks")', 'generator(1, "blocks")'),
    ),
    *of("corpus", "cleaning.py", ("MAX_WORD = 1000", "MAX_WORD = 100"), ('"NFC"', '"NFD"')),
    *of(
        "corpus",
        "splits.py",
        ("default_rng(seed)", "default_rng(1)"),
        ("fresh_by[name] & ~similar", "drawn_by[name] & ~similar"),
        ('fresh_by["dev"] | fresh_by["test"]', 'fresh_by["dev"]'),
        ("np.cumsum(gained), size) + (size > 0)", "np.cumsum(gained), size)"),
    ),
    *of(
        "corpus",
        "frequencies.py",
        ("np.argsort(-counts[N_SPECIAL:]", "np.argsort(counts[N_SPECIAL:]"),
        ('method="min", ascending=False', 'method="first", ascending=False'),
    ),
    *of(
        "corpus",
        "tokens.py",
        ("np.repeat(self.offsets[sentences] - offsets[:-1]", "np.repeat(self.offsets[sentences]"),
    ),
    *of(
        "model",
        "attention.py",
        ("queries.shape[-1] ** 0.5", "keys.shape[-2] ** 0.5"),
        ("self.out.weight * self.gates.repeat_interleave(self.d_head)", "self.out.weight"),
        (
            "keys, values = self.key_value(memory).chunk(2, dim=-1)",
            "values, keys = self.key_value(memory).chunk(2, dim=-1)",
        ),
    ),
    *of(
        "model",
        "beam_search.py",
        ("ended / penalty(length, length_penalty)", "ended"),
        (
            "hope = scores[:, 0] / penalty(max_length, length_penalty)",
            "hope = scores[:, 0] / penalty(1, length_penalty)",
        ),
        ("(before[..., None] + found)", "(scores[..., None] + found)"),
        ("if ended[row] > best_score[sentence]", "if ended[row] < best_score[sentence]"),
        ("words.topk(min(beam_size, words.shape[-1]), dim=-1)", "words.topk(1, dim=-1)"),
    ),
    *of(
        "model",
        "transformer.py",
        (
            "self.tokens(ids) * math.sqrt(self.bias.shape[0]) + self.bias",
            "self.tokens(ids) + self.bias",
        ),
        ("self.inner(x).relu()", "self.inner(x)"),
        (
            "return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), weights",
            "return x + self.dropout(self.feed_forward(x)), weights",
        ),
        ("hidden_states, attentions = [x], []", "hidden_states, attentions = [ids], []"),
    ),
    *of(
        "objectives",
        "lm.py",
        ("causal = True", "causal = False"),
        ("following[:, :-1] = source[:, 1:]", "following[:, 1:] = source[:, :-1]"),
    ),
    *of(
        "objectives",
        "mt.py",
        ("IGNORE, target))", "IGNORE, source))"),
        ('predicts = "target"', 'predicts = "source"'),
    ),
    *of(
        "objectives",
        "lm_noise.py",
        ("Field(0.1, gt=0", "Field(0.2, gt=0"),
        ("with_random_tokens(source, self.replace", "with_random_tokens(source, 0.5"),
    ),
    *of(
        "objectives",
        "mlm.py",
        ("choose: float = Field(0.15", "choose: float = Field(0.2"),
        ("mask: float = Field(0.8", "mask: float = Field(0.7"),
        ("replace: float = Field(0.1,", "replace: float = Field(0.2,"),
        ("(source != PAD) & (source != EOS) & (rng", "(source != PAD) & (rng"),
        ("np.where(chosen, source, IGNORE)", "np.where(source != PAD, source, IGNORE)"),
        ("fate >= self.mask", "fate < self.mask"),
        (
            "rng.integers(N_SPECIAL, vocab_size, source.shape)",
            "rng.integers(0, vocab_size, source.shape)",
        ),
    ),
    *of(
        "training",
        "schedule.py",
        ("** 0.5", "** 0.6"),
        ("min(step / warmup_steps, fallen)", "fallen"),
        ("1 - spent", "1 - spent / 2"),
    ),
    *of(
        "training",
        "optimizers.py",
        ("betas=(0.9, 0.998)", "betas=(0.9, 0.98)"),
        ("eps=1e-9", "eps=1e-6"),
        ('ENDS = ("tokens.weight", "head.weight")', 'ENDS = ("tokens.weight",)'),
    ),
    *of(
        "training",
        "batches.py",
        ("(end + 1 - start) * longest > batch_tokens", "(end - start) * longest > batch_tokens"),
        ("np.maximum(self.source.lengths, self.target.lengths)", "self.source.lengths"),
        ("text.lengths <= longest", "text.lengths < longest"),
        ('generator(seed, "order", number)', 'generator(seed, "order", 0)'),
        ("for i in rng.permutation(len(batches))", "for i in range(len(batches))"),
    ),
    *of(
        "training",
        "loop.py",
        (
            "progress.tokens += int(self.text.source.lengths[sentences].sum())",
            "progress.tokens += int(self.text.lengths[sentences].sum())",
        ),
        ("smoothing=0.0)\n            total", "smoothing=0.1)\n            total"),
    ),
    *of(
        "subjects",
        "runs.py",
        ("return not self.causal and not self.translates", "return not self.causal"),
        ("return mask.tril() if self.model.config.causal else mask", "return mask"),
        ("return [PAD, EOS]", "return [PAD]"),
        ("self.model.encoder.layers[layer - 1](below", "self.model.encoder.layers[0](below"),
        ("mask = mask & ~from_others(hidden)", "mask = mask & from_others(hidden)"),
        ("mask = visible & ~from_others(tokens) | itself", "mask = visible & ~from_others(tokens)"),
    ),
    *of(
        "subjects",
        "words.py",
        ("kept = ids[:read] + ids[len(ids) - tail :]", "kept = ids[:read]"),
        ("cut += len(kept) < len(ids)", "cut += 1"),
        ("np.cumsum([0, *counts])", "np.cumsum([1, *counts])"),
    ),
    *of(
        "views",
        "extraction.py",
        ("lengths = lasts - firsts + 1", "lengths = lasts - firsts"),
        ("sums / lengths[:, None]", "sums / lengths[:1, None]"),
        ("(subject.layers + 1, len(table)", "(subject.layers, len(table)"),
        ("view[rows] = exact", "view[rows[::-1]] = exact"),
    ),
    *of(
        "views",
        "annotations.py",
        ("words != text.words[index + 1]", "words != text.words[index - 1]"),
        ('[["sentence", "word"]]', '[["word", "sentence"]]'),
    ),
    *of(
        "views",
        "moments.py",
        ("rows -= mean", "rows -= 0 * mean"),
        ("share = part.n / left.n", "share = part.n / self.n"),
    ),
    *of(
        "views",
        "occurrences.py",
        ('table["output_id"] = table["right_id"]', 'table["output_id"] = table["left_id"]'),
        ('generator(seed, "occurrences")', 'generator(1, "occurrences")'),
        ("np.searchsorted(sizes, n) + 1", "np.searchsorted(sizes, n)"),
        ('& (inputs != table["output_id"])', "& (inputs >= 0)"),
    ),
    *of(
        "measures",
        "jackknife.py",
        ("np.sqrt(1 - 1 / np.maximum(n, 1))", "1.0"),
        ("stdtrit(df, 0.975)", "stdtrit(df, 0.95)"),
        ("by_block.sum(0) - by_block", "by_block"),
        ("np.hypot(of_text, noise)", "of_text"),
    ),
    *of(
        "measures",
        "mutual_information.py",
        ("SHUFFLES = 5", "SHUFFLES = 1"),
        ('generator(seed, "shuffled labels")', 'generator(1, "shuffled labels")'),
        ('seeds.generator(seed, "clusters")', 'seeds.generator(1, "clusters")'),
        ("entropy(labels) + entropy(clusters) - joint", "entropy(labels) - joint"),
        ("ddof=1).mean() / clusterings", "ddof=1).mean()"),
    ),
    *of(
        "measures",
        "labels.py",
        ('"replaced": ["replaced", "drawn"]', '"replaced": ["replaced"]'),
        ("[:n_tokens]", "[1:n_tokens]"),
    ),
    *of(
        "measures",
        "change.py",
        ('"layer_b": layer + 1', '"layer_b": layer + 2'),
        ("if len(rows) < n:", "if len(rows) <= n:"),
        ("for group, matching, rows in draws:", "for group, matching, rows in draws[:1]:"),
    ),
    *of(
        "measures",
        "influence.py",
        ("STRATA = 5", "STRATA = 1"),
        ("below = usual", "below = below"),
        ("block_of[case.sentences[rows]]", "block_of[case.sentences[rows][::-1]]"),
    ),
    *of(
        "measures",
        "neighbors.py",
        ("AMBIGUOUS = 0.5", "AMBIGUOUS = 0.9"),
        ('"left_token": "left_id"', '"left_token": "right_id"'),
    ),
    *of(
        "measures",
        "quality.py",
        (
            'for text in pairs["target"].iloc[some]',
            'for text in pairs["target"].iloc[: len(some)]',
        ),
        ("2 * source.shape[1] + 10", "source.shape[1]"),
        ("1 / perplexity.without", "perplexity.without"),
    ),
    *of("measures", "pwcca.py", ("CUTOFF = 1e-12", "CUTOFF = 1e-3")),
    *of(
        "measures",
        "similarity.py",
        ("np.triu_indices(len(a), 1)", "np.triu_indices(len(a), 0)"),
        ('generator(seed, "rsa")', 'generator(1, "rsa")'),
    ),
    *of(
        "heads",
        "gates.py",
        ("TEMPERATURE = 0.33", "TEMPERATURE = 0.66"),
        ("LOW, HIGH = -0.1, 1.1", "LOW, HIGH = -0.2, 1.2"),
        ("(self.log_alpha > 0).to", "(self.log_alpha > 1).to"),
        ("math.log(-LOW / HIGH)", "math.log(HIGH / -LOW)"),
        (
            "gate.open_probability().sum() for gate in gates]).mean()",
            "gate.open_probability().sum() for gate in gates]).sum()",
        ),
    ),
    *of(
        "heads",
        "confidence.py",
        ("keys & _shifted(keys) if subject.causal else keys", "keys"),
        ("(target != PAD) & (target != EOS)", "(target != PAD)"),
    ),
    *of(
        "heads",
        "importance.py",
        ("next(slopes).abs()", "next(slopes)"),
        ("gates[head] = before", "gates[head] = 1.0"),
        ("found.new_zeros(labels.shape)", "found.new_ones(labels.shape)"),
    ),
    *of(
        "heads",
        "functions.py",
        ('held = [row["accuracy"] >= threshold', 'held = [row["accuracy"] > threshold'),
        ('method="min", ascending=False).to_numpy(int)', 'method="min").to_numpy(int)'),
        ("right = question.rare[first + maxima", "right = question.rare[maxima"),
    ),
    *of(
        "heads",
        "pruning.py",
        ('kept[order[: last["kept"].sum()]] = True', 'kept[order[last["kept"].sum() :]] = True'),
        ('generator(draw, "pruning", "random")', 'generator(1, "pruning", "random")'),
        ('gates["step"] == gates["step"].max()', 'gates["step"] == gates["step"].min()'),
    ),
    *of(
        "heads",
        "totals.py",
        ('"layer": layer + 1, "head": head + 1', '"layer": head + 1, "head": layer + 1'),
    ),
    *of(
        "heads",
        "examples.py",
        ('generator(seed, "heads").permutation', 'generator(1, "heads").permutation'),
        ('generator(seed, "heads", sentence)', 'generator(seed, "heads", 0)'),
    ),
    *of(
        "claims",
        "inference.py",
        ("np.isnan(t), 1.0", "np.isnan(t), 0.0"),
        ("MOST_DF = 4", "MOST_DF = 400"),
        ("self.variance * unit**2", "self.variance"),
        ("/ evidence.n_runs", "/ 1"),
        ("if len(variances) < 3:", "if len(variances) < 30:"),
    ),
    *of(
        "claims",
        "judge.py",
        ("_corrected(claims, decided)\n", "{name: of.p.alone for name, of in decided.items()}\n"),
        ("word in LACKING and not_ready", "not_ready"),
        ('curve["seeds"] == ALL', 'curve["seeds"] != ""'),
    ),
    *of(
        "claims",
        "specifications.py",
        ("parts_of_layers(PARTS_OF_LAYERS[one.layers])", "parts_of_layers(3)"),
        ("finding.parts.n_runs == 1", "finding.parts.n_runs == 0"),
        ("known.add(numbers)", "pass"),
        ("finding.before, finding.condition", "finding.condition"),
    ),
    *of(
        "claims",
        "words.py",
        ("LEVEL = 0.05", "LEVEL = 0.1"),
        ("LACKING = (SMALLER, ABSENT, CONTRADICTED)", "LACKING = (SMALLER, ABSENT)"),
    ),
    *of(
        "claims",
        "verdicts.py",
        ('method="by"', 'method="bh"'),
        ("CONTRADICTED if contradicted <= LEVEL else ABSENT", "CONTRADICTED"),
        ("self.holds < self.absent", "True"),
        ("[2 * one.smaller", "[one.smaller"),
    ),
    *of(
        "claims",
        "readiness.py",
        ("STILL_FALLING = 0.05", "STILL_FALLING = 5"),
        ("if value < floor", "if value > floor"),
    ),
    *of(
        "claims",
        "comparison.py",
        ("MIN_POINTS = 3", "MIN_POINTS = 2"),
        ('spearmanr(part["ours"], part["published"])', 'spearmanr(part["ours"], part["ours"])'),
    ),
    *of(
        "claims",
        "calibration.py",
        ("return theirs.whole[:, 0]", "return measured.whole[:, 0]"),
        ("judged.p.side <= LEVEL", "judged.p.holds <= LEVEL / 8"),
    ),
    *of(
        "claims",
        "curves.py",
        ("len(curve) // PARTS.get()", "len(curve) // 2"),
        ("PARTS.reset(before)", "pass"),
        (
            'as_wanted = (found.rows["seed_a"] == found.rows["seed_b"]) == same_seed',
            'as_wanted = found.rows["seed_a"] > 0',
        ),
    ),
    *of("claims", "finding.py", ("(values.sum(0) - values) / (len(values) - 1)", "values")),
    *of(
        "figures",
        "points.py",
        ('agg(y="mean", low="min", high="max")', 'agg(y="median", low="min", high="max")'),
        ('low=("low", "min"), high=("high", "max")', 'low=("low", "max"), high=("high", "min")'),
        ("rows[layer] == 0", "rows[layer] == 1"),
    ),
    *of(
        "figures",
        "groups.py",
        ('measured["matching"] == "published"', 'measured["matching"] == "matched"'),
    ),
    *of(
        "figures",
        "syntactic_heads.py",
        ('"accuracy", ascending=False', '"accuracy", ascending=True'),
    ),
    *of(
        "figures",
        "information.py",
        ('measured["n_clusters"] == n_clusters', 'measured["n_clusters"] > 0'),
        ('part["entropy_nats"].max()', 'part["entropy_nats"].min()'),
    ),
    *of(
        "figures",
        "mutual_information_input_output.py",
        ('"input": "replaced", "output": "changed"', '"input": "replaced", "output": "masked"'),
        ('{"input": "src", "output": "dst"}', '{"input": "dst", "output": "src"}'),
    ),
    *of(
        "workflow",
        "config.py",
        ("if perplexity >= occurrences / 3:", "if perplexity >= occurrences:"),
        ("if name in known and module != name:", "if module not in known:"),
        ("elif name + TWIN in objectives:", "elif name in []:"),
        ("penalty > 0\n", "penalty >= 0\n"),
        ('"max_tokens": whole.max_tokens + after.max_tokens', '"max_tokens": whole.max_tokens'),
        ("LARGEST_UPDATE_GB = 32", "LARGEST_UPDATE_GB = 32000"),
    ),
    *of(
        "workflow",
        "subjects.py",
        (
            "if (seed_a, seed_b) == (self.seeds(a)[0], self.seeds(b)[0])",
            "if seed_a == self.seeds(a)[0]",
        ),
        ("encoder(name) == encoder(model)", "encoder(name) != encoder(model)"),
        ('"replaced" in fates', '"masked" in fates'),
        ('if method == "gates" or penalty in', "if penalty in"),
    ),
    *of(
        "workflow",
        "slices.py",
        ("{name: untrained for name, untrained in initial.items() if untrained}", "{}"),
        ("dict(self.study.corpus.bpe) | of_side", "dict(self.study.corpus.bpe)"),
    ),
    *of(
        "heads",
        "bottomup/heads/ours/importances.py",
        (
            'head_relevance(model, own, "alpha_beta")',
            'head_relevance(model, examples, "alpha_beta")',
        ),
        ('head_relevance(model, own, "ratio")', 'head_relevance(model, own, "alpha_beta")'),
        ("found = head_attention(model, own)", "found = head_attention(model, examples)"),
        (
            '"gradient": gate_gradient(predictor, examples)',
            '"gradient": gate_gradient(predictor, own)',
        ),
    ),
    *of(
        "scripts",
        "judge_claims.py",
        ("tables, settings.initial, correlations", "tables, {}, correlations"),
        ("load([path], {name: columns})", "load([path], settings.estimators)"),
    ),
    *of(
        "scripts",
        "calibrate_claims.py",
        ("find_all(shown, papers, settings.initial)", "find_all(shown, tables, settings.initial)"),
        ("settings.studies, settings.seed", "settings.studies, 2"),
    ),
    *of(
        "scripts",
        "deal_blocks.py",
        ("arguments.settings.seed", "2"),
        ("deal(documents,", "deal(documents[::-1],"),
    ),
    *of(
        "scripts",
        "draw_occurrences.py",
        ('[reading.table["sentence"]]', '[reading.table["text"]]'),
        ('frequencies["rank"]\n', 'frequencies["rank"] + 1\n'),
    ),
    *of(
        "scripts",
        "measure_quality.py",
        ("load_array(arguments.blocks)", "load_array(arguments.blocks)[::-1]"),
    ),
    *of(
        "scripts",
        "collect_heads.py",
        ('{"relevance_alpha_beta": "relevance"}', '{"relevance_ratio": "relevance"}'),
        ('.query("held")', ""),
    ),
    *of(
        "scripts",
        "compare_with_published.py",
        (
            "write_table(table, arguments.table)",
            "write_table(correlations, arguments.table)",
        ),
    ),
    *of(
        "scripts",
        "clean_corpus.py",
        (
            "settings.min_words,\n        settings.max_words",
            "settings.max_words,\n        settings.min_words",
        ),
    ),
    *of("scripts", "learn_words.py", ('"source"', '"target"')),
    *of(
        "scripts",
        "extract_views.py",
        ('words.first if settings.pooling == "mean" else words.last', "words.last"),
    ),
    *of(
        "scripts",
        "prune_heads.py",
        ("derive(settings.seed, pruned.attention, repr(pruned.penalty))", "1"),
    ),
    *of(
        "scripts",
        "measure_head_functions.py",
        ("load_array(arguments.blocks)", "load_array(arguments.blocks)[::-1]"),
    ),
    *of(
        "rules",
        "corpus.smk",
        (
            "rule learn_bpe:\n    input:\n        text=rules.split_corpus.output.train",
            "rule learn_bpe:\n    input:\n        text=rules.split_corpus.output.test",
        ),
        (
            "--train {output.train:q} --dev {output.dev:q}",
            "--train {output.dev:q} --dev {output.train:q}",
        ),
        (
            'ids="<results>/corpus/tokens/train.source/ids.npy"',
            'ids="<results>/corpus/tokens/test.source/ids.npy"',
        ),
    ),
    *of(
        "scripts",
        "measure_head_importance.py",
        ("blocks[sentences], jackknife", "blocks[sentences][::-1], jackknife"),
    ),
    *of(
        "rules",
        "training.smk",
        ('tokens=text_of("test")', 'tokens=text_of("dev")'),
        ('blocks="<results>/corpus/blocks.test.npy"', 'blocks="<results>/corpus/blocks.dev.npy"'),
        (
            'tokens=tokens_of(["train", "dev"], objective),\n            tokenizers=tokenizers_of(objective),\n        output',
            'tokens=tokens_of(["test", "dev"], objective),\n            tokenizers=tokenizers_of(objective),\n        output',
        ),
    ),
    *of(
        "rules",
        "views.smk",
        ('blocks="<results>/corpus/blocks.test.npy"', 'blocks="<results>/corpus/blocks.dev.npy"'),
        ('side="words" if wildcards.drawn == "words" else "source"', 'side="source"'),
    ),
    *of(
        "rules",
        "heads.smk",
        ('text=text_of("dev")', 'text=text_of("test")'),
        ('blocks="<results>/corpus/blocks.dev.npy"', 'blocks="<results>/corpus/blocks.test.npy"'),
        ('text=text_of("train", "dev")', 'text=text_of("dev", "train")'),
        (
            "--importance {input.importance:q} --functions {input.functions:q}",
            "--importance {input.functions:q} --functions {input.importance:q}",
        ),
    ),
    *of(
        "rules",
        "common.smk",
        ("for run in names.runs_of(part)]", "for run in names.runs_of(part)[::-1]]"),
        ('folder = f"as_trained_{wildcards.objective}" if masked else ROWS', "folder = ROWS"),
        (
            "return f\"{run if wildcards.method == 'none' else PRUNED}/{file}\"",
            'return f"{run}/{file}"',
        ),
        (
            'return [gates, "<results>/measures/head_importance',
            'return ["<results>/measures/head_importance',
        ),
    ),
    *of(
        "rules",
        "measures.smk",
        (
            "--views {input.views:q} --masked-views {input.masked_views:q}",
            "--views {input.masked_views:q} --masked-views {input.views:q}",
        ),
        ("about.reads else []", "about.reads[:0] else []"),
    ),
    *of(
        "rules",
        "claims.smk",
        (
            "correlations=rules.compare_with_published.output.correlations,\n        quality",
            "correlations=rules.compare_with_published.output.table,\n        quality",
        ),
        (
            "--table {output.table:q} \\\n            --correlations {output.correlations:q}",
            "--table {output.correlations:q} \\\n            --correlations {output.table:q}",
        ),
    ),
    *of(
        "rules",
        "figures.smk",
        ('"published": ["ib_mi_tasks"]', '"published": ["ib_src_dst_lm_mlm"]'),
        (
            '"influence_frequency_rank": by_group(\n        "influence", "frequency_rank", "influence_freq"',
            '"influence_frequency_rank": by_group(\n        "influence", "frequency_rank", "influence_pos"',
        ),
        ("--png {output.png:q} --pdf {output.pdf:q}", "--png {output.pdf:q} --pdf {output.png:q}"),
    ),
    *of(
        "rules",
        "pages.smk",
        (
            "--images {input.images:q} --points {input.points:q}",
            "--images {input.points:q} --points {input.images:q}",
        ),
        ("--heads {input.heads:q}", "--heads {input.claims:q}"),
    ),
    *of(
        "stale",
        "bottomup/workflow/contents.py",
        ("found.st_mtime_ns, found.st_ctime_ns", "found.st_mtime_ns, found.st_mtime_ns"),
        ("< time.time_ns() - SETTLED_NS", "< time.time_ns()"),
    ),
    *of(
        "stale",
        "bottomup/workflow/records.py",
        ("json.dumps([*map(str, paths)])", "json.dumps(sorted(map(str, paths)))"),
        ('named = dict(inputs.items()) or {"files": inputs}', 'named = {"files": inputs}'),
        ("if now and (line := nodes", "if not now and (line := nodes"),
        ("if before and contents.stamp(path) != before", "if not before"),
    ),
    *of("stale", "bottomup/workflow/nodes.py", ("if planned != now:", "if not planned:")),
    *of(
        "stale",
        "bottomup/workflow/digest.py",
        ("versions[PYTHON] = _version(PYTHON)", 'versions[PYTHON] = "3"'),
        ("if spec and spec.origin and is_own(spec.origin):", "if not spec:"),
    ),
    *of(
        "stale",
        "bottomup/planned.py",
        ('if {found, found.partition("+")[0]}.isdisjoint(planned.split(", ")):', "if not found:"),
        ("_take_imported()\n    _require_script()", "_take_imported()"),
        ("insert(0, _Finder)\n    _take_imported()", "insert(0, _Finder)"),
        ("if _plan[name] not in _read[name]:", "if not _read[name]:"),
    ),
    *of(
        "stale",
        "bottomup/workflow/config.py",
        ("return value + 0.0 if isinstance(value, float) else value", "return value"),
    ),
    *of(
        "stale",
        "bottomup/workflow/subjects.py",
        ("re.escape(text) for text in", "text for text in"),
    ),
]
