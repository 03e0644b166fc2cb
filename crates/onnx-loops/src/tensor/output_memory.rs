//! Memory of a caller that a run writes a result to.

use super::buffer::Buffer;
use super::owned::width_for;
use super::{Data, Dims, Tensor};
use crate::failure::{Failure, fail};
use crate::sync::lock;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Memory for a result of this type and shape, which its owner gets back after the run.
///
/// ```
/// use onnx_ir::ElemType;
/// use onnx_loops::OutputMemory;
///
/// let memory = OutputMemory::new(ElemType::UINT8, &[2], vec![7, 7])?;
/// let mut tensor = memory.tensor()?;
/// tensor.bytes_mut()?.copy_from_slice(&[1, 2]);
/// assert!(memory.tensor().is_err(), "it is in use");
/// drop(tensor);
/// assert_eq!(memory.tensor()?.bytes(), [1, 2]);
/// # Ok::<(), onnx_loops::Failure>(())
/// ```
#[derive(Debug)]
pub struct OutputMemory {
    elem: ElemType,
    dims: Dims,
    address: Range<usize>,
    home: Home,
}

/// Where memory is while no tensor has it.
type Home = Arc<Mutex<Option<Box<dyn Writable>>>>;

/// Bytes that can be written.
trait Writable: AsRef<[u8]> + AsMut<[u8]> + Send + Sync {}

impl<T: AsRef<[u8]> + AsMut<[u8]> + Send + Sync> Writable for T {}

impl Debug for dyn Writable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.as_ref().len(), "byte"))
    }
}

impl OutputMemory {
    /// Memory for a tensor of this type and shape. The owner must return the same bytes whenever it is asked.
    ///
    /// # Errors
    ///
    /// The number of bytes differs from the shape; they are not aligned for the type; the elements of the type are not bytes.
    pub fn new(
        elem: ElemType,
        dims: &[usize],
        memory: impl AsRef<[u8]> + AsMut<[u8]> + Send + Sync + 'static,
    ) -> Result<OutputMemory, Failure> {
        let bytes = memory.as_ref();
        let (start, width) = (bytes.as_ptr().addr(), width_for(elem, dims, bytes.len())?);
        if !bytes.is_empty() && !start.is_multiple_of(width) {
            fail!(
                "memory for a result is not aligned to {}, as its type {} needs",
                counted(width, "byte"),
                type_name(elem)
            );
        }
        let address = start..start + bytes.len();
        let memory: Box<dyn Writable> = Box::new(memory);
        Ok(OutputMemory {
            elem,
            dims: Dims::from_slice(dims),
            address,
            home: Arc::new(Mutex::new(Some(memory))),
        })
    }

    /// The tensor in this memory. The memory is free again when the tensor, and all that share its elements, are dropped.
    ///
    /// # Errors
    ///
    /// Another tensor has the memory.
    pub fn tensor(&self) -> Result<Tensor, Failure> {
        if self.address.is_empty() {
            return Tensor::zeros(self.elem, &self.dims);
        }
        let Some(memory) = lock(&self.home).take() else { fail!("memory for a result is in use") };
        let lease = Lease { memory: Some(memory), home: Arc::clone(&self.home) };
        let data = Data::Numbers(Buffer::leased(lease));
        Ok(Tensor { elem: self.elem, dims: self.dims.clone(), data })
    }

    /// The element type.
    pub fn elem(&self) -> ElemType {
        self.elem
    }

    /// The sizes of the axes, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The type as ONNX text writes it: `float[2,3]`.
    #[must_use]
    pub fn type_text(&self) -> String {
        onnx_ir::dense_type_text(self.elem, &self.dims)
    }

    /// Whether it shares bytes with other memory.
    pub fn overlaps(&self, other: &OutputMemory) -> bool {
        overlap(&self.address, &other.address)
    }

    /// Whether it shares bytes with the elements of a tensor.
    pub fn overlaps_tensor(&self, tensor: &Tensor) -> bool {
        let bytes = tensor.bytes();
        overlap(&self.address, &(bytes.as_ptr().addr()..bytes.as_ptr().addr() + bytes.len()))
    }

    /// Whether the elements of a tensor lie in this memory, from its first byte on.
    pub fn has(&self, tensor: &Tensor) -> bool {
        let bytes = tensor.bytes();
        (self.elem, &self.dims) == (tensor.elem, &tensor.dims)
            && (self.address.is_empty() || bytes.as_ptr().addr() == self.address.start)
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

fn type_name(elem: ElemType) -> &'static str {
    elem.name().unwrap_or("?")
}

/// Memory that a tensor has; it goes home when it is dropped.
pub(super) struct Lease {
    memory: Option<Box<dyn Writable>>,
    home: Home,
}

impl Lease {
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.as_deref().map_or(&[], |memory| memory.as_ref())
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.as_deref_mut().map_or(&mut [], |memory| memory.as_mut())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *lock(&self.home) = self.memory.take();
    }
}

impl Debug for Lease {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({})", counted(self.bytes().len(), "byte"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_must_fit_its_type() {
        let of = |elem, dims: &[usize], bytes: usize| OutputMemory::new(elem, dims, vec![0u8; bytes]).err();
        assert!(of(ElemType::UINT8, &[2, 3], 6).is_none());
        let empty = OutputMemory::new(ElemType::DOUBLE, &[2, 0], Vec::new()).expect("no bytes");
        assert!(empty.has(&empty.tensor().expect("free")) && empty.tensor().is_ok());
        let wrong = "a tensor of shape [2, 3] does not have 5 bytes";
        assert_eq!(of(ElemType::UINT8, &[2, 3], 5).map(|why| why.to_string()), Some(wrong.to_owned()));
        assert!(
            of(ElemType::STRING, &[1], 1).is_some() && of(ElemType::FLOAT, &[usize::MAX, 2], 1).is_some()
        );
        /// Bytes from an odd address on.
        struct Skewed(Vec<u64>);
        impl AsRef<[u8]> for Skewed {
            fn as_ref(&self) -> &[u8] {
                &bytemuck::cast_slice(&self.0)[1..9]
            }
        }
        impl AsMut<[u8]> for Skewed {
            fn as_mut(&mut self) -> &mut [u8] {
                &mut bytemuck::cast_slice_mut(&mut self.0)[1..9]
            }
        }
        let skewed = OutputMemory::new(ElemType::DOUBLE, &[1], Skewed(vec![0; 2])).err();
        assert!(skewed.is_some_and(|why| why.to_string().contains("not aligned to 8 bytes")));
    }

    #[test]
    fn shared_elements_are_copied_before_they_are_written() {
        let memory = OutputMemory::new(ElemType::UINT8, &[4], vec![1, 2, 3, 4]).expect("four");
        let mut tensor = memory.tensor().expect("free");
        assert!(
            tensor.is_mine() && tensor.is_lent() && memory.has(&tensor) && memory.overlaps_tensor(&tensor)
        );
        let part = tensor.part(1, &[2]).expect("in it");
        assert!(!tensor.is_mine() && memory.overlaps_tensor(&part) && !memory.has(&part));
        let kept = tensor.to_kept().expect("memory");
        assert!(!kept.is_lent() && !memory.overlaps_tensor(&kept));
        tensor.bytes_mut().expect("memory")[0] = 9;
        assert!(!memory.overlaps_tensor(&tensor), "the other still reads it");
        assert_eq!((tensor.bytes(), part.bytes()), (&[9, 2, 3, 4][..], &[2, 3][..]));
        drop(part);
        assert_eq!(memory.tensor().expect("free again").bytes(), [1, 2, 3, 4]);
    }
}
