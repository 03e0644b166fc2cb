//! The header of an array: a dictionary as Python writes it, of three entries.
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//! ```
//!
//! Only the literals that NumPy accepts there are read: strings, booleans, and tuples of integers.

use super::Header;
use anyhow::{Context as _, bail, ensure};

/// Parses the text of a header.
pub(super) fn parse(text: &str) -> anyhow::Result<Header> {
    let mut literal = Literal { rest: text.trim_matches(is_blank) };
    let (mut descr, mut is_fortran, mut dims) = (None, None, None);
    literal.expect('{')?;
    while !literal.accept('}') {
        let key = literal.string().context("the header is not a Python dictionary")?;
        literal.expect(':')?;
        let is_twice = match key {
            "descr" => descr.replace(literal.descr()?).is_some(),
            "fortran_order" => is_fortran.replace(literal.boolean()?).is_some(),
            "shape" => dims.replace(literal.tuple()?).is_some(),
            other => bail!("the header has the unknown entry `{other}`"),
        };
        ensure!(!is_twice, "the header has `{key}` twice");
        if !literal.accept(',') {
            literal.expect('}')?;
            break;
        }
    }
    ensure!(literal.rest.is_empty(), "unexpected text after the dictionary of the header");
    let descr = descr.context("the header has no `descr`")?;
    let mut chars = descr.chars();
    let (order, kind) = (chars.next(), chars.next());
    let (Some(order @ ('<' | '>' | '|' | '=')), Some(kind)) = (order, kind) else {
        bail!("unknown element type `{descr}`");
    };
    ensure!(
        kind != 'O',
        "the array holds Python objects, which are not supported: save strings as dtype=str"
    );
    Ok(Header {
        is_big: order == '>',
        kind,
        size: number(chars.as_str()).with_context(|| format!("unknown element type `{descr}`"))?,
        is_fortran: is_fortran.context("the header has no `fortran_order`")?,
        dims: dims.context("the header has no `shape`")?,
    })
}

/// The rest of a header.
struct Literal<'t> {
    rest: &'t str,
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\r' | '\t')
}

/// Digits only: `parse` would accept a sign.
fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl<'t> Literal<'t> {
    fn accept(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start_matches(is_blank);
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, c: char) -> anyhow::Result<()> {
        ensure!(self.accept(c), "the header is not a Python dictionary: expected `{c}`");
        Ok(())
    }

    /// A string without escapes, which names of types and entries never have.
    fn string(&mut self) -> Option<&'t str> {
        let quote = ['\'', '"'].into_iter().find(|quote| self.accept(*quote))?;
        let (text, rest) = self.rest.split_once(quote)?;
        self.rest = rest;
        (!text.contains('\\')).then_some(text)
    }

    fn descr(&mut self) -> anyhow::Result<&'t str> {
        ensure!(
            !self.rest.trim_start_matches(is_blank).starts_with('['),
            "arrays of records are not supported"
        );
        self.string().context("`descr` is not a string")
    }

    fn boolean(&mut self) -> anyhow::Result<bool> {
        self.rest = self.rest.trim_start_matches(is_blank);
        for (name, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(name)
                && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            {
                self.rest = rest;
                return Ok(value);
            }
        }
        bail!("`fortran_order` must be True or False")
    }

    /// The dimensions; a single one is followed by a comma. Python 2 wrote `2L`.
    fn tuple(&mut self) -> anyhow::Result<Vec<usize>> {
        let wrong = "`shape` is not a tuple of integers";
        ensure!(self.accept('('), wrong);
        let mut extents = Vec::new();
        while !self.accept(')') {
            self.rest = self.rest.trim_start_matches(is_blank);
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            extents.push(number(digits).context(wrong)?);
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(',') {
                ensure!(extents.len() > 1 && self.accept(')'), wrong);
                break;
            }
        }
        Ok(extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_writers_are_read() {
        for (text, is_fortran, dims) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", false, &[2, 3][..]),
            ("{\"shape\": (7L,), \"descr\": \"<f4\", \"fortran_order\": True}", true, &[7]),
            ("{'descr':'<f4','fortran_order':False,'shape':()}", false, &[]),
        ] {
            let header = parse(text).unwrap();
            assert_eq!((header.is_fortran, &header.dims[..]), (is_fortran, dims), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_literal_of_python_is_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
            "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (2,)}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': [2]}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}",
            "xx'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
            "{'descr': '<f+4', 'fortran_order': False, 'shape': (2,)}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
