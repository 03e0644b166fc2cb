//! Tokens with their meaning, to color them: a name by what it names, a word by its place.

use crate::document::Snapshot;
use gen_lsp_types::*;
use onnx_text::{NameKind, NameRole, SyntaxClass, TextToken, TokenClass, elem_type_named, text_classes};
use onnxtxt::ir::ValueDef;
use onnxtxt::ir::diag::Span;

/// The kinds of tokens, in the order of the legend.
const TYPES: [SemanticTokenTypes; 13] = [
    SemanticTokenTypes::Comment,
    SemanticTokenTypes::String,
    SemanticTokenTypes::Number,
    SemanticTokenTypes::Variable,
    SemanticTokenTypes::Parameter,
    SemanticTokenTypes::Function,
    SemanticTokenTypes::Method,
    SemanticTokenTypes::Property,
    SemanticTokenTypes::Type,
    SemanticTokenTypes::TypeParameter,
    SemanticTokenTypes::Namespace,
    SemanticTokenTypes::Keyword,
    SemanticTokenTypes::Macro,
];

const MODIFIERS: [SemanticTokenModifiers; 3] = [
    SemanticTokenModifiers::Definition,
    SemanticTokenModifiers::Readonly,
    SemanticTokenModifiers::Documentation,
];

const DEFINITION: u32 = 1;
const READONLY: u32 = 2;
const DOCUMENTATION: u32 = 4;

/// Longer lists of numbers are left to the grammar of the editor: their tokens would be megabytes.
const MAX_NUMBERS: usize = 2_000;

/// The kinds of tokens and modifiers that [`full`] refers to.
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.iter().map(|kind| kind.as_str().to_owned()).collect(),
        token_modifiers: MODIFIERS.iter().map(|modifier| modifier.as_str().to_owned()).collect(),
    }
}

/// All tokens.
pub(crate) fn full(snapshot: &Snapshot) -> SemanticTokens {
    let data = encoded(snapshot, snapshot.tokens());
    SemanticTokens { result_id: Some(result_id(&data)), data }
}

/// The tokens of a range.
pub(crate) fn range(snapshot: &Snapshot, range: Range) -> SemanticTokens {
    let span = snapshot.span(range);
    let tokens = snapshot.tokens();
    let start = tokens.partition_point(|token| token.span.end <= span.start);
    let end = tokens.partition_point(|token| token.span.start < span.end);
    SemanticTokens { result_id: None, data: encoded(snapshot, &tokens[start..end.max(start)]) }
}

/// Nothing, if the client has the tokens of this result; otherwise all of them.
pub(crate) fn delta(snapshot: &Snapshot, previous: &str) -> SemanticTokensDeltaResponse {
    let tokens = full(snapshot);
    if tokens.result_id.as_deref() == Some(previous) {
        return SemanticTokensDelta { result_id: tokens.result_id, edits: Vec::new() }.into();
    }
    tokens.into()
}

fn result_id(data: &[SemanticToken]) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    format!("{:x}", hasher.finish())
}

/// A token of the protocol before it is encoded.
type Meaning = (SemanticTokenTypes, u32);

fn encoded(snapshot: &Snapshot, tokens: &[TextToken]) -> Vec<SemanticToken> {
    let mut encoder = Encoder { snapshot, last: Position::default(), out: Vec::new() };
    let names = snapshot.names();
    let span = tokens.first().map_or(Span::default(), |first| first.span.to(tokens[tokens.len() - 1].span));
    let mut occurrences = names.within(Span::new(span.start, span.end + 1)).iter().peekable();
    let classes = text_classes(snapshot.text(), tokens);
    for (token, class) in tokens.iter().zip(classes) {
        while occurrences.next_if(|occurrence| occurrence.span.end <= token.span.start).is_some() {}
        let named = occurrences
            .peek()
            .filter(|it| it.span.start <= token.span.start && token.span.end <= it.span.end);
        let meaning = match (named, token.class) {
            (Some(occurrence), TokenClass::Word | TokenClass::String) => Some(of_name(snapshot, occurrence)),
            _ => of_class(snapshot, token, class),
        };
        if let Some((kind, modifiers)) = meaning {
            encoder.push(token.span, &kind, modifiers);
        }
    }
    encoder.out
}

fn of_name(snapshot: &Snapshot, occurrence: &onnx_text::Occurrence) -> Meaning {
    let definition = if occurrence.role == NameRole::Definition { DEFINITION } else { 0 };
    match snapshot.names().info(occurrence.name).kind {
        NameKind::Value => (SemanticTokenTypes::Variable, definition | readonly(snapshot, occurrence)),
        NameKind::Node => (SemanticTokenTypes::Macro, definition),
        NameKind::Graph | NameKind::Function => (SemanticTokenTypes::Function, definition),
        NameKind::Operator => (SemanticTokenTypes::Method, 0),
        NameKind::Attribute => (SemanticTokenTypes::Property, 0),
        NameKind::Parameter => (SemanticTokenTypes::Parameter, definition),
        NameKind::Symbol => (SemanticTokenTypes::TypeParameter, definition),
        NameKind::Domain => (SemanticTokenTypes::Namespace, 0),
    }
}

/// Initializers are constants, where they are defined: following every use would take longer than coloring it.
fn readonly(snapshot: &Snapshot, occurrence: &onnx_text::Occurrence) -> u32 {
    if occurrence.role != NameRole::Definition {
        return 0;
    }
    let value = super::hover::value_at(snapshot, occurrence.span.start);
    let is_initializer = value.is_some_and(|(body, value)| {
        matches!(snapshot.model().bodies[body].values[value].def, ValueDef::Initializer(_))
    });
    if is_initializer { READONLY } else { 0 }
}

/// The meaning of a token that names nothing, as the grammars of editors color it.
fn of_class(snapshot: &Snapshot, token: &TextToken, class: SyntaxClass) -> Option<Meaning> {
    Some(match class {
        SyntaxClass::Comment => (SemanticTokenTypes::Comment, 0),
        SyntaxClass::Documentation => (SemanticTokenTypes::Comment, DOCUMENTATION),
        SyntaxClass::Annotation | SyntaxClass::Label => (SemanticTokenTypes::Macro, 0),
        SyntaxClass::String => (SemanticTokenTypes::String, 0),
        SyntaxClass::Number if token.span.len() <= MAX_NUMBERS => (SemanticTokenTypes::Number, 0),
        SyntaxClass::Type => (SemanticTokenTypes::Type, 0),
        SyntaxClass::Operator => (SemanticTokenTypes::Method, 0),
        SyntaxClass::Attribute | SyntaxClass::Key => (SemanticTokenTypes::Property, 0),
        SyntaxClass::Domain => (SemanticTokenTypes::Namespace, 0),
        // The name of a type in another tool.
        SyntaxClass::Name if elem_type_named(snapshot.slice(token.span)).is_some() => {
            (SemanticTokenTypes::Type, 0)
        }
        // `raw` of `storage: raw`: a word that names nothing.
        SyntaxClass::Keyword | SyntaxClass::Name => (SemanticTokenTypes::Keyword, 0),
        _ => return None,
    })
}

/// Encodes tokens relative to each other, one for each line.
struct Encoder<'s> {
    snapshot: &'s Snapshot,
    last: Position,
    out: Vec<SemanticToken>,
}

impl Encoder<'_> {
    fn push(&mut self, span: Span, kind: &SemanticTokenTypes, modifiers: u32) {
        let (text, lines) = (self.snapshot.text(), self.snapshot.lines());
        let (first, last) = (lines.line(span.start), lines.line(span.end.saturating_sub(1).max(span.start)));
        for line in first..=last {
            let start = span.start.max(lines.start(text, line));
            let end = span.end.min(lines.end(text, line));
            if start < end {
                self.one(Span::new(start, end), kind, modifiers);
            }
        }
    }

    fn one(&mut self, span: Span, kind: &SemanticTokenTypes, modifiers: u32) {
        let range = self.snapshot.range(span);
        let is_same_line = range.start.line == self.last.line;
        let index = TYPES.iter().position(|other| other == kind).and_then(|i| u32::try_from(i).ok());
        self.out.push(SemanticToken {
            delta_line: range.start.line - self.last.line,
            delta_start: range.start.character - if is_same_line { self.last.character } else { 0 },
            length: range.end.character - range.start.character,
            token_type: index.unwrap_or_default(),
            token_modifiers_bitset: modifiers,
        });
        self.last = range.start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::snapshot;

    /// The tokens with their kinds.
    fn shown(snapshot: &Snapshot, tokens: &SemanticTokens) -> Vec<String> {
        let mut at = Position::default();
        let token = |token: &SemanticToken| {
            at.character = if token.delta_line == 0 { at.character } else { 0 } + token.delta_start;
            at.line += token.delta_line;
            let end = Position { character: at.character + token.length, ..at };
            let text = snapshot.slice(snapshot.span(Range { start: at, end }));
            let modifiers = match token.token_modifiers_bitset {
                0 => String::new(),
                bits => format!("+{bits}"),
            };
            format!("{text} {}{modifiers}", TYPES[token.token_type as usize].as_str())
        };
        tokens.data.iter().map(token).collect()
    }

    #[test]
    fn tokens_have_the_kind_of_their_names() {
        let text = "<ir_version: 10, opset_import: [\"l\": 1]>\ng (float[N] x) => (y) <float w = {1}> { # c\n  [n] y = l.F <a = \"s\"> (x, w)\n}\n\
                    <domain: \"l\"> F <a> (v, w) => (u) { u = Elu <alpha = @a> (v) }";
        let snapshot = snapshot(text);
        let found = shown(&snapshot, &full(&snapshot));
        for expected in [
            "ir_version property",
            "10 number",
            "\"l\" namespace",
            "g function+1",
            "float type",
            "N typeParameter+1",
            "x variable+1",
            "w variable+3",
            "{1} number",
            "# c comment",
            "n macro+1",
            "l namespace",
            "F function",
            "a parameter",
            "\"s\" string",
            "Elu method",
            "alpha property",
        ] {
            assert!(found.iter().any(|token| token == expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn ranges_and_deltas_agree_with_the_whole() {
        let snapshot = snapshot("g (x) => (y) {\n  t = Abs(x)\n  y = Neg(t) \"a\nb\"\n}\n");
        let all = full(&snapshot);
        let whole = Range { start: Position::default(), end: Position { line: 99, character: 0 } };
        assert_eq!(range(&snapshot, whole).data, all.data);
        let line =
            Range { start: Position { line: 1, character: 0 }, end: Position { line: 1, character: 99 } };
        assert_eq!(shown(&snapshot, &range(&snapshot, line)), ["t variable+1", "Abs method", "x variable"]);
        let id = all.result_id.clone().unwrap();
        assert!(
            matches!(delta(&snapshot, &id), SemanticTokensDeltaResponse::SemanticTokensDelta(it) if it.edits.is_empty())
        );
        assert!(matches!(delta(&snapshot, "other"), SemanticTokensDeltaResponse::SemanticTokens(_)));
    }
}
