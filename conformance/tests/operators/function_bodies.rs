//! Our bodies of operators do what the operators do, and none is missing.

use conformance::bodies::expand;
use conformance::corpus;
use conformance::oracle::Oracle;
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_ops::dims::Dim;
use onnx_ops::functions::has_body;
use onnx_ops::infer::{InferOptions, Inference, Ty, infer};
use onnx_ops::schema::Registry;
use std::collections::BTreeSet;
use std::path::Path;

/// Backend tests of operators with bodies that are not to be compared, with the reason.
const NOT_COMPARED: [(&str, &str); 1] = [("node+test_bernoulli", "random numbers")];

/// Every operator and version that the reference package has a body of.
#[test]
fn no_body_is_missing() {
    let Some(oracle) = Oracle::find("function bodies") else { return };
    let theirs = oracle.run("tests/python/run_bodies.py", &["--list".as_ref()]);
    let theirs: BTreeSet<(String, u64)> = theirs
        .as_array()
        .expect("a list")
        .iter()
        .map(|pair| (pair[0].as_str().expect("a name").to_owned(), pair[1].as_u64().expect("a version")))
        .collect();
    let registry = Registry::builtin();
    let newest = registry.newest_version("").expect("ai.onnx has operators");
    let mut ours = BTreeSet::new();
    for domain in registry.domains() {
        for op in registry.operators(domain) {
            let versions = registry.versions(domain, op);
            for (i, id) in versions.iter().enumerate() {
                let schema = registry.get(*id);
                // The last version of ai.onnx with this version of the operator.
                let last = versions.get(i + 1).map_or(newest, |next| registry.get(*next).since - 1);
                if has_body(schema, last.into()) {
                    ours.insert((schema.name.to_string(), u64::from(schema.since)));
                }
            }
        }
    }
    assert_eq!(ours, theirs);
}

/// The models of one operator that mean the same in an older version of it, as far as that has a body too.
fn older_versions(model: &Model) -> Vec<(String, Model)> {
    let registry = Registry::builtin();
    let body = &model.bodies[model.main.expect("a main graph")];
    let (1, Some(node)) = (body.nodes.len(), body.nodes.values().next()) else { return Vec::new() };
    let (domain, op) = (model.text(node.domain), model.text(node.op));
    // Version 18 has a scale for each group, not for each channel.
    if !domain.is_empty() || op == "GroupNormalization" {
        return Vec::new();
    }
    let versions = registry.versions(domain, op);
    let current = model.header.opset_imports.iter().find(|i| model.text(i.domain).is_empty());
    let Some(current) = current.and_then(|i| i.version) else { return Vec::new() };
    let last = |i: usize| i64::from(registry.get(versions[i + 1]).since) - 1;
    (0..versions.len().saturating_sub(1))
        .filter(|&i| last(i) < current && has_body(registry.get(versions[i]), last(i)))
        .map(|i| {
            let mut older = model.clone();
            for import in &mut older.header.opset_imports {
                import.version = Some(last(i));
            }
            (format!("+{}", last(i)), older)
        })
        // One with inputs, attributes or types that came later means nothing.
        .filter(|(_, older)| {
            !infer(older, registry, &InferOptions::default()).diagnostics.iter().any(Diagnostic::is_error)
        })
        .collect()
}

/// Facts inferred for graph outputs through bodies must not contradict those of the operators' rules.
fn agree(case: &str, model: &Model, expanded: &Model, wrong: &mut Vec<String>) {
    let registry = Registry::builtin();
    let [by_rule, by_body] = [model, expanded].map(|m| infer(m, registry, &InferOptions::default()));
    let errors = |inference: &Inference| inference.diagnostics.iter().filter(|d| d.is_error()).count();
    if errors(&by_body) > errors(&by_rule) {
        wrong.push(format!("{case}: {:?}", by_body.diagnostics));
    }
    let outputs = [model, expanded].map(|m| {
        let body = m.main.expect("a main graph");
        let root = m.bodies[body].root().expect("it is filled");
        m.bodies[body].graphs[root].outputs.iter().map(move |port| (body, port.value)).collect::<Vec<_>>()
    });
    for ((body, rule), (other, through)) in outputs[0].iter().zip(&outputs[1]) {
        let (Some(rule), Some(through)) = (rule, through) else { continue };
        let (rule, through) = (&by_rule.facts.get(*body, *rule).ty, &by_body.facts.get(*other, *through).ty);
        let (Some(a), Some(b)) = (rule.as_tensor(), through.as_tensor()) else { continue };
        let differs = |x: &Dim, y: &Dim| matches!((x, y), (Dim::Const(x), Dim::Const(y)) if x != y);
        let shapes = a.shape.as_ref().zip(b.shape.as_ref());
        let fits = a.elem == b.elem
            && shapes.is_none_or(|(x, y)| x.len() == y.len() && !x.iter().zip(y).any(|(x, y)| differs(x, y)));
        if !fits {
            let text = |ty: &Ty, of: &Inference| ty.text(&of.facts.dims);
            wrong.push(format!(
                "{case}: {} by rule, {} by body",
                text(rule, &by_rule),
                text(through, &by_body)
            ));
        }
    }
}

#[test]
fn bodies_compute_what_the_operators_compute() {
    let Some(corpus) = corpus::folder() else {
        corpus::left_out("function bodies: no corpus (`cargo xtask corpus`)");
        return;
    };
    let Some(oracle) = Oracle::find("function bodies") else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bodies");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let (mut used, mut written, mut contradictions) = (BTreeSet::new(), 0, Vec::new());
    for found in corpus::models() {
        let parts: Vec<&str> = found.name.split('/').collect();
        let ["backend", kind, case, "model"] = parts[..] else { continue };
        let bytes = std::fs::read(&found.path).expect("the corpus can be read");
        let model = onnx_proto::read(bytes.into()).value;
        let older = older_versions(&model);
        for (suffix, model) in std::iter::once((String::new(), model)).chain(older) {
            let mut expanded = model.clone();
            if expand(&mut expanded, &mut used) == 0 {
                continue;
            }
            agree(&found.name, &model, &expanded, &mut contradictions);
            let bytes = onnx_proto::write(&expanded).expect("small models can be written");
            std::fs::write(folder.join(format!("{kind}+{case}{suffix}.onnx")), bytes)
                .expect("it can be written");
            written += 1;
        }
    }
    let backend = corpus.join("backend");
    let outcomes = oracle.run("tests/python/run_bodies.py", &[folder.as_os_str(), backend.as_os_str()]);
    let outcomes = outcomes.as_object().expect("an outcome for each test");
    assert_eq!(outcomes.len(), written);
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|(case, what)| !what.is_null() && !NOT_COMPARED.iter().any(|(not, _)| case.starts_with(not)))
        .map(|(case, what)| format!("{case}: {what}"))
        .collect();
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
    assert!(wrong.is_empty(), "{} of {written}:\n{}", wrong.len(), wrong.join("\n"));
}
