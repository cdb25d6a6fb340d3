"""Folders that are no checkpoint, or not one that can be opened safely: one line for each."""

import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel, WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoModel,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    Wav2Vec2Config,
    WhisperConfig,
    WhisperForCausalLM,
)

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.settings import Checkpoint
from bottomup.model.folder import save
from bottomup.subjects.opening import open_checkpoint
from bottomup.subjects.words import encode
from tests.subjects import every_family, families
from tests.subjects.families import FAMILIES
from tests.tiny import drawn, same_bytes


def refused(folder, pattern, opening=subjects.load):
    with pytest.raises(UserError, match=pattern) as error:
        opening(folder)
    assert "\n" not in str(error.value)


def edit(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_name_on_a_hub():
    refused("bert-base-uncased", r"no model in bert-base-uncased; expected .*fetch a model by its")


def test_pickled_weights_only(folder):
    weights = load_file(folder / "model.safetensors")
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    refused(folder, r"model has pickled weights only \(pytorch_model.bin\).*expected model.safeten")


def test_weights_in_several_files(folder):
    whole = subjects.load(folder).model
    expected = whole.state_dict()
    (folder / "model.safetensors").unlink()
    whole.save_pretrained(folder, max_shard_size="1KB")
    assert not (folder / "model.safetensors").exists()
    assert same_bytes(subjects.load(folder).model.state_dict(), expected)


def test_both_lines_of_what_is_wrong(folder):
    edit(folder / "config.json", initializer_range=-1)
    refused(folder, r"field 'initializer_range': \w*Error: .*-1")


def test_a_broken_download(folder):
    """Such as the note that git leaves where a large file was not fetched."""
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    refused(folder, "transformers does not load .*model: ")


def test_weights_of_another_shape(folder):
    edit(folder / "config.json", intermediate_size=24)
    refused(
        folder, r"weights of the bert .* of another shape .*: 6, encoder.layer.0.interm\S+ among"
    )


def test_a_missing_weight(folder):
    """It would be drawn at random, and the model be partly untrained without a word."""
    weights = load_file(folder / "model.safetensors")
    del weights["bert.encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    refused(
        folder,
        r"weights of the bert in .* are missing .*: 1, encoder.layer.1.output.dense.weight am",
    )


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_another_number_of_layers(tmp_path, family, layers):
    """Than two, which the weights have: one would be left out, or drawn at random."""
    folder = families.save(FAMILIES[family], tmp_path)
    names = ("num_hidden_layers", "n_layer", "encoder_layers", "num_layers")
    config = json.loads((folder / "config.json").read_text())
    edit(folder / "config.json", **{name: layers for name in names if name in config})
    refused(folder, "weights of the .* that are " + ("more than" if layers == 1 else "missing"))


def test_a_renamed_layer(folder):
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name.replace("layer.1.", "layer.7."): weight for name, weight in weights.items()},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    refused(folder, r"weights of the bert .* are missing .*: 16, encoder.layer.1.\S+ among")


def test_a_whole_model_of_another_kind_than_the_family_is_opened_as(tmp_path):
    """Such as a decoder of Whisper without its encoder. Fetched again it would be the same."""
    shape = families.BART | {"num_mel_bins": 4, "bos_token_id": 0, "eos_token_id": 1}
    decoder = WhisperForCausalLM(WhisperConfig(**shape, begin_suppress_tokens=None))
    decoder.save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path)
    pattern = "whisper in .* is a whole WhisperForCausalLM, and .* WhisperModel, has weights"
    refused(tmp_path, pattern)
    drop = "model.decoder.layers.1.fc1.weight"
    weights = load_file(tmp_path / "model.safetensors")
    del weights[drop]
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    refused(tmp_path, "weights of the whisper in .* that are missing")


@pytest.mark.parametrize(
    "name", ["self_attn.q_proj.bias", "self_attn.q_proj.lora_A.weight", "another_norm.weight"]
)
def test_weights_inside_a_layer_that_the_config_does_not_build(tmp_path, name):
    """They would be left out, and another model be read; with one in a layer alone, too."""
    folder = families.save(FAMILIES["llama"], tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights[f"model.layers.1.{name}"] = torch.ones(8)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    refused(folder, rf"weights of the llama in .* more than config.json says: 1, .*layers.1.{name}")


def test_a_config_without_the_biases_of_attention(tmp_path):
    model = LlamaForCausalLM(LlamaConfig(**families.BERT, attention_bias=True))
    model.save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path)
    assert subjects.load(tmp_path).layers == families.LAYERS
    edit(tmp_path / "config.json", attention_bias=False)
    refused(tmp_path, r"weights of the llama in .* that are more than config.json says: 8")


def test_what_older_versions_saved_is_no_weight_of_a_layer(tmp_path):
    folder = families.save(FAMILIES["llama"], tmp_path)
    ids, weights = torch.tensor([[5, 6, 7]]), load_file(folder / "model.safetensors")
    expected = subjects.load(folder).hidden_states(ids)[-1]
    weights["model.layers.1.self_attn.rotary_emb.inv_freq"] = torch.ones(2)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert torch.equal(subjects.load(folder).hidden_states(ids)[-1], expected)


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers(folder, number):
    weights = load_file(folder / "model.safetensors")
    weights["bert.encoder.layer.1.output.dense.weight"][0, 0] = number
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    refused(
        folder, r"weights of .* are not finite .*: 1, encoder.layer.1.output.dense.weight among"
    )


@pytest.mark.parametrize("content", ["", "[]", '"text"', "{", '{"model_type": ["bert"]}'])
def test_a_damaged_config(folder, content):
    (folder / "config.json").write_text(content)
    refused(folder, "model.*; fetch it again, or, where a study has made it, delete it and run ag")


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("config.json", "config.json is no file"),
        ("tokenizer_config.json", "tokenizer_config.json is no file"),
        ("model.safetensors", "model.safetensors is no file"),
        ("tokenizer.json", "no tokenizer in"),
    ],
)
def test_what_is_no_file(folder, name, pattern):
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, pattern)
    (folder / name).rmdir()
    os.mkfifo(folder / name)  # a job would wait at it until it is killed
    refused(folder, pattern)


@pytest.mark.parametrize("content", ["", "{}", '{"version": "1.0"'])
def test_a_damaged_tokenizer(folder, content):
    (folder / "tokenizer.json").write_text(content)
    refused(folder, "transformers does not load .*model: .*; fetch it again")


class TestOfARun:
    """As a study has its models; what is missing was a warning that nobody saw."""

    @pytest.fixture
    def folder(self, tmp_path):
        save(drawn("lm"), tmp_path / "model")
        return tmp_path / "model"

    def rewrite(self, folder, change):
        weights = change(load_file(folder / "model.safetensors"))
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    @pytest.mark.parametrize("layers", [1, 3])
    def test_another_number_of_layers(self, folder, layers):
        edit(folder / "config.json", encoder_layers=layers)
        refused(folder, r"s: weights that are not as config.json has them: \d+, encoder.\S+ among")

    def test_another_width(self, folder):
        edit(folder / "config.json", d_ff=33)
        refused(folder, r"s: weights that are not as config.json has them: 6, \S+.inner.bias amo")

    @pytest.mark.parametrize("opening", [subjects.load, lambda path: subjects.untrained(path, 1)])
    @pytest.mark.parametrize("values", [{"heads": 0}, {"encoder_layers": "2"}])
    def test_a_config_of_no_shape(self, folder, opening, values):
        edit(folder / "config.json", **values)
        refused(folder, r"config.json is damaged: .*; delete it and run the same command", opening)

    def test_a_missing_and_a_renamed_weight(self, folder):
        name = "encoder.layers.1.feed_forward_norm.weight"

        def change(weights):
            return weights | {"encoder.layers.1.norm.weight": weights.pop(name)}

        self.rewrite(folder, change)
        refused(folder, rf"weights that are not as config.json has them: 2, {name} among")

    @pytest.mark.parametrize("number", [torch.nan, -torch.inf])
    def test_weights_that_are_no_numbers(self, folder, number):
        def change(weights):
            weights["encoder.norm.weight"][3] = number
            return weights

        self.rewrite(folder, change)
        refused(folder, "is damaged: encoder.norm.weight has numbers that are not finite; delete")

    @pytest.mark.parametrize("kept", [0, 7, 100, -1])
    def test_cut_off(self, folder, kept):
        whole = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(whole[:kept])
        refused(folder, "model.safetensors is damaged: ")

    @pytest.mark.parametrize("opening", [subjects.load, lambda path: subjects.untrained(path, 1)])
    def test_a_damaged_tokenizer(self, folder, opening, corpus_files):
        text = corpus_files.tokenizer("source").read_text()
        (folder / "tokenizer.json").write_text(text[: len(text) // 2])
        refused(folder, "tokenizer.json is damaged: ", opening)


@pytest.mark.parametrize("opening", [subjects.load, lambda path: subjects.untrained(path, 1)])
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_in_the_folder_is_never_run(folder, name, opening):
    (folder / "own.py").write_text(f"open({str(folder / 'was_run')!r}, 'w')\nOwn = object\n")
    auto = dict.fromkeys(["AutoConfig", "AutoModel"], "own.Own") | {
        "AutoTokenizer": ["own.Own"] * 2
    }
    edit(folder / name, auto_map=auto)
    refused(folder, rf"{name} asks for code of its own \(auto_map\), which is never run", opening)
    assert not (folder / "was_run").exists()


def test_a_kind_that_transformers_does_not_know(folder):
    edit(folder / "config.json", model_type="ours")
    refused(folder, "transformers does not load .*ours")
    refused(folder, "transformers does not load .*ours", lambda path: subjects.untrained(path, 1))


def test_a_config_that_is_no_json(folder):
    (folder / "config.json").write_text("{")
    refused(folder, r"config.json is not JSON \(.*\); fetch it again")


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian", "t5", "llama"])
def test_no_tokenizer(tmp_path, family):
    """transformers itself would make one that knows no token of some families."""
    folder = families.save(FAMILIES[family], tmp_path)
    (folder / "tokenizer.json").unlink()
    (folder / "source.spm").write_text("what a slow one reads")
    refused(folder, "no tokenizer in .*; expected tokenizer.json, or the files of the family's own")


def test_without_a_tokenizer_the_whole_reason_is_told(tmp_path):
    """transformers gives it in a list, whose first line says nothing."""
    folder = families.save(FAMILIES["llama"], tmp_path)
    (folder / "tokenizer.json").unlink()
    refused(folder, r"no tokenizer in .* from one of: \(1\) a `tokenizers` .* \(3\) an equivalent")


def test_a_tokenizer_of_mistral_common(tmp_path, monkeypatch):
    """What it would open, where it is installed, does not even say whether it is fast."""
    folder = families.save(FAMILIES["llama"], tmp_path)
    (folder / "tekken.json").write_text("{}")
    usual = AutoTokenizer.from_pretrained

    def installed(*arguments, mistral_format=None, **options):
        return object() if mistral_format is None else usual(*arguments, **options)

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", installed)
    assert subjects.load(folder).tokenizer.encode("w3 w4").ids == [3, 4]
    (folder / "tokenizer.json").unlink()
    refused(folder, r"no tokenizer in .*; tekken.json is not read: add the tokenizer.json")


@pytest.mark.parametrize("kind", [ViTConfig, Wav2Vec2Config])
@pytest.mark.parametrize("opening", [subjects.load, lambda path: subjects.untrained(path, 1)])
def test_a_model_of_pictures_or_sound(kind, opening, tmp_path):
    """Its folder has no tokenizer, and needs none."""
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    shape |= {"intermediate_size": 16, "conv_dim": (8,), "conv_stride": (2,), "conv_kernel": (2,)}
    shape |= {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
    AutoModel.from_config(kind(**shape)).save_pretrained(tmp_path)
    refused(
        tmp_path, r"(vit|wav2vec2) in .* cannot be looked at: it reads \w+_values, not", opening
    )


def test_a_list_of_word_pieces_is_a_tokenizer(folder):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmno"]
    for path in folder.glob("tokenizer*"):
        path.unlink()
    (folder / "vocab.txt").write_text("\n".join(pieces))
    subject = subjects.load(folder)
    assert subject.tokenizer.encode("a b").ids == [2, 5, 6, 3]
    assert subject.masks


@pytest.mark.parametrize("family", ["bert", "t5", "marian"])
def test_a_file_need_not_follow_the_familys_rule(tmp_path, family):
    """Where nothing names a class, transformers tries the family's, which cannot read the file, or
    makes one that asks for tokens that it lacks."""
    folder = families.save(FAMILIES[family], tmp_path)
    (folder / "tokenizer_config.json").unlink()
    assert subjects.load(folder).tokenizer.encode("w5 w10").ids == [5, 10]


def test_text_is_cut_by_the_file_whatever_the_family_has(tmp_path):
    """A model of Qwen's shape with the tokenizer of another, as distilled ones are published; also
    once it was saved again."""
    every_family.made("qwen2").save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path, ("pad", "mask"))
    for folder in (tmp_path, tmp_path / "again"):
        assert type(AutoTokenizer.from_pretrained(folder)).__name__ == "Qwen2Tokenizer"
        subject = subjects.load(folder)
        assert subject.tokenizer.encode("w5 w10").ids == [5, 10]
        assert (subject.padding, subject.special) == (0, [0])
        assert subject.pretrained.mask_token_id == 1
        subject.save_model(tmp_path / "again")
        subject.save_tokenizer(tmp_path / "again")


@pytest.mark.parametrize("kind", ["PreTrainedTokenizerFast", "Qwen2Tokenizer"])
def test_a_text_is_cut_each_time_in_the_same_way(tmp_path, kind):
    """Without the dropout that a tokenizer had in training, whoever makes it of the file."""
    folder = families.save(FAMILIES["gpt2"], tmp_path)
    vocab = {letters: number for number, letters in enumerate(["a", "b", "c", "d", "ab", "cd"])}
    made = Tokenizer(BPE(vocab | {"abcd": 6}, [("a", "b"), ("c", "d"), ("ab", "cd")], dropout=0.5))
    made.save(str(folder / "tokenizer.json"))
    edit(folder / "tokenizer_config.json", tokenizer_class=kind)
    subject = subjects.load(folder)
    assert all(subject.tokenizer.encode("abcdab").ids == [6, 4] for _ in range(20))
    subject.save_tokenizer(folder)
    assert json.loads((folder / "tokenizer.json").read_text())["model"]["dropout"] is None


def test_a_tokenizer_of_another_script(tmp_path):
    """It has no letter of ours, and no token for the unknown."""
    folder = families.save(FAMILIES["llama"], tmp_path)
    Tokenizer(BPE(dict(zip("აბგდევზ", range(7), strict=True)), [])).save(
        str(folder / "tokenizer.json")
    )
    assert subjects.load(folder).tokenizer.encode("გა").ids == [2, 0]


@pytest.mark.parametrize("model", [WordLevel, WordPiece])
@pytest.mark.parametrize("first", [0, 8])
def test_a_tokenizer_of_words_alone(tmp_path, model, first):
    """It has no letter of ours, no token for the unknown, and none for the model's first ids."""
    folder = families.save(FAMILIES["llama"], tmp_path)
    words = dict(zip(["click", "the", "button", "now"], range(first, first + 4), strict=True))
    made = Tokenizer(model(words, **({"unk_token": "none"} if model is WordLevel else {})))
    made.pre_tokenizer, made.normalizer = WhitespaceSplit(), BertNormalizer()
    made.save(str(folder / "tokenizer.json"))
    subject = subjects.load(folder)
    assert subject.tokenizer.encode("the button").ids == [first + 1, first + 2]
    open_checkpoint(tmp_path / "opened", tmp_path, Checkpoint(folder=str(folder)), None)
    with pytest.raises(
        UserError, match=r"^the model's tokenizer cannot cut .*\(.+\); allowed: one"
    ):
        encode(subject.tokenizer, ["the apple"], [[(0, 3), (4, 9)]], None)


def test_text_with_tokens_that_were_added_and_never_learned(folder):
    """As where a tokenizer was extended, and the model's embeddings were not."""
    subject = subjects.load(folder)
    subject.pretrained.add_tokens(["spreadsheet"])
    ids = subject.tokenizer.encode("a spreadsheet").ids
    with pytest.raises(UserError, match=r"knows 0 to \d+; .* or give a checkpoint the tokenizer"):
        subject.hidden_states(torch.tensor([ids]))


def test_a_tokenizer_that_adds_what_the_model_does_not_know(tmp_path):
    """Every sentence would have it."""
    folder = families.save(FAMILIES["llama"], tmp_path)
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.add_special_tokens(["<s>"])
    made.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 20)])
    made.save(str(folder / "tokenizer.json"))
    refused(folder, r"llama in .* its tokenizer makes id 20 of a text, but the model knows 0 to 19")
