//! Reductions with an oracle that looks at the model instead of running something.

use super::*;
use crate::Text;
use onnx_text::RaiseOptions;

/// Fails for models that a function says.
struct Looks<'f> {
    is_failing: &'f dyn Fn(&Model) -> bool,
    runs: usize,
}

impl Oracle for Looks<'_> {
    type Stop = &'static str;

    fn fails(&mut self, candidate: &Model) -> Result<bool, &'static str> {
        self.runs += 1;
        if self.runs > 500 { Err("too many runs") } else { Ok((self.is_failing)(candidate)) }
    }

    fn found(&mut self, model: &Model, size: &Size) -> Result<(), &'static str> {
        assert_eq!(Size::of(model), *size);
        assert!((self.is_failing)(model));
        Ok(())
    }
}

fn has(model: &Model, op: &str) -> bool {
    model.bodies.values().flat_map(|body| body.nodes.values()).any(|node| model.text(node.op) == op)
}

fn reduced(graph: &str, is_failing: &dyn Fn(&Model) -> bool) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\n{graph}");
    let model = onnx_text::read_model(&text).value;
    let mut oracle = Looks { is_failing, runs: 0 };
    let result = reduce(&model, false, &mut oracle);
    assert_eq!(result.stop, None);
    assert!(!has_errors(&result.model));
    Text::new(&result.model, &RaiseOptions::default()).to_text()
}

#[test]
fn one_node_of_many_is_left() {
    let chain: String =
        (0..40).map(|i| format!("t{} = {}(t{i}) ", i + 1, if i == 23 { "Exp" } else { "Abs" })).collect();
    let text =
        reduced(&format!("g (float[N,8] t0) => (float[N,8] t40) {{ {chain} }}"), &|model| has(model, "Exp"));
    assert_eq!(text.matches(" = ").count(), 1, "{text}");
    assert!(text.contains("Exp(t23)") && text.contains("float[N,1]"), "{text}");
}

#[test]
fn two_nodes_that_depend_on_each_other_stay() {
    let text = reduced(
        "g (float[N] x, float[N] u) => (float[N] y, float[N] z) <float[1] w = {7}> {
            a = Abs(x) b = Mul(a, w) [m] c = Exp(b) d = Neg(c) e = Add(d, u) y = Log(e) z = Neg(u) }",
        &|model| has(model, "Exp") && has(model, "Log"),
    );
    assert_eq!(text.matches(" = ").count(), 2, "{text}");
    assert!(!text.contains("[m]"), "{text}");
}

#[test]
fn branches_and_calls_are_put_in_place() {
    let text = reduced(
        "g (bool c, float[N] x) => (float[N] y) {
            a = If(c) <then_branch = t () => (float[N] p) { q = Exp(x) p = Neg(q) },
                       else_branch = f () => (float[N] r) { r = Neg(x) }>
            y = Abs(a) }",
        &|model| has(model, "Exp"),
    );
    assert!(!text.contains("If") && !text.contains("Neg"), "{text}");
    let call = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]> g (float[N] x) => (float[N] y) { a = l.f(x) y = Neg(a) }
        <domain: \"l\", opset_import: [\"\": 21]> f (p) => (q) { r = Exp(p) q = Abs(r) }";
    let model = onnx_text::read_model(call).value;
    let mut oracle = Looks { is_failing: &|model| has(model, "Exp"), runs: 0 };
    let result = reduce(&model, false, &mut oracle);
    assert_eq!((result.size.functions, result.size.nodes, result.stop), (0, 1, None));
    assert_eq!(result.model.header.opset_imports.len(), 1);
}

#[test]
fn sizes_numbers_and_attributes_become_small() {
    let text = reduced(
        "g (float[2,3,32,32] x) => (float[2,4,16,16] y)
         <float[4,3,3,3] w = {\
            1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,\
            1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,\
            1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,\
            1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}, float[4] b = {1,2,3,4}> {
            y = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w, b) }",
        &|model| has(model, "Conv"),
    );
    assert!(!text.contains("pads") && !text.contains("strides") && !text.contains("32"), "{text}");
    assert!(text.contains("float[1,1,1,1] w = {0}") && !text.contains(" b"), "{text}");
}

#[test]
fn a_limit_leaves_the_best_model() {
    let model = onnx_text::read_model(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) { a = Abs(x) b = Neg(a) y = Exp(b) }",
    );
    struct Few(usize);
    impl Oracle for Few {
        type Stop = ();
        fn fails(&mut self, _: &Model) -> Result<bool, ()> {
            self.0 = self.0.checked_sub(1).ok_or(())?;
            Ok(true)
        }
        fn found(&mut self, _: &Model, _: &Size) -> Result<(), ()> {
            Ok(())
        }
    }
    let result = reduce(&model.value, false, &mut Few(1));
    assert_eq!(result.stop, Some(()));
    assert!(result.size < Size::of(&model.value));
}
