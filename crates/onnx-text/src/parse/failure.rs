//! Parse failures, small enough to be created at every optional part, and their diagnostics.

use super::grammar::In;
use super::habits::habit;
use crate::lex::{Kind, MAX_NESTING, Token, other_brackets, shown};
use chumsky::DefaultExpected;
use chumsky::error::{Error, LabelError};
use chumsky::input::Input;
use chumsky::util::MaybeRef;
use onnx_ir::diag::{Diagnostic, Edit, Span, code};

/// Expected items, as a set.
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

/// The kind of failure, beyond an unexpected token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    /// Something else was expected.
    Unexpected,
    /// Two items of a list without a comma between them.
    MissingComma,
    /// A comma without an item before or after it.
    StrayComma,
    /// A list or block that does not end.
    NotClosed,
    /// A bracket closes what another kind opened.
    WrongBracket,
    /// `= >`
    SplitArrow,
    /// `=>` is omitted.
    MissingArrow,
    /// Another token in place of `=>`.
    WrongArrow,
    /// `=` is omitted.
    MissingEquals,
    /// `:` is omitted.
    MissingColon,
    /// `=` where `:` belongs.
    EqualsForColon,
    /// `:` where `=` belongs.
    ColonForEquals,
    /// A missing value.
    MissingValue,
    /// A name with dots or the like, from one token to another, that is not quoted.
    BareName,
    /// A list, from one bracket to the other, in the brackets of something else; the right ones.
    Brackets(&'static str, &'static str),
    /// Items, from one token to another, without the brackets around them; these brackets.
    NoBrackets(&'static str, &'static str),
    /// Elements, from one bracket to the other, in lists of lists.
    NestedElements,
    /// Expressions are nested too deeply.
    DeepExpression,
    /// A comparison of a comparison.
    TwoComparisons,
    /// Attributes in `<…>` and among the operands.
    AttributesTwice,
    /// An operand after an attribute among the operands.
    OperandAfterAttribute,
    /// A type after the name of a value, with a colon.
    TypeAfterName,
    /// A keyword before the name of a graph or function.
    Keyword,
    /// A statement `return`, to the end of its line.
    Return,
    /// Nodes in braces where a graph belongs.
    NoSignature,
    /// A literal where the name of a value belongs.
    Literal,
    /// A literal in place of an operand, inside a function.
    LiteralInFunction,
    /// A name in place of a call.
    NotACall,
    /// A call without results.
    NoResults,
    /// Values are nested too deeply.
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
    /// Whether the fix certainly has the intended meaning.
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

    /// Whether it is about two tokens that do not fit together, and not about a bracket far away.
    pub(super) fn is_local(self) -> bool {
        matches!(
            self.problem,
            Problem::Unexpected
                | Problem::MissingComma
                | Problem::StrayComma
                | Problem::MissingArrow
                | Problem::MissingEquals
        )
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

/// Failures of chumsky's own primitives; the grammar states nearly all expectations itself.
impl<'t> LabelError<'t, In<'t>, DefaultExpected<'t, Token>> for Failure {
    fn expected_found<E: IntoIterator<Item = DefaultExpected<'t, Token>>>(
        _: E,
        _: Option<MaybeRef<'t, Token>>,
        span: <In<'t> as Input<'t>>::Span,
    ) -> Self {
        Failure::expected(span.start, Expected::default())
    }
}

/// Failures of parsers labelled with their expectation.
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

/// Converts a failure to a diagnostic: found and expected, at the first token of the mistake, with a fix if it is certain.
pub(super) fn diagnose(failure: Failure, tokens: &[Token], source: &str) -> Diagnostic {
    // The place of the mistake, and the end of the token before it.
    let at = failure.at as usize;
    let end_of_source = u32::try_from(source.trim_end().len()).unwrap_or(u32::MAX);
    let place = tokens.get(at).map_or(Span::at(end_of_source), |t| t.span);
    let behind = match at.checked_sub(1).and_then(|i| tokens.get(i)) {
        Some(before) => Span::at(before.span.end),
        None => Span::at(place.start),
    };
    // Edits for fixes.
    let insert = |at: Span, text: &str| vec![Edit { span: at, text: text.to_owned() }];
    let remove = |span: Span| vec![Edit { span, text: String::new() }];
    let replace = |span: Span, text: &str| vec![Edit { span, text: text.to_owned() }];
    // The last token of the mistake.
    let last = failure.open.and_then(|i| tokens.get(i as usize)).map_or(place, |t| t.span);
    let expected = failure.expected.list();
    let found = found(tokens.get(at), source);
    let unexpected = || {
        Diagnostic::new(&code::UNEXPECTED_TOKEN, place, format!("expected {expected}, found {found}"))
            .label(format!("expected {expected}"))
    };
    let d = match failure.problem {
        Problem::Unexpected => {
            let is = |token: Option<&Token>, kinds: &[Kind]| token.is_some_and(|t| kinds.contains(&t.kind));
            let before = at.checked_sub(1).and_then(|i| tokens.get(i));
            // `Softmax:13(x)`, as documents write operators.
            let is_version = is(before, &[Kind::Colon])
                && is(tokens.get(at), &[Kind::Int])
                && is(tokens.get(at + 1), &[Kind::LParen, Kind::LAngle]);
            match is_version {
                true => unexpected().help(
                    "the import of a domain states the version of its operators: `opset_import: [\"\": 13]` in the header; \
                     after `:` is the overload of a function",
                ),
                false => unexpected(),
            }
        }
        // Punctuation that is missing, superfluous or another one.
        Problem::MissingComma => {
            Diagnostic::new(&code::MISSING_PUNCTUATION, behind, format!("missing `,` before {found}"))
                .label("expected `,`")
                .fix("insert the comma", insert(behind, ","), failure.is_certain)
        }
        Problem::StrayComma => Diagnostic::new(&code::STRAY_PUNCTUATION, place, "unexpected `,`")
            .label("expected an item between this comma and the next")
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
            .label(format!("more than {MAX_NESTING} levels of values")),
        Problem::MissingColon => {
            Diagnostic::new(&code::MISSING_PUNCTUATION, behind, format!("missing `:` before {found}"))
                .label("expected `:`")
                .fix("insert the colon", insert(behind, ":"), true)
        }
        Problem::WrongArrow => unexpected().help("write `=>`").fix("write `=>`", replace(place, "=>"), false),
        Problem::EqualsForColon => unexpected().help("write `:`").fix("write `:`", replace(place, ":"), true),
        Problem::ColonForEquals => {
            unexpected().help("write `=`").fix("write `=`", replace(behind.to(place), " ="), true)
        }
        Problem::MissingValue => {
            // `<alpha =>`: the value is missing inside of what looks like an arrow.
            let is_arrow = tokens.get(at).is_some_and(|t| t.kind == Kind::Arrow);
            let (behind, found) = match is_arrow {
                true => (Span::at(place.start + 1), "`>`".to_owned()),
                false => (behind, found),
            };
            let message = format!("missing {} before {found}", thing(&expected));
            Diagnostic::new(&code::UNEXPECTED_TOKEN, behind, message).label(format!("expected {expected}"))
        }
        // Names and values in another notation.
        Problem::BareName => {
            let name = &source[place.to(last).range()];
            return Diagnostic::new(
                &code::NAME_NEEDS_QUOTES,
                place.to(last),
                format!("name `{}` needs quotes", shown(name)),
            )
            .label(match name.starts_with(|c: char| c.is_ascii_digit()) {
                true => "begins with a digit",
                false => "has characters other than letters, digits and `_`",
            })
            .help(format!("write `\"{}\"`", shown(name)))
            .fix("quote the name", replace(place.to(last), &format!("\"{name}\"")), false);
        }
        Problem::Brackets(open, close) => {
            let text = &source[place.range()][..1];
            let begin = Span::new(place.start, place.start + 1);
            let message = format!("expected `{open}`, found `{text}`");
            // In a text that is cut off, nothing closes it.
            let edits = other_brackets(source, place.to(last), &[']', '}', ')', '>'], [open, close]);
            return Diagnostic::new(&code::FOREIGN_SPELLING, begin, message)
                .label(format!("expected `{open}…{close}`"))
                .help(format!("write it between `{open}` and `{close}`"))
                .maybe_fix(format!("use `{open}…{close}`"), edits, failure.is_certain);
        }
        Problem::NoBrackets(open, close) => {
            let covered = place.to(last);
            let text = &source[covered.range()];
            let right = format!("{open}{}{close}", shown(text));
            let mut edits = insert(Span::at(covered.start), open);
            edits.extend(insert(Span::at(covered.end), close));
            return Diagnostic::new(
                &code::WRONG_KIND,
                covered,
                format!("`{}` is not in brackets", shown(text)),
            )
            .label(format!("expected `{open}…{close}`"))
            .help(format!("write `{right}`"))
            .fix(format!("write `{right}`"), edits, failure.is_certain);
        }
        Problem::NestedElements => {
            let covered = place.to(last);
            let flat = flat(&source[covered.range()]);
            let d = Diagnostic::new(
                &code::FOREIGN_SPELLING,
                covered,
                "elements of a tensor cannot be nested lists",
            )
            .label("write all elements in one list, row by row");
            return match flat {
                Some(flat) => d.help(format!("write `{}`", shown(&flat))).fix(
                    "write one list",
                    replace(covered, &flat),
                    failure.is_certain,
                ),
                None => d,
            };
        }
        // Expressions.
        Problem::DeepExpression => {
            Diagnostic::new(&code::NESTING_TOO_DEEP, place, "expressions nest too deep")
                .label("the operands of this are nested too deeply")
                .help("assign a part of the expression to a name first")
        }
        Problem::TwoComparisons => {
            return Diagnostic::new(
                &code::UNEXPECTED_TOKEN,
                place,
                format!("comparison of a comparison: {found}"),
            )
            .label("only one comparison can stand here")
            .help("put one of them in parentheses");
        }
        Problem::AttributesTwice => {
            return Diagnostic::new(
                &code::UNEXPECTED_TOKEN,
                place,
                format!("attribute {found} among the operands, and others in `<…>`"),
            )
            .label("attributes are in one place")
            .help("move it into the `<…>`");
        }
        Problem::OperandAfterAttribute => {
            return Diagnostic::new(
                &code::UNEXPECTED_TOKEN,
                place,
                format!("attribute {found} before an operand"),
            )
            .label("attributes come after all operands")
            .help("move it to the end of the list");
        }
        Problem::TypeAfterName
        | Problem::Keyword
        | Problem::Return
        | Problem::NoSignature
        | Problem::Literal
        | Problem::LiteralInFunction => return habit(failure, tokens, source, place.to(last)),
        Problem::NotACall => {
            let name = behind_text(tokens, at, source);
            return Diagnostic::new(
                &code::UNEXPECTED_TOKEN,
                behind,
                format!("`{}` is not a call", shown(name)),
            )
            .label("expected `(` and the operands")
            .help(format!("write `{0}(…)`, or `Identity({0})` for the same value", shown(name)));
        }
        Problem::NoResults => {
            let name = &source[place.range()];
            return Diagnostic::new(
                &code::MISSING_PUNCTUATION,
                place,
                format!("call of `{}` without results", shown(name)),
            )
            .label("expected result names and `=`")
            .help(format!("write `result = {}(…)`", shown(name)));
        }
        Problem::MissingEquals => {
            Diagnostic::new(&code::MISSING_PUNCTUATION, behind, format!("missing `=` before {found}"))
                .label("expected `=` between the results and the operator")
                .fix("insert the equals sign", insert(behind, " ="), true)
        }
    };
    // The bracket that is open at the mistake.
    match failure.open.and_then(|i| tokens.get(i as usize)) {
        Some(open) => d.related(open.span, format!("`{}` opened here", &source[open.span.range()][..1])),
        None => d,
    }
}

/// The text of the token before another.
fn behind_text<'s>(tokens: &[Token], at: usize, source: &'s str) -> &'s str {
    at.checked_sub(1).and_then(|i| tokens.get(i)).map_or("", |t| &source[t.span.range()])
}

/// `[[1, 2], [3, 4]]` as one list of elements; `None` for one that is too long to be put right, or has comments.
fn flat(lists: &str) -> Option<String> {
    const LONGEST: usize = 1 << 16;
    if lists.len() > LONGEST || lists.contains(['#', '"', '/']) {
        return None;
    }
    let parts = lists.split(['[', ']', '{', '}', '(', ')', ',']).map(str::trim);
    let elements: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    Some(format!("{{{}}}", elements.join(", ")))
}

/// Several mistakes at the end of the text are one: it is cut off.
pub(super) fn cut_off(failures: &[Failure], tokens: &[Token], source: &str) -> Diagnostic {
    // Comments may follow.
    let end = Span::at(tokens.last().map_or(0, |t| t.span.end));
    let expected = failures.first().map_or_else(String::new, |f| f.expected.list());
    let mut d = Diagnostic::new(&code::CUT_OFF, end, format!("the text ends too early: expected {expected}"))
        .label(format!("expected {expected}"))
        .help("the file is probably truncated");
    let mut open: Vec<Span> = failures
        .iter()
        .filter_map(|f| f.open)
        .filter_map(|i| tokens.get(i as usize))
        .map(|t| t.span)
        .collect();
    open.sort_unstable_by_key(|span| span.start);
    open.dedup();
    for span in open.into_iter().rev().take(OPEN_SHOWN) {
        d = d.related(span, format!("`{}` opened here", &source[span.range()][..1]));
    }
    d
}

/// Brackets that are shown of a text that is cut off.
const OPEN_SHOWN: usize = 3;

/// `an attribute value` without its article.
fn thing(expected: &str) -> &str {
    expected.strip_prefix("an ").or_else(|| expected.strip_prefix("a ")).unwrap_or(expected)
}

pub(super) fn found(token: Option<&Token>, source: &str) -> String {
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
