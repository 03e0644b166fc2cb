//! Recognizes programs that are epilogues, by symbolic execution of their registers.

use super::{Activation, Epilogue, Shape, Tail, Term};
use crate::lanes::{Class, Linear, Reg};
use crate::program::{Instr, Program};
use crate::tensor::strides;
use onnx_formula::{Binary, Unary};
use onnx_ir::ElemType;
use std::sync::{Arc, OnceLock};

/// The symbolic value of a register.
#[derive(Clone)]
enum Held {
    Total(Box<Epilogue>),
    /// A function of the total computed at a step: an activation or its first part.
    Of(usize, Partial),
    Number(f32),
    Column(usize, Linear),
    Row(usize, Linear),
    /// 32-bit integers, for columns or rows.
    Sum(usize, Linear),
    SumOfRow(usize, Linear),
    Other(usize, Linear),
}

/// A part of an activation.
#[derive(Clone, Copy)]
enum Partial {
    Negative,
    /// `exp(-x)`, and `exp(-x) + 1`.
    Exp,
    ExpAndOne,
    Sigmoid,
    /// A slope, an offset, and which limits are applied.
    Line(f32, f32, [bool; 2]),
}

impl Shape<'_> {
    /// A load as a symbolic value: a number for each column or row, or an element for each of the result.
    fn loaded(&self, operand: usize, elem: ElemType, place: &Linear) -> Option<Held> {
        let of_result = strides(self.dims);
        let is_of = |axis: usize, by: usize| self.dims[axis] == 1 || place.by[axis] == by as i64;
        let is_float = elem == ElemType::FLOAT;
        let is_along = |own: &[usize], other: &[usize]| {
            let mut by = 1;
            let is_next = |axis: &usize| {
                let is = is_of(*axis, by);
                by *= self.dims[*axis];
                is
            };
            own.iter().rev().all(is_next) && other.iter().all(|&axis| is_of(axis, 0))
        };
        let is_column = is_along(self.columns, self.rows);
        let is_row = match self.is_one_row {
            true => self.columns.iter().all(|&axis| is_of(axis, 0)),
            false => is_along(self.rows, self.columns),
        };
        match elem {
            ElemType::FLOAT if is_column => Some(Held::Column(operand, place.clone())),
            ElemType::INT32 if is_column => Some(Held::Sum(operand, place.clone())),
            ElemType::FLOAT if is_row => Some(Held::Row(operand, place.clone())),
            ElemType::INT32 if is_row => Some(Held::SumOfRow(operand, place.clone())),
            _ => {
                let is_result = is_float && (0..self.dims.len()).all(|axis| is_of(axis, of_result[axis]));
                is_result.then(|| Held::Other(operand, place.clone()))
            }
        }
    }
}

/// The symbolic values of registers, with the steps that computed them.
struct Follow {
    held: Vec<(Reg, Held, usize)>,
    /// The arguments of activations.
    totals: Vec<(usize, Epilogue)>,
}

impl Follow {
    fn of(&self, reg: &Reg) -> Option<(Held, usize)> {
        let found = self.held.iter().rev().find(|(other, ..)| other == reg)?;
        Some((found.1.clone(), found.2))
    }
}

impl Epilogue {
    /// The epilogue that a program computes, if it is one. Without a program, single floats are stored unchanged.
    pub(crate) fn of(
        then: Option<&Program>,
        elem: ElemType,
        total: Class,
        shape: Shape<'_>,
    ) -> Option<Epilogue> {
        matches!(elem, ElemType::FLOAT | ElemType::UINT8 | ElemType::INT8).then_some(())?;
        let identity = Epilogue {
            sum: None,
            sum_of_row: None,
            scale: Term::All(1.0),
            scale_of_row: None,
            // Adding -0 keeps the sign of a zero.
            bias: Term::All(-0.0),
            of_row: None,
            other: None,
            least: f32::NEG_INFINITY,
            most: f32::INFINITY,
            is_double: false,
            zero: None,
            activation: Activation::Identity,
            tail: None,
            of_one_row: shape.is_one_row.then_some(shape.columns.len()),
        };
        let Some(then) = then else {
            return (elem == ElemType::FLOAT && total == Class::Single).then_some(identity);
        };
        // The symbolic value of each register, from the accumulator and the constants on.
        let mut follow = Follow { held: Vec::new(), totals: Vec::new() };
        let first = then.total.filter(|reg| reg.class != Class::Double)?;
        follow.held.push((first, Held::Total(Box::new(identity)), 0));
        let is_single =
            |(reg, x, _): &&(Reg, f64, i64)| reg.class != Class::Int && f64::from(*x as f32) == *x;
        let singles = then.numbers.iter().filter(is_single);
        follow.held.extend(singles.map(|(reg, x, _)| (*reg, Held::Number(*x as f32), 0)));
        for (at, instr) in then.instrs.iter().enumerate() {
            let of = |reg: &Reg| follow.of(reg);
            let (to, result) = match instr {
                Instr::Load { to, operand, elem, place } => (to, shape.loaded(*operand, *elem, place)?),
                Instr::Binary { to, op, a, b } => (to, with(*op, of(a)?, of(b)?, &mut follow.totals)?),
                Instr::Unary { to, op: Unary::Round, x } => (to, Held::Total(Box::new(of(x)?.0.rounded()?))),
                Instr::Unary { to, op, x } => (to, unary(*op, of(x)?, &mut follow.totals)?),
                Instr::Widen { to, x } => (to, of(x)?.0.cast(to.class)?),
                Instr::Cast { to, cast, x } if matches!(cast.to, ElemType::FLOAT | ElemType::DOUBLE) => {
                    (to, of(x)?.0.cast(to.class)?)
                }
                Instr::Cast { to, cast, x } => {
                    let Held::Total(it) = of(x)?.0 else { return None };
                    it.is_byte(cast.to).then_some(())?;
                    if then.result == Some(*to) && at + 1 == then.instrs.len() && cast.to == elem {
                        return Some(*it);
                    }
                    return it.with_tail(then, at, *to, cast.to, elem);
                }
                _ => return None,
            };
            follow.held.push((*to, result, at + 1));
        }
        // The result is a clamped linear function, a byte, or an activation of such a function.
        let (held, _) = follow.of(&then.result?)?;
        match held {
            Held::Total(it) if elem == ElemType::FLOAT => {
                (it.zero.is_none() && !it.is_double && !it.has_sum() && it.scale_of_row.is_none())
                    .then_some(*it)
            }
            // A byte result must be a byte before it is stored.
            Held::Total(it) => it.is_byte(elem).then_some(*it),
            Held::Of(at, partial) if elem == ElemType::FLOAT => {
                let (_, it) = follow.totals.into_iter().find(|(other, _)| *other == at)?;
                let activation = match partial {
                    Partial::Sigmoid => Activation::Sigmoid,
                    Partial::Line(a, b, [true, true]) => Activation::HardSigmoid(a, b),
                    _ => return None,
                };
                it.activated(activation)
            }
            _ => None,
        }
    }

    /// Whether it is rounded to a byte type.
    fn is_byte(&self, elem: ElemType) -> bool {
        let [least, most] = match elem {
            ElemType::UINT8 => [0.0, 255.0],
            ElemType::INT8 => [-128.0, 127.0],
            _ => return false,
        };
        let is_summed = !self.has_sum() || self.is_double;
        is_summed && self.zero.is_some() && self.other.is_none() && self.least >= least && self.most <= most
    }

    /// Whether integers are added to the total.
    fn has_sum(&self) -> bool {
        self.sum.is_some() || self.sum_of_row.is_some()
    }

    /// Appends the steps after the byte, if they depend only on it.
    fn with_tail(
        mut self,
        then: &Program,
        at: usize,
        byte: Reg,
        from: ElemType,
        to: ElemType,
    ) -> Option<Epilogue> {
        let is_it = byte.class != Class::Double && matches!(to, ElemType::UINT8 | ElemType::INT8);
        is_it.then_some(())?;
        let mut known: Vec<Reg> = then.numbers.iter().map(|(reg, ..)| *reg).chain([byte]).collect();
        let instrs = then.instrs[at + 1..].to_vec();
        for instr in &instrs {
            instr.is_pure().then_some(())?;
            let mut regs = instr.regs();
            let written = regs.pop()?;
            regs.iter().all(|reg| known.contains(reg)).then_some(())?;
            known.push(written);
        }
        let program =
            Program { along: 0, instrs, total: Some(byte), numbers: then.numbers.clone(), ..then.clone() };
        self.tail = Some(Arc::new(Tail { program, from, to, table: OnceLock::new() }));
        Some(self)
    }

    fn activated(mut self, activation: Activation) -> Option<Epilogue> {
        let is_linear = self.is_free() && self.zero.is_none() && !self.is_double && !self.has_sum();
        let is_linear = is_linear && self.scale_of_row.is_none();
        self.activation = activation;
        is_linear.then_some(self)
    }

    /// Whether it has no addend and no limits.
    fn is_free(&self) -> bool {
        self.other.is_none() && self.least == f32::NEG_INFINITY && self.most == f32::INFINITY
    }
}

impl Held {
    /// The symbolic value after a conversion to another register class.
    fn cast(self, to: Class) -> Option<Held> {
        match (self, to) {
            (Held::Total(mut it), Class::Double) => {
                // After arithmetic, it is a single float.
                let is_bare = matches!((&it.scale, &it.bias), (Term::All(1.0), Term::All(x)) if *x == 0.0);
                (is_bare && it.of_row.is_none() && it.scale_of_row.is_none() && it.zero.is_none())
                    .then_some(())?;
                it.is_double = true;
                Some(Held::Total(it))
            }
            (held @ Held::Total(_), Class::Single) => Some(held),
            (held @ (Held::Number(_) | Held::Column(..) | Held::Row(..)), Class::Single | Class::Double) => {
                Some(held)
            }
            (Held::Sum(..) | Held::SumOfRow(..) | Held::Other(..) | Held::Of(..), _) | (_, Class::Int) => {
                None
            }
        }
    }

    fn rounded(self) -> Option<Epilogue> {
        let Held::Total(mut it) = self else { return None };
        (it.is_free() && it.of_row.is_none() && it.zero.is_none()).then_some(())?;
        it.zero = Some(0.0);
        Some(*it)
    }
}

/// A unary operation that is part of an activation; `totals` are the arguments.
fn unary(op: Unary, (x, at): (Held, usize), totals: &mut Vec<(usize, Epilogue)>) -> Option<Held> {
    Some(match (op, x) {
        (Unary::Neg, Held::Total(it)) => {
            totals.push((at, *it));
            Held::Of(at, Partial::Negative)
        }
        (Unary::Exp, Held::Of(of, Partial::Negative)) => Held::Of(of, Partial::Exp),
        (Unary::Reciprocal, Held::Of(of, Partial::ExpAndOne)) => Held::Of(of, Partial::Sigmoid),
        _ => return None,
    })
}

/// A binary operation whose result is part of an epilogue.
fn with(
    op: Binary,
    (a, of_a): (Held, usize),
    (b, of_b): (Held, usize),
    totals: &mut Vec<(usize, Epilogue)>,
) -> Option<Held> {
    let is_commutative = matches!(op, Binary::Add | Binary::Mul | Binary::Max | Binary::Min);
    match (op, &a, &b) {
        (Binary::Add, Held::Number(1.0), Held::Of(of, Partial::Exp))
        | (Binary::Add, Held::Of(of, Partial::Exp), Held::Number(1.0)) => {
            return Some(Held::Of(*of, Partial::ExpAndOne));
        }
        (_, Held::Of(of, Partial::Line(slope, height, limits)), Held::Number(x)) => {
            let line = match (op, limits) {
                (Binary::Add, [false, false]) => Partial::Line(*slope, height + x, *limits),
                (Binary::Min, [false, most]) if *x == 1.0 => Partial::Line(*slope, *height, [true, *most]),
                (Binary::Max, [least, false]) if *x == 0.0 => Partial::Line(*slope, *height, [*least, true]),
                _ => return None,
            };
            return Some(Held::Of(*of, line));
        }
        (Binary::Mul, Held::Total(it), Held::Of(of, partial)) if *of == of_a => {
            return activated(it, *partial).map(|it| Held::Total(Box::new(it)));
        }
        (Binary::Mul, Held::Of(of, partial), Held::Total(it)) if *of == of_b => {
            return activated(it, *partial).map(|it| Held::Total(Box::new(it)));
        }
        _ => {}
    }
    match (a, b) {
        (Held::Total(it), with) => linear(op, it, with, of_a, totals),
        (with, Held::Total(it)) if is_commutative => linear(op, it, with, of_b, totals),
        _ => None,
    }
}

/// The argument times a part of an activation.
fn activated(it: &Epilogue, partial: Partial) -> Option<Epilogue> {
    it.clone().activated(match partial {
        Partial::Sigmoid => Activation::Silu,
        Partial::Line(a, b, [true, true]) => Activation::HardSwish(a, b),
        _ => return None,
    })
}

/// An operation on a total and another operand.
fn linear(
    op: Binary,
    mut it: Box<Epilogue>,
    with: Held,
    at: usize,
    totals: &mut Vec<(usize, Epilogue)>,
) -> Option<Held> {
    (it.activation == Activation::Identity).then_some(())?;
    let is_free = it.is_free();
    let has_bias = it.of_row.is_some() || !matches!(it.bias, Term::All(x) if x == 0.0);
    let has_scale = it.scale_of_row.is_some() || !matches!(it.scale, Term::All(1.0));
    match (op, with) {
        (Binary::Add, Held::Number(x)) if it.zero == Some(0.0) && is_free => it.zero = Some(x),
        (Binary::Sub, Held::Number(x)) if it.zero == Some(0.0) && is_free => it.zero = Some(-x),
        (Binary::Max, Held::Number(x)) if it.least == f32::NEG_INFINITY && !x.is_nan() && x <= it.most => {
            it.least = x;
        }
        (Binary::Min, Held::Number(x)) if it.most == f32::INFINITY && !x.is_nan() && it.least <= x => {
            it.most = x;
        }
        _ if it.zero.is_some() => return None,
        (Binary::Add, Held::Sum(operand, place)) if is_free && !has_bias && !has_scale && !it.has_sum() => {
            it.sum = Some((operand, place));
        }
        (Binary::Add, Held::SumOfRow(operand, place))
            if is_free && !has_bias && !has_scale && !it.has_sum() =>
        {
            it.sum_of_row = Some((operand, place));
        }
        (Binary::Mul, Held::Number(x)) if is_free && has_bias => {
            totals.push((at, *it));
            return Some(Held::Of(at, Partial::Line(x, 0.0, [false, false])));
        }
        (Binary::Mul, Held::Number(x)) if is_free && !has_scale => it.scale = Term::All(x),
        (Binary::Mul, Held::Column(operand, place)) if is_free && !has_bias && !has_scale => {
            it.scale = Term::Each(operand, place);
        }
        (Binary::Mul, Held::Row(operand, place)) if is_free && !has_bias && !has_scale => {
            it.scale_of_row = Some((operand, place));
        }
        (Binary::Add, Held::Number(x)) if is_free && !has_bias => it.bias = Term::All(x),
        (Binary::Sub, Held::Number(x)) if is_free && !has_bias => it.bias = Term::All(-x),
        (Binary::Add, Held::Column(operand, place)) if is_free && !has_bias => {
            it.bias = Term::Each(operand, place);
        }
        (Binary::Add, Held::Row(operand, place)) if is_free && it.of_row.is_none() && !it.is_double => {
            it.of_row = Some((operand, place));
        }
        (Binary::Add, Held::Other(operand, place)) if is_free => it.other = Some((operand, place)),
        _ => return None,
    }
    Some(Held::Total(it))
}
