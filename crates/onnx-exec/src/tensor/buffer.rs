//! Bytes of tensors: made here, or a slice of a mapped file.

use crate::budget::{self, Charge};
use crate::failure::{Failure, fail};
use crate::recycle::{Block, Recycler};
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
    block: Block,
    _charge: Charge,
}

impl Made {
    fn zeroed(bytes: usize) -> Result<Made, Failure> {
        let charge = Charge::of(bytes.saturating_add(budget::TENSOR))?;
        Ok(Made { block: Block::zeroed(bytes)?, _charge: charge })
    }
}

/// A buffer that is held as bytes.
struct Shared(Arc<Made>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.block.bytes()
    }
}

impl Buffer {
    /// So many elements of a width, all zero.
    pub(super) fn zeroed(count: usize, width: usize) -> Result<Buffer, Failure> {
        Ok(Buffer::Made(Arc::new(Made::zeroed(bytes_of(count, width)?)?)))
    }

    /// So many elements of a width with any contents, in memory that is used again.
    pub(super) fn recycled(count: usize, width: usize, from: &Arc<Recycler>) -> Result<Buffer, Failure> {
        let bytes = bytes_of(count, width)?;
        let charge = Charge::of(bytes.saturating_add(budget::TENSOR))?;
        Ok(Buffer::Made(Arc::new(Made { block: from.take(bytes)?, _charge: charge })))
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
        made.block.bytes_mut().copy_from_slice(bytes);
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
            Buffer::Made(made) => made.block.bytes(),
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
                Some(made) => Ok(made.block.bytes_mut()),
                None => fail!("a buffer that is about to be written is shared"),
            },
            Buffer::Mapped(_) => fail!("a buffer that is about to be written is mapped"),
        }
    }
}

fn bytes_of(count: usize, width: usize) -> Result<usize, Failure> {
    let too_many = || Failure::new(format!("{count} elements of {width} bytes are too many"));
    count.checked_mul(width).ok_or_else(too_many)
}
