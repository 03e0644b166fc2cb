//! Plain statements, read from their tokens without the combinators: most of a text is these.
//!
//! ```text
//! [n] y, "z" = dom.Op <k: int = 1, l = [1.5, 2.0], t = float[2] {1, 2}> (x, , "w")
//! ```
//!
//! Nothing here decides what a text means. A statement that is not exactly of this form is left to the grammar, and so is one after which
//! something comes that may belong to it. The tests compare both for every statement.

use super::*;

/// Reads plain statements into one node, which keeps its buffers.
pub(in crate::parse) struct PlainReader {
    pub(in crate::parse) node: Node,
    /// The buffer of the attributes, while a node has none.
    spare: Vec<Attr>,
}

impl PlainReader {
    pub(in crate::parse) fn new() -> Self {
        PlainReader { node: Node::at(Span::at(0)), spare: Vec::new() }
    }

    /// Reads the statement that begins at a token into `node`, and returns where the next one begins; `None` if it is not plain.
    pub(in crate::parse) fn read(&mut self, source: &str, tokens: &[Token], at: usize) -> Option<usize> {
        let mut next = Tokens { source, tokens, at };
        let node = &mut self.node;
        let start = tokens.get(at)?.span;
        node.name = match next.kind()? {
            Kind::LBracket => Some(next.node_name()?),
            _ => None,
        };
        node.outputs.clear();
        loop {
            node.outputs.push(next.name()?);
            match next.take()?.kind {
                Kind::Comma => {}
                Kind::Equals => break,
                _ => return None,
            }
        }
        (node.domain, node.op) = next.operator()?;
        if let Some(mut attrs) = node.attrs.take() {
            attrs.items.clear();
            self.spare = attrs.items;
        }
        if let Some(open) = next.eat(Kind::LAngle) {
            let end = next.attributes(&mut self.spare)?;
            node.attrs = Some(List { items: std::mem::take(&mut self.spare), span: open.to(end) });
        }
        node.inputs.clear();
        node.inputs_span = next.operands(&mut node.inputs)?;
        node.span = start.to(node.inputs_span);
        // Nothing else continues it: a sign, a subscript, attributes, an annotation, a comma.
        let ends = match tokens.get(next.at) {
            None | Some(Token { kind: Kind::RBrace | Kind::Ident | Kind::String, .. }) => true,
            Some(token) => token.kind == Kind::LBracket && token.starts_line,
        };
        ends.then_some(next.at)
    }
}

/// The tokens from a place on. Each method returns `None` where they are not as expected.
struct Tokens<'t> {
    source: &'t str,
    tokens: &'t [Token],
    at: usize,
}

impl Tokens<'_> {
    #[inline]
    fn kind(&self) -> Option<Kind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    #[inline]
    fn take(&mut self) -> Option<Token> {
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    #[inline]
    fn eat(&mut self, kind: Kind) -> Option<Span> {
        let token = self.tokens.get(self.at).filter(|token| token.kind == kind)?;
        self.at += 1;
        Some(token.span)
    }

    /// An identifier or a string. A caller accepts only punctuation after it that is not a part of a name.
    #[inline]
    fn name(&mut self) -> Option<Name> {
        let token = self.take()?;
        matches!(token.kind, Kind::Ident | Kind::String).then_some(token.span)
    }

    /// `[name]`, `[]`
    fn node_name(&mut self) -> Option<Name> {
        let open = self.eat(Kind::LBracket)?;
        if self.eat(Kind::RBracket).is_some() {
            return Some(Span::at(open.end));
        }
        let name = self.name()?;
        self.eat(Kind::RBracket).map(|_| name)
    }

    /// `dom.Op` before attributes or operands.
    fn operator(&mut self) -> Option<(Option<Span>, Name)> {
        let mut domain: Option<Span> = None;
        let mut op = self.name()?;
        while self.eat(Kind::Dot).is_some() {
            domain = Some(domain.map_or(op, |domain| domain.to(op)));
            op = self.name()?;
        }
        Some((domain, op))
    }

    /// Attributes after the opening bracket; returns the closing one.
    fn attributes(&mut self, items: &mut Vec<Attr>) -> Option<Span> {
        items.clear();
        if let Some(end) = self.eat(Kind::RAngle) {
            return Some(end);
        }
        loop {
            let name = self.name()?;
            let ty = match self.eat(Kind::Colon) {
                Some(_) => Some(self.eat(Kind::Ident)?),
                None => None,
            };
            self.eat(Kind::Equals)?;
            let value = Some(self.attr_value()?);
            let span = name.to(self.tokens.get(self.at - 1)?.span);
            items.push(Attr { notes: Notes::default(), name, ty, value, span });
            let token = self.take()?;
            match token.kind {
                Kind::Comma => {}
                Kind::RAngle => return Some(token.span),
                _ => return None,
            }
        }
    }

    fn attr_value(&mut self) -> Option<AttrValue> {
        let Token { kind, span, .. } = self.take()?;
        Some(match kind {
            Kind::Ints => AttrValue::Ints(span),
            Kind::At => AttrValue::Reference(self.name()?),
            Kind::LBracket => AttrValue::List(Box::new(self.literals(span)?)),
            Kind::Ident => AttrValue::Tensor(Box::new(self.tensor(span)?)),
            _ => AttrValue::Scalar(literal_of(kind, span)?),
        })
    }

    /// `[1.5, 2.0]` after the opening bracket.
    fn literals(&mut self, open: Span) -> Option<List<AttrElement>> {
        let mut items = Vec::new();
        loop {
            let token = self.take()?;
            let scalar = literal_of(token.kind, token.span)?;
            items.push(AttrElement { notes: Notes::default(), value: AttrValue::Scalar(scalar) });
            let token = self.take()?;
            match token.kind {
                Kind::Comma => {}
                Kind::RBracket => return Some(List { items, span: open.to(token.span) }),
                _ => return None,
            }
        }
    }

    /// `float[2] {1, 2}` and `float {1}` after the element type.
    fn tensor(&mut self, elem: Span) -> Option<TensorLiteral> {
        let dims = self
            .eat(Kind::Ints)
            .map(|span| List { items: ints(self.source, span).map(Dim::Int).collect(), span });
        let data = self.eat(Kind::Numbers)?;
        let ty = Type::Tensor { elem, dims };
        Some(TensorLiteral { ty, name: None, data: Data::Numbers(data), span: elem.to(data) })
    }

    /// `(x, , y)`; returns the place of all.
    fn operands(&mut self, inputs: &mut SmallVec<[Name; 3]>) -> Option<Span> {
        let open = self.eat(Kind::LParen)?;
        let mut end = open.end;
        loop {
            let token = self.take()?;
            match token.kind {
                Kind::RParen => return Some(open.to(token.span)),
                Kind::Comma => inputs.push(Span::at(end)),
                Kind::Ident | Kind::String => {
                    inputs.push(token.span);
                    match self.kind()? {
                        Kind::Comma => end = self.take()?.span.end,
                        Kind::RParen => {}
                        _ => return None,
                    }
                    continue;
                }
                _ => return None,
            }
            end = token.span.end;
        }
    }
}

#[inline]
fn literal_of(kind: Kind, span: Span) -> Option<Scalar> {
    let kind = match kind {
        Kind::Int => ScalarKind::Int,
        Kind::Float => ScalarKind::Float,
        Kind::Special => ScalarKind::Special,
        Kind::String => ScalarKind::String,
        _ => return None,
    };
    Some(Scalar { kind, span })
}
