//! Compares inferred facts of a model with computed values.

use crate::results::run;
use onnx_exec::{RunOptions, Tensor, Value};
use onnx_ir::{DimValue, ElemType, Model, Name, Port, TypeKind, ValueId};
use onnx_ops::dims::{Dim, Dims};
use onnx_ops::infer::{Elem, InferOptions, TensorTy, Ty, infer};
use onnx_ops::opset::registry_of;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How far a number may be from what inference says, as a part of the larger one: single floats are rounded each time.
const TOLERANCE: f64 = 1e-5;

/// Runs a model node by node, with values for its first inputs, `None` where it stores one, and tells of the first result
/// of its main graph that inference says something else of: its type, an extent, an element.
pub fn contradiction(model: &Model, given: &[Option<Value>], options: &RunOptions<'_>) -> Option<String> {
    let symbols = symbols(model, |i, port| extents(model, given.get(i).and_then(Option::as_ref), port));
    let computed = Mutex::new(Vec::new());
    let note = |name: &str, value: &Value| {
        let mut computed = computed.lock().unwrap_or_else(PoisonError::into_inner);
        computed.push((name.to_owned(), value.clone()));
    };
    run(model, given, &RunOptions { observe: Some(&note), ..options.clone() }).ok()?;
    let mut facts = infer(model, registry_of(model), &InferOptions::default()).facts;
    let values = results(model)?;
    for (name, actual) in computed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let Some(&value) = model.names.find(&name).and_then(|name| values.get(&name)) else { continue };
        let fact = facts.resolved(model.main?, value);
        let judge = Judge { dims: &facts.dims, symbols: &symbols };
        let elements = fact.value.as_ref().map(|known| &known.elems[..]);
        if let Some(how) = judge.of_type(&fact.ty, &actual).or_else(|| judge.of_elements(elements?, &actual))
        {
            let ty = fact.ty.text(&facts.dims);
            return Some(format!("inferred of `{name}`: {ty}{}; {how}", shown(elements, &facts.dims)));
        }
    }
    None
}

fn shown(elements: Option<&[Elem]>, dims: &Dims) -> String {
    let one = |elem: &Elem| match elem {
        Elem::Int(dim) => onnx_ops::infer::dim_text(dims, *dim),
        Elem::Quotient(dim, by) => format!("({})/{by}", onnx_ops::infer::dim_text(dims, *dim)),
        Elem::Float(x) => format!("{x:?}"),
        Elem::Unknown => "?".to_owned(),
    };
    elements
        .map(|all| format!(" {{{}}}", all.iter().map(one).collect::<Vec<_>>().join(", ")))
        .unwrap_or_default()
}

/// The values that nodes of the main graph compute, by name.
fn results(model: &Model) -> Option<HashMap<Name, ValueId>> {
    let body = model.main_body()?;
    let nodes = body.graphs[body.root()?].nodes.iter().map(|&node| &body.nodes[node]);
    Some(
        nodes
            .flat_map(|node| node.outputs.iter().flatten())
            .map(|&value| (body.values[value].name, value))
            .collect(),
    )
}

/// The numbers that the inputs of the main graph give to the symbols of their types, whose extents are these; `None` for a
/// symbol that is given two.
pub fn symbols(
    model: &Model,
    extents: impl Fn(usize, &Port) -> Option<Vec<i64>>,
) -> HashMap<String, Option<i64>> {
    let mut symbols = HashMap::new();
    let Some((body, root)) = model.main_body().and_then(|body| Some((body, body.root()?))) else {
        return symbols;
    };
    for (i, port) in body.graphs[root].inputs.iter().enumerate() {
        let Some(TypeKind::Tensor(tensor)) = port.ty.map(|ty| &model.types[ty].kind) else { continue };
        let Some(extents) = extents(i, port) else { continue };
        for (dim, actual) in tensor.shape.iter().flatten().zip(extents) {
            if let DimValue::Param(name) = dim.value {
                let known = symbols.entry(model.names[name].to_owned()).or_insert(Some(actual));
                *known = known.filter(|&known| known == actual);
            }
        }
    }
    symbols
}

/// The extents of an input with this value, or of what the model stores for it.
fn extents(model: &Model, given: Option<&Value>, port: &Port) -> Option<Vec<i64>> {
    if let Some(Value::Tensor(tensor)) = given {
        return Some(tensor.dims().iter().map(|&d| d as i64).collect());
    }
    let body = model.main_body().filter(|_| given.is_none())?;
    let mut stored = body.graphs[body.root()?].initializers.iter();
    let stored = stored.find(|init| Some(init.value) == port.value)?;
    Some(body.tensors[stored.tensor].dims.to_vec())
}

struct Judge<'a> {
    dims: &'a Dims,
    symbols: &'a HashMap<String, Option<i64>>,
}

impl Judge<'_> {
    fn number(&self, dim: Dim) -> Option<i64> {
        self.dims.eval(dim, |symbol| self.symbols.get(symbol).copied().flatten())
    }

    /// A contradiction in the type, if there is one.
    fn of_type(&self, ty: &Ty, actual: &Value) -> Option<String> {
        match (ty, actual) {
            (Ty::Unknown | Ty::Opaque(_), _) | (Ty::Optional(_), Value::Optional(None)) => None,
            (Ty::Tensor(ty) | Ty::Sparse(ty), Value::Tensor(tensor)) => self.of_tensor(ty, tensor),
            (Ty::Sequence(of), Value::Sequence(values)) => {
                values.iter().find_map(|value| self.of_type(of, value))
            }
            // A present optional may be stored as its value.
            (Ty::Optional(of), Value::Optional(Some(value))) => self.of_type(of, value),
            (Ty::Optional(of), value) => self.of_type(of, value),
            (Ty::Map(key, of), Value::Map(map)) => {
                let other =
                    key.filter(|&key| key != map.keys.elem()).map(|_| "a map with other keys".to_owned());
                other.or_else(|| map.values.iter().find_map(|value| self.of_type(of, value)))
            }
            (Ty::Tensor(_) | Ty::Sparse(_) | Ty::Sequence(_) | Ty::Map(..), other) => {
                Some(format!("computed is {}", other.kind()))
            }
        }
    }

    fn of_tensor(&self, ty: &TensorTy, tensor: &Tensor) -> Option<String> {
        let elem = |elem: ElemType| elem.name().unwrap_or("?");
        if ty.elem.is_some_and(|elem| elem != tensor.elem()) {
            return Some(format!("computed are elements of {}", elem(tensor.elem())));
        }
        let shape = ty.shape.as_ref()?;
        let agree = |(dim, actual): (&Dim, &usize)| {
            self.number(*dim).is_none_or(|n| usize::try_from(n) == Ok(*actual))
        };
        let is_same = shape.len() == tensor.rank() && shape.iter().zip(tensor.dims()).all(agree);
        (!is_same).then(|| format!("computed is {}{:?}", elem(tensor.elem()), tensor.dims()))
    }

    /// A contradiction in the elements, if there is one.
    fn of_elements(&self, known: &[Elem], actual: &Value) -> Option<String> {
        let Value::Tensor(tensor) = actual else { return None };
        let ints = tensor.ints().ok();
        let floats = tensor.floats().ok();
        let count = tensor.len();
        if known.len() != count {
            return Some(format!("computed are {count} elements"));
        }
        known.iter().enumerate().find_map(|(i, elem)| {
            let number = match *elem {
                Elem::Unknown => None,
                Elem::Int(dim) => {
                    let number = self.number(dim)?;
                    if let Some(ints) = &ints {
                        return (ints[i] != number).then(|| format!("element {i} is {}", ints[i]));
                    }
                    Some(number as f64)
                }
                Elem::Float(x) => Some(x),
                Elem::Quotient(dim, by) => self.number(dim).map(|n| n as f64 / by as f64),
            }?;
            let actual = *floats.as_ref()?.get(i)?;
            let is_near = number == actual
                || number.is_nan() && actual.is_nan()
                || (number - actual).abs() <= TOLERANCE * number.abs().max(actual.abs());
            (!is_near).then(|| format!("element {i} is {actual:?}"))
        })
    }
}
