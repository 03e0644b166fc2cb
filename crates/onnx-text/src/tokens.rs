//! The tokens of a text for programs that color or complete it: classes and places, comments included.

use crate::lex::{Kind, lex};
use onnx_ir::diag::Span;

/// The class of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TokenClass {
    /// An identifier. Whether it names a value, a type or a key depends on its place.
    Word,
    /// `"…"` or `b"…"`.
    String,
    /// `1`, `-2.5e3`, `-inf`.
    Number,
    /// `{1, 2, 3}` or `[1, 2, 3]`: a list of plain numbers with its brackets, which may be megabytes.
    Numbers,
    /// Anything else: a bracket, `=`, `=>`, `,`.
    Punctuation,
    /// `# …` or `// …`.
    Comment,
    /// `## …` in a text with annotations.
    Documentation,
    /// The `#@` of an annotation.
    Annotation,
}

/// A token with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextToken {
    /// Its class.
    pub class: TokenClass,
    /// Its place.
    pub span: Span,
}

/// The tokens of a text and its comments, in order.
///
/// ```
/// use onnx_text::{TokenClass, text_tokens};
///
/// let classes: Vec<TokenClass> = text_tokens("y = Elu(x) # activation").iter().map(|token| token.class).collect();
/// use TokenClass::*;
/// assert_eq!(classes, [Word, Punctuation, Word, Punctuation, Word, Punctuation, Comment]);
/// ```
#[must_use]
pub fn text_tokens(source: &str) -> Vec<TextToken> {
    let lexed = lex(source);
    let comments = lexed.comments.iter().map(|&span| TextToken { class: TokenClass::Comment, span });
    let first = lexed.annotated.map(|span| TextToken { class: TokenClass::Annotation, span });
    let mut tokens: Vec<TextToken> = lexed
        .tokens
        .iter()
        .filter_map(|token| Some(TextToken { class: class(token.kind)?, span: token.span }))
        .chain(comments)
        .chain(first)
        .collect();
    tokens.sort_by_key(|token| token.span);
    tokens
}

/// `None` for the end of an annotation, which has no characters.
fn class(kind: Kind) -> Option<TokenClass> {
    Some(match kind {
        Kind::Ident | Kind::BadName => TokenClass::Word,
        Kind::String | Kind::Bytes | Kind::Unterminated => TokenClass::String,
        Kind::Int | Kind::Float | Kind::Special | Kind::BadNumber => TokenClass::Number,
        Kind::Numbers | Kind::Ints => TokenClass::Numbers,
        Kind::Comment => TokenClass::Comment,
        Kind::Doc => TokenClass::Documentation,
        Kind::Note => TokenClass::Annotation,
        Kind::NoteEnd => return None,
        Kind::LBrace
        | Kind::RBrace
        | Kind::LParen
        | Kind::RParen
        | Kind::LBracket
        | Kind::RBracket
        | Kind::LAngle
        | Kind::RAngle
        | Kind::Comma
        | Kind::Equals
        | Kind::Arrow
        | Kind::Colon
        | Kind::Dot
        | Kind::At
        | Kind::Question
        | Kind::Dollar
        | Kind::Sign
        | Kind::Semicolon
        | Kind::Unknown => TokenClass::Punctuation,
    })
}
