//! The lexer: splits a source into tokens for the parser and comments for the formatter.
//!
//! Lexical mistakes are reported here and replaced by the token that was probably intended, so that the parser does not report
//! them again. Nesting is limited here too, so the parser can recurse on brackets without a check.

#[rustfmt::skip]
#[allow(unused, nonstandard_style, clippy::all, reason = "generated code")]
mod kind;
mod slips;
mod token;

pub(crate) use slips::number as meant_number;
pub(crate) use token::{Kind, Token};

use crate::identifier::is_identifier;
use logos::Logos;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, Edit, Span, code};

/// The deepest nesting of brackets. Protobuf decoders stop at 100 nested messages; a graph in a list in an attribute is three
/// messages and at most four brackets. Without a limit the parser could overflow the stack.
pub const MAX_NESTING: usize = 160;

/// The most findings of each phase (lexing, parsing, lowering).
pub const MAX_FINDINGS: usize = 1000;

/// The first line of a file whose `#@` and `##` comments are annotations.
pub const ANNOTATED: &str = "#@ onnxtxt 1";
const ANNOTATED_BEFORE_VERSION: &str = "#@ onnxtxt ";

/// A source split into tokens and comments.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    /// Comments that are not annotations, in order.
    pub(crate) comments: Vec<Span>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The first line, if it declares that the file has annotations.
    pub(crate) annotated: Option<Span>,
    /// Tokens that are unterminated strings: the rest of their line is lost.
    pub(crate) swallowing: Vec<u32>,
}

pub(crate) fn lex(source: &str) -> Lexed {
    let mut lexed = run(source, usize::MAX);
    if let Some(Token { kind: Kind::Unterminated, .. }) = lexed.tokens.last() {
        // A missing quote inverts strings and code from there on. It is probably in the first string that spans lines: lex again
        // from there with strings that end with their line.
        let multiline = |t: &&Token| {
            matches!(t.kind, Kind::String | Kind::Bytes | Kind::Unterminated)
                && source[t.span.range()].contains('\n')
        };
        let from = lexed.tokens.iter().find(multiline).map_or(0, |t| t.span.start as usize);
        lexed = run(source, from);
    }
    for (i, token) in (0..).zip(&mut lexed.tokens) {
        match token.kind {
            Kind::Unterminated => {
                token.kind = Kind::String;
                lexed.swallowing.push(i);
            }
            Kind::BadNumber => token.kind = slips::kind(&source[token.span.range()]),
            Kind::BadName => token.kind = Kind::Ident,
            _ => {}
        }
    }
    lexed
}

/// An open bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A `<`.
    Angle,
    /// The `[` of dimensions: signs need no white space there.
    Dims,
    /// A `(` in them.
    Group,
    Other,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

struct Driver<'s> {
    source: &'s str,
    /// Strings that begin here or later end with their line at the latest.
    single_line_from: usize,
    out: Lexed,
    /// The open brackets.
    open: Vec<Open>,
    starts_line: bool,
    end: usize,
    /// The last run of characters that belong to no token.
    stray: Option<Span>,
    /// The end of the last run of semicolons and spaces.
    semicolons_end: usize,
    /// The last semicolon in place of a comma: the number of tokens before it, and its finding.
    separator: Option<(usize, usize)>,
    /// The range that is known to have no end of a `/*`.
    unclosed: std::ops::Range<usize>,
}

fn run(source: &str, single_line_from: usize) -> Lexed {
    // About one token for five bytes of structure; tensors are one token each.
    let tokens = Vec::with_capacity((source.len() / 5).min(1 << 22));
    let out = Lexed { tokens, ..Lexed::default() };
    let mut driver = Driver {
        source,
        single_line_from,
        out,
        open: Vec::new(),
        starts_line: true,
        end: 0,
        stray: None,
        semicolons_end: 0,
        separator: None,
        unclosed: 0..0,
    };
    // A byte-order mark is not part of the text.
    let start = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let from = driver.first_line(start);
    driver.tokens(from, source.len());
    driver.out
}

fn span(start: usize, end: usize) -> Span {
    let offset = |at| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(offset(start), offset(end))
}

impl Driver<'_> {
    /// Lexes `source[from..to]`; returns false if the rest of the file is skipped because nesting is too deep.
    fn tokens(&mut self, from: usize, to: usize) -> bool {
        let source = self.source;
        let mut base = from;
        let mut lexer = Kind::lexer(&source[from..to]);
        let mut line_end: Option<usize> = None;
        self.end = from;
        while let Some(kind) = lexer.next() {
            let range = lexer.span();
            let (start, mut end) = (base + range.start, base + range.end);
            let mut kind = match kind {
                Ok(kind) => kind,
                // Only a string can fail after its first byte: nothing closes it.
                Err(()) if matches!(source.as_bytes()[start], b'"' | b'b') => Kind::Unterminated,
                Err(()) => Kind::Unknown,
            };
            let is_string = matches!(kind, Kind::String | Kind::Bytes | Kind::Unterminated);
            if is_string && (kind == Kind::Unterminated || start >= self.single_line_from) {
                // Kept for the next string: a line may have millions of them.
                if line_end.is_none_or(|end| end < start) {
                    line_end = memchr::memchr(b'\n', &source.as_bytes()[start..to]).map(|n| start + n);
                }
                let line_end = *line_end.get_or_insert(to);
                if self.single_line_from == usize::MAX {
                    // The first reading: `lex` decides where the quote is missing.
                    end = to;
                    kind = Kind::Unterminated;
                    lexer = Kind::lexer("");
                } else if end > line_end || kind == Kind::Unterminated {
                    end = trim_end(source, start, line_end);
                    kind = Kind::Unterminated;
                    base = end;
                    lexer = Kind::lexer(&source[end..to]);
                }
            }
            match &source.as_bytes()[self.end..start] {
                [] | [b' '] => {}
                gap => self.starts_line |= gap.contains(&b'\n'),
            }
            // `1e-` has lost the digits of its exponent.
            if kind == Kind::BadNumber
                && source.as_bytes()[end - 1].eq_ignore_ascii_case(&b'e')
                && matches!(source.as_bytes()[..to].get(end), Some(b'+' | b'-'))
            {
                end += 1;
                base = end;
                lexer = Kind::lexer(&source[base..to]);
            }
            if kind == Kind::BadName && self.dimension(start, end) {
                self.end = end;
                continue;
            }
            if matches!(kind, Kind::BadName | Kind::Unknown | Kind::Dot | Kind::Semicolon | Kind::LAngle)
                && let Some(foreign) = self.foreign(kind, start, end, to)
            {
                self.end = foreign.end;
                // The token after a multi-line comment starts a line.
                match foreign.kind {
                    Some(kind) => self.push(kind, span(start, foreign.end)),
                    None => self.starts_line |= source[start..foreign.end].contains('\n'),
                }
                base = foreign.end;
                lexer = Kind::lexer(&source[base..to]);
                continue;
            }
            self.end = end;
            if kind == Kind::Comment {
                if !self.comment(start, end) {
                    return false;
                }
                continue;
            }
            if end - start > 1 {
                match kind {
                    Kind::LBrace => kind = Kind::Numbers,
                    Kind::LBracket => kind = Kind::Ints,
                    _ => {}
                }
            }
            if !self.token(kind, start, end) {
                return false;
            }
        }
        true
    }

    /// `#@ onnxtxt 1` enables annotations; more may follow after a comma. Returns the start of the rest.
    fn first_line(&mut self, start: usize) -> usize {
        let line = self.source[start..].split('\n').next().unwrap_or("");
        let Some(rest) = line.strip_prefix(ANNOTATED_BEFORE_VERSION) else { return start };
        let version = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let marked = start + ANNOTATED_BEFORE_VERSION.len() + version;
        if rest[..version] != ANNOTATED[ANNOTATED_BEFORE_VERSION.len()..] {
            self.report(
                Diagnostic::new(&code::UNKNOWN_VERSION, span(start, marked), "unknown annotation version")
                    .label("expected version 1"),
            );
        }
        self.out.annotated = Some(span(start, marked));
        self.end = marked;
        let rest = &rest[version..];
        let next = marked + rest.len() - rest.trim_start().len();
        if rest.trim_start().starts_with(',') {
            let is_whole = self.comment_note(span(next, next), next + 1, start + line.len());
            return if is_whole { start + line.len() } else { self.source.len() };
        }
        // A comment, or a mistake: the rest is read as any text.
        next
    }

    #[cold]
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.out.diagnostics.len() < MAX_FINDINGS {
            self.out.diagnostics.push(diagnostic);
        }
    }

    fn push(&mut self, kind: Kind, span: Span) {
        self.out.tokens.push(Token { kind, starts_line: self.starts_line, span });
        self.starts_line = false;
    }

    /// Adds a token; returns false if the rest of the file is skipped.
    fn token(&mut self, kind: Kind, start: usize, end: usize) -> bool {
        let place = span(start, end);
        match kind {
            Kind::LBrace | Kind::LParen | Kind::LBracket | Kind::LAngle => {
                let outer = self.open.last().copied();
                let open = match kind {
                    Kind::LAngle => Open::Angle,
                    Kind::LBracket if self.follows_type() => Open::Dims,
                    Kind::LParen if matches!(outer, Some(Open::Dims | Open::Group)) => Open::Group,
                    _ => Open::Other,
                };
                // Nothing that `<` opens begins with another one: the first is a comparison.
                if open != Open::Angle || outer != Some(Open::Angle) || !self.is_apart(place) {
                    self.open.push(open);
                }
                if self.open.len() > MAX_NESTING {
                    self.report(
                        Diagnostic::new(&code::NESTING_TOO_DEEP, place, "brackets nest too deep")
                            .label(format!("more than {MAX_NESTING} brackets are open")),
                    );
                    self.out.tokens.clear();
                    self.out.comments.clear();
                    return false;
                }
            }
            Kind::RAngle => {
                self.open.pop_if(|open| *open == Open::Angle);
            }
            Kind::RBrace | Kind::RParen | Kind::RBracket => while self.open.pop() == Some(Open::Angle) {},
            Kind::Unterminated if self.single_line_from != usize::MAX => {
                // A token that usually follows strings probably follows this one instead of being part of it.
                let text = &self.source[place.range()];
                let next = text.find([',', '>', ')', ']', '}']).and_then(|at| u32::try_from(at).ok());
                let end = Span::at(next.map_or(place.end, |at| place.start + at));
                self.report(
                    Diagnostic::new(&code::UNTERMINATED_STRING, place, "unterminated string")
                        .label("this quote is never closed")
                        .fix("close the string", vec![Edit { span: end, text: "\"".into() }], false),
                );
            }
            // The `0.weight` of `fc.0.weight`.
            Kind::BadNumber if self.follows_dot(start) => return self.push_ident(place),
            Kind::BadNumber => self.bad_number(place),
            Kind::BadName | Kind::Unknown if self.sign(place) => return true,
            Kind::BadName => return self.bad_name(place),
            Kind::Semicolon => {
                // Inside a line it may replace a comma.
                if self.semicolons_end < end {
                    let rest = &self.source[end..];
                    let after = rest.trim_start_matches([' ', '\t', '\r', ';']);
                    self.semicolons_end = self.source.len() - after.len();
                }
                let after = &self.source[self.semicolons_end..];
                let ends_line = after.is_empty() || after.starts_with(['\n', '#', '}']);
                let ends_call = self
                    .out
                    .tokens
                    .last()
                    .is_some_and(|t| matches!(t.kind, Kind::RParen | Kind::RAngle | Kind::RBrace));
                if !ends_line && !ends_call && self.separates(after) {
                    self.separator(place);
                    return true;
                }
                let remove = vec![Edit { span: place, text: String::new() }];
                self.report(
                    Diagnostic::new(&code::STRAY_CHARACTER, place, "unexpected `;`")
                        .label("statements need no terminator")
                        .help("remove it")
                        .fix("remove the semicolon", remove, ends_line && ends_call),
                );
                return true;
            }
            Kind::Unknown => {
                self.stray(place);
                return true;
            }
            _ => {}
        }
        self.push(kind, place);
        true
    }

    /// Whether a single dot precedes, with nothing between: `...` is an ellipsis.
    fn follows_dot(&self, start: usize) -> bool {
        let mut dots = self.out.tokens.iter().rev().map_while(|t| (t.kind == Kind::Dot).then_some(t.span));
        let (last, other) = (dots.next(), dots.next());
        last.is_some_and(|last| {
            last.end as usize == start && other.is_none_or(|other| other.end != last.start)
        })
    }

    fn push_ident(&mut self, place: Span) -> bool {
        self.push(Kind::Ident, place);
        true
    }

    /// Whether a sign has white space on both sides, or a `=` after it.
    fn is_apart(&self, place: Span) -> bool {
        let bytes = self.source.as_bytes();
        let before = (place.start as usize).checked_sub(1).and_then(|at| bytes.get(at));
        before.is_some_and(u8::is_ascii_whitespace)
            && bytes.get(place.end as usize).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'=')
    }

    /// Whether the name of an element type is the last token.
    fn follows_type(&self) -> bool {
        let last = self.out.tokens.last().filter(|token| token.kind == Kind::Ident);
        last.is_some_and(|token| ElemType::from_name(&self.source[token.span.range()]).is_some())
    }

    /// The `+S*2` of `float[P+S*2]`: signs and words of an expression in a dimension. Returns whether it is one.
    fn dimension(&mut self, start: usize, end: usize) -> bool {
        let open = self.open.last().copied();
        if !matches!(open, Some(Open::Dims | Open::Group)) {
            return false;
        }
        let text = &self.source[start..end];
        let before = self.out.tokens.last().filter(|token| token.span.end as usize == start);
        let before = before.map(|token| token.kind);
        let follows_operand = matches!(before, Some(Kind::Ident | Kind::Int | Kind::RParen));
        if !(follows_operand || text.starts_with('-')) {
            return false;
        }
        let Some(parts) = parts_of_dimension(text) else { return false };
        // `batch-size` is a name that lacks its quotes: white space around the sign tells a difference from it.
        let is_joined = before == Some(Kind::Ident)
            && parts.iter().all(|(kind, part)| *kind != Kind::Sign || matches!(*part, "-" | "/"))
            && parts.iter().any(|(kind, _)| *kind == Kind::Ident);
        if is_joined && open == Some(Open::Dims) {
            return false;
        }
        let mut at = start;
        for (kind, part) in parts {
            self.push(kind, span(at, at + part.len()));
            at += part.len();
        }
        true
    }

    /// The sign of an expression, after an operand (`x + 1`) or before one (`-x`). Returns whether it is one.
    fn sign(&mut self, place: Span) -> bool {
        let text = &self.source[place.range()];
        let before = self.out.tokens.last().map(|t| t.kind);
        let follows_operand = matches!(
            before,
            Some(
                Kind::Ident
                    | Kind::String
                    | Kind::Bytes
                    | Kind::Int
                    | Kind::Float
                    | Kind::Special
                    | Kind::RParen
                    | Kind::RBracket
                    | Kind::Ints
            )
        );
        if follows_operand {
            let is_unequal = text == "!" && self.source[place.end as usize..].starts_with('=');
            let is_sign = matches!(text, "+" | "-" | "*" | "/" | "**") || is_unequal;
            if is_sign {
                self.push(Kind::Sign, place);
            }
            return is_sign;
        }
        let precedes_operand = matches!(
            before,
            Some(
                Kind::LParen
                    | Kind::LBracket
                    | Kind::LAngle
                    | Kind::RAngle
                    | Kind::Comma
                    | Kind::Equals
                    | Kind::At
                    | Kind::Sign
            )
        );
        let name = text.strip_prefix('-').filter(|name| name.is_empty() || is_identifier(name));
        let Some(name) = name.filter(|_| precedes_operand) else { return false };
        let end = Span::new(place.start + 1, place.end);
        self.push(Kind::Sign, Span::new(place.start, place.start + 1));
        if !name.is_empty() {
            self.push(Kind::Ident, end);
        }
        true
    }

    /// `/l/T`, or the `/0` of `layer/0`: names with other characters are quoted.
    fn bad_name(&mut self, place: Span) -> bool {
        let text = &self.source[place.range()];
        if !text.chars().any(|c| c.is_alphanumeric() || c == '_') {
            self.stray(place);
            return true;
        }
        // `1/2`
        if let Some(last) = self.out.tokens.last_mut()
            && matches!(last.kind, Kind::Int | Kind::Float)
            && last.span.end == place.start
        {
            last.span = last.span.to(place);
            let number = last.span;
            self.bad_number(number);
            return true;
        }
        let mut joined = place;
        let mut starts_line = self.starts_line;
        // `layer.0/relu` is one name, too.
        while let Some(last) = self.out.tokens.last()
            && matches!(last.kind, Kind::Ident | Kind::Dot)
            && last.span.end == joined.start
        {
            joined = last.span.to(joined);
            starts_line = last.starts_line;
            self.out.tokens.pop();
        }
        self.starts_line = starts_line;
        self.push(Kind::BadName, joined);
        let text = &self.source[joined.range()];
        self.report(
            Diagnostic::new(&code::NAME_NEEDS_QUOTES, joined, format!("name `{}` needs quotes", shown(text)))
                .label("has characters other than letters, digits and `_`")
                .help(match looks_like_product(text) {
                    true => {
                        format!("write `\"{}\"`, or an expression with spaces around the sign", shown(text))
                    }
                    false => format!("write `\"{}\"`", shown(text)),
                })
                .fix("quote the name", vec![Edit { span: joined, text: format!("\"{text}\"") }], false),
        );
        true
    }

    fn stray(&mut self, place: Span) {
        let text = &self.source[place.range()];
        let what = match text.chars().next() {
            Some('\0') => "unexpected NUL character".to_owned(),
            Some(c) if c.is_control() => format!("unexpected control character U+{:04X}", u32::from(c)),
            _ => format!("unexpected character `{}`", shown(text)),
        };
        // A run of garbage is one mistake.
        if let (Some(run), Some(last)) = (self.stray, self.out.diagnostics.last_mut())
            && run.end == place.start
        {
            last.primary.place = run.to(place).into();
            self.stray = Some(run.to(place));
            return;
        }
        self.stray = Some(place);
        self.report(Diagnostic::new(&code::STRAY_CHARACTER, place, what).label("not part of the syntax"));
    }

    /// An annotation: its mark, and the fields in `source[from..to]`.
    fn comment_note(&mut self, mark: Span, from: usize, to: usize) -> bool {
        self.push(Kind::Note, mark);
        let resume = (self.end, self.single_line_from);
        self.single_line_from = self.single_line_from.min(from);
        if !self.tokens(from, to) {
            return false;
        }
        (self.end, self.single_line_from) = resume;
        let at = trim_end(self.source, from, to);
        self.push(Kind::NoteEnd, span(at, at));
        self.starts_line = true;
        true
    }

    /// A comment, or an annotation in a file with annotations; returns false if the rest of the file is skipped.
    fn comment(&mut self, start: usize, end: usize) -> bool {
        let text = &self.source[start..end];
        let place = span(start, trim_end(self.source, start, end));
        if self.out.annotated.is_none() {
            self.out.comments.push(place);
        } else if text.starts_with("#@") {
            return self.comment_note(span(start, start + 2), start + 2, end);
        } else if text.starts_with("##") && self.starts_line {
            self.push(Kind::Doc, place);
            self.starts_line = true;
        } else {
            self.out.comments.push(place);
        }
        true
    }
}

/// The signs, symbols and integers of a part of a dimension; `None` for any other text.
fn parts_of_dimension(text: &str) -> Option<Vec<(Kind, &str)>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        let is_of = |byte: u8| match first {
            b'0'..=b'9' => byte.is_ascii_digit(),
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => byte.is_ascii_alphanumeric() || byte == b'_',
            _ => false,
        };
        let (kind, length) = match first {
            b'*' if rest.starts_with("**") => (Kind::Sign, 2),
            // `//` begins a comment.
            b'/' if rest.starts_with("//") => return None,
            b'+' | b'-' | b'*' | b'/' => (Kind::Sign, 1),
            b'0'..=b'9' => (Kind::Int, rest.bytes().take_while(|byte| is_of(*byte)).count()),
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                (Kind::Ident, rest.bytes().take_while(|byte| is_of(*byte)).count())
            }
            _ => return None,
        };
        let (part, after) = rest.split_at(length);
        // `2N` is not a product.
        if kind == Kind::Int && after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        parts.push((kind, part));
        rest = after;
    }
    Some(parts)
}

/// `x*w`, `x+1`: names rarely have these signs, unlike `-` and `/`.
fn looks_like_product(text: &str) -> bool {
    text.contains(['*', '+'])
        && text.split(['*', '+']).all(|part| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn trim_end(source: &str, start: usize, end: usize) -> usize {
    start + source[start..end].trim_end().len()
}

/// A spelling short enough for a message.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String =
        text.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(40).is_some() {
        out.push('…');
    }
    out
}

/// `` `a`, `b` or `c` ``
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("`{w}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// The edits that replace the brackets of a list, if one of `closing` ends it: a list that is not closed ends with any character.
pub(crate) fn other_brackets(
    source: &str,
    list: Span,
    closing: &[char],
    [open, close]: [&str; 2],
) -> Option<Vec<Edit>> {
    let is_closed = list.len() > 1 && source[list.range()].ends_with(closing);
    let edit = |start, text: &str| Edit { span: Span::new(start, start + 1), text: text.into() };
    is_closed.then(|| vec![edit(list.start, open), edit(list.end - 1, close)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind> {
        lex(source).tokens.iter().map(|t| t.kind).collect()
    }

    fn messages(source: &str) -> Vec<String> {
        lex(source).diagnostics.into_iter().map(|d| d.message).collect()
    }

    #[test]
    fn tokens_are_small() {
        assert_eq!(size_of::<Token>(), 12);
    }

    #[test]
    fn numbers_and_names_are_told_apart() {
        use Kind::*;
        assert_eq!(
            kinds("1 -2 1.5 1e3 1. -1.e-3 inf -inf nan"),
            [Int, Int, Float, Float, Float, Float, Ident, Special, Ident]
        );
        assert_eq!(kinds("float[N]x=>y"), [Ident, LBracket, Ident, RBracket, Ident, Arrow, Ident]);
    }

    #[test]
    fn a_tensor_of_numbers_is_one_token() {
        assert_eq!(kinds("w = {1, -2.5e3,\n 3}"), [Kind::Ident, Kind::Equals, Kind::Numbers]);
        assert_eq!(kinds("{{1, 2}}"), [Kind::Numbers]);
        assert_eq!(kinds("{1, nan}").len(), 5);
        assert_eq!(kinds("{ }"), [Kind::LBrace, Kind::RBrace]);
        assert_eq!(kinds("[1, -2] [3]"), [Kind::Ints, Kind::Ints]);
        for list in ["[]", "[1,]", "[1 2]", "[1, x]", "[1.5]", "[1234567890123456789]", "[1"] {
            assert_eq!(kinds(list).first(), Some(&Kind::LBracket), "{list}");
        }
    }

    #[test]
    fn mistakes_are_reported_and_replaced() {
        assert_eq!(
            messages("a = 0x1F; b = 1e"),
            ["`0x1F` is not a number", "unexpected `;`", "`1e` is not a number"]
        );
        assert_eq!(messages("y = Relu(/l/T)"), ["name `/l/T` needs quotes"]);
        assert_eq!(messages("y = Relu(conv/T.1)"), ["name `conv/T.1` needs quotes"]);
        assert_eq!(kinds("y = Relu(/l/T)"), kinds("y = Relu(T)"));
    }

    #[test]
    fn an_unterminated_string_is_reported_where_it_begins() {
        let lexed = lex("a = \"x\nb = \"y\"\nc");
        assert_eq!(lexed.diagnostics.len(), 1);
        assert_eq!(lexed.diagnostics[0].primary.place, Span::new(4, 6).into());
        assert_eq!(lexed.tokens.len(), 7);
        assert_eq!(messages("\"two\nlines\""), [""; 0]);
    }

    #[test]
    fn annotations_are_tokens_only_after_the_first_line() {
        let text = "#@ doc: 1\n## d\nx";
        assert_eq!(kinds(text), [Kind::Ident]);
        let annotated = format!("{ANNOTATED}\n{text}");
        use Kind::*;
        assert_eq!(kinds(&annotated), [Note, Ident, Colon, Int, NoteEnd, Doc, Ident]);
    }

    #[test]
    fn deep_nesting_is_one_diagnostic() {
        assert_eq!(messages(&"(".repeat(100_000)), ["brackets nest too deep"]);
    }
}
