//! Attention of long sequences, which a kernel computes, is what the function bodies of the operators give.

use conformance::convert::read_text;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::ElemType;
use onnx_ops::opset::registry_of;

/// Graphs: inputs of floats are drawn, those of other types are 1 but at every seventh element.
const GRAPHS: &[&str] = &[
    "(float[1,2,200,16] q, float[1,2,300,16] k, float[1,2,300,24] v) => (float[1,2,200,24] y)
     { y = Attention (q, k, v) }",
    "(float[2,4,130,16] q, float[2,2,130,16] k, float[2,2,130,16] v) => (float[2,4,130,16] y)
     { y = Attention <is_causal = 1, softcap = 3.0> (q, k, v) }",
    "(float[1,140,32] q, float[1,140,16] k, float[1,140,24] v) => (float[1,140,48] y)
     { y = Attention <q_num_heads = 4, kv_num_heads = 2, scale = 0.5> (q, k, v) }",
    "(float[2,2,130,8] q, float[2,2,60,8] k, float[2,2,60,8] v, bool[130,160] m, float[2,2,100,8] pk, float[2,2,100,8] pv)
     => (float[2,2,130,8] y, float[2,2,160,8] k2, float[2,2,160,8] v2)
     { y, k2, v2 = Attention <is_causal = 1> (q, k, v, m, pk, pv) }",
    "(float[1,2,130,8] q, float[1,2,160,8] k, float[1,2,160,8] v, float[1,2,130,160] m) => (float[1,2,130,8] y)
     { y = Attention (q, k, v, m) }",
    "(float[2,129,24] q, float[2,150,24] k, float[2,150,30] v) => (float[2,129,30] y)
     { y = com.microsoft.MultiHeadAttention <num_heads = 3> (q, k, v) }",
    "(float[2,129,24] q, float[2,150,24] k, float[2,150,24] v, int32[2,150] m, float[1,3,129,150] b)
     => (float[2,129,24] y)
     { y = com.microsoft.MultiHeadAttention <num_heads = 3, unidirectional = 1> (q, k, v, , m, b) }",
];

fn numbers(count: usize, seed: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |i| f64::from(((i * 7919 + seed * 104_729) % 2003) as u16) / 1001.5 - 1.0)
}

/// The types that a graph declares for its inputs.
fn declared(graph: &str) -> Vec<(ElemType, Vec<usize>)> {
    let (inputs, _) = graph[1..].split_once(')').expect("inputs");
    let one = |input: &str| {
        let (elem, rest) = input.trim().split_once('[').expect("extents");
        let (dims, _) = rest.split_once(']').expect("extents");
        let elem = [("float", ElemType::FLOAT), ("bool", ElemType::BOOL), ("int32", ElemType::INT32)]
            .into_iter()
            .find_map(|(name, ty)| (name == elem).then_some(ty));
        (elem.expect("a type of the table"), dims.split(',').map(|d| d.parse().expect("a number")).collect())
    };
    // Commas stand between extents too; behind one of these that is followed by a space, the next input begins.
    inputs.split(", ").map(one).collect()
}

fn run(text: &str, options: &CompileOptions, threads: usize) -> Vec<Tensor> {
    let source = format!("<ir_version: 11, opset_import: [\"\": 23, \"com.microsoft\": 1]>\ng {text}\n");
    let model = read_text(&source).expect("it is sound");
    let executable = compile(&model, registry_of(&model), options).expect("it can be run");
    let inputs = declared(text).into_iter().enumerate().map(|(seed, (elem, dims))| {
        let count: usize = dims.iter().product();
        let tensor = match elem {
            ElemType::FLOAT => Tensor::from_floats(elem, &dims, numbers(count, seed)),
            _ => Tensor::from_floats(elem, &dims, (0..count).map(|i| f64::from(u8::from(i % 7 != 3)))),
        };
        Some(Value::Tensor(tensor.expect("there is room")))
    });
    let inputs = inputs.collect();
    let results = executable.run(inputs, &RunOptions { threads, ..RunOptions::default() }).expect("it runs");
    results.into_iter().map(|value| value.tensor().expect("a tensor").clone()).collect()
}

#[test]
fn long_attention_is_what_its_function_body_gives() {
    for text in GRAPHS {
        let one = run(text, &CompileOptions::default(), 1);
        let two = run(text, &CompileOptions::default(), 2);
        let plain = run(text, &CompileOptions { node_by_node: true, ..CompileOptions::default() }, 1);
        assert_eq!(one.len(), plain.len());
        for ((one, two), plain) in one.iter().zip(&two).zip(&plain) {
            assert_eq!(one.bytes(), two.bytes(), "two threads give something else: {text}");
            assert_eq!((one.elem(), one.dims()), (plain.elem(), plain.dims()), "{text}");
            let all = one.floats().expect("floats").into_iter().zip(plain.floats().expect("floats"));
            for (x, y) in all {
                assert!((x - y).abs() < 2e-5, "{x} is not {y}: {text}");
            }
        }
    }
}
