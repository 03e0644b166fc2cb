//! Places of the parts of a model in its text.

use crate::abi::{guard, numbered, put};
use crate::findings::Span;
use crate::model::Model;
use crate::walk::{Graph, Node};
use onnx_ir::diag::{Entity, Place as AnyPlace};
use onnx_text::SourceMap;
use onnx_text::render::LineIndex;

/// The kind of a place.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// The model as a whole.
    Nowhere = 0,
    /// The bytes from `body` to `index` of the text.
    Bytes = 1,
    /// The graph with this body and index.
    Graph = 2,
    /// Its input at `position`.
    GraphInput = 3,
    /// Its output at `position`.
    GraphOutput = 4,
    /// Its `value_info` entry at `position`.
    ValueInfo = 5,
    /// Its initializer at `position`.
    Initializer = 6,
    /// The node with this body and index.
    Node = 7,
    /// The name of its operator.
    Operator = 8,
    /// Its input at `position`.
    Input = 9,
    /// Its output at `position`.
    Output = 10,
    /// Its attribute at `position`.
    Attribute = 11,
    /// The function with this index.
    Function = 12,
    /// The import at `position` of the model.
    OpsetImport = 13,
}

numbered!(PlaceKind: Nowhere, Bytes, Graph, GraphInput, GraphOutput, ValueInfo, Initializer, Node, Operator, Input, Output, Attribute, Function, OpsetImport);

/// A part of a model that has a place in its text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Place {
    /// Its kind: an `onnxtxt_place_kind`.
    pub kind: u32,
    /// The body of the graph or node.
    pub body: u32,
    /// The index of the graph or node.
    pub index: u32,
    /// The position in the list that the kind says.
    pub position: u32,
}

impl Place {
    /// The place for findings; `None` if the model has no such part.
    pub(crate) fn find(self, model: &onnx_ir::Model) -> Option<AnyPlace> {
        let i = self.position;
        let graph = || Graph { body: self.body, index: self.index }.ids(model);
        let node = || Node { body: self.body, index: self.index }.ids(model);
        Some(AnyPlace::Entity(match PlaceKind::numbered(self.kind)? {
            PlaceKind::Nowhere => return Some(AnyPlace::Nowhere),
            PlaceKind::Bytes => {
                return Some(AnyPlace::Source(onnx_ir::diag::Span::new(
                    self.body,
                    self.index.max(self.body),
                )));
            }
            PlaceKind::Graph => graph().map(|(body, graph)| Entity::Graph(body, graph))?,
            PlaceKind::GraphInput => graph().map(|(body, graph)| Entity::Input(body, graph, i))?,
            PlaceKind::GraphOutput => graph().map(|(body, graph)| Entity::Output(body, graph, i))?,
            PlaceKind::ValueInfo => graph().map(|(body, graph)| Entity::ValueInfo(body, graph, i))?,
            PlaceKind::Initializer => graph().map(|(body, graph)| Entity::Initializer(body, graph, i))?,
            PlaceKind::Node => node().map(|(body, node)| Entity::Node(body, node))?,
            PlaceKind::Operator => node().map(|(body, node)| Entity::NodeOp(body, node))?,
            PlaceKind::Input => node().map(|(body, node)| Entity::NodeInput(body, node, i))?,
            PlaceKind::Output => node().map(|(body, node)| Entity::NodeOutput(body, node, i))?,
            PlaceKind::Attribute => node().map(|(body, node)| Entity::Attr(body, node, i))?,
            PlaceKind::Function => Entity::Function(model.functions.id_at(self.index as usize)?),
            PlaceKind::OpsetImport => Entity::OpsetImport(i),
        }))
    }
}

/// Where a part of a model is in the text that it was parsed from. Returns whether it has a place there: not in a model that was decoded,
/// changed by a pass, or made of parts that the text does not have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_place(model: *const Model, place: Place, out: *mut Span) -> bool {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return false };
    let span = guard(None, || span(model, place));
    // SAFETY: `out` as the header says.
    span.is_some_and(|span| unsafe { put(out, span) })
}

fn span(model: &Model, place: Place) -> Option<Span> {
    let loaded = model.loaded();
    let syntax = loaded.syntax()?;
    let text = loaded.file().text();
    let span = match place.find(model.model())? {
        AnyPlace::Nowhere => return None,
        AnyPlace::Source(span) => span,
        AnyPlace::Entity(entity) => {
            SourceMap::with_index(text, &syntax.tree, model.model(), &model.index).span(entity)?
        }
    };
    if span.end as usize > text.len() {
        return None;
    }
    let lines = model.lines.get_or_init(|| LineIndex::new(text));
    Some(Span::new(span, |at| lines.position(text, at)))
}
