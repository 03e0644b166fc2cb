//! Short constructors for the generated table, so that a version of an operator takes few lines.

use super::{AttrParam, Default, ElemSet, Param, ParamKind, TypeSet, TypeVariable};
use onnx_ir::AttrType;
use std::borrow::Cow::Borrowed;

/// Flags of a version besides its signature.
pub(super) const PLAIN: u8 = 0;
pub(super) const DEPRECATED: u8 = 1;
pub(super) const EXPERIMENTAL: u8 = 2;
pub(super) const RANDOM: u8 = 4;

/// One version of an operator: inputs, outputs, attributes, variables, and the numbers of inputs and outputs if the parameters do
/// not determine them.
macro_rules! op {
    (
        $domain:literal, $name:literal, $since:literal, $body:ident, $traits:expr;
        $inputs:expr; $outputs:expr; $attrs:expr; $variables:expr
        $(; [$($input_count:literal),*]; [$($output_count:literal),*])?
    ) => {
        Schema {
            domain: Borrowed($domain),
            name: Borrowed($name),
            since: $since,
            inputs: Borrowed(&$inputs),
            outputs: Borrowed(&$outputs),
            attrs: Borrowed(&$attrs),
            variables: Borrowed(&$variables),
            input_counts: Borrowed(&[$($($input_count),*)?]),
            output_counts: Borrowed(&[$($($output_count),*)?]),
            deprecated: $traits & DEPRECATED != 0,
            experimental: $traits & EXPERIMENTAL != 0,
            random: $traits & RANDOM != 0,
            body: BodyKind::$body,
        }
    };
}

/// An attribute whose default is a list of strings.
macro_rules! strings {
    ($name:literal, [$($value:literal),*]) => {
        AttrParam {
            name: Borrowed($name),
            ty: A::STRINGS,
            required: false,
            default: Some(Default::Strings(Borrowed(&[$(Borrowed($value)),*]))),
        }
    };
}

pub(super) use {op, strings};

pub(super) const fn tensors(elems: u32) -> TypeSet {
    set(elems, 0, 0, 0)
}

/// Sets of tensors, sequences, optionals and optional sequences.
pub(super) const fn set(tensors: u32, sequences: u32, optionals: u32, optional_sequences: u32) -> TypeSet {
    TypeSet {
        tensors: ElemSet(tensors),
        sparse_tensors: ElemSet::NONE,
        sequences: ElemSet(sequences),
        optionals: ElemSet(optionals),
        optional_sequences: ElemSet(optional_sequences),
        others: Borrowed(&[]),
    }
}

const fn param(name: &'static str, ty: &'static str, types: TypeSet, kind: ParamKind) -> Param {
    Param { name: Borrowed(name), kind, ty: Borrowed(ty), types }
}

pub(super) const fn one(name: &'static str, ty: &'static str, types: TypeSet) -> Param {
    param(name, ty, types, ParamKind::Single)
}

pub(super) const fn opt(name: &'static str, ty: &'static str, types: TypeSet) -> Param {
    param(name, ty, types, ParamKind::Optional)
}

/// Any number of one type.
pub(super) const fn all(name: &'static str, ty: &'static str, types: TypeSet, min: u32) -> Param {
    param(name, ty, types, ParamKind::Variadic { min, homogeneous: true })
}

/// Any number, each of its own type.
pub(super) const fn any(name: &'static str, ty: &'static str, types: TypeSet, min: u32) -> Param {
    param(name, ty, types, ParamKind::Variadic { min, homogeneous: false })
}

pub(super) const fn var(name: &'static str, types: TypeSet) -> TypeVariable {
    TypeVariable { name: Borrowed(name), types }
}

/// A required attribute.
pub(super) const fn must(name: &'static str, ty: AttrType) -> AttrParam {
    AttrParam { name: Borrowed(name), ty, required: true, default: None }
}

/// An optional attribute without a default.
pub(super) const fn may(name: &'static str, ty: AttrType) -> AttrParam {
    AttrParam { name: Borrowed(name), ty, required: false, default: None }
}

const fn or(name: &'static str, ty: AttrType, default: Default) -> AttrParam {
    AttrParam { name: Borrowed(name), ty, required: false, default: Some(default) }
}

pub(super) const fn int(name: &'static str, default: i64) -> AttrParam {
    or(name, AttrType::INT, Default::Int(default))
}

pub(super) const fn float(name: &'static str, default: f32) -> AttrParam {
    or(name, AttrType::FLOAT, Default::Float(default))
}

pub(super) const fn string(name: &'static str, default: &'static str) -> AttrParam {
    or(name, AttrType::STRING, Default::String(Borrowed(default)))
}

pub(super) const fn ints(name: &'static str, default: &'static [i64]) -> AttrParam {
    or(name, AttrType::INTS, Default::Ints(Borrowed(default)))
}
