//! Repeats the passes that make a model smaller until none of them changes it.

use super::{Outcome, Pass, fuse, lift_constants};
use crate::opset::registry_of;
use crate::schema::Registry;
use onnx_ir::Model;
use onnx_ir::pass::{PassChange, Report, compact};

/// The passes of each round before and after the fusions, by name.
const BEFORE: &[&str] = &["fold-constants", "remove-no-ops"];
const AFTER: &[&str] = &["common-subexpressions", "dead-code"];
/// Models need a few rounds; the limit stops passes that undo each other.
const ROUNDS: usize = 32;

/// Makes a model smaller: folds constants, removes no-ops, fuses nodes, eliminates common subexpressions and removes dead code.
/// Results stay the same except for rounding.
pub fn simplify(model: &mut Model) -> Report {
    let mut all = Report::default();
    let mut is_first = true;
    for _ in 0..ROUNDS {
        let mut is_changed = false;
        let named = |names: &'static [&'static str]| names.iter().filter_map(|name| Pass::parse(name).ok());
        let steps: Vec<SimplifyStep> = named(BEFORE)
            .map(SimplifyStep::Pass)
            .chain([SimplifyStep::Function(rewrite)])
            .chain(named(AFTER).map(SimplifyStep::Pass))
            .collect();
        for step in steps {
            let registry = registry_of(model);
            let report = match step {
                SimplifyStep::Pass(pass) => {
                    let Outcome { report, .. } = pass.run(model, registry);
                    report
                }
                SimplifyStep::Function(function) => {
                    let report = function(model, registry);
                    compact(model);
                    report
                }
            };
            is_changed |= report.is_changed();
            report.changes.into_iter().for_each(|change| add(&mut all, change));
            // Only the first pass reads the model of the file, to which places refer.
            if std::mem::take(&mut is_first) {
                all.diagnostics.extend(report.diagnostics);
            }
        }
        if !is_changed {
            break;
        }
    }
    all
}

/// A step of the pipeline.
enum SimplifyStep {
    Pass(Pass),
    Function(fn(&mut Model, &Registry) -> Report),
}

/// Lifts constants, and fuses nodes.
fn rewrite(model: &mut Model, registry: &Registry) -> Report {
    let mut report = lift_constants(model, registry);
    let fused = fuse::fuse_all(model, registry);
    report.changes.extend(fused.changes);
    report
}

fn add(report: &mut Report, change: PassChange) {
    match report.changes.iter_mut().find(|c| (c.noun, c.verb) == (change.noun, change.verb)) {
        Some(known) => known.count += change.count,
        None => report.changes.push(change),
    }
}
