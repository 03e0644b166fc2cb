//! Nodes that other runtimes do not support: `check --target`.
//!
//! Each runtime has a table in `targets` beside `src`, whose head names the program, its version and the source of the facts. A
//! line is an operator with its versions and the element types of type variables, where these are known:
//!
//! ```text
//! ai.onnx Gemm 13- T=double,float
//! * Softmax
//! refuses ai.onnx LRN 1-13 size even
//! ```
//!
//! A table lists what a runtime supports by name, and values of attributes that it refuses, not that every other value and shape
//! works.

use crate::infer::{InferOptions, ResolvedAttrs, infer};
use crate::schema::{BodyKind, Lookup, Registry, Schema};
use foldhash::HashMap;
use onnx_ir::diag::{Diagnostic, Entity, Level, Place, Severity, code};
use onnx_ir::{
    Body, BodyId, ElemType, Model, Names, Node, NodeId, ValueId, VerifyOptions, normalize_domain, verify,
};
use std::sync::LazyLock;

/// A runtime.
#[derive(Debug)]
pub struct TargetRuntime {
    /// The name on the command line.
    pub name: &'static str,
    /// The full name with the version.
    pub title: &'static str,
    rows: HashMap<(&'static str, &'static str), Vec<Row>>,
    /// Whether it runs operators through their function bodies.
    runs_bodies: bool,
    /// Types that are converted to a wider one if they are not supported.
    widens: Vec<(ElemType, ElemType)>,
    /// The newest IR version that it reads.
    ir: Option<i64>,
    /// The newest importable version of domains.
    imports: Vec<(&'static str, i64)>,
    /// Values of attributes that are refused, by domain and operator.
    refusals: HashMap<(&'static str, &'static str), Vec<Refusal>>,
    /// Whether it refuses nodes with the same name in a graph.
    has_distinct_names: bool,
}

/// Values of an attribute that a runtime refuses.
#[derive(Debug)]
struct Refusal {
    first: u32,
    last: u32,
    attr: &'static str,
    /// As texts; `even` stands for all even numbers, `*` for all values.
    values: Vec<&'static str>,
}

/// Versions of an operator, and their types.
#[derive(Debug)]
struct Row {
    first: u32,
    last: u32,
    types: Vec<(&'static str, Vec<ElemType>)>,
}

static TARGETS: LazyLock<Vec<TargetRuntime>> = LazyLock::new(|| {
    vec![
        TargetRuntime::read("candle", "candle", include_str!("../targets/candle.txt")),
        TargetRuntime::read("ort", "onnxruntime 1.31.1 on a CPU", include_str!("../targets/ort.txt")),
        TargetRuntime::read("rten", "rten", include_str!("../targets/rten.txt")),
        TargetRuntime::read("tract", "tract", include_str!("../targets/tract.txt")),
    ]
});

/// Every runtime that is known.
pub fn targets() -> &'static [TargetRuntime] {
    &TARGETS
}

impl TargetRuntime {
    /// The runtime of this name.
    pub fn find(name: &str) -> Option<&'static TargetRuntime> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Parses a table. Invalid lines are skipped; a test checks that there are none.
    fn read(name: &'static str, title: &'static str, text: &'static str) -> TargetRuntime {
        let mut target = TargetRuntime {
            name,
            title,
            rows: HashMap::default(),
            runs_bodies: false,
            widens: Vec::new(),
            ir: None,
            imports: Vec::new(),
            refusals: HashMap::default(),
            has_distinct_names: false,
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            match (words.next(), words.next()) {
                (Some("bodies"), None) => target.runs_bodies = true,
                (Some("widens"), Some(from)) => {
                    let pair = ElemType::from_name(from).zip(words.next().and_then(ElemType::from_name));
                    target.widens.extend(pair);
                }
                (Some("distinct"), Some("names")) => target.has_distinct_names = true,
                (Some("refuses"), Some(domain)) => {
                    if let Some((op, refusal)) = words.next().zip(Refusal::read(words)) {
                        target.refusals.entry((normalize_domain(domain), op)).or_default().push(refusal);
                    }
                }
                (Some("ir"), Some(version)) => target.ir = version.parse().ok(),
                (Some("imports"), Some(domain)) => {
                    let version = words.next().and_then(|version| version.parse().ok());
                    target.imports.extend(version.map(|version| (normalize_domain(domain), version)));
                }
                (Some(domain), Some(op)) => {
                    let row = Row::read(words);
                    target.rows.entry((normalize_domain(domain), op)).or_default().push(row);
                }
                (Some(_), None) | (None, _) => {}
            }
        }
        target
    }

    /// The reason why the runtime does not support a node; `None` if it does, or if unknown.
    fn refuses(&self, schema: Option<&Schema>, node: &NodeOf<'_>) -> Option<String> {
        if let Some(refused) = schema.and_then(|schema| self.refuses_attr(schema, node)) {
            return Some(refused);
        }
        if self.runs_bodies && schema.is_some_and(|schema| schema.body != BodyKind::None) {
            return None;
        }
        let named = self.rows.get(&(node.domain, node.op)).or_else(|| self.rows.get(&("*", node.op)));
        let shown = if node.domain.is_empty() { "ai.onnx" } else { node.domain };
        let Some(rows) = named else { return Some(format!("`{shown}.{}`", node.op)) };
        let schema = schema?;
        let versions = |row: &&Row| (row.first..=row.last).contains(&schema.since);
        let rows: Vec<&Row> = rows.iter().filter(versions).collect();
        if rows.is_empty() {
            return Some(format!("version {} of `{shown}.{}`", schema.since, node.op));
        }
        let inputs = node.inputs.iter().enumerate().map(|(i, elem)| (schema.input(i), elem));
        let outputs = node.outputs.iter().enumerate().map(|(i, elem)| (schema.output(i), elem));
        for (param, elem) in inputs.chain(outputs) {
            let (Some(param), Some(elem)) = (param, *elem) else { continue };
            if !rows.iter().any(|row| row.takes(&param.ty, elem, &self.widens)) {
                let elem = elem.name().unwrap_or("?");
                return Some(format!("`{shown}.{}` with {elem} as `{}`", node.op, param.name));
            }
        }
        None
    }
}

impl TargetRuntime {
    /// The first attribute of a node with a value that the runtime refuses.
    fn refuses_attr(&self, schema: &Schema, node: &NodeOf<'_>) -> Option<String> {
        let refusals = self.refusals.get(&(node.domain, node.op))?;
        let attrs = ResolvedAttrs::of(node.names, node.body, node.node, schema);
        let of_version = refusals.iter().filter(|r| (r.first..=r.last).contains(&schema.since));
        of_version.into_iter().find_map(|refusal| {
            let value = refusal.value(&attrs)?;
            let shown = if node.domain.is_empty() { "ai.onnx" } else { node.domain };
            Some(match refusal.values[..] {
                ["*"] => format!("`{shown}.{}` with `{}`", node.op, refusal.attr),
                _ => format!("`{shown}.{}` with `{} = {value}`", node.op, refusal.attr),
            })
        })
    }
}

impl Refusal {
    fn read(mut words: std::str::Split<'static, char>) -> Option<Refusal> {
        let (first, last) = words.next()?.split_once('-')?;
        let attr = words.next()?;
        let values = words.next()?.split(',').collect();
        Some(Refusal { first: first.parse().ok()?, last: last.parse().ok()?, attr, values })
    }

    /// The value of the attribute, if it is refused.
    fn value(&self, attrs: &ResolvedAttrs<'_>) -> Option<String> {
        if self.values == ["*"] {
            return attrs.has(self.attr).then(String::new);
        }
        let ints = attrs.ints(self.attr).into_iter().flatten().copied().chain(attrs.int(self.attr));
        let ints = ints.map(|n| (n.to_string(), n % 2 == 0, n.to_string()));
        // As Python writes it.
        let floats = attrs.float(self.attr).map(|x| (format!("{x:?}"), false, format!("{x:?}")));
        let strings = attrs.strings(self.attr).into_iter().flatten();
        let strings = strings.chain(attrs.string(self.attr).map(|s| s.into_owned()));
        let strings = strings.map(|s| {
            let shown = format!("{s:?}");
            (s, false, shown)
        });
        let is_refused = |text: &str, is_even| {
            self.values.iter().any(|value| *value == text || *value == "even" && is_even)
        };
        let mut all = ints.chain(floats).chain(strings);
        all.find(|(text, is_even, _)| is_refused(text, *is_even)).map(|(.., shown)| shown)
    }
}

impl Row {
    fn read(words: std::str::Split<'static, char>) -> Row {
        let mut row = Row { first: 0, last: u32::MAX, types: Vec::new() };
        for word in words {
            if let Some((variable, list)) = word.split_once('=') {
                row.types.push((variable, list.split(',').filter_map(ElemType::from_name).collect()));
            } else if let Some((first, last)) = word.split_once('-') {
                row.first = first.parse().unwrap_or(0);
                row.last = last.parse().unwrap_or(u32::MAX);
            }
        }
        row
    }

    fn takes(&self, variable: &str, elem: ElemType, widens: &[(ElemType, ElemType)]) -> bool {
        let Some((_, allowed)) = self.types.iter().find(|(name, _)| *name == variable) else { return true };
        allowed.contains(&elem) || widens.iter().any(|(from, to)| *from == elem && allowed.contains(to))
    }
}

/// A node with the known element types of its operands and results.
struct NodeOf<'m> {
    names: &'m Names,
    body: &'m Body,
    node: &'m Node,
    domain: &'m str,
    op: &'m str,
    inputs: Vec<Option<ElemType>>,
    outputs: Vec<Option<ElemType>>,
}

/// The most findings for nodes of one operator; more nodes share one finding.
const MAX_FINDINGS: usize = 4;

/// Reports every node that a runtime does not support, in the order of the bodies.
#[must_use]
pub fn check(model: &Model, registry: &Registry, target: &TargetRuntime) -> Vec<Diagnostic> {
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let mut refused: Vec<(String, Vec<(BodyId, NodeId)>)> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::default();
    let functions = model.functions.values().map(|f| (f.body, &f.opset_imports));
    for (body, imports) in
        model.main.into_iter().map(|body| (body, &model.header.opset_imports)).chain(functions)
    {
        let b = &model.bodies[body];
        let version = |domain: &str| {
            let of_domain = imports.iter().filter(|i| normalize_domain(model.text(i.domain)) == domain);
            of_domain.filter_map(|i| i.version).max()
        };
        let elems = |values: &[Option<ValueId>]| {
            values.iter().map(|v| v.and_then(|v| facts.get(body, v).ty.elem())).collect()
        };
        for &id in b.graphs.values().flat_map(|graph| &graph.nodes) {
            let n = &b.nodes[id];
            let (domain, op) = (normalize_domain(model.text(n.domain)), model.text(n.op));
            let is_call = model
                .functions
                .values()
                .any(|f| model.text(f.name) == op && normalize_domain(model.text(f.domain)) == domain);
            if is_call {
                continue;
            }
            let schema = match registry.lookup(domain, op, version(domain).unwrap_or(1)) {
                Lookup::Found(id) => Some(registry.get(id)),
                Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
            };
            let (inputs, outputs) = (elems(&n.inputs), elems(&n.outputs));
            let node = NodeOf { names: &model.names, body: b, node: n, domain, op, inputs, outputs };
            let Some(what) = target.refuses(schema, &node) else { continue };
            let place = *at.entry(what.clone()).or_insert_with(|| {
                refused.push((what, Vec::new()));
                refused.len() - 1
            });
            refused[place].1.push((body, id));
        }
    }
    let nodes = refused.iter().flat_map(|(what, nodes)| told(what, nodes, target));
    let names = target.has_distinct_names.then(|| names(model, target));
    versions(model, target).into_iter().chain(nodes).chain(names.into_iter().flatten()).collect()
}

/// Reports nodes with the same name in a graph.
fn names(model: &Model, target: &TargetRuntime) -> Vec<Diagnostic> {
    let options = VerifyOptions { level: Level::Spec, ..VerifyOptions::default() };
    let repeated = verify(model, &options).into_iter().filter(|d| d.code == &code::NODE_NAME_REPEATED);
    repeated
        .map(|d| {
            let message = format!("{} does not load a graph in which {}", target.title, d.message);
            Diagnostic { code: &code::TARGET_UNSUPPORTED, severity: Severity::Error, message, ..d }
        })
        .collect()
}

/// Removes warnings of a mistake for which a runtime refuses the model: one mistake is one finding.
pub fn drop_repeated(found: &mut Vec<Diagnostic>) {
    let refused: Vec<Place> =
        found.iter().filter(|d| d.code == &code::TARGET_UNSUPPORTED).map(|d| d.primary.place).collect();
    if !refused.is_empty() {
        found.retain(|d| d.code != &code::NODE_NAME_REPEATED || !refused.contains(&d.primary.place));
    }
}

/// Reports versions in the header that are too new for a runtime.
fn versions(model: &Model, target: &TargetRuntime) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut tell = |what: &str, version: i64, most: i64, place: Entity| {
        if version > most {
            let message = format!("{} does not support version {version} of {what}", target.title);
            let diagnostic = Diagnostic::new(&code::TARGET_UNSUPPORTED, place, message);
            found.push(diagnostic.help(format!("it supports versions up to {most}")));
        }
    };
    if let (Some(most), Some(version)) = (target.ir, model.header.ir_version) {
        tell("the format", version, most, Entity::IrVersion);
    }
    for (i, import) in (0..).zip(&model.header.opset_imports) {
        let domain = normalize_domain(model.text(import.domain));
        let limit = target.imports.iter().find(|(known, _)| *known == domain);
        if let (Some(&(_, most)), Some(version)) = (limit, import.version) {
            let shown = if domain.is_empty() { "ai.onnx" } else { domain };
            tell(shown, version, most, Entity::OpsetImport(i));
        }
    }
    found
}

/// The findings about nodes that are refused for the same reason.
fn told(what: &str, nodes: &[(BodyId, NodeId)], target: &TargetRuntime) -> Vec<Diagnostic> {
    let place = |&(body, node): &(BodyId, NodeId)| Entity::NodeOp(body, node);
    let finding = |node: &(BodyId, NodeId), more: &str| {
        let message = format!("{} does not support {what}{more}", target.title);
        Diagnostic::new(&code::TARGET_UNSUPPORTED, place(node), message)
    };
    match nodes {
        [first, rest @ ..] if nodes.len() > MAX_FINDINGS => {
            let more = format!(", which occurs {} times", nodes.len());
            let finding = finding(first, &more);
            vec![
                rest.iter()
                    .take(MAX_FINDINGS - 1)
                    .fold(finding, |d, node| d.related(place(node), "another occurrence")),
            ]
        }
        _ => nodes.iter().map(|node| finding(node, "")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_table_is_understood() {
        let tables = [
            include_str!("../targets/candle.txt"),
            include_str!("../targets/ort.txt"),
            include_str!("../targets/rten.txt"),
            include_str!("../targets/tract.txt"),
        ];
        for (target, text) in targets().iter().zip(tables) {
            assert!(text.starts_with("# "), "{}", target.name);
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                let words: Vec<&str> = line.split(' ').collect();
                let rest = match words[..] {
                    ["bodies"] | ["widens" | "imports", _, _] | ["ir", _] | ["distinct", "names"] => continue,
                    ["refuses", domain, op, ref rest @ ..] => {
                        let of = target.refusals.get(&(normalize_domain(domain), op));
                        let is_read =
                            |r: &Refusal| format!("{}-{} {} {}", r.first, r.last, r.attr, r.values.join(","));
                        assert!(
                            of.is_some_and(|of| of.iter().any(|r| is_read(r) == rest.join(" "))),
                            "{line}"
                        );
                        continue;
                    }
                    [_, _, ref rest @ ..] => rest,
                    _ => panic!("{}: {line}", target.name),
                };
                for word in rest {
                    let is_understood = match (word.split_once('='), word.split_once('-')) {
                        (Some((_, list)), _) => {
                            list.split(',').all(|name| ElemType::from_name(name).is_some())
                        }
                        (None, Some((first, last))) => {
                            first.parse::<u32>().is_ok() && (last.is_empty() || last.parse::<u32>().is_ok())
                        }
                        (None, None) => false,
                    };
                    assert!(is_understood, "{}: {line}", target.name);
                }
            }
            assert!(
                target.rows.len() > 50 && target.rows.contains_key(&("", "Relu"))
                    || target.rows.contains_key(&("*", "Relu"))
            );
        }
    }
}
