//! The steady state: from the second run on, what a run allocates depends neither on how many nodes there are nor on how often a loop
//! goes around, and outputs come in the memory of those before.

use conformance::convert::read_text;
use onnx_exec::{CompileOptions, Executable, RunOptions, Tensor, Value, compile};
use onnx_ops::opset::registry_of;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocations of one run: its budget, the list of its inputs, and the lists of inputs and outputs of a control flow node.
const MAX_ALLOCATIONS: usize = 24;

/// Elementwise nodes between nodes that cannot be one kernel with them.
fn chain(nodes: usize) -> String {
    let mut text = "chain (float[16,16] x0) => (float[16,16] y)\n{\n".to_owned();
    for i in 0..nodes {
        let op = ["Sin", "Transpose", "Softmax", "Sigmoid"][i % 4];
        text += &format!("   x{} = {op}(x{i})\n", i + 1);
    }
    text + &format!("   y = Identity(x{nodes})\n}}\n")
}

/// Depthwise convolutions of an image, each of them normalized.
fn network(layers: usize) -> String {
    let list = |count: usize, number: fn(usize) -> usize| {
        let numbers: Vec<String> = (0..count).map(|i| format!("{}.5", number(i))).collect();
        numbers.join(", ")
    };
    let (weights, scale) = (list(36, |i| i % 3), list(12, |_| 1));
    let mut text = format!(
        "network (float[1,4,12,12] x0) => (float[1,4] y)
   <float[4,1,3,3] w = {{{weights}}}, float[12] scale = {{{scale}}}>\n{{\n"
    );
    for i in 0..layers {
        text += &format!("   c{i} = Conv<group = 4, pads = [1, 1, 1, 1]>(x{i}, w)\n");
        text += &format!("   n{i} = LayerNormalization(c{i}, scale)\n   x{} = Relu(n{i})\n", i + 1);
    }
    text + &format!("   p = GlobalMaxPool(x{layers})\n   y = Flatten(p)\n}}\n")
}

/// A recurrent cell whose state is carried and collected.
fn loops(trips: usize) -> String {
    format!(
        "loops (float[16] x0) => (float[16] y, float[{trips},16] all) <int64 trips = {{{trips}}}, bool yes = {{1}}>
{{
   w = Sigmoid(x0)
   y, kept, all = Loop (trips, yes, x0, w) <body = body (int64 i, bool c, float[16] x, float[16] v) => (bool d, float[16] z, float[16] v2, float[16] out) {{
      d = Identity(c)
      n = Cast<to = 1>(i)
      s = Add(x, n)
      t = Sin(s)
      m = Softmax(t)
      z = Mul(m, v)
      v2 = Identity(v)
      out = Tanh(z)
   }}>
}}
"
    )
}

/// A scan over rows, with a branch in it.
fn scans(rows: usize) -> String {
    format!(
        "scans (float[{rows},8] x) => (float[8] y, float[{rows},8] all) <float[8] start = {{0,0,0,0,0,0,0,0}}, float zero = {{0}}>
{{
   y, all = Scan (start, x) <num_scan_inputs = 1, body = body (float[8] state, float[8] row) => (float[8] next, float[8] out) {{
      both = Add(state, row)
      sum = ReduceSum<keepdims = 0>(both)
      is = Less(sum, zero)
      next = If (is) <then_branch = low () => (float[8] a) {{ a = Neg(both) }},
                      else_branch = high () => (float[8] b) {{ b = Softmax(both) }}>
      out = Cos(next)
   }}>
}}
"
    )
}

fn executable(graph: &str) -> Executable<'static> {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\n{graph}");
    let model = read_text(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    compile(&model, registry_of(&model), &CompileOptions::default()).expect("operators that are run")
}

fn waves(dims: &[usize]) -> Tensor {
    let count = dims.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7).sin()).collect();
    Tensor::over(dims, numbers).expect("as many as there are")
}

/// How often a run allocates when there have been runs before.
fn allocations(graph: &str, dims: &[usize]) -> usize {
    let executable = executable(graph);
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let inputs = vec![Some(Value::Tensor(waves(dims)))];
    let mut outputs = Vec::new();
    let mut run = || {
        let inputs = inputs.clone();
        executable.run_into(inputs, &mut outputs, &options).unwrap_or_else(|why| panic!("{why}: {graph}"));
    };
    (0..3).for_each(|_| run());
    let region = Region::new(MEMORY);
    (0..10).for_each(|_| run());
    let change = region.change();
    (change.allocations + change.reallocations) / 10
}

/// One test, since what other threads allocate would be counted.
#[test]
fn later_runs_allocate_little_and_write_where_the_first_has() {
    type Make = fn(usize) -> String;
    type Dims = fn(usize) -> Vec<usize>;
    let cases: [(Make, [usize; 2], Dims); 4] = [
        (chain, [40, 400], |_| vec![16, 16]),
        (network, [3, 12], |_| vec![1, 4, 12, 12]),
        (loops, [10, 1000], |_| vec![16]),
        (scans, [10, 500], |rows| vec![rows, 8]),
    ];
    for (make, sizes, dims) in cases {
        let counts = sizes.map(|size| allocations(&make(size), &dims(size)));
        assert!(
            counts.iter().all(|count| *count <= MAX_ALLOCATIONS),
            "{counts:?} allocations: {}",
            make(sizes[0])
        );
    }
    outputs_keep_their_memory();
    checked_inputs_take_no_memory();
}

fn checked_inputs_take_no_memory() {
    let executable = executable(
        "checked (float[N,3] x, int64[1] n, seq(float[N]) s, optional(float[2]) o) => (float[N,3] y) { y = Abs(x) }",
    );
    let row = |n: usize| Value::from(waves(&[n]));
    let inputs = vec![
        Some(waves(&[4, 3]).into()),
        Some(Tensor::of(&[1], &[1i64]).expect("one").into()),
        Some(Value::sequence(vec![row(2), row(3)])),
        Some(row(2)),
    ];
    let region = Region::new(MEMORY);
    (0..100).for_each(|_| assert!(executable.ensure_inputs(&inputs).is_ok()));
    let change = region.change();
    assert_eq!(change.allocations + change.reallocations, 0);
}

fn outputs_keep_their_memory() {
    let executable = executable(
        "several (float[2,3] x, int64[1] n) => (float[2,3] y, float[2,3] same, float[2,3] again, float[N,3] z, int64[1,1] at)
   <int64[1] three = {3}, float one = {1}>
{
   y = Sin(x)
   same = Identity(x)
   again = Identity(y)
   shape = Concat<axis = 0>(n, three)
   zeros = Expand(one, shape)
   z = Add(zeros, zeros)
   at = NonZero(n)
}
",
    );
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let run = |start: f32, n: i64, outputs: &mut Vec<Value>| {
        let x = Tensor::of(&[2, 3], &[start; 6]).expect("six");
        let n = Tensor::over(&[1], vec![n]).expect("one");
        let inputs = vec![Some(x.into()), Some(n.into())];
        let alone = executable.run(inputs.clone(), &options).expect("it runs");
        executable.run_into(inputs, outputs, &options).expect("it runs");
        assert_eq!(*outputs, alone);
    };
    let places = |outputs: &[Value]| -> Vec<usize> {
        outputs.iter().map(|value| value.tensor().expect("a tensor").bytes().as_ptr().addr()).collect()
    };
    let mut outputs = Vec::new();
    run(0.5, 2, &mut outputs);
    // A result that is an input, and one that two names have, come into memory of their own.
    run(0.5, 2, &mut outputs);
    let before = places(&outputs);
    let distinct: std::collections::BTreeSet<usize> = before.iter().copied().collect();
    assert_eq!(distinct.len(), before.len());
    for i in 0..4 {
        run(i as f32, 2, &mut outputs);
        assert_eq!(places(&outputs), before);
    }
    // A held result is kept, and another shape has other memory.
    let held = outputs[0].clone();
    run(9.0, 4, &mut outputs);
    assert_ne!(places(&outputs)[0], before[0]);
    assert_eq!(held.tensor().expect("a tensor").slice::<f32>().expect("floats"), [3.0f32.sin(); 6]);
    assert_eq!(outputs[3].tensor().expect("a tensor").dims(), [4, 3]);
}
