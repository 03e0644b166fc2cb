//! Reads the message definitions from `proto/`.

use crate::corpus::workspace;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto};
use std::collections::{BTreeSet, HashMap};

/// The message that holds all others.
pub(super) const ROOT: &str = ".onnx.ModelProto";
/// The other message that a file may be.
pub(super) const OPERATOR_SET: &str = ".onnx.OperatorSetProto";

/// The messages that a model is made of.
#[derive(Debug)]
pub struct Schema {
    messages: Vec<Message>,
    by_name: HashMap<String, usize>,
    enums: HashMap<String, Vec<i32>>,
}

#[derive(Debug)]
pub(super) struct Message {
    /// Without the package: `TypeProto.Tensor`.
    pub(super) name: String,
    /// By number, which is the order that encoders write them in.
    pub(super) fields: Vec<Field>,
}

#[derive(Debug)]
pub(super) struct Field {
    /// The message that it belongs to.
    pub(super) message: String,
    pub(super) name: String,
    pub(super) number: u32,
    pub(super) ty: Type,
    /// The full name of the message or enum.
    pub(super) type_name: String,
    pub(super) is_repeated: bool,
    pub(super) is_packed: bool,
    /// One of several of which at most one is set.
    pub(super) is_alternative: bool,
}

impl Schema {
    /// Reads the files of `proto/`.
    pub fn load() -> Schema {
        let files =
            protox::compile(["onnx-ml.proto", "onnx-operators-ml.proto"], [workspace().join("proto")])
                .expect("`cargo xtask codegen` compiles the same files");
        let mut schema = Schema { messages: Vec::new(), by_name: HashMap::new(), enums: HashMap::new() };
        for file in &files.file {
            let prefix = format!(".{}", file.package());
            for message in &file.message_type {
                schema.add(&prefix, &prefix, message);
            }
            schema.add_enums(&prefix, &file.enum_type);
        }
        schema
    }

    fn add(&mut self, scope: &str, package: &str, message: &DescriptorProto) {
        let full = format!("{scope}.{}", message.name());
        let name = full[package.len() + 1..].to_owned();
        let mut fields: Vec<Field> = message.field.iter().map(|field| Field::new(&name, field)).collect();
        fields.sort_by_key(|field| field.number);
        self.by_name.insert(full.clone(), self.messages.len());
        self.messages.push(Message { name, fields });
        for nested in &message.nested_type {
            self.add(&full, package, nested);
        }
        self.add_enums(&full, &message.enum_type);
    }

    fn add_enums(&mut self, scope: &str, enums: &[prost_types::EnumDescriptorProto]) {
        for each in enums {
            let values = each.value.iter().map(prost_types::EnumValueDescriptorProto::number).collect();
            self.enums.insert(format!("{scope}.{}", each.name()), values);
        }
    }

    /// A message by its full name.
    pub(super) fn message(&self, full_name: &str) -> &Message {
        &self.messages[self.by_name[full_name]]
    }

    /// The numbers that an enum gives names to.
    pub(super) fn numbers(&self, enum_name: &str) -> &[i32] {
        &self.enums[enum_name]
    }

    /// Every field of the messages that a model is made of, as `NodeProto.name`.
    pub fn fields_of_models(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.collect(ROOT, &mut names);
        names
    }

    fn collect(&self, full_name: &str, names: &mut BTreeSet<String>) {
        let message = self.message(full_name);
        for field in &message.fields {
            let is_new = names.insert(format!("{}.{}", message.name, field.name));
            if is_new && field.ty == Type::Message {
                self.collect(&field.type_name, names);
            }
        }
    }

    /// Adds the fields that occur in a model.
    pub fn occurring(&self, model: &[u8], names: &mut BTreeSet<String>) {
        self.occurring_in(ROOT, model, names);
    }

    fn occurring_in(&self, full_name: &str, mut bytes: &[u8], names: &mut BTreeSet<String>) {
        let message = self.message(full_name);
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = message.fields.iter().find(|field| u64::from(field.number) == key >> 3);
            let field = field.expect("the generator writes known fields");
            names.insert(format!("{}.{}", message.name, field.name));
            match key & 7 {
                0 => drop(varint(&mut bytes)),
                1 => bytes = &bytes[8..],
                5 => bytes = &bytes[4..],
                _ => {
                    let length = usize::try_from(varint(&mut bytes)).expect("messages are small");
                    let (nested, rest) = bytes.split_at(length);
                    bytes = rest;
                    if field.ty == Type::Message {
                        self.occurring_in(&field.type_name, nested, names);
                    }
                }
            }
        }
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("the generator writes whole numbers");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

impl Field {
    fn new(message: &str, field: &FieldDescriptorProto) -> Field {
        Field {
            message: message.to_owned(),
            name: field.name().to_owned(),
            number: u32::try_from(field.number()).expect("field numbers are positive"),
            ty: field.r#type(),
            type_name: field.type_name().to_owned(),
            is_repeated: field.label() == Label::Repeated,
            is_packed: field.options.as_ref().is_some_and(|options| options.packed()),
            is_alternative: field.oneof_index.is_some() && !field.proto3_optional(),
        }
    }
}
