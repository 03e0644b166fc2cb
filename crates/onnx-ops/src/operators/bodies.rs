//! The function body of an operator: a file found by its name, or the draft that its row names.

use super::find;
use crate::bodies::{self, Draft, site::CallSite};
use crate::facts::Facts;
use crate::opset::{CONTRIBUTED, is_added};
use crate::schema::{BodyKind, Registry, Schema, set::FunctionBody};
use onnx_ir::{BodyId, Model, NodeId, normalize_domain};

/// How an operator is defined by a function.
enum BodySource {
    Text(&'static str),
    /// `None` if the facts about the node are insufficient.
    Draft(fn(&CallSite<'_>) -> Option<Draft>),
}

/// The body of a node's operator, if it has one and the facts suffice.
///
/// `facts` has the types of the node's inputs; bodies that do not depend on types exist without. The function has the attributes
/// as parameters, or was built for their values: either way it replaces the node with its attributes. It imports what the body
/// around the node imports; a body from an operator set document imports what the document states.
pub fn body_of(
    model: &Model,
    registry: &Registry,
    facts: &Facts,
    body: BodyId,
    node: NodeId,
) -> Option<FunctionBody> {
    bodies::body_of(model, registry, facts, (body, node), of)
}

/// Whether an operator has a body that is valid in a version of ai.onnx. For some nodes, facts may be insufficient to build it.
pub fn has_body(schema: &Schema, version: i64) -> bool {
    source(schema, version).is_some()
}

/// The newest valid body, and the version of ai.onnx from which on it is valid: bodies of standard operators must be valid in
/// the version of their user; others import what they need.
fn source(schema: &Schema, version: i64) -> Option<(i64, BodySource)> {
    let domain = normalize_domain(&schema.domain);
    let is_contributed = domain == CONTRIBUTED || is_added(schema);
    // For contributed operators, bodies can exist that their document does not mention.
    if schema.body == BodyKind::None && !is_contributed {
        return None;
    }
    let text =
        bodies::texts::of(domain, &schema.name, version).map(|(since, text)| (since, BodySource::Text(text)));
    let draft = find(domain, &schema.name).and_then(|row| row.body);
    let draft = draft.filter(|(since, _)| *since <= version || is_contributed);
    text.or(draft.map(|(since, draft)| (since, BodySource::Draft(draft))))
}

pub(super) fn of(site: &CallSite<'_>) -> Option<FunctionBody> {
    let (since, source) = source(site.schema, site.version)?;
    let version = site.version.max(since);
    match source {
        BodySource::Text(text) => bodies::read(text, version),
        BodySource::Draft(draft) => bodies::read(&draft(site)?.text(site), version),
    }
}
