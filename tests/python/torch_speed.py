"""Time and memory of training steps beside torch: one thread and two, by processor time.

    python tests/python/torch_speed.py PROGRAM [NETWORK…]

Writes models, trains each with `PROGRAM train` and with torch, each run in a process of its own, and prints a table. The time of a step of
ours is the difference between a long run and a short one, so that starting does not count; torch, which needs seconds to start, measures
its own steps. Of some repetitions, the least counts. Memory is the peak of the process of the long run, less that of one that makes a
single step on one example.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPETITIONS = 2
# Steps of the short and the long run.
STEPS = (3, 23)

MLP = """<ir_version: 11, opset_import: ["": 23]>
mlp (float[N,256] x) => (float[N,10] s) <{weights}> {{
    h1 = Gemm(x, w1, b1)  r1 = Relu(h1)
    h2 = Gemm(r1, w2, b2)  r2 = Relu(h2)
    h3 = Gemm(r2, w3, b3)  r3 = Relu(h3)
    s = Gemm(r3, w4, b4)
}}"""
CONVOLUTIONS = """<ir_version: 11, opset_import: ["": 23]>
convolutions (float[N,3,32,32] x) => (float[N,10] s) <{weights}> {{
    c1 = Conv <pads = [1, 1, 1, 1]> (x, k1, b1)  r1 = Relu(c1)
    c2 = Conv <pads = [1, 1, 1, 1]> (r1, k2, b2)  r2 = Relu(c2)
    p2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r2)
    c3 = Conv <pads = [1, 1, 1, 1]> (p2, k3, b3)  r3 = Relu(c3)
    p3 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r3)
    g = GlobalAveragePool(p3)  f = Flatten(g)
    s = Gemm(f, w4, b4)
}}"""
TRANSFORMER = """<ir_version: 11, opset_import: ["": 23]>
transformer (int64[N,64] codes) => (float[N,128,64] s) <{weights}> {{
    e = Gather(symbols, codes)
    x = Add(e, places)
    n1 = LayerNormalization(x, s1, o1)
    three = MatMul(n1, qkv)
    q, k, v = Split <axis = -1, num_outputs = 3> (three)
    seen = Attention <is_causal = 1, q_num_heads = 4, kv_num_heads = 4> (q, k, v)
    out = MatMul(seen, w)
    a = Add(x, out)
    n2 = LayerNormalization(a, s2, o2)
    wide = MatMul(n2, up)
    g = Gelu(wide)
    narrow = MatMul(g, down)
    b = Add(a, narrow)
    scores = MatMul(b, readout)
    s = Transpose <perm = [0, 2, 1]> (scores)
}}"""
NETWORKS = {
    "mlp": (
        MLP,
        {"w1": (256, 512), "b1": (512,), "w2": (512, 512), "b2": (512,), "w3": (512, 512), "b3": (512,), "w4": (512, 10), "b4": (10,)},
        ((256,), None, ()),
        128,
    ),
    "convolutions": (
        CONVOLUTIONS,
        {"k1": (32, 3, 3, 3), "b1": (32,), "k2": (32, 32, 3, 3), "b2": (32,), "k3": (64, 32, 3, 3), "b3": (64,), "w4": (64, 10), "b4": (10,)},
        ((3, 32, 32), None, ()),
        32,
    ),
    "transformer": (
        TRANSFORMER,
        {
            "symbols": (128, 128),
            "places": (64, 128),
            "s1": (128,),
            "o1": (128,),
            "qkv": (128, 384),
            "w": (128, 128),
            "s2": (128,),
            "o2": (128,),
            "up": (128, 512),
            "down": (512, 128),
            "readout": (128, 128),
        },
        ((64,), 128, (64,)),
        16,
    ),
}


def write(folder, name):
    """The model as text, and the data of a batch."""
    text, shapes, (shape, codes, labels), batch = NETWORKS[name]
    random = np.random.default_rng(1)
    arrays = {n: (random.standard_normal(s) / np.sqrt(np.prod(s[1:]) if len(s) > 1 else 50)).astype(np.float32) for n, s in shapes.items()}
    listed = lambda a: ", ".join(f"{v:.6g}" for v in a.ravel())
    weights = ", ".join(f"float[{','.join(map(str, a.shape))}] {n} = {{{listed(a)}}}" for n, a in arrays.items())
    (folder / f"{name}.onnxtxt").write_text(text.format(weights=weights))
    if codes is None:
        data = {"x": random.standard_normal((batch, *shape)).astype(np.float32)}
    else:
        data = {"codes": random.integers(0, codes, (batch, *shape))}
    data["label"] = random.integers(0, 10, (batch, *labels))
    np.savez(folder / f"{name}.npz", **data)
    np.savez(folder / f"{name}-one.npz", **{n: a[:1] for n, a in data.items()})
    np.savez(folder / f"{name}-weights.npz", **arrays)


def torch_run(folder, name, steps, threads, data):
    """Trains with torch; runs in a process of its own."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    weights = {n: torch.tensor(a, requires_grad=True) for n, a in np.load(folder / f"{name}-weights.npz").items()}
    batch = {n: torch.tensor(a) for n, a in np.load(folder / data).items()}
    W = lambda n: weights[n]

    def mlp(x):
        for i in (1, 2, 3):
            x = F.relu(torch.addmm(W(f"b{i}"), x, W(f"w{i}")))
        return torch.addmm(W("b4"), x, W("w4"))

    def convolutions(x):
        x = F.relu(F.conv2d(x, W("k1"), W("b1"), padding=1))
        x = F.max_pool2d(F.relu(F.conv2d(x, W("k2"), W("b2"), padding=1)), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, W("k3"), W("b3"), padding=1)), 2)
        return torch.addmm(W("b4"), x.mean((2, 3)), W("w4"))

    def transformer(codes):
        x = F.embedding(codes, W("symbols")) + W("places")
        heads = lambda t: t.reshape(*t.shape[:2], 4, -1).transpose(1, 2)
        q, k, v = (heads(part) for part in (F.layer_norm(x, (128,), W("s1"), W("o1")) @ W("qkv")).chunk(3, -1))
        a = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2) @ W("w")
        b = a + F.gelu(F.layer_norm(a, (128,), W("s2"), W("o2")) @ W("up")) @ W("down")
        return (b @ W("readout")).transpose(1, 2)

    network = {"mlp": mlp, "convolutions": convolutions, "transformer": transformer}[name]
    optimizer = torch.optim.Adam(list(weights.values()), lr=0.001)
    start = time.process_time()
    for step in range(steps):
        if step == STEPS[0]:
            start = time.process_time()
        optimizer.zero_grad()
        loss = F.cross_entropy(network(batch.get("x", batch.get("codes"))), batch["label"])
        loss.backward()
        optimizer.step()
    print(time.process_time() - start, float(loss))


def measured(command):
    """Processor time, peak memory and output of a process."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, error = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {error.decode()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out.decode()


def ours(program, folder, name, steps, threads, data, more=()):
    command = [program, "train", folder / f"{name}-training.onnx", "-i", folder / data, "--steps", str(steps), *more]
    command += ["--threads", str(threads), "-o", folder / "out.npz", "--format", "json", "--unchecked"]
    seconds, memory, out = measured(command)
    return seconds, memory, json.loads(out)["last"]["loss"]


def theirs(folder, name, steps, threads, data):
    _, memory, out = measured([sys.executable, __file__, "--torch", folder, name, str(steps), str(threads), data])
    seconds, loss = map(float, out.split())
    return seconds, memory, loss


def figures(run, measures_itself):
    """Time of a step, memory of the steps, and the last loss."""
    few, many = STEPS
    times, memory, loss = [], [], None
    for _ in range(REPETITIONS):
        long = run(many, "")
        start = 0 if measures_itself else run(few, "")[0]
        times.append((long[0] - start) / (many - few))
        memory.append(long[1])
        loss = long[2]
    return min(times), min(memory) - run(1, "-one")[1], loss


def main():
    if sys.argv[1] == "--torch":
        _, _, folder, name, steps, threads, data = sys.argv
        return torch_run(Path(folder), name, int(steps), int(threads), data)
    program, names = sys.argv[1], sys.argv[2:] or list(NETWORKS)
    print(f"{'network':14} {'threads':>7} {'ours':>9} {'torch':>9} {'ratio':>6}  {'ours':>9} {'torch':>9}   loss")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in names:
            write(folder, name)
            model, training = folder / f"{name}.onnxtxt", folder / f"{name}-training.onnx"
            make = [program, "trainable", model, "--loss", "SoftmaxCrossEntropyLoss", "--optimizer", "adam", "-o", training]
            subprocess.run(make, check=True, stderr=subprocess.DEVNULL)
            for threads in (1, 2):
                run_ours = lambda steps, data: ours(program, folder, name, steps, threads, f"{name}{data}.npz")
                run_torch = lambda steps, data: theirs(folder, name, steps, threads, f"{name}{data}.npz")
                a, b = figures(run_ours, False), figures(run_torch, True)
                print(
                    f"{name:14} {threads:7} {a[0] * 1e3:6.1f} ms {b[0] * 1e3:6.1f} ms {a[0] / b[0]:6.2f}"
                    f"  {a[1] / 1e6:6.1f} MB {b[1] / 1e6:6.1f} MB   {a[2]:.5f} {b[2]:.5f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
