//! Builds an encoded message from fields in any order.

use crate::wire::{Field, Message, Repeat, push_bytes};
use onnx_ir::diag::did_you_mean;
use prost::encoding::encode_varint;

/// A message that is being built.
pub(super) struct MessageBuilder {
    pub(super) schema: &'static Message,
    out: Vec<u8>,
    /// The start of each run of one field in `out`, with its number.
    runs: Vec<(u32, usize)>,
    /// Packed lists by number.
    packed: Vec<(u32, Vec<u8>)>,
    /// Bits by number of fields that are there once.
    seen: u32,
    alternative: Option<&'static Field>,
}

/// A value of a field, as it is encoded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum EncodedValue<'a> {
    Varint(u64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
}

impl MessageBuilder {
    pub(super) fn new(schema: &'static Message) -> MessageBuilder {
        MessageBuilder {
            schema,
            out: Vec::new(),
            runs: Vec::new(),
            packed: Vec::new(),
            seen: 0,
            alternative: None,
        }
    }

    /// Records the start of a field; fails if it was set before.
    pub(super) fn begin(&mut self, field: &'static Field) -> Result<(), String> {
        if field.repeat != Repeat::Once {
            return Ok(());
        }
        let bit = 1 << field.number;
        if self.seen & bit != 0 {
            return Err(format!("`{}` occurs twice", field.name));
        }
        self.seen |= bit;
        match self.alternative {
            Some(other) if field.oneof => {
                Err(format!("`{}` and `{}` cannot be set together", other.name, field.name))
            }
            _ => {
                self.alternative = if field.oneof { Some(field) } else { self.alternative };
                Ok(())
            }
        }
    }

    /// Adds a value. It fits the field: numbers to numbers, bytes to the rest.
    pub(super) fn add(&mut self, field: &'static Field, value: EncodedValue<'_>) {
        if field.repeat == Repeat::Packed {
            let at =
                self.packed.iter().position(|(number, _)| *number == field.number).unwrap_or_else(|| {
                    self.packed.push((field.number, Vec::new()));
                    self.packed.len() - 1
                });
            if let Some((_, list)) = self.packed.get_mut(at) {
                encode(value, list);
            }
            return;
        }
        if self.runs.last().is_none_or(|&(number, _)| number != field.number) {
            self.runs.push((field.number, self.out.len()));
        }
        match value {
            EncodedValue::Bytes(bytes) => push_bytes(field.number, bytes, &mut self.out),
            EncodedValue::Varint(_) | EncodedValue::Float(_) | EncodedValue::Double(_) => {
                encode_varint(u64::from(field.number << 3) | field.kind.wire() as u64, &mut self.out);
                encode(value, &mut self.out);
            }
        }
    }

    /// The encoded message, its fields in order.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for (number, list) in std::mem::take(&mut self.packed) {
            self.runs.push((number, self.out.len()));
            push_bytes(number, &list, &mut self.out);
        }
        if self.runs.is_sorted_by(|a, b| a.0 < b.0) {
            return self.out;
        }
        let ends = self.runs.iter().skip(1).map(|&(_, start)| start).chain([self.out.len()]);
        let mut runs: Vec<_> =
            self.runs.iter().zip(ends).map(|(&(number, start), end)| (number, start..end)).collect();
        runs.sort_by_key(|(number, _)| *number);
        runs.into_iter().filter_map(|(_, range)| self.out.get(range)).flatten().copied().collect()
    }

    /// The message for an unknown field.
    pub(super) fn unknown(&self, name: &str) -> String {
        let names = self.schema.fields.iter().map(|field| field.name);
        let hint =
            did_you_mean(name, names).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("{} has no field `{name}`{hint}", self.schema.name)
    }
}

fn encode(value: EncodedValue<'_>, out: &mut Vec<u8>) {
    match value {
        EncodedValue::Varint(varint) => encode_varint(varint, out),
        EncodedValue::Float(float) => out.extend_from_slice(&float.to_le_bytes()),
        EncodedValue::Double(double) => out.extend_from_slice(&double.to_le_bytes()),
        EncodedValue::Bytes(bytes) => out.extend_from_slice(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::TENSOR_PROTO;

    #[test]
    fn fields_end_up_in_order() {
        let field = |number| TENSOR_PROTO.field(number).unwrap();
        let mut tensor = MessageBuilder::new(&TENSOR_PROTO);
        tensor.add(field(8), EncodedValue::Bytes(b"n"));
        tensor.add(field(5), EncodedValue::Varint(300));
        tensor.add(field(1), EncodedValue::Varint(2));
        tensor.add(field(1), EncodedValue::Varint(3));
        tensor.add(field(5), EncodedValue::Varint(1));
        tensor.begin(field(2)).unwrap();
        assert!(tensor.begin(field(2)).is_err());
        assert_eq!(tensor.finish(), [0x08, 2, 0x08, 3, 0x2a, 3, 0xac, 2, 1, 0x42, 1, b'n']);
    }
}
