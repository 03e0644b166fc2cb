//! `NAME=FILE` on the command line. A name may contain `=` itself, as in `-i x=1=x.npy` for the input `x=1`.

/// Splits an argument at the `=` after the longest name that is known, or else at the first one.
///
/// A file whose name could belong to the name is given as a path: `x=./1=x.npy`.
pub(crate) fn split(given: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let at = |at: usize| (&given[..at], &given[at + 1..]);
    let mut ends = given.rmatch_indices('=').map(|(end, _)| at(end));
    ends.find(|(name, _)| is_known(name)).or_else(|| given.find('=').map(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_known_name_counts() {
        let known = |name: &str| ["x", "x=1", "=", ""].contains(&name);
        for (given, expected) in [
            ("x=f.npy", Some(("x", "f.npy"))),
            ("x=1=f.npy", Some(("x=1", "f.npy"))),
            ("x=./1=f.npy", Some(("x", "./1=f.npy"))),
            ("x=1=./a=b.npy", Some(("x=1", "./a=b.npy"))),
            ("==f.npy", Some(("=", "f.npy"))),
            ("=f.npy", Some(("", "f.npy"))),
            ("z=a=f.npy", Some(("z", "a=f.npy"))),
            ("f.npy", None),
        ] {
            assert_eq!(split(given, known), expected, "{given}");
        }
    }
}
