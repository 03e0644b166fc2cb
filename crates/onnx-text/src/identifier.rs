//! Names as the text spells them.

/// Whether a name needs no quotes.
pub(crate) fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|b| !b.is_ascii_digit())
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A name in text: quoted if it is not an identifier.
pub(crate) fn name_text(name: &str) -> String {
    if is_identifier(name) {
        return name.to_owned();
    }
    let mut out = String::with_capacity(name.len() + 2);
    quote(name, &mut out);
    out
}

/// Appends a string as the reference reads it: a backslash protects quotes and backslashes, everything else is itself.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push('\\');
        out.push_str(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}
