//! Editing keeps names, uses and declarations in step.

use super::*;
use crate::attr::AttrValue;
use crate::entity::FromIndex as _;
use crate::verify::{VerifyOptions, verify};
use crate::{
    Attr, BodyBuilder, BodyId, ElemType, Model, NodeId, NodeSpec, Origin, Payload, QuantizationAnnotation,
    Tensor, ValueId,
};
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
        ["p = Before x", "t = A x", "q = After -", "p_1 = Before t", "y = B t", "q_1 = After -", "r = End "];
    assert_eq!(text(&model, body), expected);
}

#[test]
fn the_graph_stays_readable_and_lists_edits_when_the_cursor_leaves() {
    let (mut model, body) = graph(&["t = A x", "u = B t", "y = C u"]);
    let root = model.bodies[body].root().expect("a graph");
    let ops = |model: &Model, nodes: &[NodeId]| {
        nodes.iter().map(|&n| model.text(model.bodies[body].nodes[n].op)).collect::<Vec<_>>().join(" ")
    };
    let mut cursor = Cursor::new(&mut model, body);
    cursor.next_node();
    cursor.next_node();
    assert_eq!(cursor.node_ref().and_then(|node| node.producer(0)).map(|node| node.op()), Some("A"));
    let x = cursor.node_ref().and_then(|node| node.producer(0)?.input(0));
    cursor.op("D", [x]);
    cursor.remove();
    let nodes: Vec<NodeId> = cursor.nodes().collect();
    assert_eq!(ops(cursor.model(), &nodes), "A D C");
    assert_eq!(ops(cursor.model(), &cursor.body().graphs[root].nodes), "A B C");
    drop(cursor);
    assert_eq!(ops(&model, &model.bodies[body].graphs[root].nodes), "A D C");
}

#[test]
fn several_nodes_take_the_place_of_one() {
    let (mut model, body) = graph(&["t = Old x", "y = Neg t", "z = Split t"]);
    let mut cursor = Cursor::new(&mut model, body);
    cursor.next_node();
    let x = cursor.node_ref().and_then(|node| node.input(0));
    let first = cursor.op("First", [x]);
    let second = cursor.op("Second", [first]);
    // A value that another new node reads too.
    cursor.op("Third", [second]);
    cursor.replace([second]);
    assert!(cursor.next_node().is_some());
    let t = cursor.node_ref().and_then(|node| node.input(0)).expect("an operand");
    cursor.replace([t]);
    drop(cursor);
    let expected =
        ["first = First x", "t = Second first", "third = Third t", "y = Identity t", "z = Split t"];
    assert_eq!(text(&model, body), expected);
    let found = verify(&model, &VerifyOptions::default());
    assert!(!found.iter().any(|d| d.code.id.starts_with("E02")), "{found:?}");
}

#[test]
fn one_new_result_can_stand_for_two() {
    let (mut model, body) = graph(&["a b = Two x", "y = Add a b"]);
    let mut cursor = Cursor::new(&mut model, body);
    cursor.next_node();
    let x = cursor.node_ref().and_then(|node| node.input(0));
    let one = cursor.op("One", [x]);
    cursor.replace([one, one]);
    drop(cursor);
    assert_eq!(text(&model, body), ["a = One x", "b = Identity a", "y = Add a b"]);
}

#[test]
fn the_cursor_visits_nested_graphs_and_its_names_meet_none_in_them() {
    let mut model = Model::of_opset(21);
    let mut b = crate::GraphBuilder::main(&mut model, "g");
    let [c, x] = ["c", "x"].map(|name| b.input(name, None));
    let y = b
        .node("If")
        .input(c)
        .graph("then_branch", "then", |b| _ = b.node("Abs").input(x).output("abs_1"))
        .graph("else_branch", "else", |b| _ = b.node("Neg").input(x).output("abs"))
        .value();
    b.output("y", y, None);
    let body = b.finish();
    let mut cursor = Cursor::new(&mut model, body);
    let mut visited = Vec::new();
    let mut made = Vec::new();
    loop {
        while cursor.next_node().is_some() {
            visited.extend(cursor.node_ref().map(|node| node.op().to_owned()));
            let value = cursor.op("Abs", [x]);
            made.push(cursor.text(Some(cursor.body().values[value].name)).to_owned());
        }
        if !cursor.goto_next_graph() {
            break;
        }
    }
    drop(cursor);
    assert_eq!(visited, ["If", "Abs", "Neg"]);
    assert_eq!(made, ["abs_2", "abs_3", "abs_4"]);
    let mut names: Vec<_> = model.bodies[body].values.values().map(|value| value.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
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

/// Removes the node `y = Identity t`; returns the rest, and whether every use could be replaced.
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
