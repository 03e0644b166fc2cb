//! The trace of what rules read, for [`why`](crate::infer::why()).

use foldhash::HashMap;
use onnx_ir::{BodyId, NodeId};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The reads of a rule.
#[derive(Clone, Default, Debug)]
pub struct Looked {
    /// Inputs whose shape or rank was read.
    pub shapes: BTreeSet<usize>,
    /// Inputs with known elements that were read.
    pub elements: BTreeSet<usize>,
    /// Attributes, or their defaults, as text.
    pub attributes: BTreeMap<String, String>,
    /// Whether inputs were broadcast.
    pub is_broadcast: bool,
    /// The source of the result.
    pub by: By,
}

/// The source of the facts of the outputs of a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum By {
    /// The type variables of the schema only.
    #[default]
    Schema,
    /// The rule of the operator.
    Rule,
    /// The function that defines the operator.
    Body,
}

/// The traces of all nodes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Trace(RefCell<HashMap<(BodyId, NodeId), Looked>>);

impl Trace {
    pub(super) fn note(&self, body: BodyId, node: NodeId, note: impl FnOnce(&mut Looked)) {
        note(self.0.borrow_mut().entry((body, node)).or_default());
    }

    pub(crate) fn of(&self, body: BodyId, node: NodeId) -> Looked {
        self.0.borrow().get(&(body, node)).cloned().unwrap_or_default()
    }
}
