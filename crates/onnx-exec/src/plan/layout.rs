//! Selects memory layouts of tensors.
//!
//! A convolution multiplies all channels of a pixel by a column of weights. If the channels of a pixel are contiguous, it reads
//! its input in place, its results are whole rows, and what follows (bias, activation, residual, depthwise convolution, pooling)
//! uses full vector registers for any image size. So intermediate results around convolutions are stored channels-last:
//!
//! ```text
//! y[n, m, h, w] = sum over c, k, l of x[n, c, h + k, w + l] * weight[m, c, k, l]
//! y[n, h, w, m] = sum over k, l, c of x[n, h + k, w + l, c] * weight[m, c, k, l]
//! ```
//! Slots that formulas access with the same channels are decided together, by the numbers of operations of the convolutions that
//! gain and lose. Inputs and results of the plan keep their layout; the formulas next to them access them with strides. A formula
//! whose loops would be worse reads a copy.

use super::constants::evaluated;
use super::fuse::{Loops, distinct, judge};
use super::weigh::mentions;
use super::{Assignment, Partition, PartitionItem, Slot, SlotSource, root};
use crate::budget::spend;
use crate::failure::Failure;
use crate::loops::Nests;
use foldhash::HashMap;
use onnx_formula::{Binary, Combine, Expr, Formula, Index, Position, Reduction, Rewrite};
use onnx_ir::NodeId;
use smallvec::SmallVec;

/// The channel axis.
const CHANNELS: usize = 1;
/// Ranks of images and signals: batch, channels, and one to three spatial axes.
const RANKS: std::ops::RangeInclusive<usize> = 3..=5;
/// A result of the plan is computed channels-last and copied if at least this many elements are combined per element.
const MIN_COPIED_STEPS: usize = 64;
/// Steps charged for each formula that is considered.
const STEPS_OF_FORMULA: usize = 1 << 12;

/// Selects layouts and rewrites the formulas for them.
pub(super) fn layout(partition: &mut Partition) -> Result<(), Failure> {
    reshape(partition);
    let mut is_last = chosen(partition);
    // If a formula would have worse loops than before, its result keeps the original layout or its operand is copied.
    while is_last.contains(&true) {
        spend(STEPS_OF_FORMULA * partition.items.len())?;
        let Some((items, slots, folded)) = applied(partition, &mut is_last) else { continue };
        (partition.items, partition.slots) = (items, slots);
        partition.folded.extend(folded);
        break;
    }
    Ok(())
}

/// Rewrites copies to the shape in which all readers access them, so that a transpose between two reshapes has the axes of the
/// image whose channels it permutes.
fn reshape(partition: &mut Partition) {
    let Partition { items, slots, published, nests, .. } = partition;
    // The first operand through which each slot is read, if all readers use the same shape.
    let mut read: Vec<Option<usize>> = vec![None; slots.len()];
    let mut is_fixed = vec![false; slots.len()];
    for (_, slot) in published {
        is_fixed[root(slots, *slot)] = true;
    }
    for item in &*items {
        let PartitionItem::Formula(it) = item else { continue };
        for operand in it.formula.operands() {
            let slot = root(slots, operand);
            let first = *read[slot].get_or_insert(operand);
            is_fixed[slot] |= slots[first].dims != slots[operand].dims;
        }
    }
    for item in items {
        let PartitionItem::Formula(it) = item else { continue };
        let Some(shape) = read[it.slot].map(|operand| slots[operand].dims.clone()) else { continue };
        let is_copy = it.formula.over.is_none() && matches!(it.formula.expr, Expr::Load(..));
        if is_fixed[it.slot] || !is_copy || shape == it.formula.dims || !RANKS.contains(&shape.len()) {
            continue;
        }
        let here: Vec<Position> = (0..shape.len()).map(Position::index).collect();
        let place = Position::place(&here, &shape);
        let Some(indices) = place.and_then(|place| place.spread(&it.formula.dims, &shape)) else { continue };
        let as_is = |operand, position| Some(Expr::load(operand, position));
        let rewrite = Rewrite { indices: &indices, extents: &shape, total: None, load: &as_is };
        let to = Formula { dims: shape.clone(), ..it.formula.clone() };
        if let Some(formula) = rewrite.formula(&it.formula, to).filter(|it| judge(it, slots, nests).is_some())
        {
            it.formula = formula;
            slots[it.slot].dims = shape;
        }
    }
}

/// The original axes of a channels-last tensor, in the order of memory.
fn order(rank: usize) -> impl Iterator<Item = usize> {
    (0..rank).filter(|axis| *axis != CHANNELS).chain((rank > CHANNELS).then_some(CHANNELS))
}

/// Which slots become channels-last.
fn chosen(partition: &Partition) -> Vec<bool> {
    let slots = &partition.slots;
    let mut may = vec![false; slots.len()];
    for item in &partition.items {
        if let PartitionItem::Formula(it) = item {
            let dims = &slots[it.slot].dims;
            may[it.slot] = RANKS.contains(&dims.len()) && slots[it.slot].count() > 0;
        }
    }
    let mut is_published = vec![false; slots.len()];
    for (_, slot) in &partition.published {
        is_published[root(slots, *slot)] = true;
    }
    // Results of the plan keep their layout, but a convolution of many steps is worth a copy.
    let mut copied = Vec::new();
    let mut groups = Groups((0..slots.len()).collect());
    let mut votes = Vec::new();
    for item in &partition.items {
        let PartitionItem::Formula(it) = item else { continue };
        let read: Vec<usize> = distinct(&it.formula, slots)
            .into_iter()
            .filter(|s| may[*s] && !is_published[*s] && is_alike(it, *s, slots))
            .collect();
        if is_published[it.slot] {
            let steps: usize = it.formula.over.iter().flat_map(|over| &over.dims).product();
            let is_long = may[it.slot] && steps >= MIN_COPIED_STEPS && vote(&it.formula, slots) > Some(0);
            copied.extend(is_long.then_some((it.slot, read)));
            may[it.slot] = false;
            continue;
        }
        if may[it.slot] {
            read.iter().for_each(|slot| groups.join(*slot, it.slot));
        }
        let Some(vote) = vote(&it.formula, slots) else { continue };
        let voters = read.into_iter().chain([it.slot]).filter(|slot| may[*slot]);
        votes.extend(voters.map(|slot| (slot, vote)));
    }
    let mut sums = vec![0i128; slots.len()];
    for (slot, vote) in votes {
        sums[groups.find(slot)] += vote;
    }
    let mut is_last: Vec<bool> =
        (0..slots.len()).map(|slot| may[slot] && sums[groups.find(slot)] > 0).collect();
    for (slot, read) in copied {
        is_last[slot] = read.iter().any(|read| is_last[*read]);
    }
    is_last
}

/// A union-find structure over slots that are decided together: the parent of each slot.
struct Groups(Vec<usize>);

impl Groups {
    fn find(&mut self, mut slot: usize) -> usize {
        while self.0[slot] != slot {
            self.0[slot] = self.0[self.0[slot]];
            slot = self.0[slot];
        }
        slot
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a] = b;
    }
}

/// Whether a formula accesses a slot so that batch, channels and the other axes correspond.
fn is_alike(it: &Assignment, slot: usize, slots: &[Slot]) -> bool {
    let rank = it.formula.dims.len();
    let mut is = rank == slots[slot].dims.len();
    it.formula.parts(&mut |part, _| {
        let Expr::Load(operand, position) = part else { return };
        if root(slots, *operand) != slot {
            return;
        }
        is &= slots[*operand].dims == slots[slot].dims;
        for (axis, index) in position.iter().enumerate() {
            let is_of = |other: usize| match axis {
                0 | CHANNELS => other == axis,
                _ => other > CHANNELS,
            };
            is &=
                (0..rank).all(|other| is_of(other) || it.formula.dims[other] == 1 || !mentions(index, other));
        }
    });
    is
}

/// The gain of a formula if its channels are last: the number of multiplications if it multiplies an image by constants per
/// channel, the negative number if the constants are per position of the last axis, which are contiguous already.
fn vote(formula: &Formula, slots: &[Slot]) -> Option<i128> {
    let over = formula.over.as_ref().filter(|over| over.combine == Combine::Sum)?;
    let Expr::Binary(Binary::Mul, a, b) = &formula.expr else { return None };
    let rank = formula.dims.len();
    if !RANKS.contains(&rank) {
        return None;
    }
    let (weights, image) = match (is_constant(a, slots), is_constant(b, slots)) {
        (true, false) => (&**a, &**b),
        (false, true) => (&**b, &**a),
        _ => return None,
    };
    let has = |expr: &Expr, axes: std::ops::Range<usize>| axes.into_iter().any(|axis| is_of(expr, axis));
    let is_long = |axis: usize| formula.dims[axis] > 1;
    let products = formula.dims.iter().chain(&over.dims).fold(1i128, |n, d| n.saturating_mul(*d as i128));
    let is_for =
        is_long(CHANNELS) && has(weights, CHANNELS..CHANNELS + 1) && !has(weights, CHANNELS + 1..rank);
    if is_for && has(image, CHANNELS + 1..rank) {
        return Some(products);
    }
    (is_long(rank - 1) && has(weights, rank - 1..rank)).then_some(-products)
}

fn is_constant(expr: &Expr, slots: &[Slot]) -> bool {
    let mut is = true;
    expr.walk(&mut |part| match part {
        Expr::Load(operand, _) => {
            is &= matches!(slots[root(slots, *operand)].source, SlotSource::Constant(_))
        }
        Expr::Index(_) | Expr::Total => is = false,
        _ => {}
    });
    is
}

/// Whether a loaded element depends on an axis.
fn is_of(expr: &Expr, axis: usize) -> bool {
    let mut is = false;
    expr.walk(&mut |part| {
        if let Expr::Load(_, position) = part {
            is |= position.iter().any(|index| mentions(index, axis));
        }
    });
    is
}

/// Constant formulas, with the slot of their value.
type Folded = Vec<(usize, Formula)>;

/// The formulas and slots in the chosen layouts; `None` after some choices were withdrawn.
fn applied(partition: &Partition, is_last: &mut [bool]) -> Option<(Vec<PartitionItem>, Vec<Slot>, Folded)> {
    let mut now = partition.slots.clone();
    for (slot, _) in now.iter_mut().zip(&*is_last).filter(|(_, is)| **is) {
        slot.axes = order(slot.dims.len()).map(|axis| axis as u8).collect();
        slot.dims = order(slot.dims.len()).map(|axis| slot.dims[axis]).collect();
    }
    let mut results = HashMap::default();
    for (_, slot) in &partition.published {
        let slot = root(&partition.slots, *slot);
        if is_last[slot] && !results.contains_key(&slot) {
            results.insert(slot, now.len());
            now.push(now[slot].clone());
            now[slot].clone_from(&partition.slots[slot]);
        }
    }
    let (copies, weights) = (HashMap::default(), HashMap::default());
    let is_chosen = is_last.to_vec();
    let (nests, before, folded) = (&partition.nests, &partition.slots, Vec::new());
    let mut change =
        LayoutChange { nests, before, now, folded, is_last: is_chosen, results, copies, weights };
    let mut items = Vec::with_capacity(partition.items.len());
    for item in &partition.items {
        let it = match item {
            PartitionItem::Node(node) => {
                items.push(PartitionItem::Node(node.clone()));
                continue;
            }
            PartitionItem::Formula(it) => it,
        };
        let read = distinct(&it.formula, &partition.slots);
        let is_touched = |slot: &usize| is_last[*slot];
        let formula = if is_touched(&it.slot) || read.iter().any(is_touched) {
            match change.formula(it, false).filter(|formula| change.is_as_good(it, formula)) {
                Some(formula) => change.with_weights(formula),
                None if is_last[it.slot] => {
                    is_last[it.slot] = false;
                    continue;
                }
                None => {
                    for slot in read {
                        items.extend(change.copy(slot, &it.nodes));
                    }
                    change.formula(it, true)?
                }
            }
        } else {
            it.formula.clone()
        };
        let slot = *change.results.get(&it.slot).unwrap_or(&it.slot);
        items.push(PartitionItem::Formula(Box::new(Assignment { slot, formula, nodes: it.nodes.clone() })));
        if slot != it.slot {
            items.extend(change.copy(it.slot, &it.nodes));
        }
    }
    (change.is_last == *is_last).then_some((items, change.now, change.folded))
}

struct LayoutChange<'s> {
    nests: &'s Nests,
    before: &'s [Slot],
    now: Vec<Slot>,
    folded: Folded,
    is_last: Vec<bool>,
    /// Channels-last slots that hold the elements of results of the plan.
    results: HashMap<usize, usize>,
    /// Copies of slots in the original layout.
    copies: HashMap<usize, usize>,
    /// Constants with their first axis, the channels, moved last.
    weights: HashMap<usize, usize>,
}

impl LayoutChange<'_> {
    /// A formula in the chosen layouts; with `is_plain`, it reads copies in the original layout where they exist.
    fn formula(&self, it: &Assignment, is_plain: bool) -> Option<Formula> {
        let formula = &it.formula;
        let rank = formula.dims.len();
        let result: SmallVec<[usize; 8]> =
            if self.is_last[it.slot] { order(rank).collect() } else { (0..rank).collect() };
        let steps = self.order_of_steps(formula);
        let dims = result.iter().map(|axis| formula.dims[*axis]).collect();
        let over = formula.over.as_ref().map(|over| {
            let dims = steps.iter().map(|step| over.dims[*step]).collect();
            Reduction { dims, ..over.clone() }
        });
        let mut indices = vec![Position::default(); rank + steps.len()];
        for (new, old) in result.iter().copied().chain(steps.iter().map(|step| rank + step)).enumerate() {
            indices[old] = Position::index(new);
        }
        // Indices of extent 1 are dropped.
        let before = formula.extents();
        indices
            .iter_mut()
            .zip(&before)
            .filter(|(_, d)| **d == 1)
            .for_each(|(index, _)| *index = Position::default());
        let to = Formula { dims, over, ..formula.clone() };
        let extents = to.extents();
        let load = |operand: usize, position: Vec<Position>| self.load(operand, position, &extents, is_plain);
        Rewrite { indices: &indices, extents: &extents, total: None, load: &load }.formula(formula, to)
    }

    /// The reduction axes in channels-last order: sums may be reordered, and channels are contiguous.
    fn order_of_steps(&self, formula: &Formula) -> SmallVec<[usize; 8]> {
        let Some(over) = &formula.over else { return SmallVec::new() };
        let rank = formula.dims.len();
        // The channels of images whose layout is chosen here; if there are none, those of any image.
        let (mut of_chosen, mut of_any) = (vec![false; over.dims.len()], vec![false; over.dims.len()]);
        formula.parts(&mut |part, _| {
            let Expr::Load(operand, position) = part else { return };
            let slot = root(self.before, *operand);
            let is_image = !matches!(self.before[slot].source, SlotSource::Constant(_));
            if let Some(index) = position.get(CHANNELS).filter(|_| is_image && position.len() == rank) {
                for step in (0..over.dims.len()).filter(|step| mentions(index, rank + step)) {
                    of_any[step] = true;
                    of_chosen[step] |= self.is_last[slot];
                }
            }
        });
        let is_channel = if of_chosen.contains(&true) { of_chosen } else { of_any };
        let is_free = over.combine == Combine::Sum;
        let (last, first): (SmallVec<[usize; 8]>, SmallVec<[usize; 8]>) =
            (0..over.dims.len()).partition(|step| is_free && is_channel[*step]);
        first.into_iter().chain(last).collect()
    }

    fn load(
        &self,
        operand: usize,
        position: Vec<Position>,
        extents: &[usize],
        is_plain: bool,
    ) -> Option<Expr> {
        let slot = root(self.before, operand);
        let copy = self.copies.get(&slot).filter(|_| is_plain);
        if copy.is_none() && !self.is_last[slot] {
            return Some(Expr::load(operand, position));
        }
        let position = if self.before[operand].dims == self.before[slot].dims {
            position
        } else {
            let place = Position::place(&position, &self.before[operand].dims)?;
            place.spread(&self.before[slot].dims, extents)?
        };
        Some(match copy {
            Some(copy) => Expr::load(*copy, position),
            None => {
                let slot = *self.results.get(&slot).unwrap_or(&slot);
                Expr::load(slot, order(position.len()).map(|axis| position[axis].clone()).collect())
            }
        })
    }

    /// A stencil whose constants per channel are contiguous in the order in which it reads them.
    fn with_weights(&mut self, formula: Formula) -> Formula {
        let Some(last) = formula.dims.len().checked_sub(1) else { return formula };
        if !judge(&formula, &self.now, self.nests).is_some_and(|loops| loops.is_stencil) {
            return formula;
        }
        let mut wanted: SmallVec<[usize; 2]> = SmallVec::new();
        formula.parts(&mut |part, _| {
            let Expr::Load(operand, position) = part else { return };
            let is_of_channel = |(axis, index): (usize, &Index)| mentions(index, last) == (axis == 0);
            let is_constant = matches!(self.now[*operand].source, SlotSource::Constant(_));
            if is_constant && position.len() > 1 && position.iter().enumerate().all(is_of_channel) {
                wanted.push(*operand);
            }
        });
        for &slot in &wanted {
            if self.weights.contains_key(&slot) {
                continue;
            }
            let Slot { elem, dims, .. } = &self.now[slot];
            let dims: Vec<usize> = dims[1..].iter().chain(&dims[..1]).copied().collect();
            let position: Vec<Position> =
                [dims.len() - 1].into_iter().chain(0..dims.len() - 1).map(Position::index).collect();
            let expr = Expr::load(slot, position);
            let moved = Formula { elem: *elem, dims: dims.clone(), over: None, expr, then: None };
            let Ok(Some(tensor)) = evaluated(&moved, &self.now) else { continue };
            let slot_of_weights = self.now.len();
            self.weights.insert(slot, slot_of_weights);
            self.now.push(Slot::new(moved.elem, dims, SlotSource::Constant(tensor)));
            self.folded.push((slot_of_weights, moved));
        }
        let extents = formula.extents();
        let indices: Vec<Position> = (0..extents.len()).map(Position::index).collect();
        let moved = |operand: usize, mut position: Vec<Position>| {
            let weights = self.weights.get(&operand).filter(|_| wanted.contains(&operand));
            if weights.is_some() {
                position.rotate_left(1);
            }
            Some(Expr::load(*weights.unwrap_or(&operand), position))
        };
        let rewrite = Rewrite { indices: &indices, extents: &extents, total: None, load: &moved };
        rewrite.formula(&formula, formula.clone()).unwrap_or(formula)
    }

    /// A formula that copies a slot to the original layout, for all readers that would otherwise be slower.
    fn copy(&mut self, slot: usize, nodes: &SmallVec<[NodeId; 4]>) -> Option<PartitionItem> {
        if !self.is_last[slot] || self.copies.contains_key(&slot) {
            return None;
        }
        let Slot { elem, dims, .. } = &self.before[slot];
        let position: Vec<Position> = (0..dims.len()).map(Position::index).collect();
        let expr = self.load(slot, position, dims, false)?;
        let formula = Formula { elem: *elem, dims: dims.clone(), over: None, expr, then: None };
        let copy = if self.results.contains_key(&slot) { slot } else { self.now.len() };
        if copy != slot {
            self.now.push(Slot::new(*elem, dims.clone(), SlotSource::Formula));
        }
        self.copies.insert(slot, copy);
        Some(PartitionItem::Formula(Box::new(Assignment { slot: copy, formula, nodes: nodes.clone() })))
    }

    /// Whether the loops of a formula are as good as in the original layout.
    fn is_as_good(&self, it: &Assignment, formula: &Formula) -> bool {
        let (Some(before), Some(now)) =
            (judge(&it.formula, self.before, self.nests), judge(formula, &self.now, self.nests))
        else {
            return false;
        };
        let is_lost = |of: fn(Loops) -> bool| of(before) && !of(now);
        !is_lost(|loops| loops.is_product)
            && !is_lost(|loops| loops.is_stencil)
            && !is_lost(|loops| loops.is_piecewise)
            && now.rough <= before.rough
    }
}
