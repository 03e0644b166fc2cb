//! Messages with random fields.

use super::schema::{Field, OPERATOR_SET, ROOT, Schema};
use super::{Choices, Wildness, values};
use prost_types::field_descriptor_proto::Type;

/// Graphs and types nest this deep.
const MAX_DEPTH: usize = 12;

/// Makes models.
#[derive(Debug)]
pub struct Generator<'s> {
    schema: &'s Schema,
    choices: Choices<'s>,
    wildness: Wildness,
}

/// The data field of a coherent tensor.
const FLOAT_DATA: &str = "float_data";

impl<'s> Generator<'s> {
    /// One that takes these decisions.
    pub fn new(schema: &'s Schema, choices: Choices<'s>, wildness: Wildness) -> Self {
        Generator { schema, choices, wildness }
    }

    /// A `ModelProto`.
    pub fn model(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.message(ROOT, 0, &mut out);
        out
    }

    /// An `OperatorSetProto`.
    pub fn operator_set(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.message(OPERATOR_SET, 0, &mut out);
        out
    }

    fn message(&mut self, full_name: &str, depth: usize, out: &mut Vec<u8>) {
        let schema = self.schema;
        let message = schema.message(full_name);
        // Most of what makes sense only as a whole is made as one.
        let is_plain = self.wildness == Wildness::Plain;
        match message.name.as_str() {
            "TensorProto" if is_plain || !self.choices.chance(64) => return self.tensor(out),
            "AttributeProto" if is_plain || !self.choices.chance(48) => return self.attribute(depth, out),
            _ => {}
        }
        let alternatives = message.fields.iter().filter(|field| field.is_alternative).count();
        let mut chosen = if alternatives > 0 { self.choices.below(alternatives + 1) } else { 0 };
        if is_plain && message.name == "TypeProto" && (chosen == 0 || depth + 2 > MAX_DEPTH) {
            chosen = 1;
        }
        let mut alternative = 0;
        for field in &message.fields {
            if field.is_alternative {
                alternative += 1;
                if alternative == chosen && self.fits(field, depth) {
                    self.single(field, depth, out);
                }
            } else if field.is_repeated {
                let count = self.count(field, depth);
                self.repeated(field, count, depth, out);
            } else if self.choices.chance(self.likely(field)) && self.fits(field, depth) {
                self.single(field, depth, out);
            }
        }
    }

    fn fits(&self, field: &Field, depth: usize) -> bool {
        // Types of plain models are whole.
        let is_needed =
            self.wildness == Wildness::Plain && matches!(field.name.as_str(), "elem_type" | "value_type");
        field.ty != Type::Message || depth < MAX_DEPTH || is_needed
    }

    fn likely(&self, field: &Field) -> u16 {
        match self.wildness {
            Wildness::Plain => likely_if_plain(&field.message, &field.name),
            Wildness::Tame | Wildness::Wild => likely(&field.message, &field.name),
        }
    }

    fn count(&mut self, field: &Field, depth: usize) -> usize {
        if !self.choices.chance(self.likely(field)) || !self.fits(field, depth) {
            return 0;
        }
        1 + self.choices.below(if field.name == "node" { 5 } else { 3 })
    }

    fn single(&mut self, field: &Field, depth: usize, out: &mut Vec<u8>) {
        self.repeated(field, 1, depth, out);
    }

    fn repeated(&mut self, field: &Field, count: usize, depth: usize, out: &mut Vec<u8>) {
        if field.is_packed {
            let mut list = Vec::new();
            for _ in 0..count {
                self.scalar(field, &mut list);
            }
            if !list.is_empty() {
                delimited(field.number, &list, out);
            }
            return;
        }
        for _ in 0..count {
            match field.ty {
                Type::Message => {
                    let mut nested = Vec::new();
                    self.message(&field.type_name, depth + 1, &mut nested);
                    delimited(field.number, &nested, out);
                }
                Type::String | Type::Bytes => {
                    let text = match field.ty {
                        Type::Bytes => values::bytes(&mut self.choices, self.wildness),
                        _ if self.wildness == Wildness::Plain && is_identifier(field) => {
                            values::identifier(&mut self.choices)
                        }
                        _ if is_name(&field.name) => values::name(&mut self.choices, self.wildness),
                        _ => values::string(&mut self.choices, self.wildness),
                    };
                    delimited(field.number, &text, out);
                }
                _ => {
                    let wire_type = match field.ty {
                        Type::Float => 5,
                        Type::Double => 1,
                        _ => 0,
                    };
                    varint(u64::from(field.number << 3 | wire_type), out);
                    self.scalar(field, out);
                }
            }
        }
    }

    /// The first element type to choose from: UNDEFINED has no word.
    fn first_type(&self) -> usize {
        usize::from(self.wildness == Wildness::Plain)
    }

    fn scalar(&mut self, field: &Field, out: &mut Vec<u8>) {
        let first_type = self.first_type();
        let c = &mut self.choices;
        match field.ty {
            Type::Float => out.extend(values::float(c, self.wildness).to_le_bytes()),
            Type::Double => out.extend(values::double(c, self.wildness).to_le_bytes()),
            Type::Enum => {
                let number = values::enum_number(c, self.schema.numbers(&field.type_name), self.wildness);
                varint(i64::from(number).cast_unsigned(), out);
            }
            Type::Int32 if matches!(field.name.as_str(), "data_type" | "elem_type" | "key_type") => {
                let types = &self.schema.numbers(".onnx.TensorProto.DataType")[first_type..];
                let number = values::enum_number(c, types, self.wildness);
                varint(i64::from(number).cast_unsigned(), out);
            }
            Type::Int32 => varint(i64::from(values::int32(c)).cast_unsigned(), out),
            Type::Int64 => varint(values::int(c).cast_unsigned(), out),
            Type::Uint64 => varint(values::int(c).cast_unsigned(), out),
            other => unreachable!("the schema has no field of type {other:?}"),
        }
    }

    /// A tensor whose data is what its type and shape ask for, now and then one byte or entry off.
    fn tensor(&mut self, out: &mut Vec<u8>) {
        let types = &self.schema.numbers(".onnx.TensorProto.DataType")[self.first_type()..];
        let mut elem = *self.choices.pick(types);
        let is_plain = self.wildness == Wildness::Plain;
        if is_plain && matches!(storage(elem).0, 2 | 4) {
            elem = 1;
        }
        let dims: Vec<u64> = (0..self.choices.below(4)).map(|_| self.choices.below(4) as u64).collect();
        let mut count = dims.iter().product::<u64>();
        if !is_plain && self.choices.chance(16) {
            count += 1;
        }
        let (bits, typed) = storage(elem);
        let is_raw = typed.is_none_or(|name| name != "string_data") && self.choices.chance(128);
        let message = self.schema.message(".onnx.TensorProto");
        for field in &message.fields {
            match field.name.as_str() {
                "dims" => dims.iter().for_each(|&dim| key_varint(field.number, dim, out)),
                "data_type" => key_varint(field.number, i64::from(elem).cast_unsigned(), out),
                "raw_data" if is_raw => {
                    let bytes = usize::try_from((count * bits).div_ceil(8)).expect("shapes are small");
                    let raw: Vec<u8> = (0..bytes).map(|_| self.choices.byte()).collect();
                    if !raw.is_empty() || self.choices.chance(128) {
                        delimited(field.number, &raw, out);
                    }
                }
                name if Some(name) == typed && !is_raw => self.entries(field, elem, bits, count, out),
                name if name.ends_with("_data") || is_plain && name == "data_location" => {}
                name => {
                    let chance = if name == "name" { 200 } else { 20 };
                    if self.choices.chance(chance) {
                        self.single(field, MAX_DEPTH - 1, out);
                    }
                }
            }
        }
    }

    fn entries(&mut self, field: &Field, elem: i32, bits: u64, count: u64, out: &mut Vec<u8>) {
        let count = match bits {
            2 | 4 => count.div_ceil(8 / bits),
            // Complex numbers are pairs.
            64 if field.name == FLOAT_DATA => count * 2,
            128 => count * 2,
            _ => count,
        };
        let count = usize::try_from(count).expect("shapes are small");
        if field.ty != Type::Int32 || self.wildness != Wildness::Plain && self.choices.chance(16) {
            return self.repeated(field, count, 0, out);
        }
        let mut list = Vec::new();
        for _ in 0..count {
            let random = self.choices.bits() as u32;
            let kept = if bits >= 32 { random } else { random & ((1 << bits.max(8)) - 1) };
            // Signed types of 8 and 16 bits are stored with their sign.
            let value = match elem {
                3 => i32::from(kept as i8),
                5 => i32::from(kept as i16),
                9 => kept.cast_signed() & 1,
                27.. => kept.cast_signed() & 0x3f,
                _ => kept.cast_signed(),
            };
            varint(i64::from(value).cast_unsigned(), &mut list);
        }
        if !list.is_empty() {
            delimited(field.number, &list, out);
        }
    }

    /// An attribute whose value is of the type that it says.
    fn attribute(&mut self, depth: usize, out: &mut Vec<u8>) {
        const KINDS: &[(&str, i32)] = &[
            ("i", 2),
            ("f", 1),
            ("s", 3),
            ("ints", 7),
            ("floats", 6),
            ("strings", 8),
            ("t", 4),
            ("g", 5),
            ("tp", 13),
            ("ref_attr_name", 2),
            ("tensors", 9),
            ("graphs", 10),
            ("type_protos", 14),
            ("sparse_tensor", 11),
            ("sparse_tensors", 12),
        ];
        /// Those of the first ones that the reference's text has forms for.
        const PLAIN: usize = 10;
        let is_plain = self.wildness == Wildness::Plain;
        let (value, ty) = *self.choices.pick(if is_plain { &KINDS[..PLAIN] } else { KINDS });
        let message = self.schema.message(".onnx.AttributeProto");
        for field in &message.fields {
            match field.name.as_str() {
                "name" if is_plain => delimited(field.number, &values::identifier(&mut self.choices), out),
                "name" => delimited(field.number, &values::name(&mut self.choices, self.wildness), out),
                "type" => key_varint(field.number, i64::from(ty).cast_unsigned(), out),
                "doc_string" if self.choices.chance(16) => self.single(field, depth, out),
                name if name == value && (self.fits(field, depth) || is_plain) => {
                    let count = if field.is_repeated { self.choices.below(4) } else { 1 };
                    self.repeated(field, count, depth, out);
                }
                _ => {}
            }
        }
    }
}

/// In how many of 256 cases a field is there.
fn likely(message: &str, field: &str) -> u16 {
    match (message, field) {
        ("ModelProto", "graph") => 248,
        ("GraphProto", "node" | "input" | "output" | "initializer" | "name") => 200,
        ("NodeProto", "input" | "output" | "op_type") => 220,
        ("NodeProto", "attribute") => 140,
        ("OperatorSetProto", "magic" | "operator" | "functions") => 200,
        ("OperatorProto", _) => 160,
        ("FunctionProto", "name" | "node" | "input" | "output") => 200,
        ("ValueInfoProto", "name" | "type") => 220,
        ("TypeProto.Tensor", _) => 220,
        ("TypeProto.Sequence" | "TypeProto.Optional" | "TypeProto.Map", _) => 230,
        ("TensorShapeProto", _) => 220,
        ("SparseTensorProto", _) => 200,
        ("StringStringEntryProto", _) => 230,
        ("OperatorSetIdProto", _) => 220,
        _ => 48,
    }
}

/// Strategies for models that the reference's text has forms for.
fn likely_if_plain(message: &str, field: &str) -> u16 {
    match (message, field) {
        ("ModelProto", "training_info" | "configuration") | (_, "sparse_initializer") => 0,
        ("ModelProto", "graph")
        | ("GraphProto", "name")
        | ("NodeProto", "op_type")
        | ("ValueInfoProto", "type")
        | ("FunctionProto", "name")
        | ("StringStringEntryProto" | "TypeProto.Map" | "TypeProto.Sequence" | "TypeProto.Optional", _)
        | ("TypeProto.Tensor" | "TypeProto.SparseTensor", "elem_type")
        | ("TypeProto.Opaque", "name") => 256,
        _ => likely(message, field),
    }
}

/// Whether the reference takes the strings of a field only without quotes.
fn is_identifier(field: &Field) -> bool {
    match field.name.as_str() {
        "op_type" | "overload" | "domain" | "ref_attr_name" => true,
        "name" => matches!(field.message.as_str(), "GraphProto" | "TensorProto" | "TypeProto.Opaque"),
        _ => false,
    }
}

/// Whether the strings of a field refer to each other.
fn is_name(field: &str) -> bool {
    matches!(field, "name" | "input" | "output" | "op_type" | "tensor_name" | "ref_attr_name" | "dim_param")
}

/// Bits of an element in `raw_data`, and the typed field.
fn storage(elem: i32) -> (u64, Option<&'static str>) {
    match elem {
        1 => (32, Some(FLOAT_DATA)),
        2..=3 | 9 | 17..=20 | 24 => (8, Some("int32_data")),
        4..=5 | 10 | 16 => (16, Some("int32_data")),
        6 => (32, Some("int32_data")),
        7 => (64, Some("int64_data")),
        8 => (8, Some("string_data")),
        11 => (64, Some("double_data")),
        12 => (32, Some("uint64_data")),
        13 => (64, Some("uint64_data")),
        14 => (64, Some(FLOAT_DATA)),
        15 => (128, Some("double_data")),
        21..=23 => (4, Some("int32_data")),
        25 | 26 => (2, Some("int32_data")),
        27.. => (6, Some("int32_data")),
        _ => (8, None),
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn key_varint(number: u32, value: u64, out: &mut Vec<u8>) {
    varint(u64::from(number << 3), out);
    varint(value, out);
}

fn delimited(number: u32, value: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number << 3 | 2), out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}
