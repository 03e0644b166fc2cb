//! Changes from one version of a model to another, for its users.

use onnx_ir::Model;
use onnx_ir::semver::{Difference, Impact, Version, differences};
use serde_json::{Value, json};

/// The differences between two versions of a model, and whether `model_version` reflects them.
///
/// ```
/// use onnxtxt::describe::VersionChange;
///
/// let old = onnxtxt::parse("g (float[N] x) => (float[N] y) { y = Relu(x) }").model;
/// let new = onnxtxt::parse("g (float[N] x) => (float[N] y) { y = Neg(x) }").model;
/// let change = VersionChange::between(&old, &new)?;
/// assert_eq!(change.least().expect("something has changed").to_string(), "1");
/// assert!(!change.is_enough());
/// # Ok::<(), onnxtxt::describe::Unencodable>(())
/// ```
pub struct VersionChange {
    /// The changes of the interface, or else that something inside has changed.
    pub differences: Vec<Difference>,
    /// The version of the old model.
    pub old: Version,
    /// The version of the new model.
    pub new: Version,
}

/// A model that protobuf cannot hold.
pub type Unencodable = onnx_proto::TooLarge;

impl VersionChange {
    /// Compares two versions of a model. Their weights have to be in place.
    ///
    /// # Errors
    ///
    /// A model is too large for protobuf, so that what is inside cannot be compared.
    pub fn between(old: &Model, new: &Model) -> Result<VersionChange, Unencodable> {
        let mut found = differences(old, new);
        if found.is_empty() && encoded(old)? != encoded(new)? {
            let message = "the interface has not changed, but the implementation has".to_owned();
            found.push(Difference { impact: Impact::Patch, message, place: None });
        }
        let version = |model: &Model| Version::of(model.header.model_version);
        Ok(VersionChange { differences: found, old: version(old), new: version(new) })
    }

    /// The part of the version that has to be raised.
    #[must_use]
    pub fn needed(&self) -> Option<Impact> {
        self.differences.iter().map(|difference| difference.impact).max()
    }

    /// The least version that reflects the changes.
    #[must_use]
    pub fn least(&self) -> Option<Version> {
        self.needed().map(|impact| self.old.next(impact))
    }

    /// Whether the version of the new model reflects the changes.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.old.announces(self.new, self.needed())
    }

    /// The change as JSON, with `difference` for each difference.
    #[must_use]
    pub fn json(&self, difference: impl FnMut(&Difference) -> Value) -> Value {
        json!({
            "old": self.old.to_string(),
            "new": self.new.to_string(),
            "needed": self.needed().map(Impact::name),
            "least": self.least().map(|version| version.to_string()),
            "enough": self.is_enough(),
            "differences": self.differences.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

/// The encoding of a model without its version.
fn encoded(model: &Model) -> Result<Vec<u8>, Unencodable> {
    let mut model = model.clone();
    model.header.model_version = None;
    onnx_proto::write(&model)
}
