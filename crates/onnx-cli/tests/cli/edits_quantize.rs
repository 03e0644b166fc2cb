//! Weights of few bits: quantize.

use crate::Folder;
use conformance::corpus::{folder as corpus, left_out};
use std::fmt::Write as _;

/// Two layers with weights that look random.
fn network() -> String {
    let numbers = |count: usize, seed: usize| {
        let mut list = String::new();
        for i in 0..count {
            let number = ((i + seed) * 7919 % 1009) as f64 / 1009.0 - 0.5;
            let comma = if i == 0 { "" } else { ", " };
            _ = write!(list, "{comma}{number:.4}");
        }
        list
    };
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,1,8,8] x) => (float[N,10] y)
<float[4,1,3,3] k = {{{}}}, float[4] kb = {{0.1, 0.2, -0.1, 0}}, float[64,10] w = {{{}}}, float[10] b = {{{}}}>
{{
    c = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, k, kb)
    r = Relu(c)
    f = Flatten(r) # features
    y = Gemm(f, w, b)
}}
",
        numbers(36, 1),
        numbers(640, 2),
        numbers(10, 3)
    )
}

/// The cosine similarity that a note names.
fn cosine(stderr: &str) -> f64 {
    let text = stderr.split("cosine ").nth(1).unwrap_or_else(|| panic!("{stderr}"));
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// Whether ONNX Runtime computes the same, if it is there.
fn verify(folder: &Folder, file: &str, more: &[&str]) {
    if std::env::var_os("ONNXTXT_PYTHON").is_none() {
        left_out("running quantized models in ONNX Runtime: no Python");
        return;
    }
    folder.run(&[&["verify", file, "ort"][..], more].concat()).expect(0);
}

#[test]
fn weights_become_integers_and_the_error_is_reported() {
    let folder = Folder::new(&[("m.onnxtxt", network().as_bytes())]);
    folder.run(&["run", "m.onnxtxt", "--random", "-D", "N=2", "-o", "y.npz"]).expect(0);
    let python = "x.npz";
    folder.run(&["repro", "m.onnxtxt", "-D", "N=2", "-o", "calibration"]).expect(0);
    std::fs::rename(folder.path("calibration/inputs.npz"), folder.path(python)).unwrap();
    for (more, part, min) in [
        (&["-D", "N=2"][..], "MatMulInteger", 0.999),
        (&["-D", "N=2", "--per-channel"], "MatMulInteger", 0.9995),
        (&["-D", "N=2", "--weights", "int8", "--per-channel"], "DequantizeLinear", 0.9999),
        (
            &["-D", "N=2", "--weights", "int8", "--block-size", "16", "--exclude", "op:Conv"],
            "block_size = 16",
            0.9999,
        ),
        (&["-D", "N=2", "--weights", "int4"], "int4[64,10]", 0.98),
        (&["--calibrate", "x.npz"], "QuantizeLinear", 0.999),
        (&["--calibrate", "x.npz", "--per-channel", "--percentile", "99.9"], "axis = 0", 0.99),
    ] {
        let done = folder.run(&[&["quantize", "m.onnxtxt", "-o", "q.onnx"][..], more].concat()).expect(0);
        assert!(done.stderr.contains("error of `y`: max"), "{}", done.stderr);
        assert!(cosine(&done.stderr) >= min, "{more:?}: {}", done.stderr);
        let text = folder.run(&["print", "q.onnx"]).expect(0);
        assert!(text.text().contains(part), "{more:?}: {}", text.text());
        folder.run(&["check", "q.onnx"]).expect(0);
        verify(&folder, "q.onnx", &["-i", "x.npz"]);
    }
    let done = folder.run(&["quantize", "m.onnxtxt", "-D", "N=1", "--dry-run", "-v"]).expect(0);
    assert!(done.text().contains("-    y = Gemm(f, w, b)"), "{}", done.text());
    assert!(done.stderr.contains("c (Conv) stays as it is: a convolution"), "{}", done.stderr);
    let done = folder.run(&["quantize", "m.onnxtxt"]).expect(0);
    assert!(
        done.stderr.contains("the error is not measured") && done.text().contains("# features"),
        "{}",
        done.stderr
    );
}

#[test]
fn what_cannot_be_quantized_is_refused() {
    let old = network().replace("\"\": 21", "\"\": 10").replace("ir_version: 10", "ir_version: 5");
    let folder = Folder::new(&[("m.onnxtxt", network().as_bytes()), ("old.onnxtxt", old.as_bytes())]);
    let done = folder.run(&["quantize", "old.onnxtxt", "-o", "q.onnx"]).expect(1);
    assert!(done.stderr.contains("needs version 11 of ai.onnx, but the model has 10"), "{}", done.stderr);
    for wrong in [
        &["--weights", "int4", "--dynamic"][..],
        &["--calibrate", "missing.npz"],
        &["--exclude", "op:Nothing"],
        &["--percentile", "3", "--calibrate", "x.npz"],
    ] {
        folder.run(&[&["quantize", "m.onnxtxt", "-o", "q.onnx"][..], wrong].concat()).expect(2);
    }
    assert_eq!(folder.names(), ["m.onnxtxt", "old.onnxtxt"]);
}

/// Real models, each with how it is quantized, and the sizes of its inputs.
const MODELS: &[(&str, &[&str], &[&str])] = &[
    ("yunet_2023", &["--weights", "int8"], &[]),
    ("blazeface_front", &["--weights", "int8"], &[]),
    ("mnist_extdata", &["--weights", "int8", "--per-channel"], &[]),
    ("strike_verdict_cnn", &["--calibrate"], &["-D", "batch=2"]),
    ("g2p_id_bert", &["--dynamic"], &["--shape", "input_1=1,32"]),
];

#[test]
fn real_models_are_quantized_and_run_in_onnx_runtime() {
    let models = corpus().map(|corpus| corpus.join("models")).filter(|models| models.is_dir());
    let Some(models) = models.filter(|_| std::env::var_os("ONNXTXT_PYTHON").is_some()) else {
        left_out("quantizing real models: there are none, or no Python");
        return;
    };
    let mut done = 0;
    for (name, how, dims) in MODELS {
        let folder = Folder::new(&[]);
        let Ok(entries) = std::fs::read_dir(models.join(name)) else { continue };
        let file = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|e| e == "onnx"));
        let Some(file) = file.and_then(|file| file.to_str().map(str::to_owned)) else { continue };
        let mut how = how.to_vec();
        if how == ["--calibrate"] {
            folder.run(&[&["repro", &file, "-o", "inputs"][..], dims].concat()).expect(0);
            how.push("inputs/inputs.npz");
        }
        let made = folder.run(&[&["quantize", &file, "-o", "q.onnx"][..], &how, dims].concat());
        assert_eq!(made.code, 0, "{name}: {}", made.stderr);
        assert!(made.stderr.contains("quantized"), "{name}: {}", made.stderr);
        verify(&folder, "q.onnx", &[&["--random"][..], dims].concat());
        done += 1;
    }
    assert!(done > 0, "none of the models is there");
}
