//! Files with their form and message type.

use crate::error::Error;
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Place, Span, code};
use onnx_proto::{FileKind, FormatError};
use onnx_text::TextKind;
use std::path::{Path, PathBuf};

/// The forms of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Form {
    /// ONNX text (.onnxtxt, .onnxtext)
    #[cfg_attr(feature = "clap", value(alias = "onnxtxt"))]
    Text,
    /// Protobuf (.onnx, .pb)
    #[cfg_attr(feature = "clap", value(alias = "onnx"))]
    Binary,
    /// JSON as protobuf defines it (.json)
    Json,
    /// Protobuf's own text form (.txtpb, .textproto)
    Textproto,
}

impl Form {
    /// The form for a file name.
    pub fn of_name(path: &Path) -> Option<Form> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "onnx" | "pb" => Some(Form::Binary),
            "onnxtxt" | "onnxtext" => Some(Form::Text),
            "json" => Some(Form::Json),
            "txtpb" | "textproto" | "pbtxt" | "prototxt" => Some(Form::Textproto),
            _ => None,
        }
    }

    /// The file name extension.
    pub fn ending(self) -> &'static str {
        match self {
            Form::Text => "onnxtxt",
            Form::Binary => "onnx",
            Form::Json => "json",
            Form::Textproto => "txtpb",
        }
    }

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Binary => "binary",
            Form::Json => "JSON",
            Form::Textproto => "textproto",
        }
    }
}

/// The content of a file with its form and message type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct File {
    /// The name in findings.
    pub name: String,
    /// The path; `None` for data in memory.
    pub path: Option<PathBuf>,
    /// The content; mapped, if it is large.
    pub bytes: Bytes,
    /// The form.
    pub form: Form,
    /// The message type.
    pub kind: FileKind,
}

impl File {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`Error::Read`]: it cannot be read, or is a folder.
    pub fn open(path: &Path) -> Result<File, Error> {
        if path.is_dir() {
            return Err(Error::Refused(format!("{} is a folder", path.display())));
        }
        let bytes = onnx_proto::file::open(path).map_err(|error| Error::read(path, error))?;
        Ok(File::new(path.display().to_string(), Some(path.to_owned()), bytes))
    }

    /// A file with known content: its form is detected from the content, then from the name.
    pub fn new(name: String, path: Option<PathBuf>, bytes: Bytes) -> File {
        let (form, kind) = look(&bytes, path.as_deref());
        // A file of another format is reported as what a model was expected in.
        let kind = if onnx_proto::foreign(&bytes).is_some() { FileKind::Model } else { kind };
        File { name, path, bytes, form, kind }
    }

    /// Whether it is a file of another format, which [`load`](Self::load) reports.
    pub fn is_foreign(&self) -> bool {
        onnx_proto::foreign(&self.bytes).is_some()
    }

    /// The finding for a file that is not what its name promises, such as the HTML page of a failed download.
    pub(crate) fn foreign(&self) -> Option<Diagnostic> {
        let (what, help) = onnx_proto::foreign(&self.bytes)?;
        let message = format!("this is {what}");
        Some(Diagnostic::new(&code::MODEL_UNDECODABLE, Place::Nowhere, message).help(help))
    }

    /// The text, up to the first invalid byte.
    pub fn text(&self) -> &str {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&self.bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// The finding for a file that is not a text.
    #[must_use]
    pub fn no_text(&self) -> Option<Diagnostic> {
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
}

/// The finding for a document that cannot be converted.
pub fn undecodable(form: Form, error: &FormatError) -> Diagnostic {
    let place = error.offset.and_then(|offset| u32::try_from(offset).ok());
    let place = place.map_or(Place::Nowhere, |at| Span::at(at).into());
    let message = format!("this {} is not a model: {}", form.name(), error.message);
    Diagnostic::new(&code::MODEL_UNDECODABLE, place, message)
}

/// Detects form and message type from the content, then from the name.
fn look(bytes: &[u8], path: Option<&Path>) -> (Form, FileKind) {
    let named = path.and_then(Form::of_name);
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
    // Messages start with a small byte, text never does.
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
    (form, kind_of(bytes, form))
}

/// The message type of a file that is not wire format. Texts of values and operator sets are left to those who read them.
fn kind_of(bytes: &[u8], form: Form) -> FileKind {
    let kind = match form {
        Form::Binary => None,
        Form::Text => {
            let text = match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
            };
            message_kind(onnx_text::sniff_text(text))
        }
        // These forms do not name their message type: the first that fits. That of a model is known by its field names.
        Form::Json | Form::Textproto => {
            let marked = marked(bytes, form);
            let fits = |kind: &FileKind| from_document(bytes, form, *kind).is_ok();
            marked.or_else(|| FileKind::ALL.into_iter().find(fits))
        }
    };
    kind.unwrap_or(FileKind::Model)
}

/// The kind of text that holds such a message; `None` if it is not a part of a model.
pub(crate) fn text_kind(kind: FileKind) -> Option<TextKind> {
    Some(match kind {
        FileKind::Graph => TextKind::Graph,
        FileKind::Function => TextKind::Function,
        FileKind::Node => TextKind::Node,
        FileKind::Type => TextKind::Type,
        FileKind::ValueInfo => TextKind::ValueInfo,
        FileKind::Attribute => TextKind::Attribute,
        _ => return None,
    })
}

/// The message in a text, if it is a part of a model.
fn message_kind(kind: TextKind) -> Option<FileKind> {
    FileKind::ALL.into_iter().find(|message| text_kind(*message) == Some(kind))
}

#[cfg(feature = "forms")]
pub(crate) fn from_document(bytes: &[u8], form: Form, kind: FileKind) -> Result<Vec<u8>, FormatError> {
    match form {
        Form::Json => onnx_proto::json::from_json(bytes, kind),
        Form::Text | Form::Binary | Form::Textproto => onnx_proto::textproto::from_text(bytes, kind),
    }
}

#[cfg(not(feature = "forms"))]
pub(crate) fn from_document(_: &[u8], _: Form, _: FileKind) -> Result<Vec<u8>, FormatError> {
    let message = "this program is built without JSON and textproto".to_owned();
    Err(FormatError { offset: None, message })
}

/// The message type that a comment at the start of a textproto states: `# proto-message: onnx.GraphProto`.
fn marked(bytes: &[u8], form: Form) -> Option<FileKind> {
    let lines =
        bytes.split(|&byte| byte == b'\n').take_while(|line| line.trim_ascii_start().starts_with(b"#"));
    let names = lines.filter_map(|line| line.trim_ascii().strip_prefix(b"# proto-message:"));
    let mut names = names.map(|name| name.trim_ascii().strip_prefix(b"onnx.").unwrap_or(name.trim_ascii()));
    let name = names.next().filter(|_| form == Form::Textproto)?;
    FileKind::ALL.into_iter().find(|kind| kind.name().as_bytes() == name)
}

/// Whether a file starts with printable characters, which protobuf never does.
fn is_printable(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(512)];
    let is_utf8 = std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && start.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace() || byte == 0x0b)
}

/// Whether text starts with `word:` or `word {`, which ONNX text never does.
fn begins_textproto(text: &[u8]) -> bool {
    let mut rest = text.trim_ascii_start();
    while let Some(comment) = rest.strip_prefix(b"#") {
        let end = comment.iter().position(|&byte| byte == b'\n').unwrap_or(comment.len());
        rest = comment[end..].trim_ascii_start();
    }
    let word = |text: &[u8]| {
        text.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(0)
    };
    let end = word(rest);
    let after = rest[end..].trim_ascii_start();
    // `alpha: float = 0.5` is an attribute in ONNX text.
    let value = after.strip_prefix(b":").unwrap_or_default().trim_ascii_start();
    let is_attribute = value[word(value)..].trim_ascii_start().starts_with(b"=");
    end > 0 && matches!(after.first(), Some(b':' | b'{')) && !is_attribute
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
    fn documents_are_told_apart_by_their_fields() {
        let kind = |text: &str| look(text.as_bytes(), None);
        for (text, form, expected) in [
            (r#"{"irVersion": "8"}"#, Form::Json, FileKind::Model),
            (r#"{"dims": ["2"], "dataType": 1}"#, Form::Json, FileKind::Tensor),
            (r#"{"node": [{"opType": "Relu"}], "name": "g"}"#, Form::Json, FileKind::Graph),
            (
                r#"{"name": "f", "input": ["x"], "node": [{"opType": "Relu"}]}"#,
                Form::Json,
                FileKind::Function,
            ),
            (r#"{"input": ["x"], "output": ["y"], "opType": "Relu"}"#, Form::Json, FileKind::Node),
            (r#"{"tensorType": {"elemType": 1}}"#, Form::Json, FileKind::Type),
            (r#"{"name": "x", "type": {"tensorType": {"elemType": 1}}}"#, Form::Json, FileKind::ValueInfo),
            (r#"{"name": "alpha", "f": 0.5, "type": "FLOAT"}"#, Form::Json, FileKind::Attribute),
            ("input: \"x\" output: \"y\" op_type: \"Relu\"", Form::Textproto, FileKind::Node),
            ("# proto-message: onnx.GraphProto\nname: \"g\"", Form::Textproto, FileKind::Graph),
            ("# a comment\n# proto-message: NodeProto\nname: \"g\"", Form::Textproto, FileKind::Node),
            ("alpha: float = 0.5", Form::Text, FileKind::Attribute),
            ("y = Relu(x)", Form::Text, FileKind::Node),
        ] {
            assert_eq!(kind(text), (form, expected), "{text}");
        }
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
