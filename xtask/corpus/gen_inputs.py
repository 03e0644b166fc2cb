#!/usr/bin/env python3
"""Deterministic inputs for the real models, and what ONNX Runtime (CPU, one thread) makes of them.

    gen_inputs.py all CORPUS             every model of the manifest: CORPUS/models/<name>/ -> CORPUS/io/<name>/
    gen_inputs.py one NAME PATH OUT      one model (used internally, one process each)

<name>.npz: in_<input name>, out_<output name>; outputs are those of ONNX Runtime with graph optimisation off (falls
back to BASIC, then ALL), strings are numpy unicode, non-tensor outputs are JSON text under outjson_<name>.
<name>.json: latency (all optimisations, median of 3 after a warm-up), difference between optimisation levels,
output spread, onnx.checker verdicts, dtype and shape of everything.
Progress as in progress.py.
"""

import sys, os, json, time, zlib, subprocess
import numpy as np

from progress import Progress, is_done, key_of, mark_done

HERE = os.path.dirname(os.path.abspath(__file__))


def rng(name):
    return np.random.RandomState(zlib.crc32(name.encode()) & 2147483647)


def image(shape, r, chan_last=False):
    """smooth synthetic picture in [0,1], quantised to 1/255 (so that it compresses)"""
    n, c, h, w = shape if not chan_last else (shape[0], shape[3], shape[1], shape[2])
    y, x = np.mgrid[0:h, 0:w].astype("f8")
    out = np.zeros((n, c, h, w))
    for a in range(n):
        for b in range(c):
            z = 0.5 + 0.2 * np.sin(x / w * r.uniform(4, 25) + r.uniform(0, 6)) * np.cos(
                y / h * r.uniform(4, 25) + r.uniform(0, 6)
            )
            for _ in range(4):
                y0, x0 = (r.randint(0, h), r.randint(0, w))
                hh, ww = (r.randint(2, max(3, h // 3)), r.randint(2, max(3, w // 3)))
                z[y0 : y0 + hh, x0 : x0 + ww] = r.uniform(0, 1)
            out[a, b] = z
    out = np.round(np.clip(out, 0, 1) * 255) / 255
    return (out if not chan_last else out.transpose(0, 2, 3, 1)).astype("f4")


def text_image(shape, r, text="Invoice 2041 Total 99.50 EUR", norm=True):
    """dark text lines on a light page, NCHW; norm: (x-0.5)/0.5 as the PP-OCR models expect"""
    from PIL import Image, ImageDraw, ImageFont

    n, c, h, w = shape
    out = np.zeros(shape, "f4")
    for a in range(n):
        im = Image.new("L", (w, h), 235)
        d = ImageDraw.Draw(im)
        size = h * 0.7 if h <= 64 else 20
        f = ImageFont.load_default(size=size)
        y = 2 if h <= 64 else 8
        while y < h - size / 2:
            k = r.randint(0, 8) if h > 64 else 0
            d.text((4 + (k * 3 if h > 64 else 0), y), text[k:] + text[:k], fill=int(r.randint(0, 60)), font=f)
            y += int(size * 1.7) if h > 64 else h
        z = np.asarray(im, "f4")
        for b in range(c):
            out[a, b] = np.clip(np.round(z + (b - 1) * 4), 0, 255) / 255
    return ((out - 0.5) / 0.5 if norm else out).astype("f4")


def imnet(x):
    return (
        (x - np.array([0.485, 0.456, 0.406], "f4")[:, None, None])
        / np.array([0.229, 0.224, 0.225], "f4")[:, None, None]
    ).astype("f4")


def audio(n, r, sr=16000):
    t = np.arange(n) / sr
    s = 0.25 * np.sin(2 * np.pi * 220 * t * (1 + 0.02 * np.sin(2 * np.pi * 5 * t))) + 0.12 * np.sin(
        2 * np.pi * 1330 * t
    ) * (np.sin(2 * np.pi * 3 * t) > 0)
    return (np.round((s + 0.02 * r.randn(n)) * 32768) / 32768).astype("f4")


def onehot(shape, r):
    o = np.zeros(shape, "f4")
    k = r.randint(0, shape[-1], shape[:-1])
    np.put_along_axis(o, k[..., None], 1.0, -1)
    return o


Z = lambda *s: np.zeros(s, "f4")


def special(model):
    r = rng(model)
    ids = lambda hi, *s: r.randint(1, hi, s).astype("i8")
    S = {
        "ppocrv4_det": lambda: {"x": imnet(text_image((1, 3, 160, 224), r, norm=False))},
        "ppocrv3_det_p2o9": lambda: {"x": imnet(text_image((1, 3, 160, 224), r, norm=False))},
        "ppocr_seal_det": lambda: {"x": np.round(r.randn(1, 3, 160, 160) * 64).astype("f4") / 16},
        "ppocrv4_rec": lambda: {"x": text_image((1, 3, 48, 160), r, "model 42")},
        "ppocr_cls_v2": lambda: {"x": text_image((2, 3, 48, 192), r, "model 42")},
        "ppocrv2_rec_crnn": lambda: {"x": text_image((1, 3, 32, 100), r, "model 42")},
        "table_ch_slanet_loop": lambda: {"x": imnet(text_image((1, 3, 488, 488), r, norm=False))},
        "ddddocr_old_int8": lambda: {"input1": text_image((1, 1, 64, 180), r, "h7Kp2")},
        "svtrv2_rec": lambda: {"image": text_image((1, 3, 32, 128), r, "model 42")},
        "layout_cdla_picodet": lambda: {"image": imnet(text_image((1, 3, 800, 608), r, norm=False))},
        "strike_verdict_cnn": lambda: {"crops": text_image((2, 1, 32, 160), r, "model 42")},
        "u2netp": lambda: {"input.1": imnet(image((1, 3, 320, 320), r))},
        "anime_or_not_resnet": lambda: {"input": imnet(image((2, 3, 224, 224), r))},
        "trueocr_det": lambda: {"x": text_image((1, 1, 128, 160), r, norm=False)},
        "trueocr_order": lambda: {
            "feats": r.rand(1, 12, 16).astype("f4"),
            "mask": np.array([[True] * 9 + [False] * 3]),
        },
        "trueocr_rec": lambda: {"x": text_image((2, 1, 96, 160), r, norm=False), "widths": np.array([160, 120], "i8")},
        "nudenet_320n": lambda: {"images": (1, 3, 320, 320)},
        "scrfd_500m": lambda: {"input.1": (1, 3, 320, 320)},
        "mtcnn_pnet_keras": lambda: {"input_1": (1, 72, 96, 3)},
        "mtcnn_pnet_torch": lambda: {"input": (1, 3, 72, 96)},
        "scrfd_resize_pre": lambda: {"image": (97, 140, 3), "dial": np.array(128, "i4")},
        "linknet_dynamic": lambda: {"input": (1, 4, 128, 160)},
        "rvm_mobilenetv3": lambda: {
            "src": (1, 3, 192, 256),
            "r1i": Z(1, 1, 1, 1),
            "r2i": Z(1, 1, 1, 1),
            "r3i": Z(1, 1, 1, 1),
            "r4i": Z(1, 1, 1, 1),
            "downsample_ratio": np.array([0.5], "f4"),
        },
        "silero_vad_v6": lambda: {
            "input": audio(576, r)[None],
            "state": r.randn(2, 1, 128).astype("f4") * 0.1,
            "sr": np.array(16000, "i8"),
        },
        "silero_vad_ifless": lambda: {
            "input": audio(576, r)[None],
            "state": r.randn(2, 1, 128).astype("f4") * 0.1,
            "sr": np.array(16000, "i8"),
        },
        "silero_vad_half": lambda: {"input": audio(512, r)[None], "state": r.randn(2, 1, 128).astype("f4") * 0.1},
        "silero_vad_sequence": lambda: {"input": audio(576 * 5, r).reshape(5, 576)},
        "silero_enc_v5": lambda: {"input": audio(1152, r).reshape(2, 576)},
        "silero_dec_v5": lambda: {"input": (1, 128), "state": (2, 1, 128)},
        "oww_melspectrogram": lambda: {"input": audio(16000, r)[None] * 32768},
        "basic_pitch": lambda: {"serving_default_input_2:0": audio(43844, r, 22050)[None, :, None]},
        "piper_joe_vits": lambda: {
            "input": r.randint(1, 120, (1, 24)).astype("i8"),
            "input_lengths": np.array([24], "i8"),
            "scales": np.array([0.0, 1.0, 0.0], "f4"),
        },
        "fsmn_vad": lambda: {"speech": (1, 30, 400)},
        "asr_pre_kaldi": lambda: {"waveforms": (2, 16000), "waveforms_lens": np.array([16000, 12000], "i8")},
        "crepe_full": lambda: {"input": audio(2048, r).reshape(2, 1024) * 4},
        "libtashkeel": lambda: {
            "char_inputs": ids(30, 2, 20),
            "diac_inputs": ids(10, 2, 20),
            "input_lengths": np.array([20, 14], "i8"),
        },
        "nsnet2_16k": lambda: {"input": (1, 20, 161)},
        "nsnet2_48k": lambda: {"input": (1, 20, 513)},
        "madmom_beats_blstm": lambda: {"input": (20, 266)},
        "madmom_onsets_cnn": lambda: {"input": (30, 80, 3)},
        "madmom_beats_tcn": lambda: {"input": (40, 81)},
        "magika_v3_3": lambda: {
            "bytes": np.concatenate(
                [
                    np.frombuffer(
                        b'#include <stdio.h>\nint main(int argc, char **argv) { printf("hi\\n"); return 0; }\n' * 20,
                        dtype="u1",
                    )[:1024].astype("i4"),
                    np.full(1024, 256, "i4"),
                ]
            )[None]
        },
        "minilm_int8": lambda: {"input_ids": ids(20000, 2, 24)},
        "livekit_turn_int8": lambda: {"input_ids": ids(20000, 1, 24)},
        "g2p_id_lstm_enc": lambda: {"input_1": onehot((1, 10, 28), r)},
        "g2p_id_lstm_dec": lambda: {"input_2": onehot((1, 1, 32), r), "input_3": (1, 256), "input_4": (1, 256)},
        "g2p_id_bert": lambda: {"input_1": np.concatenate([ids(27, 1, 11), np.zeros((1, 21), "i8")], 1)},
        "g2p_id_bert_mlm": lambda: {"input_1": np.concatenate([ids(27, 1, 13), np.zeros((1, 19), "i8")], 1)},
        "khmercut_int8": lambda: {"ids": ids(60, 1, 30), "cls": ids(5, 1, 30)},
        "lac_encoder_gru": lambda: {"token_ids": ids(2000, 2, 12), "length": np.array([12, 9], "i8")},
        "chars2vec_loop": lambda: {"lstm_input": onehot((2, 7, 59), r)},
        "openecg_codec_int8": lambda: {"signal": (1, 5000)},
        "minimol_gnn": lambda: {
            "feat": r.rand(14, 85).astype("f4"),
            "edge_feat": r.rand(28, 13).astype("f4"),
            "edge_index": np.concatenate([r.randint(0, 7, (2, 14)), r.randint(7, 14, (2, 14))], 1).astype("i8"),
            "laplacian_eigvec": r.randn(14, 8).astype("f4") * 0.3,
            "laplacian_eigval": r.rand(14, 8).astype("f4"),
            "rw_return_probs": r.rand(14, 16).astype("f4"),
            "batch": np.array([0] * 7 + [1] * 7, "i8"),
            "graph_slots": Z(2),
        },
        "ribodetector_lstm": lambda: {"input": onehot((2, 100, 4), r)},
        "atspm_phase_lgbm": lambda: {"X": r.randn(16, 261)},
        "atspm_func_pair": lambda: {"x": r.rand(3, 15, 60).astype("f4")},
        "scrfd_nms_post": lambda: {
            "merged_out": scrfd_rows(r),
            "scale": np.array([1.5, 1.25], "f4"),
            "conf_thr": np.array(0.3, "f4"),
            "iou_thr": np.array(0.45, "f4"),
            "top_k": np.array(20, "i4"),
        },
        "gaitkit_ic_loop": lambda: {"input_1": (1, 40, 12)},
        "tf_upsample": lambda: {"up_sampling2d_input:0": (1, 6, 7, 3)},
        "tumor_vgg16_tf": lambda: {"input": (1, 240, 240, 3)},
        "surfaces_knn": lambda: {"input": (8, 4)},
        "dcm_ova_rf": lambda: {"float_input": r.rand(8, 28).astype("f4")},
        "dist_cosine": lambda: {"x1": (3, 512), "x2": (4, 512)},
        "mtcnn_rnet_keras": lambda: {"input_2": (3, 24, 24, 3)},
        "mtcnn_onet_keras": lambda: {"input_3": (3, 48, 48, 3)},
        "mtcnn_onet_torch": lambda: {"input": (3, 3, 48, 48)},
        "synheart_extratrees": lambda: {"float_input": r.rand(8, 14).astype("f4") * 100},
        "synheart_extratrees_big": lambda: {"float_input": r.rand(8, 14).astype("f4") * 100},
        "skhand_tree_zipmap": lambda: {"f32X": (8, 19)},
        "aecmos_gru": lambda: {"input": (1, 3, 40, 160)},
        "dnsmos_sig_bak_ovr": lambda: {"input_1": audio(144160, r)[None]},
        "wakehubert_tiny": lambda: {"waveform": audio(16000, r)[None]},
        "speaker_resnet34": lambda: {"input_features": (1, 100, 80)},
        "traceforge_t5_enc_int8": lambda: {
            "input_ids": ids(30000, 2, 18),
            "attention_mask": np.array([[1] * 18, [1] * 12 + [0] * 6], "i8"),
        },
    }
    for k in ("asr_pre_nemo80_conv", "asr_resample_48_16", "asr_pre_gigaam_v3"):
        S[k] = lambda: {
            "waveforms": np.stack([audio(16000, r), audio(16000, r)]),
            "waveforms_lens": np.array([16000, 12000], "i8"),
        }
    S["asr_pre_kaldi"] = S["asr_pre_nemo80_conv"]
    v = S.get(model)
    return v() if v else {}


def blobs():
    h = np.zeros((96, 160), "f4") + 0.05
    h[10:22, 15:90] = 0.92
    h[40:55, 30:140] = 0.85
    h[70:84, 20:60] = 0.78
    h[72:80, 100:150] = 0.2
    return h


def yolo_grid(r):
    g = np.zeros((1, 84, 300), "f4")
    g[0, 0] = r.uniform(40, 600, 300)
    g[0, 1] = r.uniform(40, 600, 300)
    g[0, 2] = r.uniform(40, 160, 300)
    g[0, 3] = r.uniform(40, 160, 300)
    g[0, 4:] = r.rand(80, 300) * 0.2
    k = r.randint(4, 84, 60)
    g[0, k, np.arange(60)] = r.uniform(0.25, 0.95, 60)
    return g


def scrfd_rows(r):
    m = np.zeros((60, 16), "f4")
    x, y = (r.uniform(0, 300, 60), r.uniform(0, 300, 60))
    m[:, 0] = r.uniform(0.05, 0.95, 60)
    m[:, 1], m[:, 2], m[:, 3], m[:, 4] = (x, y, x + r.uniform(30, 90, 60), y + r.uniform(30, 90, 60))
    m[:, 5] = r.uniform(0.05, 0.95, 60)
    m[:, 6:] = np.stack([x, y] * 5, 1) + r.uniform(5, 60, (60, 10))
    return m


NP = {
    "tensor(float)": "f4",
    "tensor(double)": "f8",
    "tensor(float16)": "f2",
    "tensor(int64)": "i8",
    "tensor(int32)": "i4",
    "tensor(int16)": "i2",
    "tensor(int8)": "i1",
    "tensor(uint8)": "u1",
    "tensor(bool)": "?",
    "tensor(string)": "O",
}


def gen(model, ins):
    """ins: list of (name, ort type, shape with str/None for dynamic)"""
    sp = special(model)
    r = rng(model + "#")
    out = {}
    dims = {}
    for n, t, s in ins:
        v = sp.get(n)
        if isinstance(v, np.ndarray):
            for d, k in zip(s or [], v.shape):
                if isinstance(d, str):
                    dims.setdefault(d, k)
        elif isinstance(v, tuple):
            for d, k in zip(s or [], v):
                if isinstance(d, str):
                    dims.setdefault(d, k)
    for n, t, s in ins:
        v = sp.get(n)
        low = n.lower()
        dt = NP.get(t, None)
        if isinstance(v, np.ndarray):
            out[n] = v.astype(dt) if dt != "O" else v
            continue
        if isinstance(v, tuple):
            shape = v
        else:
            shape = tuple(
                (dims.get(d, 1) if isinstance(d, str) else d if isinstance(d, int) and d > 0 else 1 for d in s or [])
            )
        if dt == "O":
            out[n] = np.array(["hello world this is a test"] * int(np.prod(shape) or 1), dtype=object).reshape(shape)
            continue
        if dt == "?":
            a = r.rand(*shape) > 0.3
        elif dt in ("i8", "i4", "i2", "i1"):
            if "mask" in low:
                a = np.ones(shape)
            elif "type" in low or "segment" in low:
                a = np.zeros(shape)
            else:
                a = r.randint(1, 50, shape)
        elif dt == "u1":
            a = (
                np.round(image((1,) + tuple(shape), r, True)[0] * 255)
                if len(shape) == 3 and shape[-1] in (1, 3)
                else np.round(image(shape, r, True) * 255)
                if len(shape) == 4 and shape[-1] in (1, 3)
                else r.randint(0, 256, shape)
            )
        else:
            if len(shape) == 4 and shape[1] in (1, 3, 4) and (min(shape[2:]) >= 16):
                a = image(shape, r)
            elif len(shape) == 4 and shape[3] in (1, 3, 2) and (min(shape[1:3]) >= 16):
                a = image(shape, r, True)
            else:
                a = np.round(r.randn(*shape) * 128) / 256
            if (
                any((k in low for k in ("h0", "c0", "state", "hidden", "h_", "cache", "h", "c")))
                and low in ("h0", "c0", "h", "c")
                or low.startswith(("h_", "cache", "state", "in_cache", "recurrent"))
            ):
                a = a * 0.2
        out[n] = np.asarray(a).astype(dt)
    return out


def jsonable(v):
    if isinstance(v, (list, tuple)):
        return [jsonable(x) for x in v]
    if isinstance(v, dict):
        return {str(k): jsonable(x) for k, x in v.items()}
    return v.item() if hasattr(v, "item") and getattr(v, "size", 1) == 1 else v.tolist() if hasattr(v, "tolist") else v


def session(ort, path, level):
    so = ort.SessionOptions()
    # Optimised models multiply bytes exactly, also where the quick way of the processor saturates.
    so.add_session_config_entry("session.x64quantprecision", "1")
    so.intra_op_num_threads = 1
    so.inter_op_num_threads = 1
    so.log_severity_level = 4
    so.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    return ort.InferenceSession(path, so, providers=["CPUExecutionProvider"])


def one(model, path, outdir, npz_in=None):
    import onnx, onnxruntime as ort

    info = dict(name=model, path=path)
    for full in (False, True):
        try:
            onnx.checker.check_model(path, full_check=full)
            v = "ok"
        except Exception as e:
            v = (type(e).__name__ + ": " + str(e).strip().split("\n")[0])[:220]
        info["checker_full" if full else "checker"] = v
    t0 = time.time()
    try:
        used = None
        for lv in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"):
            try:
                s = session(ort, path, lv)
                used = lv
                break
            except Exception as e:
                err = e
                info.setdefault("level_errors", {})[lv] = str(e)[:200]
        if not used:
            raise err
        ins = [(i.name, i.type, i.shape) for i in s.get_inputs()]
        if npz_in:
            z = np.load(npz_in)
            feed = {
                n: z["in_" + n].astype(object) if z["in_" + n].dtype.kind == "U" else z["in_" + n].astype(NP[t])
                for n, t, _ in ins
            }
        else:
            feed = gen(model, ins)
        try:
            o = s.run(None, feed)
        except Exception as e:
            info["run_error_" + used] = str(e)[:300]
            used = "ORT_ENABLE_ALL"
            s = session(ort, path, used)
            o = s.run(None, feed)
        info["level"] = used
        s2 = session(ort, path, "ORT_ENABLE_ALL")
        o2 = s2.run(None, feed)
        ts = []
        for _ in range(3):
            t = time.time()
            s2.run(None, feed)
            ts.append(time.time() - t)
            if sum(ts) > 20:
                break
        info["ort_ms"] = round(sorted(ts)[len(ts) // 2] * 1000.0, 3)
        o3 = s.run(None, feed)
        d = {"in_" + k: np.array(v.tolist(), dtype=str) if v.dtype == object else v for k, v in feed.items()}
        outs = []
        total = 0
        for x, a, b, c in zip(s.get_outputs(), o, o2, o3):
            e = dict(name=x.name, type=x.type)
            if isinstance(a, np.ndarray):
                e["shape"] = list(a.shape)
                e["dtype"] = str(a.dtype)
                if a.dtype != object and a.size:
                    f = a.astype("f8")
                    fin = np.isfinite(f)
                    e["absmax"] = float(np.abs(f[fin]).max()) if fin.any() else None
                    e["std"] = float(f[fin].std()) if fin.any() else None
                    e["nonfinite"] = int((~fin).sum())
                    e["diff_opt"] = (
                        float(np.nanmax(np.abs(f - b.astype("f8")))) if a.shape == b.shape else "shape %s" % (b.shape,)
                    )
                    e["deterministic"] = bool(
                        a.shape == c.shape and np.array_equal(a, c, equal_nan=a.dtype.kind == "f")
                    )
                total += a.nbytes
                if total < 60000000.0:
                    d["out_" + x.name] = np.array(a.tolist(), dtype=str).reshape(a.shape) if a.dtype == object else a
                else:
                    e["omitted"] = True
            else:
                d["outjson_" + x.name] = np.array(json.dumps(jsonable(a)))
            outs.append(e)
        info["inputs"] = [dict(name=n, type=t, shape=list(feed[n].shape)) for n, t, _ in ins]
        info["outputs"] = outs
        p = os.path.join(outdir, model + ".npz")
        np.savez_compressed(p, **d)
        if os.path.getsize(p) > 20000000.0:
            keep = 0
            for k in sorted([k for k in d if k.startswith("out_")], key=lambda k: d[k].nbytes):
                keep += d[k].nbytes
                if keep > 16000000.0:
                    del d[k]
                    [e.update(omitted=True) for e in outs if "out_" + e["name"] == k]
            np.savez_compressed(p, **d)
        info["npz_bytes"] = os.path.getsize(p)
        info["run"] = "ok"
    except Exception as e:
        info["run"] = (type(e).__name__ + ": " + str(e))[:400]
    info["wall_s"] = round(time.time() - t0, 2)
    json.dump(info, open(os.path.join(outdir, model + ".json"), "w"), indent=1)
    print(
        model,
        info["run"][:160],
        info.get("ort_ms"),
        info["checker"][:60] if info["checker"] != "ok" else "",
        [(e.get("shape"), e.get("diff_opt"), e.get("std")) for e in info.get("outputs", [])[:2]],
        flush=True,
    )


def main(corpus):
    """Every real model of the manifest, one process each: a model that brings ONNX Runtime down stays alone."""
    with open(os.path.join(HERE, "manifest.json")) as f:
        entries = json.load(f)
    out, key = os.path.join(corpus, "io"), key_of(__file__)
    progress = Progress(len(entries))
    for entry in entries:
        name = entry["name"]
        stamp = os.path.join(out, name)
        if is_done(stamp, key):
            progress.report(name, "cached")
            continue
        os.makedirs(stamp, exist_ok=True)
        path = os.path.join(corpus, "models", name, entry["files"][0]["out"].removeprefix(name + "/"))
        try:
            subprocess.run(
                [sys.executable, __file__, "one", name, path, stamp],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=600,
            )
            with open(os.path.join(stamp, name + ".json")) as f:
                run = json.load(f)["run"]
        except Exception as e:
            run = repr(e)[:300]
        if run == "ok":
            mark_done(stamp, key)
            progress.report(name, "ok")
        else:
            progress.report(name, "failed", run)


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(sys.argv[2], sys.argv[3], sys.argv[4])
    else:
        main(sys.argv[2])
