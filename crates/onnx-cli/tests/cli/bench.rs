//! Measuring models: what is said, in which form.

use crate::{Folder, SOUND};

fn folder() -> Folder {
    // `SOUND` has one symbol, and weights of two elements.
    Folder::new(&[("m.onnxtxt", SOUND.as_bytes()), ("x.onnxtxt", b"float[2] x = {1, 2}")])
}

#[test]
fn figures_are_shown() {
    let done = folder().run(&["bench", "m.onnxtxt", "-D", "N=2", "--runs", "3", "--per-kernel"]).expect(0);
    let out = done.text();
    for start in [
        "load ",
        "prepare ",
        "first run ",
        "runs       median ",
        "memory     ",
        "machine ",
        "kernel ",
        "operators ",
        "Mul+Relu ",
    ] {
        assert!(out.lines().any(|line| line.starts_with(start)), "{start}: {out}");
    }
    assert!(out.contains("(3 runs)"), "{out}");
}

#[test]
fn figures_are_json() {
    let folder = folder();
    let arguments = [
        "bench",
        "m.onnxtxt",
        "-i",
        "x.onnxtxt",
        "--runs",
        "2",
        "--json",
        "--per-kernel",
        "--trace",
        "t.json",
    ];
    let done = folder.run(&arguments).expect(0);
    let figures: serde_json::Value = serde_json::from_str(done.text()).unwrap();
    assert_eq!((figures["runs"].as_u64(), figures["kernels"].as_array().unwrap().len()), (Some(2), 1));
    assert!(
        figures["median_seconds"].as_f64().unwrap() > 0.0 && figures["peak_bytes"].as_u64().unwrap() >= 8
    );
    let kernel = &figures["kernels"][0];
    // Two operations on each of two elements; one input and the weights are read.
    assert_eq!((kernel["kernel"].as_str(), kernel["operations"].as_u64()), (Some("Mul+Relu"), Some(4)));
    assert_eq!((kernel["bytes_read"].as_u64(), kernel["bytes_written"].as_u64()), (Some(16), Some(8)));
    assert!(kernel["part_of_peak"].as_f64().is_some_and(|part| part > 0.0 && part < 1.0), "{kernel}");
    assert!(figures["machine"]["float_operations_per_second"].as_f64().unwrap() > 1e8, "{figures}");
    let trace: serde_json::Value = serde_json::from_slice(&folder.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let names: Vec<_> = events.iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!((names, &events[0]["args"]["results"][0]), (vec!["Mul+Relu"], &"float[2]".into()));
}

#[test]
fn what_cannot_be_measured_is_told() {
    let done = folder().run(&["bench", "m.onnxtxt"]).expect(2);
    assert!(done.stderr.contains("-D N=1"), "{}", done.stderr);
    // The weights have two elements.
    let done = folder().run(&["bench", "m.onnxtxt", "-D", "N=3", "--format", "short"]).expect(1);
    assert!(done.stderr.starts_with("m.onnxtxt:5:5: error[E1603]: `Mul`"), "{}", done.stderr);
}
