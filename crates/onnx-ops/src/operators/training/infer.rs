//! Optimizer steps and gradients (ai.onnx.preview.training).

use crate::engine::rule::fit::choice;
use crate::engine::{Infer, NodeCx};
use crate::facts::Ty;
use onnx_ir::diag::{Diagnostic, code, counted};

/// Tensors, their gradients and their squared gradients.
pub(super) fn adagrad(cx: &mut NodeCx<'_, '_>) -> Infer {
    step(cx, &["tensor", "gradient", "squared gradient"])
}

/// Tensors, their gradients, their momenta and their squared gradients.
pub(super) fn adam(cx: &mut NodeCx<'_, '_>) -> Infer {
    step(cx, &["tensor", "gradient", "momentum", "squared gradient"])
}

/// Tensors, their gradients and their momenta.
pub(super) fn momentum(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "mode", &["standard", "nesterov"])?;
    step(cx, &["tensor", "gradient", "momentum"])
}

/// The rate and the update count are scalars; then come the inputs of each kind. Outputs are all but the
/// gradients, each with the type of its tensor.
fn step(cx: &mut NodeCx<'_, '_>, kinds: &[&str]) -> Infer {
    const SCALARS: usize = 2;
    let inputs = cx.input_count().checked_sub(SCALARS)?;
    let count = inputs / kinds.len();
    if count * kinds.len() != inputs {
        let kinds = kinds.join(", ");
        let message =
            format!("`{}` expects for each tensor {kinds}, but has {}", cx.op(), counted(inputs, "input"));
        return cx.fail(Diagnostic::new(&code::ARITY, cx.at_op(), message));
    }
    let outputs = count * (kinds.len() - 1);
    if cx.output_count() != outputs {
        let (op, has) = (cx.op(), cx.output_count());
        let message = format!(
            "`{op}` of {} has {}, but the node has {has}",
            counted(count, "tensor"),
            counted(outputs, "output")
        );
        return cx.fail(Diagnostic::new(&code::ARITY, cx.at_op(), message));
    }
    for at in 0..count {
        let inputs: Vec<Ty> =
            (0..kinds.len()).map(|kind| cx.ty(SCALARS + kind * count + at).clone()).collect();
        let all = inputs.iter().try_fold(Ty::Unknown, |ty, other| cx.meet(&ty, other));
        // Gradients are not outputs.
        let kept = inputs.iter().enumerate().filter(|(kind, _)| *kind != 1).map(|(_, ty)| ty);
        for (kind, own) in kept.enumerate() {
            cx.set_ty(kind * count + at, all.as_ref().unwrap_or(own).clone());
        }
    }
    Some(())
}

/// An output for each name of `xs`, with the type of the corresponding input.
pub(super) fn gradient(cx: &mut NodeCx<'_, '_>) -> Infer {
    let xs = cx.strings("xs")?;
    let zs = if cx.has_attr("zs") { cx.strings("zs")? } else { Vec::new() };
    let (inputs, names) = (cx.input_count(), xs.len().checked_add(zs.len())?);
    if inputs != names {
        let message = format!(
            "`xs` and `zs` have {}, but the node has {}",
            counted(names, "name"),
            counted(inputs, "input")
        );
        return cx.fail_at_attr("xs", message);
    }
    if cx.output_count() > xs.len() {
        let message = format!("`Gradient` has one output for each of `xs`: {}", xs.len());
        return cx.fail(Diagnostic::new(&code::ARITY, cx.at_output(xs.len()), message));
    }
    for i in 0..cx.output_count() {
        let ty = cx.ty(i).clone();
        cx.set_ty(i, ty);
    }
    Some(())
}
