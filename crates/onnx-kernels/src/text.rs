//! String kernels: StringConcat, StringSplit, StringNormalizer; and Cast and CastLike from and to strings.

use crate::broadcast::Broadcast;
use crate::value::Value;
use crate::{Attributes, Call, Nodes, Row, row};
use onnx_formula::Number;
use onnx_ir::ElemType;
use onnx_loops::budget;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, Strings};
use onnx_loops::tensor::{Tensor, count_of};

pub(crate) const ROWS: &[Row] = &[
    row("", "Cast", cast).only(Nodes::Strings),
    row("", "CastLike", cast_like).only(Nodes::Strings),
    row("", "StringConcat", concat),
    row("", "StringNormalizer", normalize),
    row("", "StringSplit", split),
];

/// The target type in the attribute of a node; its name in the first version.
pub(crate) fn target(attrs: &Attributes<'_>) -> Option<ElemType> {
    attrs.elem("to").or_else(|| ElemType::from_name(&attrs.string("to")?.to_ascii_lowercase()))
}

fn cast(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    match target(&call.attrs) {
        Some(to) => Ok(vec![converted(call.tensor(0)?, to)?.into()]),
        None => fail!("attribute `to` is not an element type"),
    }
}

fn cast_like(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    Ok(vec![converted(call.tensor(0)?, call.tensor(1)?.elem())?.into()])
}

/// Converts from or to strings.
fn converted(x: &Tensor, to: ElemType) -> Result<Tensor, Failure> {
    if to == ElemType::STRING { to_text(x) } else { from_text(x, to) }
}

fn concat(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let shape = Broadcast::of(a, b)?;
    let count = call.has_room(ElemType::STRING, &shape.dims)?;
    let (left, right) = (a.string_slice()?, b.string_slice()?);
    let mut joined = Strings::with_room(count)?;
    for at in 0..count {
        let (left, right) = (&left[shape.place(a, at)], &right[shape.place(b, at)]);
        budget::has_room(left.len().saturating_add(right.len()))?;
        joined.push([&left[..], right].concat())?;
    }
    Ok(vec![Tensor::of_texts(&shape.dims, joined)?.into()])
}

/// Whether a character separates words by default.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The words of a text; after `most` splits the last one is the rest of the text.
fn words(text: &str, most: usize) -> Result<List<&str>, Failure> {
    let mut words = List::new();
    // Surrounding white space belongs to no word, nor to the rest.
    let mut rest = text.trim_matches(is_space);
    while !rest.is_empty() {
        let end = rest.find(is_space).filter(|_| words.len() < most).unwrap_or(rest.len());
        words.push(&rest[..end])?;
        rest = rest[end..].trim_start_matches(is_space);
    }
    Ok(words)
}

/// The parts of each element along a new last axis, padded with empty strings, and their numbers.
fn split(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let delimiter = call.attrs.string("delimiter").unwrap_or_default();
    // A missing or negative limit means no limit.
    let most = call.attrs.int("maxsplit").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let parts: List<List<&str>> = x
        .string_slice()?
        .iter()
        .map(|text| match &delimiter[..] {
            "" => words(text, most),
            delimiter => text.splitn(most.saturating_add(1), delimiter).listed(),
        })
        .try_listed()?;
    let widest = parts.iter().map(|own| own.len()).max().unwrap_or(0);
    let dims = [x.dims(), &[widest]].concat();
    let count = call.has_room(ElemType::STRING, &dims)?;
    let mut strings = Strings::with_room(count)?;
    for own in &parts {
        own.iter().try_for_each(|part| strings.push_copy(part))?;
        (own.len()..widest).try_for_each(|_| strings.push_copy(""))?;
    }
    let counts = parts.iter().map(|own| i64::try_from(own.len()).unwrap_or(i64::MAX)).listed()?;
    Ok(vec![Tensor::of_texts(&dims, strings)?.into(), Tensor::of(x.dims(), &counts)?.into()])
}

/// The most bytes that a byte can become in another case.
const MAX_CASED: usize = 3;

/// Removes stop words and changes the case. An empty result becomes an empty string.
fn normalize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let row: &[usize] = match x.dims() {
        [_] => &[],
        [1, _] => &[1],
        dims => fail!("strings of shape [C] or [1,C] are expected, these are of shape {dims:?}"),
    };
    let is_sensitive = call.attrs.flag("is_case_sensitive");
    let folded = |text: &str| if is_sensitive { text.to_owned() } else { text.to_lowercase() };
    let stop_words: Vec<String> =
        call.attrs.strings("stopwords").unwrap_or_default().iter().map(|word| folded(word)).collect();
    let stop_words: foldhash::HashSet<String> = stop_words.into_iter().collect();
    let change: fn(&str) -> String = match &call.attrs.string("case_change_action").unwrap_or_default()[..] {
        "LOWER" => str::to_lowercase,
        "UPPER" => str::to_uppercase,
        "NONE" | "" => str::to_owned,
        other => fail!("`case_change_action` is `{other}`, not LOWER, UPPER or NONE"),
    };
    let kept = x.string_slice()?.iter().filter(|text| !stop_words.contains(&folded(text)));
    let mut strings = Strings::with_room(0)?;
    for text in kept {
        budget::has_room(text.len().saturating_mul(MAX_CASED))?;
        strings.push(change(text))?;
    }
    if strings.is_empty() {
        strings.push(String::new())?;
    }
    Ok(vec![Tensor::of_texts(&[row, &[strings.len()]].concat(), strings)?.into()])
}

/// Numbers as strings: integers in decimal, floats with the fewest digits that are unique in their type (`3.14`, `100.0`,
/// `1e-05`, `nan`, `inf`), booleans as `True` and `False`.
pub(crate) fn to_text(numbers: &Tensor) -> Result<Tensor, Failure> {
    use ElemType as E;
    if numbers.is_strings() {
        return Ok(numbers.clone());
    }
    let strings = match numbers.elem() {
        E::BOOL => {
            let name = |&x: &u8| if x == 0 { "False" } else { "True" };
            Strings::all(numbers.words::<u8>().iter().map(name))?
        }
        E::FLOAT => Strings::all(numbers.words::<f32>().iter().map(|&x| shortest(x, format!("{x:e}"))))?,
        E::DOUBLE => Strings::all(numbers.words::<f64>().iter().map(|&x| shortest(x, format!("{x:e}"))))?,
        E::FLOAT16 | E::BFLOAT16 => narrow(numbers, |x| Number::Float(x).wrap(numbers.elem()).as_float())?,
        // Types with few digits print all of them.
        E::FLOAT8E4M3FN
        | E::FLOAT8E4M3FNUZ
        | E::FLOAT8E5M2
        | E::FLOAT8E5M2FNUZ
        | E::FLOAT8E8M0
        | E::FLOAT6E2M3
        | E::FLOAT6E3M2
        | E::FLOAT4E2M1 => {
            let text = |x: f64| shortest(x, format!("{:e}", x as f32));
            Strings::all(numbers.floats()?.into_iter().map(text))?
        }
        E::UINT64 => Strings::all(numbers.words::<u64>().iter().map(u64::to_string))?,
        _ => Strings::all(numbers.ints()?.iter().map(i64::to_string))?,
    };
    Tensor::of_texts(numbers.dims(), strings)
}

/// Floats of narrow types, with their rounding.
fn narrow(numbers: &Tensor, round: impl Fn(f64) -> f64) -> Result<Strings, Failure> {
    let text = |x: f64| {
        let tries = (0..17).map(|digits| format!("{x:.digits$e}"));
        let mut exact = tries.filter(|text| text.parse().is_ok_and(|back: f64| round(back) == x));
        shortest(x, exact.next().unwrap_or_else(|| format!("{x:e}")))
    };
    Strings::all(numbers.floats()?.into_iter().map(text))
}

/// Formats a number from its digits `d.ddde-x`, with an exponent only for very large or small numbers.
fn shortest(x: impl Into<f64>, digits: String) -> String {
    let x: f64 = x.into();
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let mut all: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let whole = usize::try_from(exponent + 1).unwrap_or(0);
    if exponent < 0 {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("{sign}0.{}{all}", "0".repeat(zeros));
    }
    while all.len() <= whole {
        all.push('0');
    }
    format!("{sign}{}.{}", &all[..whole], &all[whole..])
}

/// Strings as numbers: decimal or scientific, `inf` and `nan` in any case. The fraction is dropped for integers.
pub(crate) fn from_text(strings: &Tensor, elem: ElemType) -> Result<Tensor, Failure> {
    if elem == ElemType::STRING {
        return Ok(strings.clone());
    }
    let texts = strings.string_slice()?;
    let name = elem.name().unwrap_or("?");
    if is_integer(elem) {
        let mut numbers = Tensor::zeros(elem, strings.dims())?;
        let width = numbers.bytes().len().checked_div(texts.len()).unwrap_or(0);
        for (text, to) in texts.iter().zip(numbers.bytes_mut()?.chunks_exact_mut(width.max(1))) {
            let Some(bytes) = integer(text).and_then(|n| in_range(n, elem)) else {
                fail!("{text:?} is not a valid {name}");
            };
            to.copy_from_slice(&bytes[..width]);
        }
        return Ok(numbers);
    }
    count_of(strings.dims())?;
    let number = |text: &String| {
        let text = text.trim();
        let truth = |text: &str| match &text.to_ascii_lowercase()[..] {
            "true" if elem == ElemType::BOOL => Some(1.0),
            "false" if elem == ElemType::BOOL => Some(0.0),
            _ => None,
        };
        let read = text.parse().ok().or_else(|| truth(text));
        read.ok_or_else(|| Failure::new(format!("{text:?} is not a valid {name}")))
    };
    let numbers = texts.iter().map(number).try_listed()?;
    Tensor::of_floats(elem, strings.dims(), &numbers)
}

fn is_integer(elem: ElemType) -> bool {
    range(elem).is_some()
}

/// The least and greatest integer of a type.
fn range(elem: ElemType) -> Option<(i128, i128)> {
    use ElemType as E;
    let bits = elem.bits()?;
    match elem {
        E::INT64 | E::INT32 | E::INT16 | E::INT8 | E::INT4 | E::INT2 => {
            Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
        }
        E::UINT64 | E::UINT32 | E::UINT16 | E::UINT8 | E::UINT4 | E::UINT2 => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

fn integer(text: &str) -> Option<i128> {
    let text = text.trim();
    let truncated = || text.parse().ok().filter(|x: &f64| x.is_finite()).map(|x| x as i128);
    text.parse().ok().or_else(truncated)
}

/// The little-endian bytes of an integer, if it is in the range of its type.
fn in_range(n: i128, elem: ElemType) -> Option<[u8; 16]> {
    let (least, greatest) = range(elem)?;
    (least..=greatest).contains(&n).then(|| n.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_text_that_reads_back() {
        let text = |t: Tensor| to_text(&t).expect("numbers").string_slice().expect("strings").to_vec();
        let floats = [2.75f32, 100.0, 1e-5, -0.0, f32::NAN, f32::NEG_INFINITY, 1e16, 123_456_790.0, 0.0005];
        let expected = ["2.75", "100.0", "1e-05", "-0.0", "nan", "-inf", "1e+16", "123456790.0", "0.0005"];
        assert_eq!(text(Tensor::of(&[9], &floats).expect("nine")), expected);
        let halves = [half::f16::from_f32(0.1), half::f16::from_f32(65504.0)];
        assert_eq!(text(Tensor::of(&[2], &halves).expect("two")), ["0.1", "65500.0"]);
        let bytes = Tensor::of_floats(ElemType::FLOAT8E4M3FN, &[3], &[0.0625, -1.25, 240.0]).expect("three");
        assert_eq!(text(bytes), ["0.0625", "-1.25", "240.0"]);
        assert_eq!(text(Tensor::of_bools(&[1], [true]).expect("one")), ["True"]);
    }

    #[test]
    fn text_becomes_numbers() {
        let from = |texts: &[&str], elem| {
            let strings = texts.iter().map(|&s| s.to_owned()).collect();
            from_text(&Tensor::of_strings(&[texts.len()], strings).expect("strings"), elem)
        };
        let floats = from(&["3.5", "1E3", "-INF", "NaN"], ElemType::FLOAT).expect("floats");
        assert_eq!(floats.slice::<f32>().expect("floats")[..3], [3.5, 1000.0, f32::NEG_INFINITY]);
        let ints = from(&["100.5", " -7 "], ElemType::INT8).expect("integers");
        assert_eq!(ints.slice::<i8>().expect("int8"), [100, -7]);
        let huge = from(&["18446744073709551615"], ElemType::UINT64).expect("integers");
        assert_eq!(huge.slice::<u64>().expect("uint64"), [u64::MAX]);
        assert!(from(&["128"], ElemType::INT8).is_err());
        assert!(from(&["Hello World!"], ElemType::FLOAT).is_err());
    }

    #[test]
    fn words_are_what_white_space_separates() {
        let words = |text, most| words(text, most).expect("few");
        assert_eq!(words("  a b  c ", usize::MAX)[..], ["a", "b", "c"]);
        assert_eq!(words("  a b  c ", 1)[..], ["a", "b  c"]);
        assert!(words(" ", 3).is_empty());
    }
}
