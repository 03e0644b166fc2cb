//! Places of findings about a changed model in the model that it was made of.

use onnx_ir::diag::{Diagnostic, Entity, Place};
use onnx_ir::{BodyId, Model, NodeId, ValueId};

/// Places findings about `changed` in `original`, which it was made of.
///
/// A node is the same if it has the same operator and computes a value of the same name. What only the changed model has is not a
/// place: then the first other place of the finding that both models have is the place of the finding. Fixes stay only where the
/// place does.
pub fn relocate(found: &mut [Diagnostic], changed: &Model, original: &Model) {
    for finding in found {
        let before = finding.primary.place;
        finding.primary.place = place(before, changed, original);
        finding.related.retain_mut(|label| {
            label.place = place(label.place, changed, original);
            label.place != Place::Nowhere
        });
        if finding.primary.place == Place::Nowhere && before != Place::Nowhere && !finding.related.is_empty()
        {
            finding.primary = finding.related.remove(0);
        }
        if finding.primary.place != before {
            finding.fixes.clear();
        }
    }
}

fn place(place: Place, changed: &Model, original: &Model) -> Place {
    let Place::Entity(entity) = place else { return place };
    let is_there = match entity.node() {
        Some((body, node)) => is_same_node(body, node, changed, original),
        None => has(original, entity),
    };
    if is_there { place } else { Place::Nowhere }
}

fn is_same_node(body: BodyId, node: NodeId, changed: &Model, original: &Model) -> bool {
    let of = |model: &Model| {
        let body = model.bodies.get(body)?;
        let node = body.nodes.get(node)?;
        let name = |value: &ValueId| body.values.get(*value).map(|value| model.names[value.name].to_owned());
        let first = node.outputs.iter().flatten().next().and_then(name);
        Some((model.text(node.op).to_owned(), model.text(node.domain).to_owned(), first))
    };
    of(original).is_some_and(|known| of(changed) == Some(known))
}

/// Whether a model has an entity that is not a node.
fn has(model: &Model, entity: Entity) -> bool {
    let graph = |body, graph| model.bodies.get(body).and_then(|body: &onnx_ir::Body| body.graphs.get(graph));
    let function = |id| model.functions.get(id);
    let is_below = |i: u32, count: usize| (i as usize) < count;
    match entity {
        Entity::OpsetImport(i) => is_below(i, model.header.opset_imports.len()),
        Entity::ModelMetadata(i) => is_below(i, model.header.metadata.len()),
        Entity::Function(f) => function(f).is_some(),
        Entity::FunctionOpsetImport(f, i) => function(f).is_some_and(|f| is_below(i, f.opset_imports.len())),
        Entity::FunctionAttribute(f, i) => function(f).is_some_and(|f| is_below(i, f.attributes.len())),
        Entity::FunctionAttributeDefault(f, i) => {
            function(f).is_some_and(|f| is_below(i, f.attribute_defaults.len()))
        }
        Entity::Graph(b, g) => graph(b, g).is_some(),
        Entity::Input(b, g, i) => graph(b, g).is_some_and(|g| is_below(i, g.inputs.len())),
        Entity::Output(b, g, i) => graph(b, g).is_some_and(|g| is_below(i, g.outputs.len())),
        Entity::ValueInfo(b, g, i) => graph(b, g).is_some_and(|g| is_below(i, g.value_info.len())),
        Entity::Initializer(b, g, i) => graph(b, g).is_some_and(|g| is_below(i, g.initializers.len())),
        Entity::SparseInitializer(b, g, i) => {
            graph(b, g).is_some_and(|g| is_below(i, g.sparse_initializers.len()))
        }
        Entity::QuantizationAnnotation(b, g, i) => {
            graph(b, g).is_some_and(|g| is_below(i, g.quantization.len()))
        }
        Entity::Training(i) => is_below(i, model.training.len()),
        Entity::Configuration(i) => is_below(i, model.configurations.len()),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::code;

    #[test]
    fn places_that_only_the_changed_model_has_are_replaced() {
        let read = |text: &str| onnx_text::read_model(text).value;
        let original = read("g (float[N] x) => (float[N] y) { a = Abs(x) y = Neg(a) }");
        let changed = read("g (float[N] x) => (float[N] y) { a = Abs(x) b = Sqrt(a) y = Neg(b) }");
        let body = changed.main.unwrap();
        let graph = changed.bodies[body].root().unwrap();
        let node = |i: usize| Entity::Node(body, changed.bodies[body].nodes.id_at(i).unwrap());
        let finding = |place: Entity, other: Entity| {
            let mut found =
                [Diagnostic::new(&code::GRADIENT_UNDEFINED, place, "m").related(other, "the other")];
            relocate(&mut found, &changed, &original);
            let [finding] = found;
            (finding.primary.place, finding.related.len())
        };
        // The second node of the changed model is another one in the original, which has no third.
        assert_eq!(finding(node(0), node(1)), (node(0).into(), 0));
        assert_eq!(finding(node(1), node(0)), (node(0).into(), 0));
        assert_eq!(finding(node(2), node(1)), (Place::Nowhere, 0));
        assert_eq!(finding(Entity::Header, node(0)), (Entity::Header.into(), 1));
        let [input, beyond] = [0, 1].map(|i| Entity::Input(body, graph, i));
        assert_eq!(finding(beyond, input), (input.into(), 0));
    }
}
