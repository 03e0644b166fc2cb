//! Models that compute other values than their outputs.

use crate::loaded::Loaded;
use onnx_ir::diag::{Diagnostic, Place, code, did_you_mean};
use onnx_ir::pass::dead_code;
use onnx_ir::{Body, GraphId, Port, ValueId};

impl Loaded {
    /// A model that computes these values of the main graph, in this order, and nothing else. They are outputs, or results of
    /// nodes between. Inputs are those of this model; weights are shared, not copied.
    ///
    /// ```
    /// let loaded = onnxtxt::parse(
    ///     r#"<ir_version: 10, opset_import: ["": 21]>
    ///     g (float[N] x) => (float[N] y, float[N] z) { h = Neg(x) y = Abs(h) z = Sqrt(x) }"#,
    /// );
    /// let other = loaded.computing(&["h", "y"]).expect("both are computed");
    /// assert!(other.text().contains("=> (h, float[N] y)") && !other.text().contains("Sqrt"));
    /// let refused = loaded.computing(&["yy"]).unwrap_err();
    /// assert_eq!(refused.message, "the model computes no `yy`");
    /// ```
    ///
    /// # Errors
    ///
    /// No value has such a name.
    pub fn computing(&self, names: &[&str]) -> Result<Loaded, Box<Diagnostic>> {
        let mut model = self.model.clone();
        let main = model.main.and_then(|id| Some((id, model.bodies[id].root()?)));
        let Some((id, graph)) = main else {
            let message = "the model has no graph to run";
            return Err(Box::new(Diagnostic::new(&code::CANNOT_RUN, Place::Nowhere, message)));
        };
        let mut outputs = Vec::with_capacity(names.len());
        for &name in names {
            let body = &model.bodies[id];
            let port = model.names.find(name).and_then(|name| {
                let output = body.graphs[graph].outputs.iter().find(|port| port.name == Some(name));
                output.cloned().or_else(|| {
                    let value = named(body, graph, |value| body.values[value].name == name)?;
                    Some(Port { name: Some(name), value: Some(value), ..Port::default() })
                })
            });
            let Some(port) = port else { return Err(self.not_computed((id, graph), name)) };
            outputs.push(port);
        }
        model.bodies[id].graphs[graph].outputs = outputs;
        // Training may name values that are not computed any more.
        model.training.clear();
        dead_code(&mut model, self.registry());
        Ok(self.became(model))
    }

    fn not_computed(&self, (id, graph): (onnx_ir::BodyId, GraphId), name: &str) -> Box<Diagnostic> {
        let body = &self.model.bodies[id];
        let names =
            || body.graphs[graph].values(body).map(|value| &self.model.names[body.values[value].name]);
        let help = did_you_mean(name, names()).map(|near| format!("did you mean `{near}`?"));
        let message = format!("the model computes no `{name}`");
        Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, message).maybe_help(help))
    }
}

/// A value of a graph that is defined.
fn named(body: &Body, graph: GraphId, is_it: impl Fn(ValueId) -> bool) -> Option<ValueId> {
    body.graphs[graph].values(body).find(|&value| is_it(value))
}

#[cfg(test)]
mod tests {
    use onnx_exec::{CompileOptions, RunOptions, Tensor};

    const TEXT: &str = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[N] x, float[N] u) => (float[N] y) <float[1] w = {2}> { h = Mul(x, w) k = Add(u, h) y = Relu(k) }"#;

    #[test]
    fn results_between_are_those_of_the_whole() {
        let loaded = crate::parse(TEXT);
        let run = |names: &[&str]| {
            let mut other = loaded.computing(names).expect("they are computed");
            let executable = other.compile_unchecked(&CompileOptions::default()).expect("it can be run");
            let x = || Some(Tensor::of(&[2], &[1.0f32, -3.0]).expect("two").into());
            let results = executable.run(vec![x(), x()], &RunOptions::default()).expect("it runs");
            let floats = |value: &onnx_exec::Value| value.tensor()?.slice::<f32>().map(<[f32]>::to_vec);
            results.iter().map(|value| floats(value).expect("floats")).collect::<Vec<_>>()
        };
        let (h, k, y) = (vec![2.0, -6.0], vec![3.0, -9.0], vec![3.0, 0.0]);
        assert_eq!(run(&["y"])[0], y);
        assert_eq!(run(&["k", "h", "y", "k"]), [k.clone(), h, y, k]);
        assert_eq!(run(&["x", "w"]), [vec![1.0, -3.0], vec![2.0]]);
        assert!(run(&[]).is_empty());
    }

    #[test]
    fn what_is_not_computed_is_refused_with_help() {
        let refused = |name: &str| crate::parse(TEXT).computing(&[name]).expect_err("refused").to_string();
        assert_eq!(refused("ww"), "error[E1603]: the model computes no `ww` (did you mean `w`?)");
        assert!(crate::parse("").computing(&["y"]).is_err());
    }
}
