//! Lints: legal but questionable models, on level `strict`.
//!
//! A lint of the row of an operator checks one node with its facts ([`LintSite`]), others check or the stored tensors and declared names of the model. It reports only what
//! is certain; a fix that keeps every value is safe. Functions are skipped: what holds for the present calls does not justify
//! changing a function.
//!
//! | file | what |
//! | --- | --- |
//! | `idle` | nodes that return their input |
//! | `cast` | redundant casts |
//! | `numbers` | bounds, pads and divisors that are probably a mistake |
//! | `shapes` | shapes for one batch size only, axes whose meaning changed, symbols that differ in case, formulas that differ |
//! | `control` | constant conditions, training mode in an inference model |
//! | `stored` | weights that are stored twice, in the wrong place, or too large |

pub(crate) mod cast;
pub(crate) mod control;
pub(crate) mod idle;
pub(crate) mod numbers;
pub(crate) mod shapes;
mod site;
mod stored;

use crate::infer::Facts;
use crate::operators;
use crate::pass::local_functions;
use crate::schema::{Lookup, Registry};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{BodyId, Model, Uses, normalize_domain};
use site::LintSite;

/// A lint of the nodes of one operator.
pub(crate) type Lint = fn(&LintSite<'_>) -> Option<Diagnostic>;

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
