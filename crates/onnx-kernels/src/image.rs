//! The ImageDecoder kernel: decodes compressed images.
//!
//! Undecodable data yields an image without pixels, as the operator's documentation requires. It also specifies the upsampling of
//! subsampled JPEG colors: exactly that of libjpeg-turbo.

use crate::value::Value;
use crate::{Call, Row, row};
use hayro_jpeg2000::{ColorSpace, DecodeSettings, DecoderContext};
use image::{DynamicImage, GrayImage, ImageReader, Limits, RgbImage};
use libjpeg_turbo_rs::{DecodeLimits, Decoder, PixelFormat};
use onnx_loops::budget::has_room;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::tensor::Tensor;
use std::io::Cursor;

pub(crate) const ROWS: &[Row] = &[row("", "ImageDecoder", image_decoder)];

/// The memory limit of decoders: enough for 100 megapixels. Headers can claim any size.
const MAX_BYTES: u64 = 512 << 20;

fn image_decoder(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let encoded = call.tensor(0)?.slice::<u8>()?;
    let format = call.attrs.string("pixel_format").unwrap_or_else(|| "RGB".to_owned());
    let image = match encoded {
        _ if is_jpeg2000(encoded) => jpeg2000(encoded)?,
        [0xff, 0xd8, 0xff, ..] => jpeg(encoded),
        _ => decoded(encoded),
    };
    let (height, width) = match &image {
        Some(image) => (image.height() as usize, image.width() as usize),
        None => (0, 0),
    };
    let channels = match format.as_str() {
        "RGB" | "BGR" => 3,
        "Grayscale" => 1,
        other => fail!("there is no pixel format `{other}`"),
    };
    let dims = [height, width, channels];
    call.has_room(onnx_ir::ElemType::UINT8, &dims)?;
    let rgb = image.map(DynamicImage::into_rgb8).map(RgbImage::into_raw).unwrap_or_default();
    let pixels = rgb.as_chunks::<3>().0.iter();
    let bytes: Vec<u8> = match format.as_str() {
        "BGR" => pixels.flat_map(|&[r, g, b]| [b, g, r]).collect(),
        "Grayscale" => pixels.map(gray).collect(),
        _ => rgb,
    };
    Ok(vec![Tensor::of(&dims, &bytes)?.into()])
}

/// At most a hundred progressive scans: encoders use about ten, and a few bytes suffice for one.
fn jpeg(encoded: &[u8]) -> Option<DynamicImage> {
    let limits = DecodeLimits {
        max_pixels: MAX_BYTES / 5,
        max_memory: Some(MAX_BYTES),
        max_scans: 100,
        ..DecodeLimits::default()
    };
    let mut decoder = Decoder::new_with_limits(encoded, limits).ok()?;
    decoder.set_output_format(PixelFormat::Rgb);
    let image = decoder.decode_image().ok()?;
    let (width, height) = (u32::try_from(image.width).ok()?, u32::try_from(image.height).ok()?);
    RgbImage::from_raw(width, height, image.data).map(DynamicImage::from)
}

/// The luma of a pixel (ITU-R BT.601), with 16 fractional bits.
fn gray(&[r, g, b]: &[u8; 3]) -> u8 {
    let sum = u32::from(r) * 19_595 + u32::from(g) * 38_470 + u32::from(b) * 7_471 + 0x8000;
    (sum >> 16).min(255) as u8
}

fn decoded(encoded: &[u8]) -> Option<DynamicImage> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_BYTES);
    let mut reader = ImageReader::new(Cursor::new(encoded)).with_guessed_format().ok()?;
    reader.limits(limits);
    reader.decode().ok()
}

/// A container or a raw codestream.
fn is_jpeg2000(encoded: &[u8]) -> bool {
    encoded.starts_with(b"\x00\x00\x00\x0cjP  ") || encoded.starts_with(b"\xff\x4f\xff\x51")
}

fn jpeg2000(encoded: &[u8]) -> Result<Option<DynamicImage>, Failure> {
    let Ok(image) = hayro_jpeg2000::Image::new(encoded, &DecodeSettings::default()) else { return Ok(None) };
    let (width, height) = (image.width(), image.height());
    let channels = image.color_space().num_channels() + u8::from(image.has_alpha());
    // The decoder stores a float per sample.
    let bytes = u64::from(width).saturating_mul(u64::from(height)).saturating_mul(u64::from(channels) * 4);
    if bytes > MAX_BYTES {
        return Ok(None);
    }
    has_room(usize::try_from(bytes).unwrap_or(usize::MAX))?;
    let mut context = DecoderContext::default();
    let Ok(decoded) = image.decode(&mut context) else { return Ok(None) };
    let samples = decoded.data_u8();
    let pixels = samples.chunks_exact(usize::from(channels.max(1)));
    let rgb = match (image.color_space(), image.color_space().num_channels()) {
        (ColorSpace::CMYK, _) => {
            let part = |ink: u8, key: u8| {
                let light = (255 - u16::from(ink)) * (255 - u16::from(key));
                u8::try_from((light + 127) / 255).unwrap_or(255)
            };
            pixels.flat_map(|p| [part(p[0], p[3]), part(p[1], p[3]), part(p[2], p[3])]).collect()
        }
        (_, 1) => {
            let gray = pixels.map(|p| p[0]).collect();
            return Ok(GrayImage::from_raw(width, height, gray).map(DynamicImage::from));
        }
        (_, 3) => pixels.flat_map(|p| [p[0], p[1], p[2]]).collect(),
        (_, _) => return Ok(None),
    };
    Ok(RgbImage::from_raw(width, height, rgb).map(DynamicImage::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_has_no_pixels() {
        assert!(decoded(b"no image").is_none());
        assert!(jpeg(b"\xff\xd8\xff\xe0").is_none());
        assert!(jpeg2000(b"\xff\x4f\xff\x51\x00").expect("no failure").is_none());
        // A header that claims 4 billion pixels.
        assert!(decoded(b"P6\n65535 65535\n255\n").is_none());
    }

    #[test]
    fn white_is_white_and_green_is_brighter_than_blue() {
        assert_eq!([gray(&[255; 3]), gray(&[0, 255, 0]), gray(&[0, 0, 255])], [255, 150, 29]);
    }
}
