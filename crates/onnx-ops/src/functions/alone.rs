//! A model for the function body of one node, to run or schedule it.
//!
//! ```text
//! node:   y = Swish <alpha = 2.0> (x)
//! model:  g (x) => (y) {
//!            alpha_float = Constant <value_float = 2.0> ()
//!            …
//!            y = Mul (x, gate)
//!         }
//! ```

use super::FunctionBody;
use crate::schema::Registry;
use onnx_ir::pass::{self, CopyOptions, CopySource, CopyTarget, Foreign, Inline, Transplant};
use onnx_ir::{Body, BodyId, Graph, Model, NodeId, OpsetImport, Port, ValueDef, normalize_domain};

/// A model whose main graph computes the node: an input for each operand, an output for each result, in order. It has the imports
/// of the function and those of the node's context. An operand that is repeated is one input.
///
/// Nodes whose operators have bodies themselves are kept.
pub fn alone(
    model: &Model,
    registry: &Registry,
    body: BodyId,
    node: NodeId,
    function: &FunctionBody,
) -> Model {
    let mut lone = Model::new();
    lone.header = onnx_ir::Header { ir_version: model.header.ir_version, ..onnx_ir::Header::default() };
    // The body may import another version of the operator set than the node, which is not needed any more.
    let own = &function.model.functions[function.id].opset_imports;
    let of = |import: &OpsetImport| normalize_domain(function.model.text(import.domain)).to_owned();
    let known: Vec<String> = own.iter().map(of).collect();
    let is_other =
        |import: &&OpsetImport| !known.iter().any(|d| d == normalize_domain(model.text(import.domain)));
    let around = model.imports_of(body).iter().filter(is_other).map(|import| (model, import));
    for (from, import) in own.iter().map(|import| (&*function.model, import)).chain(around) {
        let domain = import.domain.map(|domain| lone.names.intern(&from.names[domain]));
        lone.header.opset_imports.push(OpsetImport { domain, version: import.version });
    }
    let mut home = Body::default();
    let root = home.graphs.push(Graph { name: Some(lone.names.intern("node")), ..Graph::default() });
    let source = &model.bodies[body];
    let target = CopyTarget { names: &mut lone.names, types: &mut lone.types, body: &mut home };
    let mut copier = Transplant::new(CopySource::other(model, source), target, root, CopyOptions::default());
    let copy = copier.node(node);
    drop(copier);
    home.graphs[root].nodes.push(copy);
    let inputs: Vec<_> = home.nodes[copy].inputs.iter().flatten().copied().collect();
    for value in inputs {
        if home.values[value].def == ValueDef::Input(root) {
            continue;
        }
        home.values[value].def = ValueDef::Input(root);
        let port = Port { name: Some(home.values[value].name), value: Some(value), ..Port::default() };
        home.graphs[root].inputs.push(port);
    }
    let outputs = home.nodes[copy].outputs.clone();
    for (i, value) in outputs.into_iter().enumerate() {
        let Some(value) = value else { continue };
        home.values[value].def = ValueDef::Output(copy, u32::try_from(i).unwrap_or(u32::MAX));
        let port = Port { name: Some(home.values[value].name), value: Some(value), ..Port::default() };
        home.graphs[root].outputs.push(port);
    }
    lone.main = Some(lone.bodies.push(home));
    let mut first = Some(Foreign { model: function.model.clone(), function: function.id });
    let mut others = |_: &Model, _: BodyId, _: NodeId| first.take();
    let options = Inline { depth: Some(1), others: Some(&mut others), ..Inline::default() };
    pass::inline(&mut lone, registry, options);
    pass::compact(&mut lone);
    lone
}
