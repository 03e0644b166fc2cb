//! The surroundings of the cursor, by tokens alone: the tree of a statement that is being typed has holes.

use crate::document::Snapshot;
use onnx_text::{TextToken, TokenClass};
use onnxtxt::ir::diag::Span;

/// Tokens that are looked at before and after a place: a list of operands or attributes is shorter.
const MAX_LOOK: usize = 4_000;

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
fn before(snapshot: &Snapshot, at: u32) -> impl Iterator<Item = TextToken> + '_ {
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
    let mut depth = 0usize;
    let mut commas = 0;
    // The name before the last `=` or `:`, if no comma is after it.
    let mut key: Option<Span> = None;
    // Where the operator of the last `name =` begins, unless its operands have ended.
    let mut operator: Option<u32> = None;
    let mut is_closed = false;
    let in_body = |operator: Option<u32>| match operator {
        Some(start) => Around::Operator { domain: domain(snapshot, start, at) },
        None => Around::Statement,
    };
    let mut tokens = before(snapshot, at).peekable();
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
        match snapshot.slice(token.span) {
            "}" | ")" | "]" | ">" => {
                is_closed |= depth == 0;
                depth += 1;
            }
            "{" | "(" | "[" | "<" if depth > 0 => depth -= 1,
            "{" => return in_body(operator),
            "[" => return dimensions(snapshot, token.span),
            "(" => {
                return match operator_before(snapshot, token.span.start) {
                    // Operands have no `=`: the bracket before this statement is not closed.
                    Some(_) if operator.is_some() => in_body(operator),
                    Some(op) => Around::Inputs { op, index: commas },
                    None => Around::Declarations,
                };
            }
            "<" => {
                return match operator_before(snapshot, token.span.start) {
                    Some(op) => Around::Attributes { op, value_of: key },
                    None if is_header(snapshot, token.span.start) => Around::Header { value_of: key },
                    None => Around::Declarations,
                };
            }
            "," if depth == 0 => commas += 1,
            separator @ ("=" | ":") if depth == 0 && commas == 0 && key.is_none() => {
                let name = tokens.peek().filter(|name| is_word(name) || name.class == TokenClass::String);
                key = name.map(|name| name.span);
                operator = key.filter(|_| separator == "=" && !is_closed).map(|_| token.span.end);
            }
            _ => {}
        }
    }
    in_body(operator)
}

/// `[` after a type has dimensions, in a header the values of its key.
fn dimensions(snapshot: &Snapshot, bracket: Span) -> Around {
    let previous = before(snapshot, bracket.start + 1).find(|token| token.span.end <= bracket.start);
    match previous {
        Some(token) if token.class == TokenClass::Word => Around::Dimensions,
        Some(token) if snapshot.slice(token.span) == ":" => unquoted(snapshot, bracket.start),
        Some(token) if snapshot.slice(token.span) == "=" => unquoted(snapshot, bracket.start),
        _ => Around::Nothing,
    }
}

/// The operator whose operands or attributes begin at a byte, with its domain.
fn operator_before(snapshot: &Snapshot, bracket: u32) -> Option<Span> {
    let mut tokens = before(snapshot, bracket + 1).skip_while(|token| token.span.end > bracket).peekable();
    let mut first = tokens.next()?;
    // Attributes may be between the operator and its operands, or operands between it and its attributes.
    if matches!(snapshot.slice(first.span), ">" | ")") {
        let mut depth = 1usize;
        loop {
            let token = tokens.next()?;
            match snapshot.slice(token.span) {
                ">" | ")" | "}" | "]" => depth += 1,
                "<" | "(" | "{" | "[" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        first = tokens.next()?;
    }
    let is_name = |token: &TextToken| matches!(token.class, TokenClass::Word | TokenClass::String);
    let mut op = Some(first).filter(is_name)?.span;
    loop {
        let separator = tokens.next()?;
        match snapshot.slice(separator.span) {
            "." => op = tokens.next().filter(is_name)?.span.to(op),
            ":" => op = tokens.next().filter(is_name)?.span,
            "=" => return Some(op),
            _ => return None,
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
        assert_eq!(at(&model("t = Abs(x)\n$0")).0, Around::Statement);
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
        assert_eq!(at("#@ onnxtxt 1\n#@ do$0\ng () => () {}").0, Around::Annotation);
    }
}
