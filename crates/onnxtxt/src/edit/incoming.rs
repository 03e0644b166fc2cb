//! A model whose nodes go into another one.

use onnx_ir::{Model, Origin};

/// A model whose nodes an edit copies into another model.
///
/// Origins of nodes mean places in one text. Those of an incoming model are removed ([`From<Model>`]), or
/// made unique, so that its comments go with its nodes ([`Loaded::adopt`](crate::Loaded::adopt)).
#[derive(Clone, Debug)]
pub struct Incoming {
    model: Model,
}

impl Incoming {
    /// The model, with its origins increased.
    pub(crate) fn moved(model: Model, distance: u32) -> Incoming {
        Incoming::with_origins(model, |at| at.checked_add(distance).map_or(Origin::NONE, Origin))
    }

    fn with_origins(mut model: Model, of: impl Fn(u32) -> Origin) -> Incoming {
        for body in model.bodies.values_mut() {
            for node in body.nodes.ids() {
                if body.origins[node] != Origin::NONE {
                    body.origins[node] = of(body.origins[node].0);
                }
            }
        }
        Incoming { model }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }
}

/// The comments of the model are not kept.
impl From<Model> for Incoming {
    fn from(model: Model) -> Incoming {
        Incoming::with_origins(model, |_| Origin::NONE)
    }
}
