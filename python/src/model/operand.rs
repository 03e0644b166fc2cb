//! Operands of nodes as Python gives them: values, names, arrays and numbers.

use super::attributes::{schema_of, type_name};
use super::graph::graph_of_node;
use super::state::{Removed, Shared, State};
use super::tensor::stored;
use super::value::{PyValue, elem_type};
use crate::finding::failed;
use onnx_exec::Tensor as Computed;
use onnx_ir::diag::did_you_mean;
use onnx_ir::{
    AttrValue, BodyId, Cursor, ElemType, Field, GraphId, Initializer, Model, NodeSpec, Payload, Tensor,
    Value, ValueDef, ValueId,
};
use onnx_ops::infer::{InferOptions, Ty, infer};
use onnx_ops::opset::registry_of;
use onnx_ops::schema::{Lookup, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::sync::Arc;

/// One operand.
pub(crate) enum Operand {
    /// One that is left out.
    None,
    Value {
        generation: u64,
        body: BodyId,
        value: ValueId,
    },
    Name(String),
    Tensor(Tensor),
    Number(f64, ElemType),
}

/// The operands in a list, tuple or other iterable, or a single one.
pub(crate) fn operands(object: &Bound<'_, PyAny>, shared: &Arc<Shared>) -> PyResult<Vec<Operand>> {
    let is_one = object.is_instance_of::<PyValue>()
        || object.is_instance_of::<PyString>()
        || object.hasattr("dtype")?;
    if is_one {
        return Ok(vec![Operand::of(object, shared)?]);
    }
    let items = object.try_iter().map_err(|_| {
        let message = format!("inputs: expected a list of values, not {}", type_name(object));
        PyTypeError::new_err(message)
    })?;
    items.map(|item| Operand::of(&item?, shared)).collect()
}

impl Operand {
    pub(crate) fn of(object: &Bound<'_, PyAny>, shared: &Arc<Shared>) -> PyResult<Operand> {
        if object.is_none() {
            return Ok(Operand::None);
        }
        if let Ok(value) = object.cast::<PyValue>() {
            let value = value.get();
            if !Arc::ptr_eq(value.shared(), shared) {
                let message =
                    "the value belongs to another model: copy its part by `Model.insert` or `Model.concat`";
                return Err(PyValueError::new_err(message));
            }
            return Ok(Operand::Value {
                generation: value.generation(),
                body: value.body(),
                value: value.id(),
            });
        }
        if let Ok(name) = object.cast::<PyString>() {
            return Ok(Operand::Name(name.to_str()?.to_owned()));
        }
        if object.is_instance_of::<PyBool>() {
            return Ok(Operand::Number(f64::from(u8::from(object.extract::<bool>()?)), ElemType::BOOL));
        }
        if object.is_instance_of::<PyInt>() {
            let number: i64 = object.extract()?;
            #[expect(clippy::cast_precision_loss, reason = "checked below")]
            let float = number as f64;
            // Larger ones than a float can hold are integers in any case.
            #[expect(clippy::cast_possible_truncation, reason = "the comparison is what is wanted")]
            let is_same = float as i64 == number && number != i64::MAX;
            return Ok(if is_same {
                Operand::Number(float, ElemType::INT64)
            } else {
                Operand::Tensor(Tensor::scalar(number))
            });
        }
        if object.is_instance_of::<PyFloat>() {
            return Ok(Operand::Number(object.extract()?, ElemType::FLOAT));
        }
        let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
        if is_list || object.hasattr("dtype")? || object.hasattr("__array__")? {
            return Ok(Operand::Tensor(stored(object)?));
        }
        let message = format!(
            "expected a Value, the name of one, an array, a number or None, not {}",
            type_name(object)
        );
        Err(PyTypeError::new_err(message))
    }

    /// The values of operands of a node in a graph. Arrays and numbers become initializers, in functions constants; numbers get the element
    /// type that the operator requires.
    pub(crate) fn resolve_all(
        given: Vec<Operand>,
        state: &mut State,
        generation: u64,
        (body, graph): (BodyId, GraphId),
        schema: Option<&Schema>,
    ) -> PyResult<Vec<Option<ValueId>>> {
        let mut values: Vec<Option<ValueId>> = vec![None; given.len()];
        for (slot, operand) in values.iter_mut().zip(&given) {
            *slot = match operand {
                Operand::Value { generation: of, body: other, value } => {
                    state.ensure_generation(*of, "value")?;
                    state.ensure_there(Removed::Value(*other, *value))?;
                    if *other != body {
                        let name = &state.model().names[state.model().bodies[*other].values[*value].name];
                        let message =
                            format!("value `{name}` belongs to another function or graph of the model");
                        return Err(PyValueError::new_err(message));
                    }
                    Some(*value)
                }
                Operand::Name(name) => Some(visible(state, body, graph, name)?),
                Operand::None | Operand::Tensor(_) | Operand::Number(..) => None,
            };
        }
        state.ensure_generation(generation, "graph")?;
        for (i, operand) in given.into_iter().enumerate() {
            let tensor = match operand {
                Operand::Tensor(tensor) => tensor,
                Operand::Number(number, elem) => {
                    let elem =
                        schema.and_then(|schema| required(state, body, schema, i, &values)).unwrap_or(elem);
                    match elem {
                        ElemType::BOOL => Tensor::scalar(number != 0.0),
                        _ => Computed::of_floats(elem, &[], &[number])
                            .and_then(|tensor| tensor.to_stored())
                            .map_err(failed)?,
                    }
                }
                Operand::None | Operand::Value { .. } | Operand::Name(_) => continue,
            };
            values[i] = Some(constant(state, body, graph, tensor)?);
        }
        Ok(values)
    }
}

/// The element type that operand `i` must have, because another operand of the same type variable has it, or it can have only one.
fn required(
    state: &State,
    body: BodyId,
    schema: &Schema,
    i: usize,
    values: &[Option<ValueId>],
) -> Option<ElemType> {
    let param = schema.input(i)?;
    if let Some(single) = param.types.tensors.single() {
        return Some(single);
    }
    let same =
        values.iter().enumerate().filter(|(j, _)| schema.input(*j).is_some_and(|other| other.ty == param.ty));
    same.filter_map(|(_, value)| computed_type(state, body, (*value)?)).next()
}

/// The element type of a value: as it is declared, or that of an operand of the same type variable of its producer, or as it is inferred.
fn computed_type(state: &State, body: BodyId, value: ValueId) -> Option<ElemType> {
    let model = state.model();
    let mut at = value;
    for _ in 0..MAX_PRODUCERS {
        if let Some(elem) = elem_type(state, body, at) {
            return Some(elem);
        }
        let ValueDef::Output(node, i) = model.bodies[body].values[at].def else { break };
        let node = &model.bodies[body].nodes[node];
        let Some(schema) = schema_of(model, body, model.text(node.domain), model.text(node.op)) else {
            break;
        };
        let Some(result) = schema.output(i as usize) else { break };
        if let Some(single) = result.types.tensors.single() {
            return Some(single);
        }
        let mut operands = node.inputs.iter().enumerate();
        let same = operands.find(|(j, _)| schema.input(*j).is_some_and(|operand| operand.ty == result.ty));
        let Some((_, Some(operand))) = same else { break };
        at = *operand;
    }
    let inferred = infer(model, registry_of(model), &InferOptions::default());
    match &inferred.facts.get(body, value).ty {
        Ty::Tensor(tensor) => tensor.elem,
        _ => None,
    }
}

/// Longer chains of nodes are left to inference.
const MAX_PRODUCERS: usize = 64;

/// The value of a name that nodes of a graph can read.
fn visible(state: &State, body: BodyId, graph: GraphId, name: &str) -> PyResult<ValueId> {
    let model = state.model();
    let b = &model.bodies[body];
    let mut around = Some(graph);
    let mut names: Vec<&str> = Vec::new();
    while let Some(graph) = around {
        for value in b.graphs[graph].values(b) {
            let other = &model.names[b.values[value].name];
            if other == name {
                return Ok(value);
            }
            names.push(other);
        }
        around = b.graphs[graph].owner.and_then(|owner| graph_of_node(state, body, owner));
    }
    let help = did_you_mean(name, names).map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
    Err(PyValueError::new_err(format!("no value has the name `{name}`{help}")))
}

/// A stored tensor as a value: an initializer with a name of its own, in a function the result of a `Constant`.
pub(crate) fn constant(state: &mut State, body: BodyId, graph: GraphId, tensor: Tensor) -> PyResult<ValueId> {
    let is_function = state.model().functions.values().any(|function| function.body == body);
    let model = state.edit()?;
    let name = model.names.fresh("constant");
    if !is_function {
        return Ok(initializer(model, body, graph, name, tensor));
    }
    let (op, value) = (model.names.intern("Constant"), model.names.intern("value"));
    let tensor = model.bodies[body].tensors.push(tensor);
    let mut cursor = Cursor::new(model, body);
    cursor.goto_graph(graph);
    cursor.next_node();
    let node = cursor.insert(NodeSpec { op: Some(op), ..NodeSpec::default() }, [], [name]);
    cursor.body_mut().nodes[node].set_attr(value, AttrValue::Tensor(tensor));
    let result = cursor.result(node, 0);
    drop(cursor);
    result.ok_or_else(|| failed("internal error: a constant has no result"))
}

/// Adds an initializer of a name that no value of the graph has.
pub(crate) fn initializer(
    model: &mut Model,
    body: BodyId,
    graph: GraphId,
    name: onnx_ir::Name,
    tensor: Tensor,
) -> ValueId {
    let tensor = like_others(model, tensor);
    let b = &mut model.bodies[body];
    let value = b.values.push(Value { name, def: ValueDef::Initializer(graph) });
    let tensor = b.tensors.push(Tensor { name: Some(name), ..tensor });
    b.graphs[graph].initializers.push(Initializer { value, tensor });
    value
}

/// The tensor in the field in which the model has its others: typed fields if there are none, as in a text.
pub(crate) fn like_others(model: &Model, mut tensor: Tensor) -> Tensor {
    let known = model.bodies.values().flat_map(|body| body.tensors.values());
    let first = known.flat_map(|tensor| &tensor.data).next().map(Payload::field);
    let elem = tensor.elem.unwrap_or(ElemType::UNDEFINED);
    if first == Some(Field::Raw) {
        return tensor;
    }
    if let ([Payload::Entries { field, .. }], Some(typed)) = (&mut tensor.data[..], elem.field())
        // Entries of the width of the elements have the same bytes.
        && elem.bits().is_some_and(|bits| typed.entry_size() * 8 == bits as usize)
    {
        *field = typed;
    }
    tensor
}

/// Fails if a domain that is known and imported has no operator of a name.
pub(crate) fn ensure_known(model: &Model, body: BodyId, domain: &str, op: &str) -> PyResult<()> {
    let is_function = model.functions.values().any(|f| {
        model.text(f.name) == op
            && onnx_ir::normalize_domain(model.text(f.domain)) == onnx_ir::normalize_domain(domain)
    });
    if is_function {
        return Ok(());
    }
    let Some(version) = model.newest_import(body, domain) else { return Ok(()) };
    let registry = registry_of(model);
    let shown = if onnx_ir::normalize_domain(domain).is_empty() { "ai.onnx" } else { domain };
    match registry.lookup(domain, op, version) {
        Lookup::UnknownOperator => {
            let functions = model.functions.values().map(|f| model.text(f.name));
            let near = did_you_mean(op, registry.operators(domain).chain(functions));
            let help = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            Err(PyValueError::new_err(format!("{shown} has no operator `{op}`{help}")))
        }
        Lookup::TooNew { since } => {
            let message = format!(
                "`{op}` is new in version {since} of {shown}, but the model imports version {version}"
            );
            Err(PyValueError::new_err(message))
        }
        Lookup::Found(_) | Lookup::UnknownDomain => Ok(()),
    }
}
