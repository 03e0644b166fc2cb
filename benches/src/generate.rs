//! Models that are the same in each run, and like what exporters write.

use std::fmt::{Display, Write as _};

/// Nodes of a block, which [`nodes`] repeats.
const BLOCK: usize = 10;

/// A model of many nodes, about 175 bytes of text each: long quoted names with slashes, attributes of all common kinds,
/// a declared type for some results. Nothing is wrong with it.
pub(crate) fn nodes(count: usize) -> String {
    let mut text = String::from(
        "<\n   ir_version: 10,\n   opset_import: [\"\" : 21],\n   producer_name: \"bench\"\n>\nmain_graph (float[batch,seq,768] x",
    );
    for layer in 0..LAYERS {
        for (weight, shape) in WEIGHTS {
            let _ = write!(text, ", float[{shape}] \"model.layers.{layer}.{weight}\"");
        }
    }
    let blocks = count / BLOCK;
    let _ = write!(text, ") => (float[batch,seq,768] {})\n<", output(blocks));
    for block in 0..blocks {
        let at = prefix(block);
        let comma = if block > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\n   float[batch,seq,768] \"{at}/fc1/Einsum_output_0\"");
    }
    text.push_str("\n>\n{\n");
    for block in 0..blocks {
        node_block(&mut text, block);
    }
    text.push_str("}\n");
    text
}

const LAYERS: usize = 32;
const WEIGHTS: &[(&str, &str)] = &[
    ("q_proj.weight", "768,768"),
    ("q_proj.bias", "768"),
    ("conv.weight", "12,12,3,3"),
    ("fc1.weight", "12,64,768"),
    ("norm.weight", "64"),
];

fn prefix(block: usize) -> String {
    format!("/layers.{}/b{block}", block % LAYERS)
}

/// The value that a block begins with, and the one before it ends with.
fn output(block: usize) -> String {
    match block {
        0 => "x".to_owned(),
        _ => format!("\"{}/Add_1_output_0\"", prefix(block - 1)),
    }
}

fn node_block(text: &mut String, block: usize) {
    let (at, from, layer) = (&prefix(block), output(block), block % LAYERS);
    let weight = |name: &str| format!("\"model.layers.{layer}.{name}\"");
    let mut node = |name: &str, op: &str, attributes: &str, inputs: &[&str]| {
        let _ = write!(text, "   [\"{at}/{name}\"] \"{at}/{name}_output_0\" = {op}{attributes} (");
        for (position, input) in inputs.iter().enumerate() {
            let comma = if position > 0 { ", " } else { "" };
            let _ = match input.strip_prefix('/') {
                Some(local) => write!(text, "{comma}\"{at}/{local}_output_0\""),
                None => write!(text, "{comma}{input}"),
            };
        }
        text.push_str(")\n");
    };
    node("attn/q/MatMul", "MatMul", "", &[&from, &weight("q_proj.weight")]);
    node("attn/q/Add", "Add", "", &[&weight("q_proj.bias"), "/attn/q/MatMul"]);
    node("attn/Constant", "Constant", " <value: tensor = int64[4] {0, 0, 12, 64}>", &[]);
    node("attn/Reshape", "Reshape", " <allowzero: int = 0>", &["/attn/q/Add", "/attn/Constant"]);
    node("attn/Transpose", "Transpose", " <perm: ints = [0, 2, 1, 3]>", &["/attn/Reshape"]);
    node(
        "conv/Conv",
        "Conv",
        " <dilations: ints = [1, 1], group: int = 1, kernel_shape: ints = [3, 3], pads: ints = [1, 1, 1, 1], strides: ints = [1, 1]>",
        &["/attn/Transpose", &weight("conv.weight")],
    );
    node(
        "norm/LayerNorm",
        "LayerNormalization",
        " <axis: int = -1, epsilon: float = 1e-05>",
        &["/conv/Conv", &weight("norm.weight")],
    );
    node("act/Gelu", "Gelu", " <approximate: string = \"tanh\">", &["/norm/LayerNorm"]);
    node(
        "fc1/Einsum",
        "Einsum",
        " <equation: string = \"bhsd,hde->bse\">",
        &["/act/Gelu", &weight("fc1.weight")],
    );
    node("Add_1", "Add", "", &["/fc1/Einsum", &from]);
}

/// A graph with one initializer.
pub(crate) fn tensor<T: Display>(elem: &str, count: u64, value: impl Fn(u64) -> T) -> String {
    let mut text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]>\ng ({elem}[{count}] x) => ({elem}[{count}] y)\n<{elem}[{count}] w = {{"
    );
    for i in 0..count {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{}", value(i));
    }
    text.push_str("}>\n{\n   y = Add(x, w)\n}\n");
    text
}

/// A weight: about normally distributed around 0, rarely beyond 0.1.
pub(crate) fn weight(i: u64) -> f32 {
    let uniform = |part: u64| (random(i * 4 + part) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (uniform(0) + uniform(1) + uniform(2) + uniform(3)) * 0.05
}

/// The `i`th of a sequence that is the same in each run (SplitMix64).
pub(crate) fn random(i: u64) -> u64 {
    let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::VerifyOptions;
    use onnx_ir::diag::{Diagnostic, Level};
    use onnx_ops::schema::Registry;

    #[test]
    fn generated_models_are_sound() {
        let texts = [nodes(200), tensor("float", 9, weight), tensor("int64", 9, |i| random(i) as i64)];
        for text in texts {
            let read = onnx_text::read_model(&text);
            assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
            let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
            let mut found = onnx_ops::check::check(&read.value, Registry::builtin(), &options);
            found.retain(Diagnostic::is_error);
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
