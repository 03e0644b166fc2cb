//! Kernels of ai.onnx.ml: features made ready, encoders, maps, linear models, support vector machines, decision trees.
//!
//! Most take a row of features for each sample. They compute with 64 bits and round where the operator has 32: so labels that
//! hang on a tie come out as they do elsewhere.

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

use super::Row;
use super::real::dot;
use crate::failure::{Failure, fail};
use crate::list::List;
use crate::tensor::Tensor;
use onnx_ir::ElemType;

/// The domain of all.
const ML: &str = "ai.onnx.ml";

pub(super) const ROWS: &[Row] = &[
    (ML, "ArrayFeatureExtractor", features::extract),
    (ML, "Binarizer", features::binarize),
    (ML, "CastMap", maps::cast),
    (ML, "CategoryMapper", keys::categories),
    (ML, "DictVectorizer", maps::vectorize),
    (ML, "FeatureVectorizer", features::join),
    (ML, "Imputer", features::impute),
    (ML, "LabelEncoder", keys::encode),
    (ML, "LinearClassifier", linear::classify),
    (ML, "LinearRegressor", linear::regress),
    (ML, "Normalizer", features::normalize),
    (ML, "OneHotEncoder", keys::one_hot),
    (ML, "SVMClassifier", svm::classify),
    (ML, "SVMRegressor", svm::regress),
    (ML, "Scaler", features::scale),
    (ML, "TreeEnsemble", ensemble::run),
    (ML, "TreeEnsembleClassifier", ensemble::classify),
    (ML, "TreeEnsembleRegressor", ensemble::regress),
    (ML, "ZipMap", maps::zip),
];

/// Samples with their features: a list counts as one.
struct Samples {
    count: usize,
    /// Of each.
    features: usize,
    numbers: List<f64>,
    /// The type that is computed with: integers become floats of 32 bits.
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

/// How many samples there are, and the features of each.
fn extents(x: &Tensor) -> Result<[usize; 2], Failure> {
    match x.dims() {
        &[features] => Ok([1, features]),
        &[count, features] => Ok([count, features]),
        dims => fail!("samples of shape [N,C] or [C] are expected, these are of shape {dims:?}"),
    }
}

/// The type that is computed with for features of a type.
fn computed(elem: ElemType) -> ElemType {
    match elem {
        ElemType::DOUBLE | ElemType::FLOAT16 => elem,
        _ => ElemType::FLOAT,
    }
}

/// A number as a float of this type holds it.
fn rounded(elem: ElemType, x: f64) -> f64 {
    match elem {
        ElemType::FLOAT => f64::from(x as f32),
        ElemType::FLOAT16 => half::f16::from_f64(x).to_f64(),
        _ => x,
    }
}

/// The floats of an attribute.
fn wide(floats: Option<Vec<f32>>) -> Vec<f64> {
    floats.unwrap_or_default().into_iter().map(f64::from).collect()
}
