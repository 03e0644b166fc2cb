//! Invariants of formatting, and the layout of each construct.

mod comments;
mod layout;
mod random;
mod stored;

use super::*;
use crate::lex::{Kind, lex};
use crate::parse_model;

/// A text with every construct, unformatted.
const EVERYTHING: &str = r#"<ir_version: 10, opset_import: ["": 21, "l": 1], producer_name: "p", metadata_props: ["k": "v"]>
g (float[N,"a b",?,3] x, seq(map(int64, float[])) s, optional(float) o, sparse_tensor(float[2]) q,
   opaque(d, n) u, opaque(, "n") v, ? unset, float[2] w = {1, 2}) => (y)
<float[N] t, int64[2] c = {1, -2}, string[2] names = {"a", "b"}, float[1] e = ["location": "w.bin", "offset": "0"],
 int4[3] p = {{1, 2, 3}}, int8[1] r = {int32_data: [300], raw_data: b"\xff"}, elem_type(99)[2] z = {1, nan}>
{
   [node] a, , b = com.acme.Op:v2 <i = 1, f: float = 1, l = [1, 2], r: int = @p, t = float[2] n {1, 2}, u = float[2]> (x, , w)

   [] y = If (c) <then_branch = h () => (z) <float[1] k = {1}> { z = Abs(x) }, else_branch = k => (z) { z = Abs(x) }>
   "/l/T" = Relu("x") z = Neg(z, "")
   y = "my-dom"."aten::add":"v.2" <"a b" = 1, ts = {float[1] {1}, float {2}}, e = [], gs = {h () => (z) { }},
      sp = sparse [3, 4] {values = float[1] {1}, indices = int64[1] {5}}, bad = attribute {type = 1, f = 1.0, i = 2},
      ss = ["a", "b"], s = b"\xff", x = elem_type(99)[2] {1}, ext = float[2] n ["location": "w"]> (x)
}
<domain: "l", opset_import: ["": 21]> f <p, q: float = 1.0> (float[N] a, b) => (c) <float[N] v> { c = Add(a, b) }
k (x) => (y) { y = Abs(x) }
"#;

/// A model with every kind of annotation.
const ANNOTATED: &str = r#"#@ onnxtxt 1
#@ strings: ["a", "b"]
<ir_version: 10>
## The graph.
## It has two lines of documentation.
g (
  #@ doc: "x", denotation: "IMAGE", training_info: {initialization: h () => (z) { z = Abs(x) }}
  float x, y) => (float y) <#@ storage: raw
  float[1] c = {1}> {
  ## First.
  #@ metadata_props: ["a": $0, "b": _, "c": $ 1]
  y = Relu <
  #@ doc: "alpha"
  alpha = 1> (x) # trailing
}
#@ a: 1
## Then a document.
f () => () { }
"#;

/// Formats a text that has no mistakes.
fn fmt_to(width: usize, source: &str) -> String {
    let parsed = parse_model(source);
    assert!(parsed.diagnostics.is_empty(), "{source}\n{:#?}", parsed.diagnostics);
    format(source, &parsed.value, &FormatOptions { width })
}

fn fmt(source: &str) -> String {
    fmt_to(FormatOptions::default().width, source)
}

/// Tokens without insignificant inner white space.
fn tokens(source: &str) -> Vec<(Kind, String)> {
    let spelled = |kind, text: &str| match kind {
        Kind::Numbers | Kind::Ints => text.chars().filter(|c| !c.is_whitespace()).collect(),
        _ => text.to_owned(),
    };
    lex(source).tokens.iter().map(|t| (t.kind, spelled(t.kind, &source[t.span.range()]))).collect()
}

fn comments_of(source: &str) -> Vec<&str> {
    lex(source).comments.iter().map(|c| &source[c.range()]).collect()
}

/// Formats, and checks what formatting must keep.
fn check_to(width: usize, source: &str) -> String {
    let once = fmt_to(width, source);
    let (before, after) = (tokens(source), tokens(&once));
    if before != after {
        let at = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let (before, after) = (before.get(at..at + 4), after.get(at..at + 4));
        panic!("the tokens of\n{source}\nare not those of\n{once}\n{before:?}\n{after:?}");
    }
    assert!(comments_of(source) == comments_of(&once), "the comments of\n{source}\nare not those of\n{once}");
    let twice = fmt_to(width, &once);
    if let Some(line) = once.lines().zip(twice.lines()).position(|(a, b)| a != b) {
        let around =
            |text: &str| text.lines().skip(line.saturating_sub(3)).take(7).collect::<Vec<_>>().join("\n");
        panic!("formatted once:\n{}\nand twice:\n{}\nfrom\n{source}", around(&once), around(&twice));
    }
    assert_eq!(once.len(), twice.len());
    assert!(once.is_empty() || once.ends_with('\n') && !once.ends_with("\n\n"), "{once:?}");
    once
}

fn check(source: &str) -> String {
    check_to(FormatOptions::default().width, source)
}
