//! Values that are computed with: tensors, sequences, maps, optionals.

use crate::abi::{Status, Str, User, attempt, free, guard, handle, put};
use crate::findings::Findings;
use bytes::Bytes;
use onnx_exec::{Tensor, Value};
use onnx_ir::ElemType;
use std::ffi::c_void;

/// A value of a run. Elements of numbers are one after the other, the last dimension first, in the byte order of the machine; those of less than
/// 8 bits have a byte each.
pub struct Data(pub(crate) Value);

/// The kind of a value.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DataKind {
    /// A tensor.
    Tensor = 0,
    /// A sequence of values.
    Sequence = 1,
    /// A map: a sequence of two values, a tensor of keys and the sequence of their values.
    Map = 2,
    /// An optional: a sequence of no or one value.
    Optional = 3,
}

/// A view of a tensor.
#[repr(C)]
pub struct DataView {
    /// The element type, a number of `TensorProto.DataType`.
    pub elem_type: i32,
    /// The number of dimensions.
    pub rank: usize,
    /// The sizes.
    pub dims: *const usize,
    /// The number of elements.
    pub count: usize,
    /// The elements; null for strings.
    pub bytes: *const c_void,
    /// The number of bytes.
    pub size: usize,
}

impl From<Tensor> for Data {
    fn from(tensor: Tensor) -> Data {
        Data(Value::Tensor(tensor))
    }
}

/// Memory of the caller.
struct Lent {
    data: *const u8,
    len: usize,
    release: Option<unsafe extern "C" fn(user: *mut c_void)>,
    user: User,
}

// SAFETY: it is only read, and the caller says that it may be read by any thread until it is released.
unsafe impl Send for Lent {}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the caller says that `len` bytes are readable at `data` until they are released, which is when this is dropped.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the caller gave the function for this pointer; it is called once.
            unsafe { release(self.user.0) }
        }
    }
}

/// The sizes that the caller gives.
///
/// # Safety
///
/// `dims` is readable for `rank` numbers, or `rank` is 0.
pub(crate) unsafe fn sizes<'a>(dims: *const usize, rank: usize) -> &'a [usize] {
    if rank == 0 || dims.is_null() {
        return &[];
    }
    // SAFETY: as the caller says; it is not null.
    unsafe { std::slice::from_raw_parts(dims, rank) }
}

/// A tensor with a copy of elements. `why` receives the reason if the size does not fit the shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_copy(
    elem_type: i32,
    dims: *const usize,
    rank: usize,
    bytes: *const c_void,
    size: usize,
    why: *mut *mut Findings,
) -> *mut Data {
    let mut data = std::ptr::null_mut();
    // SAFETY: `dims`, `bytes` and `why` as the header says.
    unsafe {
        let (dims, bytes) = (sizes(dims, rank), Str { data: bytes.cast(), len: size }.bytes());
        attempt(why, || {
            let tensor = Tensor::from_bytes(ElemType(elem_type), dims, Bytes::copy_from_slice(bytes));
            data = handle(Data::from(tensor.map_err(|why| Findings::message(why.to_string()))?));
            Ok(None)
        });
    }
    data
}

/// A tensor over memory of the caller, which is not copied if it is aligned for its elements. It must stay readable and unchanged until `release`
/// is called, from any thread, with `user`; without `release`, until the value and all that were made of it are freed. A run copies what it
/// keeps of it. If the size does not fit the shape, the result is a null pointer, `why` receives the reason, and the memory is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_borrow(
    elem_type: i32,
    dims: *const usize,
    rank: usize,
    bytes: *const c_void,
    size: usize,
    release: Option<unsafe extern "C" fn(user: *mut c_void)>,
    user: *mut c_void,
    why: *mut *mut Findings,
) -> *mut Data {
    let mut data = std::ptr::null_mut();
    // SAFETY: `dims`, `bytes` and `why` as the header says.
    unsafe {
        let dims = sizes(dims, rank);
        let empty = std::ptr::NonNull::<u8>::dangling().as_ptr().cast_const();
        let at = if size == 0 || bytes.is_null() { empty } else { bytes.cast() };
        let len = if bytes.is_null() { 0 } else { size };
        let lent = Bytes::from_owner(Lent { data: at, len, release, user: User(user) });
        attempt(why, || {
            let tensor = Tensor::lent(ElemType(elem_type), dims, lent);
            data = handle(Data::from(tensor.map_err(|why| Findings::message(why.to_string()))?));
            Ok(None)
        });
    }
    data
}

/// A tensor of zeros, to be written to ([`onnxtxt_data_bytes`]) or to receive a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_zeros(
    elem_type: i32,
    dims: *const usize,
    rank: usize,
    why: *mut *mut Findings,
) -> *mut Data {
    let mut data = std::ptr::null_mut();
    // SAFETY: `dims` and `why` as the header says.
    unsafe {
        let dims = sizes(dims, rank);
        attempt(why, || {
            let tensor = Tensor::zeros(ElemType(elem_type), dims);
            data = handle(Data::from(tensor.map_err(|why| Findings::message(why.to_string()))?));
            Ok(None)
        });
    }
    data
}

/// A tensor of `count` strings, which are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_strings(
    dims: *const usize,
    rank: usize,
    strings: *const Str,
    count: usize,
    why: *mut *mut Findings,
) -> *mut Data {
    let mut data = std::ptr::null_mut();
    // SAFETY: `dims`, `strings` and `why` as the header says.
    unsafe {
        let dims = sizes(dims, rank);
        let strings: &[Str] =
            if count == 0 || strings.is_null() { &[] } else { std::slice::from_raw_parts(strings, count) };
        attempt(why, || {
            let texts = strings.iter().map(|text| text.text().into_owned()).collect();
            let tensor = Tensor::of_strings(dims, texts);
            data = handle(Data::from(tensor.map_err(|why| Findings::message(why.to_string()))?));
            Ok(None)
        });
    }
    data
}

/// A sequence of `count` values, which stay those of the caller; their tensors are shared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_sequence(values: *const *const Data, count: usize) -> *mut Data {
    // SAFETY: `values` has `count` values of this library, as the header says.
    unsafe {
        let values: &[*const Data] =
            if count == 0 || values.is_null() { &[] } else { std::slice::from_raw_parts(values, count) };
        guard(std::ptr::null_mut(), || {
            let values: Option<Vec<Value>> =
                values.iter().map(|value| Some(value.as_ref()?.0.clone())).collect();
            values.map_or(std::ptr::null_mut(), |values| handle(Data(Value::sequence(values))))
        })
    }
}

/// An optional with this value, or without one for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_optional(value: *const Data) -> *mut Data {
    // SAFETY: a value of this library, or null.
    let value = unsafe { value.as_ref() }.map(|value| std::sync::Arc::new(value.0.clone()));
    guard(std::ptr::null_mut(), || handle(Data(Value::Optional(value))))
}

/// Another handle of a value; tensors are shared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_clone(data: *const Data) -> *mut Data {
    // SAFETY: a value of this library, or null.
    let Some(data) = (unsafe { data.as_ref() }) else { return std::ptr::null_mut() };
    guard(std::ptr::null_mut(), || handle(Data(data.0.clone())))
}

/// The kind of a value; a tensor for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_get_kind(data: *const Data) -> DataKind {
    // SAFETY: a value of this library, or null.
    match unsafe { data.as_ref() }.map(|data| &data.0) {
        None | Some(Value::Tensor(_)) => DataKind::Tensor,
        Some(Value::Sequence(_)) => DataKind::Sequence,
        Some(Value::Map(_)) => DataKind::Map,
        Some(Value::Optional(_)) => DataKind::Optional,
    }
}

/// A view of a tensor. Returns whether the value is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_get(data: *const Data, out: *mut DataView) -> bool {
    // SAFETY: a value of this library, or null; `out` as the header says.
    unsafe {
        let Some(Value::Tensor(tensor)) = data.as_ref().map(|data| &data.0) else { return false };
        let bytes = tensor.bytes();
        put(
            out,
            DataView {
                elem_type: tensor.elem().0,
                rank: tensor.rank(),
                dims: tensor.dims().as_ptr(),
                count: tensor.len(),
                bytes: if tensor.is_strings() { std::ptr::null() } else { bytes.as_ptr().cast() },
                size: bytes.len(),
            },
        )
    }
}

/// The elements of a tensor of numbers for writing; memory that is shared or borrowed is copied first. A null pointer for other values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_bytes(data: *mut Data) -> *mut c_void {
    // SAFETY: a value of this library that no other thread uses, or null.
    let Some(Value::Tensor(tensor)) = (unsafe { data.as_mut() }).map(|data| &mut data.0) else {
        return std::ptr::null_mut();
    };
    guard(std::ptr::null_mut(), || match tensor.bytes_mut() {
        Ok(bytes) if !bytes.is_empty() => bytes.as_mut_ptr().cast(),
        _ => std::ptr::null_mut(),
    })
}

/// A string of a tensor of strings; empty for others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_string(data: *const Data, at: usize) -> Str {
    // SAFETY: a value of this library, or null.
    let Some(Value::Tensor(tensor)) = (unsafe { data.as_ref() }).map(|data| &data.0) else {
        return Str::EMPTY;
    };
    let strings = tensor.string_slice().unwrap_or_default();
    strings.get(at).map_or(Str::EMPTY, |text| Str::new(text.as_str()))
}

/// The number of values in a sequence, map or optional; 0 for a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_count(data: *const Data) -> usize {
    // SAFETY: a value of this library, or null.
    match unsafe { data.as_ref() }.map(|data| &data.0) {
        Some(Value::Sequence(values)) => values.len(),
        Some(Value::Map(_)) => 2,
        Some(Value::Optional(value)) => usize::from(value.is_some()),
        None | Some(Value::Tensor(_)) => 0,
    }
}

/// A handle of a value in a sequence, map or optional; a null pointer if there is none at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_item(data: *const Data, at: usize) -> *mut Data {
    // SAFETY: a value of this library, or null.
    let Some(data) = (unsafe { data.as_ref() }) else { return std::ptr::null_mut() };
    guard(std::ptr::null_mut(), || {
        let value = match (&data.0, at) {
            (Value::Sequence(values), _) => values.get(at).cloned(),
            (Value::Map(map), 0) => Some(Value::Tensor(map.keys.clone())),
            (Value::Map(map), 1) => Some(Value::sequence(map.values.to_vec())),
            (Value::Optional(value), 0) => value.as_deref().cloned(),
            _ => None,
        };
        value.map_or(std::ptr::null_mut(), |value| handle(Data(value)))
    })
}

/// Frees a handle of a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_free(data: *mut Data) {
    // SAFETY: a value of this library, or null, that is not used any more.
    unsafe { free(data) }
}

/// Copies the elements of a tensor of numbers into memory of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_data_copy_to(data: *const Data, to: *mut c_void, size: usize) -> Status {
    // SAFETY: a value of this library, or null; `to` is valid for `size` bytes.
    unsafe {
        let Some(Value::Tensor(tensor)) = data.as_ref().map(|data| &data.0) else { return Status::Argument };
        let bytes = tensor.bytes();
        if tensor.is_strings() || bytes.len() != size || (to.is_null() && size > 0) {
            return Status::Argument;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), size);
        Status::Ok
    }
}
