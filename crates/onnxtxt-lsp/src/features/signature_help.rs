//! The signature of the operator whose operands or attributes are being typed.

use super::cursor::{Around, around};
use super::schemas::{self, Called};
use crate::document::Snapshot;
use gen_lsp_types::*;
use onnxtxt::ir::diag::Span;
use onnxtxt::ops::schema::Schema;

/// The signature, with the parameter that is being typed.
pub(crate) fn signature_help(snapshot: &Snapshot, position: Position) -> Option<SignatureHelp> {
    let offset = snapshot.offset(position);
    let (op, active) = match around(snapshot, offset) {
        Around::Inputs { op, index } => (op, Active::Input(index)),
        Around::Attributes { op, value_of } => {
            (op, Active::Attribute(value_of.map(|name| snapshot.slice(name).to_owned())))
        }
        _ => return None,
    };
    let (domain, name) = split(snapshot.slice(op));
    let version = schemas::imported(snapshot, offset, &domain);
    let signature = match schemas::named(snapshot, &domain, &name, version)? {
        Called::Operator { schema } => of_schema(snapshot, schema, &active),
        Called::Function { id, name } => of_function(snapshot, id, &name, &active)?,
    };
    let active_parameter = signature.active_parameter;
    Some(SignatureHelp { signatures: vec![signature], active_signature: Some(0), active_parameter })
}

/// The call that is being typed.
enum Active {
    Input(usize),
    Attribute(Option<String>),
}

/// Domain and name of an operator as it is spelled.
pub(super) fn split(spelled: &str) -> (String, String) {
    let plain = |text: &str| text.trim().trim_matches('"').to_owned();
    match spelled.rsplit_once('.') {
        Some((domain, name)) => (plain(domain), plain(name)),
        None => (String::new(), plain(spelled)),
    }
}

fn of_schema(snapshot: &Snapshot, schema: &Schema, active: &Active) -> SignatureInformation {
    let attrs = schema.attrs.iter().map(schemas::attribute).collect();
    let inputs = schema.inputs.iter().map(schemas::parameter).collect();
    let outputs: Vec<String> = schema.outputs.iter().map(schemas::parameter).collect();
    let position = match active {
        // A variadic parameter is the last one.
        Active::Input(index) if !schema.inputs.is_empty() => {
            schema.input(*index).map(|_| (*index).min(schema.inputs.len() - 1))
        }
        Active::Input(_) => None,
        Active::Attribute(name) => {
            name.as_ref().and_then(|name| schema.attrs.iter().position(|attr| attr.name == name.as_str()))
        }
    };
    let documentation = {
        let versions = snapshot.registry().versions(&schema.domain, &schema.name);
        versions.last().and_then(|id| snapshot.registry().summary(*id)).map(str::to_owned)
    };
    let head = schema.name.to_string();
    let information = build(&head, attrs, inputs, &outputs, active, position);
    SignatureInformation { documentation: documentation.map(Into::into), ..information }
}

fn of_function(snapshot: &Snapshot, id: usize, name: &str, active: &Active) -> Option<SignatureInformation> {
    let function = snapshot.tree().functions.get(id)?;
    let text = |span: Span| snapshot.slice(span).to_owned();
    let attrs = function.attrs.iter().flat_map(|list| &list.items).map(|attr| text(attr.span)).collect();
    let inputs: Vec<String> = function.inputs.items.iter().map(|value| text(value.span)).collect();
    let outputs: Vec<String> = function.outputs.items.iter().map(|value| text(value.span)).collect();
    let position = match active {
        Active::Input(index) => Some(*index).filter(|index| *index < inputs.len()),
        Active::Attribute(name) => {
            let mut names =
                function.attrs.iter().flat_map(|list| &list.items).map(|attr| snapshot.slice(attr.name));
            name.as_ref().and_then(|name| names.position(|other| other == name))
        }
    };
    Some(build(name, attrs, inputs, &outputs, active, position))
}

/// The label, and the places of its parameters in it: of the attributes or of the inputs.
fn build(
    head: &str,
    attrs: Vec<String>,
    inputs: Vec<String>,
    outputs: &[String],
    active: &Active,
    position: Option<usize>,
) -> SignatureInformation {
    let mut label = head.to_owned();
    let mut parameters = Vec::new();
    let units = |text: &str| u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX);
    let mut list = |label: &mut String, items: Vec<String>, is_active: bool| {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                label.push_str(", ");
            }
            let start = units(label);
            label.push_str(item);
            if is_active {
                let label = ParameterInformationLabel::Tuple((start, units(label)));
                parameters.push(ParameterInformation { label, documentation: None });
            }
        }
    };
    if !attrs.is_empty() {
        label.push_str(" <");
        list(&mut label, attrs, matches!(active, Active::Attribute(_)));
        label.push('>');
    }
    label.push_str(" (");
    list(&mut label, inputs, matches!(active, Active::Input(_)));
    label.push_str(&format!(") => ({})", outputs.join(", ")));
    let active_parameter = position.and_then(|i| u32::try_from(i).ok()).map(ActiveParameter::Int);
    SignatureInformation { label, documentation: None, parameters: Some(parameters), active_parameter }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{at_cursor, model};

    /// The label with the active parameter in brackets.
    fn help(marked: &str) -> String {
        let (snapshot, cursor) = at_cursor(marked);
        let Some(help) = signature_help(&snapshot, cursor) else { return "none".to_owned() };
        let signature = &help.signatures[0];
        let mut label = signature.label.clone();
        if let Some(ActiveParameter::Int(active)) = help.active_parameter {
            let parameters = signature.parameters.as_ref().unwrap();
            let ParameterInformationLabel::Tuple((start, end)) = parameters[active as usize].label else {
                panic!("a range")
            };
            label.insert(end as usize, ']');
            label.insert(start as usize, '[');
        }
        label
    }

    #[test]
    fn the_parameter_under_the_cursor_is_active() {
        assert_eq!(
            help(&model("y = Reshape($0")),
            "Reshape <allowzero: int = 0> ([T data], tensor(int64) shape) => (T reshaped)"
        );
        assert!(help(&model("y = Reshape(x, $0)")).contains("[tensor(int64) shape]"));
        assert!(help(&model("y = Concat <axis = 0> (x, x, $0")).contains("([T... inputs])"));
        assert!(help(&model("y = Gemm <alpha = $0")).contains("<[alpha: float = 1.0], beta"));
        assert_eq!(help(&model("y = Re$0")), "none");
        assert_eq!(help(&model("y = Nothing($0")), "none");
        let call = "<opset_import: [\"l\": 1]> g (x) => (y) { y = l.F (x, $0) } <domain: \"l\"> F (v, w) => (u) { u = Add(v, w) }";
        assert_eq!(help(call), "F (v, [w]) => (u)");
    }
}
