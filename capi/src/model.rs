//! Models: read, checked, changed, written.

use crate::abi::{Buffer, Status, Str, attempt, free, guard, handle, numbered};
use crate::findings::{Findings, given};
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::pass::compact;
use onnx_ir::{BodyId, SecondaryMap, TypeId, ValueId};
use onnx_ops::opset::registry_of;
use onnx_ops::pass::Pass;
use onnx_proto::FileKind;
use onnx_text::render::LineIndex;
use onnx_text::{RaiseOptions, SourceIndex};
use onnxtxt::{File, Form, Loaded, Part, SaveOptions};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A model, or a part of one by itself, right or wrong, with the text or file that it is from.
pub struct Model {
    loaded: Loaded,
    part: Option<Part>,
    /// Cached places in the text.
    pub(crate) index: SourceIndex,
    pub(crate) lines: OnceLock<LineIndex>,
    types: Mutex<HashMap<BodyId, Arc<DeclaredTypes>>>,
}

type DeclaredTypes = SecondaryMap<ValueId, Option<TypeId>>;

/// The kind of a text or message.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A model, a `ModelProto`.
    Model = 0,
    /// A graph: `g (float[N] x) => (float[N] y) { y = Relu(x) }`.
    Graph = 1,
    /// A function: `<domain: "local", opset_import: ["": 21]> f (x) => (y) { y = Relu(x) }`.
    Function = 2,
    /// A node: `y = LeakyRelu <alpha = 0.1> (x)`.
    Node = 3,
    /// A type: `seq(float[N,3])`.
    Type = 4,
    /// The declaration of a value: `float[N,3] image`.
    Value = 5,
    /// An attribute: `axes = [0, -1]`.
    Attribute = 6,
}

numbered!(Kind: Model, Graph, Function, Node, Type, Value, Attribute);

impl Kind {
    fn file_kind(self) -> FileKind {
        match self {
            Kind::Model => FileKind::Model,
            Kind::Graph => FileKind::Graph,
            Kind::Function => FileKind::Function,
            Kind::Node => FileKind::Node,
            Kind::Type => FileKind::Type,
            Kind::Value => FileKind::ValueInfo,
            Kind::Attribute => FileKind::Attribute,
        }
    }
}

/// How a model is written.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// The textual syntax.
    Text = 0,
    /// The wire format of protobuf.
    Binary = 1,
    /// The JSON form of protobuf.
    Json = 2,
    /// The text format of protobuf.
    Textproto = 3,
}

numbered!(Encoding: Text, Binary, Json, Textproto);

impl Encoding {
    fn form(self) -> Form {
        match self {
            Encoding::Text => Form::Text,
            Encoding::Binary => Form::Binary,
            Encoding::Json => Form::Json,
            Encoding::Textproto => Form::Textproto,
        }
    }
}

/// How much is checked: each level has the findings of those before it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CheckLevel {
    /// Whether the input can be read at all.
    Syntax = 0,
    /// The rules of the specification that need no types.
    Spec = 1,
    /// Signatures of operators, types and shapes.
    Types = 2,
    /// Style and recommendations.
    Strict = 3,
}

numbered!(CheckLevel: Syntax, Spec, Types, Strict);

impl Model {
    fn new(loaded: Loaded) -> Model {
        Model {
            loaded,
            part: None,
            index: SourceIndex::default(),
            lines: OnceLock::new(),
            types: Mutex::default(),
        }
    }

    /// Reads a file; of a part by itself, if the file says so.
    fn read(mut file: File, kind: Kind) -> Model {
        file.kind = kind.file_kind();
        match file.part() {
            Some(part) => Model { part: Some(part.clone()), ..Model::new(part.loaded().clone()) },
            None => Model::new(file.load()),
        }
    }

    pub(crate) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    pub(crate) fn model(&self) -> &onnx_ir::Model {
        &self.loaded.model
    }

    /// The declared types of the values of a body.
    pub(crate) fn types(&self, body: BodyId) -> Arc<DeclaredTypes> {
        let mut known = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        let declared = || Arc::new(self.model().bodies[body].declared_types());
        Arc::clone(known.entry(body).or_insert_with(declared))
    }

    fn check(&self, level: Level) -> Findings {
        let found = match &self.part {
            Some(part) => part.check(level),
            None => self.loaded.check(level),
        };
        Findings::of(&self.loaded, &found)
    }

    fn encode(&self, form: Form) -> Result<Vec<u8>, Findings> {
        if let Some(part) = &self.part {
            return match form {
                Form::Text => Ok(part.text(&RaiseOptions::default()).into_bytes()),
                Form::Binary => {
                    let lost = part.loaded().lost_parts();
                    if !lost.is_empty() {
                        return Err(Findings::of(&self.loaded, &lost));
                    }
                    part.encode().map_err(|why| Findings::message(why.to_string()))
                }
                Form::Json | Form::Textproto => {
                    Err(Findings::message("a part of a model is written as text or binary".to_owned()))
                }
            };
        }
        let mut bytes = Vec::new();
        let options = SaveOptions { form: Some(form), ..SaveOptions::default() };
        // Weights are shared, not copied.
        match self.loaded.clone().write_to(&mut bytes, &options) {
            Ok(saved) if saved.is_written => Ok(bytes),
            Ok(saved) => Err(Findings::of(&self.loaded, &saved.losses)),
            Err(why) => Err(Findings::error(Some(&self.loaded), &why)),
        }
    }

    /// Changes the model by a pass. Ids become invalid.
    fn run_pass(&mut self, pass: &Pass) -> Result<Option<Findings>, Findings> {
        let lost = self.loaded.lost_parts();
        if !lost.is_empty() {
            return Err(Findings::of(&self.loaded, &lost));
        }
        if self.part.is_some() {
            return Err(Findings::message("passes change models, not parts by themselves".to_owned()));
        }
        let mut model = self.loaded.model.clone();
        let outcome = pass.run(&mut model, registry_of(&self.loaded.model));
        let found = outcome.report.diagnostics;
        if !outcome.is_done || found.iter().any(Diagnostic::is_error) {
            return Err(Findings::of(&self.loaded, &found));
        }
        let found = Findings::of(&self.loaded, &found);
        compact(&mut model);
        *self = Model::new(self.loaded.became(model));
        Ok(found.some())
    }
}

/// Parses a model from text. There is always a model: what could be read, with findings ([`onnxtxt_check`]). A null pointer is an internal error.
/// `name` is the name that findings show; may be empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_parse(text: Str, name: Str) -> *mut Model {
    // SAFETY: strings as the header says.
    unsafe { onnxtxt_parse_part(Kind::Model as u32, text, name) }
}

/// Parses a part of a model from text: a graph, a function, a node, a type, a declaration or an attribute. `kind` is an `onnxtxt_kind`. As
/// [`onnxtxt_parse`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_parse_part(kind: u32, text: Str, name: Str) -> *mut Model {
    // SAFETY: strings as the header says.
    let (text, name) = unsafe { (text.bytes(), name.text()) };
    let Some(kind) = Kind::numbered(kind) else { return std::ptr::null_mut() };
    guard(std::ptr::null_mut(), || {
        let name = if name.is_empty() { "<text>".to_owned() } else { name.into_owned() };
        let mut file = File::new(name, None, text.to_vec().into());
        file.form = Form::Text;
        handle(Model::read(file, kind))
    })
}

/// Decodes a message in the wire format of protobuf; a model in any form. `kind` is an `onnxtxt_kind`. As [`onnxtxt_parse`]. The bytes are
/// copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_decode(kind: u32, bytes: Str, name: Str) -> *mut Model {
    // SAFETY: strings as the header says.
    let (bytes, name) = unsafe { (bytes.bytes(), name.text()) };
    let Some(kind) = Kind::numbered(kind) else { return std::ptr::null_mut() };
    guard(std::ptr::null_mut(), || {
        let name = if name.is_empty() { "<bytes>".to_owned() } else { name.into_owned() };
        let mut file = File::new(name, None, bytes.to_vec().into());
        if kind != Kind::Model {
            file.form = Form::Binary;
        }
        handle(Model::read(file, kind))
    })
}

/// Opens a file with a model in any form, which is detected from its content. Large files are mapped. `why` receives the reason if the file
/// cannot be read; then the result is a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_open(path: Str, why: *mut *mut Findings) -> *mut Model {
    let mut opened = std::ptr::null_mut();
    // SAFETY: the string and `why` as the header says.
    unsafe {
        let path = path.text();
        attempt(why, || {
            let loaded =
                onnxtxt::open(Path::new(path.as_ref())).map_err(|why| Findings::error(None, &why))?;
            opened = handle(Model::new(loaded));
            Ok(None)
        });
    }
    opened
}

/// A model of its own with the same content; weights are shared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_model_clone(model: *const Model) -> *mut Model {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return std::ptr::null_mut() };
    guard(std::ptr::null_mut(), || {
        handle(Model { part: model.part.clone(), ..Model::new(model.loaded.clone()) })
    })
}

/// Frees a model. Views and places of it become invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_model_free(model: *mut Model) {
    // SAFETY: a model of this library, or null, that is not used any more.
    unsafe { free(model) }
}

/// Whether parts of the text or file could not be read, so that the model is incomplete. Such a model is neither written nor changed by passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_model_is_partial(model: *const Model) -> bool {
    // SAFETY: a model of this library, or null.
    unsafe { model.as_ref() }.is_none_or(|model| model.loaded.is_partial())
}

/// All findings up to an `onnxtxt_check_level`, in the order of the text; a null pointer if there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_check(model: *const Model, level: u32) -> *mut Findings {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return std::ptr::null_mut() };
    let level = match CheckLevel::numbered(level) {
        Some(CheckLevel::Syntax) => Level::Syntax,
        Some(CheckLevel::Spec) => Level::Spec,
        Some(CheckLevel::Types) | None => Level::Types,
        Some(CheckLevel::Strict) => Level::Strict,
    };
    given(|| model.check(level))
}

/// Infers the types and shapes of all values, and declares them in the model. Returns findings about contradictions; a null pointer if there
/// are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_infer(model: *mut Model) -> *mut Findings {
    // SAFETY: a model of this library, or null, that no other thread uses.
    let Some(model) = (unsafe { model.as_mut() }) else { return std::ptr::null_mut() };
    given(|| {
        let found = model.loaded.infer();
        model.types.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        model.index = SourceIndex::default();
        Findings::of(&model.loaded, &found)
    })
}

/// Changes a model by a pass, named as for `onnxtxt pass`: `fold-constants`, `inline`, `convert-opset=21`, … Nodes, values and other places that
/// the caller has become invalid. `why` receives findings: the reason if it is refused, else warnings, if there are any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_run_pass(model: *mut Model, pass: Str, why: *mut *mut Findings) -> Status {
    // SAFETY: a model of this library, or null, that no other thread uses; the string and `why` as the header says.
    unsafe {
        let Some(model) = model.as_mut() else { return Status::Argument };
        let pass = pass.text();
        attempt(why, || model.run_pass(&Pass::parse(&pass).map_err(Findings::message)?))
    }
}

/// Converts a model to another version of an operator set; the empty domain is ai.onnx. As [`onnxtxt_run_pass`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_convert_opset(
    model: *mut Model,
    domain: Str,
    version: i64,
    why: *mut *mut Findings,
) -> Status {
    // SAFETY: a model of this library, or null, that no other thread uses; the string and `why` as the header says.
    unsafe {
        let Some(model) = model.as_mut() else { return Status::Argument };
        let domain = domain.text();
        let colon = if domain.is_empty() { "" } else { ":" };
        let word = format!("convert-opset={domain}{colon}{version}");
        attempt(why, || model.run_pass(&Pass::parse(&word).map_err(Findings::message)?))
    }
}

/// Reads external weights into the model; files are mapped. Only files in the folder of the model are read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_load_weights(model: *mut Model, why: *mut *mut Findings) -> Status {
    // SAFETY: a model of this library, or null, that no other thread uses; `why` as the header says.
    unsafe {
        let Some(model) = model.as_mut() else { return Status::Argument };
        attempt(why, || {
            let found = model.loaded.load_weights();
            if found.is_empty() { Ok(None) } else { Err(Findings::of(&model.loaded, &found)) }
        })
    }
}

/// The model as bytes, in an `onnxtxt_encoding`; a null pointer if it is refused, with the reason in `why`. A part is written as text or binary.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_encode(
    model: *const Model,
    encoding: u32,
    why: *mut *mut Findings,
) -> *mut Buffer {
    let mut encoded = std::ptr::null_mut();
    // SAFETY: a model of this library, or null; `why` as the header says.
    unsafe {
        let (Some(model), Some(encoding)) = (model.as_ref(), Encoding::numbered(encoding)) else {
            return encoded;
        };
        attempt(why, || {
            encoded = handle(Buffer(model.encode(encoding.form())?));
            Ok(None)
        });
    }
    encoded
}

/// Writes the model to a file, whose name determines the form; as a whole or not at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_save(model: *mut Model, path: Str, why: *mut *mut Findings) -> Status {
    // SAFETY: a model of this library, or null, that no other thread uses; the string and `why` as the header says.
    unsafe {
        let Some(model) = model.as_mut() else { return Status::Argument };
        let path = path.text();
        attempt(why, || {
            if model.part.is_some() {
                return Err(Findings::message("a part of a model is not saved by itself".to_owned()));
            }
            let saved = model.loaded.save(Path::new(path.as_ref()));
            saved.map(|()| None).map_err(|why| Findings::error(Some(&model.loaded), &why))
        })
    }
}
