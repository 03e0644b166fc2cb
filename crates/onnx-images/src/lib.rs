//! Compressed images as pixels: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP, the formats of the operator `ImageDecoder` of ONNX.
//!
//! The operator specifies the upsampling of subsampled JPEG colors: exactly that of libjpeg-turbo. The crate knows nothing of models, so
//! that it and the decoders are compiled beside everything else.

#![forbid(unsafe_code)]

mod jpeg2000;

use image::{ImageReader, Limits};
use jpeg2000::Jpeg2000;
use libjpeg_turbo_rs::{DecodeLimits, Decoder, PixelFormat};
use std::io::Cursor;

/// The memory limit of decoders: enough for 100 megapixels. Headers can claim any size.
const MAX_BYTES: u64 = 512 << 20;

/// A decoded image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pixels {
    /// The number of rows.
    pub height: usize,
    /// The number of columns.
    pub width: usize,
    /// Red, green and blue of each pixel, row by row.
    pub rgb: Vec<u8>,
}

/// Decodes an image of any format; `None` if the data cannot be decoded, or the decoder needs more than 512 MiB. `has_room` is asked
/// for the working memory of a decoder that needs much more than the pixels.
///
/// # Errors
///
/// Those of `has_room`.
///
/// ```
/// let image = onnx_images::decode(b"P6\n2 1\n255\n\xff\0\0\0\0\xff", |_| Ok::<_, ()>(()))?.expect("an image of two pixels");
/// assert_eq!((image.height, image.width), (1, 2));
/// assert_eq!(image.rgb, [255, 0, 0, 0, 0, 255]);
/// # Ok::<(), ()>(())
/// ```
pub fn decode<E>(encoded: &[u8], has_room: impl FnOnce(usize) -> Result<(), E>) -> Result<Option<Pixels>, E> {
    match encoded {
        _ if jpeg2000::is_jpeg2000(encoded) => {
            let Some(image) = Jpeg2000::read(encoded) else { return Ok(None) };
            has_room(image.bytes())?;
            Ok(image.decode())
        }
        [0xff, 0xd8, 0xff, ..] => Ok(jpeg(encoded)),
        _ => Ok(guessed(encoded)),
    }
}

/// At most a hundred progressive scans: encoders use about ten, and a few bytes suffice for one.
fn jpeg(encoded: &[u8]) -> Option<Pixels> {
    let limits = DecodeLimits {
        max_pixels: MAX_BYTES / 5,
        max_memory: Some(MAX_BYTES),
        max_scans: 100,
        ..DecodeLimits::default()
    };
    let mut decoder = Decoder::new_with_limits(encoded, limits).ok()?;
    decoder.set_output_format(PixelFormat::Rgb);
    let image = decoder.decode_image().ok()?;
    Pixels::new(image.height, image.width, image.data)
}

/// An image of one of the other formats.
fn guessed(encoded: &[u8]) -> Option<Pixels> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_BYTES);
    let mut reader = ImageReader::new(Cursor::new(encoded)).with_guessed_format().ok()?;
    reader.limits(limits);
    let image = reader.decode().ok()?;
    Pixels::new(image.height() as usize, image.width() as usize, image.into_rgb8().into_raw())
}

impl Pixels {
    /// An image; `None` unless there are three numbers for each pixel.
    fn new(height: usize, width: usize, rgb: Vec<u8>) -> Option<Self> {
        (height.checked_mul(width)?.checked_mul(3)? == rgb.len()).then_some(Pixels { height, width, rgb })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_room(_: usize) -> Result<(), ()> {
        Ok(())
    }

    #[test]
    fn undecodable_data_has_no_pixels() {
        for encoded in [
            &b"no image"[..],
            b"",
            b"\xff\xd8\xff\xe0",
            b"\xff\x4f\xff\x51\x00",
            // A header that claims 4 billion pixels.
            b"P6\n65535 65535\n255\n",
        ] {
            assert_eq!(decode(encoded, all_room), Ok(None), "{encoded:?}");
        }
    }

    #[test]
    fn grays_become_colors() {
        let image = decode(b"P5\n1 2\n255\n\x07\xff", all_room).expect("there is room").expect("an image");
        assert_eq!(image, Pixels { height: 2, width: 1, rgb: vec![7, 7, 7, 255, 255, 255] });
    }
}
