//! Gives the literals of a text their types: `Add(x, 1)` adds a constant of the type of `x`.
//!
//! A text with expressions has literals among its operands (`grammar/sugar.md`), and what type one has depends on its operator:
//!
//! ```text
//! y = Reshape(x, [2, -1])      int64: the parameter has one type
//! y = x * 2                    the type of `x`: both parameters are of one type variable
//! y = Gather(x, 0)             int64: no other operand decides
//! ```
//!
//! Equal literals of a graph are one `Constant`, before the first node that reads it.

use crate::engine::infer_literals;
use crate::engine::literal::{Use, natural, numbers, tensor};
use crate::operators::ROWS;
use crate::schema::{Lookup, Registry, Schema};
use onnx_ir::{
    Attr, AttrType, AttrValue, Body, BodyId, Cursor, ElemType, GraphId, Model, Name, NodeId, NodeSpec,
    Origin, Tensor, ValueDef, ValueId, normalize_domain,
};
use onnx_text::{NamedNumbers, literal_of};
use std::collections::HashMap;

/// Gives all literals of a model their types, and defines their values. Returns whether it has defined all of them.
///
/// ```
/// use onnx_ir::diag::Level;
/// use onnx_ops::{literals, schema::Registry};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]>
///     g (double[N] x) => (double[N] y) { y = x * 2 }"#;
/// let complete = |model: &mut onnx_ir::Model, numbers: &_| literals::complete(model, Registry::builtin(), numbers);
/// let read = onnx_text::check_completed(Default::default(), text, Level::Syntax, &complete, |_| Vec::new());
/// let printed = onnx_text::print_model(&read.value.model, &Default::default());
/// assert!(printed.contains("c_2 = Constant <value = double {2}> ()\n    y = Mul(x, c_2)"), "{printed}");
/// ```
pub fn complete(model: &mut Model, registry: &Registry, numbers: &NamedNumbers) -> bool {
    attributes(model, registry, numbers);
    let mut uses: Vec<Use<'_>> = model.bodies.ids().flat_map(|body| uses(model, registry, body)).collect();
    if uses.is_empty() {
        return true;
    }
    let elems: Vec<ElemType> =
        infer_literals(model, registry, &ROWS, uses.clone()).iter().map(Use::elem).collect();
    for (place, elem) in uses.iter_mut().zip(elems) {
        (place.elem, place.is_contradicted) = (Some(elem), false);
    }
    define(model, uses)
}

/// The text of the literal that a value is.
fn text_of<'m>(model: &'m Model, body: &Body, value: ValueId) -> Option<&'m str> {
    let value = &body.values[value];
    let is_undefined = matches!(value.def, ValueDef::Unbound(_));
    literal_of(&model.names[value.name]).filter(|_| is_undefined)
}

/// All uses of literals in a body.
fn uses<'r>(model: &Model, registry: &'r Registry, body: BodyId) -> Vec<Use<'r>> {
    let b = &model.bodies[body];
    if b.values.ids().all(|value| text_of(model, b, value).is_none()) {
        return Vec::new();
    }
    let mut uses = Vec::new();
    for node in b.walk().nodes() {
        let mut schema_of_node = None;
        for (input, value) in b.nodes[node].inputs.iter().enumerate() {
            if let Some(text) = value.and_then(|value| text_of(model, b, value)) {
                let schema = *schema_of_node.get_or_insert_with(|| schema(model, registry, body, node));
                let text = text.to_owned();
                uses.push(Use { body, node, input, text, schema, elem: None, is_contradicted: false });
            }
        }
    }
    uses
}

fn schema<'r>(model: &Model, registry: &'r Registry, body: BodyId, node: NodeId) -> Option<&'r Schema> {
    let node = &model.bodies[body].nodes[node];
    let domain = normalize_domain(model.text(node.domain));
    let newest = || registry.newest_version(domain).map(i64::from);
    let version = model.newest_import(body, domain).or_else(newest)?;
    match registry.lookup(domain, model.text(node.op), version) {
        Lookup::Found(id) => Some(registry.get(id)),
        Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
    }
}

/// Defines the values of literals by constants. Returns whether all of them are defined.
fn define(model: &mut Model, uses: Vec<Use<'_>>) -> bool {
    let mut tensors: HashMap<(String, ElemType), Tensor> = HashMap::new();
    let mut wanted: HashMap<BodyId, HashMap<NodeId, Vec<Use<'_>>>> = HashMap::new();
    let mut is_whole = true;
    for mut place in uses {
        let natural = natural(&place.text);
        // A number that does not fit the type of another operand has its own type, which is reported.
        let candidates = [place.elem(), natural];
        let tensor = candidates
            .into_iter()
            .find_map(|elem| Some((elem, tensor(&mut model.names, &place.text, elem)?)));
        let Some((elem, tensor)) = tensor else {
            is_whole = false;
            continue;
        };
        place.elem = Some(elem);
        tensors.insert((place.text.clone(), elem), tensor);
        wanted.entry(place.body).or_default().entry(place.node).or_default().push(place);
    }
    let bodies: Vec<BodyId> = model.bodies.ids().collect();
    for body in bodies {
        let Some(mut wanted) = wanted.remove(&body) else { continue };
        let mut defined: HashMap<(GraphId, String, ElemType), ValueId> = HashMap::new();
        let mut cursor = Cursor::new(model, body);
        loop {
            while let Some(node) = cursor.next_node() {
                for Use { input, text, elem, .. } in wanted.remove(&node).into_iter().flatten() {
                    let Some(elem) = elem else { continue };
                    let Some(tensor) = tensors.get(&(text.clone(), elem)) else { continue };
                    let (graph, domain) = (cursor.graph(), cursor.body().nodes[node].domain);
                    let value = *defined
                        .entry((graph, text.clone(), elem))
                        .or_insert_with(|| constant(&mut cursor, domain, &text, tensor.clone()));
                    cursor.body_mut().nodes[node].inputs[input] = Some(value);
                }
            }
            if !cursor.goto_next_graph() {
                break;
            }
        }
    }
    is_whole
}

/// Makes tensors of numbers among operands where the operator wants a tensor: `Constant(value = 1.0)`.
fn attributes(model: &mut Model, registry: &Registry, numbers: &NamedNumbers) {
    for &(body, node) in &numbers.nodes {
        let Some(schema) = schema(model, registry, body, node) else { continue };
        let is_scalar = schema.inputs.is_empty();
        for i in 0..model.bodies[body].nodes[node].attrs.len() {
            let attr = &model.bodies[body].nodes[node].attrs[i];
            let is_tensor =
                schema.attr(model.text(attr.name)).is_some_and(|param| param.ty == AttrType::TENSOR);
            let Some((text, elem)) = attr.value().and_then(number_text).filter(|_| is_tensor) else {
                continue;
            };
            // One element of an operator with inputs is a list, as that of a `ConstantOfShape`.
            let text = if text.starts_with('[') || is_scalar { text } else { format!("[{text}]") };
            let Some(tensor) = tensor(&mut model.names, &text, elem) else { continue };
            let b = &mut model.bodies[body];
            let tensor = b.tensors.push(Tensor { name: numbers.tensor_name, ..tensor });
            let attr = &mut b.nodes[node].attrs[i];
            attr.ty = Some(AttrType::TENSOR);
            attr.values.clear();
            attr.values.push(AttrValue::Tensor(tensor));
        }
    }
}

/// The text of numbers in an attribute, and the element type of their tensor.
fn number_text(value: &AttrValue) -> Option<(String, ElemType)> {
    fn list<T: std::fmt::Display>(items: &[T]) -> String {
        let items: Vec<String> = items.iter().map(T::to_string).collect();
        format!("[{}]", items.join(", "))
    }
    match value {
        AttrValue::Int(number) => Some((number.to_string(), ElemType::INT64)),
        AttrValue::Ints(numbers) => Some((list(numbers), ElemType::INT64)),
        AttrValue::Float(number) => Some((number.to_string(), ElemType::FLOAT)),
        AttrValue::Floats(numbers) => Some((list(numbers), ElemType::FLOAT)),
        _ => None,
    }
}

/// Inserts a `Constant` before the current node, whose domain it has if that is the one of ONNX.
fn constant(cursor: &mut Cursor<'_>, domain: Option<Name>, text: &str, tensor: Tensor) -> ValueId {
    let is_of_onnx = normalize_domain(cursor.text(domain)).is_empty();
    let domain = domain.filter(|_| is_of_onnx).or((!is_of_onnx).then(Name::empty));
    let (op, attr, name) = (cursor.name("Constant"), cursor.name("value"), cursor.fresh_name(&stem(text)));
    let spec = NodeSpec { name: None, op: Some(op), domain, overload: None, origin: Origin::NONE };
    let node = cursor.insert(spec, [], [name]);
    let body = cursor.body_mut();
    // As in a text: the tensor of an attribute has a name if nodes have a domain.
    let name = domain.filter(|domain| domain.is_empty());
    let tensor = body.tensors.push(Tensor { name, ..tensor });
    body.nodes[node].attrs.push(Attr::new(attr, AttrValue::Tensor(tensor)));
    cursor.result(node, 0).expect("a constant has a result")
}

/// Longer names tell no more.
const MAX_NAME: usize = 20;

/// `c_0_5` for `0.5`, `c_2_m1` for `[2, -1]`.
fn stem(text: &str) -> String {
    let number = |number: &str| {
        let signed = number.replace('-', "m");
        signed.replace(|c: char| !c.is_ascii_alphanumeric(), "_").trim_end_matches('_').to_owned()
    };
    let name = numbers(text).map(number).fold("c".to_owned(), |name, number| name + "_" + &number);
    if name.len() > MAX_NAME || name == "c" { "c_list".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_constants_are_identifiers() {
        let cases =
            [("2", "c_2"), ("-1.5", "c_m1_5"), ("[2, -1]", "c_2_m1"), ("1e-3", "c_1em3"), ("[]", "c_list")];
        for (text, name) in cases {
            assert_eq!(stem(text), name);
        }
        assert_eq!(stem("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"), "c_list");
        assert_eq!(stem("1."), "c_1");
    }
}
