//! External data: its entries in the model (X01, X02, X05, X06, X09, X11–X14), and the file (X03, X04, X07, X08, X10).
//!
//! This crate does no I/O. The caller passes the properties of a file to [`check_file`]:
//!
//! ```
//! use onnx_ir::{FileFacts, check_file};
//! # use onnx_ir::{DataLocation, ElemType, Model, Tensor, diag::Place};
//! # let mut model = Model::new();
//! # let (key, value) = (model.names.intern("location"), model.names.intern("w.bin"));
//! # let mut tensor = Tensor { elem: Some(ElemType::FLOAT), ..Tensor::default() };
//! # tensor.dims.push(2);
//! # tensor.extra_mut().location = Some(DataLocation::EXTERNAL);
//! # tensor.extra_mut().external.push(onnx_ir::Entry { key: Some(key), value: Some(value) });
//! // float[2] w = ["location": "w.bin"]
//! let facts = FileFacts { exists: true, regular: true, linked: false, size: 4, sha1: None };
//! let found = check_file(&model, &tensor, Place::Nowhere, &facts);
//! assert_eq!(found[0].code.name, "length-vs-shape");
//! ```

use super::context::{Findings, VerifyContext};
use super::tensors::At;
use crate::diag::{Diagnostic, Entity, Place, code, counted, did_you_mean};
use crate::model::Model;
use crate::show::tensor_text;
use crate::tensor::Tensor;
use crate::types::ElemType;

/// The keys of ExternalData.md; `basepath` is set by loaders.
const KEYS: [&str; 5] = ["location", "offset", "length", "checksum", "basepath"];

/// The key by which a text records the original field of data that it stores in a file. Other readers ignore it.
pub const INLINE_KEY: &str = "onnxtxt.inline";

/// The properties of a file with external data.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts {
    /// Whether there is something at the path.
    pub exists: bool,
    /// Whether it is a regular file, not a folder or device.
    pub regular: bool,
    /// Whether a part of the path is a symbolic link, or the file has several hard links.
    pub linked: bool,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-1 of its content, if that was asked for.
    pub sha1: Option<[u8; 20]>,
}

/// A tensor whose data is inline has no entries about a file.
pub(super) fn entries_of_inline(cx: &VerifyContext<'_>, found: &mut Findings, at: At<'_>, tensor: &Tensor) {
    if !tensor.extra().external.is_empty() {
        let subject = at.subject(cx, tensor);
        let message = format!("{subject} has entries of external data, but its data is inline");
        found.push(Diagnostic::new(&code::EXTERNAL_KEYS, at.place, message));
    }
}

/// The place of an entry of a tensor, if it has one of its own: the tensor is alone in its place.
fn entry_place(at: Place, i: usize) -> Place {
    let Ok(i) = u32::try_from(i) else { return at };
    match at {
        Place::Entity(Entity::Initializer(body, graph, at)) => {
            Entity::InitializerEntry(body, graph, at, i).into()
        }
        Place::Entity(Entity::Attr(body, node, at)) => Entity::AttrEntry(body, node, at, i).into(),
        Place::Entity(_) | Place::Source(_) | Place::Nowhere => at,
    }
}

/// The place of the entry that a key stands for: the first one.
fn place_of(model: &Model, tensor: &Tensor, at: Place, key: &str) -> Place {
    let entry = tensor.extra().external.iter().position(|entry| model.text(entry.key) == key);
    entry.map_or(at, |i| entry_place(at, i))
}

/// Why a path does not name a file below the folder it is relative to, on some system.
fn leads_out(path: &str) -> Option<&'static str> {
    let has_drive = path.as_bytes().get(..2).is_some_and(|b| b[0].is_ascii_alphabetic() && b[1] == b':');
    if path.starts_with(['/', '\\']) {
        Some("is absolute")
    } else if has_drive {
        Some("has a drive letter")
    } else if path.contains('\0') {
        Some("has a NUL character, where other readers end it")
    } else if path.split(['/', '\\']).any(|part| part == "..") {
        Some("points outside of the model's folder")
    } else {
        None
    }
}

/// The part of a path that is not portable between systems, or differs in the reference.
fn not_portable(path: &str) -> Option<&'static str> {
    match () {
        () if path.contains('\\') => Some("has a backslash"),
        () if path.starts_with('#') => Some("begins with `#`, which the reference reads as a memory address"),
        () => None,
    }
}

pub(super) fn check(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    at: At<'_>,
    tensor: &Tensor,
    elem: ElemType,
) {
    let subject = at.subject(cx, tensor);
    let names = &cx.model.names;
    let mut push = |diagnostic: Diagnostic| found.push(diagnostic);
    let new = |code, message: String| Diagnostic::new(code, at.place, message);
    if elem == ElemType::STRING {
        let message = format!("{subject} is a tensor of strings, whose data cannot be external");
        return push(new(&code::EXTERNAL_STRINGS, message).help("keep the strings in the model"));
    }
    if let Some(payload) = tensor.data.iter().find(|p| !p.is_empty()) {
        let message = format!("{subject} is external, but also has values in `{}`", payload.field().name());
        push(new(&code::EXTERNAL_WITH_INLINE, message));
    }
    let mut given = [false; KEYS.len()];
    for (e, entry) in tensor.extra().external.iter().enumerate() {
        let place = entry_place(at.place.into(), e);
        let key = cx.model.text(entry.key);
        if key == INLINE_KEY {
            continue;
        }
        let Some(i) = KEYS.iter().position(|&k| k == key) else {
            let help = did_you_mean(key, KEYS).map(|k| format!("did you mean `{k}`?"));
            let message = format!("{subject} has the unknown entry `{key}`");
            push(Diagnostic::new(&code::EXTERNAL_KEYS, place, message).maybe_help(help));
            continue;
        };
        let is_same = tensor.external(names, key) == entry.value;
        // Two values are for the gate.
        if std::mem::replace(&mut given[i], true) && is_same {
            let message = format!("{subject} has two entries `{key}`");
            push(Diagnostic::new(&code::EXTERNAL_KEYS, place, message));
        }
    }
    for diagnostic in gate(cx.model, tensor, at.place.into(), &subject) {
        push(diagnostic);
    }
    let at_key = |key| place_of(cx.model, tensor, at.place.into(), key);
    let path = tensor.external(names, "location").map_or("", |l| &names[l]);
    if let (None, Some(what)) = (leads_out(path), not_portable(path)) {
        let message = format!("location `{path}` of {subject} {what}");
        push(Diagnostic::new(&code::LOCATION_PORTABILITY, at_key("location"), message));
    }
    for key in ["offset", "length"] {
        let Some(text) = tensor.external(names, key).map(|n| &names[n]) else { continue };
        match number(text) {
            None => {
                let message = format!("invalid {key} `{text}` of {subject}: expected a number of bytes");
                push(Diagnostic::new(&code::OFFSET_LENGTH_SYNTAX, at_key(key), message));
            }
            Some(n) if key == "offset" && n % 4096 != 0 => {
                let message = format!("offset {n} of {subject} is not a multiple of 4096");
                push(Diagnostic::new(&code::OFFSET_ALIGNMENT, at_key(key), message));
            }
            Some(_) => {}
        }
    }
}

/// Checks that an external tensor names one place below the model's folder; returns findings about the entries of its location.
/// Every reader calls this before it opens a file, and [`verify`](super::verify) reports the same.
#[must_use]
pub fn check_location(model: &Model, tensor: &Tensor, at: impl Into<Place>) -> Vec<Diagnostic> {
    gate(model, tensor, at.into(), &format!("`{}`", model.text(tensor.name)))
}

fn gate(model: &Model, tensor: &Tensor, at: Place, subject: &str) -> Vec<Diagnostic> {
    let entries = |key: &'static str| {
        let entries = tensor.extra().external.iter().enumerate();
        let entries = entries.filter(move |(_, entry)| model.text(entry.key) == key);
        entries.map(move |(i, entry)| (entry_place(at, i), model.text(entry.value)))
    };
    let mut found = Vec::new();
    let location = entries("location").next();
    if location.is_none_or(|(_, path)| path.is_empty()) {
        let message = format!("{subject} is external, but has no `location`");
        let at = location.map_or(at, |(place, _)| place);
        found.push(Diagnostic::new(&code::LOCATION_MISSING, at, message).help("add a `location`"));
    }
    // All of them, because readers differ in which one they use.
    for (place, path) in entries("location") {
        if let Some(what) = leads_out(path) {
            let message = format!("location `{path}` of {subject} {what}");
            found.push(Diagnostic::new(&code::LOCATION_OUTSIDE, place, message));
        }
    }
    for key in KEYS {
        let Some((at, first)) = entries(key).next() else { continue };
        if let Some((place, other)) = entries(key).find(|&(_, other)| other != first) {
            let message = format!("{subject} has two entries `{key}`: `{first}` and `{other}`");
            let finding =
                Diagnostic::new(&code::EXTERNAL_KEY_TWICE, place, message).help("keep the correct one");
            found.push(finding.related(at, "the first one"));
        }
    }
    found
}

/// A decimal number without sign.
fn number(text: &str) -> Option<u64> {
    Some(text).filter(|t| t.bytes().all(|b| b.is_ascii_digit())).and_then(|t| t.parse().ok())
}

/// Checks the file of an external tensor (X03, X04, X07, X08, X10). Findings of [`verify`](super::verify) about the tensor itself
/// are not repeated: invalid `location`, `offset` and `length` are skipped.
#[must_use]
pub fn check_file(
    model: &Model,
    tensor: &Tensor,
    at: impl Into<Place>,
    facts: &FileFacts,
) -> Vec<Diagnostic> {
    let (at, names) = (at.into(), &model.names);
    let text = |key| tensor.external(names, key).map(|n| &names[n]);
    let path = text("location").unwrap_or("");
    let at_key = |key| place_of(model, tensor, at, key);
    let new = |code, message: String| Diagnostic::new(code, at_key("location"), message);
    if !facts.exists {
        return vec![new(&code::LOCATION_NOT_A_FILE, format!("file `{path}` not found beside the model"))];
    }
    if facts.linked {
        return vec![
            new(&code::LOCATION_LINK, format!("path `{path}` goes through a link")).help("copy the file"),
        ];
    }
    if !facts.regular {
        return vec![new(&code::LOCATION_NOT_A_FILE, format!("`{path}` is not a regular file"))];
    }
    let mut found = Vec::new();
    let name = model.text(tensor.name);
    let offset = text("offset").map_or(Some(0), number);
    let length = text("length").map(number);
    if let (Some(offset), None | Some(Some(_))) = (offset, length) {
        let rest = facts.size.checked_sub(offset);
        let length = length.flatten().or(rest).unwrap_or(0);
        let need = tensor.element_count().zip(tensor.elem).and_then(|(n, elem)| elem.raw_size(n));
        if offset.checked_add(length).is_none_or(|end| end > facts.size) {
            let message = format!(
                "`{name}` begins at byte {offset} of `{path}` and has {}, but the file has {}",
                counted(length, "byte"),
                counted(facts.size, "byte")
            );
            // The entry that goes too far; without any, the location.
            let keys = if offset > facts.size { ["offset", "length"] } else { ["length", "offset"] };
            let key = keys.into_iter().find(|key| text(key).is_some()).unwrap_or("location");
            found.push(Diagnostic::new(&code::RANGE_BEYOND_FILE, at_key(key), message));
        } else if let Some(need) = need.filter(|&need| need != length) {
            let message = format!(
                "`{name}` has {} in `{path}`, but `{}` needs {need}",
                counted(length, "byte"),
                tensor_text(names, tensor),
            );
            let key = if text("length").is_some() { "length" } else { "location" };
            found.push(Diagnostic::new(&code::LENGTH_VS_SHAPE, at_key(key), message));
        }
    }
    if let (Some(stated), Some(actual)) = (text("checksum"), facts.sha1) {
        let hex: String = actual.iter().map(|b| format!("{b:02x}")).collect();
        if !stated.eq_ignore_ascii_case(&hex) {
            let message = format!("checksum of `{path}` is {hex}, but `{name}` expects `{stated}`");
            let help = "the file has changed or belongs to another model: export both again";
            found.push(Diagnostic::new(&code::CHECKSUM, at_key("checksum"), message).help(help));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Level, VerifyOptions, verify};
    use super::*;
    use crate::tensor::{DataLocation, Entry, Payload};
    use smallvec::smallvec;

    fn tensor(model: &mut Model, entries: &[(&str, &str)]) -> Tensor {
        let mut tensor = Tensor { elem: Some(ElemType::FLOAT), dims: smallvec![2], ..Tensor::default() };
        tensor.name = Some(model.names.intern("w"));
        tensor.extra_mut().location = Some(DataLocation::EXTERNAL);
        tensor.extra_mut().external = (entries.iter())
            .map(|(k, v)| Entry { key: Some(model.names.intern(k)), value: Some(model.names.intern(v)) })
            .collect();
        tensor
    }

    fn with(entries: &[(&str, &str)], edit: impl FnOnce(&mut Tensor)) -> Vec<String> {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.floats("w", &[1.0, 2.0]);
                d.node("Relu", &["w"], &["y"]);
            });
        });
        let mut external = tensor(&mut model, entries);
        edit(&mut external);
        *only(&mut main(&mut model).tensors) = external;
        let list = verify(&model, &VerifyOptions { level: Level::Strict, ..VerifyOptions::default() });
        let list = list.iter().filter(|d| d.code.id[1..].starts_with("06"));
        list.map(|d| format!("{} {}", d.code.id, d.message)).collect()
    }

    fn external(entries: &[(&str, &str)]) -> Vec<String> {
        with(entries, |_| {})
    }

    #[test]
    fn a_location_stays_below_the_models_folder() {
        assert_eq!(external(&[("location", "a/w..bin")]), [""; 0]);
        assert_eq!(external(&[]), ["E0601 `w` is external, but has no `location`"]);
        assert_eq!(external(&[("location", "")]).len(), 1);
        assert_eq!(
            external(&[("location", "/etc/passwd")]),
            ["E0602 location `/etc/passwd` of `w` is absolute"]
        );
        let expected = ["E0602 location `a/../../w` of `w` points outside of the model's folder"];
        assert_eq!(external(&[("location", "a/../../w")]), expected);
        assert_eq!(external(&[("location", "a\\w")]), ["W0613 location `a\\w` of `w` has a backslash"]);
        for (path, why) in [
            ("c:w", "has a drive letter"),
            ("Z:/w", "has a drive letter"),
            ("\\w", "is absolute"),
            ("\\\\host\\w", "is absolute"),
            ("w\0", "has a NUL character, where other readers end it"),
            ("a/\0/w", "has a NUL character, where other readers end it"),
            ("..", "points outside of the model's folder"),
            ("a\\..\\..\\w", "points outside of the model's folder"),
        ] {
            assert_eq!(external(&[("location", path)]), [format!("E0602 location `{path}` of `w` {why}")]);
        }
        // No drive letters: they are not single letters at the start.
        assert_eq!(external(&[("location", "ab:w")]), [""; 0]);
        assert_eq!(external(&[("location", "a/c:w")]), [""; 0]);
        assert!(external(&[("location", "#w")])[0].starts_with("W0613"));
    }

    #[test]
    fn entries_are_numbers_and_known_and_single() {
        let location = ("location", "w");
        assert_eq!(external(&[location, ("offset", "4096"), ("length", "8"), ("checksum", "0")]), [""; 0]);
        assert_eq!(
            external(&[location, ("offset", "-4")]),
            ["E0606 invalid offset `-4` of `w`: expected a number of bytes"]
        );
        assert_eq!(
            external(&[location, ("length", "")]),
            ["E0606 invalid length `` of `w`: expected a number of bytes"]
        );
        assert_eq!(
            external(&[location, ("offset", "4")]),
            ["W0609 offset 4 of `w` is not a multiple of 4096"]
        );
        assert_eq!(external(&[location, ("ofset", "4")]), ["W0611 `w` has the unknown entry `ofset`"]);
        assert_eq!(external(&[location, location]), ["W0611 `w` has two entries `location`"]);
        assert_eq!(
            external(&[location, ("location", "v")]),
            ["E0614 `w` has two entries `location`: `w` and `v`"]
        );
        let found = external(&[location, ("location", "../v")]);
        assert_eq!(found[0], "E0602 location `../v` of `w` points outside of the model's folder");
    }

    #[test]
    fn external_tensors_have_no_values_and_no_strings() {
        let entries = [("location", "w")];
        let inline = |t: &mut Tensor| t.data.push(Payload::floats(vec![1.0, 2.0]));
        assert_eq!(with(&entries, inline), ["E0605 `w` is external, but also has values in `float_data`"]);
        let strings = |t: &mut Tensor| t.elem = Some(ElemType::STRING);
        assert_eq!(
            with(&entries, strings),
            ["E0612 `w` is a tensor of strings, whose data cannot be external"]
        );
    }

    #[test]
    fn files_are_regular_and_large_enough_and_unchanged() {
        let good = FileFacts { exists: true, regular: true, linked: false, size: 8, sha1: None };
        let ids = |entries: &[(&str, &str)], facts: FileFacts| {
            let mut model = Model::new();
            let tensor = tensor(&mut model, entries);
            check_file(&model, &tensor, Place::Nowhere, &facts).iter().map(|d| d.code.id).collect::<Vec<_>>()
        };
        let at = |offset| [("location", "w"), ("offset", offset)];
        let location = &at("0")[..1];
        assert_eq!(ids(location, good), [""; 0]);
        assert_eq!(ids(location, FileFacts { exists: false, ..good }), ["E0603"]);
        assert_eq!(ids(location, FileFacts { regular: false, ..good }), ["E0603"]);
        assert_eq!(ids(location, FileFacts { linked: true, ..good }), ["E0604"]);
        assert_eq!(ids(location, FileFacts { size: 4, ..good }), ["E0608"]);
        assert_eq!(ids(location, FileFacts { size: 12, ..good }), ["E0608"]);
        assert_eq!(ids(&at("4"), FileFacts { size: 12, ..good }), [""; 0]);
        assert_eq!(ids(&at("100"), good), ["E0607"]);
        assert_eq!(ids(&[("location", "w"), ("length", "1000")], good), ["E0607"]);
        let far = [("location", "w"), ("offset", "18446744073709551615"), ("length", "8")];
        assert_eq!(ids(&far, good), ["E0607"]);
        let sum = "000102030405060708090a0b0c0d0e0f10111213";
        let sha1 = Some(std::array::from_fn(|i| u8::try_from(i).expect("20 bytes")));
        assert_eq!(ids(&[("location", "w"), ("checksum", sum)], FileFacts { sha1, ..good }), [""; 0]);
        assert_eq!(ids(&[("location", "w"), ("checksum", "ab")], FileFacts { sha1, ..good }), ["E0610"]);
        assert_eq!(ids(&[("location", "w"), ("checksum", sum)], good), [""; 0]);
    }
}
