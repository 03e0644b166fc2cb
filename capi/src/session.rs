//! Models that are run.

use crate::abi::{Status, Str, attempt, free, guard, handle, put};
use crate::custom::Operators;
use crate::findings::{Findings, with_causes};
use crate::model::Model;
use crate::run::Feed;
use onnx_exec::{CompileOptions, Executable, RunOptions, Value};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{DimValue, Port, TypeKind, type_text};
use onnxtxt::Loaded;
use onnxtxt::files::WeightCache;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A model that is ready to be run, by any number of threads at once. All sessions share the threads of the process.
pub struct Session {
    pub(crate) executable: Executable<'static>,
    /// For places of findings.
    pub(crate) loaded: Loaded,
    inputs: Vec<Interface>,
    pub(crate) outputs: Vec<Interface>,
}

/// An input or output, as views need it.
pub(crate) struct Interface {
    pub(crate) name: String,
    text: String,
    elem: i32,
    dims: Option<Vec<i64>>,
    symbols: Vec<String>,
    has_default: bool,
}

/// A view of an input or output of a session.
#[repr(C)]
pub struct InterfaceView {
    /// Its name.
    pub name: Str,
    /// Its type as text, such as `float[N,3]`.
    pub type_text: Str,
    /// The element type of a tensor, a number of `TensorProto.DataType`; 0 for others.
    pub elem_type: i32,
    /// Whether the rank is known.
    pub has_shape: bool,
    /// The number of dimensions.
    pub rank: usize,
    /// The sizes; -1 for symbols and unknown ones.
    pub dims: *const i64,
    /// Whether an input may be left out because the model has a default.
    pub has_default: bool,
}

/// Options of [`onnxtxt_compile`]; all zero are the defaults.
#[repr(C)]
pub struct SessionOptions {
    /// Whether a model is compiled although errors make its meaning unclear.
    pub unchecked: bool,
    /// Whether floats of 16 bits are rounded after each node, as the operators define it.
    pub exact: bool,
    /// Operators of the caller, or null.
    pub operators: *const Operators,
    /// Whether large packed weights are kept in files, so that later programs start faster and all of a machine share their memory.
    pub cache: bool,
    /// The folder of these files; empty for the one that the program `onnxtxt` uses: `$ONNXTXT_CACHE/weights`, otherwise `onnxtxt/weights` in the
    /// user's folder for caches.
    pub cache_folder: Str,
}

/// A flag that ends runs.
pub struct Cancel(pub(crate) Arc<AtomicBool>);

impl Interface {
    fn new(executable: &Executable<'_>, port: &Port) -> Interface {
        let model = executable.model();
        let kind = port.ty.map(|ty| &model.types[ty].kind);
        let tensor = match kind {
            Some(TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor)) => Some(tensor),
            _ => None,
        };
        let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
        let size = |dim: &onnx_ir::Dim| match dim.value {
            DimValue::Value(size @ 0..) => size,
            _ => -1,
        };
        let symbol = |dim: &onnx_ir::Dim| match dim.value {
            DimValue::Param(name) => model.names[name].to_owned(),
            _ => String::new(),
        };
        Interface {
            name: model.text(port.name).to_owned(),
            text: port.ty.map(|ty| type_text(model, ty)).unwrap_or_default(),
            elem: tensor.and_then(|tensor| tensor.elem).map_or(0, |elem| elem.0),
            dims: shape.map(|shape| shape.iter().map(size).collect()),
            symbols: shape.map(|shape| shape.iter().map(symbol).collect()).unwrap_or_default(),
            has_default: executable.has_default(port),
        }
    }
}

/// A flag that ends runs, not set.
#[unsafe(no_mangle)]
pub extern "C" fn onnxtxt_cancel_new() -> *mut Cancel {
    handle(Cancel(Arc::default()))
}

/// Sets the flag, or clears it for further runs. Any thread may do so at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_cancel_set(cancel: *const Cancel, is_set: bool) {
    // SAFETY: a flag of this library, or null.
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.0.store(is_set, Ordering::Relaxed);
    }
}

/// Frees a flag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_cancel_free(cancel: *mut Cancel) {
    // SAFETY: a flag of this library, or null, that is not used any more.
    unsafe { free(cancel) }
}

/// Compiles a model, which may be freed afterwards. `options` may be null. A null pointer if the model is refused, with the reasons in `why`: errors
/// that make its meaning unclear, weights that cannot be read, operators that are not known. With a session, `why` receives a warning if the cache
/// cannot be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_compile(
    model: *const Model,
    options: *const SessionOptions,
    why: *mut *mut Findings,
) -> *mut Session {
    let mut session = std::ptr::null_mut();
    // SAFETY: objects of this library, or null; `why` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return session };
        let options = options.as_ref();
        let operators = options.and_then(|options| options.operators.as_ref());
        let folder = options.filter(|options| options.cache).map(|options| options.cache_folder.text());
        let mut options = CompileOptions {
            exact: options.is_some_and(|options| options.exact),
            unchecked: options.is_some_and(|options| options.unchecked),
            custom: operators.map(|operators| operators.0.clone()).unwrap_or_default(),
            ..CompileOptions::default()
        };
        attempt(why, || {
            let mut warning = None;
            match folder.map(|folder| cache(&folder)) {
                Some(Ok(cache)) => options.packed_store = Some(Arc::new(cache)),
                Some(Err(why)) => {
                    warning = Some(Findings::warning(format!("packed weights are not kept: {why}")));
                }
                None => {}
            }
            let mut loaded = model.loaded().clone();
            let compiled = loaded.compile(&options);
            let executable = compiled.map_err(|found| Findings::of(&loaded, &found))?;
            let interface =
                |ports: &[Port]| ports.iter().map(|port| Interface::new(&executable, port)).collect();
            let (inputs, outputs) = (interface(executable.inputs()), interface(executable.outputs()));
            session = handle(Session { executable, loaded, inputs, outputs });
            Ok(warning)
        });
    }
    session
}

/// The cache in a folder, or in that of the user, or why it cannot be used.
fn cache(folder: &str) -> Result<WeightCache, String> {
    let of_user = || WeightCache::default_path(|name| std::env::var_os(name));
    let path = if folder.is_empty() { of_user() } else { Some(folder.into()) };
    let path = path.ok_or("this user has no cache folder")?;
    WeightCache::open(&path, WeightCache::MAX_BYTES).map_err(|why| with_causes(&why))
}

/// The number of inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_session_inputs(session: *const Session) -> usize {
    // SAFETY: a session of this library, or null.
    unsafe { session.as_ref() }.map_or(0, |session| session.inputs.len())
}

/// The number of outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_session_outputs(session: *const Session) -> usize {
    // SAFETY: a session of this library, or null.
    unsafe { session.as_ref() }.map_or(0, |session| session.outputs.len())
}

fn interface(session: &Session, is_output: bool, at: usize) -> Option<&Interface> {
    if is_output { session.outputs.get(at) } else { session.inputs.get(at) }
}

/// A view of an input or output. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_session_get(
    session: *const Session,
    is_output: bool,
    at: usize,
    out: *mut InterfaceView,
) -> bool {
    // SAFETY: a session of this library, or null; `out` as the header says.
    unsafe {
        let Some(found) = session.as_ref().and_then(|session| interface(session, is_output, at)) else {
            return false;
        };
        let dims = found.dims.as_deref();
        put(
            out,
            InterfaceView {
                name: Str::new(&found.name),
                type_text: Str::new(&found.text),
                elem_type: found.elem,
                has_shape: dims.is_some(),
                rank: dims.map_or(0, <[i64]>::len),
                dims: dims.map_or(std::ptr::null(), <[i64]>::as_ptr),
                has_default: found.has_default,
            },
        )
    }
}

/// The symbol of a dimension of an input or output; empty if it is a number or unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_session_symbol(
    session: *const Session,
    is_output: bool,
    at: usize,
    axis: usize,
) -> Str {
    // SAFETY: a session of this library, or null.
    let found = unsafe { session.as_ref() }.and_then(|session| interface(session, is_output, at));
    found.and_then(|found| found.symbols.get(axis)).map_or(Str::EMPTY, Str::new)
}

/// Makes the plans for inputs of these element types and shapes, so that the first run takes no longer than later ones. `zeros` has tensors as
/// they will be given; their elements are not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepare(
    session: *const Session,
    zeros: *const Feed,
    count: usize,
    why: *mut *mut Findings,
) -> Status {
    // SAFETY: objects of this library, or null; a list of the number that the header says.
    unsafe {
        let Some(session) = session.as_ref() else { return Status::Argument };
        if zeros.is_null() && count > 0 {
            return Status::Argument;
        }
        let feeds: &[Feed] = if count == 0 { &[] } else { std::slice::from_raw_parts(zeros, count) };
        attempt(why, || {
            let refused = |found: &Diagnostic| Findings::of(&session.loaded, std::slice::from_ref(found));
            let mut types = Vec::new();
            for input in &session.inputs {
                let feed = feeds.iter().find(|feed| feed.name.text() == input.name.as_str());
                let value = feed.and_then(|feed| feed.data.as_ref()).map(|data| &data.0);
                types.push(match value {
                    Some(Value::Tensor(tensor)) => Some((tensor.elem(), tensor.dims())),
                    _ => None,
                });
            }
            let prepared = session.executable.prepare(&types, &RunOptions::default());
            prepared.map(|()| None).map_err(|found| refused(&found))
        })
    }
}

/// Frees a session. Values that it has computed stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_session_free(session: *mut Session) {
    // SAFETY: a session of this library, or null, that is not used any more.
    guard((), || unsafe { free(session) });
}
