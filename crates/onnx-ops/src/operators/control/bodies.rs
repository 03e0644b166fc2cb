//! Operators with a subgraph, whose nodes become nodes of the function.
//!
//! A graph that captures values cannot be part of a function.

use crate::bodies::draft::Draft;
use crate::bodies::site::{CallSite, Home};
use crate::facts::Ty;
use foldhash::HashSet;
use onnx_ir::{Body, ElemType, GraphId, Model, Name, NodeId, ValueDef, ValueId};
use onnx_text::{RaiseOptions, print_node, print_tensor_of};

/// The nodes of a graph, renamed.
struct Inner {
    lines: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// The element types of outputs that are tensors.
    elems: Vec<Option<ElemType>>,
}

fn inner(home: Home<'_>, graph: GraphId, prefix: &str) -> Option<Inner> {
    let body = &home.model.bodies[home.body];
    let graphs: HashSet<GraphId> = body.walk_graph(graph).graphs().collect();
    let own: HashSet<NodeId> = body.walk_graph(graph).nodes().collect();
    let is_inside = |value: ValueId| match body.values[value].def {
        ValueDef::Input(g) | ValueDef::Initializer(g) => graphs.contains(&g),
        ValueDef::Output(node, _) => own.contains(&node),
        ValueDef::Unbound(_) => false,
    };
    let mut read = own.iter().flat_map(|&node| body.nodes[node].inputs.iter().flatten());
    if !read.all(|&value| is_inside(value)) || !body.graphs[graph].sparse_initializers.is_empty() {
        return None;
    }
    let mut model = Model::new();
    (model.names, model.types) = (home.model.names.clone(), home.model.types.clone());
    let mut renamed = body.clone();
    for (value, old) in body.values.iter().filter(|(value, _)| is_inside(*value)) {
        let name = format!("{prefix}{}", &home.model.names[old.name]);
        renamed.values[value].name = model.names.intern(&name);
    }
    let Body { graphs: all, values, tensors, .. } = &mut renamed;
    for &graph in &graphs {
        let g = &mut all[graph];
        // Annotations refer to the old names.
        g.quantization.clear();
        for port in g.inputs.iter_mut().chain(&mut g.outputs).chain(&mut g.value_info) {
            port.name = port.value.map(|value| values[value].name).or(port.name);
        }
        for init in &g.initializers {
            tensors[init.tensor].name = Some(values[init.value].name);
        }
    }
    let body = model.bodies.push(renamed);
    let g = &model.bodies[body].graphs[graph];
    let name = |value: ValueId| quoted(&model, model.bodies[body].values[value].name);
    let options = RaiseOptions { metadata: false, ..RaiseOptions::default() };
    let mut lines = Vec::new();
    for init in &g.initializers {
        let mut tensor = model.bodies[body].tensors[init.tensor].clone();
        tensor.name = None;
        let text = print_tensor_of(&model, &tensor, &options);
        lines.push(format!("{} = Constant <value = {text}> ()", name(init.value)));
    }
    lines.extend(g.nodes.iter().map(|&node| print_node(&model, body, node, &options)));
    let names = |ports: &[onnx_ir::Port]| -> Option<Vec<String>> {
        ports.iter().map(|port| port.value.map(name)).collect()
    };
    let elems = g.outputs.iter().map(|port| port.value.and_then(|value| home.ty(value).elem()));
    Some(Inner { lines, inputs: names(&g.inputs)?, outputs: names(&g.outputs)?, elems: elems.collect() })
}

fn quoted(model: &Model, name: Name) -> String {
    let text = &model.names[name];
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Applies the graph of an attribute, if there is one, to a value.
pub(crate) fn apply(draft: &mut Draft, site: &CallSite<'_>, attr: &str, from: &str, to: &str) -> Option<()> {
    if !site.has_attr(attr) {
        draft.add(format_args!("{to} = Identity ({from})"));
        return Some(());
    }
    let (home, graph) = site.graph(attr)?;
    let inner = inner(home, graph, &format!("{attr}_"))?;
    let ([input], [output]) = (&inner.inputs[..], &inner.outputs[..]) else { return None };
    draft.add(format_args!("{input} = Identity ({from})"));
    inner.lines.iter().for_each(|line| draft.add(line));
    draft.add(format_args!("{to} = Identity ({output})"));
    Some(())
}

/// SequenceMap as a loop over the elements of its sequences.
pub(crate) fn sequence_map(site: &CallSite<'_>) -> Option<Draft> {
    let (home, graph) = site.graph("body")?;
    let inner = inner(home, graph, "each_")?;
    if inner.inputs.len() != site.input_count() || inner.outputs.len() != site.output_count() {
        return None;
    }
    let mut draft = Draft::new();
    let numbered = |name: &str, count: usize| (0..count).map(|i| format!("{name}_{i}")).collect::<Vec<_>>();
    let outputs = numbered("output", inner.outputs.len());
    let (old, new) = (numbered("old", outputs.len()), numbered("new", outputs.len()));
    draft.rename(numbered("input", inner.inputs.len()), outputs.clone());
    draft.add("count = SequenceLength (input_0)");
    draft.add("yes = Constant <value = bool {1}> ()");
    let mut empty = Vec::new();
    for (i, elem) in inner.elems.iter().enumerate() {
        draft.add(format_args!("empty_{i} = SequenceEmpty <dtype = {}> ()", (*elem)?.0));
        empty.push(format!("empty_{i}"));
    }
    let head = format!("body = one (int64 i, bool go, {}) => (on, {}) {{", old.join(", "), new.join(", "));
    draft.add(format_args!("{} = Loop (count, yes, {}) <{head}", outputs.join(", "), empty.join(", ")));
    draft.add("    on = Identity (go)");
    for (i, input) in inner.inputs.iter().enumerate() {
        match site.ty(i)? {
            Ty::Sequence(_) => draft.add(format_args!("    {input} = SequenceAt (input_{i}, i)")),
            Ty::Tensor(_) => draft.add(format_args!("    {input} = Identity (input_{i})")),
            Ty::Unknown | Ty::Sparse(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => return None,
        }
    }
    inner.lines.iter().for_each(|line| draft.add(line));
    for (i, output) in inner.outputs.iter().enumerate() {
        draft.add(format_args!("    new_{i} = SequenceInsert (old_{i}, {output})"));
    }
    draft.add("}>");
    Some(draft)
}
