//! Removes the garbage of passes.

use crate::body::Body;
use crate::entity::{FromIndex as _, PrimaryMap};
use crate::ids::{BodyId, GraphId};
use crate::model::{Function, Model};
use crate::pass::transplant::{CopyOptions, CopySource, CopyTarget, Transplant};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Rebuilds the arenas of all bodies without unreachable entities and with ids in document order, as readers assign them.
/// Existing ids become invalid; strings and types are kept.
///
/// ```text
/// before:  n0 t = Neg(x)    n1 y = Relu(u)    n2 u = Abs(x)     of which the graph lists n2 n1
/// after:   n0 u = Abs(x)    n1 y = Relu(u)
/// ```
pub fn compact(model: &mut Model) {
    let mut old = std::mem::take(&mut model.bodies);
    let mut moved: HashMap<BodyId, BodyId, RandomState> = HashMap::default();
    let mut new = PrimaryMap::new();
    let mut take = |body: BodyId, function: Option<&mut Function>, model: &mut Model| {
        *moved.entry(body).or_insert_with(|| {
            let source = std::mem::take(&mut old[body]);
            new.push(rebuilt(&source, function, model))
        })
    };
    model.main = model.main.map(|body| take(body, None, model));
    let mut functions = std::mem::take(&mut model.functions);
    for function in functions.values_mut() {
        function.body = take(function.body, Some(function), model);
    }
    model.functions = functions;
    let mut training = std::mem::take(&mut model.training);
    for info in &mut training {
        for body in [&mut info.initialization, &mut info.algorithm] {
            *body = body.map(|body| take(body, None, model));
        }
    }
    model.training = training;
    model.bodies = new;
}

/// The body as its root graph has it. The defaults of a function's attributes are in its body too.
fn rebuilt(source: &Body, function: Option<&mut Function>, model: &mut Model) -> Body {
    let mut body = Body::default();
    let Some(root) = source.root() else { return body };
    let target = CopyTarget { names: &mut model.names, types: &mut model.types, body: &mut body };
    let mut copy =
        Transplant::new(CopySource::body(source), target, GraphId::from_index(0), CopyOptions::default());
    copy.graph(root, None);
    for attr in function.into_iter().flat_map(|f| &mut f.attribute_defaults) {
        *attr = copy.attr(attr);
    }
    body
}
