//! Renames values, nodes and symbols of dimensions by rules.
//!
//! With the rules `x=image`, `N=batch` and `/layer(\d+)/=block$1`:
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y)             { [layer1] layer1_out = Abs(x)      y = Neg(layer1_out) }
//! after:   g (float[batch] image) => (float[batch] y) { [block1] block1_out = Abs(image)  y = Neg(block1_out) }
//! ```
//!
//! A name is renamed everywhere: reads of nested graphs, declarations, quantization annotations, shardings, training bindings.
//! The first rule that matches a name applies. Symbols are also renamed in formulas such as `2*N`.

use super::{Edited, definition, types};
use onnx_ir::diag::{Diagnostic, Entity, Place, code, did_you_mean};
use onnx_ir::pass::{self, Named, Report};
use onnx_ir::{BodyId, Dim, DimValue, Model, TypeKind, ValueId};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A renaming rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The rule as written.
    text: String,
    old: Pattern,
    new: String,
}

#[derive(Clone, Debug)]
enum Pattern {
    Exact(String),
    /// Every match of the expression is replaced.
    Matches(Regex),
}

impl Rule {
    /// `OLD=NEW`, or `/EXPRESSION/=NEW` where NEW may refer to groups: `$1`, `${1}_x`.
    ///
    /// # Errors
    /// The mistake in the rule, as a sentence.
    pub fn parse(text: &str) -> Result<Rule, String> {
        let expression = text.strip_prefix('/').and_then(|rest| rest.split_once("/="));
        if let Some((expression, new)) = expression.filter(|(expression, _)| !expression.is_empty()) {
            let regex = Regex::new(expression).map_err(|error| format!("`/{expression}/`: {error}"))?;
            return Ok(Rule { text: text.to_owned(), old: Pattern::Matches(regex), new: new.to_owned() });
        }
        let (old, new) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not of the form OLD=NEW"))?;
        if old.is_empty() || new.is_empty() {
            return Err(format!("`{text}`: both names of OLD=NEW must have a character"));
        }
        Ok(Rule { text: text.to_owned(), old: Pattern::Exact(old.to_owned()), new: new.to_owned() })
    }

    fn apply(&self, name: &str) -> Option<String> {
        match &self.old {
            Pattern::Exact(old) => (old == name).then(|| self.new.clone()),
            Pattern::Matches(regex) => {
                regex.is_match(name).then(|| regex.replace_all(name, &self.new).into_owned())
            }
        }
    }
}

/// Options of renaming.
#[derive(Clone, Debug)]
pub struct Rename {
    /// The rules; the first that matches a name applies.
    pub rules: Vec<Rule>,
    /// Whether names of values are renamed, inputs and outputs included.
    pub values: bool,
    /// Whether names of nodes are renamed.
    pub nodes: bool,
    /// Whether symbols of dimensions are renamed.
    pub symbols: bool,
}

impl Rename {
    /// The new name, and the index of its rule.
    fn new_name(&self, name: &str) -> Option<(usize, String)> {
        self.rules.iter().enumerate().find_map(|(i, rule)| Some((i, rule.apply(name)?)))
    }
}

/// Renames by rules. It is an error if a rule matches nothing, if two values or nodes get the same name, or if a symbol gets the
/// name of another dimension.
pub fn rename(model: &mut Model, options: &Rename) -> Edited {
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut found = Vec::new();
    for id in bodies(model) {
        let values = if options.values { values(model, id) } else { Vec::new() };
        clashes(options, &values, &mut found, &mut used);
        let nodes = if options.nodes { nodes(model, id) } else { Vec::new() };
        clashes(options, &nodes, &mut found, &mut used);
    }
    let symbols = if options.symbols { symbols(model) } else { Vec::new() };
    clashes(options, &symbols, &mut found, &mut used);
    found.extend(unmatched(model, options, &used, &symbols));
    if !found.is_empty() {
        return Err(found);
    }
    let mut report = Report::default();
    if options.symbols {
        let renamed = types::map_all(model, &mut |model, dim| renamed(model, options, dim));
        report.note(renamed, "type", "changed");
    }
    let new_name = &mut |named: Named, name: &str| {
        let is_wanted = match named {
            Named::Input | Named::Output | Named::Value => options.values,
            Named::Node => options.nodes,
            Named::Graph => false,
        };
        options.new_name(name).filter(|_| is_wanted).map(|(_, new)| new).filter(|new| !new.is_empty())
    };
    let named = pass::rename(model, new_name);
    if !named.diagnostics.is_empty() {
        return Err(named.diagnostics);
    }
    report.changes.extend(named.changes);
    Ok(report)
}

/// A name and the place of its definition.
type NamedPlace = (String, Place);

/// Finds different names that would become equal.
fn clashes(options: &Rename, sites: &[NamedPlace], found: &mut Vec<Diagnostic>, used: &mut BTreeSet<usize>) {
    let mut taken: HashMap<String, &NamedPlace> = HashMap::new();
    for site in sites {
        let (old, place) = site;
        let new = match options.new_name(old) {
            Some((rule, new)) => {
                used.insert(rule);
                new
            }
            None => old.clone(),
        };
        if new.is_empty() {
            let message = format!("`{old}` would have no name");
            found.push(Diagnostic::new(&code::RENAME_CLASH, *place, message));
            continue;
        }
        match taken.get(&new) {
            Some((first, other)) if first != old => {
                let message = format!("`{first}` and `{old}` would both be named `{new}`");
                let outcome = |name: &str| match name == new {
                    true => format!("`{name}` keeps its name"),
                    false => format!("`{name}` becomes `{new}`"),
                };
                found.push(
                    Diagnostic::new(&code::RENAME_CLASH, *place, message)
                        .label(outcome(old))
                        .related(*other, outcome(first)),
                );
            }
            Some(_) => {}
            None => _ = taken.insert(new, site),
        }
    }
}

/// A finding for each rule that no name matches.
fn unmatched(
    model: &Model,
    options: &Rename,
    used: &BTreeSet<usize>,
    symbols: &[NamedPlace],
) -> Vec<Diagnostic> {
    let mut all: Vec<NamedPlace> = symbols.to_vec();
    for id in bodies(model) {
        all.extend(if options.values { values(model, id) } else { Vec::new() });
        all.extend(if options.nodes { nodes(model, id) } else { Vec::new() });
    }
    let is_used = |i: usize, rule: &Rule| {
        // An earlier rule may have renamed them.
        used.contains(&i) || all.iter().any(|(name, _)| rule.apply(name).is_some())
    };
    let missing = options.rules.iter().enumerate().filter(|(i, rule)| !is_used(*i, rule));
    missing
        .map(|(_, rule)| {
            let message = format!("no name matches the rule `{}`", rule.text);
            let diagnostic = Diagnostic::new(&code::RENAME_CLASH, Place::Nowhere, message);
            let like = match &rule.old {
                Pattern::Exact(old) => did_you_mean(old, all.iter().map(|(name, _)| name.as_str())),
                Pattern::Matches(_) => None,
            };
            diagnostic.maybe_help(like.map(|like| format!("did you mean `{like}`?")))
        })
        .collect()
}

/// The bodies of a model, the main graph first.
fn bodies(model: &Model) -> Vec<BodyId> {
    let training = model.training.iter().flat_map(|t| [t.initialization, t.algorithm]).flatten();
    let functions = model.functions.values().map(|f| f.body);
    model.main.into_iter().chain(functions).chain(training).collect()
}

/// The names of the values that a body defines, each with its first definition.
fn values(model: &Model, id: BodyId) -> Vec<NamedPlace> {
    let body = &model.bodies[id];
    let mut sites: BTreeMap<ValueId, NamedPlace> = BTreeMap::new();
    for graph in body.graphs.values() {
        for value in graph.values(body) {
            let name = body.values[value].name;
            if !name.is_empty() {
                let site = || (model.names[name].to_owned(), definition(model, id, value));
                sites.entry(value).or_insert_with(site);
            }
        }
    }
    sites.into_values().collect()
}

/// The names of the nodes of a body.
fn nodes(model: &Model, id: BodyId) -> Vec<NamedPlace> {
    let body = &model.bodies[id];
    let all = body.graphs.values().flat_map(|graph| &graph.nodes);
    let named = all.filter_map(|&node| Some((body.nodes[node].name.filter(|n| !n.is_empty())?, node)));
    named.map(|(name, node)| (model.names[name].to_owned(), Entity::Node(id, node).into())).collect()
}

/// The symbols in the declarations of a model, each with its first use.
fn symbols(model: &Model) -> Vec<NamedPlace> {
    let mut sites: BTreeMap<String, Place> = BTreeMap::new();
    for id in bodies(model) {
        for (graph, g) in model.bodies[id].graphs.iter() {
            let at = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
            let inputs = g.inputs.iter().enumerate().map(|(i, p)| (p, Entity::Input(id, graph, at(i))));
            let outputs = g.outputs.iter().enumerate().map(|(i, p)| (p, Entity::Output(id, graph, at(i))));
            let others =
                g.value_info.iter().enumerate().map(|(i, p)| (p, Entity::ValueInfo(id, graph, at(i))));
            for (port, place) in inputs.chain(outputs).chain(others) {
                let Some(ty) = port.ty else { continue };
                let (TypeKind::Tensor(t) | TypeKind::SparseTensor(t)) = &model.types[ty].kind else {
                    continue;
                };
                for dim in t.shape.iter().flatten() {
                    let DimValue::Param(name) = dim.value else { continue };
                    for symbol in symbols_of(&model.names[name]) {
                        sites.entry(symbol).or_insert_with(|| place.into());
                    }
                }
            }
        }
    }
    sites.into_iter().collect()
}

/// A dimension with its symbols renamed.
fn renamed(model: &mut Model, options: &Rename, dim: Dim) -> Dim {
    let DimValue::Param(name) = dim.value else { return dim };
    let text = &model.names[name];
    let new: String = match (options.new_name(text), is_formula(text)) {
        (Some((_, new)), _) => new,
        (None, true) => {
            let word = |word: &str| options.new_name(word).map_or_else(|| word.to_owned(), |(_, new)| new);
            words(text).map(|part| if is_symbol(part) { word(part) } else { part.to_owned() }).collect()
        }
        (None, false) => return dim,
    };
    if new.is_empty() {
        return dim;
    }
    Dim { value: DimValue::Param(model.names.intern(&new)), ..dim }
}

/// The symbols in the text of a dimension: the text itself, or the words of a formula.
fn symbols_of(text: &str) -> Vec<String> {
    match is_formula(text) {
        true => words(text).filter(|part| is_symbol(part)).map(str::to_owned).collect(),
        false => vec![text.to_owned()],
    }
}

pub(super) fn is_formula(text: &str) -> bool {
    text.contains(['+', '*', '/', '(']) || text.contains(" - ")
}

pub(super) fn is_symbol(part: &str) -> bool {
    part.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Splits a text into words and separators.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (part, others) = rest.split_at(end);
        rest = others;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_names_or_expressions() {
        let apply = |rule: &str, name: &str| Rule::parse(rule).unwrap().apply(name);
        assert_eq!(apply("x=y", "x"), Some("y".into()));
        assert_eq!(apply("x=y", "xx"), None);
        assert_eq!(apply(r"/layer(\d+)/=block$1", "layer12/w"), Some("block12/w".into()));
        assert_eq!(apply("/model/Conv=c", "/model/Conv"), Some("c".into()));
        for wrong in ["x", "=y", "x=", "/(/=x"] {
            assert!(Rule::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn formulas_are_words_and_what_is_between() {
        assert_eq!(words("2*N + 1").collect::<Vec<_>>(), ["2", "*", "N", " + ", "1"]);
        assert_eq!(symbols_of("2*N + M"), ["N", "M"]);
        assert_eq!(symbols_of("batch-size"), ["batch-size"]);
    }
}
