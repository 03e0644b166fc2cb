//! Values in files of their own: wire → text → wire is the identity, byte for byte, on every input and output of the
//! backend tests in `target/corpus` (`cargo xtask corpus`).
#![allow(clippy::print_stderr, reason = "a test that cannot run has to say so")]

use bytes::Bytes;
use onnx_ir::{
    Data, DataKind, ElemType, MapData, Names, OptionalData, Payload, Sequence, SparseData, Tensor,
};
use onnx_text::{FormatOptions, RaiseOptions, TextKind};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn text_of(data: &Data, names: &Names) -> String {
    onnx_text::print_value(data, names, &RaiseOptions::default())
}

/// The loss in a conversion to text and back, if there is one.
fn lost(data: &Data, names: &Names) -> Result<(), String> {
    let bytes = onnx_proto::write_data(data, names).map_err(|e| e.to_string())?;
    let text = text_of(data, names);
    if onnx_text::sniff_text(&text) != TextKind::Value {
        return Err(format!("taken for a model: {}", beginning(&text)));
    }
    let mut again = Names::new();
    let (read, diagnostics) = onnx_text::read_value(&text, &mut again).into_parts();
    if let Some(first) = diagnostics.first() {
        return Err(format!("{}: {}", first.message, beginning(&text)));
    }
    let read = read.ok_or("nothing was read")?;
    let written = onnx_proto::write_data(&read, &again).map_err(|e| e.to_string())?;
    if written != bytes {
        return Err(format!("{} → {} bytes: {}", bytes.len(), written.len(), beginning(&text)));
    }
    let parsed = onnx_text::parse_value(&text);
    let syntax = parsed.value.transpose().ok_or("no tree")?;
    let formatted = onnx_text::format_value_file(&text, &syntax, &FormatOptions::default());
    if formatted.trim_end() == text.trim_end() {
        Ok(())
    } else {
        Err(format!("formatted anew:\n{formatted}"))
    }
}

fn beginning(text: &str) -> String {
    text.chars().take(300).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "pb") {
            found.push(path);
        }
    }
}

#[test]
fn inputs_and_outputs_come_back_byte_for_byte() {
    let corpus = std::env::var_os("ONNXTXT_CORPUS").map(PathBuf::from);
    let corpus = corpus.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/corpus"));
    let mut found = Vec::new();
    files(&corpus.join("backend"), &mut found);
    if found.is_empty() {
        let line = "values as text: no backend tests in target/corpus (`cargo xtask corpus`)";
        eprintln!("NOT RUN: {line}");
        if let Some(path) = std::env::var_os("ONNXTXT_LEFT_OUT") {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            file.and_then(|mut file| writeln!(file, "{line}")).unwrap();
        }
        return;
    }
    found.sort();
    let mut failed = Vec::new();
    let mut kinds = BTreeMap::new();
    for path in &found {
        let bytes = onnx_proto::file::open(path).unwrap();
        // Nothing is stored in an empty file, neither a tensor nor anything else.
        let Some(kind) = onnx_proto::sniff(&bytes) else {
            *kinds.entry("empty").or_insert(0) += 1;
            assert!(bytes.is_empty(), "{}", path.display());
            continue;
        };
        *kinds.entry(kind.name()).or_insert(0) += 1;
        let mut names = Names::new();
        let data = onnx_proto::read_data(bytes.clone(), kind, &mut names).value;
        let data = data.unwrap_or_else(|| panic!("{}: {kind:?}", path.display()));
        // Against what was read, and that against the file.
        assert_eq!(onnx_proto::write_data(&data, &names).as_deref(), Ok(&bytes[..]), "{}", path.display());
        if let Err(why) = lost(&data, &names) {
            failed.push(format!("{}: {why}", path.display()));
        }
        if let Some(found) = onnx_ir::verify_data(&data, &names, &onnx_ir::VerifyOptions::default()).first() {
            failed.push(format!("{}: {}", path.display(), found.message));
        }
    }
    eprintln!("{} files: {kinds:?}", found.len());
    assert!(failed.is_empty(), "{} files:\n{}", failed.len(), failed[..failed.len().min(10)].join("\n"));
}

fn tensor(names: &mut Names, name: Option<&str>, raw: bool) -> Tensor {
    let bytes = Bytes::from_static(&[0, 0, 128, 63, 1, 0, 192, 127]);
    let field = if raw { onnx_ir::Field::Raw } else { onnx_ir::Field::Float };
    Tensor {
        name: name.map(|name| names.intern(name)),
        dims: [2].as_slice().into(),
        elem: Some(ElemType::FLOAT),
        data: [Payload::Entries { field, bytes }].into_iter().collect(),
        extra: None,
    }
}

/// Right and wrong: every field set and not, every kind in every other, numbers without a name.
#[test]
fn every_field_has_a_place() {
    let mut names = Names::new();
    let n = &mut names;
    let (x, empty, quoted) = (Some(n.intern("x")), Some(n.intern("")), Some(n.intern("a \"b\"\n")));
    let raw = tensor(n, None, true);
    let mut documented = tensor(n, Some("x"), false);
    documented.extra_mut().doc = Some(n.intern("two\nlines"));
    documented.extra_mut().metadata = vec![onnx_ir::Entry { key: x, value: None }];
    documented.extra_mut().segment = Some(onnx_ir::Segment { begin: Some(1), end: None });
    let sparse = SparseData {
        values: Some(tensor(n, Some(""), false)),
        indices: Some(raw.clone()),
        dims: [4, 4].as_slice().into(),
    };
    let inner = Sequence {
        name: empty,
        kind: Some(DataKind::TENSOR),
        tensors: vec![raw.clone(), documented.clone(), Tensor::default()],
        ..Sequence::default()
    };
    let map = MapData {
        name: quoted,
        key: Some(ElemType::STRING),
        string_keys: vec!["a".into(), Bytes::from_static(b"\xff\0\n\"")],
        values: Some(inner.clone()),
        ..MapData::default()
    };
    let broken = MapData {
        name: None,
        key: Some(ElemType(99)),
        keys: (-3..200).collect(),
        string_keys: vec!["".into()],
        values: None,
    };
    let optional = OptionalData {
        name: x,
        kind: Some(DataKind::MAP),
        map: Some(Box::new(map.clone())),
        ..OptionalData::default()
    };
    let torn = OptionalData {
        kind: Some(DataKind(77)),
        tensor: Some(raw.clone()),
        sparse_tensor: Some(sparse.clone()),
        optional: Some(Box::new(OptionalData { kind: Some(DataKind::UNDEFINED), ..OptionalData::default() })),
        ..OptionalData::default()
    };
    let mixed = Sequence {
        kind: Some(DataKind(-1)),
        tensors: vec![tensor(n, Some("tensor"), true)],
        sparse_tensors: vec![sparse.clone(), SparseData::default()],
        sequences: vec![Sequence::default(), inner.clone()],
        maps: vec![MapData::default(), map.clone(), broken.clone()],
        optionals: vec![OptionalData::default(), optional.clone(), torn.clone()],
        ..Sequence::default()
    };
    for data in [
        Data::Tensor(raw),
        Data::Tensor(documented),
        Data::Tensor(tensor(n, Some("seq"), false)),
        Data::Tensor(tensor(n, Some("a b"), false)),
        Data::Tensor(tensor(n, Some(""), false)),
        Data::Tensor(Tensor::default()),
        Data::SparseTensor(sparse),
        Data::SparseTensor(SparseData::default()),
        Data::Sequence(inner),
        Data::Sequence(Sequence::default()),
        Data::Sequence(mixed),
        Data::Map(map),
        Data::Map(broken),
        Data::Map(MapData::default()),
        Data::Optional(optional),
        Data::Optional(torn),
        Data::Optional(OptionalData::default()),
    ] {
        if let Err(why) = lost(&data, &names) {
            panic!("{why}\n{}", text_of(&data, &names));
        }
    }
}

#[test]
fn comments_stay_and_layout_is_settled() {
    let source = "# the scores\nmap( int64 )scores={ # keys\nkeys=[1,2],values=seq(tensor)[float{0.25},\n# half\nfloat {0.5}]}# end\n";
    let parsed = onnx_text::parse_value(source);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let syntax = parsed.value.transpose().unwrap();
    let text = onnx_text::format_value_file(source, &syntax, &FormatOptions::default());
    let expected = "\
# the scores
map(int64) scores = {  # keys
    keys = [1, 2],
    values = seq(tensor) [
        float {0.25},
        # half
        float {0.5}
    ]
}  # end
";
    assert_eq!(text, expected);
}

/// Each mistake at the token where it begins.
#[test]
fn mistakes_are_told() {
    for (source, message) in [
        ("seq(float[2]) s = [float[2] {1, 2}]", "unknown value kind `float[2]`"),
        ("seq(tensor) s = [1, 2]", "expected `[`"),
        ("float[2] x", "expected the elements of the tensor or `=`, found the end of the file"),
        ("float[2]", "expected a name, the elements of the tensor or `=`, found the end of the file"),
        ("float[2] x = {1}", "`float[2]` has 2 elements, but 1 is given"),
        ("map(int64) {keys = [1], keys = [2]}", "`keys` is given twice"),
        ("map(int64) {vals = seq(tensor) []}", "unknown key `vals`"),
        ("map(int64) {keys = seq(tensor) []}", "expected a list of keys"),
        ("map(int64) {values = float {1}}", "expected a sequence"),
        ("optional(tensor) x float {1}", "expected `=`"),
        ("optional(tensor) = [float {1}, float {2}]", "a second value of the same kind"),
        ("seq(tensor) [float {1} float {2}]", "missing `,`"),
        ("seq(tensor) s = [", "missing `]`"),
        ("float {1} }", "expected the end of the file"),
        ("#@ onnxtxt 1\n#@ doc_string: \"x\"\nseq(tensor) []", "unknown key `doc_string`"),
    ] {
        let diagnostics = onnx_text::read_value(source, &mut Names::new()).diagnostics;
        let told: Vec<_> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(told.iter().any(|t| t.starts_with(message)), "{source}: {told:?}");
        assert!(told.len() == 1, "{source}: {told:?}");
    }
}

/// As deep as the wire format goes, and deeper.
#[test]
fn nesting_ends_well() {
    let nested = |depth: usize| {
        let mut optional = OptionalData::default();
        for _ in 0..depth {
            optional = OptionalData { optional: Some(Box::new(optional)), ..OptionalData::default() };
        }
        Data::Optional(optional)
    };
    lost(&nested(99), &Names::new()).unwrap();
    let sequences = (0..95)
        .fold(Sequence::default(), |inner, _| Sequence { sequences: vec![inner], ..Sequence::default() });
    lost(&Data::Sequence(sequences), &Names::new()).unwrap();
    for source in [
        "optional() = ".repeat(100_000),
        "seq() [".repeat(100_000),
        "map() {values = seq() [optional() = ".repeat(100_000),
        "#@ a: {b: ".repeat(100_000),
    ] {
        let diagnostics = onnx_text::read_value(&source, &mut Names::new()).diagnostics;
        assert!(!diagnostics.is_empty());
    }
}

/// The manual: each example is a value, and says what it says however often it is printed.
#[test]
fn the_examples_of_the_manual_are_values() {
    let manual = include_str!("../grammar/values.md");
    let examples = manual.split("```onnxtxt\n").skip(1).filter_map(|rest| rest.split("```").next());
    let cells = manual.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('`'));
    let cells = cells.filter(|text| onnx_text::sniff_text(text) == TextKind::Value);
    let mut count = 0;
    for source in examples.chain(cells) {
        let mut names = Names::new();
        let (data, diagnostics) = onnx_text::read_value(source, &mut names).into_parts();
        assert!(diagnostics.is_empty(), "{source}\n{diagnostics:#?}");
        lost(&data.unwrap(), &names).unwrap();
        count += 1;
    }
    assert!(count > 20, "{count}");
}
