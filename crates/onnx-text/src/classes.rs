//! The classes by which editors color a text without a parse: a word by itself and by what stands beside it on its line.
//!
//! ```text
//! y = l.LeakyRelu <alpha = 0.1> (x)      Name  Domain Operator  Attribute Number  Name
//! ```
//!
//! `cargo xtask codegen` writes the grammars in `editors/` from the lists of this file and the patterns of the lexer, and `cargo xtask
//! editors` compares each with [`text_classes`], token by token. So a class depends on nothing that a grammar of regular expressions and
//! brackets cannot see; the language server refines it by what the names of a text mean.

use crate::tokens::{TextToken, TokenClass};

/// Words that begin a part of an operator set, before a name or `<`.
const KEYWORDS: &[&str] = &["operator_set", "operator", "where", "each"];
/// Words before the parts of a tensor or attribute, in `[` or `{`.
const RECORDS: &[&str] = &["sparse", "attribute"];
/// The names of element types.
const TYPES: &[&str] = &[
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
    "float6e2m3",
    "float6e3m2",
];
/// Types that have arguments, before `(`.
const CONTAINERS: &[&str] = &["seq", "map", "optional", "sparse_tensor", "opaque", "elem_type"];
/// Types of attributes other than element types, after `:`.
const ATTRIBUTE_TYPES: &[&str] = &[
    "int",
    "ints",
    "floats",
    "strings",
    "tensor",
    "tensors",
    "graph",
    "graphs",
    "sparse_tensor",
    "sparse_tensors",
    "type_proto",
    "type_protos",
];
/// Signs of expressions, which are not tokens of plain text.
#[allow(dead_code, reason = "for grammars, which `cargo xtask codegen` writes")]
const SIGNS: &[&str] = &["+", "-", "*", "/", "**", "!"];
/// Words that are numbers, in any case.
const NUMBERS: &[&str] = &["inf", "infinity", "nan"];

/// The class of a token, as grammars of editors see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SyntaxClass {
    /// `# …` or `// …`.
    Comment,
    /// `## …` in a text with annotations.
    Documentation,
    /// The `#@` of an annotation.
    Annotation,
    /// `"…"` or `b"…"`.
    String,
    /// A number, or a list of numbers with its brackets.
    Number,
    /// A word of the syntax: `operator`, `where`.
    Keyword,
    /// `float`, `seq(…)`, the `ints` of `axes: ints`.
    Type,
    /// An operator, and the name of a graph or function: a word before `(`, `<` or `=>`.
    Operator,
    /// A word before `=` in angle brackets that no type precedes.
    Attribute,
    /// A word before `:`.
    Key,
    /// A part of a domain: a word before `.`.
    Domain,
    /// The name of a node, in brackets at the start of a line.
    Label,
    /// Any other word.
    Name,
    /// Anything else.
    Punctuation,
}

/// The classes of a text's tokens, one for each.
///
/// ```
/// use onnx_text::{SyntaxClass, text_classes, text_tokens};
///
/// let source = "y = Elu <alpha = 2.0> (x)";
/// let classes = text_classes(source, &text_tokens(source));
/// use SyntaxClass::*;
/// assert_eq!(classes[..5], [Name, Punctuation, Operator, Punctuation, Attribute]);
/// ```
#[must_use]
pub fn text_classes(source: &str, tokens: &[TextToken]) -> Vec<SyntaxClass> {
    let context = Context { source, tokens };
    let mut open = Vec::new();
    let mut classes = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        classes.push(match token.class {
            TokenClass::Comment => SyntaxClass::Comment,
            TokenClass::Documentation => SyntaxClass::Documentation,
            TokenClass::Annotation => SyntaxClass::Annotation,
            TokenClass::Number | TokenClass::Numbers => SyntaxClass::Number,
            TokenClass::String if context.is_label(i) => SyntaxClass::Label,
            TokenClass::String => SyntaxClass::String,
            TokenClass::Word => context.word(i, open.last() == Some(&'>')),
            TokenClass::Punctuation => {
                bracket(context.text(i), &mut open);
                SyntaxClass::Punctuation
            }
        });
    }
    classes
}

/// Keeps the brackets that are to be closed. A `<` that another bracket closes compares; what closes no bracket of its kind is a
/// mistake, and changes nothing else.
fn bracket(text: &str, open: &mut Vec<char>) {
    match text {
        "(" => open.push(')'),
        "[" => open.push(']'),
        "{" => open.push('}'),
        "<" => open.push('>'),
        ")" | "]" | "}" => {
            while open.pop_if(|close| *close == '>').is_some() {}
            open.pop_if(|close| text.starts_with(*close));
        }
        ">" => {
            open.pop_if(|close| *close == '>');
        }
        _ => {}
    }
}

struct Context<'s> {
    source: &'s str,
    tokens: &'s [TextToken],
}

impl<'s> Context<'s> {
    fn text(&self, i: usize) -> &'s str {
        &self.source[self.tokens[i].span.range()]
    }

    /// Whether a line break, or nothing, precedes the token.
    fn starts_line(&self, i: usize) -> bool {
        let start = self.tokens[i].span.start as usize;
        let end = i.checked_sub(1).map_or(0, |before| self.tokens[before].span.end as usize);
        i == 0 || self.source.get(end..start).is_some_and(|gap| gap.contains('\n'))
    }

    /// The token before this one on its line, or `""`.
    fn before(&self, i: usize) -> &'s str {
        if self.starts_line(i) { "" } else { self.text(i - 1) }
    }

    /// The token after this one on its line, or `""`.
    fn after(&self, i: usize) -> &'s str {
        if i + 1 < self.tokens.len() && !self.starts_line(i + 1) { self.text(i + 1) } else { "" }
    }

    fn is_label(&self, i: usize) -> bool {
        self.before(i) == "["
            && self.starts_line(i - 1)
            && self.after(i) == "]"
            && !self.text(i).contains('\n')
    }

    fn word(&self, i: usize, is_in_angles: bool) -> SyntaxClass {
        let (before, text, after) = (self.before(i), self.text(i), self.after(i));
        let is_before_name = after.starts_with(|c: char| c.is_ascii_alphabetic() || "_\"<".contains(c));
        if is_before_name && KEYWORDS.contains(&text)
            || after.starts_with(['[', '{']) && RECORDS.contains(&text)
        {
            return SyntaxClass::Keyword;
        }
        if NUMBERS.iter().any(|number| text.eq_ignore_ascii_case(number)) {
            return SyntaxClass::Number;
        }
        if TYPES.contains(&text)
            || after == "(" && CONTAINERS.contains(&text)
            || before == ":" && ATTRIBUTE_TYPES.contains(&text)
        {
            return SyntaxClass::Type;
        }
        match after {
            "(" | "<" | "=>" => SyntaxClass::Operator,
            // Two dots are not a path.
            "." if self.after(i + 1) != "." => SyntaxClass::Domain,
            // `l.f:overload`
            ":" if self.source[..self.tokens[i].span.start as usize].ends_with('.') => SyntaxClass::Operator,
            ":" => SyntaxClass::Key,
            "=" if is_in_angles && matches!(before, "" | "<" | ",") => SyntaxClass::Attribute,
            "]" if self.is_label(i) => SyntaxClass::Label,
            _ => SyntaxClass::Name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_tokens;

    fn shown(source: &str) -> Vec<String> {
        let tokens = text_tokens(source);
        let classes = text_classes(source, &tokens);
        let shown = tokens.iter().zip(classes).filter(|(_, class)| *class != SyntaxClass::Punctuation);
        shown.map(|(token, class)| format!("{} {class:?}", &source[token.span.range()])).collect()
    }

    #[test]
    fn element_types_are_those_of_the_representation() {
        let names: Vec<_> = onnx_ir::ElemType::ALL.iter().filter_map(|elem| elem.name()).collect();
        assert_eq!(TYPES, names);
    }

    #[test]
    fn words_have_the_class_of_their_place() {
        let cases: [(&str, &[&str]); 13] = [
            ("y = l.Op (x)", &["y Name", "l Domain", "Op Operator", "x Name"]),
            ("l.f:v2(x)", &["l Domain", "f Operator", "v2 Operator", "x Name"]),
            ("g => (seq(float[N]) s)", &["g Operator", "seq Type", "float Type", "N Name", "s Name"]),
            ("<a = 1, b: ints = [2]>", &["a Attribute", "1 Number", "b Key", "ints Type", "[2] Number"]),
            (
                "<float w = {1}, float[N] v =",
                &["float Type", "w Name", "{1} Number", "float Type", "N Name", "v Name"],
            ),
            ("<\n  a = g () => () { y =", &["a Attribute", "g Operator", "y Name"]),
            ("  [n] y, [m] z", &["n Label", "y Name", "m Name", "z Name"]),
            ("[\"/n\"] y = Op\n(x)", &["\"/n\" Label", "y Name", "Op Name", "x Name"]),
            (
                "operator F (each T... x) where T: {bool}",
                &[
                    "operator Keyword",
                    "F Operator",
                    "each Keyword",
                    "T Name",
                    "x Name",
                    "where Keyword",
                    "T Key",
                    "bool Type",
                ],
            ),
            ("(operator, where)", &["operator Name", "where Name"]),
            (
                "v = NaN sparse [3] tensor",
                &["v Name", "NaN Number", "sparse Keyword", "[3] Number", "tensor Name"],
            ),
            ("(a > b) = <c = d", &["a Name", "b Name", "c Attribute", "d Name"]),
            (
                "(2 < b)\na = <c = d }\ne = f",
                &["2 Number", "b Name", "a Name", "c Attribute", "d Name", "e Name", "f Name"],
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(shown(source), expected, "{source}");
        }
    }
}
