//! The Tokenizer of com.microsoft: splits strings into words or characters.
//!
//! Words are consecutive matches of a pattern, or the text between the matches of several patterns, each of which divides what
//! the previous ones left. If a pattern can match in several ways, the library takes the first, not the longest.

use crate::value::Value;
use crate::{Call, Row, pattern, row};
use onnx_ir::ElemType;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, Strings, filled};
use onnx_loops::tensor::Tensor;
use regex::bytes::Regex;

pub(crate) const ROWS: &[Row] = &[row("com.microsoft", "Tokenizer", tokenize)];

/// The mode of splitting.
enum SplitMode {
    Characters,
    Between(Vec<Regex>),
    Matches(Regex),
}

impl SplitMode {
    fn of(call: &Call<'_>) -> Result<SplitMode, Failure> {
        let separators = call.attrs.strings("separators").filter(|all| !all.is_empty());
        match (separators, call.attrs.string("tokenexp")) {
            (Some(_), Some(_)) => fail!("there are both `separators` and `tokenexp`"),
            (Some(all), None) if all == [""] => Ok(SplitMode::Characters),
            (Some(all), None) => Ok(SplitMode::Between(
                all.iter().map(|text| pattern::compiled(text)).collect::<Result<_, _>>()?,
            )),
            (None, Some(text)) => Ok(SplitMode::Matches(pattern::compiled(&text)?)),
            (None, None) => fail!("there are neither `separators` nor `tokenexp`"),
        }
    }

    /// The parts of a text, possibly empty.
    fn parts<'t>(&self, text: &'t str) -> Result<List<&'t str>, Failure> {
        // A pattern may match a single byte.
        let part = |start: usize, end: usize| match text.get(start..end) {
            Some(part) => Ok(part),
            None => fail!("a pattern divides a character of {text:?}"),
        };
        match self {
            SplitMode::Characters => {
                text.char_indices().map(|(at, c)| part(at, at + c.len_utf8())).try_listed()
            }
            SplitMode::Matches(regex) => {
                regex.find_iter(text.as_bytes()).map(|found| part(found.start(), found.end())).try_listed()
            }
            SplitMode::Between(separators) => {
                let mut parts = filled(1, (0, text.len()))?;
                for separator in separators {
                    let mut finer = List::with_room(parts.len())?;
                    for (start, end) in parts {
                        let mut from = start;
                        for found in separator.find_iter(&text.as_bytes()[start..end]) {
                            finer.push((from, start + found.start()))?;
                            from = start + found.end();
                        }
                        finer.push((from, end))?;
                    }
                    parts = finer;
                }
                parts.into_iter().map(|(start, end)| part(start, end)).try_listed()
            }
        }
    }
}

fn tokenize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    if !matches!(x.rank(), 1 | 2) {
        fail!("strings of shape [C] or [N,C] are expected, these are of shape {:?}", x.dims());
    }
    if x.is_empty() {
        let dims: &[usize] = if x.rank() == 1 { &[0] } else { &[x.dims()[0], 0] };
        return Ok(vec![Tensor::of_strings(dims, Vec::new())?.into()]);
    }
    let mode = SplitMode::of(call)?;
    let least = usize::try_from(call.attrs.int("mincharnum").unwrap_or(1)).unwrap_or(0).max(1);
    let is_marked = call.attrs.flag("mark");
    let padding = call.attrs.string("pad_value").unwrap_or_default();
    let mut rows = List::with_room(x.len())?;
    for text in x.string_slice()? {
        let mut words = mode.parts(text)?;
        words.retain(|word| word.chars().count() >= least);
        rows.push(words)?;
    }
    let most = rows.iter().map(|words| words.len()).max().unwrap_or(0);
    // Without any words, there are no markers.
    let marks = if is_marked && most > 0 { 2 } else { 0 };
    let dims = [x.dims(), &[most + marks]].concat();
    let mut tokens = Strings::with_room(call.has_room(ElemType::STRING, &dims)?)?;
    for words in rows {
        let end = tokens.len() + most + marks;
        if marks > 0 {
            tokens.push_copy("\u{2}")?;
        }
        words.into_iter().try_for_each(|word| tokens.push_copy(word))?;
        if marks > 0 {
            tokens.push_copy("\u{3}")?;
        }
        (tokens.len()..end).try_for_each(|_| tokens.push_copy(&padding))?;
    }
    Ok(vec![Tensor::of_texts(&dims, tokens)?.into()])
}
