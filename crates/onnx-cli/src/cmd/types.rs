//! `print --types`: the declared types of results as comments after each node.
//!
//! Works on the text, which contains the declarations.
//!
//! ```text
//! t = MatMul(x, w)  # float[2,3]
//! ```

use onnx_text::ast::{Graph, Node, ValueInfo};
use std::collections::HashMap;

/// The text with a comment after each node whose results have declared types.
pub(super) fn behind_nodes(text: &str) -> String {
    let parsed = onnx_text::parse_model(text);
    let mut found = Vec::new();
    let mut finder = Finder { text, found: &mut found };
    if let Some(graph) = &parsed.tree.graph {
        finder.graph(graph, &HashMap::new());
    }
    for function in &parsed.tree.functions {
        let mut types = HashMap::new();
        let values = function.values.as_ref().map(|list| list.items.as_slice()).unwrap_or_default();
        finder.declare(&mut types, &function.inputs.items);
        finder.declare(&mut types, &function.outputs.items);
        finder.declare(&mut types, values);
        finder.nodes(&function.body, &types);
    }
    found.sort_unstable();
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (place, types) in found {
        // The comment is placed after the node if the rest of the line is empty.
        let is_last = text[place..].lines().next().is_none_or(|rest| rest.trim().is_empty());
        if is_last && place >= at {
            out += &text[at..place];
            out += "  # ";
            out += &types;
            at = place;
        }
    }
    out += &text[at..];
    out
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
            if declared.iter().any(|ty| *ty != "?") {
                self.found.push((node.span.end as usize, declared.join(", ")));
            }
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
    fn declared_types_stand_behind_their_nodes() {
        let text = "g (float[N] x) => (float[N] y)\n<float[2,N] t>\n{\n    t = F(x)\n    y, q = G(t)\n    q = H()\n}\n";
        let expected =
            text.replace("F(x)\n", "F(x)  # float[2,N]\n").replace("G(t)\n", "G(t)  # float[N], ?\n");
        assert_eq!(behind_nodes(text), expected);
    }
}
