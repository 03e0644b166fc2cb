//! Graphs and functions.

use super::*;

/// `graph = notes name value_infos? arrow value_infos values? body`
pub(in crate::parse) fn graph(inp: &mut Inp<'_, '_>) -> Out<Graph> {
    let mut graph = graph_head(inp)?;
    (graph.body, graph.body_span) = body(inp)?;
    graph.span = graph.name.to(graph.body_span);
    Ok(graph)
}

/// The main graph of a file. Who receives the parts of the file gets its nodes; otherwise they are in the tree.
pub(in crate::parse::grammar) fn main_graph(inp: &mut Inp<'_, '_>, file: &File, first: Notes) -> Out<Graph> {
    let mut graph = graph_head(inp)?;
    if !first.is_empty() {
        graph.notes = first;
    }
    let has_body = peek(inp, 0) == Some(Kind::LBrace);
    match inp.state().receive.take_if(|_| has_body) {
        Some(receive) => {
            receive(Part::GraphBegins(file, &graph));
            graph.body_span = block(inp, production(node), &mut |node| receive(Part::Node(node)))?;
            graph.span = graph.name.to(graph.body_span);
            receive(Part::GraphEnds(&graph));
            inp.state().receive = Some(receive);
        }
        None => {
            (graph.body, graph.body_span) = body(inp)?;
            graph.span = graph.name.to(graph.body_span);
        }
    }
    Ok(graph)
}

/// The part of a graph before its body.
fn graph_head(inp: &mut Inp<'_, '_>) -> Out<Graph> {
    let notes = notes(inp)?;
    keyword_before(inp);
    let name = inp.parse(name_as(Want::Graph))?;
    let inputs = optional(inp, Kind::LParen, value_infos)?;
    inp.parse(arrow())?;
    let outputs = value_infos(inp)?;
    let values = optional(inp, Kind::LAngle, values)?;
    let here = Span::at(last_span(inp).end);
    Ok(Graph { notes, name, inputs, outputs, values, body: Vec::new(), body_span: here, span: name.to(here) })
}

/// `function = notes header? name attributes? value_infos arrow value_infos values? body`
pub(in crate::parse) fn function(inp: &mut Inp<'_, '_>) -> Out<Function> {
    let notes = notes(inp)?;
    let start = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    let header = optional(inp, Kind::LAngle, header)?;
    inp.state().is_in_function = true;
    keyword_before(inp);
    let name = inp.parse(name_as(Want::Function))?;
    let attrs = optional(inp, Kind::LAngle, attributes)?;
    let inputs = value_infos(inp)?;
    inp.parse(arrow())?;
    let outputs = value_infos(inp)?;
    let values = optional(inp, Kind::LAngle, values)?;
    let (body, body_span) = body(inp)?;
    Ok(Function {
        notes,
        header,
        name,
        attrs,
        inputs,
        outputs,
        values,
        body,
        body_span,
        span: start.to(body_span),
    })
}

/// `body = "{" node* "}"`
pub(in crate::parse) fn body(inp: &mut Inp<'_, '_>) -> Out<(Vec<Node>, Span)> {
    let mut nodes = Vec::new();
    let span = block(inp, production(node), &mut |node| {
        nodes.push(std::mem::replace(node, Node::at(Span::at(0))));
    })?;
    nodes.shrink_to_fit();
    Ok((nodes, span))
}

/// `value_infos = "(" (value_info ("," value_info)*)? ")"`
pub(in crate::parse) fn value_infos(inp: &mut Inp<'_, '_>) -> Out<List<ValueInfo>> {
    inp.parse(list(Kind::LParen, production(value_info)))
}

/// `values = "<" (value_info ("," value_info)*)? ">"`
pub(in crate::parse) fn values(inp: &mut Inp<'_, '_>) -> Out<List<ValueInfo>> {
    inp.parse(list(Kind::LAngle, production(value_info)))
}

/// A part that is there if the next token is `open`.
pub(in crate::parse) fn optional<'t, O>(
    inp: &mut Inp<'t, '_>,
    open: Kind,
    part: impl Fn(&mut Inp<'t, '_>) -> Out<O>,
) -> Out<Option<O>> {
    if peek(inp, 0) == Some(open) { part(inp).map(Some) } else { Ok(None) }
}

/// `value_info = notes type_? name ("=" data)?`
pub(in crate::parse) fn value_info(inp: &mut Inp<'_, '_>) -> Out<ValueInfo> {
    let notes = notes(inp)?;
    let start = inp.peek().map(|t: Token| t.span);
    if let Some((ty, name)) = type_behind_name(inp)? {
        return value_info_rest(inp, notes, start, Some(ty), name);
    }
    let ty = match (peek(inp, 0), peek(inp, 1)) {
        (
            Some(Kind::Ident),
            Some(Kind::Ident | Kind::String | Kind::Bytes | Kind::LBracket | Kind::Ints | Kind::LParen),
        )
        | (Some(Kind::Question), _) => Some(type_(inp)?),
        (Some(Kind::Ident), Some(Kind::Dot)) if is_dotted_type(inp) => Some(type_(inp)?),
        (Some(Kind::Ident), _) => misbracketed_type(inp)?,
        _ => None,
    };
    let name = inp.parse(value_name_as(Want::Name)).map_err(|f| match ty {
        Some(_) => f,
        None => Failure { expected: f.expected.and(Want::Type), ..f },
    })?;
    value_info_rest(inp, notes, start, ty, name)
}

/// The part of a value info after its name.
fn value_info_rest(
    inp: &mut Inp<'_, '_>,
    notes: Notes,
    start: Option<Span>,
    ty: Option<Type>,
    name: Name,
) -> Out<ValueInfo> {
    let mut data = None;
    if peek(inp, 0) == Some(Kind::Equals) {
        inp.skip();
        data = Some(self::data(inp, ty.as_ref())?);
    }
    let end = last_span(inp);
    Ok(ValueInfo { notes, ty, name, data, span: start.map_or(end, |s| s.to(end)) })
}
