//! The ImageDecoder kernel: decodes compressed images.
//!
//! Undecodable data yields an image without pixels, as the operator's documentation requires.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_loops::failure::{Failure, fail};

pub(crate) const ROWS: &[Row] = &[row("", "ImageDecoder", image_decoder)];

#[cfg(not(feature = "images"))]
fn image_decoder(_: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    fail!(
        "decoding images needs the feature `images` of the crate onnx-exec, without which this program was compiled"
    )
}

#[cfg(feature = "images")]
fn image_decoder(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let encoded = call.tensor(0)?.slice::<u8>()?;
    let format = call.attrs.string("pixel_format").unwrap_or_else(|| "RGB".to_owned());
    let image = onnx_images::decode(encoded, onnx_loops::budget::has_room)?.unwrap_or_default();
    let channels = match format.as_str() {
        "RGB" | "BGR" => 3,
        "Grayscale" => 1,
        other => fail!("there is no pixel format `{other}`"),
    };
    let dims = [image.height, image.width, channels];
    call.has_room(onnx_ir::ElemType::UINT8, &dims)?;
    let pixels = image.rgb.as_chunks::<3>().0.iter();
    let bytes: Vec<u8> = match format.as_str() {
        "BGR" => pixels.flat_map(|&[r, g, b]| [b, g, r]).collect(),
        "Grayscale" => pixels.map(gray).collect(),
        _ => image.rgb,
    };
    Ok(vec![onnx_loops::Tensor::of(&dims, &bytes)?.into()])
}

/// The luma of a pixel (ITU-R BT.601), with 16 fractional bits.
#[cfg(feature = "images")]
fn gray(&[r, g, b]: &[u8; 3]) -> u8 {
    let sum = u32::from(r) * 19_595 + u32::from(g) * 38_470 + u32::from(b) * 7_471 + 0x8000;
    (sum >> 16).min(255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "images")]
    #[test]
    fn white_is_white_and_green_is_brighter_than_blue() {
        assert_eq!([gray(&[255; 3]), gray(&[0, 255, 0]), gray(&[0, 0, 255])], [255, 150, 29]);
    }

    #[cfg(not(feature = "images"))]
    #[test]
    fn the_missing_feature_is_named() {
        let (model, body, node) = Default::default();
        let schema = onnx_ops::schema::Registry::builtin().lookup("", "ImageDecoder", 20);
        let onnx_ops::schema::Lookup::Found(schema) = schema else { panic!("{schema:?}") };
        let schema = onnx_ops::schema::Registry::builtin().get(schema);
        let attrs = crate::Attributes { model: &model, body: &body, node: &node, schema };
        let keep = (&crate::Keep::default(), body.nodes.next_id());
        let mut call = Call { attrs, inputs: Vec::new(), random: onnx_loops::Random::new(1), keep };
        let why = image_decoder(&mut call).expect_err("there are no decoders");
        assert!(why.to_string().contains("the feature `images` of the crate onnx-exec"), "{why}");
    }
}
