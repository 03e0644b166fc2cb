//! The grammar. Production names are those of `grammar/onnx-text.ebnf`.
//!
//! A production is a function over chumsky's input; `production` makes it a parser that combines with the others.
//! Functions refer to each other freely, so recursion costs nothing and owns nothing.

mod attributes;
mod graphs;
mod habits;
mod nodes;
mod notes;
mod opset;
mod plain;
mod sugar;
mod tensors;
mod types;
mod value;

pub(super) use attributes::*;
pub(super) use graphs::*;
use habits::*;
pub(super) use nodes::*;
pub(super) use notes::*;
pub(super) use opset::*;
pub(super) use plain::PlainReader;
pub(super) use sugar::*;
pub(super) use tensors::*;
pub(super) use types::*;
pub(super) use value::value;

use super::failure::{Expected, Failure, Problem, Want};
use super::look::{LOOK, closing};
use super::primitives::{
    arrow, bare, begins_branch, block, emit, gappy, last_span, list, name, name_as, node_equals, part_as,
    peek, position, starts_line, token, token_as, value_name_as,
};
use crate::ast::*;
use crate::lex::{Kind, Token};
use chumsky::input::InputRef;
use chumsky::inspector::SimpleState;
use chumsky::prelude::*;
use onnx_ir::diag::Span;
use smallvec::SmallVec;

/// The input of the parser.
pub(super) type In<'t> = &'t [Token];
/// The error and state types of the parser.
pub(super) type X<'t> = extra::Full<Failure, SimpleState<Context<'t>>, ()>;
/// The state of the parser.
pub(super) struct Context<'t> {
    /// The text of the tokens.
    pub(super) source: &'t str,
    /// Mistakes that were recovered from.
    pub(super) emitted: Vec<Failure>,
    /// The nesting of values and of expressions, which have no brackets for the lexer to count.
    pub(super) depth: usize,
    /// Operands of calls that are not complete, other than names.
    pub(super) operands: Vec<Pending>,
    /// Attributes among such operands.
    pub(super) named: Vec<NamedAttr>,
    /// The types of results of the statement that is read, with their positions.
    pub(super) types: Vec<(usize, Type)>,
    /// Whether the text is inside a function, which has no initializers.
    pub(super) is_in_function: bool,
    /// Whether plain statements are read without the grammar.
    pub(super) has_plain_reader: bool,
    /// The receiver of the parts of a file, which gets them as they are read, in place of the tree.
    pub(super) receive: Option<&'t mut dyn FnMut(Part<'_>)>,
}

/// A part of a file that is complete.
pub(crate) enum Part<'a> {
    /// The main graph up to its body, in a file of which the header is known.
    GraphBegins(&'a File, &'a Graph),
    /// A node of the main graph.
    Node(&'a Node),
    /// The end of the main graph.
    GraphEnds(&'a Graph),
    /// A function of a file of which the header is known.
    Function(&'a File, &'a Function),
}

impl<'t> Context<'t> {
    /// The state before the first token.
    pub(super) fn of(source: &'t str) -> Self {
        Context {
            source,
            emitted: Vec::new(),
            depth: 0,
            operands: Vec::new(),
            named: Vec::new(),
            types: Vec::new(),
            is_in_function: false,
            has_plain_reader: true,
            receive: None,
        }
    }
}
/// Its position in the input.
pub(super) type Inp<'t, 'p> = InputRef<'t, 'p, In<'t>, X<'t>>;
/// The result of a production.
pub(super) type Out<O> = Result<O, Failure>;

/// A parser of ours.
pub(super) trait P<'t, O>: Parser<'t, In<'t>, O, X<'t>> + Clone {}
impl<'t, O, T: Parser<'t, In<'t>, O, X<'t>> + Clone> P<'t, O> for T {}

/// A production as a parser.
pub(super) fn production<'t, O>(f: impl Fn(&mut Inp<'t, '_>) -> Out<O> + Clone) -> impl P<'t, O> {
    custom::<_, In<'t>, _, X<'t>>(f)
}

/// `model = notes header? graph function*`
pub(in crate::parse) fn model(inp: &mut Inp<'_, '_>) -> Out<File> {
    let mut file = File::default();
    // Annotations before it belong to the header if there is one, otherwise to the graph.
    let mut first = notes(inp)?;
    if peek(inp, 0) == Some(Kind::LAngle) {
        file.notes = std::mem::take(&mut first);
        file.header = Some(header(inp)?);
    }
    let graph = item_or_body(inp, |inp| main_graph(inp, &file, first));
    file.graph = graph;
    inp.state().is_in_function = true;
    while inp.peek().is_some() {
        let at = position(inp);
        if let Some(f) = item_or_body(inp, function) {
            match &mut inp.state().receive {
                Some(receive) => receive(Part::Function(&file, &f)),
                None => file.functions.push(f),
            }
        }
        if position(inp) == at {
            inp.skip();
        }
    }
    Ok(file)
}

/// A graph or function. If its signature cannot be parsed, its body is still parsed to report errors in it.
pub(in crate::parse) fn item_or_body<'t, 'p, O>(
    inp: &mut Inp<'t, 'p>,
    item: impl FnOnce(&mut Inp<'t, 'p>) -> Out<O>,
) -> Option<O> {
    let before = inp.save();
    let failure = match item(inp) {
        Ok(out) => return Some(out),
        Err(failure) => failure,
    };
    inp.rewind(before);
    emit(inp, failure);
    while position(inp) < failure.at as usize && inp.peek().is_some() {
        inp.skip();
    }
    while !matches!(peek(inp, 0), None | Some(Kind::LBrace)) {
        inp.skip();
    }
    // A failure here is at the end of the file, and the earlier one has been reported.
    let _ = body(inp);
    None
}

/// Everything up to the end of the input; `None` if it cannot be read at all.
pub(in crate::parse) fn whole<'t, O>(item: fn(&mut Inp<'t, '_>) -> Out<O>) -> impl P<'t, Option<O>> {
    production(move |inp: &mut Inp<'t, '_>| {
        let before = inp.save();
        let out = match item(inp) {
            Ok(out) => {
                if inp.peek().is_some() {
                    let at = position(inp);
                    emit(inp, Failure::expected(at, Want::End));
                }
                Some(out)
            }
            Err(failure) => {
                inp.rewind(before);
                emit(inp, failure);
                None
            }
        };
        while inp.peek().is_some() {
            inp.skip();
        }
        Ok(out)
    })
}

/// `header = "<" (field ("," field)*)? ">"`
pub(in crate::parse) fn header(inp: &mut Inp<'_, '_>) -> Out<List<Field>> {
    inp.parse(list(Kind::LAngle, production(field)))
}
