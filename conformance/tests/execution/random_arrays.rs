//! Nodes of random attributes, shapes, element types and operator sets, run as users run them, and judged by ONNX Runtime;
//! where it has no kernel, by the reference evaluator. `tests/python/random_arrays.py` draws the models and judges.
//!
//! `ONNXTXT_ARRAYS` is how many models are drawn, `ONNXTXT_ARRAYS_OF` the only families that are.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::convert::{print, read_wire, write_wire};
use conformance::corpus::{in_parallel, scratch};
use conformance::formulas::only_node;
use conformance::inferred::contradiction;
use conformance::oracle::{Oracle, say_if_products_saturate};
use conformance::results::run;
use conformance::rewrites::rewritten;
use conformance::runtime;
use onnx_exec::RunOptions;
use onnx_ir::{Data, Model, Names};
use onnx_proto::write_data;
use onnx_text::Profile;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// How many models, unless `ONNXTXT_ARRAYS` says so.
const MODELS: &str = "1560";

/// Nodes that take longer hang.
const FUEL: u64 = 2000;

/// Regression cases: an operator set, initializers, and a node.
const FOUND: &[(i64, &str, &str)] = &[
    (19, "float8e4m3fn[3] x = {24, 186, 119}", "y = Cast <to = 8>(x)"),
    (17, "int64 n = {0}", "w = HannWindow(n)"),
    (17, "int32 n = {8}", "w = BlackmanWindow <output_datatype = 6>(n)"),
    (
        23,
        "float[1,2,2,1] q = {1.0, -2.0, 0.5, 3.0}, float[1,1,2,1] k = {0.25, -1.5}",
        "y = ai.onnx.preview.FlexAttention <score_mod = m (s) => (t) { t = Tanh(s) }>(q, k, k)",
    ),
    (17, "float[4] x = {inf, -inf, 1.0, nan}, float m = {1.0}", "y = Clip(x, m)"),
    (17, "float[4] x = {inf, -inf, 1.0, nan}, float m = {1.0}", "y = Clip(x, , m)"),
    (23, "float[3,0] x = {}", "y = Hardmax(x)"),
    (16, "float[0,3,3] x = {}, int64[3] s = {0, 3, 1}", "y = Reshape(x, s)"),
    (20, "string s = {\" x  y \"}", "y, n = StringSplit <maxsplit = 1>(s)"),
    (
        11,
        "string[5] s = {\"c\", \"d\", \"d\", \"c\", \"a\"}",
        "y = TfIdfVectorizer <max_gram_length = 3, max_skip_count = 2, min_gram_length = 2, mode = \"TFIDF\", \
         ngram_counts = [0, 1, 3], ngram_indexes = [2, 0, 1], pool_strings = [\"d\", \"c\", \"b\", \"d\", \"d\", \"c\"], \
         weights = [0.25, 1.25, 1.75]>(s)",
    ),
    (
        8,
        "int64[2] n = {1, 3}, int64[2] s = {1, 2}, int64[2,3] x = {1, 2, 3, 4, 5, 6}",
        "t, y = Scan <num_scan_inputs = 1, directions = [1], \
         body = g (int64 a, int64 b) => (int64 c, int64 d) { c = Add(a, b)  d = Mul(a, b) }>(n, s, x)",
    ),
    (
        10,
        "float[2,3] x = {1.0, -2.0, -4.0, -2.0, 0.0, -1.0}",
        "y = ai.onnx.ml.Normalizer <norm = \"MAX\">(x)",
    ),
    (
        10,
        "float[1,2] x = {1.0, 2.0}",
        "y, z = ai.onnx.ml.LinearClassifier <classlabels_ints = [7, 8], coefficients = [1.0, -0.25], \
         intercepts = [0.5], post_transform = \"SOFTMAX\">(x)",
    ),
    (
        15,
        "float[1,1] x = {5.0}",
        "y, z = ai.onnx.ml.LinearClassifier <classlabels_ints = [7, 8, 9], coefficients = [4.0, 6.0, 1.0], \
         intercepts = [0.0, 0.0, 0.0], post_transform = \"LOGISTIC\">(x)",
    ),
    (
        10,
        "float[1,2] x = {1.0, 2.0}",
        "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, -0.25], post_transform = \"LOGISTIC\">(x)",
    ),
    (
        10,
        "float[2,1] x = {-1.0, 1.0}",
        "y, z = ai.onnx.ml.TreeEnsembleClassifier <class_ids = [1, 1], class_nodeids = [1, 2], class_treeids = [0, 0], \
         class_weights = [0.75, 0.25], classlabels_int64s = [7, 9], nodes_falsenodeids = [2, 0, 0], \
         nodes_featureids = [0, 0, 0], nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], nodes_nodeids = [0, 1, 2], \
         nodes_treeids = [0, 0, 0], nodes_truenodeids = [1, 0, 0], nodes_values = [0.0, 0.0, 0.0], \
         post_transform = \"SOFTMAX\">(x)",
    ),
];

fn options() -> RunOptions<'static> {
    RunOptions { fuel: FUEL, max_memory: 1 << 30, threads: 1, ..RunOptions::default() }
}

/// A model that was drawn.
fn read(path: &Path) -> Result<Model, String> {
    read_wire(fs::read(path).map_err(|error| error.to_string())?.into())
}

/// Writes beside a model what it computes, a file for each output that says what kind of value it is; or why nothing.
fn compute(path: &Path) {
    let results = std::panic::catch_unwind(|| run(&read(path)?, &[], &options()))
        .unwrap_or_else(|_| Err("panic".to_owned()));
    let results = match results {
        Ok(results) => results,
        Err(why) => return fs::write(path.with_extension("why"), why).expect("the folder can be written to"),
    };
    for (i, value) in results.iter().enumerate() {
        let data = value.to_stored().expect("there is room");
        let kind = match &data {
            Data::Tensor(_) => "tensor",
            Data::SparseTensor(_) => "sparse",
            Data::Sequence(_) => "sequence",
            Data::Map(_) => "map",
            Data::Optional(_) => "optional",
        };
        let bytes = write_data(&data, &Names::new()).expect("results are small");
        fs::write(path.with_extension(format!("{i}.{kind}")), bytes).expect("the folder can be written to");
    }
}

/// The models of a folder.
fn models(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    let mut models: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "onnx")).collect();
    models.sort();
    models
}

/// Operators for which the runtime has kernels on processors with AVX-512 only.
const ONLY_WITH_AVX512: &[&str] = &["com.microsoft MatMulFpQ4"];

/// Whether the list of the runtime's operators says of those that are compared with it, and of no others, that they are equal.
fn assert_listed<'n>(equal: impl Iterator<Item = &'n str>) {
    let mut equal: BTreeSet<String> = equal.map(str::to_owned).collect();
    equal.extend(crate::contributed_run::operators());
    let listed = runtime::operators();
    let is_equal = |row: &&runtime::Listed| row.state == runtime::State::Equal;
    let said: BTreeSet<String> = listed.iter().filter(is_equal).map(runtime::Listed::name).collect();
    let all: BTreeSet<String> = listed.iter().map(runtime::Listed::name).collect();
    #[cfg(target_arch = "x86_64")]
    let is_without = !is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    let is_without = true;
    let is_run = |name: &&String| !(is_without && ONLY_WITH_AVX512.contains(&name.as_str()));
    let missing: Vec<_> = said.difference(&equal).filter(is_run).collect();
    assert!(missing.is_empty(), "not compared with ONNX Runtime: {missing:?}");
    let unsaid: Vec<_> = equal.difference(&said).filter(|name| all.contains(*name)).collect();
    assert!(unsaid.is_empty(), "compared with ONNX Runtime, but not listed as equal: {unsaid:?}");
}

#[test]
fn random_arrays_are_as_in_onnx_runtime() {
    let Some(oracle) = Oracle::find("random arrays") else { return };
    say_if_products_saturate("random arrays");
    let folder = scratch("random_arrays");
    let count = std::env::var("ONNXTXT_ARRAYS").unwrap_or_else(|_| MODELS.to_owned());
    let of = std::env::var("ONNXTXT_ARRAYS_OF").unwrap_or_default();
    let script = "tests/python/random_arrays.py";
    let drawn = oracle.run(script, &["draw".as_ref(), folder.as_os_str(), count.as_ref(), of.as_ref()]);
    for (i, (version, values, node)) in FOUND.iter().enumerate() {
        let model = write_wire(&only_node(*version, values, node)).expect("models of tests are small");
        fs::write(folder.join(format!("found_{i}.onnx")), model).expect("the folder can be written to");
    }
    let contradictions = in_parallel(&models(&folder), |path| {
        compute(path);
        let model = read(path).ok()?;
        let how = contradiction(&model, &[], &options());
        let how = how.or_else(|| rewritten(&model, &[], &options()))?;
        Some(format!("{}: {how}\n{}", path.display(), print(&model, Profile::Onnx).text))
    });
    let said = oracle.run(script, &[OsStr::new("judge"), folder.as_os_str()]);
    eprintln!("random arrays: {}, {}", drawn["drawn"], said["counts"]);
    let computed = said["wrong"].as_array().expect("a list").iter().map(ToString::to_string);
    let inferred = contradictions.into_iter().flatten();
    let wrong: Vec<String> = inferred.chain(computed).collect();
    let some: Vec<String> = wrong.iter().take(20).cloned().collect();
    assert!(some.is_empty(), "{} models compute something else:\n{}", wrong.len(), some.join("\n"));
    if of.is_empty() {
        let equal = said["operators"].as_array().expect("a list").iter().filter_map(|name| name.as_str());
        assert_listed(equal);
    }
    let count = |of: &serde_json::Value| of.as_u64().expect("a number");
    assert!(count(&said["counts"]["equal"]) * 4 > count(&drawn["drawn"]) * 3, "{said}");
}
