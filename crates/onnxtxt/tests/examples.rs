//! The example programs do what they say.

#[allow(dead_code, reason = "`main` is for people")]
#[path = "../examples/count_operators.rs"]
mod count_operators;
#[allow(dead_code, reason = "`main` is for people")]
#[path = "../examples/front_end.rs"]
mod front_end;
#[allow(dead_code, reason = "`main` is for people")]
#[path = "../examples/fuse_gemm.rs"]
mod fuse_gemm;

use onnxtxt::Level;
use std::path::{Path, PathBuf};

/// A file of this name that has this text.
fn file(folder: &Path, name: &str, text: &str) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn operators_are_counted_in_nested_graphs_and_functions() {
    let folder = tempfile::tempdir().unwrap();
    let model = file(
        folder.path(),
        "m.onnxtxt",
        r#"<ir_version: 10, opset_import: ["": 21, "local": 1]>
        g (float[N,2] x, bool c) => (float[N,2] y) {
            a = Relu(x)
            b = If(c) <
                then_branch = t () => (p) { p = local.twice(a) },
                else_branch = e () => (q) { q = Relu(a) }
            >
            s = Shape(b)
            y = Relu(b)
        }
        <domain: "local", opset_import: ["": 21]>
        twice (u) => (v) { v = Add(u, u) }"#,
    );
    let mut out = Vec::new();
    count_operators::run(&model, &mut out).unwrap();
    let expected = "\
operators
     1  Add
     1  If
     3  Relu
     1  Shape
     1  local.twice
results of the main graph
        a: float[N,2] = Relu
        b: float[N,2] = If
        p: float[N,2] = twice
        q: float[N,2] = Relu
        s: int64[2] = Shape
        y: float[N,2] = Relu
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn a_broken_model_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "m.onnxtxt", "g (flaot[N] x) => (float[N] y) { y = Relu(x) }");
    let error = count_operators::run(&model, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("unknown type `flaot`"), "{error}");
    assert!(count_operators::run("no such file", &mut Vec::new()).is_err());
}

#[test]
fn products_and_sums_are_fused_where_shapes_allow_it() {
    let folder = tempfile::tempdir().unwrap();
    let model = file(
        folder.path(),
        "m.onnxtxt",
        r#"<ir_version: 10, opset_import: ["": 21]>
g (float[N,2] x, float[2,3] w, float[3] b, float[B,2,2] deep, bool c) => (float[N,3] y, float[N,3] z, float[B,2,3] d, float[N,3] r)
{
   p = MatMul(x, w)
   y = Add(b, p)
   shared = MatMul(x, w)
   t = Add(shared, b)
   z = Mul(t, shared)
   q = MatMul(deep, w)
   d = Add(q, b)
   r = If(c) <
      then_branch = one () => (v) { m = MatMul(x, w)  v = Add(m, b) },
      else_branch = two () => (w2) { w2 = Identity(y) }
   >
}
"#,
    );
    let fused = folder.path().join("fused.onnxtxt");
    let mut out = Vec::new();
    fuse_gemm::run(&model, fused.to_str().unwrap(), &mut out).unwrap();
    let shown = String::from_utf8(out).unwrap();
    assert!(shown.ends_with("2 fused, 2 not\n"), "{shown}");
    // The warnings point at the lines of the text.
    for part in
        ["W9001", "t = Add(shared, b)", "the product is read elsewhere too", "d = Add(q, b)", "rank 2"]
    {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    let loaded = onnxtxt::open(&fused).unwrap();
    assert!(loaded.check(Level::Types).is_empty());
    let text = std::fs::read_to_string(&fused).unwrap();
    assert!(text.contains("y = Gemm(x, w, b)") && text.contains("v = Gemm(x, w, b)"), "{text}");
    assert_eq!(text.matches("MatMul").count(), 2, "{text}");
}

#[test]
fn a_program_becomes_a_model() {
    let mut out = Vec::new();
    let done = front_end::run(&front_end::example(), &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(done.is_ok(), "{text}");
    let loaded = onnxtxt::parse(&text);
    assert!(loaded.check(Level::Types).is_empty(), "{text}");
    for part in [
        "program (float[N,2] x) => (float[N,3] result)",
        "matmul = MatMul(x, constant)",
        "Tanh",
        "then_branch",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn a_program_that_does_not_fit_is_refused_with_places() {
    use front_end::{Expr, Program, Size};
    let matrix = |rows, columns| Expr::Matrix { rows, columns, weights: vec![0.0; 6] };
    let program = |result| Program {
        parameters: vec![("x", vec![Size::Symbol("N"), Size::Number(2)])],
        bindings: Vec::new(),
        result,
    };
    let mut out = Vec::new();
    let product = Expr::Binary('@', Expr::Name("x").into(), matrix(3, 2).into());
    assert!(front_end::run(&program(product), &mut out).is_err());
    let shown = String::from_utf8(out).unwrap();
    assert!(shown.contains("MatMul(x, constant)"), "{shown}");
    let found = front_end::compile(&program(Expr::Name("y"))).unwrap_err();
    assert_eq!(found.message, "use of undefined name `y`");
    let call = Expr::Call("sin", Expr::Name("x").into());
    assert!(front_end::compile(&program(call)).is_err());
}
