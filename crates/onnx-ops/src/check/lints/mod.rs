//! Lints: legal but questionable models, on level `strict`.
//!
//! A lint of one node ([`LintSite`], `crate::lint`) is named by the row of its operator and stands in `lints.rs` of the family; those of several
//! families are here, with the checks of stored tensors and declared names of a whole model. They report only what
//! is certain; a fix that keeps every value is safe. Functions are skipped: what holds for the present calls does not justify
//! changing a function.
//!
//! | file | what |
//! | --- | --- |
//! | `shapes` | formulas that differ, symbols that differ in case |
//! | `stored` | weights that are stored twice, in the wrong place, or too large |

mod shapes;
mod stored;

use crate::infer::Facts;
use crate::lint::{LintSite, local_functions};
use crate::operators;
use crate::schema::{Lookup, Registry};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{BodyId, Model, Uses, normalize_domain};

/// All lint findings of a model with these facts.
pub(super) fn check(model: &Model, registry: &Registry, facts: &Facts, found: &mut Vec<Diagnostic>) {
    let local = local_functions(model);
    let version = model
        .header
        .opset_imports
        .iter()
        .find(|i| normalize_domain(model.text(i.domain)).is_empty())
        .and_then(|i| i.version);
    let training = model.training.iter().flat_map(|t| t.initialization.into_iter().chain(t.algorithm));
    let bodies: Vec<BodyId> = model.main.into_iter().chain(training).collect();
    for &id in &bodies {
        let body = &model.bodies[id];
        let uses = Uses::of(body);
        let nodes = body.graphs.values().flat_map(|graph| graph.nodes.iter().copied());
        for node_id in nodes {
            let node = &body.nodes[node_id];
            let op = model.text(node.op);
            let is_local = node.op.is_some_and(|op| local.contains(&(String::new(), op)));
            if !normalize_domain(model.text(node.domain)).is_empty() || is_local {
                continue;
            }
            let lints = operators::find("", op).map_or(&[][..], |row| row.lints);
            let (false, Some(version)) = (lints.is_empty(), version) else { continue };
            let Lookup::Found(schema) = registry.lookup("", op, version) else { continue };
            let schema = registry.get(schema);
            let site = LintSite {
                model,
                body_id: id,
                body,
                id: node_id,
                node,
                schema,
                facts,
                uses: &uses,
                local: &local,
            };
            found.extend(lints.iter().filter_map(|lint| lint(&site)));
        }
        stored::check(model, id, &uses, found);
        shapes::formulas(model, facts, id, found);
    }
    stored::near_limit(model, found);
    shapes::spellings(model, found);
}
