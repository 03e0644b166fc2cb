//! Delta debugging: the smallest model for which something still fails.
//!
//! With an oracle that fails for models with a node `Exp`:
//!
//! ```text
//! before:  g (float[N,8] x) => (float[N,8] y) <float[8] w = {1, 2, …}> { a = Abs(x)  b = Mul(a, w)  c = Exp(b)  y = Relu(c) }
//! after:   g (float[N,8] b) => (float[N,8] c) { c = Exp(b) }
//! ```
//!
//! A reduction makes a candidate of the best model so far. A candidate that is smaller ([`Size`]), has no errors (if the model that
//! was given had none) and still fails becomes the best one. The reductions, until none of them succeeds any more:
//!
//! | | |
//! | --- | --- |
//! | outputs | fewer outputs of the main graph |
//! | nodes | parts of the main graph, whose results become inputs; single nodes, whose results become an operand of the same type |
//! | graphs | a branch or a body of a loop in place of its node |
//! | functions | bodies in place of calls |
//! | passes | what `simplify`, `fold-constants` and `lift-constants` do |
//! | details | operands, attributes, documentation, metadata, declarations, unused inputs and imports |
//! | weights | zeros in place of numbers |
//! | sizes | 1, 2 or half of a number that is an extent |
//!
//! Same model and same answers, same result. Nothing is read, run or written: that is what the [`Oracle`] does.

mod cut;
mod details;
mod graphs;
mod nodes;
mod size;
mod sizes;
mod tensors;

pub use size::Size;

use onnx_ir::diag::Level;
use onnx_ir::pass::{Inline, Report, compact, dead_code, inline};
use onnx_ir::{BodyId, Model, SecondaryMap, TypeId, ValueId, VerifyOptions};
use onnx_ops::infer::{InferOptions, declared_type, infer};
use onnx_ops::opset::registry_of;
use onnx_ops::pass::{fold_constants, lift_constants, simplify};
use std::ops::Range;

/// Says whether a model still fails, and keeps what is found.
pub trait Oracle {
    /// Why to stop early, such as a limit that is reached.
    type Stop;

    /// Whether the failure occurs with this model.
    ///
    /// # Errors
    /// The search is to end.
    fn fails(&mut self, candidate: &Model) -> Result<bool, Self::Stop>;

    /// Accepts a model that is smaller than all before.
    ///
    /// # Errors
    /// The search is to end.
    fn found(&mut self, model: &Model, size: &Size) -> Result<(), Self::Stop>;
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Reduced<S> {
    /// The smallest model.
    pub model: Model,
    /// Its size.
    pub size: Size,
    /// Why the search ended early. `None`: no reduction is left.
    pub stop: Option<S>,
}

/// The most nodes that a graph may have after functions were put in place.
const MAX_INLINED: u64 = 20_000;

/// Makes a model smaller as long as it fails; whether it fails at all was found out before. With `may_have_errors`, candidates are not
/// checked.
pub fn reduce<O: Oracle>(model: &Model, may_have_errors: bool, oracle: &mut O) -> Reduced<O::Stop> {
    let mut best = model.clone();
    compact(&mut best);
    let size = Size::of(&best);
    let is_checked = !may_have_errors && !has_errors(&best);
    let mut reducer = Reducer { best, size, is_checked, is_cleaned: false, known: None, oracle };
    let stop = reducer.run().err();
    Reduced { model: reducer.best, size: reducer.size, stop }
}

fn has_errors(model: &Model) -> bool {
    let options = VerifyOptions { level: Level::Types, payloads: false };
    onnx_ops::check::check(model, registry_of(model), &options)
        .iter()
        .any(onnx_ir::diag::Diagnostic::is_error)
}

/// The types of the values of the main body, as declared or inferred.
struct KnownTypes(SecondaryMap<ValueId, Option<TypeId>>);

impl KnownTypes {
    fn of(model: &mut Model) -> KnownTypes {
        let mut types = SecondaryMap::default();
        let Some(id) = model.main else { return KnownTypes(types) };
        let mut facts = infer(model, registry_of(model), &InferOptions::default()).facts;
        let declared = model.bodies[id].declared_types();
        for value in model.bodies[id].values.ids().collect::<Vec<_>>() {
            types[value] = declared_type(model, &mut facts, id, value, declared[value]);
        }
        KnownTypes(types)
    }

    fn ty(&self, model: &Model, body: BodyId, value: ValueId) -> Option<TypeId> {
        if model.main == Some(body) { self.0[value] } else { None }
    }
}

/// A search for the smallest model.
struct Reducer<'o, O> {
    best: Model,
    size: Size,
    is_checked: bool,
    /// Whether the failure does not depend on what nothing uses.
    is_cleaned: bool,
    /// The properties of the best model.
    known: Option<KnownTypes>,
    oracle: &'o mut O,
}

impl<O: Oracle> Reducer<'_, O> {
    fn run(&mut self) -> Result<(), O::Stop> {
        let mut clean = self.best.clone();
        self.is_cleaned =
            !dead_code(&mut clean, registry_of(&self.best)).is_changed() || self.attempt(Some(clean))?;
        loop {
            let before = self.size;
            self.chunks(cut::output_count, |model, _, range| cut::without_outputs(model, range))?;
            self.chunks(cut::node_count, cut::without_nodes)?;
            self.functions()?;
            for pass in [simplified, folded, lifted] {
                let candidate = pass(&self.best);
                self.attempt(candidate)?;
            }
            self.chunks(cut::output_count, |model, _, range| cut::without_outputs(model, range))?;
            self.each(graphs::count, graphs::hoisted)?;
            self.each(nodes::count, nodes::bypassed)?;
            self.each(nodes::count, nodes::made_inputs)?;
            self.each(nodes::operand_count, |model, _, i| nodes::without_operand(model, i))?;
            self.each(nodes::operand_count, |model, _, i| nodes::with_operand_left_out(model, i))?;
            self.chunks(cut::unread_count, |model, _, range| cut::without_unread(model, range))?;
            self.chunks(details::count, |model, _, range| details::without(model, range))?;
            self.chunks(nodes::attribute_count, |model, _, range| nodes::without_attributes(model, range))?;
            self.chunks(tensors::count, |model, _, range| tensors::zeroed(model, range))?;
            self.each(sizes::count, |model, _, i| sizes::smaller(model, i))?;
            if self.size == before {
                return Ok(());
            }
        }
    }

    /// Bodies in place of calls: all of them, or those of single functions.
    fn functions(&mut self) -> Result<(), O::Stop> {
        if self.best.functions.is_empty() {
            return Ok(());
        }
        let inlined = |model: &Model, only: Option<usize>| {
            let mut model = model.clone();
            let requested = only.and_then(|i| model.functions.ids().nth(i));
            let select = |_: &Model, f| requested.is_none_or(|requested| requested == f);
            let options = Inline { select: &select, max_nodes: MAX_INLINED, ..Inline::default() };
            let registry = registry_of(&model.clone());
            inline(&mut model, registry, options).is_changed().then_some(model)
        };
        let all = inlined(&self.best, None);
        if !self.attempt(all)? {
            self.each(|model| model.functions.len(), |model, _, i| inlined(model, Some(i)))?;
        }
        Ok(())
    }

    /// Removes parts of a list: large chunks first, down to single items.
    fn chunks(
        &mut self,
        count: impl Fn(&Model) -> usize,
        without: impl Fn(&Model, &KnownTypes, Range<usize>) -> Option<Model>,
    ) -> Result<(), O::Stop> {
        let mut chunk = count(&self.best);
        while chunk > 0 {
            let mut start = 0;
            loop {
                let end = count(&self.best).min(start + chunk);
                if start >= end {
                    break;
                }
                let candidate = self.candidate(|model, known| without(model, known, start..end));
                if !self.attempt(candidate)? {
                    start += chunk;
                }
            }
            chunk /= 2;
        }
        Ok(())
    }

    /// Tries one reduction for each item of a list.
    fn each(
        &mut self,
        count: impl Fn(&Model) -> usize,
        changed: impl Fn(&Model, &KnownTypes, usize) -> Option<Model>,
    ) -> Result<(), O::Stop> {
        let mut at = 0;
        while at < count(&self.best) {
            let candidate = self.candidate(|model, known| changed(model, known, at));
            if !self.attempt(candidate)? {
                at += 1;
            }
        }
        Ok(())
    }

    fn candidate(&mut self, make: impl FnOnce(&Model, &KnownTypes) -> Option<Model>) -> Option<Model> {
        let known = match self.known.take() {
            Some(known) => known,
            None => KnownTypes::of(&mut self.best),
        };
        let candidate = make(&self.best, &known);
        self.known = Some(known);
        candidate
    }

    /// Whether a candidate is the best model now.
    fn attempt(&mut self, candidate: Option<Model>) -> Result<bool, O::Stop> {
        let Some(mut candidate) = candidate else { return Ok(false) };
        if self.is_cleaned {
            let registry = registry_of(&candidate.clone());
            dead_code(&mut candidate, registry);
        }
        compact(&mut candidate);
        if Size::of(&candidate) >= self.size {
            return Ok(false);
        }
        if self.is_checked && has_errors(&candidate) {
            // Declared types and shapes may be wrong now.
            sizes::declare(&mut candidate);
            if has_errors(&candidate) {
                return Ok(false);
            }
        }
        let size = Size::of(&candidate);
        if size >= self.size || !self.oracle.fails(&candidate)? {
            return Ok(false);
        }
        self.oracle.found(&candidate, &size)?;
        (self.best, self.size, self.known) = (candidate, size, None);
        Ok(true)
    }
}

fn simplified(model: &Model) -> Option<Model> {
    passed(model, simplify)
}

fn folded(model: &Model) -> Option<Model> {
    passed(model, |model| fold_constants(model, registry_of(&model.clone())))
}

fn lifted(model: &Model) -> Option<Model> {
    passed(model, |model| lift_constants(model, registry_of(&model.clone())))
}

/// The model after a pass, if that changes it.
fn passed(model: &Model, pass: impl FnOnce(&mut Model) -> Report) -> Option<Model> {
    let mut model = model.clone();
    pass(&mut model).is_changed().then_some(model)
}

#[cfg(test)]
mod tests;
