//! Meet and join of two types.

use crate::dims::{Dim, Dims};
use crate::facts::{Shape, TensorTy, Ty};

/// Why two types have no meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflict {
    /// Kinds or element types differ.
    Type,
    /// Ranks differ, or a dimension.
    Shape,
}

/// The meet: what two types of one value say together. If they conflict, `first` takes precedence.
pub(crate) fn meet(dims: &mut Dims, first: &Ty, second: &Ty) -> (Ty, Option<Conflict>) {
    match (first, second) {
        (Ty::Unknown, ty) | (ty, Ty::Unknown) => (ty.clone(), None),
        (Ty::Tensor(a), Ty::Tensor(b)) => {
            let (t, conflict) = meet_tensors(dims, a, b);
            (Ty::Tensor(t), conflict)
        }
        (Ty::Sparse(a), Ty::Sparse(b)) => {
            let (t, conflict) = meet_tensors(dims, a, b);
            (Ty::Sparse(t), conflict)
        }
        (Ty::Sequence(a), Ty::Sequence(b)) => {
            let (ty, conflict) = meet(dims, a, b);
            (Ty::Sequence(Box::new(ty)), conflict)
        }
        (Ty::Optional(a), Ty::Optional(b)) => {
            let (ty, conflict) = meet(dims, a, b);
            (Ty::Optional(Box::new(ty)), conflict)
        }
        (Ty::Map(ka, a), Ty::Map(kb, b)) => {
            let (ty, conflict) = meet(dims, a, b);
            let keys = (ka.is_some() && kb.is_some() && ka != kb).then_some(Conflict::Type);
            (Ty::Map(ka.or(*kb), Box::new(ty)), keys.or(conflict))
        }
        (Ty::Opaque(a), Ty::Opaque(b)) if a == b => (first.clone(), None),
        _ => (first.clone(), Some(Conflict::Type)),
    }
}

fn meet_tensors(dims: &mut Dims, a: &TensorTy, b: &TensorTy) -> (TensorTy, Option<Conflict>) {
    let elem = a.elem.or(b.elem);
    if a.elem.is_some() && b.elem.is_some() && a.elem != b.elem {
        return (a.clone(), Some(Conflict::Type));
    }
    let (shape, conflict) = match (&a.shape, &b.shape) {
        (None, shape) | (shape, None) => (shape.clone(), None),
        (Some(x), Some(y)) if x.len() != y.len() => (Some(x.clone()), Some(Conflict::Shape)),
        (Some(x), Some(y)) => {
            let mut conflict = None;
            let mut shape = Shape::new();
            for (&x, &stated) in x.iter().zip(y) {
                if matches!(x, Dim::Const(_)) && x == stated {
                    shape.push(x);
                    continue;
                }
                let (x, y) = (dims.resolve(x), dims.resolve(stated));
                if dims.known_equal(x, y) == Some(false) {
                    // A declared symbol cannot be wrong, whatever it is equal to.
                    if matches!((x, stated), (Dim::Const(_), Dim::Const(_))) {
                        conflict = Some(Conflict::Shape);
                    }
                    shape.push(x);
                } else {
                    shape.push(better(dims, x, y));
                }
            }
            (Some(shape), conflict)
        }
    };
    (TensorTy { elem, shape }, conflict)
}

/// The more precise of two equal dimensions: a number, an expression of named symbols, one that leaves two sizes open, an
/// anonymous symbol.
fn better(dims: &Dims, first: Dim, second: Dim) -> Dim {
    if first == second {
        return first;
    }
    let rank = |d: Dim| match d {
        Dim::Unknown => 0,
        Dim::Expr(_) if dims.is_fresh(d) => 1,
        Dim::Expr(_) if dims.is_open(d) => 2,
        Dim::Expr(_) => 3,
        Dim::Const(_) => 4,
    };
    if rank(second) > rank(first) { second } else { first }
}

/// The join: what holds for a value of either type, unknown where they differ. `fresh` creates a dimension that differs.
pub(crate) fn join(dims: &mut Dims, a: &Ty, b: &Ty, fresh: &mut impl FnMut(&mut Dims) -> Dim) -> Ty {
    let mut tensors = |dims: &mut Dims, a: &TensorTy, b: &TensorTy| TensorTy {
        elem: a.elem.filter(|_| a.elem == b.elem),
        shape: match (&a.shape, &b.shape) {
            (Some(x), Some(y)) if x.len() == y.len() => {
                let pairs = x.iter().zip(y);
                Some(
                    pairs
                        .map(|(&x, &y)| {
                            let same = x != Dim::Unknown && dims.known_equal(x, y) == Some(true);
                            if same { x } else { fresh(dims) }
                        })
                        .collect(),
                )
            }
            _ => None,
        },
    };
    match (a, b) {
        (Ty::Tensor(a), Ty::Tensor(b)) => Ty::Tensor(tensors(dims, a, b)),
        (Ty::Sparse(a), Ty::Sparse(b)) => Ty::Sparse(tensors(dims, a, b)),
        // Each element of a sequence has its own dimensions.
        (Ty::Sequence(a), Ty::Sequence(b)) => Ty::Sequence(Box::new(join(dims, a, b, &mut unknown))),
        (Ty::Optional(a), Ty::Optional(b)) => Ty::Optional(Box::new(join(dims, a, b, fresh))),
        (Ty::Map(ka, a), Ty::Map(kb, b)) => {
            Ty::Map(ka.filter(|_| ka == kb), Box::new(join(dims, a, b, fresh)))
        }
        (Ty::Opaque(x), Ty::Opaque(y)) if x == y => a.clone(),
        _ => Ty::Unknown,
    }
}

fn unknown(_: &mut Dims) -> Dim {
    Dim::Unknown
}
