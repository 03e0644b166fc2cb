//! Attributes, straight from their bytes like the nodes that have them.

use super::fields::{Fields, Messages, RawValue};
use super::graph::GraphReader;
use super::lists::{ListElement, read_list};
use crate::wire::{Reason, varint};
use bytes::Bytes;
use onnx_ir::list::{Element, List};
use onnx_ir::{Attr, AttrType, AttrValue, NodeId, TensorId};
use smallvec::SmallVec;

const NAME: u32 = 1;
const F: u32 = 2;
const I: u32 = 3;
const S: u32 = 4;
const T: u32 = 5;
const G: u32 = 6;
const FLOATS: u32 = f32::FIELD;
const INTS: u32 = i64::FIELD;
const STRINGS: u32 = Bytes::FIELD;
const TENSORS: u32 = 10;
const GRAPHS: u32 = 11;
const DOC_STRING: u32 = 13;
const TP: u32 = 14;
const TYPE_PROTOS: u32 = 15;
const TYPE: u32 = 20;
const REF_ATTR_NAME: u32 = 21;
const SPARSE_TENSOR: u32 = 22;
const SPARSE_TENSORS: u32 = 23;

impl GraphReader<'_, '_> {
    /// An `AttributeProto`, a slice of `whole`: of a node, or the default of a function's attribute.
    pub(super) fn attr(&mut self, encoded: &[u8], whole: &Bytes, node: Option<NodeId>) -> Attr {
        let Self { b, pass } = self;
        let names = &mut *b.names;
        let mut attr = Attr::default();
        // Fields in any order; messages are kept for later, since they borrow the reader.
        let (mut f, mut i, mut s) = (None, None, None);
        let (mut floats, mut ints, mut strings) = (List::default(), List::default(), List::default());
        let mut failed = None;
        let mut messages = Messages::new(whole);
        let mut fields = Fields::new(encoded);
        loop {
            let from = (fields.rest(), whole);
            let Some((number, value)) = fields.next() else { break };
            match (number, value) {
                (NAME, RawValue::Bytes(name)) => attr.name = Some(names.intern_bytes(name)),
                (F, RawValue::Fixed32(bits)) => f = Some(f32::from_le_bytes(bits)),
                (I, RawValue::Number(int)) => i = Some(int as i64),
                (S, RawValue::Bytes(string)) => s = Some(whole.slice_ref(string)),
                (FLOATS, RawValue::Fixed32(bits)) => {
                    read_list(&mut fields, from, f32::from_le_bytes(bits), &mut floats);
                }
                (FLOATS, RawValue::Bytes(packed)) => {
                    pass.unusual();
                    let (entries, rest) = packed.as_chunks();
                    floats.to_mut().extend(entries.iter().map(|&entry| f32::from_le_bytes(entry)));
                    if !rest.is_empty() {
                        failed = Some(("floats", Reason::Truncated));
                    }
                }
                (INTS, RawValue::Number(int)) => {
                    read_list(&mut fields, from, int as i64, &mut ints);
                }
                (INTS, RawValue::Bytes(packed)) => {
                    pass.unusual();
                    match varint::decode_int64(packed) {
                        Ok((entries, _)) => ints.to_mut().extend(entries),
                        Err(reason) => failed = Some(("ints", reason)),
                    }
                }
                (STRINGS, RawValue::Bytes(string)) => {
                    read_list(&mut fields, from, whole.slice_ref(string), &mut strings);
                }
                (DOC_STRING, RawValue::Bytes(doc)) => attr.doc = Some(names.intern_bytes(doc)),
                (TYPE, RawValue::Number(ty)) => attr.ty = Some(AttrType(ty as i32)),
                (REF_ATTR_NAME, RawValue::Bytes(name)) => attr.reference = Some(names.intern_bytes(name)),
                (
                    T | G | TENSORS | GRAPHS | TP | TYPE_PROTOS | SPARSE_TENSOR | SPARSE_TENSORS,
                    RawValue::Bytes(message),
                ) => messages.push(number, message),
                (_, RawValue::Number(_) | RawValue::Fixed32(_) | RawValue::Bytes(_) | RawValue::Odd) => {
                    pass.unusual()
                }
            }
        }
        // Lists that are cut short.
        if let Some((field, reason)) = failed {
            let of = attr.name.map_or("", |name| &names[name]);
            pass.undecodable(format_args!("`{field}` of attribute `{of}`"), reason);
        }

        let values = &mut attr.values;
        // In the order of the field numbers.
        add(values, f, AttrValue::Float);
        add(values, i, AttrValue::Int);
        add(values, s, AttrValue::String);
        if !messages.is_empty() {
            add(values, messages.one(T), |t| AttrValue::Tensor(self.stored_tensor(t)));
            add(values, messages.one(G), |g| AttrValue::Graph(self.graph(&g, node)));
        }
        add(values, list(floats), AttrValue::Floats);
        add(values, list(ints), AttrValue::Ints);
        add(values, list(strings), AttrValue::Strings);
        // Lists of messages.
        if messages.is_empty() {
            return attr;
        }
        add(values, messages.list(TENSORS, |t| self.stored_tensor(t)), AttrValue::Tensors);
        add(values, messages.list(GRAPHS, |g| self.graph(&g, node)), AttrValue::Graphs);
        add(values, messages.one(TP), |ty| AttrValue::Type(self.types().ty(&ty)));
        add(values, messages.list(TYPE_PROTOS, |ty| self.types().ty(&ty)), AttrValue::Types);
        add(values, messages.one(SPARSE_TENSOR), |t| {
            AttrValue::SparseTensor(Box::new(self.sparse_tensor(&t)))
        });
        add(values, messages.list(SPARSE_TENSORS, |t| self.sparse_tensor(&t)), AttrValue::SparseTensors);
        attr
    }

    fn stored_tensor(&mut self, encoded: Bytes) -> TensorId {
        let tensor = self.tensors().tensor(&encoded);
        self.b.tensor(tensor)
    }
}

/// A list, unless it is empty: lists have no presence.
fn list<T: Element>(elements: List<T>) -> Option<List<T>> {
    (!elements.is_empty()).then_some(elements)
}

fn add<T>(values: &mut SmallVec<[AttrValue; 1]>, value: Option<T>, wrap: impl FnOnce(T) -> AttrValue) {
    if let Some(value) = value {
        values.push(wrap(value));
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::push_bytes;
    use onnx_ir::AttrValue;
    use onnx_ir::list::List;

    /// A model whose only node has these fields in its attribute.
    fn model(attribute: &[u8]) -> Vec<u8> {
        let mut model = attribute.to_vec();
        for number in [5, 1, 7] {
            let inner = std::mem::take(&mut model);
            push_bytes(number, &inner, &mut model);
        }
        model
    }

    fn values(attribute: &[u8]) -> Vec<AttrValue> {
        let model = crate::read(model(attribute).into()).value;
        let body = &model.bodies[model.main.unwrap()];
        body.nodes.values().flat_map(|node| &node.attrs[0].values).cloned().collect()
    }

    fn ints(numbers: &[i64]) -> Vec<u8> {
        let mut field = Vec::new();
        for &number in numbers {
            field.push(0x40);
            prost::encoding::encode_varint(number as u64, &mut field);
        }
        field
    }

    #[test]
    fn packed_lists_that_are_cut_off_are_reported() {
        let found = |field: u32, packed: &[u8]| {
            let mut attribute = Vec::new();
            push_bytes(1, b"axes", &mut attribute);
            push_bytes(field, packed, &mut attribute);
            let found = crate::read(model(&attribute).into()).diagnostics;
            found.into_iter().map(|found| found.message).collect::<Vec<_>>()
        };
        assert_eq!(found(8, &[1, 2]), [""; 0]);
        assert_eq!(found(7, &[0; 8]), [""; 0]);
        let [of_ints, of_floats] = [found(8, &[1, 0x80]), found(7, &[0; 7])];
        assert!(of_ints.len() == 1 && of_ints[0].starts_with("`ints` of attribute `axes`"), "{of_ints:?}");
        assert!(
            of_floats.len() == 1 && of_floats[0].starts_with("`floats` of attribute `axes`"),
            "{of_floats:?}"
        );
    }

    #[test]
    fn long_lists_are_read_in_any_pieces() {
        let numbers: Vec<i64> =
            (0..200).map(|i| [i, i * 300, i * 70_000, 1 << 40, -i][i as usize % 5]).collect();
        let small: Vec<i64> = (0..200).collect();
        for numbers in [numbers, small] {
            for cut in [0, 1, 29, 32, 33, 100, 200] {
                let (first, second) = numbers.split_at(cut);
                let attribute = [ints(first), vec![0x18, 7], ints(second)].concat();
                let expected = [AttrValue::Int(7), AttrValue::Ints(numbers.clone().into())];
                assert_eq!(values(&attribute), expected, "cut at {cut}");
            }
        }
        let floats: Vec<f32> = (0..100_u8).map(|i| f32::from(i) / 8.0).collect();
        let fields: Vec<u8> = floats.iter().flat_map(|x| [0x3d].into_iter().chain(x.to_le_bytes())).collect();
        assert_eq!(values(&fields), [AttrValue::Floats(floats.into())]);
        let (mut fields, mut expected) = (Vec::new(), Vec::new());
        for i in 0..100 {
            let text = "a".repeat(if i == 50 { 300 } else { i });
            push_bytes(9, text.as_bytes(), &mut fields);
            expected.push(bytes::Bytes::from(text));
        }
        let read = values(&fields);
        assert_eq!(read, [AttrValue::Strings(List::from(expected))]);
        let AttrValue::Strings(strings) = &read[0] else { unreachable!() };
        let [first, second] = [1, 2].map(|i| strings[i].as_ptr() as usize);
        assert_eq!(second - first, 3, "strings are slices of the file");
    }
}
