//! Loss functions.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// Since this version, `Squeeze`, `Unsqueeze` and `ReduceSum` have axes as an input.
const AXES_ARE_INPUTS: i64 = 13;

/// The negative log-probability of each target, times the weight of its class. Ignored targets have weight 0.
pub(super) fn negative_log_likelihood(site: &CallSite<'_>) -> Option<Draft> {
    let elem = site.elem(0)?;
    let is_input = site.version >= AXES_ARE_INPUTS;
    let mut draft = Draft::new();
    let mut target = "target";
    let ignores = site.has_attr("ignore_index");
    if ignores {
        let ignored = site.int("ignore_index")?;
        draft.scalar("ignored", site.elem(1)?, ignored);
        draft.scalar("any", site.elem(1)?, 0);
        draft.add("is_ignored = Equal (target, ignored)");
        draft.add("class = Where (is_ignored, any, target)");
        target = "class";
    }
    draft.with_axes("column = Unsqueeze", (target, &[1]), "", is_input);
    draft.add("picked = GatherElements <axis = 1> (input, column)");
    draft.with_axes("found = Squeeze", ("picked", &[1]), "", is_input);
    if ignores {
        draft.scalar("zero", elem, "0.0");
        draft.scalar("one", elem, "1.0");
        draft.add("negative = Neg (found)");
        draft.add("cost = Where (is_ignored, zero, negative)");
    } else {
        draft.add("cost = Neg (found)");
    }
    let weight = match (site.has_input(2), ignores) {
        (false, false) => None,
        (false, true) => {
            draft.add("share = Where (is_ignored, zero, one)");
            Some("share")
        }
        (true, false) => {
            draft.add(format_args!("share = Gather (weight, {target})"));
            Some("share")
        }
        (true, true) => {
            draft.add("class_weight = Gather (weight, class)");
            draft.add("share = Where (is_ignored, zero, class_weight)");
            Some("share")
        }
    };
    let each = match weight {
        Some(weight) => {
            draft.add(format_args!("weighted = Mul (cost, {weight})"));
            "weighted"
        }
        None => "cost",
    };
    match (&*site.string("reduction")?, weight) {
        ("none", _) => draft.add(format_args!("loss = Identity ({each})")),
        ("sum", _) => draft.add(format_args!("loss = ReduceSum <keepdims = 0> ({each})")),
        ("mean", None) => draft.add(format_args!("loss = ReduceMean <keepdims = 0> ({each})")),
        ("mean", Some(weight)) => {
            draft.add(format_args!("sum = ReduceSum <keepdims = 0> ({each})"));
            draft.add(format_args!("shares = ReduceSum <keepdims = 0> ({weight})"));
            draft.add("loss = Div (sum, shares)");
        }
        _ => return None,
    }
    Some(draft)
}

/// The loss of the log-softmax over the classes on axis 1.
pub(super) fn softmax_cross_entropy(site: &CallSite<'_>) -> Option<Draft> {
    let mut draft = Draft::new();
    if site.version >= AXES_ARE_INPUTS {
        draft.add("logs = LogSoftmax <axis = 1> (scores)");
    } else {
        // In these versions, `LogSoftmax` flattens the axes from one on.
        draft.add("largest = ReduceMax <axes = [1]> (scores)");
        draft.add("small = Sub (scores, largest)");
        draft.add("power = Exp (small)");
        draft.add("sum = ReduceSum <axes = [1]> (power)");
        draft.add("log = Log (sum)");
        draft.add("logs = Sub (small, log)");
    }
    let reduction = site.string("reduction")?;
    if !["none", "sum", "mean"].contains(&&*reduction) {
        return None;
    }
    let ignored = match site.has_attr("ignore_index") {
        true => format!(", ignore_index = {}", site.int("ignore_index")?),
        false => String::new(),
    };
    let weights = if site.has_input(2) { ", weights" } else { "" };
    draft.add(format_args!(
        "output = NegativeLogLikelihoodLoss <reduction = \"{reduction}\"{ignored}> (logs, labels{weights})"
    ));
    if site.output_count() > 1 {
        draft.add("log_prob = Identity (logs)");
    }
    Some(draft)
}
