//! Whether values go with the types that a model declares for its inputs.

use onnx_exec::{Tensor, Value};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{Dim, DimValue, ElemType, Model, Name, TypeId, TypeKind, type_text};
use std::collections::HashMap;

/// The extents of symbols, and who asked for them. Inputs ask for none: exporters name extents alike that are not.
#[derive(Default)]
pub(super) struct Extents(HashMap<Name, (usize, Option<String>)>);

impl Extents {
    pub(super) fn set(&mut self, symbol: Name, extent: usize, source: String) {
        self.0.entry(symbol).or_insert((extent, Some(source)));
    }

    pub(super) fn get(&self, symbol: Name) -> Option<usize> {
        self.0.get(&symbol).map(|(extent, _)| *extent)
    }

    /// What does not fit about the value of an input, if anything. Symbols that are seen for the first time are kept.
    pub(super) fn check(
        &mut self,
        model: &Model,
        name: &str,
        ty: TypeId,
        value: &Value,
        place: impl Into<Place>,
    ) -> Option<Diagnostic> {
        let because = self.misfit(model, ty, value)?;
        let (given, expected) = (shown(value), type_text(model, ty));
        let message = format!("input `{name}` is {given}, expected is {expected}{because}");
        let diagnostic = Diagnostic::new(&code::RUN_FAILED, place, message);
        let elem = elem(model, ty).filter(|elem| is_numeric(*elem));
        Some(match (value, elem) {
            (Value::Tensor(tensor), Some(to)) if tensor.elem() != to && is_numeric(tensor.elem()) => {
                let to = numpy_name(to);
                diagnostic.help(format!("add `--cast`, or write the array with `.astype(\"{to}\")`"))
            }
            _ => diagnostic,
        })
    }

    /// Why a value does not fit, as far as the types do not say it: `Some("")` where they do.
    fn misfit(&mut self, model: &Model, ty: TypeId, value: &Value) -> Option<String> {
        let plain = || Some(String::new());
        match (&model.types[ty].kind, value) {
            (TypeKind::Tensor(expected) | TypeKind::SparseTensor(expected), Value::Tensor(tensor)) => {
                if expected.elem.is_some_and(|elem| elem != tensor.elem()) {
                    return plain();
                }
                let shape = expected.shape.as_ref()?;
                if shape.len() != tensor.rank() {
                    return plain();
                }
                shape.iter().zip(tensor.dims()).find_map(|(dim, &extent)| self.extent(model, dim, extent))
            }
            (TypeKind::Sequence(Some(inner)), Value::Sequence(values)) => {
                values.iter().find_map(|value| self.misfit(model, *inner, value))
            }
            (TypeKind::Optional(Some(inner)), Value::Optional(Some(value))) => {
                self.misfit(model, *inner, value)
            }
            (TypeKind::Optional(Some(inner)), Value::Tensor(_) | Value::Sequence(_)) => {
                self.misfit(model, *inner, value)
            }
            (TypeKind::Map { .. }, Value::Map(_))
            | (TypeKind::Optional(_), Value::Optional(_))
            | (TypeKind::Sequence(None), Value::Sequence(_))
            | (TypeKind::Unset | TypeKind::Opaque { .. }, _) => None,
            (
                TypeKind::Tensor(_)
                | TypeKind::SparseTensor(_)
                | TypeKind::Sequence(_)
                | TypeKind::Optional(_)
                | TypeKind::Map { .. },
                _,
            ) => plain(),
        }
    }

    fn extent(&mut self, model: &Model, dim: &Dim, extent: usize) -> Option<String> {
        match dim.value {
            // Negative numbers stand for what is not known.
            DimValue::Unknown | DimValue::Value(..0) => None,
            DimValue::Value(expected) => (usize::try_from(expected) != Ok(extent)).then(String::new),
            DimValue::Param(symbol) => {
                let (known, source) = self.0.entry(symbol).or_insert((extent, None));
                let source = source.as_ref().filter(|_| *known != extent)?;
                Some(format!(", and {} is {known} because {source}", &model.names[symbol]))
            }
        }
    }
}

/// The declared element type of a tensor.
pub(super) fn elem(model: &Model, ty: TypeId) -> Option<ElemType> {
    match &model.types[ty].kind {
        TypeKind::Tensor(tensor) => tensor.elem,
        _ => None,
    }
}

fn is_numeric(elem: ElemType) -> bool {
    elem != ElemType::STRING && elem.name().is_some()
}

/// What NumPy calls an element type.
fn numpy_name(elem: ElemType) -> &'static str {
    match elem {
        ElemType::FLOAT => "float32",
        ElemType::DOUBLE => "float64",
        _ => elem.name().unwrap_or("?"),
    }
}

/// The type of a value in the syntax of types.
fn shown(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => shown_tensor(tensor),
        Value::Sequence(values) => match values.first() {
            Some(first) => format!("seq({})", shown(first)),
            None => "an empty sequence".to_owned(),
        },
        Value::Map(map) => format!("map({}, …)", map.keys.elem().name().unwrap_or("?")),
        Value::Optional(Some(value)) => format!("optional({})", shown(value)),
        Value::Optional(None) => "an empty optional".to_owned(),
    }
}

fn shown_tensor(tensor: &Tensor) -> String {
    tensor_type(tensor.elem(), tensor.dims())
}

/// The type of a tensor as text.
pub(crate) fn tensor_type(elem: ElemType, dims: &[usize]) -> String {
    let elem = elem.name().unwrap_or("?");
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    if dims.is_empty() { elem.to_owned() } else { format!("{elem}[{}]", dims.join(",")) }
}
