//! Ranks that grow along a chain of nodes do not grow without bound.

use onnx_ops::infer::{InferOptions, infer};
use onnx_ops::schema::Registry;
use std::fmt::Write;

#[test]
fn ranks_that_double_are_given_up() {
    let mut text = "<ir_version: 10, opset_import: [\"\": 18]>\ng (int64[2,2] y0) => (y60) {\n".to_owned();
    for i in 0..60 {
        let _ = writeln!(text, "y{} = Gather (y{i}, y{i})", i + 1);
    }
    text.push('}');
    let model = onnx_text::read_model(&text).value;
    let inference = infer(&model, Registry::builtin(), &InferOptions::default());
    assert!(inference.diagnostics.is_empty());
    let main = model.main.expect("a model has a graph");
    let rank_of = |name: &str| {
        let body = &model.bodies[main];
        let id = body.values.iter().find(|(_, v)| &model.names[v.name] == name).map(|(id, _)| id)?;
        inference.facts.get(main, id).ty.shape().map(|s| s.len())
    };
    assert_eq!(rank_of("y3"), Some(9));
    assert_eq!(rank_of("y60"), None);
}
