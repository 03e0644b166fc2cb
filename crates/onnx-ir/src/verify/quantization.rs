//! Quantization annotations: Z01.

use super::context::{Findings, Seen, VerifyContext, View, index};
use crate::diag::{Diagnostic, Entity, code};
use crate::ids::GraphId;
use crate::names::Name;

/// The keys that onnx.proto defines.
const KEYS: [&str; 2] = ["SCALE_TENSOR", "ZERO_POINT_TENSOR"];

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let mut names = Seen::new();
    let mut seen = Seen::new();
    let mut keys = Seen::new();
    for view in &cx.bodies {
        for graph in view.layout.graphs() {
            if !view.body.graphs[graph].quantization.is_empty() {
                values(view, graph, &mut names);
                annotations(cx, found, view, graph, &names, &mut seen, &mut keys);
            }
        }
    }
}

/// The names that a graph defines.
fn values(view: &View<'_>, graph: GraphId, names: &mut Seen<()>) {
    let (body, g) = (view.body, &view.body.graphs[graph]);
    names.clear();
    let inputs = g.inputs.iter().filter_map(|p| p.value);
    let dense = g.initializers.iter().map(|i| i.value);
    let sparse = g.sparse_initializers.iter().map(|i| i.value);
    let outputs = g.nodes.iter().flat_map(|&n| body.nodes[n].outputs.iter().flatten().copied());
    inputs.chain(dense).chain(sparse).chain(outputs).for_each(|v| names.set(body.values[v].name, ()));
}

fn annotations(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    view: &View<'_>,
    graph: GraphId,
    names: &Seen<()>,
    seen: &mut Seen<u32>,
    keys: &mut Seen<()>,
) {
    seen.clear();
    for (i, annotation) in view.body.graphs[graph].quantization.iter().enumerate() {
        let at = |i| Entity::QuantizationAnnotation(view.id, graph, i);
        let place = at(index(i));
        let new = |message: String| Diagnostic::new(&code::QUANTIZATION_ANNOTATION, place, message);
        let name = annotation.tensor_name.unwrap_or(Name::empty());
        let text = cx.text(name);
        if name.is_empty() {
            found.push(new("quantization annotation has no tensor name".to_owned()));
        } else if names.get(name).is_none() {
            found.push(new(format!("annotated tensor `{text}` is not a value of the graph")));
        } else if let Some(first) = seen.first(name, index(i)) {
            found.push(
                new(format!("tensor `{text}` is annotated twice")).related(at(first), "the first annotation"),
            );
        }
        keys.clear();
        for entry in &annotation.parameters {
            let (key, value) = (cx.model.text(entry.key), cx.model.text(entry.value));
            if entry.key.is_some_and(|k| keys.first(k, ()).is_some()) {
                found.push(new(format!("annotation of `{text}` has `{key}` twice")));
            } else if !KEYS.contains(&key) {
                let help = found.suggest(key, KEYS.len(), KEYS);
                let message = format!("annotation of `{text}` has the unknown key `{key}`");
                found.push(Diagnostic::new(&code::QUANTIZATION_KEY, place, message).maybe_help(help));
            }
            if entry.value.is_none_or(|v| names.get(v).is_none()) {
                found.push(new(format!(
                    "`{key}` of `{text}` is `{value}`, which is not a value of the graph"
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use crate::body::QuantizationAnnotation;
    use crate::tensor::Entry;

    fn annotated(list: &[(&str, &[(&str, &str)])]) -> Vec<String> {
        let mut model = relu();
        let annotations = list.iter().map(|(tensor, parameters)| QuantizationAnnotation {
            tensor_name: Some(model.names.intern(tensor)),
            parameters: (parameters.iter())
                .map(|(k, v)| Entry { key: Some(model.names.intern(k)), value: Some(model.names.intern(v)) })
                .collect(),
        });
        let annotations = annotations.collect();
        only(&mut main(&mut model).graphs).quantization = annotations;
        findings(&model)
    }

    #[test]
    fn annotations_name_values_of_the_graph_once() {
        assert_eq!(annotated(&[("x", &[("SCALE_TENSOR", "y")]), ("y", &[])]), [""; 0]);
        assert_eq!(
            annotated(&[("ghost", &[])]),
            ["E0231 annotated tensor `ghost` is not a value of the graph"]
        );
        assert_eq!(annotated(&[("", &[])]), ["E0231 quantization annotation has no tensor name"]);
        assert_eq!(annotated(&[("x", &[]), ("x", &[])]), ["E0231 tensor `x` is annotated twice"]);
        let expected = ["E0231 `SCALE_TENSOR` of `x` is `ghost`, which is not a value of the graph"];
        assert_eq!(annotated(&[("x", &[("SCALE_TENSOR", "ghost")])]), expected);
        let expected = ["E0231 annotation of `x` has `SCALE_TENSOR` twice"];
        assert_eq!(annotated(&[("x", &[("SCALE_TENSOR", "y"), ("SCALE_TENSOR", "y")])]), expected);
        assert_eq!(
            annotated(&[("x", &[("FOO", "y")])]),
            ["W0233 annotation of `x` has the unknown key `FOO`"]
        );
    }
}
