//! Sums and products, and the table of results that are known already.

use super::extreme::End;
use super::poly::{Poly, floor_div};
use super::{Dim, Dims, MAX_DEPTH, Overflow};

/// An operation on two extents, as a key of the table of results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    FloorDiv,
    Mod,
    Min,
    Max,
}

impl Dims {
    /// The result, if it fits into 64 bits. Two extents must have one that does; other numbers may be positions at the ends of the
    /// range.
    fn fits(&mut self, result: Option<i64>, (a, sign, b): (i64, char, i64)) -> Dim {
        if result.is_none() && a >= 0 && b >= 0 {
            self.overflow = Some(Overflow { a, sign, b });
        }
        result.map_or(Dim::Unknown, Dim::Const)
    }

    /// `a + b`.
    pub fn add(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) => self.fits(x.checked_add(y), (x, '+', y)),
            (Dim::Const(0), other) | (other, Dim::Const(0)) => other,
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {
                self.remember(Op::Add, a, b, |dims| {
                    let sum = dims.poly(a).and_then(|a| a.add_scaled(&dims.poly(b)?, 1));
                    dims.settle(sum)
                })
            }
        }
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) => x.checked_sub(y).map_or(Dim::Unknown, Dim::Const),
            (other, Dim::Const(0)) => other,
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Expr(x), Dim::Expr(y)) if x == y => Dim::Const(0),
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {
                self.remember(Op::Sub, a, b, |dims| {
                    let difference = dims.poly(a).and_then(|a| a.add_scaled(&dims.poly(b)?, -1));
                    dims.settle(difference)
                })
            }
        }
    }

    /// `-a`.
    pub fn neg(&mut self, a: Dim) -> Dim {
        self.sub(Dim::Const(0), a)
    }

    /// `a * b`. Nothing of something unknown is 0.
    pub fn mul(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) => self.fits(x.checked_mul(y), (x, '*', y)),
            (Dim::Const(0), _) | (_, Dim::Const(0)) => Dim::Const(0),
            (Dim::Const(1), other) | (other, Dim::Const(1)) => other,
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {
                self.remember(Op::Mul, a, b, |dims| {
                    let product = dims.poly(a).and_then(|a| dims.multiply(&a, &dims.poly(b)?));
                    dims.settle(product)
                })
            }
        }
    }

    /// All multiplied; 1 of none.
    pub fn product(&mut self, dims: &[Dim]) -> Dim {
        if dims.contains(&Dim::Const(0)) {
            return Dim::Const(0);
        }
        dims.iter().fold(Dim::Const(1), |product, &dim| self.mul(product, dim))
    }

    /// `a / b` rounded down. By 0 it is Unknown, and the form for other divisors holds where they are not 0: so
    /// `N*4/N` is 4.
    pub fn floor_div(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) => floor_div(x, y).map_or(Dim::Unknown, Dim::Const),
            (_, Dim::Const(1)) => a,
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {
                self.remember(Op::FloorDiv, a, b, |dims| dims.quotient(a, b))
            }
        }
    }

    /// `a / b` rounded up; see [`Dims::floor_div`].
    pub fn ceil_div(&mut self, a: Dim, b: Dim) -> Dim {
        if self.arena.interval(b).is_extent() {
            let one_less = self.sub(a, Dim::Const(1));
            let floor = self.floor_div(one_less, b);
            return self.add(floor, Dim::Const(1));
        }
        let negated = self.neg(a);
        let floor = self.floor_div(negated, b);
        self.neg(floor)
    }

    /// `a - floor(a/b)*b`, which has the sign of `b`; see [`Dims::floor_div`].
    pub fn modulo(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (_, Dim::Const(0)) => Dim::Unknown,
            (_, Dim::Const(1 | -1)) => Dim::Const(0),
            (Dim::Const(x), Dim::Const(y)) => {
                let rest = floor_div(x, y).and_then(|floor| x.checked_sub(floor.checked_mul(y)?));
                rest.map_or(Dim::Unknown, Dim::Const)
            }
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {
                self.remember(Op::Mod, a, b, |dims| dims.rest(a, b))
            }
        }
    }

    /// `a / b` where `b` is known to divide `a`, as in a Reshape to -1: `N*H*4/(H*2)` is `N*2`.
    pub fn div_exact(&mut self, a: Dim, b: Dim) -> Dim {
        if (a, b) == (Dim::Const(0), Dim::Unknown) { a } else { self.floor_div(a, b) }
    }

    /// The smaller one.
    pub fn min(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) => Dim::Const(x.min(y)),
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {
                self.remember(Op::Min, a, b, |dims| dims.extreme(End::Min, &[a, b]))
            }
        }
    }

    /// The larger one.
    pub fn max(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) => Dim::Const(x.max(y)),
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Expr(_), Dim::Const(_) | Dim::Expr(_)) | (Dim::Const(_), Dim::Expr(_)) => {
                self.remember(Op::Max, a, b, |dims| dims.extreme(End::Max, &[a, b]))
            }
        }
    }

    /// `a` without its sign.
    pub fn abs(&mut self, a: Dim) -> Dim {
        let negated = self.neg(a);
        self.max(a, negated)
    }

    /// The result of an operation, calculated once.
    fn remember(&mut self, op: Op, a: Dim, b: Dim, calculate: impl FnOnce(&mut Self) -> Dim) -> Dim {
        if let Some(&known) = self.results.get(&(op, a, b)) {
            return known;
        }
        if self.depth == MAX_DEPTH {
            return Dim::Unknown;
        }
        self.depth += 1;
        let result = calculate(self);
        self.depth -= 1;
        self.results.insert((op, a, b), result);
        result
    }

    /// The sum that an extent is; `None` of an unknown one.
    pub(super) fn poly(&self, dim: Dim) -> Option<Poly> {
        match dim {
            Dim::Unknown => None,
            Dim::Const(value) => Some(Poly::constant(value)),
            Dim::Expr(id) => Some(self.arena.exprs[id].poly.clone()),
        }
    }
}
