//! Weights that stay out of a text that someone edits.
//!
//! ```text
//! float[64] w = {1, 2, …}      before, in a binary model
//! float[64] w = ["location": "kept-0"]
//! ```

use super::weights;
use onnx_ir::diag::{Diagnostic, Entity, Place, code};
use onnx_ir::{DataLocation, Entry, Model, Tensor};
use std::collections::HashMap;

/// The prefix of the locations of weights that are not in the text.
const LOCATION: &str = "kept-";
/// Tensors of more elements are not in the text.
const SHOWN: usize = 32;

/// The tensors of a model that its text only refers to, by their numbers.
#[derive(Clone, Default, Debug)]
pub struct KeptWeights(Vec<Tensor>);

impl KeptWeights {
    /// The large tensors of a model, and the model without them.
    pub fn of(model: &Model) -> (KeptWeights, Model) {
        let mut model = model.clone();
        let mut kept = Vec::new();
        let location = model.names.intern("location");
        for body in model.bodies.values_mut() {
            for tensor in body.tensors.values_mut() {
                if tensor.is_external() || tensor.data.iter().all(|payload| payload.len() <= SHOWN) {
                    continue;
                }
                kept.push(tensor.clone());
                let value = model.names.intern(&format!("{LOCATION}{}", kept.len() - 1));
                tensor.data.clear();
                let extra = tensor.extra_mut();
                extra.location = Some(DataLocation::EXTERNAL);
                extra.external = vec![Entry { key: Some(location), value: Some(value) }];
            }
        }
        (KeptWeights(kept), model)
    }

    /// Gives the tensors of an edited model their elements, or says why that cannot be.
    pub fn put_back(&self, model: &mut Model) -> Vec<Diagnostic> {
        let places: HashMap<_, _> =
            weights(model).into_iter().map(|weight| (weight.tensor, weight.entity)).collect();
        let mut found = Vec::new();
        for id in model.bodies.ids().collect::<Vec<_>>() {
            for tensor in model.bodies[id].tensors.ids().collect::<Vec<_>>() {
                let place = places.get(&tensor).filter(|_| model.main == Some(id));
                let Model { names, bodies, .. } = &mut *model;
                let new = &mut bodies[id].tensors[tensor];
                let Some(location) = new.external(names, "location") else { continue };
                let Some(number) = names[location].strip_prefix(LOCATION) else { continue };
                if self.0.is_empty() {
                    continue;
                }
                match number.parse::<usize>().ok().and_then(|number| self.0.get(number)) {
                    Some(old) if old.dims == new.dims && old.elem == new.elem => {
                        new.data = old.data.clone();
                        let extra = new.extra_mut();
                        (extra.location, extra.external) = (old.extra().location, Vec::new());
                        if *extra == Default::default() {
                            new.extra = None;
                        }
                    }
                    Some(old) => {
                        let is = old.elem.and_then(onnx_ir::ElemType::name).unwrap_or("?");
                        let message = format!(
                            "`{}` refers to a weight of type {is}{:?}: write its elements, or keep its type",
                            &names[location],
                            &old.dims[..]
                        );
                        found.push(at(place, message));
                    }
                    None => found.push(at(place, format!("the model has no weight `{}`", &names[location]))),
                }
            }
        }
        found
    }
}

fn at(place: Option<&Entity>, message: String) -> Diagnostic {
    Diagnostic::new(&code::WEIGHTS, place.map_or(Place::Nowhere, |entity| Place::Entity(*entity)), message)
}
