//! Models as text.

use crate::output::TextWriter;
use onnx_ir::{Diagnostic, Model};
use onnx_text::{Comments, FormatOptions, Profile, RaiseOptions, Raised, format_to, raise_with};
use std::io::{self, Write};

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

/// A model on its way to text.
pub(crate) struct Text(Raised);

impl Text {
    pub(crate) fn new(model: &Model, options: &RaiseOptions) -> Text {
        Text::commented(model, options, &Comments::default())
    }

    /// A text with the comments of the one that the model was read from.
    pub(crate) fn commented(model: &Model, options: &RaiseOptions, comments: &Comments) -> Text {
        Text(raise_with(model, options, comments))
    }

    /// What the profile cannot say.
    pub(crate) fn losses(&self) -> &[Diagnostic] {
        &self.0.losses
    }

    /// Whether there is a text at all.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.source.is_empty() && !self.0.losses.is_empty()
    }

    /// Whether the reference parser refuses the text.
    pub(crate) fn is_extended(&self) -> bool {
        self.0.is_extended
    }

    /// Writes the text piece by piece.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Raised { source, tree, annotated, comments, .. } = &self.0;
        let mut text = TextWriter::new(out);
        let written = format_to(&mut text, source, tree, comments, *annotated, &FormatOptions::default());
        text.finish(written)
    }

    /// The text as a whole.
    pub(crate) fn to_text(&self) -> String {
        let Raised { source, tree, annotated, comments, .. } = &self.0;
        onnx_text::format(source, tree, comments, *annotated, &FormatOptions::default())
    }
}
