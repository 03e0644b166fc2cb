//! The memory of the library: that of the system, or of functions of the caller.

use crate::abi::{Status, User};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::sync::OnceLock;

/// Functions that provide the memory of the library. Any thread may call them, several at once; they must not call functions of the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Allocator {
    /// Returns `size` bytes at a multiple of `alignment`, which is a power of two, or null. Null ends a run with a finding where it needs memory for tensors,
    /// and the process elsewhere.
    pub allocate:
        Option<unsafe extern "C" fn(user: *mut c_void, size: usize, alignment: usize) -> *mut c_void>,
    /// Takes back memory that `allocate` has returned for this size and alignment.
    pub release:
        Option<unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, size: usize, alignment: usize)>,
    /// The first argument of both.
    pub user: *mut c_void,
}

/// The functions of the caller.
struct Functions {
    allocate: unsafe extern "C" fn(user: *mut c_void, size: usize, alignment: usize) -> *mut c_void,
    release: unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, size: usize, alignment: usize),
    user: User,
}

/// Chosen once, before anything is allocated: memory goes back to where it came from.
static CHOSEN: OnceLock<Option<Functions>> = OnceLock::new();

/// The allocator of this library.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn chosen() -> Option<&'static Functions> {
    // Choosing allocates nothing.
    CHOSEN.get_or_init(|| None).as_ref()
}

// SAFETY: each call is one of the system's allocator, or of the functions of the caller, of which the header says the same. Which of them is decided
// before the first call, and for all.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match chosen() {
            // SAFETY: a layout of a size that is not zero, as the caller says.
            None => unsafe { System.alloc(layout) },
            // SAFETY: as the header says of the function, with its argument.
            Some(functions) => {
                unsafe { (functions.allocate)(functions.user.0, layout.size(), layout.align()) }.cast()
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if chosen().is_none() {
            // SAFETY: a layout of a size that is not zero, as the caller says.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as above.
        let memory = unsafe { self.alloc(layout) };
        if !memory.is_null() {
            // SAFETY: `alloc` has returned `layout.size()` bytes.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match chosen() {
            // SAFETY: `alloc` has returned the memory for this layout, from the same allocator.
            None => unsafe { System.dealloc(memory, layout) },
            // SAFETY: as above.
            Some(functions) => unsafe {
                (functions.release)(functions.user.0, memory.cast(), layout.size(), layout.align());
            },
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if chosen().is_none() {
            // SAFETY: `alloc` has returned the memory for this layout, and the size is not zero, as the caller says.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: the caller says that the size is not zero, and does not overflow with this alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above.
        let new = unsafe { self.alloc(new_layout) };
        if !new.is_null() {
            // SAFETY: both have at least the smaller number of bytes, and are apart; the old memory is given back once.
            unsafe {
                new.copy_from_nonoverlapping(memory, layout.size().min(size));
                self.dealloc(memory, layout);
            }
        }
        new
    }
}

/// Lets functions of the caller provide the memory of the library, until the process ends, after `main` too; files are mapped by the system all the same, and stacks of
/// threads are the system's. It must be the first call of the library: later ones are refused, because memory must go back to where it came from.
#[unsafe(no_mangle)]
pub extern "C" fn onnxtxt_set_allocator(allocator: Allocator) -> Status {
    let Allocator { allocate: Some(allocate), release: Some(release), user } = allocator else {
        return Status::Argument;
    };
    let functions = Functions { allocate, release, user: User(user) };
    if CHOSEN.set(Some(functions)).is_ok() { Status::Ok } else { Status::Refused }
}
