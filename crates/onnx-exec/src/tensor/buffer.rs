//! Bytes of tensors: made here, or a slice of a mapped file.

use crate::budget::{self, Charge};
use crate::failure::{Failure, fail};
use bytes::Bytes;
use std::sync::Arc;

/// Shared bytes that are aligned for every element type.
#[derive(Clone, Debug)]
pub(super) enum Buffer {
    Made(Arc<Made>),
    Mapped(Bytes),
}

#[derive(Debug)]
pub(super) struct Made {
    words: Vec<u128>,
    bytes: usize,
    _charge: Charge,
}

/// So many bytes may not be there.
const LARGE: usize = 1 << 20;

impl Made {
    fn zeroed(bytes: usize) -> Result<Made, Failure> {
        let charge = Charge::of(bytes.saturating_add(budget::TENSOR))?;
        let count = bytes.div_ceil(size_of::<u128>());
        if bytes >= LARGE {
            // What the system refuses is an error: asked for, given back, and asked for again as zeros below.
            let refused = |_| Failure::limit(format!("not enough memory: {bytes} bytes are needed"));
            Vec::<u128>::new().try_reserve_exact(count).map_err(refused)?;
        }
        // Zeroed pages come from the system untouched, so that nothing is written twice.
        Ok(Made { words: vec![0; count], bytes, _charge: charge })
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

/// A buffer that is held as bytes.
struct Shared(Arc<Made>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Buffer {
    /// So many elements of a width, all zero.
    pub(super) fn zeroed(count: usize, width: usize) -> Result<Buffer, Failure> {
        let too_many = || Failure::new(format!("{count} elements of {width} bytes are too many"));
        let bytes = count.checked_mul(width).ok_or_else(too_many)?;
        Ok(Buffer::Made(Arc::new(Made::zeroed(bytes)?)))
    }

    /// Stored bytes, as they are if they are aligned for this width, else copied.
    pub(super) fn stored(bytes: &Bytes, width: usize) -> Result<Buffer, Failure> {
        if bytes.as_ptr().addr().is_multiple_of(width) {
            return Ok(Buffer::Mapped(bytes.clone()));
        }
        Buffer::copied(bytes)
    }

    /// A copy, to be written to or to be aligned.
    fn copied(bytes: &[u8]) -> Result<Buffer, Failure> {
        let mut made = Made::zeroed(bytes.len())?;
        bytemuck::cast_slice_mut(&mut made.words)[..bytes.len()].copy_from_slice(bytes);
        Ok(Buffer::Made(Arc::new(made)))
    }

    /// The bytes, which are not copied: what is made stays, and stays charged, as long as they are held.
    pub(super) fn shared(&self) -> Bytes {
        match self {
            Buffer::Made(made) => Bytes::from_owner(Shared(Arc::clone(made))),
            Buffer::Mapped(bytes) => bytes.clone(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Buffer::Made(made) => made.bytes(),
            Buffer::Mapped(bytes) => bytes,
        }
    }

    /// All bytes as words; their alignment was seen to when the buffer was made.
    pub(super) fn words<T: bytemuck::Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    /// The bytes to be written; a buffer that others share is copied.
    pub(super) fn bytes_mut(&mut self) -> Result<&mut [u8], Failure> {
        let is_mine = matches!(self, Buffer::Made(made) if Arc::strong_count(made) == 1);
        if !is_mine {
            *self = Buffer::copied(self.bytes())?;
        }
        match self {
            Buffer::Made(made) => match Arc::get_mut(made) {
                Some(made) => Ok(&mut bytemuck::cast_slice_mut(&mut made.words)[..made.bytes]),
                None => fail!("a buffer that is about to be written is shared"),
            },
            Buffer::Mapped(_) => fail!("a buffer that is about to be written is mapped"),
        }
    }
}
