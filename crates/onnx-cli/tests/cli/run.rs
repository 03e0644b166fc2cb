//! Running models: inputs from files, outputs to files, and what is told when it does not go well.

use crate::Folder;

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[N,3] x, float[3] b) => (float[N,3] y)\n<float[3] w = {1, 2, 3}>\n{\n    t = Mul(x, w)\n    y = Add(t, b)\n}\n";

fn folder() -> Folder {
    Folder::new(&[
        ("m.onnxtxt", MODEL.as_bytes()),
        ("x.onnxtxt", b"float[2,3] x = {1, 2, 3, 4, 5, 6}"),
        ("b.onnxtxt", b"float[3] b = {0.5, 0.5, 0.5}"),
    ])
}

fn run(folder: &Folder, arguments: &[&str]) -> String {
    let done = folder.run(&[&["run"], arguments].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{}", done.text());
    done.text().to_owned()
}

#[test]
fn outputs_are_printed() {
    let out = run(&folder(), &["m.onnxtxt", "-i", "x=x.onnxtxt", "-i", "b.onnxtxt"]);
    assert_eq!(out, "float[2,3] y = {1.5, 4.5, 9.5, 4.5, 10.5, 18.5}\n");
    let out = run(&folder(), &["m.onnxtxt", "-i", "x.onnxtxt", "-i", "b.onnxtxt", "--elide", "2"]);
    assert!(out == "float[2,3] y = {1.5, 4.5, …}\n", "{out}");
}

#[test]
fn what_is_written_can_be_given_again() {
    let folder = folder();
    run(&folder, &["m.onnxtxt", "-i", "x.onnxtxt", "-i", "b.onnxtxt", "--dump", "op:Mul", "-o", "all.npz"]);
    let identity = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N,3] t, float[N,3] y) => (float[N,3] s)\n{\n    s = Sub(y, t)\n}\n";
    folder.write("s.onnxtxt", identity.as_bytes());
    let out = run(&folder, &["s.onnxtxt", "-i", "all.npz"]);
    assert_eq!(out, "float[2,3] s = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}\n");
    run(&folder, &["m.onnxtxt", "-i", "x.onnxtxt", "-i", "b.onnxtxt", "--output-dir", "set"]);
    let done = folder.run(&["print", "set/output_0.pb"]);
    assert!(done.text().contains("float[2,3] y = {1.5, 4.5"), "{}", done.text());
    // A folder holds inputs by their numbers.
    std::fs::rename(folder.path("set/output_0.pb"), folder.path("set/input_0.pb")).unwrap();
    let done = folder.run(&["run", "m.onnxtxt", "-i", "set", "-i", "b.onnxtxt"]);
    assert_eq!((done.code, done.text()), (0, "float[2,3] y = {2, 9.5, 29, 5, 21.5, 56}\n"));
}

#[test]
fn random_inputs_are_the_same_for_the_same_seed() {
    let folder = folder();
    let one = run(&folder, &["m.onnxtxt", "--random", "-D", "N=1"]);
    assert_eq!(one, run(&folder, &["m.onnxtxt", "--random", "-D", "N=1"]));
    assert_ne!(one, run(&folder, &["m.onnxtxt", "--random", "-D", "N=1", "--seed", "1"]));
    let done = folder.run(&["run", "m.onnxtxt", "--random"]);
    assert_eq!(done.code, 2);
    assert!(
        done.stderr.contains("the symbol `N` in its type has no extent: give it with -D N=1"),
        "{}",
        done.stderr
    );
    let done = folder.run(&["run", "m.onnxtxt", "--random", "-D", "M=1"]);
    assert!(done.stderr.contains("no input has the symbol `M`"), "{}", done.stderr);
}

/// The one finding of a run, as `place: error[…]: message`.
fn finding(folder: &Folder, arguments: &[&str]) -> String {
    let done = folder.run(&[&["run", "--format", "short"], arguments].concat());
    assert_eq!((done.code, done.text()), (1, ""), "{}", done.stderr);
    done.stderr
}

#[test]
fn inputs_of_another_element_type_are_cast_when_asked_to() {
    let folder = Folder::new(&[
        (
            "m.onnxtxt",
            b"<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) { y = Neg(x) }",
        ),
        ("x.onnxtxt", b"double[2] x = {1.5, -2}"),
    ]);
    let done = folder.run(&["run", "m.onnxtxt", "-i", "x.onnxtxt"]).expect(1);
    assert!(done.stderr.contains("input `x` is double[2], expected is float[N]"), "{}", done.stderr);
    assert!(
        done.stderr.contains("add `--cast`, or write the array with `.astype(\"float32\")`"),
        "{}",
        done.stderr
    );
    let done = folder.run(&["run", "m.onnxtxt", "-i", "x.onnxtxt", "--cast"]).expect(0);
    assert!(done.text().contains("float[2] y = {-1.5, 2"), "{}", done.text());
}

#[test]
fn inputs_have_to_be_of_the_declared_types() {
    let folder = folder();
    folder.write("wrong.onnxtxt", b"float[2,4] x = {1, 2, 3, 4, 5, 6, 7, 8}");
    assert_eq!(
        finding(&folder, &["m.onnxtxt", "-i", "wrong.onnxtxt", "-i", "b.onnxtxt"]),
        "m.onnxtxt:2:4: error[E1603]: input `x` is float[2,4], expected is float[N,3]\n"
    );
    assert_eq!(
        finding(&folder, &["m.onnxtxt", "-i", "x.onnxtxt", "-i", "b.onnxtxt", "-D", "N=7"]),
        "m.onnxtxt:2:4: error[E1603]: input `x` is float[2,3], expected is float[N,3], and N is 7 because of -D N=7\n"
    );
    let missing = finding(&folder, &["m.onnxtxt", "-i", "x.onnxtxt"]);
    assert!(missing.starts_with("m.onnxtxt:2:18: error[E1603]: input `b` is not given"), "{missing}");
    let done = folder.run(&["run", "m.onnxtxt", "-i", "c=b.onnxtxt"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("the model has no input `c`"), "{}", done.stderr);
}

#[test]
fn a_run_ends_at_its_limits() {
    let folder = folder();
    let given = ["m.onnxtxt", "-i", "x.onnxtxt", "-i", "b.onnxtxt"];
    let fuel = finding(&folder, &[&given[..], &["--fuel", "1"]].concat());
    assert!(
        fuel.starts_with("m.onnxtxt:6:5: error[E1604]: `Add`, which computes `y`: the run ends"),
        "{fuel}"
    );
    let memory = finding(&folder, &[&given[..], &["--max-memory", "100"]].concat());
    assert!(memory.contains("error[E1604]: `Add`, which computes `y`: 152 bytes are needed"), "{memory}");
}

#[test]
fn what_cannot_be_run_is_told_at_once() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"com.acme\": 1]>\n\
        g (float[N] x) => (float[N] y)\n{\n    a = com.acme.One(x)\n    c = Constant()\n    b = com.acme.Two(a, c)\n    y = Abs(b)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let found = finding(&folder, &["m.onnxtxt", "--random", "-D", "N=1"]);
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("m.onnxtxt:4:5: error[E1602]: `One`, which computes `a`"), "{found}");
    assert!(lines[1].starts_with("m.onnxtxt:5:5: error[E1601]: `Constant`, which computes `c`"), "{found}");
    assert!(lines[2].starts_with("m.onnxtxt:6:5: error[E1602]: `Two`, which computes `b`"), "{found}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_node_that_fails_is_told_at_its_place() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N] x, int64 i) => (float y)\n{\n    s = SplitToSequence(x)\n    y = SequenceAt(s, i)\n}\n";
    let folder = Folder::new(&[
        ("m.onnxtxt", text.as_bytes()),
        ("x.onnxtxt", b"float[2] x = {0, -1}"),
        ("i.onnxtxt", b"int64 i = {2}"),
    ]);
    let found = finding(&folder, &["m.onnxtxt", "-i", "x.onnxtxt", "-i", "i.onnxtxt"]);
    assert_eq!(
        found,
        "m.onnxtxt:5:5: error[E1603]: `SequenceAt`, which computes `y`: the position is outside of a sequence of 2 elements\n"
    );
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N] x) => (float[N] y)\n{\n    r = Sqrt(x)\n    y = Abs(r)\n}\n";
    folder.write("m.onnxtxt", text.as_bytes());
    let found = finding(&folder, &["m.onnxtxt", "-i", "x.onnxtxt", "--check-nan"]);
    assert_eq!(
        found,
        "m.onnxtxt:4:5: error[E1603]: element 1 of `r` is not a number, the first in this run\n"
    );
}

#[test]
fn weights_beside_the_model_are_read() {
    let folder = folder();
    assert_eq!(folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx", "--weights", "sidecar"]).code, 0);
    let out = run(&folder, &["m.onnx", "-i", "x.onnxtxt", "-i", "b.onnxtxt"]);
    assert_eq!(out, "float[2,3] y = {1.5, 4.5, 9.5, 4.5, 10.5, 18.5}\n");
}

#[test]
fn numbers_are_cast_to_strings_and_back() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N] x) => (string[N] s, double[N] d, string[N] t)\n{\n    \
        s = Cast <to = 8> (x)\n    d = Cast <to = 11> (s)\n    t = CastLike(d, s)\n}\n";
    let folder =
        Folder::new(&[("m.onnxtxt", text.as_bytes()), ("x.onnxtxt", b"float[4] x = {1.5, 100, 1e-7, -0.1}")]);
    assert_eq!(
        run(&folder, &["m.onnxtxt", "-i", "x.onnxtxt"]),
        "string[4] s = {\"1.5\", \"100.0\", \"1e-07\", \"-0.1\"}\ndouble[4] d = {1.5, 100, 1e-7, -0.1}\n\
         string[4] t = {\"1.5\", \"100.0\", \"1e-07\", \"-0.1\"}\n"
    );
}
