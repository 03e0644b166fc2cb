//! Facts about parts of expressions that lowering needs, computed bottom-up once for each part.
//!
//! Without the table each query would walk its expression again at each level, and lowering would take quadratic time.

use crate::lanes::Class;
use crate::program::Types;
use crate::program::axes::{Axes, Extents};
use foldhash::HashMap;
use foldhash::fast::FixedState;
use onnx_formula::{Expr, Index, Number};
use onnx_ir::ElemType;
use std::hash::{BuildHasher as _, Hash};

/// The facts of a part of an expression.
#[derive(Clone, Copy)]
pub(crate) struct PartFacts {
    /// Equal parts have equal hashes, and zeros hash the same for both signs.
    pub(crate) hash: u64,
    /// The register class that it determines. The inner `None` is a number, which adopts the class of the other operand; the
    /// outer `None` has no loops.
    pub(crate) class: Option<Option<Class>>,
    /// Whether it is an unsigned 64-bit integer, which registers cannot hold.
    pub(crate) has_no_sign: bool,
    /// Whether an index of a load may be out of bounds.
    pub(crate) can_fail: bool,
}

/// The facts of all parts of expressions, by their address; the expressions outlive the table.
#[derive(Default)]
pub(crate) struct FactTable(HashMap<*const Expr, PartFacts>);

/// The context of an expression.
#[derive(Clone, Copy)]
pub(crate) struct Around<'b, 'a> {
    pub(crate) operands: &'b Types<'a>,
    pub(crate) extents: &'b Extents<'b>,
    pub(crate) axes: &'b Axes,
    pub(crate) total: Option<Class>,
}

impl FactTable {
    /// The facts of a part of an expression that was added.
    pub(crate) fn of(&self, expr: &Expr) -> Option<PartFacts> {
        self.0.get(&std::ptr::from_ref(expr)).copied()
    }

    /// Adds an expression and all its parts.
    pub(crate) fn add(&mut self, expr: &Expr, around: Around<'_, '_>) -> PartFacts {
        if let Some(known) = self.of(expr) {
            return known;
        }
        let mut of = |x: &Expr| self.add(x, around);
        let facts = match expr {
            // Leaves: their hash, class and bounds.
            Expr::Load(operand, position) => {
                let (mut hash, mut can_fail) = (hash_of(&(0u8, operand)), false);
                for index in position {
                    let (part, fails) = self.add_index(index, around);
                    (hash, can_fail) = (hash_of(&(hash, part)), can_fail | fails);
                }
                let elem = (around.operands)(*operand).map(|operand| operand.elem);
                let dims = (around.extents)(*operand);
                let is_in = dims.is_some_and(|dims| around.axes.place(position, dims).is_some());
                PartFacts {
                    hash,
                    class: elem.and_then(Class::of).map(Some),
                    has_no_sign: elem.is_none_or(|elem| elem == ElemType::UINT64),
                    can_fail: !is_in,
                }
            }
            Expr::Number(number) => {
                let (hash, class) = match number {
                    Number::Int(n) => (hash_of(&(1u8, n)), Some(Class::Int)),
                    Number::Float(x) => (hash_of(&(2u8, x.to_bits())), None),
                };
                PartFacts { hash, class: Some(class), has_no_sign: false, can_fail: false }
            }
            Expr::Index(index) => {
                let (hash, can_fail) = self.add_index(index, around);
                let class = Some(Some(Class::Int));
                PartFacts { hash: hash_of(&(3u8, hash)), class, has_no_sign: false, can_fail }
            }
            Expr::Total => {
                let class = around.total.map(Some);
                PartFacts { hash: hash_of(&4u8), class, has_no_sign: false, can_fail: false }
            }
            // Operations: the facts of their operands, combined.
            Expr::Unary(op, x) => {
                let x = of(x);
                let class = if op.is_test() { Some(Some(Class::Int)) } else { x.class };
                let hash = hash_of(&(5u8, *op as u8, x.hash));
                PartFacts { hash, class, has_no_sign: !op.is_test() && x.has_no_sign, ..x }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (of(a), of(b));
                let wider = || wider(a.class?, b.class?);
                PartFacts {
                    hash: hash_of(&(6u8, *op as u8, a.hash, b.hash)),
                    class: if op.is_test() { Some(Some(Class::Int)) } else { wider() },
                    has_no_sign: !op.is_test() && (a.has_no_sign || b.has_no_sign),
                    can_fail: a.can_fail || b.can_fail,
                }
            }
            Expr::Select(parts) => {
                let [condition, yes, no] = parts.each_ref().map(of);
                let wider = || wider(yes.class?, no.class?);
                PartFacts {
                    hash: hash_of(&(7u8, condition.hash, yes.hash, no.hash)),
                    class: wider(),
                    has_no_sign: yes.has_no_sign || no.has_no_sign,
                    can_fail: condition.can_fail || yes.can_fail || no.can_fail,
                }
            }
            // Conversions determine the class.
            Expr::Cast(cast, x) => {
                let x = of(x);
                let kind = (cast.to.0, cast.saturates, cast.rounding as u8);
                PartFacts {
                    hash: hash_of(&(8u8, kind, x.hash)),
                    class: Class::of(cast.to).map(Some),
                    has_no_sign: cast.to == ElemType::UINT64,
                    ..x
                }
            }
            Expr::Bits(from, to, x) => {
                let x = of(x);
                PartFacts {
                    hash: hash_of(&(9u8, from.0, to.0, x.hash)),
                    class: None,
                    has_no_sign: false,
                    ..x
                }
            }
        };
        // Kept for the levels above.
        self.0.insert(std::ptr::from_ref(expr), facts);
        facts
    }

    /// The hash of an index, and whether a load in it may be out of bounds; adds the expressions in it.
    fn add_index(&mut self, index: &Index, around: Around<'_, '_>) -> (u64, bool) {
        match index {
            Index::Affine(offset, terms) => (hash_of(&(10u8, offset, terms)), false),
            Index::Sum(parts) => parts.iter().fold((hash_of(&11u8), false), |(hash, fails), (part, by)| {
                let (part, also) = self.add_index(part, around);
                (hash_of(&(hash, part, by)), fails | also)
            }),
            Index::Div(x, by) => {
                let (x, fails) = self.add_index(x, around);
                (hash_of(&(12u8, x, by)), fails)
            }
            Index::Rem(x, by) => {
                let (x, fails) = self.add_index(x, around);
                (hash_of(&(13u8, x, by)), fails)
            }
            Index::Element(x) => {
                let x = self.add(x, around);
                (hash_of(&(14u8, x.hash)), x.can_fail)
            }
        }
    }
}

fn hash_of(what: &impl Hash) -> u64 {
    FixedState::default().hash_one(what)
}

/// The common register class of two operands; the outer `None` if there is none.
pub(crate) fn wider(a: Option<Class>, b: Option<Class>) -> Option<Option<Class>> {
    Some(match (a, b) {
        (None, other) | (other, None) => other,
        (Some(a), Some(b)) if a == b => Some(a),
        (Some(Class::Int), Some(_)) | (Some(_), Some(Class::Int)) => return None,
        (Some(_), Some(_)) => Some(Class::Double),
    })
}
