//! Operator sets in files of their own.

use super::defaults::Defaults;
use super::{Profile, RaiseOptions, Raiser, signature_text};
use crate::ast::{self, Field, FieldValue, List, Notes, OperatorBody, OpsetItem};
use crate::lex::ANNOTATED;
use crate::lower::{keys, read_signature};
use crate::parse::Syntax;
use crate::print::{FormatOptions, format_operator_set};
use crate::signature_block;
use onnx_ir::diag::{Entity, Span};
use onnx_ir::{
    Attr, BodyId, Definition, FunctionId, Model, Name, OPSET_MAGIC, Operator, OperatorSet, OperatorStatus,
    Presence, Signature,
};

/// Prints an operator set (`grammar/opsets.md`). The reference implementation does not read such files, so the text has extended
/// forms in every profile.
///
/// ```
/// let source = r#"operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
///
/// <since_version: 1, opset_import: ["": 21]>
/// operator Twice (T x) => (T y)
/// where T: {float, float16}
/// {
///     y = Add(x, x)
/// }
/// "#;
/// let set = onnx_text::read_operator_set(source).value;
/// assert_eq!(onnx_text::print_operator_set(&set, &Default::default()), source);
/// ```
#[must_use]
pub fn print_operator_set(set: &OperatorSet, options: &RaiseOptions) -> String {
    let profile = match options.profile {
        Profile::Reference => Profile::Onnx,
        profile @ (Profile::Onnx | Profile::Extended) => profile,
    };
    let options = RaiseOptions { profile, ..options.clone() };
    let parts = Parts::of(set);
    let model = &parts.model;
    let mut raiser = Raiser::new(model, &options, Defaults::of(model, &options));
    let mut tree = raiser.operator_set(set, &parts);
    if raiser.notes_missed {
        let defaults = Defaults { is_annotated: true, ..Defaults::of(model, &options) }.annotated(model);
        raiser = Raiser::new(model, &options, defaults);
        tree = raiser.operator_set(set, &parts);
    }
    let syntax = Syntax { tree, comments: Vec::new(), annotated: raiser.annotated };
    format_operator_set(&raiser.out.text, &syntax, &FormatOptions::default())
}

/// A set with its signatures apart from its documentation.
struct Parts {
    /// The model of the set, extended by the signatures.
    model: Model,
    /// Signature and documentation of each operator.
    operators: Vec<(Option<Signature>, Option<Name>)>,
    definitions: Vec<Definition>,
}

impl Parts {
    fn of(set: &OperatorSet) -> Parts {
        // A set has few bytes but those of constants, which are shared.
        let mut model = set.model.clone();
        let operators = set.operators.iter().map(|operator| parts_of(set, operator, &mut model)).collect();
        Parts { model, operators, definitions: set.definitions() }
    }
}

/// The signature in the documentation of an operator, if it is there as this program writes it, and the rest.
fn parts_of(set: &OperatorSet, operator: &Operator, model: &mut Model) -> (Option<Signature>, Option<Name>) {
    let names = &set.model.names;
    let name = operator.name.map(|name| names.bytes(name)).unwrap_or_default();
    let split = operator.doc.and_then(|doc| signature_block::split(names.bytes(doc)));
    let Some((text, doc)) = split else { return (None, operator.doc) };
    match read_signature(text, name, model) {
        Some(signature) if signature_text(name, &signature, model) == text => {
            (Some(signature), doc.map(|doc| model.names.intern_bytes(doc)))
        }
        Some(_) | None => (None, operator.doc),
    }
}

impl Raiser<'_> {
    fn operator_set(&mut self, set: &OperatorSet, parts: &Parts) -> ast::OperatorSet {
        if self.defaults.is_annotated {
            self.annotated = Some(self.out.put(ANNOTATED));
        }
        let notes = self.conventions();
        let keyword = self.out.put("operator_set");
        let header = self.set_header(set);
        let mut items = Vec::new();
        // The functions keep their order: those that are not the body of the next operator are separate items.
        let mut functions = self.model.functions.ids().peekable();
        for (i, operator) in set.operators.iter().enumerate() {
            if self.notes_missed {
                break;
            }
            let (signature, doc) = &parts.operators[i];
            let definition = parts.definitions[i];
            let body = definition.function.filter(|&f| {
                functions.peek().is_some_and(|&next| next <= f)
                    && self.is_body_of(f, operator, signature.as_ref(), definition)
            });
            while let Some(f) = functions.next_if(|&next| body.is_some_and(|body| next < body)) {
                items.push(OpsetItem::Function(Box::new(self.function(f))));
            }
            if body.is_some() {
                functions.next();
            }
            let operator = self.operator(operator, signature.as_ref(), *doc, body);
            items.push(OpsetItem::Operator(Box::new(operator)));
        }
        for f in functions {
            if self.notes_missed {
                break;
            }
            items.push(OpsetItem::Function(Box::new(self.function(f))));
        }
        ast::OperatorSet { notes, keyword, header, items }
    }

    fn set_header(&mut self, set: &OperatorSet) -> List<Field> {
        let start = self.out.here();
        let header = &self.model.header;
        let mut items = Vec::new();
        if set.magic.is_none_or(|magic| self.model.names.bytes(magic) != OPSET_MAGIC.as_bytes()) {
            items.push(self.field("magic", |this| this.header_string(set.magic)));
        }
        if header.ir_version.is_some() {
            items.push(self.field("ir_version", |this| this.int_value(header.ir_version)));
        }
        items.extend(self.header_text("ir_version_prerelease", set.ir_version_prerelease));
        items.extend(self.header_text("ir_build_metadata", set.ir_build_metadata));
        items.extend(self.header_text("domain", header.domain));
        if set.opset_version.is_some() {
            items.push(self.field("opset_version", |this| this.int_value(set.opset_version)));
        }
        items.extend(self.header_text("doc_string", header.doc));
        List { items, span: self.out.since(start) }
    }

    fn operator(
        &mut self,
        operator: &Operator,
        signature: Option<&Signature>,
        doc: Option<Name>,
        body: Option<FunctionId>,
    ) -> ast::Operator {
        let mut notes = Notes::default();
        self.doc_note(&mut notes, doc);
        if operator.name.is_none() {
            self.words_note(&mut notes, keys::UNSET, &["name"]);
        }
        let start = self.out.here();
        let header = self.header_of(|this| this.operator_fields(operator, signature, body));
        let keyword = self.out.put("operator");
        let name = self.name(operator.name.unwrap_or(Name::empty()));
        let signature = signature.map(|signature| self.signature(signature));
        let (values, body) = match body {
            Some(function) => self.operator_body(function),
            None => (None, None),
        };
        let span = self.out.since(start);
        ast::Operator { notes, header, keyword, name, signature, values, body, span }
    }

    fn operator_fields(
        &mut self,
        operator: &Operator,
        signature: Option<&Signature>,
        body: Option<FunctionId>,
    ) -> Vec<Field> {
        let mut fields = Vec::new();
        if operator.since_version.is_some() {
            fields.push(self.field("since_version", |this| this.int_value(operator.since_version)));
        }
        if operator.status != Some(OperatorStatus::STABLE) {
            fields.push(self.field("status", |this| {
                match operator.status.map(|status| (status.0, status.name())) {
                    Some((_, Some(word))) => FieldValue::Word(this.out.put(word)),
                    Some((number, None)) => FieldValue::Int(this.out.int(number)),
                    None => FieldValue::Word(this.out.put("_")),
                }
            }));
        }
        if let Some(signature) = signature {
            fields.extend(self.signature_fields(signature));
        }
        let imports = body.map(|f| &self.model.functions[f].opset_imports).filter(|i| !i.is_empty());
        fields.extend(imports.map(|imports| self.opset_imports(imports)));
        fields
    }

    fn operator_body(&mut self, id: FunctionId) -> (Option<List<ast::ValueInfo>>, Option<OperatorBody>) {
        let id = self.model.functions[id].body;
        let body = &self.model.bodies[id];
        let Some(root) = body.root() else {
            let span: Span = self.empty_list::<()>("{", "}").span;
            return (None, Some(OperatorBody { nodes: Vec::new(), span }));
        };
        let values = &body.graphs[root].value_info;
        let entity = |i| Entity::ValueInfo(id, root, i);
        let values =
            (!values.is_empty()).then(|| self.ports("<", values, ">", crate::comments::Role::Stored, entity));
        let (nodes, span) = self.body(id, root);
        (values, Some(OperatorBody { nodes, span }))
    }

    /// Whether the body of the operator would make just this function.
    fn is_body_of(
        &self,
        id: FunctionId,
        operator: &Operator,
        signature: Option<&Signature>,
        definition: Definition,
    ) -> bool {
        let model = self.model;
        let function = &model.functions[id];
        let overload = definition.overload.map(|version| version.to_string());
        let is_named = function.name == operator.name
            && function.domain == model.header.domain
            && function.overload.map(|name| &model.names[name]) == overload.as_deref();
        let is_plain = function.doc.is_none()
            && function.metadata.is_empty()
            && function.opset_imports.iter().all(|i| i.domain.is_some() && i.version.is_some());
        is_named && is_plain && signature.is_some_and(|s| self.has_formals(function, s))
    }

    /// Whether a function has the formals of a signature.
    fn has_formals(&self, function: &onnx_ir::Function, signature: &Signature) -> bool {
        let body = &self.model.bodies[function.body];
        let Some(root) = body.root().map(|root| &body.graphs[root]) else { return false };
        let names = |formals: &[onnx_ir::Formal]| formals.iter().map(|f| f.name).collect::<Vec<_>>();
        let ports = |ports: &[onnx_ir::Port]| ports.iter().map(|p| p.name).collect::<Vec<_>>();
        let has_default = |attr: &&onnx_ir::FormalAttr| attr.presence == Presence::Default;
        let plain = signature.attributes.iter().filter(|a| !has_default(a)).map(|a| a.attr.name);
        let defaults: Vec<_> = signature.attributes.iter().filter(has_default).map(|a| &a.attr).collect();
        let same =
            |(a, b): (&&Attr, &Attr)| self.attr_text(signature.body, a) == self.attr_text(function.body, b);
        let is_whole = |names: &[Option<Name>]| names.iter().all(|name| name.is_some_and(|n| !n.is_empty()));
        let (inputs, outputs) = (names(&signature.inputs), names(&signature.outputs));
        is_whole(&inputs)
            && is_whole(&outputs)
            && inputs == ports(&root.inputs)
            && outputs == ports(&root.outputs)
            && plain.eq(function.attributes.iter().map(|&name| Some(name)))
            && defaults.len() == function.attribute_defaults.len()
            && defaults.iter().zip(&function.attribute_defaults).all(same)
    }

    fn attr_text(&self, body: BodyId, attr: &Attr) -> String {
        super::print_attribute(self.model, body, attr, &RaiseOptions::default())
    }
}
