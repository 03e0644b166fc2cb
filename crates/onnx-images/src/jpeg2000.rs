//! JPEG 2000.

use crate::{MAX_BYTES, Pixels};
use hayro_jpeg2000::{ColorSpace, DecodeSettings, DecoderContext, Image};

/// A container or a raw codestream.
pub(crate) fn is_jpeg2000(encoded: &[u8]) -> bool {
    encoded.starts_with(b"\x00\x00\x00\x0cjP  ") || encoded.starts_with(b"\xff\x4f\xff\x51")
}

/// An image whose header has been read.
pub(crate) struct Jpeg2000<'e> {
    image: Image<'e>,
    bytes: usize,
}

impl<'e> Jpeg2000<'e> {
    /// Reads the header; `None` if it is damaged, or the decoder needs too much memory.
    pub(crate) fn read(encoded: &'e [u8]) -> Option<Self> {
        let image = Image::new(encoded, &DecodeSettings::default()).ok()?;
        let channels = image.color_space().num_channels() + u8::from(image.has_alpha());
        // The decoder stores a float per sample.
        let pixels = u64::from(image.width()).saturating_mul(image.height().into());
        let bytes = pixels.saturating_mul(u64::from(channels) * 4);
        (bytes <= MAX_BYTES).then_some(Jpeg2000 { image, bytes: usize::try_from(bytes).ok()? })
    }

    /// The memory that the decoder needs.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The pixels; `None` if the data cannot be decoded.
    pub(crate) fn decode(&self) -> Option<Pixels> {
        let image = &self.image;
        let channels = image.color_space().num_channels() + u8::from(image.has_alpha());
        let mut context = DecoderContext::default();
        let decoded = image.decode(&mut context).ok()?;
        let samples = decoded.data_u8();
        let pixels = samples.chunks_exact(usize::from(channels.max(1)));
        let rgb: Vec<u8> = match (image.color_space(), image.color_space().num_channels()) {
            (ColorSpace::CMYK, _) => {
                let part = |ink: u8, key: u8| {
                    let light = (255 - u16::from(ink)) * (255 - u16::from(key));
                    u8::try_from((light + 127) / 255).unwrap_or(255)
                };
                pixels.flat_map(|p| [part(p[0], p[3]), part(p[1], p[3]), part(p[2], p[3])]).collect()
            }
            (_, 1) => pixels.flat_map(|p| [p[0]; 3]).collect(),
            (_, 3) => pixels.flat_map(|p| [p[0], p[1], p[2]]).collect(),
            (_, _) => return None,
        };
        Pixels::new(image.height() as usize, image.width() as usize, rgb)
    }
}
