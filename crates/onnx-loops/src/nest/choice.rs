//! The loop form of a formula, as schedules print and set it.

use super::{Form, Nest};
use std::fmt::{self, Display, Formatter};

/// Declares the forms with their names in schedules.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident = $name:literal;)*) => {
        /// The forms of loops, by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum FormName {
            $($(#[$doc])* $form,)*
        }

        impl FormName {
            /// All forms.
            pub(crate) const ALL: &[FormName] = &[$(FormName::$form),*];

            fn name(self) -> &'static str {
                match self {
                    $(FormName::$form => $name,)*
                }
            }
        }
    };
}

forms! {
    /// Strips along the last axis of the result.
    Loops = "loops";
    /// Strips along the last axis of the reduction.
    Along = "loops along the reduction";
    /// A single-precision reduction at statically known offsets.
    Single = "loops in single precision";
    /// A reduction whose neighbouring results share operands.
    Stencil = "stencil";
    /// A tiled sum of products.
    Product = "matrix product";
    /// A 3×3 convolution by Winograd's algorithm.
    Winograd = "winograd product";
    /// Separate loops for each piece of the result.
    Pieces = "pieces";
    /// A copy or permutation of elements.
    Copy = "copy";
}

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
        FormName::ALL.iter().copied().find(|form| form.name() == words)
    }

    /// The names of all forms.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FormName::ALL.iter().map(|form| form.name())
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
