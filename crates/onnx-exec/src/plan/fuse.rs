//! Fusion of formulas.
//!
//! A producer without a reduction is inlined into its consumer: always if it only moves elements at linear positions, otherwise if it
//! has no other reader and no element is computed more often than before. A consumer without a reduction becomes the epilogue of a
//! producer's reduction:
//!
//! ```text
//! a = sum over k of x[i0, k] * w[k, i1]          y = max(total + b[i1], 0)
//! y = max(a[i0, i1] + b[i1], 0)           ──▶        where total = sum over k of x[i0, k] * w[k, i1]
//! ```
//! Positions are composed through views: an axis that a reshape has split is merged again ([`Position`]), or the axis of the consumer
//! is split as well (`split`). Dequantized bytes are read as bytes, by products as integers (`dequantized`). The loops of the
//! fused formula must be at least as good as those of the parts: a matrix product stays one, and linear positions stay linear.

use super::dequantized::{is_dequantized, whole};
use super::split::{roughness, split};
use super::views::{alias, is_in_order, known};
use super::weigh::{
    HEAVY, are_short, chooses, finds_rows, is_arithmetic, mentions, merged, moves, permutes, reads_across,
    rounded, walks_once, weight,
};
use super::{Assignment, Partition, PartitionItem, Refusals, Refused, Slot, root, types};
use crate::budget::spend;
use crate::failure::Failure;
use crate::loops::Nests;
use foldhash::HashSet;
use onnx_formula::{Expr, Formula, Index, Position, Rewrite};
use onnx_ir::{ElemType, NodeId};
use smallvec::SmallVec;
use std::cell::Cell;

/// The largest expression that fusion may produce, in parts.
const MAX_PARTS: usize = 160;
const TOO_LONG: &str = "the expression would be too long";
/// The most operands that fusion may produce.
const MAX_OPERANDS: usize = 24;

/// Formulas with more parts are not fused: an attempt costs time in proportion to the parts, and the result would be refused.
const MAX_PARTS_TRIED: usize = 4 * MAX_PARTS;
/// Steps charged for each part of an expression that fusion visits.
const STEPS_OF_PART: usize = 64;

/// Fuses the formulas of a plan; returns the refused fusions with their reasons.
pub(super) fn fuse(partition: &mut Partition) -> Result<Refusals, Failure> {
    known(partition);
    alias(partition);
    let mut fuse = Fuse::new(partition);
    // First for formulas that do not dequantize: products must see the dequantizing formulas as they are, to read their bytes.
    for is_bytes in [false, true] {
        for at in 0..fuse.items.len() {
            fuse.absorb(at, is_bytes)?;
        }
    }
    let Fuse { items, refused, readers, .. } = fuse;
    let is_read = |slot: usize| readers[slot] > 0;
    let mut all = Refusals::default();
    for (item, refused) in items.iter().zip(refused) {
        if let Some(PartitionItem::Formula(assignment)) = item
            && !refused.is_empty()
        {
            all.insert(assignment.slot, refused);
        }
    }
    partition.items = items
        .into_iter()
        .flatten()
        .filter(|item| match item {
            PartitionItem::Formula(assignment) => is_read(assignment.slot),
            PartitionItem::Node(_) => true,
        })
        .collect();
    Ok(all)
}

/// The kind of loops that a formula has.
#[derive(Clone, Copy)]
pub(super) struct Loops {
    pub(super) is_product: bool,
    /// Whether it is a product or stencil of bytes.
    is_of_bytes: bool,
    pub(super) is_piecewise: bool,
    pub(super) is_stencil: bool,
    /// The number of nonlinear positions.
    pub(super) rough: usize,
    /// The number of axes after merging.
    rank: usize,
    /// The average number of elements of a strip, if loops go strip by strip.
    strip: Option<usize>,
}

/// The kind of loops of a formula; `None` if it cannot be lowered.
pub(super) fn judge(formula: &Formula, slots: &[Slot], nests: &Nests) -> Option<Loops> {
    let formula = split(formula)?;
    let nest = nests.judged(&formula, &types(slots))?;
    Some(Loops {
        is_product: nest.is_product(),
        is_of_bytes: nest.is_product_of_bytes() || nest.is_stencil_of_bytes(),
        is_stencil: nest.is_stencil(),
        is_piecewise: nest.is_piecewise(),
        rough: roughness(&formula),
        rank: nest.rank(),
        strip: nest.strip(),
    })
}

impl Loops {
    /// Those of arithmetic on floats that are loaded at linear positions.
    fn plain(formula: &Formula, slots: &[Slot]) -> Loops {
        let (rank, last) = merged(formula, slots);
        let strip = if moves(formula) { None } else { Some(last) };
        Loops {
            is_product: false,
            is_of_bytes: false,
            is_piecewise: false,
            is_stencil: false,
            rough: 0,
            rank,
            strip,
        }
    }

    fn is_copy(self) -> bool {
        self.strip.is_none() && !self.is_product && !self.is_stencil
    }

    fn is_plain(self) -> bool {
        !self.is_product && !self.is_of_bytes && !self.is_piecewise && self.rough == 0
    }
}

struct Fuse<'s> {
    slots: &'s [Slot],
    nests: &'s Nests,
    items: Vec<Option<PartitionItem>>,
    /// The loops of each item, computed on demand.
    judged: Vec<Cell<Option<Option<Loops>>>>,
    /// For each slot the item that computes it.
    maker: Vec<Option<usize>>,
    /// For each slot that is not an alias, the number of readers: formulas, nodes, and readers outside the plan.
    readers: Vec<usize>,
    /// The number of parts in the expressions of each item.
    sizes: Vec<usize>,
    /// The refused fusions of each item with its producers.
    refused: Vec<Vec<Refused>>,
}

impl<'s> Fuse<'s> {
    fn new(partition: &'s mut Partition) -> Fuse<'s> {
        let items: Vec<Option<PartitionItem>> =
            std::mem::take(&mut partition.items).into_iter().map(Some).collect();
        let Partition { slots, nests, .. } = &*partition;
        let mut maker = vec![None; slots.len()];
        let mut readers = vec![0; slots.len()];
        for (at, item) in items.iter().enumerate() {
            let Some(PartitionItem::Formula(assignment)) = item else { continue };
            maker[assignment.slot] = Some(at);
            for operand in distinct(&assignment.formula, slots) {
                readers[operand] += 1;
            }
        }
        for (_, slot) in &partition.published {
            readers[root(slots, *slot)] += 2;
        }
        let judged = vec![Cell::new(None); items.len()];
        let parts_of = |item: &Option<PartitionItem>| match item {
            Some(PartitionItem::Formula(assignment)) => assignment.formula.size(),
            Some(PartitionItem::Node(_)) | None => 0,
        };
        let sizes = items.iter().map(parts_of).collect();
        let refused = vec![Vec::new(); items.len()];
        Fuse { slots, nests, items, judged, maker, readers, sizes, refused }
    }

    fn judge(&self, formula: &Formula) -> Option<Loops> {
        judge(formula, self.slots, self.nests)
    }

    /// Whether a formula is arithmetic on floats that are loaded at linear positions. A fusion of two formulas with loops that
    /// has this form has loops too, which need not be built to know that.
    fn is_plain(&self, formula: &Formula) -> bool {
        let mut is = formula.over.is_none() && formula.elem == ElemType::FLOAT;
        formula.parts(&mut |part, _| {
            is &= match part {
                Expr::Load(operand, position) => {
                    self.slots[*operand].elem == ElemType::FLOAT
                        && position.iter().all(|index| matches!(index, Index::Affine(..)))
                }
                Expr::Unary(op, _) => !op.is_test(),
                Expr::Binary(op, ..) => !op.is_test(),
                Expr::Number(_) => true,
                Expr::Index(_) | Expr::Total | Expr::Select(_) | Expr::Cast(..) | Expr::Bits(..) => false,
            };
        });
        is
    }

    /// The loops of a plain formula, which are not built to know that they are plain.
    fn plain(&self, formula: &Formula) -> Loops {
        debug_assert!(self.judge(formula).is_some_and(Loops::is_plain), "plain formulas have plain loops");
        Loops::plain(formula, self.slots)
    }

    /// [`judge`] for the formula of an item, cached.
    fn loops(&self, at: usize) -> Option<Loops> {
        let known = &self.judged[at];
        if known.get().is_none() {
            let loops = self.formula(at).and_then(|assignment| match self.is_plain(&assignment.formula) {
                // Each formula of a partition has loops.
                true => Some(self.plain(&assignment.formula)),
                false => self.judge(&assignment.formula),
            });
            known.set(Some(loops));
        }
        known.get().flatten()
    }

    fn formula(&self, at: usize) -> Option<&Assignment> {
        match self.items.get(at)?.as_ref()? {
            PartitionItem::Formula(assignment) => Some(assignment),
            PartitionItem::Node(_) => None,
        }
    }

    fn is_dequantizing(&self, at: usize) -> bool {
        self.formula(at).is_some_and(|it| is_dequantized(&it.formula, self.slots))
    }

    /// A product of dequantized bytes as an integer product, and its nodes.
    fn whole(&self, at: usize) -> Option<(Formula, Loops, SmallVec<[NodeId; 4]>)> {
        let product = self.formula(at).filter(|it| it.formula.over.is_some())?;
        let (mut formula, mut nodes) = (product.formula.clone(), SmallVec::new());
        let all = formula.extents();
        for operand in distinct(&formula, self.slots) {
            let Some(from) = self.maker[operand].filter(|from| self.is_dequantizing(*from)) else { continue };
            let producer = self.formula(from)?;
            formula = self.with(producer, &formula, &all)?;
            nodes.extend(producer.nodes.iter().copied());
        }
        let formula = whole(&formula, self.slots)?;
        let loops = self.judge(&formula)?;
        nodes.extend(product.nodes.iter().copied());
        let fits = formula.size() <= MAX_PARTS && formula.operands().len() <= MAX_OPERANDS;
        (loops.is_of_bytes && fits).then_some((formula, loops, nodes))
    }

    /// Inlines producers into a formula, one after the other, while possible and while the formula does (`is_bytes`) or does not
    /// dequantize.
    fn absorb(&mut self, at: usize, is_bytes: bool) -> Result<(), Failure> {
        // Producers that were refused for the current formula.
        let mut tried: HashSet<usize> = HashSet::default();
        while self.sizes[at] <= MAX_PARTS_TRIED
            && self.is_dequantizing(at) == is_bytes
            && self.absorb_one(at, &mut tried)?
        {}
        Ok(())
    }

    /// Inlines one producer into a formula; returns whether one was inlined.
    fn absorb_one(&mut self, at: usize, tried: &mut HashSet<usize>) -> Result<bool, Failure> {
        spend(STEPS_OF_PART * (1 + self.sizes[at]))?;
        if let Some((formula, loops, nodes)) = self.whole(at) {
            self.judged[at].set(Some(Some(loops)));
            self.replace(at, formula, nodes);
            return Ok(true);
        }
        let Some(consumer) = self.formula(at) else { return Ok(false) };
        // The latest producer first.
        let mut loaded = distinct(&consumer.formula, self.slots);
        loaded.sort_unstable_by_key(|slot| std::cmp::Reverse(self.maker[*slot]));
        for operand in loaded {
            let Some(from) = self.maker[operand] else { continue };
            if tried.contains(&operand) {
                continue;
            }
            spend(STEPS_OF_PART * (self.sizes[from] + self.sizes[at]))?;
            let (Some(producer), Some(consumer)) = (self.formula(from), self.formula(at)) else { continue };
            match self.fused(producer, consumer, [self.loops(from), self.loops(at)]) {
                Ok((formula, loops)) => {
                    let mut nodes = producer.nodes.clone();
                    let more = consumer.nodes.iter().filter(|node| !producer.nodes.contains(node));
                    nodes.extend(more.copied());
                    self.judged[at].set(Some(Some(loops)));
                    self.replace(at, formula, nodes);
                    tried.clear();
                    return Ok(true);
                }
                Err(why) => {
                    tried.insert(operand);
                    if let Some(why) = why {
                        self.refused[at].retain(|refused| refused.producer != operand);
                        self.refused[at].push(Refused { producer: operand, why });
                    }
                }
            }
        }
        Ok(false)
    }

    fn replace(&mut self, at: usize, formula: Formula, nodes: SmallVec<[NodeId; 4]>) {
        let after = distinct(&formula, self.slots);
        self.sizes[at] = formula.size();
        let Some(Some(PartitionItem::Formula(consumer))) = self.items.get_mut(at) else { return };
        let before = distinct(&consumer.formula, self.slots);
        consumer.formula = formula;
        consumer.nodes = nodes;
        self.refused[at].retain(|refused| after.contains(&refused.producer));
        for operand in &after {
            self.readers[*operand] += 1;
        }
        let mut dropped = before;
        while let Some(operand) = dropped.pop() {
            self.readers[operand] -= 1;
            // An item whose result is no longer read is removed, so its own operands lose a reader.
            if self.readers[operand] == 0
                && let Some(maker) = self.maker[operand]
                && let Some(PartitionItem::Formula(gone)) = self.items[maker].take()
            {
                dropped.extend(distinct(&gone.formula, self.slots));
            }
        }
    }

    /// The fused formula with its loops, or the reason for a refusal; no reason if the formulas are unrelated.
    fn fused(
        &self,
        producer: &Assignment,
        consumer: &Assignment,
        [from, to]: [Option<Loops>; 2],
    ) -> Result<(Formula, Loops), Option<&'static str>> {
        if self.least_size(&producer.formula, producer.slot, &consumer.formula) > MAX_PARTS {
            return Err(Some(TOO_LONG));
        }
        let formula = match &producer.formula.over {
            None => self.inlined(producer, consumer, [from, to])?,
            Some(_) => self.as_epilogue(producer, consumer, from)?,
        };
        if formula.size() > MAX_PARTS {
            return Err(Some(TOO_LONG));
        }
        if formula.operands().len() > MAX_OPERANDS {
            return Err(Some("too much would be loaded at a time"));
        }
        let crosses = |formula: &Formula| reads_across(formula, self.slots);
        if crosses(&formula) && !crosses(&producer.formula) && !crosses(&consumer.formula) {
            return Err(Some("each of its elements would be in another line of memory"));
        }
        let loops = if from.is_some() && to.is_some() && self.is_plain(&formula) {
            self.plain(&formula)
        } else {
            self.judge(&formula).ok_or(Some("no loops compute it"))?
        };
        if finds_rows(&producer.formula) && !loops.is_copy() {
            return Err(Some("rows would be found anew for each of their elements"));
        }
        // Several readers of a permuted tensor would each walk through memory with more loops.
        if self.readers[producer.slot] > 1
            && !loops.is_product
            && !loops.is_copy()
            && permutes(&producer.formula, self.slots)
            && to.is_some_and(|to| to.rank < loops.rank)
        {
            return Err(Some("others read it too"));
        }
        let strip = |of: &Assignment, loops: Option<Loops>| {
            if moves(&of.formula) { None } else { loops.and_then(|loops| loops.strip) }
        };
        // Of a copy and a computation.
        if let (Some(after), [Some(before), None] | [None, Some(before)]) =
            (loops.strip, [strip(producer, from), strip(consumer, to)])
            && after < before
            && are_short(after, &self.slots[consumer.slot])
        {
            return Err(Some("strips would be too short"));
        }
        let before = || [from, to].into_iter().flatten();
        if before().any(|loops| loops.is_product) && !loops.is_product {
            return Err(Some("it would be no matrix product any more"));
        }
        if before().any(|loops| loops.is_stencil) && !loops.is_stencil {
            return Err(Some("neighbours would not share what they read any more"));
        }
        if before().any(|loops| loops.is_piecewise) && !loops.is_piecewise && chooses(&formula) {
            return Err(Some("it would choose anew for every element"));
        }
        if loops.rough > before().map(|loops| loops.rough).sum() {
            return Err(Some("positions would have to be computed"));
        }
        Ok((formula, loops))
    }

    /// A lower bound on the size after inlining, computed without building the result. It is exact where nothing can be
    /// simplified.
    fn least_size(&self, producer: &Formula, slot: usize, consumer: &Formula) -> usize {
        let (mut count, mut loads, mut is_plain) = (0usize, 0usize, true);
        let is_linear = |position: &[Index]| position.iter().all(|index| matches!(index, Index::Affine(..)));
        let mut look = |part: &Expr, is_consumer: bool| match part {
            Expr::Load(operand, position) => {
                is_plain &= is_linear(position);
                let is_read = is_consumer && root(self.slots, *operand) == slot;
                loads += usize::from(is_read);
                count += usize::from(is_consumer && !is_read);
            }
            Expr::Select(_) | Expr::Index(_) => is_plain = false,
            _ => count += usize::from(is_consumer),
        };
        consumer.parts(&mut |part, _| look(part, true));
        let mut size = 0usize;
        producer.parts(&mut |part, _| {
            size += 1;
            look(part, false);
        });
        if is_plain { count + loads * size } else { 0 }
    }

    /// The consumer with the producer inlined at each load.
    fn inlined(
        &self,
        producer: &Assignment,
        consumer: &Assignment,
        [own, loops]: [Option<Loops>; 2],
    ) -> Result<Formula, Option<&'static str>> {
        let from = &producer.formula;
        let is_product = loops.is_some_and(|loops| loops.is_product);
        let is_free = !is_product && is_dequantized(from, self.slots);
        let weight = if is_free { 0 } else { weight(&from.expr) };
        // Computing positions costs as much as arithmetic.
        let is_rough = own.is_some_and(|loops| loops.rough > 0);
        if (weight > 0 || is_rough) && self.readers[producer.slot] > 1 {
            return Err(Some("others read it too"));
        }
        // Windows overlap.
        if weight > 0 || (is_rough && consumer.formula.over.is_some()) {
            let (times, is_packed) = self.evaluations(producer.slot, &consumer.formula, loops);
            if times > self.slots[producer.slot].count() {
                return Err(Some(if weight > 0 {
                    "elements would be computed more than once"
                } else {
                    "positions would be computed more than once"
                }));
            }
            // Packing bytes is faster than any computation.
            let is_of_bytes = is_packed && loops.is_some_and(|loops| loops.is_of_bytes);
            if is_product && weight > 0 && (is_of_bytes || weight >= HEAVY) {
                return Err(Some("it costs too much to be computed where factors are packed"));
            }
        }
        self.with(producer, &consumer.formula, &consumer.formula.extents())
            .ok_or(Some("positions cannot be put together"))
    }

    /// How often elements of a slot would be computed where a formula reads them, and whether a factor does.
    fn evaluations(&self, slot: usize, consumer: &Formula, loops: Option<Loops>) -> (usize, bool) {
        let is_product = loops.is_some_and(|loops| loops.is_product);
        let is_piecewise = loops.is_some_and(|loops| loops.is_piecewise);
        let (mut times, mut is_packed) = (0, false);
        let mut seen: Vec<&Expr> = Vec::new();
        let all = consumer.extents();
        let rank = consumer.dims.len();
        consumer.parts(&mut |part, is_then| {
            let Expr::Load(operand, position) = part else { return };
            if root(self.slots, *operand) != slot || seen.contains(&part) {
                return;
            }
            seen.push(part);
            is_packed |= !is_then;
            // A factor is evaluated once for each of its own positions.
            let reads = |axis: usize| !is_product || is_then || position.iter().any(|i| mentions(i, axis));
            let axes = if is_then { 0..rank } else { 0..all.len() };
            let each = axes.filter(|axis| reads(*axis)).map(|axis| all[axis]);
            let each = each.fold(1usize, usize::saturating_mul);
            // Each piece evaluates only its own branch.
            let is_once = is_piecewise && walks_once(position, &all);
            times += if is_once { each.min(self.slots[*operand].count()) } else { each };
        });
        (times, is_packed)
    }

    /// A formula with the given extents and the producer inlined at each load.
    fn with(&self, producer: &Assignment, formula: &Formula, all: &[usize]) -> Option<Formula> {
        let from = &producer.formula;
        self.rewritten(formula, producer.slot, all, &|position| {
            let rewrite = Rewrite {
                indices: &position,
                extents: all,
                total: None,
                load: &|operand, position| Some(Expr::load(operand, position)),
            };
            Some(rounded(rewrite.expr(&from.expr)?, &from.expr, from.elem, self.slots))
        })
    }

    /// A formula with each load of a slot replaced; `with` receives the position in the axes of the producer.
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
                return Some(Expr::load(operand, position));
            }
            with(self.through(operand, position, slot, extents)?)
        };
        let rewrite = Rewrite { indices: &indices, extents, total: None, load: &replace };
        rewrite.formula(formula, formula.clone())
    }

    /// Converts a position in an alias to one in the tensor that it refers to.
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

    /// The producer's reduction with the consumer as its epilogue.
    fn as_epilogue(
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
        to.parts(&mut |part, _| {
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
        // First the indices of the result, then those of the reduction.
        let mut result = to.clone();
        result.over = Some(over.clone());
        let all = result.extents();
        let fuse = || {
            let here: Vec<Position> = (0..to.dims.len()).map(Position::index).collect();
            let place = Position::place(&here, &to.dims)?;
            let mut indices = place.spread(&from.dims, &all)?;
            indices.extend((0..over.dims.len()).map(|axis| Position::index(to.dims.len() + axis)));
            let as_is = |operand, position| Some(Expr::load(operand, position));
            let moved = Rewrite { indices: &indices, extents: &all, total: None, load: &as_is };
            let expr = moved.expr(&from.expr)?;
            let total = match &from.then {
                Some(then) => moved.expr(then)?,
                None => Expr::Total,
            };
            // Accumulators of products and stencils are single floats; others may be doubles.
            let is_single = from.elem == ElemType::FLOAT
                && loops.is_some_and(|loops| loops.is_product || loops.is_stencil);
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

/// The slots that a formula reads, with aliases resolved.
pub(super) fn distinct(formula: &Formula, slots: &[Slot]) -> Vec<usize> {
    let mut all: Vec<usize> = formula.operands().into_iter().map(|operand| root(slots, operand)).collect();
    all.sort_unstable();
    all.dedup();
    all
}
