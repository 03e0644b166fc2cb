//! What depends on constants alone, computed once.
//!
//! That are whole formulas, and parts of others: arithmetic with constants on both sides of something else becomes one
//! multiplication and one addition, whose numbers are computed here. So a batch normalization behind a convolution is
//!
//! ```text
//! scale[i1] * (total + b[i1] - mean[i1]) / sqrt(variance[i1] + 1e-5) + bias[i1]   ──▶   total * %7[i1] + %8[i1]
//! ```

use super::define::{Item, Stretch};
use super::dequantized::is_dequantized;
use super::index::Position;
use super::rewrite::{Rewrite, extents, load, operands, walk};
use super::{Slot, Source, Step, root, types};
use crate::compile::{Executable, lock_of};
use crate::loops::{Nest, View};
use crate::tensor::Tensor;
use onnx_ir::ElemType;
use onnx_ops::meaning::{Binary, Expr, Formula, Index, Number, Unary};

/// What takes more steps is computed when it is wanted, and within what the run may take.
const MOST_STEPS: usize = 1 << 26;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    All,
    /// What is no dequantized byte, which may be wanted as the byte that it is.
    ButBytes,
}

/// Computes the formulas that load nothing but constants.
pub(super) fn compute(stretch: &mut Stretch, which: Which) {
    let Stretch { items, slots, .. } = stretch;
    items.retain(|item| {
        let Item::Formula(assignment) = item else { return true };
        if which == Which::ButBytes && is_dequantized(&assignment.formula, slots) {
            return true;
        }
        let slot = assignment.slot;
        match evaluated(&assignment.formula, slots) {
            // Extents of the slot are those of the formula before its axes were split.
            Some(tensor) => match tensor.reshaped(&slots[slot].dims) {
                Ok(tensor) => {
                    slots[slot].source = Source::Constant(tensor);
                    false
                }
                Err(_) => true,
            },
            None => true,
        }
    });
}

/// Prepares the constant factors of matrix products, once for all plans: they take as much memory again.
pub(super) fn pack(steps: &mut [Step], slots: &[Slot], executable: &Executable<'_>) {
    for step in steps {
        let Step::Kernel(kernel) = step else { continue };
        let constant = |slot: &usize| match &slots[root(slots, *slot)].source {
            Source::Constant(tensor) => Some(tensor),
            Source::Value(_) | Source::Formula | Source::Alias(_) => None,
        };
        let constants: Vec<Option<&Tensor>> = kernel.loads.iter().map(constant).collect();
        for member in kernel.members.iter_mut().filter(|member| member.nest.is_product()) {
            let Some(node) = member.assignment.nodes.first() else { continue };
            let mut packed = lock_of(&executable.packed);
            // Without the memory for it, they are prepared in each run.
            _ = member.nest.pack_constants(&constants, packed.entry(*node).or_default());
        }
    }
}

/// What a formula of constants gives; nothing of what is no such formula, or too much, or fails.
fn evaluated(formula: &Formula, slots: &[Slot]) -> Option<Tensor> {
    if formula.elem == ElemType::STRING {
        return None;
    }
    let operands = operands(formula);
    let mut loaded = 0usize;
    let mut views: Vec<Option<View<'_>>> = vec![None; operands.iter().max().map_or(0, |most| most + 1)];
    for operand in operands {
        let Source::Constant(tensor) = &slots[root(slots, operand)].source else { return None };
        loaded = loaded.saturating_add(tensor.len());
        views[operand] = Some(View::of(tensor));
    }
    // What is made of little and large is made when it is wanted.
    let count = crate::tensor::count(&formula.dims)?;
    (count <= loaded.saturating_mul(2).max(1 << 12)).then_some(())?;
    let nest = Nest::of(formula, &types(slots))?;
    (nest.steps() <= MOST_STEPS).then_some(())?;
    let mut result = Tensor::zeros(formula.elem, &formula.dims).ok()?;
    nest.run_all(&views, result.bytes_mut().ok()?).ok()?;
    Some(result)
}

/// Parts of more elements are computed where they are wanted.
const MOST_OF_PART: usize = 1 << 16;

/// Computes the parts of formulas that depend on constants alone.
pub(super) fn parts(stretch: &mut Stretch) {
    let Stretch { items, slots, .. } = stretch;
    for item in items {
        let Item::Formula(assignment) = item else { continue };
        let formula = &mut assignment.formula;
        let total = formula.over.as_ref().map(|over| over.elem);
        let mut parts = Parts { slots, extents: extents(formula), total };
        formula.expr = match &formula.expr {
            // A sum of products stays one.
            Expr::Binary(Binary::Mul, a, b) if formula.over.is_some() => {
                parts.simplified(a).binary(Binary::Mul, parts.simplified(b))
            }
            expr => parts.simplified(expr),
        };
        if let Some(then) = &formula.then {
            parts.extents.truncate(formula.dims.len());
            formula.then = Some(parts.simplified(then));
        }
    }
}

struct Parts<'s> {
    slots: &'s mut Vec<Slot>,
    extents: Vec<usize>,
    total: Option<ElemType>,
}

/// `x * scale + shift`, where both are constants, and how many operations it was.
struct Line {
    scale: Option<Expr>,
    x: Expr,
    shift: Option<Expr>,
    operations: usize,
}

impl Parts<'_> {
    fn simplified(&mut self, expr: &Expr) -> Expr {
        if self.is_constant(expr) {
            return self.computed(expr);
        }
        if self.elem(expr) == Some(ElemType::FLOAT) {
            let line = self.line(expr);
            if line.operations > 1
                && let Some(simple) = self.joined(line)
            {
                return simple;
            }
        }
        self.inside(expr)
    }

    /// The same operation on simplified operands.
    fn inside(&mut self, expr: &Expr) -> Expr {
        let mut simple = |x: &Expr| Box::new(self.simplified(x));
        match expr {
            Expr::Load(..) | Expr::Number(_) | Expr::Index(_) | Expr::Total => expr.clone(),
            Expr::Unary(op, x) => Expr::Unary(*op, simple(x)),
            Expr::Binary(op, a, b) => {
                let (mut a, mut b) = (simple(a), simple(b));
                if self.elem(&a) == Some(ElemType::FLOAT) && self.elem(&b) == Some(ElemType::FLOAT) {
                    for x in [&mut a, &mut b] {
                        **x = self.number(x).unwrap_or_else(|| (**x).clone());
                    }
                }
                Expr::Binary(*op, a, b)
            }
            // Padding is seen as such.
            Expr::Select(parts) if matches!(parts[1], Expr::Load(..)) => expr.clone(),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                Expr::Select(Box::new([*simple(condition), *simple(yes), *simple(no)]))
            }
            Expr::Cast(cast, x) => Expr::Cast(*cast, simple(x)),
            Expr::Bits(from, to, x) => Expr::Bits(*from, *to, simple(x)),
        }
    }

    /// The number that a load of a constant of one element gives.
    fn number(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Load(operand, _) = expr else { return None };
        self.slots[root(self.slots, *operand)].number().map(Expr::Number)
    }

    fn line(&mut self, expr: &Expr) -> Line {
        let op = |op: Binary, a: Expr, b: Expr| a.binary(op, b);
        match expr {
            Expr::Binary(Binary::Add, x, c) | Expr::Binary(Binary::Add, c, x) if self.is_constant(c) => {
                let mut line = self.line(x);
                line.shift = Some(
                    line.shift.map_or_else(|| (**c).clone(), |shift| op(Binary::Add, shift, (**c).clone())),
                );
                line.operations += 1;
                line
            }
            Expr::Binary(Binary::Sub, x, c) if self.is_constant(c) => {
                let mut line = self.line(x);
                let less = |shift| op(Binary::Sub, shift, (**c).clone());
                line.shift = Some(line.shift.map_or_else(|| (**c).clone().unary(Unary::Neg), less));
                line.operations += 1;
                line
            }
            Expr::Binary(Binary::Sub, c, x) if self.is_constant(c) => {
                let mut line = self.line(x);
                line.scale = Some(line.scale.map_or(Expr::float(-1.0), |scale| scale.unary(Unary::Neg)));
                let from = |shift| op(Binary::Sub, (**c).clone(), shift);
                line.shift = Some(line.shift.map_or_else(|| (**c).clone(), from));
                line.operations += 1;
                line
            }
            Expr::Binary(by @ Binary::Mul, x, c)
            | Expr::Binary(by @ Binary::Mul, c, x)
            | Expr::Binary(by @ Binary::Div, x, c)
                if self.is_constant(c) =>
            {
                let mut line = self.line(x);
                let scale = line.scale.unwrap_or(Expr::float(1.0));
                line.scale = Some(op(*by, scale, (**c).clone()));
                line.shift = line.shift.map(|shift| op(*by, shift, (**c).clone()));
                line.operations += 1;
                line
            }
            x => Line { scale: None, x: self.inside(x), shift: None, operations: 0 },
        }
    }

    fn joined(&mut self, line: Line) -> Option<Expr> {
        let mut expr = line.x;
        if let Some(scale) = line.scale {
            expr = expr * self.known(&scale)?;
        }
        if let Some(shift) = line.shift {
            expr = expr + self.known(&shift)?;
        }
        Some(expr)
    }

    /// A constant as a number or a load; nothing where that is not all of finite numbers.
    fn known(&mut self, expr: &Expr) -> Option<Expr> {
        let known = self.computed(expr);
        matches!(known, Expr::Load(..) | Expr::Number(_)).then_some(known)
    }

    /// An expression of constants, computed if it is more than one, small, and finite.
    fn computed(&mut self, expr: &Expr) -> Expr {
        if matches!(expr, Expr::Load(..) | Expr::Number(_))
            || self.elem(expr).is_some_and(|e| e != ElemType::FLOAT)
        {
            return expr.clone();
        }
        self.table(expr).unwrap_or_else(|| expr.clone())
    }

    fn table(&mut self, expr: &Expr) -> Option<Expr> {
        let mut used: Vec<usize> = Vec::new();
        let mut is_plain = true;
        walk(expr, &mut |part| match part {
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
        if !is_plain || count > MOST_OF_PART || count == 0 {
            return None;
        }
        let place = |index: usize| match used.iter().position(|used| *used == index) {
            Some(at) => Position::index(at),
            None => Position::default(),
        };
        let indices: Vec<Position> = (0..self.extents.len()).map(place).collect();
        let as_is = |operand, position| Some(load(operand, position));
        let moved = Rewrite { indices: &indices, extents: &dims, total: None, load: &as_is }.expr(expr)?;
        let formula =
            Formula { elem: ElemType::FLOAT, dims: dims.clone(), over: None, expr: moved, then: None };
        let tensor = evaluated(&formula, self.slots)?;
        let values = tensor.words::<f32>();
        if values.len() != count || !values.iter().all(|x| x.is_finite()) {
            return None;
        }
        if let [x] = values {
            return Some(Expr::Number(Number::Float((*x).into())));
        }
        self.slots.push(Slot { elem: ElemType::FLOAT, dims, source: Source::Constant(tensor) });
        Some(Expr::Load(self.slots.len() - 1, used.into_iter().map(Index::of).collect()))
    }

    fn is_constant(&self, expr: &Expr) -> bool {
        let mut is = true;
        walk(expr, &mut |part| match part {
            Expr::Load(operand, _) => {
                is &= matches!(self.slots[root(self.slots, *operand)].source, Source::Constant(_));
            }
            Expr::Total | Expr::Index(_) => is = false,
            _ => {}
        });
        is
    }

    /// The type of an expression, if it has one by itself.
    fn elem(&self, expr: &Expr) -> Option<ElemType> {
        match expr {
            Expr::Load(operand, _) => Some(self.slots[*operand].elem),
            Expr::Number(_) => None,
            Expr::Index(_) => Some(ElemType::INT64),
            Expr::Total => self.total,
            Expr::Unary(op, _) if op.is_test() => Some(ElemType::BOOL),
            Expr::Binary(op, ..) if op.is_test() => Some(ElemType::BOOL),
            Expr::Unary(_, x) => self.elem(x),
            Expr::Binary(_, a, b) => self.elem(a).or_else(|| self.elem(b)),
            Expr::Select(parts) => self.elem(&parts[1]).or_else(|| self.elem(&parts[2])),
            Expr::Cast(cast, _) => Some(cast.to),
            Expr::Bits(_, to, _) => Some(*to),
        }
    }
}
