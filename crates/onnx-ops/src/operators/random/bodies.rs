//! The function body of `Bernoulli`.

use crate::bodies::draft::{Draft, number};
use crate::bodies::site::CallSite;
use onnx_ir::ElemType;

/// 1 where a random number is below the probability.
pub(super) fn bernoulli(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    let to = if site.has_attr("dtype") { site.elem_attr("dtype")? } else { site.elem(0)? };
    let seed = match site.has_attr("seed") {
        true => format!(", seed = {}", number(site.float("seed")?, ElemType::FLOAT)),
        false => String::new(),
    };
    draft.add(format_args!("random = RandomUniformLike <low = 0.0, high = 1.0{seed}> (input)"));
    draft.add("hit = Less (random, input)");
    draft.add(format_args!("output = Cast <to = {}> (hit)", to.0));
    Some(draft)
}
