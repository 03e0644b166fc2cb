//! Training: R01, R02, R04. That the graph of a step fits the main graph (R03) is for `graph`.

use super::context::{Findings, Role, Seen, VerifyContext, View, index};
use super::graph::collect_root_names;
use super::types::tensor_of;
use crate::body::Port;
use crate::diag::{Diagnostic, Entity, code};
use crate::entity::SecondaryMap;
use crate::model::TrainingInfo;
use crate::names::Name;
use crate::show::{tensor_type, type_text};
use crate::tensor::Entry;
use crate::types::{DimValue, ElemType};

/// A map from names to their entities in one body.
type Table<'m, T> = SecondaryMap<Name, Option<&'m T>>;

/// The type of an initializer; that of a sparse one is of the dense tensor that it stands for.
#[derive(Clone, Copy)]
struct Stored<'m> {
    elem: Option<ElemType>,
    dims: &'m [i64],
}

/// Initializers by name.
type States<'m> = SecondaryMap<Name, Option<Stored<'m>>>;

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    if cx.model.training.is_empty() {
        return;
    }
    let mut updated: Seen<u32> = Seen::new();
    let mut initialized: Seen<u32> = Seen::new();
    for (i, training) in cx.model.training.iter().enumerate() {
        let view = |role| cx.bodies.iter().find(|v| v.role == role);
        let initialization = view(Role::Initialization(index(i)));
        let algorithm = view(Role::Algorithm(index(i)));
        initialization_graph(cx, found, training, initialization, index(i));
        let mut states = States::default();
        let mut names = SecondaryMap::default();
        for view in cx.main().into_iter().chain(algorithm) {
            initializers(view, &mut states);
            collect_root_names(view, &mut names);
        }
        initialized.clear();
        let mut check = Bindings { cx, found, i: index(i), states: &states };
        let mut results = Table::default();
        initialization.into_iter().for_each(|v| outputs(v, &mut results));
        // Without the graph every value would be missing: that is one mistake.
        if initialization.is_some() {
            check.bindings(&training.initialization_bindings, &results, &mut initialized);
        }
        let mut results = Table::default();
        cx.main().into_iter().chain(algorithm).for_each(|v| outputs(v, &mut results));
        check.bindings(&training.update_bindings, &results, &mut updated);
    }
}

fn initialization_graph(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    training: &TrainingInfo,
    view: Option<&View<'_>>,
    i: u32,
) {
    let code = &code::TRAINING_INITIALIZATION;
    match view.and_then(|v| v.body.root().map(|root| (v, root))) {
        None if !training.initialization_bindings.is_empty() => {
            let message = "training has initialization bindings, but no initialization graph";
            found.push(Diagnostic::new(code, Entity::Training(i), message));
        }
        None => {}
        Some((view, root)) => {
            if let Some(port) = view.body.graphs[root].inputs.first() {
                let name = cx.model.text(port.name);
                let message =
                    format!("initialization graph of a training must not have inputs, but has `{name}`");
                found.push(Diagnostic::new(code, Entity::Input(view.id, root, 0), message));
            }
        }
    }
}

/// The initializers of a body's outermost graph.
fn initializers<'m>(view: &View<'m>, table: &mut States<'m>) {
    let (body, Some(root)) = (view.body, view.body.root()) else { return };
    let graph = &body.graphs[root];
    for init in &graph.initializers {
        let tensor = &body.tensors[init.tensor];
        table[body.values[init.value].name] = Some(Stored { elem: tensor.elem, dims: &tensor.dims });
    }
    for init in &graph.sparse_initializers {
        if let Some(values) = init.tensor.values {
            let elem = body.tensors[values].elem;
            table[body.values[init.value].name] = Some(Stored { elem, dims: &init.tensor.dims });
        }
    }
}

/// The outputs of a body's outermost graph.
fn outputs<'m>(view: &View<'m>, table: &mut Table<'m, Port>) {
    let (body, Some(root)) = (view.body, view.body.root()) else { return };
    for port in &body.graphs[root].outputs {
        if let Some(name) = port.name {
            table[name] = Some(port);
        }
    }
}

struct Bindings<'s, 'm> {
    cx: &'s VerifyContext<'m>,
    found: &'s mut Findings,
    i: u32,
    states: &'s States<'m>,
}

impl<'m> Bindings<'_, 'm> {
    fn push(&mut self, code: &'static crate::diag::Code, message: String) {
        self.found.push(Diagnostic::new(code, Entity::Training(self.i), message));
    }

    fn bindings(&mut self, list: &[Entry], results: &Table<'m, Port>, seen: &mut Seen<u32>) {
        let code = &code::TRAINING_BINDINGS;
        for entry in list {
            let key = entry.key.unwrap_or(Name::empty());
            let (state, value) = (self.cx.text(key), self.cx.model.text(entry.value));
            if let Some(first) = seen.first(key, self.i) {
                let message = format!("`{state}` is assigned twice by a training");
                let mut diagnostic = Diagnostic::new(code, Entity::Training(self.i), message);
                if first != self.i {
                    diagnostic = diagnostic.related(Entity::Training(first), "the first assignment");
                }
                self.found.push(diagnostic);
                continue;
            }
            let tensor = self.states[key];
            if tensor.is_none() {
                self.push(code, format!("training assigns to `{state}`, which is not an initializer"));
            }
            let Some(port) = entry.value.and_then(|v| results[v]) else {
                self.push(
                    code,
                    format!("training assigns `{value}` to `{state}`, but `{value}` is not a graph output"),
                );
                continue;
            };
            if let Some(tensor) = tensor {
                self.types(state, tensor, port);
            }
        }
    }

    /// Checks that the value has the type of the initializer, as far as it is declared.
    fn types(&mut self, state: &str, tensor: Stored<'_>, port: &Port) {
        let model = self.cx.model;
        let Some(ty) = port.ty else { return };
        let fits = tensor_of(&model.types[ty]).is_some_and(|t| {
            let same_shape = t.shape.as_ref().is_none_or(|shape| {
                shape.len() == tensor.dims.len()
                    && shape.iter().zip(tensor.dims).all(|(d, &n)| match d.value {
                        DimValue::Value(m) => m == n,
                        DimValue::Unknown | DimValue::Param(_) => true,
                    })
            });
            (t.elem == tensor.elem || t.elem.is_none()) && same_shape
        });
        if !fits {
            let message = format!(
                "training assigns `{}` of type `{}` to `{state}` of type `{}`",
                model.text(port.name),
                type_text(model, ty),
                tensor_type(&model.names, tensor.elem, Some(tensor.dims.iter().map(|&d| DimValue::Value(d)))),
            );
            self.push(&code::TRAINING_BINDING_TYPE, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::model::Model;

    /// A main graph with the state `w` of two floats, and a step that makes `w2`, with these update bindings.
    fn updates(bindings: &[(&str, &str)]) -> Model {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.floats("w", &[1.0, 2.0]);
                d.node("Add", &["x", "w"], &["y"]);
            });
        });
        let step = body(&mut model, |d| {
            d.graph("step", &["target"], &["w2"], |d| d.node("Sub", &["w", "target"], &["w2"]));
        });
        let update_bindings = entries(&mut model, bindings);
        model.training.push(TrainingInfo {
            algorithm: Some(step),
            update_bindings,
            ..TrainingInfo::default()
        });
        model
    }

    fn entries(model: &mut Model, list: &[(&str, &str)]) -> Vec<Entry> {
        let mut name = |text| Some(model.names.intern(text));
        list.iter().map(|(k, v)| Entry { key: name(k), value: name(v) }).collect()
    }

    #[test]
    fn bindings_assign_outputs_to_initializers_once() {
        assert_eq!(findings(&updates(&[("w", "w2")])), [""; 0]);
        assert_eq!(findings(&updates(&[("w", "y")])), [""; 0]);
        let expected = ["E0901 `w` is assigned twice by a training"];
        assert_eq!(findings(&updates(&[("w", "w2"), ("w", "w2")])), expected);
        let expected = ["E0901 training assigns to `ghost`, which is not an initializer"];
        assert_eq!(findings(&updates(&[("ghost", "w2")])), expected);
        let expected = ["E0901 training assigns `ghost` to `w`, but `ghost` is not a graph output"];
        assert_eq!(findings(&updates(&[("w", "ghost")])), expected);
    }

    #[test]
    fn what_is_assigned_has_the_type_of_the_state() {
        let mut model = updates(&[("w", "w2")]);
        let step = model.training[0].algorithm.expect("a step");
        for (elem, dim, text) in [(ElemType::INT64, 2, "int64[2]"), (ElemType::FLOAT, 3, "float[3]")] {
            let ty = model.types.tensor(elem, [DimValue::Value(dim)]);
            only(&mut model.bodies[step].graphs).outputs[0].ty = Some(ty);
            let expected = format!("E0904 training assigns `w2` of type `{text}` to `w` of type `float[2]`");
            assert_eq!(findings(&model), [expected]);
        }
    }

    #[test]
    fn the_initialization_makes_values_from_nothing() {
        let mut model = updates(&[]);
        model.training[0].initialization_bindings = entries(&mut model, &[("w", "w0")]);
        assert_eq!(
            findings(&model),
            ["E0902 training has initialization bindings, but no initialization graph"]
        );
        for (inputs, expected) in [
            (&[][..], &[][..]),
            (&["seed"], &["E0902 initialization graph of a training must not have inputs, but has `seed`"]),
        ] {
            let graph = body(&mut model, |d| {
                d.graph("init", inputs, &["w0"], |d| d.node("Constant", &[], &["w0"]));
            });
            model.training[0].initialization = Some(graph);
            assert_eq!(findings(&model), expected);
        }
    }
}
