//! Passes by name: those of the IR, and those that need operator semantics.
//!
//! | pass | what it does |
//! | --- | --- |
//! | [`onnx_ir::pass::ALL`] | those that need only [`onnx_ir::pass::Operators`] |
//! | [`expand_gradient()`] | replaces `Gradient` nodes |
//! | [`fold_constants()`] | folds constants |
//! | [`remove_no_ops()`] | removes nodes that return their input |
//! | [`fuse`] | replaces two nodes by one |
//! | [`lift_constants()`] | converts `Constant` nodes to initializers |
//! | [`simplify()`] | repeats the passes that make a model smaller until none changes it |
//! | `convert-opset=N` | [`convert_opset()`](crate::convert::convert_opset) |
//!
//! A pass may have an argument after `=`.

mod decide;
mod fold;
pub mod fuse;
mod lift;
mod simplify;

pub use crate::no_ops::remove_no_ops;
pub use fold::{LIMIT, fold_constants};
pub use lift::lift_constants;
pub use simplify::simplify;

use crate::convert::{Planned, convert_opset};
use crate::gradient::{expand_gradient, expand_gradient_recomputing};
use crate::schema::Registry;
use onnx_ir::Model;
use onnx_ir::diag::did_you_mean;
use onnx_ir::pass::{self, Report, compact};

/// The outcome of a pass.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The changes, and what could not be done.
    pub report: Report,
    /// Changes of single nodes, for passes that report them.
    pub plan: Vec<Planned>,
    /// Whether the pass succeeded. Otherwise the model is unchanged.
    pub is_done: bool,
}

/// A pass with its argument.
#[derive(Clone, Copy)]
pub enum Pass {
    /// A pass that needs only basic operator properties.
    Ir(&'static pass::Pass),
    /// A pass that needs operator semantics.
    Ops(&'static OpsPass),
    /// `convert-opset=21`, `convert-opset=ai.onnx.ml:5`
    ConvertOpset {
        /// The domain; `""` is ai.onnx.
        domain: &'static str,
        /// The version that is wanted.
        version: i64,
    },
}

/// A pass that needs operator semantics.
pub struct OpsPass {
    /// `remove-no-ops`
    name: &'static str,
    summary: &'static str,
    function: fn(&mut Model, &Registry) -> Report,
}

static OPS: &[OpsPass] = &[
    OpsPass {
        name: "expand-gradient",
        summary: "Replace nodes `Gradient` by ordinary operators",
        function: expand_gradient,
    },
    OpsPass {
        name: "expand-gradient-recompute",
        summary: "The same, and let derivatives compute intermediate results again: less memory, more time",
        function: expand_gradient_recomputing,
    },
    OpsPass {
        name: "fold-constants",
        summary: "Compute what is known before the model runs",
        function: fold_constants,
    },
    OpsPass {
        name: "fuse-casts",
        summary: "Remove the first of two casts where it loses nothing",
        function: fuse::fuse_casts,
    },
    OpsPass {
        name: "fuse-concats",
        summary: "Make one Concat of those in a row along one axis",
        function: fuse::fuse_concats,
    },
    OpsPass {
        name: "fuse-gemm",
        summary: "Make a Gemm of MatMul and Add of matrices",
        function: fuse::fuse_gemm,
    },
    OpsPass {
        name: "fuse-pads",
        summary: "Let Conv and pooling pad in place of a Pad",
        function: fuse::fuse_pads,
    },
    OpsPass {
        name: "fuse-reshapes",
        summary: "Make one Reshape of Reshape, Flatten, Squeeze and Unsqueeze in a row",
        function: fuse::fuse_reshapes,
    },
    OpsPass {
        name: "fuse-scales",
        summary: "Put BatchNormalization and arithmetic with constants into weights",
        function: fuse::fuse_scales,
    },
    OpsPass {
        name: "fuse-slices",
        summary: "Make one Slice of two that cut different axes",
        function: fuse::fuse_slices,
    },
    OpsPass {
        name: "fuse-transposes",
        summary: "Make one Transpose of two in a row",
        function: fuse::fuse_transposes,
    },
    OpsPass {
        name: "lift-constants",
        summary: "Make initializers of Constant nodes",
        function: lift_constants,
    },
    OpsPass {
        name: "static-reshapes",
        summary: "Give Reshape a constant target where a computed one says the same",
        function: fuse::static_reshapes,
    },
    OpsPass {
        name: "remove-no-ops",
        summary: "Remove nodes that return their input",
        function: remove_no_ops,
    },
];

const CONVERT_OPSET: &str = "convert-opset";

/// The passes as they are written, with their summaries, sorted.
pub fn list() -> Vec<(&'static str, &'static str)> {
    let mut list: Vec<_> = pass::ALL.iter().map(|pass| (pass.name, pass.summary)).collect();
    list.extend(OPS.iter().map(|pass| (pass.name, pass.summary)));
    list.push((
        "convert-opset=[DOMAIN:]N",
        "Convert the model to version N of an operator set (of ai.onnx by default)",
    ));
    list.sort_unstable();
    list
}

impl Pass {
    /// Parses the name of a pass; the error explains why it is invalid.
    pub fn parse(word: &str) -> Result<Pass, String> {
        let (name, argument) = word.split_once('=').map_or((word, None), |(name, a)| (name, Some(a)));
        let known = OPS.iter().find(|pass| pass.name == name).map(Pass::Ops);
        match (pass::find(name).map(Pass::Ir).or(known), name == CONVERT_OPSET, argument) {
            (Some(pass), _, None) => Ok(pass),
            (Some(_), ..) => Err(format!("pass `{name}` does not accept an argument")),
            (None, true, argument) => conversion(argument.unwrap_or_default()),
            (None, false, _) => {
                let names = pass::ALL.iter().map(|pass| pass.name).chain(OPS.iter().map(|pass| pass.name));
                let names = names.chain([CONVERT_OPSET]);
                Err(match did_you_mean(name, names) {
                    Some(like) => format!("unknown pass `{name}`: did you mean `{like}`?"),
                    None => format!("unknown pass `{name}`"),
                })
            }
        }
    }

    /// Its name, without an argument.
    pub fn name(&self) -> &'static str {
        match self {
            Pass::Ir(pass) => pass.name,
            Pass::Ops(pass) => pass.name,
            Pass::ConvertOpset { .. } => CONVERT_OPSET,
        }
    }

    /// Runs the pass and compacts the model, which invalidates existing ids.
    pub fn run(&self, model: &mut Model, registry: &Registry) -> Outcome {
        crate::interrupt::look();
        match *self {
            Pass::Ir(pass) => Outcome { report: pass.run(model, registry), plan: Vec::new(), is_done: true },
            Pass::Ops(pass) => {
                let report = (pass.function)(model, registry);
                compact(model);
                Outcome { report, plan: Vec::new(), is_done: true }
            }
            Pass::ConvertOpset { domain, version } => {
                let done = convert_opset(model, registry, domain, version);
                compact(model);
                Outcome { report: done.report, plan: done.plan, is_done: done.is_done }
            }
        }
    }
}

/// Every pass without an argument.
pub fn all() -> impl Iterator<Item = Pass> {
    pass::ALL.iter().map(Pass::Ir).chain(OPS.iter().map(Pass::Ops))
}

/// `21` or `ai.onnx.ml:5`
fn conversion(argument: &str) -> Result<Pass, String> {
    let (domain, version) = argument.rsplit_once(':').unwrap_or(("", argument));
    let domains = ["", "ai.onnx", "ai.onnx.ml"];
    let domain = domains.into_iter().find(|known| *known == domain);
    match (domain, version.parse()) {
        (Some(domain), Ok(version)) => Ok(Pass::ConvertOpset { domain, version }),
        (None, _) => Err(format!("`{CONVERT_OPSET}` supports only ai.onnx and ai.onnx.ml")),
        (_, Err(_)) => Err(format!("`{CONVERT_OPSET}` requires a version, as in `{CONVERT_OPSET}=21`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_passes_or_say_why_not() {
        let parse = |word| Pass::parse(word).map(|pass| pass.name());
        assert_eq!(parse("dead-code"), Ok("dead-code"));
        assert_eq!(parse("convert-opset=21"), Ok("convert-opset"));
        assert_eq!(parse("convert-opset=ai.onnx.ml:5"), Ok("convert-opset"));
        for wrong in ["dead-cod", "dead-code=1", "convert-opset", "convert-opset=x", "convert-opset=a.b:1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
