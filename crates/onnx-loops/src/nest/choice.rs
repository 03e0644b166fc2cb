//! The loop form of a formula, as schedules print and set it.

use super::{Form, Nest};
use std::fmt::{self, Display, Formatter};

/// The forms of loops, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormName {
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
const FORMS: [(FormName, &str); 8] = [
    (FormName::Loops, "loops"),
    (FormName::Along, "loops along the reduction"),
    (FormName::Single, "loops in single precision"),
    (FormName::Stencil, "stencil"),
    (FormName::Product, "matrix product"),
    (FormName::Winograd, "winograd product"),
    (FormName::Pieces, "pieces"),
    (FormName::Copy, "copy"),
];

/// The form of a formula's loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The form.
    pub form: FormName,
    /// Whether the epilogue runs in one pass, while accumulators are in registers or the first-level cache.
    pub is_one_pass: bool,
}

impl FormName {
    /// The form with this name.
    pub fn named(words: &str) -> Option<FormName> {
        FORMS.iter().find(|(_, name)| *name == words).map(|(form, _)| *form)
    }

    /// The names of all forms.
    pub fn names() -> impl Iterator<Item = &'static str> {
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
pub(crate) struct Allowed(Option<Choice>);

impl Allowed {
    /// Any form.
    pub(crate) const ALL: Allowed = Allowed(None);

    pub(crate) fn only(choice: Choice) -> Allowed {
        Allowed(Some(choice))
    }

    /// Whether this form is allowed.
    pub(crate) fn has(self, form: FormName) -> bool {
        self.0.is_none_or(|choice| choice.form == form)
    }

    /// Whether a matrix product is allowed, plain or by Winograd's algorithm.
    pub(crate) fn has_product(self) -> bool {
        self.has(FormName::Product) || self.has(FormName::Winograd)
    }

    /// Whether the schedule requires this form.
    pub(crate) fn must_be(self, form: FormName) -> bool {
        self.0.is_some_and(|choice| choice.form == form)
    }

    /// Whether strips go along the reduction, by requirement or because it is better.
    pub(crate) fn along(self, is_better: bool) -> bool {
        match self.0.map(|choice| choice.form) {
            None => is_better,
            Some(form) => form == FormName::Along,
        }
    }

    pub(crate) fn has_one_pass(self) -> bool {
        self.0.is_none_or(|choice| choice.is_one_pass)
    }
}

impl Nest {
    /// The form of this nest.
    pub fn choice(&self) -> Choice {
        let form = match &self.form {
            Form::Pieces(_) => FormName::Pieces,
            Form::Copy(_) => FormName::Copy,
            Form::Product(contraction) if contraction.is_winograd() => FormName::Winograd,
            Form::Product(_) => FormName::Product,
            Form::Stencil(stencil) if stencil.taps.has_windows() => FormName::Stencil,
            Form::Stencil(_) => FormName::Single,
            Form::Loops(_) if self.reduction.is_some_and(|reduction| reduction.is_inner) => FormName::Along,
            Form::Loops(_) => FormName::Loops,
        };
        Choice { form, is_one_pass: self.epilogue().is_some() }
    }
}
