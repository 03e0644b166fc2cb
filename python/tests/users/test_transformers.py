"""A pipeline of transformers over a small random model, whose forward pass is a session."""

import pytest

pytest.importorskip("transformers", reason="the environment of xtask/requirements/torch.txt is needed")
pytest.importorskip("torch", reason="the environment of xtask/requirements/torch.txt is needed")
pytest.importorskip("onnxscript", reason="the environment of xtask/requirements/torch.txt is needed")

from programs import ensure_alike  # noqa: E402

CLASSIFICATION = """
import io
import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, pipeline
from transformers.modeling_outputs import SequenceClassifierOutput
import onnxruntime as rt

torch.manual_seed(0)
config = BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=2)
model = BertForSequenceClassification(config).eval()
tokenizer = BertTokenizerFast(vocab_file=vocabulary)

class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits

example = tokenizer(["the model runs", "a session runs the model"], return_tensors="pt", padding=True)
batch, tokens = torch.export.Dim("batch"), torch.export.Dim("tokens")
shapes = {name: {0: batch, 1: tokens} for name in ["input_ids", "attention_mask", "token_type_ids"]}
program = torch.onnx.export(
    Encoder(model), (example["input_ids"], example["attention_mask"], example["token_type_ids"]),
    input_names=list(shapes), output_names=["logits"], dynamic_shapes=shapes, dynamo=True, verbose=False,
)
session = rt.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])

class OnnxModel(BertForSequenceClassification):
    def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, **kwargs):
        feeds = {"input_ids": input_ids.numpy(), "attention_mask": attention_mask.numpy(), "token_type_ids": token_type_ids.numpy()}
        names = {i.name for i in session.get_inputs()}
        [logits] = session.run(["logits"], {name: feeds[name] for name in names})
        return SequenceClassifierOutput(logits=torch.from_numpy(logits))

classify = pipeline("text-classification", model=OnnxModel(config), tokenizer=tokenizer, device="cpu")
expected = pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")
texts = ["the model runs", "a graph", "the session runs a graph", "what"]
results = classify(texts)
for one, other in zip(results, expected(texts)):
    assert one["label"] == other["label"] and abs(one["score"] - other["score"]) < 1e-4
results += classify(texts, batch_size=2)
"""

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the a model session graph runs what".split()


@pytest.mark.filterwarnings("ignore")
def test_a_pipeline_runs_with_one_line_changed(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    ensure_alike(CLASSIFICATION, {"words": WORDS, "vocabulary": str(tmp_path / "vocab.txt")})
