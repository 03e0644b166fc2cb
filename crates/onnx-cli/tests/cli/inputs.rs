//! Inputs against declared types, sizes of symbols, and models whose errors leave their meaning clear.

use crate::Folder;

const HEADER: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n";

/// Models that break rules, with the code of each, and whether their meaning is clear.
const BROKEN: &[(&str, &str, bool)] = &[
    ("E0202", "g (float[2] x) => (float[2] y) { y = Relu(t) t = Abs(x) }", true),
    ("E0201", "\"\" (float[2] x) => (float[2] y) { y = Relu(x) }", true),
    ("E0702", "g (float[2] x) => (float[] y) { y = Relu(x) }", true),
    ("E0713", "g (float[2] x) => (y) { y = Relu(x) }", true),
    ("E1014", "g (float[2] x) => (float[3,4] y) { y = Relu(x) }", true),
    ("E0213", "g (float[2] x) => (float[2] y) { t = Add(x, t) y = Relu(x) }", false),
    ("E0203", "g (float[2] x) => (float[2] y) { t = Add(x, nowhere) y = Relu(x) }", false),
    ("E1013", "g (float[2] x) => (int64[2] y) { y = Relu(x) }", false),
];

/// Every command that runs a model, with what follows its name.
const DOORS: &[(&str, &[&str])] = &[
    ("run", &["m.onnxtxt", "--random"]),
    ("bench", &["m.onnxtxt", "--runs", "1"]),
    ("verify", &["m.onnxtxt", "m.onnxtxt"]),
    ("compare", &["m.onnxtxt", "m.onnxtxt"]),
    ("lower", &["m.onnxtxt"]),
    ("simplify", &["m.onnxtxt", "-o", "out.onnxtxt", "--verify"]),
    ("quantize", &["m.onnxtxt", "-o", "out.onnxtxt"]),
    ("test", &["--record", "m.onnxtxt"]),
];

#[test]
fn every_command_runs_clear_models_and_refuses_unclear_ones() {
    for &(code, graph, is_clear) in BROKEN {
        for form in ["m.onnxtxt", "m.onnx"] {
            let folder = Folder::new(&[("m.onnxtxt", format!("{HEADER}{graph}\n").as_bytes())]);
            if form == "m.onnx" {
                folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
            }
            let checked = folder.run(&["check", form]).expect(1);
            assert!(checked.text().contains(code), "{graph}: {}", checked.text());
            for &(door, arguments) in DOORS {
                let arguments = arguments.iter().map(|word| if *word == "m.onnxtxt" { form } else { word });
                let all: Vec<&str> = [door].into_iter().chain(arguments).collect();
                let done = folder.run(&all);
                let stderr = &done.stderr;
                assert_eq!(done.code, i32::from(!is_clear), "{all:?} of {graph}: {stderr}");
                assert!(stderr.contains(code), "{all:?} of {graph}: {stderr}");
                if is_clear {
                    let lines = stderr.lines().filter(|line| line.starts_with("warning: ")).count();
                    assert_eq!(lines, 1, "{all:?} of {graph}: {stderr}");
                } else {
                    assert!(stderr.contains("`--unchecked`"), "{all:?} of {graph}: {stderr}");
                }
            }
        }
    }
}

#[test]
fn a_fault_of_the_training_does_not_keep_a_model_from_running() {
    let text = "<ir_version: 10, opset_import: [\"\": 21],\n \
        training_info: {algorithm: s (float[2] t) => (float[2] w2) { w2 = Sub(w, nowhere) }, update_binding: [\"ghost\": \"w2\"]}>\n\
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    folder.run(&["check", "m.onnxtxt"]).expect(1);
    folder.run(&["run", "m.onnxtxt", "--random"]).expect(0);
    let trained = folder.run(&["train", "m.onnxtxt", "--init", "-o", "out.onnxtxt"]).expect(1);
    assert!(trained.stderr.contains("E0901"), "{}", trained.stderr);
}

#[test]
fn an_error_that_leaves_the_meaning_clear_is_explained() {
    let folder = Folder::new(&[]);
    let explained = folder.run(&["explain", "E0202"]).expect(0);
    assert!(
        explained.text().contains("The meaning is clear: every value has one definition"),
        "{}",
        explained.text()
    );
    let explained = folder.run(&["explain", "E0203"]).expect(0);
    assert!(!explained.text().contains("The meaning is clear"), "{}", explained.text());
}

#[test]
fn sizes_of_one_symbol_that_differ_are_one_warning() {
    let text = format!(
        "{HEADER}g (float[N] a, float[N] b, seq(float[M]) s) => (float[N] y, float[K] z, float[K] k) {{\n   \
        y = Relu(a)\n   z = Abs(a)\n   k = Abs(b)\n   n = SequenceLength(s)\n}}\n"
    );
    let folder = Folder::new(&[
        ("m.onnxtxt", text.as_bytes()),
        ("a.onnxtxt", b"float[2] a = {1, 2}"),
        ("b.onnxtxt", b"float[3] b = {1, 2, 3}"),
        ("c.onnxtxt", b"float[2] b = {1, 2}"),
        ("s.onnxtxt", b"seq(tensor) s = [float[2] {1, 2}, float[2] {3, 4}]"),
        ("t.onnxtxt", b"seq(tensor) s = [float[2] {1, 2}, float[1] {3}]"),
    ]);
    let run = |command: &[&str], inputs: &[&str]| {
        let inputs = inputs.iter().flat_map(|input| ["-i", input]);
        let all: Vec<&str> = command.iter().copied().chain(inputs).chain(["--format", "short"]).collect();
        folder.run(&all).expect(0).stderr.clone()
    };
    let same = "m.onnxtxt";
    let warned = run(&["run", "m.onnxtxt"], &["a.onnxtxt", "b.onnxtxt", "s.onnxtxt"]);
    let expected = "m.onnxtxt:2:16: warning[W1605]: dimension `N` is 2 in input `a` and 3 in input `b`";
    assert!(warned.starts_with(expected) && warned.lines().count() == 1, "{warned}");
    let warned = run(&["run", "m.onnxtxt"], &["a.onnxtxt", "c.onnxtxt", "t.onnxtxt"]);
    assert!(warned.contains("dimension `M` of input `s` is 2 and 1"), "{warned}");
    assert_eq!(run(&["run", "m.onnxtxt"], &["a.onnxtxt", "c.onnxtxt", "s.onnxtxt"]), "");
    for command in ["verify", "compare"] {
        let warned = run(&[command, "m.onnxtxt", same], &["a.onnxtxt", "b.onnxtxt", "s.onnxtxt"]);
        assert!(warned.contains("W1605") && warned.lines().count() == 1, "{command}: {warned}");
    }
    let text = format!("{HEADER}g (float[N] a) => (float[N] y) {{ y = Concat <axis = 0> (a, a) }}\n");
    folder.write("m.onnxtxt", text.as_bytes());
    let warned = run(&["run", "m.onnxtxt"], &["a.onnxtxt"]);
    assert!(warned.contains("dimension `N` is 2 in input `a` and 4 in output `y`"), "{warned}");
}

#[test]
fn all_results_are_compared_in_passes_if_they_do_not_fit_into_memory() {
    let nodes: String = (0..40).map(|i| format!("  t{} = Neg(t{i})\n", i + 1)).collect();
    let model = |last: &str| {
        format!("{HEADER}g (float[50,1000] t0) => (float[50,1000] y) {{\n{nodes}  y = {last}(t40)\n}}\n")
    };
    let folder =
        Folder::new(&[("m.onnxtxt", model("Abs").as_bytes()), ("other.onnxtxt", model("Relu").as_bytes())]);
    // All 41 results together take 8 MB.
    let compare = |other: &str, code: i32| {
        folder.run(&["compare", "m.onnxtxt", other, "--max-memory", "3M"]).expect(code).text().to_owned()
    };
    assert_eq!(compare("m.onnxtxt", 0), "41 of 41 results agree with m.onnxtxt\n");
    assert_eq!(compare("other.onnxtxt", 0), "41 of 41 results agree with other.onnxtxt\n");
    folder.write("other.onnxtxt", model("Neg").replace("t33 = Neg", "t33 = Abs").as_bytes());
    let found = compare("other.onnxtxt", 1);
    assert!(found.starts_with("first difference: `t33`, which `Neg` computes"), "{found}");
    if std::env::var_os("ONNXTXT_PYTHON").is_some() {
        let found = compare("ort", 0);
        assert!(found.starts_with("41 of 41 results agree with ONNX Runtime 1."), "{found}");
    }
}
