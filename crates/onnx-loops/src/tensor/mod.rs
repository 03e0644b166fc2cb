//! Tensors of a run.
//!
//! Elements are in row-major order. Types of up to 8 bits take one byte per element (4-bit elements are unpacked, signed ones
//! sign-extended); other types take their size; strings are Rust strings. Buffers are shared: a clone copies nothing, and the
//! weights of a mapped model stay in the mapping.

mod buffer;
mod elements;
mod output_memory;
mod owned;
mod place;
mod store;

pub use output_memory::OutputMemory;
pub use place::NOWHERE;

use crate::budget::{BETWEEN, Charge, spend};
use crate::failure::{Failure, fail};
use crate::list::{List, Listed as _, Strings, heap_of};
use crate::recycle::Recycler;
use buffer::Buffer;
use onnx_formula::Number;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use smallvec::SmallVec;
use std::sync::Arc;

/// Sizes of the axes, outermost first.
pub type Dims = SmallVec<[usize; 4]>;

/// A tensor: element type, shape, elements.
#[derive(Clone, Debug)]
pub struct Tensor {
    elem: ElemType,
    dims: Dims,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    Numbers(Buffer),
    Strings(Arc<(Vec<String>, [Charge; 2])>),
}

/// A Rust type with an ONNX element type.
pub trait Element: bytemuck::Pod + Default {
    /// The element type.
    const ELEM: ElemType;
}

macro_rules! elements {
    ($($ty:ty = $elem:ident;)*) => {
        $(impl Element for $ty { const ELEM: ElemType = ElemType::$elem; })*
    };
}

elements! {
    f32 = FLOAT;
    f64 = DOUBLE;
    half::f16 = FLOAT16;
    half::bf16 = BFLOAT16;
    i8 = INT8;
    i16 = INT16;
    i32 = INT32;
    i64 = INT64;
    u8 = UINT8;
    u16 = UINT16;
    u32 = UINT32;
    u64 = UINT64;
}

/// How many numbers [`Tensor::from_floats`] converts at a time. A divisor of [`BETWEEN`].
const FLOATS_AT_A_TIME: usize = 256;

/// Bytes per element in a tensor; `None` for strings and unknown types.
#[inline]
pub fn width(elem: ElemType) -> Option<usize> {
    Some(elem.bits()?.div_ceil(8) as usize)
}

/// The number of elements; `None` beyond the address space.
pub fn count(dims: &[usize]) -> Option<usize> {
    // A size of 0 makes the tensor empty, even if the other sizes would overflow.
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}

/// Row-major strides, in elements.
pub fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = dims[axis].saturating_mul(strides[axis]);
    }
    strides
}

/// Advances to the next index of a shape in row-major order; returns false after the last one.
pub fn advance(index: &mut [usize], dims: &[usize]) -> bool {
    for (i, &d) in index.iter_mut().zip(dims).rev() {
        *i += 1;
        if *i < d {
            return true;
        }
        *i = 0;
    }
    false
}

/// The number of elements of a new tensor; fails beyond the address space.
#[inline]
pub fn count_of(dims: &[usize]) -> Result<usize, Failure> {
    count(dims).ok_or_else(|| Failure::new(format!("a tensor of shape {dims:?} has too many elements")))
}

impl Tensor {
    /// The type as ONNX text writes it: `float[2,3]`.
    #[must_use]
    #[inline]
    pub fn type_text(&self) -> String {
        onnx_ir::dense_type_text(self.elem, &self.dims)
    }

    /// A tensor of zeros (empty strings).
    pub fn zeros(elem: ElemType, dims: &[usize]) -> Result<Tensor, Failure> {
        let count = count_of(dims)?;
        let data = match width(elem) {
            Some(width) => Data::Numbers(Buffer::zeroed(count, width)?),
            None if elem == ElemType::STRING => return Tensor::of_texts(dims, Strings::empty(count)?),
            None => fail!("unknown element type {}", elem.0),
        };
        Ok(Tensor { elem, dims: Dims::from_slice(dims), data })
    }

    /// A tensor with arbitrary contents in recycled memory; the caller must write all elements.
    #[inline]
    pub fn recycled(elem: ElemType, dims: &[usize], from: &Arc<Recycler>) -> Result<Tensor, Failure> {
        let Some(width) = width(elem) else { return Tensor::zeros(elem, dims) };
        let data = Data::Numbers(Buffer::recycled(count_of(dims)?, width, from)?);
        Ok(Tensor { elem, dims: Dims::from_slice(dims), data })
    }

    /// A tensor of these elements; their number must match the shape.
    #[inline]
    pub fn of<T: Element>(dims: &[usize], elements: &[T]) -> Result<Tensor, Failure> {
        Tensor::of_raw(T::ELEM, dims, elements)
    }

    /// A tensor of any type with elements of the width of `T`.
    pub fn of_raw<T: bytemuck::Pod>(
        elem: ElemType,
        dims: &[usize],
        elements: &[T],
    ) -> Result<Tensor, Failure> {
        let mut tensor = Tensor::zeros(elem, dims)?;
        let to = tensor.bytes_mut()?;
        let from: &[u8] = bytemuck::cast_slice(elements);
        if to.len() != from.len() {
            fail!("a tensor of shape {dims:?} does not have {}", counted(elements.len(), "element"));
        }
        to.copy_from_slice(from);
        Ok(tensor)
    }

    /// A tensor of booleans.
    #[inline]
    pub fn of_bools(dims: &[usize], elements: impl IntoIterator<Item = bool>) -> Result<Tensor, Failure> {
        let mut tensor = Tensor::zeros(ElemType::BOOL, dims)?;
        let to = tensor.bytes_mut()?;
        fill(to, dims, elements.into_iter().map(u8::from))?;
        Ok(tensor)
    }

    /// A tensor of strings, which are charged from now on.
    #[inline]
    pub fn of_strings(dims: &[usize], strings: Vec<String>) -> Result<Tensor, Failure> {
        let charge = Charge::of(strings.len().saturating_mul(size_of::<String>()))?;
        let heap = Charge::of(strings.iter().map(|s| heap_of(s.len())).sum())?;
        Tensor::of_parts(dims, strings, [charge, heap])
    }

    /// A tensor of strings, charged one by one.
    #[inline]
    pub fn from_strings(
        dims: &[usize],
        strings: impl IntoIterator<Item = String>,
    ) -> Result<Tensor, Failure> {
        Tensor::of_texts(dims, Strings::all(strings)?)
    }

    /// A tensor of strings that are charged already.
    #[inline]
    pub fn of_texts(dims: &[usize], strings: Strings) -> Result<Tensor, Failure> {
        let (strings, charges) = strings.into_parts()?;
        Tensor::of_parts(dims, strings, charges)
    }

    fn of_parts(dims: &[usize], strings: Vec<String>, charges: [Charge; 2]) -> Result<Tensor, Failure> {
        if count(dims) != Some(strings.len()) {
            fail!("a tensor of shape {dims:?} does not have {}", counted(strings.len(), "string"));
        }
        let data = Data::Strings(Arc::new((strings, charges)));
        Ok(Tensor { elem: ElemType::STRING, dims: Dims::from_slice(dims), data })
    }

    /// A tensor of rank 0.
    #[inline]
    pub fn scalar<T: Element>(element: T) -> Result<Tensor, Failure> {
        Tensor::of(&[], &[element])
    }

    /// The element type.
    #[inline]
    pub fn elem(&self) -> ElemType {
        self.elem
    }

    /// The sizes of the axes, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        count(&self.dims).unwrap_or(0)
    }

    /// Whether it has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements are strings.
    #[inline]
    pub fn is_strings(&self) -> bool {
        matches!(self.data, Data::Strings(_))
    }

    /// These elements in another shape with as many elements.
    pub fn reshaped(&self, dims: &[usize]) -> Result<Tensor, Failure> {
        if count(dims) != Some(self.len()) {
            fail!("a tensor of shape {dims:?} does not have {}", counted(self.len(), "element"));
        }
        Ok(Tensor { dims: Dims::from_slice(dims), ..self.clone() })
    }

    /// A contiguous range of elements as a tensor that shares the memory; `None` for strings.
    pub fn part(&self, first: usize, dims: &[usize]) -> Option<Tensor> {
        let Data::Numbers(buffer) = &self.data else { return None };
        let (width, count) = (width(self.elem)?, count(dims)?);
        let end = first.checked_add(count).filter(|end| *end <= self.len())?;
        let data = Data::Numbers(buffer.part(first * width..end * width));
        Some(Tensor { elem: self.elem, dims: Dims::from_slice(dims), data })
    }

    /// Whether its numbers are in the memory of the model, not a copy.
    #[inline]
    pub fn is_stored(&self) -> bool {
        matches!(&self.data, Data::Numbers(buffer) if buffer.is_mapped())
    }

    /// Whether this is the only reference to its memory.
    #[inline]
    pub fn is_mine(&self) -> bool {
        matches!(&self.data, Data::Numbers(buffer) if buffer.is_mine())
    }

    /// Whether both share the same memory, type and shape.
    pub fn is_identical(&self, other: &Tensor) -> bool {
        let is_same_data = match (&self.data, &other.data) {
            (Data::Numbers(a), Data::Numbers(b)) => std::ptr::eq(a.bytes(), b.bytes()),
            (Data::Strings(a), Data::Strings(b)) => Arc::ptr_eq(a, b),
            (Data::Numbers(_), Data::Strings(_)) | (Data::Strings(_), Data::Numbers(_)) => false,
        };
        is_same_data && (self.elem, &self.dims) == (other.elem, &other.dims)
    }

    /// The elements, if they are of type `T`.
    pub fn slice<T: Element>(&self) -> Result<&[T], Failure> {
        if T::ELEM != self.elem {
            let name = |elem: ElemType| elem.name().unwrap_or("?");
            fail!("elements of type {} are expected, these are of type {}", name(T::ELEM), name(self.elem));
        }
        Ok(self.words())
    }

    /// The elements as words of their width, for example `u8` for booleans. Empty for strings and for other widths.
    #[inline]
    pub fn words<T: bytemuck::Pod>(&self) -> &[T] {
        match &self.data {
            Data::Numbers(buffer) if width(self.elem) == Some(size_of::<T>()) => buffer.words(),
            Data::Numbers(_) | Data::Strings(_) => &[],
        }
    }

    /// The elements for writing, see [`words`](Self::words). Shared memory is copied first, which fails without enough memory.
    pub fn words_mut<T: bytemuck::Pod>(&mut self) -> Result<&mut [T], Failure> {
        match &mut self.data {
            Data::Numbers(buffer) if width(self.elem) == Some(size_of::<T>()) => {
                Ok(bytemuck::cast_slice_mut(buffer.bytes_mut()?))
            }
            Data::Numbers(_) | Data::Strings(_) => Ok(&mut []),
        }
    }

    /// The elements as bytes; empty for strings.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Numbers(buffer) => buffer.bytes(),
            Data::Strings(_) => &[],
        }
    }

    /// The elements as bytes for writing; empty for strings. Shared memory is copied first, which fails without enough memory.
    #[inline]
    pub fn bytes_mut(&mut self) -> Result<&mut [u8], Failure> {
        match &mut self.data {
            Data::Numbers(buffer) => buffer.bytes_mut(),
            Data::Strings(_) => Ok(&mut []),
        }
    }

    /// The strings of a string tensor.
    pub fn string_slice(&self) -> Result<&[String], Failure> {
        match &self.data {
            Data::Strings(strings) => Ok(&strings.0),
            Data::Numbers(_) => {
                fail!("strings are expected, these are of type {}", self.elem.name().unwrap_or("?"))
            }
        }
    }

    /// The elements as integers, if the type is an integer or boolean type.
    pub fn ints(&self) -> Result<List<i64>, Failure> {
        use ElemType as E;
        fn all<T: bytemuck::Pod + Into<i64>>(tensor: &Tensor) -> Result<List<i64>, Failure> {
            tensor.words::<T>().iter().map(|&x| x.into()).listed()
        }
        match self.elem {
            E::INT64 => List::copied(self.words::<i64>()),
            E::INT32 => all::<i32>(self),
            E::INT16 => all::<i16>(self),
            E::INT8 | E::INT4 | E::INT2 => all::<i8>(self),
            E::UINT32 => all::<u32>(self),
            E::UINT16 => all::<u16>(self),
            E::UINT8 | E::UINT4 | E::UINT2 | E::BOOL => all::<u8>(self),
            E::UINT64 => self.words::<u64>().iter().map(|&x| i64::try_from(x).unwrap_or(i64::MAX)).listed(),
            other => fail!("integers are expected, these are of type {}", other.name().unwrap_or("?")),
        }
    }

    /// The elements as 64-bit floats, if the type is an integer type or converts exactly.
    pub fn floats(&self) -> Result<List<f64>, Failure> {
        use ElemType as E;
        fn all<T: bytemuck::Pod + Into<f64>>(tensor: &Tensor) -> Result<List<f64>, Failure> {
            tensor.words::<T>().iter().map(|&x| x.into()).listed()
        }
        match self.elem {
            E::FLOAT => all::<f32>(self),
            E::DOUBLE => List::copied(self.words::<f64>()),
            E::FLOAT16 => all::<half::f16>(self),
            E::BFLOAT16 => all::<half::bf16>(self),
            E::INT64 => self.words::<i64>().iter().map(|&x| x as f64).listed(),
            E::UINT64 => self.words::<u64>().iter().map(|&x| x as f64).listed(),
            E::INT32 => all::<i32>(self),
            E::INT16 => all::<i16>(self),
            E::INT8 | E::INT4 | E::INT2 => all::<i8>(self),
            E::UINT32 => all::<u32>(self),
            E::UINT16 => all::<u16>(self),
            E::UINT8 | E::UINT4 | E::UINT2 | E::BOOL => all::<u8>(self),
            other if is_small_float(other) => {
                let number = |&code: &u8| match Number::from_bits(other, u64::from(code)) {
                    Some(Number::Float(x)) => x,
                    Some(Number::Int(_)) | None => f64::NAN,
                };
                self.words::<u8>().iter().map(number).listed()
            }
            other => fail!("numbers are expected, these are of type {}", other.name().unwrap_or("?")),
        }
    }

    /// A tensor of numbers converted to the element type: floats are rounded to nearest, integers are truncated and saturate.
    #[inline]
    pub fn of_floats(elem: ElemType, dims: &[usize], numbers: &[f64]) -> Result<Tensor, Failure> {
        Tensor::from_floats(elem, dims, numbers.iter().copied())
    }

    /// [`of_floats`](Self::of_floats) for an iterator, which must have as many numbers as the shape.
    pub fn from_floats(
        elem: ElemType,
        dims: &[usize],
        numbers: impl IntoIterator<Item = f64>,
    ) -> Result<Tensor, Failure> {
        if !is_integer_or_float(elem) && !is_small_float(elem) {
            fail!("numbers cannot be made elements of type {}", elem.name().unwrap_or("?"));
        }
        let mut tensor = Tensor::zeros(elem, dims)?;
        let mut numbers = numbers.into_iter();
        // Only this loop is compiled for each iterator, and the conversions once.
        let mut chunk = [0.0; FLOATS_AT_A_TIME];
        for start in (0..tensor.len()).step_by(chunk.len()) {
            if start > 0 && start.is_multiple_of(BETWEEN) {
                spend(0)?;
            }
            let expected = chunk.len().min(tensor.len() - start);
            let mut found = 0;
            for (place, number) in chunk[..expected].iter_mut().zip(&mut numbers) {
                *place = number;
                found += 1;
            }
            if found < expected {
                fail!("there are fewer elements than the shape {dims:?} has");
            }
            tensor.put_floats(start, &chunk[..expected])?;
        }
        if numbers.next().is_some() {
            fail!("there are more elements than the shape {dims:?} has");
        }
        Ok(tensor)
    }

    /// Writes elements from a row-major index on, converted to the element type.
    fn put_floats(&mut self, start: usize, numbers: &[f64]) -> Result<(), Failure> {
        use ElemType as E;
        fn put<T: bytemuck::Pod>(
            tensor: &mut Tensor,
            start: usize,
            numbers: &[f64],
            convert: impl Fn(f64) -> T,
        ) -> Result<(), Failure> {
            let words = tensor.words_mut::<T>()?.get_mut(start..).unwrap_or_default();
            words.iter_mut().zip(numbers).for_each(|(word, x)| *word = convert(*x));
            Ok(())
        }
        let elem = self.elem;
        match elem {
            E::FLOAT => put(self, start, numbers, |x| x as f32),
            E::DOUBLE => put(self, start, numbers, |x| x),
            // `half` considers only the upper half of a double.
            E::FLOAT16 | E::BFLOAT16 => {
                put(self, start, numbers, |x| Number::Float(x).to_bits(elem).unwrap_or(0) as u16)
            }
            E::INT64 => put(self, start, numbers, |x| x as i64),
            E::INT32 => put(self, start, numbers, |x| x as i32),
            E::INT16 => put(self, start, numbers, |x| x as i16),
            E::INT8 => put(self, start, numbers, |x| x as i8),
            E::UINT64 => put(self, start, numbers, |x| x as u64),
            E::UINT32 => put(self, start, numbers, |x| x as u32),
            E::UINT16 => put(self, start, numbers, |x| x as u16),
            E::UINT8 => put(self, start, numbers, |x| x as u8),
            E::BOOL => put(self, start, numbers, |x| u8::from(x != 0.0)),
            other => {
                let code = |x: f64| Number::Float(x).to_bits(other).and_then(|bits| u8::try_from(bits).ok());
                if numbers.iter().any(|x| code(*x).is_none()) {
                    fail!("a number has no element of type {}", other.name().unwrap_or("?"));
                }
                put(self, start, numbers, |x| code(x).unwrap_or(0))
            }
        }
    }

    /// Gathers elements by their row-major index into a new shape. The indices must exist.
    #[inline]
    pub fn picked(&self, dims: &[usize], positions: &[usize]) -> Result<Tensor, Failure> {
        self.picked_runs(dims, positions.iter().copied(), 1)
    }

    /// Gathers runs of `run` elements into a new shape; `starts` are the indices of their first elements.
    pub fn picked_runs(
        &self,
        dims: &[usize],
        starts: impl Iterator<Item = usize>,
        run: usize,
    ) -> Result<Tensor, Failure> {
        let outside = || Failure::new("a position lies outside of the tensor");
        if let Data::Strings(strings) = &self.data {
            let mut picked = Strings::with_room(count_of(dims)?)?;
            for start in starts {
                let end = start.checked_add(run).ok_or_else(outside)?;
                let all = strings.0.get(start..end).ok_or_else(outside)?;
                all.iter().try_for_each(|text| picked.push_copy(text))?;
            }
            return Tensor::of_texts(dims, picked);
        }
        fn all<T: bytemuck::Pod>(
            from: &Tensor,
            picked: &mut Tensor,
            starts: impl Iterator<Item = usize>,
            run: usize,
        ) -> Result<bool, Failure> {
            let words = from.words::<T>();
            let mut to = picked.words_mut::<T>()?.iter_mut();
            for start in starts {
                let all = start.checked_add(run).and_then(|end| words.get(start..end));
                let Some(all) = all else { fail!("a position lies outside of the tensor") };
                for word in all {
                    let Some(to) = to.next() else { return Ok(false) };
                    *to = *word;
                }
            }
            Ok(to.next().is_none())
        }
        let mut picked = Tensor::zeros(self.elem, dims)?;
        let is_whole = match width(self.elem) {
            _ if run == 0 => picked.is_empty(),
            Some(1) => all::<u8>(self, &mut picked, starts, run)?,
            Some(2) => all::<u16>(self, &mut picked, starts, run)?,
            Some(4) => all::<u32>(self, &mut picked, starts, run)?,
            Some(8) => all::<u64>(self, &mut picked, starts, run)?,
            _ => all::<u128>(self, &mut picked, starts, run)?,
        };
        if !is_whole {
            fail!("a tensor of shape {dims:?} does not have as many elements as there are positions");
        }
        Ok(picked)
    }
}

/// Writes one element per place; fails if there are fewer.
fn fill<T>(to: &mut [T], dims: &[usize], from: impl Iterator<Item = T>) -> Result<(), Failure> {
    let mut from = from;
    for (part, places) in to.chunks_mut(BETWEEN).enumerate() {
        if part > 0 {
            spend(0)?;
        }
        for place in places {
            let Some(element) = from.next() else {
                fail!("there are fewer elements than the shape {dims:?} has")
            };
            *place = element;
        }
    }
    if from.next().is_some() {
        fail!("there are more elements than the shape {dims:?} has");
    }
    Ok(())
}

fn is_integer_or_float(elem: ElemType) -> bool {
    use ElemType as E;
    matches!(
        elem,
        E::FLOAT
            | E::DOUBLE
            | E::FLOAT16
            | E::BFLOAT16
            | E::INT64
            | E::INT32
            | E::INT16
            | E::INT8
            | E::UINT64
            | E::UINT32
            | E::UINT16
            | E::UINT8
            | E::BOOL
    )
}

/// Whether these are floats of at most 8 bits.
fn is_small_float(elem: ElemType) -> bool {
    width(elem) == Some(1) && matches!(Number::from_bits(elem, 0), Some(Number::Float(_)))
}

impl PartialEq for Tensor {
    /// Whether type, shape and every bit are equal.
    fn eq(&self, other: &Self) -> bool {
        let strings = |t: &Tensor| t.string_slice().ok().map(<[String]>::to_vec);
        (self.elem, &self.dims) == (other.elem, &other.dims)
            && self.bytes() == other.bytes()
            && strings(self) == strings(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_have_as_many_elements_as_their_extents_say() {
        let t = Tensor::of(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]).expect("four");
        assert_eq!(t.slice::<f32>().expect("floats")[3], 4.0);
        assert!(t.slice::<i32>().is_err());
        assert!(Tensor::of(&[3], &[1i64]).is_err());
        assert!(Tensor::zeros(ElemType::FLOAT, &[1 << 40, 1 << 40]).is_err());
        assert_eq!(Tensor::zeros(ElemType::FLOAT, &[0, usize::MAX, 2]).expect("none").len(), 0);
        assert_eq!(t.picked(&[2], &[3, 0]).expect("there").slice::<f32>().expect("floats"), [4.0, 1.0]);
        assert!(t.picked(&[1], &[4]).is_err());
    }

    #[test]
    fn floats_are_converted_one_after_the_other_in_chunks_of_any_length() {
        use ElemType as E;
        let x = |i: usize| i as f64 * 0.75 - 90.0;
        /// An element type, its elements as numbers, and what a number becomes.
        type Check = (E, fn(&Tensor, usize) -> f64, fn(f64) -> f64);
        let checks: [Check; 6] = [
            (E::FLOAT, |t, i| t.words::<f32>()[i].into(), |x| x),
            (E::DOUBLE, |t, i| t.words::<f64>()[i], |x| x),
            (E::FLOAT16, |t, i| t.words::<half::f16>()[i].into(), |x| half::f16::from_f64(x).into()),
            (E::INT64, |t, i| t.words::<i64>()[i] as f64, f64::trunc),
            (E::UINT8, |t, i| t.words::<u8>()[i].into(), |x| x.trunc().clamp(0.0, 255.0)),
            (E::BOOL, |t, i| t.words::<u8>()[i].into(), |x| f64::from(u8::from(x != 0.0))),
        ];
        for count in [0, 1, FLOATS_AT_A_TIME - 1, FLOATS_AT_A_TIME, FLOATS_AT_A_TIME + 1, 1000] {
            for (elem, element, expected) in &checks {
                let t = Tensor::from_floats(*elem, &[count], (0..count).map(x)).expect("as many");
                assert!((0..count).all(|i| element(&t, i) == expected(x(i))), "{count} of {elem:?}");
                for other in [count + 1, count.saturating_sub(1)] {
                    let fits = Tensor::from_floats(*elem, &[count], (0..other).map(x)).is_ok();
                    assert_eq!(fits, other == count, "{other} numbers for {count} of {elem:?}");
                }
            }
        }
        assert!(Tensor::from_floats(E::STRING, &[1], [1.0]).is_err());
    }
}
