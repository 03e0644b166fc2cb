//! Formulas put into one another.
//!
//! A producer without a reduction goes into its consumer, at the consumer's positions: always if it only moves elements, else
//! if nobody else reads it and no element is computed more often than before. A consumer without a reduction goes behind the
//! producer's reduction, as what is computed of the total:
//!
//! ```text
//! a = sum over k of x[i0, k] * w[k, i1]          y = max(total + b[i1], 0)
//! y = max(a[i0, i1] + b[i1], 0)           ──▶        where total = sum over k of x[i0, k] * w[k, i1]
//! ```
//! Positions are computed through views: an axis that a reshape has split is put together again (`index`), or the consumer's is
//! split as well (`split`). What comes out has to have loops at least as good as what was there: a matrix product stays one,
//! no position becomes a computed one that was linear.

use super::define::{Item, Stretch};
use super::index::Position;
use super::rewrite::{Rewrite, extents, load, operands, parts, size};
use super::split::{roughness, split};
use super::{Assignment, Refused, Slot, Source, root, types};
use crate::loops::Nest;
use onnx_ir::ElemType;
use onnx_ops::meaning::{Expr, Formula, Unary};
use std::cell::Cell;

/// Expressions are no larger than this.
const MOST_PARTS: usize = 160;
/// Formulas load no more than this.
const MOST_OPERANDS: usize = 24;

/// Fuses what a stretch has, and says what was refused.
pub(super) fn fuse(stretch: &mut Stretch) -> Vec<Refused> {
    alias(stretch);
    let mut fuse = Fuse::new(stretch);
    for at in 0..fuse.items.len() {
        while fuse.absorb(at) {}
    }
    let Fuse { items, refused, readers, .. } = fuse;
    let is_read = |slot: usize| readers[slot] > 0;
    stretch.items = items
        .into_iter()
        .flatten()
        .filter(|item| match item {
            Item::Formula(assignment) => is_read(assignment.slot),
            Item::Node(_) => true,
        })
        .collect();
    refused
}

/// Formulas that give the elements of another tensor in the same order need not be computed.
fn alias(stretch: &mut Stretch) {
    let Stretch { items, slots, .. } = stretch;
    items.retain(|item| {
        let Item::Formula(assignment) = item else { return true };
        let Assignment { slot, formula, .. } = &**assignment;
        let (None, Expr::Load(operand, _)) = (&formula.over, &formula.expr) else { return true };
        let is_same = slots[*operand].elem == formula.elem
            && slots[*operand].count() == slots[*slot].count()
            && is_in_order(formula, &formula.expr, slots);
        if is_same {
            slots[*slot].source = Source::Alias(*operand);
        }
        !is_same
    });
}

/// Whether a load goes through its operand in the order of the result.
fn is_in_order(formula: &Formula, load: &Expr, slots: &[Slot]) -> bool {
    place_of(formula, load, slots).is_some_and(|place| {
        let same = (0..formula.dims.len()).map(Position::index).collect::<Vec<_>>();
        let linear = |place: &Position| {
            let mut by = place.linear(formula.dims.len())?;
            // Where an index goes that is always 0 is all the same.
            by.iter_mut().zip(&formula.dims).filter(|(_, d)| **d == 1).for_each(|(by, _)| *by = 0);
            Some(by)
        };
        place.offset == 0
            && Position::place(&same, &formula.dims)
                .is_some_and(|same| linear(&same).is_some() && linear(&same) == linear(&place))
    })
}

/// The place in row-major order that a load is at.
fn place_of(formula: &Formula, load: &Expr, slots: &[Slot]) -> Option<Position> {
    let Expr::Load(operand, position) = load else { return None };
    let extents = extents(formula);
    let indices: Vec<Position> = (0..extents.len()).map(Position::index).collect();
    let rewrite = Rewrite { indices: &indices, extents: &extents, total: None, load: &|_, _| None };
    let position: Vec<Position> = position.iter().map(|index| rewrite.index(index)).collect::<Option<_>>()?;
    Position::place(&position, &slots[*operand].dims)
}

/// What loops there are for a formula.
#[derive(Clone, Copy)]
struct Loops {
    is_product: bool,
    is_piecewise: bool,
    /// How many positions are computed.
    rough: usize,
}

struct Fuse<'s> {
    slots: &'s [Slot],
    items: Vec<Option<Item>>,
    /// What is known of the loops of each item, once somebody has asked.
    judged: Vec<Cell<Option<Option<Loops>>>>,
    /// For each slot the item that computes it.
    maker: Vec<Option<usize>>,
    /// For each slot that is no alias, how many formulas read it, and nodes and others outside.
    readers: Vec<usize>,
    refused: Vec<Refused>,
    /// Pairs that were tried in vain.
    tried: Vec<(usize, usize)>,
}

impl<'s> Fuse<'s> {
    fn new(stretch: &'s mut Stretch) -> Fuse<'s> {
        let items: Vec<Option<Item>> = std::mem::take(&mut stretch.items).into_iter().map(Some).collect();
        let slots = &stretch.slots;
        let mut maker = vec![None; slots.len()];
        let mut readers = vec![0; slots.len()];
        for (at, item) in items.iter().enumerate() {
            let Some(Item::Formula(assignment)) = item else { continue };
            maker[assignment.slot] = Some(at);
            for operand in distinct(&assignment.formula, slots) {
                readers[operand] += 1;
            }
        }
        for (_, slot) in &stretch.published {
            readers[root(slots, *slot)] += 2;
        }
        let judged = vec![Cell::new(None); items.len()];
        Fuse { slots, items, judged, maker, readers, refused: Vec::new(), tried: Vec::new() }
    }

    /// What loops there are for a formula, if there are any.
    fn judge(&self, formula: &Formula) -> Option<Loops> {
        let formula = split(formula)?;
        let nest = Nest::of(&formula, &types(self.slots))?;
        Some(Loops {
            is_product: nest.is_product(),
            is_piecewise: nest.is_piecewise(),
            rough: roughness(&formula),
        })
    }

    /// [`judge`](Self::judge) of the formula of an item.
    fn loops(&self, at: usize) -> Option<Loops> {
        let known = &self.judged[at];
        if known.get().is_none() {
            known.set(Some(self.formula(at).and_then(|assignment| self.judge(&assignment.formula))));
        }
        known.get().flatten()
    }

    fn formula(&self, at: usize) -> Option<&Assignment> {
        match self.items.get(at)?.as_ref()? {
            Item::Formula(assignment) => Some(assignment),
            Item::Node(_) => None,
        }
    }

    /// Puts one of its producers into a formula, if that can be done.
    fn absorb(&mut self, at: usize) -> bool {
        let Some(consumer) = self.formula(at) else { return false };
        // The latest first: what was computed last is the nearest.
        let mut loaded = distinct(&consumer.formula, self.slots);
        loaded.sort_unstable_by_key(|slot| std::cmp::Reverse(self.maker[*slot]));
        let into = consumer.slot;
        for operand in loaded {
            let Some(from) = self.maker[operand] else { continue };
            if self.tried.contains(&(operand, into)) {
                continue;
            }
            let (Some(producer), Some(consumer)) = (self.formula(from), self.formula(at)) else { continue };
            match self.fused(producer, consumer, [self.loops(from), self.loops(at)]) {
                Ok((formula, loops)) => {
                    let mut nodes = producer.nodes.clone();
                    let more = consumer.nodes.iter().filter(|node| !producer.nodes.contains(node));
                    nodes.extend(more.copied());
                    self.judged[at].set(Some(Some(loops)));
                    self.replace(at, formula, nodes);
                    self.tried.retain(|(_, consumer)| *consumer != into);
                    return true;
                }
                Err(why) => {
                    self.tried.push((operand, into));
                    if let Some(why) = why {
                        self.refused.retain(|r| (r.producer, r.consumer) != (operand, into));
                        self.refused.push(Refused { producer: operand, consumer: into, why });
                    }
                }
            }
        }
        self.tried.retain(|(_, consumer)| *consumer != into);
        false
    }

    fn replace(&mut self, at: usize, formula: Formula, nodes: smallvec::SmallVec<[onnx_ir::NodeId; 4]>) {
        let after = distinct(&formula, self.slots);
        let Some(Some(Item::Formula(consumer))) = self.items.get_mut(at) else { return };
        let before = distinct(&consumer.formula, self.slots);
        consumer.formula = formula;
        consumer.nodes = nodes;
        self.refused.retain(|r| r.consumer != consumer.slot || after.contains(&r.producer));
        for operand in &after {
            self.readers[*operand] += 1;
        }
        let mut dropped = before;
        while let Some(operand) = dropped.pop() {
            self.readers[operand] -= 1;
            // What nobody reads any more reads nothing.
            if self.readers[operand] == 0
                && let Some(maker) = self.maker[operand]
                && let Some(Item::Formula(gone)) = self.items[maker].take()
            {
                dropped.extend(distinct(&gone.formula, self.slots));
            }
        }
    }

    /// Both as one formula with its loops, or why not; without a reason where they have nothing in common.
    fn fused(
        &self,
        producer: &Assignment,
        consumer: &Assignment,
        [from, to]: [Option<Loops>; 2],
    ) -> Result<(Formula, Loops), Option<&'static str>> {
        let formula = match &producer.formula.over {
            None => self.inlined(producer, consumer, to)?,
            Some(_) => self.behind(producer, consumer, from)?,
        };
        if size(&formula) > MOST_PARTS {
            return Err(Some("the expression would be too long"));
        }
        if operands(&formula).len() > MOST_OPERANDS {
            return Err(Some("too much would be loaded at a time"));
        }
        let Some(loops) = self.judge(&formula) else { return Err(Some("there are no loops for it")) };
        let before = || [from, to].into_iter().flatten();
        if before().any(|loops| loops.is_product) && !loops.is_product {
            return Err(Some("it would be no matrix product any more"));
        }
        if before().any(|loops| loops.is_piecewise) && !loops.is_piecewise && chooses(&formula) {
            return Err(Some("it would choose anew for every element"));
        }
        if loops.rough > before().map(|loops| loops.rough).sum() {
            return Err(Some("positions would have to be computed"));
        }
        Ok((formula, loops))
    }

    /// The consumer with the producer's element at each of its loads.
    fn inlined(
        &self,
        producer: &Assignment,
        consumer: &Assignment,
        loops: Option<Loops>,
    ) -> Result<Formula, Option<&'static str>> {
        let from = &producer.formula;
        let weight = weight(&from.expr);
        if weight > 0 {
            if self.readers[producer.slot] > 1 {
                return Err(Some("others read it too"));
            }
            let mut times = 0;
            let mut seen: Vec<&Expr> = Vec::new();
            let all = extents(&consumer.formula);
            let rank = consumer.formula.dims.len();
            let is_product = loops.is_some_and(|loops| loops.is_product);
            let is_piecewise = loops.is_some_and(|loops| loops.is_piecewise);
            parts(&consumer.formula, &mut |part, is_then| {
                let Expr::Load(operand, position) = part else { return };
                if root(self.slots, *operand) != producer.slot || seen.contains(&part) {
                    return;
                }
                seen.push(part);
                // A factor is computed once for each of its own positions.
                let reads =
                    |axis: usize| !is_product || is_then || position.iter().any(|i| mentions(i, axis));
                let axes = if is_then { 0..rank } else { 0..all.len() };
                let each = axes.filter(|axis| reads(*axis)).map(|axis| all[axis]);
                let each = each.fold(1usize, usize::saturating_mul);
                // In the pieces where it is chosen, each is wanted once.
                let is_once = is_piecewise && walks_once(position, &all);
                times += if is_once { each.min(self.slots[*operand].count()) } else { each };
            });
            if times > self.slots[producer.slot].count() {
                return Err(Some("elements would be computed more than once"));
            }
            if is_product && weight >= HEAVY {
                return Err(Some("it costs too much to be computed where factors are packed"));
            }
        }
        let all = extents(&consumer.formula);
        self.rewritten(&consumer.formula, producer.slot, &all, &|position| {
            let rewrite = Rewrite {
                indices: &position,
                extents: &all,
                total: None,
                load: &|operand, position| Some(load(operand, position)),
            };
            Some(rounded(rewrite.expr(&from.expr)?, &from.expr, from.elem, self.slots))
        })
        .ok_or(Some("positions cannot be put together"))
    }

    /// A formula with something else for each load of what a slot has, by its position in the producer's axes.
    fn rewritten(
        &self,
        formula: &Formula,
        slot: usize,
        extents: &[usize],
        with: &dyn Fn(Vec<Position>) -> Option<Expr>,
    ) -> Option<Formula> {
        let indices: Vec<Position> = (0..extents.len()).map(Position::index).collect();
        let replace = |operand: usize, position: Vec<Position>| {
            if root(self.slots, operand) != slot {
                return Some(load(operand, position));
            }
            with(self.through(operand, position, slot, extents)?)
        };
        let rewrite = Rewrite { indices: &indices, extents, total: None, load: &replace };
        rewrite.formula(formula, formula.clone())
    }

    /// A position in an alias as one in what it is an alias of.
    fn through(
        &self,
        alias: usize,
        position: Vec<Position>,
        slot: usize,
        extents: &[usize],
    ) -> Option<Vec<Position>> {
        if alias == slot {
            return Some(position);
        }
        Position::place(&position, &self.slots[alias].dims)?.spread(&self.slots[slot].dims, extents)
    }

    /// The producer's reduction with the consumer behind it.
    fn behind(
        &self,
        producer: &Assignment,
        consumer: &Assignment,
        loops: Option<Loops>,
    ) -> Result<Formula, Option<&'static str>> {
        let (from, to) = (&producer.formula, &consumer.formula);
        if to.over.is_some() {
            return Err(None);
        }
        if self.readers[producer.slot] > 1 {
            return Err(Some("others read it too"));
        }
        if to.dims.iter().product::<usize>() != self.slots[producer.slot].count() {
            return Err(None);
        }
        let mut is_in_order_all = true;
        parts(to, &mut |part, _| {
            if let Expr::Load(operand, _) = part
                && root(self.slots, *operand) == producer.slot
            {
                is_in_order_all &= is_in_order(to, part, self.slots);
            }
        });
        if !is_in_order_all {
            return Err(Some("its elements are wanted in another order"));
        }
        let Some(over) = &from.over else { return Err(None) };
        // The result's indices, then those of the reduction.
        let mut result = to.clone();
        result.over = Some(over.clone());
        let all = extents(&result);
        let fuse = || {
            let here: Vec<Position> = (0..to.dims.len()).map(Position::index).collect();
            let place = Position::place(&here, &to.dims)?;
            let mut indices = place.spread(&from.dims, &all)?;
            indices.extend((0..over.dims.len()).map(|axis| Position::index(to.dims.len() + axis)));
            let as_is = |operand, position| Some(load(operand, position));
            let moved = Rewrite { indices: &indices, extents: &all, total: None, load: &as_is };
            let expr = moved.expr(&from.expr)?;
            let total = match &from.then {
                Some(then) => moved.expr(then)?,
                None => Expr::Total,
            };
            // Totals of products are single floats, others may be doubles.
            let is_single = from.elem == ElemType::FLOAT && loops.is_some_and(|loops| loops.is_product);
            let total = if is_single && from.then.as_ref().is_none_or(|then| is_arithmetic(then, self.slots))
            {
                total
            } else {
                rounded(total, from.then.as_ref().unwrap_or(&Expr::Total), from.elem, self.slots)
            };
            let replaced = self.rewritten(to, producer.slot, &all, &|_| Some(total.clone()))?;
            Some(Formula { expr, then: Some(replaced.expr), ..result })
        };
        fuse().ok_or(Some("positions cannot be put together"))
    }
}

/// The slots that a formula reads, aliases as what they are.
pub(super) fn distinct(formula: &Formula, slots: &[Slot]) -> Vec<usize> {
    let mut all: Vec<usize> = operands(formula).into_iter().map(|operand| root(slots, operand)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What functions cost that are no arithmetic.
const HEAVY: usize = 8;

/// What computing an element costs; nothing if it only moves, or widens, what it loads.
fn weight(expr: &Expr) -> usize {
    match expr {
        Expr::Load(..) | Expr::Number(_) | Expr::Total | Expr::Index(_) => 0,
        Expr::Cast(_, x) | Expr::Bits(_, _, x) if matches!(**x, Expr::Load(..)) => 0,
        Expr::Cast(_, x) | Expr::Bits(_, _, x) => 1 + weight(x),
        Expr::Unary(op, x) => {
            weight(x)
                + match op {
                    Unary::Neg | Unary::Abs | Unary::Sign | Unary::Not | Unary::BitwiseNot => 1,
                    Unary::Floor | Unary::Ceil | Unary::Round | Unary::IsNaN => 1,
                    Unary::Sqrt | Unary::Reciprocal => 2,
                    _ => HEAVY,
                }
        }
        Expr::Binary(op, a, b) => {
            let own = if matches!(op, onnx_ops::meaning::Binary::Pow) { HEAVY } else { 1 };
            own + weight(a) + weight(b)
        }
        // Padding moves elements too.
        Expr::Select(parts) => match &**parts {
            [_, Expr::Load(..), Expr::Number(_)] => 0,
            [condition, yes, no] => 1 + weight(condition) + weight(yes) + weight(no),
        },
    }
}

/// Whether a formula chooses by position between what it computes.
fn chooses(formula: &Formula) -> bool {
    let mut is = false;
    parts(formula, &mut |part, _| {
        let Expr::Select(sides) = part else { return };
        let is_padding = matches!((&sides[1], &sides[2]), (Expr::Load(..), Expr::Number(_)));
        is |= !is_padding && matches!(&sides[0], Expr::Binary(_, a, _) if matches!(**a, Expr::Index(_)));
    });
    is
}

/// Whether different indices are always different positions.
fn walks_once(position: &[onnx_ops::meaning::Index], extents: &[usize]) -> bool {
    use onnx_ops::meaning::Index;
    let single = |index: &Index| match index {
        Index::Affine(_, terms) if terms.len() == 1 && terms[0].1 != 0 => Some(terms[0].0),
        _ => None,
    };
    let walked: Vec<usize> = position.iter().filter_map(single).collect();
    (0..extents.len()).all(|axis| extents[axis] <= 1 || walked.contains(&axis))
}

fn mentions(index: &onnx_ops::meaning::Index, axis: usize) -> bool {
    use onnx_ops::meaning::Index;
    match index {
        Index::Affine(_, terms) => terms.iter().any(|(i, _)| *i == axis),
        Index::Sum(parts) => parts.iter().any(|(part, _)| mentions(part, axis)),
        Index::Div(x, _) | Index::Rem(x, _) => mentions(x, axis),
        Index::Element(_) => true,
    }
}

/// An element as it would be if it were stored: of its type, unless its expression gives nothing else.
fn rounded(expr: Expr, was: &Expr, elem: ElemType, slots: &[Slot]) -> Expr {
    if keeps(was, elem, slots) { expr } else { expr.cast(elem) }
}

/// Whether an expression is computed of single floats alone, the total being one.
fn is_arithmetic(expr: &Expr, slots: &[Slot]) -> bool {
    match expr {
        Expr::Total => true,
        Expr::Unary(op, x) => !op.is_test() && is_arithmetic(x, slots),
        Expr::Binary(op, a, b) => !op.is_test() && is_arithmetic(a, slots) && is_arithmetic(b, slots),
        Expr::Select(parts) => is_arithmetic(&parts[1], slots) && is_arithmetic(&parts[2], slots),
        other => keeps(other, ElemType::FLOAT, slots),
    }
}

/// Whether all that an expression gives is of a type already.
fn keeps(expr: &Expr, elem: ElemType, slots: &[Slot]) -> bool {
    match expr {
        Expr::Load(operand, _) => slots[*operand].elem == elem,
        Expr::Cast(cast, _) => cast.to == elem,
        Expr::Bits(_, to, _) => *to == elem,
        Expr::Unary(op, _) if op.is_test() => elem == ElemType::BOOL,
        Expr::Binary(op, ..) if op.is_test() => elem == ElemType::BOOL,
        Expr::Select(parts) => keeps(&parts[1], elem, slots) && keeps(&parts[2], elem, slots),
        // Single floats are computed as such; what has fewer bits, or wraps around, is more than it would be.
        Expr::Unary(_, x) => elem == ElemType::FLOAT && keeps(x, elem, slots),
        Expr::Binary(_, a, b) => elem == ElemType::FLOAT && keeps(a, elem, slots) && keeps(b, elem, slots),
        Expr::Number(_) => elem == ElemType::FLOAT,
        Expr::Total => false,
        Expr::Index(_) => elem == ElemType::INT64,
    }
}
