//! Walks a tree and resolves its names. The definitions of a graph are collected before its uses, because a text may use a value
//! before its definition.

use super::{NameId, NameInfo, NameKind, NameRole, Occurrence, ScopeId, Spelling, TextScope, plain};
use crate::ast::{
    self, Attr, AttrValue, Dim, Element, Field, FieldValue, Graph, Node, SugarForm, Type, TypeArg, ValueInfo,
};
use onnx_ir::diag::Span;
use std::borrow::Cow;
use std::collections::HashMap;

/// The identity of a name among those of its text: kind, scope, owner.
type Key<'s> = (NameKind, ScopeId, Option<NameId>, Cow<'s, str>);

pub(super) struct Walk<'s> {
    source: &'s str,
    occurrences: Vec<Occurrence>,
    names: Vec<NameInfo>,
    scopes: Vec<TextScope>,
    known: HashMap<Key<'s>, NameId>,
    /// The functions by domain and name.
    functions: HashMap<(Cow<'s, str>, Cow<'s, str>), NameId>,
}

/// The scope of the file, in which functions, operators and domains are known.
const FILE: ScopeId = ScopeId(0);

impl<'s> Walk<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let end = u32::try_from(source.len()).unwrap_or(u32::MAX);
        let file = TextScope { parent: None, root: FILE, span: Span::new(0, end) };
        Walk {
            source,
            occurrences: Vec::new(),
            names: Vec::new(),
            scopes: vec![file],
            known: HashMap::new(),
            functions: HashMap::new(),
        }
    }

    pub(super) fn finish(self) -> (Vec<Occurrence>, Vec<NameInfo>, Vec<TextScope>) {
        (self.occurrences, self.names, self.scopes)
    }

    pub(super) fn file(&mut self, file: &ast::File) {
        for function in &file.functions {
            let id = self.new_name(NameKind::Function, FILE, None, function.name, Spelling::Name);
            self.push(function.name, id, NameRole::Definition, Spelling::Name);
            let domain = self.field(function.header.as_ref().map_or(&[], |h| &h.items), "domain");
            let domain = domain.map_or(Cow::Borrowed(""), |span| plain(self.source, span, Spelling::String));
            let name = plain(self.source, function.name, Spelling::Name);
            let owner = *self.functions.entry((domain, name)).or_insert(id);
            // Calls may come before the function.
            for attr in function.attrs.iter().flat_map(|list| &list.items) {
                self.name(NameKind::Parameter, FILE, Some(owner), attr.name, NameRole::Definition);
            }
        }
        // Scopes are in the order of the text: the header, with its trainings, comes before the main graph, whose values they see.
        let header = file.header.as_ref().map_or(&[][..], |header| &header.items);
        let main = file.graph.as_ref().map(|graph| {
            let span = header.iter().find(|field| self.is(field.key, "training_info")).map(|field| field.key);
            let span = span.map_or(graph.span, |start| start.to(graph.span));
            self.scope(FILE, span, true)
        });
        self.domains(header);
        if let (Some(graph), Some(main)) = (&file.graph, main) {
            self.define_graph(graph, main);
            for field in header {
                if self.is(field.key, "training_info") {
                    self.training(&field.value, main);
                }
            }
            self.graph_in(graph, main, None);
        }
        for function in &file.functions {
            self.function(function);
        }
    }

    /// The graphs of a training, and the bindings between them and the main graph: `["w": "w_next"]`.
    fn training(&mut self, value: &FieldValue, main: ScopeId) {
        let FieldValue::Record(record) = value else { return };
        let mut scopes: HashMap<&str, ScopeId> = HashMap::new();
        for field in &record.items {
            if let FieldValue::Graph(graph) = &field.value {
                let scope = self.scope(main, graph.span, false);
                self.define_graph(graph, scope);
                self.graph_in(graph, scope, None);
                scopes.insert(self.spelled(field.key), scope);
            }
        }
        for (key, graph) in [("initialization_binding", "initialization"), ("update_binding", "algorithm")] {
            let inner = scopes.get(graph).copied().unwrap_or(main);
            for field in &record.items {
                let (true, FieldValue::List(list)) = (self.is(field.key, key), &field.value) else {
                    continue;
                };
                for Element { key, value } in &list.items {
                    self.string(key.as_ref(), main);
                    self.string(Some(value), inner);
                }
            }
        }
    }

    fn function(&mut self, function: &ast::Function) {
        let scope = self.scope(FILE, function.span, true);
        self.domains(function.header.as_ref().map_or(&[], |header| &header.items));
        let name = plain(self.source, function.name, Spelling::Name);
        let domain = self.field(function.header.as_ref().map_or(&[], |h| &h.items), "domain");
        let domain = domain.map_or(Cow::Borrowed(""), |span| plain(self.source, span, Spelling::String));
        let owner = self.functions.get(&(domain, name)).copied();
        for attr in function.attrs.iter().flat_map(|list| &list.items) {
            self.attr_value(attr, scope, owner);
        }
        for value in &function.inputs.items {
            self.name(NameKind::Value, scope, None, value.name, NameRole::Definition);
        }
        let values = function.values.as_ref().map_or(&[][..], |list| &list.items);
        self.define(values, &function.body, scope);
        for value in function.inputs.items.iter() {
            self.types(value, scope);
        }
        self.declare(&function.outputs.items, scope);
        self.declare(values, scope);
        self.nodes(&function.body, scope, owner);
    }

    fn define_graph(&mut self, graph: &Graph, scope: ScopeId) {
        for value in graph.inputs.iter().flat_map(|list| &list.items) {
            self.name(NameKind::Value, scope, None, value.name, NameRole::Definition);
        }
        let values = graph.values.as_ref().map_or(&[][..], |list| &list.items);
        self.define(values, &graph.body, scope);
    }

    fn define(&mut self, values: &[ValueInfo], nodes: &[Node], scope: ScopeId) {
        for value in values.iter().filter(|value| value.data.is_some()) {
            self.name(NameKind::Value, scope, None, value.name, NameRole::Definition);
        }
        for &output in nodes.iter().flat_map(|node| &node.outputs) {
            self.name(NameKind::Value, scope, None, output, NameRole::Definition);
        }
    }

    /// The graph without its definitions. It may refer to the parameters of the function that it is in.
    fn graph_in(&mut self, graph: &Graph, scope: ScopeId, function: Option<NameId>) {
        let id = self.new_name(NameKind::Graph, scope, None, graph.name, Spelling::Name);
        self.push(graph.name, id, NameRole::Definition, Spelling::Name);
        for field in graph.notes.fields() {
            self.note(&field.value, scope);
        }
        for value in graph.inputs.iter().flat_map(|list| &list.items) {
            self.types(value, scope);
        }
        self.declare(&graph.outputs.items, scope);
        self.declare(graph.values.as_ref().map_or(&[], |list| &list.items), scope);
        self.nodes(&graph.body, scope, function);
    }

    /// Outputs and declarations; those with data are definitions.
    fn declare(&mut self, values: &[ValueInfo], scope: ScopeId) {
        for value in values {
            self.types(value, scope);
            if value.data.is_none() {
                self.value(value.name, scope, NameRole::Declaration);
            }
        }
    }

    fn nodes(&mut self, nodes: &[Node], scope: ScopeId, function: Option<NameId>) {
        for node in nodes {
            self.node(node, scope, function);
        }
    }

    fn node(&mut self, node: &Node, scope: ScopeId, function: Option<NameId>) {
        if let Some(name) = node.name.filter(|name| !name.is_empty()) {
            self.name(NameKind::Node, self.scopes[scope.0 as usize].root, None, name, NameRole::Definition);
        }
        for field in node.notes.fields() {
            self.note(&field.value, scope);
        }
        for (_, ty) in node.typed_results() {
            self.ty(ty, scope);
        }
        for inner in node.nested() {
            self.node(inner, scope, function);
        }
        if node.form() != SugarForm::Call {
            node.named_inputs().for_each(|input| self.value(input, scope, NameRole::Use));
            return;
        }
        let domain = node.domain.map_or(Cow::Borrowed(""), |span| plain(self.source, span, Spelling::Name));
        if let Some(span) = node.domain {
            self.name(NameKind::Domain, FILE, None, span, NameRole::Use);
        }
        let op = plain(self.source, node.op, Spelling::Name);
        let callee = self.functions.get(&(domain, op)).copied();
        let operator = match callee {
            Some(id) => {
                self.push(node.op, id, NameRole::Use, Spelling::Name);
                Some(id)
            }
            None => {
                let domain = node.domain.and_then(|span| self.find(NameKind::Domain, FILE, None, span));
                self.name(NameKind::Operator, FILE, domain, node.op, NameRole::Use)
            }
        };
        for input in node.named_inputs() {
            self.value(input, scope, NameRole::Use);
        }
        for attr in node.attrs.iter().flat_map(|list| &list.items) {
            let parameter =
                callee.and_then(|callee| self.find(NameKind::Parameter, FILE, Some(callee), attr.name));
            match parameter {
                Some(id) => self.push(attr.name, id, NameRole::Use, Spelling::Name),
                None => {
                    self.name(NameKind::Attribute, FILE, operator, attr.name, NameRole::Use);
                }
            }
            self.attr_value(attr, scope, function);
        }
    }

    fn attr_value(&mut self, attr: &Attr, scope: ScopeId, function: Option<NameId>) {
        if let Some(value) = &attr.value {
            self.attr_content(value, scope, function);
        }
    }

    fn attr_content(&mut self, value: &AttrValue, scope: ScopeId, function: Option<NameId>) {
        match value {
            AttrValue::Reference(name) => {
                self.name(NameKind::Parameter, FILE, function, *name, NameRole::Use);
            }
            AttrValue::Graph(graph) => {
                let scope = self.scope(scope, graph.span, false);
                self.define_graph(graph, scope);
                self.graph_in(graph, scope, function);
            }
            AttrValue::Tensor(tensor) => self.ty(&tensor.ty, scope),
            AttrValue::Type(ty) => self.ty(ty, scope),
            AttrValue::Sparse(sparse) => sparse.dims.items.iter().for_each(|dim| self.dim(*dim, scope)),
            AttrValue::List(list) | AttrValue::Braced(list) => {
                for element in &list.items {
                    self.attr_content(&element.value, scope, function);
                }
            }
            AttrValue::Record(record) => {
                for part in &record.items {
                    self.attr_value(part, scope, function);
                }
            }
            AttrValue::Scalar(_) | AttrValue::Ints(_) => {}
        }
    }

    fn types(&mut self, value: &ValueInfo, scope: ScopeId) {
        if let Some(ty) = &value.ty {
            self.ty(ty, scope);
        }
    }

    fn ty(&mut self, ty: &Type, scope: ScopeId) {
        match ty {
            Type::Tensor { dims, .. } => {
                for dim in dims.iter().flat_map(|list| &list.items) {
                    self.dim(*dim, scope);
                }
            }
            Type::Call { args, .. } => {
                for arg in &args.items {
                    if let TypeArg::Type(ty) = arg {
                        self.ty(ty, scope);
                    }
                }
            }
            Type::Unset(_) => {}
        }
    }

    /// The symbols of a dimension: an identifier is one, and so is every identifier of a formula.
    fn dim(&mut self, dim: Dim, scope: ScopeId) {
        let (Dim::Param(span) | Dim::Expr(span)) = dim else { return };
        let root = self.scopes[scope.0 as usize].root;
        let text = self.spelled(span);
        if matches!(dim, Dim::Param(_)) && !text.starts_with('"') {
            self.symbol(span, root, Spelling::Name);
            return;
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let bytes = text.as_bytes();
        let mut at = usize::from(text.starts_with('"'));
        while at < bytes.len() {
            let rest = &text[at..];
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let is_call = rest[length..].trim_start().starts_with('(');
            if length > 0 && !bytes[at].is_ascii_digit() && !is_call {
                let start = span.start + u32::try_from(at).unwrap_or(u32::MAX);
                let end = start + u32::try_from(length).unwrap_or(u32::MAX);
                self.symbol(Span::new(start, end), root, Spelling::Word);
            }
            at += length.max(rest.chars().next().map_or(1, char::len_utf8));
        }
    }

    /// The first occurrence of a symbol in its main graph or function defines it.
    fn symbol(&mut self, span: Span, root: ScopeId, spelling: Spelling) {
        let text = plain(self.source, span, spelling);
        let key = (NameKind::Symbol, root, None, text);
        let (id, role) = match self.known.get(&key) {
            Some(&id) => (id, NameRole::Use),
            None => {
                let id = self.new_name(NameKind::Symbol, root, None, span, spelling);
                self.known.insert(key, id);
                (id, NameRole::Definition)
            }
        };
        self.push(span, id, role, spelling);
    }

    /// Names of values in an annotation: of quantized tensors with their scales, and of sharded ones.
    fn note(&mut self, value: &FieldValue, scope: ScopeId) {
        match value {
            FieldValue::Record(record) => {
                for part in &record.items {
                    match (self.spelled(part.key), &part.value) {
                        ("tensor_name", name) => self.string(Some(name), scope),
                        ("quant_parameter_tensor_names", FieldValue::List(list)) => {
                            list.items.iter().for_each(|element| self.string(Some(&element.value), scope));
                        }
                        (_, value) => self.note(value, scope),
                    }
                }
            }
            FieldValue::List(list) => list.items.iter().for_each(|element| self.note(&element.value, scope)),
            FieldValue::Int(_)
            | FieldValue::Float(_)
            | FieldValue::String(_)
            | FieldValue::Word(_)
            | FieldValue::Shared(_)
            | FieldValue::Graph(_) => {}
        }
    }

    /// A string with the name of a known value.
    fn string(&mut self, value: Option<&FieldValue>, scope: ScopeId) {
        if let Some(FieldValue::String(span)) = value
            && let Some(id) = self.resolve(*span, scope)
        {
            self.push(*span, id, NameRole::Declaration, Spelling::String);
        }
    }

    /// The imported domains of a header.
    fn domains(&mut self, fields: &[Field]) {
        for field in fields {
            if self.is(field.key, "domain")
                && let FieldValue::String(span) = &field.value
            {
                self.named(NameKind::Domain, FILE, None, *span, NameRole::Definition, Spelling::String);
            }
            if !self.is(field.key, "opset_import") {
                continue;
            }
            let FieldValue::List(list) = &field.value else { continue };
            for element in &list.items {
                if let Some(FieldValue::String(span)) = &element.key {
                    self.named(NameKind::Domain, FILE, None, *span, NameRole::Definition, Spelling::String);
                }
            }
        }
    }

    /// An occurrence of a value: of this scope, of one around it, or of none, which makes it a name of the outermost graph.
    fn value(&mut self, span: Span, scope: ScopeId, role: NameRole) {
        if span.is_empty() {
            return;
        }
        match self.resolve(span, scope) {
            Some(id) => self.push(span, id, role, Spelling::Name),
            None => {
                let root = self.scopes[scope.0 as usize].root;
                self.name(NameKind::Value, root, None, span, role);
            }
        }
    }

    fn resolve(&self, span: Span, scope: ScopeId) -> Option<NameId> {
        let mut at = Some(scope);
        let mut key = (NameKind::Value, scope, None, plain(self.source, span, Spelling::Name));
        while let Some(scope) = at {
            key.1 = scope;
            if let Some(&id) = self.known.get(&key) {
                return Some(id);
            }
            at = self.scopes[scope.0 as usize].parent;
        }
        None
    }

    fn find(&self, kind: NameKind, scope: ScopeId, owner: Option<NameId>, span: Span) -> Option<NameId> {
        self.known.get(&(kind, scope, owner, plain(self.source, span, Spelling::Name))).copied()
    }

    fn name(
        &mut self,
        kind: NameKind,
        scope: ScopeId,
        owner: Option<NameId>,
        span: Span,
        role: NameRole,
    ) -> Option<NameId> {
        self.named(kind, scope, owner, span, role, Spelling::Name)
    }

    /// Adds an occurrence of the name with this spelling, a new one if there is none.
    fn named(
        &mut self,
        kind: NameKind,
        scope: ScopeId,
        owner: Option<NameId>,
        span: Span,
        role: NameRole,
        spelling: Spelling,
    ) -> Option<NameId> {
        if span.is_empty() {
            return None;
        }
        let key = (kind, scope, owner, plain(self.source, span, spelling));
        let id = match self.known.get(&key) {
            Some(&id) => id,
            None => {
                let id = self.new_name(kind, scope, owner, span, spelling);
                self.known.insert(key, id);
                id
            }
        };
        self.push(span, id, role, spelling);
        Some(id)
    }

    fn new_name(
        &mut self,
        kind: NameKind,
        scope: ScopeId,
        owner: Option<NameId>,
        first: Span,
        spelling: Spelling,
    ) -> NameId {
        let id = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(NameInfo { kind, scope, owner, first, spelling });
        id
    }

    fn push(&mut self, span: Span, name: NameId, role: NameRole, spelling: Spelling) {
        if !span.is_empty() {
            self.occurrences.push(Occurrence { span, name, role, spelling });
        }
    }

    fn scope(&mut self, parent: ScopeId, span: Span, is_root: bool) -> ScopeId {
        let id = ScopeId(u32::try_from(self.scopes.len()).unwrap_or(u32::MAX));
        let root = if is_root { id } else { self.scopes[parent.0 as usize].root };
        self.scopes.push(TextScope { parent: Some(parent), root, span });
        id
    }

    /// The string of a field.
    fn field(&self, fields: &[Field], key: &str) -> Option<Span> {
        fields.iter().find(|field| self.is(field.key, key)).and_then(|field| match field.value {
            FieldValue::String(span) => Some(span),
            _ => None,
        })
    }

    fn is(&self, span: Span, text: &str) -> bool {
        self.spelled(span) == text
    }

    fn spelled(&self, span: Span) -> &'s str {
        self.source.get(span.range()).unwrap_or_default()
    }
}
