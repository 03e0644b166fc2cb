//! Edits of a model from a text, and the lines of the text that they change.

use super::print;
use crate::loaded::Loaded;
use onnx_ir::{Cursor, NodeId, Origin, ValueDef};

const TEXT: &str = r#"# A model.
<ir_version: 10,
 opset_import: ["": 21]>
net (float[N,2] x,
     float[N,2] z)   =>   (float[N,2] y)
<float[2,2] w = {1, 0,
                 0, 1},
 float[2] b = {3,4}>
{
  # The first layer.
  h = MatMul( x, w )   # a product

  a = Relu(h  +  b)
  # Both.
  c = Mul( a,
           z )
  y = Neg(c)        # last

}
"#;

/// The lines that one text has and the other does not.
fn changed(edit: impl FnOnce(&mut Loaded)) -> (String, Vec<String>, Vec<String>) {
    let read = crate::parse(TEXT);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let mut loaded = read.became(read.model.clone());
    edit(&mut loaded);
    let text = loaded.text_as_laid_out();
    assert_eq!(print(&crate::parse(&text)), print(&loaded), "{text}");
    let without = |a: &str, b: &str| {
        let other: Vec<&str> = b.lines().collect();
        a.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect()
    };
    (text.clone(), without(TEXT, &text), without(&text, TEXT))
}

/// Does something at the node with this operator.
fn at(loaded: &mut Loaded, op: &str, edit: impl FnOnce(&mut Cursor<'_>, NodeId)) {
    let body = loaded.model.main.unwrap();
    let mut cursor = Cursor::new(&mut loaded.model, body);
    while let Some(node) = cursor.next_node() {
        if cursor.text(cursor.body().nodes[node].op) == op {
            edit(&mut cursor, node);
            return;
        }
    }
    panic!("no {op}");
}

fn insert(loaded: &mut Loaded, before: &str, op: &str) {
    at(loaded, before, |cursor, node| {
        let input = cursor.body().nodes[node].inputs[0];
        let empty = cursor.name("");
        cursor.set_origin(Origin::NONE);
        let result = cursor.op(op, [input]);
        let ValueDef::Output(new, _) = cursor.body().values[result].def else { unreachable!("a new result") };
        cursor.body_mut().nodes[new].domain = Some(empty);
    });
}

#[test]
fn a_text_that_is_not_edited_stays() {
    let (text, gone, new) = changed(|_| {});
    assert_eq!(text, TEXT);
    assert!(gone.is_empty() && new.is_empty());
}

#[test]
fn a_node_is_inserted_with_the_indentation_of_its_neighbours() {
    let (_, gone, new) = changed(|loaded| insert(loaded, "Neg", "Abs"));
    assert_eq!((gone, new), (vec![], vec!["  abs = Abs(c)".to_owned()]));
}

#[test]
fn comments_stay_with_their_statements() {
    let (text, gone, new) = changed(|loaded| insert(loaded, "Mul", "Abs"));
    assert_eq!((gone, new), (vec![], vec!["  abs = Abs(a)".to_owned()]));
    let at = |part: &str| text.find(part).unwrap();
    assert!(at("abs = Abs(a)") < at("# Both.") && at("# Both.") < at("c = Mul( a,"), "{text}");
}

#[test]
fn a_node_is_removed_with_its_lines_alone() {
    let (_, gone, new) = changed(|loaded| {
        at(loaded, "Mul", |cursor, _| _ = cursor.remove());
    });
    assert_eq!(gone, ["  # Both.", "  c = Mul( a,", "           z )"]);
    assert!(new.is_empty(), "{new:?}");
}

#[test]
fn a_statement_that_changes_is_printed_alone() {
    let (_, gone, new) = changed(|loaded| {
        at(loaded, "Neg", |cursor, node| {
            let op = cursor.name("Abs");
            cursor.body_mut().nodes[node].op = Some(op);
        });
    });
    assert_eq!(gone, ["  y = Neg(c)        # last"]);
    assert_eq!(new, ["  y = Abs(c)  # last"]);
}

#[test]
fn an_expression_is_printed_if_a_part_changes() {
    let (_, gone, new) = changed(|loaded| {
        at(loaded, "Relu", |cursor, node| {
            let op = cursor.name("Abs");
            cursor.body_mut().nodes[node].op = Some(op);
        });
    });
    assert_eq!(gone, ["  a = Relu(h  +  b)"]);
    assert_eq!(new.len(), 2, "{new:?}");
    assert!(new.iter().all(|line| line.starts_with("  ") && !line.starts_with("   ")), "{new:?}");
}

#[test]
fn values_and_fields_are_kept_one_by_one() {
    let (text, gone, _) = changed(|loaded| {
        let me = loaded.model.names.intern("me");
        loaded.model.header.producer_name = Some(me);
        let body = loaded.model.main.unwrap();
        let body = &mut loaded.model.bodies[body];
        let root = body.root().unwrap();
        body.graphs[root].inputs.pop();
    });
    assert!(text.contains("<float[2,2] w = {1, 0,\n                 0, 1},\n float[2] b = {3,4}>"), "{text}");
    assert!(text.contains("  h = MatMul( x, w )   # a product\n\n  a = Relu(h  +  b)\n"), "{text}");
    assert_eq!(
        gone,
        [" opset_import: [\"\": 21]>", "net (float[N,2] x,", "     float[N,2] z)   =>   (float[N,2] y)"]
    );
    assert!(text.contains("<ir_version: 10,\n opset_import: [\"\": 21], producer_name: \"me\">"), "{text}");
}

#[test]
fn functions_and_nested_graphs_keep_theirs() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\ng (bool c, float x) => (float y)\n{\n  t = l.F( x )\n\n  \
                y = If (c) <then_branch = a () => (float p)  { p = Neg( t ) }, else_branch = b () => (float q) { q = Abs(t) }>\n  \
                z = Abs( y )\n}\n\n\n# Twice.\n<domain: \"l\",   opset_import: [\"\": 21]>\nF (v) => (w)\n{\n      w = Add(v,v)\n}\n";
    let read = crate::parse(text);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let mut loaded = read.became(read.model.clone());
    at(&mut loaded, "Abs", |cursor, node| {
        let op = cursor.name("Sin");
        cursor.body_mut().nodes[node].op = Some(op);
    });
    assert_eq!(loaded.text_as_laid_out(), text.replace("z = Abs( y )", "z = Sin(y)"));
}

#[test]
fn several_statements_on_a_line_are_printed() {
    let text =
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float x) => (float y)\n{ t = Abs( x ) y = Neg(t) }\n";
    let loaded = crate::parse(text);
    assert_eq!(loaded.text_as_laid_out(), print(&loaded));
}
