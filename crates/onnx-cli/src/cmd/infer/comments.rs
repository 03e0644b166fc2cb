//! `infer --comments`: the text with the types of results at the ends of lines.
//!
//! ```text
//! y = Reshape(x, s)  #: float[N,4]
//! ```
//! A comment that begins with `#:` is one of these and is replaced the next time; other comments stay before it.

use onnx_ops::infer::{Facts, Ty};
use onnx_text::{NodeAt, SourceMap, TextToken, TokenClass, text_tokens};
use onnxtxt::Loaded;
use std::collections::BTreeMap;
use std::ops::Range;

/// Begins a comment with types.
const MARK: &str = "#:";

/// The text that a model was read from, with comments; `None` if it was not read from text.
pub(super) fn commented(loaded: &Loaded, facts: &mut Facts) -> Option<String> {
    let (text, tree) = (loaded.file().text(), &loaded.syntax()?.tree);
    let map = SourceMap::new(text, tree, &loaded.model);
    let tokens = text_tokens(text);
    let mut lines: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
    for statement in tree.statements() {
        let Some(last) = statement.outputs.last() else { continue };
        let Some(NodeAt { body, id, .. }) = map.node_at(statement.span.start) else { continue };
        let Some(end) = line_end(text, &tokens, last.end as usize) else { continue };
        for value in loaded.model.bodies[body].nodes[id].outputs.iter().flatten() {
            let fact = facts.resolved(body, *value);
            if fact.ty != Ty::Unknown {
                let name = loaded.model.names[loaded.model.bodies[body].values[*value].name].to_owned();
                lines.entry(end).or_default().push((name, fact.ty.text(&facts.dims)));
            }
        }
    }
    let mut out = String::with_capacity(text.len() + 32 * lines.len());
    let mut written = 0;
    for (end, results) in lines {
        let keep = kept(text, &tokens, end);
        out.push_str(&text[written..keep.start]);
        let types: Vec<String> = match &results[..] {
            [(_, ty)] => vec![ty.clone()],
            results => results.iter().map(|(name, ty)| format!("{name} {ty}")).collect(),
        };
        out.push_str(&format!("  {MARK} {}", types.join(", ")));
        written = keep.end;
    }
    out.push_str(&text[written..]);
    Some(out)
}

/// The end of the line with a place, or of the first line after it that no string or list crosses. `None` if an annotation is there.
fn line_end(text: &str, tokens: &[TextToken], from: usize) -> Option<usize> {
    let mut end = from;
    loop {
        end += text[end..].find('\n').unwrap_or(text.len() - end);
        let next = tokens.partition_point(|token| (token.span.end as usize) <= end);
        match tokens.get(next).filter(|token| (token.span.start as usize) < end) {
            Some(token) => end = token.span.end as usize,
            None => break,
        }
    }
    let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
    let on_line = tokens[..tokens.partition_point(|token| (token.span.start as usize) < end)].iter().rev();
    let mut on_line = on_line.take_while(|token| token.span.end as usize > line);
    let is_note =
        |token: &TextToken| matches!(token.class, TokenClass::Annotation | TokenClass::Documentation);
    (!on_line.any(is_note)).then_some(end)
}

/// The text that the types replace at the end of a line: white space, and the types of the last time.
fn kept(text: &str, tokens: &[TextToken], end: usize) -> Range<usize> {
    let last = tokens.partition_point(|token| (token.span.start as usize) < end).checked_sub(1);
    let comment = last.map(|at| tokens[at]).filter(|token| token.class == TokenClass::Comment);
    let comment = comment.map(|token| token.span.range()).filter(|range| range.end <= end);
    let old = comment.and_then(|range| text.get(range.clone())?.rfind(MARK).map(|at| range.start + at));
    let start = text[..old.unwrap_or(end)].trim_end_matches([' ', '\t', '\r']).len();
    let is_windows = text[..end].ends_with('\r');
    start..if is_windows { end - 1 } else { end }
}
