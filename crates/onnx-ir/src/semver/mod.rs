//! Semantic versioning of models: how a new version affects users, and the required increment of `model_version`.
//!
//! The rules are those that Versioning.md recommends for models ("Signature Changes"); it does not cover shapes, order, imports
//! and functions, where the same criterion applies: can a user of the old model find that the new one fails or behaves
//! differently?
//!
//! | change | input | output |
//! | --- | --- | --- |
//! | removed, or at another position | MAJOR | MAJOR |
//! | added | MAJOR, with a default MINOR | MINOR |
//! | default removed, added or changed | MAJOR, MINOR, MINOR | |
//! | another type; a wider one | MAJOR; MINOR | MAJOR; MINOR |
//! | fewer shapes; more shapes | MAJOR; MINOR | MINOR; MAJOR |
//!
//! Newer imports are MINOR: the runtime must support them. Internal changes (nodes, weights, functions) are PATCH. Both are a
//! choice of this crate: Versioning.md leaves the policy for dependencies open, and lets the contents of a graph change freely as
//! long as its semantics stay the same, which only the author of a model can know.

mod shape;

use crate::body::{Graph, Port};
use crate::diag::Entity;
use crate::ids::{BodyId, TensorId, TypeId, ValueId};
use crate::model::{Model, normalize_domain};
use crate::show::type_text;
use crate::types::{ElemType, TypeKind};
use shape::{ShapeChange, Shapes};
use std::collections::HashMap;
use std::fmt;

/// The impact of a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Impact {
    /// Users are not affected.
    Patch,
    /// The interface has grown compatibly.
    Minor,
    /// An existing use of the model may break.
    Major,
}

impl Impact {
    /// `MAJOR`
    pub fn name(self) -> &'static str {
        match self {
            Impact::Patch => "PATCH",
            Impact::Minor => "MINOR",
            Impact::Major => "MAJOR",
        }
    }
}

/// A version of a model, decoded from `model_version`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// A number that grows.
    Simple(u32),
    /// MAJOR.MINOR.PATCH in 16, 16 and 32 bits.
    Semantic(u16, u16, u32),
}

impl Version {
    /// Decodes a number by its bits: a negative one has a MAJOR of 32768 or more. A missing one is 0.
    pub fn of(number: Option<i64>) -> Version {
        let number = number.unwrap_or(0).cast_unsigned();
        let part = |shift: u32| u16::try_from((number >> shift) & 0xffff).unwrap_or_default();
        let patch = u32::try_from(number & 0xffff_ffff).unwrap_or_default();
        if number >> 32 == 0 { Version::Simple(patch) } else { Version::Semantic(part(48), part(32), patch) }
    }

    /// Encodes the version.
    pub fn number(self) -> i64 {
        match self {
            Version::Simple(number) => number.into(),
            Version::Semantic(major, minor, patch) => {
                let packed = (u64::from(major) << 48) | (u64::from(minor) << 32) | u64::from(patch);
                packed.cast_signed()
            }
        }
    }

    /// Reads a version as people write it, `3` or `1.2.345`.
    ///
    /// ```
    /// use onnx_ir::semver::Version;
    ///
    /// assert_eq!(Version::parse("1.2.345"), Ok(Version::Semantic(1, 2, 345)));
    /// assert_eq!(Version::parse("1.2.345").map(Version::number), Ok(0x0001_0002_0000_0159));
    /// assert_eq!(Version::parse("40000.0.0").map(|version| Version::of(Some(version.number()))), Version::parse("40000.0.0"));
    /// assert!(Version::parse("0.0.1").is_err()); // it would read as the number 1
    /// ```
    ///
    /// # Errors
    ///
    /// The text is not a version; the message says what is expected.
    pub fn parse(text: &str) -> Result<Version, String> {
        let parts: Vec<&str> = text.split('.').collect();
        let wrong = || {
            format!(
                "`{text}` is not a version: expected a number up to {}, or MAJOR.MINOR.PATCH with parts up to 65535, 65535 and {}",
                u32::MAX,
                u32::MAX
            )
        };
        match &parts[..] {
            [number] => number.parse().map(Version::Simple).map_err(|_| wrong()),
            [major, minor, patch] => match (major.parse(), minor.parse(), patch.parse()) {
                (Ok(0), Ok(0), Ok::<u32, _>(_)) => Err(format!(
                    "`{text}` has neither a MAJOR nor a MINOR part: it would be read as a simple number"
                )),
                (Ok(major), Ok(minor), Ok(patch)) => Ok(Version::Semantic(major, minor, patch)),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }

    /// Whether the next version announces a change of this impact; `None` stands for models without differences.
    ///
    /// A simple number only has to increase. While MAJOR is 0, breaking changes raise MINOR (semver.org, 4).
    pub fn announces(self, next: Version, impact: Option<Impact>) -> bool {
        let Some(impact) = impact else {
            return next.number().cast_unsigned() >= self.number().cast_unsigned();
        };
        match (self, next) {
            (Version::Simple(old), Version::Simple(new)) => new > old,
            (Version::Simple(_), Version::Semantic(..)) => true,
            (Version::Semantic(..), Version::Simple(_)) => false,
            (Version::Semantic(major, minor, patch), Version::Semantic(x, y, z)) => match impact {
                Impact::Major if major == 0 => (x, y) > (major, minor),
                Impact::Major => x > major,
                Impact::Minor => (x, y) > (major, minor),
                Impact::Patch => (x, y, z) > (major, minor, patch),
            },
        }
    }

    /// The least version that announces such a change.
    pub fn next(self, impact: Impact) -> Version {
        match (self, impact) {
            (Version::Simple(number), _) => Version::Simple(number.saturating_add(1)),
            (Version::Semantic(0, minor, _), Impact::Major) => {
                Version::Semantic(0, minor.saturating_add(1), 0)
            }
            (Version::Semantic(major, ..), Impact::Major) => Version::Semantic(major.saturating_add(1), 0, 0),
            (Version::Semantic(major, minor, _), Impact::Minor) => {
                Version::Semantic(major, minor.saturating_add(1), 0)
            }
            (Version::Semantic(major, minor, patch), Impact::Patch) => {
                Version::Semantic(major, minor, patch.saturating_add(1))
            }
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Simple(number) => write!(f, "{number}"),
            Version::Semantic(major, minor, patch) => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

/// Which of the two models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The one that was.
    Old,
    /// The one that is to be.
    New,
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its impact.
    pub impact: Impact,
    /// The message.
    pub message: String,
    /// Its place.
    pub place: Option<(Side, Entity)>,
}

/// The differences that affect users of a model, the greatest impact first. Internals are not compared, except for signatures of
/// functions.
#[must_use]
pub fn differences(old: &Model, new: &Model) -> Vec<Difference> {
    let mut found = Found { old, new, list: Vec::new() };
    if let (Some((old_body, old_graph)), Some((new_body, new_graph))) = (main(old), main(new)) {
        found.ports(true, (old_body, old_graph), (new_body, new_graph));
        found.ports(false, (old_body, old_graph), (new_body, new_graph));
        found.shapes(old_graph, new_graph, new_body);
    }
    found.imports();
    found.functions();
    found.list.sort_by_key(|difference| std::cmp::Reverse(difference.impact));
    found.list
}

fn main(model: &Model) -> Option<(BodyId, &Graph)> {
    let body = model.main?;
    Some((body, &model.bodies[body].graphs[model.bodies[body].root()?]))
}

fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

struct Found<'m> {
    old: &'m Model,
    new: &'m Model,
    list: Vec<Difference>,
}

impl<'m> Found<'m> {
    fn add(&mut self, impact: Impact, place: (Side, Entity), message: String) {
        self.list.push(Difference { impact, message, place: Some(place) });
    }

    fn ports(
        &mut self,
        are_inputs: bool,
        (old_body, old): (BodyId, &'m Graph),
        (new_body, new): (BodyId, &'m Graph),
    ) {
        let what = if are_inputs { "input" } else { "output" };
        let list = |graph: &'m Graph| if are_inputs { &graph.inputs } else { &graph.outputs };
        let place = |side: Side, i: usize| {
            let (model, body) = if side == Side::Old { (self.old, old_body) } else { (self.new, new_body) };
            let Some(root) = model.bodies[body].root() else { return (side, Entity::Header) };
            let at = if are_inputs { Entity::Input } else { Entity::Output };
            (side, at(body, root, index(i)))
        };
        let (before, after) = (list(old), list(new));
        let name = |model: &'m Model, port: &Port| model.text(port.name);
        let (before_by, after_by) = (by_name(self.old, before), by_name(self.new, after));
        let defaults = are_inputs.then(|| [old, new].map(defaults));
        let mut found = Vec::new();
        let mut kept = Vec::new();
        for (i, port) in before.iter().enumerate() {
            let called = name(self.old, port);
            let Some(&j) = after_by.get(called) else {
                found.push((Impact::Major, place(Side::Old, i), format!("{what} `{called}` is gone")));
                continue;
            };
            kept.push((i, j));
            if let Some((impact, change)) = self.types(port.ty, after[j].ty) {
                found.push((impact, place(Side::New, j), format!("{what} `{called}` {change}")));
            }
            if let Some([old, new]) = &defaults
                && let Some((impact, change)) = self.default_change((port, old), (&after[j], new))
            {
                found.push((impact, place(Side::New, j), format!("{what} `{called}` {change}")));
            }
        }
        for (j, port) in after.iter().enumerate() {
            let called = name(self.new, port);
            if before_by.contains_key(called) {
                continue;
            }
            let (impact, how) = match &defaults {
                None => (Impact::Minor, ""),
                Some([_, new]) if port.value.is_some_and(|value| new.contains_key(&value)) => {
                    (Impact::Minor, ", with a default")
                }
                Some(_) => (Impact::Major, ", without a default"),
            };
            found.push((impact, place(Side::New, j), format!("{what} `{called}` is new{how}")));
        }
        // Positional arguments come before additions.
        if let Some(&(_, j)) = kept.iter().enumerate().find(|(at, (_, j))| j != at).map(|(_, pair)| pair)
            && kept.len() == before.len()
        {
            let called = name(self.new, &after[j]);
            let message = format!("{what} `{called}` has another position");
            found.push((Impact::Major, place(Side::New, j), message));
        }
        found.into_iter().for_each(|(impact, place, message)| self.add(impact, place, message));
    }

    /// The differences of kinds and element types. Shapes are compared together.
    fn types(&self, old: Option<TypeId>, new: Option<TypeId>) -> Option<(Impact, String)> {
        let text =
            |model: &Model, ty: Option<TypeId>| ty.map_or("untyped".to_owned(), |ty| type_text(model, ty));
        let (was, is) = (text(self.old, old), text(self.new, new));
        let change = format!("is {is}, and was {was}");
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => (&self.old.types[old].kind, &self.new.types[new].kind),
            (None, None) => return None,
            (None, Some(_)) | (Some(_), None) => return Some((Impact::Major, change)),
        };
        match (old, new) {
            (TypeKind::Tensor(a), TypeKind::Tensor(b))
            | (TypeKind::SparseTensor(a), TypeKind::SparseTensor(b)) => {
                if a.elem == b.elem {
                    return None;
                }
                let is_wider = a.elem.zip(b.elem).is_some_and(|(a, b)| is_wider(a, b));
                Some((if is_wider { Impact::Minor } else { Impact::Major }, change))
            }
            (TypeKind::Tensor(_) | TypeKind::SparseTensor(_), _)
            | (_, TypeKind::Tensor(_) | TypeKind::SparseTensor(_)) => Some((Impact::Major, change)),
            _ => (is != was).then_some((Impact::Major, change)),
        }
    }

    /// The change of the default of an input, given the defaults of both graphs.
    fn default_change(
        &self,
        (old, before): (&Port, &Defaults),
        (new, after): (&Port, &Defaults),
    ) -> Option<(Impact, String)> {
        let tensor = |model: &'m Model, defaults: &Defaults, port: &Port| {
            Some(&model.bodies[model.main?].tensors[*defaults.get(&port.value?)?])
        };
        match (tensor(self.old, before, old), tensor(self.new, after, new)) {
            (Some(_), None) => Some((Impact::Major, "has no default any more".to_owned())),
            (None, Some(_)) => Some((Impact::Minor, "has a default now".to_owned())),
            (Some(a), Some(b)) if (&a.elem, &a.dims, &a.data) != (&b.elem, &b.dims, &b.data) => {
                Some((Impact::Minor, "has another default".to_owned()))
            }
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    fn shapes(&mut self, old: &'m Graph, new: &'m Graph, body: BodyId) {
        let Some(root) = self.new.bodies[body].root() else { return };
        for (are_inputs, before, after) in
            [(true, &old.inputs, &new.inputs), (false, &old.outputs, &new.outputs)]
        {
            let mut shapes = Shapes::new(self.old, self.new);
            let before_by = by_name(self.old, before);
            for (j, port) in after.iter().enumerate() {
                let called = self.new.text(port.name);
                let Some(other) = before_by.get(called).map(|i| &before[*i]) else { continue };
                let Some(change) = shapes.compare(other.ty, port.ty) else { continue };
                let what = if are_inputs { "input" } else { "output" };
                let (impact, verb) = match (change, are_inputs) {
                    (ShapeChange::Fewer, true) => (Impact::Major, "takes fewer shapes"),
                    (ShapeChange::More, true) => (Impact::Minor, "takes more shapes"),
                    (ShapeChange::Fewer, false) => (Impact::Minor, "gives fewer shapes"),
                    (ShapeChange::More, false) => (Impact::Major, "gives more shapes"),
                    (ShapeChange::Other, _) => (Impact::Major, "has another shape"),
                };
                let [was, is] = [(self.old, other.ty), (self.new, port.ty)]
                    .map(|(model, ty)| ty.map_or(String::new(), |ty| type_text(model, ty)));
                let message = format!("{what} `{called}` {verb}: {is}, and it was {was}");
                let at = if are_inputs { Entity::Input } else { Entity::Output };
                self.add(impact, (Side::New, at(body, root, index(j))), message);
            }
        }
    }

    fn imports(&mut self) {
        let (old, new) = (self.old, self.new);
        let version = |model: &Model, domain: &str| {
            let of = model.header.opset_imports.iter();
            of.filter(|i| normalize_domain(model.text(i.domain)) == domain).filter_map(|i| i.version).max()
        };
        if let (Some(a), Some(b)) = (old.header.ir_version, new.header.ir_version)
            && a != b
        {
            let impact = if b > a { Impact::Minor } else { Impact::Patch };
            self.add(impact, (Side::New, Entity::IrVersion), format!("IR version {b}, and it was {a}"));
        }
        for (i, import) in new.header.opset_imports.iter().enumerate() {
            let domain = normalize_domain(new.text(import.domain));
            let shown = if domain.is_empty() { "ai.onnx" } else { domain };
            let place = (Side::New, Entity::OpsetImport(index(i)));
            match (version(old, domain), import.version) {
                (None, _) => self.add(Impact::Minor, place, format!("operators of {shown} are used")),
                (Some(a), Some(b)) if b > a => {
                    self.add(
                        Impact::Minor,
                        place,
                        format!("version {b} of {shown} is imported, and it was {a}"),
                    );
                }
                (Some(a), Some(b)) if b < a => {
                    self.add(
                        Impact::Patch,
                        place,
                        format!("version {b} of {shown} is imported, and it was {a}"),
                    );
                }
                (Some(_), _) => {}
            }
        }
    }

    /// Functions are internal and cannot be called from outside, but readers of a change want to know.
    fn functions(&mut self) {
        let key = |model: &'m Model, f: &crate::model::Function| {
            (normalize_domain(model.text(f.domain)), model.text(f.name), model.text(f.overload))
        };
        let (old, new) = (self.old, self.new);
        // Of equal ones, the first counts.
        let known: HashMap<_, _> = old.functions.values().rev().map(|f| (key(old, f), f)).collect();
        for (id, function) in new.functions.iter() {
            let (_, name, _) = key(new, function);
            let Some(other) = known.get(&key(new, function)) else { continue };
            if interface(old, other) != interface(new, function) {
                let message = format!("function `{name}` takes or gives something else");
                self.add(Impact::Patch, (Side::New, Entity::Function(id)), message);
            }
        }
    }
}

/// Names of inputs, outputs and attributes of a function.
fn interface<'m>(model: &'m Model, function: &crate::model::Function) -> [Vec<&'m str>; 3] {
    let body = &model.bodies[function.body];
    let names = |ports: &[Port]| ports.iter().map(|p| model.text(p.name)).collect();
    let (inputs, outputs) = body
        .root()
        .map(|g| (names(&body.graphs[g].inputs), names(&body.graphs[g].outputs)))
        .unwrap_or_default();
    let defaults = function.attribute_defaults.iter().filter_map(|attr| attr.name);
    let attributes =
        function.attributes.iter().copied().chain(defaults).map(|name| &model.names[name]).collect();
    [inputs, outputs, attributes]
}

/// The positions of inputs or outputs by name; of equal names, the first counts.
fn by_name<'m>(model: &'m Model, ports: &[Port]) -> HashMap<&'m str, usize> {
    ports.iter().enumerate().rev().map(|(i, port)| (model.text(port.name), i)).collect()
}

/// The stored tensors of values.
type Defaults = HashMap<ValueId, TensorId>;

fn defaults(graph: &Graph) -> Defaults {
    graph.initializers.iter().rev().map(|init| (init.value, init.tensor)).collect()
}

/// Whether every value of one type is one of the other.
fn is_wider(old: ElemType, new: ElemType) -> bool {
    use ElemType as E;
    const CHAINS: &[&[ElemType]] = &[
        &[E::INT8, E::INT16, E::INT32, E::INT64],
        &[E::UINT8, E::UINT16, E::UINT32, E::UINT64],
        &[E::UINT8, E::INT16],
        &[E::UINT8, E::INT32],
        &[E::UINT16, E::INT32],
        &[E::UINT16, E::INT64],
        &[E::UINT8, E::INT64],
        &[E::UINT32, E::INT64],
        &[E::FLOAT16, E::FLOAT, E::DOUBLE],
        &[E::BFLOAT16, E::FLOAT, E::DOUBLE],
        &[E::COMPLEX64, E::COMPLEX128],
    ];
    let at = |chain: &[ElemType], elem| chain.iter().position(|e| *e == elem);
    CHAINS.iter().any(|chain| at(chain, old).zip(at(chain, new)).is_some_and(|(old, new)| old < new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_simple_or_packed() {
        assert_eq!(Version::of(None), Version::Simple(0));
        // The example of Versioning.md, and versions whose number is negative.
        for (number, version, text) in [
            (0x0001_0002_0000_0159, Version::Semantic(1, 2, 345), "1.2.345"),
            (i64::MIN, Version::Semantic(32768, 0, 0), "32768.0.0"),
            (-1, Version::Semantic(u16::MAX, u16::MAX, u32::MAX), "65535.65535.4294967295"),
            (7, Version::Simple(7), "7"),
        ] {
            assert_eq!(Version::of(Some(number)), version);
            assert_eq!((version.number(), version.to_string()), (number, text.to_owned()));
            assert_eq!(Version::parse(text), Ok(version));
        }
        for wrong in ["", "1.2", "1.2.3.4", "0.0.5", "65536.0.0", "-1", "1.x.3"] {
            assert!(Version::parse(wrong).is_err(), "{wrong}");
        }
        let (last, first) = (Version::Semantic(32767, 9, 9), Version::Semantic(32768, 0, 0));
        assert!(last.announces(first, Some(Impact::Major)) && last.announces(first, None));
        assert!(!first.announces(last, None));
    }

    #[test]
    fn a_version_announces_what_it_has_to() {
        let v = Version::Semantic;
        let one = v(1, 2, 3);
        for (next, max) in [
            (v(2, 0, 0), Some(Impact::Major)),
            (v(1, 3, 0), Some(Impact::Minor)),
            (v(1, 2, 4), Some(Impact::Patch)),
            (one, None),
        ] {
            for impact in [None, Some(Impact::Patch), Some(Impact::Minor), Some(Impact::Major)] {
                assert_eq!(one.announces(next, impact), impact <= max, "{next} {impact:?}");
            }
        }
        assert!(!one.announces(v(1, 2, 2), None) && !one.announces(Version::Simple(9), Some(Impact::Patch)));
        assert!(v(0, 3, 1).announces(v(0, 4, 0), Some(Impact::Major)));
        assert!(Version::Simple(4).announces(Version::Simple(5), Some(Impact::Major)));
        assert!(Version::Simple(4).announces(one, Some(Impact::Major)));
        assert_eq!((one.next(Impact::Major), one.next(Impact::Minor)), (v(2, 0, 0), v(1, 3, 0)));
        assert_eq!(v(0, 3, 1).next(Impact::Major), v(0, 4, 0));
    }

    #[test]
    fn wider_types_hold_all_values() {
        use ElemType as E;
        assert!(
            is_wider(E::INT32, E::INT64) && is_wider(E::FLOAT16, E::DOUBLE) && is_wider(E::UINT8, E::INT16)
        );
        assert!(
            !is_wider(E::INT64, E::INT32) && !is_wider(E::INT32, E::FLOAT) && !is_wider(E::UINT8, E::INT8)
        );
        assert!(!is_wider(E::BFLOAT16, E::FLOAT16) && !is_wider(E::FLOAT, E::FLOAT));
    }
}
