//! Lints: legal but questionable models, on level `strict`.
//!
//! A lint checks one node with its facts ([`LintSite`]), or the stored tensors and declared names of the model. It reports only what
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

mod cast;
mod control;
mod idle;
mod numbers;
mod shapes;
mod site;
mod stored;

use crate::infer::Facts;
use crate::pass::local_functions;
use crate::schema::{Lookup, Registry};
use foldhash::HashMap;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{BodyId, Model, Uses, normalize_domain};
use site::LintSite;

/// A lint of the nodes of one operator.
type Lint = fn(&LintSite<'_>) -> Option<Diagnostic>;

/// The lints of nodes by operator of ai.onnx.
const LINTS: &[(&str, Lint)] = &[
    ("Add", idle::idle),
    ("BatchNormalization", control::batch_normalization),
    ("Cast", idle::idle),
    ("Cast", cast::chain),
    ("Cast", cast::double_constant),
    ("CastLike", idle::idle),
    ("Clip", numbers::clip),
    ("Concat", idle::idle),
    ("Div", idle::idle),
    ("Div", numbers::division),
    ("Dropout", idle::idle),
    ("Dropout", control::dropout),
    ("Expand", idle::idle),
    ("Flatten", idle::idle),
    ("Hardmax", shapes::softmax),
    ("Identity", idle::idle),
    ("If", control::condition),
    ("LogSoftmax", shapes::softmax),
    ("Loop", control::trips),
    ("Max", idle::idle),
    ("Mean", idle::idle),
    ("Min", idle::idle),
    ("Mod", numbers::division),
    ("Mul", idle::idle),
    ("Pad", idle::idle),
    ("Pad", numbers::pad),
    ("Reshape", idle::idle),
    ("Reshape", shapes::batch),
    ("Resize", shapes::resize),
    ("Slice", idle::idle),
    ("Softmax", shapes::softmax),
    ("Squeeze", idle::idle),
    ("Sub", idle::idle),
    ("Sum", idle::idle),
    ("Tile", idle::idle),
    ("Transpose", idle::idle),
    ("Unsqueeze", idle::idle),
];

/// All lint findings of a model with these facts.
pub(super) fn check(model: &Model, registry: &Registry, facts: &Facts, found: &mut Vec<Diagnostic>) {
    let mut lints: HashMap<&str, Vec<Lint>> = HashMap::default();
    for (op, lint) in LINTS {
        lints.entry(op).or_default().push(*lint);
    }
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
            let (Some(lints), Some(version)) = (lints.get(op), version) else { continue };
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
