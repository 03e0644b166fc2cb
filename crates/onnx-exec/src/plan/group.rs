//! Groups formulas over the same rows into kernels.
//!
//! The outer axes of a result count its rows. A formula joins the kernel of its operand if each of its rows reads only the same
//! row of that operand. Then a block of rows passes through all formulas while it is in the caches, and local results never need
//! more memory than a block.
//!
//! ```text
//! m[i0]     = max over i1 of x[i0, i1]         row i0
//! s[i0]     = sum over i1 of exp(x[i0, i1] - m[i0])
//! y[i0, i1] = exp(x[i0, i1] - m[i0]) / s[i0]
//! ```
//! A matrix product is a kernel of its own, except batched ones: then a row is a whole matrix, and what attention computes for a
//! head stays in the caches from the first product to the second. Small unrelated formulas with equal rows share a kernel.

use super::fuse::distinct;
use super::split::split;
use super::{
    Assignment, Kernel, Member, NodeStep, Partition, PartitionItem, PlanStep, Refusals, Refused, Slot,
    SlotSource, root, types,
};
use crate::loops::{self, Nest, Nests, Softmax, Workers};
use foldhash::HashMap;
use onnx_formula::{Expr, Formula, Position, Rewrite};
use onnx_ir::NodeId;

/// The most bytes of a row of local results.
const MAX_ROW_BYTES: usize = 1 << 20;
/// The bytes of local results per block: they fit into the second-level cache, and the overhead of starting a formula per block
/// is small.
const BLOCK_BYTES: usize = 1 << 17;
/// The bytes of local matrices per block: they take longer to start.
const MATRIX_BLOCK_BYTES: usize = 1 << 18;
/// Formulas with this many steps can use several threads, which divide the rows.
const MIN_PARALLEL_STEPS: usize = 1 << 17;
/// The fewest rows that are worth dividing among threads.
const MIN_PARALLEL_ROWS: usize = 4;
/// Kernels with fewer steps take hardly longer than their overhead.
const MIN_KERNEL_STEPS: usize = 1 << 12;
/// The most formulas of a kernel.
const MAX_MEMBERS: usize = 32;

/// A kernel under construction.
struct Draft {
    rows: usize,
    members: Vec<Assignment>,
    /// Its matrix products.
    products: Vec<Product>,
    /// The number of computed elements.
    steps: usize,
}

/// A matrix product and, if its first axis counts matrices, the number of result elements per matrix.
#[derive(Clone, Copy)]
struct Product {
    slot: usize,
    matrix: Option<usize>,
}

enum DraftStep {
    Kernel(Draft),
    Node(Box<NodeStep>),
}

/// The kernels and nodes of a plan, in order.
pub(super) fn group(partition: &mut Partition, refused: &mut Refusals) -> Option<Vec<PlanStep>> {
    let items = std::mem::take(&mut partition.items);
    let Partition { slots, nests, .. } = &*partition;
    let mut parts: Vec<DraftStep> = Vec::new();
    // For each slot the part that computes it.
    let mut made: Vec<Option<usize>> = vec![None; slots.len()];
    let (mut last_node, mut last_kernel) = (None, None);
    for item in items {
        let assignment = match item {
            PartitionItem::Node(node) => {
                last_node = Some(parts.len());
                parts.push(DraftStep::Node(node));
                continue;
            }
            PartitionItem::Formula(assignment) => *assignment,
        };
        // Its operands exist after the last of these parts and nodes.
        let mut latest = None;
        let mut is_after_node = None;
        for operand in assignment.formula.operands() {
            let operand = root(slots, operand);
            latest = latest.max(made[operand]);
            if matches!(slots[operand].source, SlotSource::Value(_)) {
                is_after_node = is_after_node.max(last_node);
            }
        }
        // It joins the kernel of its last operand, if they have rows in common.
        let nest = nests.judged(&split(&assignment.formula)?, &types(slots))?;
        let product =
            nest.is_product().then(|| Product { slot: assignment.slot, matrix: nest.elements_of_matrix() });
        let joined = latest.filter(|at| is_after_node.is_none_or(|node| node < *at)).and_then(|at| {
            let DraftStep::Kernel(draft) = &parts[at] else { return None };
            match joined(draft, &assignment, product, nest.steps(), slots) {
                Ok(rows) => Some((at, rows)),
                Err(None) => None,
                Err(Some(why)) => {
                    let made_there = |m: &&Assignment| distinct(&assignment.formula, slots).contains(&m.slot);
                    if let Some(producer) = draft.members.iter().rev().find(made_there) {
                        let refused = refused.entry(assignment.slot).or_default();
                        refused.retain(|r| r.producer != producer.slot);
                        refused.push(Refused { producer: producer.slot, why });
                    }
                    None
                }
            }
        });
        // Otherwise the last kernel, if both are small.
        let (slot, count, steps) = (assignment.slot, slots[assignment.slot].count(), nest.steps());
        let may_join = product.is_none() && steps < MIN_KERNEL_STEPS;
        let joined = joined.or_else(|| {
            let after = latest.max(is_after_node);
            let at = last_kernel.filter(|at| may_join && after.is_none_or(|after| *at > after))?;
            sibling(&parts, at, &assignment, steps, slots)
        });
        match joined {
            Some((at, rows)) => {
                if let DraftStep::Kernel(draft) = &mut parts[at] {
                    draft.rows = rows;
                    draft.steps = draft.steps.saturating_add(steps);
                    draft.members.push(assignment);
                    draft.products.extend(product);
                    if let Some(refused) = refused.get_mut(&slot) {
                        refused.retain(|r| !draft.members.iter().any(|m| m.slot == r.producer));
                    }
                }
                made[slot] = Some(at);
            }
            None => {
                made[slot] = Some(parts.len());
                last_kernel = Some(parts.len());
                let products = product.into_iter().collect();
                let (rows, members) = (count.max(1), vec![assignment]);
                parts.push(DraftStep::Kernel(Draft { rows, members, products, steps }));
            }
        }
    }
    // A result is local if only its own kernel reads it.
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); slots.len()];
    for (at, part) in parts.iter().enumerate() {
        let DraftStep::Kernel(draft) = part else { continue };
        for member in &draft.members {
            for operand in distinct(&member.formula, slots) {
                readers[operand].push(at);
            }
        }
    }
    for (_, slot) in &partition.published {
        readers[root(slots, *slot)].push(usize::MAX);
    }
    let steps = parts.into_iter().enumerate().map(|(at, part)| match part {
        DraftStep::Node(node) => Some(PlanStep::Node(node)),
        DraftStep::Kernel(draft) => {
            kernel(draft, slots, nests, &|slot| readers[slot].iter().all(|reader| *reader == at))
        }
    });
    steps.collect()
}

/// The last kernel, if it is as cheap as this formula, independent of it, and has the same rows and as many elements: merging
/// them saves the overhead of one kernel.
fn sibling(
    parts: &[DraftStep],
    at: usize,
    with: &Assignment,
    steps: usize,
    slots: &[Slot],
) -> Option<(usize, usize)> {
    let DraftStep::Kernel(draft) = parts.get(at)? else { return None };
    let is_alike = |m: &Assignment| slots[m.slot].count() == slots[with.slot].count();
    let is_little =
        draft.steps.saturating_add(steps) < MIN_KERNEL_STEPS && draft.members.last().is_some_and(is_alike);
    let rows = is_little.then(|| joined(draft, with, None, steps, slots).ok()).flatten()?;
    (rows == draft.rows).then_some((at, rows))
}

fn kernel(draft: Draft, slots: &[Slot], nests: &Nests, is_local: &dyn Fn(usize) -> bool) -> Option<PlanStep> {
    let Draft { rows, members, products, .. } = draft;
    let is_alone = members.len() == 1;
    let is_local: Vec<bool> = members.iter().map(|m| !is_alone && is_local(m.slot)).collect();
    let members = members.into_iter().map(|it| Some(Assignment { formula: split(&it.formula)?, ..it }));
    let members: Vec<Assignment> = members.collect::<Option<_>>()?;
    let mut kernel =
        assembled(members, rows, &is_local, slots, &|_, formula, types| nests.nest(formula, types))?;
    let of_row: usize = kernel.members.iter().map(|member| member.bytes(1)).sum();
    kernel.block = match (is_alone, products.is_empty()) {
        (true, _) => rows,
        (false, true) => (BLOCK_BYTES / of_row.max(1)).clamp(1, rows),
        (false, false) => (MATRIX_BLOCK_BYTES / of_row.max(1)).clamp(1, rows.div_ceil(MIN_PARALLEL_ROWS)),
    };
    Some(PlanStep::Kernel(Box::new(kernel)))
}

/// Lowers a member to loops; receives its number and formula.
type MakeNest<'m> = &'m dyn Fn(usize, &Formula, &loops::Types<'_>) -> Option<Nest>;

/// A kernel of these formulas in order, with all rows in one block; `None` if one of them has no loops.
pub(super) fn assembled(
    members: Vec<Assignment>,
    rows: usize,
    is_local: &[bool],
    slots: &[Slot],
    nest: MakeNest<'_>,
) -> Option<Kernel> {
    let mut loads: Vec<usize> = members.iter().flat_map(|m| m.formula.operands()).collect();
    loads.sort_unstable();
    loads.dedup();
    let makers: HashMap<usize, usize> = members.iter().enumerate().map(|(at, m)| (m.slot, at)).collect();
    let mut made: Vec<Member> = Vec::with_capacity(members.len());
    for (at, assignment) in members.into_iter().enumerate() {
        let mut local = assignment.formula.clone();
        local.renumber_by(&loads);
        let nest = nest(at, &local, &|number| types(slots)(*loads.get(number)?))?;
        let inner = assignment.formula.operands().into_iter().filter_map(|operand| {
            let by = *makers.get(&root(slots, operand))?;
            Some((loads.binary_search(&operand).ok()?, by))
        });
        let inner = inner.collect();
        let is_local = is_local[at];
        let each = slots[assignment.slot].count() / rows.max(1);
        let workers = Workers::default();
        made.push(Member { assignment, nest, workers, each, is_local, inner });
    }
    let mut nodes: Vec<NodeId> = made.iter().flat_map(|m| m.assignment.nodes.iter().copied()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let softmaxes = softmaxes(&made);
    Some(Kernel { rows, block: rows, members: made, nodes, loads, softmaxes })
}

/// The members that are a softmax, by the first.
fn softmaxes(members: &[Member]) -> Vec<(usize, Softmax)> {
    let mut found: Vec<(usize, Softmax)> = Vec::new();
    for (first, four) in (0..).map_while(|first| Some((first, members.get(first..first + 3)?))) {
        let quotient = members.get(first + 3);
        let number = |by: usize| {
            let inner = four.iter().chain(quotient).flat_map(|member| &member.inner);
            inner.copied().find(|(_, maker)| *maker == first + by).map(|(number, _)| number)
        };
        // Results that are not read have no number.
        let results = [number(0), number(1), number(2)].map(|number| number.unwrap_or(usize::MAX));
        let [most, exps, sums] = four else { continue };
        let nests = [&most.nest, &exps.nest, &sums.nest];
        let is_elsewhere = |(at, softmax): &(usize, Softmax)| at + softmax.nests() <= first;
        if found.last().is_none_or(is_elsewhere)
            && let Some(softmax) = Softmax::of(nests, quotient.map(|member| &member.nest), results)
        {
            found.push((first, softmax));
        }
    }
    found
}

/// The number of rows that a kernel and another formula have in common, or the reason why there are none.
fn joined(
    draft: &Draft,
    with: &Assignment,
    product: Option<Product>,
    steps: usize,
    slots: &[Slot],
) -> Result<usize, Option<&'static str>> {
    let products = || draft.products.iter().copied().chain(product);
    if products().any(|product| product.matrix.is_none()) {
        return Err(None);
    }
    let are_whole = |rows: usize| {
        let is_whole =
            |p: Product| p.matrix.is_some_and(|matrix| (slots[p.slot].count() / rows).is_multiple_of(matrix));
        products().next().is_none() || rows >= MIN_PARALLEL_ROWS && products().all(is_whole)
    };
    if draft.members.len() >= MAX_MEMBERS {
        return Err(Some("the kernel has enough formulas"));
    }
    let formula = split(&with.formula).ok_or(Some("positions cannot be split"))?;
    let is_made = |slot: usize| draft.members.iter().any(|m| m.slot == slot);
    let mut candidates: Vec<usize> = Vec::new();
    let mut rows = 1usize;
    candidates.push(1);
    for d in &formula.dims {
        rows = rows.saturating_mul(*d);
        candidates.push(rows);
    }
    let count = slots[with.slot].count();
    let mut why = "it has no rows in common with what it reads";
    for rows in candidates.into_iter().rev() {
        if rows == 0
            || !are_whole(rows)
            || !draft.rows.is_multiple_of(rows)
            || !is_by_row(&is_made, &formula, count / rows, rows, slots)
        {
            continue;
        }
        let is_too_few =
            |steps: usize, before: usize| steps >= MIN_PARALLEL_STEPS && rows < before.min(MIN_PARALLEL_ROWS);
        if is_too_few(steps, count) || is_too_few(draft.steps, draft.rows) {
            why = "there would be too few rows for all threads";
            continue;
        }
        let members = draft.members.iter().chain([with]);
        let bytes = |m: &Assignment| slots[m.slot].bytes() / rows;
        let of_row: usize = members.map(bytes).sum();
        if of_row <= MAX_ROW_BYTES {
            return Ok(rows);
        }
        why = "a row would be too large to stay in a cache";
    }
    Err(Some(why))
}

/// Whether each row of a formula reads only the same row of the results of its kernel.
pub(super) fn is_by_row(
    is_made: &dyn Fn(usize) -> bool,
    formula: &Formula,
    each: usize,
    rows: usize,
    slots: &[Slot],
) -> bool {
    let all = formula.extents();
    let indices: Vec<Position> = (0..all.len()).map(Position::index).collect();
    let rewrite = Rewrite { indices: &indices, extents: &all, total: None, load: &|_, _| None };
    let mut strides = vec![0i64; all.len()];
    let mut stride = 1i64;
    for (by, d) in strides.iter_mut().zip(&formula.dims).rev() {
        *by = stride;
        stride = stride.saturating_mul(i64::try_from((*d).max(1)).unwrap_or(i64::MAX));
    }
    // Axes whose stride is at least a row count rows.
    let first_inner = strides[..formula.dims.len()].iter().take_while(|by| **by >= each as i64).count();
    let mut is = true;
    formula.parts(&mut |part, _| {
        let Expr::Load(operand, position) = part else { return };
        let of = root(slots, *operand);
        if !is_made(of) {
            return;
        }
        let inner = slots[of].count() / rows;
        let fits = || {
            let position = position.iter().map(|index| rewrite.index(index)).collect::<Option<Vec<_>>>()?;
            let place = Position::place(&position, &slots[*operand].dims)?;
            let by = place.linear(all.len())?;
            let (mut least, mut most) = (i128::from(place.offset), i128::from(place.offset));
            for (axis, (by, d)) in by.iter().zip(&all).enumerate() {
                if *d == 1 {
                    continue;
                }
                if axis < first_inner {
                    let wanted = strides[axis] / each.max(1) as i64 * inner as i64;
                    (*by == wanted).then_some(())?;
                } else {
                    let reach = i128::from(*by) * (*d as i128 - 1);
                    if reach < 0 { least += reach } else { most += reach }
                }
            }
            (least >= 0 && most < inner as i128).then_some(())
        };
        is &= fits().is_some();
    });
    is
}
