//! The tokens of formulas and schedules.

use logos::Logos;

/// A token. What a word means depends on where it stands.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
pub enum Token {
    /// A keyword, a function, an element type, an index or a name.
    #[regex(r"[A-Za-z_][A-Za-z0-9_.]*")]
    Word,
    /// A name in double quotes.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Quoted,
    /// A slot without a name.
    #[regex(r"%[0-9]+")]
    Slot,
    /// Digits alone.
    #[regex(r"[0-9]+")]
    Int,
    /// Digits with a point or an exponent.
    #[regex(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?f?", priority = 1)]
    Float,
    /// Anything else.
    #[regex(r"<<|>>|<=|>=|==|\.\.|[-\[\](){},=+*/%<>&|^:;]")]
    Symbol,
}

/// Words that are no names: they begin something else wherever a name may stand.
const RESERVED: [&str; 25] = [
    "total", "sum", "product", "max", "min", "first", "last", "argmax", "argmin", "over", "of", "where",
    "and", "or", "xor", "not", "if", "else", "inf", "NaN", "index", "bits", "as", "at", "in",
];

/// Whether a name can stand without quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    if let Some(number) = name.strip_prefix('%') {
        return !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    }
    let mut bytes = name.bytes();
    let is_first = |c: u8| c.is_ascii_alphabetic() || c == b'_';
    bytes.next().is_some_and(is_first)
        && bytes.all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'.')
        && !RESERVED.contains(&name)
        && index_of(name).is_none()
        && onnx_ir::ElemType::from_name(name).is_none()
}

/// The number of an index: 3 of `i3`.
pub(super) fn index_of(word: &str) -> Option<usize> {
    let digits = word.strip_prefix('i')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}
