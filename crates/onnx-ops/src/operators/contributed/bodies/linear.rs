//! Quantized operators: dequantize the operands, apply a float operator, quantize the result.
//!
//! ```text
//! C = QLinearAdd (A, A_scale, A_zero, B, B_scale, B_zero, C_scale, C_zero)
//!
//! a = DequantizeLinear (A, A_scale, A_zero)
//! b = DequantizeLinear (B, B_scale, B_zero)
//! c = Add (a, b)
//! C = QuantizeLinear (c, C_scale, C_zero)
//! ```
//!
//! An omitted zero point is 0 of the type of the operands.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// Dequantizes an operand; its zero point follows its scale.
fn dequantized(draft: &mut Draft, site: &CallSite<'_>, to: &str, x: &str, scale: usize) {
    let name = |i: usize| &site.schema.inputs[i].name;
    let zero = if site.has_input(scale + 1) { format!(", {}", name(scale + 1)) } else { String::new() };
    draft.add(format_args!("{to} = DequantizeLinear ({x}, {}{zero})", name(scale)));
}

/// Quantizes the only result in the same way.
fn quantized(draft: &mut Draft, site: &CallSite<'_>, x: &str, scale: usize) -> Option<()> {
    let name = |i: usize| &site.schema.inputs[i].name;
    let y = &site.schema.outputs[0].name;
    if site.has_input(scale + 1) {
        draft.add(format_args!("{y} = QuantizeLinear ({x}, {}, {})", name(scale), name(scale + 1)));
    } else {
        draft.scalar("zero_of_result", site.elem(0)?, "0.0");
        draft.add(format_args!("{y} = QuantizeLinear ({x}, {}, zero_of_result)", name(scale)));
    }
    Some(())
}

fn binary(site: &CallSite<'_>, op: &str) -> Option<Draft> {
    let mut draft = Draft::new();
    dequantized(&mut draft, site, "a", "A", 1);
    dequantized(&mut draft, site, "b", "B", 4);
    draft.add(format_args!("c = {op} (a, b)"));
    quantized(&mut draft, site, "c", 6)?;
    Some(draft)
}

pub(in crate::operators::contributed) fn add(site: &CallSite<'_>) -> Option<Draft> {
    binary(site, "Add")
}

pub(in crate::operators::contributed) fn mul(site: &CallSite<'_>) -> Option<Draft> {
    binary(site, "Mul")
}

fn unary(site: &CallSite<'_>, call: &str) -> Option<Draft> {
    let mut draft = Draft::new();
    dequantized(&mut draft, site, "x", &site.schema.inputs[0].name, 1);
    draft.add(format_args!("y = {call}"));
    quantized(&mut draft, site, "y", 3)?;
    Some(draft)
}

pub(in crate::operators::contributed) fn leaky_relu(site: &CallSite<'_>) -> Option<Draft> {
    let alpha = site.float("alpha").filter(|alpha| alpha.is_finite())?;
    unary(site, &format!("LeakyRelu <alpha = {}> (x)", number(alpha, ElemType::FLOAT)))
}

pub(in crate::operators::contributed) fn sigmoid(site: &CallSite<'_>) -> Option<Draft> {
    unary(site, "Sigmoid (x)")
}

/// Inputs followed by their scale and zero point each.
pub(in crate::operators::contributed) fn concat(site: &CallSite<'_>) -> Option<Draft> {
    let (count, axis) = (site.input_count().checked_sub(2)? / 3, site.int("axis")?);
    if count == 0 || site.input_count() != 2 + 3 * count {
        return None;
    }
    let mut draft = Draft::new();
    let mut names = vec!["Y_scale".to_owned(), "Y_zero_point".to_owned()];
    for i in 0..count {
        draft.add(format_args!("part_{i} = DequantizeLinear (x_{i}, scale_{i}, zero_{i})"));
        names.extend(["x", "scale", "zero"].map(|name| format!("{name}_{i}")));
    }
    let parts: Vec<String> = (0..count).map(|i| format!("part_{i}")).collect();
    draft.add(format_args!("y = Concat <axis = {axis}> ({})", parts.join(", ")));
    draft.add("Y = QuantizeLinear (y, Y_scale, Y_zero_point)");
    draft.rename(names, vec!["Y".to_owned()]);
    Some(draft)
}

pub(in crate::operators::contributed) fn mean(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    dequantized(&mut draft, site, "x", "data", 1);
    let keep = format!("keepdims = {}", site.int("keepdims")?);
    draft.with_axes("y = ReduceMean", ("x", &site.ints("axes")?), &keep, true);
    quantized(&mut draft, site, "y", 3)?;
    Some(draft)
}

/// The mean of each channel over the spatial axes.
pub(in crate::operators::contributed) fn global_average_pool(site: &CallSite<'_>) -> Option<Draft> {
    let rank = i64::try_from(site.rank(0)?).ok().filter(|rank| *rank > 2)?;
    let first = if site.int("channels_last")? == 0 { 2 } else { 1 };
    let axes: Vec<i64> = (first..first + rank - 2).collect();
    let mut draft = Draft::new();
    dequantized(&mut draft, site, "x", &site.schema.inputs[0].name, 1);
    draft.with_axes("y = ReduceMean", ("x", &axes), "keepdims = 1", true);
    quantized(&mut draft, site, "y", 3)?;
    Some(draft)
}

/// EmbedLayerNormalization for dequantized tables.
pub(in crate::operators::contributed) fn embeddings(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let name = |i: usize| &site.schema.inputs[i].name;
    let mut tables = Vec::new();
    for (i, table) in (2..7).enumerate() {
        if !site.has_input(table) {
            tables.push(String::new());
            continue;
        }
        let (scale, zero) = (8 + i, 13 + i);
        let zero = if site.has_input(zero) { format!(", {}", name(zero)) } else { String::new() };
        draft.add(format_args!("table_{i} = DequantizeLinear ({}, {}{zero})", name(table), name(scale)));
        tables.push(format!("table_{i}"));
    }
    let optional = |i: usize| if site.has_input(i) { &**name(i) } else { "" };
    let epsilon = site.float("epsilon").filter(|epsilon| epsilon.is_finite())?;
    draft.add(format_args!(
        "layernorm_out, mask_index_out = com.microsoft.EmbedLayerNormalization <epsilon = {epsilon:?}> \
         (input_ids, {}, {}, {})",
        optional(1),
        tables.join(", "),
        optional(7)
    ));
    Some(draft)
}
