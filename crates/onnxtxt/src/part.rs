//! Parts of models in files of their own: a graph, function, node, type, declaration or attribute, in any form.
//!
//! A part is read into a model with nothing else, so that the rules, places and printers of models serve parts as well. What a part
//! does not say is not missed: names that a node reads, imports of a graph, the model around a function.

use crate::complete::complete as complete_literals;
use crate::loaded::Loaded;
use crate::source::{File, Form, from_document, text_kind, undecodable};
#[cfg(feature = "ops")]
use onnx_ir::diag::{Code, Diagnostic, code};
use onnx_ir::diag::{Level, Parsed};
use onnx_ir::releases::{NEWEST_IR, newest_version};
use onnx_ir::{Model, OpsetImport};
use onnx_proto::TooLarge;
use onnx_text::{FormatOptions, RaiseOptions, TextKind};

/// A part of a model that was read from a file.
///
/// ```
/// let file = onnxtxt::File::new("n.onnxtxt".to_owned(), None, "y = LeakyRelu <alpha = [1, 2], alpha = 1.0> (x)".into());
/// let part = file.part().expect("a node");
/// assert_eq!(part.check(onnxtxt::Level::Spec)[0].message, "attribute `alpha` is given twice");
/// ```
#[derive(Clone, Debug)]
pub struct Part {
    /// The part as the only content of a model, with the findings about the file.
    loaded: Loaded,
    kind: TextKind,
}

impl File {
    /// The part of a model that is in it; `None` if it is something else.
    pub fn part(&self) -> Option<Part> {
        let kind = text_kind(self.kind)?;
        let bytes = match self.form {
            Form::Text => {
                let checked = onnx_text::check_part_completed(
                    self.text(),
                    kind,
                    Level::Syntax,
                    &complete_literals,
                    |_| Vec::new(),
                );
                return Some(Part::new(Loaded::checked(self.clone(), checked), kind));
            }
            Form::Binary => Ok(self.bytes.clone()),
            Form::Json | Form::Textproto => from_document(&self.bytes, self.form, self.kind).map(Into::into),
        };
        let loaded = match bytes {
            Ok(bytes) => {
                let (model, diagnostics) = onnx_proto::read_part(bytes, self.kind).into_parts();
                Loaded::new(self.clone(), model, diagnostics)
            }
            Err(error) => Loaded::nothing(self.clone(), vec![undecodable(self.form, &error)]),
        };
        Some(Part::new(loaded, kind))
    }
}

impl Part {
    fn new(mut loaded: Loaded, kind: TextKind) -> Part {
        complete(&mut loaded.model);
        Part { loaded, kind }
    }

    /// The part as the only content of a model, with the findings about the file.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Whether it has nodes, but no imports, so that their operators are not checked: a graph or a node.
    pub fn lacks_imports(&self) -> bool {
        matches!(self.kind, TextKind::Graph | TextKind::Node)
    }

    /// All findings up to a level, in the order of the text. Rules that need what is around the part do not apply, nor do those of
    /// operators, except in a function, which says what versions it imports.
    #[cfg(feature = "ops")]
    #[must_use]
    pub fn check(&self, level: Level) -> Vec<Diagnostic> {
        let options = onnx_ir::VerifyOptions {
            level: if self.kind == TextKind::Function { level } else { level.min(Level::Spec) },
            ..onnx_ir::VerifyOptions::default()
        };
        let judge = |model: &Model| {
            let mut model = model.clone();
            complete(&mut model);
            let mut found = onnx_ops::check::check(&model, onnx_ops::opset::registry_of(&model), &options);
            found.retain(|diagnostic| self.applies(diagnostic));
            found
        };
        let file = self.loaded.file();
        if file.form == Form::Text {
            return onnx_text::check_part_completed(file.text(), self.kind, level, &complete_literals, judge)
                .diagnostics;
        }
        let mut found = self.loaded.diagnostics.clone();
        if level > Level::Syntax && !self.loaded.is_partial() {
            found.extend(judge(&self.loaded.model));
        }
        found
    }

    /// Whether a finding is about the part, and not about what is missing around it.
    #[cfg(feature = "ops")]
    fn applies(&self, diagnostic: &Diagnostic) -> bool {
        let outside: &[&Code] = match self.kind {
            TextKind::Function => OUTSIDE_OF_FUNCTION,
            TextKind::Node | TextKind::ValueInfo => OUTSIDE_OF_NODE,
            TextKind::Attribute | TextKind::Type => OUTSIDE_OF_ATTRIBUTE,
            _ => &[],
        };
        !outside.contains(&diagnostic.code)
    }

    /// The part as text, with a line break at the end; empty if nothing could be read.
    #[must_use]
    pub fn text(&self, options: &RaiseOptions) -> String {
        onnx_text::print_part(&self.loaded.model, self.kind, options)
    }

    /// Its text, laid out as [`onnx_text::format_part`] does; `None` if nothing could be parsed.
    pub fn formatted(&self, options: &FormatOptions) -> Parsed<Option<String>> {
        onnx_text::format_part(self.loaded.file().text(), self.kind, options)
    }

    /// The encoded message.
    ///
    /// # Errors
    ///
    /// It would have more bytes than protobuf can read.
    pub fn encode(&self) -> Result<Vec<u8>, TooLarge> {
        onnx_proto::write_part(&self.loaded.model, self.loaded.file().kind)
    }
}

/// Findings about the model around a function: its graph, and functions that it calls.
#[cfg(feature = "ops")]
const OUTSIDE_OF_FUNCTION: &[&Code] = &[&code::GRAPH_MISSING, &code::CALL_UNRESOLVED];
/// Findings about the graph around a node or a declaration.
#[cfg(feature = "ops")]
const OUTSIDE_OF_NODE: &[&Code] = &[&code::VALUE_UNDEFINED, &code::GRAPH_NAME, &code::CALL_UNRESOLVED];
/// The findings about what is around a part of a node or declaration, with the outputs of the node, and the name and rank of the declaration.
#[cfg(feature = "ops")]
const OUTSIDE_OF_ATTRIBUTE: &[&Code] = &[
    &code::VALUE_UNDEFINED,
    &code::GRAPH_NAME,
    &code::CALL_UNRESOLVED,
    &code::NODE_WITHOUT_OUTPUT,
    &code::VALUE_NAME_EMPTY,
    &code::IO_SHAPE_MISSING,
];

/// Adds the header that the rules of models expect: the newest version of the format, and an import of each domain that is used.
fn complete(model: &mut Model) {
    model.header.ir_version = Some(NEWEST_IR);
    let mut imports: Vec<OpsetImport> = Vec::new();
    let mut add = |import: OpsetImport, names: &onnx_ir::Names| {
        let text = |domain: Option<onnx_ir::Name>| match domain.map(|domain| &names[domain]) {
            None | Some("ai.onnx") => String::new(),
            Some(domain) => domain.to_owned(),
        };
        if !imports.iter().any(|known| text(known.domain) == text(import.domain)) {
            imports.push(import);
        }
    };
    for function in model.functions.values() {
        function.opset_imports.iter().for_each(|&import| add(import, &model.names));
    }
    for body in model.bodies.values() {
        for node in body.nodes.values() {
            let version = newest_version(node.domain.map_or("", |domain| &model.names[domain])).unwrap_or(1);
            add(OpsetImport { domain: node.domain, version: Some(version) }, &model.names);
        }
    }
    if imports.is_empty() {
        imports.push(OpsetImport { domain: None, version: newest_version("") });
    }
    model.header.opset_imports = imports;
}
