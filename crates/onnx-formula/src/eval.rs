//! Reference evaluation of formulas, element by element.

use crate::{
    Binary, Combine, Definition, Dense, Elements, Expr, Formula, Index, Keep, Kind, Mode, Number, count,
};
use onnx_ir::ElemType;

impl Definition {
    /// The results for these inputs, by output; `None` if the result is undefined, or if a formula needs more than `most` loads.
    pub fn evaluate(
        &self,
        inputs: &[Option<&dyn Elements>],
        mode: Mode,
        most: usize,
    ) -> Option<Vec<Option<Dense>>> {
        let mut results: Vec<Dense> = Vec::with_capacity(self.formulas.len());
        for formula in &self.formulas {
            let mut loads: Vec<Option<&dyn Elements>> = inputs.to_vec();
            loads.resize(self.inputs, None);
            loads.extend(results.iter().map(|dense| Some(dense as &dyn Elements)));
            results.push(formula.evaluate(&loads, mode, most)?);
        }
        let mut results: Vec<Option<Dense>> = results.into_iter().map(Some).collect();
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for (i, output) in self.outputs.iter().enumerate() {
            outputs.push(match output {
                // Two outputs may share a formula.
                Some(formula) if self.outputs[i + 1..].contains(output) => results.get(*formula)?.clone(),
                Some(formula) => results.get_mut(*formula)?.take(),
                None => None,
            });
        }
        Some(outputs)
    }
}

impl Formula {
    /// The result for these inputs (of the node, and of previous formulas); `None` if it is undefined, or needs more than `most`
    /// loads.
    pub fn evaluate(&self, inputs: &[Option<&dyn Elements>], mode: Mode, most: usize) -> Option<Dense> {
        let over: &[usize] = self.over.as_ref().map_or(&[], |over| &over.dims);
        let (total, each) = (count(&self.dims)?, count(over)?);
        let steps = self.expr.loads().max(1).checked_mul(each)?.checked_add(1)?;
        let last = self.then.as_ref().map_or(0, Expr::loads);
        total.checked_mul(steps.checked_add(last)?).filter(|n| *n <= most)?;
        let mut point = Point::new(self.dims.len() + over.len(), inputs, mode);
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(total).ok()?;
        for _ in 0..total {
            numbers.push(self.at_point(&mut point, each)?);
            advance(&mut point.at[..self.dims.len()], &self.dims);
        }
        Some(Dense { elem: self.elem, dims: self.dims.clone(), numbers })
    }

    /// One element of the result, by row-major index; `None` if it does not exist or is undefined.
    pub fn element(&self, inputs: &[Option<&dyn Elements>], mode: Mode, place: usize) -> Option<Number> {
        let over: &[usize] = self.over.as_ref().map_or(&[], |over| &over.dims);
        let mut point = Point::new(self.dims.len() + over.len(), inputs, mode);
        let mut rest = place;
        for (at, d) in point.at[..self.dims.len()].iter_mut().zip(&self.dims).rev() {
            (*at, rest) = (rest.checked_rem(*d)?, rest.checked_div(*d)?);
        }
        (rest == 0).then_some(())?;
        self.at_point(&mut point, count(over)?)
    }

    /// The element at a position; `each` is the number of reduced elements.
    fn at_point(&self, point: &mut Point<'_>, each: usize) -> Option<Number> {
        point.total = None;
        point.at[self.dims.len()..].fill(0);
        let number = match &self.over {
            None => self.expr.at(point)?,
            Some(reduction) => {
                let mut sum = Accumulator::new(reduction.combine, point.mode);
                for _ in 0..each {
                    sum.push(self.expr.at(point)?)?;
                    advance(&mut point.at[self.dims.len()..], &reduction.dims);
                }
                sum.total(reduction.elem)?
            }
        };
        let number = match &self.then {
            None => number,
            Some(then) => {
                point.total = Some(number);
                then.at(point)?
            }
        };
        Some(number.wrap(self.elem))
    }
}

/// The next position in row-major order.
pub(crate) fn advance(at: &mut [usize], dims: &[usize]) {
    for (i, d) in at.iter_mut().zip(dims).rev() {
        *i += 1;
        if *i < *d {
            return;
        }
        *i = 0;
    }
}

/// The accumulator of a reduction.
struct Accumulator {
    combine: Combine,
    mode: Mode,
    number: Option<Number>,
    /// The index of the best element, for arg reductions.
    at: i128,
    count: i128,
}

impl Accumulator {
    fn new(combine: Combine, mode: Mode) -> Self {
        Accumulator { combine, mode, number: None, at: 0, count: 0 }
    }

    fn push(&mut self, number: Number) -> Option<()> {
        let is_nan = matches!(number, Number::Float(x) if x.is_nan());
        if is_nan && self.mode == Mode::Portable {
            return None;
        }
        let Some(before) = self.number else {
            (self.number, self.count) = (Some(number), 1);
            return Some(());
        };
        let apply = |op: Binary| op.apply(before, number, self.mode);
        let next = match self.combine {
            Combine::Sum => apply(Binary::Add)?,
            Combine::Product => apply(Binary::Mul)?,
            Combine::Max => apply(Binary::Max)?,
            Combine::Min => apply(Binary::Min)?,
            Combine::ArgMax(keep) | Combine::ArgMin(keep) => {
                let is_max = matches!(self.combine, Combine::ArgMax(_));
                let is_better =
                    beats(number, before, is_max) || keep == Keep::Last && !beats(before, number, is_max);
                if is_better {
                    self.at = self.count;
                    number
                } else {
                    before
                }
            }
        };
        self.number = Some(next);
        self.count += 1;
        Some(())
    }

    fn total(self, elem: ElemType) -> Option<Number> {
        match self.combine {
            Combine::ArgMax(_) | Combine::ArgMin(_) => self.number.map(|_| Number::Int(self.at)),
            Combine::Sum | Combine::Product | Combine::Max | Combine::Min => {
                let number = match self.number {
                    Some(number) => number,
                    None => self.combine.neutral(elem)?,
                };
                // Floats are not rounded before the end.
                Some(match number {
                    Number::Int(_) => number.wrap(elem),
                    Number::Float(_) => number,
                })
            }
        }
    }
}

/// Whether a number beats another; NaN beats everything.
fn beats(a: Number, b: Number, is_max: bool) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => {
            if is_max {
                a > b
            } else {
                a < b
            }
        }
        (Number::Float(a), Number::Float(b)) => {
            a.is_nan() && !b.is_nan() || if is_max { a > b } else { a < b }
        }
        (Number::Int(_), Number::Float(_)) | (Number::Float(_), Number::Int(_)) => false,
    }
}

impl Combine {
    /// The identity of the reduction.
    pub fn neutral(self, elem: ElemType) -> Option<Number> {
        let kind = Kind::of(elem)?;
        let least = |is_least: bool| match kind {
            Kind::Bool => Number::Int(i128::from(!is_least)),
            Kind::Int(width, true) if is_least => Number::Int(-(1 << (width - 1))),
            Kind::Int(_, false) if is_least => Number::Int(0),
            Kind::Int(width, is_signed) => Number::Int((1 << (width - u32::from(is_signed))) - 1),
            Kind::Float(_) => Number::Float(if is_least { f64::NEG_INFINITY } else { f64::INFINITY }),
        };
        let whole = |n: i32| match kind {
            Kind::Float(_) => Number::Float(n.into()),
            Kind::Bool | Kind::Int(..) => Number::Int(n.into()),
        };
        match self {
            Combine::Sum => Some(whole(0)),
            Combine::Product => Some(whole(1)),
            Combine::Max => Some(least(true)),
            Combine::Min => Some(least(false)),
            Combine::ArgMax(_) | Combine::ArgMin(_) => None,
        }
    }
}

/// The point at which an expression is evaluated.
pub(crate) struct Point<'a> {
    pub(crate) at: Vec<usize>,
    pub(crate) inputs: &'a [Option<&'a dyn Elements>],
    mode: Mode,
    total: Option<Number>,
}

impl<'a> Point<'a> {
    /// The first position.
    pub(crate) fn new(indices: usize, inputs: &'a [Option<&'a dyn Elements>], mode: Mode) -> Self {
        Point { at: vec![0; indices], inputs, mode, total: None }
    }
}

impl Expr {
    /// The most loads for one element.
    fn loads(&self) -> usize {
        match self {
            Expr::Load(_, position) => position.iter().fold(1, |n, index| n.saturating_add(index.loads())),
            Expr::Number(_) | Expr::Total => 0,
            Expr::Index(index) => index.loads(),
            Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(.., x) => x.loads(),
            Expr::Binary(_, a, b) => a.loads().saturating_add(b.loads()),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                condition.loads().saturating_add(yes.loads().max(no.loads()))
            }
        }
    }

    pub(crate) fn at(&self, point: &Point<'_>) -> Option<Number> {
        match self {
            Expr::Load(input, position) => {
                let from = (*point.inputs.get(*input)?)?;
                let offset = offset(position, from.dims(), point)?;
                from.number(offset)
            }
            Expr::Number(number) => Some(*number),
            Expr::Index(index) => Some(Number::Int(index.at_point(point)?.into())),
            Expr::Total => point.total,
            Expr::Unary(op, x) => op.apply(x.at(point)?, point.mode),
            Expr::Binary(op, a, b) => op.apply(a.at(point)?, b.at(point)?, point.mode),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.at(point)?.is_true() { yes.at(point) } else { no.at(point) }
            }
            Expr::Cast(cast, x) => cast.apply(x.at(point)?, point.mode),
            Expr::Bits(from, to, x) => Number::from_bits(*to, x.at(point)?.to_bits(*from)?),
        }
    }
}

/// The row-major offset of a position.
pub(crate) fn offset(position: &[Index], dims: &[usize], point: &Point<'_>) -> Option<usize> {
    if position.len() != dims.len() {
        return None;
    }
    let mut offset = 0usize;
    for (index, d) in position.iter().zip(dims) {
        let i = usize::try_from(index.at_point(point)?).ok().filter(|i| i < d)?;
        offset = offset.checked_mul(*d)?.checked_add(i)?;
    }
    Some(offset)
}

impl Index {
    fn loads(&self) -> usize {
        match self {
            Index::Affine(..) => 0,
            Index::Sum(parts) => parts.iter().fold(0, |n, (part, _)| n.saturating_add(part.loads())),
            Index::Div(index, _) | Index::Rem(index, _) => index.loads(),
            Index::Element(expr) => expr.loads(),
        }
    }

    fn at_point(&self, point: &Point<'_>) -> Option<i64> {
        match self {
            Index::Affine(offset, terms) => terms.iter().try_fold(*offset, |sum, (index, by)| {
                let index = i64::try_from(*point.at.get(*index)?).ok()?;
                sum.checked_add(index.checked_mul(*by)?)
            }),
            Index::Sum(parts) => parts
                .iter()
                .try_fold(0i64, |sum, (part, by)| sum.checked_add(part.at_point(point)?.checked_mul(*by)?)),
            Index::Div(index, by) => index.at_point(point)?.checked_div_euclid(*by),
            Index::Rem(index, by) => index.at_point(point)?.checked_rem_euclid(*by),
            Index::Element(expr) => match expr.at(point)? {
                Number::Int(n) => i64::try_from(n).ok(),
                Number::Float(_) => None,
            },
        }
    }
}
