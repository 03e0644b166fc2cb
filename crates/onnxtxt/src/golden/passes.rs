//! `#! pass NAME...`, `#! inline` and `#! outline`: the models that passes produce, and their findings.

use super::claims;
use super::context::Context;
use super::run::{bytes, print, snapshot, sound};
use onnx_ir::pass::{self, Inline, Report};
use onnx_ir::{Model, NodeId};
use onnx_ops::functions::{Expand, expand};
use onnx_ops::opset::registry_of;
use onnx_ops::pass::Pass;
use onnx_ops::schema::{Registry, Schema};
use onnx_text::render::{SourceKind, SourceText};
use onnx_text::{Checked, RaiseOptions, SourceMap};

/// A pass directive.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PassDirective {
    /// Passes by name, one after the other.
    Passes(Vec<String>),
    /// `#! inline [--only F]... [--depth N] [--limit N] [--schema]`
    Inline { only: Vec<String>, depth: Option<u32>, limit: Option<u64>, schema: bool },
    /// `#! outline domain.name VALUE...`: the nodes that compute these values.
    Outline { domain: String, name: String, values: Vec<String> },
}

/// Parses the words after `verb`, if it is one of these directives.
pub(crate) fn parse(verb: &str, words: &[&str]) -> Option<Result<PassDirective, String>> {
    let words = words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    match verb {
        "pass" => Some(match words.iter().find_map(|name| Pass::parse(name).err()) {
            None => Ok(PassDirective::Passes(words)),
            Some(why) => Err(why),
        }),
        "inline" => Some(inlining(&words)),
        "outline" => Some(match words.split_first().map(|(name, values)| (name.rsplit_once('.'), values)) {
            Some((Some((domain, name)), values)) => Ok(PassDirective::Outline {
                domain: domain.into(),
                name: name.into(),
                values: values.to_vec(),
            }),
            Some((None, _)) | None => Err("`#! outline` takes a domain.name".to_owned()),
        }),
        _ if verb.starts_with("convert-opset=") => Some(match Pass::parse(verb) {
            Ok(_) if words.is_empty() => Ok(PassDirective::Passes(vec![verb.to_owned()])),
            Ok(_) => Err(format!("unknown option or value `{}` in a directive", words[0])),
            Err(why) => Err(why),
        }),
        _ => None,
    }
}

fn inlining(words: &[String]) -> Result<PassDirective, String> {
    let (mut only, mut depth, mut limit) = (Vec::new(), None, None);
    let schema = words.iter().any(|word| word == "--schema");
    let words: Vec<String> = words.iter().filter(|word| *word != "--schema").cloned().collect();
    for pair in words.chunks(2) {
        match pair {
            [option, name] if option == "--only" => only.push(name.clone()),
            [option, number] if option == "--depth" => depth = number.parse().ok(),
            [option, number] if option == "--limit" => limit = number.parse().ok(),
            _ => return Err(format!("`#! inline` does not know {pair:?}")),
        }
    }
    Ok(PassDirective::Inline { only, depth, limit, schema })
}

/// Runs the passes and compares the result with the snapshot, and the findings with the claims of the file.
pub(crate) fn run(context: &Context<'_>, step: &PassDirective, finds: &[&str]) -> Result<(), String> {
    let mut model = context.model()?;
    let before = model.clone();
    let report = apply(&mut model, step);
    if context.file().is_some() {
        claims::compare_without_places(&report.diagnostics, finds)?;
    } else {
        let case = context.case;
        let Checked { syntax, .. } = sound(&case.text)?;
        let map = SourceMap::new(&case.text, &syntax.tree, &before);
        let locate = |entity| map.span(entity);
        let source = SourceText::new(&case.name, &case.text, SourceKind::Text).locating(&locate);
        claims::compare(&source, &case.text, &report.diagnostics, finds)?;
    }

    let text = print(&model, &RaiseOptions::default());
    if bytes(&sound(&text)?.model)? != bytes(&model)? {
        return Err(format!("the model is another one after printing it:\n{text}"));
    }
    let again = match step {
        PassDirective::Outline { name, .. } if report.is_changed() => {
            the_way_back(&before, &model, name)?;
            Report::default()
        }
        PassDirective::Outline { .. } | PassDirective::Inline { depth: Some(_), .. } => Report::default(),
        PassDirective::Inline { .. } | PassDirective::Passes(_) => apply(&mut model, step),
    };
    if again.is_changed() || print(&model, &RaiseOptions::default()) != text {
        return Err(format!("the second time there is something left to do: {again}"));
    }
    snapshot(context, "pass", &format!("{report}\n\n{}", text.trim_end()))?;
    Ok(())
}

pub(super) fn apply(model: &mut Model, step: &PassDirective) -> Report {
    let mut all = Report::default();
    match step {
        PassDirective::Passes(names) => {
            let passes: Vec<Pass> = names.iter().filter_map(|name| Pass::parse(name).ok()).collect();
            for pass in passes {
                let registry = registry_of(model);
                let report = pass.run(model, registry).report;
                all.changes.extend(report.changes);
                all.diagnostics.extend(report.diagnostics);
            }
        }
        PassDirective::Inline { only, depth, limit, schema } => {
            let is_wanted = |model: &Model, f| only.iter().any(|name| pass::is_function(model, f, name));
            let options = Inline {
                select: &|model, f| only.is_empty() || is_wanted(model, f),
                depth: *depth,
                max_nodes: limit.unwrap_or(pass::MAX_NODES),
                others: None,
            };
            all = pass::inline(model, Registry::builtin(), options);
            pass::compact(model);
            if *schema {
                let select =
                    |schema: &Schema| only.is_empty() || only.iter().any(|name| schema.name == *name);
                let max_nodes = limit.unwrap_or(pass::MAX_NODES);
                let options = Expand { select: &select, depth: *depth, max_nodes };
                let report = expand(model, registry_of(model), &options);
                all.changes.extend(report.changes);
                all.diagnostics.extend(report.diagnostics);
            }
        }
        PassDirective::Outline { domain, name, values } => {
            if let Some(body) = model.main {
                let nodes = computing(model, values);
                match pass::outline(model, body, &nodes, domain, name) {
                    Ok(_) => all.note(1, "function", "made"),
                    Err(diagnostics) => all.diagnostics = diagnostics,
                }
                pass::compact(model);
            }
        }
    }
    all
}

/// The nodes of the main graph, including nested ones, that compute these values.
fn computing(model: &Model, values: &[String]) -> Vec<NodeId> {
    let Some(body) = model.main_body() else { return Vec::new() };
    let is_wanted = |node: &NodeId| {
        let mut outputs = body.nodes[*node].outputs.iter().flatten();
        outputs.any(|&v| values.iter().any(|name| *name == model.names[body.values[v].name]))
    };
    body.nodes.ids().filter(is_wanted).collect()
}

/// Checks that inlining is the inverse of outlining, up to names and the order of moved nodes.
fn the_way_back(before: &Model, after: &Model, name: &str) -> Result<(), String> {
    let mut back = after.clone();
    let select = |model: &Model, f| pass::is_function(model, f, name);
    pass::inline(&mut back, Registry::builtin(), Inline { select: &select, ..Inline::default() });
    // Functions require a later IR version, which stays.
    let mut before = before.clone();
    if let Some(version) = after.header.ir_version {
        pass::upgrade_ir_version(&mut before, version);
    }
    let (before, back) = (anonymous(&before), anonymous(&back));
    if before.lines().count() == back.lines().count() && in_order(&before) == in_order(&back) {
        return if before == back { Ok(()) } else { Err(format!("{before}\nbecame\n{back}")) };
    }
    let sorted = |text: &str| {
        let mut ops: Vec<String> = in_order(text);
        ops.sort();
        ops
    };
    if sorted(&before) == sorted(&back) { Ok(()) } else { Err(format!("{before}\nbecame\n{back}")) }
}

/// The lines of a text in a canonical order.
fn in_order(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| Some(line.split_once(" = ")?.1.split(['(', ' ']).next()?.to_owned()))
        .collect()
}

/// The text of a model with numbers as names, without other expected differences.
fn anonymous(model: &Model) -> String {
    let mut model = model.clone();
    model.header.ir_version = None;
    model.header.opset_imports.clear();
    for graph in model.bodies.values_mut().flat_map(|body| body.graphs.values_mut()) {
        graph.value_info.clear();
    }
    pass::compact(&mut model);
    let mut count = 0;
    pass::rename(&mut model, &mut |_, _| {
        count += 1;
        Some(format!("v{count}"))
    });
    print(&model, &RaiseOptions::default())
}
