//! `cargo xtask codegen`: from `proto/` to the committed code of `crates/onnx-proto`.
//!
//! Two files come out of one compilation:
//!
//! - `pb/onnx.rs`, the messages as structs, from *transformed* descriptors (see [`for_structs`]);
//! - `wire/table.rs`, one row a field, for the wire walker, JSON and textproto.
//!
//! `--check` writes nothing and fails if a file differs from what would be written. Where a Python with the `onnx`
//! package is at hand, it also holds `proto/` against that package.

use anyhow::{Context, Result, bail, ensure};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILES: [&str; 3] = ["onnx-ml.proto", "onnx-operators-ml.proto", "onnx-data.proto"];

/// The walker finds a field by its number in an array of this length.
const MAX_NUMBER: i32 = 31;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fail if a generated file is not up to date, instead of writing it
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent folder")?;
    let mut compiler = protox::Compiler::new([root.join("proto")])?;
    compiler.include_source_info(true).include_imports(true).open_files(FILES)?;
    let commented = compiler.file_descriptor_set();

    let mut plain = commented.clone();
    for file in &mut plain.file {
        file.source_code_info = None;
    }

    let src = root.join("crates/onnx-proto/src");
    let outputs = [
        (src.join("pb/onnx.rs"), structs(for_structs(commented))?.into_bytes()),
        (src.join("wire/table.rs"), table(&plain)?.into_bytes()),
    ];
    for (path, content) in &outputs {
        if std::fs::read(path).is_ok_and(|old| old == *content) {
            continue;
        }
        if args.check {
            bail!("{} is not what proto/ says: run `cargo xtask codegen`", path.display());
        }
        std::fs::create_dir_all(path.parent().context("outputs lie in folders")?)?;
        std::fs::write(path, content).with_context(|| path.display().to_string())?;
        println!("wrote {}", path.display());
    }
    if args.check { compare_with_package(root, &plain) } else { Ok(()) }
}

/// Compares the descriptors with those of the installed Python package.
fn compare_with_package(root: &Path, descriptors: &FileDescriptorSet) -> Result<()> {
    let Some(python) = python_with_onnx(root) else {
        println!(
            "NOT CHECKED: proto/ against the onnx package (no Python that imports it; see xtask/py/check_protos.py)"
        );
        return Ok(());
    };
    let file = root.join("target/onnx.descriptors");
    std::fs::create_dir_all(root.join("target"))?;
    std::fs::write(&file, descriptors.encode_to_vec())?;
    let status = Command::new(&python).arg(root.join("xtask/py/check_protos.py")).arg(&file).status()?;
    ensure!(status.success(), "proto/ differs from the onnx package");
    Ok(())
}

/// The project's virtual environment, or `python3`, whichever can import `onnx`.
fn python_with_onnx(root: &Path) -> Option<PathBuf> {
    [root.join("target/venv/bin/python"), PathBuf::from("python3")].into_iter().find(|python| {
        Command::new(python).args(["-c", "import onnx"]).output().is_ok_and(|output| output.status.success())
    })
}

/// Descriptors that prost makes lossless structs of. The encoding that they describe stays the same:
///
/// - `string` becomes `bytes`: invalid UTF-8 is the checker's matter, and `Bytes` are slices of the file;
/// - a packed list becomes `bytes` too: floats need no copy, and integers are decoded when they are wanted;
/// - TypeProto's `oneof` becomes plain optional fields, because prost writes a oneof in one place and
///   `denotation` (6) lies among its members (1, 4, 5, 7, 8, 9). The other oneofs have no such guest.
fn for_structs(mut set: FileDescriptorSet) -> FileDescriptorSet {
    fn transform(message: &mut DescriptorProto) {
        for field in &mut message.field {
            if field.r#type() == Type::String {
                field.set_type(Type::Bytes);
            }
            if is_packed(field) {
                field.set_type(Type::Bytes);
                field.set_label(Label::Optional);
                field.options = None;
            }
            if message.name.as_deref() == Some("TypeProto") {
                field.oneof_index = None;
            }
        }
        if message.name.as_deref() == Some("TypeProto") {
            message.oneof_decl.clear();
        }
        message.nested_type.iter_mut().for_each(transform);
    }
    for file in &mut set.file {
        file.message_type.iter_mut().for_each(transform);
    }
    set
}

fn structs(set: FileDescriptorSet) -> Result<String> {
    let mut config = prost_build::Config::new();
    config.bytes(["."]);
    // Large, and absent in most attributes.
    for field in ["t", "g", "sparse_tensor", "tp"] {
        config.boxed(format!(".onnx.AttributeProto.{field}"));
    }
    let module = prost_build::Module::from_protobuf_package_name("onnx");
    let requests = set.file.into_iter().map(|file| (module.clone(), file)).collect();
    let code = config.generate(requests)?.remove(&module).context("everything is in the package `onnx`")?;
    Ok(format!("// @generated by `cargo xtask codegen` from proto/. Do not edit.\n{code}"))
}

/// The walker's table: a static per message, its fields by number.
fn table(set: &FileDescriptorSet) -> Result<String> {
    let mut out = String::from(
        "// @generated by `cargo xtask codegen` from proto/. Do not edit.\n\n\
         use super::schema::{Enum, Field, Kind, Message};\n",
    );
    for file in &set.file {
        for message in &file.message_type {
            table_of(message, "", &mut out)?;
        }
        for enumeration in &file.enum_type {
            values_of(enumeration, "", &mut out)?;
        }
    }
    Ok(out)
}

fn table_of(message: &DescriptorProto, outer: &str, out: &mut String) -> Result<()> {
    let name = format!("{outer}{}", message.name());
    let mut fields: Vec<&FieldDescriptorProto> = message.field.iter().collect();
    fields.sort_by_key(|field| field.number());
    writeln!(out, "\npub(crate) static {}: Message = Message::new(\"{name}\", &[", constant(&name))?;
    for field in fields {
        ensure!(field.number() <= MAX_NUMBER, "{name}.{} has a number above {MAX_NUMBER}", field.name());
        let kind = match field.r#type() {
            Type::Int32 => "Kind::Int32".to_owned(),
            Type::Int64 => "Kind::Int64".to_owned(),
            Type::Uint64 => "Kind::Uint64".to_owned(),
            Type::Float => "Kind::Float".to_owned(),
            Type::Double => "Kind::Double".to_owned(),
            Type::String => "Kind::String".to_owned(),
            Type::Bytes => "Kind::Bytes".to_owned(),
            Type::Enum => format!("Kind::Enum(&{})", constant(target(field)?)),
            Type::Message => format!("Kind::Message(&{})", constant(target(field)?)),
            other => bail!("{name}.{}: {other:?} is new to this format", field.name()),
        };
        write!(out, "    Field::new({}, \"{}\", {kind})", field.number(), field.name())?;
        if field.label() == Label::Repeated {
            write!(out, "{}", if is_packed(field) { ".packed()" } else { ".repeated()" })?;
        }
        if field.oneof_index.is_some() {
            write!(out, ".oneof()")?;
        }
        writeln!(out, ",")?;
    }
    writeln!(out, "]);")?;
    for nested in &message.nested_type {
        table_of(nested, &format!("{name}."), out)?;
    }
    for enumeration in &message.enum_type {
        values_of(enumeration, &format!("{name}."), out)?;
    }
    Ok(())
}

/// The values of an enum.
fn values_of(enumeration: &EnumDescriptorProto, outer: &str, out: &mut String) -> Result<()> {
    let name = format!("{outer}{}", enumeration.name());
    writeln!(out, "\npub(crate) static {}: Enum = Enum::new(\"{name}\", &[", constant(&name))?;
    for value in &enumeration.value {
        writeln!(out, "    ({}, \"{}\"),", value.number(), value.name())?;
    }
    writeln!(out, "]);")?;
    Ok(())
}

/// The message or enum that a field has as its type.
fn target(field: &FieldDescriptorProto) -> Result<&str> {
    field.type_name().strip_prefix(".onnx.").context("everything is in the package `onnx`")
}

fn is_packed(field: &FieldDescriptorProto) -> bool {
    field.options.as_ref().is_some_and(|options| options.packed())
}

/// `TypeProto.SparseTensor` → `TYPE_PROTO_SPARSE_TENSOR`.
fn constant(name: &str) -> String {
    let mut out = String::new();
    for (at, c) in name.char_indices() {
        match c {
            '.' => out.push('_'),
            c if c.is_uppercase() && at > 0 && !out.ends_with('_') => out.extend(['_', c]),
            c => out.push(c.to_ascii_uppercase()),
        }
    }
    out
}
