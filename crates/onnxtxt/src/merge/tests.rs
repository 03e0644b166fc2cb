//! Merges of small models.

use super::*;

const BASE: &str = "<ir_version: 10, opset_import: [\"\": 21], producer_name: \"p\">
g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}> {
    a = LeakyRelu <alpha = 0.1> (x)
    b = Add(a, w)
    c = Mul(b, v)
    y = Relu(c)
}";

fn read(text: &str) -> Model {
    let read = onnx_text::read_model(text);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    read.value
}

fn merged(ours: &str, theirs: &str) -> (String, Vec<String>) {
    let merged = merge(&read(BASE), &read(ours), &read(theirs)).unwrap();
    let paths = merged.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    (onnx_text::print_model(&merged.ours, &Default::default()), paths)
}

fn change(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

fn clean(ours: &[(&str, &str)], theirs: &[(&str, &str)]) {
    let both: Vec<_> = ours.iter().chain(theirs).copied().collect();
    let expected = onnx_text::print_model(&read(&change(&both)), &Default::default());
    for (x, y) in [(ours, theirs), (theirs, ours)] {
        let (text, conflicts) = merged(&change(x), &change(y));
        assert_eq!((text, conflicts), (expected.clone(), Vec::new()));
    }
}

#[test]
fn changes_of_different_parts_are_put_together() {
    let attribute = ("alpha = 0.1", "alpha = 0.2");
    clean(&[attribute], &[("w = {1, 2}", "w = {1, 5}")]);
    clean(&[attribute], &[("Mul(b, v)", "Div(b, v)")]);
    clean(&[attribute], &[("producer_name: \"p\"", "producer_name: \"q\"")]);
    clean(&[("w = {1, 2}", "w = {1, 5}")], &[("v = {3, 4}", "v = {3, 5}")]);
    clean(&[("y = Relu(c)", "d = Exp(c)\n y = Relu(d)")], &[("b = Add(a, w)", "e = Neg(a)\n b = Add(e, w)")]);
    clean(&[("c = Mul(b, v)\n", ""), ("Relu(c)", "Relu(b)"), (", float[2] v = {3, 4}", "")], &[attribute]);
    clean(&[attribute], &[]);
    clean(&[], &[]);
}

#[test]
fn a_new_name_reaches_what_the_other_side_adds() {
    let ours = change(&[("b = Add", "sum = Add"), ("Mul(b", "Mul(sum")]);
    let theirs = change(&[("y = Relu(c)", "d = Add(c, b)\n y = Relu(d)")]);
    let (text, conflicts) = merged(&ours, &theirs);
    assert!(conflicts.is_empty(), "{conflicts:?}");
    assert!(text.contains("d = Add(c, sum)"), "{text}");
}

#[test]
fn changes_of_the_same_part_are_conflicts() {
    for (from, ours, theirs, path) in [
        ("alpha = 0.1", "alpha = 0.2", "alpha = 0.3", "graph.node[a = LeakyRelu].attribute[alpha].f"),
        ("w = {1, 2}", "w = {1, 3}", "w = {1, 4}", "graph.initializer[w]"),
        ("producer_name: \"p\"", "producer_name: \"q\"", "producer_name: \"r\"", "producerName"),
        ("Relu(c)", "Relu(b)", "Relu(a)", "graph.node[y = Relu].input[0]"),
    ] {
        let (ours, theirs) = (change(&[(from, ours)]), change(&[(from, theirs)]));
        let (text, conflicts) = merged(&ours, &theirs);
        assert_eq!(conflicts, [path]);
        assert_eq!(text, onnx_text::print_model(&read(&ours), &Default::default()));
        let merged = merge(&read(BASE), &read(&ours), &read(&theirs)).unwrap();
        let theirs = onnx_text::print_model(&read(&theirs), &Default::default());
        assert_eq!(onnx_text::print_model(&merged.theirs.unwrap(), &Default::default()), theirs);
    }
}

#[test]
fn a_change_of_what_the_other_side_removes_is_a_conflict() {
    let ours = change(&[("c = Mul(b, v)\n", ""), ("Relu(c)", "Relu(b)"), (", float[2] v = {3, 4}", "")]);
    let theirs = change(&[("v = {3, 4}", "v = {3, 5}")]);
    assert_eq!(merged(&ours, &theirs).1, ["graph.initializer[v]"]);
}
