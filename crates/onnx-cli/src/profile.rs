//! `--profile`: which forms a text may have.

use onnx_text::Profile;

/// `--profile`
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum ProfileArg {
    /// What the reference parser accepts, annotations in comments, and extended forms where nothing else will do
    Onnx,
    /// The same, but numbers of float16, bfloat16 and other narrow floats are values, which the reference parser refuses
    Extended,
    /// What the reference parser accepts and nothing else; losses are listed
    Reference,
    /// For reviews (`print` only): weights as digests, types and element types inline, no names that follow from results
    Review,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Profile {
        match profile {
            ProfileArg::Onnx => Profile::Onnx,
            ProfileArg::Extended | ProfileArg::Review => Profile::Extended,
            ProfileArg::Reference => Profile::Reference,
        }
    }
}
