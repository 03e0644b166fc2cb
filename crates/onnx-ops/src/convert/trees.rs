//! Operators of ai.onnx.ml.

use super::site::{Note, Site};
use onnx_ir::{AttrValue, ElemType};

/// One list of classes, which had their positions as numbers.
///
/// ```text
/// 1 → 2:   y = ai.onnx.ml.LabelEncoder <classes_strings = ["a", "b"]> (x)
///          y = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_int64s = [0, 1]> (x)
/// ```
pub(super) fn labels_up(s: &mut Site<'_>) -> Result<Note, String> {
    let Some(classes) = s.strings("classes_strings")? else { return Ok(None) };
    let numbers = AttrValue::Ints((0..).take(classes.len()).collect());
    let (keys, values) = match s.elem(0)? {
        ElemType::STRING => {
            (("keys_strings", AttrValue::Strings(classes.into())), ("values_int64s", numbers))
        }
        ElemType::INT64 => (("keys_int64s", numbers), ("values_strings", AttrValue::Strings(classes.into()))),
        _ => return Err("its input has neither a string nor a numeric type".to_owned()),
    };
    s.drop_attr("classes_strings");
    s.set(keys.0, keys.1);
    s.set(values.0, values.1);
    Ok(Some("the classes become keys and values".to_owned()))
}

pub(super) fn labels_down(s: &mut Site<'_>) -> Result<Note, String> {
    let lists = match (s.strings("keys_strings")?, s.ints("values_int64s")?) {
        (Some(classes), Some(numbers)) => Some(("keys_strings", "values_int64s", classes, numbers)),
        _ => match (s.strings("values_strings")?, s.ints("keys_int64s")?) {
            (Some(classes), Some(numbers)) => Some(("values_strings", "keys_int64s", classes, numbers)),
            _ => None,
        },
    };
    let Some((one, other, classes, _)) =
        lists.filter(|(.., numbers)| numbers.iter().copied().eq(0..numbers.len() as i64))
    else {
        return Err("its keys and values are not strings with their positions".to_owned());
    };
    s.drop_attr(one);
    s.drop_attr(other);
    s.set("classes_strings", AttrValue::Strings(classes.into()));
    Ok(Some("keys and values become classes".to_owned()))
}
