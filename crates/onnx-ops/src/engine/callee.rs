//! Resolves the callee of a node: an operator of the imported version, or a function of the model.

use super::signature;
use super::walk::Engine;
use crate::schema::{Lookup, SchemaId};
use onnx_ir::{FunctionId, Name, NodeId, OpsetImport, normalize_domain};

/// The callee of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Callee {
    Operator(SchemaId),
    Function(FunctionId),
    /// Unknown; reported if it is an error.
    Unknown,
}

/// The key of a resolved callee: enclosing function, domain, operator, overload.
pub(super) type CalleeKey = (Option<FunctionId>, Option<Name>, Option<Name>, Option<Name>);

impl<'m> Engine<'m> {
    /// Resolves the callee of a node.
    pub(super) fn callee(&mut self, node: NodeId) -> Callee {
        let n = &self.body().nodes[node];
        let key = (self.frame.function, n.domain, n.op, n.overload);
        if let Some(&callee) = self.callees.get(&key) {
            if callee == Callee::Unknown && self.quiet == 0 {
                self.lookup(node); // reports each such node
            }
            return callee;
        }
        let callee = self.lookup(node);
        self.callees.insert(key, callee);
        callee
    }

    fn lookup(&mut self, node: NodeId) -> Callee {
        let model = self.model;
        let n = &self.body().nodes[node];
        let (domain, op) = (normalize_domain(model.text(n.domain)), model.text(n.op));
        if !self.functions.is_empty() {
            let key = (domain.to_owned(), n.op.unwrap_or(Name::empty()), n.overload.unwrap_or(Name::empty()));
            if let Some(&f) = self.functions.get(&key) {
                return Callee::Function(f);
            }
        }
        let Some(version) = self.version_of(domain) else { return Callee::Unknown };
        match self.registry.lookup(domain, op, version) {
            Lookup::Found(id) => Callee::Operator(id),
            Lookup::TooNew { since } => {
                signature::too_new(self, node, since, version);
                Callee::Unknown
            }
            Lookup::UnknownOperator => {
                signature::unknown(self, node, version);
                Callee::Unknown
            }
            Lookup::UnknownDomain => Callee::Unknown,
        }
    }

    /// The version of a domain that the current body imports. Before IR version 3, there were no imports: version 1.
    pub(super) fn version_of(&self, domain: &str) -> Option<i64> {
        let imports = self.imports();
        if imports.is_empty() && self.frame.function.is_none() && domain.is_empty() {
            return Some(1);
        }
        let of_domain = |i: &&OpsetImport| normalize_domain(self.model.text(i.domain)) == domain;
        // Invalid versions are reported at the import.
        imports.iter().filter(of_domain).filter_map(|i| i.version).max().filter(|&v| v >= 1)
    }

    pub(super) fn imports(&self) -> &'m [OpsetImport] {
        match self.frame.function {
            Some(f) => &self.model.functions[f].opset_imports,
            None => &self.model.header.opset_imports,
        }
    }
}
