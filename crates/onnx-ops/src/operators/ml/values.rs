//! Operators that prepare values: encode, scale, impute, and convert between maps and tensors.

use super::infer::{len, one_attr, same_len};
use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::Ty;
use crate::operators::elementwise::infer::same_shape;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, code, counted};

/// The output has the type and shape of the input.
pub(super) fn same(cx: &mut NodeCx<'_, '_>) -> Infer {
    same_shape(cx)
}

/// `ArrayFeatureExtractor`: selects columns by index. A tensor of rank 1 is one row.
pub(super) fn extract(cx: &mut NodeCx<'_, '_>) -> Infer {
    let columns = cx.shape(1).map_or(Dim::Unknown, |shape| cx.dims().product(&shape));
    let mut shape = cx.shape_of_ranks(0, 1, None)?;
    shape.pop();
    if shape.is_empty() {
        shape.push(Dim::Const(1));
    }
    shape.push(columns);
    cx.set_shape(0, shape);
    Some(())
}

/// `CastMap`: the values of a map, in the order of its keys.
pub(super) fn cast_map(cx: &mut NodeCx<'_, '_>) -> Infer {
    let form = cx.one_of("map_form", &["DENSE", "SPARSE"])?;
    if form == "SPARSE" && cx.int("max_map")? < 1 {
        return cx.fail_at_attr("max_map", "`max_map` must be at least 1".to_owned());
    }
    let elem = match cx.one_of("cast_to", &["TO_FLOAT", "TO_STRING", "TO_INT64"])? {
        "TO_STRING" => ElemType::STRING,
        "TO_INT64" => ElemType::INT64,
        _ => ElemType::FLOAT,
    };
    cx.set_elem(0, elem);
    Some(())
}

/// Strings become integers, and integers strings.
fn swap_kind(cx: &mut NodeCx<'_, '_>) -> Infer {
    let elem = match cx.elem(0)? {
        ElemType::STRING => ElemType::INT64,
        _ => ElemType::STRING,
    };
    cx.set_elem(0, elem);
    same_shape(cx)
}

pub(super) fn categories(cx: &mut NodeCx<'_, '_>) -> Infer {
    for name in ["cats_int64s", "cats_strings"] {
        if !cx.has_attr(name) {
            let message = format!("`{}` requires the attribute `{name}`", cx.op());
            return cx.fail(Diagnostic::new(&code::ATTR_REQUIRED, cx.at_op(), message));
        }
    }
    same_len(cx, "cats_strings", &["cats_int64s"], &[])?;
    swap_kind(cx)
}

/// Version 1 of `LabelEncoder`: strings and their positions.
pub(super) fn encode_by_position(cx: &mut NodeCx<'_, '_>) -> Infer {
    swap_kind(cx)
}

/// `LabelEncoder`: keys and values of any kind, each in the attribute of its kind.
pub(super) fn encode(cx: &mut NodeCx<'_, '_>) -> Infer {
    let has_tensors = cx.since() >= 4;
    let count = if has_tensors { 4 } else { 3 };
    let keys = one_attr(cx, &["keys_floats", "keys_int64s", "keys_strings", "keys_tensor"][..count])?;
    let values =
        one_attr(cx, &["values_floats", "values_int64s", "values_strings", "values_tensor"][..count])?;
    same_len(cx, keys, &[values], &[])?;
    let (key, value) = (elem_of(cx, keys)?, elem_of(cx, values)?);
    if let Some(input) = cx.elem(0)
        && input != key
    {
        let (key, input) = (key.name().unwrap_or("?"), input.name().unwrap_or("?"));
        let message = format!("`{keys}` has {}, but the input is {input}", counted(key, "key"));
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr(keys), message);
        return cx.fail(diagnostic.related(cx.at_input(0), format!("this is {input}")));
    }
    if has_tensors
        && let Some(default) = cx.tensor("default_tensor").and_then(|t| t.elem)
        && default != value
    {
        let (default, value) = (default.name().unwrap_or("?"), value.name().unwrap_or("?"));
        let message = format!("the default is {default}, but `{values}` has {}", counted(value, "value"));
        return cx.fail_at_attr("default_tensor", message);
    }
    if let Some(dims) = cx.tensor("default_tensor").map(|tensor| tensor.dims.clone())
        && has_tensors
        && dims[..] != [1]
    {
        let message = format!("`default_tensor` must have the shape [1], but has {dims:?}");
        return cx.fail_at_attr("default_tensor", message);
    }
    cx.set_elem(0, value);
    same_shape(cx)
}

/// The element type of an attribute of `LabelEncoder`.
fn elem_of(cx: &NodeCx<'_, '_>, name: &str) -> Option<ElemType> {
    Some(match name.split_once('_')?.1 {
        "floats" => ElemType::FLOAT,
        "int64s" => ElemType::INT64,
        "strings" => ElemType::STRING,
        _ => cx.tensor(name)?.elem?,
    })
}

/// `DictVectorizer`: the values of a map, in the order of a vocabulary.
pub(super) fn vectorize_map(cx: &mut NodeCx<'_, '_>) -> Infer {
    let name = one_attr(cx, &["int64_vocabulary", "string_vocabulary"])?;
    let Ty::Map(key, value) = cx.ty(0).clone() else { return None };
    let wanted = if name == "int64_vocabulary" { ElemType::INT64 } else { ElemType::STRING };
    if key.is_some_and(|key| key != wanted) {
        let ty = cx.ty(0).clone().text(cx.dims());
        let message = format!("`{name}` does not match the input type {ty}");
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr(name), message);
        return cx.fail(diagnostic.related(cx.at_input(0), format!("this is {ty}")));
    }
    if let Some(elem) = value.elem() {
        cx.set_elem(0, elem);
    }
    Some(())
}

/// `FeatureVectorizer`: concatenates the columns of all inputs. A tensor of rank 1 is one row.
pub(super) fn features(cx: &mut NodeCx<'_, '_>) -> Infer {
    let inputs = cx.input_count();
    let given = if cx.has_attr("inputdimensions") { Some(cx.ints("inputdimensions")?) } else { None };
    if let Some(list) = &given {
        if list.len() != inputs {
            let message = format!(
                "`inputdimensions` has {} for {}",
                counted(list.len(), "number"),
                counted(inputs, "input")
            );
            return cx.fail_at_attr("inputdimensions", message);
        }
        if let Some(n) = list.iter().find(|n| **n < 0) {
            return cx.fail_at_attr("inputdimensions", format!("invalid number of columns {n}"));
        }
    }
    let mut rows: Option<(usize, Dim)> = None;
    let mut columns = Dim::Const(0);
    for i in 0..inputs {
        let shape = cx.shape_of_ranks(i, 1, Some(2));
        let last = shape.as_ref().and_then(|s| s.last().copied()).unwrap_or(Dim::Unknown);
        let width = given.as_ref().map_or(last, |list| Dim::Const(list[i]));
        columns = cx.dims().add(columns, width);
        let Some(shape) = shape else { continue };
        let count = if shape.len() == 2 { shape[0] } else { Dim::Const(1) };
        let message = |a: &str, b: &str| format!("the inputs have different numbers of rows: {a} and {b}");
        rows = Some(match rows {
            None => (i, count),
            Some(first) => (first.0, cx.equate(first, (i, count), message)?),
        });
    }
    let rows = rows.map_or(Dim::Unknown, |(_, dim)| dim);
    cx.set_shape(0, [rows, columns]);
    Some(())
}

/// Checks that a list has one element, or one for each column of the input.
fn per_column(cx: &mut NodeCx<'_, '_>, name: &str) -> Infer {
    let count = len(cx, name)?;
    let Some(Dim::Const(columns)) = cx.shape(0).filter(|s| s.len() <= 2).and_then(|s| s.last().copied())
    else {
        return Some(());
    };
    if count > 1 && usize::try_from(columns) != Ok(count) {
        let ty = cx.ty(0).clone().text(cx.dims());
        let message = format!(
            "`{name}` has {}, but the input has {}",
            counted(count, "element"),
            counted(columns, "column")
        );
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr(name), message);
        return cx.fail(diagnostic.related(cx.at_input(0), format!("this is {ty}")));
    }
    Some(())
}

pub(super) fn impute(cx: &mut NodeCx<'_, '_>) -> Infer {
    let name = one_attr(cx, &["imputed_value_floats", "imputed_value_int64s"])?;
    let is_float = name == "imputed_value_floats";
    if let Some(elem) = cx.elem(0)
        && matches!(elem, ElemType::FLOAT | ElemType::DOUBLE) != is_float
    {
        let ty = cx.ty(0).clone().text(cx.dims());
        return cx.fail_at_attr(name, format!("`{name}` does not match the input type {ty}"));
    }
    per_column(cx, name)?;
    same_shape(cx)
}

pub(super) fn normalize(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.one_of("norm", &["MAX", "L1", "L2"])?;
    let shape = cx.shape_of_ranks(0, 1, Some(2))?;
    cx.set_shape(0, shape);
    Some(())
}

/// `OneHotEncoder`: adds an axis of categories.
pub(super) fn one_hot(cx: &mut NodeCx<'_, '_>) -> Infer {
    let name = one_attr(cx, &["cats_int64s", "cats_strings"])?;
    if let Some(elem) = cx.elem(0)
        && (elem == ElemType::STRING) != (name == "cats_strings")
    {
        let ty = cx.ty(0).clone().text(cx.dims());
        return cx.fail_at_attr(name, format!("`{name}` does not match the input type {ty}"));
    }
    let count = i64::try_from(len(cx, name)?).ok()?;
    let mut shape = cx.shape(0)?;
    shape.push(Dim::Const(count));
    cx.set_shape(0, shape);
    Some(())
}

pub(super) fn scale(cx: &mut NodeCx<'_, '_>) -> Infer {
    if len(cx, "offset")? > 0 && len(cx, "scale")? > 0 {
        same_len(cx, "offset", &["scale"], &[])?;
    }
    per_column(cx, "offset")?;
    per_column(cx, "scale")?;
    same_shape(cx)
}

/// `ZipMap`: a map for each row, from labels to values.
pub(super) fn zip(cx: &mut NodeCx<'_, '_>) -> Infer {
    let name = one_attr(cx, &["classlabels_int64s", "classlabels_strings"])?;
    let key = if name == "classlabels_int64s" { ElemType::INT64 } else { ElemType::STRING };
    let labels = i64::try_from(len(cx, name)?).ok()?;
    let value = Ty::tensor(ElemType::FLOAT, []);
    cx.set_ty(0, Ty::Sequence(Box::new(Ty::Map(Some(key), Box::new(value)))));
    let shape = cx.shape_of_ranks(0, 1, Some(2))?;
    if let Some(Dim::Const(columns)) = shape.last()
        && *columns != labels
    {
        let message = format!(
            "`{name}` has {}, but the input has {}",
            counted(labels, "label"),
            counted(columns, "column")
        );
        let ty = cx.ty(0).clone().text(cx.dims());
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr(name), message);
        return cx.fail(diagnostic.related(cx.at_input(0), format!("this is {ty}")));
    }
    Some(())
}
