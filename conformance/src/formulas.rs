//! Nodes evaluated by their formulas.

use crate::convert::read_text;
use crate::trial::Trial;
use onnx_ir::{Attr, AttrValue, ElemType, Model, Node, OpsetImport, ValueId, normalize_domain};
use onnx_ops::dims::Dim;
use onnx_ops::infer::{Fact, InferOptions, Ty, infer};
use onnx_ops::meaning::{
    Attributes, Cx, Definition, Dense, Elements, Formula, Mode, Operand, Output, Reader, define, line,
    open_shape,
};
use onnx_ops::schema::{Lookup, Registry};

/// The most steps for one formula.
const EFFORT: usize = 1 << 26;

/// The definition of the only node of a model, whose inputs are initializers.
pub fn only_definition(model: &Model) -> Option<Definition> {
    let body = model.main_body()?;
    let [node] = body.graphs[body.root()?].nodes[..] else { return None };
    let node = &body.nodes[node];
    definition(model, node, &inputs(model, node)?)
}

/// The inputs of a node, as initializers have them.
fn inputs(model: &Model, node: &Node) -> Option<Vec<Option<Dense>>> {
    let body = model.main_body()?;
    let graph = &body.graphs[body.root()?];
    let stored = |value: ValueId| {
        let init = graph.initializers.iter().find(|init| init.value == value)?;
        Dense::of(&body.tensors[init.tensor], usize::MAX)
    };
    node.inputs.iter().map(|value| value.map_or(Some(None), |value| stored(value).map(Some))).collect()
}

/// Evaluates the only node of a model, whose inputs are initializers. `None` if it has no definition.
pub fn evaluate(model: &Model) -> Option<Result<Vec<Option<Dense>>, String>> {
    let body = model.main_body()?;
    let [node] = body.graphs[body.root()?].nodes[..] else { return None };
    let inputs = inputs(model, &body.nodes[node])?;
    let definition = definition(model, &body.nodes[node], &inputs)?;
    let elements: Vec<Option<&dyn Elements>> =
        inputs.iter().map(|dense| dense.as_ref().map(|dense| dense as &dyn Elements)).collect();
    let results = definition.evaluate(&elements, Mode::Reference, EFFORT);
    Some(results.ok_or_else(|| format!("no result of {definition:?}")))
}

fn definition(model: &Model, node: &Node, inputs: &[Option<Dense>]) -> Option<Definition> {
    let main = model.main?;
    let domain = normalize_domain(model.text(node.domain));
    let version = model.opset_version(model.imports_of(main), domain)?;
    let Lookup::Found(id) = Registry::builtin().lookup(domain, model.text(node.op), version) else {
        return None;
    };
    let attributes = Attributes::of(model, &model.bodies[main], node, Registry::builtin().get(id))?;
    let operands: Vec<Option<Operand<'_>>> = (inputs.iter())
        .map(|dense| dense.as_ref().map(|d| Operand { elem: d.elem, dims: &d.dims, value: Some(d) }))
        .collect();
    let facts = infer(model, Registry::builtin(), &InferOptions::default()).facts;
    let types: Vec<_> = (node.outputs.iter())
        .map(|value| match value {
            None => Some(None),
            Some(value) => {
                let (elem, dims) = output(facts.get(main, *value))?;
                let open = || open_shape(&attributes, &inputs.first()?.as_ref()?.dims);
                dims.or_else(open).map(|dims| Some((elem, dims)))
            }
        })
        .collect::<Option<_>>()?;
    let outputs: Vec<Option<Output<'_>>> =
        types.iter().map(|ty| ty.as_ref().map(|(elem, dims)| Output { elem: *elem, dims })).collect();
    let definition = define(&Cx { inputs: &operands, outputs: &outputs, attributes: &attributes })?;
    definition.formulas.iter().for_each(is_read_back);
    Some(definition)
}

/// The text of every formula that a test looks at is read back to an equal one.
fn is_read_back(formula: &Formula) {
    let text = line(formula, "y", &|operand| format!("%{operand}"));
    let slot = |name: &str| name.strip_prefix('%').and_then(|number| number.parse().ok());
    let read = Reader::new(&text).and_then(|mut reader| {
        let (name, read) = reader.formula(&mut { slot })?;
        assert!(reader.is_at_end() && name == "y", "{text}");
        Ok(read)
    });
    // NaN is not equal to itself.
    let is_equal = read.as_ref().is_ok_and(|read| read == formula || text.contains("NaN"));
    assert!(is_equal, "{text}\nis read as {read:#?}\nand was {formula:#?}");
}

/// The element type of a tensor, and the extents if they are known.
fn output(fact: &Fact) -> Option<(ElemType, Option<Vec<usize>>)> {
    let Ty::Tensor(tensor) = &fact.ty else { return None };
    let extent = |d: &Dim| match d {
        Dim::Const(n) => usize::try_from(*n).ok(),
        Dim::Unknown | Dim::Expr(_) => None,
    };
    let dims = tensor.shape.as_ref().and_then(|shape| shape.iter().map(extent).collect());
    Some((fact.ty.elem()?, dims))
}

/// The model with constants in place of its only node.
pub fn with_results(model: &Model, results: &[Option<Dense>]) -> Option<Model> {
    let mut model = model.clone();
    let (op, attr) = (model.names.intern("Constant"), model.names.intern("value"));
    let body = &mut model.bodies[model.main?];
    let root = body.root()?;
    let [node] = body.graphs[root].nodes[..] else { return None };
    let outputs = body.nodes[node].outputs.clone();
    body.graphs[root].nodes.clear();
    for (output, result) in outputs.into_iter().zip(results) {
        let Some(result) = result else { continue };
        let tensor = body.tensors.push(result.tensor()?);
        let constant = Node {
            op: Some(op),
            outputs: [output].into_iter().collect(),
            attrs: vec![Attr::new(attr, AttrValue::Tensor(tensor))],
            ..Node::default()
        };
        let constant = body.nodes.push(constant);
        body.graphs[root].nodes.push(constant);
    }
    // The first versions of `Constant` have few types.
    model.header.opset_imports = vec![OpsetImport { domain: None, version: Some(25) }];
    Some(model)
}

/// A model and what its formula gives, for [`judge`](crate::trial::judge).
///
/// # Errors
///
/// The node has no definition, or no results.
pub fn trial(name: &str, model: &Model) -> Result<Trial, String> {
    let results = evaluate(model).ok_or_else(|| format!("{name} has no definition"))?;
    let mut trial = Trial::new(name, model, None);
    let results = with_results(model, &results.map_err(|how| format!("{name}: {how}"))?);
    trial.add("by its formula", &results.ok_or_else(|| format!("{name} has too large results"))?);
    Ok(trial)
}

/// A model of one node: its version, initializers as a text declares them, and the node. Initializers without elements get
/// some: `float[2,3] x`.
///
/// # Panics
///
/// The text is not sound.
pub fn only_node(version: i64, values: &str, node: &str) -> Model {
    let (outputs, _) = node.split_once(" = ").expect("a node has outputs");
    let domains = r#""ai.onnx.ml": 3, "ai.onnx.preview": 1"#;
    let text = format!(
        r#"<ir_version: 10, opset_import: ["": {version}, {domains}]> g () => ({outputs}) <{}> {{ {node} }}"#,
        filled(values)
    );
    read_text(&text).unwrap_or_else(|how| panic!("{text}: {how}"))
}

/// `float[2,3] x` as `float[2,3] x = {-2.0, …}`.
///
/// # Panics
///
/// The text is not sound.
pub fn filled(values: &str) -> String {
    let mut all: Vec<String> = Vec::new();
    for part in values.split(", ") {
        // A comma in front of a type begins the next one.
        match part.starts_with(|c: char| c.is_ascii_lowercase()) && part.contains(' ') {
            true => all.push(part.to_owned()),
            false => {
                let last = all.last_mut().expect("elements follow a name");
                *last += ", ";
                *last += part;
            }
        }
    }
    for part in all.iter_mut().filter(|part| !part.contains('=')) {
        let dims = part.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(dims, _)| dims);
        let extent = |d: &str| d.parse::<usize>().expect("an extent");
        let count = dims.map_or(1, |dims| dims.split(',').map(extent).product());
        let is_float = part.starts_with("float[") || part.starts_with("float ") || part.starts_with("double");
        let element = |i: usize| match is_float {
            true => format!("{:?}", (i * 37 % 19) as f64 / 4.0 - 2.0),
            false => (i * 37 % 19).to_string(),
        };
        let elements: Vec<String> = (0..count).map(element).collect();
        *part += &format!(" = {{{}}}", elements.join(", "));
    }
    all.join(", ")
}
