//! Running models: inputs from files, outputs to files, and failures.

use crate::{Folder, SOUND};

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
    assert!(done.stderr.contains("input types have `N` of unknown size: add -D N=1"), "{}", done.stderr);
    let done = folder.run(&["run", "m.onnxtxt", "--random", "-D", "M=1"]);
    assert!(done.stderr.contains("no input type contains the dimension `M`"), "{}", done.stderr);
}

#[test]
fn random_inputs_have_the_sizes_that_weights_imply() {
    let model = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N,H] x, float[H] z) => (float[N,K] y)\n\
                 <float[3,4] w = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}>\n{\n    t = Add(x, z)\n    y = MatMul(t, w)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", model.as_bytes())]);
    let done = folder.run(&["run", "m.onnxtxt", "--random"]).expect(2);
    assert!(done.stderr.contains("input types have `N` of unknown size: add -D N=1\n"), "{}", done.stderr);
    let out = run(&folder, &["m.onnxtxt", "--random", "-D", "N=2"]);
    assert!(out.starts_with("float[2,4] y = "), "{out}");
    // The user may still say it.
    assert_eq!(out, run(&folder, &["m.onnxtxt", "--random", "-D", "N=2", "-D", "H=3"]));
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
    assert!(done.stderr.contains("input `x` is double[2], expected float[N]"), "{}", done.stderr);
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
        "m.onnxtxt:2:4: error[E1603]: input `x` is float[2,4], expected float[N,3]\n"
    );
    assert_eq!(
        finding(&folder, &["m.onnxtxt", "-i", "x.onnxtxt", "-i", "b.onnxtxt", "-D", "N=7"]),
        "m.onnxtxt:2:4: error[E1603]: input `x` is float[2,3], expected float[N,3], and N is 7 because of -D N=7\n"
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
    let why =
        "error[E1604]: `Add`, which computes `y`: planning up to this node was stopped: not enough memory: ";
    assert!(memory.contains(why), "{memory}");
}

#[test]
fn inputs_that_are_made_up_come_out_of_the_memory_of_the_run() {
    let folder = folder();
    let given = ["m.onnxtxt", "--random", "-D", "N=1000000000", "--max-memory", "1G"];
    let found = finding(&folder, &given);
    assert!(
        found.starts_with("m.onnxtxt:2:4: error[E1604]: input `x`: not enough memory: 11.2 GiB are needed"),
        "{found}"
    );
}

/// Sparse initializers become dense before the run.
#[test]
fn sparse_initializers_come_out_of_the_memory_of_the_run() {
    let text = |extent: u64, place: u64| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng () => (int64 y)\n\
             <sparse[{extent},1024] x = {{values = float[1] {{1}}, indices = int64[1] {{{place}}}}}>\n\
             {{\n    y = Size(x)\n}}\n"
        )
    };
    let folder = Folder::new(&[
        ("m.onnxtxt", text(1 << 15, 5).as_bytes()),
        ("l.onnxtxt", text(1 << 40, 5).as_bytes()),
        ("o.onnxtxt", text(2, 5000).as_bytes()),
    ]);
    let found = finding(&folder, &["m.onnxtxt", "--max-memory", "100M"]);
    let why = "error[E1604]: initializer `x`: not enough memory: 128.0 MiB are needed, but 100.0 MiB of";
    assert!(found.contains(why), "{found}");
    assert_eq!(run(&folder, &["m.onnxtxt", "--max-memory", "200M"]), "int64 y = {33554432}\n");
    let found = finding(&folder, &["l.onnxtxt"]);
    assert!(found.contains("initializer `x`: not enough memory"), "{found}");
    let found = finding(&folder, &["o.onnxtxt", "--unchecked"]);
    assert!(found.contains("initializer `x`: an index of a sparse tensor lies outside of it"), "{found}");
}

/// For any body: only the number of iterations ends these loops.
#[test]
fn a_loop_that_is_certain_to_take_too_long_does_not_begin() {
    let text = |condition: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\n\
             g () => (int64 y) <int64 n = {{4611686018427387904}}, bool t = {{1}}, int64 x = {{0}}, int64 k = {{5}}>\n\
             {{\n    y = Loop <body = b (int64 i, bool c, int64 a) => (bool d, int64 e) {{ \
             d = {condition}\n e = Add(a, i) }}> (n, t, x)\n}}\n"
        )
    };
    let folder = Folder::new(&[]);
    for condition in ["Identity(c)", "Constant <value = bool {1}> ()", "Identity(t)"] {
        folder.write("m.onnxtxt", text(condition).as_bytes());
        let found = finding(&folder, &["m.onnxtxt"]);
        let why = "`Loop`, which computes `y`: 4611686018427387904 iterations are needed, each of which counts as 8 nodes";
        assert!(found.contains(why), "{condition}: {found}");
    }
    folder.write("m.onnxtxt", text("Identity(c)").replace("(n, t, x)", "( , t, x)").as_bytes());
    let found = finding(&folder, &["m.onnxtxt"]);
    assert!(found.contains("`Loop`, which computes `y`: nothing ends this loop"), "{found}");
    for (condition, y) in [("Less(i, k)", 15), ("Constant <value = bool {0}> ()", 0)] {
        folder.write("m.onnxtxt", text(condition).as_bytes());
        assert_eq!(run(&folder, &["m.onnxtxt"]), format!("int64 y = {{{y}}}\n"), "{condition}");
    }
}

#[test]
fn ranges_reach_the_ends_of_their_integers() {
    let folder = Folder::new(&[]);
    for (elem, start, limit, delta, elements) in [
        ("int64", i64::MAX - 2, i64::MAX, 1, "9223372036854775805, 9223372036854775806"),
        ("int64", i64::MIN, i64::MAX, i64::MAX, "-9223372036854775808, -1, 9223372036854775806"),
        ("int64", -5, i64::MAX - 2, i64::MAX, "-5, 9223372036854775802"),
        ("int64", i64::MAX, i64::MIN, i64::MIN, "9223372036854775807, -1"),
        ("int64", i64::MIN, i64::MAX, -1, ""),
        ("int32", -2147483648, 2147483647, 2147483647, "-2147483648, -1, 2147483646"),
        ("int16", 32767, -32768, -32768, "32767, -1"),
    ] {
        let values = [("a", start), ("b", limit), ("d", delta)];
        let values = values.map(|(name, value)| format!("{elem} {name} = {{{value}}}")).join(", ");
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng () => ({elem}[N] y) <{values}>\n{{\n    y = Range(a, b, d)\n}}\n"
        );
        folder.write("m.onnxtxt", text.as_bytes());
        let count = if elements.is_empty() { 0 } else { elements.split(',').count() };
        assert_eq!(
            run(&folder, &["m.onnxtxt"]),
            format!("{elem}[{count}] y = {{{elements}}}\n"),
            "{start} {limit} {delta}"
        );
    }
}

#[test]
fn what_check_calls_an_error_is_run_only_when_asked_for() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[2] x) => (int64[2] y)\n{\n    y = Neg(x)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let checked = folder.run(&["check", "m.onnxtxt"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    let refused = folder.run(&["run", "m.onnxtxt", "--random"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("`--unchecked`"), "{}", refused.stderr);
    let run = folder.run(&["run", "m.onnxtxt", "--random", "--unchecked"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // Values in the model, and others in a file, which `run` reads before it looks at the model.
    let both = "<ir_version: 10, opset_import: [\"\": 21]>\ng () => (float[1] y)\n\
        <float[1] w = {raw_data: b\"\\x00\\x00\\x80\\x3f\", external_data: [\"location\": \"w.bin\"], data_location: 1}>\n{\n    y = Neg(w)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", both.as_bytes()), ("w.bin", &[0, 0, 0, 64])]);
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    for model in ["m.onnxtxt", "m.onnx"] {
        let checked = folder.run(&["check", model]);
        assert!(checked.text().contains("E0605"), "{}", checked.text());
        let refused = folder.run(&["run", model]);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("E0605"), "{}", refused.stderr);
    }
}

#[test]
fn what_cannot_be_run_is_told_at_once() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"com.acme\": 1]>\n\
        g (float[N] x) => (float[N] y)\n{\n    a = com.acme.One(x)\n    c = Constant()\n    b = com.acme.Two(a, c)\n    y = Abs(b)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let found = finding(&folder, &["m.onnxtxt", "--random", "-D", "N=1", "--unchecked"]);
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("m.onnxtxt:4:5: error[E1602]: `One`, which computes `a`"), "{found}");
    assert!(lines[1].starts_with("m.onnxtxt:5:5: error[E1601]: `Constant`, which computes `c`"), "{found}");
    assert!(lines[2].starts_with("m.onnxtxt:6:5: error[E1602]: `Two`, which computes `b`"), "{found}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_node_that_fails_is_told_at_its_place() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N] x, int64 i) => (float[1] y)\n{\n    s = SplitToSequence(x)\n    y = SequenceAt(s, i)\n}\n";
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
    assert_eq!(found, "m.onnxtxt:4:5: error[E1603]: element 1 of `r` is NaN, the first one in this run\n");
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

#[test]
fn numbers_of_narrow_floats_are_values() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N] x) => (float16[N] \"a b/c\", bfloat16[N] b, float8e4m3fn[N] e)\n{\n    \
        \"a b/c\" = Cast <to = 10> (x)\n    b = Cast <to = 16> (x)\n    e = Cast <to = 17> (x)\n}\n";
    let folder =
        Folder::new(&[("m.onnxtxt", text.as_bytes()), ("x.onnxtxt", b"float[4] x = {0.1, 100, -3.42, 0}")]);
    assert_eq!(
        run(&folder, &["m.onnxtxt", "-i", "x.onnxtxt"]),
        "float16[4] \"a b/c\" = {0.1, 100.0, -3.42, 0.0}\nbfloat16[4] b = {0.1, 100.0, -3.42, 0.0}\n\
         float8e4m3fn[4] e = {0.1, 96.0, -3.5, 0.0}\n"
    );
    // As text, and back to the same bytes.
    run(&folder, &["m.onnxtxt", "-i", "x.onnxtxt", "--output-dir", "set"]);
    let printed = folder.run(&["print", "set/output_0.pb"]).expect(0);
    assert!(printed.text().contains("float16[4] \"a b/c\" = {0.1, 100.0, -3.42, 0.0}"), "{}", printed.text());
    folder.write("y.onnxtxt", &printed.stdout);
    folder.run(&["convert", "y.onnxtxt", "-o", "y.pb"]).expect(0);
    assert_eq!(folder.read("y.pb"), folder.read("set/output_0.pb"));
}

#[test]
fn large_outputs_are_summarised() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N,M] x) => (float[N,M] y)\n{\n    y = Mul(x, x)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let print = |n: &str, m: &str, more: &[&str]| {
        run(&folder, &[&["m.onnxtxt", "--random", "-D", n, "-D", m], more].concat())
    };
    let out = print("N=50", "M=21", &[]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[4], lines[8]),
        (9, "float[50,21] y = {", "    …,", "}"),
        "{out}"
    );
    assert!(lines[1].matches(", ").count() == 6 && lines[1].contains(", …, "), "{out}");
    assert_eq!(print("N=50", "M=20", &[]).matches(',').count(), 1000);
    assert_eq!(print("N=50", "M=21", &["--full"]).matches(',').count(), 1050);
}

#[test]
fn extents_are_solved_and_contradictions_refused() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[B,3] x, float[\"B*2\",M] z, float[?,2] q) => (float[B,3] y)\n{\n    y = Abs(x)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let said = |arguments: &[&str], code: i32| {
        folder.run(&[&["run", "m.onnxtxt", "--random"], arguments].concat()).expect(code).stderr
    };
    let all = said(&[], 2);
    assert!(
        all.contains("add -D B=1 -D M=1; the shape of float[?,2] is unknown: add --shape q=1,2"),
        "{all}"
    );
    said(&["-D", "B=2", "-D", "M=1", "--shape", "q=4,2"], 0);
    said(&["-D", "B*2=4", "-D", "M=1", "--shape", "q=4,2"], 0);
    let wrong = said(&["-D", "B=2", "-D", "B*2=5"], 2);
    assert!(wrong.contains("-D B*2=5 contradicts -D B=2: `B*2` is 4"), "{wrong}");
    assert!(said(&["-D", "B=1", "-D", "B=2"], 2).contains("contradicts"));
    assert!(said(&["--shape", "q=4,3"], 2).contains("has size 3, but the type of the input has 2"));
    assert!(said(&["--shape", "x=2,3", "-D", "B=3"], 2).contains("contradicts"));
    // Contradictions about the same symbols are reported once; a shape may not be given twice.
    let wrong = said(&["-D", "M=1", "--shape", "q=4,2", "-D", "B=2", "--shape", "z=5,1"], 2);
    assert_eq!(wrong, "error: --shape z=5,1 contradicts -D B=2: `B*2` is 4\n");
    let wrong = said(&["--shape", "q=4,2", "--shape", "q=5,2"], 2);
    assert_eq!(wrong, "error: --shape q=5,2 contradicts --shape q=4,2\n");
    let wrong = said(&["-D", "M=1", "-D", "B*2=5"], 2);
    assert_eq!(wrong, "error: -D B*2=5 is impossible: `B*2` cannot be 5\n");
    assert!(said(&["--shape", "q=4"], 2).contains("--shape q=4 has 1 size, but the type of the input has 2"));
    folder.write("m.onnxtxt", text.replace("B*2", "B-1").as_bytes());
    let wrong = said(&["-D", "B=0", "-D", "M=1", "--shape", "q=4,2"], 2);
    assert!(wrong.starts_with("error: -D B=0 is impossible: dimension `B-1` of input `z`"), "{wrong}");
}

#[test]
fn outputs_are_json_where_it_is_asked_for() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g () => (float[4] f, float16[2] h, uint64[1] u, bool[2] b, string[1] s, seq(int64[2]) q, complex64[1] c)\n\
        <float[4] f = {0.1, inf, nan, -0.5}, float16[2] h = {0.1, 2.0}, uint64[1] u = {18446744073709551615}, bool[2] b = {1, 0}, \
        string[1] s = {\"a\"}, int64[2] i = {1, -2}, complex64[1] c = {0.1, 2}>\n{\n    q = SequenceConstruct(i)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let done = folder.run(&["run", "m.onnxtxt", "--format", "json"]).expect(0);
    assert_eq!(
        done.text(),
        "{\"elements\":[0.1,\"inf\",\"nan\",-0.5],\"name\":\"f\",\"shape\":[4],\"type\":\"float[4]\"}\n\
         {\"elements\":[0.1,2.0],\"name\":\"h\",\"shape\":[2],\"type\":\"float16[2]\"}\n\
         {\"elements\":[18446744073709551615],\"name\":\"u\",\"shape\":[1],\"type\":\"uint64[1]\"}\n\
         {\"elements\":[true,false],\"name\":\"b\",\"shape\":[2],\"type\":\"bool[2]\"}\n\
         {\"elements\":[\"a\"],\"name\":\"s\",\"shape\":[1],\"type\":\"string[1]\"}\n\
         {\"name\":\"q\",\"type\":\"sequence\",\"values\":[{\"elements\":[1,-2],\"shape\":[2],\"type\":\"int64[2]\"}]}\n\
         {\"elements\":[0.1,2.0],\"name\":\"c\",\"shape\":[1],\"type\":\"complex64[1]\"}\n"
    );
}

#[test]
fn an_output_that_is_dumped_is_given_once() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    let all = folder.run(&["run", "m.onnxtxt", "--random", "-D", "N=2", "--dump", "/*/"]).expect(0);
    let names: Vec<&str> = all.text().lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(names, ["t", "y"], "{}", all.text());
    let wrong = folder.run(&["run", "m.onnxtxt", "--random", "-D", "N=2", "--dump", "t*"]).expect(2);
    assert!(wrong.stderr.contains("write a glob between slashes, `/t*/`"), "{}", wrong.stderr);
}
