//! Random edits of a model are reported as just those edits.

use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Model {
    let read = onnx_text::read_model(text);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    read.value
}

/// A node of a made-up model.
#[derive(Clone, Debug)]
struct Made {
    op: &'static str,
    attr: Option<String>,
    inputs: Vec<String>,
    output: String,
}

/// A model of a chain with a weight at each second node, and a side branch.
fn made(count: usize) -> (Vec<Made>, Vec<f32>) {
    let mut nodes = Vec::new();
    let mut last = "x".to_owned();
    for at in 0..count {
        let output = if at + 1 == count { "y".to_owned() } else { format!("t{at}") };
        let (op, attr, mut inputs) = match at % 4 {
            0 => ("LeakyRelu", Some(format!("alpha = 0.{}", at + 1)), vec![last.clone()]),
            1 | 3 => ("Add", None, vec![last.clone(), format!("w{at}")]),
            _ => ("Mul", None, vec![last.clone(), "x".to_owned()]),
        };
        if op == "Add" && at % 8 == 3 {
            inputs.reverse();
        }
        nodes.push(Made { op, attr, inputs, output: output.clone() });
        last = output;
    }
    (nodes, (0..count).map(|at| at as f32).collect())
}

fn text(nodes: &[Made], weights: &[f32]) -> String {
    let mut text = "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y) <".to_owned();
    let used = |name: &String| nodes.iter().any(|node| node.inputs.contains(name));
    let list: Vec<String> = (0..weights.len())
        .filter(|at| used(&format!("w{at}")))
        .map(|at| format!("float[2] w{at} = {{{}, 1}}", weights[at]))
        .collect();
    text += &list.join(", ");
    text += "> {\n";
    for Made { op, attr, inputs, output } in nodes {
        let attr = attr.as_ref().map_or(String::new(), |attr| format!("<{attr}>"));
        text += &format!("{output} = {op} {attr} ({})\n", inputs.join(", "));
    }
    text + "}"
}

fn between(a: &(Vec<Made>, Vec<f32>), b: &(Vec<Made>, Vec<f32>)) -> ModelDiff {
    diff(&read(&text(&a.0, &a.1)), &read(&text(&b.0, &b.1)), &Options::default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn nothing_differs_from_itself(count in 1usize..40) {
        let found = between(&made(count), &made(count));
        prop_assert!(found.is_empty(), "{found:#?}");
        prop_assert_eq!(found.bump, None);
    }

    #[test]
    fn one_attribute(count in 2usize..40, at in 0usize..40) {
        let (a, mut b) = (made(count), made(count));
        let at = (at % count) / 4 * 4;
        b.0[at].attr = Some("alpha = 7.5".to_owned());
        let found = between(&a, &b);
        prop_assert_eq!(found.graph.nodes.len(), 1);
        prop_assert!(found.graph.weights.is_empty());
        let node = &found.graph.nodes[0];
        prop_assert_eq!((node.kind, node.attributes.len(), node.moved), (Kind::Changed, 1, false));
        prop_assert!(node.operands.is_empty() && node.renamed.is_empty() && node.operator.is_empty());
        prop_assert_eq!(node.attributes[0].new.as_deref(), Some("7.5"));
        prop_assert_eq!(found.bump, Some(Bump::Patch));
    }

    #[test]
    fn one_weight(count in 2usize..40, at in 0usize..40) {
        let (a, mut b) = (made(count), made(count));
        let at = (at % count) / 2 * 2 + 1;
        prop_assume!(at < count);
        b.1[at] += 0.5;
        let found = between(&a, &b);
        prop_assert!(found.graph.nodes.is_empty());
        prop_assert_eq!(found.graph.weights.len(), 1);
        let weight = &found.graph.weights[0];
        prop_assert_eq!((&weight.name, weight.differing), (&format!("w{at}"), Some(1)));
        prop_assert_eq!((weight.largest_difference, weight.mean_difference), (Some(0.5), Some(0.25)));
    }

    #[test]
    fn one_renamed_value(count in 3usize..40, at in 0usize..40) {
        let (a, mut b) = (made(count), made(count));
        let at = at % (count - 1);
        let (old, new) = (format!("t{at}"), "fresh".to_owned());
        for node in &mut b.0 {
            node.inputs.iter_mut().chain([&mut node.output]).filter(|name| **name == old).for_each(|name| name.clone_from(&new));
        }
        let found = between(&a, &b);
        prop_assert_eq!(found.graph.nodes.len(), 1, "{:#?}", found.graph.nodes);
        let node = &found.graph.nodes[0];
        prop_assert_eq!((node.kind, node.renamed.len(), node.operands.len()), (Kind::Changed, 1, 0));
    }

    #[test]
    fn all_names_are_others(count in 2usize..40) {
        let (a, mut b) = (made(count), made(count));
        let fresh = |name: &str| if name.starts_with('t') { format!("z{name}") } else { name.to_owned() };
        for node in &mut b.0 {
            node.output = fresh(&node.output);
            node.inputs.iter_mut().for_each(|name| *name = fresh(name));
        }
        let found = between(&a, &b);
        prop_assert!(found.graph.nodes.iter().all(|node| node.kind == Kind::Changed && node.operands.is_empty()), "{found:#?}");
        prop_assert_eq!(found.graph.nodes.len(), count - 1);
    }

    #[test]
    fn one_removed_node(count in 3usize..40, at in 0usize..40) {
        let (a, mut b) = (made(count), made(count));
        let at = at % (count - 1);
        let gone = b.0.remove(at);
        // Readers of a removed value read its first operand instead.
        let instead = gone.inputs.iter().find(|name| !name.starts_with('w')).unwrap().clone();
        for node in &mut b.0 {
            node.inputs.iter_mut().filter(|name| **name == gone.output).for_each(|name| name.clone_from(&instead));
        }
        let found = between(&a, &b);
        let removed: Vec<_> = found.graph.nodes.iter().filter(|node| node.kind == Kind::Removed).collect();
        prop_assert_eq!(removed.len(), 1, "{:#?}", found.graph.nodes);
        prop_assert_eq!(&removed[0].old.as_ref().unwrap().outputs[0], &gone.output);
        let changed: Vec<_> = found.graph.nodes.iter().filter(|node| node.kind == Kind::Changed).collect();
        prop_assert!(changed.len() == 1 && changed[0].operands.len() == 1 && changed[0].attributes.is_empty(), "{found:#?}");
        prop_assert!(found.graph.weights.iter().all(|weight| weight.kind == Kind::Removed));
    }

    #[test]
    fn one_moved_node(count in 6usize..30, to in 0usize..30) {
        let (mut a, mut b) = (made(count), made(count));
        let side = Made { op: "Neg", attr: None, inputs: vec!["x".to_owned()], output: "side".to_owned() };
        a.0.insert(0, side.clone());
        b.0.insert(2 + to % (count - 1), side);
        let found = between(&a, &b);
        prop_assert_eq!(found.graph.nodes.len(), 1, "{:#?}", found.graph.nodes);
        let node = &found.graph.nodes[0];
        prop_assert!(node.moved && node.new.as_ref().unwrap().op == "Neg");
        prop_assert!(node.operands.is_empty() && node.renamed.is_empty());
    }
}

#[test]
fn storage_is_no_difference() {
    let head = "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y) ";
    let body = "{ y = Add(x, w) }";
    let typed = read(&format!("{head}<float[2] w = {{1, 2}}>{body}"));
    let mut raw = typed.clone();
    for tensor in raw.bodies.values_mut().flat_map(|body| body.tensors.values_mut()) {
        let elements = onnx_exec::Tensor::stored(tensor).unwrap();
        tensor.data = elements.to_stored().unwrap().data;
    }
    assert_ne!(typed.main_body().unwrap().tensors, raw.main_body().unwrap().tensors);
    assert!(diff(&typed, &raw, &Options::default()).is_empty());
}

#[test]
fn numbers_of_element_types_are_explained() {
    let model = |to: i32| {
        read(&format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) {{ t = Cast <to = {to}> (x) y = Cast <to = 1> (t) }}"
        ))
    };
    let found = diff(&model(10), &model(11), &Options::default());
    let change = &found.graph.nodes[0].attributes[0];
    assert_eq!((change.old.as_deref(), change.new.as_deref()), (Some("10 (float16)"), Some("11 (double)")));
}

#[test]
fn graphs_in_nodes_are_compared_by_themselves() {
    let model = |op: &str| {
        read(&format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (bool c, float[N] x) => (float[N] y) {{
               y = If <then_branch = t () => (float[N] a) {{ a = {op}(x) }}, else_branch = e () => (float[N] b) {{ b = Neg(x) }}> (c) }}"
        ))
    };
    let found = diff(&model("Abs"), &model("Exp"), &Options::default());
    let node = &found.graph.nodes[0];
    assert!(node.attributes.is_empty() && node.operands.is_empty(), "{node:#?}");
    assert_eq!((node.graphs.len(), &node.graphs[0].name[..]), (1, "then_branch"));
    assert_eq!(node.graphs[0].graph.nodes[0].operator[0].new.as_deref(), Some("Exp"));
}

#[test]
fn the_interface_decides_the_version() {
    let model = |ports: &str| {
        read(&format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g ({ports}) => (float[N] y) {{ y = Relu(x) }}"
        ))
    };
    let bump = |ports: &str| diff(&model("float[N] x"), &model(ports), &Options::default()).bump;
    assert_eq!(bump("double[N] x"), Some(Bump::Minor));
    assert_eq!(bump("int8[N] x"), Some(Bump::Major));
    assert_eq!(bump("float[N] x, float z"), Some(Bump::Major));
    assert_eq!(bump("float[N] x"), None);
}

#[test]
fn pages_and_comments_hold_no_markup_of_the_model() {
    let a = read(
        "<ir_version: 10, opset_import: [\"\": 21], producer_name: \"<b>``` x\"> g (float[N] x) => (float[N] y) { y = Relu(x) }",
    );
    let b = read("<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }");
    let found = diff(&a, &b, &Options::default());
    let style = render::DiffStyle { names: Some(["a`b".to_owned(), "<i>".to_owned()]), ..Default::default() };
    let page = render::html(&found, &style);
    assert!(!page.contains("<b>") && !page.contains("<i>") && page.contains("&lt;b&gt;"));
    let comment = render::markdown(&found, &style);
    assert!(comment.contains("````diff\n") && comment.contains("`` a`b ``"), "{comment}");
    let parsed: serde_json::Value = serde_json::from_str(&render::json(&found)).unwrap();
    assert_eq!(parsed["header"][0]["name"], "producer_name");
    assert_eq!(parsed["equal"], false);
}

#[test]
fn a_broken_model_is_equal_to_itself() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"\": 20]> g (float[N] x, int8 x) => (float[N] y, float[N] y)
        <float[1] w = {nan}, float[2] w = {1, 2}> { y = Add(x, w) y = Add(x, w) z = Relu(nowhere) }
        <domain: \"l\", opset_import: [\"\": 21]> F (a) => (b) { b = Abs(a) }
        <domain: \"l\", opset_import: [\"\": 21]> F (a) => (b) { b = Exp(a) }";
    let model = onnx_text::read_model(text).value;
    let found = diff(&model, &model, &Options::default());
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn numbers_that_have_shifted_are_other_names_only() {
    let model = |extra: Option<usize>| {
        let ops =
            ["Relu(I)", "Add(I, w)", "Exp(I)", "Mul(I, w)", "Sigmoid(I)", "Add(I, w)", "Relu(I)", "Relu(I)"];
        let mut ops = ops.repeat(3);
        extra.into_iter().for_each(|at| ops.insert(at, "Neg(I)"));
        let (mut nodes, mut last) = (String::new(), "x".to_owned());
        for (at, op) in ops.iter().enumerate() {
            let output = if at + 1 == ops.len() { "y".to_owned() } else { format!("v{at}") };
            nodes += &format!("{output} = {}\n", op.replace('I', &last));
            last = output;
        }
        read(&format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) <float w = {{2}}> {{ {nodes} }}"
        ))
    };
    for at in 0..24 {
        let found = diff(&model(None), &model(Some(at)), &Options::default());
        let others: Vec<_> = found.graph.nodes.iter().filter(|node| !node.is_only_renamed()).collect();
        let added = others.iter().filter(|node| node.kind == Kind::Added).count();
        // One node reads the new one. If few names have shifted, names are used.
        let texts: Vec<_> = others.iter().map(|node| (node.kind, &node.new, &node.operands)).collect();
        assert!(added >= 1 && others.len() <= if at < 20 { 2 } else { 8 }, "{at}: {texts:?}");
        let back = diff(&model(Some(at)), &model(None), &Options::default());
        let removed = back.graph.nodes.iter().filter(|node| node.kind == Kind::Removed).count();
        assert!(if at < 20 { removed == 1 } else { removed >= 1 }, "{at}: {removed}");
    }
}
