//! Declared shapes: formulas that differ from the inferred ones, symbols that differ in case.

use crate::infer::{Facts, formulas_that_differ};
use crate::lint::index;
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{BodyId, DimValue, Model, Port, TypeKind, ValueDef};

/// Declared formulas that differ from the inferred ones.
pub(super) fn formulas(model: &Model, facts: &Facts, body: BodyId, found: &mut Vec<Diagnostic>) {
    for differs in formulas_that_differ(model, facts, body) {
        let value = model.bodies[body].values[differs.value];
        let (name, only_where) = (&model.names[value.name], &differs.only_where);
        let (declared, computed) = (&differs.declared, &differs.computed);
        let message = format!(
            "`{name}` is declared as {declared}, but inference gives {computed}: they agree only if {only_where}"
        );
        let finding = Diagnostic::new(&code::FORMULA_DIFFERS, differs.place, message);
        found.push(match value.def {
            ValueDef::Output(node, i) => {
                finding.related(Entity::NodeOutput(body, node, i), format!("inferred as {computed}"))
            }
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => finding,
        });
    }
}

/// Symbols of the main graph that differ only in case.
pub(super) fn spellings(model: &Model, found: &mut Vec<Diagnostic>) {
    let Some((body, root)) = model.main.and_then(|b| Some((b, model.bodies[b].root()?))) else { return };
    let graph = &model.bodies[body].graphs[root];
    let mut seen: HashMap<String, Vec<(&str, Entity)>> = HashMap::default();
    let mut look = |ports: &[Port], place: &dyn Fn(u32) -> Entity| {
        for (i, port) in ports.iter().enumerate() {
            let Some(ty) = port.ty else { continue };
            let (TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor)) = &model.types[ty].kind else {
                continue;
            };
            for dim in tensor.shape.iter().flatten() {
                let DimValue::Param(name) = dim.value else { continue };
                let (name, place) = (&model.names[name], place(index(i)));
                let spellings = seen.entry(name.to_lowercase()).or_default();
                if spellings.iter().any(|(other, _)| *other == name) {
                    continue;
                }
                if let Some(&(other, at)) = spellings.first() {
                    let message = format!("dimensions `{name}` and `{other}` differ only in case");
                    let finding = Diagnostic::new(&code::SYMBOL_CASE, place, message);
                    found.push(finding.related(at, format!("use of `{other}`")));
                }
                spellings.push((name, place));
            }
        }
    };
    look(&graph.inputs, &|i| Entity::Input(body, root, i));
    look(&graph.outputs, &|i| Entity::Output(body, root, i));
    look(&graph.value_info, &|i| Entity::ValueInfo(body, root, i));
}
