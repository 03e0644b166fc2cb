//! The loop form of a formula, as schedules print and set it.

use super::Nest;
use crate::loops::product::Contraction;
use std::fmt::{self, Display, Formatter};

/// The forms of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Strips along the last axis of the result.
    Loops,
    /// Strips along the last axis of the reduction.
    Along,
    /// A single-precision reduction at statically known offsets.
    Single,
    /// A reduction whose neighbouring results share operands.
    Stencil,
    /// A tiled sum of products.
    Product,
    /// A 3×3 convolution by Winograd's algorithm.
    Winograd,
    /// Separate loops for each piece of the result.
    Pieces,
    /// A copy or permutation of elements.
    Copy,
}

/// All forms with their names.
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

/// The form of a formula's loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) form: Form,
    /// Whether the epilogue runs in one pass, while accumulators are in registers or the first-level cache.
    pub(crate) is_one_pass: bool,
}

impl Form {
    /// The form with this name.
    pub(crate) fn named(words: &str) -> Option<Form> {
        FORMS.iter().find(|(_, name)| *name == words).map(|(form, _)| *form)
    }

    /// The names of all forms.
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

/// The forms that lowering may use.
#[derive(Clone, Copy, Debug)]
pub(in crate::loops) struct Allowed(Option<Choice>);

impl Allowed {
    /// Any form.
    pub(in crate::loops) const ALL: Allowed = Allowed(None);

    pub(in crate::loops) fn only(choice: Choice) -> Allowed {
        Allowed(Some(choice))
    }

    /// Whether this form is allowed.
    pub(in crate::loops) fn has(self, form: Form) -> bool {
        self.0.is_none_or(|choice| choice.form == form)
    }

    /// Whether a matrix product is allowed, plain or by Winograd's algorithm.
    pub(in crate::loops) fn has_product(self) -> bool {
        self.has(Form::Product) || self.has(Form::Winograd)
    }

    /// Whether the schedule requires this form.
    pub(in crate::loops) fn must_be(self, form: Form) -> bool {
        self.0.is_some_and(|choice| choice.form == form)
    }

    /// Whether strips go along the reduction, by requirement or because it is better.
    pub(in crate::loops) fn along(self, is_better: bool) -> bool {
        match self.0.map(|choice| choice.form) {
            None => is_better,
            Some(form) => form == Form::Along,
        }
    }

    pub(in crate::loops) fn has_one_pass(self) -> bool {
        self.0.is_none_or(|choice| choice.is_one_pass)
    }
}

impl Nest {
    /// The form of this nest.
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
