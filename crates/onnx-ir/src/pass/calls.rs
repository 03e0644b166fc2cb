//! Which nodes call which functions, and which bodies a model has.

use crate::body::{Body, Node};
use crate::ids::{BodyId, FunctionId};
use crate::model::{Function, Model, OpsetImport};
use crate::names::{Name, Names};
use crate::pass::OpRef;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Domain, name and overload, where the default domain and no overload are the empty name.
pub(crate) type Key = (Name, Name, Name);

/// The model-local functions by identity.
#[derive(Clone, Debug)]
pub(crate) struct Functions {
    by_key: HashMap<Key, FunctionId, RandomState>,
    ai_onnx: Option<Name>,
}

impl Functions {
    /// Of functions with the same identity, the first counts.
    pub(crate) fn of(model: &Model) -> Self {
        let mut functions = Functions { by_key: HashMap::default(), ai_onnx: model.names.find("ai.onnx") };
        for (f, function) in model.functions.iter() {
            let key = functions.key(function);
            functions.by_key.entry(key).or_insert(f);
        }
        functions
    }

    /// The function that a node calls.
    pub(crate) fn callee(&self, node: &Node) -> Option<FunctionId> {
        let name = |n: Option<Name>| n.unwrap_or(Name::empty());
        self.find((self.domain(node.domain), name(node.op), name(node.overload)))
    }

    /// The function of this identity.
    pub(crate) fn find(&self, key: Key) -> Option<FunctionId> {
        self.by_key.get(&key).copied()
    }

    /// The identity of a function.
    pub(crate) fn key(&self, function: &Function) -> Key {
        let name = |n: Option<Name>| n.unwrap_or(Name::empty());
        (self.domain(function.domain), name(function.name), name(function.overload))
    }

    /// A domain, where the default one is the empty name by either of its spellings.
    pub(crate) fn domain(&self, domain: Option<Name>) -> Name {
        domain.filter(|&d| Some(d) != self.ai_onnx).unwrap_or(Name::empty())
    }
}

/// `l.f` or `l.f:v2`
pub(crate) fn function_text(names: &Names, function: &Function) -> String {
    let mut text = String::new();
    for (name, mark) in [(function.domain, "."), (function.name, "")] {
        if let Some(name) = name.filter(|n| !n.is_empty()) {
            text.push_str(&names[name]);
            text.push_str(mark);
        }
    }
    if let Some(overload) = function.overload.filter(|o| !o.is_empty()) {
        text.push(':');
        text.push_str(&names[overload]);
    }
    text
}

/// Whether a missing import means version 1 of the default domain, as before IR version 3.
pub(crate) fn implies_opset(model: &Model) -> bool {
    model.header.ir_version.is_some_and(|v| v < IR_WITH_IMPORTS)
}

/// From this version of the format on, models import operator sets.
pub(crate) const IR_WITH_IMPORTS: i64 = 3;

/// The versions of the domains that a model or function imports.
#[derive(Clone, Debug)]
pub(crate) struct Imports {
    versions: HashMap<Name, Option<i64>, RandomState>,
    ai_onnx: Option<Name>,
}

impl Imports {
    /// Of several imports of a domain, the first counts.
    pub(crate) fn of(names: &Names, imports: &[OpsetImport]) -> Self {
        let mut this = Imports { versions: HashMap::default(), ai_onnx: names.find("ai.onnx") };
        for import in imports {
            let domain = this.domain(import.domain);
            this.versions.entry(domain).or_insert(import.version);
        }
        this
    }

    /// The imports of a function's body, or of the other bodies.
    pub(crate) fn within(model: &Model, function: Option<FunctionId>) -> Self {
        let imports = function.map_or(&model.header.opset_imports, |f| &model.functions[f].opset_imports);
        let mut this = Self::of(&model.names, imports);
        if function.is_none() && implies_opset(model) {
            this.versions.entry(Name::empty()).or_insert(Some(1));
        }
        this
    }

    /// The imported version of a domain, if it is imported at all.
    pub(crate) fn get(&self, domain: Name) -> Option<Option<i64>> {
        self.versions.get(&domain).copied()
    }

    /// Adds an import.
    pub(crate) fn insert(&mut self, domain: Name, version: Option<i64>) {
        self.versions.insert(domain, version);
    }

    /// A domain, where the default one is the empty name by either of its spellings.
    pub(crate) fn domain(&self, domain: Option<Name>) -> Name {
        domain.filter(|&d| Some(d) != self.ai_onnx).unwrap_or(Name::empty())
    }

    /// The operator that a node means.
    pub(crate) fn op_ref<'m>(&self, names: &'m Names, node: &Node) -> OpRef<'m> {
        let domain = self.domain(node.domain);
        OpRef {
            domain: &names[domain],
            op: node.op.map_or("", |n| &names[n]),
            version: self.get(domain).flatten(),
        }
    }
}

/// The bodies that a model uses, in the order of the text: main graph, functions, training. Each with its function.
pub(crate) fn bodies(model: &Model) -> Vec<(BodyId, Option<FunctionId>)> {
    let functions = model.functions.iter().map(|(f, function)| (function.body, Some(f)));
    let training = model.training.iter().flat_map(|t| [t.initialization, t.algorithm]).flatten();
    let main = model.main.into_iter().map(|body| (body, None));
    main.chain(functions).chain(training.map(|body| (body, None))).collect()
}

/// The nodes of a body in document order.
pub(crate) fn nodes(body: &Body) -> impl Iterator<Item = &Node> {
    body.walk().nodes().map(|node| &body.nodes[node])
}
