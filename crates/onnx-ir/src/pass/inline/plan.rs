//! Plans inlining: detects recursion and computes sizes before anything changes.

use super::{Inline, Map};
use crate::attr::{Attr, AttrValue};
use crate::body::{Body, Node};
use crate::diag::{Diagnostic, Entity, Place, code, counted};
use crate::entity::SecondaryMap;
use crate::ids::FunctionId;
use crate::model::Model;
use crate::pass::calls::{Functions, bodies, function_text, nodes};

/// The plan for the functions of a model.
pub(super) struct InlinePlan {
    selected: SecondaryMap<FunctionId, bool>,
    /// Selected ones that call themselves, directly or through other selected ones.
    circular: Vec<FunctionId>,
    replaced: SecondaryMap<FunctionId, bool>,
}

/// A body before anything is inlined.
#[derive(Clone, Default)]
struct Size {
    /// Its nodes, calls included.
    own: u64,
    /// The functions that it calls, as often as it does.
    calls: Vec<FunctionId>,
}

type Sizes = SecondaryMap<FunctionId, Size>;

impl InlinePlan {
    /// `Err`: some bodies would become too large.
    pub(super) fn new(
        model: &Model,
        functions: &Functions,
        options: &Inline<'_>,
    ) -> Result<InlinePlan, Vec<Diagnostic>> {
        let ids = || model.functions.ids();
        let mut plan = InlinePlan {
            selected: SecondaryMap::with_len(false, model.functions.len()),
            circular: Vec::new(),
            replaced: SecondaryMap::with_len(false, model.functions.len()),
        };
        ids().for_each(|f| plan.selected[f] = (options.select)(model, f));
        let mut sizes = Sizes::default();
        for (f, function) in model.functions.iter() {
            sizes[f] = Size::of(&model.bodies[function.body], functions, &plan.selected);
        }
        let order = plan.order(model, &sizes);
        plan.too_large(model, functions, options, &sizes, &order)?;
        Ok(plan)
    }

    /// Whether calls of a function are to be replaced.
    pub(super) fn is_selected(&self, f: FunctionId) -> bool {
        self.selected[f]
    }

    /// Whether calls of a function can be replaced.
    pub(super) fn is_replaced(&self, f: FunctionId) -> bool {
        self.replaced[f]
    }

    /// Reports recursive functions.
    pub(super) fn circles(&self, model: &Model) -> impl Iterator<Item = Diagnostic> {
        self.circular.iter().map(|&f| {
            let name = function_text(&model.names, &model.functions[f]);
            let message = format!("function `{name}` calls itself, so that calls of it stay");
            Diagnostic::new(&code::FUNCTION_RECURSION, Entity::Function(f), message)
        })
    }

    /// The functions that are replaced, callees before callers.
    fn order(&mut self, model: &Model, sizes: &Sizes) -> Vec<FunctionId> {
        let selected: Vec<FunctionId> = model.functions.ids().filter(|&f| self.selected[f]).collect();
        let mut callers: SecondaryMap<FunctionId, Vec<FunctionId>> = SecondaryMap::default();
        for &f in &selected {
            sizes[f].calls.iter().for_each(|&callee| callers[callee].push(f));
        }
        let callees = |f: FunctionId| sizes[f].calls.as_slice();
        // A function is on no cycle if it calls none of the remaining ones, or is called by none of them.
        let rest = without(&selected, &callees, &|f| callers[f].as_slice());
        let rest = without(&rest.1, &|f| callers[f].as_slice(), &callees);
        self.circular = rest.1;
        self.circular.sort_unstable();
        selected.iter().for_each(|&f| self.replaced[f] = true);
        self.circular.iter().for_each(|&f| self.replaced[f] = false);
        let replaced: Vec<FunctionId> = selected.into_iter().filter(|&f| self.replaced[f]).collect();
        without(&replaced, &callees, &|f| callers[f].as_slice()).0
    }

    fn too_large(
        &self,
        model: &Model,
        functions: &Functions,
        options: &Inline<'_>,
        sizes: &Sizes,
        order: &[FunctionId],
    ) -> Result<(), Vec<Diagnostic>> {
        let mut full: SecondaryMap<FunctionId, u64> = SecondaryMap::default();
        order.iter().for_each(|&f| full[f] = sizes[f].own);
        // After as many rounds as there are functions, no calls are left.
        let rounds = options.depth.map(|d| d as usize).filter(|&d| d <= order.len());
        match rounds {
            None => order.iter().for_each(|&f| full[f] = self.total(&sizes[f], &full)),
            Some(rounds) => {
                for _ in 1..rounds {
                    let next: Vec<u64> = order.iter().map(|&f| self.total(&sizes[f], &full)).collect();
                    let is_done = order.iter().zip(&next).all(|(&f, &n)| full[f] == n);
                    order.iter().zip(next).for_each(|(&f, n)| full[f] = n);
                    if is_done {
                        break;
                    }
                }
            }
        }
        if options.depth == Some(0) {
            return Ok(());
        }
        let mut found = Vec::new();
        for (body, function) in bodies(model) {
            if function.is_some_and(|f| self.replaced[f]) {
                continue;
            }
            let size = Size::of(&model.bodies[body], functions, &self.selected);
            let total = self.total(&size, &full);
            if total > options.max_nodes.max(size.own) {
                let place = match (function, model.bodies[body].root()) {
                    (Some(f), _) => Place::from(Entity::Function(f)),
                    (None, Some(root)) => Entity::Graph(body, root).into(),
                    (None, None) => Place::Nowhere,
                };
                let total = if total == u64::MAX { "countless".to_owned() } else { total.to_string() };
                let message = format!(
                    "inlining would make {}, more than {}",
                    counted(total, "node"),
                    options.max_nodes
                );
                found.push(Diagnostic::new(&code::INLINE_TOO_LARGE, place, message));
            }
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// The size of a body, if the functions that it calls have the sizes `full`.
    fn total(&self, size: &Size, full: &SecondaryMap<FunctionId, u64>) -> u64 {
        let replaced = size.calls.iter().filter(|&&f| self.replaced[f]);
        replaced.fold(size.own, |sum, &f| sum.saturating_add(full[f].saturating_sub(1)))
    }
}

/// Removes members of a graph without successors repeatedly. Returns the removed ones, in order, and the rest.
fn without<'s>(
    members: &[FunctionId],
    successors: &dyn Fn(FunctionId) -> &'s [FunctionId],
    predecessors: &dyn Fn(FunctionId) -> &'s [FunctionId],
) -> (Vec<FunctionId>, Vec<FunctionId>) {
    let mut left: Map<FunctionId, usize> = members.iter().map(|&f| (f, 0)).collect();
    for &f in members {
        let count = successors(f).iter().filter(|s| left.contains_key(*s)).count();
        left.insert(f, count);
    }
    let mut taken: Vec<FunctionId> = members.iter().copied().filter(|f| left[f] == 0).collect();
    let mut next = 0;
    while let Some(&f) = taken.get(next) {
        next += 1;
        for &before in predecessors(f) {
            if let Some(count) = left.get_mut(&before).filter(|c| **c > 0) {
                *count -= 1;
                if *count == 0 {
                    taken.push(before);
                }
            }
        }
    }
    let rest = members.iter().copied().filter(|f| left[f] > 0).collect();
    (taken, rest)
}

impl Size {
    fn of(body: &Body, functions: &Functions, selected: &SecondaryMap<FunctionId, bool>) -> Self {
        let mut size = Size::default();
        for node in nodes(body) {
            size.own = size.own.saturating_add(weight(node));
            size.calls.extend(functions.callee(node).filter(|&f| selected[f]));
        }
        size
    }
}

/// The weight of a node: one, plus one per some hundred bytes.
fn weight(node: &Node) -> u64 {
    let operands = 4 * (node.inputs.len() + node.outputs.len());
    let values = node.attrs.iter().flat_map(|a: &Attr| &a.values);
    let bytes: usize = values.map(|v| 50 + bytes(v)).fold(operands, usize::saturating_add);
    1 + u64::try_from(bytes / 400).unwrap_or(u64::MAX - 1)
}

/// The bytes of a copy of a value. Tensors and strings are shared.
fn bytes(value: &AttrValue) -> usize {
    match value {
        AttrValue::Float(_)
        | AttrValue::Int(_)
        | AttrValue::String(_)
        | AttrValue::Tensor(_)
        | AttrValue::Graph(_)
        | AttrValue::Type(_)
        | AttrValue::SparseTensor(_) => 0,
        AttrValue::Floats(list) => 4 * list.len(),
        AttrValue::Ints(list) => 8 * list.len(),
        AttrValue::Strings(list) => 32 * list.len(),
        AttrValue::Tensors(list) => 100 * list.len(),
        AttrValue::Graphs(list) => 200 * list.len(),
        AttrValue::Types(list) => 4 * list.len(),
        AttrValue::SparseTensors(list) => 300 * list.len(),
    }
}

/// The nesting depth of graphs in a body, including the outermost.
pub(super) fn levels(body: &Body) -> usize {
    let (mut walk, mut deepest) = (body.walk(), 0);
    while walk.next().is_some() {
        deepest = deepest.max(walk.depth());
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{EntityId as _, FromIndex as _};

    #[test]
    fn what_is_on_no_circle_is_taken_away_in_order() {
        // 0 calls 1, 1 and 2 call each other, 2 calls 3.
        let calls: [&[usize]; 4] = [&[1], &[2], &[1, 3], &[]];
        let id = FunctionId::from_index;
        let forth: Vec<Vec<_>> = calls.iter().map(|list| list.iter().map(|&i| id(i)).collect()).collect();
        let mut back = vec![Vec::new(); 4];
        for (caller, list) in calls.iter().enumerate() {
            list.iter().for_each(|&callee| back[callee].push(id(caller)));
        }
        let (forth, back) =
            (|f: FunctionId| forth[f.index()].as_slice(), |f: FunctionId| back[f.index()].as_slice());
        let all: Vec<_> = (0..4).map(id).collect();
        let (taken, rest) = without(&all, &forth, &back);
        assert_eq!((taken, &rest[..]), (vec![id(3)], &[id(0), id(1), id(2)][..]));
        assert_eq!(without(&rest, &back, &forth).1, [id(1), id(2)]);
    }
}
