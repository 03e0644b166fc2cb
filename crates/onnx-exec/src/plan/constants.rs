//! Constant folding in plans.
//!
//! Folds whole formulas and parts of formulas. A chain of additions and multiplications with constants becomes one multiplication
//! and one addition, whose constants are computed here. So a batch normalization after a convolution becomes
//!
//! ```text
//! scale[i1] * (total + b[i1] - mean[i1]) / sqrt(variance[i1] + 1e-5) + bias[i1]   ──▶   total * %7[i1] + %8[i1]
//! ```

use super::dequantized::is_dequantized;
use super::{Assignment, Partition, PartitionItem, Slot, SlotSource, root, types};
use crate::budget::spend;
use crate::failure::Failure;
use crate::loops::{Nest, View, Workers};
use crate::tensor::Tensor;
use foldhash::HashMap;
use foldhash::fast::FixedState;
use onnx_formula::{Binary, Expr, Formula, Index, Number, Position, Rewrite, Unary};
use onnx_ir::ElemType;
use std::hash::{BuildHasher as _, Hash};

/// Formulas of more steps are computed by the run, which charges their steps.
const MAX_FOLDED_STEPS: usize = 1 << 26;

/// Which formulas are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    All,
    /// All but dequantized bytes: products may read the bytes themselves.
    ButBytes,
}

/// Computes the formulas that load only constants.
pub(super) fn compute(partition: &mut Partition, which: Which) -> Result<(), Failure> {
    let Partition { items, slots, folded, .. } = partition;
    let mut kept = Vec::with_capacity(items.len());
    for item in std::mem::take(items) {
        if let PartitionItem::Formula(assignment) = &item {
            let Assignment { slot, formula, .. } = &**assignment;
            let is_left = which == Which::ButBytes && is_dequantized(formula, slots);
            // The slot has the shape that the formula had before its axes were split.
            if !is_left
                && let Some(tensor) = evaluated(formula, slots)?
                && let Ok(tensor) = tensor.reshaped(&slots[*slot].dims)
            {
                slots[*slot].source = SlotSource::Constant(tensor);
                folded.push((*slot, formula.clone()));
                continue;
            }
        }
        kept.push(item);
    }
    *items = kept;
    Ok(())
}

/// The value of a constant formula; `None` for other formulas, and for those that are too large or fail. Charges the steps of the
/// run.
pub(super) fn evaluated(formula: &Formula, slots: &[Slot]) -> Result<Option<Tensor>, Failure> {
    let Some((nest, views)) = prepared(formula, slots) else { return Ok(None) };
    spend(nest.steps())?;
    let Ok(mut result) = Tensor::zeros(formula.elem, &formula.dims) else { return Ok(None) };
    let is_done =
        result.bytes_mut().and_then(|bytes| nest.run_all(&views, bytes, &Workers::default())).is_ok();
    Ok(is_done.then_some(result))
}

/// The loops of a constant formula, and its constants.
fn prepared<'s>(formula: &Formula, slots: &'s [Slot]) -> Option<(Nest, Vec<Option<View<'s>>>)> {
    if formula.elem == ElemType::STRING {
        return None;
    }
    let mut operands = formula.operands();
    operands.sort_unstable();
    let mut loaded = 0usize;
    let mut views: Vec<Option<View<'_>>> = Vec::with_capacity(operands.len());
    for operand in &operands {
        let SlotSource::Constant(tensor) = &slots[root(slots, *operand)].source else { return None };
        loaded = loaded.saturating_add(tensor.len());
        views.push(Some(View::of(tensor)));
    }
    // Results much larger than their operands are computed when they are needed.
    let count = crate::tensor::count(&formula.dims)?;
    (count <= loaded.saturating_mul(2).max(1 << 12)).then_some(())?;
    let mut local = formula.clone();
    local.renumber_by(&operands);
    let nest = Nest::of(&local, &|number| types(slots)(*operands.get(number)?))?;
    (nest.steps() <= MAX_FOLDED_STEPS).then_some((nest, views))
}

/// Removes the subtraction of zero points that are 0 everywhere.
pub(super) fn zeros(partition: &mut Partition) {
    let Partition { items, slots, .. } = partition;
    let mut known: HashMap<usize, bool> = HashMap::default();
    for item in items {
        let PartitionItem::Formula(it) = item else { continue };
        let mut is_zero = |operand: usize| {
            *known.entry(operand).or_insert_with(|| match &slots[root(slots, operand)].source {
                SlotSource::Constant(tensor) => {
                    tensor.elem().is_integer() && tensor.bytes().iter().all(|byte| *byte == 0)
                }
                SlotSource::Value(_) | SlotSource::Formula | SlotSource::Alias(_) => false,
            })
        };
        let formula = &mut it.formula;
        for expr in [Some(&mut formula.expr), formula.then.as_mut()].into_iter().flatten() {
            without_zeros(expr, &mut is_zero);
        }
    }
}

fn without_zeros(expr: &mut Expr, is_zero: &mut dyn FnMut(usize) -> bool) {
    match expr {
        Expr::Load(..) | Expr::Number(_) | Expr::Index(_) | Expr::Total => {}
        Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => without_zeros(x, is_zero),
        Expr::Select(parts) => parts.iter_mut().for_each(|part| without_zeros(part, is_zero)),
        Expr::Binary(op, a, b) => {
            without_zeros(a, is_zero);
            without_zeros(b, is_zero);
            let mut of: &Expr = b;
            while let Expr::Cast(_, x) = of {
                of = x;
            }
            if *op == Binary::Sub
                && let Expr::Load(operand, _) = of
                && is_zero(*operand)
            {
                *expr = std::mem::replace(&mut **a, Expr::Total);
            }
        }
    }
}

/// Parts with more elements are computed where they are used.
const MAX_PART_ELEMENTS: usize = 1 << 16;

/// Computes the constant parts of formulas.
pub(super) fn parts(partition: &mut Partition) -> Result<(), Failure> {
    let Partition { items, slots, folded, .. } = partition;
    for item in items {
        let PartitionItem::Formula(assignment) = item else { continue };
        let formula = &mut assignment.formula;
        let total = formula.over.as_ref().map(|over| over.elem);
        let mut known = PartTable::default();
        for expr in [Some(&formula.expr), formula.then.as_ref()].into_iter().flatten() {
            known.note(expr, slots, total);
        }
        let mut parts = Parts { slots, folded, extents: formula.extents(), known, made: Vec::new() };
        formula.expr = match &formula.expr {
            // The reduction must stay a sum of products.
            Expr::Binary(Binary::Mul, a, b) if formula.over.is_some() => {
                parts.simplified(a).binary(Binary::Mul, parts.simplified(b))
            }
            expr => parts.simplified(expr),
        };
        if let Some(then) = &formula.then {
            parts.made.clear();
            parts.extents.truncate(formula.dims.len());
            formula.then = Some(parts.simplified(then));
        }
        // A failure for lack of steps or by cancellation must end planning, but folding a part ignores failures.
        spend(0)?;
    }
    Ok(())
}

/// Facts of a part of an expression, computed before simplification so that no part is visited again at each level above it.
#[derive(Clone, Copy)]
struct PartFacts {
    /// Whether it depends only on constants.
    is_constant: bool,
    /// Its type, if the expression determines it.
    elem: Option<ElemType>,
    /// Equal parts have equal hashes.
    hash: u64,
}

/// The facts of all parts of an expression.
#[derive(Default)]
struct PartTable {
    /// By address, valid as long as the expression is borrowed.
    facts: HashMap<*const Expr, PartFacts>,
    /// How often a part occurs, by its hash.
    counts: HashMap<u64, usize>,
}

struct Parts<'s> {
    slots: &'s mut Vec<Slot>,
    folded: &'s mut Vec<(usize, Formula)>,
    extents: Vec<usize>,
    known: PartTable,
    /// Folded expressions and their replacements, so that equal ones stay equal.
    made: Vec<(Expr, Expr)>,
}

impl PartTable {
    /// Computes the facts of an expression and all its parts, bottom-up.
    fn note(&mut self, expr: &Expr, slots: &[Slot], total: Option<ElemType>) -> PartFacts {
        let mut of = |x: &Expr| self.note(x, slots, total);
        let facts = match expr {
            Expr::Load(operand, position) => {
                let mut is_constant = matches!(slots[root(slots, *operand)].source, SlotSource::Constant(_));
                let mut hash = hash_of(&(0u8, operand));
                for index in position {
                    let (of_index, is_index_constant) = self.note_index(index, slots, total);
                    (hash, is_constant) = (hash_of(&(hash, of_index)), is_constant & is_index_constant);
                }
                PartFacts { is_constant, elem: Some(slots[*operand].elem), hash }
            }
            Expr::Number(number) => {
                let hash = match number {
                    Number::Int(n) => hash_of(&(1u8, n)),
                    Number::Float(x) => hash_of(&(2u8, x.to_bits())),
                };
                PartFacts { is_constant: true, elem: None, hash }
            }
            Expr::Index(index) => {
                let (of_index, _) = self.note_index(index, slots, total);
                PartFacts { is_constant: false, elem: Some(ElemType::INT64), hash: hash_of(&(3u8, of_index)) }
            }
            Expr::Total => PartFacts { is_constant: false, elem: total, hash: hash_of(&4u8) },
            Expr::Unary(op, x) => {
                let x = of(x);
                let elem = if op.is_test() { Some(ElemType::BOOL) } else { x.elem };
                PartFacts { elem, hash: hash_of(&(5u8, *op as u8, x.hash)), ..x }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (of(a), of(b));
                let elem = if op.is_test() { Some(ElemType::BOOL) } else { a.elem.or(b.elem) };
                let hash = hash_of(&(6u8, *op as u8, a.hash, b.hash));
                PartFacts { is_constant: a.is_constant && b.is_constant, elem, hash }
            }
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                let (condition, yes, no) = (of(condition), of(yes), of(no));
                PartFacts {
                    is_constant: condition.is_constant && yes.is_constant && no.is_constant,
                    elem: yes.elem.or(no.elem),
                    hash: hash_of(&(7u8, condition.hash, yes.hash, no.hash)),
                }
            }
            Expr::Cast(cast, x) => {
                let x = of(x);
                let kind = (cast.to.0, cast.saturates, cast.rounding as u8);
                PartFacts { elem: Some(cast.to), hash: hash_of(&(8u8, kind, x.hash)), ..x }
            }
            Expr::Bits(from, to, x) => {
                let x = of(x);
                PartFacts { elem: Some(*to), hash: hash_of(&(9u8, from.0, to.0, x.hash)), ..x }
            }
        };
        self.facts.insert(std::ptr::from_ref(expr), facts);
        *self.counts.entry(facts.hash).or_default() += 1;
        facts
    }

    /// Computes the facts of the expressions in an index; returns its hash, and whether all of them are constant.
    fn note_index(&mut self, index: &Index, slots: &[Slot], total: Option<ElemType>) -> (u64, bool) {
        match index {
            Index::Affine(offset, terms) => (hash_of(&(0u8, offset, terms)), true),
            Index::Sum(parts) => parts.iter().fold((hash_of(&1u8), true), |(hash, is), (part, by)| {
                let (of_part, is_part) = self.note_index(part, slots, total);
                (hash_of(&(hash, of_part, by)), is && is_part)
            }),
            Index::Div(x, by) | Index::Rem(x, by) => {
                let (hash, is) = self.note_index(x, slots, total);
                (hash_of(&(2u8, matches!(index, Index::Div(..)), hash, by)), is)
            }
            Index::Element(x) => {
                let facts = self.note(x, slots, total);
                (hash_of(&(3u8, facts.hash)), facts.is_constant)
            }
        }
    }

    /// How often an equal part occurs.
    fn count(&self, expr: &Expr) -> usize {
        self.facts
            .get(&std::ptr::from_ref(expr))
            .and_then(|facts| self.counts.get(&facts.hash))
            .copied()
            .unwrap_or(0)
    }
}

fn hash_of(parts: &impl Hash) -> u64 {
    FixedState::default().hash_one(parts)
}

/// `x * scale + shift` with constant `scale` and `shift`.
struct LinearForm<'e> {
    scale: Option<Expr>,
    x: &'e Expr,
    shift: Option<Expr>,
}

impl Parts<'_> {
    /// An expression with its constant parts folded. Every part is simplified once, so the time is linear in the size of the
    /// formula.
    fn simplified(&mut self, expr: &Expr) -> Expr {
        if self.is_constant(expr) {
            return self.computed(expr);
        }
        if self.elem(expr) == Some(ElemType::FLOAT)
            && let Some(line) = self.line(expr)
            && let Some([scale, shift]) = self.joined(&line)
        {
            let mut simple = self.inside(line.x);
            if let Some(scale) = scale {
                simple = simple * scale;
            }
            if let Some(shift) = shift {
                simple = simple + shift;
            }
            return simple;
        }
        self.inside(expr)
    }

    /// The operation of an expression on simplified operands.
    fn inside(&mut self, expr: &Expr) -> Expr {
        let mut simple = |x: &Expr| Box::new(self.simplified(x));
        match expr {
            Expr::Load(..) | Expr::Number(_) | Expr::Index(_) | Expr::Total => expr.clone(),
            Expr::Unary(op, x) => Expr::Unary(*op, simple(x)),
            Expr::Binary(op, a, b) => {
                let (mut x, mut y) = (simple(a), simple(b));
                if self.elem(a) == Some(ElemType::FLOAT) && self.elem(b) == Some(ElemType::FLOAT) {
                    for operand in [&mut x, &mut y] {
                        if let Some(number) = self.number(operand) {
                            **operand = number;
                        }
                    }
                }
                Expr::Binary(*op, x, y)
            }
            // Padding must stay recognizable as a select over a load.
            Expr::Select(parts) if matches!(parts[1], Expr::Load(..)) => expr.clone(),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                Expr::Select(Box::new([*simple(condition), *simple(yes), *simple(no)]))
            }
            Expr::Cast(cast, x) => Expr::Cast(*cast, simple(x)),
            Expr::Bits(from, to, x) => Expr::Bits(*from, *to, simple(x)),
        }
    }

    /// The value of a load from a constant with one element.
    fn number(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Load(operand, _) = expr else { return None };
        self.slots[root(self.slots, *operand)].number().map(Expr::Number)
    }

    /// Two or more consecutive operations with constants as a [`LinearForm`]; simplifies nothing.
    fn line<'e>(&self, expr: &'e Expr) -> Option<LinearForm<'e>> {
        let mut operations: Vec<(Binary, &Expr, bool)> = Vec::new();
        let mut x = expr;
        while let Expr::Binary(op, a, b) = x {
            // A part that is computed for something else too is not computed in another way here.
            if self.known.count(x) > self.known.count(expr) {
                break;
            }
            let (inner, constant, is_left) = match (op, self.is_constant(a), self.is_constant(b)) {
                (Binary::Add | Binary::Sub | Binary::Mul | Binary::Div, false, true) => (a, b, false),
                (Binary::Add | Binary::Sub | Binary::Mul, true, false) => (b, a, true),
                _ => break,
            };
            operations.push((*op, &**constant, is_left));
            x = &**inner;
        }
        if operations.len() < 2 {
            return None;
        }
        let mut line = LinearForm { scale: None, x, shift: None };
        for (op, constant, is_left) in operations.into_iter().rev() {
            let c = constant.clone();
            match (op, is_left) {
                (Binary::Mul | Binary::Div, _) => {
                    line.scale = Some(line.scale.unwrap_or(Expr::float(1.0)).binary(op, c.clone()));
                    line.shift = line.shift.map(|shift| shift.binary(op, c));
                }
                (Binary::Sub, true) => {
                    line.scale = Some(line.scale.map_or(Expr::float(-1.0), |scale| scale.unary(Unary::Neg)));
                    line.shift = Some(match line.shift {
                        Some(shift) => c.binary(Binary::Sub, shift),
                        None => c,
                    });
                }
                (Binary::Sub, false) => {
                    line.shift = Some(match line.shift {
                        Some(shift) => shift.binary(Binary::Sub, c),
                        None => c.unary(Unary::Neg),
                    });
                }
                (_, _) => {
                    line.shift = Some(match line.shift {
                        Some(shift) => shift.binary(Binary::Add, c),
                        None => c,
                    });
                }
            }
        }
        Some(line)
    }

    /// Folds scale and shift to one constant each.
    fn joined(&mut self, line: &LinearForm<'_>) -> Option<[Option<Expr>; 2]> {
        let mut joined = [None, None];
        for (to, part) in joined.iter_mut().zip([&line.scale, &line.shift]) {
            if let Some(part) = part {
                *to = Some(self.known(part)?);
            }
        }
        Some(joined)
    }

    /// A constant as a number or a load; `None` if an element is not finite.
    fn known(&mut self, expr: &Expr) -> Option<Expr> {
        if matches!(expr, Expr::Load(..) | Expr::Number(_)) { Some(expr.clone()) } else { self.table(expr) }
    }

    /// Folds a constant expression of more than one part if the result is small and finite.
    fn computed(&mut self, expr: &Expr) -> Expr {
        if let Expr::Cast(cast, x) = expr
            && cast.to == ElemType::DOUBLE
        {
            // A number adopts the type of the other operand.
            return match self.computed(x) {
                Expr::Load(operand, _) if self.slots[root(self.slots, operand)].number().is_some() => {
                    self.double_of(operand).unwrap_or_else(|| expr.clone())
                }
                Expr::Number(Number::Float(number)) => Expr::float(number),
                x => Expr::Cast(*cast, Box::new(x)),
            };
        }
        if matches!(expr, Expr::Load(..) | Expr::Number(_))
            || self.elem(expr).is_some_and(|e| e != ElemType::FLOAT)
        {
            return expr.clone();
        }
        self.table(expr).unwrap_or_else(|| expr.clone())
    }

    /// The only element of a constant as a double.
    fn double_of(&self, operand: usize) -> Option<Expr> {
        Some(match self.slots[root(self.slots, operand)].number()? {
            Number::Int(n) => Expr::float(n as f64),
            Number::Float(x) => Expr::float(x),
        })
    }

    fn table(&mut self, expr: &Expr) -> Option<Expr> {
        if let Some((_, made)) = self.made.iter().find(|(of, _)| of == expr) {
            return Some(made.clone());
        }
        let mut used: Vec<usize> = Vec::new();
        let mut is_plain = true;
        expr.walk(&mut |part| match part {
            Expr::Load(_, position) => position.iter().for_each(|index| match index {
                Index::Affine(_, terms) => used.extend(terms.iter().map(|(index, _)| *index)),
                Index::Sum(_) | Index::Div(..) | Index::Rem(..) | Index::Element(_) => is_plain = false,
            }),
            Expr::Index(_) => is_plain = false,
            _ => {}
        });
        used.sort_unstable();
        used.dedup();
        let dims: Vec<usize> =
            used.iter().map(|index| self.extents.get(*index).copied()).collect::<Option<_>>()?;
        let count = crate::tensor::count(&dims)?;
        if !is_plain || count > MAX_PART_ELEMENTS || count == 0 {
            return None;
        }
        let place = |index: usize| match used.iter().position(|used| *used == index) {
            Some(at) => Position::index(at),
            None => Position::default(),
        };
        let indices: Vec<Position> = (0..self.extents.len()).map(place).collect();
        let as_is = |operand, position| Some(Expr::load(operand, position));
        let moved = Rewrite { indices: &indices, extents: &dims, total: None, load: &as_is }.expr(expr)?;
        let formula =
            Formula { elem: ElemType::FLOAT, dims: dims.clone(), over: None, expr: moved, then: None };
        let tensor = evaluated(&formula, self.slots).ok()??;
        let values = tensor.words::<f32>();
        if values.len() != count || !values.iter().all(|x| x.is_finite()) {
            return None;
        }
        if let [x] = values {
            return Some(Expr::Number(Number::Float((*x).into())));
        }
        self.folded.push((self.slots.len(), formula));
        self.slots.push(Slot::new(ElemType::FLOAT, dims, SlotSource::Constant(tensor)));
        let made = Expr::Load(self.slots.len() - 1, used.into_iter().map(Index::of).collect());
        self.made.push((expr.clone(), made.clone()));
        Some(made)
    }

    fn is_constant(&self, expr: &Expr) -> bool {
        self.facts(expr).is_some_and(|facts| facts.is_constant)
    }

    /// The type of an expression, if the expression determines it.
    fn elem(&self, expr: &Expr) -> Option<ElemType> {
        self.facts(expr)?.elem
    }

    fn facts(&self, expr: &Expr) -> Option<&PartFacts> {
        self.known.facts.get(&std::ptr::from_ref(expr))
    }
}
