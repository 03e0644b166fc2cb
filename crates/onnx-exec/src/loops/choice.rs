//! How a formula is run, as far as there is a choice: what a schedule says of each, and what may be changed in it.

use super::Nest;
use super::contract::Contraction;
use std::fmt::{self, Display, Formatter};

/// The loops that a formula is run by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Strips along the last axis of the result.
    Loops,
    /// Strips along the last axis of the reduction.
    Along,
    /// A reduction in single precision at places that are known before.
    Single,
    /// A reduction whose neighbours share what they read.
    Stencil,
    /// A sum of products in tiles.
    Product,
    /// A convolution of 3×3 taps by Winograd's products.
    Winograd,
    /// Loops of their own for each piece of the result.
    Pieces,
    /// Elements that are only moved.
    Copy,
}

/// All forms, and the words for them.
const FORMS: [(Form, &str); 8] = [
    (Form::Loops, "loops"),
    (Form::Along, "loops along the reduction"),
    (Form::Single, "loops in single precision"),
    (Form::Stencil, "stencil"),
    (Form::Product, "matrix product"),
    (Form::Winograd, "winograd product"),
    (Form::Pieces, "pieces"),
    (Form::Copy, "copy"),
];

/// How a formula is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) form: Form,
    /// Whether what is computed of totals is computed in one pass while they are in registers or in the first cache.
    pub(crate) is_one_pass: bool,
}

impl Form {
    /// The form that is called by these words.
    pub(crate) fn named(words: &str) -> Option<Form> {
        FORMS.iter().find(|(_, name)| *name == words).map(|(form, _)| *form)
    }

    /// The words for all forms.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        FORMS.iter().map(|(_, name)| *name)
    }

    fn name(self) -> &'static str {
        FORMS.iter().find(|(form, _)| *form == self).map_or("loops", |(_, name)| name)
    }
}

impl Display for Choice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.form.name())?;
        if self.is_one_pass { f.write_str(", one pass") } else { Ok(()) }
    }
}

/// What a nest may be made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed(Option<Choice>);

impl Allowed {
    /// Whatever is best.
    pub(super) const ALL: Allowed = Allowed(None);

    pub(super) fn only(choice: Choice) -> Allowed {
        Allowed(Some(choice))
    }

    /// Whether there may be loops of this form.
    pub(super) fn has(self, form: Form) -> bool {
        self.0.is_none_or(|choice| choice.form == form)
    }

    /// Whether there may be a matrix product, plain or by Winograd's transforms.
    pub(super) fn has_product(self) -> bool {
        self.has(Form::Product) || self.has(Form::Winograd)
    }

    /// Whether somebody has chosen this form.
    pub(super) fn must_be(self, form: Form) -> bool {
        self.0.is_some_and(|choice| choice.form == form)
    }

    /// Whether strips may lie along the reduction, if that is better, or must.
    pub(super) fn along(self, is_better: bool) -> bool {
        match self.0.map(|choice| choice.form) {
            None => is_better,
            Some(form) => form == Form::Along,
        }
    }

    pub(super) fn has_one_pass(self) -> bool {
        self.0.is_none_or(|choice| choice.is_one_pass)
    }
}

impl Nest {
    /// How it is run.
    pub(crate) fn choice(&self) -> Choice {
        let form = match (&self.contraction, &self.taps, self.reduction) {
            _ if self.pieces.is_some() => Form::Pieces,
            _ if self.moved.is_some() => Form::Copy,
            (Some(contraction), _, _) if contraction.is_winograd() => Form::Winograd,
            (Some(_), _, _) => Form::Product,
            (None, Some(taps), _) if taps.has_windows() => Form::Stencil,
            (None, Some(_), _) => Form::Single,
            (None, None, Some(reduction)) if reduction.is_inner => Form::Along,
            (None, None, _) => Form::Loops,
        };
        let product = self.contraction.as_ref().and_then(Contraction::epilogue);
        Choice { form, is_one_pass: product.or(self.epilogue.as_ref()).is_some() }
    }
}
