//! One mistake is one finding, where the mistake is: valid texts of the suite and examples of operators, with one mistake of a
//! known kind at a random place.
//!
//! `ONNXTXT_MISTAKES=N` makes N times as many.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::corpus::in_parallel;
use conformance::random::Random;
use conformance::texts::small_texts;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{Diagnostic, Level, Parsed, Place};
use onnx_ops::schema::Registry;
use onnx_text::{Checked, SourceMap};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// A kind of mistake, with the share of its places, in percent, where something else may be reported than one finding at the
/// mistake: what remains of the text may have another meaning that is as likely.
struct Kind {
    name: &'static str,
    make: fn(&str, &[Range<usize>], &mut Random) -> Option<Mistake>,
    tolerated: usize,
}

/// A text with a mistake, and its place there.
struct Mistake {
    text: String,
    at: usize,
}

const KINDS: &[Kind] = &[
    Kind { name: "a closing bracket is missing", make: bracket_lost, tolerated: 5 },
    Kind { name: "a closing bracket is of another kind", make: bracket_changed, tolerated: 5 },
    Kind { name: "the header is not closed", make: header_open, tolerated: 0 },
    Kind { name: "an attribute has no value", make: value_lost, tolerated: 2 },
    Kind { name: "an attribute has neither `=` nor value", make: assignment_lost, tolerated: 2 },
    Kind { name: "an operand is a number", make: literal_operand, tolerated: 2 },
    Kind { name: "a type is behind its name", make: type_behind, tolerated: 2 },
    Kind { name: "a keyword before the graph", make: keyword, tolerated: 0 },
    Kind { name: "a statement `return`", make: return_added, tolerated: 0 },
];

/// Mistakes of each kind in each text.
const MISTAKES: usize = 2;

#[test]
fn one_mistake_is_one_finding_at_its_place() {
    let times: usize = std::env::var("ONNXTXT_MISTAKES").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let texts = small_texts();
    let tried = in_parallel(&texts, |path| text(path, MISTAKES * times));
    let mut wrong = Vec::new();
    for (i, kind) in KINDS.iter().enumerate() {
        let all = tried.iter().flatten().filter(|(at, _)| *at == i);
        let made = all.clone().count();
        let misses: BTreeMap<&String, ()> = all.filter_map(|(_, miss)| Some((miss.as_ref()?, ()))).collect();
        eprintln!("{}: {made} mistakes, {} otherwise", kind.name, misses.len());
        if made < 100 || misses.len() * 100 > made * kind.tolerated {
            let some = misses.keys().take(6).map(|text| text.as_str()).collect::<Vec<_>>().join("\n");
            wrong.push(format!("{}: {} of {made}\n{some}", kind.name, misses.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn judged(text: &str) -> Parsed<Checked> {
    let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
    onnx_text::check_with(text, Level::Types, |model| {
        onnx_ops::check::check(model, Registry::builtin(), &options)
    })
}

/// The kind of each mistake that was made, and what is wrong with its findings.
fn text(path: &Path, mistakes: usize) -> Vec<(usize, Option<String>)> {
    let mut tried = Vec::new();
    let Ok(original) = fs::read_to_string(path) else { return tried };
    let read = judged(&original);
    if read.value.model.main.is_none() || !read.diagnostics.is_empty() {
        return tried;
    }
    let mut random = Random::of_bytes(7, original.as_bytes());
    let tokens = tokens(&original);
    for (i, kind) in KINDS.iter().enumerate() {
        for _ in 0..mistakes {
            let Some(mistake) = (kind.make)(&original, &tokens, &mut random) else { break };
            tried.push((i, miss(&mistake).map(|why| format!("{}: {why}\n{}", path.display(), mistake.text))));
        }
    }
    tried
}

/// The objection to the findings of a mistake, if there is one.
fn miss(mistake: &Mistake) -> Option<String> {
    let Parsed { value, diagnostics } = judged(&mistake.text);
    let map = SourceMap::new(&mistake.text, &value.syntax.tree, &value.model);
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|d| d.is_error()).collect();
    let [one] = errors[..] else {
        return Some(format!("{:?}", errors.iter().map(|d| &d.message).collect::<Vec<_>>()));
    };
    let labels = std::iter::once(&one.primary).chain(&one.related);
    let span = |place| match place {
        Place::Source(span) => Some(span),
        Place::Entity(entity) => map.span(entity),
        Place::Nowhere => None,
    };
    let line = |at: usize| mistake.text[..at].matches('\n').count();
    // A missing part is reported where the text before it ends.
    let wanted = line(mistake.text[..mistake.at].trim_end().len())..=line(mistake.at);
    let is_near = labels
        .filter_map(|label| span(label.place))
        .any(|span| line(span.start as usize) <= *wanted.end() && *wanted.start() <= line(span.end as usize));
    (!is_near).then(|| format!("`{}` is not in line {}", one.message, wanted.end() + 1))
}

/// The tokens of a text, without comments and the first line of annotated texts.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            '=' if rest.starts_with("=>") => 2,
            _ if first.is_alphanumeric() || first == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.')).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        if !first.is_whitespace() && first != '#' {
            tokens.push(at..at + length);
        }
        at += length;
    }
    tokens
}

fn replaced(text: &str, range: Range<usize>, new: &str) -> Mistake {
    Mistake { text: format!("{}{new}{}", &text[..range.start], &text[range.end..]), at: range.start }
}

/// One of the positions at which a pattern of tokens begins.
fn any(tokens: &[Range<usize>], random: &mut Random, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let all: Vec<usize> = (0..tokens.len()).filter(|&i| fits(i)).collect();
    (!all.is_empty()).then(|| all[random.below(all.len())])
}

/// Whether a token is one of some.
fn is(text: &str, tokens: &[Range<usize>], i: usize, some: &[&str]) -> bool {
    tokens.get(i).is_some_and(|token| some.contains(&&text[token.clone()]))
}

fn is_word(text: &str, tokens: &[Range<usize>], i: usize) -> bool {
    tokens
        .get(i)
        .is_some_and(|token| text[token.clone()].starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

fn is_number(text: &str, tokens: &[Range<usize>], i: usize) -> bool {
    tokens.get(i).is_some_and(|token| text[token.clone()].starts_with(|c: char| c.is_ascii_digit()))
}

fn bracket_lost(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    let at = any(tokens, random, |i| is(text, tokens, i, &[")", "]", "}", ">"]))?;
    Some(replaced(text, tokens[at].clone(), ""))
}

fn bracket_changed(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    let at = any(tokens, random, |i| is(text, tokens, i, &[")", "]", "}", ">"]))?;
    let others: Vec<&str> =
        [")", "]", "}", ">"].into_iter().filter(|o| *o != &text[tokens[at].clone()]).collect();
    Some(replaced(text, tokens[at].clone(), others[random.below(others.len())]))
}

fn header_open(text: &str, tokens: &[Range<usize>], _: &mut Random) -> Option<Mistake> {
    let is_header = is(text, tokens, 0, &["<"]);
    let end = (0..tokens.len()).find(|&i| is(text, tokens, i, &[">"])).filter(|_| is_header)?;
    Some(replaced(text, tokens[end].clone(), ""))
}

/// `name = 1` before `,` or `>`: an attribute.
fn attribute(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<usize> {
    any(tokens, random, |i| {
        is_word(text, tokens, i)
            && is(text, tokens, i + 1, &["="])
            && is_number(text, tokens, i + 2)
            && is(text, tokens, i + 3, &[",", ">"])
    })
}

fn value_lost(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    let at = attribute(text, tokens, random)?;
    let glue = if random.below(2) == 0 { tokens[at + 1].end } else { tokens[at + 2].start };
    Some(replaced(text, glue..tokens[at + 2].end, ""))
}

fn assignment_lost(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    let at = attribute(text, tokens, random)?;
    let mut mistake = replaced(text, tokens[at].end..tokens[at + 2].end, "");
    mistake.at = tokens[at].start;
    Some(mistake)
}

fn literal_operand(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    const LITERALS: [&str; 5] = ["1", "-1.5", "[1, 2]", "{3}", "[0.5]"];
    // `= Op(x` or `, x`, followed by `)`: the last operand of a call.
    let at = any(tokens, random, |i| {
        is_word(text, tokens, i)
            && is(text, tokens, i + 1, &[")"])
            && i >= 3
            && is(text, tokens, i - 1, &["("])
            && is_word(text, tokens, i - 2)
            && is(text, tokens, i - 3, &["="])
    })?;
    Some(replaced(text, tokens[at].clone(), LITERALS[random.below(LITERALS.len())]))
}

fn type_behind(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    // `(float[N] x` or `, float[N] x`
    let at = any(tokens, random, |i| {
        is(text, tokens, i, &["float"])
            && is(text, tokens, i + 1, &["["])
            && i > 0
            && is(text, tokens, i - 1, &["(", ","])
    })?;
    let close = (at..tokens.len()).find(|&i| is(text, tokens, i, &["]"]))?;
    if !is_word(text, tokens, close + 1) || !is(text, tokens, close + 2, &[",", ")"]) {
        return None;
    }
    let (ty, name) = (&text[tokens[at].start..tokens[close].end], &text[tokens[close + 1].clone()]);
    Some(replaced(text, tokens[at].start..tokens[close + 1].end, &format!("{name}: {ty}")))
}

fn keyword(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    const WORDS: [&str; 4] = ["graph", "model", "def", "func"];
    let header = (0..tokens.len()).find(|&i| is(text, tokens, i, &[">"]))?;
    let name = header + 1;
    if !is_word(text, tokens, name) || !is(text, tokens, name + 1, &["("]) {
        return None;
    }
    Some(replaced(
        text,
        tokens[name].start..tokens[name].start,
        &format!("{} ", WORDS[random.below(WORDS.len())]),
    ))
}

fn return_added(text: &str, tokens: &[Range<usize>], random: &mut Random) -> Option<Mistake> {
    // The last bracket of a text is that of a body.
    let end = tokens.last().filter(|token| &text[(*token).clone()] == "}")?.start;
    let what = ["return y", "return (y)", "return y, z"][random.below(3)];
    let mut mistake = replaced(text, end..end, &format!("\n  {what}\n"));
    mistake.at += 2;
    Some(mistake)
}
