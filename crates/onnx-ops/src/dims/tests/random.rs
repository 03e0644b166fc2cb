//! Random expressions beside a plain evaluator: whatever form an expression takes, it has the value that it says.

use crate::dims::{Dim, Dims};
use proptest::prelude::*;

const NAMES: [&str; 4] = ["N", "M", "K", "H"];

#[derive(Clone, Debug)]
enum Tree {
    Number(i64),
    Symbol(usize),
    Binary(Op, Box<Tree>, Box<Tree>),
    Abs(Box<Tree>),
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    Floor,
    Ceil,
    Mod,
    Min,
    Max,
    Broadcast,
}

/// The symbols' values, by the index of their names.
type Values = [i64; NAMES.len()];

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

impl Tree {
    fn value(&self, values: &Values) -> Option<i64> {
        let (op, a, b) = match self {
            Self::Number(value) => return Some(*value),
            Self::Symbol(index) => return Some(values[*index]),
            Self::Abs(of) => return Some(of.value(values)?.abs()),
            Self::Binary(op, a, b) => (op, a.value(values)?, b.value(values)?),
        };
        match op {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            Op::Floor => floor_div(a, b),
            Op::Ceil => floor_div(-a, b).map(|floor| -floor),
            Op::Mod => floor_div(a, b).map(|floor| a - floor * b),
            Op::Min => Some(a.min(b)),
            Op::Max => Some(a.max(b)),
            Op::Broadcast if a == 1 || a == b => Some(b),
            Op::Broadcast => (b == 1).then_some(a),
        }
    }

    /// `None` where the program says that it is not defined.
    fn build(&self, dims: &mut Dims) -> Option<Dim> {
        let (op, a, b) = match self {
            Self::Number(value) => return Some(Dim::Const(*value)),
            Self::Symbol(index) => return Some(dims.symbol(NAMES[*index])),
            Self::Abs(of) => {
                let of = of.build(dims)?;
                return Some(dims.abs(of));
            }
            Self::Binary(op, a, b) => (op, a.build(dims)?, b.build(dims)?),
        };
        Some(match op {
            Op::Add => dims.add(a, b),
            Op::Sub => dims.sub(a, b),
            Op::Mul => dims.mul(a, b),
            Op::Floor => dims.floor_div(a, b),
            Op::Ceil => dims.ceil_div(a, b),
            Op::Mod => dims.modulo(a, b),
            Op::Min => dims.min(a, b),
            Op::Max => dims.max(a, b),
            Op::Broadcast => dims.broadcast(a, b).ok()?,
        })
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        2 => (-4i64..=9).prop_map(Tree::Number),
        3 => (0..NAMES.len()).prop_map(Tree::Symbol),
    ];
    let op = prop_oneof![
        3 => Just(Op::Add),
        3 => Just(Op::Sub),
        2 => Just(Op::Mul),
        3 => Just(Op::Floor),
        2 => Just(Op::Ceil),
        2 => Just(Op::Mod),
        2 => Just(Op::Min),
        2 => Just(Op::Max),
        1 => Just(Op::Broadcast),
    ];
    leaf.prop_recursive(5, 20, 2, move |inner| {
        prop_oneof![
            12 => (op.clone(), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| Tree::Binary(op, Box::new(a), Box::new(b))),
            1 => inner.prop_map(|of| Tree::Abs(Box::new(of))),
        ]
    })
}

fn values() -> impl Strategy<Value = Values> {
    prop::array::uniform4(prop_oneof![0i64..=9, 0i64..=40])
}

fn eval(dims: &Dims, d: Dim, values: &Values) -> Option<i64> {
    dims.eval(d, |name| NAMES.iter().position(|known| *known == name).map(|index| values[index]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forms_have_the_value(tree in tree(), all in prop::collection::vec(values(), 12)) {
        let mut dims = Dims::new();
        let built = tree.build(&mut dims);
        for values in &all {
            let Some(expected) = tree.value(values) else { continue };
            let d = built.expect("an expression that has a value is possible");
            if d != Dim::Unknown {
                prop_assert_eq!(eval(&dims, d, values), Some(expected), "{} at {:?}", dims.text(d), values);
                prop_assert!(dims.lower_bound(d).is_none_or(|low| low <= expected), "{}", dims.text(d));
                prop_assert!(dims.upper_bound(d).is_none_or(|high| high >= expected), "{}", dims.text(d));
            }
        }
    }

    #[test]
    fn texts_are_read_back(tree in tree()) {
        let mut dims = Dims::new();
        let Some(d) = tree.build(&mut dims) else { return Ok(()) };
        let text = dims.text(d);
        let read = dims.parse(&text);
        prop_assert_eq!(read, d, "{} is read as {}", text, dims.text(read));
        let mut others = Dims::new();
        let read = others.parse(&text);
        prop_assert_eq!(others.text(read), text);
    }

    #[test]
    fn texts_do_not_depend_on_what_was_before(tree in tree(), before in prop::collection::vec(tree(), 3)) {
        let (mut dims, mut others) = (Dims::new(), Dims::new());
        for name in NAMES.iter().rev() {
            others.symbol(name);
        }
        for tree in &before {
            tree.build(&mut others);
        }
        if let (Some(a), Some(b)) = (tree.build(&mut dims), tree.build(&mut others)) {
            prop_assert_eq!(dims.text(a), others.text(b));
        }
    }

    #[test]
    fn equality_is_no_guess(a in tree(), b in tree(), all in prop::collection::vec(values(), 12)) {
        let mut dims = Dims::new();
        let (Some(x), Some(y)) = (a.build(&mut dims), b.build(&mut dims)) else { return Ok(()) };
        let Some(known) = dims.known_equal(x, y) else { return Ok(()) };
        for values in &all {
            if let (Some(left), Some(right)) = (a.value(values), b.value(values)) {
                prop_assert_eq!(left == right, known, "{} and {} at {:?}", dims.text(x), dims.text(y), values);
            }
        }
    }

    #[test]
    fn equalities_keep_values(
        equations in prop::collection::vec((tree(), tree()), 1..4),
        of in tree(),
        all in prop::collection::vec(values(), 40),
    ) {
        let mut dims = Dims::new();
        let Some(d) = of.build(&mut dims) else { return Ok(()) };
        let mut held = all;
        let start = dims.mark();
        let before = dims.resolve(d);
        for (a, b) in &equations {
            let (Some(x), Some(y)) = (a.build(&mut dims), b.build(&mut dims)) else { continue };
            let (left, right) = (dims.text(x), dims.text(y));
            held.retain(|values| a.value(values).is_some_and(|left| Some(left) == b.value(values)));
            let known = match dims.equate(x, y) {
                Ok(known) => known,
                Err(found) => {
                    prop_assert!(held.is_empty(), "{} = {}: {:?} at {:?}", left, right, found, held);
                    break;
                }
            };
            for values in &held {
                if known != Dim::Unknown && x != Dim::Unknown {
                    prop_assert_eq!(eval(&dims, known, values), a.value(values), "{} = {}", left, right);
                }
                if let (Some(expected), true) = (of.value(values), d != Dim::Unknown) {
                    let resolved = dims.resolve(d);
                    let text = dims.text(resolved);
                    prop_assert_eq!(eval(&dims, resolved, values), Some(expected), "{} by {} = {}", text, left, right);
                }
            }
            let resolved = dims.resolve(d);
            prop_assert_eq!(dims.resolve(resolved), resolved);
        }
        dims.undo(start);
        prop_assert_eq!(dims.resolve(d), before);
    }
}
