//! Checks imports and functions against the known operators: O07 unknown domains, F09 versions that differ, F12 functions that
//! shadow an operator.

use crate::schema::{Lookup, Registry};
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{Function, FunctionId, Model, NodeId, OpsetImport, normalize_domain};

pub(super) fn check(model: &Model, registry: &Registry, found: &mut Vec<Diagnostic>) {
    unchecked_domains(model, registry, found);
    later_versions(model, registry, found);
    let mut versions: HashMap<&str, (i64, Entity)> = HashMap::default();
    for (i, import) in model.header.opset_imports.iter().enumerate() {
        if let Some(version) = import.version {
            versions.insert(domain_of(model, import), (version, Entity::OpsetImport(index(i))));
        }
    }
    for (f, function) in model.functions.iter() {
        let domain = normalize_domain(model.text(function.domain));
        let name = model.text(function.name);
        if !registry.versions(domain, name).is_empty() {
            let message = format!("function `{name}` has the name of an operator of {}", domain_text(domain));
            let diagnostic = Diagnostic::new(&code::FUNCTION_SHADOWS_OPERATOR, Entity::Function(f), message);
            found.push(diagnostic.help("give it a domain of its own"));
        }
        for (i, import) in function.opset_imports.iter().enumerate() {
            let Some(version) = import.version else { continue };
            let place = Entity::FunctionOpsetImport(f, index(i));
            let domain = domain_of(model, import);
            match versions.get(domain) {
                None => {
                    versions.insert(domain, (version, place));
                }
                Some(&(other, at)) if other != version => {
                    let pair = Pair { domain, version, other, place, at };
                    versions_differ(model, registry, (f, function), &pair, found);
                }
                Some(_) => {}
            }
        }
    }
}

/// O04: imports of later versions than the document of the domain has.
fn later_versions(model: &Model, registry: &Registry, found: &mut Vec<Diagnostic>) {
    let of_model = model.header.opset_imports.iter().enumerate();
    let of_model = of_model.map(|(i, import)| (Entity::OpsetImport(index(i)), import));
    let of_functions = model.functions.iter().flat_map(|(f, function)| {
        let imports = function.opset_imports.iter().enumerate();
        imports.map(move |(i, import)| (Entity::FunctionOpsetImport(f, index(i)), import))
    });
    for (place, import) in of_model.chain(of_functions) {
        let domain = domain_of(model, import);
        let (Some(version), Some(last)) = (import.version, registry.last_version(domain)) else { continue };
        if version > last {
            let message = format!(
                "unknown version {version} of `{domain}`: its operator-set document has version {last}"
            );
            found.push(Diagnostic::new(&code::OPSET_VERSION, place, message));
        }
    }
}

/// Two versions of a domain, with the imports that name them.
struct Pair<'m> {
    domain: &'m str,
    version: i64,
    other: i64,
    place: Entity,
    at: Entity,
}

/// F09: the first operator of the body that differs between both versions.
fn versions_differ(
    model: &Model,
    registry: &Registry,
    (f, function): (FunctionId, &Function),
    pair: &Pair<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let body = &model.bodies[function.body];
    let differs = |node: &NodeId| {
        let node = &body.nodes[*node];
        let op = model.text(node.op);
        let is_of_domain = normalize_domain(model.text(node.domain)) == pair.domain;
        let lookup = |version| registry.lookup(pair.domain, op, version);
        is_of_domain
            && matches!(lookup(pair.version), Lookup::Found(_))
            && lookup(pair.version) != lookup(pair.other)
    };
    let nodes = body.graphs.values().flat_map(|g| g.nodes.iter().copied());
    let Some(node) = nodes.into_iter().find(differs) else { return };
    let (name, op) = (model.text(function.name), model.text(body.nodes[node].op));
    let domain = domain_text(pair.domain);
    let message = format!(
        "function `{name}` imports version {} of {domain}, where `{op}` differs from version {}",
        pair.version, pair.other
    );
    let diagnostic = Diagnostic::new(&code::FUNCTION_OPSET_CONFLICT, pair.place, message)
        .related(pair.at, format!("imports version {}", pair.other))
        .related(Entity::NodeOp(model.functions[f].body, node), format!("use of `{op}`"));
    found.push(diagnostic.help("convert the function to the version that the model imports"));
}

/// O07: domains that no schema and no function of the model defines.
fn unchecked_domains(model: &Model, registry: &Registry, found: &mut Vec<Diagnostic>) {
    let with_functions: HashSet<&str> =
        model.functions.values().map(|f| normalize_domain(model.text(f.domain))).collect();
    let nodes = model.bodies.values().flat_map(|body| body.nodes.values());
    let used: HashSet<&str> = nodes.map(|node| normalize_domain(model.text(node.domain))).collect();
    for (i, import) in model.header.opset_imports.iter().enumerate() {
        let domain = domain_of(model, import);
        let is_known = registry.newest_version(domain).is_some() || with_functions.contains(domain);
        if used.contains(domain) && !is_known {
            let message = format!("unknown domain {domain}: its nodes are not checked");
            let diagnostic = Diagnostic::new(&code::DOMAIN_UNCHECKED, Entity::OpsetImport(index(i)), message);
            found.push(diagnostic.help("declare its signatures in an operator-set document: `--opset FILE`"));
        }
    }
}

fn domain_of<'m>(model: &'m Model, import: &OpsetImport) -> &'m str {
    normalize_domain(model.text(import.domain))
}

fn domain_text(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
