//! Operator sets in files of their own: `grammar/opsets.md`.

use super::signature::is_of_signature;
use super::{Cx, Fields, int_at, keys, parse};
use crate::ast::{self, Field, FieldValue, List, OpsetItem};
use crate::parse::Syntax;
use onnx_ir::diag::{Diagnostic, Parsed, Span, code};
use onnx_ir::{FunctionId, Name, OPSET_MAGIC, Operator, OperatorSet, OperatorStatus, Signatures};

const KEYS: [&str; 7] = [
    "magic",
    "ir_version",
    "ir_version_prerelease",
    "ir_build_metadata",
    "domain",
    "opset_version",
    "doc_string",
];
const OPERATOR_KEYS: [&str; 7] =
    ["since_version", "status", "traits", "num_inputs", "num_outputs", "opset_import", "doc_string"];
/// The key of an operator's header that is about the function that its body makes.
const IMPORTS: &str = "opset_import";

/// An operator set read from text, with the signatures of its operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoweredSet {
    pub(crate) set: OperatorSet,
    pub(crate) signatures: Signatures,
}

/// Lowers a parsed operator set. The findings are those of lowering. Signatures are not in the documentation yet.
pub(crate) fn lower_operator_set(source: &str, syntax: &Syntax<ast::OperatorSet>) -> Parsed<LoweredSet> {
    let mut cx = Cx::new(source, syntax.annotated.is_some());
    let mut lowered = LoweredSet::default();
    let set = &mut lowered.set;
    cx.file_notes(&mut set.model.names, &syntax.tree.notes);
    cx.only_conventions(&syntax.tree.notes);
    cx.set_header(set, &syntax.tree.header);
    let mut bodies = Vec::new();
    for item in &syntax.tree.items {
        match item {
            OpsetItem::Operator(operator) => {
                let function = cx.operator(set, &mut lowered.signatures, operator);
                bodies.push(function);
            }
            OpsetItem::Function(function) => {
                cx.function(&mut set.model, function);
            }
        }
    }
    name_functions(set, &bodies);
    parse::sort(&mut cx.diagnostics);
    // A default is lowered twice: for the signature, and for the function.
    cx.diagnostics.dedup();
    Parsed::new(lowered, cx.diagnostics)
}

/// The functions that bodies of operators have become are those of the set, and of the version if there is a newer one.
fn name_functions(set: &mut OperatorSet, bodies: &[Option<FunctionId>]) {
    let definitions = set.definitions();
    for ((operator, definition), function) in set.operators.iter().zip(definitions).zip(bodies) {
        let Some(function) = function.map(|f| &mut set.model.functions[f]) else { continue };
        function.name = operator.name;
        function.domain = set.model.header.domain;
        function.overload = definition.overload.map(|version| set.model.names.intern(&version.to_string()));
    }
}

impl Cx<'_> {
    fn set_header(&mut self, set: &mut OperatorSet, header: &List<Field>) {
        set.magic = Some(set.model.names.intern(OPSET_MAGIC));
        let fields = Fields::HEADER;
        self.each_field(header, &KEYS, |cx, key, value| {
            let names = &mut set.model.names;
            match key {
                "magic" => set.magic = fields.text(cx, names, value),
                "ir_version" => set.model.header.ir_version = fields.int(cx, value),
                "ir_version_prerelease" => set.ir_version_prerelease = fields.text(cx, names, value),
                "ir_build_metadata" => set.ir_build_metadata = fields.text(cx, names, value),
                "domain" => set.model.header.domain = fields.text(cx, names, value),
                "opset_version" => set.opset_version = fields.int(cx, value),
                "doc_string" => set.model.header.doc = fields.text(cx, names, value),
                _ => {}
            }
        });
    }

    /// The fields of a header, each known key once.
    pub(super) fn each_field(
        &mut self,
        header: &List<Field>,
        known: &[&'static str],
        mut with: impl FnMut(&mut Self, &str, &FieldValue),
    ) {
        let mut seen: Vec<(&str, Span)> = Vec::new();
        for field in &header.items {
            let key = self.text(field.key);
            if !known.contains(&key) {
                self.unknown_key(field.key, known);
                continue;
            }
            if let Some(&(_, first)) = seen.iter().find(|(k, _)| *k == key) {
                let d = Diagnostic::new(&code::REPEATED_KEY, field.key, format!("`{key}` is given twice"));
                self.report(d.label("the second one").related(first, "the first one"));
            }
            seen.push((key, field.key));
            with(self, key, &field.value);
        }
    }

    /// An operator, and the function that its body makes.
    fn operator(
        &mut self,
        set: &mut OperatorSet,
        signatures: &mut Signatures,
        tree: &ast::Operator,
    ) -> Option<FunctionId> {
        let names = &mut set.model.names;
        let mut operator = Operator {
            name: Some(self.name(names, tree.name)),
            status: Some(OperatorStatus::STABLE),
            ..Operator::default()
        };
        if let Some(header) = &tree.header {
            self.each_field(header, &OPERATOR_KEYS, |cx, key, value| match key {
                "since_version" => operator.since_version = Fields::HEADER.int(cx, value),
                "status" => operator.status = cx.status(value),
                "doc_string" => operator.doc = Fields::HEADER.text(cx, names, value),
                // Handled with the signature or the function.
                _ => {}
            });
            self.needless(tree, header);
        }
        self.operator_notes(set, tree, &mut operator);
        let signature = tree.signature.as_ref().map(|signature| {
            let header = tree.header.as_ref();
            self.signature(&mut signatures.model, signature, header)
        });
        signatures.list.push(signature);
        set.operators.push(operator);
        let is_import = |field: &Field| self.text(field.key) == IMPORTS;
        let function = tree.function(is_import)?;
        Some(self.function(&mut set.model, &function))
    }

    /// Reports fields that are about something that the operator does not have.
    fn needless(&mut self, tree: &ast::Operator, header: &List<Field>) {
        for field in &header.items {
            let key = self.text(field.key);
            let missing = match key {
                IMPORTS if tree.body.is_none() => "a body",
                key if is_of_signature(key) && tree.signature.is_none() => "a signature",
                _ => continue,
            };
            let message = format!("`{key}` requires {missing}, which the operator does not have");
            self.report(Diagnostic::new(&code::UNKNOWN_KEY, field.key, message).label("has no effect"));
        }
    }

    fn operator_notes(&mut self, set: &mut OperatorSet, tree: &ast::Operator, operator: &mut Operator) {
        let names = &mut set.model.names;
        if let Some(doc) = self.doc_lines(names, &tree.notes) {
            operator.doc = Some(doc);
        }
        for field in tree.notes.fields() {
            match self.text(field.key) {
                keys::DOC => operator.doc = Fields::NOTE.text(self, names, &field.value),
                keys::UNSET => {
                    let what = Fields::NOTE.texts(self, names, &field.value);
                    if what.iter().any(|&w| &names[w] == "name") {
                        operator.name = None;
                    }
                }
                _ => self.unknown_key(field.key, &[keys::DOC, keys::UNSET]),
            }
        }
    }

    /// `stable`, `experimental`, a number, or `_`.
    fn status(&mut self, value: &FieldValue) -> Option<OperatorStatus> {
        match value {
            FieldValue::Word(span) if self.text(*span) == "_" => None,
            FieldValue::Int(span) => {
                let number = int_at(self, *span)?;
                i32::try_from(number).map(OperatorStatus).ok().or_else(|| {
                    self.wrong_kind(*span, "the number of a status");
                    None
                })
            }
            FieldValue::Word(span) if OperatorStatus::from_name(self.text(*span)).is_some() => {
                OperatorStatus::from_name(self.text(*span))
            }
            _ => {
                self.wrong_kind(value.span(), "`stable` or `experimental`");
                None
            }
        }
    }

    /// Documentation of a part of a signature.
    pub(super) fn doc_alone(&mut self, names: &mut onnx_ir::Names, notes: &ast::Notes) -> Option<Name> {
        let mut doc = self.doc_lines(names, notes);
        for field in notes.fields() {
            match self.text(field.key) {
                keys::DOC => doc = Fields::NOTE.text(self, names, &field.value),
                _ => self.unknown_key(field.key, &[keys::DOC]),
            }
        }
        doc
    }
}
