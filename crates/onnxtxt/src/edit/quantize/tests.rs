//! Tests of quantized models.

use super::*;
use crate::Text;
use onnx_ops::opset::registry_of;
use onnx_text::RaiseOptions;

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n";
const PRODUCTS: &str = "g (float[N,2] x) => (float[N,2] y, float[N,2] z)
<float[2,2] w = {1, 2, 3, 254}, float[2,2] u = {1, 2, 3, 4}, float[2] c = {1, 2}> {
    a = MatMul(x, w) y = Relu(a) z = Gemm <transB = 1> (x, u, c) }";

fn quantized(graph: &str, options: &Quantize<'_>) -> (String, Vec<(String, String)>) {
    let mut model = onnx_text::read_model(&format!("{HEAD}{graph}")).value;
    let mut kept = Vec::new();
    quantize(&mut model, options, &mut kept).unwrap();
    let found = onnx_ops::check::check(&model, registry_of(&model), &onnx_ir::VerifyOptions::default());
    assert!(found.iter().all(|d| !d.is_error()), "{found:?}");
    let text = Text::new(&model, &RaiseOptions::default()).to_text();
    (text.split_whitespace().collect::<Vec<_>>().join(" "), kept)
}

fn options(scheme: Scheme<'_>) -> Quantize<'_> {
    Quantize { scheme, per_channel: true, keep: &|_| false }
}

#[test]
fn activations_are_quantized_when_the_model_runs() {
    let (text, kept) = quantized(PRODUCTS, &options(Scheme::Dynamic));
    assert_eq!(kept, []);
    assert_eq!(text.matches("DynamicQuantizeLinear").count(), 1, "{text}");
    assert_eq!(text.matches("MatMulInteger").count(), 2, "{text}");
    assert!(text.contains("float[2] w_scale = {0.023622") && text.contains(", 2}"), "{text}");
    assert!(text.contains("z = Add(") && !text.contains("float[2,2] w "), "{text}");
}

#[test]
fn weights_alone_are_quantized_in_blocks() {
    let weights = |elem, block| options(Scheme::Weights { elem, block });
    let (text, _) = quantized(PRODUCTS, &weights(ElemType::INT8, None));
    assert!(text.contains("DequantizeLinear <axis = 1> (w_int8, w_scale)"), "{text}");
    assert!(text.contains("DequantizeLinear <axis = 0> (u_int8, u_scale)"), "{text}");
    let (text, _) = quantized(PRODUCTS, &weights(ElemType::INT4, Some(32)));
    assert!(text.contains("int4[2,2] w_int4") && text.contains("float[1,2] w_scale"), "{text}");
    assert!(text.contains("DequantizeLinear <axis = 1, block_size = 32> (u_int4, u_scale)"), "{text}");
}

#[test]
fn everything_is_quantized_with_known_ranges() {
    let ranges = [("x", (-1.0, 1.0)), ("a", (-3.0, 3.0)), ("y", (0.0, 3.0)), ("z", (0.0, 255.0))];
    let ranges: BTreeMap<String, (f64, f64)> = ranges.map(|(name, range)| (name.to_owned(), range)).into();
    let (text, kept) = quantized(PRODUCTS, &options(Scheme::Static { ranges: &ranges }));
    assert_eq!(kept, []);
    // x, y and z; a is quantized after Relu.
    assert_eq!(text.matches(" = QuantizeLinear").count(), 3, "{text}");
    assert!(text.contains("y = DequantizeLinear(y_uint8, y_scale, y_zero_point)"), "{text}");
    assert!(text.contains("y_float = Relu(a)"), "{text}");
    assert!(text.contains("int32[2] c_int32") && text.contains("float z_scale = {1}"), "{text}");
    let (_, kept) = quantized(PRODUCTS, &options(Scheme::Static { ranges: &BTreeMap::new() }));
    assert_eq!(kept[0].1, "the range of `x` is not known");
}

#[test]
fn what_cannot_be_quantized_stays() {
    let graph = "g (float[1,1,4,4] x, float[N,2] a) => (float[1,1,4,4] y, float[2,N] b)
        <float[1,1,1,1] w = {2}, float[N2,2] u> { y = Conv(x, w) b = MatMul(v, a) }"
        .replace("float[N2,2] u", "float[2,2] k = {1,2,3,4}")
        .replace("float[2,N] b", "float[N,2] b")
        .replace("MatMul(v, a)", "Gemm <alpha = 2.0> (a, k)");
    let (text, kept) = quantized(&graph, &options(Scheme::Dynamic));
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(text.contains("y = Conv(x, w)") && text.contains("b = Gemm"), "{text}");
    let excluded = Quantize { keep: &|_| true, ..options(Scheme::Dynamic) };
    assert_eq!(quantized(PRODUCTS, &excluded).1[0], ("a (MatMul)".to_owned(), "excluded".to_owned()));
    let mut old =
        onnx_text::read_model(&format!("<ir_version: 5, opset_import: [\"\": 10]>\n{PRODUCTS}")).value;
    assert!(quantize(&mut old, &options(Scheme::Dynamic), &mut Vec::new()).is_err());
}

#[test]
fn ranges_have_zero() {
    assert_eq!(uint8((0.0, 255.0)), (1.0, 0));
    assert_eq!(uint8((-255.0, 0.0)), (1.0, 255));
    assert_eq!(uint8((10.0, 51.0)), (0.2, 0));
    assert_eq!(uint8((0.0, 0.0)), (1.0, 0));
}
