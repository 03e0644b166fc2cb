//! Models with many mistakes of one kind.

use super::{FUNCTION, HEADER, WIRE_MEMORY_FACTOR, alone, is_linear};
use conformance::convert::print;
use onnx_ir::diag::{Level, Place};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::schema::Registry;
use onnx_text::{Profile, SourceMap, lower, parse_model, read_model};

/// The kind of mistake, and a function that makes a text with a given number of them.
type Mistakes = (&'static str, fn(usize) -> String);

/// Models with as many mistakes of one kind as they have entries.
const MISTAKES: &[Mistakes] = &[
    ("attributes of a node that it does not have", |n| {
        format!(
            "{HEADER}g (float[2] x) => (float[2] y) {{ y = Relu <{}> (x) }}",
            list(n, |i| format!("a{i} = {i}"))
        )
    }),
    ("attributes given again", |n| {
        format!(
            "{HEADER}g (float[2] x) => (float[2] y) {{ y = Relu <{}> (x) }}",
            list(n, |_| "a = 1".to_owned())
        )
    }),
    ("attributes that name parameters that do not exist", |n| {
        let attributes = list(n, |i| format!("a{i}: int = @b{i}"));
        format!("{HEADER}g () => () {{}}\n{FUNCTION}f <a> (x) => (y) {{ y = Abs <{attributes}> (x) }}")
    }),
    ("attributes of a function that it does not have", |n| {
        let (given, formal) = (list(n, |i| format!("a{i} = {i}")), list(n, |i| format!("b{i}")));
        format!(
            "{HEADER}g (float x) => () {{ y = f.f <{given}> (x) }}\n{FUNCTION}f <{formal}> (x) => (y) {{ y = Abs(x) }}"
        )
    }),
    ("nodes with an attribute that they do not have", |n| {
        nodes(n, |i| format!("y{i} = Relu <alpa = 1> (x)"))
    }),
    ("operators that do not exist", |n| nodes(n, |i| format!("y{i} = Reluu{i}(x)"))),
    ("domains that are not imported", |n| nodes(n, |i| format!("y{i} = d{i}.Relu(x)"))),
    ("names that are not defined", |n| nodes(n, |i| format!("y{i} = Relu(x{i})"))),
    ("names that are not defined, of one node", |n| {
        nodes(1, |_| format!("z = Sum({})", list(n, |i| format!("x{i}"))))
    }),
    ("nodes that define a name again", |n| nodes(n, |_| "z = Relu(x)".to_owned())),
    ("nodes that nothing reads", |n| nodes(n, |i| format!("z{i} = Relu(x)"))),
    ("initializers that define a name again", |n| {
        format!("{HEADER}g () => () <{}> {{}}", list(n, |_| "float w = {1}".to_owned()))
    }),
    ("inputs that define a name again", |n| {
        format!("{HEADER}g ({}) => () {{}}", list(n, |_| "float x".to_owned()))
    }),
    ("keys of external data that do not exist", |n| {
        let entries = list(n, |i| format!("\"k{i}\": \"v\""));
        format!("{HEADER}g () => () <float w = [\"location\": \"w\", {entries}]> {{}}")
    }),
    ("domains that are imported and not known", |n| {
        format!("<ir_version: 10, opset_import: [{}]> g () => () {{}}", list(n, |i| format!("\"d{i}\": 1")))
    }),
    ("domains that are imported again", |n| {
        format!("<ir_version: 10, opset_import: [{}]> g () => () {{}}", list(n, |_| "\"d\": 1".to_owned()))
    }),
    ("keys of metadata given again", |n| {
        let entries = list(n, |_| "\"a\": \"b\"".to_owned());
        format!("<ir_version: 10, opset_import: [\"\": 21], metadata_props: [{entries}]> g () => () {{}}")
    }),
    ("keys of metadata given again with other values", |n| {
        let entries = list(n, |i| format!("\"a\": \"v{i}\""));
        format!("<ir_version: 10, opset_import: [\"\": 21], metadata_props: [{entries}]> g () => () {{}}")
    }),
    ("names that are not defined, each in a function", |n| {
        let function = |i| format!("\n{FUNCTION}f{i} (x) => (y) {{ y = Abs <a = 1> (z) }}");
        format!("{HEADER}g () => () {{}}{}", (0..n).map(function).collect::<String>())
    }),
    ("functions that are defined again", |n| {
        let function = format!("\n{FUNCTION}f (x) => (y) {{ y = Abs(x) }}");
        format!("{HEADER}g () => () {{}}{}", function.repeat(n))
    }),
    ("names that are not defined, each in a graph of a list", |n| {
        let graphs = list(n, |i| format!("g{i} () => (z{i}) {{ z{i} = Relu(u{i}) }}"));
        nodes(1, |_| format!("y = l.F <a = [{graphs}]> ()"))
    }),
    ("names that are not defined, each in a graph of an attribute", |n| {
        let graphs = list(n, |i| format!("a{i} = g{i} () => (z{i}) {{ z{i} = Relu(u{i}) }}"));
        nodes(1, |_| format!("y = l.F <{graphs}> ()"))
    }),
];

fn list(count: usize, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect::<Vec<_>>().join(", ")
}

fn nodes(count: usize, node: impl Fn(usize) -> String) -> String {
    let nodes: Vec<String> = (0..count).map(node).collect();
    format!("{HEADER}g (float[2] x) => () {{\n{}\n}}\n", nodes.join("\n"))
}

/// Checks a model and looks up the place of each finding; returns the number of findings.
fn find_mistakes(text: &str) -> usize {
    let options = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
    let judge = |model: &Model| onnx_ops::check::check(model, Registry::builtin(), &options);
    let found = onnx_text::check_with(text, Level::Strict, judge).diagnostics;
    // Findings in a binary model are placed in its printed text.
    let model = read_model(text).value;
    let printed = print(&model, Profile::Onnx).text;
    let syntax = parse_model(&printed).value;
    let lowered = lower(&printed, &syntax).value;
    let map = SourceMap::new(&printed, &syntax.tree, &lowered);
    for diagnostic in judge(&model) {
        if let Place::Entity(entity) = diagnostic.primary.place {
            _ = map.span(entity);
        }
        for fix in &diagnostic.fixes {
            _ = map.edits(&fix.changes);
        }
    }
    found.len()
}

#[test]
fn mistakes_take_linear_time_and_memory() {
    const COUNT: usize = 4_000;
    let _alone = alone();
    let mut failed = Vec::new();
    for (what, make) in MISTAKES {
        let (once, twice) = (make(COUNT), make(2 * COUNT));
        let found = find_mistakes(&once);
        if found < COUNT {
            failed.push(format!("{what}: {found} findings for {COUNT} mistakes"));
        }
        let work = |text: &str| assert!(find_mistakes(text) > 0);
        if let Err(why) = is_linear(once.as_str(), twice.as_str(), WIRE_MEMORY_FACTOR, work) {
            failed.push(format!("{what}: {why}"));
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}
