//! Nodes with attributes and extents at random, computed by their formulas and by ONNX Runtime.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::formulas::{only_node, trial};
use conformance::oracle::Oracle;
use conformance::random::Random;
use conformance::trial::{Trial, judge};
use serde_json::json;

/// A list of numbers between these.
fn list(random: &mut Random, count: usize, least: usize, most: usize) -> Vec<usize> {
    (0..count).map(|_| least + random.below(most - least + 1)).collect()
}

fn pick<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len())]
}

fn text(list: &[usize]) -> String {
    list.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Attributes of a window over so many axes. With `auto_pad`, pools of ONNX Runtime forget dilations, and cut off what strides
/// beyond the kernel leave out.
fn window(random: &mut Random, axes: usize, is_pool: bool) -> String {
    let mut all = Vec::new();
    if is_pool {
        all.push(format!("kernel_shape = [{}]", text(&list(random, axes, 1, 3))));
    }
    let padding = random.below(3);
    let is_free = padding != 1 || !is_pool;
    if is_free && random.below(2) == 0 {
        all.push(format!("strides = [{}]", text(&list(random, axes, 1, 3))));
    }
    if is_free && random.below(3) == 0 {
        all.push(format!("dilations = [{}]", text(&list(random, axes, 1, 2))));
    }
    match padding {
        0 => all.push(format!("pads = [{}]", text(&list(random, axes * 2, 0, if is_pool { 0 } else { 2 })))),
        1 => all.push(format!("auto_pad = \"{}\"", pick(random, &["SAME_UPPER", "SAME_LOWER", "VALID"]))),
        _ => {}
    }
    all.join(", ")
}

fn convolution(random: &mut Random, op: &str) -> (String, String) {
    let axes = 1 + random.below(2);
    let (groups, inputs, outputs) = (1 + random.below(3), 1 + random.below(2), 1 + random.below(3));
    let (spatial, kernel) = (text(&list(random, axes, 3, 6)), text(&list(random, axes, 1, 3)));
    let x = format!("float[2,{},{spatial}] x", inputs * groups);
    let w = match op {
        "Conv" => format!("float[{},{inputs},{kernel}] w", outputs * groups),
        _ => format!("float[{},{outputs},{kernel}] w", inputs * groups),
    };
    let window = window(random, axes, false);
    let comma = if window.is_empty() { "" } else { ", " };
    let bias = outputs * groups;
    let node = format!("y = {op} <group = {groups}{comma}{window}> (x, w, b)");
    (format!("{x}, {w}, float[{bias}] b"), node)
}

fn pool(random: &mut Random) -> (String, String) {
    let axes = 1 + random.below(3);
    let spatial = text(&list(random, axes, 3, 6));
    let (op, outputs) = [("MaxPool", "y, i"), ("AveragePool", "y"), ("LpPool", "y")][random.below(3)];
    let mut attributes = window(random, axes, true);
    if op == "AveragePool" && random.below(2) == 0 {
        attributes += ", count_include_pad = 1";
    }
    if random.below(2) == 0 && !attributes.contains("auto_pad") && op != "LpPool" {
        attributes += ", ceil_mode = 1";
    }
    (format!("float[2,2,{spatial}] x"), format!("{outputs} = {op} <{attributes}> (x)"))
}

fn parts(random: &mut Random) -> (String, String) {
    let dims = list(random, 2, 1, 5);
    let x = format!("float[{}] x", text(&dims));
    let int = |random: &mut Random| random.below(15) as i64 - 7;
    match random.below(4) {
        0 => {
            let step = [1, 2, -1, -2][random.below(4)];
            let (start, end) = (int(random), int(random));
            let values = format!(
                "{x}, int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{-1}}, int64[1] d = {{{step}}}"
            );
            (values, "y = Slice(x, s, e, a, d)".to_owned())
        }
        1 => {
            let mode = pick(random, &["constant", "edge", "reflect", "wrap"]);
            let pads = list(random, 4, 0, if mode == "constant" { 4 } else { dims[0].min(dims[1]) - 1 });
            (
                format!("{x}, int64[4] p = {{{}}}", text(&pads).replace(',', ", ")),
                format!("y = Pad <mode = \"{mode}\"> (x, p)"),
            )
        }
        2 => {
            let count = 1 + random.below(dims[0]);
            let outputs: Vec<String> = (0..count).map(|i| format!("y{i}")).collect();
            (x, format!("{} = Split <num_outputs = {count}> (x)", outputs.join(", ")))
        }
        _ => {
            let picked: Vec<String> =
                (0..3).map(|_| (random.below(2 * dims[1]) as i64 - dims[1] as i64).to_string()).collect();
            (
                format!("{x}, int64[3] i = {{{}}}", picked.join(", ")),
                "y = Gather <axis = -1> (x, i)".to_owned(),
            )
        }
    }
}

fn sum(random: &mut Random) -> (String, String) {
    let [m, k, n] = [(); 3].map(|()| 1 + random.below(4));
    match random.below(4) {
        0 => {
            let batch = ["", "2,", "1,", "3,2,", "3,1,", "1,2,"];
            let (a, b) = (batch[random.below(6)], batch[random.below(6)]);
            let is_fit = |d: &str| d.split(',').next().map(str::to_owned);
            let b = if a.len() == b.len() && is_fit(a) != is_fit(b) { a } else { b };
            (format!("float[{a}{m},{k}] a, float[{b}{k},{n}] b"), "y = MatMul(a, b)".to_owned())
        }
        1 => {
            let (ta, tb) = (random.below(2), random.below(2));
            let [a, b] = [(ta, m, k), (tb, k, n)].map(|(t, r, c)| if t == 1 { (c, r) } else { (r, c) });
            let c = [format!("{n}"), format!("{m},1"), format!("{m},{n}"), "1".to_owned()][random.below(4)]
                .clone();
            (
                format!("float[{},{}] a, float[{},{}] b, float[{c}] c", a.0, a.1, b.0, b.1),
                format!("y = Gemm <transA = {ta}, transB = {tb}, alpha = 0.5, beta = 2.0> (a, b, c)"),
            )
        }
        2 => {
            let op = pick(
                random,
                &["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd"],
            );
            let (axis, keepdims) = (random.below(3), random.below(2));
            let values = format!("float[{m},{k},{n}] x, int64[1] a = {{{}}}", axis as i64 - 3);
            (values, format!("y = {op} <keepdims = {keepdims}> (x, a)"))
        }
        _ => {
            let equation = pick(
                random,
                &["ij,jk->ik", "ij,jk->ki", "ij,jk->i", "ij,jk", "...j,jk->...k", "ij,jk->", "ij,jk->ijk"],
            );
            (
                format!("float[{m},{k}] a, float[{k},{n}] b"),
                format!("y = Einsum <equation = \"{equation}\"> (a, b)"),
            )
        }
    }
}

#[test]
fn random_nodes_are_as_in_onnxruntime() {
    let Some(oracle) = Oracle::find("random nodes") else { return };
    let mut random = Random::new(3);
    let (mut trials, mut undefined): (Vec<Trial>, usize) = (Vec::new(), 0);
    for i in 0..600 {
        let (values, node) = match i % 5 {
            0 => convolution(&mut random, "Conv"),
            1 => convolution(&mut random, "ConvTranspose"),
            2 => pool(&mut random),
            3 => parts(&mut random),
            _ => sum(&mut random),
        };
        match trial(&format!("{node} # {values}"), &only_node(22, &values, &node)) {
            Ok(trial) => trials.push(trial),
            // Windows that are larger than what they slide over.
            Err(_) => undefined += 1,
        }
    }
    let options = json!({ "rtol": 1e-4, "engine": "onnxruntime" });
    let judged = judge(&oracle, "random_nodes", &trials, &options);
    eprintln!("random nodes: {judged} of {} as in ONNX Runtime, {undefined} make no sense", trials.len());
    assert!(judged > 450 && undefined < 60, "{judged} {undefined}");
}
