"""Make the mixed study: python -m tests.mixed.make FOLDER

Four tiny checkpoints with random weights, of kinds that were once read or planned wrongly, and
FOLDER/study.yaml, which has them beside runs of its own. Laid over studies/smoke.yaml, it goes
through every table, figure, claim and page in a few minutes.
"""

import argparse
import json
from pathlib import Path

import torch
import yaml
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    M2M100Config,
    M2M100ForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2MoeConfig,
    Qwen2MoeForCausalLM,
    RobertaConfig,
    RobertaForMaskedLM,
)

from bottomup.corpus.wordnet import FILES
from tests.tiny import ROOT, noise

VOCAB = 400
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "eng_Latn", "deu_Latn"]
WIDE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
BART = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": 128}
BART |= dict.fromkeys(["encoder_attention_heads", "decoder_attention_heads"], 2)
BART |= dict.fromkeys(["encoder_ffn_dim", "decoder_ffn_dim"], 32)
# By name: the model, what its tokenizer puts around a text, and what it names special tokens.
CHECKPOINTS = {
    # Experts, and two queries to a key.
    "experts": (
        Qwen2MoeForCausalLM,
        Qwen2MoeConfig(
            **WIDE | {"num_attention_heads": 4},
            num_key_value_heads=2,
            intermediate_size=32,
            moe_intermediate_size=16,
            shared_expert_intermediate_size=16,
            num_experts=4,
            num_experts_per_tok=2,
            max_position_embeddings=128,
        ),
        "$A",
        {"eos_token": "</s>"},
    ),
    # Its tokenizer names no padding, and 0 is the token at the start.
    "unpadded": (
        RobertaForMaskedLM,
        RobertaConfig(**WIDE, intermediate_size=32, max_position_embeddings=130, pad_token_id=1),
        "<s> $A </s>",
        {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "mask_token": "<mask>"},
    ),
    # transformers does not hand out its attention.
    "hidden": (
        BloomForCausalLM,
        BloomConfig(hidden_size=16, n_layer=2, n_head=2),
        "$A",
        {"pad_token": "<pad>"},
    ),
    # Language codes are part of what it reads.
    "languages": (
        M2M100ForConditionalGeneration,
        M2M100Config(**BART, pad_token_id=1, decoder_start_token_id=2),
        "eng_Latn $A </s>",
        {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"},
    ),
}
# Each way to say what a checkpoint starts from; the other one has a twin.
INITIAL = {"hidden": "experts", "experts": "languages", "languages": "unpadded_untrained"}
STUDY = {
    "study": "mixed",
    "occurrences": {"n": 3000, "unit": "word"},
    "corpus": {"splits": {"test_words": 7000, "dev_words": 1000}, "bpe": {"merges": 200}},
    "model": {"layers": 2, "heads": 2, "d_model": 16, "d_ff": 32},
    "training": {"max_tokens": 20_000},
    # Of LM and MLM are the checkpoints.
    "objectives": {
        "mt": {"training": {"max_tokens": 20_000}},
        **dict.fromkeys(["lm", "mlm", "mlm_causal", "lm_bidirectional", "lm_noise", "mt_noise"]),
        "untrained_causal": None,
    },
    "training_halves": [],
    "quality": {"sentences": 5},
    "measures": {
        "mutual_information": {
            **{"n_tokens": 10, "other_n_tokens": [5], "n_clusters": 10, "other_n_clusters": [5]},
            "clusterings": 2,
        },
        "context": {"n_tokens": 10, "occurrences": 500, "n_clusters": 10},
        "geometry": {"points": 300},
        "agreement": {"items": 10, "whole_items": 10, "seen": 2},
        "probes": {"occurrences": 200},
        "structural_probe": {"sentences": 140},
        "edge_probes": {"sentences": 100},
        "dictionary": {"layers": 1, "active": 4, "steps": 10},
        "stitching": {"layers": 1, "sentences": 20},
        "word_order": {"sentences": 20},
        "bertscore": {"sentences": 20},
        "senses": {"k": 1, "occurrences": 20},
        "influence": {"sentences": 20},
        "attention_patterns": {"sentences": 20},
        "attention_trees": {"sentences": 140},
        "head_distances": {"sentences": 20},
        "minimal_pairs": {"pairs": 10},
        "wordnet": {"seen": 5},
        "neighbors": {"k": 3, "tokens": 5, "occurrences": 5, "within_occurrences": 10},
    },
    "heads": {"sentences": 4},
    "pruning": {
        "penalties": {
            "mt": {"all": [1], "encoder": None},
            "lm": None,
            "mlm": None,
            "unpadded": {"encoder": [1]},
        },
        "controls": {
            "scratch": [1],
            "random": [],
            "confidence": [],
            "relevance": [],
            "gradient": [],
        },
        "training": {"max_tokens": 3000},
    },
    "site": {"sentences": 2},
}


def main(folder: Path) -> None:
    torch.manual_seed(1)
    for name, (kind, config, template, roles) in CHECKPOINTS.items():
        tokenizer(template, roles).save_pretrained(folder / name)
        config.vocab_size = VOCAB
        noise(kind(config)).save_pretrained(folder / name)
    checkpoints = {
        name: {"folder": str(folder / name), "initial": INITIAL.get(name)} for name in CHECKPOINTS
    }
    study = STUDY | {"checkpoints": checkpoints}
    study["measures"]["minimal_pairs"]["folder"] = str(minimal_pairs(folder / "pairs"))
    study["measures"]["wordnet"]["folder"] = str(wordnet(folder / "dict"))
    (folder / "study.yaml").write_text(yaml.safe_dump(study))


def minimal_pairs(folder: Path) -> Path:
    """A folder with pairs in the form of BLiMP."""
    folder.mkdir(exist_ok=True)
    names = ("file", "page", "folder", "key", "image", "name", "line", "menu", "tool", "user")
    pairs = [
        {"sentence_good": f"The {name}s are open.", "sentence_bad": f"The {name}s is open."}
        | {"UID": "plural_subjects", "linguistics_term": "agreement"}
        for name in names
    ]
    lines = [json.dumps(pair) for pair in pairs]
    (folder / "plural_subjects.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def wordnet(folder: Path) -> Path:
    """A folder with the examples of a dictionary, in the form of WordNet."""
    folder.mkdir(exist_ok=True)
    for name in FILES:
        (folder / name).write_text(
            "  the license\n" if name.startswith("data") else "opened open\n"
        )
    words = ("file", "page", "folder", "key", "image", "name", "line", "menu", "tool", "user")
    words += ("window", "text", "list", "table", "document", "color", "size", "option", "value")
    words += ("command", "button", "box")
    lines = [
        f"{number}{sense} 06 n 01 {word} 0 000 | a {word}; "
        f'"{before} {word} is the first"; "it is {before} {word}"'
        for number, word in enumerate(words)
        for sense, before in enumerate(("in this", "with each"))
    ]
    (folder / "data.noun").write_text("\n".join(lines) + "\n")
    return folder


def tokenizer(template: str, roles: dict[str, str]) -> PreTrainedTokenizerFast:
    """A tokenizer by bytes, learned on the README."""
    found = Tokenizer(models.BPE(unk_token="<unk>"))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIALS, initial_alphabet=alphabet
    )
    found.train([str(ROOT / "README.md")], trainer)
    known = [(name, found.token_to_id(name)) for name in SPECIALS]
    found.post_processor = processors.TemplateProcessing(single=template, special_tokens=known)
    return PreTrainedTokenizerFast(tokenizer_object=found, unk_token="<unk>", **roles)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder.absolute())
