//! Regression cases, with other numbers.

use super::case::{Case, Draw};
use onnx_ir::ElemType;

pub(crate) fn draw(mut d: Draw) -> Case {
    d.is_for_runtime = true;
    let float = ElemType::FLOAT;
    let (stride, extent) = (2 + d.below(2), 3 + d.below(4));
    match d.below(4) {
        // Strides beyond the kernel leave less than `auto_pad` asks for.
        0 => {
            let auto_pad = d.pick(&["SAME_UPPER", "SAME_LOWER"]);
            let version = d.pick(&[7, 11, 22]);
            d.floats(float, &[2, 3, extent], 2.0);
            d.floats(float, &[3, 1, 1], 1.0);
            d.list("strides", &[stride]);
            d.attribute("group", 3);
            d.text("auto_pad", auto_pad);
            d.case("ConvTranspose", version)
        }
        // Windows that end after the input.
        1 => {
            let version = d.pick(&[10, 11, 12]);
            d.floats(float, &[1, 2, extent], 2.0);
            d.list("kernel_shape", &[2]);
            d.list("strides", &[stride]);
            d.text("auto_pad", "VALID");
            d.attribute("ceil_mode", 1);
            d.case("MaxPool", version)
        }
        // The maximum of an empty tensor.
        2 => {
            let version = d.pick(&[7, 11, 13]);
            d.floats(float, &[extent, 0], 2.0);
            d.case("Hardmax", version)
        }
        // Deprecated from its first version on.
        _ => {
            d.floats(float, &[2, 2 * stride, extent], 2.0);
            d.floats(float, &[2], 1.0);
            d.floats(float, &[2], 1.0);
            d.attribute("num_groups", 2);
            d.case("GroupNormalization", 18)
        }
    }
}
