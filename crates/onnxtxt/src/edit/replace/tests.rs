//! Parts in place of nodes, and on values.

use super::*;
use crate::Text;
use crate::edit::main_value;
use onnx_ops::opset::registry_of;
use onnx_text::RaiseOptions;

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n";
const MODEL: &str = "g (float[N] x) => (float[N] y) <float[1] w = {2}, float[1] v = {3}> {
    a = Abs(x) t = Mul(a, w) b = Exp(t) c = Mul(b, v) y = Relu(c) }";

fn read(graph: &str) -> Model {
    onnx_text::read_model(&format!("{HEAD}{graph}")).value
}

fn shown(model: &Model) -> String {
    let found = onnx_ops::check::check(model, registry_of(model), &onnx_ir::VerifyOptions::default());
    assert!(found.iter().all(|d| !d.is_error()), "{found:?}");
    let text = Text::new(model, &RaiseOptions::default()).to_text();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn replaced(part: &str, from: &str, to: &str, map: &[(&str, &str)]) -> Result<String, String> {
    let mut model = read(MODEL);
    let value = |name| main_value(&model, name).unwrap();
    let nodes = nodes_between(&model, &[value(from)], &[value(to)]);
    let map = map.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    match replace(&mut model, &nodes, &read(part).into(), &map) {
        Ok(_) => {
            // Comments of the model are not those of the part.
            let of_part = model.walk_main().find(|node| ["Sigmoid", "Neg"].contains(&node.op()));
            let body = model.main_body().unwrap();
            assert!(of_part.is_none_or(|node| body.origins[node.id()] == onnx_ir::Origin::NONE));
            Ok(shown(&model))
        }
        Err(found) => Err(found[0].message.clone()),
    }
}

#[test]
fn a_part_takes_the_place_of_nodes() {
    let text = replaced(
        "p (float[N] a) => (float[N] b) <float[1] w = {5}, float[1] v = {7}> { t = Mul(a, w) s = Mul(t, v) b = Sigmoid(s) }",
        "a",
        "b",
        &[],
    )
    .unwrap();
    assert!(text.contains("w = {5}") && text.contains("v = {3}") && text.contains("v_1 = {7}"), "{text}");
    assert!(
        text.contains("a = Abs(x) t = Mul(a, w) s = Mul(t, v_1) b = Sigmoid(s) c = Mul(b, v) y = Relu(c)"),
        "{text}"
    );
    assert!(!text.contains("Exp"), "{text}");
    let map = [("in", "a"), ("out", "b")];
    let text = replaced("p (float[N] in) => (float[N] out) { out = Neg(in) }", "a", "b", &map).unwrap();
    assert!(text.contains("a = Abs(x) b = Neg(a) c") && !text.contains("w ="), "{text}");
    let text = replaced("p (float[N] x) => (float[N] y) { y = Neg(x) }", "x", "y", &[]).unwrap();
    assert!(text.ends_with("{ y = Neg(x) }"), "{text}");
    // An output that is an input.
    let text = replaced("p (float[N] in) => (float[N] in) { }", "a", "b", &[("in", "a")]);
    assert_eq!(text.unwrap_err(), "the selected nodes compute no value `a`");
}

#[test]
fn an_interface_that_does_not_match_is_refused() {
    let refused = |part: &str| replaced(part, "a", "b", &[]).unwrap_err();
    assert_eq!(
        refused("p (float[N] q) => (float[N] b) { b = Neg(q) }"),
        "outside of the selected nodes, no value is named `q`"
    );
    assert_eq!(
        refused("p (float[N] a) => (float[N] q) { q = Neg(a) }"),
        "the selected nodes compute no value `q`"
    );
    assert_eq!(
        refused("p (float[N] a) => (float[N] t) { t = Neg(a) }"),
        "the part has no output `b`, which is read outside of the selected nodes"
    );
}

#[test]
fn a_part_is_put_on_a_value() {
    let inserted = |at: &str, part: &str| {
        let mut model = read(MODEL);
        let value = main_value(&model, at).unwrap();
        insert(&mut model, value, &read(part).into(), &PartMap::new()).unwrap();
        shown(&model)
    };
    let part = "p (float[N] in) => (float[N] out) <float[1] w = {9}> { out = Mul(in, w) }";
    let text = inserted("t", part);
    assert!(text.contains("t = Mul(a, w) out = Mul(t, w_1) b = Exp(out)"), "{text}");
    let text = inserted("y", part);
    assert!(text.contains("y_1 = Relu(c) y = Mul(y_1, w_1) }"), "{text}");
    let text = inserted("x", part);
    assert!(text.contains("out = Mul(x, w_1) a = Abs(out)"), "{text}");
    let text = inserted("w", "p (float[1] w) => (float[1] r) { r = Neg(w) }");
    assert!(text.contains("r = Neg(w)") && text.contains("t = Mul(a, r)"), "{text}");
}
