//! Drawings of many initializers, statements with expressions, and tensors of many axes: none is quadratic.

use super::{CHECK_MEMORY_FACTOR, HEADER, alone, check_text, is_linear};
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::Model;
use onnx_ir::diag::Level;
use onnx_ops::literals::complete;
use onnx_ops::opset::registry_of;
use onnx_ops::schema::Registry;
use onnx_text::{NamedNumbers, Readers, check_completed, expanded, read_model};
use onnxtxt::draw::{Options, draw};

fn list(count: usize, each: impl Fn(usize) -> String) -> String {
    (0..count).map(each).collect::<Vec<_>>().join(", ")
}

/// The text of a size.
type Text = fn(usize) -> String;

/// Graphs of a size, by what there is much of.
const DRAWN: &[(&str, Text, usize)] = &[
    (
        "scalars that one node reads",
        |n| {
            let (all, read) = (list(n, |i| format!("float w{i} = {{1}}")), list(n, |i| format!("w{i}")));
            format!("{HEADER}g () => (float y) <{all}> {{ y = Sum({read}) }}")
        },
        4_000,
    ),
    (
        "constants with names",
        |n| {
            let nodes = list(n, |i| format!("c{i} = Constant <value_float = {i}.5> () y{i} = Add(x, c{i})"));
            format!("{HEADER}g (float[2] x) => () {{ {} }}", nodes.replace(',', ""))
        },
        1_000,
    ),
    (
        "results of one node",
        |n| {
            let (made, ends) = (list(n, |i| format!("y{i}")), list(n, |i| format!("float[1] y{i}")));
            format!("{HEADER}g (float[N] x) => ({ends}) {{ {made} = Split <num_outputs = {n}> (x) }}")
        },
        1_000,
    ),
    (
        "operands of one node that are far away",
        |n| {
            let nodes: String = (0..n).map(|i| format!("y{i} = Abs(x)\n")).collect();
            format!(
                "{HEADER}g (float[2] x) => (float[2] y) {{ {nodes} y = Sum({}) }}",
                list(n, |i| format!("y{i}"))
            )
        },
        1_000,
    ),
    (
        "graphs with initializers in nodes",
        |n| {
            let body = |i: usize| {
                format!("b{i} () => (float[2] p{i}) <float v{i} = {{1}}> {{ p{i} = Add(x, v{i}) }}")
            };
            let nodes: String = (0..n)
                .map(|i| format!("y{i} = If(c) <then_branch = {}, else_branch = e{i} () => (float[2] q{i}) {{ q{i} = Abs(x) }}>\n", body(i)))
                .collect();
            format!("{HEADER}g (bool c, float[2] x) => () {{ {nodes} }}")
        },
        500,
    ),
];

/// Bytes that a drawing takes for each byte of the text.
const DRAWING_MEMORY_FACTOR: usize = 1_000;

#[test]
fn drawing_takes_linear_time_and_memory() {
    let _alone = alone();
    for (what, make, size) in DRAWN {
        let (once, twice) = (make(*size), make(2 * size));
        let work = |text: &str| {
            let model = read_model(text).value;
            assert!(draw(&model, registry_of(&model), &Options::default()).svg().len() > 1_000, "{what}");
        };
        assert_eq!(is_linear(once.as_str(), twice.as_str(), DRAWING_MEMORY_FACTOR, work), Ok(()), "{what}");
    }
}

/// Statements with expressions, whose results go to the declarations of the graph, and that the reference rejects.
#[test]
fn expanding_takes_linear_time_and_memory() {
    const STATEMENTS: usize = 2_000;
    let _alone = alone();
    let make = |n: usize| {
        let nodes: String =
            (0..n).map(|i| format!("float[2] y{i} = Abs(x * {i}.5) z{i} = Neg(y{i})\n")).collect();
        format!("{HEADER}g (float[2] x) => () {{\n{nodes}}}\n")
    };
    let work = |text: &str| {
        let complete =
            |model: &mut Model, numbers: &NamedNumbers| complete(model, Registry::builtin(), numbers);
        let read = check_completed(Readers::Reference, text, Level::Syntax, &complete, |_| Vec::new());
        assert_eq!(read.diagnostics.len(), text.lines().count() - 3);
        assert!(expanded(text, &read.value).len() > text.len());
    };
    let (once, twice) = (make(STATEMENTS), make(2 * STATEMENTS));
    assert_eq!(is_linear(once.as_str(), twice.as_str(), CHECK_MEMORY_FACTOR, work), Ok(()));
}

/// Nodes that compute with tensors of `n` axes.
const RANKS: &[(&str, Text)] = &[
    ("Identity", |_| "y = Identity(x)".to_owned()),
    ("Add", |_| "y = Add(x, x)".to_owned()),
    ("Relu", |_| "y = Relu(x)".to_owned()),
    ("Concat", |_| "y = Concat <axis = 0> (x, x)".to_owned()),
    ("Transpose", |_| "y = Transpose(x)".to_owned()),
    ("Transpose by perm", |n| {
        format!("y = Transpose <perm = [{}]> (x)", list(n, |i| format!("{}", n - 1 - i)))
    }),
    ("Flatten", |_| "y = Flatten(x)".to_owned()),
    ("Softmax", |_| "y = Softmax(x)".to_owned()),
    ("ReduceSum", |n| {
        format!("a = Constant <value_ints = [{}]> () y = ReduceSum(x, a)", list(n, |i| i.to_string()))
    }),
    ("Squeeze", |n| {
        format!("a = Constant <value_ints = [{}]> () y = Squeeze(x, a)", list(n - 1, |i| i.to_string()))
    }),
    ("Unsqueeze", |n| {
        format!("a = Constant <value_ints = [{}]> () y = Unsqueeze(x, a)", list(n, |i| i.to_string()))
    }),
    ("Reshape", |n| {
        format!("a = Constant <value_ints = [{}]> () y = Reshape(x, a)", list(n, |_| "1".to_owned()))
    }),
    ("Shape", |_| "y = Shape(x)".to_owned()),
];

fn of_rank(n: usize, nodes: &str) -> String {
    format!("{HEADER}g (float[{}] x) => () {{ {nodes} }}", list(n, |_| "1".to_owned()))
}

#[test]
fn tensors_of_many_axes_take_linear_time_and_memory() {
    const AXES: usize = 10_000;
    let _alone = alone();
    for (what, nodes) in RANKS {
        let [once, twice] = [AXES, 2 * AXES].map(|n| of_rank(n, &nodes(n)));
        let checked = is_linear(once.as_str(), twice.as_str(), CHECK_MEMORY_FACTOR, check_text);
        assert_eq!(checked, Ok(()), "check {what}");
        // It is computed, or refused with a reason.
        let run = |text: &str| {
            let mut model = read_model(text).value;
            let body = model.main.expect("a graph");
            let graph = model.bodies[body].root().expect("a graph");
            let last = model.bodies[body].graphs[graph].nodes.last().copied().expect("a node");
            let value = model.bodies[body].nodes[last].outputs[0];
            let name = value.map(|value| model.bodies[body].values[value].name);
            let port = onnx_ir::Port { name, value, ..onnx_ir::Port::default() };
            model.bodies[body].graphs[graph].outputs.push(port);
            let executable =
                compile(&model, registry_of(&model), &CompileOptions::default()).expect("it compiles");
            let dims = vec![1; if text == once { AXES } else { 2 * AXES }];
            let x = Value::Tensor(Tensor::of(&dims, &[1.0f32]).expect("one element"));
            match executable.run(vec![Some(x)], &RunOptions::default()) {
                Ok(results) => assert_eq!(results.len(), 1),
                Err(finding) => assert!(finding.message.contains("axes"), "{what}: {finding}"),
            }
        };
        assert_eq!(is_linear(once.as_str(), twice.as_str(), CHECK_MEMORY_FACTOR, run), Ok(()), "run {what}");
    }
}
