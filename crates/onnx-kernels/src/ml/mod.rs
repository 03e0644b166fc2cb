//! Kernels of ai.onnx.ml: feature preparation, encoders, maps, linear models, support vector machines, decision trees.
//!
//! Most inputs have a row of features per sample. Kernels compute in 64 bits and round where the operator has 32, so that labels
//! decided by a tie agree with other implementations.

mod compact;
mod ensemble;
mod features;
mod forest;
mod keys;
mod linear;
mod machine;
mod maps;
mod scores;
mod svm;

use super::real::dot;
use super::{Row, row};
use onnx_formula::Number;
use onnx_ir::ElemType;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::tensor::Tensor;

/// The domain of all kernels.
const ML: &str = "ai.onnx.ml";

pub(super) const ROWS: &[Row] = &[
    row(ML, "ArrayFeatureExtractor", features::extract),
    row(ML, "Binarizer", features::binarize),
    row(ML, "CastMap", maps::cast),
    row(ML, "CategoryMapper", keys::categories),
    row(ML, "DictVectorizer", maps::vectorize),
    row(ML, "FeatureVectorizer", features::join),
    row(ML, "Imputer", features::impute),
    row(ML, "LabelEncoder", keys::encode),
    row(ML, "LinearClassifier", linear::classify),
    row(ML, "LinearRegressor", linear::regress),
    row(ML, "Normalizer", features::normalize),
    row(ML, "OneHotEncoder", keys::one_hot),
    row(ML, "SVMClassifier", svm::classify),
    row(ML, "SVMRegressor", svm::regress),
    row(ML, "Scaler", features::scale),
    row(ML, "TreeEnsemble", ensemble::run),
    row(ML, "TreeEnsembleClassifier", ensemble::classify),
    row(ML, "TreeEnsembleRegressor", ensemble::regress),
    row(ML, "ZipMap", maps::zip),
];

/// Samples with their features: a list counts as one sample.
struct Samples {
    count: usize,
    /// Features per sample.
    features: usize,
    numbers: List<f64>,
    /// The type of the computation: integers become 32-bit floats.
    elem: ElemType,
}

impl Samples {
    fn of(x: &Tensor) -> Result<Samples, Failure> {
        let [count, features] = extents(x)?;
        let elem = computed(x.elem());
        let numbers = x.floats()?.changed(|x| rounded(elem, x));
        Ok(Samples { count, features, numbers, elem })
    }

    fn row(&self, sample: usize) -> &[f64] {
        &self.numbers[sample * self.features..][..self.features]
    }
}

/// The number of samples, and of features per sample.
fn extents(x: &Tensor) -> Result<[usize; 2], Failure> {
    match x.dims() {
        &[features] => Ok([1, features]),
        &[count, features] => Ok([count, features]),
        dims => fail!("samples of shape [N,C] or [C] are expected, these are of shape {dims:?}"),
    }
}

/// The type of the computation for features of a type.
fn computed(elem: ElemType) -> ElemType {
    match elem {
        ElemType::DOUBLE | ElemType::FLOAT16 => elem,
        _ => ElemType::FLOAT,
    }
}

/// Rounds a number to a float type.
fn rounded(elem: ElemType, x: f64) -> f64 {
    match elem {
        ElemType::FLOAT => f64::from(x as f32),
        ElemType::FLOAT16 => Number::Float(x).wrap(elem).as_float(),
        _ => x,
    }
}

/// The floats of an attribute as doubles.
fn wide(floats: Option<Vec<f32>>) -> Vec<f64> {
    floats.unwrap_or_default().into_iter().map(f64::from).collect()
}
