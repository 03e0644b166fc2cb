//! A statement of an operator, to be filled in.

use super::Operator;
use onnx_ir::AttrType;
use onnx_ops::infer::attribute_words;
use onnx_ops::schema::{AttrParam, Param, Registry, Schema};

/// The statement with all results, inputs and attributes that the operator requires, and a comment with the others.
///
/// ```
/// use onnxtxt::describe::{Spec, snippet};
/// use onnxtxt::ops::schema::Registry;
///
/// let registry = Registry::builtin();
/// let snippet = |name| Ok::<_, onnxtxt::describe::NotFound>(snippet(registry, &Spec::parse(name)?.find(registry)?));
/// assert_eq!(snippet("Relu")?, "Y = Relu(X)\n");
/// assert_eq!(snippet("Cast@19")?, "# attributes: saturate = 1\noutput = Cast <to = 1> (input)\n");
/// # Ok::<(), onnxtxt::describe::NotFound>(())
/// ```
#[must_use]
pub fn snippet(registry: &Registry, operator: &Operator<'_>) -> String {
    let newest = || registry.versions(operator.domain, operator.name).last().copied();
    let Some(id) = operator.asked.or_else(newest) else { return String::new() };
    let schema = registry.get(id);
    let mut comments = Vec::new();
    let mut list = |what: &str, items: Vec<String>| {
        if !items.is_empty() {
            comments.push(format!("# {what}: {}\n", items.join(", ")));
        }
    };
    let optional = |params: &[Param]| -> Vec<String> {
        params.iter().filter(|param| !param.is_required()).map(|param| param.name.to_string()).collect()
    };
    list("optional inputs", optional(&schema.inputs));
    let results = least_results(schema);
    let is_other = |name: &String| !results.contains(&name.as_str());
    list("optional outputs", optional(&schema.outputs).into_iter().filter(is_other).collect());
    let attrs = schema.attrs.iter().filter(|attr| !attr.required);
    list("attributes", attrs.map(|attr| optional_text(registry, schema, attr)).collect());
    let domain = if operator.domain.is_empty() { String::new() } else { format!("{}.", operator.domain) };
    let call = call_snippet(registry, schema, &mut str::to_owned);
    format!("{}{} = {domain}{call}\n", comments.concat(), results.join(", "))
}

/// The names of the results that a statement of an operator has at least: a statement has one.
#[must_use]
pub fn least_results(schema: &Schema) -> Vec<&str> {
    let required = schema.outputs.iter().filter(|param| param.is_required());
    let required: Vec<&str> = required.map(|param| &*param.name).collect();
    if required.is_empty() {
        schema.outputs.iter().take(1).map(|param| &*param.name).collect()
    } else {
        required
    }
}

/// The call of an operator with all attributes and inputs that it requires. `hole` writes each of their parts that is to be filled in, in
/// order.
///
/// ```
/// use onnxtxt::ops::schema::{Lookup, Registry};
///
/// let registry = Registry::builtin();
/// let Lookup::Found(id) = registry.lookup("", "Concat", 21) else { panic!("an operator") };
/// let call = onnxtxt::describe::call_snippet(registry, registry.get(id), &mut |text| format!("${{{text}}}"));
/// assert_eq!(call, "Concat <axis = ${0}> (${inputs})");
/// ```
pub fn call_snippet(registry: &Registry, schema: &Schema, hole: &mut dyn FnMut(&str) -> String) -> String {
    let required = schema.attrs.iter().filter(|attr| attr.required);
    let attrs: Vec<String> = required
        .map(|attr| format!("{} = {}", attr.name, hole(&placeholder(registry, schema, attr))))
        .collect();
    let inputs = schema.inputs.iter().filter(|param| param.is_required());
    let inputs: Vec<String> = inputs.map(|param| hole(&param.name)).collect();
    let attrs = if attrs.is_empty() { String::new() } else { format!(" <{}> ", attrs.join(", ")) };
    format!("{}{attrs}({})", schema.name, inputs.join(", "))
}

/// `alpha = 0.01`, or the name alone of an attribute without default.
fn optional_text(registry: &Registry, schema: &Schema, attr: &AttrParam) -> String {
    let words = attribute_words(registry, schema, &attr.name);
    let default = attr.default.as_ref().map(|default| default.text());
    let text = match default {
        Some(default) => format!("{} = {default}", attr.name),
        None => attr.name.to_string(),
    };
    if words.is_empty() { text } else { format!("{text} ({})", words.join(" ")) }
}

/// A value of the type of an attribute, and one of its words if it has some.
#[must_use]
pub fn placeholder(registry: &Registry, schema: &Schema, attr: &AttrParam) -> String {
    match attr.ty {
        AttrType::STRING => match attribute_words(registry, schema, &attr.name).first() {
            Some(word) => format!("\"{word}\""),
            None => "\"\"".to_owned(),
        },
        AttrType::INT if attr.is_elem_type() => "1".to_owned(),
        AttrType::INT => "0".to_owned(),
        AttrType::FLOAT => "0.0".to_owned(),
        AttrType::INTS => "[0]".to_owned(),
        AttrType::FLOATS => "[0.0]".to_owned(),
        AttrType::STRINGS => "[\"\"]".to_owned(),
        AttrType::TENSOR => "float {0}".to_owned(),
        AttrType::GRAPH => format!("{} () => () {{ }}", attr.name),
        AttrType::TYPE_PROTO => "float".to_owned(),
        _ => "0".to_owned(),
    }
}
