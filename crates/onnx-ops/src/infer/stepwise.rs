//! Inference of single nodes by the rows of operators.

use crate::engine::Stepwise;
use crate::operators::ROWS;
use crate::schema::Registry;
use onnx_ir::{BodyId, Model};

impl<'m> Stepwise<'m> {
    /// For the nodes of a body that is not a function.
    pub fn new(model: &'m Model, registry: &'m Registry, body: BodyId) -> Self {
        Stepwise::with_rows(model, registry, &ROWS, body)
    }
}
