//! Conversion of operators of ai.onnx.ml.

use crate::change::site::{ConvertSite, Note};
use onnx_ir::ElemType;

/// A list of classes that were mapped to their positions.
///
/// ```text
/// 1 → 2:   y = ai.onnx.ml.LabelEncoder <classes_strings = ["a", "b"]> (x)
///          y = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_int64s = [0, 1]> (x)
/// ```
pub(super) fn labels_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(classes) = s.attrs().strings("classes_strings")?.map(<[_]>::to_vec) else { return Ok(None) };
    let numbers: Vec<i64> = (0..).take(classes.len()).collect();
    let (classes_name, numbers_name) = match s.elem(0)? {
        ElemType::STRING => ("keys_strings", "values_int64s"),
        ElemType::INT64 => ("values_strings", "keys_int64s"),
        _ => return Err("its input is neither strings nor numbers".to_owned()),
    };
    s.drop_attr("classes_strings");
    s.set(classes_name, classes);
    s.set(numbers_name, numbers);
    Ok(Some("the classes become keys and values".to_owned()))
}

pub(super) fn labels_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let lists = match (s.attrs().strings("keys_strings")?, s.attrs().ints("values_int64s")?) {
        (Some(classes), Some(numbers)) => Some(("keys_strings", "values_int64s", classes, numbers)),
        _ => match (s.attrs().strings("values_strings")?, s.attrs().ints("keys_int64s")?) {
            (Some(classes), Some(numbers)) => Some(("values_strings", "keys_int64s", classes, numbers)),
            _ => None,
        },
    };
    let Some((one, other, classes, _)) =
        lists.filter(|(.., numbers)| numbers.iter().copied().eq(0..numbers.len() as i64))
    else {
        return Err("its keys and values are not strings with their positions".to_owned());
    };
    let classes = classes.to_vec();
    s.drop_attr(one);
    s.drop_attr(other);
    s.set("classes_strings", classes);
    Ok(Some("keys and values become classes".to_owned()))
}
