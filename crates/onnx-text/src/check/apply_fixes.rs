//! Applies the fixes of findings to a text.

use onnx_ir::diag::{Diagnostic, Edit, Fix, Parsed, Span};
use std::collections::BTreeMap;

/// Which fixes are applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fixes {
    /// Fixes that certainly keep the intended meaning.
    Safe,
    /// Also fixes that are only likely to be right.
    Unsafe,
}

impl Fixes {
    /// The fix of a finding that would be applied.
    pub fn of(self, diagnostic: &Diagnostic) -> Option<&Fix> {
        diagnostic.fixes.iter().find(|fix| (fix.safe || self == Fixes::Unsafe) && !fix.edits.is_empty())
    }
}

/// Fixing can bring up findings with fixes of their own; more rounds than this are a circle.
const MAX_ROUNDS: usize = 20;

/// A text with fixes applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fixed {
    /// The text.
    pub text: String,
    /// The number of findings that were fixed.
    pub fixed: usize,
}

/// Applies fixes until there are none. `judge` reads and checks a text; a round after which less can be read
/// ([`Parsed::is_partial`]) is undone.
///
/// ```
/// use onnx_text::{Fixes, apply_fixes, check};
///
/// let text = "<ir_version: 10, opset_import: [\"\" 21]>\ng (float[N] x) => (float[N] y) { y = Relu(x) }";
/// let fixed = apply_fixes(text, Fixes::Safe, |text| check(text, &Default::default()));
/// assert!(fixed.text.contains("[\"\": 21]"));
/// ```
#[must_use]
pub fn apply_fixes<T>(source: &str, fixes: Fixes, mut judge: impl FnMut(&str) -> Parsed<T>) -> Fixed {
    let mut result = Fixed { text: source.to_owned(), fixed: 0 };
    let mut judged = judge(source);
    for _ in 0..MAX_ROUNDS {
        let mut requested: Vec<&[Edit]> =
            judged.diagnostics.iter().filter_map(|d| fixes.of(d)).map(|fix| &fix.edits[..]).collect();
        requested.sort_by_key(|edits| edits.first().map(|edit| edit.span));
        let (text, fixed) = apply(&result.text, requested);
        if fixed == 0 {
            break;
        }
        let later = judge(&text);
        if later.is_partial() && !judged.is_partial() {
            break;
        }
        result = Fixed { text, fixed: result.fixed + fixed };
        judged = later;
    }
    result
}

/// The text with every list of edits that touches none before it, and how many those are.
pub(crate) fn apply<'e>(text: &str, fixes: impl IntoIterator<Item = &'e [Edit]>) -> (String, usize) {
    // By start, end, and the order in which they came.
    let mut edits: BTreeMap<(u32, u32, usize), &str> = BTreeMap::new();
    let mut applied = 0;
    for fix in fixes {
        let is_apart = |edit: &Edit| {
            let Span { start, end } = edit.span;
            let before = edits.range(..(start, u32::MAX, 0)).next_back();
            let after = edits.range((start, 0, 0)..).next();
            before.is_none_or(|(&(_, before, _), _)| before < start)
                && after.is_none_or(|(&(after, ..), _)| end < after)
        };
        let is_ascending = fix.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start);
        let is_sound = |edit: &Edit| text.get(edit.span.range()).is_some() && is_apart(edit);
        if !fix.is_empty() && is_ascending && fix.iter().all(is_sound) {
            let keyed = |(i, edit): (usize, &'e Edit)| ((edit.span.start, edit.span.end, i), &*edit.text);
            edits.extend(fix.iter().enumerate().map(keyed));
            applied += 1;
        }
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for ((start, end, _), new) in edits {
        out += &text[at..start as usize];
        out += new;
        at = end as usize;
    }
    out += &text[at..];
    (out, applied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::code;

    fn fix(at: u32, end: u32, text: &str, safe: bool) -> Diagnostic {
        let edit = Edit { span: Span::new(at, end), text: text.to_owned() };
        Diagnostic::new(&code::VALUE_UNDEFINED, Span::new(at, end), "x").fix("x", vec![edit], safe)
    }

    fn once(text: &str, fixes: Fixes, found: &[Diagnostic]) -> (String, usize) {
        let mut rounds = vec![found.to_vec()];
        let result = apply_fixes(text, fixes, |_| Parsed::new((), rounds.pop().unwrap_or_default()));
        (result.text, result.fixed)
    }

    #[test]
    fn fixes_that_do_not_overlap_are_applied() {
        let found = [fix(4, 5, "E", true), fix(0, 1, "A", true), fix(0, 2, "!", true), fix(2, 3, "?", false)];
        assert_eq!(once("abcdef", Fixes::Safe, &found), ("AbcdEf".to_owned(), 2));
        assert_eq!(once("abcdef", Fixes::Unsafe, &found), ("Ab?dEf".to_owned(), 3));
        let found = [fix(3, 3, ",", true), fix(9, 9, ",", true)];
        assert_eq!(once("abc", Fixes::Safe, &found), ("abc,".to_owned(), 1));
        // Two insertions at one place are probably the same one twice.
        let found = [fix(1, 1, ",", true), fix(1, 1, ",", true)];
        assert_eq!(once("ab", Fixes::Safe, &found), ("a,b".to_owned(), 1));
    }

    #[test]
    fn fixes_may_lie_between_the_edits_of_others() {
        let edit = |at, text: &str| Edit { span: Span::new(at, at + 1), text: text.to_owned() };
        let (outer, inner) = ([edit(0, "A"), edit(6, "G")], [edit(2, "C"), edit(4, "E")]);
        assert_eq!(apply("abcdefg", [&outer[..], &inner[..]]), ("AbCdEfG".to_owned(), 2));
        let touching = [edit(2, "C"), edit(5, "F")];
        assert_eq!(apply("abcdefg", [&outer[..], &touching[..]]), ("AbcdefG".to_owned(), 1));
    }

    #[test]
    fn a_fix_that_breaks_the_text_is_taken_back() {
        let judge = |text: &str| {
            let broken = Diagnostic::new(&code::UNEXPECTED_TOKEN, Span::at(0), "x");
            let found = if text == "ab" { vec![fix(0, 1, "(", true)] } else { vec![broken] };
            Parsed::new((), found)
        };
        let result = apply_fixes("ab", Fixes::Safe, judge);
        assert_eq!(result, Fixed { text: "ab".to_owned(), fixed: 0 });
    }
}
