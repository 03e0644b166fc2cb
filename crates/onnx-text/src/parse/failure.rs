//! What the parser reports, small enough to be made on the way through every optional part, and how it is told.

use super::grammar::In;
use crate::lex::{Kind, MAX_NESTING, Token, shown};
use chumsky::DefaultExpected;
use chumsky::error::{Error, LabelError};
use chumsky::input::Input;
use chumsky::util::MaybeRef;
use onnx_ir::diag::{Diagnostic, Edit, Span, code};

/// What would fit, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Expected(u64);

/// A class of things that would fit. The order is that of the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Want {
    Name,
    Type,
    Operator,
    AttrValue,
    Value,
    Data,
    Literal,
    Dim,
    Node,
    Graph,
    Function,
    OperatorSet,
    OperatorItem,
    Key,
    Integer,
    String,
    Arrow,
    Equals,
    Comma,
    Colon,
    Dot,
    At,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    LAngle,
    RAngle,
    NoteEnd,
    End,
}

use Want as W;
const WANTS: &[(Want, &str)] = &[
    (W::Name, "a name"),
    (W::Type, "a type"),
    (W::Operator, "an operator"),
    (W::AttrValue, "an attribute value"),
    (W::Value, "a value"),
    (W::Data, "the elements of the tensor"),
    (W::Literal, "a number or string"),
    (W::Dim, "a dimension"),
    (W::Node, "a node"),
    (W::Graph, "a graph"),
    (W::Function, "a function"),
    (W::OperatorSet, "`operator_set`"),
    (W::OperatorItem, "`operator`"),
    (W::Key, "a key"),
    (W::Integer, "an integer"),
    (W::String, "a string"),
    (W::Arrow, "`=>`"),
    (W::Equals, "`=`"),
    (W::Comma, "`,`"),
    (W::Colon, "`:`"),
    (W::Dot, "`.`"),
    (W::At, "`@`"),
    (W::LParen, "`(`"),
    (W::RParen, "`)`"),
    (W::LBracket, "`[`"),
    (W::RBracket, "`]`"),
    (W::LBrace, "`{`"),
    (W::RBrace, "`}`"),
    (W::LAngle, "`<`"),
    (W::RAngle, "`>`"),
    (W::NoteEnd, "the end of the line"),
    (W::End, "the end of the file"),
];

impl From<Want> for Expected {
    fn from(want: Want) -> Self {
        Expected(1 << want as u8)
    }
}

impl Expected {
    pub(super) fn and(self, other: impl Into<Expected>) -> Self {
        Expected(self.0 | other.into().0)
    }

    fn has(self, want: Want) -> bool {
        self.0 & (1 << want as u8) != 0
    }

    /// `a name, a type or `)``
    fn list(self) -> String {
        let words: Vec<_> = WANTS.iter().filter(|(w, _)| self.has(*w)).map(|(_, text)| *text).collect();
        match words.split_last() {
            None => "something else".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        }
    }
}

impl Want {
    pub(super) fn of(kind: Kind) -> Want {
        match kind {
            Kind::LParen => W::LParen,
            Kind::RParen => W::RParen,
            Kind::LBracket => W::LBracket,
            Kind::RBracket => W::RBracket,
            Kind::LBrace => W::LBrace,
            Kind::RBrace => W::RBrace,
            Kind::LAngle => W::LAngle,
            Kind::RAngle => W::RAngle,
            Kind::Comma => W::Comma,
            Kind::Equals => W::Equals,
            Kind::Arrow => W::Arrow,
            Kind::Colon => W::Colon,
            Kind::Dot => W::Dot,
            Kind::At => W::At,
            Kind::Int => W::Integer,
            Kind::String | Kind::Bytes => W::String,
            Kind::NoteEnd => W::NoteEnd,
            _ => W::Name,
        }
    }
}

/// What went wrong, beyond "this does not fit".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    /// Something else was expected.
    Unexpected,
    /// Two items of a list without a comma between them.
    MissingComma,
    /// A comma with nothing behind or before it.
    StrayComma,
    /// A list or block that does not end.
    NotClosed,
    /// A bracket closes what another kind opened.
    WrongBracket,
    /// `= >`
    SplitArrow,
    /// `=>` is left out.
    MissingArrow,
    /// `=` is left out.
    MissingEquals,
    /// `:` is left out.
    MissingColon,
    /// `=` where `:` belongs.
    EqualsForColon,
    /// `:` where `=` belongs.
    ColonForEquals,
    /// Nothing stands where a value belongs.
    MissingValue,
    /// A name with dots or the like, from one token to another, that is not quoted.
    BareName,
    /// A list, from one bracket to the other, in the brackets of something else; the right ones.
    Brackets(&'static str, &'static str),
    /// Too many values hold each other.
    TooDeep,
}

/// One mistake. Positions are indices of tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Failure {
    pub(super) at: u32,
    /// The bracket that was opened, for problems of lists and blocks.
    pub(super) open: Option<u32>,
    pub(super) expected: Expected,
    pub(super) problem: Problem,
    /// Whether the fix is certain to be what was meant.
    pub(super) is_certain: bool,
}

impl Failure {
    pub(super) fn expected(at: usize, expected: impl Into<Expected>) -> Self {
        Failure {
            at: index(at),
            open: None,
            expected: expected.into(),
            problem: Problem::Unexpected,
            is_certain: true,
        }
    }

    pub(super) fn problem(at: usize, problem: Problem, expected: impl Into<Expected>) -> Self {
        Failure { problem, ..Self::expected(at, expected) }
    }

    /// A mistake that covers the tokens from one to another.
    pub(super) fn between(from: usize, to: usize, problem: Problem) -> Self {
        Self::problem(from, problem, Expected::default()).inside(to)
    }

    pub(super) fn certain(self, is_certain: bool) -> Self {
        Failure { is_certain, ..self }
    }

    pub(super) fn inside(self, open: usize) -> Self {
        Failure { open: self.open.or(Some(index(open))), ..self }
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl<'t> Error<'t, In<'t>> for Failure {
    fn merge(self, other: Self) -> Self {
        match self.at.cmp(&other.at) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => Failure {
                expected: self.expected.and(other.expected),
                open: self.open.or(other.open),
                ..self
            },
        }
    }
}

/// Failures of chumsky's own primitives; the grammar names what it wants in nearly all places itself.
impl<'t> LabelError<'t, In<'t>, DefaultExpected<'t, Token>> for Failure {
    fn expected_found<E: IntoIterator<Item = DefaultExpected<'t, Token>>>(
        _: E,
        _: Option<MaybeRef<'t, Token>>,
        span: <In<'t> as Input<'t>>::Span,
    ) -> Self {
        Failure::expected(span.start, Expected::default())
    }
}

/// Failures of parsers that are labelled with what they want.
impl<'t> LabelError<'t, In<'t>, Want> for Failure {
    fn expected_found<E: IntoIterator<Item = Want>>(
        expected: E,
        _: Option<MaybeRef<'t, Token>>,
        span: <In<'t> as Input<'t>>::Span,
    ) -> Self {
        Failure::expected(span.start, expected.into_iter().fold(Expected::default(), Expected::and))
    }

    fn label_with(&mut self, label: Want) {
        self.expected = label.into();
    }
}

/// Tells a mistake: what was found and would fit, at the token where it begins, with a fix where it is certain.
pub(super) fn diagnose(failure: Failure, tokens: &[Token], source: &str) -> Diagnostic {
    let at = failure.at as usize;
    let end_of_source = u32::try_from(source.trim_end().len()).unwrap_or(u32::MAX);
    let place = tokens.get(at).map_or(Span::at(end_of_source), |t| t.span);
    let behind = match at.checked_sub(1).and_then(|i| tokens.get(i)) {
        Some(before) => Span::at(before.span.end),
        None => Span::at(place.start),
    };
    let insert = |at: Span, text: &str| vec![Edit { span: at, text: text.to_owned() }];
    let remove = |span: Span| vec![Edit { span, text: String::new() }];
    let replace = |span: Span, text: &str| vec![Edit { span, text: text.to_owned() }];
    // The last token of what the mistake covers.
    let last = failure.open.and_then(|i| tokens.get(i as usize)).map_or(place, |t| t.span);
    let expected = failure.expected.list();
    let found = found(tokens.get(at), source);
    let unexpected = || {
        Diagnostic::new(&code::UNEXPECTED_TOKEN, place, format!("expected {expected}, found {found}"))
            .label(format!("expected {expected}"))
    };
    let d = match failure.problem {
        Problem::Unexpected => unexpected(),
        Problem::MissingComma => {
            Diagnostic::new(&code::MISSING_PUNCTUATION, behind, format!("missing `,` before {found}"))
                .label("expected `,`")
                .fix("insert the comma", insert(behind, ","), failure.is_certain)
        }
        Problem::StrayComma => Diagnostic::new(&code::STRAY_PUNCTUATION, place, "unexpected `,`")
            .label("nothing stands between this comma and its neighbour")
            .fix("remove the comma", remove(place), failure.is_certain),
        Problem::NotClosed => Diagnostic::new(&code::UNCLOSED_BRACKET, behind, format!("missing {expected}"))
            .label(format!("expected {expected}")),
        Problem::WrongBracket => {
            Diagnostic::new(&code::UNCLOSED_BRACKET, place, format!("expected {expected}, found {found}"))
                .label(format!("expected {expected}"))
        }
        Problem::SplitArrow => {
            let both = tokens.get(at + 1).map_or(place, |t| place.to(t.span));
            Diagnostic::new(&code::UNEXPECTED_TOKEN, both, "`=` and `>` are apart")
                .label("an arrow is one token")
                .help("write `=>`")
                .fix("join them", vec![Edit { span: both, text: "=>".to_owned() }], true)
        }
        Problem::MissingArrow => {
            Diagnostic::new(&code::MISSING_PUNCTUATION, behind, format!("missing `=>` before {found}"))
                .label("expected `=>` between inputs and outputs")
                .fix("insert the arrow", insert(behind, " =>"), true)
        }
        Problem::TooDeep => Diagnostic::new(&code::NESTING_TOO_DEEP, place, "values nest too deep")
            .label(format!("more than {MAX_NESTING} values hold this one")),
        Problem::MissingColon => {
            Diagnostic::new(&code::MISSING_PUNCTUATION, behind, format!("missing `:` before {found}"))
                .label("expected `:`")
                .fix("insert the colon", insert(behind, ":"), true)
        }
        Problem::EqualsForColon => unexpected().help("write `:`").fix("write `:`", replace(place, ":"), true),
        Problem::ColonForEquals => {
            unexpected().help("write `=`").fix("write `=`", replace(behind.to(place), " ="), true)
        }
        Problem::MissingValue => Diagnostic::new(
            &code::UNEXPECTED_TOKEN,
            behind,
            format!("missing {} before {found}", thing(&expected)),
        )
        .label(format!("expected {expected}")),
        Problem::BareName => {
            let name = &source[place.to(last).range()];
            return Diagnostic::new(
                &code::NAME_NEEDS_QUOTES,
                place.to(last),
                format!("name `{}` needs quotes", shown(name)),
            )
            .label("has characters other than letters, digits and `_`")
            .help(format!("write `\"{}\"`", shown(name)))
            .fix("quote the name", replace(place.to(last), &format!("\"{name}\"")), false);
        }
        Problem::Brackets(open, close) => {
            let text = &source[place.range()][..1];
            let end = Span::new(last.end.saturating_sub(1), last.end);
            let begin = Span::new(place.start, place.start + 1);
            let mut edits = replace(begin, open);
            edits.extend(replace(end, close));
            let message = format!("expected `{open}`, found `{text}`");
            let d = Diagnostic::new(&code::FOREIGN_SPELLING, begin, message)
                .label(format!("expected `{open}…{close}`"))
                .help(format!("write it between `{open}` and `{close}`"));
            // In a text that is cut off, nothing closes it.
            return match source[..last.end as usize].ends_with([']', '}', ')', '>']) {
                true => d.fix(format!("use `{open}…{close}`"), edits, failure.is_certain),
                false => d,
            };
        }
        Problem::MissingEquals => {
            Diagnostic::new(&code::MISSING_PUNCTUATION, behind, format!("missing `=` before {found}"))
                .label("expected `=` between the results and the operator")
                .fix("insert the equals sign", insert(behind, " ="), true)
        }
    };
    match failure.open.and_then(|i| tokens.get(i as usize)) {
        Some(open) => d.related(open.span, format!("`{}` opened here", &source[open.span.range()][..1])),
        None => d,
    }
}

/// `an attribute value` without its article.
fn thing(expected: &str) -> &str {
    expected.strip_prefix("an ").or_else(|| expected.strip_prefix("a ")).unwrap_or(expected)
}

fn found(token: Option<&Token>, source: &str) -> String {
    let Some(token) = token else { return "the end of the file".to_owned() };
    let text = &source[token.span.range()];
    match token.kind {
        Kind::NoteEnd => "the end of the line".to_owned(),
        Kind::Note => "an annotation".to_owned(),
        Kind::Doc => "a documentation comment".to_owned(),
        Kind::Numbers | Kind::Ints => "a list of numbers".to_owned(),
        Kind::String | Kind::Bytes => format!("the string {}", shown(text)),
        Kind::Int | Kind::Float => format!("the number `{}`", shown(text)),
        _ => format!("`{}`", shown(text)),
    }
}
