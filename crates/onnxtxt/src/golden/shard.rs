//! Shares of a list of tests, so that several machines run each test once.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The largest number of shares.
const MAX_SHARES: usize = 1 << 20;

/// One of several shares of a list: `2/4` is the second of four.
///
/// Machines with the same list divide it without a word to each other: item `i` belongs to share `i % 4 + 1`. A share may be empty.
///
/// ```
/// use onnxtxt::golden::Shard;
///
/// let second: Shard = "2/4".parse()?;
/// assert_eq!(second.of((0..10).collect()), [1, 5, 9]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// From 0 on.
    index: usize,
    count: usize,
}

impl Shard {
    /// The items of this share, in order.
    #[must_use]
    pub fn of<T>(self, items: Vec<T>) -> Vec<T> {
        items.into_iter().skip(self.index).step_by(self.count).collect()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parsed = text.split_once('/').and_then(|(index, count)| {
            let count = count.parse().ok().filter(|count| (1..=MAX_SHARES).contains(count))?;
            let index = index.parse().ok().filter(|index| (1..=count).contains(index))?;
            Some(Shard { index: index - 1, count })
        });
        parsed.ok_or_else(|| {
            format!("`{text}` is not a share: expected I/N with I from 1 to N, and N at most {MAX_SHARES}")
        })
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_in_one_share() {
        for count in 1..9 {
            for len in 0..20 {
                let share = |index: usize| Shard { index, count }.of((0..len).collect());
                let shares: Vec<Vec<usize>> = (0..count).map(share).collect();
                let sizes = shares.iter().map(Vec::len);
                assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{shares:?}");
                let mut all = shares.concat();
                all.sort_unstable();
                assert_eq!(all, (0..len).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn shares_are_parsed_and_shown() {
        for good in ["1/1", "2/4", "4/4", "1048576/1048576"] {
            assert_eq!(good.parse::<Shard>().map(|shard| shard.to_string()), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "1",
            "/",
            "0/2",
            "3/2",
            "1/0",
            "-1/2",
            "1/2/3",
            "a/2",
            " 1/2",
            "1/1048577",
            "1/99999999999999999999",
        ] {
            let why = bad.parse::<Shard>().unwrap_err();
            assert!(why.starts_with(&format!("`{bad}` is not a share: expected I/N")), "{why}");
        }
    }
}
