//! Graphs in nodes, planned: what comes out is what comes out of their nodes one by one, to the bit, in the first run and in later
//! ones, whatever the number of threads.

use conformance::convert::read_text;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ops::opset::registry_of;

/// Graphs of one input, of these extents.
const CASES: &[(&str, &[usize])] = &[
    // Carried values that are invariant; that pass an Identity; that are swapped with another value.
    (
        "(float[4] x) => (float[4] a, float[4] b, float[4] c, float[4] d) <int64 n = {5}, bool yes = {1}, float[4] w = {1, 2, 3, 4}>
         { a, b, c, d = Loop (n, yes, x, w, x, w) <body = body (int64 i, bool k, float[4] p, float[4] q, float[4] r, float[4] s)
               => (bool l, float[4] p2, float[4] q2, float[4] r2, float[4] s2) {
            l = Identity(k)  m = Mul(p, q)  p2 = Sin(m)  q2 = Identity(q)  t = Sin(r)  r2 = Identity(s)  s2 = Add(t, q)
         }> }",
        &[4],
    ),
    // Constants that come through two loops, of which the outer one changes what the inner one does not.
    (
        "(float[3] x) => (float[3] a, float[4,3] all) <int64 n = {4}, bool yes = {1}, float[3] w = {0.5, 0.25, 2}, int64[1] first = {0}>
         { a, b, all = Loop (n, yes, x, w) <body = outer (int64 i, bool k, float[3] p, float[3] q) => (bool l, float[3] p2, float[3] q2, float[3] o) {
            l = Identity(k)
            p2, q3, u = Loop (n, yes, p, q) <body = inner (int64 j, bool k2, float[3] e, float[3] f) => (bool l2, float[3] e2, float[3] f2, float[3] g) {
               l2 = Identity(k2)  h = Mul(e, f)  e2 = Cos(h)  f2 = Identity(f)  g = Add(e2, q)
            }>
            q2 = Add(q3, q)  o = ReduceSum<keepdims = 0>(u, first)
         }> }",
        &[3],
    ),
    // Results that are collected: as many as the loop is long, fewer, none; of all sizes.
    (
        "(float[5] x) => (float[5] a, float[N,5] all, float[N] one, bool[N] is) <int64 n = {100}, bool yes = {1}, float most = {30}>
         { a, all, one, is = Loop (n, yes, x) <body = body (int64 i, bool k, float[5] p) => (bool l, float[5] p2, float[5] o, float s, bool b) {
            f = Cast<to = 1>(i)  p2 = Add(p, f)  o = Sin(p2)  s = ReduceSum<keepdims = 0>(o)  b = Less(s, f)  l = Less(f, most)
         }> }",
        &[5],
    ),
    (
        "(float[5] x) => (float[5] a, float[0,5] all) <int64 n = {100}, bool no = {0}>
         { a, all = Loop (n, no, x) <body = body (int64 i, bool k, float[5] p) => (bool l, float[5] p2, float[5] o) {
            l = Identity(k)  p2 = Neg(p)  o = Sin(p)
         }> }",
        &[5],
    ),
    (
        "(float[300,400] x) => (float[300,400] a, float[6,300,400] all) <int64 n = {6}, bool yes = {1}>
         { a, all = Loop (n, yes, x) <body = body (int64 i, bool k, float[300,400] p) => (bool l, float[300,400] p2, float[300,400] o) {
            l = Identity(k)  p2 = Neg(p)  o = Softmax(p2)
         }> }",
        &[300, 400],
    ),
    // A state that grows, and one whose type changes with the iteration.
    (
        "(float[1,3] x) => (float[N,3] a) <int64 n = {90}, bool yes = {1}, int64[1] zero = {0}>
         { a = Loop (n, yes, x) <body = body (int64 i, bool k, float[M,3] p) => (bool l, float[K,3] p2) {
            l = Identity(k)  m = ReduceMean(p, zero)  q = Sin(m)  p2 = Concat<axis = 0>(p, q)
         }> }",
        &[1, 3],
    ),
    // Slices whose ends the loop counts.
    (
        "(float[30,4] x) => (float[30,1,4] all) <int64 n = {30}, bool yes = {1}, int64[1] one = {1}, int64[1] zero = {0}>
         { all = Loop (n, yes) <body = body (int64 i, bool k) => (bool l, float[1,4] o) {
            l = Identity(k)  b = Unsqueeze(i, zero)  e = Add(b, one)  s = Slice(x, b, e, zero)  o = Sin(s)
         }> }",
        &[30, 4],
    ),
    // Scans along any axis, backward, collected along any axis, backward; a state that does not change.
    (
        "(float[5,4,3] x) => (float[4] s, float[4] w2, float[3,5,4] a, float[5,4,3] b, float[3,5] c) <float[4] w = {1, 2, 3, 4}, float[4] z = {0, 0, 0, 0}, int64[1] zero = {0}, int64[1] one = {1}>
         { s, w2, a, b, c = Scan (z, w, x) <num_scan_inputs = 1, scan_input_axes = [2], scan_input_directions = [1], scan_output_axes = [0, 2, 0], scan_output_directions = [1, 0, 0],
             body = body (float[4] p, float[4] q, float[5,4] r) => (float[4] p2, float[4] q2, float[5,4] d, float[5,4] e, float[5] f) {
            m = Mul(r, q)  d = Sin(m)  t = ReduceSum<keepdims = 0>(d, zero)  p2 = Add(p, t)  q2 = Identity(q)  e = Cos(r)  f = ReduceSum<keepdims = 0>(e, one)
         }> }",
        &[5, 4, 3],
    ),
    (
        "(float[7,4] x) => (float[4] s, float[7,4] a) <float[4] z = {0, 0, 0, 0}>
         { s, a = Scan (z, x) <num_scan_inputs = 1, body = body (float[4] p, float[4] r) => (float[4] p2, float[4] r2) {
            p2 = Add(p, r)  r2 = Identity(r)
         }> }",
        &[7, 4],
    ),
    // Branches in a loop, in one another, and captured values of all graphs around.
    (
        "(float[6] x) => (float[6] a) <int64 n = {9}, bool yes = {1}, int64 two = {2}, int64 three = {3}, int64 zero = {0}>
         { w = Sin(x)
           a = Loop (n, yes, x) <body = body (int64 i, bool k, float[6] p) => (bool l, float[6] p2) {
            l = Identity(k)  m = Mod(i, two)  c = Equal(m, zero)  m3 = Mod(i, three)  c3 = Equal(m3, zero)
            p2 = If (c) <then_branch = t () => (float[6] u) { u0 = Add(p, w)  u = Cos(u0) },
                         else_branch = e () => (float[6] v) {
                v = If (c3) <then_branch = t2 () => (float[6] u2) { u2 = Mul(p, w) }, else_branch = e2 () => (float[6] v2) { v2 = Identity(p) }>
            }>
         }> }",
        &[6],
    ),
    // A body for each element of a sequence, with a tensor and another sequence.
    (
        "(float[12,4] x) => (float[12,4] y) <float[1,4] w = {1, 2, 3, 4}, int64 one = {1}>
         { s = SplitToSequence<axis = 0>(x, one)  t = SplitToSequence<axis = 0>(x, one)
           r = SequenceMap (s, t, w) <body = body (float[1,4] a, float[1,4] b, float[1,4] v) => (float[1,4] c) { m = Mul(a, v)  n = Sin(m)  c = Add(n, b) }>
           y = ConcatFromSequence<axis = 0>(r) }",
        &[12, 4],
    ),
];

#[test]
fn graphs_in_nodes_give_what_their_nodes_give() {
    for (graph, dims) in CASES {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\nnested {graph}\n");
        let model = read_text(&text).unwrap_or_else(|why| panic!("{graph}: {why}"));
        let registry = registry_of(&model);
        let plain = CompileOptions { node_by_node: true, ..CompileOptions::default() };
        let [plain, planned] = [plain, CompileOptions::default()].map(|options| {
            compile(&model, registry, &options).unwrap_or_else(|found| panic!("{graph}: {found:?}"))
        });
        for start in [0.0f32, 0.3] {
            let numbers: Vec<f32> =
                (0..dims.iter().product::<usize>()).map(|i| (i as f32 + start).sin()).collect();
            let x = Tensor::over(dims, numbers).expect("as many as there are");
            let run = |executable: &onnx_exec::Executable<'_>, threads| {
                let options = RunOptions { threads, ..RunOptions::default() };
                let inputs = vec![Some(Value::Tensor(x.clone()))];
                executable.run(inputs, &options).unwrap_or_else(|why| panic!("{graph}: {why}"))
            };
            let expected = run(&plain, 1);
            for threads in [1, 1, 2, 3] {
                assert!(run(&planned, threads) == expected, "{graph}: {threads} threads give something else");
            }
        }
    }
}
