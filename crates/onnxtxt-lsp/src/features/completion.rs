//! Completion: what can be written at the cursor.

use super::cursor::{Around, around, word_before};
use super::schemas::{self, Called};
use super::signature_help::split;
use crate::client::Client;
use crate::document::Snapshot;
use crate::workspace::View;
use gen_lsp_types::*;
use onnx_text::ast::FieldValue;
use onnx_text::{NameId, NameKind};
use onnxtxt::describe::{call_snippet, least_results, placeholder};
use onnxtxt::ir::diag::{Edit, Span};
use onnxtxt::ir::releases::newest_version;
use onnxtxt::ir::{ElemType, normalize_domain};
use onnxtxt::ops::schema::{AttrParam, Lookup, Param, Schema, TypeSet};
use serde_json::json;

/// Characters after which an editor asks.
pub(crate) const TRIGGERS: [&str; 7] = [".", "=", "(", "<", ",", "\"", "@"];

/// Values that are offered at most; a client asks again when more is typed.
const MAX_VALUES: usize = 1_000;

/// The keys of a header, and what they mean.
pub(crate) const HEADER_KEYS: [(&str, &str); 10] = [
    ("ir_version", "the version of the format"),
    ("opset_import", "the versions of the operator sets that the nodes use"),
    ("producer_name", "the tool that made the model"),
    ("producer_version", "the version of that tool"),
    ("domain", "the domain of the model or function"),
    ("model_version", "the version of the model, a number"),
    ("doc_string", "documentation"),
    ("metadata_props", "pairs of strings that tools read"),
    ("training_info", "the graphs of a training and their bindings"),
    ("overload", "which of several functions of one name"),
];

/// The keys of annotations.
const NOTE_KEYS: [(&str, &str); 10] = [
    ("configuration", "a set of devices"),
    ("denotation", "the meaning of a type or an axis"),
    ("device_configurations", "on which devices a node runs"),
    ("doc_string", "documentation"),
    ("metadata_props", "pairs of strings that tools read"),
    ("nan", "bit patterns of numbers that are not one"),
    ("quantization_annotation", "scale and zero point of a tensor"),
    ("segment", "which part of a tensor this is"),
    ("storage", "`raw` or `typed`"),
    ("strings", "strings that annotations share"),
];

/// Completions at a position.
pub(crate) fn completion(snapshot: &Snapshot, position: Position, client: &Client) -> CompletionList {
    let offset = snapshot.offset(position);
    let around = around(snapshot, offset);
    let cx = Completion {
        snapshot,
        offset,
        word: word_before(snapshot, offset),
        has_snippets: client.has_snippets,
        is_statement: matches!(around, Around::Statement),
    };
    let mut items = match around {
        Around::Inputs { op, index } => cx.inputs(op, index),
        Around::Operand { after } => {
            let mut items = cx.values(after, None);
            items.extend(cx.calls());
            items
        }
        Around::Attributes { op, value_of: None } => cx.attributes(op),
        Around::Attributes { op, value_of: Some(name) } => cx.attribute_value(op, name),
        Around::Operator { domain } => cx.operators(domain),
        Around::Declarations => cx.types(),
        Around::Dimensions => cx.names(NameKind::Symbol, CompletionItemKind::TypeParameter),
        Around::Header { value_of: None } => words(&HEADER_KEYS, ": "),
        Around::Header { value_of: Some(key) } => cx.header_value(key),
        Around::Annotation => words(&NOTE_KEYS, ": "),
        Around::Statement => cx.statements(),
        Around::Nothing => Vec::new(),
    };
    // A name may be empty, but editors refuse what has no label.
    items.retain(|item| !item.label.is_empty());
    let is_incomplete = items.len() >= MAX_VALUES;
    items.iter_mut().for_each(|item| cx.place(item));
    CompletionList { is_incomplete, items, item_defaults: None, apply_kind: None }
}

/// Adds the documentation of the chosen item.
pub(crate) fn resolve(mut item: CompletionItem, view: &View) -> CompletionItem {
    let text = |key: &str| item.data.as_ref().and_then(|data| data.get(key)?.as_str());
    let (Some(uri), Some(domain), Some(name)) = (text("uri"), text("domain"), text("operator")) else {
        return item;
    };
    let version = item.data.as_ref().and_then(|data| data.get("version")?.as_i64());
    let Some(snapshot) = view.open.iter().find(|open| open.uri().0 == uri) else { return item };
    if let Some(Called::Operator { schema }) = schemas::named(snapshot, domain, name, version) {
        let value = super::hover::schema_text(snapshot, schema);
        item.documentation = Some(MarkupContent { kind: MarkupKind::Markdown, value }.into());
    }
    item
}

fn words(list: &[(&str, &str)], after: &str) -> Vec<CompletionItem> {
    let item = |(word, detail): &(&str, &str)| CompletionItem {
        label: (*word).to_owned(),
        kind: Some(CompletionItemKind::Property),
        detail: Some((*detail).to_owned()),
        insert_text: Some(format!("{word}{after}")),
        ..CompletionItem::default()
    };
    list.iter().map(item).collect()
}

struct Completion<'s> {
    snapshot: &'s Snapshot,
    offset: u32,
    /// The word that is being typed.
    word: Span,
    has_snippets: bool,
    /// Whether a statement begins here, which has results before its operator.
    is_statement: bool,
}

impl Completion<'_> {
    /// Says where an item goes, because editors disagree about the words of a text.
    fn place(&self, item: &mut CompletionItem) {
        let text = item.insert_text.take().unwrap_or_else(|| item.label.clone());
        let is_in_string = self.snapshot.text()[..self.word.start as usize].ends_with('"');
        let text = if is_in_string { text.trim_matches('"').to_owned() } else { text };
        let edit = TextEdit { range: self.snapshot.range(self.word), new_text: text };
        item.text_edit = Some(edit.into());
        // Without it, Neovim takes the items to be filtered already.
        item.filter_text = Some(item.label.clone());
    }

    /// Operators of the imported versions, functions, and domains.
    fn operators(&self, domain: Option<Span>) -> Vec<CompletionItem> {
        let asked = domain.map(|span| self.snapshot.slice(span).trim_matches('"').to_owned());
        let mut items = self.functions(asked.as_deref());
        items.extend(self.of_domain(asked.as_deref().unwrap_or_default()));
        if asked.is_none() {
            items.extend(self.domains());
        }
        items
    }

    /// Statements by the names of their operators, where nothing else is in the line. Without snippets there is nothing to offer: the name
    /// of a result is the user's.
    fn statements(&self) -> Vec<CompletionItem> {
        let rest = self.snapshot.text().get(self.offset as usize..).unwrap_or_default();
        let is_alone = rest.lines().next().is_none_or(|line| line.trim().is_empty());
        if self.has_snippets && is_alone { self.of_domain("") } else { Vec::new() }
    }

    fn of_domain(&self, domain: &str) -> Vec<CompletionItem> {
        let registry = self.snapshot.registry();
        let imported = schemas::imported(self.snapshot, self.offset, domain);
        let version = imported.unwrap_or(i64::MAX);
        let mut items = Vec::new();
        let whole = onnxtxt::ops::opset::whole_registry();
        // Operators of a domain that is not imported yet are those of all known sets.
        let registry = if registry.newest_version(domain).is_none() { whole } else { registry };
        for name in registry.operators(domain) {
            let Lookup::Found(id) = registry.lookup(domain, name, version) else { continue };
            let schema = registry.get(id);
            items.push(CompletionItem {
                label: name.to_owned(),
                kind: Some(CompletionItemKind::Method),
                detail: Some(schemas::signature(schema)),
                tags: schema.deprecated.then(|| vec![CompletionItemTag::Deprecated]),
                sort_text: Some(format!("{}{name}", if schema.deprecated { "9" } else { "5" })),
                insert_text: Some(self.call(schema)),
                insert_text_format: self.has_snippets.then_some(InsertTextFormat::Snippet),
                additional_text_edits: imported.is_none().then(|| self.import(domain)).flatten(),
                data: Some(json!({
                    "uri": self.snapshot.uri().0, "domain": domain, "operator": name, "version": imported,
                })),
                ..CompletionItem::default()
            });
        }
        items
    }

    /// A call with its required attributes and inputs as placeholders, unless operands follow already.
    fn call(&self, schema: &Schema) -> String {
        let rest = self
            .snapshot
            .text()
            .get(self.offset as usize..)
            .unwrap_or_default()
            .trim_start_matches([' ', '\t']);
        if !self.has_snippets || rest.starts_with(['(', '<']) {
            return schema.name.to_string();
        }
        let mut number = 0;
        let mut hole = |text: &str| {
            number += 1;
            tab_stop(number, text)
        };
        let results: Vec<String> = match self.is_statement {
            true => least_results(schema).into_iter().map(&mut hole).collect(),
            false => Vec::new(),
        };
        let results = if results.is_empty() { String::new() } else { format!("{} = ", results.join(", ")) };
        format!("{results}{}$0", call_snippet(self.snapshot.registry(), schema, &mut hole))
    }

    /// The edit that imports a domain, if the file has a list of imports.
    fn import(&self, domain: &str) -> Option<Vec<TextEdit>> {
        let header = self.snapshot.tree().header.as_ref()?;
        let field = header.items.iter().find(|field| self.snapshot.slice(field.key) == "opset_import")?;
        let FieldValue::List(list) = &field.value else { return None };
        let version = newest_version(domain)
            .or_else(|| onnxtxt::ops::opset::whole_registry().newest_version(domain).map(i64::from))
            .unwrap_or(1);
        let comma = if list.items.is_empty() { "" } else { ", " };
        let at = list.span.end.checked_sub(1)?;
        let edit = Edit { span: Span::at(at), text: format!("{comma}\"{domain}\": {version}") };
        Some(vec![self.snapshot.edit(&edit)])
    }

    /// Functions of the model: of a domain, or with theirs.
    fn functions(&self, domain: Option<&str>) -> Vec<CompletionItem> {
        let model = self.snapshot.model();
        let mut items = Vec::new();
        for (function, tree) in model.functions.values().zip(&self.snapshot.tree().functions) {
            let (of, name) = (model.text(function.domain), model.text(function.name));
            let label = match domain {
                Some(domain) if normalize_domain(domain) != normalize_domain(of) => continue,
                None if !of.is_empty() => format!("{of}.{name}"),
                _ => name.to_owned(),
            };
            let text = |span: Span| self.snapshot.slice(span);
            items.push(CompletionItem {
                insert_text: Some(label.clone()),
                label,
                kind: Some(CompletionItemKind::Function),
                detail: Some(format!("{}{} => {}", name, text(tree.inputs.span), text(tree.outputs.span))),
                sort_text: Some(format!("3{name}")),
                ..CompletionItem::default()
            });
        }
        items
    }

    /// Domains: those that are imported first.
    fn domains(&self) -> Vec<CompletionItem> {
        let known = onnxtxt::ops::opset::whole_registry().domains().chain(self.snapshot.registry().domains());
        let mut domains: Vec<&str> = known.filter(|domain| !domain.is_empty()).collect();
        domains.sort_unstable();
        domains.dedup();
        let item = |domain: &str| {
            let is_imported = schemas::imported(self.snapshot, self.offset, domain).is_some();
            CompletionItem {
                label: domain.to_owned(),
                kind: Some(CompletionItemKind::Module),
                detail: Some(
                    if is_imported { "imported" } else { "a domain that is not imported" }.to_owned(),
                ),
                sort_text: Some(format!("{}{domain}", if is_imported { "6" } else { "8" })),
                insert_text: Some(format!("{domain}.")),
                ..CompletionItem::default()
            }
        };
        domains.into_iter().map(item).collect()
    }

    fn called(&self, op: Span) -> Option<Called<'_>> {
        let (domain, name) = split(self.snapshot.slice(op));
        let version = schemas::imported(self.snapshot, self.offset, &domain);
        schemas::named(self.snapshot, &domain, &name, version)
    }

    /// Values, or calls; attributes, which may be among the operands.
    fn inputs(&self, op: Span, index: usize) -> Vec<CompletionItem> {
        let called = self.called(op);
        let param = match &called {
            Some(Called::Operator { schema }) => schema.input(index),
            _ => None,
        };
        let mut items = self.values(op.start, param);
        if !self.snapshot.text()[..self.word.start as usize].ends_with('"') {
            let attributes = self.attributes(op).into_iter();
            items.extend(
                attributes.map(|item| CompletionItem { sort_text: Some(format!("8{}", item.label)), ..item }),
            );
            items.extend(self.calls());
        }
        items
    }

    /// The calls that an operand may be, after everything else.
    fn calls(&self) -> Vec<CompletionItem> {
        let last = |item: CompletionItem| CompletionItem {
            sort_text: item.sort_text.map(|text| format!("9{text}")),
            ..item
        };
        self.operators(None).into_iter().map(last).collect()
    }

    /// Values in scope that are defined before a byte; those whose types fit first, and of these the newest.
    fn values(&self, at: u32, param: Option<&Param>) -> Vec<CompletionItem> {
        let names = self.snapshot.names();
        // A result of the statement itself, of one after it or of the one around its graph is not a value yet.
        let map = self.snapshot.map();
        let before = |name: &NameId| {
            let Some(definition) = names.definition(*name) else { return false };
            let node = map.node_at(definition.span.start);
            let is_result = |node: &onnx_text::NodeAt<'_>| node.tree.outputs.contains(&definition.span);
            let node = node.filter(is_result);
            definition.span.start < at && node.is_none_or(|node| node.tree.span.end <= at)
        };
        let mut values: Vec<NameId> = names.visible(self.offset, NameKind::Value).filter(before).collect();
        values.sort_by_key(|name| std::cmp::Reverse(names.definition(*name).map_or(0, |it| it.span.start)));
        values.truncate(MAX_VALUES);
        let item = |(i, name): (usize, NameId)| {
            let definition = names.definition(name)?;
            let value = super::hover::value_at(self.snapshot, definition.span.start);
            let ty = value.and_then(|(body, value)| super::hover::type_of(self.snapshot, body, value));
            let fits = match (param, &ty) {
                (Some(param), Some(ty)) => allows(&param.types, ty),
                _ => true,
            };
            Some(CompletionItem {
                label: names.text(self.snapshot.text(), name).into_owned(),
                insert_text: Some(self.snapshot.slice(definition.span).to_owned()),
                kind: Some(CompletionItemKind::Variable),
                detail: ty,
                sort_text: Some(format!("{}{i:05}", if fits { 1 } else { 7 })),
                ..CompletionItem::default()
            })
        };
        values.into_iter().enumerate().filter_map(item).collect()
    }

    /// Attributes that the node does not have yet.
    fn attributes(&self, op: Span) -> Vec<CompletionItem> {
        let present: Vec<&str> = self
            .snapshot
            .map()
            .node_at(op.start)
            .and_then(|at| at.tree.attrs.as_ref())
            .map_or_else(Vec::new, |attrs| {
                attrs.items.iter().map(|attr| self.snapshot.slice(attr.name)).collect()
            });
        let typed = self.snapshot.slice(self.word);
        match self.called(op) {
            Some(Called::Operator { schema }) => schema
                .attrs
                .iter()
                .filter(|attr| *attr.name == *typed || !present.contains(&&*attr.name))
                .map(|attr| self.attribute(schema, attr))
                .collect(),
            Some(Called::Function { id, .. }) => {
                let function = self.snapshot.tree().functions.get(id);
                let attrs =
                    function.and_then(|function| function.attrs.as_ref()).map_or(&[][..], |list| &list.items);
                let item = |attr: &onnx_text::ast::Attr| CompletionItem {
                    label: self.snapshot.slice(attr.name).to_owned(),
                    kind: Some(CompletionItemKind::Property),
                    insert_text: Some(format!("{} = ", self.snapshot.slice(attr.name))),
                    ..CompletionItem::default()
                };
                attrs.iter().map(item).collect()
            }
            None => Vec::new(),
        }
    }

    fn attribute(&self, schema: &Schema, attr: &AttrParam) -> CompletionItem {
        let default = attr.default.as_ref().map(onnxtxt::ops::schema::Default::text);
        let value = default.unwrap_or_else(|| placeholder(self.snapshot.registry(), schema, attr));
        let text = match self.has_snippets {
            true => format!("{} = {}", attr.name, tab_stop(1, &value)),
            false => format!("{} = ", attr.name),
        };
        CompletionItem {
            label: attr.name.to_string(),
            kind: Some(CompletionItemKind::Property),
            detail: Some(schemas::attribute(attr)),
            sort_text: Some(format!("{}{}", if attr.required { 1 } else { 5 }, attr.name)),
            insert_text: Some(text),
            insert_text_format: self.has_snippets.then_some(InsertTextFormat::Snippet),
            ..CompletionItem::default()
        }
    }

    /// Words of an enumeration, numbers of element types, references to parameters of the function around.
    fn attribute_value(&self, op: Span, name: Span) -> Vec<CompletionItem> {
        let mut items = self.names(NameKind::Parameter, CompletionItemKind::Reference);
        items.iter_mut().for_each(|item| item.insert_text = Some(format!("@{}", item.label)));
        let Some(Called::Operator { schema }) = self.called(op) else { return items };
        let Some(attr) = schema.attr(self.snapshot.slice(name).trim_matches('"')) else { return items };
        for word in schemas::allowed_words(self.snapshot.registry(), schema, &attr.name) {
            items.push(CompletionItem {
                insert_text: Some(format!("\"{word}\"")),
                label: word,
                kind: Some(CompletionItemKind::EnumMember),
                ..CompletionItem::default()
            });
        }
        if attr.is_elem_type() {
            items.extend(schemas::elem_types().map(|(number, name)| CompletionItem {
                label: name.to_owned(),
                kind: Some(CompletionItemKind::EnumMember),
                detail: Some(number.to_string()),
                insert_text: Some(number.to_string()),
                ..CompletionItem::default()
            }));
        }
        items
    }

    /// Names of a kind that are visible here.
    fn names(&self, kind: NameKind, of: CompletionItemKind) -> Vec<CompletionItem> {
        let names = self.snapshot.names();
        let is_here = |name: &NameId| {
            let info = names.info(*name);
            // Parameters are known to everyone who calls the function, and can be used only in it.
            let Some(definition) = names.definition(*name) else { return false };
            kind != NameKind::Parameter || info.owner.is_some() && self.is_of_function_around(definition.span)
        };
        let visible = names.visible(self.offset, kind).filter(is_here).take(MAX_VALUES);
        let item = |name: NameId| CompletionItem {
            label: names.text(self.snapshot.text(), name).into_owned(),
            kind: Some(of),
            ..CompletionItem::default()
        };
        visible.map(item).collect()
    }

    fn is_of_function_around(&self, definition: Span) -> bool {
        let has = |span: Span, at: u32| span.start <= at && at <= span.end;
        let mut functions = self.snapshot.tree().functions.iter();
        functions.any(|function| has(function.span, self.offset) && has(function.span, definition.start))
    }

    /// Element types, and the containers of types.
    fn types(&self) -> Vec<CompletionItem> {
        let elems = ElemType::ALL.iter().filter_map(|elem| elem.name()).map(|name| (name, name.to_owned()));
        let containers = ["seq", "map", "optional", "sparse_tensor"].map(|name| (name, format!("{name}(")));
        let item = |(name, text): (&str, String)| CompletionItem {
            label: name.to_owned(),
            kind: Some(CompletionItemKind::Class),
            insert_text: Some(text),
            ..CompletionItem::default()
        };
        elems.chain(containers).map(item).collect()
    }

    /// Domains with their newest versions, and numbers of versions.
    fn header_value(&self, key: Span) -> Vec<CompletionItem> {
        let is_quoted = self.snapshot.text()[..self.word.start as usize].ends_with('"');
        match self.snapshot.slice(key) {
            "opset_import" => {
                let registry = onnxtxt::ops::opset::whole_registry();
                let item = |domain: &str| {
                    let version =
                        newest_version(domain).or_else(|| registry.newest_version(domain).map(i64::from));
                    let quote = if is_quoted { "" } else { "\"" };
                    let rest = if is_quoted { String::new() } else { format!(": {}", version.unwrap_or(1)) };
                    CompletionItem {
                        label: if domain.is_empty() { "ai.onnx".to_owned() } else { domain.to_owned() },
                        kind: Some(CompletionItemKind::Module),
                        insert_text: Some(format!("{quote}{domain}{quote}{rest}")),
                        ..CompletionItem::default()
                    }
                };
                registry.domains().map(item).collect()
            }
            "ir_version" => {
                let newest = onnxtxt::ir::releases::NEWEST_IR.to_string();
                vec![CompletionItem {
                    detail: Some("the newest version".to_owned()),
                    label: newest,
                    kind: Some(CompletionItemKind::Value),
                    ..CompletionItem::default()
                }]
            }
            _ => Vec::new(),
        }
    }
}

/// A part of a snippet that is to be filled in.
fn tab_stop(number: usize, text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}");
    format!("${{{number}:{text}}}")
}

/// Whether a set has the type of a text, as far as its element type is known.
fn allows(types: &TypeSet, ty: &str) -> bool {
    let elem = ty.split(['[', '(']).next().unwrap_or_default();
    match onnx_text::elem_type_named(elem) {
        Some(elem) => types.tensors.contains(elem),
        None => !elem.starts_with("seq") || types.tensors.iter().count() == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{at_cursor, edited, model};

    fn items(marked: &str) -> (Snapshot, Vec<CompletionItem>) {
        let (snapshot, cursor) = at_cursor(marked);
        let client = Client { has_snippets: true, ..Client::default() };
        let mut items = completion(&snapshot, cursor, &client).items;
        items.sort_by_key(|item| item.sort_text.clone().unwrap_or_else(|| item.label.clone()));
        (snapshot, items)
    }

    fn labels(marked: &str) -> Vec<String> {
        items(marked).1.into_iter().map(|item| item.label).collect()
    }

    /// The text after an item was chosen.
    fn chosen(marked: &str, label: &str) -> String {
        let (snapshot, items) = items(marked);
        let item = items.into_iter().find(|item| item.label == label).unwrap_or_else(|| panic!("no {label}"));
        let Some(CompletionItemTextEdit::TextEdit(edit)) = item.text_edit else { panic!("an edit") };
        let edits: Vec<TextEdit> = item.additional_text_edits.into_iter().flatten().chain([edit]).collect();
        edited(&snapshot, &edits)
    }

    #[test]
    fn operators_come_with_what_they_require() {
        assert_eq!(chosen(&model("y = Res$0"), "Reshape"), model("y = Reshape(${1:data}, ${2:shape})$0"));
        assert_eq!(chosen(&model("y = $0"), "Concat"), model("y = Concat <axis = ${1:0}> (${2:inputs})$0"));
        assert_eq!(chosen(&model("y = Re$0(x)"), "Relu"), model("y = Relu(x)"));
        assert_eq!(
            chosen(&model("y = $0"), "Scan"),
            model(
                "y = Scan <body = ${1:body () => () { \\}}, num_scan_inputs = ${2:0}> (${3:initial_state_and_scan_inputs})$0"
            )
        );
        let old = labels("<ir_version: 10, opset_import: [\"\": 13]> g (x) => (y) { y = $0 }");
        assert!(old.contains(&"Relu".to_owned()) && !old.contains(&"Gelu".to_owned()));
    }

    #[test]
    fn statements_have_results() {
        let chosen = |line: &str| chosen(&model(&format!("{line}\nz = Abs(x)")), "LeakyRelu");
        let wanted = |line: &str| model(&format!("{line}\nz = Abs(x)"));
        assert_eq!(chosen("Leaky$0"), wanted("${1:Y} = LeakyRelu(${2:X})$0"));
        assert_eq!(chosen("y = Leaky$0"), wanted("y = LeakyRelu(${1:X})$0"));
        assert!(labels(&model("Leaky$0 = Relu(x)")).is_empty(), "the name of a result");
    }

    #[test]
    fn operands_may_be_calls_and_attributes() {
        assert_eq!(
            chosen(&model("y = Abs(Resh$0)"), "Reshape"),
            model("y = Abs(Reshape(${1:data}, ${2:shape})$0)")
        );
        assert_eq!(chosen(&model("y = x * Ne$0"), "Neg"), model("y = x * Neg(${1:X})$0"));
        assert_eq!(chosen(&model("y = Softmax(x, ax$0)"), "axis"), model("y = Softmax(x, axis = ${1:-1})"));
        let found = labels(&model("t = Abs(x)\ny = Elu($0"));
        assert_eq!(found[..3], ["t", "x", "alpha"]);
        assert!(found.contains(&"Relu".to_owned()));
    }

    #[test]
    fn another_domain_is_imported() {
        let text = chosen(&model("y = com.microsoft.$0"), "FusedMatMul");
        assert!(text.contains("opset_import: [\"\": 21, \"com.microsoft\": 1]"), "{text}");
        assert!(labels(&model("y = $0")).contains(&"com.microsoft".to_owned()));
        let call = "<opset_import: [\"\": 21, \"l\": 1]> g (x) => (y) { y = $0 } <domain: \"l\"> F (v) => (u) { u = Abs(v) }";
        assert_eq!(labels(call).first().map(String::as_str), Some("l.F"));
    }

    #[test]
    fn values_that_fit_come_first() {
        let nodes = "s = Shape(x)\nt = Abs(x)\ny = Reshape(x, $0)\nz = Abs(x)";
        let values = |marked: &str| -> Vec<String> {
            let items = items(marked).1.into_iter();
            items
                .filter(|item| item.kind == Some(CompletionItemKind::Variable))
                .map(|item| item.label)
                .collect()
        };
        assert_eq!(values(&model(nodes)), ["s", "t", "x"]);
        let nodes = "s = Shape(x)\nt = Abs(x)\ny = Abs($0)";
        assert_eq!(labels(&model(nodes))[..2], ["t", "s"]);
        let nested = "c = Constant <value = bool {1}> ()\ny = If (c) <then_branch = a () => (z) { t = Abs(x) z = Neg($0) }>";
        assert!(labels(&model(nested)).starts_with(&["t".to_owned()]));
        assert_eq!(values(&model("\"\" = Abs(x)\nt = Abs(x)\ny = Neg($0)")), ["t", "x"]);
        let input = "<opset_import: [\"\": 21]> g (float \"\", float x) => (float y) { y = Neg($0) }";
        assert_eq!(values(input), ["x"]);
        let nodes = "t = Abs(x)\ny = Softmax(MatMul(x, $0";
        assert_eq!(values(&model(nodes)), ["t", "x"]);
        let nodes = "t = Abs(x)\ny = x * $0";
        assert_eq!(values(&model(nodes)), ["t", "x"]);
        assert_eq!(
            chosen(&model("\"a/b\" = Abs(x)\ny = Neg($0)"), "a/b"),
            model("\"a/b\" = Abs(x)\ny = Neg(\"a/b\")")
        );
    }

    #[test]
    fn attributes_and_their_values() {
        assert_eq!(labels(&model("y = Gemm <alpha = 1.0, $0> (x, x)")), ["beta", "transA", "transB"]);
        assert_eq!(
            chosen(&model("y = Gemm <be$0> (x, x)"), "beta"),
            model("y = Gemm <beta = ${1:1.0}> (x, x)")
        );
        assert!(labels(&model("y = Conv <auto_pad = $0> (x, x)")).contains(&"SAME_UPPER".to_owned()));
        assert_eq!(
            chosen(&model("y = Conv <auto_pad = \"SA$0\"> (x, x)"), "SAME_LOWER"),
            model("y = Conv <auto_pad = \"SAME_LOWER\"> (x, x)")
        );
        assert_eq!(chosen(&model("y = Cast <to = $0> (x)"), "float16"), model("y = Cast <to = 10> (x)"));
        let function =
            "<domain: \"l\", opset_import: [\"\": 21]> F <a, b> (v) => (u) { u = Elu <alpha = $0> (v) }";
        assert_eq!(labels(function), ["a", "b"]);
    }

    #[test]
    fn types_symbols_and_keys() {
        assert!(labels("<ir_version: 10> g ($0").contains(&"float16".to_owned()));
        assert_eq!(labels("g (float[N,M] x) => (float[$0] y) {}"), ["M", "N"]);
        assert!(labels("<$0").contains(&"opset_import".to_owned()));
        assert!(labels("<opset_import: [$0]>").contains(&"ai.onnx.ml".to_owned()));
        assert!(labels("#@ onnxtxt 1\n#@ $0\ng () => () {}").contains(&"quantization_annotation".to_owned()));
        assert!(labels(&model("y = Abs(x) # $0")).is_empty());
    }

    #[test]
    fn every_place_can_be_completed() {
        let whole = model("t = Elu <alpha = 1.0> (x)\ny = If (c) <then_branch = a () => (z) { z = Neg(t) }>");
        for end in 0..whole.len() {
            let snapshot = crate::features::testing::snapshot(&whole[..end]);
            let position = snapshot.position(u32::try_from(end).unwrap());
            completion(&snapshot, position, &Client::default());
        }
    }
}
