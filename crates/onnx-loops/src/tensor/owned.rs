//! Tensors over memory that the caller owns.

use super::buffer::Buffer;
use super::{Data, Dims, Element, Tensor, count_of, width};
use crate::failure::{Failure, fail};
use bytes::Bytes;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use std::marker::PhantomData;

/// Elements as bytes.
struct AsBytes<T, O>(O, PhantomData<fn() -> T>);

impl<T: Element, O: AsRef<[T]>> AsRef<[u8]> for AsBytes<T, O> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(self.0.as_ref())
    }
}

impl Tensor {
    /// A tensor over elements that an owner provides: a `Vec`, an `Arc<[f32]>`, a mapped file. They are not copied; the tensor
    /// keeps the owner until it is dropped. Such memory is not charged to a run.
    ///
    /// ```
    /// use onnx_loops::Tensor;
    /// use std::sync::Arc;
    ///
    /// let frames: Arc<[f32]> = Arc::from([1.0, 2.0, 3.0, 4.0]);
    /// let tensor = Tensor::over(&[2, 2], Arc::clone(&frames))?;
    /// assert_eq!(tensor.slice::<f32>()?.as_ptr(), frames.as_ptr());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The number of elements differs from the shape.
    #[inline]
    pub fn over<T: Element>(
        dims: &[usize],
        owner: impl AsRef<[T]> + Send + 'static,
    ) -> Result<Tensor, Failure> {
        let owner = AsBytes::<T, _>(owner, PhantomData);
        Tensor::from_bytes(T::ELEM, dims, Bytes::from_owner(owner))
    }

    /// A tensor of any type except strings over bytes in native byte order, with elements in whole bytes. They are copied only if
    /// they are not aligned for the type.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use onnx_loops::Tensor;
    /// use onnx_ir::ElemType;
    ///
    /// let message = Bytes::from_static(&[3, 1, 2]);
    /// let tensor = Tensor::from_bytes(ElemType::UINT8, &[2], message.slice(1..))?;
    /// assert_eq!(tensor.slice::<u8>()?, [1, 2]);
    /// assert_eq!(tensor.bytes().as_ptr(), message[1..].as_ptr());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The number of bytes differs from the shape; the elements of the type are not bytes.
    pub fn from_bytes(elem: ElemType, dims: &[usize], bytes: Bytes) -> Result<Tensor, Failure> {
        let width = width_for(elem, dims, bytes.len())?;
        let data = Data::Numbers(Buffer::stored(&bytes, width, None)?);
        Ok(Tensor { elem, dims: Dims::from_slice(dims), data })
    }

    /// A tensor over memory that is lent for one run: its owner may change it afterwards. A run copies what it keeps of such a
    /// tensor, and results that would share its memory; [`to_kept`](Self::to_kept) does so for others who keep one.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use onnx_loops::Tensor;
    /// use onnx_ir::ElemType;
    ///
    /// let frame = Bytes::from_static(&[3, 1, 2]);
    /// let lent = Tensor::lent(ElemType::UINT8, &[3], frame.clone())?;
    /// assert_eq!(lent.bytes().as_ptr(), frame.as_ptr());
    /// assert_ne!(lent.to_kept()?.bytes().as_ptr(), frame.as_ptr());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`from_bytes`](Self::from_bytes).
    pub fn lent(elem: ElemType, dims: &[usize], bytes: Bytes) -> Result<Tensor, Failure> {
        let width = width_for(elem, dims, bytes.len())?;
        let data = Data::Numbers(Buffer::lent(bytes, width)?);
        Ok(Tensor { elem, dims: Dims::from_slice(dims), data })
    }

    /// This tensor, copied if its memory is lent.
    ///
    /// # Errors
    ///
    /// There is not enough memory for the copy.
    pub fn to_kept(&self) -> Result<Tensor, Failure> {
        let data = match &self.data {
            Data::Numbers(buffer) => Data::Numbers(buffer.kept()?),
            Data::Strings(_) => self.data.clone(),
        };
        Ok(Tensor { elem: self.elem, dims: self.dims.clone(), data })
    }

    /// Whether its memory is lent for one run, as an operand or for a result.
    pub fn is_lent(&self) -> bool {
        matches!(&self.data, Data::Numbers(buffer) if buffer.is_lent())
    }
}

/// The bytes of an element, if so many bytes have this type and shape.
pub(super) fn width_for(elem: ElemType, dims: &[usize], bytes: usize) -> Result<usize, Failure> {
    let Some(width) = width(elem) else {
        fail!("elements of type {} are not bytes", elem.name().unwrap_or("?"))
    };
    if count_of(dims)?.checked_mul(width) != Some(bytes) {
        fail!("a tensor of shape {dims:?} does not have {}", counted(bytes, "byte"));
    }
    Ok(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_elements_are_not_copied_and_not_written() {
        let mut tensor = Tensor::over(&[3], vec![1i64, 2, 3]).expect("three");
        let at = tensor.bytes().as_ptr();
        let other = tensor.clone();
        tensor.words_mut::<i64>().expect("numbers")[0] = 7;
        assert_eq!(tensor.slice::<i64>().expect("integers"), [7, 2, 3]);
        assert_eq!((other.bytes().as_ptr(), other.slice::<i64>().expect("integers")), (at, &[1, 2, 3][..]));
        assert!(Tensor::over(&[2, 2], vec![1.0f32; 3]).is_err());
    }

    #[test]
    fn what_is_lent_is_copied_where_it_is_written_or_kept() {
        let bytes = Bytes::from_owner(vec![0u8; 64]);
        let lent = Tensor::lent(ElemType::UINT8, &[2, 32], bytes.clone()).expect("64");
        let parts = [lent.clone(), lent.reshaped(&[64]).expect("64"), lent.part(8, &[8]).expect("in it")];
        for mut part in parts {
            assert!(part.is_lent() && !part.is_mine() && !part.is_stored());
            let kept = part.to_kept().expect("memory");
            assert!(!kept.is_lent() && kept.bytes() == part.bytes());
            assert!(kept.to_kept().expect("kept already").is_identical(&kept));
            part.bytes_mut().expect("memory")[0] = 1;
            assert!(!part.is_lent() && bytes[..] == [0; 64]);
        }
        assert!(Tensor::lent(ElemType::FLOAT, &[16, 2], bytes).is_err());
    }

    #[test]
    fn bytes_are_copied_where_they_are_not_aligned() {
        let all = Bytes::from_owner(vec![0u8; 64]);
        let skipped =
            (1..=8).find(|at| !(all.as_ptr().addr() + at).is_multiple_of(8)).expect("seven of eight");
        let tensor =
            Tensor::from_bytes(ElemType::DOUBLE, &[2], all.slice(skipped..skipped + 16)).expect("two");
        assert_eq!(tensor.slice::<f64>().expect("doubles"), [0.0, 0.0]);
        assert!(Tensor::from_bytes(ElemType::DOUBLE, &[2], all.slice(..15)).is_err());
        assert!(Tensor::from_bytes(ElemType::STRING, &[2], all).is_err());
    }
}
