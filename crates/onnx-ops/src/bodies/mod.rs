//! The parts of function bodies: the node ([`CallSite`]), lines of text ([`Draft`]), and the bodies in files.

pub(crate) mod draft;
pub(crate) mod site;
pub(crate) mod texts;

use crate::facts::Facts;
use crate::schema::{Lookup, Registry, set::FunctionBody};
pub(crate) use draft::Draft;
use foldhash::HashMap;
use onnx_ir::{BodyId, Model, NodeId, normalize_domain};
use site::CallSite;
use std::sync::{Arc, LazyLock, Mutex};

/// Finds or builds the body of the operator of a node; `None` if it has none, or if the facts about the node are insufficient.
pub(crate) type BodyOf = fn(&CallSite<'_>) -> Option<FunctionBody>;

/// The body of a node's operator: that of its document, or what `of` returns.
pub(crate) fn body_of(
    model: &Model,
    registry: &Registry,
    facts: &Facts,
    (body, node): (BodyId, NodeId),
    of: BodyOf,
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
