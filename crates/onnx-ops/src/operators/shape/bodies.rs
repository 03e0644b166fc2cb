//! The function body of `Range`.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// `start + i delta` for all `i` in range. Half floats are computed in `stash_type`, integers in 64 bits.
pub(super) fn range(site: &CallSite<'_>) -> Option<Draft> {
    let elem = (0..3).find_map(|i| site.elem(i))?;
    let inner = match elem {
        ElemType::FLOAT16 | ElemType::BFLOAT16 => site.elem_attr("stash_type")?,
        ElemType::FLOAT | ElemType::DOUBLE => elem,
        _ => ElemType::INT64,
    };
    let mut draft = Draft::new();
    for name in ["start", "limit", "delta"] {
        draft.add(format_args!("exact_{name} = Cast <to = {}> ({name})", ElemType::DOUBLE.0));
        if name != "limit" {
            draft.add(format_args!("inner_{name} = Cast <to = {}> ({name})", inner.0));
        }
    }
    draft.add("way = Sub (exact_limit, exact_start)");
    draft.add("steps = Div (way, exact_delta)");
    draft.add("whole = Ceil (steps)");
    draft.add("natural = Relu (whole)");
    draft.add(format_args!("count = Cast <to = {}> (natural)", ElemType::INT64.0));
    draft.list("list", &[-1]);
    draft.add("length = Reshape (count, list)");
    draft.add("ones = ConstantOfShape <value = int64[1] {1}> (length)");
    draft.add("places = NonZero (ones)");
    draft.add("index = Reshape (places, list)");
    draft.add(format_args!("i = Cast <to = {}> (index)", inner.0));
    draft.add("distance = Mul (i, inner_delta)");
    draft.add("sum = Add (inner_start, distance)");
    draft.add(format_args!("output = Cast <to = {}> (sum)", elem.0));
    Some(draft)
}
