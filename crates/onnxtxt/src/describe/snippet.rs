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
    let (required, optional): (Vec<&AttrParam>, Vec<&AttrParam>) =
        schema.attrs.iter().partition(|attr| attr.required);
    let mut comments = Vec::new();
    let names = |params: &[Param], wants: bool| -> Vec<String> {
        let params = params.iter().filter(|param| param.is_required() == wants);
        params.map(|param| param.name.to_string()).collect()
    };
    let mut list = |what: &str, items: Vec<String>| {
        if !items.is_empty() {
            comments.push(format!("# {what}: {}\n", items.join(", ")));
        }
    };
    list("optional inputs", names(&schema.inputs, false));
    let mut results = names(&schema.outputs, true);
    let mut others = names(&schema.outputs, false);
    // A statement has a result.
    if results.is_empty() && !others.is_empty() {
        results.push(others.remove(0));
    }
    list("optional outputs", others);
    list("attributes", optional.iter().map(|attr| optional_text(registry, schema, attr)).collect());
    let attrs: Vec<String> = required
        .iter()
        .map(|attr| format!("{} = {}", attr.name, placeholder(registry, schema, attr)))
        .collect();
    let attrs = if attrs.is_empty() { String::new() } else { format!(" <{}> ", attrs.join(", ")) };
    let domain = if operator.domain.is_empty() { String::new() } else { format!("{}.", operator.domain) };
    let inputs = names(&schema.inputs, true).join(", ");
    format!("{}{} = {domain}{}{attrs}({inputs})\n", comments.concat(), results.join(", "), schema.name)
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

/// A value of the type of an attribute.
fn placeholder(registry: &Registry, schema: &Schema, attr: &AttrParam) -> String {
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
