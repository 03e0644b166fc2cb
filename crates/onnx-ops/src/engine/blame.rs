//! Which calls lead to findings in functions.
//!
//! A function is inferred for each different call, so a finding in its body can be the fault of one call:
//!
//! ```text
//! y = l.f <axis = 7> (x)                 this call of `f` leads to it
//! z = l.f <axis = 0> (x)
//! f <axis> (a) => (b) { b = Softmax <axis: int = @axis> (a) }
//! ```
//!
//! Such a finding names the call, and those around it. It has no fix where calls with other arguments share the body. A finding
//! that the body has for any arguments is the fault of no call.

use super::call::function_of;
use super::walk::Engine;
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::{Diagnostic, Entity, Fix, Label, ModelChange, Place};
use onnx_ir::{BodyId, FunctionId, NodeId};
use std::rc::Rc;

/// The most calls that a finding names, and the most around one of them.
const MAX_CALLS: usize = 4;

/// A finding, as far as there is one of its kind at its place.
type Key = (&'static str, Place);

/// A call of a function.
#[derive(Clone, Copy, Debug)]
struct Call {
    function: FunctionId,
    body: BodyId,
    node: NodeId,
}

/// The calls that are being inferred, and those that led to findings.
#[derive(Default)]
pub(super) struct Blame {
    calls: Vec<Call>,
    /// For each finding, the innermost calls of each that led to it.
    of: HashMap<Key, Vec<Vec<Call>>>,
    /// How often each function has been inferred for a call with other arguments.
    runs: HashMap<FunctionId, usize>,
}

impl Blame {
    pub(super) fn enter(&mut self, function: FunctionId, (body, node): (BodyId, NodeId)) {
        *self.runs.entry(function).or_default() += 1;
        self.calls.push(Call { function, body, node });
    }

    pub(super) fn leave(&mut self) {
        self.calls.pop();
    }

    /// Notes that the calls lead to a finding, if they are the first or others do as well.
    pub(super) fn note(&mut self, finding: &Diagnostic, is_first: bool) {
        if self.calls.is_empty() {
            return;
        }
        let known = self.of.entry((finding.code.id, finding.primary.place)).or_default();
        if is_first {
            known.clear();
        }
        if known.len() < MAX_CALLS {
            known.push(self.calls[self.calls.len().saturating_sub(MAX_CALLS)..].to_vec());
        }
    }
}

impl Engine<'_> {
    /// Adds the calls that lead to findings in functions, and drops fixes of what other calls share.
    /// Functions are inferred without a call in at most `steps`.
    pub(super) fn name_calls(&mut self, steps: usize) {
        let blame = std::mem::take(&mut self.blame);
        let mut findings = std::mem::take(&mut self.findings);
        let mut alone = Alone { engine: None, steps, found: HashMap::default() };
        for finding in &mut findings {
            let key = (finding.code.id, finding.primary.place);
            let mut named = HashSet::default();
            for calls in blame.of.get(&key).into_iter().flatten() {
                for (i, call) in calls.iter().rev().enumerate() {
                    if alone.found(self, call.function).contains(&key) {
                        break;
                    }
                    if blame.runs.get(&call.function).is_some_and(|&runs| runs > 1) {
                        finding.fixes.retain(|fix| !is_within(fix, self.model.functions[call.function].body));
                    }
                    let place = Place::from(Entity::NodeOp(call.body, call.node));
                    if named.len() == MAX_CALLS || !named.insert(place) {
                        continue;
                    }
                    let name = function_of(self.model, self.model.functions[call.function].body);
                    let text = match i {
                        0 => format!("this call of `{name}` leads to it"),
                        _ => format!("within this call of `{name}`"),
                    };
                    finding.related.push(Label { place, text });
                }
            }
        }
        self.findings = findings;
    }
}

/// Whether a fix changes the body of a function.
fn is_within(fix: &Fix, body: BodyId) -> bool {
    let has = |entity: &Entity| entity.node().is_some_and(|(of, _)| of == body);
    fix.changes.iter().any(|change| match change {
        ModelChange::Rename(entity, _) | ModelChange::Remove(entity) | ModelChange::Cast(entity, _) => {
            has(entity)
        }
        ModelChange::Order(of, ..) => *of == body,
        ModelChange::Import(..) => false,
    })
}

/// The findings of functions without a call.
struct Alone<'m> {
    engine: Option<Engine<'m>>,
    steps: usize,
    found: HashMap<FunctionId, Rc<HashSet<Key>>>,
}

impl<'m> Alone<'m> {
    fn found(&mut self, outer: &Engine<'m>, function: FunctionId) -> Rc<HashSet<Key>> {
        if let Some(found) = self.found.get(&function) {
            return Rc::clone(found);
        }
        let engine = self.engine.get_or_insert_with(|| {
            let mut engine = Engine::new(outer.model, outer.registry, outer.rows);
            engine.fuel = self.steps;
            engine
        });
        // Each finding again, whatever other functions have led to.
        (engine.told, engine.memo) = (HashSet::default(), super::call::Memo::default());
        engine.run_body(outer.model.functions[function].body, Some(function), None, Rc::default());
        let findings = std::mem::take(&mut engine.findings);
        let found: HashSet<Key> = findings.iter().map(|f| (f.code.id, f.primary.place)).collect();
        let found = Rc::new(found);
        self.found.insert(function, Rc::clone(&found));
        found
    }
}
