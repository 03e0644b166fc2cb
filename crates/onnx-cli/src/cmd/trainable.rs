//! `onnxtxt trainable`: adds a training to a model.

use crate::edit::{EditArgs, edit};
use crate::session::{Session, Status};
use onnx_ops::gradient::Results;
use onnx_ops::opset::registry_of;
use onnxtxt::edit::Selection;
use onnxtxt::train::{Initial, Loss, Optimizer, Trainable, trainable};
use std::collections::HashSet;

/// Add a training to a model: a loss, gradients, an optimizer and initial weights
///
/// The main graph stays as it is. Float weights with at least one axis are trained, but for statistics of normalizations and
/// parameters of quantizations.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt trainable model.onnx --loss SoftmaxCrossEntropyLoss --optimizer adam -o training.onnx
  onnxtxt trainable model.onnx --loss MeanSquaredError --optimizer sgd,lr=0.05 -o training.onnxtxt
  onnxtxt trainable model.onnx --loss SoftmaxCrossEntropyLoss --optimizer momentum,lr=0.01,nesterov --freeze '/backbone*/' -o t.onnx
  onnxtxt train training.onnx -i data.npz --epochs 10 --batch 32 --shuffle -o trained.onnx
Optimizers and their settings:
  sgd       lr=0.01, norm=0
  momentum  lr=0.01, alpha=0.9, beta=1, norm=0, nesterov
  adagrad   lr=0.01, epsilon=1e-6, decay=0, norm=0
  adam      lr=0.001, alpha=0.9, beta=0.999, epsilon=1e-8, norm=0")]
pub(crate) struct Args {
    #[command(flatten)]
    edit: EditArgs,
    /// The loss to minimize
    #[arg(long, value_enum, value_name = "LOSS", ignore_case = true)]
    loss: Loss,
    /// How weights follow the gradients: sgd, momentum, adagrad or adam, with settings: adam,lr=0.001
    #[arg(long, value_name = "OPTIMIZER", value_parser = optimizer)]
    optimizer: Optimizer,
    /// The output that the loss compares with the label; default: the first one of floats
    #[arg(long, value_name = "OUTPUT")]
    output_name: Option<String>,
    /// The name of the input with the right answers
    #[arg(long, value_name = "NAME", default_value = "label")]
    label: String,
    /// A weight that stays as it is: its name, or /glob*/; may be repeated
    #[arg(long, value_name = "WEIGHT")]
    freeze: Vec<Selection>,
    /// Scheme of the weights that `train --init` makes
    #[arg(long, value_enum, value_name = "SCHEME", default_value = "kaiming")]
    init: Scheme,
    /// Write gradients that compute intermediate results again instead of keeping them: training needs less memory and more time
    #[arg(long)]
    recompute: bool,
}

/// The initial values of weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Scheme {
    /// Uniform within sqrt(6 / inputs); biases zero, scales one
    Kaiming,
    /// Uniform within sqrt(6 / (inputs + outputs)); biases zero, scales one
    Xavier,
    /// No initialization
    None,
}

fn optimizer(text: &str) -> Result<Optimizer, String> {
    text.parse()
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    edit(&args.edit.file, &args.edit.out, session, "trainable", |model| {
        let mut frozen = HashSet::new();
        for selection in &args.freeze {
            let values = selection.values(model)?;
            if let Some(body) = model.main_body() {
                frozen.extend(values.into_iter().map(|v| model.names[body.values[v].name].to_owned()));
            }
        }
        let registry = registry_of(model);
        let options = Trainable {
            loss: args.loss,
            optimizer: args.optimizer,
            output: args.output_name.clone(),
            label: args.label.clone(),
            initial: match args.init {
                Scheme::Kaiming => Some(Initial::Kaiming),
                Scheme::Xavier => Some(Initial::Xavier),
                Scheme::None => None,
            },
            is_frozen: &|name| frozen.contains(name),
            gradient_results: if args.recompute { Results::Recomputed } else { Results::Kept },
        };
        Ok(trainable(model, registry, &options))
    })
}
