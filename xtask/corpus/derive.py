#!/usr/bin/env python3
"""Models derived from the torch exports with ONNX Runtime's own tools (quantisers, fp16, transformer fusion) and
by outlining nodes into model-local functions.

    derive.py OUT      # after export_torch.py OUT

OUT/<name>/<name>.onnx.  Progress as in progress.py; a model whose stamp is current is not built again.
"""

import os, sys, numpy as np, onnx
from progress import Progress, is_done, key_of, mark_done, only_stderr
from onnx import helper as oh, TensorProto as TP, AttributeProto as AP

OUT = sys.argv[1]
R = {}


def reg(name, base):
    def d(f):
        R[name] = (f, base)
        return f

    return d


def src(b):
    return os.path.join(OUT, b, b + ".onnx")


class Reader:
    def __init__(s, base, n=6, scale=1.0):
        z = np.load(os.path.join(OUT, base, base + ".npz"))
        s.feeds = []
        r = np.random.RandomState(7)
        for i in range(n):
            s.feeds.append(
                {
                    k[3:]: (
                        z[k]
                        if z[k].dtype.kind != "f"
                        else (r.randn(*z[k].shape) * z[k].std() * scale).astype(z[k].dtype)
                    )
                    for k in z.files
                    if k.startswith("in_")
                }
            )
        s.it = iter(s.feeds)

    def get_next(s):
        return next(s.it, None)


def prep(b, out):
    from onnxruntime.quantization.shape_inference import quant_pre_process

    p = out + ".pre.onnx"
    quant_pre_process(src(b), p, skip_symbolic_shape=True)
    return p


def static(b, out, **kw):
    from onnxruntime.quantization import quantize_static

    p = prep(b, out)
    quantize_static(p, out, Reader(b), **kw)
    os.remove(p)


@reg("resnet18_qdq", "resnet18_dynamo")
def _(b, o):
    from onnxruntime.quantization import QuantFormat as F, QuantType as Q

    static(b, o, quant_format=F.QDQ, per_channel=True, weight_type=Q.QInt8, activation_type=Q.QUInt8)


@reg("mobilenet_v2_qop", "mobilenet_v2_ts")
def _(b, o):
    from onnxruntime.quantization import QuantFormat as F, QuantType as Q

    static(
        b,
        o,
        quant_format=F.QOperator,
        per_channel=True,
        reduce_range=False,
        weight_type=Q.QInt8,
        activation_type=Q.QUInt8,
    )


@reg("bert_base_dynq", "bert_base_ts")
def _(b, o):
    from onnxruntime.quantization import quantize_dynamic, QuantType as Q

    quantize_dynamic(src(b), o, weight_type=Q.QInt8)


@reg("resnet18_fp16", "resnet18_dynamo")
def _(b, o):
    from onnxruntime.transformers.float16 import convert_float_to_float16 as c

    onnx.save(c(onnx.load(src(b)), keep_io_types=True), o)


@reg("gpt2_tiny_int4_qdq", "gpt2_tiny_kv_ts")
def _(b, o):
    int4(b, o, "QDQ", 21, block=32, sym=True)


@reg("gpt2_tiny_matmulnbits", "gpt2_tiny_kv_ts")
def _(b, o):
    int4(b, o, "QOperator", None, block=32, sym=False)


@reg("bert_base_ortfused", "bert_base_ts")
def _(b, o):
    fused(b, o, "bert", 12, 768)


def int4(b, o, fmt, opset, block, sym):
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        MatMulNBitsQuantizer as M,
        QuantFormat as F,
        DefaultWeightOnlyQuantConfig as C,
    )

    m = onnx.load(src(b))
    if opset and m.opset_import[0].version < opset:
        m = onnx.version_converter.convert_version(m, opset)
    cfg = C(block_size=block, is_symmetric=sym, quant_format=getattr(F, fmt))
    q = M(m, algo_config=cfg)
    q.process()
    onnx.save(q.model.model, o)


def fused(b, o, kind, heads, hid):
    from onnxruntime.transformers import optimizer

    m = optimizer.optimize_model(src(b), model_type=kind, num_heads=heads, hidden_size=hid, opt_level=0)
    m.save_model_to_file(o)


def aref(name, attr, typ):
    a = AP()
    a.name = name
    a.ref_attr_name = attr
    a.type = typ
    return a


def cnode(out, **kw):
    return oh.make_node("Constant", [], [out], **kw)


def outline(b, o, dom, style):
    m = onnx.load(src(b))
    ops = [oh.make_opsetid("", m.opset_import[0].version), oh.make_opsetid(dom, 1)]
    fs = {}
    eps = oh.make_node("Constant", [], ["eps0"])
    eps.attribute.append(aref("value_float", "epsilon", AP.FLOAT))
    ax = cnode("ax", value_ints=[-1])
    fs["Moments"] = oh.make_function(
        dom,
        "Moments",
        ["X"],
        ["D", "V"],
        [
            ax,
            oh.make_node("ReduceMean", ["X", "ax"], ["m"], keepdims=1),
            oh.make_node("Sub", ["X", "m"], ["D"]),
            oh.make_node("Mul", ["D", "D"], ["dd"]),
            oh.make_node("ReduceMean", ["dd", "ax"], ["V"], keepdims=1),
        ],
        ops,
    )
    ln = [
        eps,
        oh.make_node("CastLike", ["eps0", "X"], ["eps"]),
        oh.make_node("Moments", ["X"], ["d", "v"], domain=dom),
        oh.make_node("Add", ["v", "eps"], ["ve"]),
        oh.make_node("Sqrt", ["ve"], ["s"]),
        oh.make_node("Div", ["d", "s"], ["n"]),
        oh.make_node("Mul", ["n", "W"], ["nw"]),
        oh.make_node("Add", ["nw", "B"], ["Y"]),
    ]
    sm = [
        ax,
        oh.make_node("ReduceMax", ["X", "ax"], ["m"], keepdims=1),
        oh.make_node("Sub", ["X", "m"], ["d"]),
        oh.make_node("Exp", ["d"], ["e"]),
        oh.make_node("ReduceSum", ["e", "ax"], ["s"], keepdims=1),
        oh.make_node("Div", ["e", "s"], ["Y"]),
    ]
    ge = [
        cnode("h0", value_float=0.5),
        cnode("r0", value_float=0.7071067811865476),
        cnode("o0", value_float=1.0),
        oh.make_node("CastLike", ["h0", "X"], ["h"]),
        oh.make_node("CastLike", ["r0", "X"], ["r"]),
        oh.make_node("CastLike", ["o0", "X"], ["o"]),
        oh.make_node("Mul", ["X", "r"], ["xr"]),
        oh.make_node("Erf", ["xr"], ["e"]),
        oh.make_node("Add", ["e", "o"], ["e1"]),
        oh.make_node("Mul", ["X", "e1"], ["xe"]),
        oh.make_node("Mul", ["xe", "h"], ["Y"]),
    ]
    if style == "plain":
        fs["LayerNorm"] = oh.make_function(dom, "LayerNorm", ["X", "W", "B"], ["Y"], ln, ops, ["epsilon"])
        fs["SoftmaxLast"] = oh.make_function(dom, "SoftmaxLast", ["X"], ["Y"], sm, ops)
        fs["GeluErf"] = oh.make_function(dom, "GeluErf", ["X"], ["Y"], ge, ops)
    else:  # attribute with default, subgraph inside a function capturing function-scope names, attribute deciding a branch
        fs["LayerNorm"] = oh.make_function(
            dom, "LayerNorm", ["X", "W", "B"], ["Y"], ln, ops, [], [oh.make_attribute("epsilon", 1e-5)]
        )
        br = lambda nodes, out: oh.make_graph(nodes, "g_" + out, [], [oh.make_tensor_value_info(out, TP.FLOAT, None)])
        flag = oh.make_node("Constant", [], ["flag_i"])
        flag.attribute.append(aref("value_int", "stable", AP.INT))
        fs["SoftmaxLast"] = oh.make_function(
            dom,
            "SoftmaxLast",
            ["X"],
            ["Y"],
            [
                ax,
                flag,
                oh.make_node("Cast", ["flag_i"], ["flag"], to=TP.BOOL),
                oh.make_node(
                    "If",
                    ["flag"],
                    ["d"],
                    then_branch=br(
                        [
                            oh.make_node("ReduceMax", ["X", "ax"], ["tm"], keepdims=1),
                            oh.make_node("Sub", ["X", "tm"], ["td"]),
                        ],
                        "td",
                    ),
                    else_branch=br([oh.make_node("Identity", ["X"], ["ed"])], "ed"),
                ),
                oh.make_node("Exp", ["d"], ["e"]),
                oh.make_node("ReduceSum", ["e", "ax"], ["s"], keepdims=1),
                oh.make_node("Div", ["e", "s"], ["Y"]),
            ],
            ops,
            [],
            [oh.make_attribute("stable", 1)],
        )
        fs["GeluErf"] = oh.make_function(dom, "GeluErf", ["X"], ["Y"], ge, ops)
    used = set()
    k = 0

    def walk(nodes):
        nonlocal k
        for n in nodes:
            if (
                n.domain == ""
                and n.op_type == "LayerNormalization"
                and len(n.input) == 3
                and len([x for x in n.output if x]) == 1
            ):
                e = [a.f for a in n.attribute if a.name == "epsilon"]
                n.op_type = "LayerNorm"
                n.domain = dom
                del n.attribute[:]
                del n.output[1:]
                if style == "plain" or e and abs(e[0] - 1e-5) > 1e-9:
                    n.attribute.append(oh.make_attribute("epsilon", e[0] if e else 1e-5))
                used.update(["LayerNorm", "Moments"])
            elif n.domain == "" and n.op_type == "Softmax":
                if any(a.name == "axis" and a.i not in (-1, 3) for a in n.attribute):
                    continue
                n.op_type = "SoftmaxLast"
                n.domain = dom
                del n.attribute[:]
                used.add("SoftmaxLast")
                k += 1
                if style != "plain" and k % 2:
                    n.attribute.append(oh.make_attribute("stable", 1))
            elif (
                n.domain == ""
                and n.op_type == "Gelu"
                and not any(a.name == "approximate" and a.s == b"tanh" for a in n.attribute)
            ):
                n.op_type = "GeluErf"
                n.domain = dom
                del n.attribute[:]
                used.add("GeluErf")

    walk(m.graph.node)
    m.opset_import.append(oh.make_opsetid(dom, 1))
    m.functions.extend(fs[u] for u in fs if u in used)
    m.ir_version = max(m.ir_version, 9)
    del m.graph.value_info[:]
    onnx.checker.check_model(m)
    onnx.save(m, o)


@reg("bert_tiny_functions", "bert_tiny_dynamo")
def _(b, o):
    outline(b, o, "local.nn", "plain")


@reg("whisper_functions", "whisper_tiny_encoder_dynamo")
def _(b, o):
    outline(b, o, "my.blocks", "plain")


def main():
    progress, key = Progress(len(R)), key_of(__file__)
    for name, (build, base) in R.items():
        d = os.path.join(OUT, name)
        if is_done(d, key):
            progress.report(name, "cached")
            continue
        if not os.path.exists(src(base)):
            progress.report(name, "failed", "its base model %s is not there" % base)
            continue
        os.makedirs(d, exist_ok=True)
        try:
            with only_stderr():
                build(base, os.path.join(d, name + ".onnx"))
            mark_done(d, key)
            progress.report(name, "ok")
        except Exception as e:
            progress.report(name, "failed", repr(e)[:300])


if __name__ == "__main__":
    main()
