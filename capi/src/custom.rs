//! Operators of the caller.

use crate::abi::{Status, Str, User, free, guard, handle};
use crate::data::Data;
use onnx_exec::{CustomKernel, CustomNode, CustomOperator, CustomOperators, Failure, Value};
use onnx_ir::{Attr, AttrValue};
use std::ffi::c_void;
use std::sync::Arc;

/// A list of operators of the caller, for [`onnxtxt_compile`](crate::session::onnxtxt_compile).
pub struct Operators(pub(crate) CustomOperators);

/// A node of an operator while it is prepared: its attributes.
pub struct Prepared<'n> {
    node: CustomNode<'n>,
    failure: Option<String>,
}

/// A call of an operator: its inputs and outputs.
pub struct Call<'c> {
    inputs: &'c [Option<Data>],
    outputs: Vec<Option<Value>>,
    failure: Option<String>,
}

/// The functions of an operator. They may be called from any thread, `run` by several at once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OperatorFunctions {
    /// Called once for each node when a model is compiled; its result is the `state` of the calls of `run`. May be null.
    pub prepare: Option<unsafe extern "C" fn(user: *mut c_void, node: *mut Prepared<'_>) -> *mut c_void>,
    /// Computes the outputs of a node.
    pub run: Option<unsafe extern "C" fn(user: *mut c_void, state: *mut c_void, call: *mut Call<'_>)>,
    /// Frees a state that `prepare` has returned. May be null.
    pub free_state: Option<unsafe extern "C" fn(user: *mut c_void, state: *mut c_void)>,
    /// Frees `user` when the operator is used no more. May be null.
    pub free_user: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// The first argument of all of them.
    pub user: *mut c_void,
}

/// The functions with their argument, which is freed with the last that uses it.
struct Functions(OperatorFunctions);

// SAFETY: the header says that the functions may be called from any thread with this argument.
unsafe impl Send for Functions {}
// SAFETY: as above, by several threads at once.
unsafe impl Sync for Functions {}

impl Drop for Functions {
    fn drop(&mut self) {
        if let Some(free) = self.0.free_user {
            // SAFETY: the function of the caller, called once, when nothing else calls the others any more.
            unsafe { free(self.0.user) }
        }
    }
}

/// An operator.
struct Operator(Arc<Functions>);

/// A node of an operator.
struct Kernel {
    functions: Arc<Functions>,
    state: User,
    outputs: usize,
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if let Some(free) = self.functions.0.free_state {
            // SAFETY: the function of the caller for the state that its `prepare` has returned, called once.
            unsafe { free(self.functions.0.user, self.state.0) }
        }
    }
}

impl CustomOperator for Operator {
    fn kernel(&self, node: &CustomNode<'_>) -> Result<Arc<dyn CustomKernel>, Failure> {
        let functions = &self.0.0;
        let mut prepared = Prepared { node: *node, failure: None };
        let state = match functions.prepare {
            // SAFETY: the function of the caller with its argument; `prepared` lives during the call.
            Some(prepare) => unsafe { prepare(functions.user, &raw mut prepared) },
            None => std::ptr::null_mut(),
        };
        let kernel =
            Kernel { functions: Arc::clone(&self.0), state: User(state), outputs: node.node.outputs.len() };
        match prepared.failure {
            Some(why) => Err(Failure::new(why)),
            None => Ok(Arc::new(kernel)),
        }
    }
}

impl CustomKernel for Kernel {
    fn run(&self, inputs: &[Option<Value>]) -> Result<Vec<Value>, Failure> {
        let Some(run) = self.functions.0.run else {
            return Err(Failure::new("the operator has no function"));
        };
        let inputs: Vec<Option<Data>> = inputs.iter().map(|input| input.clone().map(Data)).collect();
        let mut call =
            Call { inputs: &inputs, outputs: (0..self.outputs).map(|_| None).collect(), failure: None };
        // SAFETY: the function of the caller with its arguments; `call` lives during the call.
        unsafe { run(self.functions.0.user, self.state.0, &raw mut call) };
        if let Some(why) = call.failure {
            return Err(Failure::new(why));
        }
        // Outputs after the last one that is set are missing.
        let count = call.outputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let outputs: Option<Vec<Value>> = call.outputs.into_iter().take(count).collect();
        outputs.ok_or_else(|| Failure::new("an output is not set, but a later one is"))
    }
}

/// An empty list of operators.
#[unsafe(no_mangle)]
pub extern "C" fn onnxtxt_operators_new() -> *mut Operators {
    handle(Operators(CustomOperators::default()))
}

/// Adds an operator; it replaces one of the same name, also one of ONNX. `functions.run` must not be null. `free_user` is called in any case, when
/// the operator is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_operators_add(
    operators: *mut Operators,
    domain: Str,
    name: Str,
    functions: OperatorFunctions,
) -> Status {
    let operator = Operator(Arc::new(Functions(functions)));
    // SAFETY: a list of this library that no other thread uses, or null; strings as the header says.
    let (operators, domain, name) = unsafe { (operators.as_mut(), domain.text(), name.text()) };
    let Some(operators) = operators.filter(|_| functions.run.is_some()) else { return Status::Argument };
    guard(Status::Internal, || {
        operators.0.insert(&domain, &name, Arc::new(operator));
        Status::Ok
    })
}

/// Frees a list. Sessions that were compiled with it keep their operators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_operators_free(operators: *mut Operators) {
    // SAFETY: a list of this library, or null, that is not used any more.
    unsafe { free(operators) }
}

fn attribute<'n>(prepared: &'n Prepared<'_>, name: &[u8]) -> Option<&'n AttrValue> {
    let model = prepared.node.model;
    let is_named = |attr: &&Attr| attr.name.is_some_and(|of| model.names.bytes(of) == name);
    prepared.node.node.attrs.iter().find(is_named).and_then(Attr::value)
}

/// An int attribute of a node that is prepared, or `otherwise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepared_int(node: *const Prepared<'_>, name: Str, otherwise: i64) -> i64 {
    // SAFETY: the argument of `prepare`; the string as the header says.
    let (node, name) = unsafe { (node.as_ref(), name.bytes()) };
    match node.and_then(|node| attribute(node, name)) {
        Some(AttrValue::Int(value)) => *value,
        _ => otherwise,
    }
}

/// A float attribute of a node that is prepared, or `otherwise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepared_float(node: *const Prepared<'_>, name: Str, otherwise: f32) -> f32 {
    // SAFETY: the argument of `prepare`; the string as the header says.
    let (node, name) = unsafe { (node.as_ref(), name.bytes()) };
    match node.and_then(|node| attribute(node, name)) {
        Some(AttrValue::Float(value)) => *value,
        _ => otherwise,
    }
}

/// A string attribute of a node that is prepared; empty without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepared_string(node: *const Prepared<'_>, name: Str) -> Str {
    // SAFETY: the argument of `prepare`; the string as the header says.
    let (node, name) = unsafe { (node.as_ref(), name.bytes()) };
    match node.and_then(|node| attribute(node, name)) {
        Some(AttrValue::String(text)) => Str::new(text),
        _ => Str::EMPTY,
    }
}

/// The elements of an ints attribute of a node that is prepared: returns their number, and their address in `values`; 0 without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepared_ints(
    node: *const Prepared<'_>,
    name: Str,
    values: *mut *const i64,
) -> usize {
    // SAFETY: the argument of `prepare`; the string and `values` as the header says.
    unsafe {
        let name = name.bytes();
        match node.as_ref().and_then(|node| attribute(node, name)) {
            Some(AttrValue::Ints(list)) => {
                crate::abi::put(values, list.as_ptr());
                list.len()
            }
            _ => 0,
        }
    }
}

/// The elements of a floats attribute of a node that is prepared: returns their number, and their address in `values`; 0 without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepared_floats(
    node: *const Prepared<'_>,
    name: Str,
    values: *mut *const f32,
) -> usize {
    // SAFETY: the argument of `prepare`; the string and `values` as the header says.
    unsafe {
        let name = name.bytes();
        match node.as_ref().and_then(|node| attribute(node, name)) {
            Some(AttrValue::Floats(list)) => {
                crate::abi::put(values, list.as_ptr());
                list.len()
            }
            _ => 0,
        }
    }
}

/// A tensor attribute of a node that is prepared, as a value of the caller; a null pointer without one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepared_tensor(node: *const Prepared<'_>, name: Str) -> *mut Data {
    // SAFETY: the argument of `prepare`; the string as the header says.
    let (node, name) = unsafe { (node.as_ref(), name.bytes()) };
    guard(std::ptr::null_mut(), || {
        let Some(node) = node else { return std::ptr::null_mut() };
        let Some(AttrValue::Tensor(tensor)) = attribute(node, name) else { return std::ptr::null_mut() };
        let stored = onnx_exec::Tensor::stored(&node.node.body.tensors[*tensor]);
        stored.map_or(std::ptr::null_mut(), |tensor| handle(Data::from(tensor)))
    })
}

/// Refuses a node that is prepared: the message becomes a finding about it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_prepared_fail(node: *mut Prepared<'_>, message: Str) {
    // SAFETY: the argument of `prepare`; the string as the header says.
    if let Some(node) = unsafe { node.as_mut() } {
        // SAFETY: as above.
        node.failure = Some(unsafe { message.text() }.into_owned());
    }
}

/// The number of inputs of a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_call_inputs(call: *const Call<'_>) -> usize {
    // SAFETY: the argument of `run`.
    unsafe { call.as_ref() }.map_or(0, |call| call.inputs.len())
}

/// An input of a call, valid during it; a null pointer if it is left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_call_input(call: *const Call<'_>, at: usize) -> *const Data {
    // SAFETY: the argument of `run`.
    let input = unsafe { call.as_ref() }.and_then(|call| call.inputs.get(at)?.as_ref());
    input.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// The number of outputs of a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_call_outputs(call: *const Call<'_>) -> usize {
    // SAFETY: the argument of `run`.
    unsafe { call.as_ref() }.map_or(0, |call| call.outputs.len())
}

/// Sets an output of a call. The value is taken: the caller does not free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_call_set_output(call: *mut Call<'_>, at: usize, data: *mut Data) -> Status {
    if data.is_null() {
        return Status::Argument;
    }
    // SAFETY: the argument of `run`, and a value of this library that the caller gives up.
    let (call, data) = unsafe { (call.as_mut(), Box::from_raw(data)) };
    let Some(place) = call.and_then(|call| call.outputs.get_mut(at)) else { return Status::Argument };
    *place = Some(data.0);
    Status::Ok
}

/// Ends the run: the message becomes a finding about the node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_call_fail(call: *mut Call<'_>, message: Str) {
    // SAFETY: the argument of `run`; the string as the header says.
    if let Some(call) = unsafe { call.as_mut() } {
        // SAFETY: as above.
        call.failure = Some(unsafe { message.text() }.into_owned());
    }
}
