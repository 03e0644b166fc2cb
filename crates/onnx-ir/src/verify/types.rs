//! Declared types: Y01–Y08 and denotations, Y10.
//!
//! Types are interned, so each is checked once, including its components; its uses only look up the verdict.

use super::context::{Findings, Role, Seen, VerifyContext, View, index};
use super::formula::is_formula;
use crate::attr::{Attr, AttrValue};
use crate::body::Port;
use crate::diag::{Code, Diagnostic, Entity, code, counted};
use crate::entity::{EntityId as _, FromIndex as _};
use crate::ids::{GraphId, TypeId};
use crate::names::Name;
use crate::show::type_text;
use crate::types::{DimValue, ElemType, TensorType, Type, TypeKind, Types};
use crate::walk::WalkEvent;
use std::fmt;

/// TypeDenotation.md.
const TYPE_DENOTATIONS: [&str; 4] = ["TENSOR", "IMAGE", "AUDIO", "TEXT"];

/// DimensionDenotation.md.
const DIM_DENOTATIONS: [&str; 7] = [
    "DATA_BATCH",
    "DATA_CHANNEL",
    "DATA_TIME",
    "DATA_FEATURE",
    "FILTER_IN_CHANNEL",
    "FILTER_OUT_CHANNEL",
    "FILTER_SPATIAL",
];

/// A type and its components, from the outside in.
pub(super) fn chain(types: &Types, ty: TypeId) -> impl Iterator<Item = TypeId> + '_ {
    std::iter::successors(Some(ty), |&ty| inner(&types[ty]).filter(|&inner| inner < ty))
}

/// The component of a sequence, optional or map. It was interned before, so its id is smaller.
fn inner(ty: &Type) -> Option<TypeId> {
    match ty.kind {
        TypeKind::Sequence(inner) | TypeKind::Optional(inner) | TypeKind::Map { value: inner, .. } => inner,
        TypeKind::Unset | TypeKind::Tensor(_) | TypeKind::SparseTensor(_) | TypeKind::Opaque { .. } => None,
    }
}

/// Element type and shape of a tensor type, dense or sparse.
pub(super) fn tensor_of(ty: &Type) -> Option<&TensorType> {
    match &ty.kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => Some(tensor),
        TypeKind::Unset
        | TypeKind::Sequence(_)
        | TypeKind::Optional(_)
        | TypeKind::Map { .. }
        | TypeKind::Opaque { .. } => None,
    }
}

/// The types of an attribute.
pub(super) fn of_attribute(attr: &Attr) -> impl Iterator<Item = TypeId> + '_ {
    attr.values
        .iter()
        .flat_map(|v| match v {
            AttrValue::Type(ty) => std::slice::from_ref(ty),
            AttrValue::Types(list) => list,
            AttrValue::Float(_)
            | AttrValue::Int(_)
            | AttrValue::String(_)
            | AttrValue::Tensor(_)
            | AttrValue::Graph(_)
            | AttrValue::Floats(_)
            | AttrValue::Ints(_)
            | AttrValue::Strings(_)
            | AttrValue::Tensors(_)
            | AttrValue::Graphs(_)
            | AttrValue::SparseTensor(_)
            | AttrValue::SparseTensors(_) => &[],
        })
        .copied()
}

/// A mistake in a type, as words after "type `…` of `x`".
#[derive(Clone, Copy)]
struct Problem {
    code: &'static Code,
    text: &'static str,
    /// An element type that is merely unset.
    unset: bool,
}

/// The result of checking a type and its components.
#[derive(Clone, Copy, Default)]
struct Verdict {
    problem: Option<Problem>,
    negative: Option<i64>,
    symbol: Option<Name>,
    denotation: Option<Name>,
}

fn elem_problem(elem: Option<ElemType>) -> Option<Problem> {
    let (text, unset) = match elem {
        None | Some(ElemType::UNDEFINED) => ("has no element type", true),
        Some(elem) if elem.name().is_none() => ("has an unknown element type", false),
        Some(_) => return None,
    };
    Some(Problem { code: &code::ELEM_TYPE_INVALID, text, unset })
}

fn own_problem(cx: &VerifyContext<'_>, ty: &Type) -> Option<Problem> {
    let problem = |code, text| Some(Problem { code, text, unset: false });
    match &ty.kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => elem_problem(tensor.elem),
        TypeKind::Unset => problem(&code::TYPE_INCOMPLETE, "has no kind"),
        TypeKind::Sequence(None) => problem(&code::TYPE_INCOMPLETE, "has a sequence without element type"),
        TypeKind::Optional(None) => problem(&code::TYPE_INCOMPLETE, "has an optional without element type"),
        TypeKind::Map { key: None | Some(ElemType::UNDEFINED), .. } => {
            problem(&code::TYPE_INCOMPLETE, "has a map without key type")
        }
        TypeKind::Map { value: None, .. } => problem(&code::TYPE_INCOMPLETE, "has a map without value type"),
        TypeKind::Map { key: Some(key), .. } if !key.is_integer() && *key != ElemType::STRING => {
            problem(&code::MAP_KEY_TYPE, "has a key type that is neither an integer type nor string")
        }
        TypeKind::Opaque { name, .. } if name.is_none_or(Name::is_empty) => {
            problem(&code::TYPE_INCOMPLETE, "has an opaque type without a name")
        }
        TypeKind::Optional(Some(inner)) => match cx.model.types[*inner].kind {
            TypeKind::Optional(_) => problem(&code::OPTIONAL_CONTENT, "has an optional of an optional"),
            TypeKind::Opaque { .. } => problem(&code::OPTIONAL_CONTENT, "has an optional of an opaque type"),
            TypeKind::Unset
            | TypeKind::Tensor(_)
            | TypeKind::SparseTensor(_)
            | TypeKind::Sequence(_)
            | TypeKind::Map { .. } => None,
        },
        TypeKind::Sequence(Some(_)) | TypeKind::Map { .. } | TypeKind::Opaque { .. } => None,
    }
}

/// Checks every type, components first.
fn verdicts(cx: &VerifyContext<'_>) -> Vec<Verdict> {
    let types = &cx.model.types;
    let mut list: Vec<Verdict> = Vec::with_capacity(types.len());
    for ty in (0..types.len()).map(TypeId::from_index) {
        let this = &types[ty];
        let mut verdict = inner(this).and_then(|i| list.get(i.index()).copied()).unwrap_or_default();
        verdict.problem = own_problem(cx, this).or(verdict.problem);
        let odd = |name: Option<Name>, standard: &[&str]| {
            name.filter(|&n| !n.is_empty() && !standard.contains(&cx.text(n)))
        };
        verdict.denotation = odd(this.denotation, &TYPE_DENOTATIONS).or(verdict.denotation);
        for dim in tensor_of(this).and_then(|t| t.shape.as_ref()).into_iter().flatten() {
            match dim.value {
                DimValue::Value(n) if n < 0 => verdict.negative = verdict.negative.or(Some(n)),
                DimValue::Param(name) if !is_formula(cx.text(name)) => {
                    verdict.symbol = verdict.symbol.or(Some(name));
                }
                DimValue::Value(_) | DimValue::Param(_) | DimValue::Unknown => {}
            }
            verdict.denotation = verdict.denotation.or(odd(dim.denotation, &DIM_DENOTATIONS));
        }
        list.push(verdict);
    }
    list
}

/// A finding of many places: its first place, and how many more there are.
#[derive(Default)]
struct First {
    diagnostic: Option<Diagnostic>,
    others: u64,
}

impl First {
    fn add(&mut self, diagnostic: impl FnOnce() -> Diagnostic) {
        if self.diagnostic.is_some() {
            self.others += 1;
        } else {
            self.diagnostic = Some(diagnostic());
        }
    }

    fn report(self, found: &mut Findings) {
        let Some(diagnostic) = self.diagnostic else { return };
        let others = self.others;
        found.push(match others {
            0 => diagnostic,
            _ => diagnostic.label(format!("and in {}", counted(others, "other declaration"))),
        });
    }
}

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let verdicts = verdicts(cx);
    let mut denotations = Seen::new();
    for view in &cx.bodies {
        let mut unset = First::default();
        for step in view.layout.special() {
            match step {
                WalkEvent::EnterGraph(graph) => {
                    of_graph(cx, found, view, graph, &verdicts, &mut denotations, &mut unset);
                }
                WalkEvent::EnterNode(node) => {
                    for (i, attr) in view.body.nodes[node].attrs.iter().enumerate() {
                        let place = Entity::Attr(view.id, node, index(i));
                        for ty in of_attribute(attr) {
                            let verdict = &verdicts[ty.index()];
                            let of = format_args!("attribute `{}`", cx.model.text(attr.name));
                            complete(cx, found, verdict, ty, of, place);
                            denotation(cx, found, verdict, &mut denotations, place);
                        }
                    }
                }
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
        }
        unset.report(found);
    }
}

fn of_graph(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    view: &View<'_>,
    id: GraphId,
    verdicts: &[Verdict],
    denotations: &mut Seen<()>,
    unset: &mut First,
) {
    let graph = &view.body.graphs[id];
    let is_main = view.role == Role::Main && Some(id) == view.body.root();
    let (mut negative, mut symbols) = (First::default(), First::default());
    let inputs = graph.inputs.iter().enumerate().map(|(i, p)| (Entity::Input(view.id, id, index(i)), p));
    let outputs = graph.outputs.iter().enumerate().map(|(i, p)| (Entity::Output(view.id, id, index(i)), p));
    let infos =
        graph.value_info.iter().enumerate().map(|(i, p)| (Entity::ValueInfo(view.id, id, index(i)), p));
    for (place, port) in inputs.chain(outputs).chain(infos) {
        let public = is_main && !matches!(place, Entity::ValueInfo(..));
        let Some(ty) = port.ty else {
            if public {
                let (code, what) = match place {
                    Entity::Input(..) => (&code::IO_TYPE_MISSING, "input"),
                    _ => (&code::OUTPUT_TYPE_MISSING, "output"),
                };
                let message = format!("graph {what} `{}` has no type", cx.model.text(port.name));
                found.push(Diagnostic::new(code, place, message));
            }
            continue;
        };
        let verdict = &verdicts[ty.index()];
        let name = cx.model.text(port.name);
        if !public && cx.model.types[ty].kind == TypeKind::Unset {
            // Exporters write empty types where a type may be omitted.
            unset.add(|| {
                let message = format!("type of `{name}` has no kind");
                Diagnostic::new(&code::TYPE_UNSET, place, message)
            });
        } else if !(public && unranked(cx, found, port, ty, place)) {
            complete(cx, found, verdict, ty, format_args!("`{name}`"), place);
        }
        denotation(cx, found, verdict, denotations, place);
        if let Some(n) = verdict.negative {
            negative.add(|| {
                let message = format!("dimension {n} of `{}` is negative", cx.model.text(port.name));
                Diagnostic::new(&code::DIM_NEGATIVE, place, message)
                    .help("write `?` or a name for an unknown dimension")
            });
        }
        if let Some(symbol) = verdict.symbol {
            symbols.add(|| {
                let message = match cx.text(symbol) {
                    "" => format!("a dimension of `{}` has an empty name", cx.model.text(port.name)),
                    text => format!("dimension name `{text}` is neither an identifier nor a formula"),
                };
                Diagnostic::new(&code::DIM_PARAM_NAME, place, message)
            });
        }
    }
    negative.report(found);
    symbols.report(found);
}

/// Whether a tensor of the main graph's interface lacks its rank, which is reported.
fn unranked(cx: &VerifyContext<'_>, found: &mut Findings, port: &Port, ty: TypeId, place: Entity) -> bool {
    let Some(tensor) = tensor_of(&cx.model.types[ty]) else { return false };
    if tensor.shape.is_some() || elem_problem(tensor.elem).is_some() {
        return false;
    }
    let name = cx.model.text(port.name);
    let message = format!("`{name}` of type `{}` has no shape", type_text(cx.model, ty));
    let help = "declare the rank: write `?` for unknown dimensions";
    found.push(Diagnostic::new(&code::IO_SHAPE_MISSING, place, message).help(help));
    true
}

/// `of` is what has the type, in backticks.
fn complete(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    verdict: &Verdict,
    ty: TypeId,
    of: fmt::Arguments<'_>,
    place: Entity,
) {
    let Some(problem) = verdict.problem else { return };
    let legal = problem.unset && matches!(place, Entity::ValueInfo(..));
    let code = if legal { &code::TYPE_UNSET } else { problem.code };
    let message = format!("type `{}` of {of} {}", type_text(cx.model, ty), problem.text);
    found.push(Diagnostic::new(code, place, message));
}

fn denotation(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    verdict: &Verdict,
    seen: &mut Seen<()>,
    place: Entity,
) {
    let Some(name) = verdict.denotation.filter(|&n| seen.first(n, ()).is_none()) else { return };
    let text = cx.text(name);
    let standard = TYPE_DENOTATIONS.iter().chain(&DIM_DENOTATIONS).copied();
    let help = found.suggest(text, 11, standard);
    let message = format!("denotation `{text}` is not a standard one");
    found.push(Diagnostic::new(&code::DENOTATION, place, message).maybe_help(help));
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Level, VerifyOptions, verify};
    use super::*;
    use crate::{Dim, Model};

    /// The findings about a main graph whose input `x` has this type.
    fn input(ty: impl FnOnce(&mut Model) -> Option<Type>) -> Vec<String> {
        let mut model = relu();
        let ty = ty(&mut model).map(|t| model.types.intern(t));
        only(&mut main(&mut model).graphs).inputs[0].ty = ty;
        findings(&model)
    }

    fn kind(kind: TypeKind) -> Vec<String> {
        input(|_| Some(kind.into()))
    }

    fn tensor(elem: Option<ElemType>, shape: Option<Vec<Dim>>) -> TypeKind {
        TypeKind::Tensor(TensorType { elem, shape })
    }

    #[test]
    fn the_main_graph_states_types_and_ranks() {
        assert_eq!(input(|_| None), ["E0701 graph input `x` has no type"]);
        let float = Some(ElemType::FLOAT);
        assert_eq!(kind(tensor(float, Some(vec![]))), [""; 0]);
        assert_eq!(kind(tensor(float, None)), ["E0702 `x` of type `float[]` has no shape"]);
        assert_eq!(kind(tensor(None, Some(vec![]))), ["E0703 type `?` of `x` has no element type"]);
        assert_eq!(
            kind(tensor(Some(ElemType(99)), Some(vec![]))),
            ["E0703 type `99` of `x` has an unknown element type"]
        );
    }

    #[test]
    fn types_are_complete_at_every_depth() {
        assert_eq!(kind(TypeKind::Unset).len(), 1);
        assert_eq!(
            kind(TypeKind::Sequence(None)),
            ["E0704 type `seq(?)` of `x` has a sequence without element type"]
        );
        let nested = |m: &mut Model| {
            let inner = m.types.intern(TypeKind::Sequence(None).into());
            Some(TypeKind::Sequence(Some(inner)).into())
        };
        assert_eq!(input(nested), ["E0704 type `seq(seq(?))` of `x` has a sequence without element type"]);
        let opaque = kind(TypeKind::Opaque { domain: None, name: None });
        assert!(
            opaque.contains(&"E0704 type `opaque()` of `x` has an opaque type without a name".to_owned())
        );
        let map = |key| {
            move |m: &mut Model| {
                let value = Some(m.types.tensor(ElemType::FLOAT, []));
                Some(Type::from(TypeKind::Map { key, value }))
            }
        };
        assert_eq!(input(map(Some(ElemType::STRING))), [""; 0]);
        assert_eq!(input(map(None)), ["E0704 type `map(?, float)` of `x` has a map without key type"]);
        assert_eq!(
            input(map(Some(ElemType::FLOAT))),
            [
                "E0705 type `map(float, float)` of `x` has a key type that is neither an integer type nor string"
            ]
        );
        let optional = |m: &mut Model| {
            let float = m.types.tensor(ElemType::FLOAT, []);
            let inner = m.types.intern(TypeKind::Optional(Some(float)).into());
            Some(TypeKind::Optional(Some(inner)).into())
        };
        assert_eq!(
            input(optional),
            ["E0706 type `optional(optional(float))` of `x` has an optional of an optional"]
        );
    }

    #[test]
    fn an_unset_element_type_is_a_warning_in_value_info() {
        use crate::diag::Severity;
        let model = draft(|d| {
            let ty = d.b.types.intern(tensor(Some(ElemType::UNDEFINED), None).into());
            d.graph("g", &["x"], &["y"], |d| {
                d.node("Relu", &["x"], &["t"]);
                d.node("Relu", &["t"], &["y"]);
                let t = d.b.name("t");
                d.b.value_info(Port { name: Some(t), ty: Some(ty), ..Port::default() });
            });
        });
        let list = verify(&model, &VerifyOptions::default());
        assert_eq!(
            list.iter().map(|d| (d.code.id, d.severity)).collect::<Vec<_>>(),
            [("W0712", Severity::Warning)]
        );
    }

    #[test]
    fn odd_dimensions_are_reported_once_a_graph() {
        let mut model = relu();
        let (odd, star) = (model.names.intern("batch size"), model.names.intern("*"));
        let a = model.types.tensor(ElemType::FLOAT, [DimValue::Value(-3), DimValue::Param(odd)]);
        let b = model.types.tensor(ElemType::FLOAT, [DimValue::Param(star), DimValue::Value(-1)]);
        let graph = only(&mut main(&mut model).graphs);
        (graph.inputs[0].ty, graph.outputs[0].ty) = (Some(a), Some(b));
        let list = verify(&model, &VerifyOptions { level: Level::Strict, ..VerifyOptions::default() });
        let list: Vec<_> = list
            .iter()
            .filter(|d| d.code.id.starts_with("W07"))
            .map(|d| (d.code.id, d.message.as_str(), d.primary.text.as_str()))
            .collect();
        let label = "and in 1 other declaration";
        assert_eq!(
            list,
            [
                ("W0707", "dimension -3 of `x` is negative", label),
                ("W0708", "dimension name `batch size` is neither an identifier nor a formula", label)
            ]
        );
    }

    #[test]
    fn denotations_are_standard() {
        let denoted = |name: &'static str| {
            move |m: &mut Model| {
                let kind = tensor(Some(ElemType::FLOAT), Some(vec![]));
                Some(Type { kind, denotation: Some(m.names.intern(name)) })
            }
        };
        assert_eq!(input(denoted("TEXT")), [""; 0]);
        assert_eq!(input(denoted("PICTURE")), ["W0710 denotation `PICTURE` is not a standard one"]);
    }
}
