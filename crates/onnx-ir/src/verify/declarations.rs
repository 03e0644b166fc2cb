//! Declarations of graphs: names of graphs (G01) and of their nodes (N06), `value_info` (G06, F13), nodes without outputs (G10), depth (G12), and
//! consistency of declarations, initializers and symbols (G09, Y09).

use super::context::{Findings, Seen, VerifyContext, View, index};
use super::layout::MAX_LEVELS;
use super::types::tensor_of;
use crate::body::{Port, ValueDef};
use crate::diag::{Diagnostic, Entity, ModelChange, code, counted};
use crate::entity::SecondaryMap;
use crate::ids::{GraphId, NodeId, TypeId, ValueId};
use crate::names::Name;
use crate::show::{tensor_type, type_text};
use crate::types::{DimValue, ElemType};
use std::collections::{HashMap, HashSet};

/// An initializer with its place, element type and shape.
struct Given<'m> {
    place: Entity,
    elem: Option<ElemType>,
    dims: &'m [i64],
}

/// The initializer of a value in its graph.
#[derive(Clone, Copy)]
enum Init {
    Dense(u32),
    Sparse(u32),
}

/// The declarations of the values of one body.
#[derive(Default)]
struct Declared {
    initializers: SecondaryMap<ValueId, Option<(GraphId, Init)>>,
    types: SecondaryMap<ValueId, Option<TypeId>>,
}

struct Declarations<'s, 'm> {
    cx: &'s VerifyContext<'m>,
    found: &'s mut Findings,
    seen: Seen<u32>,
    outputs: Seen<()>,
    /// The number of each symbol, and where it was determined; for functions in `local`.
    symbols: HashMap<Name, (i64, Entity)>,
    local: HashMap<Name, (i64, Entity)>,
    contradicted: HashSet<Name>,
}

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let model = cx.model;
    let mut d = Declarations {
        cx,
        found,
        seen: Seen::new(),
        outputs: Seen::new(),
        symbols: HashMap::new(),
        local: HashMap::new(),
        contradicted: HashSet::new(),
    };
    for view in &cx.bodies {
        d.local.clear();
        let mut declared = Declared::default();
        for graph in view.layout.graphs() {
            if !(view.role.is_function() && Some(graph) == view.body.root()) {
                d.name(view, graph);
            }
            d.node_names(view, graph);
            d.value_info(view, graph);
            d.agreement(view, graph, &mut declared);
        }
        for node in view.layout.special_nodes() {
            if view.body.nodes[node].outputs.is_empty() {
                let message = format!("node `{}` has no output", model.text(view.body.nodes[node].op));
                let place = Entity::Node(view.id, node);
                d.found.push(Diagnostic::new(&code::NODE_WITHOUT_OUTPUT, place, message));
            }
        }
        for &node in &view.layout.too_deep {
            let message = format!("graphs nest more than {MAX_LEVELS} levels deep");
            let place = Entity::Node(view.id, node);
            d.found.push(
                Diagnostic::new(&code::NESTING_DEPTH, place, message)
                    .label("the graphs of this node are not checked")
                    .help("move inner graphs into functions"),
            );
        }
    }
}

fn given<'m>(view: &View<'m>, graph: GraphId, init: Init) -> Given<'m> {
    let (body, g) = (view.body, &view.body.graphs[graph]);
    match init {
        Init::Dense(i) => {
            let tensor = &body.tensors[g.initializers[i as usize].tensor];
            Given { place: Entity::Initializer(view.id, graph, i), elem: tensor.elem, dims: &tensor.dims }
        }
        Init::Sparse(i) => {
            let tensor = &g.sparse_initializers[i as usize].tensor;
            let elem = tensor.values.and_then(|t| body.tensors[t].elem);
            Given { place: Entity::SparseInitializer(view.id, graph, i), elem, dims: &tensor.dims }
        }
    }
}

impl<'m> Declarations<'_, 'm> {
    fn name(&mut self, view: &View<'m>, graph: GraphId) {
        if view.body.graphs[graph].name.is_none_or(Name::is_empty) {
            let place = Entity::Graph(view.id, graph);
            self.found.push(
                Diagnostic::new(&code::GRAPH_NAME, place, "graph without a name").help("give it a name"),
            );
        }
    }

    /// Reports each name that several nodes of a graph have, once.
    fn node_names(&mut self, view: &View<'m>, id: GraphId) {
        if !self.found.wants(&code::NODE_NAME_REPEATED) {
            return;
        }
        self.seen.clear();
        let nodes = &view.body.graphs[id].nodes;
        let mut repeated: Vec<(Name, [NodeId; 2], u64)> = Vec::new();
        let mut positions: HashMap<Name, usize> = HashMap::new();
        for (i, &node) in nodes.iter().enumerate() {
            let Some(name) = view.body.nodes[node].name.filter(|n| !n.is_empty()) else { continue };
            let Some(first) = self.seen.first(name, index(i)) else { continue };
            let at = *positions.entry(name).or_insert_with(|| {
                repeated.push((name, [nodes[first as usize], node], 1));
                repeated.len() - 1
            });
            repeated[at].2 += 1;
        }
        for (name, [first, second], count) in repeated {
            let [first, place] = [first, second].map(|node| Entity::Node(view.id, node));
            let message = match count {
                2 => format!("two nodes are named `{}`", self.cx.text(name)),
                _ => format!("{} are named `{}`", counted(count, "node"), self.cx.text(name)),
            };
            let diagnostic = Diagnostic::new(&code::NODE_NAME_REPEATED, place, message);
            self.found.push(diagnostic.label("the second").related(first, "the first"));
        }
    }

    fn value_info(&mut self, view: &View<'m>, id: GraphId) {
        let graph = &view.body.graphs[id];
        if graph.value_info.is_empty() {
            return;
        }
        let of_function = view.role.is_function() && Some(id) == view.body.root();
        let code = if of_function { &code::FUNCTION_VALUE_INFO } else { &code::VALUE_INFO_NAMES };
        if !self.found.wants(code) {
            return;
        }
        // The names that an entry must not have, or must have in a function.
        self.seen.clear();
        self.outputs.clear();
        for port in &graph.outputs {
            self.outputs.set(port.name.unwrap_or(Name::empty()), ());
        }
        if of_function {
            // A value of a graph nested in the function occurs in it as well.
            for value in view.body.values.values().filter(|v| !matches!(v.def, ValueDef::Unbound(_))) {
                self.outputs.set(value.name, ());
            }
        }
        for (i, port) in graph.value_info.iter().enumerate() {
            let place = Entity::ValueInfo(view.id, id, index(i));
            let name = port.name.unwrap_or(Name::empty());
            let text = self.cx.text(name);
            // The mistake of an entry, if it has one.
            let mut related = None;
            let message = if name.is_empty() {
                "entry of `value_info` without a name".to_owned()
            } else if let Some(first) = self.seen.first(name, index(i)) {
                related = Some(Entity::ValueInfo(view.id, id, first));
                format!("`value_info` has two entries for `{text}`")
            } else if of_function {
                if self.outputs.get(name).is_some() {
                    continue;
                }
                format!("`value_info` describes `{text}`, which does not occur in the function")
            } else if self.outputs.get(name).is_some() {
                format!("`value_info` describes `{text}`, which is an output and has its own type")
            } else {
                match port.value.map(|v| view.body.values[v].def) {
                    Some(ValueDef::Initializer(_) | ValueDef::Output(..)) => continue,
                    Some(ValueDef::Input(_)) => {
                        format!("`value_info` describes `{text}`, which is an input and has its own type")
                    }
                    // Something reads it, and that is the mistake.
                    Some(ValueDef::Unbound(_)) => continue,
                    None => {
                        format!("`value_info` describes `{text}`, which is not a value of the graph")
                    }
                }
            };
            let is_certain = related
                .is_none_or(|_| graph.value_info[..i].iter().any(|p| p.name == port.name && p.ty == port.ty));
            let mut diagnostic = Diagnostic::new(code, place, message).help("remove the entry").change(
                "remove the entry",
                vec![ModelChange::Remove(place)],
                is_certain,
            );
            if let Some(first) = related {
                diagnostic = diagnostic.related(first, "the first entry");
            }
            self.found.push(diagnostic);
        }
    }

    /// Compares all declarations of one value with each other and with its initializer.
    fn agreement(&mut self, view: &View<'m>, id: GraphId, declared: &mut Declared) {
        let graph = &view.body.graphs[id];
        for (i, init) in graph.initializers.iter().enumerate() {
            declared.initializers[init.value].get_or_insert((id, Init::Dense(index(i))));
        }
        for (i, init) in graph.sparse_initializers.iter().enumerate() {
            declared.initializers[init.value].get_or_insert((id, Init::Sparse(index(i))));
        }
        let inputs = graph.inputs.iter().enumerate().map(|(i, p)| (Entity::Input(view.id, id, index(i)), p));
        let outputs =
            graph.outputs.iter().enumerate().map(|(i, p)| (Entity::Output(view.id, id, index(i)), p));
        let infos =
            graph.value_info.iter().enumerate().map(|(i, p)| (Entity::ValueInfo(view.id, id, index(i)), p));
        for (place, port) in inputs.chain(outputs).chain(infos) {
            let (Some(value), Some(ty)) = (port.value, port.ty) else { continue };
            match (declared.initializers[value], declared.types[value]) {
                (Some((home, init)), None) => {
                    let given = given(view, home, init);
                    if self.initialized(port, ty, place, &given) {
                        self.symbols_of(view, ty, &given);
                    }
                }
                (_, Some(first)) => self.symbols_between(view, first, ty, place),
                (None, None) => {}
            }
            declared.types[value].get_or_insert(ty);
        }
    }

    /// Whether an initializer fits the declaration of its name.
    fn initialized(&mut self, port: &Port, ty: TypeId, place: Entity, given: &Given<'_>) -> bool {
        let model = self.cx.model;
        let fits = tensor_of(&model.types[ty]).is_some_and(|t| {
            let same_elem = t.elem == given.elem || t.elem.is_none() || given.elem.is_none();
            let same_shape = t.shape.as_ref().is_none_or(|shape| {
                shape.len() == given.dims.len()
                    && shape.iter().zip(given.dims).all(|(d, &n)| match d.value {
                        DimValue::Value(m) => m == n || m < 0 || n < 0,
                        DimValue::Unknown | DimValue::Param(_) => true,
                    })
            });
            same_elem && same_shape
        });
        if !fits {
            let stored = given.dims.iter().map(|&d| DimValue::Value(d));
            let stored = tensor_type(&model.names, given.elem, Some(stored));
            let name = model.text(port.name);
            let message =
                format!("initializer `{name}` is `{stored}`, but is declared as `{}`", type_text(model, ty));
            self.found.push(
                Diagnostic::new(&code::INITIALIZER_VS_DECLARED, given.place, message)
                    .related(place, "the declaration"),
            );
        }
        fits
    }

    /// An initializer determines the symbols of its declaration.
    fn symbols_of(&mut self, view: &View<'m>, ty: TypeId, given: &Given<'_>) {
        let model = self.cx.model;
        let Some(shape) = tensor_of(&model.types[ty]).and_then(|t| t.shape.as_ref()) else { return };
        for (dim, &n) in shape.iter().zip(given.dims) {
            if let DimValue::Param(symbol) = dim.value {
                self.stands_for(view, symbol, n, given.place);
            }
        }
    }

    /// Two declarations of a value determine each other's symbols.
    fn symbols_between(&mut self, view: &View<'m>, first: TypeId, second: TypeId, place: Entity) {
        let types = &self.cx.model.types;
        if first == second {
            return;
        }
        let shape = |ty| tensor_of(&types[ty]).and_then(|t| t.shape.as_ref());
        let (Some(first), Some(second)) = (shape(first), shape(second)) else { return };
        if first.len() != second.len() {
            return;
        }
        for (a, b) in first.iter().zip(second) {
            match (a.value, b.value) {
                (DimValue::Param(symbol), DimValue::Value(n))
                | (DimValue::Value(n), DimValue::Param(symbol)) => {
                    self.stands_for(view, symbol, n, place);
                }
                (DimValue::Unknown | DimValue::Param(_) | DimValue::Value(_), _) => {}
            }
        }
    }

    fn stands_for(&mut self, view: &View<'m>, symbol: Name, n: i64, place: Entity) {
        if n < 0 || symbol.is_empty() {
            return;
        }
        let symbols = if view.role.is_function() { &mut self.local } else { &mut self.symbols };
        let (m, first) = *symbols.entry(symbol).or_insert((n, place));
        if m != n && self.contradicted.insert(symbol) {
            let message = format!("dimension `{}` is {n} and also {m}", self.cx.text(symbol));
            self.found.push(
                Diagnostic::new(&code::DIM_PARAM_CONTRADICTION, place, message)
                    .related(first, format!("declared as {m}")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Level, VerifyOptions, verify};
    use super::*;
    use crate::Model;

    fn two_inputs(init: impl FnOnce(&mut Draft<'_>)) -> Model {
        draft(|d| {
            d.graph("g", &["x", "z"], &["y"], |d| {
                init(d);
                d.node("Add", &["x", "z"], &["y"]);
            });
        })
    }

    #[test]
    fn an_initializer_fits_the_declaration_of_its_name() {
        let mut model = two_inputs(|d| d.floats("x", &[1.0, 2.0]));
        assert_eq!(findings(&model), [""; 0]);
        let ty = model.types.tensor(ElemType::FLOAT, [DimValue::Value(3)]);
        only(&mut main(&mut model).graphs).inputs[0].ty = Some(ty);
        assert_eq!(findings(&model), ["E0209 initializer `x` is `float[2]`, but is declared as `float[3]`"]);
        let ty = model.types.tensor(ElemType::INT64, [DimValue::Value(2)]);
        only(&mut main(&mut model).graphs).inputs[0].ty = Some(ty);
        assert_eq!(findings(&model), ["E0209 initializer `x` is `float[2]`, but is declared as `int64[2]`"]);
    }

    #[test]
    fn a_symbol_stands_for_one_number() {
        let model = two_inputs(|d| {
            d.floats("x", &[1.0, 2.0]);
            d.floats("z", &[1.0, 2.0]);
        });
        assert_eq!(findings(&model), [""; 0]);
        let model = two_inputs(|d| {
            d.floats("x", &[1.0, 2.0]);
            d.floats("z", &[1.0, 2.0, 3.0]);
        });
        assert_eq!(findings(&model), ["E0709 dimension `N` is 3 and also 2"]);
    }

    #[test]
    fn entries_of_value_info_describe_inner_values_once() {
        let entries = |names: &'static [&str]| {
            draft(|d| {
                d.graph("g", &["x"], &["y"], |d| {
                    d.node("Abs", &["x"], &["t"]);
                    d.node("Relu", &["t"], &["y"]);
                    for name in names {
                        let name = d.b.name(name);
                        d.b.value_info(Port { name: Some(name), ..Port::default() });
                    }
                });
            })
        };
        let lints = |model: &Model| {
            let list = verify(model, &VerifyOptions { level: Level::Strict, ..VerifyOptions::default() });
            list.iter()
                .filter(|d| d.code == &code::VALUE_INFO_NAMES)
                .map(|d| d.message.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(lints(&entries(&["t"])), [""; 0]);
        let expected = [
            "`value_info` has two entries for `t`",
            "`value_info` describes `x`, which is an input and has its own type",
            "`value_info` describes `ghost`, which is not a value of the graph",
        ];
        assert_eq!(lints(&entries(&["t", "t", "x", "ghost"])), expected);
    }

    #[test]
    fn graphs_have_names_and_nodes_have_outputs() {
        let mut model = relu();
        only(&mut main(&mut model).graphs).name = None;
        assert_eq!(findings(&model), ["E0201 graph without a name"]);
        let model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.node("Relu", &["x"], &["y"]);
                d.node("Print", &["x"], &[]);
            });
        });
        assert_eq!(findings(&model), ["E0210 node `Print` has no output"]);
    }

    fn nested(d: &mut Draft<'_>, levels: usize) {
        d.holder("If", &["c"], &[&format!("y{levels}")], |d| {
            d.graph(&format!("g{levels}"), &[], &[&format!("o{levels}")], |d| {
                if levels > 0 {
                    nested(d, levels - 1);
                }
                d.node("Abs", &["c"], &[&format!("o{levels}")]);
            });
        });
    }

    #[test]
    fn graphs_nest_up_to_a_limit() {
        let model = |levels: usize| draft(|d| d.graph("g", &["c"], &["c"], |d| nested(d, levels)));
        assert_eq!(findings(&model(MAX_LEVELS - 2)), [""; 0]);
        assert_eq!(findings(&model(MAX_LEVELS - 1)), ["E0212 graphs nest more than 32 levels deep"]);
        assert_eq!(ids(&model(1000)), ["E0212"]);
    }
}
