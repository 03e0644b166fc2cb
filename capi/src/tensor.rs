//! Tensors that a model stores.

use crate::abi::{Str, attempt, handle, put};
use crate::data::Data;
use crate::findings::Findings;
use crate::model::Model;
use crate::walk::{NONE, body, number, string};
use onnx_ir::{BodyId, TensorId};

/// A tensor of a model: an initializer, or the value of an attribute. Of "none", `index` is `ONNXTXT_NONE`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// The main graph or function in which it is.
    pub body: u32,
    /// Its number there.
    pub index: u32,
}

/// A view of a tensor of a model.
#[repr(C)]
pub struct TensorView {
    /// Its name; may be empty.
    pub name: Str,
    /// Its documentation.
    pub doc: Str,
    /// The element type, a number of `TensorProto.DataType`.
    pub elem_type: i32,
    /// The number of dimensions.
    pub rank: usize,
    /// The sizes.
    pub dims: *const i64,
    /// Whether its elements are in another file; `onnxtxt_load_weights` reads them.
    pub is_external: bool,
}

impl Tensor {
    pub(crate) const NONE: Tensor = Tensor { body: NONE, index: NONE };

    pub(crate) fn new(body: BodyId, tensor: TensorId) -> Tensor {
        Tensor { body: number(body), index: number(tensor) }
    }

    fn find(self, model: &onnx_ir::Model) -> Option<&onnx_ir::Tensor> {
        let tensors = &model.bodies[body(model, self.body)?].tensors;
        tensors.id_at(self.index as usize).map(|tensor| &tensors[tensor])
    }
}

/// A view of a tensor. Returns whether there is such a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_tensor_get(
    model: *const Model,
    tensor: Tensor,
    out: *mut TensorView,
) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some(tensor) = tensor.find(model) else { return false };
        put(
            out,
            TensorView {
                name: string(model, tensor.name),
                doc: string(model, tensor.extra().doc),
                elem_type: tensor.elem.map_or(0, |elem| elem.0),
                rank: tensor.dims.len(),
                dims: tensor.dims.as_ptr(),
                is_external: tensor.is_external(),
            },
        )
    }
}

/// The elements of a tensor, which share the memory of the model where they are stored as they are computed with. A null pointer if they cannot
/// be read, with the reason in `why`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_tensor_data(
    model: *const Model,
    tensor: Tensor,
    why: *mut *mut Findings,
) -> *mut Data {
    let mut data = std::ptr::null_mut();
    // SAFETY: a model of this library, or null; `why` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return data };
        attempt(why, || {
            let Some(tensor) = tensor.find(model.model()) else {
                return Err(Findings::message("the model has no such tensor".to_owned()));
            };
            if tensor.is_external() {
                return Err(Findings::message(
                    "the elements are in another file: load the weights of the model first".to_owned(),
                ));
            }
            let stored = onnx_exec::Tensor::stored(tensor);
            data = handle(Data::from(stored.map_err(|why| Findings::message(why.to_string()))?));
            Ok(None)
        });
    }
    data
}
