//! Sizes and shapes of inputs as arguments: `-D N=4`, `--shape x=1,3,224,224`.

/// Splits `NAME=VALUE` at the last `=`: names of inputs may contain others.
pub(crate) fn pair(text: &str) -> Result<(String, &str), String> {
    let pair = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value)).ok_or_else(|| "expected NAME=VALUE".to_owned())
}

/// The size of a dimension: `N=4`.
pub(crate) fn size(text: &str) -> Result<(String, i64), String> {
    let (name, text) = pair(text)?;
    let size = text.trim().parse::<i64>().ok().filter(|n| *n >= 0);
    Ok((name, size.ok_or_else(|| format!("invalid size `{text}`: expected a non-negative integer"))?))
}

/// The shape of an input, of sizes, symbols and `?`: `x=N,3`. The shape of a scalar is empty.
pub(crate) fn shape(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, text) = pair(text)?;
    if text.trim().is_empty() {
        return Ok((name, Vec::new()));
    }
    let dims: Vec<String> = text.split(',').map(|dim| dim.trim().to_owned()).collect();
    match dims.iter().find(|dim| dim.is_empty() || dim.starts_with('-')) {
        Some(dim) => Err(format!("invalid size `{dim}`: expected a non-negative integer, a symbol or ?")),
        None => Ok((name, dims)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shapes_are_read() {
        assert_eq!(size("N=4"), Ok(("N".to_owned(), 4)));
        assert_eq!(size("a=b= 0"), Ok(("a=b".to_owned(), 0)));
        for wrong in ["N", "=4", "N=", "N=-1", "N=2.5", "N=4x"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        let dims = |text| shape(text).map(|(name, dims)| (name, dims.join(" ")));
        for (text, expected) in [("x=", ""), ("x=1", "1"), ("x=1, N,?", "1 N ?")] {
            assert_eq!(dims(text), Ok(("x".to_owned(), expected.to_owned())), "{text}");
        }
        for wrong in ["x", "=1", "x=1,", "x=,1", "x=-1"] {
            assert!(shape(wrong).is_err(), "{wrong}");
        }
    }
}
