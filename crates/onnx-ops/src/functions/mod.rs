//! Function bodies of operators, in ONNX text.
//!
//! A body that is valid for all uses of an operator is a file in `text`; one that depends on attributes, types or present inputs
//! is built by a function, which the row of the operator names. Both have a minimum version of ai.onnx, because the operators that they use change
//! between versions; the newest valid one is used, and it imports what its user imports.
//!
//! ```text
//! <domain: "ai.onnx", opset_import: ["": 24]>
//! Swish <alpha: float = 1.0> (X) => (Y)
//! {
//!     alpha_float = Constant <value_float: float = @alpha> ()
//!     alpha = CastLike (alpha_float, X)
//!     scaled = Mul (alpha, X)
//!     gate = Sigmoid (scaled)
//!     Y = Mul (X, gate)
//! }
//! ```
//!
//! Inference uses a body where there is no rule, and bodies can be inlined.

mod alone;
pub(crate) mod draft;
mod expand;
pub(crate) mod site;
mod texts;

use crate::infer::{Facts, NodeCx};
use crate::operators;
use crate::opset::{CONTRIBUTED, is_added};
use crate::schema::{BodyKind, Lookup, Registry, Schema, SchemaId};
pub use alone::alone;
pub(crate) use draft::Draft;
pub use expand::{Expand, expand};
use foldhash::HashMap;
use onnx_ir::{Body, BodyId, FunctionId, Model, NodeId, normalize_domain};
use site::CallSite;
use std::sync::{Arc, LazyLock, Mutex};

/// A function that defines a node's operator, in a model of its own.
#[derive(Clone, Debug)]
pub struct FunctionBody {
    /// The model that has the function.
    pub model: Arc<Model>,
    /// The function.
    pub id: FunctionId,
}

/// How an operator is defined by a function.
enum BodySource {
    Text(&'static str),
    /// `None` if the facts about the node are insufficient.
    Draft(fn(&CallSite<'_>) -> Option<Draft>),
}

/// The body of an operator for a node that is being inferred, if the operator has one.
pub(crate) fn body(cx: &NodeCx<'_, '_>, schema: SchemaId) -> Option<FunctionBody> {
    if let Some(body) = cx.registry().body(schema) {
        return Some(body.clone());
    }
    of(&CallSite::of_cx(cx)?)
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
    let function = model.functions.values().find(|f| f.body == body);
    let version = |domain: &str| model.newest_import(body, domain);
    let n = &model.bodies[body].nodes[node];
    let domain = normalize_domain(model.text(n.domain));
    let Lookup::Found(id) = registry.lookup(domain, model.text(n.op), version(domain)?) else { return None };
    if let Some(body) = registry.body(id) {
        return Some(body.clone());
    }
    of(&CallSite::of_node(model, facts, body, function, node, registry.get(id), version("")?))
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
    let text = texts::of(domain, &schema.name, version).map(|(since, text)| (since, BodySource::Text(text)));
    let draft = operators::find(domain, &schema.name).and_then(|row| row.body);
    let draft = draft.filter(|(since, _)| *since <= version || is_contributed);
    text.or(draft.map(|(since, draft)| (since, BodySource::Draft(draft))))
}

fn of(site: &CallSite<'_>) -> Option<FunctionBody> {
    let (since, source) = source(site.schema, site.version)?;
    let version = site.version.max(since);
    match source {
        BodySource::Text(text) => read(text, version),
        BodySource::Draft(draft) => read(&draft(site)?.text(site), version),
    }
}

/// The most parsed bodies that are kept, and the longest.
const MAX_KEPT: usize = 512;
const LONGEST_KEPT: usize = 1 << 14;

/// Parses the text of a function, which imports `version` of ai.onnx.
pub(crate) fn read(text: &str, version: i64) -> Option<FunctionBody> {
    static KEPT: LazyLock<Mutex<HashMap<(String, i64), FunctionBody>>> = LazyLock::new(Mutex::default);
    let may_keep = text.len() <= LONGEST_KEPT;
    let key = (text.to_owned(), version);
    if let Ok(kept) = KEPT.lock()
        && let Some(body) = kept.get(&key)
    {
        return Some(body.clone());
    }
    let mut model = Model::new();
    let (function, diagnostics) = onnx_text::read_function(text, &mut model).into_parts();
    debug_assert!(diagnostics.is_empty(), "{diagnostics:?}\n{text}");
    let id = function.filter(|_| diagnostics.is_empty())?;
    for import in &mut model.functions[id].opset_imports {
        import.version = Some(version);
    }
    let body = FunctionBody { model: Arc::new(model), id };
    if may_keep
        && let Ok(mut kept) = KEPT.lock()
        && kept.len() < MAX_KEPT
    {
        kept.insert(key, body.clone());
    }
    Some(body)
}

impl FunctionBody {
    /// The nodes and values of the function.
    pub fn body(&self) -> &Body {
        &self.model.bodies[self.model.functions[self.id].body]
    }
}
