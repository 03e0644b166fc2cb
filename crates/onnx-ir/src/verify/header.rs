//! Header and operator-set imports: M02–M04, O01–O06, D04, and the imports of functions, F08.

use super::context::{Findings, Role, Seen, VerifyContext, index};
use crate::diag::{Diagnostic, Entity, ModelChange, code};
use crate::ids::FunctionId;
use crate::model::OpsetImport;
use crate::names::Name;
use crate::releases::{NEWEST_IR, min_ir_version, newest_version};
use crate::semver::Version;

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let header = &cx.model.header;
    let imports = &header.opset_imports;
    match header.ir_version {
        None if imports.is_empty() => found.push(
            Diagnostic::new(&code::IR_VERSION, Entity::Header, "model has no header")
                .help("begin the model with `<ir_version: 10, opset_import: [\"\": 21]>`"),
        ),
        None => found.push(
            Diagnostic::new(&code::IR_VERSION, Entity::Header, "model has no `ir_version`")
                .help("add `ir_version` to the header"),
        ),
        Some(version) if version < 1 => {
            let message = format!("invalid `ir_version` {version}: the first version is 1");
            found.push(Diagnostic::new(&code::IR_VERSION, Entity::IrVersion, message));
        }
        Some(version) if version > NEWEST_IR => {
            let message = format!("unknown `ir_version` {version}: the newest known version is {NEWEST_IR}");
            found.push(Diagnostic::new(&code::IR_VERSION, Entity::IrVersion, message));
        }
        Some(version) if version < 3 && !imports.is_empty() => {
            let message = format!("IR version {version} has no `opset_import`");
            found.push(
                Diagnostic::new(&code::OPSET_BEFORE_IR3, Entity::OpsetImport(0), message)
                    .related(Entity::IrVersion, "the IR version")
                    .help("set `ir_version` to 3 or later"),
            );
        }
        Some(version) if version >= 3 && imports.is_empty() => {
            let (newest, _) = version_for(cx, Name::empty(), None);
            let change = ModelChange::Import(None, String::new(), newest);
            found.push(
                Diagnostic::new(
                    &code::OPSET_MISSING,
                    Entity::Header,
                    "model does not import an operator set",
                )
                .help("add `opset_import` to the header")
                .change(format!("import version {newest} of `ai.onnx`"), vec![change], false),
            );
        }
        Some(_) => {}
    }
    if cx.model.main.is_none() {
        found.push(Diagnostic::new(&code::GRAPH_MISSING, Entity::Header, "model has no graph"));
    }
    if let Some(version) = header.model_version.filter(|&v| v < 0) {
        let version_text = Version::of(Some(version));
        let message = format!("negative `model_version` {version}, which reads as {version_text}");
        found.push(Diagnostic::new(&code::MODEL_VERSION, Entity::ModelVersion, message));
    }
    recommended(cx, found);

    let mut domains = Seen::new();
    imported(cx, found, imports, &mut domains, None);
    opset_and_ir(cx, found);
    used_domains(cx, found, &mut domains);
}

fn recommended(cx: &VerifyContext<'_>, found: &mut Findings) {
    if !found.wants(&code::HEADER_RECOMMENDED) {
        return;
    }
    let header = &cx.model.header;
    let stated = [
        ("producer_name", header.producer_name),
        ("producer_version", header.producer_version),
        ("domain", header.domain),
    ];
    let missing: Vec<_> = (stated.iter())
        .filter(|(_, value)| value.is_none_or(Name::is_empty))
        .map(|(key, _)| format!("`{key}`"))
        .collect();
    if !missing.is_empty() {
        let message = format!("header has no {}", missing.join(", "));
        found.push(Diagnostic::new(&code::HEADER_RECOMMENDED, Entity::Header, message));
    }
    let mut look = |domain: Option<Name>, place: Entity| {
        let text = cx.model.text(domain);
        if !text.is_empty() && !is_reverse_dns(text) {
            let message = format!("domain `{text}` is not a reversed DNS name such as `com.example`");
            found.push(Diagnostic::new(&code::HEADER_RECOMMENDED, place, message));
        }
    };
    look(header.domain, Entity::Header);
    for (i, import) in header.opset_imports.iter().enumerate() {
        look(import.domain, Entity::OpsetImport(index(i)));
    }
}

/// Whether a name is at least two labels with dots between them.
fn is_reverse_dns(domain: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    domain.contains('.') && domain.split('.').all(is_label)
}

/// Checks a list of imports, of the model or of function `f`, and remembers their domains.
fn imported(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    imports: &[OpsetImport],
    domains: &mut Seen<u32>,
    function: Option<crate::FunctionId>,
) {
    domains.clear();
    let place = |i| match function {
        Some(f) => Entity::FunctionOpsetImport(f, i),
        None => Entity::OpsetImport(i),
    };
    for (i, import) in imports.iter().enumerate() {
        let i = index(i);
        let domain = cx.domain(import.domain);
        let text = cx.domain_text(domain);
        if let Some(first) = domains.first(domain, i) {
            let code = if function.is_some() { &code::FUNCTION_IMPORTS } else { &code::OPSET_DUPLICATE };
            let message = format!("domain `{text}` is imported twice");
            let mut diagnostic =
                Diagnostic::new(code, place(i), message).related(place(first), "the first import");
            if imports[first as usize].version == import.version {
                diagnostic =
                    diagnostic.change("remove the second import", vec![ModelChange::Remove(place(i))], true);
            }
            found.push(diagnostic);
        }
        let version = import.version.unwrap_or(0);
        let newest = newest_version(cx.text(domain)).unwrap_or(i64::from(i32::MAX));
        let message = if import.version.is_none() {
            format!("import of `{text}` has no version")
        } else if version < 1 {
            format!("invalid version {version} of `{text}`: the first version is 1")
        } else if version > newest && newest == i64::from(i32::MAX) {
            format!("version {version} of `{text}` does not fit 32 bits")
        } else if version > newest {
            format!("unknown version {version} of `{text}`: the newest known version is {newest}")
        } else {
            continue;
        };
        found.push(Diagnostic::new(&code::OPSET_VERSION, place(i), message));
    }
}

fn opset_and_ir(cx: &VerifyContext<'_>, found: &mut Findings) {
    let imports = &cx.model.header.opset_imports;
    let Some((i, import)) = (imports.iter().enumerate()).find(|(_, m)| cx.domain(m.domain).is_empty()) else {
        return;
    };
    // Below IR 3 the import itself is the mistake.
    let Some(version) = import.version.filter(|_| cx.ir_version >= 3) else { return };
    // The IR version for an unreleased operator set version is unknown; the version itself is reported.
    let Some(needed) = min_ir_version("", version) else { return };
    if cx.ir_version < needed {
        let message = format!(
            "version {version} of `ai.onnx` needs IR version {needed}, but the model has {}",
            cx.ir_version
        );
        found.push(
            Diagnostic::new(&code::OPSET_NEEDS_NEWER_IR, Entity::OpsetImport(index(i)), message)
                .related(Entity::IrVersion, "the IR version")
                .help(format!("set `ir_version` to {needed}")),
        );
    }
}

/// Reports the first node of each domain that its model or function does not import. `domains` contains those that the model
/// imports.
pub(super) fn used_domains(cx: &VerifyContext<'_>, found: &mut Findings, domains: &mut Seen<u32>) {
    let model_imports = &cx.model.header.opset_imports;
    let mut own = Seen::new();
    for view in &cx.bodies {
        let (imports, domains, code) = match view.role {
            Role::Function(f) => {
                let imports = &cx.model.functions[f].opset_imports;
                imported(cx, found, imports, &mut own, Some(f));
                (imports, &mut own, &code::FUNCTION_IMPORTS)
            }
            // A model without imports is one mistake; below IR 3 the default domain is implied.
            Role::Main | Role::Initialization(_) | Role::Algorithm(_) => {
                if model_imports.is_empty() {
                    continue;
                }
                (model_imports, &mut *domains, &code::DOMAIN_NOT_IMPORTED)
            }
        };
        let function = match view.role {
            Role::Function(f) => Some(f),
            Role::Main | Role::Initialization(_) | Role::Algorithm(_) => None,
        };
        for node in view.layout.special_nodes() {
            let domain = cx.domain(view.body.nodes[node].domain);
            if domains.first(domain, u32::MAX).is_some() {
                continue;
            }
            let text = cx.domain_text(domain);
            let candidates = imports.iter().map(|i| cx.domain_text(cx.domain(i.domain)));
            let (version, is_certain) = version_for(cx, domain, function);
            let help = if is_certain { None } else { found.suggest(text, imports.len(), candidates) };
            let who = if view.role.is_function() { "function" } else { "model" };
            let message = format!("domain `{text}` is not imported by the {who}");
            let diagnostic = Diagnostic::new(code, Entity::NodeOp(view.id, node), message);
            if let Some(help) = help {
                found.push(diagnostic.help(help));
                continue;
            }
            // One of the imports that there are may be this one, misspelt.
            let is_safe = is_certain && imports.is_empty();
            let change = ModelChange::Import(function, text.to_owned(), version);
            let diagnostic = diagnostic
                .help(format!("add `\"{text}\": {version}` to `opset_import`"))
                .change(format!("import version {version} of `{text}`"), vec![change], is_safe);
            found.push(diagnostic);
        }
    }
}

/// The version in which to import a domain, and whether it is certain: the one that the rest of the model imports,
/// the newest of the IR version, or the first of a domain that the model defines.
fn version_for(cx: &VerifyContext<'_>, domain: Name, function: Option<FunctionId>) -> (i64, bool) {
    let model = cx.model;
    let of_model = model.header.opset_imports.iter().filter(|_| function.is_some());
    let of_functions = model.functions.values().flat_map(|f| &f.opset_imports);
    let mut imports = of_model.chain(of_functions);
    if let Some(version) =
        imports.find(|i| cx.domain(i.domain) == domain).and_then(|i| i.version).filter(|&v| v >= 1)
    {
        return (version, true);
    }
    let text = cx.text(domain);
    if let Some(newest) = newest_version(text) {
        let fits = |&version: &i64| min_ir_version(text, version).is_some_and(|ir| ir <= cx.ir_version);
        return ((1..=newest).rev().find(fits).unwrap_or(1), true);
    }
    (1, model.functions.values().any(|f| cx.domain(f.domain) == domain))
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_model_without_header_is_one_mistake() {
        let mut model = relu();
        assert_eq!(findings(&model), [""; 0]);
        model.header.ir_version = None;
        assert_eq!(findings(&model), ["E0302 model has no `ir_version`"]);
        model.header.opset_imports.clear();
        assert_eq!(findings(&model), ["E0302 model has no header"]);
        model.header.ir_version = Some(10);
        assert_eq!(findings(&model), ["E0311 model does not import an operator set"]);
        model.header.ir_version = Some(2);
        assert_eq!(findings(&model), [""; 0]);
    }

    #[test]
    fn versions_lie_in_what_is_published() {
        for (ir, message) in
            [(99, "newest known version is 14"), (0, "first version is 1"), (-1, "first version is 1")]
        {
            let mut model = relu();
            model.header.ir_version = Some(ir);
            assert!(findings(&model)[0].contains(message), "{:?}", findings(&model));
        }
        for (version, message) in [
            (Some(0), "E0314 invalid version 0 of `ai.onnx`: the first version is 1"),
            (Some(99), "E0314 unknown version 99 of `ai.onnx`: the newest known version is 28"),
            (None, "E0314 import of `ai.onnx` has no version"),
        ] {
            let mut model = relu();
            model.header.ir_version = Some(14);
            model.header.opset_imports[0].version = version;
            assert_eq!(findings(&model), [message]);
        }
        let mut model = relu();
        model.header.opset_imports[1].version = Some(1 << 40);
        assert_eq!(findings(&model), ["E0314 version 1099511627776 of `l` does not fit 32 bits"]);
    }

    #[test]
    fn both_spellings_of_the_default_domain_are_one() {
        let mut model = draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("ai.onnx.Relu", &["x"], &["y"])));
        assert_eq!(findings(&model), [""; 0]);
        let ai_onnx = model.names.intern("ai.onnx");
        model.header.opset_imports.push(OpsetImport { domain: Some(ai_onnx), version: Some(13) });
        assert_eq!(findings(&model), ["W0313 domain `ai.onnx` is imported twice"]);
    }

    #[test]
    fn the_first_node_of_a_domain_that_is_not_imported_is_reported() {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.node("com.acme.A", &["x"], &["t"]);
                d.node("com.acme.B", &["t"], &["y"]);
            });
        });
        function(&mut model, "f", |d| {
            d.graph("f", &["a"], &["b"], |d| d.node("com.acme.A", &["a"], &["b"]));
        });
        let expected = [
            "E0315 domain `com.acme` is not imported by the model",
            "E0808 domain `com.acme` is not imported by the function",
        ];
        assert_eq!(findings(&model), expected);
    }

    #[test]
    fn an_old_ir_version_does_not_have_new_operators() {
        let mut model = relu();
        model.header.ir_version = Some(4);
        assert_eq!(
            findings(&model),
            ["W0316 version 21 of `ai.onnx` needs IR version 10, but the model has 4"]
        );
    }

    #[test]
    fn a_model_has_a_graph_and_counts_up() {
        let mut model = relu();
        model.main = None;
        model.header.model_version = Some(-5);
        assert_eq!(
            findings(&model),
            [
                "E0303 model has no graph",
                "W0324 negative `model_version` -5, which reads as 65535.65535.4294967291"
            ]
        );
        assert!(at_level(&relu(), super::super::Level::Strict)[0].starts_with("W0304 header has no"));
    }
}
