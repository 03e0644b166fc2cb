//! Compares values with the types that a model declares for its inputs.

use onnx_exec::{Value, misfit};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{DimValue, ElemType, Model, TypeId, TypeKind, type_text};
use onnx_ops::dims::{Dim, Dims};

/// The sizes of symbolic dimensions: those of the command line, which must agree, and those of inputs, which need not: exporters
/// use the same symbol for different sizes.
#[derive(Default)]
pub(crate) struct Extents {
    /// The sizes from the command line.
    told: Dims,
    /// The same, and the first size that an input has for a symbol.
    all: Dims,
    /// The arguments that give them.
    said: Vec<(String, String)>,
}

impl Extents {
    /// Adds an argument with the size of a symbol or an expression. Returns `false` if it contradicts earlier ones.
    pub(crate) fn set(&mut self, text: &str, extent: usize, argument: String) -> bool {
        let agrees = equate(&mut self.told, text, extent);
        equate(&mut self.all, text, extent);
        self.said.push((text.to_owned(), argument));
        agrees
    }

    /// Adds the size that the model itself implies for a symbol.
    pub(crate) fn imply(&mut self, symbol: &str, extent: usize) {
        equate(&mut self.all, symbol, extent);
    }

    /// The size of a dimension, if it follows from what is known.
    pub(crate) fn get(&mut self, text: &str) -> Option<usize> {
        known(&mut self.all, text)
    }

    /// The arguments that determine the size of a dimension: directly, or through symbols that they share.
    pub(crate) fn source(&self, text: &str) -> String {
        if let Some((_, argument)) = self.said.iter().find(|(said, _)| said == text) {
            return argument.clone();
        }
        let mut symbols = symbols_of(text);
        let mut is_about = vec![false; self.said.len()];
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            for ((said, _), is_about) in self.said.iter().zip(&mut is_about) {
                let of = symbols_of(said);
                if !*is_about && of.iter().any(|symbol| symbols.contains(symbol)) {
                    (*is_about, is_changed) = (true, true);
                    symbols.extend(of);
                }
            }
        }
        let mut arguments: Vec<&str> = Vec::new();
        for ((_, argument), _) in self.said.iter().zip(is_about).filter(|(_, is_about)| *is_about) {
            // One argument may give several sizes.
            if !arguments.contains(&&argument[..]) {
                arguments.push(argument);
            }
        }
        arguments.join(", ")
    }

    /// The symbols of a dimension whose sizes are unknown.
    pub(crate) fn unknown_symbols(&mut self, text: &str) -> Vec<String> {
        let symbols = symbols_of(text);
        symbols.into_iter().filter(|symbol| self.get(symbol).is_none()).collect()
    }

    /// Reports a value that does not match the type of its input, or contradicts the command line. Records sizes of symbols that
    /// occur for the first time.
    pub(crate) fn check(
        &mut self,
        model: &Model,
        name: &str,
        ty: TypeId,
        value: &Value,
        place: impl Into<Place>,
    ) -> Option<Diagnostic> {
        let place = place.into();
        if let Some(found) = misfit(model, name, ty, value, place) {
            let declared = elem(model, ty).filter(|elem| is_numeric(*elem));
            return Some(match (value, declared) {
                (Value::Tensor(tensor), Some(to)) if tensor.elem() != to && is_numeric(tensor.elem()) => {
                    let to = numpy_name(to);
                    found.help(format!("add `--cast`, or write the array with `.astype(\"{to}\")`"))
                }
                _ => found,
            });
        }
        let because = self.contradiction(model, ty, value)?;
        let (given, expected) = (value.type_text(), type_text(model, ty));
        let message = format!("input `{name}` is {given}, expected {expected}, and {because}");
        Some(Diagnostic::new(&code::RUN_FAILED, place, message))
    }

    /// Which size of the command line a value of the declared type contradicts.
    fn contradiction(&mut self, model: &Model, ty: TypeId, value: &Value) -> Option<String> {
        match (&model.types[ty].kind, value) {
            (TypeKind::Tensor(expected) | TypeKind::SparseTensor(expected), Value::Tensor(tensor)) => {
                let mut dims = expected.shape.as_ref()?.iter().zip(tensor.dims());
                dims.find_map(|(dim, &extent)| self.extent(model, dim, extent))
            }
            (TypeKind::Sequence(Some(inner)), Value::Sequence(values)) => {
                values.iter().find_map(|value| self.contradiction(model, *inner, value))
            }
            (TypeKind::Optional(Some(inner)), Value::Optional(Some(value))) => {
                self.contradiction(model, *inner, value)
            }
            (TypeKind::Optional(Some(inner)), Value::Tensor(_) | Value::Sequence(_)) => {
                self.contradiction(model, *inner, value)
            }
            _ => None,
        }
    }

    fn extent(&mut self, model: &Model, dim: &onnx_ir::Dim, extent: usize) -> Option<String> {
        let DimValue::Param(symbol) = dim.value else { return None };
        let text = &model.names[symbol];
        equate(&mut self.all, text, extent);
        let known = known(&mut self.told, text).filter(|known| *known != extent)?;
        Some(format!("{text} is {known} because of {}", self.source(text)))
    }
}

/// Sets the size of a dimension; returns `false`, and changes nothing, if that is impossible.
fn equate(dims: &mut Dims, text: &str, extent: usize) -> bool {
    let Ok(extent) = i64::try_from(extent) else { return false };
    let dim = dims.parse(text);
    let mark = dims.mark();
    let agrees = dims.equate(dim, Dim::Const(extent)).is_ok();
    if !agrees {
        dims.undo(mark);
    }
    agrees
}

fn known(dims: &mut Dims, text: &str) -> Option<usize> {
    let dim = dims.parse(text);
    let dim = dims.resolve(dim);
    usize::try_from(dims.as_const(dim)?).ok()
}

/// The symbols in a dimension, which may be a symbol itself.
pub(crate) fn symbols_of(text: &str) -> Vec<String> {
    let mut dims = Dims::new();
    let dim = dims.parse(text);
    dims.symbols_of(dim).into_iter().map(str::to_owned).collect()
}

/// The declared element type of a tensor.
pub(crate) fn elem(model: &Model, ty: TypeId) -> Option<ElemType> {
    match &model.types[ty].kind {
        TypeKind::Tensor(tensor) => tensor.elem,
        _ => None,
    }
}

fn is_numeric(elem: ElemType) -> bool {
    elem != ElemType::STRING && elem.name().is_some()
}

/// NumPy's name of an element type.
fn numpy_name(elem: ElemType) -> &'static str {
    match elem {
        ElemType::FLOAT => "float32",
        ElemType::DOUBLE => "float64",
        _ => elem.name().unwrap_or("?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(all: &[(&str, usize)]) -> (Extents, bool) {
        let mut extents = Extents::default();
        let agree = all.iter().all(|(text, n)| extents.set(text, *n, format!("-D {text}={n}")));
        (extents, agree)
    }

    #[test]
    fn expressions_follow_from_symbols_and_symbols_from_expressions() {
        let (mut known, agrees) = extents(&[("B", 3), ("H", 7)]);
        assert!(agrees);
        assert_eq!(
            ["B*2", "H/2", "B + H", "N", "B*N"].map(|text| known.get(text)),
            [Some(6), Some(3), Some(10), None, None]
        );
        assert_eq!(known.unknown_symbols("B*N"), ["N"]);
        assert_eq!(extents(&[("B*2", 8)]).0.get("B"), Some(4));
        assert!(!extents(&[("B", 3), ("B*2", 7)]).1 && !extents(&[("N", 1), ("N", 2)]).1);
        assert!(extents(&[("batch size", 2), ("batch size", 2)]).1);
        let (known, _) = extents(&[("B*C", 6), ("H", 7), ("C", 3)]);
        assert_eq!(known.source("B+1"), "-D B*C=6, -D C=3");
        assert_eq!(known.source("N"), "");
    }
}
