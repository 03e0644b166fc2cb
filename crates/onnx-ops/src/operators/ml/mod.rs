//! Operators of ai.onnx.ml: classical models, stored in long attributes.

mod infer;
mod meaning;
mod models;
mod trees;
mod values;
mod versions;

use super::{Operator, gather, of_ml};
use crate::change::{
    Conversion::{By, No, Same},
    step,
};
use crate::derivative::{
    Derivative::{None as Nothing, Zero},
    INTEGERS, MAPS, STEPS,
};

pub(super) const ROWS: &[Operator] = &[
    of_ml("ArrayFeatureExtractor").infer(values::extract).define(gather::meaning::columns),
    of_ml("Binarizer").infer(values::same).define(meaning::binarizer).derivative(Zero(STEPS)),
    of_ml("CastMap").infer(values::cast_map).derivative(Nothing(MAPS)),
    of_ml("CategoryMapper").infer(values::categories).derivative(Zero(INTEGERS)),
    of_ml("DictVectorizer").infer(values::vectorize_map).derivative(Nothing(MAPS)),
    of_ml("FeatureVectorizer").infer(values::features),
    of_ml("Imputer").infer(values::impute).define(meaning::imputer),
    of_ml("LabelEncoder")
        .infer(values::encode_by_position)
        .infer_from(2, values::encode)
        .converted(&[step(2, By(versions::labels_up), By(versions::labels_down))])
        .unchanged(&[4])
        .derivative(Zero(STEPS)),
    of_ml("LinearClassifier").infer(models::linear_classifier),
    of_ml("LinearRegressor").infer(models::linear_regressor),
    of_ml("Normalizer").infer(values::normalize).define(meaning::normalizer),
    of_ml("OneHotEncoder").infer(values::one_hot).derivative(Zero(STEPS)),
    of_ml("SVMClassifier").infer(models::svm_classifier),
    of_ml("SVMRegressor").infer(models::svm_regressor),
    of_ml("Scaler").infer(values::scale).define(meaning::scaler),
    of_ml("TreeEnsemble").infer(trees::ensemble).derivative(Zero(STEPS)),
    of_ml("TreeEnsembleClassifier")
        .infer(trees::classifier)
        .converted(&[step(5, No("`TreeEnsemble` of version 5 represents trees in another way"), Same)])
        .unchanged(&[3])
        .derivative(Zero(STEPS)),
    of_ml("TreeEnsembleRegressor")
        .infer(trees::regressor)
        .converted(&[step(5, No("`TreeEnsemble` of version 5 represents trees in another way"), Same)])
        .unchanged(&[3])
        .derivative(Zero(STEPS)),
    of_ml("ZipMap").infer(values::zip).derivative(Nothing(MAPS)),
];
