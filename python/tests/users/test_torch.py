"""Modules of torch: exported by onnxtxt.torch and verified; and programs that run what torch.onnx has exported."""

import pytest

torch = pytest.importorskip("torch", reason="the environment of xtask/requirements/torch.txt is needed")
pytest.importorskip("onnxscript", reason="the environment of xtask/requirements/torch.txt is needed")

import numpy as np  # noqa: E402
from programs import ensure_alike  # noqa: E402

import onnxtxt  # noqa: E402
import onnxtxt.torch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.last = torch.nn.Linear(16, 4)

    def forward(self, x, scale=None):
        hidden = torch.relu(self.first(x))  # the hidden layer
        y = self.last(hidden)
        return {"y": y if scale is None else y * scale, "hidden": hidden}


def network():
    torch.manual_seed(0)
    return Network().eval()


def test_a_module_is_exported_with_its_places_as_comments():
    module, x = network(), torch.randn(2, 8)
    model = onnxtxt.torch.export(module, (x,), dynamic_shapes=({0: "N"},), verify=True)
    assert model.check() == [] and model.graph.inputs[0].shape == ("N", 8)
    relu = next(node for node in model.graph.nodes if node.op_type == "Relu")
    assert "test_torch.py:" in relu.comment and "in forward: hidden = torch.relu(self.first(x))" in relu.comment
    assert "# " + relu.comment in str(model) and "stack_trace" not in str(model)
    assert onnxtxt.parse(str(model)) == model
    comparison = onnxtxt.torch.verify(model, module, (torch.randn(5, 8),))
    assert comparison and [output["status"] for output in comparison.outputs] != [] and "differs" not in str(comparison)
    kept = onnxtxt.torch.export(module, (x,), comments=False, keep_metadata=True)
    assert "stack_trace" in str(dict(kept.graph.nodes[0].metadata)) and not any(node.comment for node in kept.graph.nodes)


def test_keywords_are_inputs():
    module, x = network(), torch.randn(2, 8)
    model = onnxtxt.torch.export(module, (x,), {"scale": torch.tensor(2.0)}, verify=True)
    assert len(model.graph.inputs) == 2
    with pytest.raises(ValueError, match="2 inputs .*, but 1 tensors were given"):
        onnxtxt.torch.verify(model, module, (x,))


def test_a_difference_is_reported():
    module, x = network(), torch.randn(2, 8)
    model = onnxtxt.torch.export(module, (x,))
    with torch.no_grad():
        module.last.bias += 1
    with pytest.raises(AssertionError, match="computes something else than the module:\nDIFFERS"):
        onnxtxt.torch.verify(model, module, (x,))
    assert onnxtxt.torch.verify(model, module, (x,), atol=2.0)


def test_convolutions_attention_and_narrow_floats():
    torch.manual_seed(0)
    image = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8 * 64, 10))
    assert onnxtxt.torch.export(image.eval(), (torch.randn(1, 3, 16, 16),), verify=True).check() == []
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    onnxtxt.torch.export(layer, (torch.randn(2, 5, 16),), verify=True)
    half = torch.nn.Linear(4, 4).eval().to(torch.bfloat16)
    onnxtxt.torch.export(half, (torch.randn(2, 4).to(torch.bfloat16),), verify=True)


def test_large_modules_go_through_a_file(monkeypatch):
    monkeypatch.setattr(onnxtxt.torch, "_MAX_BYTES", 100)
    module, x = network(), torch.randn(2, 8)
    model = onnxtxt.torch.export(module, (x,), verify=True)
    assert onnxtxt.torch.verify(model, module, (x,)) and len(model.to_bytes()) > 4 * (8 * 16 + 16 * 4)


EXPORTED = """
import io
import numpy as np
import torch
import torch.nn.functional as F
import onnxruntime as rt

class Upscaler(torch.nn.Module):
    def __init__(self, factor=2):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 16, 5, padding=2)
        self.last = torch.nn.Conv2d(16, factor ** 2, 3, padding=1)
        self.shuffle = torch.nn.PixelShuffle(factor)
    def forward(self, x):
        return self.shuffle(self.last(F.relu(self.first(x))))

torch.manual_seed(0)
model = Upscaler().eval()
x = torch.randn(1, 1, 16, 16)
with torch.no_grad():
    torch_out = model(x)
program = torch.onnx.export(model, (x,), dynamo=True, verbose=False)
buffer = io.BytesIO()
program.save(buffer)

options = rt.SessionOptions()
options.graph_optimization_level = rt.GraphOptimizationLevel.ORT_ENABLE_ALL
options.intra_op_num_threads = 1
ort_session = rt.InferenceSession(buffer.getvalue(), sess_options=options, providers=["CPUExecutionProvider"])

def to_numpy(tensor):
    return tensor.detach().cpu().numpy() if tensor.requires_grad else tensor.cpu().numpy()

ort_inputs = {ort_session.get_inputs()[0].name: to_numpy(x)}
ort_outs = ort_session.run(None, ort_inputs)
np.testing.assert_allclose(to_numpy(torch_out), ort_outs[0], rtol=1e-03, atol=1e-05)

# The same with values bound to memory of torch.
binding = ort_session.io_binding()
x = x.contiguous()
y = torch.empty(tuple(torch_out.shape), dtype=torch.float32)
binding.bind_input(ort_inputs and ort_session.get_inputs()[0].name, "cpu", 0, np.float32, tuple(x.shape), x.data_ptr())
binding.bind_output(ort_session.get_outputs()[0].name, "cpu", 0, np.float32, tuple(y.shape), y.data_ptr())
ort_session.run_with_iobinding(binding)
results = [ort_outs, y.numpy()]
"""

CLASSES = """
import numpy as np
import torch
import onnxruntime as rt

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Embedding(50, 8), torch.nn.LSTM(8, 12, batch_first=True)).eval()
tokens = torch.randint(0, 50, (2, 7))
program = torch.onnx.export(model, (tokens,), dynamo=True, input_names=["tokens"], verbose=False)
session = rt.InferenceSession(program.model_proto.SerializeToString())
meta = session.get_modelmeta()
results = session.run([output.name for output in session.get_outputs()], {"tokens": tokens.numpy()})
for a, b in zip(results, [model(tokens)[0], *model(tokens)[1]]):
    assert np.allclose(a, b.detach().numpy(), atol=1e-4)
results += [meta.producer_name, [(i.name, list(i.shape), i.type) for i in session.get_inputs()]]
"""


@pytest.mark.parametrize("program", [EXPORTED, CLASSES], ids=["exported", "sequences"])
def test_programs_run_with_one_line_changed(program):
    ensure_alike(program)


def test_tensors_of_torch_are_taken_without_a_copy():
    session = onnxtxt.Session(onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }'))
    x = torch.arange(4, dtype=torch.float32)
    done = session.run({"x": x})["y"]
    assert torch.from_numpy(done).tolist() == [0, -1, -2, -3]
    y = torch.zeros(4)
    session.run_into({"x": x}, {"y": y.numpy()})
    assert y.tolist() == [0, -1, -2, -3]
    assert np.from_dlpack(torch.from_dlpack(done)).tolist() == done.tolist()
