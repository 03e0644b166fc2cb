//! Checks invariants of definitions: positions have an index for each dimension, indices belong to the result or to the reduction, and
//! both operands of an operation have the same type.

use crate::{Combine, Definition, Domain, Expr, Formula, Index, Kind, Number, is_float};
use onnx_ir::ElemType;

/// An operand: element type and rank; `None` for an omitted one.
pub type OperandType = Option<(ElemType, usize)>;

/// An output: element type and sizes; `None` for an omitted one.
pub type OutputType<'a> = Option<(ElemType, &'a [usize])>;

/// The type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ExprType {
    Elem(ElemType),
    /// An integer or boolean number, which adopts the type of the other operand.
    Int,
    /// A float number, likewise.
    Float,
}

impl ExprType {
    /// The common type of two operands.
    fn unify(self, other: ExprType) -> Option<ExprType> {
        let fits = |elem: ElemType, wants_float: bool| {
            let is_number = Kind::of(elem).is_some();
            // A number is a placeholder in types that are not numeric.
            (!is_number || is_float(elem) == wants_float).then_some(ExprType::Elem(elem))
        };
        match (self, other) {
            (ExprType::Elem(a), ExprType::Elem(b)) => (a == b).then_some(ExprType::Elem(a)),
            (ExprType::Int, ExprType::Int) | (ExprType::Float, ExprType::Float) => Some(self),
            (ExprType::Elem(elem), ExprType::Int) | (ExprType::Int, ExprType::Elem(elem)) => {
                fits(elem, false)
            }
            (ExprType::Elem(elem), ExprType::Float) | (ExprType::Float, ExprType::Elem(elem)) => {
                fits(elem, true)
            }
            (ExprType::Int, ExprType::Float) | (ExprType::Float, ExprType::Int) => None,
        }
    }

    /// Whether a result of this type can be stored as another type without a cast: floats are rounded.
    fn becomes(self, elem: ElemType) -> Option<()> {
        match self {
            ExprType::Elem(own) if is_float(own) && is_float(elem) => Some(()),
            ty => ty.unify(ExprType::Elem(elem)).map(|_| ()),
        }
    }
}

impl Definition {
    /// Whether the invariants hold for a node with these inputs and outputs.
    pub fn is_sound(&self, inputs: &[OperandType], outputs: &[OutputType<'_>]) -> bool {
        self.check(inputs, outputs).is_some()
    }

    fn check(&self, inputs: &[OperandType], outputs: &[OutputType<'_>]) -> Option<()> {
        let mut sources = inputs.to_vec();
        for formula in &self.formulas {
            formula.check(&sources)?;
            sources.push(Some((formula.elem, formula.dims.len())));
        }
        let mut pairs = self.outputs.iter().zip(outputs);
        let is_declared = pairs.all(|(formula, output)| match (formula, output) {
            (Some(formula), Some((elem, dims))) => self
                .formulas
                .get(*formula)
                .is_some_and(|formula| formula.elem == *elem && formula.dims == *dims),
            (formula, output) => formula.is_none() && output.is_none(),
        });
        (is_declared && self.outputs.len() == outputs.len() && self.inputs == inputs.len()).then_some(())
    }
}

/// The context of an expression.
struct Scope<'a> {
    sources: &'a [OperandType],
    /// The number of indices.
    indices: usize,
    /// The type of the accumulator, in an epilogue.
    total: Option<ElemType>,
}

impl Formula {
    fn check(&self, sources: &[OperandType]) -> Option<()> {
        let over = self.over.as_ref().map_or(0, |over| over.dims.len());
        let scope = Scope { sources, indices: self.dims.len() + over, total: None };
        let element = self.expr.ty(&scope)?;
        let total = match &self.over {
            None => element,
            Some(over) => {
                let is_place = matches!(over.combine, Combine::ArgMax(_) | Combine::ArgMin(_));
                match is_place {
                    true => (over.elem == ElemType::INT64).then_some(())?,
                    false => element.becomes(over.elem)?,
                }
                ExprType::Elem(over.elem)
            }
        };
        let result = match &self.then {
            None => total,
            Some(then) => {
                let total = Some(self.over.as_ref()?.elem);
                then.ty(&Scope { sources, indices: self.dims.len(), total })?
            }
        };
        result.becomes(self.elem)
    }
}

impl Expr {
    fn ty(&self, scope: &Scope<'_>) -> Option<ExprType> {
        let bool = ExprType::Elem(ElemType::BOOL);
        match self {
            Expr::Load(input, position) => {
                let (elem, rank) = (*scope.sources.get(*input)?)?;
                position.iter().try_for_each(|index| index.check(scope))?;
                (position.len() == rank).then_some(ExprType::Elem(elem))
            }
            Expr::Number(Number::Int(_)) => Some(ExprType::Int),
            Expr::Number(Number::Float(_)) => Some(ExprType::Float),
            Expr::Index(index) => index.check(scope).map(|()| ExprType::Elem(ElemType::INT64)),
            Expr::Total => scope.total.map(ExprType::Elem),
            Expr::Unary(op, x) => op.domain().ty(x.ty(scope)?),
            Expr::Binary(op, a, b) => op.domain().ty(a.ty(scope)?.unify(b.ty(scope)?)?),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                condition.ty(scope)?.unify(bool)?;
                yes.ty(scope)?.unify(no.ty(scope)?)
            }
            Expr::Cast(cast, x) => {
                x.ty(scope)?.is_number().then_some(())?;
                Kind::of(cast.to).map(|_| ExprType::Elem(cast.to))
            }
            Expr::Bits(from, to, x) => {
                x.ty(scope)?.unify(ExprType::Elem(*from))?;
                (from.bits()? == to.bits()?).then_some(ExprType::Elem(*to))
            }
        }
    }
}

impl ExprType {
    fn is_number(self) -> bool {
        match self {
            ExprType::Elem(elem) => Kind::of(elem).is_some(),
            ExprType::Int | ExprType::Float => true,
        }
    }

    fn is_float(self) -> bool {
        match self {
            ExprType::Elem(elem) => is_float(elem),
            ExprType::Int => false,
            ExprType::Float => true,
        }
    }
}

impl Domain {
    /// The result type for operands of this type.
    fn ty(self, operands: ExprType) -> Option<ExprType> {
        let bool = ExprType::Elem(ElemType::BOOL);
        match self {
            Domain::Booleans => operands.unify(bool),
            Domain::Tests => operands.is_number().then_some(bool),
            Domain::Integers => (operands.is_number() && !operands.is_float()).then_some(operands),
            Domain::Floats => operands.is_float().then_some(operands),
            Domain::Numbers => operands.is_number().then_some(operands),
        }
    }
}

impl Index {
    fn check(&self, scope: &Scope<'_>) -> Option<()> {
        match self {
            Index::Affine(_, terms) => terms.iter().all(|(index, _)| *index < scope.indices).then_some(()),
            Index::Sum(parts) => parts.iter().try_for_each(|(part, _)| part.check(scope)),
            Index::Div(index, by) | Index::Rem(index, by) => {
                (*by > 0).then_some(())?;
                index.check(scope)
            }
            Index::Element(expr) => {
                let ty = expr.ty(scope)?;
                (ty.is_number() && !ty.is_float()).then_some(())
            }
        }
    }
}
