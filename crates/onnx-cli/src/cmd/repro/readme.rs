//! The README of a report.

use super::Args;
use crate::output::numbers::count;
use crate::output::results::Results;
use crate::programs::user_command::Exit;
use onnx_exec::Value;
use onnx_ir::{Model, normalize_domain};
use onnx_text::visible;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The content of the README.
pub(super) struct Readme<'r> {
    pub(super) name: &'r str,
    pub(super) model: &'r Model,
    pub(super) inputs: &'r Results,
    pub(super) command: &'r str,
    /// How the command ends for the original and for this model.
    pub(super) ends: Option<[Exit; 2]>,
    /// The part of the model on which the difference between these depends, if it is known.
    pub(super) depends: Option<&'static str>,
    /// Whether the command has words in place of paths.
    pub(super) has_paths: bool,
    pub(super) args: &'r Args,
}

impl Readme<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = "# A model that shows a problem\n\nRun:\n\n".to_owned();
        // Names of the model and words of the command are part of a line, whatever is in them.
        let mut line = |line: String| _ = writeln!(text, "{}", visible(&line.replace('\n', "\\n")));
        line(format!("    {}", self.command));
        line(String::new());
        match self.ends {
            Some([original, now]) if original == now => {
                line(format!("The command {now}, as for the original model."));
                line(String::new());
            }
            Some([original, now]) => {
                let why = self.depends.map(|part| format!("; it depends on {part}")).unwrap_or_default();
                line(format!("The command {now}; for the original model it {original}{why}."));
                line(String::new());
            }
            None => {}
        }
        line("| | |".to_owned());
        line("| --- | --- |".to_owned());
        line(format!("| model | {} |", self.name));
        if self.args.anonymize {
            let weights =
                if self.args.keep_weights { "; weights are the original ones" } else { " and weights" };
            line(format!("| anonymous | names, documentation, metadata, strings{weights} |"));
            if self.has_paths {
                line("| command | paths are replaced: `PATH_0` … |".to_owned());
            }
        }
        line(format!("| onnxtxt | {} |", env!("CARGO_PKG_VERSION")));
        line(format!("| system | {} {} |", std::env::consts::OS, std::env::consts::ARCH));
        if let Some(version) = self.model.header.ir_version {
            line(format!("| IR version | {version} |"));
        }
        let opsets = self.model.header.opset_imports.iter().map(|import| {
            let domain = normalize_domain(self.model.text(import.domain));
            let domain = if domain.is_empty() { "ai.onnx" } else { domain };
            format!("{domain} {}", import.version.map_or("?".to_owned(), |version| version.to_string()))
        });
        line(format!("| operator sets | {} |", opsets.collect::<Vec<_>>().join(", ")));
        line(format!("| operators | {} |", self.operators()));
        for (name, value) in self.inputs {
            let ty = match value {
                Value::Tensor(tensor) => tensor.type_text(),
                other => other.kind().to_owned(),
            };
            line(format!("| input | `{name}`: {ty}, in inputs.npz |"));
        }
        text
    }

    /// `12 nodes: 4 Conv, 3 Relu`
    fn operators(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let nodes = self.model.bodies.values().flat_map(|body| body.nodes.values());
        nodes.for_each(|node| *counts.entry(self.model.text(node.op)).or_default() += 1);
        let total = counts.values().sum();
        let list: Vec<String> = counts.iter().map(|(op, number)| format!("{number} {op}")).collect();
        format!("{}: {}", count(total, "node"), list.join(", "))
    }
}
