//! Calls of functions: F03 recursion, F04 depth, F10 signatures, F11 resolution.

use super::context::{Findings, Role, Seen, VerifyContext, View, index};
use super::functions::{Key, by_key, key, text};
use crate::body::Node;
use crate::diag::{Diagnostic, Entity, code, counted};
use crate::entity::{EntityId, FromIndex as _, SecondaryMap};
use crate::ids::{FunctionId, NodeId};
use crate::names::Name;
use crate::releases::newest_version;
use std::collections::HashMap;

/// The longest chain of calls: the limit of the reference.
const DEEPEST: u32 = 100;

/// A call in the body of a function.
#[derive(Clone, Copy)]
struct Call {
    node: NodeId,
    callee: FunctionId,
}

type Calls = SecondaryMap<FunctionId, Vec<Call>>;

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let functions = by_key(cx);
    let mut with_functions: Seen<()> = Seen::new();
    functions.keys().for_each(|k| with_functions.set(k.0, ()));
    let mut calls = Calls::default();
    let mut parameters = Parameters { of: SecondaryMap::default() };
    for view in &cx.bodies {
        let (special, all) = match functions.is_empty() {
            true => (Some(view.layout.special_nodes()), None),
            false => (None, Some(view.layout.nodes())),
        };
        for id in special.into_iter().flatten().chain(all.into_iter().flatten()) {
            let node = &view.body.nodes[id];
            let overload = node.overload.unwrap_or(Name::empty());
            if functions.is_empty() && overload.is_empty() {
                continue;
            }
            let key = (cx.domain(node.domain), node.op.unwrap_or(Name::empty()), overload);
            if let Some(&callee) = functions.get(&key) {
                signature(cx, found, view, id, callee, &mut parameters);
                if let Role::Function(caller) = view.role {
                    calls[caller].push(Call { node: id, callee });
                }
            } else {
                let custom = newest_version(cx.text(key.0)).is_none();
                if !overload.is_empty() || (custom && with_functions.get(key.0).is_some()) {
                    unresolved(cx, found, view, id, key, &functions);
                }
            }
        }
    }
    let components = components(cx, &calls);
    recursion(cx, found, &calls, &components);
    depth(cx, found, &calls, &components);
}

fn unresolved(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    view: &View<'_>,
    id: NodeId,
    called: Key,
    functions: &HashMap<Key, FunctionId>,
) {
    let place = Entity::NodeOp(view.id, id);
    let message = format!("model has no function `{}`", text(cx, called));
    let without = (called.0, called.1, Name::empty());
    let help = if functions.contains_key(&without) {
        Some(format!("did you mean `{}`?", text(cx, without)))
    } else {
        // In the order of the text, because the map has none.
        let names = cx.model.functions.values().filter(|f| cx.domain(f.domain) == called.0);
        let names = names.filter_map(|f| f.name).map(|n| cx.text(n));
        found.suggest(cx.text(called.1), cx.model.functions.len(), names)
    };
    found.push(Diagnostic::new(&code::CALL_UNRESOLVED, place, message).maybe_help(help));
}

/// The attribute parameters of the functions that are called with attributes.
struct Parameters {
    of: SecondaryMap<FunctionId, Option<Vec<Name>>>,
}

impl Parameters {
    /// Sorted, so that a call is checked in no more than `n log n`.
    fn get(&mut self, cx: &VerifyContext<'_>, f: FunctionId) -> &[Name] {
        self.of[f].get_or_insert_with(|| {
            let function = &cx.model.functions[f];
            let defaults = function.attribute_defaults.iter().filter_map(|a| a.name);
            let mut names: Vec<_> = function.attributes.iter().copied().chain(defaults).collect();
            names.sort_unstable();
            names
        })
    }
}

fn signature(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    view: &View<'_>,
    id: NodeId,
    callee: FunctionId,
    parameters: &mut Parameters,
) {
    let node: &Node = &view.body.nodes[id];
    let function = &cx.model.functions[callee];
    let (inputs, outputs) = cx.model.bodies[function.body].root().map_or((0, 0), |root| {
        let g = &cx.model.bodies[function.body].graphs[root];
        (g.inputs.len(), g.outputs.len())
    });
    let mut push = |place, message: String| {
        found.push(
            Diagnostic::new(&code::CALL_SIGNATURE, place, message)
                .related(Entity::Function(callee), "the function"),
        );
    };
    let name = || text(cx, key(cx, function));
    if node.inputs.len() > inputs {
        let place = Entity::NodeInput(view.id, id, index(inputs));
        let (takes, gets) = (counted(inputs, "input"), node.inputs.len());
        push(place, format!("function `{}` has {takes}, but the call passes {gets}", name()));
    }
    if node.outputs.len() > outputs {
        let place = Entity::NodeOutput(view.id, id, index(outputs));
        let (has, asked) = (counted(outputs, "output"), node.outputs.len());
        push(place, format!("function `{}` has {has}, but the call uses {asked}", name()));
    }
    for (i, attr) in node.attrs.iter().enumerate() {
        let Some(attr) = attr.name.filter(|n| !n.is_empty()) else { continue };
        let declared = parameters.get(cx, callee);
        if declared.binary_search(&attr).is_ok() {
            continue;
        }
        let (len, names) = (declared.len(), declared.iter().map(|&n| cx.text(n)));
        let help = found.suggest(cx.text(attr), len, names);
        let message = format!("function `{}` has no attribute parameter `{}`", name(), cx.text(attr));
        found.push(
            Diagnostic::new(&code::CALL_SIGNATURE, Entity::Attr(view.id, id, index(i)), message)
                .related(Entity::Function(callee), "the function")
                .maybe_help(help),
        );
    }
}

/// Groups of functions that call each other, callees before callers.
struct Components {
    /// The functions of each group, in order.
    groups: Vec<Vec<FunctionId>>,
    of: SecondaryMap<FunctionId, usize>,
}

impl Components {
    fn is_recursive(&self, calls: &Calls, group: usize) -> bool {
        let members = &self.groups[group];
        members.len() > 1 || calls[members[0]].iter().any(|c| c.callee == members[0])
    }
}

/// Strongly connected components after Tarjan, with a stack of its own instead of recursion.
fn components(cx: &VerifyContext<'_>, calls: &Calls) -> Components {
    const NEW: usize = usize::MAX;
    let len = cx.model.functions.len();
    let mut found = Components { groups: Vec::new(), of: SecondaryMap::with_len(NEW, len) };
    let mut order: SecondaryMap<FunctionId, usize> = SecondaryMap::with_len(NEW, len);
    let mut low = order.clone();
    let (mut open, mut next): (Vec<FunctionId>, usize) = (Vec::new(), 0);
    for start in cx.model.functions.ids() {
        let mut path: Vec<(FunctionId, usize)> = Vec::new();
        if order[start] == NEW {
            path.push((start, 0));
        }
        while let Some((f, at)) = path.last_mut() {
            let f = *f;
            if *at == 0 {
                (order[f], low[f]) = (next, next);
                next += 1;
                open.push(f);
            }
            let callee = calls[f].get(*at).map(|c| c.callee);
            *at += 1;
            match callee {
                Some(callee) if order[callee] == NEW => path.push((callee, 0)),
                Some(callee) if found.of[callee] == NEW => low[f] = low[f].min(order[callee]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some(&(caller, _)) = path.last() {
                        low[caller] = low[caller].min(low[f]);
                    }
                    if low[f] == order[f] {
                        let first = open.iter().rposition(|&g| g == f).unwrap_or(0);
                        let mut members = open.split_off(first);
                        members.sort_unstable();
                        members.iter().for_each(|&g| found.of[g] = found.groups.len());
                        found.groups.push(members);
                    }
                }
            }
        }
    }
    found
}

/// Reports each group of functions that call each other once, with a shortest way round.
fn recursion(cx: &VerifyContext<'_>, found: &mut Findings, calls: &Calls, components: &Components) {
    for (group, members) in components.groups.iter().enumerate() {
        if !components.is_recursive(calls, group) {
            continue;
        }
        let first = members[0];
        let way = way_round(calls, components, group, first);
        let name = |f| text(cx, key(cx, &cx.model.functions[f]));
        let place = |(f, call): &(FunctionId, Call)| Entity::NodeOp(cx.model.functions[*f].body, call.node);
        let Some((head, tail)) = way.split_first() else { continue };
        let mut message = format!("function `{}` calls itself", name(first));
        if let Some(((second, _), rest)) = tail.split_first() {
            message += &format!(" through `{}`", name(*second));
            if !rest.is_empty() {
                message += &format!(" and {}", counted(rest.len(), "other"));
            }
        }
        let mut diagnostic = Diagnostic::new(&code::FUNCTION_RECURSION, place(head), message);
        for step in tail.iter().take(5) {
            diagnostic = diagnostic.related(place(step), format!("call of `{}`", name(step.1.callee)));
        }
        found.push(diagnostic);
    }
}

/// The calls of a shortest cycle through `first`, each with its caller.
fn way_round(
    calls: &Calls,
    components: &Components,
    group: usize,
    first: FunctionId,
) -> Vec<(FunctionId, Call)> {
    let mut reached: HashMap<FunctionId, (FunctionId, Call)> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([first]);
    while let Some(f) = queue.pop_front() {
        for &call in &calls[f] {
            if components.of[call.callee] != group || reached.contains_key(&call.callee) {
                continue;
            }
            reached.insert(call.callee, (f, call));
            queue.push_back(call.callee);
        }
    }
    let (mut way, mut at) = (Vec::new(), first);
    while let Some(&(caller, call)) = reached.get(&at) {
        way.push((caller, call));
        at = caller;
        if at == first {
            break;
        }
    }
    way.reverse();
    way
}

/// Reports the longest chain of calls if it is too long. Recursive functions end a chain: they have a finding already.
fn depth(cx: &VerifyContext<'_>, found: &mut Findings, calls: &Calls, components: &Components) {
    let mut depth: Vec<u32> = Vec::with_capacity(components.groups.len());
    for (group, members) in components.groups.iter().enumerate() {
        let callees = members.iter().flat_map(|&f| &calls[f]).map(|c| components.of[c.callee]);
        let longest = callees.filter(|&g| g != group).map(|g| depth[g]).max().unwrap_or(0);
        depth.push(if components.is_recursive(calls, group) { 0 } else { longest.saturating_add(1) });
    }
    let deepest = (depth.iter().enumerate())
        .map(|(group, &d)| (d, std::cmp::Reverse(components.groups[group][0].index())))
        .max();
    let Some((longest, std::cmp::Reverse(f))) = deepest.filter(|&(d, _)| d > DEEPEST) else { return };
    let f = FunctionId::from_index(f);
    let name = text(cx, key(cx, &cx.model.functions[f]));
    let message = format!(
        "function `{name}` begins a chain of {}: at most {DEEPEST} are allowed",
        counted(longest, "call")
    );
    found.push(Diagnostic::new(&code::FUNCTION_LIMITS, Entity::Function(f), message));
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use crate::attr::AttrValue;
    use crate::model::Model;

    /// A main graph that calls `l.f0`, and functions `f0`, `f1` … with the listed calls.
    fn calling(lists: &[&[&str]]) -> Model {
        let mut model = draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("l.f0", &["x"], &["y"])));
        for (i, list) in lists.iter().enumerate() {
            function(&mut model, &format!("f{i}"), |d| {
                d.graph("", &["a"], &["b"], |d| {
                    for (j, op) in list.iter().enumerate() {
                        d.node(op, &["a"], &[&format!("t{j}")]);
                    }
                    d.node("Abs", &["a"], &["b"]);
                });
            });
        }
        model
    }

    #[test]
    fn each_group_that_calls_itself_is_reported_once() {
        assert_eq!(findings(&calling(&[&["l.f1"], &["l.f2"], &[]])), [""; 0]);
        assert_eq!(findings(&calling(&[&["l.f0"]])), ["E0803 function `l.f0` calls itself"]);
        assert_eq!(
            findings(&calling(&[&["l.f1"], &["l.f2"], &["l.f1", "l.f0"], &["l.f3"]])),
            [
                "E0803 function `l.f0` calls itself through `l.f1` and 1 other",
                "E0803 function `l.f3` calls itself"
            ]
        );
    }

    #[test]
    fn a_call_in_a_nested_graph_counts() {
        let mut model = draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("l.f", &["x"], &["y"])));
        function(&mut model, "f", |d| {
            d.graph("", &["a"], &["b"], |d| {
                d.holder("If", &["a"], &["b"], |d| {
                    d.graph("t", &[], &["p"], |d| d.node("l.f", &["a"], &["p"]));
                });
            });
        });
        assert_eq!(findings(&model), ["E0803 function `l.f` calls itself"]);
    }

    #[test]
    fn chains_end() {
        let chain = |n: usize| {
            let ops: Vec<String> = (1..n).map(|i| format!("l.f{i}")).collect();
            let lists: Vec<Vec<&str>> =
                (0..n).map(|i| ops.get(i).map(String::as_str).into_iter().collect()).collect();
            calling(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        assert_eq!(findings(&chain(100)), [""; 0]);
        let expected = ["E0804 function `l.f0` begins a chain of 101 calls: at most 100 are allowed"];
        assert_eq!(findings(&chain(101)), expected);
        assert_eq!(findings(&chain(5000)).len(), 1);
    }

    #[test]
    fn calls_fit_the_function() {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.holder("l.f", &["x", "x", "x"], &["y", "z"], |d| {
                    d.attr("alpha", AttrValue::Float(1.0));
                    d.attr("alpah", AttrValue::Float(1.0));
                });
                d.node("l.f", &[], &["w"]);
            });
        });
        let f = function(&mut model, "f", |d| d.graph("", &["a"], &["b"], |d| d.node("Abs", &["a"], &["b"])));
        let alpha = model.names.intern("alpha");
        model.functions[f].attributes.push(alpha);
        let expected = [
            "E0810 function `l.f` has 1 output, but the call uses 2",
            "E0810 function `l.f` has no attribute parameter `alpah`",
            "E0810 function `l.f` has 1 input, but the call passes 3",
        ];
        assert_eq!(findings(&model), expected);
    }

    #[test]
    fn a_call_resolves_to_a_function() {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.node("l.g", &["x"], &["t"]);
                let node = d.node("l.f", &["t"], &["y"]);
                let v2 = d.b.name("v2");
                d.b.body_mut().nodes[node].overload = Some(v2);
            });
        });
        assert_eq!(findings(&model), ["E0811 model has no function `l.f:v2`"]);
        function(&mut model, "f", |d| d.graph("", &["a"], &["b"], |d| d.node("Abs", &["a"], &["b"])));
        let expected = ["E0811 model has no function `l.g`", "E0811 model has no function `l.f:v2`"];
        assert_eq!(findings(&model), expected);
    }
}
