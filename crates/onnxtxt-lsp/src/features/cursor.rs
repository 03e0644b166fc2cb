//! The surroundings of the cursor, by tokens alone: the tree of a statement that is being typed has holes.

use crate::document::Snapshot;
use onnx_text::{TextToken, TokenClass};
use onnxtxt::ir::diag::Span;

/// Tokens that are looked at before and after a place: a list of operands or attributes is shorter.
const MAX_LOOK: usize = 4_000;

/// Brackets around a place that are looked at: expressions are nested less deeply.
const MAX_NESTING: usize = 70;

/// The part of a text in which something is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Around {
    /// In the operands of a node: how many commas are before.
    Inputs {
        /// The operator with its domain.
        op: Span,
        /// Commas between the bracket and the cursor.
        index: usize,
    },
    /// In the attributes of a node.
    Attributes {
        /// The operator with its domain.
        op: Span,
        /// The attribute whose value is typed.
        value_of: Option<Span>,
    },
    /// After the `=` of a statement: an operator, and the domain before it.
    Operator {
        /// The words before the last dot.
        domain: Option<Span>,
    },
    /// In an expression, after a sign or a bracket: a value or a call.
    Operand {
        /// The end of the sign or bracket.
        after: u32,
    },
    /// In a list of declarations: `(…)` or `<…>` of a graph or function.
    Declarations,
    /// In the dimensions of a type.
    Dimensions,
    /// In a header.
    Header {
        /// The key whose value is typed.
        value_of: Option<Span>,
    },
    /// At the start of a statement.
    Statement,
    /// After `#@`.
    Annotation,
    /// In a comment or a string.
    Nothing,
}

/// The tokens before a byte, the last one first; a word that ends there is being typed and left out.
fn before(snapshot: &Snapshot, at: u32) -> impl Iterator<Item = TextToken> + Clone + '_ {
    let tokens = snapshot.tokens();
    let next =
        tokens.partition_point(|token| token.span.end < at || (token.span.end == at && !is_word(token)));
    tokens[..next].iter().rev().copied().take(MAX_LOOK)
}

fn is_word(token: &TextToken) -> bool {
    matches!(token.class, TokenClass::Word | TokenClass::Number)
}

/// The surroundings of a cursor.
pub(super) fn around(snapshot: &Snapshot, at: u32) -> Around {
    let tokens = snapshot.tokens();
    let i = tokens.partition_point(|token| token.span.end < at);
    if let Some(token) = tokens.get(i).filter(|token| token.span.start < at) {
        match token.class {
            TokenClass::Comment | TokenClass::Documentation => return Around::Nothing,
            TokenClass::String if is_open_string(snapshot, token, at) => {
                return in_string(snapshot, at, token.span);
            }
            _ => {}
        }
    }
    // The blanks at the end of a line are not part of a comment.
    let line = snapshot.lines().line(at);
    match i.checked_sub(1).map(|i| tokens[i]) {
        Some(TextToken { class: TokenClass::Comment | TokenClass::Documentation, span })
            if snapshot.lines().line(span.start) == line =>
        {
            Around::Nothing
        }
        _ => unquoted(snapshot, at),
    }
}

/// Strings are values of attributes and fields, and names.
fn in_string(snapshot: &Snapshot, at: u32, string: Span) -> Around {
    match unquoted(snapshot, string.start) {
        Around::Attributes { op, value_of: Some(name) } if at > string.start => {
            Around::Attributes { op, value_of: Some(name) }
        }
        header @ Around::Header { value_of: Some(_) } => header,
        inputs @ Around::Inputs { .. } => inputs,
        _ => Around::Nothing,
    }
}

fn unquoted(snapshot: &Snapshot, at: u32) -> Around {
    innermost(snapshot, at, 0)
}

/// Whether a token is a sign of an expression. `<` and `>` are taken for brackets.
fn is_sign(text: &str) -> bool {
    matches!(text, "+" | "-" | "*" | "/" | "@" | "**" | "<=" | ">=" | "==" | "!=")
}

/// The surroundings of a place outside of strings and comments, in so many brackets that were passed already.
fn innermost(snapshot: &Snapshot, at: u32, nesting: usize) -> Around {
    if nesting > MAX_NESTING {
        return Around::Nothing;
    }
    let mut depth = 0usize;
    let mut commas = 0;
    // The name before the last `=` or `:`, if no comma is after it; whether it is an argument of a call, or begins a statement.
    let mut key: Option<Span> = None;
    let (mut is_argument, mut is_statement) = (false, false);
    // The end of the last `=` or sign of this level, and whether it is a sign.
    let mut opener: Option<(u32, bool)> = None;
    let mut tokens = before(snapshot, at);
    let last = tokens.clone().next().map(|token| snapshot.slice(token.span)).unwrap_or_default();
    // After an operand, another statement begins.
    let is_open = matches!(last, "=" | "." | ":") || is_sign(last);
    let operand = |opener: Option<(u32, bool)>| match opener {
        Some((start, _)) if last == "." => Around::Operator { domain: domain(snapshot, start, at) },
        Some((after, true)) => Around::Operand { after },
        Some((_, false)) | None => Around::Operator { domain: None },
    };
    let in_body = |is_statement: bool, opener| match is_statement && is_open {
        true => operand(opener),
        false => Around::Statement,
    };
    while let Some(token) = tokens.next() {
        if token.class == TokenClass::Annotation {
            // An annotation ends with its line.
            if snapshot.lines().line(token.span.start) == snapshot.lines().line(at) {
                return Around::Annotation;
            }
            continue;
        }
        if token.class != TokenClass::Punctuation {
            continue;
        }
        let text = snapshot.slice(token.span);
        if depth == 0 && opener.is_none() && (text == "=" || is_sign(text)) {
            opener = Some((token.span.end, text != "="));
        }
        match text {
            "}" | ")" | "]" | ">" => depth += 1,
            "{" | "(" | "[" | "<" if depth > 0 => depth -= 1,
            "{" => return in_body(is_statement || is_argument, opener),
            "[" => return dimensions(snapshot, token.span, nesting),
            "(" => {
                return match (opened(snapshot, token.span.start, nesting), key) {
                    // Operands have no `=`: the bracket before this statement is not closed.
                    (Opened::Call(_), Some(_)) if is_statement => in_body(true, opener),
                    (Opened::Call(op), Some(name)) if is_argument => {
                        Around::Attributes { op, value_of: Some(name) }
                    }
                    (Opened::Call(op), _) => Around::Inputs { op, index: commas },
                    (Opened::Group, _) => {
                        Around::Operand { after: opener.map_or(token.span.end, |(after, _)| after) }
                    }
                    (Opened::Dimension, _) => Around::Dimensions,
                    (Opened::Other, _) => Around::Declarations,
                };
            }
            "<" => {
                return match opened(snapshot, token.span.start, nesting) {
                    Opened::Call(op) => Around::Attributes { op, value_of: key },
                    _ if is_header(snapshot, token.span.start) => Around::Header { value_of: key },
                    _ => Around::Declarations,
                };
            }
            "," if depth == 0 => commas += 1,
            separator @ ("=" | ":") if depth == 0 && commas == 0 && key.is_none() => {
                let mut names = tokens.clone();
                let is_name = |name: &TextToken| is_word(name) || name.class == TokenClass::String;
                key = names.next().filter(is_name).map(|name| name.span);
                if separator == "=" && key.is_some() {
                    let before = names.next().map(|token| snapshot.slice(token.span));
                    is_argument = matches!(before, Some("," | "("));
                    is_statement = !is_argument;
                }
            }
            _ => {}
        }
    }
    in_body(is_statement || is_argument, opener)
}

/// `[` after a type has dimensions, after a value indices, in a header the values of its key.
fn dimensions(snapshot: &Snapshot, bracket: Span, nesting: usize) -> Around {
    let previous = before(snapshot, bracket.start + 1).find(|token| token.span.end <= bracket.start);
    match previous {
        Some(token) if token.class == TokenClass::Word => {
            match is_operand(&innermost(snapshot, token.span.start, nesting + 1)) {
                true => Around::Operand { after: bracket.end },
                false => Around::Dimensions,
            }
        }
        Some(token) if matches!(snapshot.slice(token.span), ":" | "=") => {
            innermost(snapshot, bracket.start, nesting + 1)
        }
        _ => Around::Nothing,
    }
}

/// Whether an expression may begin at a place.
fn is_operand(around: &Around) -> bool {
    matches!(around, Around::Inputs { .. } | Around::Operand { .. } | Around::Operator { domain: None })
}

/// The meaning of a `(` or `<`.
enum Opened {
    /// The operands or attributes of an operator, which is here with its domain.
    Call(Span),
    /// An expression in parentheses.
    Group,
    /// The arguments of a function in a dimension.
    Dimension,
    Other,
}

fn opened(snapshot: &Snapshot, bracket: u32, nesting: usize) -> Opened {
    let mut tokens = before(snapshot, bracket + 1).skip_while(|token| token.span.end > bracket);
    let Some(mut first) = tokens.next() else { return Opened::Other };
    // Attributes may be between the operator and its operands, or operands between it and its attributes.
    if matches!(snapshot.slice(first.span), ">" | ")") {
        let mut depth = 1usize;
        while depth > 0 {
            let Some(token) = tokens.next() else { return Opened::Other };
            match snapshot.slice(token.span) {
                ">" | ")" | "}" | "]" => depth += 1,
                "<" | "(" | "{" | "[" => depth -= 1,
                _ => {}
            }
        }
        let Some(token) = tokens.next() else { return Opened::Other };
        first = token;
    }
    let is_name = |token: &TextToken| matches!(token.class, TokenClass::Word | TokenClass::String);
    let of_expression = |start: u32| innermost(snapshot, start, nesting + 1);
    if !is_name(&first) {
        return if is_operand(&of_expression(first.span.end)) { Opened::Group } else { Opened::Other };
    }
    let mut op = first.span;
    let Some(separator) = to_domain(snapshot, tokens, &mut op, is_name) else { return Opened::Other };
    match separator {
        "=" => Opened::Call(op),
        "(" | "," | "[" => match of_expression(op.start) {
            around if is_operand(&around) => Opened::Call(op),
            Around::Dimensions => Opened::Dimension,
            _ => Opened::Other,
        },
        sign if is_sign(sign) && is_operand(&of_expression(op.start)) => Opened::Call(op),
        _ => Opened::Other,
    }
}

/// Extends an operator by the words before it, up to its domain. Returns the token before that.
fn to_domain<'s>(
    snapshot: &'s Snapshot,
    mut tokens: impl Iterator<Item = TextToken>,
    op: &mut Span,
    is_name: impl Fn(&TextToken) -> bool,
) -> Option<&'s str> {
    loop {
        let separator = snapshot.slice(tokens.next()?.span);
        match separator {
            "." => *op = tokens.next().filter(&is_name)?.span.to(*op),
            // The word after it is an overload, and the one before it is the operator.
            ":" => *op = tokens.next().filter(&is_name)?.span,
            separator => return Some(separator),
        }
    }
}

/// Whether a `<` at a byte begins a header: of the file, of a function, or of an operator set.
fn is_header(snapshot: &Snapshot, bracket: u32) -> bool {
    let previous = before(snapshot, bracket)
        .find(|token| !matches!(token.class, TokenClass::Comment | TokenClass::Documentation));
    let next = snapshot.tokens();
    let i = next.partition_point(|token| token.span.start <= bracket);
    let has_key = next.get(i + 1).is_some_and(|token| snapshot.slice(token.span) == ":");
    previous.is_none_or(|token| token.class == TokenClass::Annotation || snapshot.slice(token.span) == "}")
        || has_key
}

/// The words before the last dot between two bytes.
fn domain(snapshot: &Snapshot, from: u32, to: u32) -> Option<Span> {
    let text = snapshot.slice(Span::new(from, to.max(from)));
    let dot = text.rfind('.')?;
    let start = text.len() - text.trim_start().len();
    let offset = |at: usize| from + u32::try_from(at).unwrap_or(u32::MAX);
    (start < dot).then(|| Span::new(offset(start), offset(dot)))
}

/// The innermost brackets around a byte, if both are there.
pub(super) fn brackets_around(snapshot: &Snapshot, at: u32) -> Option<(Span, Span)> {
    let tokens = snapshot.tokens();
    let next = tokens.partition_point(|token| token.span.start < at);
    let is = |token: &TextToken, brackets: &str| {
        token.class == TokenClass::Punctuation && brackets.contains(snapshot.slice(token.span))
    };
    let mut depth = 0usize;
    let mut open = None;
    for token in tokens[..next].iter().rev().take(MAX_LOOK) {
        if is(token, ")]}>") {
            depth += 1;
        } else if is(token, "([{<") {
            match depth {
                0 => {
                    open = Some(token.span);
                    break;
                }
                _ => depth -= 1,
            }
        }
    }
    let open = open?;
    depth = 0;
    for token in tokens[next..].iter().take(MAX_LOOK) {
        if is(token, "([{<") {
            depth += 1;
        } else if is(token, ")]}>") {
            match depth {
                0 => return Some((open, token.span)),
                _ => depth -= 1,
            }
        }
    }
    None
}

/// The word that ends at a byte; in a string, what is typed of it.
pub(super) fn word_before(snapshot: &Snapshot, at: u32) -> Span {
    let tokens = snapshot.tokens();
    let i = tokens.partition_point(|token| token.span.end < at);
    match tokens.get(i).filter(|token| token.span.start < at) {
        Some(token) if is_word(token) => Span::new(token.span.start, at),
        Some(token) if is_open_string(snapshot, token, at) => Span::new(token.span.start + 1, at),
        Some(_) | None => Span::at(at),
    }
}

/// Whether a byte after the first quote of a string is in it.
fn is_open_string(snapshot: &Snapshot, token: &TextToken, at: u32) -> bool {
    let text = snapshot.slice(token.span);
    let is_closed = token.span.end == at && text.len() > 1 && text.ends_with('"');
    token.class == TokenClass::String && text.starts_with('"') && !is_closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{at_cursor, model};

    fn at(marked: &str) -> (Around, String) {
        let (snapshot, cursor) = at_cursor(marked);
        let found = around(&snapshot, snapshot.offset(cursor));
        let text = match found {
            Around::Inputs { op, index } => format!("{} {index}", snapshot.slice(op)),
            Around::Attributes { op, value_of } => {
                format!("{} {}", snapshot.slice(op), value_of.map_or("", |name| snapshot.slice(name)))
            }
            Around::Operator { domain } => {
                domain.map_or(String::new(), |domain| snapshot.slice(domain).to_owned())
            }
            Around::Header { value_of } => {
                value_of.map_or(String::new(), |key| snapshot.slice(key).to_owned())
            }
            _ => String::new(),
        };
        (found, text)
    }

    #[test]
    fn places_in_statements() {
        for (nodes, text) in [
            ("y = Add($0", "Add 0"),
            ("y = Add(x, $0", "Add 1"),
            ("y = Add(x, t$0)", "Add 1"),
            ("y = Gemm <alpha = 1.0> (x, $0)", "Gemm 1"),
            ("y = l.m.F(x, $0)", "l.m.F 1"),
            ("y = Abs(Add(x, $0", "Add 1"),
            ("y = Abs(Add(x, x), $0", "Abs 1"),
            ("y = x * Add($0", "Add 0"),
            ("y = Abs(x) * l.F(x, $0", "l.F 1"),
            ("y = (x + Add($0", "Add 0"),
            ("y = Abs(x + $0", "Abs 0"),
        ] {
            let (found, shown) = at(&model(nodes));
            assert!(matches!(found, Around::Inputs { .. }), "{nodes}: {found:?}");
            assert_eq!(shown, text, "{nodes}");
        }
        for (nodes, text) in [
            ("y = Gemm <$0", "Gemm "),
            ("y = Gemm <al$0> (x)", "Gemm "),
            ("y = Gemm <alpha = 1.0, $0> (x)", "Gemm "),
            ("y = Gemm <alpha = $0> (x)", "Gemm alpha"),
            ("y = Gemm (x) <alpha = $0", "Gemm alpha"),
            ("y = AveragePool <auto_pad = \"SA$0\"> (x)", "AveragePool auto_pad"),
            ("y = Softmax(x, axis = $0", "Softmax axis"),
            ("y = Abs(Softmax(x, axis = $0", "Softmax axis"),
        ] {
            let (found, shown) = at(&model(nodes));
            assert!(matches!(found, Around::Attributes { .. }), "{nodes}: {found:?}");
            assert_eq!(shown, text, "{nodes}");
        }
        for (nodes, text) in [
            ("y = $0", ""),
            ("y = Re$0", ""),
            ("t = Abs(x)\ny = $0", ""),
            ("a, b = Sp$0", ""),
            ("[n] y = Re$0(x)", ""),
            ("y = com.microsoft.$0", "com.microsoft"),
            ("t = Abs(x) y = $0\nz = Abs(x)", ""),
        ] {
            let (found, shown) = at(&model(nodes));
            assert!(matches!(found, Around::Operator { .. }), "{nodes}: {found:?}");
            assert_eq!(shown, text, "{nodes}");
        }
        for nodes in [
            "y = x * $0",
            "y = x * 0.5$0",
            "y = Abs(x) + Re$0",
            "y = -$0",
            "y = (x + $0",
            "y = ($0",
            "y = x[$0",
            "y = Abs(x[$0",
        ] {
            let (found, _) = at(&model(nodes));
            assert!(matches!(found, Around::Operand { .. }), "{nodes}: {found:?}");
        }
        for nodes in [
            "t = Abs(x)\n$0",
            "t = x + x\n$0",
            "t = (x + x) * x\n$0",
            "t = x[0]\n$0",
            "t = Elu <alpha = 1.0> (x)\n$0",
        ] {
            assert_eq!(at(&model(nodes)).0, Around::Statement, "{nodes}");
        }
        assert_eq!(at(&model("t = Abs(x) # y = $0")).0, Around::Nothing);
    }

    #[test]
    fn places_outside_of_bodies() {
        assert!(matches!(at("<ir_version: 10, $0>").0, Around::Header { value_of: None }));
        assert!(matches!(at("<$0").0, Around::Header { value_of: None }));
        assert_eq!(at("<opset_import: [\"\": 21, $0]>").1, "opset_import");
        assert_eq!(at("<ir_version: 10> g ($0").0, Around::Declarations);
        assert_eq!(at("<ir_version: 10> g (float[N] x, $0) => () {}").0, Around::Declarations);
        assert_eq!(at("<ir_version: 10> g (float[N] x) => (y) <$0").0, Around::Declarations);
        assert_eq!(at("g (float[$0] x) => (y) {}").0, Around::Dimensions);
        assert_eq!(at("g (float[N, max(N, $0] x) => (y) {}").0, Around::Dimensions);
        assert_eq!(at(&model("float[$0 y = Abs(x)")).0, Around::Dimensions);
        assert_eq!(at("g (seq($0").0, Around::Declarations);
        assert_eq!(at("#@ onnxtxt 1\n#@ do$0\ng () => () {}").0, Around::Annotation);
    }

    #[test]
    fn many_brackets_are_no_burden() {
        for open in ["(", "a(", "[", "a[", "<", "a<", "x + ("] {
            let (snapshot, cursor) = at_cursor(&model(&format!("y = {}$0", open.repeat(3_000))));
            around(&snapshot, snapshot.offset(cursor));
        }
    }
}
