"""Gradients and optimizers of torch, for conformance/tests/rewrites/torch.rs: one JSON object a line.

    python tests/python/torch_gradients.py > cases.jsonl

Numbers are drawn with a fixed seed. torch computes in double precision, with numbers that single precision has.
"""

import json
import sys

import numpy as np
import torch
import torch_cases
import torch_networks

VERSION = 26
STEPS = 20
# Our settings, and the same for torch.
OPTIMIZERS = [
    ("sgd,lr=0.1", lambda p: torch.optim.SGD(p, lr=0.1), {}),
    ("momentum,lr=0.05,alpha=0.9", lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), {"momentum_buffer": "momentum"}),
    (
        "momentum,lr=0.05,alpha=0.9,nesterov,norm=0.01",
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
        {"momentum_buffer": "momentum"},
    ),
    ("adagrad,lr=0.1,epsilon=1e-8", lambda p: torch.optim.Adagrad(p, lr=0.1, eps=1e-8), {"sum": "squares"}),
    ("adam,lr=0.01", lambda p: torch.optim.Adam(p, lr=0.01), {"exp_avg": "mean", "exp_avg_sq": "squares"}),
]


def value(array):
    array = np.asarray(array)
    kind = "int64" if array.dtype == np.int64 else "float"
    return {"type": kind, "dims": list(array.shape), "data": array.ravel().tolist()}


def drawn(random, inputs, scale=1.0):
    """The arrays of a case; floats are those of single precision."""
    arrays = {}
    for name, spec in inputs.items():
        if isinstance(spec, np.ndarray):
            arrays[name] = spec
            continue
        nested = len(spec) == 2 and isinstance(spec[0], tuple)
        shape, (low, high) = spec if nested else (spec, (-1.6 * scale, 1.6 * scale))
        arrays[name] = random.uniform(low, high, shape).astype(np.float32)
    return arrays


def tensors(arrays):
    """Leaves of torch: floats are differentiated."""
    make = lambda a: torch.tensor(a) if a.dtype == np.int64 else torch.tensor(a, dtype=torch.float64, requires_grad=True)
    return {name: make(array) for name, array in arrays.items()}


def typed(name, array):
    dims = f"[{','.join(map(str, array.shape))}]" if array.ndim else ""
    return f"{'int64' if array.dtype == np.int64 else 'float'}{dims} {name}"


def gradient_case(kind, name, arrays, nodes, function, random):
    leaves = tensors(arrays)
    y = function(*leaves.values())
    weights = random.uniform(0.3, 1.2, tuple(y.shape)).astype(np.float32)
    total = (y * torch.tensor(weights, dtype=torch.float64)).sum()
    total.backward()
    floats = [name for name, leaf in leaves.items() if leaf.requires_grad]
    params = [typed(n, a) for n, a in arrays.items()] + [typed("weights", weights)]
    outputs = ["float total"] + [typed(f"d_{n}", arrays[n]) for n in floats]
    text = f"""<ir_version: 13, opset_import: ["": {VERSION}, "ai.onnx.preview.training": 1]>
g ({', '.join(params)}) => ({', '.join(outputs)}) {{
{nodes}
product = Mul(y, weights)
total = ReduceSum <keepdims = 0> (product)
{', '.join(f'd_{n}' for n in floats)} = ai.onnx.preview.training.Gradient <xs = [{', '.join(f'"{n}"' for n in floats)}], y = "total"> ({', '.join(floats)})
}}"""
    expected = {"total": value(total.detach().numpy())}
    for n in floats:
        gradient = leaves[n].grad
        expected[f"d_{n}"] = value(torch.zeros_like(leaves[n]).numpy() if gradient is None else gradient.numpy())
    inputs = {n: value(a) for n, a in (arrays | {"weights": weights}).items()}
    return {"kind": kind, "name": name, "text": text, "inputs": inputs, "expected": expected}


def optimizer_case(settings, make, states, random):
    shapes = {"w1": (4, 6), "b1": (6,), "w2": (6, 3), "b2": (3,)}
    arrays = drawn(random, shapes, 0.5)
    data = {"x": random.uniform(-1, 1, (12, 4)).astype(np.float32), "label": random.integers(0, 3, 12).astype(np.int64)}
    leaves = tensors(arrays)
    optimizer = make(list(leaves.values()))
    x, label = torch.tensor(data["x"], dtype=torch.float64), torch.tensor(data["label"])
    for _ in range(STEPS):
        optimizer.zero_grad()
        scores = torch.tanh(x @ leaves["w1"] + leaves["b1"]) @ leaves["w2"] + leaves["b2"]
        loss = torch.nn.functional.cross_entropy(scores, label)
        loss.backward()
        optimizer.step()
    listed = lambda a: ", ".join(repr(float(v)) for v in a.ravel())
    initial = ", ".join(f"{typed(n, a)} = {{{listed(a)}}}" for n, a in arrays.items())
    text = f"""<ir_version: 13, opset_import: ["": {VERSION}]>
g (float[N,4] x) => (float[N,3] s) <{initial}> {{ h = Gemm(x, w1, b1) t = Tanh(h) s = Gemm(t, w2, b2) }}"""
    expected = {"loss": value(loss.detach().numpy())}
    for name, leaf in leaves.items():
        expected[name] = value(leaf.detach().numpy())
        for key, suffix in states.items():
            expected[f"{name}_{suffix}"] = value(optimizer.state[leaf][key].numpy())
    inputs = {n: value(a) for n, a in data.items()}
    return {"kind": "optimizer", "name": settings, "text": text, "steps": STEPS, "inputs": inputs, "expected": expected}


def main():
    torch.set_num_threads(1)
    random = np.random.default_rng(18)
    cases = []
    for name, inputs, nodes, function in torch_cases.operators():
        cases.append(gradient_case("operator", name, drawn(random, inputs), nodes, function, random))
    for name, network in torch_networks.NETWORKS.items():
        inputs, nodes, function = network(random)
        cases.append(gradient_case("network", name, drawn(random, inputs, 0.4), nodes, function, random))
    for settings, make, states in OPTIMIZERS:
        cases.append(optimizer_case(settings, make, states, random))
    for case in cases:
        json.dump(case, sys.stdout)
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
