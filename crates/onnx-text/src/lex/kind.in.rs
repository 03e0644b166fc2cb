//! The kinds of tokens and the patterns that recognize them, from which `cargo xtask codegen` makes `kind.rs` with logos-codegen.
//!
//! It is not compiled as it stands: parsers need neither logos-codegen nor what that takes.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(skip r"[ \t\n\v\f\r]+")]
#[repr(u8)]
pub(crate) enum Kind {
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Ident,
    /// `"…"`, line breaks allowed.
    #[token("\"", string)]
    String,
    /// `b"…"` with escapes for any byte.
    #[token("b\"", string)]
    Bytes,
    #[regex(r"-?[0-9]+", priority = 5)]
    Int,
    #[regex(r"-?[0-9]+(\.[0-9]*([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)", priority = 6)]
    Float,
    /// `-inf`, `-nan`; without the sign they are identifiers.
    #[regex(r"-([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY]|[nN][aA][nN])", priority = 6)]
    Special,
    /// `{…}` of plain numbers, braces included.
    #[token("{", open_brace)]
    LBrace,
    #[token("}")]
    RBrace,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[", open_bracket)]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("<")]
    LAngle,
    #[token(">")]
    RAngle,
    #[token(",")]
    Comma,
    #[token("=")]
    Equals,
    #[token("=>")]
    Arrow,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("@")]
    At,
    #[token("?")]
    Question,
    #[token("$")]
    Dollar,

    /// To the end of the line, the line break not included.
    #[token("#", comment)]
    #[token("//", comment)]
    Comment,

    // Made from comments by the driver in files that have annotations.
    /// `#@` at the start of an annotation.
    Note,
    /// The end of an annotation's line.
    NoteEnd,
    /// A `##` line.
    Doc,
    /// `{1, 2, 3}` of plain numbers, made from `LBrace`.
    Numbers,
    /// `[1, 2, 3]` of plain integers, made from `LBracket`.
    Ints,
    /// `+`, `-`, `*`, `/`, `**` or the `!` of `!=` in an expression, made from a `BadName` or from `Unknown`.
    Sign,

    // Mistakes, which the driver reports and replaces.
    /// `0x1F`, `1e`, `3abc`
    #[regex(r"-?[0-9][0-9A-Za-z_.]*", priority = 4)]
    BadNumber,
    /// `/layer/T`, `-x`: a run that looks like a name but is not one.
    #[regex(r##"(/[^/ \t\n\v\f\r"#(){}\[\]<>,=:@?$;.]|[^/ \t\n\v\f\r"#(){}\[\]<>,=:@?$;.0-9A-Za-z_])[^ \t\n\v\f\r"#(){}\[\]<>,=:@?$;]*"##, priority = 1)]
    BadName,
    #[token(";")]
    Semicolon,
    /// A string that nothing closes.
    Unterminated,
    /// Anything else.
    Unknown,
}
