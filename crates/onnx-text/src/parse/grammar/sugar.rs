//! Expressions: `grammar/sugar.md`. A plain statement does not come here.
//!
//! The signs bind by their power, as in Pratt's parsers: an operand is followed by signs, and each takes what binds more tightly.

use super::*;
use crate::lex::MAX_NESTING;
use crate::parse::look::{is_close, is_open};
use onnx_ir::ElemType;

/// The deepest nesting of expressions in expressions.
const MAX_DEPTH: usize = 64;

/// The power of a comparison, the lowest.
const COMPARISON: u8 = 1;
/// The power of a `-` before its operand.
const PREFIX: u8 = 4;

/// An expression.
pub(in crate::parse) struct Expr {
    operand: Operand,
    /// The place that stands among the inputs for it.
    span: Span,
    /// The place with its parentheses.
    outer: Span,
    /// The number of nodes on the longest way down.
    height: usize,
}

impl Expr {
    /// Whether it is a name or a literal, which is not a node.
    pub(in crate::parse::grammar) fn is_operand(&self) -> bool {
        !matches!(self.operand, Operand::Node(_))
    }
}

/// An operand that is not a name, until its call is complete.
pub(in crate::parse) struct Pending {
    span: Span,
    operand: Operand,
    height: usize,
}

/// An attribute among operands, and the token where it begins.
pub(in crate::parse) struct NamedAttr {
    at: usize,
    attr: Attr,
}

/// The numbers of pending operands and attributes before a call.
#[derive(Clone, Copy)]
pub(in crate::parse::grammar) struct Mark(usize, usize);

/// `operand = name | name "=" attr_value | expression`
pub(in crate::parse) fn operand<'t>() -> impl P<'t, Name> {
    production(|inp: &mut Inp<'t, '_>| {
        let is_name = matches!(peek(inp, 0), Some(Kind::Ident | Kind::String | Kind::Bytes));
        match peek(inp, 1) {
            Some(Kind::Comma | Kind::RParen) if is_name => inp.parse(value_name_as(Want::Name)),
            Some(Kind::Equals) if is_name && !has_equals_after(inp, 1) => {
                let at = position(inp);
                let attr = attr(inp)?;
                let place = Span::at(attr.name.start);
                inp.state().named.push(NamedAttr { at, attr });
                Ok(place)
            }
            _ => {
                if let Some(literal) = literal_operand(inp) {
                    return Ok(literal);
                }
                let Expr { operand, span, height, .. } = expression(inp, 0, true)?;
                if !matches!(operand, Operand::Name) {
                    inp.state().operands.push(Pending { span, operand, height });
                }
                Ok(span)
            }
        }
    })
}

/// `expression = "-" expression | primary (SIGN expression)*`; only inside of brackets do lines not end it.
pub(in crate::parse) fn expression(inp: &mut Inp<'_, '_>, power: u8, is_inside: bool) -> Out<Expr> {
    if inp.state().depth >= MAX_DEPTH {
        return Err(Failure::problem(position(inp), Problem::DeepExpression, Expected::default()));
    }
    inp.state().depth += 1;
    let left = primary(inp, is_inside);
    let whole = left.and_then(|left| infixes(inp, left, power, is_inside));
    inp.state().depth -= 1;
    whole
}

/// The signs after an operand that bind at least with a power, with their operands.
pub(in crate::parse::grammar) fn infixes(
    inp: &mut Inp<'_, '_>,
    mut left: Expr,
    least: u8,
    is_inside: bool,
) -> Out<Expr> {
    let mut is_compared = false;
    while let Some((length, power)) = infix(inp, 0, is_inside).filter(|(_, power)| *power >= least) {
        let at = position(inp);
        if power == COMPARISON && std::mem::replace(&mut is_compared, true) {
            return Err(Failure::problem(at, Problem::TwoComparisons, Expected::default()));
        }
        for _ in 0..length {
            inp.skip();
        }
        let sign = inp.full_slice()[at].span.to(last_span(inp));
        // `**` takes from the right, and the signs of its exponent.
        let right = expression(inp, if power > PREFIX { PREFIX } else { power + 1 }, is_inside)?;
        let height = 1 + left.height.max(right.height);
        let outer = left.outer.to(right.outer);
        let mut node = Node::at(outer);
        node.op = sign;
        node.inputs = SmallVec::from_iter([left.span, right.span]);
        node.inputs_span = outer;
        let is_unequal = inp.state().source[sign.range()].starts_with('!');
        let form = if is_unequal { SugarForm::Unequal } else { SugarForm::Infix };
        node.sugar = Some(Box::new(Sugar::of(form, vec![left.operand, right.operand])));
        left = of_node(inp, node, height)?;
    }
    Ok(left)
}

pub(in crate::parse::grammar) fn of_node(inp: &Inp<'_, '_>, node: Node, height: usize) -> Out<Expr> {
    if height > MAX_NESTING {
        return Err(Failure::problem(position(inp), Problem::DeepExpression, Expected::default()));
    }
    let span = node.span;
    Ok(Expr { operand: Operand::Node(Box::new(node)), span, outer: span, height })
}

/// `primary = ("(" expression ")" | call | name | literal) subscript*`
pub(in crate::parse) fn primary(inp: &mut Inp<'_, '_>, is_inside: bool) -> Out<Expr> {
    let start = span_of_next(inp);
    let mut expr = match peek(inp, 0) {
        Some(Kind::Sign) if text_at(inp, 0) == "-" => {
            inp.skip();
            let right = expression(inp, PREFIX, is_inside)?;
            let outer = start.to(right.outer);
            let mut node = Node::at(outer);
            node.op = start;
            node.inputs = SmallVec::from_iter([right.span]);
            node.inputs_span = right.outer;
            node.sugar = Some(Box::new(Sugar::of(SugarForm::Prefix, vec![right.operand])));
            return of_node(inp, node, right.height + 1);
        }
        Some(Kind::LParen) => {
            let open_at = position(inp);
            inp.skip();
            let mut inner = expression(inp, 0, true)?;
            inp.parse(token(Kind::RParen)).map_err(|failure| failure.inside(open_at))?;
            if let Operand::Node(node) = &mut inner.operand {
                let plain = node.inputs.len();
                node.sugar.get_or_insert_with(|| plain_call(plain)).is_parenthesized = true;
            }
            Expr { outer: start.to(last_span(inp)), ..inner }
        }
        Some(Kind::Int | Kind::Float | Kind::Special | Kind::Ints) => {
            inp.skip();
            return Ok(literal(start));
        }
        Some(Kind::LBracket) => {
            let length = number_list(inp).ok_or(Failure::expected(position(inp), Want::Name))?;
            for _ in 0..length {
                inp.skip();
            }
            return Ok(literal(start.to(last_span(inp))));
        }
        Some(Kind::Dot | Kind::Ident | Kind::String | Kind::Bytes) if begins_nested_call(inp) => call(inp)?,
        _ => {
            let span = inp.parse(value_name_as(Want::Name))?;
            Expr { operand: Operand::Name, span, outer: span, height: 0 }
        }
    };
    while begins_subscript(inp) {
        expr = subscript(inp, expr)?;
    }
    Ok(expr)
}

fn literal(span: Span) -> Expr {
    Expr { operand: Operand::Literal, span, outer: span, height: 0 }
}

/// The sugar of a call whose operands are names.
fn plain_call(inputs: usize) -> Box<Sugar> {
    Box::new(Sugar::of(SugarForm::Call, (0..inputs).map(|_| Operand::Name).collect()))
}

/// A call in an expression: the part of a node after the `=`.
fn call(inp: &mut Inp<'_, '_>) -> Out<Expr> {
    let start = span_of_next(inp);
    let (domain, op, overload) = operator(inp)?;
    let attrs = optional(inp, Kind::LAngle, attributes)?;
    let mark = mark(inp);
    let (inputs, inputs_span) = inp.parse(gappy(Kind::LParen, operand(), |at| at))?;
    let mut node = Node { domain, op, overload, attrs, inputs, inputs_span, ..Node::at(start) };
    let height = take_operands(inp, mark, &mut node);
    if node.attrs.is_none() && begins_attributes(inp, 0) {
        node.attrs = optional(inp, Kind::LAngle, attributes)?;
    }
    node.span = start.to(last_span(inp));
    of_node(inp, node, height)
}

/// Where the operands of a call begin among the pending ones.
pub(in crate::parse::grammar) fn mark(inp: &mut Inp<'_, '_>) -> Mark {
    let state = inp.state();
    Mark(state.operands.len(), state.named.len())
}

/// Gives a node the operands and attributes that were found among its inputs; returns its height.
pub(in crate::parse::grammar) fn take_operands(inp: &mut Inp<'_, '_>, mark: Mark, node: &mut Node) -> usize {
    let state: &mut Context<'_> = inp.state();
    if state.operands.len() <= mark.0 && state.named.len() <= mark.1 {
        return 1;
    }
    let (operands, named) = (state.operands.len(), state.named.len());
    let named = state.named.split_off(mark.1.min(named));
    let pending = state.operands.split_off(mark.0.min(operands));
    // Each has left an empty input at its place; both are in the order of the text.
    let mut places = named.iter().map(|named| Span::at(named.attr.name.start)).peekable();
    node.inputs.retain(|input| {
        while places.next_if(|place| place.start < input.start).is_some() {}
        places.next_if_eq(input).is_none()
    });
    let mut height = 0;
    let operands = operands_at(node.inputs.iter().copied(), pending, &mut height).collect();
    node.sugar = Some(Box::new(Sugar::of(SugarForm::Call, operands)));
    if let (Some(first), Some(last)) = (named.first(), named.last()) {
        let span = first.attr.span.to(last.attr.span);
        let follows = |input: &Span| input.start > first.attr.span.start && !input.is_empty();
        if node.attrs.is_some() || node.inputs.iter().any(follows) {
            let problem = match node.attrs {
                Some(_) => Problem::AttributesTwice,
                None => Problem::OperandAfterAttribute,
            };
            emit(inp, Failure::between(first.at, first.at, problem));
        }
        let items = named.into_iter().map(|named| named.attr).collect();
        node.attrs.get_or_insert(List { items, span });
    }
    height + 1
}

/// The operands at these places: those that were pending, and names. Raises `height` to that of the highest.
fn operands_at(
    places: impl Iterator<Item = Span>,
    pending: Vec<Pending>,
    height: &mut usize,
) -> impl Iterator<Item = Operand> {
    let mut pending = pending.into_iter().peekable();
    places.map(move |place| {
        // An operand with a mistake may have left its own.
        while pending.next_if(|next| next.span.start < place.start).is_some() {}
        pending.next_if(|next| next.span == place).map_or(Operand::Name, |next| {
            *height = (*height).max(next.height);
            next.operand
        })
    })
}

/// `subscript = "[" (subscript_item ("," subscript_item)*)? "]" | Ints`
pub(in crate::parse) fn subscript(inp: &mut Inp<'_, '_>, base: Expr) -> Out<Expr> {
    let open = span_of_next(inp);
    let mut height = base.height;
    let mut node = Node::at(base.outer);
    node.op = Span::new(open.start, open.start + 1);
    node.inputs.push(base.span);
    let mut operands = vec![base.operand];
    let subscripts: Vec<Subscript>;
    if peek(inp, 0) == Some(Kind::Ints) {
        inp.skip();
        let indices = ints(inp.state().source, open).filter(|span| !span.is_empty());
        subscripts = indices.map(Subscript::Index).collect();
    } else {
        let mark = mark(inp);
        let items: List<Subscript> = inp.parse(list(Kind::LBracket, production(subscript_item)))?;
        subscripts = items.items;
        let pending = inp.state().operands.split_off(mark.0);
        operands.extend(operands_at(indices(&subscripts), pending, &mut height));
    }
    node.inputs.extend(indices(&subscripts));
    operands.resize_with(node.inputs.len(), || Operand::Literal);
    node.span = base.outer.to(last_span(inp));
    node.inputs_span = open.to(last_span(inp));
    let mut sugar = Sugar::of(SugarForm::Subscript, operands);
    sugar.subscripts = subscripts;
    node.sugar = Some(Box::new(sugar));
    of_node(inp, node, height + 1)
}

/// The places of the indices of a subscript.
fn indices(subscripts: &[Subscript]) -> impl Iterator<Item = Span> + '_ {
    subscripts.iter().filter_map(|item| match item {
        Subscript::Index(span) => Some(*span),
        Subscript::Range(_) => None,
    })
}

/// `subscript_item = Int? ":" Int? (":" Int?)? | expression`
pub(in crate::parse) fn subscript_item(inp: &mut Inp<'_, '_>) -> Out<Subscript> {
    let start = span_of_next(inp);
    let is_range = match peek(inp, 0) {
        Some(Kind::Colon) => true,
        Some(Kind::Int | Kind::Ident) => peek(inp, 1) == Some(Kind::Colon),
        _ => false,
    };
    if !is_range {
        let Expr { operand, span, height, .. } = expression(inp, 0, true)?;
        if !matches!(operand, Operand::Name) {
            inp.state().operands.push(Pending { span, operand, height });
        }
        return Ok(Subscript::Index(span));
    }
    let bound = |inp: &mut Inp<'_, '_>| match peek(inp, 0) {
        Some(Kind::Int) => inp.parse(token(Kind::Int)).map(Some),
        Some(Kind::Colon | Kind::Comma | Kind::RBracket) => Ok(None),
        _ => Err(Failure::expected(position(inp), Want::Integer)),
    };
    let first = bound(inp)?;
    inp.parse(token(Kind::Colon))?;
    let end = bound(inp)?;
    let mut step = None;
    if peek(inp, 0) == Some(Kind::Colon) {
        inp.skip();
        step = bound(inp)?;
    }
    Ok(Subscript::Range(Range { start: first, end, step, span: start.to(last_span(inp)) }))
}

/// The statement of an expression.
pub(in crate::parse::grammar) fn statement(
    inp: &mut Inp<'_, '_>,
    expr: Expr,
    (notes, name, outputs): (Notes, Option<Name>, SmallVec<[Name; 2]>),
    types: Vec<(usize, Type)>,
    start: Span,
) -> Out<Node> {
    let Operand::Node(node) = expr.operand else {
        return Err(Failure::problem(position(inp), Problem::NotACall, Want::LParen));
    };
    let span = start.to(last_span(inp));
    let mut node = Node { notes, name, outputs, span, ..*node };
    set_result_types(&mut node, types);
    notes_on_line(inp, &mut node.notes);
    Ok(node)
}

/// Whether a type is the next result's, as in `float[N] y = Relu(x)`: a name follows it on its line, and a comma or `=` the name.
pub(in crate::parse::grammar) fn begins_result_type(inp: &mut Inp<'_, '_>) -> bool {
    let (at, source) = (position(inp), inp.state().source);
    let tokens = inp.full_slice();
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    if kind(at) != Some(Kind::Ident) || matches!(kind(at + 1), Some(Kind::Comma | Kind::Equals)) {
        return false;
    }
    // The token after the brackets that begin at one, or that one.
    let after = |from: usize, open: Kind| -> Option<usize> {
        if kind(from) != Some(open) {
            return Some(from);
        }
        let mut depth = 0usize;
        for (i, token) in tokens.iter().enumerate().skip(from).take(LOOK) {
            match token.kind {
                kind if is_open(kind) => depth += 1,
                kind if is_close(kind) && depth == 1 => return Some(i + 1),
                kind if is_close(kind) => depth -= 1,
                _ => {}
            }
        }
        None
    };
    let is_type = match kind(at + 1) {
        Some(Kind::Ident | Kind::String | Kind::Bytes) => is_element_type(&source[tokens[at].span.range()]),
        Some(Kind::LParen | Kind::LBracket | Kind::Ints) => true,
        _ => false,
    };
    let end = after(at + 1, Kind::LParen).and_then(|end| match kind(end) {
        Some(Kind::Ints) => Some(end + 1),
        _ => after(end, Kind::LBracket),
    });
    let Some(end) = end.filter(|_| is_type) else { return false };
    let is_on_line = tokens.get(end).is_some_and(|t| !t.starts_line);
    is_on_line
        && matches!(kind(end), Some(Kind::Ident | Kind::String | Kind::Bytes))
        && matches!(kind(end + 1), Some(Kind::Comma | Kind::Equals))
}

/// The types of the results of a statement become a part of its sugar.
pub(in crate::parse::grammar) fn set_result_types(node: &mut Node, types: Vec<(usize, Type)>) {
    if types.is_empty() {
        return;
    }
    let plain = node.inputs.len();
    let sugar = node.sugar.get_or_insert_with(|| plain_call(plain));
    sugar.types.resize_with(node.outputs.len(), || None);
    for (i, ty) in types {
        if let Some(of_result) = sugar.types.get_mut(i) {
            *of_result = Some(ty);
        }
    }
}

/// Whether the part of a statement after its `=` begins like an expression, and not like a call.
pub(in crate::parse::grammar) fn begins_expression(inp: &mut Inp<'_, '_>) -> bool {
    match peek(inp, 0) {
        Some(Kind::Sign | Kind::LParen) => true,
        Some(Kind::Int | Kind::Float | Kind::Special | Kind::Ints) => infix(inp, 1, false).is_some(),
        Some(Kind::LBracket) => number_list(inp).is_some_and(|length| infix(inp, length, false).is_some()),
        Some(Kind::Ident | Kind::String | Kind::Bytes) => match peek(inp, 1) {
            Some(Kind::LParen) => false,
            Some(Kind::LBracket | Kind::Ints) => is_adjacent(inp, 1) && !is_bracketed_call(inp),
            _ => infix(inp, 1, false).is_some(),
        },
        _ => false,
    }
}

/// Whether an expression continues with a sign or a subscript after a call. A name in brackets is that of the next node.
pub(in crate::parse::grammar) fn goes_on(inp: &mut Inp<'_, '_>) -> bool {
    let is_name = match peek(inp, 1) {
        Some(Kind::RBracket) => true,
        Some(Kind::Ident | Kind::String | Kind::Bytes) => peek(inp, 2) == Some(Kind::RBracket),
        _ => false,
    };
    match peek(inp, 0) {
        Some(Kind::Sign | Kind::At | Kind::Equals | Kind::LAngle | Kind::RAngle) => {
            infix(inp, 0, false).is_some()
        }
        Some(Kind::Ints) => begins_subscript(inp),
        Some(Kind::LBracket) => begins_subscript(inp) && !is_name,
        _ => false,
    }
}

/// Whether `<` or `>` is a comparison here, and not the beginning or end of attributes.
pub(in crate::parse) fn is_comparison(inp: &mut Inp<'_, '_>) -> bool {
    matches!(peek(inp, 0), Some(Kind::LAngle | Kind::RAngle)) && infix(inp, 0, false).is_some()
}

/// The rest of a statement that began with a call.
pub(in crate::parse::grammar) fn rest(inp: &mut Inp<'_, '_>, first: Expr) -> Out<Expr> {
    let mut expr = first;
    while begins_subscript(inp) {
        expr = subscript(inp, expr)?;
    }
    infixes(inp, expr, 0, false)
}

/// `Add[x, y]`: the brackets of another language around the operands. A subscript comes after the name of a value, and operators
/// have capitals.
fn is_bracketed_call(inp: &mut Inp<'_, '_>) -> bool {
    let is_operator = text_at(inp, 0).starts_with(|c: char| c.is_ascii_uppercase());
    is_operator
        && matches!(peek(inp, 2), Some(Kind::Ident | Kind::String))
        && matches!(peek(inp, 3), Some(Kind::Comma | Kind::RBracket))
}

/// Whether a subscript begins here: right after its value.
fn begins_subscript(inp: &mut Inp<'_, '_>) -> bool {
    matches!(peek(inp, 0), Some(Kind::LBracket | Kind::Ints)) && is_adjacent(inp, 0)
}

/// Whether nothing is between a token and the one before it.
fn is_adjacent(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    let at = position(inp) + ahead;
    let tokens = inp.full_slice();
    let before = at.checked_sub(1).and_then(|i| tokens.get(i));
    before.is_some_and(|before| tokens.get(at).is_some_and(|token| token.span.start == before.span.end))
}

fn is_element_type(word: &str) -> bool {
    ElemType::from_name(word).is_some()
}

/// Whether `=` is right after a token, as in `==` and `<=`.
fn has_equals_after(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    peek(inp, ahead + 1) == Some(Kind::Equals) && is_adjacent(inp, ahead + 1)
}

fn text_at<'t>(inp: &mut Inp<'t, '_>, ahead: usize) -> &'t str {
    let at = position(inp) + ahead;
    let source = inp.state().source;
    inp.full_slice().get(at).map_or("", |token| &source[token.span.range()])
}

/// The sign between two operands here: the number of its tokens, and its power.
fn infix(inp: &mut Inp<'_, '_>, ahead: usize, is_inside: bool) -> Option<(usize, u8)> {
    let at = position(inp) + ahead;
    let token = *inp.full_slice().get(at)?;
    if token.starts_line && !is_inside {
        return None;
    }
    match token.kind {
        Kind::Sign => match text_at(inp, ahead) {
            "**" => Some((1, PREFIX + 1)),
            "*" | "/" => Some((1, 3)),
            "!" => Some((2, COMPARISON)),
            _ => Some((1, 2)),
        },
        Kind::At => Some((1, 3)),
        Kind::Equals => has_equals_after(inp, ahead).then_some((2, COMPARISON)),
        Kind::LAngle | Kind::RAngle => {
            let has_equals = has_equals_after(inp, ahead);
            let length = 1 + usize::from(has_equals);
            let end = inp.full_slice().get(at + length - 1)?.span.end as usize;
            let source = inp.state().source.as_bytes();
            let is_blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
            let is_apart = is_blank((token.span.start as usize).checked_sub(1).and_then(|i| source.get(i)))
                && is_blank(source.get(end));
            (is_apart && !begins_attributes(inp, ahead)).then_some((length, COMPARISON))
        }
        _ => None,
    }
}

/// Whether a list of attributes begins here.
fn begins_attributes(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    peek(inp, ahead) == Some(Kind::LAngle)
        && match peek(inp, ahead + 1) {
            Some(Kind::RAngle | Kind::Note | Kind::Doc) => true,
            Some(Kind::Ident | Kind::String | Kind::Bytes) => match peek(inp, ahead + 2) {
                Some(Kind::Colon) => true,
                Some(Kind::Equals) => !has_equals_after(inp, ahead + 2),
                _ => false,
            },
            _ => false,
        }
}

/// Whether a call begins here: `Op(`, `dom.Op <a = 1>`, `Op:v2(`.
fn begins_nested_call(inp: &mut Inp<'_, '_>) -> bool {
    let is_name = |kind| matches!(kind, Some(Kind::Ident | Kind::String | Kind::Bytes));
    let mut ahead = usize::from(peek(inp, 0) == Some(Kind::Dot));
    while is_name(peek(inp, ahead)) && peek(inp, ahead + 1) == Some(Kind::Dot) && ahead < LOOK {
        ahead += 2;
    }
    if !is_name(peek(inp, ahead)) {
        return false;
    }
    ahead += 1;
    if peek(inp, ahead) == Some(Kind::Colon) && is_name(peek(inp, ahead + 1)) {
        ahead += 2;
    }
    match peek(inp, ahead) {
        Some(Kind::LParen) => {
            let at = position(inp) + ahead;
            inp.full_slice().get(at).is_some_and(|token| !token.starts_line)
        }
        Some(Kind::LAngle) => infix(inp, ahead, true).is_none(),
        _ => false,
    }
}

/// Whether a list of numbers in brackets begins here.
pub(in crate::parse::grammar) fn begins_numbers(inp: &mut Inp<'_, '_>) -> bool {
    peek(inp, 0) == Some(Kind::LBracket) && number_list(inp).is_some()
}

/// The number of tokens of the list of numbers that begins here.
fn number_list(inp: &mut Inp<'_, '_>) -> Option<usize> {
    let at = position(inp);
    let rest = &inp.full_slice()[at + 1..];
    let is_part = |t: &&Token| matches!(t.kind, Kind::Int | Kind::Float | Kind::Special | Kind::Comma);
    let length = rest.iter().take(LOOK).take_while(is_part).count();
    let numbers = rest[..length].iter().step_by(2).all(|t| t.kind != Kind::Comma);
    let commas = rest[..length].iter().skip(1).step_by(2).all(|t| t.kind == Kind::Comma);
    let is_list = numbers && commas && (length == 0 || length % 2 == 1);
    (is_list && rest.get(length).is_some_and(|t| t.kind == Kind::RBracket)).then_some(length + 2)
}
