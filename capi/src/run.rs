//! Runs of sessions: inputs, options, and results, also in memory of the caller.

use crate::abi::{Status, Str, User, attempt, handle, put};
use crate::data::{Data, sizes};
use crate::findings::Findings;
use crate::session::{Cancel, Session};
use onnx_exec::{OutputMemory, RunOptions, Value};
use onnx_ir::ElemType;
use onnx_ir::diag::Diagnostic;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Options of [`onnxtxt_run`]; all zero are the defaults.
#[repr(C)]
pub struct CallOptions {
    /// The number of threads; 0 for all cores. Results do not depend on it.
    pub threads: usize,
    /// The most bytes for tensors and working memory; 0 for no limit.
    pub max_memory: usize,
    /// The most nodes that are run; an iteration of a loop counts as eight. 0 for twenty million.
    pub fuel: u64,
    /// The seed for random operators without one.
    pub seed: u64,
    /// Ends the run when it is set by another thread, or null.
    pub cancel: *const Cancel,
    /// Called with a warning about the run, or null. The finding is valid during the call.
    pub warn: Option<unsafe extern "C" fn(user: *mut c_void, findings: *const Findings)>,
    /// The argument of `warn`.
    pub user: *mut c_void,
    /// Receives the largest number of bytes that were in use, or null.
    pub peak: *mut usize,
}

/// An input of a run.
#[repr(C)]
pub struct Feed {
    /// The name of the input.
    pub name: Str,
    /// Its value.
    pub data: *const Data,
}

/// Memory of the caller for a result, for [`onnxtxt_run_in_memory`].
#[repr(C)]
pub struct Memory {
    /// The element type, a number of `TensorProto.DataType`.
    pub elem_type: i32,
    /// The number of dimensions.
    pub rank: usize,
    /// The sizes.
    pub dims: *const usize,
    /// The memory, aligned for its elements; or null, if the result is to be a value.
    pub bytes: *mut c_void,
    /// The number of bytes.
    pub size: usize,
}

/// The memory of a [`Memory`] during a run.
struct Writable {
    data: *mut u8,
    len: usize,
}

// SAFETY: the caller gives the memory to the run, whose threads write to it, and waits for its end.
unsafe impl Send for Writable {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Writable {}

impl AsRef<[u8]> for Writable {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the caller says that `len` bytes at `data` are valid during the run, and the run drops this before it returns.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl AsMut<[u8]> for Writable {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nothing else writes to the bytes; overlap with inputs and other results is found by addresses.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }
}

/// The inputs of a run; `None` if the list or one of its values is null.
///
/// # Safety
///
/// `inputs` is null or a list of `count` entries, which lives as long as it is used.
unsafe fn feeds<'a>(inputs: *const Feed, count: usize) -> Option<&'a [Feed]> {
    if count == 0 {
        return Some(&[]);
    }
    if inputs.is_null() {
        return None;
    }
    // SAFETY: not null, so a list of `count` entries.
    let inputs = unsafe { std::slice::from_raw_parts(inputs, count) };
    inputs.iter().all(|feed| !feed.data.is_null()).then_some(inputs)
}

/// Computes the outputs. `outputs` has a place for each output of the session: a null pointer, which is replaced by a value of the caller, or a
/// tensor of the caller. A tensor that has the type and shape of the result and is not shared is overwritten, so that a caller who runs a model
/// again and again gets each result at the same address; another one is replaced. `options` may be null. If the run fails, `why` receives the
/// reason, and all outputs become null pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_run(
    session: *const Session,
    inputs: *const Feed,
    count: usize,
    outputs: *mut *mut Data,
    options: *const CallOptions,
    why: *mut *mut Findings,
) -> Status {
    // SAFETY: objects of this library, or null; lists of the numbers that the header says.
    unsafe {
        let Some(session) = session.as_ref() else { return Status::Argument };
        let places = session.outputs.len();
        let Some(inputs) = feeds(inputs, count) else { return Status::Argument };
        if outputs.is_null() && places > 0 {
            return Status::Argument;
        }
        let outputs: &mut [*mut Data] =
            if places == 0 { &mut [] } else { std::slice::from_raw_parts_mut(outputs, places) };
        attempt(why, || run(session, inputs, outputs, options.as_ref()))
    }
}

/// Computes the outputs, those with memory there, without an allocation or a copy of a result that a kernel can write directly. `memory` has an entry for each
/// output of the session, whose type and shape are those of the result; `outputs` has a place for each, all of them null pointers: those without memory
/// are replaced by a value of the caller. `outputs` may be null if all have memory. Memory may overlap that of an input, which is then overwritten
/// after everything is computed, but not that of another output. If the run fails, the contents of the memory are arbitrary.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_run_in_memory(
    session: *const Session,
    inputs: *const Feed,
    count: usize,
    memory: *const Memory,
    outputs: *mut *mut Data,
    options: *const CallOptions,
    why: *mut *mut Findings,
) -> Status {
    // SAFETY: objects of this library, or null; lists of the numbers that the header says.
    unsafe {
        let Some(session) = session.as_ref() else { return Status::Argument };
        let places = session.outputs.len();
        let Some(inputs) = feeds(inputs, count) else { return Status::Argument };
        if memory.is_null() && places > 0 {
            return Status::Argument;
        }
        let memory: &[Memory] = if places == 0 { &[] } else { std::slice::from_raw_parts(memory, places) };
        let outputs: &mut [*mut Data] = if places == 0 || outputs.is_null() {
            &mut []
        } else {
            std::slice::from_raw_parts_mut(outputs, places)
        };
        let has_place = !outputs.is_empty() || memory.iter().all(|one| !one.bytes.is_null());
        if outputs.iter().any(|it| !it.is_null()) || !has_place {
            return Status::Argument;
        }
        attempt(why, || run_in_memory(session, inputs, memory, outputs, options.as_ref()))
    }
}

/// # Safety
///
/// The conditions of [`onnxtxt_run_in_memory`], which has checked its arguments.
unsafe fn run_in_memory(
    session: &Session,
    inputs: &[Feed],
    memory: &[Memory],
    outputs: &mut [*mut Data],
    options: Option<&CallOptions>,
) -> Result<Option<Findings>, Findings> {
    let mut lent = Vec::with_capacity(memory.len());
    for (one, output) in memory.iter().zip(&session.outputs) {
        if one.bytes.is_null() {
            lent.push(None);
            continue;
        }
        // SAFETY: sizes as the header says.
        let dims = unsafe { sizes(one.dims, one.rank) };
        let bytes = Writable { data: one.bytes.cast(), len: one.size };
        let made = OutputMemory::new(ElemType(one.elem_type), dims, bytes);
        let refused = |why| Findings::message(format!("the memory for output `{}`: {why}", output.name));
        lent.push(Some(made.map_err(refused)?));
    }
    let lent: Vec<_> = lent.iter().map(Option::as_ref).collect();
    let run = |feeds, call: &RunOptions<'_>| session.executable.run_in_memory(feeds, &lent, call);
    // SAFETY: as the caller says.
    let results = unsafe { with_options(session, inputs, options, run) }?;
    for ((place, result), lent) in outputs.iter_mut().zip(results).zip(&lent) {
        if lent.is_none() {
            *place = handle(Data(result));
        }
    }
    Ok(None)
}

/// # Safety
///
/// The conditions of [`onnxtxt_run`], which has checked its arguments.
unsafe fn run(
    session: &Session,
    inputs: &[Feed],
    outputs: &mut [*mut Data],
    options: Option<&CallOptions>,
) -> Result<Option<Findings>, Findings> {
    // The caller's values become ours before anything can fail, so that they are freed once.
    let mut results: Vec<Value> = Vec::with_capacity(outputs.len());
    for place in outputs.iter_mut() {
        let given = std::mem::replace(place, std::ptr::null_mut());
        // SAFETY: a value of this library that the caller gives up, or null.
        let given = (!given.is_null()).then(|| unsafe { Box::from_raw(given) });
        results.push(given.map_or(Value::Optional(None), |given| given.0));
    }
    let run = |feeds, call: &RunOptions<'_>| session.executable.run_into(feeds, &mut results, call);
    // SAFETY: as the caller says.
    unsafe { with_options(session, inputs, options, run) }?;
    for (place, result) in outputs.iter_mut().zip(results) {
        *place = handle(Data(result));
    }
    Ok(None)
}

/// Runs with the inputs and the options of the caller.
///
/// # Safety
///
/// The conditions of [`onnxtxt_run`] on `inputs` and `options`.
unsafe fn with_options<T>(
    session: &Session,
    inputs: &[Feed],
    options: Option<&CallOptions>,
    run: impl FnOnce(Vec<Option<Value>>, &RunOptions<'_>) -> Result<T, Box<Diagnostic>>,
) -> Result<T, Findings> {
    let refused = |found: &Diagnostic| Findings::of(&session.loaded, std::slice::from_ref(found));
    // SAFETY: strings as the header says.
    let names: Vec<_> = inputs.iter().map(|feed| unsafe { feed.name.text() }).collect();
    let feeds = names.iter().zip(inputs).map(|(name, feed)| {
        // SAFETY: a value of this library, not null as the caller has checked.
        let value = unsafe { (*feed.data).0.clone() };
        (name.as_ref(), value)
    });
    let feeds = session.executable.inputs_by_name(feeds).map_err(|found| refused(&found))?;
    let (mut call, peak) = (RunOptions::default(), AtomicUsize::new(0));
    let warn_of = options.and_then(|options| Some((options.warn?, User(options.user))));
    let warn = |found: Diagnostic| {
        if let Some((warn, user)) = warn_of {
            let findings = refused(&found);
            // SAFETY: the function of the caller with its argument.
            unsafe { warn(user.0, &findings) }
        }
    };
    if let Some(options) = options {
        let or = |given: usize, otherwise: usize| if given == 0 { otherwise } else { given };
        call.threads = or(options.threads, call.threads);
        call.max_memory = or(options.max_memory, call.max_memory);
        call.fuel = if options.fuel == 0 { call.fuel } else { options.fuel };
        call.seed = options.seed;
        // SAFETY: a flag of this library, or null.
        call.cancel = unsafe { options.cancel.as_ref() }.map(|cancel| Arc::clone(&cancel.0));
        if options.warn.is_some() {
            call.warn = Some(&warn);
        }
        if !options.peak.is_null() {
            call.peak = Some(&peak);
        }
    }
    let done = run(feeds, &call);
    if let Some(options) = options {
        // SAFETY: `peak` is null or valid, as the header says.
        unsafe { put(options.peak, peak.load(Ordering::Relaxed)) };
    }
    done.map_err(|found| refused(&found))
}
