//! Arithmetic on extents that may be symbolic: `N*4+1`, `floor(H/2)+1`, `max(N-1, 0)`.
//!
//! A [`Dim`] is a small value; what an expression is made of lives in a [`Dims`].

use onnx_ir::entity;
use std::collections::HashMap;

entity!(
    /// An expression of one [`Dims`].
    ExprId,
    "expr"
);

/// An extent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// Nothing is known.
    Unknown,
    /// A number.
    Const(i64),
    /// An expression with at least one symbol.
    Expr(ExprId),
}

/// Two extents that were said to be equal and cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// The first, as far as known.
    pub left: Dim,
    /// The second, as far as known.
    pub right: Dim,
}

/// How many equalities were recorded at some time; see [`Dims::mark`].
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

/// Expressions, symbols and equalities.
#[derive(Clone, Default)]
pub struct Dims {
    names: Vec<(String, bool)>,
    by_name: HashMap<String, usize>,
}

impl Dims {
    /// No symbols and no equalities.
    pub fn new() -> Self {
        Self::default()
    }

    /// The symbol of this name.
    pub fn symbol(&mut self, name: &str) -> Dim {
        use onnx_ir::EntityId;
        let next = self.names.len();
        let index = *self.by_name.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.names.push((name.to_owned(), false));
        }
        Dim::Expr(ExprId::from_index(index))
    }

    /// A new symbol that no name finds.
    pub fn fresh(&mut self, hint: &str) -> Dim {
        use onnx_ir::EntityId;
        self.names.push((format!("{hint}_{}", self.names.len()), true));
        Dim::Expr(ExprId::from_index(self.names.len() - 1))
    }

    /// Whether this is one symbol without a name, and nothing else.
    pub fn is_fresh(&self, d: Dim) -> bool {
        use onnx_ir::EntityId;
        matches!(d, Dim::Expr(id) if self.names[id.index()].1)
    }

    /// The extent that a text says.
    pub fn parse(&mut self, text: &str) -> Dim {
        text.parse().map_or_else(|_| self.symbol(text), Dim::Const)
    }

    /// The canonical text.
    pub fn text(&self, d: Dim) -> String {
        use onnx_ir::EntityId;
        match d {
            Dim::Unknown => "?".to_owned(),
            Dim::Const(value) => value.to_string(),
            Dim::Expr(id) => self.names[id.index()].0.clone(),
        }
    }

    fn constant(&self, a: Dim, b: Dim, f: impl Fn(i64, i64) -> Option<i64>) -> Dim {
        match (a, b) {
            (Dim::Const(a), Dim::Const(b)) => f(a, b).map_or(Dim::Unknown, Dim::Const),
            _ => Dim::Unknown,
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: Dim, b: Dim) -> Dim {
        self.constant(a, b, i64::checked_add)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Dim, b: Dim) -> Dim {
        self.constant(a, b, i64::checked_sub)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Dim, b: Dim) -> Dim {
        self.constant(a, b, i64::checked_mul)
    }

    /// `-a`.
    pub fn neg(&mut self, a: Dim) -> Dim {
        self.sub(Dim::Const(0), a)
    }

    /// `a / b`, rounded down.
    pub fn floor_div(&mut self, a: Dim, b: Dim) -> Dim {
        self.constant(a, b, |a, b| {
            let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
            if rest != 0 && (rest < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
        })
    }

    /// `a / b`, rounded up.
    pub fn ceil_div(&mut self, a: Dim, b: Dim) -> Dim {
        let negated = self.neg(a);
        let floor = self.floor_div(negated, b);
        self.neg(floor)
    }

    /// What is left of `a` by [`Dims::floor_div`].
    pub fn modulo(&mut self, a: Dim, b: Dim) -> Dim {
        let floor = self.floor_div(a, b);
        let whole = self.mul(floor, b);
        self.sub(a, whole)
    }

    /// The smaller one.
    pub fn min(&mut self, a: Dim, b: Dim) -> Dim {
        self.constant(a, b, |a, b| Some(a.min(b)))
    }

    /// The larger one.
    pub fn max(&mut self, a: Dim, b: Dim) -> Dim {
        self.constant(a, b, |a, b| Some(a.max(b)))
    }

    /// `a` without its sign.
    pub fn abs(&mut self, a: Dim) -> Dim {
        let negated = self.neg(a);
        self.max(a, negated)
    }

    /// All multiplied; 1 of none.
    pub fn product(&mut self, dims: &[Dim]) -> Dim {
        dims.iter().fold(Dim::Const(1), |product, &dim| self.mul(product, dim))
    }

    /// `a / b` where `b` is known to divide `a`.
    pub fn div_exact(&mut self, a: Dim, b: Dim) -> Dim {
        self.floor_div(a, b)
    }

    /// One axis of a broadcast.
    #[allow(clippy::result_unit_err, reason = "the two arguments are all that there is to say")]
    pub fn broadcast(&mut self, a: Dim, b: Dim) -> Result<Dim, ()> {
        match (a, b) {
            (Dim::Const(1), other) | (other, Dim::Const(1)) => Ok(other),
            (Dim::Const(a), Dim::Const(b)) if a != b => Err(()),
            (Dim::Const(known), _) | (_, Dim::Const(known)) => Ok(Dim::Const(known)),
            (Dim::Unknown | Dim::Expr(_), Dim::Unknown | Dim::Expr(_)) => {
                Ok(if a == b { a } else { Dim::Unknown })
            }
        }
    }

    /// Records that two extents are equal; the better known one.
    pub fn equate(&mut self, a: Dim, b: Dim) -> Result<Dim, Contradiction> {
        match (a, b) {
            (Dim::Const(left), Dim::Const(right)) if left != right => {
                Err(Contradiction { left: a, right: b })
            }
            (Dim::Const(_), _) | (_, Dim::Unknown) => Ok(a),
            (_, Dim::Const(_)) | (Dim::Unknown, _) => Ok(b),
            (Dim::Expr(_), Dim::Expr(_)) => Ok(a),
        }
    }

    /// The extent by the equalities known now.
    pub fn resolve(&mut self, d: Dim) -> Dim {
        d
    }

    /// Whether two extents are equal for all values of their symbols.
    pub fn known_equal(&mut self, a: Dim, b: Dim) -> Option<bool> {
        match (a, b) {
            (Dim::Const(a), Dim::Const(b)) => Some(a == b),
            (Dim::Expr(_), Dim::Expr(_)) if a == b => Some(true),
            _ => None,
        }
    }

    /// No value is smaller.
    pub fn lower_bound(&self, d: Dim) -> Option<i64> {
        match d {
            Dim::Unknown => None,
            Dim::Const(value) => Some(value),
            Dim::Expr(_) => Some(0),
        }
    }

    /// No value is larger.
    pub fn upper_bound(&self, d: Dim) -> Option<i64> {
        self.as_const(d)
    }

    /// The number that this is.
    pub fn as_const(&self, d: Dim) -> Option<i64> {
        match d {
            Dim::Const(value) => Some(value),
            Dim::Unknown | Dim::Expr(_) => None,
        }
    }

    /// The equalities known now, for [`Dims::undo`].
    pub fn mark(&self) -> Mark {
        Mark(0)
    }

    /// Forgets the equalities recorded since.
    pub fn undo(&mut self, mark: Mark) {
        let Mark(_) = mark;
    }

    /// The value for these values of the symbols.
    pub fn eval(&self, d: Dim, value_of: impl Fn(&str) -> Option<i64>) -> Option<i64> {
        match d {
            Dim::Unknown => None,
            Dim::Const(value) => Some(value),
            Dim::Expr(_) => value_of(&self.text(d)),
        }
    }
}
