//! Parser findings and recovery.

mod plain;

use super::*;
use onnx_ir::diag::Place;

/// `line:column: message` of every finding.
fn findings(source: &str) -> Vec<String> {
    let parsed = parse_model(source);
    let reported = |d: &Diagnostic| {
        let Place::Source(span) = d.primary.place else { panic!("parser findings have a span") };
        let before = &source[..span.start as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |i| i + 1) + 1;
        format!("{line}:{column}: {}", d.message)
    };
    parsed.diagnostics.iter().map(reported).collect()
}

/// Wraps nodes into a graph, one a line, from line 2 on.
fn body(nodes: &str) -> Vec<String> {
    findings(&format!("g (float[N] x) => (float[N] y) {{\n{nodes}\n}}"))
}

const CLEAN: [&str; 0] = [];

#[test]
fn every_construct_of_the_grammar_parses() {
    let source = r#"
<ir_version: 10, opset_import: ["": 21, "l": 1], producer_name: "p", metadata_props: ["k": "v"]>
g (float[N,"a b",?,3] x, seq(map(int64, float[])) s, optional(float) o, sparse_tensor(float[2]) q,
   opaque(d, n) u, float[2] w = {1, 2}) => (y)
<float[N] t, int64[2] c = {1, -2}, string[2] names = {"a", "b"}, float[1] e = ["location": "w.bin", "offset": "0"]>
{
   [node] a, , b = com.acme.Op:v2 <i = 1, f: float = 1, l = [1, 2], r: int = @p, t = float[2] n {1, 2}, u = float[2]> (x, , w)
   [] y = If (c) <then_branch = h () => (z) { z = Abs(x) }, else_branch = k => (z) { z = Abs(x) }>
   "/l/T" = Relu("x") z = Neg(z, )
}
<domain: "l", opset_import: ["": 21]> f <p, q: float = 1.0> (float[N] a, b) => (c) <float[N] v> { c = Add(a, b) }
"#;
    assert_eq!(findings(source), CLEAN);
    let file = parse_model(source).value.tree;
    let graph = file.graph.expect("a graph");
    assert_eq!((graph.body.len(), file.functions.len()), (4, 1));
    assert_eq!(
        (graph.body[0].outputs.len(), graph.body[0].inputs.len(), graph.body[3].inputs.len()),
        (3, 3, 1)
    );
}

#[test]
fn extended_forms_parse() {
    let source = r#"
g (float[2] x) => (y) <int4[3] p = {{1, 2, 3}}, int8[1] r = {int32_data: [300], raw_data: b"\xff"}> {
   y = "my-dom"."aten::add":"v.2" <"a b" = 1, ts = {float[1] {1}, float {2}},
      sp = sparse [3, 4] {values = float[1] {1}, indices = int64[1] {5}}, bad = attribute {type = 1, f = 1.0, i = 2},
      s = b"\xff", e = elem_type(99)[2] {1}> (x)
}"#;
    assert_eq!(findings(source), CLEAN);
}

#[test]
fn annotations_belong_to_what_they_precede() {
    let source = "#@ onnxtxt 1\n#@ storage: raw\n<ir_version: 10>\n## The graph.\ng (\n  #@ doc: \"x\"\n  float x\n) => (y) {\n  ## First.\n  ## Second.\n  #@ metadata_props: [\"a\": $0, \"b\": _]\n  y = Relu(x) # trailing\n}\n";
    assert_eq!(findings(source), CLEAN);
    let parsed = parse_model(source);
    let graph = parsed.value.tree.graph.expect("a graph");
    assert_eq!(parsed.value.tree.notes.fields().count(), 1);
    assert_eq!(graph.notes.docs().len(), 1);
    assert_eq!(graph.body[0].notes.docs().len(), 2);
    assert_eq!(graph.inputs.expect("inputs").items[0].notes.fields().count(), 1);
    assert_eq!(parsed.value.comments.len(), 1);
}

#[test]
fn a_missing_bracket_is_reported_where_the_list_ends() {
    assert_eq!(body("t = Add(x, x\ny = Relu(t)"), ["2:13: missing `)`"]);
    assert_eq!(body("t = LeakyRelu <alpha = 1.0 (x)\ny = Relu(t)"), ["2:27: missing `>`"]);
    assert_eq!(body("t = Clip <a = [1, 2> (x)\ny = Relu(t)"), ["2:20: missing `]`"]);
    assert_eq!(findings("g (float x) => (float y) {\n y = Relu(x)\n"), ["2:13: missing `}`"]);
    assert_eq!(findings("g (float[N x) => (float y) { y = Relu(x) }"), ["1:11: missing `]`"]);
}

#[test]
fn missing_punctuation_is_reported_where_it_belongs() {
    assert_eq!(body("y = Add(x x)"), ["2:10: missing `,` before `x`"]);
    assert_eq!(body("y Relu(x)"), ["2:2: missing `=` before `Relu`"]);
    assert_eq!(findings("g (float x) (float y) { y = Relu(x) }"), ["1:12: missing `=>` before `(`"]);
    assert_eq!(findings("g (float x) = > (float y) { y = Relu(x) }"), ["1:13: `=` and `>` are apart"]);
    assert_eq!(
        findings("g (float x,\n float z\n float w) => (float y) { y = Relu(x) }"),
        ["2:9: missing `,` before `float`"]
    );
}

#[test]
fn stray_punctuation_is_reported_where_it_is() {
    assert_eq!(findings("g (float x,) => (float y) { y = Relu(x) }"), ["1:11: unexpected `,`"]);
    assert_eq!(body("a = Abs(x), y = Relu(a)"), ["2:11: unexpected `,`"]);
    assert_eq!(body("y = Relu(x);"), ["2:12: unexpected `;`"]);
    assert_eq!(body("y = Relu(x]"), ["2:11: expected `)`, found `]`"]);
}

#[test]
fn a_missing_value_costs_one_attribute() {
    assert_eq!(body("y = LeakyRelu <alpha = >(x)"), ["2:23: missing attribute value before `>`"]);
    assert_eq!(body("y = Op <a = , b = 1>(x)"), ["2:12: missing attribute value before `,`"]);
}

#[test]
fn ten_mistakes_are_ten_findings() {
    let source = "<ir_version: 0x1F, opset_import: [\"\" 21]>
g (float[N] x float[N] w) = > (float[N] y) {
  a = Add(x, w
  b Relu(a)
  c = LeakyRelu <alpha = >(b)
  d = Relu(/l/T);
  e = Clip <min = [1, 2> (d)
  f = Op <s = \"open> (e)
  y = Relu(c]
";
    let found = findings(source);
    let lines: Vec<_> = found.iter().map(|f| f.split(':').next().unwrap_or_default()).collect();
    assert_eq!(lines, ["1", "1", "2", "2", "3", "4", "5", "6", "6", "7", "8", "9", "9"], "{found:#?}");
}

#[test]
fn any_truncation_is_a_clean_failure() {
    let source = "<ir_version: 10>\ng (float[N] x, seq(float) s) => (y) <float[2] w = {1, 2}> {\n [n] y = d.Op:o <a: int = 1, g = h (z) => (z) { z = Abs(x) }, t = float[1] {\"s\"}> (x, , w)\n}\n<domain: \"l\"> f <a> (x) => (y) { y = Abs(x) }";
    for end in 0..source.len() {
        let parsed = parse_model(&source[..end]);
        let text = &source[..end];
        let whole = text.trim_end().ends_with('}') && text.matches('{').count() == text.matches('}').count();
        assert!(whole || text.contains("<domain") || !parsed.diagnostics.is_empty(), "{text}");
    }
}

/// Names of functions at the start of a line.
fn functions(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let name =
            line.strip_prefix("pub(in crate::parse) fn ").or_else(|| line.strip_prefix("pub(super) fn "))?;
        name.split(['(', '<']).next()
    })
}

#[test]
fn the_documented_grammar_and_the_parser_have_the_same_productions() {
    let sources = [
        include_str!("grammar/attributes.rs"),
        include_str!("grammar/graphs.rs"),
        include_str!("grammar/mod.rs"),
        include_str!("grammar/nodes.rs"),
        include_str!("grammar/notes.rs"),
        include_str!("grammar/opset.rs"),
        include_str!("grammar/sugar.rs"),
        include_str!("grammar/tensors.rs"),
        include_str!("grammar/types.rs"),
        include_str!("grammar/value.rs"),
    ];
    // Functions that are not productions: runners and lookahead.
    let others = [
        "production",
        "item_or_body",
        "whole",
        "optional",
        "ints",
        "word",
        "begins_parts",
        "begins_graph",
        "is_comparison",
    ];
    let ebnf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../grammar/onnx-text.ebnf");
    let ebnf = std::fs::read_to_string(ebnf).unwrap();
    let is_production =
        |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains(' ');
    let documented: Vec<_> =
        ebnf.lines().filter_map(|l| l.split_once(" = ")).map(|(n, _)| n).filter(is_production).collect();
    for name in sources.iter().flat_map(|s| functions(s)).filter(|name| !others.contains(name)) {
        assert!(documented.contains(&name), "`{name}` is not in grammar/onnx-text.ebnf");
    }
    let primitives = include_str!("primitives.rs");
    for name in documented {
        let has = |source: &&str| functions(source).any(|f| f == name);
        assert!(sources.iter().chain([&primitives]).any(has), "no function is called `{name}`");
    }
}

#[test]
fn a_fragment_ends_with_the_source() {
    let messages = |d: Vec<Diagnostic>| d.into_iter().map(|d| d.message).collect::<Vec<_>>();
    let node = parse_node("y = Relu(x) y = Abs(x)");
    assert_eq!(messages(node.diagnostics), ["expected the end of the file, found `y`"]);
    let graph = parse_graph("g (x) => (y) { y = Abs(x) } }");
    assert_eq!(messages(graph.diagnostics), ["expected the end of the file, found `}`"]);
    assert!(graph.value.tree.is_some());
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    assert_eq!(findings("\u{feff}g (x) => (y) { y = Abs(x) }"), CLEAN);
    let parsed = parse_model("\u{feff}#@ onnxtxt 1, storage: raw\ng (x) => (y) { y = Abs(x) }");
    assert!(parsed.value.annotated.is_some() && parsed.diagnostics.is_empty());
    assert_eq!(parsed.value.tree.graph.expect("a graph").notes.fields().count(), 1);
}

#[test]
fn annotations_of_another_version_are_not_guessed_at() {
    assert_eq!(findings("#@ onnxtxt 2\ng (x) => (y) { y = Abs(x) }"), ["1:1: unknown annotation version"]);
}

#[test]
fn a_nested_graph_may_have_initialized_inputs() {
    assert_eq!(
        body("y = If(c) <then_branch = g (float x = {nan}, float[0] z = {}) => (p) { p = Abs(x) }>"),
        CLEAN
    );
    assert_eq!(body("y = Op <t = int8[1] {int32_data: [300]}> (x)"), CLEAN);
}

#[test]
fn the_rest_of_the_first_line_is_read() {
    let parsed = parse_model("#@ onnxtxt 1 # why\ng (x) => (y) { y = Abs(x) }");
    assert_eq!((parsed.value.comments.len(), parsed.diagnostics.len()), (1, 0));
    assert_eq!(findings("#@ onnxtxt 1 )\ng (x) => (y) { y = Abs(x) }").len(), 1);
}

#[test]
fn a_hopeless_text_is_given_up() {
    let source = format!("g (x) => (y) {{\n{}}}", "y Relu(x\n".repeat(90) + &"y = Relu(x y)\n".repeat(5000));
    let found = findings_of(&source);
    assert_eq!(found.len(), crate::MAX_FINDINGS + 1);
    assert!(found[crate::MAX_FINDINGS].contains("more than 1000 mistakes"), "{}", found[crate::MAX_FINDINGS]);
}

fn findings_of(source: &str) -> Vec<String> {
    parse_model(source).diagnostics.into_iter().map(|d| d.message).collect()
}
