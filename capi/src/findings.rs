//! Findings as data that outlive their model.

use crate::abi::{Str, free, guard, handle, put};
use onnx_ir::diag::{Diagnostic, Place, Severity};
use onnx_text::render::{Position, RenderOptions, SourceText, human};
use onnxtxt::{Loaded, has_entity};

/// A list of findings: errors, and warnings about what is legal and probably unintended.
#[derive(Default)]
pub struct Findings(Vec<Finding>);

struct Finding {
    is_error: bool,
    code: String,
    name: String,
    message: String,
    help: String,
    path: String,
    place: Option<Span>,
    labels: Vec<(String, Option<Span>)>,
    fixes: Vec<Fix>,
    rendered: String,
    colored: String,
}

struct Fix {
    title: String,
    is_safe: bool,
    edits: Vec<(u32, u32, String)>,
}

/// A place in the text of a model: bytes, and lines and columns, which count from 1. Columns count characters.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The line of the first byte.
    pub line: u32,
    /// The column of the first byte.
    pub column: u32,
    /// The line of the end.
    pub end_line: u32,
    /// The column of the end.
    pub end_column: u32,
}

impl Span {
    /// A span of a text whose lines and columns `position` knows.
    pub(crate) fn new(span: onnx_ir::diag::Span, position: impl Fn(u32) -> Position) -> Span {
        let (start, end) = (position(span.start), position(span.end));
        Span {
            start: span.start,
            end: span.end,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

/// A view of a finding.
#[repr(C)]
pub struct FindingView {
    /// Whether it is an error; otherwise, it is a warning.
    pub is_error: bool,
    /// Whether it has a place in the text; otherwise, it is about the model as a whole.
    pub has_place: bool,
    /// The place. Of a model that was not read from text, it is in the text that the library prints.
    pub place: Span,
    /// The code, such as `E0203`.
    pub code: Str,
    /// The name of the code, such as `value-undefined`.
    pub name: Str,
    /// One sentence, without a full stop.
    pub message: Str,
    /// Advice; may be empty.
    pub help: Str,
    /// The name of the text or file.
    pub path: Str,
    /// The finding with the lines that it is about, as a terminal shows it, and the same with colors.
    pub rendered: Str,
    /// See `rendered`.
    pub colored: Str,
    /// The number of labels: places with their roles, the one of the finding first.
    pub labels: usize,
    /// The number of fixes.
    pub fixes: usize,
}

/// A view of a place with its role, such as "defined again".
#[repr(C)]
pub struct LabelView {
    /// The role; may be empty.
    pub message: Str,
    /// Whether it has a place in the text.
    pub has_place: bool,
    /// The place.
    pub place: Span,
}

/// A view of a fix: replacements of bytes of the text, in order and without overlap.
#[repr(C)]
pub struct FixView {
    /// A description, as an imperative.
    pub title: Str,
    /// Whether the meaning is certainly kept.
    pub is_safe: bool,
    /// The number of replacements.
    pub edits: usize,
}

/// A view of a replacement.
#[repr(C)]
pub struct EditView {
    /// The first byte that is replaced.
    pub start: u32,
    /// One past the last one.
    pub end: u32,
    /// The new text.
    pub text: Str,
}

impl Findings {
    pub(crate) fn of(loaded: &Loaded, found: &[Diagnostic]) -> Findings {
        if found.is_empty() {
            return Findings::default();
        }
        loaded.with_source(found.iter().any(has_entity), |source| {
            Findings(found.iter().map(|found| Finding::of(found, source)).collect())
        })
    }

    /// An error without place and code.
    pub(crate) fn message(message: String) -> Findings {
        Findings::plain(Severity::Error, message)
    }

    /// A warning without place and code.
    pub(crate) fn warning(message: String) -> Findings {
        Findings::plain(Severity::Warning, message)
    }

    fn plain(severity: Severity, message: String) -> Findings {
        let rendered = format!("{}: {message}\n", severity.name());
        Findings(vec![Finding {
            is_error: severity == Severity::Error,
            code: String::new(),
            name: String::new(),
            message,
            help: String::new(),
            path: String::new(),
            place: None,
            labels: Vec::new(),
            fixes: Vec::new(),
            colored: rendered.clone(),
            rendered,
        }])
    }

    /// Why a file could not be read or written.
    pub(crate) fn error(loaded: Option<&Loaded>, why: &onnxtxt::Error) -> Findings {
        if let (Some(loaded), onnxtxt::Error::Model(found)) = (loaded, why) {
            return Findings::of(loaded, found);
        }
        Findings::message(with_causes(why))
    }

    /// Findings, if there are any.
    pub(crate) fn some(self) -> Option<Findings> {
        (!self.0.is_empty()).then_some(self)
    }

    pub(crate) fn append(&mut self, mut other: Findings) {
        self.0.append(&mut other.0);
    }
}

/// The message of an error with those of its causes.
pub(crate) fn with_causes(why: &dyn std::error::Error) -> String {
    let mut message = why.to_string();
    let mut cause = why.source();
    while let Some(why) = cause {
        message = format!("{message}: {why}");
        cause = why.source();
    }
    message
}

impl Finding {
    fn of(found: &Diagnostic, source: &SourceText<'_>) -> Finding {
        let place = |place: Place| Some(Span::new(source.span(place)?, |at| source.position(at)));
        let labels = std::iter::once(&found.primary).chain(&found.related);
        let shown = |color| human(found, source, RenderOptions { color, width: 120 }) + "\n";
        Finding {
            is_error: found.is_error(),
            code: found.code.id.to_owned(),
            name: found.code.name.to_owned(),
            message: found.message.clone(),
            help: found.help.clone().unwrap_or_default(),
            path: source.name().to_owned(),
            place: place(found.primary.place),
            labels: labels.map(|label| (label.text.clone(), place(label.place))).collect(),
            fixes: found.fixes.iter().map(Fix::of).collect(),
            rendered: shown(false),
            colored: shown(true),
        }
    }
}

impl Fix {
    fn of(fix: &onnx_ir::diag::Fix) -> Fix {
        let edits = fix.edits.iter().map(|edit| (edit.span.start, edit.span.end, edit.text.clone()));
        Fix { title: fix.title.clone(), is_safe: fix.safe, edits: edits.collect() }
    }
}

/// An empty list, to which own findings can be added.
#[unsafe(no_mangle)]
pub extern "C" fn onnxtxt_findings_new() -> *mut Findings {
    handle(Findings::default())
}

/// The number of findings; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_findings_count(findings: *const Findings) -> usize {
    // SAFETY: a list of this library, or null.
    unsafe { findings.as_ref() }.map_or(0, |findings| findings.0.len())
}

/// Whether one of the findings is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_findings_has_errors(findings: *const Findings) -> bool {
    // SAFETY: a list of this library, or null.
    unsafe { findings.as_ref() }.is_some_and(|findings| findings.0.iter().any(|finding| finding.is_error))
}

/// A finding. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_findings_get(
    findings: *const Findings,
    at: usize,
    out: *mut FindingView,
) -> bool {
    // SAFETY: a list of this library, or null; `out` as the header says.
    unsafe {
        let Some(finding) = findings.as_ref().and_then(|findings| findings.0.get(at)) else { return false };
        put(
            out,
            FindingView {
                is_error: finding.is_error,
                has_place: finding.place.is_some(),
                place: finding.place.unwrap_or_default(),
                code: Str::new(&finding.code),
                name: Str::new(&finding.name),
                message: Str::new(&finding.message),
                help: Str::new(&finding.help),
                path: Str::new(&finding.path),
                rendered: Str::new(&finding.rendered),
                colored: Str::new(&finding.colored),
                labels: finding.labels.len(),
                fixes: finding.fixes.len(),
            },
        )
    }
}

/// A label of a finding. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_findings_label(
    findings: *const Findings,
    at: usize,
    label: usize,
    out: *mut LabelView,
) -> bool {
    // SAFETY: a list of this library, or null; `out` as the header says.
    unsafe {
        let finding = findings.as_ref().and_then(|findings| findings.0.get(at));
        let Some((message, place)) = finding.and_then(|finding| finding.labels.get(label)) else {
            return false;
        };
        let (has_place, place) = (place.is_some(), place.unwrap_or_default());
        put(out, LabelView { message: Str::new(message), has_place, place })
    }
}

/// A fix of a finding. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_findings_fix(
    findings: *const Findings,
    at: usize,
    fix: usize,
    out: *mut FixView,
) -> bool {
    // SAFETY: a list of this library, or null; `out` as the header says.
    unsafe {
        let finding = findings.as_ref().and_then(|findings| findings.0.get(at));
        let Some(fix) = finding.and_then(|finding| finding.fixes.get(fix)) else { return false };
        put(out, FixView { title: Str::new(&fix.title), is_safe: fix.is_safe, edits: fix.edits.len() })
    }
}

/// A replacement of a fix. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_findings_edit(
    findings: *const Findings,
    at: usize,
    fix: usize,
    edit: usize,
    out: *mut EditView,
) -> bool {
    // SAFETY: a list of this library, or null; `out` as the header says.
    unsafe {
        let finding = findings.as_ref().and_then(|findings| findings.0.get(at));
        let fix = finding.and_then(|finding| finding.fixes.get(fix));
        let Some((start, end, text)) = fix.and_then(|fix| fix.edits.get(edit)) else { return false };
        put(out, EditView { start: *start, end: *end, text: Str::new(text) })
    }
}

/// Frees a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_findings_free(findings: *mut Findings) {
    // SAFETY: a list of this library, or null, that is not used any more.
    unsafe { free(findings) }
}

/// A list of findings for the caller; a null pointer if there are none, or after an internal error.
pub(crate) fn given(work: impl FnOnce() -> Findings) -> *mut Findings {
    guard(std::ptr::null_mut(), || work().some().map_or(std::ptr::null_mut(), handle))
}
