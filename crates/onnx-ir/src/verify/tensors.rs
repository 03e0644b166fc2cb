//! Stored tensors: T01–T07, T11; the values themselves are for `payload`.
//!
//! [`visit`] finds every tensor of a model with the place that a finding points at.

use super::context::{Findings, Role, VerifyContext, index};
use super::{external, payload, sparse};
use crate::attr::{Attr, AttrValue};
use crate::body::Body;
use crate::diag::{Diagnostic, Entity, code, counted};
use crate::ids::TensorId;
use crate::names::Name;
use crate::show::tensor_text;
use crate::tensor::{DataLocation, Payload, SparseTensor, Tensor};
use crate::types::{ElemType, Field};
use crate::walk::WalkEvent;

/// A tensor of either kind.
#[derive(Clone, Copy)]
pub(super) enum Stored<'m> {
    Dense(TensorId),
    Sparse(&'m SparseTensor),
}

impl Stored<'_> {
    /// The dense tensors that it consists of.
    pub(super) fn tensors(self) -> impl Iterator<Item = TensorId> {
        let list = match self {
            Stored::Dense(tensor) => [Some(tensor), None],
            Stored::Sparse(tensor) => [tensor.values, tensor.indices],
        };
        list.into_iter().flatten()
    }

    pub(super) fn is_sparse(self) -> bool {
        matches!(self, Stored::Sparse(_))
    }
}

/// The location of a tensor.
#[derive(Clone, Copy)]
pub(super) struct At<'m> {
    pub(super) body: &'m Body,
    pub(super) place: Entity,
    /// The attribute that contains it, if one does.
    attribute: Option<Name>,
}

impl<'m> At<'m> {
    /// A tensor that belongs to nothing; `body` has the parts of a sparse one.
    pub(super) fn alone(body: &'m Body, place: Entity) -> Self {
        At { body, place, attribute: None }
    }

    /// `` `w` ``, or a description of the owner of a tensor without a name.
    pub(super) fn subject(&self, cx: &VerifyContext<'_>, tensor: &Tensor) -> String {
        match (tensor.name.filter(|n| !n.is_empty()), self.attribute) {
            (Some(name), _) => format!("`{}`", cx.text(name)),
            (None, Some(attribute)) => format!("the tensor of attribute `{}`", cx.text(attribute)),
            (None, None) => "a tensor without a name".to_owned(),
        }
    }
}

/// The tensors of an attribute.
pub(super) fn stored(attr: &Attr) -> impl Iterator<Item = Stored<'_>> {
    let (mut dense, mut sparse): (&[TensorId], &[SparseTensor]) = (&[], &[]);
    // A valid attribute has one value; for an invalid one the first of each kind is checked.
    for value in &attr.values {
        match value {
            AttrValue::Tensor(tensor) => dense = std::slice::from_ref(tensor),
            AttrValue::Tensors(list) => dense = list,
            AttrValue::SparseTensor(tensor) => sparse = std::slice::from_ref(&**tensor),
            AttrValue::SparseTensors(list) => sparse = list,
            AttrValue::Float(_)
            | AttrValue::Int(_)
            | AttrValue::String(_)
            | AttrValue::Graph(_)
            | AttrValue::Floats(_)
            | AttrValue::Ints(_)
            | AttrValue::Strings(_)
            | AttrValue::Graphs(_)
            | AttrValue::Type(_)
            | AttrValue::Types(_) => {}
        }
    }
    dense.iter().map(|&t| Stored::Dense(t)).chain(sparse.iter().map(Stored::Sparse))
}

/// Calls `look` for every tensor of the model, in order.
pub(super) fn visit<'m>(cx: &VerifyContext<'m>, mut look: impl FnMut(At<'m>, Stored<'m>)) {
    for view in &cx.bodies {
        let body = view.body;
        if let Role::Function(f) = view.role {
            for (i, attr) in cx.model.functions[f].attribute_defaults.iter().enumerate() {
                let place = Entity::FunctionAttributeDefault(f, index(i));
                stored(attr).for_each(|s| look(At { body, place, attribute: attr.name }, s));
            }
        }
        for step in view.layout.special() {
            match step {
                WalkEvent::EnterGraph(graph) => {
                    let g = &body.graphs[graph];
                    for (i, init) in g.initializers.iter().enumerate() {
                        let place = Entity::Initializer(view.id, graph, index(i));
                        look(At { body, place, attribute: None }, Stored::Dense(init.tensor));
                    }
                    for (i, init) in g.sparse_initializers.iter().enumerate() {
                        let place = Entity::SparseInitializer(view.id, graph, index(i));
                        look(At { body, place, attribute: None }, Stored::Sparse(&init.tensor));
                    }
                }
                WalkEvent::EnterNode(node) => {
                    for (i, attr) in body.nodes[node].attrs.iter().enumerate() {
                        let place = Entity::Attr(view.id, node, index(i));
                        stored(attr).for_each(|s| look(At { body, place, attribute: attr.name }, s));
                    }
                }
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
        }
    }
}

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    visit(cx, |at, stored| match stored {
        Stored::Dense(tensor) => {
            dense(cx, found, at, &at.body.tensors[tensor]);
        }
        Stored::Sparse(tensor) => sparse::check(cx, found, at, tensor),
    });
}

/// Reports the first thing that is wrong with a tensor; whether there is none, and the data is here.
pub(super) fn dense(cx: &VerifyContext<'_>, found: &mut Findings, at: At<'_>, tensor: &Tensor) -> bool {
    let subject = || at.subject(cx, tensor);
    let mut fail = |code, message: String| {
        found.push(Diagnostic::new(code, at.place, message));
        false
    };
    // The element type.
    if tensor.extra().segment.is_some() {
        return fail(
            &code::SEGMENT,
            format!("{subject} is one chunk of a larger tensor", subject = subject()),
        );
    }
    let elem = match tensor.elem {
        None | Some(ElemType::UNDEFINED) => {
            return fail(&code::DATA_TYPE, format!("{subject} has no element type", subject = subject()));
        }
        Some(elem) if elem.name().is_none() => {
            return fail(&code::DATA_TYPE, format!("{} has the unknown element type {}", subject(), elem.0));
        }
        Some(elem) => elem,
    };
    // The number of elements, and of bits.
    let text = || tensor_text(&cx.model.names, tensor);
    let Some(elements) = tensor.element_count() else {
        return fail(
            &code::DIMS,
            match tensor.dims.iter().find(|&&d| d < 0) {
                Some(n) => format!("{subject} has the negative dimension {n}", subject = subject()),
                None => format!(
                    "{subject} of type `{text}` has more elements than 64 bits can count",
                    subject = subject(),
                    text = text()
                ),
            },
        );
    };
    // Strings have no size.
    if elem.bits().is_some() && elem.raw_size(elements).is_none() {
        let (subject, text) = (subject(), text());
        return fail(&code::DIMS, format!("{subject} of type `{text}` has more bits than 64 bits can count"));
    }
    // Data in the model or in another file.
    if let Some(location) = tensor.extra().location
        && ![DataLocation::DEFAULT, DataLocation::EXTERNAL].contains(&location)
    {
        let message = format!("{} has the unknown `data_location` {}", subject(), location.0);
        let diagnostic = Diagnostic::new(&code::DATA_LOCATION, at.place, message);
        found.push(diagnostic.help("0 is the model itself (DEFAULT), 1 is another file (EXTERNAL)"));
        return false;
    }
    if tensor.is_external() {
        external::check(cx, found, at, tensor, elem);
        return false;
    }
    external::entries_of_inline(cx, found, at, tensor);
    // Exactly one field with values, if the tensor has elements.
    let mut fields = tensor.data.iter().filter(|p| !p.is_empty());
    let (first, second) = (fields.next(), fields.next());
    let mut fail = |code, message: String| {
        found.push(Diagnostic::new(code, at.place, message));
        false
    };
    let payload = match (first, second) {
        (None, _) if elements == 0 => return true,
        (None, _) => {
            return fail(
                &code::ONE_VALUE_FIELD,
                format!("{subject} of type `{text}` has no values", subject = subject(), text = text()),
            );
        }
        (Some(payload), None) if elements == 0 => {
            let n = counted(payload.len(), "value");
            return fail(
                &code::ONE_VALUE_FIELD,
                format!(
                    "{subject} of type `{text}` has {n}, but no elements",
                    subject = subject(),
                    text = text()
                ),
            );
        }
        (Some(a), Some(b)) => {
            let (a, b) = (a.field().name(), b.field().name());
            return fail(
                &code::ONE_VALUE_FIELD,
                format!("{subject} has values in both `{a}` and `{b}`", subject = subject()),
            );
        }
        (Some(payload), None) => payload,
    };
    // The right field for the type, with as many values as elements.
    let field = payload.field();
    let typed = elem.field();
    if (field != Field::Raw && Some(field) != typed) || (field == Field::Raw && elem == ElemType::STRING) {
        let right = typed.map_or("raw_data", Field::name);
        let message = format!(
            "{subject} of type `{text}` has its values in `{}`: expected them in `{right}`",
            field.name(),
            subject = subject(),
            text = text()
        );
        return fail(&code::VALUE_FIELD_FOR_TYPE, message);
    }
    if let Some((code, message)) = size(elem, elements, payload, &subject, &text) {
        return fail(code, message);
    }
    payload::check(cx, found, at, elem, elements, payload, &subject)
}

/// The number of entries of a field for `elements` elements. Sizes beyond 64 bits saturate.
fn entries(elem: ElemType, elements: u64, field: Field) -> u64 {
    let bits = elem.bits();
    let many = |n: u64| elements.checked_mul(n);
    let entries = match field {
        Field::Raw => elem.raw_size(elements),
        Field::Int32 if bits == Some(4) => Some(elements.div_ceil(2)),
        Field::Int32 if bits == Some(2) => Some(elements.div_ceil(4)),
        Field::Float if elem == ElemType::COMPLEX64 => many(2),
        Field::Double if elem == ElemType::COMPLEX128 => many(2),
        Field::Int32 | Field::Float | Field::Double | Field::Int64 | Field::Uint64 | Field::String => many(1),
    };
    entries.unwrap_or(u64::MAX)
}

fn size(
    elem: ElemType,
    elements: u64,
    payload: &Payload,
    subject: &dyn Fn() -> String,
    text: &dyn Fn() -> String,
) -> Option<(&'static crate::diag::Code, String)> {
    let field = payload.field();
    let (need, have) = (entries(elem, elements, field), payload.len() as u64);
    if need == have {
        return None;
    }
    let packed = field == Field::Int32 && matches!(elem.bits(), Some(2 | 4));
    let code = match need > have {
        _ if packed => &code::SUBBYTE_INT32_DATA,
        true => &code::PAYLOAD_SHORT,
        false => &code::PAYLOAD_LONG,
    };
    let what = if field == Field::Raw { "byte" } else { "value" };
    let (have, takes) = (counted(have, what), if packed { "packs them into" } else { "needs" });
    Some((code, format!("{} has {have}, but `{}` {takes} {need}", subject(), text())))
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::tensor::{Entry, Segment};
    use bytes::Bytes;
    use smallvec::SmallVec;

    /// The findings about an attribute tensor of this form.
    pub(super) fn tensor(elem: i32, dims: &[i64], data: impl IntoIterator<Item = Payload>) -> Vec<String> {
        edited(elem, dims, data, |_| {})
    }

    fn edited(
        elem: i32,
        dims: &[i64],
        data: impl IntoIterator<Item = Payload>,
        edit: impl FnOnce(&mut Tensor),
    ) -> Vec<String> {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.node("Relu", &["x"], &["y"]);
                let mut tensor = Tensor {
                    name: Some(d.b.name("w")),
                    dims: SmallVec::from_slice(dims),
                    elem: Some(ElemType(elem)),
                    data: data.into_iter().collect(),
                    extra: None,
                };
                edit(&mut tensor);
                d.b.initializer(tensor);
            });
        });
        model.header.ir_version = Some(14);
        findings(&model)
    }

    pub(super) fn raw(bytes: &'static [u8]) -> Payload {
        Payload::Entries { field: Field::Raw, bytes: Bytes::from_static(bytes) }
    }

    const FLOAT: i32 = ElemType::FLOAT.0;

    #[test]
    fn element_types_exist() {
        assert_eq!(tensor(FLOAT, &[1], [Payload::floats(vec![1.0])]), [""; 0]);
        assert_eq!(tensor(0, &[1], [raw(b"0000")]), ["E0501 `w` has no element type"]);
        assert_eq!(tensor(99, &[1], [raw(b"0000")]), ["E0501 `w` has the unknown element type 99"]);
        assert_eq!(edited(1, &[1], [], |t| t.elem = None), ["E0501 `w` has no element type"]);
    }

    #[test]
    fn shapes_can_be_counted() {
        assert_eq!(tensor(FLOAT, &[-1], []), ["E0502 `w` has the negative dimension -1"]);
        assert_eq!(tensor(FLOAT, &[1 << 62, 1 << 62], [raw(b"0000")]).len(), 1);
        let too_large =
            ["E0502 `w` of type `float[4611686018427387908]` has more bits than 64 bits can count"];
        // Four elements, if the product wraps around.
        assert_eq!(tensor(FLOAT, &[(1 << 62) + 4], [raw(b"0123456789012345")]), too_large);
        assert_eq!(
            edited(FLOAT, &[(1 << 62) + 4], [], |t| {
                t.extra_mut().location = Some(crate::tensor::DataLocation::EXTERNAL);
            }),
            too_large
        );
    }

    #[test]
    fn values_are_in_one_field() {
        assert_eq!(tensor(FLOAT, &[0], []), [""; 0]);
        assert_eq!(tensor(FLOAT, &[0], [raw(b"")]), [""; 0]);
        assert_eq!(tensor(FLOAT, &[1], []), ["E0503 `w` of type `float[1]` has no values"]);
        let both = [Payload::floats(vec![1.0]), raw(b"0000")];
        assert_eq!(tensor(FLOAT, &[1], both), ["E0503 `w` has values in both `float_data` and `raw_data`"]);
        assert_eq!(
            tensor(FLOAT, &[0], [raw(b"0000")]),
            ["E0503 `w` of type `float[0]` has 4 values, but no elements"]
        );
    }

    #[test]
    fn the_field_is_the_one_for_the_type() {
        let expected =
            ["E0504 `w` of type `int32[1]` has its values in `float_data`: expected them in `int32_data`"];
        assert_eq!(tensor(ElemType::INT32.0, &[1], [Payload::floats(vec![1.0])]), expected);
        let expected =
            ["E0504 `w` of type `string[1]` has its values in `raw_data`: expected them in `string_data`"];
        assert_eq!(tensor(ElemType::STRING.0, &[1], [raw(b"abcd")]), expected);
        let expected =
            ["E0504 `w` of type `uint32[1]` has its values in `int32_data`: expected them in `uint64_data`"];
        assert_eq!(tensor(ElemType::UINT32.0, &[1], [Payload::int32s(vec![1])]), expected);
    }

    #[test]
    fn sizes_are_exact() {
        assert_eq!(tensor(FLOAT, &[2], [raw(b"1234567")]), ["E0505 `w` has 7 bytes, but `float[2]` needs 8"]);
        assert_eq!(
            tensor(FLOAT, &[1], [raw(b"12345678")]),
            ["E0506 `w` has 8 bytes, but `float[1]` needs 4"]
        );
        let complex = Payload::floats(vec![0.0; 5]);
        let expected = ["E0505 `w` has 5 values, but `complex64[3]` needs 6"];
        assert_eq!(tensor(ElemType::COMPLEX64.0, &[3], [complex]), expected);
        assert_eq!(
            tensor(ElemType::INT4.0, &[3], [raw(b"1")]),
            ["E0505 `w` has 1 byte, but `int4[3]` needs 2"]
        );
        assert_eq!(tensor(ElemType::INT4.0, &[3], [Payload::int32s(vec![1, 2])]), [""; 0]);
        let expected = ["E0507 `w` has 3 values, but `int4[3]` packs them into 2"];
        assert_eq!(tensor(ElemType::INT4.0, &[3], [Payload::int32s(vec![1, 2, 3])]), expected);
        let expected = ["E0507 `w` has 1 value, but `uint2[16]` packs them into 4"];
        assert_eq!(tensor(ElemType::UINT2.0, &[16], [Payload::int32s(vec![1])]), expected);
    }

    #[test]
    fn chunks_are_refused() {
        let segment = |t: &mut Tensor| {
            t.extra_mut().segment = Some(Segment { begin: Some(0), end: Some(1) });
        };
        let list = edited(FLOAT, &[1], [Payload::floats(vec![1.0])], segment);
        assert_eq!(list, ["E0511 `w` is one chunk of a larger tensor"]);
    }

    #[test]
    fn entries_for_external_data_are_for_external_tensors() {
        let list = edited(FLOAT, &[1], [Payload::floats(vec![1.0])], |t| {
            let key = t.name;
            t.extra_mut().external.push(Entry { key, value: None });
        });
        assert_eq!(list, ["W0611 `w` has entries of external data, but its data is inline"]);
    }
}
