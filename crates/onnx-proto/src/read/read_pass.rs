//! A read pass over a file: first a fast one that trusts the bytes, then a validated one after a walk.
//!
//! Nearly all files are encoded in the standard way. So the first pass decodes at once, and checks each field on the way like the
//! [walk](crate::wire): messages that become structs are walked just before. If anything is unusual (an unknown field, a list in
//! another encoding, invalid bytes), the result is discarded and the validated pass starts again.

use super::Bytes;
use super::deferred::Deferred;
use crate::wire::{self, MAX_DEPTH, Message};
use onnx_ir::diag::{Diagnostic, Place, code};
use std::fmt::Display;

/// The deepest nesting of graphs and of types in the fast pass; beyond, the walk checks the limit.
const MAX_GRAPHS: usize = 16;
/// Messages per level at most: a graph, the node that contains it, and the attribute.
const MESSAGES: usize = 3;

/// The state of a pass.
pub(super) struct ReadPass {
    /// Findings.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether the bytes have been walked over.
    is_walked: bool,
    /// Whether they have to be walked over.
    pub(super) is_unusual: bool,
    /// The current nesting of graphs, and of types inside them.
    graphs: usize,
}

impl ReadPass {
    /// The fast pass, which trusts the bytes.
    pub(super) fn fast() -> ReadPass {
        ReadPass { diagnostics: Vec::new(), is_walked: false, is_unusual: false, graphs: 0 }
    }

    /// The validated pass after a walk, which returned these diagnostics.
    pub(super) fn validated(diagnostics: Vec<Diagnostic>) -> ReadPass {
        ReadPass { diagnostics, is_walked: true, ..ReadPass::fast() }
    }

    /// Records that a walk would have a finding.
    pub(super) fn unusual(&mut self) {
        self.is_unusual = true;
    }

    /// Whether the pass has been abandoned.
    pub(super) fn is_over(&self) -> bool {
        self.is_unusual && !self.is_walked
    }

    /// Whether a graph or the type of elements may be read, which [`leave`](Self::leave) ends.
    pub(super) fn enter(&mut self) -> bool {
        self.graphs += 1;
        self.is_unusual |= self.graphs > MAX_GRAPHS;
        !self.is_over()
    }

    pub(super) fn leave(&mut self) {
        self.graphs -= 1;
    }

    /// Separates long lists from a message, see [`Deferred`].
    pub(super) fn split(&mut self, bytes: &Bytes, deferred: &[u32]) -> (Bytes, Deferred) {
        Deferred::split(bytes, deferred).unwrap_or_else(|_| {
            self.unusual();
            (Bytes::new(), Deferred::none())
        })
    }

    /// Decodes a message.
    pub(super) fn decode<M: prost::Message + Default>(
        &mut self,
        bytes: Bytes,
        schema: &'static Message,
    ) -> M {
        let depth = self.graphs * MESSAGES + MESSAGES;
        if !self.is_walked && !wire::is_plain(&bytes, schema, depth.min(MAX_DEPTH)) {
            self.unusual();
            return M::default();
        }
        M::decode(bytes).unwrap_or_else(|error| {
            self.undecodable("a part of the model", error);
            M::default()
        })
    }

    /// Reports a part of the file that cannot be decoded.
    pub(super) fn undecodable(&mut self, part: impl Display, reason: impl Display) {
        let message = format!("{part} cannot be decoded: {reason}");
        self.diagnostics.push(Diagnostic::new(&code::MODEL_UNDECODABLE, Place::Nowhere, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::push_bytes;

    fn field(number: u32, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_bytes(number, value, &mut out);
        out
    }

    /// A model whose graphs are inside one another.
    fn nested(levels: usize) -> Bytes {
        let mut graph = field(2, b"g");
        for _ in 1..levels {
            let attribute = [field(1, b"body"), field(6, &graph)].concat();
            graph = [field(1, &field(5, &attribute)), field(2, b"g")].concat();
        }
        field(7, &graph).into()
    }

    #[test]
    fn graphs_nest_as_deep_as_the_walk_allows() {
        let read = |levels| {
            let (model, diagnostics) = crate::read(nested(levels)).into_parts();
            let graphs: usize = model.bodies.values().map(|body| body.graphs.len()).sum();
            (graphs, diagnostics.len())
        };
        assert_eq!(read(MAX_GRAPHS), (MAX_GRAPHS, 0));
        assert_eq!(read(MAX_GRAPHS + 1), (MAX_GRAPHS + 1, 0));
        assert_eq!(read(34), (34, 0));
        assert_eq!(read(35), (0, 1));
        assert_eq!(read(10_000), (0, 1));
    }

    #[test]
    fn the_first_go_ends_where_something_is_unusual() {
        let is_unusual = |node: &[u8]| {
            let (mut model, mut pass) = (onnx_ir::Model::new(), ReadPass::fast());
            let bytes = field(7, &field(1, node));
            super::super::read_model(&bytes.into(), &mut model, &mut pass);
            pass.is_unusual
        };
        let attr = |attr: &[u8]| field(5, attr);
        assert!(!is_unusual(
            &[field(1, b"x"), attr(&[field(1, b"a"), vec![0x40, 1, 0x40, 2]].concat())].concat()
        ));
        assert!(is_unusual(&field(15, b"?")), "unknown field of a node");
        assert!(is_unusual(&[0x08, 1]), "number in place of a name");
        assert!(is_unusual(&[0x0a, 9]), "cut off");
        assert!(is_unusual(&attr(&field(8, &[1, 2]))), "packed integers");
        assert!(is_unusual(&attr(&[0x11, 0, 0, 0, 0, 0, 0, 0, 0])), "eight bytes for a float");
        assert!(is_unusual(&attr(&field(5, &field(30, b"?")))), "unknown field of a tensor");
        assert!(is_unusual(&attr(&field(14, &[field(1, &[]), field(4, &[])].concat()))), "type of two kinds");
        assert!(is_unusual(&attr(&field(14, &field(1, &field(30, b"?"))))), "unknown field of a type");
        assert!(is_unusual(&attr(&field(5, &[0x25, 0, 0, 0, 0]))), "unpacked payload");
        assert!(
            is_unusual(&attr(&field(5, &[field(7, &[1]), field(7, &[2])].concat()))),
            "payload in pieces"
        );
        assert!(!is_unusual(&attr(&field(5, &field(1, &[1, 2])))), "packed dimensions");
        let dim = [vec![0x08, 1], field(2, b"N")].concat();
        let shape = |dim: &[u8]| attr(&field(14, &field(1, &field(2, &field(1, dim)))));
        assert!(is_unusual(&shape(&dim)) && !is_unusual(&shape(&dim[..2])), "a dimension of two kinds");
        let nested =
            |levels| attr(&field(14, &(0..levels).fold(Vec::new(), |ty, _| field(4, &field(1, &ty)))));
        assert!(!is_unusual(&nested(8)) && is_unusual(&nested(40)), "types inside one another");
        assert!(is_unusual(&field(9, &field(3, b"?"))), "unknown field of metadata");
    }
}
