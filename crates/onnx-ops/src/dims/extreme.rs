//! The smaller, the larger, and the one that is not 1.

use super::expr::Atom;
use super::poly::Poly;
use super::{Dim, Dims};

/// Which of several is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Min,
    Max,
}

/// More arguments than these are Unknown: they are compared each with each.
const MAX_ARGS: usize = 12;

impl Dims {
    /// The smallest or largest one, of one at least.
    pub(super) fn extreme(&mut self, end: End, of: &[Dim]) -> Dim {
        let mut args = Vec::new();
        for &dim in of {
            self.push_args(end, dim, &mut args);
        }
        if args.len() > MAX_ARGS || args.contains(&Dim::Unknown) {
            return Dim::Unknown;
        }
        self.drop_beaten(end, &mut args);
        match args[..] {
            [one] => one,
            [a, b] => self.extreme_of_two(end, a, b).map_or(Dim::Unknown, |base| self.show(base)),
            _ => {
                let atom = match end {
                    End::Min => Atom::Min(args.into()),
                    End::Max => Atom::Max(args.into()),
                };
                let atom = self.arena.intern_atom(atom);
                self.settle(Some(Poly::atom(atom)))
            }
        }
    }

    fn extreme_of_two(&mut self, end: End, a: Dim, b: Dim) -> Option<Poly> {
        let (a, b) = (self.expand_dim(a)?, self.expand_dim(b)?);
        match end {
            End::Min => self.base_smaller(&a, &b),
            End::Max => self.base_larger(&a, &b),
        }
    }

    /// Puts arguments in order and leaves out those that are never the one asked for.
    pub(super) fn drop_beaten(&mut self, end: End, args: &mut Vec<Dim>) {
        args.sort_by(|&a, &b| self.arena.compare(a, b));
        args.dedup();
        // Backwards: of two that beat each other the first stays.
        for i in (0..args.len()).rev() {
            if (0..args.len()).any(|j| j != i && self.beats(end, args[j], args[i])) {
                args.remove(i);
            }
        }
    }

    /// Whether the first is always the one asked for.
    fn beats(&mut self, end: End, a: Dim, b: Dim) -> bool {
        let above = match end {
            End::Max => self.sub(a, b),
            End::Min => self.sub(b, a),
        };
        above != Dim::Unknown && self.arena.interval(above).low >= 0
    }

    /// An argument, or the arguments that it has itself if it is of the same function.
    fn push_args(&mut self, end: End, dim: Dim, args: &mut Vec<Dim>) {
        let inner = self.poly(dim).and_then(|poly| self.nested(end, &poly));
        let Some((inner, sign, constant)) = inner else {
            args.push(dim);
            return;
        };
        for arg in inner {
            let arg = if sign < 0 { self.neg(arg) } else { arg };
            let arg = self.add(arg, Dim::Const(constant));
            args.push(arg);
        }
    }

    /// The arguments of a function of the same kind, with sign and number: of `5-min(a, b)` below a maximum.
    pub(super) fn nested(&self, end: End, arg: &Poly) -> Option<(Box<[Dim]>, i64, i64)> {
        let [term] = &arg.terms[..] else { return None };
        let same = match (&self.arena.atoms[term.bare()?].atom, end) {
            (Atom::Max(args), End::Max) | (Atom::Min(args), End::Min) => Some((args, 1)),
            (Atom::Max(args), End::Min) | (Atom::Min(args), End::Max) => Some((args, -1)),
            (
                Atom::Symbol(_)
                | Atom::Floor(..)
                | Atom::Mod(..)
                | Atom::Broadcast(_)
                | Atom::BaseFloor(..)
                | Atom::BaseMax(_),
                _,
            ) => None,
        };
        let (args, sign) = same.filter(|(_, sign)| *sign == term.coefficient)?;
        Some((args.clone(), sign, arg.constant))
    }

    /// One axis of a broadcast. Extents that are known and differ, where none is 1, are an error; otherwise the
    /// result is right wherever the two can be broadcast. Equalities count after [`Dims::resolve`] only.
    #[allow(clippy::result_unit_err, reason = "the two arguments are all that there is to say")]
    pub fn broadcast(&mut self, a: Dim, b: Dim) -> Result<Dim, ()> {
        match (a, b) {
            (Dim::Const(1), other) | (other, Dim::Const(1)) => return Ok(other),
            (Dim::Const(x), Dim::Const(y)) => return if x == y { Ok(a) } else { Err(()) },
            (Dim::Expr(x), Dim::Expr(y)) if x == y => return Ok(a),
            (Dim::Unknown | Dim::Const(_) | Dim::Expr(_), Dim::Unknown | Dim::Const(_) | Dim::Expr(_)) => {}
        }
        // One that is never 1 is the result; an unknown one may be 1.
        match (self.is_never_one(a), self.is_never_one(b)) {
            (true, true) if self.always_equal(a, b) == Some(false) => Err(()),
            (true, true) => {
                let is_second = matches!(b, Dim::Const(_)) || self.arena.compare(a, b).is_gt();
                Ok(if is_second && !matches!(a, Dim::Const(_)) { b } else { a })
            }
            (true, false) => Ok(a),
            (false, true) => Ok(b),
            (false, false) => Ok(self.broadcast_atom(a, b)),
        }
    }

    /// By its bounds, or because `N*2` is even.
    fn is_never_one(&self, d: Dim) -> bool {
        let has_no_one = |sum: Poly| match sum.content() {
            0 => sum.constant != 1,
            content => sum.constant.rem_euclid(content) != 1 % content,
        };
        !self.arena.interval(d).contains(1) || self.poly(d).is_some_and(has_no_one)
    }

    fn broadcast_atom(&mut self, a: Dim, b: Dim) -> Dim {
        let mut args: Vec<Dim> = Vec::new();
        for dim in [a, b] {
            let Some(sum) = self.poly(dim) else { return Dim::Unknown };
            if let Some(Atom::Broadcast(inner)) = sum.as_atom().map(|atom| &self.arena.atoms[atom].atom) {
                args.extend(inner);
            } else {
                args.push(dim);
            }
        }
        args.sort_by(|&a, &b| self.arena.compare(a, b));
        args.dedup();
        if let [one] = args[..] {
            return one;
        }
        if args.len() > MAX_ARGS {
            return Dim::Unknown;
        }
        let atom = self.arena.intern_atom(Atom::Broadcast(args.into()));
        self.arena.seal(Poly::atom(atom))
    }
}
