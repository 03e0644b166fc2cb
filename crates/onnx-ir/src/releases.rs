//! Which versions of operator sets and of the format were released together.
//!
//! `cargo xtask codegen` makes the table of `onnx.helper.VERSION_TABLE` and of the newest operators of the package.

#[rustfmt::skip]
mod table;

use crate::model::normalize_domain;
pub use table::{NEWEST, RELEASES};

/// A release of the `onnx` package, with its versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// The version of the package.
    pub package: &'static str,
    /// The IR version.
    pub ir_version: i64,
    /// The version of ai.onnx.
    pub opset: i64,
    /// The version of ai.onnx.ml.
    pub ml: i64,
    /// The version of ai.onnx.training and ai.onnx.preview.training, if there were training operators.
    pub training: Option<i64>,
}

/// The newest known IR version.
pub const NEWEST_IR: i64 = RELEASES[RELEASES.len() - 1].ir_version;

/// The newest version of a built-in domain; `None` for a custom one.
pub fn newest_version(domain: &str) -> Option<i64> {
    let domain = normalize_domain(domain);
    NEWEST.iter().find(|(name, _)| *name == domain).map(|&(_, version)| version)
}

/// The IR version of the first release with this version of a domain, or a later one; at least 3. `None` if no release had it or
/// the domain is not in the table.
pub fn min_ir_version(domain: &str, opset: i64) -> Option<i64> {
    let version: fn(&Release) -> Option<i64> = match normalize_domain(domain) {
        "" => |release| Some(release.opset),
        "ai.onnx.ml" => |release| Some(release.ml),
        "ai.onnx.training" | "ai.onnx.preview.training" => |release| release.training,
        _ => return None,
    };
    let has = |release: &&Release| version(release).is_some_and(|newest| newest >= opset);
    RELEASES.iter().find(has).map(|release| release.ir_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_release_that_has_a_version_counts() {
        // 3 is between two releases.
        for (opset, ir) in
            [(1, 3), (3, 3), (8, 3), (9, 4), (12, 7), (14, 7), (18, 8), (20, 9), (22, 10), (27, 13), (28, 14)]
        {
            assert_eq!(min_ir_version("", opset), Some(ir), "opset {opset}");
        }
        assert_eq!(min_ir_version("ai.onnx", 21), Some(10));
        assert_eq!(min_ir_version("", 29), None);
        assert_eq!(min_ir_version("ai.onnx.ml", 3), Some(8));
        assert_eq!(min_ir_version("ai.onnx.preview.training", 1), Some(7));
        assert_eq!(min_ir_version("org.mine", 1), None);
    }

    #[test]
    fn versions_never_fall() {
        for pair in RELEASES.windows(2) {
            assert!(pair[0].ir_version <= pair[1].ir_version, "{pair:?}");
            assert!(pair[0].opset <= pair[1].opset && pair[0].ml <= pair[1].ml, "{pair:?}");
            assert!(pair[0].training <= pair[1].training, "{pair:?}");
        }
        assert_eq!(newest_version("ai.onnx"), RELEASES.last().map(|r| r.opset));
        assert_eq!(newest_version("ai.onnx.ml"), RELEASES.last().map(|r| r.ml));
    }
}
