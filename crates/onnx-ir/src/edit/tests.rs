//! Editing keeps names, uses and declarations in step.

use super::*;
use crate::attr::AttrValue;
use crate::entity::EntityId;
use crate::verify::{VerifyOptions, verify};
use crate::{Attr, BodyBuilder, ElemType, Payload, QuantizationAnnotation};
use smallvec::smallvec;

/// `"t = Op x y"` lines as the main graph `g (x) => (y)`.
fn graph(lines: &[&str]) -> (Model, BodyId) {
    let mut model = Model::new();
    let mut b = BodyBuilder::new(&mut model);
    let [g, x, y] = ["g", "x", "y"].map(|n| b.name(n));
    b.begin_graph(Some(g), None);
    b.input(x, None);
    for line in lines {
        node(&mut b, line);
    }
    b.output(y, None);
    b.end_graph();
    let body = b.finish();
    model.main = Some(body);
    (model, body)
}

fn node(b: &mut BodyBuilder<'_>, line: &str) -> NodeId {
    let (outputs, call) = line.split_once(" = ").expect("an assignment");
    let mut words = call.split(' ');
    let op = words.next().map(|w| b.name(w));
    let inputs: Vec<_> = words.map(|w| b.name(w)).collect();
    let node = b.begin_node(NodeSpec { op, ..NodeSpec::default() }, inputs);
    let outputs: Vec<_> = outputs.split(' ').map(|w| b.name(w)).collect();
    b.end_node(node, outputs);
    node
}

fn text(model: &Model, body: BodyId) -> Vec<String> {
    let b = &model.bodies[body];
    let name = |v: &Option<ValueId>| v.map_or("-", |v| &model.names[b.values[v].name]).to_owned();
    let names = |list: &[Option<ValueId>]| list.iter().map(name).collect::<Vec<_>>().join(" ");
    let node = |n: &NodeId| {
        let n = &b.nodes[*n];
        format!("{} = {} {}", names(&n.outputs), model.text(n.op), names(&n.inputs))
    };
    b.graphs[b.root().expect("a graph")].nodes.iter().map(node).collect()
}

fn value(model: &Model, body: BodyId, name: &str) -> ValueId {
    let found = model.bodies[body].values.iter().find(|(_, v)| &model.names[v.name] == name);
    found.expect("a value of this name").0
}

fn spec(cursor: &mut Cursor<'_>, op: &str) -> NodeSpec {
    NodeSpec { op: Some(cursor.name(op)), ..NodeSpec::default() }
}

#[test]
fn inserted_nodes_stand_beside_the_current_one_and_are_not_visited() {
    let (mut model, body) = graph(&["t = A x", "y = B t"]);
    model.bodies[body].origins[NodeId::from_index(1)] = Origin(7);
    let mut cursor = Cursor::new(&mut model, body);
    let mut visited = 0;
    while let Some(node) = cursor.next_node() {
        visited += 1;
        let input = cursor.body().nodes[node].inputs[0];
        let (before, after) = (spec(&mut cursor, "Before"), spec(&mut cursor, "After"));
        let (p, q) = (cursor.fresh_name("p"), cursor.fresh_name("q"));
        let new = cursor.insert(before, [input], [p]);
        cursor.insert_after(after, [None], [q]);
        assert_eq!(cursor.body().origins[new], cursor.origin());
    }
    let (end, r) = (spec(&mut cursor, "End"), cursor.fresh_name("r"));
    cursor.insert(end, [], [r]);
    drop(cursor);
    assert_eq!(visited, 2);
    assert_eq!(model.bodies[body].origins[NodeId::from_index(4)], Origin(7));
    let expected =
        ["p = Before x", "t = A x", "q = After -", "p_1 = Before t", "y = B t", "q_2 = After -", "r = End "];
    assert_eq!(text(&model, body), expected);
}

#[test]
fn uses_include_nested_graphs_and_outputs() {
    let mut model = Model::new();
    let mut b = BodyBuilder::new(&mut model);
    let [g, x, p, body_name] = ["g", "x", "p", "body"].map(|n| b.name(n));
    b.begin_graph(Some(g), None);
    b.input(x, None);
    let holder = b.begin_node(NodeSpec::default(), [x, x]);
    let inner = b.begin_graph(None, Some(holder));
    b.attr(holder, Attr::new(body_name, AttrValue::Graph(inner)));
    let reader = node(&mut b, "p = Abs x");
    b.output(p, None);
    b.end_graph();
    b.end_node(holder, []);
    let root = b.body().root().expect("a graph");
    b.output(x, None);
    b.end_graph();
    let body = b.finish();
    let uses = Uses::of(&model.bodies[body]);
    let x = value(&model, body, "x");
    let expected =
        [Use::Input(holder, 0), Use::Input(holder, 1), Use::Output(root, 0), Use::Input(reader, 0)];
    assert_eq!(uses.of_value(x), expected);
    assert_eq!(uses.declarations(x), [Declaration::Input(root, 0)]);
    assert!(!uses.is_unused(value(&model, body, "p")));
}

/// Removes the node `y = Identity t`; what is left, and whether every use could be replaced.
fn without_identity(lines: &[&str]) -> (Vec<String>, bool, Vec<String>) {
    let (mut model, body) = graph(lines);
    let uses = Uses::of(&model.bodies[body]);
    let mut cursor = Cursor::new(&mut model, body);
    let mut replaced = true;
    while let Some(node) = cursor.next_node() {
        let n = &cursor.body().nodes[node];
        let (op, from, to) = (n.op, n.inputs[0], n.outputs[0]);
        if cursor.text(op) == "Identity" {
            let (from, to) = (from.expect("an input"), to.expect("an output"));
            replaced = cursor.replace_uses(&uses, to, from);
            if replaced {
                cursor.remove();
            }
        }
    }
    drop(cursor);
    let found = verify(&model, &VerifyOptions::default());
    let found = found.into_iter().filter(|d| d.code.id.starts_with("E02")).map(|d| d.message).collect();
    (text(&model, body), replaced, found)
}

#[test]
fn a_graph_output_keeps_its_name() {
    let (nodes, replaced, found) = without_identity(&["t = Abs x", "u = Neg t", "y = Identity t"]);
    assert_eq!((nodes, replaced, found), (vec!["y = Abs x".into(), "u = Neg y".into()], true, vec![]));
}

#[test]
fn an_input_cannot_take_the_name_of_an_output() {
    let (nodes, replaced, found) = without_identity(&["y = Identity x"]);
    assert_eq!((nodes, replaced, found), (vec!["y = Identity x".into()], false, vec![]));
}

#[test]
fn a_removed_node_leaves_its_outputs_undefined() {
    let (mut model, body) = graph(&["t = Abs x", "y = Neg t"]);
    let mut cursor = Cursor::new(&mut model, body);
    cursor.next_node();
    cursor.remove();
    drop(cursor);
    let found = verify(&model, &VerifyOptions::default());
    assert!(found.iter().any(|d| d.message == "use of undefined value `t`"));
}

#[test]
fn a_new_name_goes_wherever_the_value_is_named() {
    let (mut model, body) = graph(&["y = Add x w"]);
    let mut cursor = Cursor::new(&mut model, body);
    let tensor = Tensor {
        elem: Some(ElemType::FLOAT),
        data: smallvec![Payload::floats(vec![1.0])],
        ..Tensor::default()
    };
    let w = cursor.add_initializer("weight", tensor);
    drop(cursor);
    let x = value(&model, body, "x");
    let graph = model.bodies[body].root().expect("a graph");
    let x_name = model.bodies[body].values[x].name;
    model.bodies[body].graphs[graph]
        .quantization
        .push(QuantizationAnnotation { tensor_name: Some(x_name), parameters: vec![] });
    let uses = Uses::of(&model.bodies[body]);
    let mut cursor = Cursor::new(&mut model, body);
    let (input, weight, output) = (cursor.name("input"), cursor.name("scale"), cursor.name("output"));
    cursor.rename(&uses, x, input);
    cursor.rename(&uses, w, weight);
    let y = cursor.body().values.iter().find(|(_, v)| cursor.text(Some(v.name)) == "y").expect("y").0;
    cursor.rename(&uses, y, output);
    drop(cursor);
    let b = &model.bodies[body];
    let g = &b.graphs[graph];
    let tensor = &b.tensors[g.initializers[0].tensor];
    let names = [g.inputs[0].name, g.outputs[0].name, g.quantization[0].tensor_name, tensor.name];
    assert_eq!(names.map(|n| model.text(n)), ["input", "output", "input", "scale"]);
    assert_eq!(text(&model, body), ["output = Add input w"]);
}

#[test]
fn the_cursor_moves_between_graphs() {
    let (mut model, body) = graph(&["y = Abs x"]);
    let root = model.bodies[body].root().expect("a graph");
    let mut cursor = Cursor::new(&mut model, body);
    cursor.goto_end();
    assert_eq!(cursor.node(), None);
    cursor.goto_graph(root);
    assert!(cursor.next_node().is_some());
    assert_eq!(cursor.graph(), root);
    drop(cursor);
    assert_eq!(text(&model, body), ["y = Abs x"]);
}
