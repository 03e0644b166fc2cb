//! Wire format to text and back, with every complaint on the way an error.

use bytes::Bytes;
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_proto::external::{DataFile, Layout, Which, externalize, internalize};
use onnx_text::{FormatOptions, Profile, RaiseOptions};

/// A model as text.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Whether it has forms that the reference parser refuses.
    pub is_extended: bool,
    /// The losses: parts that the profile cannot express.
    pub losses: Vec<String>,
}

/// Reads a model in wire format.
///
/// # Errors
///
/// The first complaint of the reader.
pub fn read_wire(wire: Bytes) -> Result<Model, String> {
    let (model, diagnostics) = onnx_proto::read(wire).into_parts();
    match diagnostics.first() {
        None => Ok(model),
        Some(first) => Err(format!("reading the wire format: {}", first.message)),
    }
}

/// Prints a model.
pub fn print(model: &Model, profile: Profile) -> Printed {
    let raised = onnx_text::raise(model, &RaiseOptions { profile, ..RaiseOptions::default() });
    let format = FormatOptions::default();
    let text = onnx_text::format(&raised.source, &raised.syntax, &format);
    let losses = raised.losses.iter().map(|loss| loss.message.to_string()).collect();
    Printed { text, is_extended: raised.is_extended, losses }
}

/// Reads a text.
///
/// # Errors
///
/// Its first error, with the place. Warnings are none.
pub fn read_text(text: &str) -> Result<Model, String> {
    let lowered = onnx_text::read_model(text);
    match lowered.diagnostics.iter().find(|d| d.is_error()) {
        None => Ok(lowered.value),
        Some(first) => Err(format!("reading the text: {}", tell(first, text))),
    }
}

/// Writes a model in wire format.
///
/// # Errors
///
/// It is too large.
pub fn write_wire(model: &Model) -> Result<Vec<u8>, String> {
    onnx_proto::write(model).map_err(|error| error.to_string())
}

/// A text as wire format.
///
/// # Errors
///
/// As those of [`read_text`] and [`write_wire`].
pub fn text_to_wire(text: &str) -> Result<Vec<u8>, String> {
    write_wire(&read_text(text)?)
}

/// Wire format to text to wire format, which has to be the identity.
///
/// # Errors
///
/// Where it is not.
pub fn round_trip(wire: Bytes) -> Result<Printed, String> {
    let model = read_wire(wire.clone())?;
    let printed = print(&model, Profile::Onnx);
    let written = text_to_wire(&printed.text)?;
    same_bytes(&wire, &written)?;
    Ok(printed)
}

/// Converts a model, with every tensor of at least `at_least` bytes in a file beside the text.
///
/// # Errors
///
/// Where it is not the identity.
pub fn round_trip_with_sidecar(wire: Bytes, at_least: u64) -> Result<Printed, String> {
    let mut model = read_wire(wire.clone())?;
    let files = externalize(&mut model, at_least, Layout::One("weights.data"), true);
    let printed = print(&model, Profile::Onnx);
    drop(model);
    let mut read = read_text(&printed.text)?;
    let content = files.first().map(content).unwrap_or_default();
    let complaints = internalize(&mut read, Which::Marked, &mut |_, _, _| Ok(content.clone()));
    if let Some(first) = complaints.first() {
        return Err(format!("taking weights back: {}", first.message));
    }
    same_bytes(&wire, &write_wire(&read)?)?;
    Ok(printed)
}

/// The content of a file with external data.
pub fn content(file: &DataFile) -> Bytes {
    let mut content = Vec::new();
    for chunk in &file.chunks {
        content.resize(usize::try_from(chunk.offset).expect("offsets of data in memory fit"), 0);
        content.extend_from_slice(&chunk.bytes);
    }
    content.into()
}

/// Whether `actual` is `expected`.
///
/// # Errors
///
/// Where they differ first.
pub fn same_bytes(expected: &[u8], actual: &[u8]) -> Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    let at = expected.iter().zip(actual).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let end = bytes.len().min(at + 24);
        String::from_utf8_lossy(&bytes[at.saturating_sub(24).min(end)..end]).escape_debug().to_string()
    };
    Err(format!(
        "{} bytes became {}; from byte {at}, `{}` is `{}`",
        expected.len(),
        actual.len(),
        around(expected),
        around(actual)
    ))
}

/// A diagnostic on a line, with what it points at.
pub fn tell(diagnostic: &Diagnostic, text: &str) -> String {
    let onnx_ir::diag::Place::Source(span) = diagnostic.primary.place else {
        return diagnostic.message.to_string();
    };
    let line = text[..span.start as usize].matches('\n').count() + 1;
    let at = text[span.range()].chars().take(40).collect::<String>();
    format!("line {line}, `{}`: {}", at.escape_debug(), diagnostic.message)
}
