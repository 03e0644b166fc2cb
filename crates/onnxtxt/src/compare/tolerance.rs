//! Tolerances: by how much results may differ.

use super::statistics::DifferenceStatistics;
use onnx_ir::{ElemType, Model, TypeKind};

/// The allowed difference of numbers.
#[derive(Clone, Debug)]
pub struct Tolerance {
    /// Relative to the expected number.
    pub relative: f64,
    /// Of the numbers themselves.
    pub absolute: f64,
    /// Relative to the expected number for bfloat16, if greater.
    pub of_bfloat16: f64,
    /// Whether the numbers are random, so that only type and shape are compared.
    pub is_random: bool,
    /// The share of elements that may differ by more.
    pub differing: f64,
    /// The cosine similarity from which on all elements may differ by more.
    pub cosine: Option<f64>,
    /// Differences that the caller leaves open: element types decide.
    open: Open,
}

/// Differences that the caller leaves open, and the precision of the models.
#[derive(Clone, Copy, Default, Debug)]
struct Open {
    relative: bool,
    absolute: bool,
    precision: Precision,
    /// Each element has to be close, whatever the precision is.
    is_by_element: bool,
}

/// Results of low precision are close as a whole from this cosine similarity on,
const ALIKE: f64 = 0.999;
/// and up to differences of this fraction of the largest number.
const NEAR: f64 = 0.1;

/// The lowest precision that models compute with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Precision {
    /// float, double, and exact integers.
    #[default]
    Full,
    /// float16 or bfloat16.
    Half,
    /// Integers of few bits that represent real numbers.
    Quantized,
}

impl Precision {
    /// The precision of a model, from its weights, inputs and operators.
    #[must_use]
    pub fn of(model: &Model) -> Precision {
        let nodes = model.bodies.values().flat_map(|body| body.nodes.values());
        let is_quantized = |op: &str| {
            let signs = ["QuantizeLinear", "QLinear", "MatMulInteger", "ConvInteger", "MatMulNBits"];
            signs.iter().any(|sign| op.contains(sign))
        };
        if nodes.map(|node| model.text(node.op)).any(is_quantized) {
            return Precision::Quantized;
        }
        let tensors = model.bodies.values().flat_map(|body| body.tensors.values());
        let graphs = model.bodies.values().flat_map(|body| body.graphs.values());
        let ports = graphs.flat_map(|graph| graph.inputs.iter().chain(&graph.outputs));
        let types = ports.filter_map(|port| match &model.types[port.ty?].kind {
            TypeKind::Tensor(tensor) => tensor.elem,
            _ => None,
        });
        let is_half = |elem: ElemType| matches!(elem, ElemType::FLOAT16 | ElemType::BFLOAT16);
        let has_half = tensors.filter_map(|tensor| tensor.elem).chain(types).any(is_half);
        if has_half { Precision::Half } else { Precision::Full }
    }
}

/// The tolerance of ONNX's own runner for bfloat16 results: two steps between such numbers.
pub const TWO_STEPS_OF_BFLOAT16: f64 = 1.0 / 64.0;

impl Tolerance {
    /// These relative and absolute differences. What is `None` is left open: 1e-3 and 1e-5, and more for types and models of low
    /// precision.
    #[must_use]
    pub fn new(relative: Option<f64>, absolute: Option<f64>) -> Tolerance {
        Tolerance {
            relative: relative.unwrap_or(1e-3),
            absolute: absolute.unwrap_or(1e-5),
            of_bfloat16: 0.0,
            is_random: false,
            differing: 0.0,
            cosine: None,
            open: Open { relative: relative.is_none(), absolute: absolute.is_none(), ..Open::default() },
        }
    }

    /// The allowed differences between results of these models: those of the one with the lowest precision.
    #[must_use]
    pub fn for_models<'m>(self, models: impl IntoIterator<Item = &'m Model>) -> Tolerance {
        self.for_precision(models.into_iter().map(Precision::of).max().unwrap_or_default())
    }

    /// The tolerance for an element type.
    #[must_use]
    pub fn of_type(&self, elem: ElemType) -> Tolerance {
        use ElemType as E;
        let min = if elem == E::BFLOAT16 { self.of_bfloat16 } else { 0.0 };
        let mut tolerance = Tolerance { relative: self.relative.max(min), ..self.clone() };
        let precision = self.open.precision;
        // About ten steps between numbers of the type, relative and absolute.
        let (relative, absolute): (f64, f64) = match elem {
            // One rounding in the other direction.
            E::INT8 | E::UINT8 | E::INT4 | E::UINT4 | E::INT2 | E::UINT2
                if precision == Precision::Quantized =>
            {
                (0.0, 1.0)
            }
            E::BFLOAT16 => (8e-2, 1e-2),
            E::FLOAT16 => (1e-2, 1e-3),
            E::FLOAT | E::DOUBLE if precision == Precision::Half => (1e-2, 1e-3),
            E::FLOAT | E::DOUBLE if precision == Precision::Quantized => (5e-2, 1e-2),
            E::FLOAT8E4M3FN | E::FLOAT8E4M3FNUZ | E::FLOAT6E2M3 => (1.3e-1, 0.0),
            E::FLOAT8E5M2 | E::FLOAT8E5M2FNUZ | E::FLOAT6E3M2 => (2.6e-1, 0.0),
            _ => (0.0, 0.0),
        };
        if self.open.relative {
            tolerance.relative = tolerance.relative.max(relative);
        }
        if self.open.absolute {
            tolerance.absolute = tolerance.absolute.max(absolute);
        }
        tolerance
    }

    /// Returns the tolerance for results of models of this precision.
    #[must_use]
    pub fn for_precision(mut self, precision: Precision) -> Tolerance {
        self.open.precision = precision;
        // Single elements are rounded to another step, and the error of one propagates to others.
        if precision == Precision::Quantized
            && self.open.relative
            && self.open.absolute
            && self.differing == 0.0
        {
            self.differing = 0.01;
        }
        self
    }

    /// Returns the tolerance that compares every element, if the caller leaves open whether results may be close as a whole.
    pub(super) fn of_elements(&self) -> Option<Tolerance> {
        let elements =
            Tolerance { differing: 0.0, open: Open { is_by_element: true, ..self.open }, ..self.clone() };
        let is_open = self.open.relative && self.open.absolute && self.cosine.is_none();
        (is_open && self.open.precision > Precision::Full).then_some(elements)
    }

    /// The criterion for results that are close only as a whole, in words.
    #[must_use]
    pub fn as_a_whole_in_words(&self) -> String {
        let share = match self.differing {
            0.0 => String::new(),
            share => format!("at most {} % of the elements differ more, or ", share * 100.0),
        };
        format!(
            "some elements differ by more than is allowed for one; {share}the cosine similarity is at least {ALIKE} and no difference \
             is above {} % of the largest number (--rtol or --atol compare each element)",
            NEAR * 100.0
        )
    }

    /// Whether a number is close enough to the expected one.
    #[must_use]
    pub fn allows(&self, x: f64, expected: f64) -> bool {
        x == expected
            || x.is_nan() && expected.is_nan()
            || (x - expected).abs() <= self.absolute + self.relative * expected.abs()
    }
}

impl Tolerance {
    /// Returns the cosine similarity, and the largest difference as a fraction of the largest number, from which on results are
    /// close as a whole: rounding errors of low precision accumulate from node to node. `None` if the caller gives a
    /// tolerance, and for 64-bit integers, which are indices.
    fn as_a_whole(&self, elem: ElemType) -> Option<(f64, f64)> {
        use ElemType as E;
        let is_open = self.open.relative && self.open.absolute && self.cosine.is_none();
        if !is_open || self.open.is_by_element {
            return None;
        }
        let is_float = matches!(elem, E::FLOAT16 | E::BFLOAT16 | E::FLOAT | E::DOUBLE);
        // Products of quantized numbers are sums of integers.
        let is_narrow = matches!(elem, E::INT32 | E::INT8 | E::UINT8 | E::INT16 | E::UINT16);
        match self.open.precision {
            Precision::Half if is_float => Some((ALIKE, NEAR)),
            Precision::Quantized if is_float || is_narrow => Some((ALIKE, NEAR)),
            Precision::Full | Precision::Half | Precision::Quantized => None,
        }
    }

    /// Whether numbers of a type are close enough as a whole although some are not.
    pub(super) fn allows_all(&self, elem: ElemType, xs: &[f64], ys: &[f64]) -> bool {
        let far = xs.iter().zip(ys).filter(|(x, y)| !self.allows(**x, **y)).count();
        #[allow(clippy::cast_precision_loss, reason = "a share of a count")]
        let share = far as f64 / xs.len().max(1) as f64;
        let is_alike = |min: f64| DifferenceStatistics::of(xs, ys).cosine.is_some_and(|cosine| cosine >= min);
        let largest = || ys.iter().fold(0.0, |largest: f64, y| largest.max(y.abs()));
        let is_near = |(min, part): (f64, f64)| {
            is_alike(min) && DifferenceStatistics::of(xs, ys).largest() <= part * largest()
        };
        share <= self.differing
            || self.cosine.is_some_and(is_alike)
            || self.as_a_whole(elem).is_some_and(is_near)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{difference, is_close_as_a_whole};
    use super::*;
    use onnx_exec::{Tensor, Value};

    fn tolerance() -> Tolerance {
        Tolerance::new(None, None)
    }

    fn floats(elem: ElemType, numbers: &[f64]) -> Value {
        Tensor::of_floats(elem, &[numbers.len()], numbers).expect("as many").into()
    }

    #[test]
    fn types_have_tolerances_of_their_own() {
        let near = |elem, tolerance: &Tolerance| {
            difference(&floats(elem, &[1.005, 2.0]), &floats(elem, &[1.0, 2.0]), tolerance).is_none()
        };
        assert!(near(ElemType::FLOAT16, &tolerance()) && near(ElemType::BFLOAT16, &tolerance()));
        assert!(!near(ElemType::FLOAT, &tolerance()));
        assert!(near(ElemType::FLOAT, &tolerance().for_precision(Precision::Half)));
        // Tolerances of the caller take precedence.
        let exact = Tolerance::new(Some(0.0), Some(0.0)).for_precision(Precision::Quantized);
        assert!(!near(ElemType::FLOAT16, &exact));
    }

    /// Rounding errors of low precision accumulate, but a number in the wrong place is an error.
    #[test]
    fn results_of_narrow_numbers_may_be_close_as_a_whole() {
        let expected: Vec<f64> = (0..200).map(|i| f64::from(i % 20) / 20.0).collect();
        let half = tolerance().for_precision(Precision::Half);
        let is_close = |elem, at: usize, by: f64| {
            let mut numbers = expected.clone();
            numbers[at] += by;
            difference(&floats(elem, &numbers), &floats(elem, &expected), &half).is_none()
        };
        let mut far = expected.clone();
        far[40] += 0.05;
        let is_whole = |numbers: &[f64]| {
            is_close_as_a_whole(&floats(ElemType::FLOAT, numbers), &floats(ElemType::FLOAT, &expected), &half)
        };
        assert!(is_whole(&far) && !is_whole(&expected));
        assert!(is_close(ElemType::FLOAT, 40, 0.05) && is_close(ElemType::FLOAT16, 40, 0.05));
        assert!(!is_close(ElemType::FLOAT, 40, 0.2) && !is_close(ElemType::INT64, 40, 1.0));
        assert!(!near_ints(&half) && near_ints(&half.clone().for_precision(Precision::Quantized)));
    }

    /// Whether integer results that differ by one rounding are close.
    fn near_ints(tolerance: &Tolerance) -> bool {
        let ints =
            |numbers: &[i32]| -> Value { Tensor::of(&[numbers.len()], numbers).expect("as many").into() };
        difference(&ints(&[-6680, 9000, 40]), &ints(&[-6639, 9000, 20]), tolerance).is_none()
    }

    #[test]
    fn a_share_of_elements_may_differ() {
        let mut numbers = vec![1.0; 200];
        let expected = floats(ElemType::FLOAT, &numbers);
        numbers[3] = 2.0;
        let result = floats(ElemType::FLOAT, &numbers);
        assert!(difference(&result, &expected, &tolerance()).is_some());
        assert!(difference(&result, &expected, &tolerance().for_precision(Precision::Quantized)).is_none());
        let share = Tolerance { differing: 0.005, ..tolerance() };
        assert!(difference(&result, &expected, &share).is_none());
        let cosine = |min| Tolerance { cosine: Some(min), ..tolerance() };
        assert!(difference(&result, &expected, &cosine(0.99)).is_none());
        assert!(difference(&result, &expected, &cosine(0.9999)).is_some());
    }
}
