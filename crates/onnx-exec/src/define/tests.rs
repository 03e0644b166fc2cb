//! Nodes as formulas, for values that a table knows: no run is needed.

use super::{DefineBody, Known, define};
use crate::options::CompileOptions;
use crate::plan::Need;
use crate::program::Program;
use crate::tensor::Tensor;
use foldhash::HashMap;
use onnx_ir::{NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::{Fact, Stepwise};
use onnx_ops::schema::Registry;
use std::cell::RefCell;

/// Knows some values, infers types, and computes nodes only if it is given their result.
struct Table<'p> {
    program: &'p Program<'p>,
    stepwise: RefCell<Stepwise<'p>>,
    values: HashMap<ValueId, Value>,
    folded: Option<Value>,
}

impl Known for Table<'_> {
    fn value(&self, value: ValueId) -> Option<&Value> {
        self.values.get(&value).or(self.program.stored[value].as_ref())
    }

    fn infer(&self, node: NodeId, inputs: &[Option<Fact>]) -> Option<Vec<Fact>> {
        self.stepwise.borrow_mut().outputs(node, inputs).ok()
    }

    fn fold(&mut self, _: NodeId, _: Vec<Option<Value>>) -> Option<Vec<Value>> {
        self.folded.clone().map(|value| vec![value])
    }

    fn body(&self, node: NodeId, inputs: &[Option<Fact>], define: DefineBody<'_>) {
        let Ok(body) = self.program.compile_function(node, inputs) else { return };
        define(&body, &mut Table::new(&body));
    }
}

impl<'p> Table<'p> {
    fn new(program: &'p Program<'p>) -> Self {
        let stepwise = RefCell::new(Stepwise::new(&program.model, program.registry, program.body));
        Table { program, stepwise, values: HashMap::default(), folded: None }
    }
}

/// The formulas of a graph for these values of its inputs, and the inputs whose elements they depend on.
fn defined(graph: &str, values: &[(&str, Value)], may_assume: bool, folded: Option<Value>) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {graph}");
    let model = onnx_text::read_model(&text).value;
    let program = Program::compile(&model, Registry::builtin(), &CompileOptions::default()).unwrap();
    let mut table = Table { folded, ..Table::new(&program) };
    for port in program.inputs() {
        let name = program.model.text(port.name);
        let given = values.iter().find(|(of, _)| *of == name).map(|(_, value)| value.clone());
        table.values.extend(port.value.zip(given));
    }
    let partition = define(&program, &mut table, program.root, 0, may_assume).unwrap();
    let mut text = partition.text(program.root, &program);
    for (value, need) in &partition.needs {
        if let Need::Elements(tensor) = need {
            text += &format!("if {} is {:?}\n", program.value_name(*value), tensor.ints().unwrap());
        }
    }
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

fn floats(dims: &[usize]) -> Value {
    Tensor::zeros(onnx_ir::ElemType::FLOAT, dims).unwrap().into()
}

fn ints(all: &[i64]) -> Value {
    Tensor::of(&[all.len()], all).unwrap().into()
}

#[test]
fn nodes_are_defined_as_far_as_types_are_known() {
    let graph = "(float[N] x) => (int64[1,M] y) { a = Abs(x) n = NonZero(a) y = Abs(n) }";
    assert_eq!(
        defined(graph, &[("x", floats(&[100]))], true, None),
        "formulas of nodes 0..1 in graph 0\nfloat[100] a[i0] = abs(x[i0])",
        "the shape of `n` depends on the elements of `a`, which the run computes first"
    );
    assert_eq!(
        defined(graph, &[], true, None),
        "formulas of nodes 0..1 in graph 0\nnode Abs",
        "without a value, the node is run, and reports that it is missing"
    );
    let graph = "(float[N] x) => (int64[1,M] y) { n = NonZero(x) y = Abs(n) }";
    assert_eq!(
        defined(graph, &[("x", floats(&[100]))], true, None),
        "formulas of nodes 0..1 in graph 0\nnode NonZero",
        "the type of `n` is known when the node has been run"
    );
}

#[test]
fn shapes_are_assumed_only_where_that_is_allowed() {
    let graph = "(float[N] x, int64[2] shape) => (float[A,B] y) { r = Reshape(x, shape) y = Abs(r) }";
    let values = [("x", floats(&[24])), ("shape", ints(&[2, 12]))];
    assert_eq!(
        defined(graph, &values, true, None),
        "formulas of nodes 0..2 in graph 0
float[2,12] r[i0, i1] = x[12*i0 + i1]
float[2,12] y[i0, i1] = abs(r[i0, i1])
if shape is [2, 12]"
    );
    assert_eq!(defined(graph, &values, false, None), "formulas of nodes 0..1 in graph 0\nnode Reshape");
}

#[test]
fn nodes_with_constant_inputs_are_computed() {
    let graph = "(float[2] x) => (float[2] y) <float[2] c = {1, 2}> { d = Neg(c) y = Add(x, d) }";
    let folded = Value::from(Tensor::of(&[2], &[-1.0f32, -2.0]).unwrap());
    assert_eq!(
        defined(graph, &[("x", floats(&[2]))], true, Some(folded)),
        "formulas of nodes 0..2 in graph 0\nfloat[2] y[i0] = x[i0] + d[i0]"
    );
    assert_eq!(
        defined(graph, &[("x", floats(&[2]))], true, None),
        "formulas of nodes 0..2 in graph 0
float[2] d[i0] = -c[i0]
float[2] y[i0] = x[i0] + d[i0]",
        "a node whose computation fails stays a formula"
    );
}

#[test]
fn function_bodies_become_formulas_of_the_same_plan() {
    let graph = "(float[4] x) => (float[4] y) { y = HardSwish(x) }";
    let text = defined(graph, &[("x", floats(&[4]))], true, None);
    assert!(text.starts_with("formulas of nodes 0..1 in graph 0\nfloat[4] "), "{text}");
    assert!(!text.contains("node "), "{text}");
}
