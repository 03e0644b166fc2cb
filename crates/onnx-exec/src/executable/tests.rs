//! Inputs are checked alike by every way to run a model.

use crate::{CompileOptions, Executable, RunOptions, Tensor, Value, compile};
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, Entity, Place};
use onnx_ops::schema::Registry;
use std::sync::Mutex;

fn executable(graph: &str) -> Executable<'static> {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {graph}");
    let model = onnx_text::read_model(&text).value;
    compile(&model, Registry::builtin(), &CompileOptions::default()).expect("it can be run")
}

fn floats(dims: &[usize]) -> Value {
    Tensor::zeros(ElemType::FLOAT, dims).expect("it is small").into()
}

fn ints(dims: &[usize]) -> Value {
    Tensor::zeros(ElemType::INT64, dims).expect("it is small").into()
}

/// Every way to run a model refuses the same values with the same message.
#[test]
fn values_that_do_not_fit_are_refused_by_every_entry() {
    let strings = || Value::from(Tensor::of_strings(&[1], vec!["a".to_owned()]).expect("it is small"));
    let optional = |value: Option<Value>| Value::Optional(value.map(std::sync::Arc::new));
    let cases: &[(&str, Value, &str)] = &[
        ("float[2]", floats(&[2]), ""),
        ("float[2]", floats(&[5]), "input `x` is float[5], expected float[2]"),
        ("float[2]", ints(&[2]), "input `x` is int64[2], expected float[2] (convert its elements to float)"),
        (
            "float[2]",
            ints(&[3, 4]),
            "input `x` is int64[3,4], expected float[2] (convert its elements to float)",
        ),
        ("float[2]", strings(), "input `x` is string[1], expected float[2]"),
        ("float[2]", floats(&[]), "input `x` is float, expected float[2] (pass a tensor of rank 1, not 0)"),
        ("float[2]", Value::sequence(vec![floats(&[2])]), "input `x` is seq(float[2]), expected float[2]"),
        ("float[N,3]", floats(&[7, 3]), ""),
        ("float[N,?]", floats(&[0, 9]), ""),
        ("float[-1]", floats(&[4]), ""),
        (
            "float[N]",
            floats(&[1, 1]),
            "input `x` is float[1,1], expected float[N] (pass a tensor of rank 1, not 2)",
        ),
        ("float[]", floats(&[1, 2, 3]), ""),
        ("seq(float[N])", Value::sequence(Vec::new()), ""),
        ("seq(float[N])", Value::sequence(vec![floats(&[1]), floats(&[2])]), ""),
        (
            "seq(float[N])",
            Value::sequence(vec![floats(&[1]), floats(&[])]),
            "input `x` is seq(float[1]), expected seq(float[N])",
        ),
        ("seq(float[N])", floats(&[1]), "input `x` is float[1], expected seq(float[N])"),
        ("optional(float[2])", optional(Some(floats(&[2]))), ""),
        ("optional(float[2])", optional(None), ""),
        ("optional(float[2])", floats(&[2]), ""),
        ("optional(float[2])", floats(&[3]), "input `x` is float[3], expected optional(float[2])"),
    ];
    let options = RunOptions::default();
    for (ty, value, expected) in cases {
        let executable = executable(&format!("({ty} x) => ({ty} y) {{ y = Identity(x) }}"));
        let given = || vec![Some(value.clone())];
        let mut outputs = Vec::new();
        let done = [
            executable.run(given(), &options).map(|_| ()),
            executable.run_into(given(), &mut outputs, &options),
            executable
                .inputs_by_name([("x", value.clone())])
                .and_then(|all| executable.run(all, &options))
                .map(|_| ()),
            executable.schedule(given(), &options).map(|_| ()),
        ];
        for done in done {
            let message = done.map_or_else(|found| found.to_string(), |()| String::new());
            let message = message.strip_prefix("error[E1603]: ").unwrap_or(&message);
            assert_eq!(message, *expected, "{ty}");
        }
        if let Value::Tensor(tensor) = value {
            let prepared = executable.prepare(&[Some((tensor.elem(), tensor.dims()))], &options);
            assert_eq!(prepared.is_ok(), expected.is_empty(), "{ty}");
        }
    }
}

#[test]
fn missing_inputs_are_named_and_unknown_ones_have_help() {
    let x = executable("(float[2] left, float[2] right = {1, 2}) => (float[2] y) { y = Add(left, right) }");
    let run = |inputs| x.run(inputs, &RunOptions::default()).map(|_| ()).map_err(|found| found.to_string());
    let missing = Err("error[E1603]: input `left` is not given".to_owned());
    assert_eq!((run(Vec::new()), run(vec![None, Some(floats(&[2]))])), (missing.clone(), missing));
    assert_eq!(run(vec![Some(floats(&[2]))]), Ok(()));
    let by_name = |name: &str| x.inputs_by_name([(name, floats(&[2]))]).map_err(|found| found.to_string());
    let unknown = |name: &str, help: &str| {
        assert_eq!(by_name(name), Err(format!("error[E1603]: the model has no input `{name}` ({help})")));
    };
    unknown("lefd", "did you mean `left`?");
    unknown("z", "its inputs are left, right");
}

#[test]
fn sizes_of_a_symbol_that_differ_are_one_warning_of_an_executable() {
    let x = executable("(float[N] a, float[N] b) => (float[N] y) { y = Abs(a) z = Abs(b) }");
    let heard = Mutex::new(Vec::new());
    let warn = |warning: Diagnostic| heard.lock().expect("no thread panics").push(warning.message);
    let options = RunOptions { warn: Some(&warn), ..RunOptions::default() };
    let run = |a, b| x.run(vec![Some(floats(&[a])), Some(floats(&[b]))], &options).map(|_| ());
    let heard = |done: Result<(), Box<Diagnostic>>| {
        assert_eq!(done, Ok(()));
        std::mem::take(&mut *heard.lock().expect("no thread panics"))
    };
    assert_eq!(heard(run(2, 2)), [""; 0]);
    assert_eq!(heard(run(2, 3)), ["dimension `N` is 2 in input `a` and 3 in input `b`"]);
    assert_eq!(heard(run(2, 4)), [""; 0]);
}

/// Inside the graph too, whether the value is computed by a plan, is fused away, or is the result of a node.
#[test]
fn sizes_of_declared_values_inside_the_graph_are_compared() {
    let graph = |ty: &str| {
        format!(
            "(float[N] a) => (float[M] y) <{ty} t> {{ t = Concat<axis = 0>(a, a) u = Abs(t) y = Neg(u) }}"
        )
    };
    let text = |ty| format!("<ir_version: 10, opset_import: [\"\": 21]> g {}", graph(ty));
    for (ty, size, expected) in [
        ("float[N]", 2, vec!["dimension `N` is 2 in input `a` and 4 in `t`"]),
        ("float[K]", 2, vec![]),
        ("float[M]", 2, vec![]),
        ("float[N]", 0, vec![]),
    ] {
        let model = onnx_text::read_model(&text(ty)).value;
        for node_by_node in [false, true] {
            let options = CompileOptions { node_by_node, ..CompileOptions::default() };
            let x = compile(&model, Registry::builtin(), &options).expect("it can be run");
            let heard = Mutex::new(Vec::new());
            let warn = |warning: Diagnostic| {
                let is_placed = matches!(warning.primary.place, Place::Entity(Entity::ValueInfo(..)));
                heard.lock().expect("no thread panics").push((warning.message, is_placed));
            };
            let options = RunOptions { warn: Some(&warn), ..RunOptions::default() };
            for _ in 0..2 {
                x.run(vec![Some(floats(&[size]))], &options).expect("it can be run");
            }
            let heard = heard.into_inner().expect("no thread panics");
            let expected: Vec<_> = expected.iter().map(|message| ((*message).to_owned(), true)).collect();
            assert_eq!(heard, expected, "{ty}");
        }
    }
}

/// As often as they are checked; `cargo xtask bench exec/inputs` measures how long a check takes.
#[test]
fn inputs_that_fit_are_accepted_each_time() {
    let x = executable(
        "(float[N,3,H,W] a, float[N,3,H,W] b, int64[N] c, float[3] d) => (float[N,3,H,W] y) { y = Add(a, b) }",
    );
    let inputs = [floats(&[1, 3, 2, 2]), floats(&[1, 3, 2, 2]), ints(&[1]), floats(&[3])].map(Some);
    (0..100).for_each(|_| assert!(x.ensure_inputs(&inputs).is_ok()));
}
