//! Bytes of tensors: allocated by a run, a slice of a mapped file, lent for a run, or provided for a result.

use super::output_memory::Lease;
use crate::budget;
use crate::failure::{Failure, fail};
use crate::pack_cache::{PackedStore, aligned};
use crate::recycle::{Contents, Recycler, Shared};
use bytes::Bytes;
use onnx_ir::diag::counted;
use std::ops::Range;
use std::sync::Arc;

/// Shared bytes, aligned for every element type.
#[derive(Clone, Debug)]
pub(super) enum Buffer {
    /// A range of a shared allocation.
    Made(Shared, Range<usize>),
    Mapped(Bytes),
    /// Memory that its owner may change after the run.
    Lent(Bytes),
    /// A range of memory that a caller provides for a result.
    Leased(Arc<Lease>, Range<usize>),
}

impl Buffer {
    fn made(shared: Shared) -> Buffer {
        let all = 0..shared.bytes().len();
        Buffer::Made(shared, all)
    }

    pub(super) fn leased(lease: Lease) -> Buffer {
        let all = 0..lease.bytes().len();
        Buffer::Leased(Arc::new(lease), all)
    }

    /// `count` zero elements.
    pub(super) fn zeroed(count: usize, width: usize) -> Result<Buffer, Failure> {
        let bytes = bytes_of(count, width)?;
        let shared = match budget::recycler() {
            Some(recycler) => recycler.shared(bytes, Contents::Zeros)?,
            None => Shared::zeroed(bytes)?,
        };
        Ok(Buffer::made(shared))
    }

    /// `count` elements with arbitrary contents, in recycled memory.
    pub(super) fn recycled(count: usize, width: usize, from: &Arc<Recycler>) -> Result<Buffer, Failure> {
        Ok(Buffer::made(from.shared(bytes_of(count, width)?, Contents::Any)?))
    }

    /// Stored bytes, shared if they are aligned for this width, otherwise copied: into a store that other programs use too, if there is one.
    pub(super) fn stored(
        bytes: &Bytes,
        width: usize,
        store: Option<&dyn PackedStore>,
    ) -> Result<Buffer, Failure> {
        if bytes.as_ptr().addr().is_multiple_of(width) {
            return Ok(Buffer::Mapped(bytes.clone()));
        }
        match store.and_then(|store| aligned(store, bytes, width)) {
            Some(aligned) => Ok(Buffer::Mapped(aligned)),
            None => Buffer::copied(bytes),
        }
    }

    /// Lent bytes, shared if they are aligned for this width, otherwise copied.
    pub(super) fn lent(bytes: Bytes, width: usize) -> Result<Buffer, Failure> {
        if bytes.as_ptr().addr().is_multiple_of(width) {
            Ok(Buffer::Lent(bytes))
        } else {
            Buffer::copied(&bytes)
        }
    }

    /// These bytes, copied if they are lent.
    pub(super) fn kept(&self) -> Result<Buffer, Failure> {
        match self {
            Buffer::Made(..) | Buffer::Mapped(_) => Ok(self.clone()),
            Buffer::Lent(_) | Buffer::Leased(..) => Buffer::copied(self.bytes()),
        }
    }

    /// A copy, which is aligned and not shared.
    fn copied(bytes: &[u8]) -> Result<Buffer, Failure> {
        let mut shared = match budget::recycler() {
            Some(recycler) => recycler.shared(bytes.len(), Contents::Any)?,
            None => Shared::zeroed(bytes.len())?,
        };
        shared.bytes_mut()?.copy_from_slice(bytes);
        Ok(Buffer::made(shared))
    }

    /// A range of the bytes, which must exist, without a copy. It keeps the allocation alive and charged.
    pub(super) fn part(&self, part: Range<usize>) -> Buffer {
        match self {
            Buffer::Made(made, all) => {
                Buffer::Made(made.clone(), all.start + part.start..all.start + part.end)
            }
            Buffer::Mapped(bytes) => Buffer::Mapped(bytes.slice(part)),
            Buffer::Lent(bytes) => Buffer::Lent(bytes.slice(part)),
            Buffer::Leased(lease, all) => {
                Buffer::Leased(Arc::clone(lease), all.start + part.start..all.start + part.end)
            }
        }
    }

    /// The bytes, without a copy unless a caller provides the memory. They keep the allocation alive and charged.
    pub(super) fn shared(&self) -> Bytes {
        match self {
            Buffer::Made(made, part) => Bytes::from_owner(made.clone()).slice(part.clone()),
            Buffer::Mapped(bytes) | Buffer::Lent(bytes) => bytes.clone(),
            Buffer::Leased(..) => Bytes::copy_from_slice(self.bytes()),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Buffer::Made(made, part) => &made.bytes()[part.clone()],
            Buffer::Mapped(bytes) | Buffer::Lent(bytes) => bytes,
            Buffer::Leased(lease, part) => &lease.bytes()[part.clone()],
        }
    }

    /// All bytes as words; constructors ensure the alignment.
    pub(super) fn words<T: bytemuck::Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    pub(super) fn is_mapped(&self) -> bool {
        matches!(self, Buffer::Mapped(_))
    }

    pub(super) fn is_lent(&self) -> bool {
        matches!(self, Buffer::Lent(_) | Buffer::Leased(..))
    }

    /// Whether this is the only reference to memory that may be written.
    pub(super) fn is_mine(&self) -> bool {
        match self {
            Buffer::Made(made, _) => made.is_mine(),
            Buffer::Leased(lease, _) => Arc::strong_count(lease) == 1,
            Buffer::Mapped(_) | Buffer::Lent(_) => false,
        }
    }

    /// The bytes for writing; a shared buffer is copied first.
    pub(super) fn bytes_mut(&mut self) -> Result<&mut [u8], Failure> {
        if !self.is_mine() {
            *self = Buffer::copied(self.bytes())?;
        }
        match self {
            Buffer::Made(made, part) => Ok(&mut made.bytes_mut()?[part.clone()]),
            Buffer::Leased(lease, part) => match Arc::get_mut(lease) {
                Some(lease) => Ok(&mut lease.bytes_mut()[part.clone()]),
                None => fail!("a buffer that is about to be written is shared"),
            },
            Buffer::Mapped(_) | Buffer::Lent(_) => {
                fail!("a buffer that is about to be written belongs to someone else")
            }
        }
    }
}

fn bytes_of(count: usize, width: usize) -> Result<usize, Failure> {
    let too_many = || {
        Failure::new(format!(
            "a tensor cannot have {} of {}",
            counted(count, "element"),
            counted(width, "byte")
        ))
    };
    count.checked_mul(width).ok_or_else(too_many)
}
