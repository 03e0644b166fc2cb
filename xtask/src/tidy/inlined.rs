//! Iterators in loops over vector registers: those of the standard library that are not marked `#[inline]` are calls in a crate of several
//! units, and what they refer to leaves its register.

use super::Finding;
use super::source::File;

/// Files of loops over registers alone.
const FILES: &[&str] = &[
    "copy/transpose.rs",
    "epilogue/bytes.rs",
    "epilogue/bytes/avx2.rs",
    "epilogue/bytes/avx512.rs",
    "lanes/each.rs",
    "lanes/math.rs",
    "lanes/mod.rs",
    "lanes/single.rs",
    "pipeline/tile.rs",
    "product/micro/avx2.rs",
    "product/micro/avx512.rs",
    "product/micro/neon.rs",
    "product/micro/tile.rs",
    "product/winograd/transform.rs",
    "stencil/tiles.rs",
    "stencil/widened.rs",
];

/// How such an iterator is made, and what is inlined always.
const CALLS: &[(&str, &str)] =
    &[(".zip(", "`crate::zip::zip`"), ("array::from_fn(", "a loop"), ("iter::zip(", "`crate::zip::zip`")];

pub(super) fn iterators_are_inlined(files: &[File]) -> Vec<Finding> {
    let is_listed =
        |path: &str| path.strip_prefix("crates/onnx-loops/src/").is_some_and(|path| FILES.contains(&path));
    let found = files.iter().filter(|file| is_listed(&file.path)).flat_map(|file| {
        let lines =
            CALLS.iter().flat_map(|call| file.lines_with(call.0).into_iter().map(move |at| (at, call)));
        lines.map(|(at, (call, instead))| {
            let message =
                format!("`{call}` is not inlined across units, and registers would be stored: use {instead}");
            Finding::new(&file.path, at, message)
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iterator_that_is_not_inlined_is_found() {
        let text = "//! x\nfn f(x: &mut [f32; 8]) {\n    for (a, b) in x.iter_mut().zip(&Y) {}\n    let z: [f32; 8] = array::from_fn(g);\n}\n";
        let found = |path: &str| iterators_are_inlined(&[File::new(path, text.to_owned())]).len();
        assert_eq!(found("crates/onnx-loops/src/product/micro/tile.rs"), 2);
        assert_eq!(found("crates/onnx-loops/src/nest/run.rs"), 0);
        assert_eq!(found("crates/onnx-kernels/src/lanes/each.rs"), 0);
    }
}
