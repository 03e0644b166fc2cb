//! Operators of ai.onnx.ml: classical models, stored in long attributes.

use crate::engine::{Infer, NodeCx};
use onnx_ir::AttrType;
use onnx_ir::diag::{Diagnostic, code, counted};

/// Length of a list or tensor attribute: 0 if the node does not have it, `None` if it is unknown.
pub(super) fn len(cx: &NodeCx<'_, '_>, name: &str) -> Option<usize> {
    if !cx.has_attr(name) {
        return Some(0);
    }
    match cx.schema().attr(name)?.ty {
        AttrType::INTS | AttrType::FLOATS | AttrType::STRINGS => cx.list_len(name),
        AttrType::TENSOR => usize::try_from(cx.tensor(name)?.element_count()?).ok(),
        _ => None,
    }
}

/// The one of several attributes that is present; reports none or two. An empty list is not present.
pub(super) fn one_attr(cx: &mut NodeCx<'_, '_>, names: &[&'static str]) -> Option<&'static str> {
    let mut found = None;
    for &name in names {
        if len(cx, name)? == 0 {
            continue;
        }
        if let Some(first) = found {
            let message = format!("`{}` has both `{first}` and `{name}`", cx.op());
            let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr(name), message)
                .related(cx.at_attr(first), "the first one");
            cx.fail(diagnostic)?;
        }
        found = Some(name);
    }
    if found.is_none() {
        let list = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" or ");
        let message = format!("`{}` requires {list}", cx.op());
        cx.fail(Diagnostic::new(&code::ATTR_VALUE, cx.at_op(), message))?;
    }
    found
}

/// Checks that lists are as long as the first one; optional ones may be empty.
pub(super) fn same_len(
    cx: &mut NodeCx<'_, '_>,
    first: &str,
    required: &[&str],
    optional: &[&str],
) -> Option<usize> {
    let count = len(cx, first)?;
    let all = required.iter().map(|n| (n, false)).chain(optional.iter().map(|n| (n, true)));
    for (name, may_be_empty) in all {
        let other = len(cx, name)?;
        if other != count && !(may_be_empty && other == 0) {
            let message = format!("`{name}` has {}, but `{first}` has {count}", counted(other, "element"));
            let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr(name), message)
                .related(cx.at_attr(first), format!("`{first}` has {count}"));
            cx.fail(diagnostic)?;
        }
    }
    Some(count)
}

/// Checks that the elements of a list are indices into `count` items.
pub(super) fn in_range(cx: &mut NodeCx<'_, '_>, name: &str, count: usize, noun: &str) -> Infer {
    // A negative number is a large unsigned one.
    let other = cx.each_int(name)?.first(|_, i| i.cast_unsigned() >= count as u64);
    match other {
        Some((_, other)) => {
            cx.fail_at_attr(name, format!("{other} is out of range for {}", counted(count, noun)))
        }
        None => Some(()),
    }
}

/// Checks the transformation of scores that most models have.
pub(super) fn post_transform(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.one_of("post_transform", &["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])?;
    Some(())
}
