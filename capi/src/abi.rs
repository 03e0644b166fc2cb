//! The border to C: strings, buffers, results, and panics, which do not cross it.

use crate::findings::Findings;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It did what it says.
    Ok = 0,
    /// It did not, and the findings say why.
    Refused = 1,
    /// An argument is a null pointer or out of range.
    Argument = 2,
    /// A mistake of the library: please report it. The findings have the message.
    Internal = 3,
}

/// A string that belongs to another object: UTF-8 if the model is valid, not terminated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    /// The first byte; may be null if `len` is 0.
    pub data: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

impl Str {
    pub(crate) const EMPTY: Str = Str { data: std::ptr::null(), len: 0 };

    pub(crate) fn new(text: &(impl AsRef<[u8]> + ?Sized)) -> Str {
        let bytes = text.as_ref();
        Str { data: bytes.as_ptr().cast(), len: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// `data` is readable for `len` bytes, or `len` is 0, for as long as `'a`.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.len == 0 || self.data.is_null() {
            return &[];
        }
        // SAFETY: the caller says that `len` bytes are readable at `data`, which is not null.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.len) }
    }

    /// The text; bytes that are not UTF-8 are replaced.
    ///
    /// # Safety
    ///
    /// As [`bytes`](Self::bytes).
    pub(crate) unsafe fn text<'a>(self) -> std::borrow::Cow<'a, str> {
        // SAFETY: what the caller says.
        String::from_utf8_lossy(unsafe { self.bytes() })
    }
}

/// Bytes that the caller owns.
pub struct Buffer(pub(crate) Vec<u8>);

/// The bytes of a buffer, until it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_buffer_bytes(buffer: *const Buffer) -> Str {
    // SAFETY: a buffer of this library, or null.
    unsafe { buffer.as_ref() }.map_or(Str::EMPTY, |buffer| Str::new(&buffer.0))
}

/// Frees a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_buffer_free(buffer: *mut Buffer) {
    // SAFETY: a buffer of this library, or null, that is not used any more.
    unsafe { free(buffer) }
}

/// The version of the library, such as `0.1.0`, terminated by a zero byte.
#[unsafe(no_mangle)]
pub extern "C" fn onnxtxt_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The version of the binary interface. It is increased when a function or a structure changes, not when one is added.
/// `ONNXTXT_ABI_VERSION` is that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn onnxtxt_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of the binary interface that the header describes.
pub const ABI_VERSION: u32 = 2;

/// A pointer of the caller that callbacks receive. The caller says that it may be used by any thread.
#[derive(Clone, Copy)]
pub(crate) struct User(pub(crate) *mut c_void);

// SAFETY: it is only handed back to the caller, whose callbacks may be called from any thread, as the header says.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

/// Gives an object to the caller.
pub(crate) fn handle<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Takes an object back, and drops it.
///
/// # Safety
///
/// `object` is null, or from [`handle`] and not used any more.
pub(crate) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        guard((), || {
            // SAFETY: it was made by `Box::into_raw`, and the caller gives it up.
            drop(unsafe { Box::from_raw(object) });
        });
    }
}

/// Writes a result, if the caller wants it.
///
/// # Safety
///
/// `out` is null, or valid for writing a `T`.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> bool {
    if out.is_null() {
        return false;
    }
    // SAFETY: `out` is not null, and valid for the bytes of one `T` as the caller says; they are not dropped, because they may be uninitialized.
    unsafe { out.write(value) };
    true
}

/// An enumeration that the caller gives as a number, because a number that it does not have must not become one of its values.
macro_rules! numbered {
    ($name:ident: $($variant:ident),*) => {
        impl $name {
            pub(crate) fn numbered(number: u32) -> Option<$name> {
                $(if number == $name::$variant as u32 { return Some($name::$variant); })*
                None
            }
        }
    };
}
pub(crate) use numbered;

/// The result of `work`, or of a panic.
pub(crate) fn guard<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// Runs `work`, whose failure is findings, and hands them to the caller.
///
/// # Safety
///
/// `why` is null, or valid for writing a pointer.
pub(crate) unsafe fn attempt(
    why: *mut *mut Findings,
    work: impl FnOnce() -> Result<Option<Findings>, Findings>,
) -> Status {
    let (status, findings) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(findings)) => (Status::Ok, findings),
        Ok(Err(findings)) => (Status::Refused, Some(findings)),
        Err(panic) => {
            let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            (Status::Internal, Some(Findings::message(format!("internal error: {message}"))))
        }
    };
    // SAFETY: `why` is null or valid, as the caller says.
    unsafe { put(why, findings.map_or(std::ptr::null_mut(), handle)) };
    status
}
