#!/usr/bin/env python3
"""Export torch / torchvision / transformers architectures with seeded random weights (no downloads).

    export_torch.py all OUT          # every model, one process each
    export_torch.py one NAME OUT

OUT/<name>/<name>.onnx and .npz (in_<input>, out_<output>: ONNX Runtime on the CPU without graph optimisation)
and .json (exporter, difference between torch and ONNX Runtime).  Progress as in progress.py; a model whose
stamp is current is not built again.
BatchNorm statistics are calibrated with random batches, and normalisation affine terms and zero biases are
perturbed, so that activations stay in range and no parameter is a trivial 0 or 1.
"""

import sys, os, json, subprocess, warnings
from progress import Progress, is_done, key_of, mark_done

warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
REG = {}


def reg(name, exporter, opset, **kw):
    def deco(f):
        REG[name] = dict(fn=f, exporter=exporter, opset=opset, **kw)
        return f

    return deco


def shake(m, seed=0):
    import torch

    g = torch.Generator().manual_seed(seed)
    for mod in m.modules():
        w = getattr(mod, "weight", None)
        b = getattr(mod, "bias", None)
        isnorm = "norm" in type(mod).__name__.lower()
        if isnorm and isinstance(w, torch.nn.Parameter):
            w.data = torch.rand(w.shape, generator=g) * 0.5 + 0.75
        if isinstance(b, torch.nn.Parameter) and (isnorm or float(b.data.abs().max()) == 0.0):
            b.data = torch.randn(b.shape, generator=g) * 0.05
    for n, p in m.named_parameters():
        if "layer_scale" in n:
            p.data = torch.rand(p.shape, generator=g) * 0.5
        elif p.numel() and float(p.data.abs().max()) == 0.0:
            p.data = torch.randn(p.shape, generator=g) * 0.05
    return m


def calibrate(m, *args, n=3):
    import torch

    bns = [x for x in m.modules() if isinstance(x, torch.nn.modules.batchnorm._BatchNorm)]
    if bns:
        for b in bns:
            b.momentum = None
            b.reset_running_stats()
        drops = [x for x in m.modules() if "Dropout" in type(x).__name__ or "StochasticDepth" in type(x).__name__]
        m.train()
        for d in drops:
            d.eval()
        with torch.no_grad():
            for _ in range(n):
                m(*args)
    return m.eval()


def tv(ctor, size=224, batch=2, **kw):
    import torch, torchvision

    torch.manual_seed(0)
    f = ctor(torchvision.models)
    m = shake(f)
    calibrate(m, torch.randn(4, 3, size, size))
    return m, (torch.randn(batch, 3, size, size),), ["image"], ["logits"]


@reg("resnet18_dynamo", "dynamo", 20, dyn={"image": {0: "N"}})
def _():
    return tv(lambda t: t.resnet18(weights=None))


@reg("resnet50_ts", "ts", 13, dyn={"image": {0: "N"}, "logits": {0: "N"}})
def _():
    return tv(lambda t: t.resnet50(weights=None))


@reg("mobilenet_v2_ts", "ts", 11, dyn={"image": {0: "N", 2: "H", 3: "W"}, "logits": {0: "N"}})
def _():
    return tv(lambda t: t.mobilenet_v2(weights=None))


@reg("vit_b_16_dynamo", "dynamo", 18)
def _():
    return tv(lambda t: t.vit_b_16(weights=None), batch=1)


@reg("densenet121_ts_op9", "ts", 9)
def _():
    return tv(lambda t: t.densenet121(weights=None), batch=1)


@reg("googlenet_ts_op12", "ts", 12)
def _():
    return tv(lambda t: t.googlenet(weights=None, aux_logits=False, init_weights=True), batch=1)


@reg("swin_t_ts", "ts", 17)
def _():
    return tv(lambda t: t.swin_t(weights=None), batch=1)


@reg("fcn_resnet50_dynamo", "dynamo", 18)
def _():
    import torch

    m, a, i, o = tv(
        lambda t: t.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=21), size=192, batch=1
    )

    class W(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.m = m

        def forward(s, x):
            return s.m(x)["out"]

    return W().eval(), a, ["image"], ["mask"]


@reg("ssdlite320_ts", "ts", 17)
def _():
    return det(
        lambda t: t.detection.ssdlite320_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=21, score_thresh=0.05, detections_per_img=50
        )
    )


def det(ctor):
    import torch, torchvision

    torch.manual_seed(0)
    m = shake(ctor(torchvision.models))
    x = torch.rand(3, 320, 320)
    bns = [b for b in m.modules() if isinstance(b, torch.nn.modules.batchnorm._BatchNorm)]
    for b in bns:
        b.momentum = None
        b.reset_running_stats()
    m.backbone.train()
    with torch.no_grad():
        for _ in range(3):
            m.backbone(torch.randn(4, 3, 320, 320))
    m.eval()

    class W(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.m = m

        def forward(s, x):
            r = s.m([x])[0]
            return r["boxes"], r["scores"], r["labels"]

    return W().eval(), (x,), ["image"], ["boxes", "scores", "labels"]


def hf(cls, cfg, **kw):
    import torch, transformers

    torch.manual_seed(0)
    c = getattr(transformers, cfg)(**kw)
    c._attn_implementation = "sdpa" if kw.get("_sdpa") else "eager"
    return shake(getattr(transformers, cls)(c)).eval()


def wrap(f, **mods):
    import torch

    class W(torch.nn.Module):
        def __init__(s):
            super().__init__()
            for k, v in mods.items():
                setattr(s, k, v)

        def forward(s, *a):
            return f(s, *a)

    return W().eval()


@reg(
    "bert_base_ts",
    "ts",
    14,
    dyn={
        "input_ids": {0: "N", 1: "S"},
        "attention_mask": {0: "N", 1: "S"},
        "token_type_ids": {0: "N", 1: "S"},
        "last_hidden_state": {0: "N", 1: "S"},
        "pooler_output": {0: "N"},
    },
)
def _():
    import torch

    m = hf("BertModel", "BertConfig", vocab_size=8192)
    f = wrap(lambda s, i, a, t: tuple(s.m(input_ids=i, attention_mask=a, token_type_ids=t, return_dict=False)[:2]), m=m)
    a = torch.ones(2, 32, dtype=torch.long)
    a[1, 24:] = 0
    return (
        f,
        (torch.randint(0, 8192, (2, 32)), a, (torch.arange(32)[None] > 15).long().repeat(2, 1)),
        ["input_ids", "attention_mask", "token_type_ids"],
        ["last_hidden_state", "pooler_output"],
    )


@reg("bert_tiny_dynamo", "dynamo", 18, dyn={"input_ids": {0: "N", 1: "S"}, "attention_mask": {0: "N", 1: "S"}})
def _():
    import torch

    m = hf(
        "BertForSequenceClassification",
        "BertConfig",
        vocab_size=2000,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        num_labels=3,
    )
    f = wrap(lambda s, i, a: s.m(input_ids=i, attention_mask=a, return_dict=False)[0], m=m)
    a = torch.ones(2, 20, dtype=torch.long)
    a[1, 13:] = 0
    return f, (torch.randint(0, 2000, (2, 20)), a), ["input_ids", "attention_mask"], ["logits"]


@reg("gpt2_124m_dynamo", "dynamo", 18, external=True)
def _():
    import torch

    m = hf("GPT2LMHeadModel", "GPT2Config", use_cache=False)
    f = wrap(lambda s, i: s.m(input_ids=i, return_dict=False, use_cache=False)[0], m=m)
    return f, (torch.randint(0, 50257, (1, 32)),), ["input_ids"], ["logits"]


@reg(
    "gpt2_tiny_kv_ts",
    "ts",
    17,
    dyn={
        "input_ids": {1: "S"},
        **{"past_%s%d" % (k, l): {2: "P"} for l in range(2) for k in "kv"},
        "logits": {1: "S"},
        **{"present_%s%d" % (k, l): {2: "T"} for l in range(2) for k in "kv"},
    },
)
def _():
    import torch
    from torch.nn import functional as F

    torch.manual_seed(0)
    D, H, V, L = 128, 4, 1000, 2

    class Blk(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.l1 = torch.nn.LayerNorm(D)
            s.l2 = torch.nn.LayerNorm(D)
            s.qkv = torch.nn.Linear(D, 3 * D)
            s.o = torch.nn.Linear(D, D)
            s.f1 = torch.nn.Linear(D, 4 * D)
            s.f2 = torch.nn.Linear(4 * D, D)

        def forward(s, x, pk, pv):
            B, S, _ = x.shape
            q, k, v = s.qkv(s.l1(x)).split(D, -1)
            r = lambda t: t.view(B, S, H, D // H).transpose(1, 2)
            q, k, v = r(q), torch.cat([pk, r(k)], 2), torch.cat([pv, r(v)], 2)
            w = q @ k.transpose(-1, -2) / (D // H) ** 0.5
            T = k.shape[2]
            m = torch.ones(T, T, dtype=torch.bool).tril()[T - S : T]
            w = w.masked_fill(~m, float("-inf")).softmax(-1)
            x = x + s.o((w @ v).transpose(1, 2).reshape(B, S, D))
            return x + s.f2(F.gelu(s.f1(s.l2(x)), approximate="tanh")), k, v

    class G(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.e = torch.nn.Embedding(V, D)
            s.p = torch.nn.Embedding(256, D)
            s.b = torch.nn.ModuleList([Blk() for _ in range(L)])
            s.n = torch.nn.LayerNorm(D)

        def forward(s, ids, *past):
            P = past[0].shape[2]
            x = s.e(ids) + s.p(torch.arange(P, P + ids.shape[1]))
            out = []
            for l, b in enumerate(s.b):
                x, k, v = b(x, past[2 * l], past[2 * l + 1])
                out += [k, v]
            return (s.n(x) @ s.e.weight.T, *out)

    past = [torch.randn(1, H, 7, D // H) for _ in range(2 * L)]
    nm = ["past_%s%d" % (k, l) for l in range(L) for k in "kv"]
    return (
        shake(G()).eval(),
        (torch.randint(0, V, (1, 5)), *past),
        ["input_ids"] + nm,
        ["logits"] + [n.replace("past", "present") for n in nm],
    )


@reg("whisper_tiny_encoder_dynamo", "dynamo", 18)
def _():
    import torch

    m = hf(
        "WhisperModel",
        "WhisperConfig",
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_layers=1,
        decoder_attention_heads=6,
        decoder_ffn_dim=1536,
        vocab_size=1000,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
    )
    f = wrap(lambda s, x: s.e(x, return_dict=False)[0], e=m.get_encoder())
    return f, (torch.randn(1, 80, 3000),), ["mel"], ["hidden"]


@reg("lstm_tagger_ts", "ts", 14, dyn={"ids": {0: "N", 1: "S"}, "scores": {0: "N", 1: "S"}})
def _():
    import torch

    torch.manual_seed(0)

    class M(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.e = torch.nn.Embedding(500, 64)
            s.r = torch.nn.LSTM(64, 96, 2, batch_first=True, bidirectional=True)
            s.o = torch.nn.Linear(192, 17)

        def forward(s, i):
            return s.o(s.r(s.e(i))[0]).log_softmax(-1)

    return M().eval(), (torch.randint(0, 500, (2, 19)),), ["ids"], ["scores"]


@reg("script_loop_decoder_ts", "ts", 16)
def _():
    import torch

    torch.manual_seed(0)

    class M(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.e = torch.nn.Embedding(64, 32)
            s.c = torch.nn.Linear(32, 32)
            s.r = torch.nn.Linear(32, 32)
            s.o = torch.nn.Linear(32, 64)

        def forward(s, h: torch.Tensor, n: torch.Tensor):
            tok = torch.zeros([h.size(0)], dtype=torch.long)
            outs = torch.zeros([0, h.size(0)], dtype=torch.long)
            i = 0
            while i < int(n):
                h = torch.tanh(s.c(s.e(tok)) + s.r(h))
                tok = s.o(h).argmax(-1)
                if int(tok.sum()) % 2 == 0:
                    tok = (tok + 1) % 64
                outs = torch.cat([outs, tok[None]], 0)
                i += 1
            return outs, h

    return torch.jit.script(M().eval()), (torch.randn(3, 32), torch.tensor(9)), ["h", "n"], ["tokens", "h_out"]


@reg("unet_small_ts", "ts", 13, dyn={"x": {0: "N", 2: "H", 3: "W"}, "y": {0: "N", 2: "H", 3: "W"}})
def _():
    import torch
    from torch import nn

    torch.manual_seed(0)
    cb = lambda i, o: nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1),
        nn.GroupNorm(4, o),
        nn.SiLU(),
        nn.Conv2d(o, o, 3, padding=1),
        nn.InstanceNorm2d(o, affine=True),
        nn.LeakyReLU(0.1),
    )

    class U(nn.Module):
        def __init__(s):
            super().__init__()
            s.a, s.b, s.c = cb(1, 16), cb(16, 32), cb(32, 64)
            s.u1 = nn.ConvTranspose2d(64, 32, 2, 2)
            s.d1 = cb(64, 32)
            s.d2 = cb(48, 16)
            s.o = nn.Conv2d(16, 2, 1)

        def forward(s, x):
            a = s.a(x)
            b = s.b(nn.functional.max_pool2d(a, 2))
            c = s.c(nn.functional.avg_pool2d(b, 2))
            d = s.d1(torch.cat([s.u1(c), b], 1))
            d = s.d2(
                torch.cat([nn.functional.interpolate(d, scale_factor=2.0, mode="bilinear", align_corners=False), a], 1)
            )
            return torch.sigmoid(s.o(d))

    return shake(U()).eval(), (torch.randn(1, 1, 96, 64),), ["x"], ["y"]


def one(name, out):
    import torch, numpy as np, onnxruntime as ort

    torch.set_num_threads(1)
    torch.manual_seed(1)
    r = REG[name]
    m, args, inn, outn = r["fn"]()
    p = os.path.join(out, name + ".onnx")
    with torch.no_grad():
        ref = m(*args)
        ref = ref if isinstance(ref, (tuple, list)) else (ref,)
        if r["exporter"] == "ts":
            torch.onnx.export(
                m,
                args,
                p,
                dynamo=False,
                opset_version=r["opset"],
                input_names=inn,
                output_names=outn,
                dynamic_axes=r.get("dyn"),
            )
        else:
            ds = None
            if r.get("dyn"):
                D = {}

                def dim(n):
                    return D.setdefault(
                        n, torch.export.Dim(n, min=1, max=512) if n == "S" else torch.export.Dim(n, min=1, max=64)
                    )

                ds = tuple({k: dim(v) for k, v in r["dyn"].get(n, {}).items()} or None for n in inn)
                if any(
                    p.kind == p.VAR_POSITIONAL for p in __import__("inspect").signature(m.forward).parameters.values()
                ):
                    ds = (ds,)
            torch.onnx.export(
                m,
                args,
                p,
                dynamo=True,
                opset_version=r["opset"],
                input_names=inn,
                output_names=outn,
                dynamic_shapes=ds,
                external_data=bool(r.get("external")),
                verbose=False,
            )
    so = ort.SessionOptions()
    so.intra_op_num_threads = 1
    so.log_severity_level = 3
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    s = ort.InferenceSession(p, so, providers=["CPUExecutionProvider"])
    have = {i.name for i in s.get_inputs()}
    feed = {n: a.numpy() for n, a in zip(inn, args) if n in have}
    o = s.run(None, feed)
    diff = []
    for a, b in zip(ref, o):
        a = a.numpy()
        diff.append(
            float(np.abs(a.astype("f8") - b.astype("f8")).max())
            if a.shape == b.shape and a.size
            else (0.0 if a.shape == b.shape else "shape %s vs %s" % (a.shape, b.shape))
        )
    d = {"in_" + k: v for k, v in feed.items()}
    d.update({"out_" + x.name: v for x, v in zip(s.get_outputs(), o)})
    np.savez_compressed(os.path.join(out, name + ".npz"), **d)
    info = dict(
        name=name,
        exporter=r["exporter"],
        opset=r["opset"],
        torch_vs_ort=diff,
        out_absmax=[float(np.abs(v.astype("f8")).max()) if v.size else None for v in o],
        out_shapes=[list(v.shape) for v in o],
        out_std=[float(v.astype("f8").std()) if v.size else None for v in o],
    )
    json.dump(info, open(os.path.join(out, name + ".json"), "w"), indent=1)


def main(out):
    progress, key = Progress(len(REG)), key_of(__file__)
    todo = []
    for name in REG:
        if is_done(os.path.join(out, name), key):
            progress.report(name, "cached")
        else:
            todo.append(name)
    for name in todo:
        d = os.path.join(out, name)
        os.makedirs(d, exist_ok=True)
        p = subprocess.run(
            [sys.executable, __file__, "one", name, out], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if p.returncode == 0:
            mark_done(d, key)
            progress.report(name, "ok")
        else:
            progress.report(name, "failed", (p.stderr.strip() or "no output").splitlines()[-1][:300])


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(sys.argv[2], os.path.join(sys.argv[3], sys.argv[2]))
    else:
        main(sys.argv[2])
