//! Bytes of tensors: made here, or a slice of a mapped file.

use crate::budget;
use crate::failure::{Failure, fail};
use crate::recycle::{Contents, Recycler, Shared};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Shared bytes that are aligned for every element type.
#[derive(Clone, Debug)]
pub(super) enum Buffer {
    /// A part of what was made here, or all of it.
    Made(Shared, Range<usize>),
    Mapped(Bytes),
}

impl Buffer {
    fn made(shared: Shared) -> Buffer {
        let all = 0..shared.bytes().len();
        Buffer::Made(shared, all)
    }

    /// So many elements of a width, all zero.
    pub(super) fn zeroed(count: usize, width: usize) -> Result<Buffer, Failure> {
        let bytes = bytes_of(count, width)?;
        let shared = match budget::recycler() {
            Some(recycler) => recycler.shared(bytes, Contents::Zeros)?,
            None => Shared::zeroed(bytes)?,
        };
        Ok(Buffer::made(shared))
    }

    /// So many elements of a width with any contents, in memory that is used again.
    pub(super) fn recycled(count: usize, width: usize, from: &Arc<Recycler>) -> Result<Buffer, Failure> {
        Ok(Buffer::made(from.shared(bytes_of(count, width)?, Contents::Any)?))
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
        let mut shared = match budget::recycler() {
            Some(recycler) => recycler.shared(bytes.len(), Contents::Any)?,
            None => Shared::zeroed(bytes.len())?,
        };
        shared.bytes_mut()?.copy_from_slice(bytes);
        Ok(Buffer::made(shared))
    }

    /// Some of the bytes, which are not copied; they are there. What is made stays, and stays charged, as long as they are held.
    pub(super) fn part(&self, part: Range<usize>) -> Buffer {
        match self {
            Buffer::Made(made, all) => {
                Buffer::Made(made.clone(), all.start + part.start..all.start + part.end)
            }
            Buffer::Mapped(bytes) => Buffer::Mapped(bytes.slice(part)),
        }
    }

    /// The bytes, which are not copied: what is made stays, and stays charged, as long as they are held.
    pub(super) fn shared(&self) -> Bytes {
        match self {
            Buffer::Made(made, part) => Bytes::from_owner(made.clone()).slice(part.clone()),
            Buffer::Mapped(bytes) => bytes.clone(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Buffer::Made(made, part) => &made.bytes()[part.clone()],
            Buffer::Mapped(bytes) => bytes,
        }
    }

    /// All bytes as words; their alignment was seen to when the buffer was made.
    pub(super) fn words<T: bytemuck::Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    pub(super) fn is_mapped(&self) -> bool {
        matches!(self, Buffer::Mapped(_))
    }

    /// Whether they may be written as they are.
    pub(super) fn is_mine(&self) -> bool {
        matches!(self, Buffer::Made(made, _) if made.is_mine())
    }

    /// The bytes to be written; a buffer that others share is copied.
    pub(super) fn bytes_mut(&mut self) -> Result<&mut [u8], Failure> {
        if !self.is_mine() {
            *self = Buffer::copied(self.bytes())?;
        }
        match self {
            Buffer::Made(made, part) => Ok(&mut made.bytes_mut()?[part.clone()]),
            Buffer::Mapped(_) => fail!("a buffer that is about to be written is mapped"),
        }
    }
}

fn bytes_of(count: usize, width: usize) -> Result<usize, Failure> {
    let too_many = || Failure::new(format!("{count} elements of {width} bytes are too many"));
    count.checked_mul(width).ok_or_else(too_many)
}
