//! Concatenates two models: outputs of the first become inputs of the second.
//!
//! ```text
//! first:   f (float[N] x) => (float[N] t)            { t = Abs(x) }
//! second:  g (float[N] t, float[N] u) => (float[N] y) { y = Add(t, u) }
//! joined:  f (float[N] x, float[N] u) => (float[N] y) { t = Abs(x)  y = Add(t, u) }
//! ```
//!
//! Inputs of the second model that are not connected stay inputs; one with the name of an input of the first is the same input.
//! Inputs, outputs and values keep their names. If both models have a name, the one of the second gets a number appended, or the
//! one of the first if the second exposes it. Function calls of the second model are inlined, and both models are converted to
//! the newer version of each operator set.

use super::{Edited, Incoming, listed, main_graph};
use onnx_ir::diag::{Diagnostic, Place, code, did_you_mean};
use onnx_ir::pass::{
    CopyOptions, CopySource, CopyTarget, Inline, Named, Report, Transplant, compact, inline, rename,
    upgrade_ir_version,
};
use onnx_ir::{Body, Model, OpsetImport, Port, ValueDef, ValueId, normalize_domain};
use onnx_ops::convert::convert_opset;
use onnx_ops::opset::registry_of;
use std::collections::{HashMap, HashSet};

/// Options of concatenation.
#[derive(Clone, Debug, Default)]
pub struct Concat {
    /// Outputs of the first, each with the input of the second that it becomes. Empty: those of the same names.
    pub map: Vec<(String, String)>,
    /// Whether outputs of the first that become inputs stay outputs as well.
    pub keep_outputs: bool,
}

/// Appends another model to this one.
pub fn concat(first: &mut Model, second: &Incoming, options: &Concat) -> Edited {
    let mut second = second.model().clone();
    let pairs = pairs(first, &second, options)?;
    if !second.training.is_empty() || !first.training.is_empty() {
        return Err(vec![refused("a model with a training cannot be joined".to_owned())]);
    }
    let registry = registry_of(&second);
    inline(&mut second, registry, Inline::default());
    if !second.functions.is_empty() {
        let calls = second.functions.values().any(|function| is_called(&second, function.name));
        if calls {
            return Err(vec![refused(
                "a call of a function of the second model cannot be put in place".to_owned(),
            )]);
        }
    }
    imports(first, &mut second)?;
    let version = first.header.ir_version.max(second.header.ir_version);
    if let Some(version) = version {
        upgrade_ir_version(first, version);
        upgrade_ir_version(&mut second, version);
    }
    let shared = rename_apart(first, &mut second, &pairs)?;
    let nodes = join(first, &second, &pairs, &shared, options.keep_outputs)?;
    compact(first);
    let mut report = Report::default();
    report.note(pairs.len(), "output", "joined to an input");
    report.note(nodes, "node", "added");
    Ok(report)
}

fn refused(message: String) -> Diagnostic {
    Diagnostic::new(&code::CONCAT, Place::Nowhere, message)
}

fn is_called(model: &Model, name: Option<onnx_ir::Name>) -> bool {
    let Some(body) = model.main_body() else { return false };
    body.nodes.values().any(|node| node.op == name && !normalize_domain(model.text(node.domain)).is_empty())
}

/// Declarations of the main graph by name.
fn ports(model: &Model, list: fn(&onnx_ir::Graph) -> &Vec<Port>) -> Vec<(&str, &Port)> {
    let Some((id, graph)) = main_graph(model) else { return Vec::new() };
    list(&model.bodies[id].graphs[graph]).iter().map(|port| (model.text(port.name), port)).collect()
}

fn inputs(model: &Model) -> Vec<(&str, &Port)> {
    ports(model, |graph| &graph.inputs)
}

fn outputs(model: &Model) -> Vec<(&str, &Port)> {
    ports(model, |graph| &graph.outputs)
}

/// The connected pairs of outputs and inputs, or the reasons why they cannot be connected.
fn pairs(first: &Model, second: &Model, options: &Concat) -> Result<Vec<(String, String)>, Vec<Diagnostic>> {
    let (outputs, inputs) = (outputs(first), inputs(second));
    let mut found = Vec::new();
    let mut pairs = options.map.clone();
    if pairs.is_empty() {
        let is_both = |name: &&str| inputs.iter().any(|(input, _)| input == name);
        let names = outputs.iter().map(|(name, _)| *name).filter(is_both);
        pairs = names.map(|name| (name.to_owned(), name.to_owned())).collect();
        if pairs.is_empty() {
            let message = format!(
                "no output of the first model has the name of an input of the second: outputs are {}, inputs are {}",
                listed(outputs.iter().map(|(name, _)| *name)),
                listed(inputs.iter().map(|(name, _)| *name)),
            );
            found.push(refused(message).help("say which belong together: --map OUTPUT=INPUT"));
        }
    }
    let mut taken = HashSet::new();
    for (output, input) in &pairs {
        let from = port_of(&outputs, output, "first model has no output", &mut found);
        let to = port_of(&inputs, input, "second model has no input", &mut found);
        if !taken.insert(input) {
            found.push(refused(format!("two outputs would become the input `{input}`")));
        }
        let elem = |model: &Model, port: Option<&Port>| match &model.types[port?.ty?].kind {
            onnx_ir::TypeKind::Tensor(tensor) => tensor.elem,
            _ => None,
        };
        if let (Some(a), Some(b)) = (elem(first, from), elem(second, to))
            && a != b
        {
            let [a, b] = [a, b].map(|elem| elem.name().unwrap_or("?"));
            found.push(refused(format!("output `{output}` is {a}, but input `{input}` is {b}")));
        }
    }
    if found.is_empty() { Ok(pairs) } else { Err(found) }
}

fn port_of<'p>(
    known: &[(&str, &'p Port)],
    name: &str,
    what: &str,
    found: &mut Vec<Diagnostic>,
) -> Option<&'p Port> {
    let port = known.iter().find(|(known, _)| *known == name).map(|(_, port)| *port);
    if port.is_none() {
        let mut diagnostic = refused(format!("the {what} `{name}`"));
        if let Some(like) = did_you_mean(name, known.iter().map(|(name, _)| *name)) {
            diagnostic = diagnostic.help(format!("did you mean `{like}`?"));
        }
        found.push(diagnostic);
    }
    port
}

/// Converts both models to the newer version of each operator set.
fn imports(first: &mut Model, second: &mut Model) -> Result<(), Vec<Diagnostic>> {
    let versions = |model: &Model| -> Vec<(String, Option<i64>)> {
        let imports = model.header.opset_imports.iter();
        imports.map(|i| (normalize_domain(model.text(i.domain)).to_owned(), i.version)).collect()
    };
    let of_first: HashMap<String, Option<i64>> = versions(first).into_iter().collect();
    for (domain, version) in versions(second) {
        let Some(known) = of_first.get(&domain) else {
            let domain = Some(first.names.intern(&domain));
            first.header.opset_imports.push(OpsetImport { domain, version });
            continue;
        };
        let (Some(a), Some(b)) = (*known, version) else { continue };
        if a == b {
            continue;
        }
        let older = if a < b { &mut *first } else { &mut *second };
        let registry = registry_of(&older.clone());
        let done = convert_opset(older, registry, &domain, a.max(b));
        compact(older);
        if !done.is_done {
            let shown = if domain.is_empty() { "ai.onnx" } else { &domain };
            let message = format!("the first model has version {a} of {shown}, the second has version {b}");
            return Err(vec![refused(message).help("bring both to one version: onnxtxt set-opset")]);
        }
    }
    Ok(())
}

/// All names of values and nodes.
fn names(model: &Model) -> HashSet<String> {
    let mut all = HashSet::new();
    for body in model.bodies.values() {
        all.extend(body.values.values().map(|value| model.names[value.name].to_owned()));
        all.extend(body.nodes.values().filter_map(|node| node.name).map(|name| model.names[name].to_owned()));
        all.extend(
            body.graphs.values().filter_map(|graph| graph.name).map(|name| model.names[name].to_owned()),
        );
    }
    all
}

/// Renames names that both models have. Returns the inputs that they share.
fn rename_apart(
    first: &mut Model,
    second: &mut Model,
    pairs: &[(String, String)],
) -> Result<Vec<String>, Vec<Diagnostic>> {
    let mapped: HashSet<&str> = pairs.iter().map(|(_, input)| input.as_str()).collect();
    let of_first: HashSet<String> = inputs(first).iter().map(|(name, _)| (*name).to_owned()).collect();
    let free: Vec<String> = inputs(second)
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .filter(|name| !mapped.contains(name.as_str()))
        .collect();
    let shown: HashSet<String> = outputs(second).iter().map(|(name, _)| (*name).to_owned()).collect();
    if let Some(name) = shown.iter().filter(|name| of_first.contains(*name)).min() {
        return Err(vec![refused(format!(
            "`{name}` is an input of the first model and an output of the second"
        ))]);
    }
    let shared: Vec<String> = free.iter().filter(|name| of_first.contains(*name)).cloned().collect();
    let mut taken = names(first);
    taken.extend(names(second));
    let mut fresh = |name: &str| {
        let mut number = 1u64;
        loop {
            let text = format!("{name}_{number}");
            if taken.insert(text.clone()) {
                return text;
            }
            number += 1;
        }
    };
    // Names that the result exposes and the first model uses for something else.
    let visible: HashSet<&String> =
        shown.iter().chain(free.iter().filter(|name| !shared.contains(name))).collect();
    let report = rename(first, &mut |named, name| match named {
        Named::Input | Named::Graph => None,
        Named::Output | Named::Value | Named::Node => visible.contains(&name.to_owned()).then(|| fresh(name)),
    });
    if !report.diagnostics.is_empty() {
        return Err(report.diagnostics);
    }
    let known = names(first);
    let report = rename(second, &mut |named, name| match named {
        Named::Input | Named::Output => None,
        Named::Value | Named::Node | Named::Graph => known.contains(name).then(|| fresh(name)),
    });
    if !report.diagnostics.is_empty() {
        return Err(report.diagnostics);
    }
    Ok(shared)
}

/// Copies the nodes of the second model after those of the first; returns their number.
fn join(
    first: &mut Model,
    second: &Model,
    pairs: &[(String, String)],
    shared: &[String],
    keep_outputs: bool,
) -> Result<usize, Vec<Diagnostic>> {
    let nothing = || vec![refused("a model without a graph cannot be joined".to_owned())];
    let (id, root) = main_graph(first).ok_or_else(nothing)?;
    let (from_id, from_root) = main_graph(second).ok_or_else(nothing)?;
    let source: &Body = &second.bodies[from_id];
    let from = &source.graphs[from_root];
    // By position, as renaming may have changed outputs of the first.
    let position = |name: &str, list: &[(&str, &Port)]| list.iter().position(|(known, _)| *known == name);
    let old_outputs = outputs(first);
    let mut bound: HashMap<ValueId, ValueId> = HashMap::new();
    let mut consumed = HashSet::new();
    for (output, input) in pairs {
        let at = position(output, &old_outputs).or_else(|| renamed(output, &old_outputs));
        let value = at.and_then(|at| old_outputs[at].1.value);
        let to = position(input, &inputs(second)).and_then(|at| from.inputs[at].value);
        let (Some(at), Some(value), Some(to)) = (at, value, to) else { continue };
        consumed.insert(at);
        bound.insert(to, value);
    }
    // Inputs that both models share.
    for name in shared {
        let value = inputs(first).iter().find(|(known, _)| known == name).and_then(|(_, port)| port.value);
        let to = inputs(second).iter().find(|(known, _)| known == name).and_then(|(_, port)| port.value);
        if let (Some(value), Some(to)) = (value, to) {
            bound.insert(to, value);
        }
    }
    // The second graph is copied, with its bound inputs replaced.
    let Model { names, types, bodies, .. } = &mut *first;
    let body = &mut bodies[id];
    let target = CopyTarget { names, types, body };
    let mut copy = Transplant::new(CopySource::other(second, source), target, root, CopyOptions::default());
    bound.iter().for_each(|(input, value)| copy.bind(*input, Some(*value)));
    let is_free = |port: &&Port| port.value.is_none_or(|value| !bound.contains_key(&value));
    let mut new_inputs: Vec<Port> = Vec::new();
    for port in from.inputs.iter().filter(is_free) {
        if let Some(value) = port.value {
            copy.value(value);
        }
        new_inputs.push(copy.port(port));
    }
    let is_default = |value: ValueId| bound.contains_key(&value);
    let dense: Vec<_> = (from.initializers.iter())
        .filter(|init| !is_default(init.value))
        .map(|init| copy.initializer(*init, root))
        .collect();
    let sparse: Vec<_> = (from.sparse_initializers.iter())
        .filter(|init| !is_default(init.value))
        .map(|init| copy.sparse_initializer(init, root))
        .collect();
    let nodes: Vec<_> = from.nodes.iter().map(|node| copy.node(*node)).collect();
    let declared: Vec<Port> = from.value_info.iter().filter(is_free).map(|port| copy.port(port)).collect();
    let new_outputs: Vec<Port> = from.outputs.iter().map(|port| copy.port(port)).collect();
    drop(copy);
    for value in new_inputs.iter().filter_map(|port| port.value) {
        body.values[value].def = ValueDef::Input(root);
    }
    let graph = &mut body.graphs[root];
    graph.inputs.extend(new_inputs);
    graph.initializers.extend(dense);
    graph.sparse_initializers.extend(sparse);
    graph.value_info.extend(declared);
    let count = nodes.len();
    graph.nodes.extend(nodes);
    let old = std::mem::take(&mut graph.outputs);
    for (at, port) in old.into_iter().enumerate() {
        if keep_outputs || !consumed.contains(&at) {
            graph.outputs.push(port);
        } else if port.ty.is_some() && !graph.value_info.iter().any(|known| known.value == port.value) {
            // The declaration of an output becomes the `value_info` of its value.
            let is_input = graph.inputs.iter().any(|input| input.value == port.value);
            if !is_input {
                graph.value_info.push(port);
            }
        }
    }
    graph.outputs.splice(0..0, new_outputs);
    Ok(count)
}

/// The output whose name had a number appended.
fn renamed(name: &str, outputs: &[(&str, &Port)]) -> Option<usize> {
    outputs.iter().position(|(known, _)| {
        known
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('_'))
            .is_some_and(|n| n.parse::<u64>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n";

    fn read(graph: &str) -> Model {
        onnx_text::read_model(&format!("{HEAD}{graph}")).value
    }

    fn joined(first: &str, second: &str, options: &Concat) -> Result<String, String> {
        let mut model = read(first);
        match concat(&mut model, &read(second).into(), options) {
            Ok(_) => {
                let options = onnx_ir::VerifyOptions::default();
                let found = onnx_ops::check::check(&model, registry_of(&model), &options);
                assert!(found.iter().all(|d| !d.is_error()), "{found:?}");
                Ok(crate::Text::new(&model, &onnx_text::RaiseOptions::default()).to_text())
            }
            Err(found) => Err(found[0].message.clone()),
        }
    }

    #[test]
    fn outputs_become_inputs_of_the_same_name() {
        let text = joined(
            "f (float[N] x) => (float[N] t, float[N] more) { t = Abs(x) more = Neg(x) }",
            "g (float[N] t, float[N] u) => (float[N] y) <float one = {1}> { s = Add(t, one) y = Add(s, u) }",
            &Concat::default(),
        )
        .unwrap();
        assert!(text.contains("(float[N] x, float[N] u) => (float[N] y, float[N] more)"), "{text}");
        assert!(text.contains("s = Add(t, one)"), "{text}");
    }

    #[test]
    fn names_of_both_are_told_apart_and_shown_ones_stay() {
        let options = Concat { map: vec![("y".to_owned(), "x".to_owned())], keep_outputs: false };
        let one = "f (float[N] x) => (float[N] y) <float w = {2}> { t = Mul(x, w) y = Abs(t) }";
        let text = joined(one, one, &options).unwrap();
        assert!(text.contains("(float[N] x) => (float[N] y)"), "{text}");
        assert!(text.contains("w_1 = {2}") && text.contains("t_1 = Mul(y_1, w_1)"), "{text}");
        let kept = Concat { keep_outputs: true, ..options };
        assert!(joined(one, one, &kept).unwrap().contains("=> (float[N] y, float[N] y_1)"));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let one = "f (float[N] x) => (float[N] y) { y = Abs(x) }";
        assert!(joined(one, "g (int64[N] y) => (int64[N] z) { z = Abs(y) }", &Concat::default()).is_err());
        assert!(joined(one, "g (float[N] a) => (float[N] z) { z = Abs(a) }", &Concat::default()).is_err());
        let wrong = Concat { map: vec![("yy".to_owned(), "x".to_owned())], ..Concat::default() };
        assert_eq!(joined(one, one, &wrong).unwrap_err(), "the first model has no output `yy`");
    }
}
