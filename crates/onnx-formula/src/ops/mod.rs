//! Operations on single elements, generated from the rows of [`table`].

mod functions;
mod table;

pub use functions::{Real, Whole};

use crate::Mode;
use crate::Number::{self, Float, Int};

/// The operand types of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Integers and floats; the result has the same type.
    Numbers,
    /// Floats.
    Floats,
    /// Integers.
    Integers,
    /// Booleans.
    Booleans,
    /// Integers and floats; the result is a boolean.
    Tests,
}

/// How long an operation takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// One or a few instructions.
    Simple,
    /// An instruction that takes as long as a division.
    Division,
    /// Dozens of instructions.
    Function,
}

/// Whether all implementations yield the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// The result is exact.
    Exact,
    /// Floats are rounded once; integers are exact.
    Rounded,
    /// Implementations may differ for floats.
    ExactForIntegers,
    /// Implementations may differ.
    Approximate,
}

/// Calls a function of a row, whose parameters get their type here.
fn call<T, R>(x: T, f: impl Fn(T) -> R) -> R {
    f(x)
}

fn call_both<T, R>(a: T, b: T, f: impl Fn(T, T) -> R) -> R {
    f(a, b)
}

fn truth(is: bool) -> Number {
    Int(i128::from(is))
}

macro_rules! define_unary {
    ($(
        $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident
        $(, float($float:expr $(, $vector:ident)?))? $(, int($int:expr))? $(, test($test:expr, $int_test:expr))?;
    )*) => {
        /// An operation on one element.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the names are those of operators")]
        pub enum Unary {
            $($(#[$doc])* $name,)*
        }

        impl Unary {
            /// All operations.
            pub const ALL: &[Unary] = &[$(Unary::$name),*];

            /// The operand type.
            pub fn domain(self) -> Domain {
                match self {
                    $(Unary::$name => Domain::$domain,)*
                }
            }

            /// How long it takes.
            pub fn cost(self) -> Cost {
                match self {
                    $(Unary::$name => Cost::$cost,)*
                }
            }

            /// Whether all implementations yield the same bits.
            pub fn exactness(self) -> Exactness {
                match self {
                    $(Unary::$name => Exactness::$exactness,)*
                }
            }

            /// The result for a float, in double precision; `None` if the operation is not defined for floats.
            pub fn of_float(self, x: f64) -> Option<Number> {
                match self {
                    $(Unary::$name => None$(.or(Some(Float(call(x, $float)))))?$(.or(Some(truth(call(x, $test)))))?,)*
                }
            }

            fn of_int(self, n: i128) -> Option<Number> {
                match self {
                    $(Unary::$name => None$(.or(Some(Int(call(n, $int)))))?$(.or(Some(truth(call(n, $int_test)))))?,)*
                }
            }
        }
    };
}

crate::unary_operations!(define_unary);

impl Unary {
    /// Whether the result is a boolean.
    pub fn is_test(self) -> bool {
        self.domain().is_test()
    }

    /// The result, before wrapping to the type; `None` if the operation is not defined for such numbers.
    pub(crate) fn apply(self, x: Number, mode: Mode) -> Option<Number> {
        let result = match x {
            Int(n) => self.of_int(n)?,
            Float(x) => self.of_float(x)?,
        };
        let is_sign_of_zero = self == Unary::Sign && x == Float(0.0);
        (mode == Mode::Reference || is_portable(result) && !is_sign_of_zero).then_some(result)
    }
}

macro_rules! define_binary {
    ($(
        $(#[$doc:meta])* $name:ident: $domain:ident, $cost:ident, $exactness:ident $(, sign($sign:literal))?
        $(, float($float:expr))? $(, int($int:expr))? $(, truth($truth:expr))? $(, compare($compare:expr))?;
    )*) => {
        /// An operation on two elements.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the names are those of operators")]
        pub enum Binary {
            $($(#[$doc])* $name,)*
        }

        impl Binary {
            /// All operations.
            pub const ALL: &[Binary] = &[$(Binary::$name),*];

            /// The type of both operands.
            pub fn domain(self) -> Domain {
                match self {
                    $(Binary::$name => Domain::$domain,)*
                }
            }

            /// How long it takes.
            pub fn cost(self) -> Cost {
                match self {
                    $(Binary::$name => Cost::$cost,)*
                }
            }

            /// Whether all implementations yield the same bits.
            pub fn exactness(self) -> Exactness {
                match self {
                    $(Binary::$name => Exactness::$exactness,)*
                }
            }

            /// The infix sign; operations without one are functions.
            pub(crate) fn sign(self) -> Option<&'static str> {
                match self {
                    $(Binary::$name => None$(.or(Some($sign)))?,)*
                }
            }

            /// The result for two floats, in double precision; `None` if the operation is not defined for floats.
            pub fn of_floats(self, a: f64, b: f64) -> Option<Number> {
                match self {
                    $(Binary::$name => {
                        None$(.or(Some(Float(call_both(a, b, $float)))))?$(.or(Some(truth(call_both(a, b, $compare)))))?
                    })*
                }
            }

            fn of_ints(self, a: i128, b: i128) -> Option<Number> {
                match self {
                    $(Binary::$name => {
                        None$(.or(Some(Int(call_both(a, b, $int)))))?$(.or(Some(truth(call_both(a, b, $compare)))))?
                    })*
                }
            }

            fn of_truths(self, a: bool, b: bool) -> Option<Number> {
                match self {
                    $(Binary::$name => None$(.or(Some(truth(call_both(a, b, $truth)))))?,)*
                }
            }
        }
    };
}

crate::binary_operations!(define_binary);

impl Binary {
    /// Whether the result is a boolean.
    pub fn is_test(self) -> bool {
        self.domain().is_test()
    }

    /// Whether a comparison with a number is true for all values of a range, or false for all.
    pub fn settled(self, n: i128, (least, most): (i128, i128)) -> Option<bool> {
        let (always, never) = match self {
            Binary::Less => (most < n, least >= n),
            Binary::LessOrEqual => (most <= n, least > n),
            Binary::Greater => (least > n, most <= n),
            Binary::GreaterOrEqual => (least >= n, most < n),
            Binary::Equal => (least == n && most == n, n < least || n > most),
            _ => return None,
        };
        (always != never).then_some(always)
    }

    /// The result, before wrapping to the type; `None` if the operands are of different kinds.
    pub(crate) fn apply(self, a: Number, b: Number, mode: Mode) -> Option<Number> {
        if self.domain() == Domain::Booleans {
            return self.of_truths(a.is_true(), b.is_true());
        }
        let is_division = matches!(self, Binary::Div | Binary::Mod | Binary::Remainder);
        let result = match (a, b) {
            (Int(_), Int(0)) if is_division && mode == Mode::Portable => return None,
            (Int(a), Int(b)) => self.of_ints(a, b)?,
            (Float(a), Float(b)) => self.of_floats(a, b)?,
            (Int(_), Float(_)) | (Float(_), Int(_)) => return None,
        };
        // The choice between two zeros, or two NaN, is unspecified.
        let is_choice = matches!(self, Binary::Min | Binary::Max) && a == b && bits(a) != bits(b);
        (mode == Mode::Reference || is_portable(result) && !is_choice).then_some(result)
    }
}

impl Domain {
    /// Whether the result is a boolean.
    pub fn is_test(self) -> bool {
        matches!(self, Domain::Booleans | Domain::Tests)
    }
}

/// Processors choose the sign of NaN, so it is not portable.
fn is_portable(result: Number) -> bool {
    match result {
        Float(x) => !x.is_nan(),
        Int(_) => true,
    }
}

fn bits(n: Number) -> Option<u64> {
    match n {
        Float(x) => Some(x.to_bits()),
        Int(_) => None,
    }
}
