//! `--profile`: the syntax that a text may use.

use onnx_text::Profile;

/// `--profile`
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum ProfileArg {
    /// The reference grammar, annotations in comments, and extended syntax where nothing else can express the model
    Onnx,
    /// The same, but numbers of float16, bfloat16 and other narrow floats are written as values, which the reference rejects
    Extended,
    /// The reference grammar and nothing else; losses are listed
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
