//! Lists that grow with data: a kernel makes them where they are charged to the memory of the run.

use super::Finding;
use super::source::File;

/// Where kernels are, and what runs graphs in nodes.
const FOLDERS: &[&str] = &["crates/onnx-kernels/src", "crates/onnx-exec/src/run/control"];
/// Lists of elements, and strings that are charged after they have been made.
const LISTS: &[&str] = &[
    "Vec<f64>",
    "Vec<f32>",
    "Vec<T>",
    "Vec<Complex<T>>",
    "Vec<u8>",
    "Vec<&str>",
    "Vec<Vec<Value>>",
    "vec![0.0;",
    "vec![String::new();",
    "Tensor::of_strings(",
];
/// Files whose lists are as long as attributes are, each with the reason.
const BOUNDED: &[(&str, &str)] = &[
    ("crates/onnx-kernels/src/call.rs", "attributes as a node has them"),
    ("crates/onnx-kernels/src/image.rs", "the pixels of a decoder, within its limits"),
    ("crates/onnx-kernels/src/ml/keys.rs", "keys and values that attributes have"),
    ("crates/onnx-kernels/src/ml/linear.rs", "coefficients, and the scores of one sample"),
    ("crates/onnx-kernels/src/ml/machine.rs", "support vectors, and one number for each"),
    ("crates/onnx-kernels/src/ml/maps.rs", "labels that attributes have"),
    ("crates/onnx-kernels/src/ml/mod.rs", "attributes as wider numbers"),
    ("crates/onnx-kernels/src/ml/scores.rs", "the scores of one sample"),
    ("crates/onnx-kernels/src/ml/svm.rs", "coefficients, and the scores of one sample"),
    ("crates/onnx-kernels/src/optimize.rs", "a list for each kind of input that a node has"),
    ("crates/onnx-kernels/src/tokens.rs", "a tensor without strings"),
];

pub(super) fn lists_are_charged(files: &[File]) -> Vec<Finding> {
    let kernels = files.iter().filter(|file| FOLDERS.iter().any(|folder| file.is_in(folder)));
    let kernels = kernels.filter(|file| !BOUNDED.iter().any(|(path, _)| *path == file.path));
    let found = kernels.flat_map(|file| {
        let lines = LISTS.iter().flat_map(|list| file.lines_with(list).into_iter().map(move |at| (at, list)));
        lines.map(|(at, list)| {
            let message = format!(
                "`{list}` may grow with data and is not charged: use `List` or `Strings`, or list the file in \
                 xtask/src/tidy/charged.rs"
            );
            Finding::new(&file.path, at, message)
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_numbers_in_a_kernel_is_found() {
        let text = "//! x\nfn f(x: &Tensor) {\n    let all: Vec<f64> = x.iter().collect();\n    let dims: Vec<usize>;\n}\n";
        let found = |path: &str| lists_are_charged(&[File::new(path, text.to_owned())]).len();
        assert_eq!(found("crates/onnx-kernels/src/new.rs"), 1);
        assert_eq!(found("crates/onnx-kernels/src/ml/svm.rs"), 0);
        assert_eq!(found("crates/onnx-exec/src/plan/new.rs"), 0);
    }
}
