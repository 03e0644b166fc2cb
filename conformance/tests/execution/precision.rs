//! Excess precision: networks of `float16` and `bfloat16` give what they give in `float`, unless they are asked to be exact.

use conformance::convert::read_text;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ops::opset::registry_of;

const WIDTH: usize = 48;
const LAYERS: usize = 12;

/// A deep network with residual connections, whose weights are numbers of the narrow type, computed in another type.
fn network(narrow: u8, computed: u8, name: &str) -> String {
    let mut text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[4,{WIDTH}] input, float[{WIDTH},{WIDTH}] w) => (float[4,{WIDTH}] output)\n{{\n    \
         n0 = Cast <to = {narrow}> (input)\n    x0 = Cast <to = {computed}> (n0)\n    \
         nw = Cast <to = {narrow}> (w)\n    v = Cast <to = {computed}> (nw)\n"
    );
    for layer in 0..LAYERS {
        let next = layer + 1;
        text += &format!(
            "    a{layer} = MatMul(x{layer}, v)\n    b{layer} = Tanh(a{layer})\n    c{layer} = Mul(b{layer}, a{layer})\n    \
             d{layer} = Softmax(c{layer})\n    e{layer} = Sub(c{layer}, d{layer})\n    x{next} = Add(x{layer}, e{layer})\n"
        );
    }
    text + &format!("    output = Cast <to = 1> (x{LAYERS})\n}}  # {name}\n")
}

fn run(text: &str, inputs: &[Tensor], exact: bool) -> Vec<f64> {
    let model = read_text(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    let options = CompileOptions { exact, ..CompileOptions::default() };
    let executable = compile(&model, registry_of(&model), &options).expect("known operators");
    let inputs = inputs.iter().map(|input| Some(Value::Tensor(input.clone()))).collect();
    let results = executable.run(inputs, &RunOptions::default()).expect("a sound model");
    results[0].tensor().expect("a tensor").floats().expect("floats").to_vec()
}

fn wave(dims: &[usize], scale: f32) -> Tensor {
    let count = dims.iter().product();
    let numbers: Vec<f32> =
        (0..count).map(|i: usize| ((i * 37 + i / 5) as f32 * 0.71).sin() * scale).collect();
    Tensor::of(dims, &numbers).expect("a small tensor")
}

/// The greatest difference of two results, as a part of the greatest number.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let most = b.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs() / most).fold(0.0, f64::max)
}

#[test]
fn narrow_floats_are_kept_in_single_precision_between_nodes() {
    let inputs = [wave(&[4, WIDTH], 1.0), wave(&[WIDTH, WIDTH], 0.2)];
    // The result is rounded once, to 11 or 8 bits.
    for (narrow, name, once) in [(10, "float16", 1.0 / 2048.0), (16, "bfloat16", 1.0 / 256.0)] {
        let single = run(&network(narrow, 1, name), &inputs, false);
        let ours = run(&network(narrow, narrow, name), &inputs, false);
        let exact = run(&network(narrow, narrow, name), &inputs, true);
        assert!(distance(&ours, &single) <= once, "{name}: {}", distance(&ours, &single));
        // Rounding after every node is seen in a network of many layers, so that this test could fail.
        assert!(distance(&exact, &single) > 2.0 * once, "{name}: {}", distance(&exact, &single));
    }
}

#[test]
fn casts_of_the_model_round() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[4,48] x) => (float[4,48] y)\n{\n    \
        h = Cast <to = 10> (x)\n    t = Neg(h)\n    c = Cast <to = 1> (t)\n    y = Neg(c)\n}\n";
    let x = wave(&[4, 48], 3.0);
    for exact in [false, true] {
        let y = run(text, std::slice::from_ref(&x), exact);
        let rounded = x.floats().expect("floats").iter().map(|x| f64::from(half(*x))).collect::<Vec<_>>();
        assert_eq!(y, rounded, "exact: {exact}");
    }
}

/// A number rounded to 11 bits.
fn half(x: f64) -> f32 {
    let x = x as f32;
    let bits = x.to_bits();
    let (kept, lost) = (bits & !0x1fff, bits & 0x1fff);
    let is_up = lost > 0x1000 || lost == 0x1000 && kept & 0x2000 != 0;
    f32::from_bits(if is_up { kept + 0x2000 } else { kept })
}
