//! Findings of the caller, shown as ours are.

use crate::abi::{Status, Str, attempt, free, guard, handle};
use crate::findings::Findings;
use crate::model::Model;
use crate::place::Place;
use onnx_ir::diag::{Code, Diagnostic, Level, Severity};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A finding of the caller that is being made. It is about one model.
pub struct Draft(Diagnostic);

/// Codes of callers live as long as the program: a program has few.
static CODES: Mutex<Option<HashMap<(String, bool), &'static Code>>> = Mutex::new(None);

fn code(id: &str, is_error: bool) -> &'static Code {
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    let codes = codes.get_or_insert_default();
    codes.entry((id.to_owned(), is_error)).or_insert_with(|| {
        let id: &'static str = String::leak(id.to_owned());
        let severity = if is_error { Severity::Error } else { Severity::Warning };
        Box::leak(Box::new(Code {
            id,
            name: id,
            rule: None,
            severity,
            level: Level::Spec,
            clear: None,
            explain: "",
        }))
    })
}

/// Begins a finding about a part of a model: `code` and `message` are shown in its first line, `label` at the place. The number of
/// different codes of a program should be small: they are kept. A null pointer if the model has no such part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_draft_new(
    model: *const Model,
    is_error: bool,
    code_id: Str,
    message: Str,
    place: Place,
    label: Str,
) -> *mut Draft {
    // SAFETY: a model of this library, or null; strings as the header says.
    let (model, id, message, label) =
        unsafe { (model.as_ref(), code_id.text(), message.text(), label.text()) };
    guard(std::ptr::null_mut(), || {
        let Some(place) = model.and_then(|model| place.find(model.model())) else {
            return std::ptr::null_mut();
        };
        handle(Draft(Diagnostic::new(code(&id, is_error), place, message).label(label)))
    })
}

/// Adds another place that explains the finding, with its role.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_draft_label(
    draft: *mut Draft,
    model: *const Model,
    place: Place,
    label: Str,
) -> Status {
    // SAFETY: objects of this library, or null; the string as the header says.
    let (draft, model, label) = unsafe { (draft.as_mut(), model.as_ref(), label.text()) };
    let place = model.and_then(|model| place.find(model.model()));
    let (Some(draft), Some(place)) = (draft, place) else { return Status::Argument };
    guard(Status::Internal, || {
        draft.0 = draft.0.clone().related(place, label);
        Status::Ok
    })
}

/// Sets the advice of the finding.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_draft_help(draft: *mut Draft, help: Str) -> Status {
    // SAFETY: a draft of this library, or null; the string as the header says.
    let (draft, help) = unsafe { (draft.as_mut(), help.text()) };
    let Some(draft) = draft else { return Status::Argument };
    guard(Status::Internal, || {
        draft.0 = draft.0.clone().help(help);
        Status::Ok
    })
}

/// Adds the finding to a list, and frees the draft. `model` is the one that it is about.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_draft_add(
    draft: *mut Draft,
    model: *const Model,
    findings: *mut Findings,
) -> Status {
    // SAFETY: objects of this library, or null; `findings` is used by no other thread.
    unsafe {
        let (Some(made), Some(model), Some(findings)) = (draft.as_ref(), model.as_ref(), findings.as_mut())
        else {
            free(draft);
            return Status::Argument;
        };
        let status = attempt(std::ptr::null_mut(), || {
            findings.append(Findings::of(model.loaded(), std::slice::from_ref(&made.0)));
            Ok(None)
        });
        free(draft);
        status
    }
}

/// Frees a draft that is not added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_draft_free(draft: *mut Draft) {
    // SAFETY: a draft of this library, or null, that is not used any more.
    unsafe { free(draft) }
}
