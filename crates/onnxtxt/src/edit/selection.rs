//! Selections of nodes and values in words, the same for every command and for programs.
//!
//! | selection | nodes of the main graph, nested ones included |
//! | --- | --- |
//! | `name` | the one of this name, and the one that computes the value of this name |
//! | `#17` | number 17 in the order of the text, from 0; a node comes before those nested in it |
//! | `op:Conv` | those of this operator; `op:com.acme.Conv` of another domain than ai.onnx |
//! | `/glob*/` | those whose name, or the name of one of whose results, matches the glob: `*` any characters, `?` one. A slash at the start of a name need not be doubled |
//! | `/enc/*` | the same for names that begin with a slash: all of it is the glob, unless a node has this very name |

use onnx_ir::diag::{counted, did_you_mean};
use onnx_ir::{Body, Model, Name, NodeId, ValueId, normalize_domain};
use std::fmt;
use std::str::FromStr;

/// A selection of nodes.
///
/// ```
/// use onnxtxt::edit::Selection;
///
/// let loaded = onnxtxt::parse("g (float[N] x) => (float[N] y) { t = Abs(x) y = Relu(t) }");
/// let selection: Selection = "op:Relu".parse()?;
/// assert_eq!(selection.nodes(&loaded.model).len(), 1);
/// let unknown: Selection = "z".parse()?;
/// assert!(unknown.values(&loaded.model).is_err());
/// # Ok::<(), onnxtxt::edit::SelectionError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// The node of this name, or the one that computes the value of this name.
    Name(String),
    /// The node at this place in the order of the text, from 0.
    Number(usize),
    /// Domain, `""` for the default one, and operator.
    Op(String, String),
    /// Nodes whose name, or the name of one of whose results, matches.
    Glob(String),
}

/// A text that is not a selection, or a selection without a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectionError(String);

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectionError {}

macro_rules! bail {
    ($($message:tt)*) => { return Err(SelectionError(format!($($message)*))) };
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Selection, SelectionError> {
        if text.is_empty() {
            bail!("empty selection");
        }
        if let Some(number) = text.strip_prefix('#') {
            return match number.parse() {
                Ok(number) => Ok(Selection::Number(number)),
                Err(_) => bail!("invalid node number `{number}`"),
            };
        }
        if let Some(op) = text.strip_prefix("op:") {
            let (domain, op) = op.rsplit_once('.').unwrap_or(("", op));
            if op.is_empty() {
                bail!("`{text}` has no operator name");
            }
            return Ok(Selection::Op(normalize_domain(domain).to_owned(), op.to_owned()));
        }
        let glob = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        Ok(match glob.filter(|glob| !glob.is_empty()) {
            Some(glob) => Selection::Glob(glob.to_owned()),
            None => Selection::Name(text.to_owned()),
        })
    }
}

impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Selection::Name(name) => f.write_str(name),
            Selection::Number(number) => write!(f, "#{number}"),
            Selection::Op(domain, op) if domain.is_empty() => write!(f, "op:{op}"),
            Selection::Op(domain, op) => write!(f, "op:{domain}.{op}"),
            Selection::Glob(glob) => write!(f, "/{glob}/"),
        }
    }
}

impl Selection {
    /// The selected nodes, in the order of the text.
    #[must_use]
    pub fn nodes(&self, model: &Model) -> Vec<NodeId> {
        let Some(body) = model.main_body() else { return Vec::new() };
        let all: Vec<NodeId> = body.walk().nodes().collect();
        if let Selection::Number(number) = self {
            return all.get(*number).copied().into_iter().collect();
        }
        let meant = |selection: &Selection| -> Vec<NodeId> {
            all.iter().copied().filter(|&node| selection.is_meant(model, body, node)).collect()
        };
        match (meant(self), self) {
            // `/enc/*`: a glob of names that begin with a slash.
            (nodes, Selection::Name(name)) if nodes.is_empty() && is_glob(name) => {
                meant(&Selection::Glob(name.clone()))
            }
            (nodes, _) => nodes,
        }
    }

    fn is_meant(&self, model: &Model, body: &Body, node: NodeId) -> bool {
        let node = &body.nodes[node];
        let is_named = |like: &dyn Fn(&str) -> bool| {
            let results = node.outputs.iter().flatten().map(|&v| body.values[v].name);
            let mut names = node.name.into_iter().chain(results).filter(|n: &Name| !n.is_empty());
            names.any(|n| like(&model.names[n]))
        };
        match self {
            Selection::Number(_) => false,
            Selection::Name(name) => is_named(&|text| text == name),
            Selection::Glob(glob) => is_named(&|text| {
                is_like(glob, text) || text.strip_prefix('/').is_some_and(|t| is_like(glob, t))
            }),
            Selection::Op(domain, op) => {
                normalize_domain(model.text(node.domain)) == domain && model.text(node.op) == op
            }
        }
    }

    /// The selected values of the main graph: those with this name or matching the glob, and the results of nodes that are
    /// selected by number or operator.
    ///
    /// # Errors
    ///
    /// No value matches.
    pub fn values(&self, model: &Model) -> Result<Vec<ValueId>, SelectionError> {
        let Some((body, root)) = model.main_body().and_then(|body| Some((body, body.root()?))) else {
            bail!("the model has no graph")
        };
        let graph = &body.graphs[root];
        let name = |v: ValueId| &model.names[body.values[v].name];
        let all: Vec<ValueId> = graph.values(body).collect();
        let like = |glob: &str| -> Vec<ValueId> {
            let is_meant = |text: &str| {
                is_like(glob, text) || text.strip_prefix('/').is_some_and(|text| is_like(glob, text))
            };
            all.iter().copied().filter(|&v| is_meant(name(v))).collect()
        };
        let found = match self {
            Selection::Name(requested) => {
                let exact: Vec<ValueId> = all.iter().copied().filter(|&v| name(v) == requested).collect();
                if exact.is_empty() && is_glob(requested) { like(requested) } else { exact }
            }
            Selection::Glob(glob) => like(glob),
            Selection::Number(_) | Selection::Op(..) => {
                let nodes: Vec<NodeId> = self.nodes(model);
                let here = nodes.into_iter().filter(|node| graph.nodes.contains(node));
                here.flat_map(|node| body.nodes[node].outputs.iter().flatten().copied()).collect()
            }
        };
        if found.is_empty() {
            match did_you_mean(&self.to_string(), all.iter().map(|&v| name(v))) {
                Some(likely) => {
                    bail!("no value of the main graph matches `{self}`: did you mean `{likely}`?")
                }
                None => bail!("no value of the main graph matches `{self}`"),
            }
        }
        Ok(found)
    }

    /// Fails if the selection matches no node of the model.
    ///
    /// # Errors
    ///
    /// No node matches, with a similar name if there is one.
    pub fn ensure_some(&self, model: &Model) -> Result<(), SelectionError> {
        if !self.nodes(model).is_empty() {
            return Ok(());
        }
        let Some(body) = model.main_body() else { bail!("the model has no graph") };
        let all: Vec<NodeId> = body.walk().nodes().collect();
        let likely = match self {
            Selection::Name(name) if name.contains(['*', '?']) => None,
            Selection::Name(name) => {
                let nodes = all.iter().map(|&n| &body.nodes[n]);
                let results = |n: &onnx_ir::Node| n.outputs.clone().into_iter().flatten();
                let names =
                    nodes.flat_map(|n| n.name.into_iter().chain(results(n).map(|v| body.values[v].name)));
                did_you_mean(name, names.map(|n| &model.names[n]))
            }
            Selection::Op(_, op) => did_you_mean(op, all.iter().map(|&n| model.text(body.nodes[n].op))),
            Selection::Number(_) => {
                bail!("no node {self}: the main graph has {}", counted(all.len(), "node"))
            }
            Selection::Glob(_) => None,
        };
        match likely {
            Some(likely) => bail!("no node matches `{self}`: did you mean `{likely}`?"),
            // A glob without slashes is a name.
            None => match self {
                Selection::Name(name) if name.contains(['*', '?']) && !name.starts_with('/') => {
                    bail!("no node matches `{self}`: write a glob between slashes, `/{name}/`")
                }
                Selection::Name(_) | Selection::Number(_) | Selection::Op(..) | Selection::Glob(_) => {
                    bail!("no node matches `{self}`")
                }
            },
        }
    }
}

/// Whether a text can only be meant as a glob of names that begin with a slash.
fn is_glob(text: &str) -> bool {
    text.starts_with('/') && text.contains(['*', '?'])
}

/// Whether a text matches a glob.
fn is_like(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut g, mut t) = (0, 0);
    // The last star, and where its match ends so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                g += 1;
                t += 1;
            }
            Some(_) | None => {
                let Some((at, end)) = star else { return false };
                star = Some((at, end + 1));
                (g, t) = (at + 1, end + 1);
            }
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_like_texts() {
        for (glob, text) in
            [("*", ""), ("a*c", "abc"), ("a*b*c", "aabbcc"), ("?b", "äb"), ("/enc/*", "/enc/0")]
        {
            assert!(is_like(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("", "a"), ("a*c", "abcd"), ("?", ""), ("a?", "a"), ("*ab*", "a")] {
            assert!(!is_like(glob, text), "{glob} {text}");
        }
    }

    #[test]
    fn names_that_begin_with_a_slash_are_found() {
        let text = "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) {
            [\"/enc/0/Abs\"] a = Abs(x)  [\"/enc/1/Neg\"] b = Neg(a)  [\"/dec/*\"] y = Exp(b)
        }";
        let model = onnx_text::read_model(text).value;
        let many = |selection: &str| selection.parse::<Selection>().unwrap().nodes(&model).len();
        assert_eq!(["/enc/*", "/enc/*/", "//enc/*/", "/enc/?/Abs", "/enc/0/Abs"].map(many), [2, 2, 2, 1, 1]);
        // The exact name takes precedence over the glob.
        assert_eq!(["/dec/*", "/*", "enc/*", "/out/*"].map(many), [1, 3, 0, 0]);
    }

    #[test]
    fn selections_say_what_they_are() {
        let parse = |text: &str| text.parse::<Selection>().unwrap();
        assert_eq!(parse("#17"), Selection::Number(17));
        assert_eq!(parse("op:ai.onnx.Conv"), Selection::Op(String::new(), "Conv".into()));
        assert_eq!(parse("op:com.acme.Op"), Selection::Op("com.acme".into(), "Op".into()));
        assert_eq!(parse("/enc/*/"), Selection::Glob("enc/*".into()));
        for name in ["/model/Conv", "t", "/", "//", "op"] {
            assert_eq!(parse(name), Selection::Name(name.into()));
        }
        for text in ["#17", "op:Conv", "op:m.Op", "/a*/", "/model/Conv"] {
            assert_eq!(parse(text).to_string(), text);
        }
        assert!("#x".parse::<Selection>().is_err() && "op:".parse::<Selection>().is_err());
    }

    #[test]
    fn nodes_are_counted_in_the_order_of_the_text() {
        let text = "<ir_version: 10, opset_import: [\"\": 21]> g (bool c, float[N] x) => (float[N] y) {
            [first] a = Abs(x)
            b = If(c) <then_branch = t () => (p) { p = Abs(a) }, else_branch = e () => (q) { q = Neg(a) }>
            y = Neg(b)
        }";
        let model = onnx_text::read_model(text).value;
        let body = model.main_body().unwrap();
        let named = |selection: &str| {
            let nodes = selection.parse::<Selection>().unwrap().nodes(&model);
            let name =
                |n: NodeId| model.names[body.values[body.nodes[n].outputs[0].unwrap()].name].to_owned();
            nodes.into_iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!([named("#0"), named("#2"), named("#4")], [["a"], ["p"], ["y"]]);
        assert_eq!(named("op:Abs"), ["a", "p"]);
        assert_eq!(
            (named("first"), named("a"), named("/?/")),
            (
                vec!["a".into()],
                vec!["a".into()],
                vec!["a".into(), "b".into(), "p".into(), "q".into(), "y".into()]
            )
        );
        assert!(named("#5").is_empty() && named("nothing").is_empty());
        let error = "frist".parse::<Selection>().unwrap().ensure_some(&model).unwrap_err();
        assert_eq!(error.to_string(), "no node matches `frist`: did you mean `first`?");
        let error = "*st".parse::<Selection>().unwrap().ensure_some(&model).unwrap_err();
        assert_eq!(error.to_string(), "no node matches `*st`: write a glob between slashes, `/*st/`");
    }
}
