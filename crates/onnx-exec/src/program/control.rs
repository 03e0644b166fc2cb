//! Control flow operators and their subgraphs.

use onnx_ir::GraphId;
use onnx_kernels::Attributes;

/// An operator that runs subgraphs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    If,
    Loop,
    Scan,
    SequenceMap,
}

/// A control flow node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub(crate) kind: Kind,
    /// The body, or the branches: first `then`, second `else`.
    pub(crate) graphs: [Option<GraphId>; 2],
}

impl Kind {
    pub(crate) fn find(domain: &str, op: &str) -> Option<Kind> {
        Some(match (domain, op) {
            ("", "If") => Kind::If,
            ("", "Loop") => Kind::Loop,
            ("", "Scan") => Kind::Scan,
            ("", "SequenceMap") => Kind::SequenceMap,
            _ => return None,
        })
    }

    /// The names of the attributes that hold its subgraphs.
    pub(crate) fn graphs(self) -> &'static [&'static str] {
        match self {
            Kind::If => &["then_branch", "else_branch"],
            Kind::Loop | Kind::Scan | Kind::SequenceMap => &["body"],
        }
    }
}

impl Control {
    pub(super) fn new(kind: Kind, attrs: &Attributes<'_>) -> Control {
        let graph = |at: usize| kind.graphs().get(at).and_then(|name| attrs.graph(name));
        Control { kind, graphs: [graph(0), graph(1)] }
    }
}
