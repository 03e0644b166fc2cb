//! Nests by the value of their formulas, so that a formula is lowered once: to judge it, to group it and to run it, and for all
//! layers of a model that compute the same.
//!
//! The number of an operand does not matter for its loops. In a key, and in a remembered nest, operands are numbered in the order in
//! which the formula mentions them.

use super::Nest;
use crate::program::Types;
use foldhash::HashMap;
use onnx_formula::{Combine, Expr, Formula, Index, Number};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The most words of all keys; then all nests are forgotten.
const MAX_WORDS: usize = 1 << 19;
/// The number of remembered nests that debug builds compare with lowering once more.
const MAX_COMPARED: usize = 64;

/// Nests by the words of their keys; `None` for formulas without loops.
type Known = HashMap<Box<[u64]>, Option<Arc<Nest>>>;

/// The nests of formulas that were lowered before.
#[derive(Default, Debug)]
pub struct Nests {
    known: RefCell<Known>,
    /// The words of all keys.
    words: Cell<usize>,
    /// The nests that debug builds have compared.
    compared: Cell<usize>,
}

impl Nests {
    /// The loops of a formula, to look at their form and cost: they may have no pipelines, and operands have other numbers.
    /// `None` if its types have no loops.
    pub fn judged<'a>(&self, formula: &Formula, operands: &Types<'a>) -> Option<Arc<Nest>> {
        self.get(&Key::of(formula, operands), || Nest::without_pipelines(formula, operands))
    }

    /// The loops of a formula, to run them; `None` if its types have no loops.
    pub fn nest<'a>(&self, formula: &Formula, operands: &Types<'a>) -> Option<Nest> {
        let key = Key::of(formula, operands);
        let mut known = self.get(&key, || Nest::without_pipelines(formula, operands))?;
        if !known.has_pipelines() {
            let nest = Arc::make_mut(&mut known);
            nest.find_pipelines();
            self.known.borrow_mut().insert(key.words[..].into(), Some(Arc::clone(&known)));
        }
        let mut nest = Nest::clone(&known);
        nest.renumber(&|number| key.numbers.get(number).copied().unwrap_or(number));
        if cfg!(debug_assertions) && self.compared.get() < MAX_COMPARED {
            self.compared.set(self.compared.get() + 1);
            let lowered = Nest::of(formula, operands);
            debug_assert_eq!(format!("{:?}", Some(&nest)), format!("{lowered:?}"), "{formula:?}");
        }
        Some(nest)
    }

    fn get(&self, key: &Key, lower: impl FnOnce() -> Option<Nest>) -> Option<Arc<Nest>> {
        let Key { words, numbers } = key;
        if let Some(nest) = self.known.borrow().get(&words[..]) {
            return nest.clone();
        }
        let mut nest = lower();
        if let Some(nest) = &mut nest {
            nest.renumber(&|operand| numbers.iter().position(|number| *number == operand).unwrap_or(operand));
        }
        let nest = nest.map(Arc::new);
        let all = self.words.get() + words.len();
        if all > MAX_WORDS {
            self.known.borrow_mut().clear();
            self.words.set(words.len());
        } else {
            self.words.set(all);
        }
        self.known.borrow_mut().insert(words[..].into(), nest.clone());
        nest
    }
}

/// Everything that lowering reads of a formula and its operands, in words.
struct Key {
    words: Vec<u64>,
    /// The number of each operand in the formula.
    numbers: SmallVec<[usize; 8]>,
}

/// Writes a [`Key`].
struct Writer<'w, 'a> {
    operands: &'w Types<'a>,
    key: Key,
}

impl Key {
    fn of<'a>(formula: &Formula, operands: &Types<'a>) -> Key {
        let key = Key { words: Vec::with_capacity(64), numbers: SmallVec::new() };
        let mut writer = Writer { operands, key };
        writer.put(formula.elem.0 as u64);
        writer.dims(&formula.dims);
        match &formula.over {
            None => writer.put(0),
            Some(over) => {
                let (combine, keep) = match over.combine {
                    Combine::Sum => (1, 0),
                    Combine::Product => (2, 0),
                    Combine::Max => (3, 0),
                    Combine::Min => (4, 0),
                    Combine::ArgMax(keep) => (5, keep as u64),
                    Combine::ArgMin(keep) => (6, keep as u64),
                };
                writer.all([combine, keep, over.elem.0 as u64]);
                writer.dims(&over.dims);
            }
        }
        writer.expr(&formula.expr);
        match &formula.then {
            None => writer.put(0),
            Some(then) => {
                writer.put(1);
                writer.expr(then);
            }
        }
        writer.key
    }
}

impl Writer<'_, '_> {
    fn put(&mut self, word: u64) {
        self.key.words.push(word);
    }

    fn all<const N: usize>(&mut self, words: [u64; N]) {
        self.key.words.extend(words);
    }

    fn dims(&mut self, dims: &[usize]) {
        self.put(dims.len() as u64);
        self.key.words.extend(dims.iter().map(|d| *d as u64));
    }

    /// The operand in the order of the formula, with its type where it is mentioned first.
    fn operand(&mut self, operand: usize) {
        let numbers = &mut self.key.numbers;
        if let Some(number) = numbers.iter().position(|number| *number == operand) {
            return self.put(number as u64);
        }
        let number = numbers.len() as u64;
        numbers.push(operand);
        self.put(number);
        match (self.operands)(operand) {
            None => self.put(0),
            Some(operand) => {
                self.all([1 + u64::from(operand.is_constant), operand.elem.0 as u64]);
                self.dims(operand.dims);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Load(operand, position) => {
                self.put(1);
                self.operand(*operand);
                self.put(position.len() as u64);
                position.iter().for_each(|index| self.index(index));
            }
            Expr::Number(Number::Int(n)) => self.all([2, *n as u64, (*n >> 64) as u64]),
            Expr::Number(Number::Float(x)) => self.all([3, x.to_bits()]),
            Expr::Index(index) => {
                self.put(4);
                self.index(index);
            }
            Expr::Total => self.put(5),
            Expr::Unary(op, x) => {
                self.all([6, *op as u64]);
                self.expr(x);
            }
            Expr::Binary(op, a, b) => {
                self.all([7, *op as u64]);
                self.expr(a);
                self.expr(b);
            }
            Expr::Select(parts) => {
                self.put(8);
                parts.iter().for_each(|part| self.expr(part));
            }
            Expr::Cast(cast, x) => {
                self.all([9, cast.to.0 as u64, cast.saturates.into(), cast.rounding as u64]);
                self.expr(x);
            }
            Expr::Bits(from, to, x) => {
                self.all([10, from.0 as u64, to.0 as u64]);
                self.expr(x);
            }
        }
    }

    fn index(&mut self, index: &Index) {
        match index {
            Index::Affine(offset, terms) => {
                self.all([11, *offset as u64, terms.len() as u64]);
                terms.iter().for_each(|(axis, by)| self.all([*axis as u64, *by as u64]));
            }
            Index::Sum(parts) => {
                self.all([12, parts.len() as u64]);
                for (part, by) in parts {
                    self.put(*by as u64);
                    self.index(part);
                }
            }
            Index::Div(x, by) => {
                self.all([13, *by as u64]);
                self.index(x);
            }
            Index::Rem(x, by) => {
                self.all([14, *by as u64]);
                self.index(x);
            }
            Index::Element(x) => {
                self.put(15);
                self.expr(x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::choice::FormName;
    use crate::program::Operand;
    use onnx_formula::Reader;
    use onnx_ir::ElemType;

    /// A formula over the operands `a`, `b`, … with their types, and the form of its loops.
    struct Case(&'static str, &'static [(ElemType, &'static [usize])], FormName);

    const F: ElemType = ElemType::FLOAT;
    const CASES: [Case; 11] = [
        Case(
            "float[64,8] y[i0, i1] = max(a[i0, i1] * b[i1], 0.0)",
            &[(F, &[64, 8]), (F, &[8])],
            FormName::Loops,
        ),
        Case("float[8,64] y[i0, i1] = a[i1, i0]", &[(F, &[64, 8])], FormName::Copy),
        Case(
            "float[4,8] y[i0, i1] = a[b[i0], i1]",
            &[(F, &[16, 8]), (ElemType::INT64, &[4])],
            FormName::Copy,
        ),
        Case(
            "float[12,36] y[i0, i1] = (a[i0, i1] if (i0 < 8) else exp(b[i0 - 8, i1]))",
            &[(F, &[8, 36]), (F, &[4, 36])],
            FormName::Pieces,
        ),
        Case("float[64] y[i0] = max over i1 < 1000 of a[i0, i1]", &[(F, &[64, 1000])], FormName::Along),
        Case("float[64] y[i0] = max over i1 < 10 of a[i1, i0]", &[(F, &[10, 64])], FormName::Single),
        Case(
            "float[24,16] y[i0, i1] = max((total * c[i1]) + b[i1], 0.0) \
             where total = sum over i2 < 32 of a[i0, i2] * d[i2, i1]",
            &[(F, &[24, 32]), (F, &[16]), (F, &[16]), (F, &[32, 16])],
            FormName::Product,
        ),
        Case(
            "float[24,16] y[i0, i1] = (float(total) * 0.5f) + b[i1] where total = int32 sum over i2 < 32 of \
             (int32(a[i0, i2]) - int32(c[i0])) * int32(d[i2, i1])",
            &[
                (ElemType::UINT8, &[24, 32]),
                (F, &[16]),
                (ElemType::UINT8, &[24]),
                (ElemType::INT8, &[32, 16]),
            ],
            FormName::Product,
        ),
        Case(
            "float[8,8,16] y[i0, i1, i2] = max(float(total), 0.0) where total = sum over i3 < 3, i4 < 3 of \
             (b[i0 + i3 - 1, i1 + i4 - 1, i2] if ((((index(i0 + i3 - 1) >= 0) and (index(i0 + i3 - 1) < 8)) and \
             (index(i1 + i4 - 1) >= 0)) and (index(i1 + i4 - 1) < 8)) else 0.0) * a[i3, i4, i2]",
            &[(F, &[3, 3, 16]), (F, &[8, 8, 16])],
            FormName::Stencil,
        ),
        Case(
            "float[16,50] y[i0, i1] = max over i2 < 3 of a[i0, i1 + i2]",
            &[(F, &[16, 52])],
            FormName::Stencil,
        ),
        Case(
            "double[6,50] y[i0, i1] = exp(a[i1, i0]) + b[i0, i1]",
            &[(ElemType::DOUBLE, &[50, 6]), (ElemType::DOUBLE, &[6, 50])],
            FormName::Loops,
        ),
    ];

    /// The formula with operand `n` renumbered by `number`.
    fn formula(text: &str, number: impl Fn(usize) -> usize) -> Formula {
        let mut reader = Reader::new(text).expect("tokens");
        let mut slot = |name: &str| match name.as_bytes() {
            [letter @ b'a'..=b'e'] => Some(number(usize::from(letter - b'a'))),
            _ => None,
        };
        let (_, formula) = reader.formula(&mut slot).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        formula
    }

    #[test]
    fn a_remembered_nest_is_the_nest_of_its_formula() {
        let nests = Nests::default();
        for Case(text, types, form) in CASES {
            let count = types.len();
            // In order, reversed, and with gaps.
            let numberings: [&dyn Fn(usize) -> usize; 3] = [&|n| n, &|n| count - 1 - n, &|n| 7 * n + 3];
            let mut first = None;
            for number in numberings {
                let formula = formula(text, number);
                let types = |at: usize| {
                    let (elem, dims) = types.iter().enumerate().find(|(n, _)| number(*n) == at)?.1;
                    Some(Operand { elem: *elem, dims, is_constant: false })
                };
                let judged = nests.judged(&formula, &types).expect("loops");
                let first = first.get_or_insert_with(|| Arc::clone(&judged));
                assert_eq!((judged.choice().form, judged.choice()), (form, first.choice()), "{text}");
                let nest = nests.nest(&formula, &types).expect("loops");
                let lowered = Nest::of(&formula, &types).expect("loops");
                assert_eq!(format!("{nest:?}"), format!("{lowered:?}"), "{text}");
            }
        }
        assert_eq!(nests.known.borrow().len(), CASES.len(), "one lowering for each formula");
    }

    #[test]
    fn every_form_has_a_case() {
        let missing: Vec<_> =
            FormName::ALL.iter().filter(|form| CASES.iter().all(|Case(_, _, of)| of != *form)).collect();
        // Weights are transformed before the run, so only constants make it; `conformance/tests/execution/winograd.rs` has them.
        assert_eq!(missing, [&FormName::Winograd]);
    }

    #[test]
    fn what_lowering_reads_distinguishes_nests() {
        let nests = Nests::default();
        let mut count = 0;
        let mut is_new = |text: &str, dims: &[usize], is_constant: bool| {
            let formula = formula(text, |n| n);
            nests.judged(&formula, &|_| Some(Operand { elem: F, dims, is_constant }));
            let before = std::mem::replace(&mut count, nests.known.borrow().len());
            count > before
        };
        assert!(is_new("float[8] y[i0] = a[i0] + b[i0]", &[8], false));
        assert!(!is_new("float[8] y[i0] = b[i0] + a[i0]", &[8], false), "operands in the order of loads");
        assert!(is_new("float[8] y[i0] = a[i0] + a[i0]", &[8], false));
        assert!(is_new("float[8] y[i0] = a[i0] + b[i0]", &[9], false));
        assert!(is_new("float[8] y[i0] = a[i0] + b[i0]", &[8], true));
        assert!(is_new("float[8] y[i0] = a[i0] - b[i0]", &[8], false));
        assert!(is_new("float[8] y[i0] = a[i0] + 0.0", &[8], false));
        assert!(is_new("float[8] y[i0] = a[i0] + -0.0", &[8], false));
        assert!(is_new("float[4] y[i0] = a[i0] + b[i0]", &[8], false));
        assert!(is_new("float[4] y[i0] = a[i0] + b[i0 + 1]", &[8], false));
        assert!(is_new("float[] y = sum over i0 < 8 of a[i0]", &[8], false));
        assert!(is_new("float[] y = max over i0 < 8 of a[i0]", &[8], false));
    }

    #[test]
    fn memory_is_bounded() {
        let nests = Nests::default();
        for size in 1..3 {
            let formula = formula("float[8] y[i0] = a[i0] + b[i0]", |n| n);
            nests.words.set(MAX_WORDS);
            let dims = [size * 8];
            nests.judged(&formula, &|_| Some(Operand { elem: F, dims: &dims, is_constant: false }));
            assert_eq!(nests.known.borrow().len(), 1);
            assert!(nests.words.get() < 100);
        }
    }
}
