//! Fused operators that ONNX Runtime's optimizer writes.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use std::fmt::Display;

/// The existing attributes with these names, as attributes of another node: `pads: ints = [1, 1]`.
pub(in crate::operators::contributed) fn passed_on(site: &CallSite<'_>, names: &[&str]) -> String {
    let list = |all: Vec<i64>| all.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let attribute = |name: &&str| {
        if let Some(list) = site.ints(name).map(list) {
            return Some(format!("{name}: ints = [{list}]"));
        }
        if let Some(int) = site.int(name) {
            return Some(format!("{name} = {int}"));
        }
        Some(format!("{name} = {:?}", site.string(name)?))
    };
    names.iter().filter_map(attribute).collect::<Vec<_>>().join(", ")
}

/// Adds `Y` by the operator in the attribute `activation`; missing parameters have the operator's defaults.
fn activated(draft: &mut Draft, site: &CallSite<'_>, x: &str, parameters: &[Option<f32>]) -> Option<()> {
    let name = site.string("activation").unwrap_or_default();
    let elem = site.elem(0)?;
    // Text cannot express infinities and NaN.
    if !parameters.iter().flatten().all(|x| x.is_finite()) {
        return None;
    }
    let parameter = |i: usize| parameters.get(i).copied().flatten();
    let named = |names: &[&str]| {
        let given = names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let given = given.filter_map(|(i, name)| Some(format!("{name} = {:?}", parameter(i)?)));
        given.collect::<Vec<_>>().join(", ")
    };
    match &name[..] {
        "" => draft.add(format_args!("Y = Identity ({x})")),
        "Relu" | "Tanh" | "Sigmoid" | "Softplus" | "Softsign" | "HardSwish" => {
            draft.add(format_args!("Y = {name} ({x})"));
        }
        "LeakyRelu" | "Elu" | "ThresholdedRelu" => {
            draft.add(format_args!("Y = {name} <{}> ({x})", named(&["alpha"])));
        }
        "HardSigmoid" => draft.add(format_args!("Y = HardSigmoid <{}> ({x})", named(&["alpha", "beta"]))),
        "Selu" => draft.add(format_args!("Y = Selu <{}> ({x})", named(&["alpha", "", "gamma"]))),
        "Clip" => {
            draft.scalar("least", elem, number(parameter(0)?, elem));
            draft.scalar("greatest", elem, number(parameter(1)?, elem));
            draft.add(format_args!("Y = Clip ({x}, least, greatest)"));
        }
        _ => return None,
    }
    Some(())
}

pub(in crate::operators::contributed) fn conv(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let attributes = passed_on(site, &["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"]);
    let bias = if site.has_input(2) { ", B" } else { "" };
    draft.add(format_args!("window = Conv <{attributes}> (X, W{bias})"));
    let sum = if site.has_input(3) { "sum" } else { "window" };
    if site.has_input(3) {
        draft.add("sum = Add (window, Z)");
    }
    let parameters: Vec<Option<f32>> =
        site.floats("activation_params").unwrap_or_default().into_iter().map(Some).collect();
    activated(&mut draft, site, sum, &parameters)?;
    Some(draft)
}

pub(in crate::operators::contributed) fn gemm(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let finite = |name| site.float(name).filter(|x| x.is_finite());
    let (alpha, beta) = (finite("alpha")?, finite("beta")?);
    let turned = passed_on(site, &["transA", "transB"]);
    let third = if site.has_input(2) { ", C" } else { "" };
    draft.add(format_args!("product = Gemm <alpha = {alpha:?}, beta = {beta:?}, {turned}> (A, B{third})"));
    let parameters = ["activation_alpha", "activation_beta", "activation_gamma"].map(|name| site.float(name));
    activated(&mut draft, site, "product", &parameters)?;
    Some(draft)
}

/// Transposes `from` to channels-first as `to`; returns the permutation back.
fn channels_first(draft: &mut Draft, site: &CallSite<'_>, from: impl Display, to: &str) -> Option<String> {
    let last = i64::try_from(site.rank(0)?).ok()? - 1;
    let list = |all: Vec<i64>| all.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let there: Vec<i64> = [0, last].into_iter().chain(1..last).collect();
    let back: Vec<i64> = std::iter::once(0).chain(2..=last).chain([1]).collect();
    draft.add(format_args!("{to} = Transpose <perm = [{}]> ({from})", list(there)));
    Some(format!("Transpose <perm = [{}]>", list(back)))
}

pub(in crate::operators::contributed) fn max_pool(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let back = channels_first(&mut draft, site, "x", "turned")?;
    let attributes =
        passed_on(site, &["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"]);
    draft.add(format_args!("pooled = MaxPool <{attributes}> (turned)"));
    draft.add(format_args!("y = {back} (pooled)"));
    Some(draft)
}

/// Quantizes to `Y` by operands 3 and 4. The default zero point is 0 of the type of the first input.
fn quantized(draft: &mut Draft, site: &CallSite<'_>, x: &str) -> Option<()> {
    if site.has_input(4) {
        draft.add(format_args!("Y = QuantizeLinear ({x}, y_scale, y_zero_point)"));
    } else {
        draft.scalar("zero", site.elem(0)?, "0.0");
        draft.add(format_args!("Y = QuantizeLinear ({x}, y_scale, zero)"));
    }
    Some(())
}

/// Dequantizes the first operand.
fn dequantized(draft: &mut Draft, site: &CallSite<'_>, scale: &str) {
    let zero = if site.has_input(2) { ", x_zero_point" } else { "" };
    draft.add(format_args!("x = DequantizeLinear (X, {scale}{zero})"));
}

pub(in crate::operators::contributed) fn average_pool(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    dequantized(&mut draft, site, "x_scale");
    let names = ["auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"];
    let attributes = passed_on(site, &names);
    if site.int("channels_last")? == 0 {
        draft.add(format_args!("pooled = AveragePool <{attributes}> (x)"));
    } else {
        let back = channels_first(&mut draft, site, "x", "turned")?;
        draft.add(format_args!("means = AveragePool <{attributes}> (turned)"));
        draft.add(format_args!("pooled = {back} (means)"));
    }
    quantized(&mut draft, site, "pooled")?;
    Some(draft)
}

/// The filter is channels-first for any layout of images.
pub(in crate::operators::contributed) fn quantized_conv(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let attributes = passed_on(site, &["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"]);
    let bias = if site.has_input(8) { ", B" } else { "" };
    let rest = format!("x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point{bias}");
    if site.int("channels_last")? == 0 {
        draft.add(format_args!("y = QLinearConv <{attributes}> (x, {rest})"));
    } else {
        let back = channels_first(&mut draft, site, "x", "turned")?;
        draft.add(format_args!("window = QLinearConv <{attributes}> (turned, {rest})"));
        draft.add(format_args!("y = {back} (window)"));
    }
    Some(draft)
}

/// Before version 13 of Softmax, the axes from the given one on are flattened.
pub(in crate::operators::contributed) fn softmax(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    dequantized(&mut draft, site, "X_scale");
    let axis = site.int("axis")?;
    if site.int("opset")? < 13 {
        draft.add(format_args!("rows = Flatten <axis = {axis}> (x)"));
        draft.add("parts = Softmax <axis = -1> (rows)");
        draft.add("shape = Shape (X)");
        draft.add("soft = Reshape (parts, shape)");
    } else {
        draft.add(format_args!("soft = Softmax <axis = {axis}> (x)"));
    }
    quantized(&mut draft, site, "soft")?;
    Some(draft)
}
