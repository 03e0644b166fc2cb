//! A literal where only the name of a value is allowed, `Add(x, 1.0)`: what a constant with its elements looks like.

use crate::lex::{Kind, lex};
use onnx_ir::ElemType;
use std::ops::Range;

/// Where the numbers of a list in brackets are, which may have comments.
pub(crate) fn number_ranges(list: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for token in lex(list).tokens {
        let range = token.span.range();
        match token.kind {
            Kind::Int | Kind::Float | Kind::Special => ranges.push(range),
            Kind::Ints => {
                let mut at = range.start + 1;
                for part in list[range.start + 1..range.end - 1].split(',') {
                    let start = at + part.len() - part.trim_start().len();
                    ranges.push(start..start + part.trim().len());
                    at += part.len() + 1;
                }
            }
            _ => {}
        }
    }
    ranges
}

/// Numbers in the place of an operand: `1.0`, `[1, -1]`, `{1.5}`.
#[derive(Clone, Debug)]
pub struct LiteralOperand<'s> {
    elements: Vec<&'s str>,
    is_list: bool,
}

impl<'s> LiteralOperand<'s> {
    /// The numbers of a text, if it has nothing else.
    #[must_use]
    pub fn parse(text: &'s str) -> Option<Self> {
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let inner = inner.or_else(|| text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')));
        let elements: Vec<&str> = inner.unwrap_or(text).split(',').map(str::trim).collect();
        // `inf` is a name in this place.
        let is_number =
            |e: &&str| e.ends_with(|c: char| c.is_ascii_digit() || c == '.') && e.parse::<f64>().is_ok();
        elements.iter().all(is_number).then_some(LiteralOperand { elements, is_list: inner.is_some() })
    }

    /// Whether all of them are integers.
    #[must_use]
    pub fn is_integral(&self) -> bool {
        self.elements.iter().all(|element| element.parse::<i128>().is_ok())
    }

    /// The element type that the numbers suggest.
    #[must_use]
    pub fn elem(&self) -> ElemType {
        if self.is_integral() { ElemType::INT64 } else { ElemType::FLOAT }
    }

    /// The type of a constant, and its elements between braces.
    fn parts(&self, elem: ElemType) -> (String, String) {
        let dims = if self.is_list { format!("[{}]", self.elements.len()) } else { String::new() };
        let elements = self.elements.iter().map(|element| {
            match !elem.is_integer() && elem != ElemType::BOOL && self.is_integral() {
                true => format!("{element}.0"),
                false => (*element).to_owned(),
            }
        });
        let elements = elements.collect::<Vec<_>>().join(", ");
        (format!("{}{dims}", elem.name().unwrap_or("float")), crate::lex::shown(&elements))
    }

    /// A node for a constant with these elements: `c = Constant <value = int64[2] {1, -1}> ()`.
    #[must_use]
    pub fn node(&self, elem: ElemType) -> String {
        let (ty, elements) = self.parts(elem);
        format!("c = Constant <value = {ty} {{{elements}}}> ()")
    }

    /// An initializer with these elements: `<int64[2] c = {1, -1}>`.
    #[must_use]
    pub fn initializer(&self, elem: ElemType) -> String {
        let (ty, elements) = self.parts(elem);
        format!("<{ty} c = {{{elements}}}>")
    }

    /// The sentence that proposes it.
    #[must_use]
    pub fn help(&self, elem: ElemType, is_in_function: bool) -> String {
        match is_in_function {
            true => format!("operands are names: compute the constant by a node, `{}`", self.node(elem)),
            false => {
                format!(
                    "operands are names: declare the constant as an initializer, `{}`",
                    self.initializer(elem)
                )
            }
        }
    }
}
