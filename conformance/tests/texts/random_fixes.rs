//! Safe fixes: valid texts of the suite and examples of operators with one random mistake. The safe fixes of `check --fix` must
//! restore the model or leave a finding; never produce a clean text of another model.
//!
//! Undetectable mistakes (another number, another name of the text) do not count: only texts with a fixed finding do.
//!
//! `ONNXTXT_FIXES=N` draws N times as many mistakes.

use conformance::corpus::in_parallel;
use conformance::random::Random;
use conformance::texts::small_texts;
use conformance::trial::encoded;
use onnx_ir::diag::{Diagnostic, Level, Parsed, Place, code};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::schema::Registry;
use onnx_text::{Checked, Fixes, apply_fixes};
use std::fs;
use std::path::Path;

/// Mistakes that are made in each text.
const MISTAKES: u64 = 12;

#[test]
fn safe_fixes_restore_the_model_or_leave_a_finding() {
    let times = std::env::var("ONNXTXT_FIXES").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let texts = small_texts();
    let tried: Vec<(u64, Vec<String>)> = in_parallel(&texts, |path| text(path, MISTAKES * times));
    let fixed: u64 = tried.iter().map(|(fixed, _)| fixed).sum();
    let wrong: Vec<&String> = tried.iter().flat_map(|(_, wrong)| wrong).collect();
    let some: Vec<&str> = wrong.iter().take(8).map(|text| text.as_str()).collect();
    assert!(some.is_empty(), "{} models were changed:\n{}", wrong.len(), some.join("\n"));
    // The property says nothing where nothing is fixed.
    assert!(fixed > 100, "only {fixed} of the texts were fixed");
}

/// A text, checked with types.
fn judged(text: &str) -> Parsed<Checked> {
    let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
    let judge = |model: &Model| onnx_ops::check::check(model, Registry::builtin(), &options);
    onnx_text::check_with(text, Level::Types, judge)
}

/// How many mistakes in a text were fixed, and those that became something else.
fn text(path: &Path, mistakes: u64) -> (u64, Vec<String>) {
    let (mut fixed, mut wrong) = (0, Vec::new());
    let Ok(original) = fs::read_to_string(path) else { return (fixed, wrong) };
    let read = judged(&original);
    if read.value.model.main.is_none() || !read.diagnostics.is_empty() {
        return (fixed, wrong);
    }
    let meant = encoded(&read.value.model);
    let mut random = Random::of_file(path, 0);
    for _ in 0..mistakes {
        let mistaken = mistake(&original, &mut random);
        let result = apply_fixes(&mistaken, Fixes::Safe, judged);
        if result.fixed == 0 {
            continue;
        }
        fixed += 1;
        let after = judged(&result.text);
        if after.diagnostics.is_empty()
            && encoded(&after.value.model) != meant
            && !(is_quoted(&mistaken, &result.text) && is_another_name(&original, &result.text))
        {
            wrong.push(format!("{}\n{mistaken}\n── became ──\n{}", path.display(), result.text));
        }
    }
    (fixed, wrong)
}

/// How often something foreign is put into each text.
const SNIPPETS: usize = 4;

/// Statements of other languages and notations.
const FOREIGN: &[&str] = &[
    "If(c) { a = Relu(x) } else { b = Neg(x) }",
    "z = If(c) { a = Relu(x) } else { b = Neg(x) }",
    "z = If(c) {\n a = Relu(x)\n} else {\n b = Neg(x)\n}",
    "z = If(c) { a = Relu(x) }",
    "if (c) { z = Relu(x) }",
    "for i in range(3) { z = Relu(x) }",
    "for (int i = 0; i < 3; i++) { z = Relu(x); }",
    "while (c) { z = Relu(x); }",
    "z = Loop(n, c) { body: z = Relu(x) }",
    "let z = Relu(x);",
    "z := Relu(x)",
    "z = x + x;",
    "z = c ? Relu(x) : Neg(x)",
    "z = [Relu(v) for v in x]",
    "z = Relu(x)[0]",
    "z = x.relu()",
    "%z = \"onnx.Relu\"(%x) {alpha = 1.0 : f32} : (tensor<2xf32>) -> tensor<2xf32>",
    "z = Gemm(x, w, alpha=1.0, transB=1)",
    "def f(x): return Relu(x)",
    "z = lambda x: Relu(x)",
    "z = Cast(x, to: \"float\")",
    "z = Conv { kernel_shape: [3, 3], pads: [1, 1, 1, 1] } (x, w)",
    "node { input: 'x' output: 'z' op_type: 'Relu' }",
    "{ \"op_type\": \"Relu\", \"input\": [\"x\"] }",
    "z: float[2] = Relu(x)",
    "return z;",
];

/// Whether the parser made nothing of it, and knows of no fix.
fn is_not_understood(finding: &Diagnostic) -> bool {
    let codes = [
        &code::UNEXPECTED_TOKEN,
        &code::MISSING_PUNCTUATION,
        &code::STRAY_PUNCTUATION,
        &code::UNCLOSED_BRACKET,
        &code::CUT_OFF,
        &code::STRAY_CHARACTER,
        &code::FOREIGN_SPELLING,
    ];
    codes.contains(&finding.code) && finding.fixes.is_empty()
}

/// The lines of a span, counted from 0.
fn lines(text: &str, start: usize, end: usize) -> std::ops::RangeInclusive<usize> {
    let line = |at: usize| text.get(..at).map_or(0, |before| before.matches('\n').count());
    line(start)..=line(end)
}

/// The certain fixes in a text after which something in their lines is still not understood.
fn fixes_of_what_is_not_understood(text: &str) -> (usize, Vec<String>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for fix in judged(text).diagnostics.iter().filter_map(|d| Fixes::Safe.of(d)) {
        let (Some(first), Some(last)) = (fix.edits.first(), fix.edits.last()) else { continue };
        let mut changed = text.to_owned();
        for edit in fix.edits.iter().rev() {
            changed.replace_range(edit.span.range(), &edit.text);
        }
        tried += 1;
        let end = (last.span.end as usize + changed.len()).saturating_sub(text.len());
        let touched = lines(&changed, first.span.start as usize, end);
        let at = |d: &Diagnostic| match d.primary.place {
            Place::Source(span) => lines(&changed, span.start as usize, span.start as usize).next(),
            Place::Entity(_) | Place::Nowhere => None,
        };
        let after = judged(&changed).diagnostics;
        let left =
            after.iter().find(|d| is_not_understood(d) && at(d).is_some_and(|at| touched.contains(&at)));
        if let Some(left) = left {
            wrong.push(format!("{text}\n── {} ──\n{changed}\n── {left}", fix.title));
        }
    }
    (tried, wrong)
}

#[test]
fn nothing_is_fixed_within_what_is_not_understood() {
    let texts = small_texts();
    let tried: Vec<(usize, Vec<String>)> = in_parallel(&texts, |path| {
        let Ok(original) = fs::read_to_string(path) else { return (0, Vec::new()) };
        let ends: Vec<usize> = original.match_indices('\n').map(|(at, _)| at).collect();
        let mut random = Random::new(original.len() as u64);
        let (mut tried, mut wrong) = (0, Vec::new());
        if ends.is_empty() {
            return (tried, wrong);
        }
        for _ in 0..SNIPPETS {
            let foreign = FOREIGN[random.below(FOREIGN.len())];
            let at = ends[random.below(ends.len())];
            let mut text = format!("{}\n{foreign}{}", &original[..at], &original[at..]);
            for _ in 0..random.below(3) {
                text = mistake(&text, &mut random);
            }
            let (fixes, found) = fixes_of_what_is_not_understood(&text);
            tried += fixes;
            wrong.extend(found);
        }
        (tried, wrong)
    });
    let fixes: usize = tried.iter().map(|(fixes, _)| fixes).sum();
    let wrong: Vec<&String> = tried.iter().flat_map(|(_, wrong)| wrong).collect();
    let some: Vec<&str> = wrong.iter().take(6).map(|text| text.as_str()).collect();
    assert!(some.is_empty(), "{} of {fixes} fixes:\n{}", wrong.len(), some.join("\n\n"));
    assert!(fixes > 100, "only {fixes} fixes were tried");
}

/// Whether only quotes were added.
fn is_quoted(mistaken: &str, fixed: &str) -> bool {
    mistaken.replace('"', "") == fixed.replace('"', "")
}

/// Whether a text is the original with one name replaced by another of its names: `t_0` became `t:0`, which is the name of another
/// value and only needs quotes.
fn is_another_name(original: &str, text: &str) -> bool {
    let words = |text| tokens(text).into_iter().map(move |token: std::ops::Range<usize>| &text[token]);
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"');
    let (old, new): (Vec<&str>, Vec<&str>) = (words(original).collect(), words(text).collect());
    let mut changed = old.iter().zip(&new).filter(|(old, new)| old != new);
    old.len() == new.len()
        && changed.next().is_some_and(|(from, to)| is_name(from) && is_name(to) && old.contains(to))
        && changed.next().is_none()
}

/// Words, numbers, strings, and single signs.
fn tokens(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if first == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() && first != '#' {
            tokens.push(at..at + length);
        }
        at += length;
    }
    tokens
}

/// The text with one token lost, doubled, changed or in the way.
fn mistake(text: &str, random: &mut Random) -> String {
    const SIGNS: [&str; 22] = [
        ",", ";", ":", "=", "=>", "->", "'", "\"", "(", ")", "[", "]", "{", "}", "<", ">", "+", "-", ".",
        "_", " ", "/",
    ];
    let tokens = tokens(text);
    let token = tokens[random.below(tokens.len())].clone();
    let sign = SIGNS[random.below(SIGNS.len())];
    let old = &text[token.clone()];
    // Somewhere in the token, or at its ends.
    let chars: Vec<usize> = old.char_indices().map(|(at, _)| token.start + at).chain([token.end]).collect();
    let inside = chars[random.below(chars.len())];
    let replaced = |range: std::ops::Range<usize>, new: &str| {
        format!("{}{new}{}", &text[..range.start], &text[range.end..])
    };
    match random.below(8) {
        0 => replaced(token, ""),
        1 => replaced(token.clone(), &format!("{old} {old}")),
        2 => replaced(token, sign),
        3 => replaced(inside..inside, sign),
        4 => {
            let i = random.below(chars.len() - 1);
            replaced(chars[i]..chars[i + 1], "")
        }
        5 => {
            let i = random.below(chars.len() - 1);
            replaced(chars[i]..chars[i + 1], sign)
        }
        6 => replaced(token.clone(), &format!("'{}'", old.trim_matches('"'))),
        _ => {
            let other = &text[tokens[random.below(tokens.len())].clone()];
            // A changed name is not detectable, even if it is defined later or twice.
            let is_name = |text: &str| text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if is_name(old) && is_name(other) { text.to_owned() } else { replaced(token, other) }
        }
    }
}
