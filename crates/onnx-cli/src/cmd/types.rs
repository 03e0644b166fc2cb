//! `print --types`: the types of results as comments after each node, inferred and declared.
//!
//! The comments are put into a text; the types are read from another text of the same nodes, which declares what was inferred.
//!
//! ```text
//! t = MatMul(x, w)  # float[2,3]
//! ```

use onnx_ir::Model;
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::opset::registry_of;
use onnx_text::RaiseOptions;
use onnx_text::ast::{Graph, Node, ValueInfo};
use onnxtxt::Text;
use std::collections::HashMap;

/// The text of a model with a comment after each node whose results have types.
pub(super) fn inferred(text: &str, model: &Model, options: &RaiseOptions) -> String {
    let mut declaring = model.clone();
    let mut facts = infer(model, registry_of(model), &InferOptions::default()).facts;
    apply(&mut declaring, &mut facts);
    // Weights are not needed, and are most of a text.
    for body in declaring.bodies.values_mut() {
        for graph in body.graphs.values_mut() {
            graph.initializers.clear();
            graph.sparse_initializers.clear();
        }
    }
    let options = RaiseOptions { metadata: false, ..options.clone() };
    behind_nodes(text, &Text::new(&declaring, &options).to_text())
}

/// The text with a comment after each node whose results have types in `declaring`, a text with the same nodes.
fn behind_nodes(text: &str, declaring: &str) -> String {
    let types = nodes(declaring);
    let mut found: Vec<(usize, &str)> =
        nodes(text).into_iter().zip(&types).map(|((place, _), (_, types))| (place, types.as_str())).collect();
    found.retain(|(_, types)| !types.is_empty());
    found.sort_unstable();
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (place, types) in found {
        // The comment is placed after the node if the rest of the line is empty.
        let is_last = text[place..].lines().next().is_none_or(|rest| rest.trim().is_empty());
        if is_last && place >= at {
            out += &text[at..place];
            out += "  # ";
            out += types;
            at = place;
        }
    }
    out += &text[at..];
    out
}

/// Where the nodes of a text end, and the types of their results; empty if none is known.
fn nodes(text: &str) -> Vec<(usize, String)> {
    let syntax = onnx_text::parse_model(text).value;
    let mut found = Vec::new();
    let mut finder = Finder { text, found: &mut found };
    if let Some(graph) = &syntax.tree.graph {
        finder.graph(graph, &HashMap::new());
    }
    for function in &syntax.tree.functions {
        let mut types = HashMap::new();
        let values = function.values.as_ref().map(|list| list.items.as_slice()).unwrap_or_default();
        finder.declare(&mut types, &function.inputs.items);
        finder.declare(&mut types, &function.outputs.items);
        finder.declare(&mut types, values);
        finder.nodes(&function.body, &types);
    }
    found
}

struct Finder<'t, 'f> {
    text: &'t str,
    found: &'f mut Vec<(usize, String)>,
}

/// Names with their types, as spelled in the text.
type Types<'t> = HashMap<&'t str, &'t str>;

impl<'t> Finder<'t, '_> {
    fn declare(&self, types: &mut Types<'t>, values: &[ValueInfo]) {
        for value in values {
            if let Some(ty) = &value.ty {
                types.insert(&self.text[value.name.range()], &self.text[ty.span().range()]);
            }
        }
    }

    fn graph(&mut self, graph: &Graph, outer: &Types<'t>) {
        let mut types = outer.clone();
        let lists = [graph.inputs.as_ref(), Some(&graph.outputs), graph.values.as_ref()];
        for list in lists.into_iter().flatten() {
            self.declare(&mut types, &list.items);
        }
        self.nodes(&graph.body, &types);
    }

    fn nodes(&mut self, nodes: &[Node], types: &Types<'t>) {
        for node in nodes {
            let declared: Vec<&str> = node
                .outputs
                .iter()
                .map(|name| types.get(&self.text[name.range()]).copied().unwrap_or("?"))
                .collect();
            let is_known = declared.iter().any(|ty| *ty != "?");
            let text = if is_known { declared.join(", ") } else { String::new() };
            self.found.push((node.span.end as usize, text));
            for graph in node.subgraphs() {
                self.graph(graph, types);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inferred_types_stand_behind_their_nodes() {
        let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x, bool c) => (y)\n{\n    t = Shape(x)\n    \
                    y = If(c) <then_branch = a () => (p) { p = Neg(x) }, else_branch = b () => (q) { q = Abs(x) }>\n}\n";
        let model = onnx_text::read_model(text).value;
        let options = RaiseOptions::default();
        let typed = inferred(&Text::new(&model, &options).to_text(), &model, &options);
        for line in ["t = Shape(x)  # int64[1]\n", "p = Neg(x)  # float[N]\n", "q = Abs(x)  # float[N]\n"] {
            assert!(typed.contains(line), "{typed}");
        }
        assert!(typed.contains("  # float[N]\n}\n") && !typed.contains("int64[1] t"), "{typed}");
    }

    #[test]
    fn declared_types_stand_behind_their_nodes() {
        let text = "g (float[N] x) => (float[N] y)\n<float[2,N] t>\n{\n    t = F(x)\n    y, q = G(t)\n    q = H()\n}\n";
        let expected =
            text.replace("F(x)\n", "F(x)  # float[2,N]\n").replace("G(t)\n", "G(t)  # float[N], ?\n");
        assert_eq!(behind_nodes(text, text), expected);
    }
}
