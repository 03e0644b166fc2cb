//! Shapes for one batch size only, axes whose meaning changed, symbols that differ in case.

use super::site::{LintSite, index};
use crate::dims::Dim;
use crate::infer::{Facts, Ints, formulas_that_differ};
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{BodyId, DimValue, Model, Port, TypeKind, ValueDef};

/// A Reshape of a symbolic shape to constant sizes: it is valid for one value of the symbol.
pub(crate) fn batch(site: &LintSite<'_>) -> Option<Diagnostic> {
    let target = match site.schema.since {
        ..5 => Ints::from_slice(site.attrs().ints("shape")?),
        _ => site.value(1)?.ints()?,
    };
    let shape = site.ty(0)?.shape()?;
    let extents = shape.iter().filter(|d| matches!(d, Dim::Expr(_))).count();
    // Only a single symbolic size is reported; a product of several may be constant.
    let &[Dim::Expr(_), ..] = &shape[..] else { return None };
    if extents != 1 || shape.contains(&Dim::Unknown) || target.iter().any(|&d| d <= 0) {
        return None;
    }
    let symbol = site.facts.dims.text(shape[0]);
    let target = target.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let message = format!("this `Reshape` to [{target}] works for only one value of `{symbol}`");
    let place = if site.schema.since < 5 { site.at_attr("shape") } else { site.at_input(1) };
    Some(
        Diagnostic::new(&code::RESHAPE_BATCH, place, message)
            .help("write -1 or 0 for the dimension that may vary"),
    )
}

/// Before version 13, Softmax and similar operators flattened everything from the axis on.
pub(crate) fn softmax(site: &LintSite<'_>) -> Option<Diagnostic> {
    if site.schema.since >= 13 {
        return None;
    }
    let axis = site.attrs().int("axis")?;
    let shape = site.ty(0)?.shape()?;
    let axis = usize::try_from(if axis < 0 { axis + i64::try_from(shape.len()).ok()? } else { axis }).ok()?;
    let behind = shape.get(axis + 1..)?;
    let together = shape.len() - axis;
    if behind.iter().all(|&d| d == Dim::Const(1)) {
        return None;
    }
    let op = site.op();
    let message =
        format!("this `{op}` normalizes over the last {together} axes together, not over axis {axis} alone");
    Some(
        Diagnostic::new(&code::SOFTMAX_COERCION, site.at_attr("axis"), message)
            .label("before version 13, the input is flattened from this axis on")
            .help("move the axis to the end, or import version 13"),
    )
}

/// A mode that later versions of Resize do not have.
pub(crate) fn resize(site: &LintSite<'_>) -> Option<Diagnostic> {
    let mode = site.attrs().string("coordinate_transformation_mode")?;
    if mode != "tf_half_pixel_for_nn" {
        return None;
    }
    let message = "`tf_half_pixel_for_nn` is deprecated and was removed in version 13 of `Resize`";
    let place = site.at_attr("coordinate_transformation_mode");
    Some(Diagnostic::new(&code::RESIZE_MODE, place, message).help("use `half_pixel`"))
}

/// Declared formulas that differ from the inferred ones.
pub(crate) fn formulas(model: &Model, facts: &Facts, body: BodyId, found: &mut Vec<Diagnostic>) {
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
pub(crate) fn spellings(model: &Model, found: &mut Vec<Diagnostic>) {
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
