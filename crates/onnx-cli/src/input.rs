//! What a file is, and the model in it.

use crate::reads::{self, Unreadable};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_ir::diag::{Place, Span, code};
use onnx_ir::{Diagnostic, Level, Model, VerifyOptions};
use onnx_proto::{FileKind, FormatError};
use onnx_text::{Checked, Comments, Parsed, ast};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The four ways to write a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Form {
    /// ONNX text (.onnxtxt, .onnxtext)
    #[value(alias = "onnxtxt")]
    Text,
    /// Protobuf (.onnx, .pb)
    #[value(alias = "onnx")]
    Binary,
    /// JSON as protobuf defines it (.json)
    Json,
    /// Protobuf's own text form (.txtpb, .textproto)
    Textproto,
}

impl Form {
    /// The form that a name of a file promises.
    pub(crate) fn of_name(path: &Path) -> Option<Form> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "onnx" | "pb" => Some(Form::Binary),
            "onnxtxt" | "onnxtext" => Some(Form::Text),
            "json" => Some(Form::Json),
            "txtpb" | "textproto" | "pbtxt" | "prototxt" => Some(Form::Textproto),
            _ => None,
        }
    }

    /// How names of such files end.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Form::Text => "onnxtxt",
            Form::Binary => "onnx",
            Form::Json => "json",
            Form::Textproto => "txtpb",
        }
    }

    /// What people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Binary => "binary",
            Form::Json => "JSON",
            Form::Textproto => "textproto",
        }
    }
}

/// What stdin is called.
pub(crate) const STDIN: &str = "<stdin>";

/// A file that has been opened.
pub(crate) struct Input {
    /// As the user called it.
    pub(crate) name: String,
    /// Where it is; `None` for stdin.
    pub(crate) path: Option<PathBuf>,
    /// Its content; mapped, if it is large.
    pub(crate) bytes: Bytes,
    /// How it is written.
    pub(crate) form: Form,
    /// Which message it is.
    pub(crate) kind: FileKind,
}

impl Input {
    /// Opens a file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Input> {
        if path == Path::new("-") {
            static IS_READ: AtomicBool = AtomicBool::new(false);
            let unreadable = |message: &str| Unreadable::because(STDIN, message.to_owned());
            if IS_READ.swap(true, Ordering::SeqCst) {
                bail!(unreadable("stdin can be read once, and `-` names it again"));
            }
            let mut content = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut content);
            read.with_context(|| unreadable("cannot read stdin"))?;
            return Ok(Input::new(STDIN.to_owned(), None, content.into()));
        }
        reads::note(path);
        Input::look(path)
    }

    /// Opens a file that this run does not depend on.
    pub(crate) fn look(path: &Path) -> anyhow::Result<Input> {
        let name = path.display().to_string();
        if path.is_dir() {
            bail!(Unreadable::because(&name, format!("{name} is a folder")));
        }
        let content = onnx_proto::file::open(path).with_context(|| Unreadable::new(path))?;
        Ok(Input::new(name, Some(path.to_owned()), content))
    }

    fn new(name: String, path: Option<PathBuf>, bytes: Bytes) -> Input {
        let (form, kind) = look(&bytes, path.as_deref());
        Input { name, path, bytes, form, kind }
    }

    /// The model in it, as much as could be read, with everything that is wrong about the file.
    pub(crate) fn load(&self) -> Loaded {
        if let Some(diagnostic) = self.foreign() {
            return Loaded { diagnostics: vec![diagnostic], ..Loaded::default() };
        }
        match self.form {
            Form::Text => self.load_text(),
            Form::Binary => {
                let (model, diagnostics) = onnx_proto::read(self.bytes.clone());
                Loaded { model, diagnostics, ..Loaded::default() }
            }
            Form::Json => self.load_form(onnx_proto::json::from_json(&self.bytes, FileKind::Model)),
            Form::Textproto => self.load_form(onnx_proto::textproto::from_text(&self.bytes, FileKind::Model)),
        }
    }

    /// Whether it is a file of another kind, of which [`load`](Self::load) says what it is.
    pub(crate) fn is_foreign(&self) -> bool {
        onnx_proto::foreign(&self.bytes).is_some()
    }

    /// The finding for a file that is something else than its name says, such as a page of a failed download.
    fn foreign(&self) -> Option<Diagnostic> {
        let (what, help) = onnx_proto::foreign(&self.bytes)?;
        let message = format!("this is {what}");
        Some(Diagnostic::new(&code::MODEL_UNDECODABLE, Place::Nowhere, message).help(help))
    }

    /// Its text, up to the first byte that is none.
    pub(crate) fn text(&self) -> &str {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&self.bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    fn load_text(&self) -> Loaded {
        if let Some(diagnostic) = self.no_text() {
            return Loaded { diagnostics: vec![diagnostic], ..Loaded::default() };
        }
        let options = VerifyOptions { level: Level::Syntax, ..VerifyOptions::default() };
        onnx_text::check(self.text(), &options).into()
    }

    /// Why the file is no text that can be parsed, if it is none.
    pub(crate) fn no_text(&self) -> Option<Diagnostic> {
        if let Some(diagnostic) = self.foreign() {
            return Some(diagnostic);
        }
        if u32::try_from(self.bytes.len()).is_err() {
            let message = "the text is larger than 4 GiB";
            return Some(Diagnostic::new(&code::SOURCE_TOO_LARGE, Place::Nowhere, message));
        }
        let error = std::str::from_utf8(&self.bytes).err()?;
        let at = u32::try_from(error.valid_up_to()).unwrap_or(u32::MAX);
        let byte = self.bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let message = format!("byte {at} is 0x{byte:02x}, which is not UTF-8");
        Some(Diagnostic::new(&code::NOT_UTF8, Span::at(at), message).label("the text ends here"))
    }

    fn load_form(&self, bytes: Result<Vec<u8>, FormatError>) -> Loaded {
        match bytes {
            Ok(bytes) => {
                let (model, diagnostics) = onnx_proto::read(bytes.into());
                Loaded { model, diagnostics, ..Loaded::default() }
            }
            Err(error) => Loaded { diagnostics: vec![undecodable(self.form, &error)], ..Loaded::default() },
        }
    }
}

/// The finding for a document that cannot be converted.
pub(crate) fn undecodable(form: Form, error: &FormatError) -> Diagnostic {
    let place = error.offset.and_then(|offset| u32::try_from(offset).ok());
    let place = place.map_or(Place::Nowhere, |at| Span::at(at).into());
    let message = format!("this {} is no model: {}", form.name(), error.message);
    Diagnostic::new(&code::MODEL_UNDECODABLE, place, message)
}

/// What was read from a file.
#[derive(Default)]
pub(crate) struct Loaded {
    /// The model, as much of it as could be read.
    pub(crate) model: Model,
    /// What is wrong with the file.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The syntax tree, if the file is text.
    pub(crate) tree: Option<Parsed<ast::File>>,
    /// The comments of the text that the model was made of by passes.
    pub(crate) kept: Comments,
}

impl From<Checked> for Loaded {
    fn from(checked: Checked) -> Loaded {
        let Checked { parsed, model, diagnostics } = checked;
        Loaded { model, diagnostics, tree: Some(parsed), ..Loaded::default() }
    }
}

impl Loaded {
    /// The model that this one has become. It has no places in the file any more, and its comments are those of the file.
    pub(crate) fn became(&self, model: Model, input: &Input) -> Loaded {
        Loaded { model, kept: self.comments(input), ..Loaded::default() }
    }

    /// The comments of the text that the model is from.
    pub(crate) fn comments(&self, input: &Input) -> Comments {
        match &self.tree {
            Some(parsed) => Comments::of(input.text(), parsed),
            None => self.kept.clone(),
        }
    }

    /// Whether a part of the file could not be read, so that the model is not what the file says.
    pub(crate) fn is_partial(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// How a file is written, and what it is: by its content, then by its name.
fn look(bytes: &[u8], path: Option<&Path>) -> (Form, FileKind) {
    let named = path.and_then(Form::of_name);
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
    // Messages begin with a small number, text with none.
    let looks_like_text = first.is_none_or(|byte| byte >= b' ');
    let kind = onnx_proto::sniff(bytes).filter(|_| !(looks_like_text && named == Some(Form::Text)));
    if let Some(kind) = kind {
        return (Form::Binary, kind);
    }
    let form = match first {
        None => named.unwrap_or(Form::Text),
        Some(b'{') => Form::Json,
        Some(_) if begins_textproto(body) => Form::Textproto,
        Some(_) if is_printable(body) => Form::Text,
        Some(_) => named.unwrap_or(if looks_like_text { Form::Text } else { Form::Binary }),
    };
    (form, FileKind::Model)
}

/// Whether a file begins as text does, which protobuf never does.
fn is_printable(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(512)];
    let is_utf8 = std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && start.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace() || byte == 0x0b)
}

/// Whether text begins with `word:` or `word {`, which ONNX text never does.
fn begins_textproto(text: &[u8]) -> bool {
    let mut rest = text.trim_ascii_start();
    while let Some(comment) = rest.strip_prefix(b"#") {
        let end = comment.iter().position(|&byte| byte == b'\n').unwrap_or(comment.len());
        rest = comment[end..].trim_ascii_start();
    }
    let end = rest.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(0);
    end > 0 && matches!(rest[end..].trim_ascii_start().first(), Some(b':' | b'{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(bytes: &[u8], name: &str) -> Form {
        look(bytes, Some(Path::new(name))).0
    }

    #[test]
    fn content_comes_before_the_name() {
        assert_eq!(form(b"\x08\x0a\x3a\x02\x12\x00", "m.onnxtxt"), Form::Binary);
        assert_eq!(form(b"<ir_version: 10>", "m.onnx"), Form::Text);
        assert_eq!(form(b"g (float[N] x) => (float[N] y) {}", "m.json"), Form::Text);
        assert_eq!(form(b"\xef\xbb\xbf # c\n g () => () {}", "m"), Form::Text);
        assert_eq!(form(b" {\"irVersion\": \"8\"}", "m"), Form::Json);
        assert_eq!(form(b"# proto-file: x\nir_version: 8\ngraph {}", "m"), Form::Textproto);
        assert_eq!(form(b"graph { node {} }", "m"), Form::Textproto);
    }

    #[test]
    fn the_name_decides_what_is_not_seen() {
        assert_eq!(form(b"", "m.onnx"), Form::Binary);
        assert_eq!(form(b"", "m.json"), Form::Json);
        assert_eq!(form(b"", "m"), Form::Text);
        assert_eq!(form(b"\0\0\0", "m.bin"), Form::Binary);
        assert_eq!(form(b"g (float\0[N] x) => () {}", "m.onnxtxt"), Form::Text);
    }
}
