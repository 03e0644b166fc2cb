//! Nodes.

use super::*;

/// `node = notes node_name? names node_equals (operator attributes? "(" operands ")" attributes? | expression)`
pub(in crate::parse) fn node(inp: &mut Inp<'_, '_>) -> Out<Node> {
    let notes = notes(inp)?;
    return_statement(inp)?;
    let start = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    let node_name = optional(inp, Kind::LBracket, node_name)?;
    let has_results =
        !matches!((peek(inp, 0), peek(inp, 1)), (Some(Kind::Ident), Some(Kind::LParen | Kind::LAngle)))
            || begins_result_type(inp);
    inp.state().types.clear();
    let mut outputs = if has_results {
        let outputs = names(inp)?;
        inp.parse(node_equals())?;
        outputs
    } else {
        // `Relu(x)`
        let at = position(inp);
        emit(inp, Failure::problem(at, Problem::NoResults, Want::Equals));
        SmallVec::new()
    };
    // The operator, or an expression.
    let types = std::mem::take(&mut inp.state().types);
    if has_results && begins_expression(inp) {
        let at = position(inp);
        let expr = expression(inp, 0, false)?;
        if expr.is_operand() {
            return Err(Failure::expected(at, Want::Operator));
        }
        return statement(inp, expr, (notes, node_name, outputs), types, start);
    }
    let call = span_of_next(inp);
    let (domain, op, overload) = operator(inp)?;
    let mut attrs = node_attributes(inp)?;
    let ends = !matches!(peek(inp, 0), None | Some(Kind::LParen))
        && (starts_line(inp) || peek(inp, 0) == Some(Kind::RBrace));
    if attrs.is_none() && ends {
        return Err(Failure::problem(position(inp), Problem::NotACall, Want::LParen));
    }
    // `Add[x, y]`, `Add{x, y}`
    let operands = peek(inp, 0).filter(|&kind| {
        attrs.is_none() && matches!(kind, Kind::LBracket | Kind::LBrace) && begins_operands(inp)
    });
    if let Some(open) = operands {
        let at = position(inp);
        let (inputs, inputs_span) = inp.parse(gappy(open, operand(), |at| at))?;
        let last = position(inp) - 1;
        emit(inp, Failure::between(at, last, Problem::Brackets("(", ")")));
        let span = start.to(last_span(inp));
        return Ok(Node {
            notes,
            name: node_name,
            outputs,
            domain,
            op,
            overload,
            attrs,
            inputs,
            inputs_span,
            span,
            sugar: None,
        });
    }
    if attrs.is_none() && peek(inp, 0) != Some(Kind::LParen) {
        return Err(Failure::expected(position(inp), Expected::from(Want::LParen).and(Want::LAngle)));
    }
    let mark = mark(inp);
    let (inputs, inputs_span) = inp.parse(gappy(Kind::LParen, operand(), |at| at))?;
    // `Relu(x) = y`
    if !has_results && peek(inp, 0) == Some(Kind::Equals) && !starts_line(inp) {
        inp.skip();
        outputs = names(inp)?;
    }
    if attrs.is_none() && !begins_header(inp) && !is_comparison(inp) {
        attrs = node_attributes(inp)?;
    }
    let span = start.to(last_span(inp));
    let mut node = Node {
        notes,
        name: node_name,
        outputs,
        domain,
        op,
        overload,
        attrs,
        inputs,
        inputs_span,
        span,
        sugar: None,
    };
    let height = take_operands(inp, mark, &mut node);
    if has_results && goes_on(inp) {
        let head = (std::mem::take(&mut node.notes), node.name.take(), std::mem::take(&mut node.outputs));
        node.span = call.to(last_span(inp));
        let first = of_node(inp, node, height)?;
        let expr = rest(inp, first)?;
        return statement(inp, expr, head, types, start);
    }
    set_result_types(&mut node, types);
    notes_on_line(inp, &mut node.notes);
    if peek(inp, 0) == Some(Kind::Comma) && !begins_branch(inp) {
        // `a = F(x), y = G(a)`: statements have no separator.
        let at = position(inp);
        emit(inp, Failure::problem(at, Problem::StrayComma, Expected::default()));
        inp.skip();
    }
    Ok(node)
}

/// Whether `(…)` and a second `(` follow.
fn is_before_operands(inp: &mut Inp<'_, '_>) -> bool {
    let at = position(inp);
    let tokens = inp.full_slice();
    let end = tokens[at..].iter().take(LOOK).position(|t| t.kind == Kind::RParen);
    end.and_then(|end| tokens.get(at + end + 1)).is_some_and(|t| t.kind == Kind::LParen && !t.starts_line)
}

/// Whether a bracket and a list of names follow.
fn begins_operands(inp: &mut Inp<'_, '_>) -> bool {
    matches!(peek(inp, 1), Some(Kind::Ident | Kind::String))
        && matches!(peek(inp, 2), Some(Kind::Comma | Kind::RBracket | Kind::RBrace))
        && !starts_line(inp)
}

/// The attributes of a node, if they are there; in the brackets of something else, too.
fn node_attributes(inp: &mut Inp<'_, '_>) -> Out<Option<List<Attr>>> {
    let open = match peek(inp, 0) {
        Some(kind @ (Kind::LBrace | Kind::LBracket))
            if begins_parts(inp, 1) && peek(inp, 1) == Some(Kind::Ident) && !starts_line(inp) =>
        {
            kind
        }
        // `(alpha = 1) (x)`
        Some(kind @ Kind::LParen)
            if (peek(inp, 1), peek(inp, 2)) == (Some(Kind::Ident), Some(Kind::Equals))
                && is_before_operands(inp) =>
        {
            kind
        }
        _ => return optional(inp, Kind::LAngle, attributes),
    };
    let at = position(inp);
    let list = inp.parse(list(open, production(attr)))?;
    let last = position(inp) - 1;
    emit(inp, Failure::between(at, last, Problem::Brackets("<", ">")));
    Ok(Some(list))
}

/// Whether the header of a function begins here, on a line of its own: the body before it is not closed.
fn begins_header(inp: &mut Inp<'_, '_>) -> bool {
    peek(inp, 0) == Some(Kind::LAngle)
        && starts_line(inp)
        && peek(inp, 1) == Some(Kind::Ident)
        && peek(inp, 2) == Some(Kind::Colon)
        && matches!(peek(inp, 3), Some(Kind::String | Kind::LBracket))
}

/// `node_name = "[" name? "]"`
pub(in crate::parse) fn node_name(inp: &mut Inp<'_, '_>) -> Out<Name> {
    let open_at = position(inp);
    let open = inp.parse(token(Kind::LBracket))?;
    let node_name =
        if peek(inp, 0) == Some(Kind::RBracket) { Span::at(open.end) } else { inp.parse(name())? };
    let at = position(inp);
    if matches!(peek(inp, 0), Some(Kind::Ident | Kind::String)) {
        emit(inp, Failure::problem(at, Problem::NotClosed, Want::RBracket).inside(open_at));
    } else {
        inp.parse(token(Kind::RBracket)).map_err(|f| f.inside(open_at))?;
    }
    Ok(node_name)
}

/// `names = (type_? name)? ("," (type_? name)?)*`; a final empty one is dropped, and types wait in the state.
pub(in crate::parse) fn names(inp: &mut Inp<'_, '_>) -> Out<SmallVec<[Name; 2]>> {
    let mut out = SmallVec::new();
    loop {
        match peek(inp, 0) {
            Some(Kind::Comma) => out.push(Span::at(last_span(inp).end)),
            Some(Kind::Equals) => return Ok(out),
            _ => {
                if begins_result_type(inp) {
                    let ty = type_(inp)?;
                    inp.state().types.push((out.len(), ty));
                }
                out.push(inp.parse(value_name_as(if out.is_empty() { Want::Node } else { Want::Name }))?);
            }
        }
        if peek(inp, 0) != Some(Kind::Comma) {
            return Ok(out);
        }
        inp.skip();
    }
}

/// `operator = "."? (name ".")* name (":" name)?`
pub(in crate::parse) fn operator(inp: &mut Inp<'_, '_>) -> Out<(Option<Span>, Name, Option<Name>)> {
    // An empty domain, as the reference has it.
    let mut domain: Option<Span> = None;
    if peek(inp, 0) == Some(Kind::Dot) {
        domain = inp.peek().map(|t: Token| Span::at(t.span.start));
        inp.skip();
    }
    let mut op = inp.parse(part_as(Want::Operator))?;
    while peek(inp, 0) == Some(Kind::Dot) {
        inp.skip();
        domain = Some(domain.filter(|d| !d.is_empty()).map_or(op, |d| d.to(op)));
        op = inp.parse(part_as(Want::Operator))?;
    }
    let mut overload = None;
    if peek(inp, 0) == Some(Kind::Colon) {
        overload = Some(inp.parse(token(Kind::Colon).ignore_then(name()))?);
    }
    Ok((domain, op, overload))
}
