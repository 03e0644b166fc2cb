//! Exports schemas as operator sets.

use super::types;
use crate::schema::{AttrParam, BodyKind, Default, Param, ParamKind, Registry, Schema, docs};
use bytes::Bytes;
use onnx_ir::releases::NEWEST_IR;
use onnx_ir::{
    Attr, AttrValue, BodyBuilder, Formal, FormalAttr, FormalKind, FormalType, Model, OPSET_MAGIC, Operator,
    OperatorSet, OperatorStatus, Presence, Signature, Trait, TypeVariable,
};

/// The operators of a domain as an operator set: those of one version, or all versions of all of them. Bodies are not included;
/// operators state whether they have one.
///
/// ```
/// use onnx_ops::opset::document;
/// use onnx_ops::schema::Registry;
///
/// let set = document(Registry::builtin(), "ai.onnx.ml", Some(3));
/// let text = onnx_text::print_operator_set(&set, &Default::default());
/// assert!(text.contains("operator Binarizer <threshold: float = 0.0> (T X) => (T Y)"), "{text}");
/// ```
pub fn document(registry: &Registry, domain: &str, version: Option<u32>) -> OperatorSet {
    let mut set = OperatorSet::new();
    set.magic = Some(set.model.names.intern(OPSET_MAGIC));
    set.model.header.ir_version = Some(NEWEST_IR);
    set.model.header.domain = Some(set.model.names.intern(domain));
    set.opset_version = version.or_else(|| registry.newest_version(domain)).map(i64::from);
    let mut scratch = Model::new();
    for name in registry.operators(domain) {
        let mut versions = registry.versions(domain, name).iter().map(|&id| registry.get(id));
        match version {
            None => versions.for_each(|schema| add(&mut set, &mut scratch, schema)),
            Some(version) => {
                let in_force = versions.rfind(|schema| schema.since <= version);
                in_force.into_iter().for_each(|schema| add(&mut set, &mut scratch, schema));
            }
        }
    }
    set
}

/// Adds an operator. Its signature is built in the scratch model.
fn add(set: &mut OperatorSet, scratch: &mut Model, schema: &Schema) {
    let names = &mut set.model.names;
    set.operators.push(Operator {
        name: Some(names.intern(&schema.name)),
        since_version: Some(schema.since.into()),
        status: Some(if schema.experimental { OperatorStatus::EXPERIMENTAL } else { OperatorStatus::STABLE }),
        doc: docs::summary(&schema.domain, &schema.name).map(|summary| names.intern(summary)),
    });
    let signature = signature(schema, scratch);
    onnx_text::sign(set, set.operators.len() - 1, &signature, scratch);
}

fn signature(schema: &Schema, model: &mut Model) -> Signature {
    let mut b = BodyBuilder::new(model);
    b.begin_graph(None, None);
    let attributes = schema.attrs.iter().filter_map(|attr| self::attr(attr, &mut b)).collect();
    b.end_graph();
    let body = b.finish();
    let variables = schema.variables.iter().map(|variable| TypeVariable {
        name: model.names.intern(&variable.name),
        types: types::types(&variable.types, model),
        doc: None,
    });
    let variables: Vec<_> = variables.collect();
    let mut params = |params: &[Param]| params.iter().filter_map(|p| formal(p, schema, model)).collect();
    let counts = |counts: &[u32]| counts.iter().map(|&count| count.into()).collect();
    let (inputs, outputs) = (params(&schema.inputs), params(&schema.outputs));
    let mut traits = Vec::new();
    traits.extend(schema.deprecated.then_some(Trait::Deprecated));
    traits.extend(schema.random.then_some(Trait::Nondeterministic));
    traits.extend(match schema.body {
        BodyKind::None => None,
        BodyKind::Fixed => Some(Trait::Function),
        BodyKind::PerNode => Some(Trait::ContextDependentFunction),
    });
    Signature {
        attributes,
        inputs,
        outputs,
        variables,
        traits,
        input_counts: counts(&schema.input_counts),
        output_counts: counts(&schema.output_counts),
        body,
    }
}

fn formal(param: &Param, schema: &Schema, model: &mut Model) -> Option<Formal> {
    let ty = match schema.variable(&param.ty) {
        Some(variable) => FormalType::Variable(model.names.intern(&variable.name)),
        None => FormalType::Type(types::read(&param.ty, model)?),
    };
    let kind = match param.kind {
        ParamKind::Single => FormalKind::Single,
        ParamKind::Optional => FormalKind::Optional,
        ParamKind::Variadic { min, homogeneous } => FormalKind::Variadic { min, is_mixed: !homogeneous },
    };
    let name = (!param.name.is_empty()).then(|| model.names.intern(&param.name));
    Some(Formal { name, ty, kind, doc: None })
}

/// An attribute of a signature; `None` if the text of its default cannot be read.
fn attr(param: &AttrParam, b: &mut BodyBuilder<'_>) -> Option<FormalAttr> {
    let name = Some(b.names.intern(&param.name));
    let mut attr = Attr { name, ty: Some(param.ty), ..Attr::default() };
    let presence = match (&param.default, param.required) {
        (Some(_), _) => Presence::Default,
        (None, true) => Presence::Required,
        (None, false) => Presence::Optional,
    };
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let value = match &param.default {
        None => None,
        Some(Default::Float(x)) => Some(AttrValue::Float(*x)),
        Some(Default::Int(i)) => Some(AttrValue::Int(*i)),
        Some(Default::String(text)) => Some(AttrValue::String(bytes(text))),
        Some(Default::Floats(all)) => (!all.is_empty()).then(|| AttrValue::Floats(all.to_vec().into())),
        Some(Default::Ints(all)) => (!all.is_empty()).then(|| AttrValue::Ints(all.to_vec().into())),
        Some(Default::Strings(all)) => {
            (!all.is_empty()).then(|| AttrValue::Strings(all.iter().map(|text| bytes(text)).collect()))
        }
        Some(Default::Other(text)) if text == "[]" => None,
        Some(Default::Other(text)) => {
            let (read, diagnostics) = onnx_text::read_attribute(&format!("a = {text}"), b, None).into_parts();
            if !diagnostics.is_empty() {
                return None;
            }
            read?.values.into_iter().next()
        }
    };
    attr.values.extend(value);
    Some(FormalAttr { attr, presence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opset::load;

    /// All facts of a schema except its domain, where `""` and `ai.onnx` are equal.
    fn facts(schema: &Schema) -> String {
        format!("{schema:?}")
    }

    #[test]
    fn built_in_sets_come_back() {
        let registry = Registry::builtin();
        let mut schemas = 0;
        for domain in registry.domains() {
            let set = document(registry, domain, None);
            let text = onnx_text::print_operator_set(&set, &onnx_text::RaiseOptions::default());
            let (again, diagnostics) = onnx_text::read_operator_set(&text).into_parts();
            assert!(diagnostics.is_empty(), "{diagnostics:#?}");
            let loaded = load(again);
            assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
            let ids = registry.operators(domain).flat_map(|name| registry.versions(domain, name));
            let expected: Vec<_> = ids.map(|&id| facts(registry.get(id))).collect();
            let found: Vec<_> = loaded.schemas.iter().map(facts).collect();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected);
            }
            schemas += found.len();
        }
        assert_eq!(schemas, 659);
    }

    #[test]
    fn a_version_has_what_is_in_force() {
        let set = document(Registry::builtin(), "", Some(13));
        let found = |name: &str| {
            let mut of = set.operators.iter().filter(|o| set.model.text(o.name) == name);
            (of.next().and_then(|o| o.since_version), of.count())
        };
        assert_eq!(found("Add"), (Some(13), 0));
        assert_eq!(found("Gelu"), (None, 0));
        assert_eq!(set.opset_version, Some(13));
    }

    #[test]
    fn any_default_comes_back() {
        let source = "operator_set <ir_version: 10, domain: \"d\", opset_version: 1>\n\
            <since_version: 1> operator A <\n\
            a: float = nan, b: tensor = int64[2] {1, 2}, c: graph = g () => (y) { y = Abs(x) }, d: tensors = [],\n\
            e: type_proto = seq(float[N]), f: strings = [\"a\\\"b\", \"\"], g: ints = [], h: sparse_tensor?,\n\
            i: string = \"\", j: floats = [-0.0, inf], k: type_protos = {float[2], int64}\n\
            > () => ()";
        let loaded = load(onnx_text::read_operator_set(source).value);
        assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
        assert_eq!(loaded.schemas[0].attrs.len(), 11);
        let registry = Registry::with(loaded.schemas.clone());
        let again = load(document(&registry, "d", None));
        assert!(again.diagnostics.is_empty(), "{:#?}", again.diagnostics);
        assert_eq!(facts(&again.schemas[0]), facts(&loaded.schemas[0]));
    }
}
