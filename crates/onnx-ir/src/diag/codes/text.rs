//! Codes of the text: what lexer, parser and lowering report (E01..).

super::codes! { TEXT, Syntax:
    /// The parser met something that cannot stand here.
    ///
    /// The message says what was found and what would fit. If a bracket was left open, a second place shows it.
    Error UNEXPECTED_TOKEN = "E0101", "unexpected-token";
}
