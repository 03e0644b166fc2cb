//! Values in files of their own: Y11, and the rules on the tensors in them.

use super::context::{Findings, VerifyContext, index};
use super::tensors::At;
use super::{VerifyOptions, sparse, tensors};
use crate::body::Body;
use crate::data::{Data, DataKind, DataRef, MapData, OptionalData, Sequence, SparseData};
use crate::diag::{Diagnostic, Entity, code, counted};
use crate::model::Model;
use crate::names::{Name, Names};
use crate::show::elem_text;
use crate::tensor::SparseTensor;
use crate::types::ElemType;

/// Checks a value in a separate file: its fields must be consistent, and its tensors valid. Findings are at [`Entity::Data`], in
/// document order.
///
/// ```
/// use onnx_ir::{Data, MapData, Names, VerifyOptions, verify_data};
///
/// // map() {keys = [1]}
/// let data = Data::Map(MapData { keys: vec![1], ..MapData::default() });
/// let found = verify_data(&data, &Names::new(), &VerifyOptions::default());
/// assert_eq!(found[0].message, "the map has no key type");
/// ```
#[must_use]
pub fn verify_data(data: &Data, names: &Names, options: &VerifyOptions) -> Vec<Diagnostic> {
    // The rules on tensors are about those of a model.
    let model = Model { names: names.clone(), ..Model::new() };
    let cx = VerifyContext::new(&model, options);
    let mut judge = Judge { cx: &cx, found: Findings::new(options), next: 0 };
    judge.held(data.data_ref());
    judge.found.into_list()
}

struct Judge<'m> {
    cx: &'m VerifyContext<'m>,
    found: Findings,
    /// The number of the next value, in document order.
    next: usize,
}

impl Judge<'_> {
    fn held(&mut self, held: DataRef<'_>) {
        let place = Entity::Data(index(self.next));
        self.next += 1;
        match held {
            DataRef::Tensor(tensor) => {
                tensors::dense(self.cx, &mut self.found, At::alone(&Body::default(), place), tensor);
            }
            DataRef::SparseTensor(tensor) => self.sparse(tensor, place),
            DataRef::Sequence(sequence) => self.sequence(sequence, place),
            DataRef::Map(map) => self.map(map, place),
            DataRef::Optional(optional) => self.optional(optional, place),
        }
    }

    fn fail(&mut self, place: Entity, message: String) {
        self.found.push(Diagnostic::new(&code::VALUE_PROTOS, place, message));
    }

    /// `` `s` ``, or a description of a value without a name.
    fn subject(&self, name: Option<Name>, what: &str) -> String {
        match name.filter(|n| !n.is_empty()) {
            Some(name) => format!("`{}`", self.cx.text(name)),
            None => format!("the {what}"),
        }
    }

    fn sparse(&mut self, sparse: &SparseData, place: Entity) {
        let mut body = Body::default();
        let mut part = |tensor: &Option<_>| tensor.clone().map(|tensor| body.tensors.push(tensor));
        let (values, indices) = (part(&sparse.values), part(&sparse.indices));
        let tensor = SparseTensor { values, indices, dims: sparse.dims.clone() };
        sparse::check(self.cx, &mut self.found, At::alone(&body, place), &tensor);
    }

    fn sequence(&mut self, sequence: &Sequence, place: Entity) {
        let first = sequence.elements().next();
        let subject = |this: &Self| this.subject(sequence.name, "sequence");
        match sequence.kind {
            // In bytes an optional without a value is the same as a sequence without a kind.
            Some(DataKind::UNDEFINED) if first.is_none() => {}
            None | Some(DataKind::UNDEFINED) => {
                self.fail(place, format!("{} has no element kind", subject(self)));
            }
            Some(kind) => match kind.name() {
                None => {
                    self.fail(place, format!("{} has the unknown element kind {}", subject(self), kind.0))
                }
                Some(word) => {
                    if let Some(other) = sequence.elements().find(|e| e.kind() != kind) {
                        let found = other.kind().name().unwrap_or("?");
                        let message =
                            format!("{} is a sequence of `{word}`, but holds a `{found}`", subject(self));
                        self.fail(place, message);
                    }
                }
            },
        }
        sequence.elements().for_each(|element| self.held(element));
    }

    fn map(&mut self, map: &MapData, place: Entity) {
        if let Some(message) = self.keys(map) {
            self.fail(place, message);
        }
        if let Some(values) = &map.values {
            self.held(DataRef::Sequence(values));
        }
    }

    /// The first mistake in the keys of a map.
    fn keys(&self, map: &MapData) -> Option<String> {
        let subject = self.subject(map.name, "map");
        let (integers, strings) = (map.keys.len(), map.string_keys.len());
        let (field, other) = match map.key {
            None | Some(ElemType::UNDEFINED) => {
                return Some(format!("{subject} has no key type"));
            }
            Some(ElemType::STRING) => (("string_keys", strings), ("keys", integers)),
            Some(key) if key.is_integer() => (("keys", integers), ("string_keys", strings)),
            Some(key) => {
                let key = elem_text(Some(key));
                return Some(format!(
                    "{subject} has the key type `{key}`: expected an integer type or string"
                ));
            }
        };
        let key = elem_text(map.key);
        if integers > 0 && strings > 0 {
            return Some(format!("{subject} has keys in both `keys` and `string_keys`"));
        }
        if other.1 > 0 {
            return Some(format!(
                "{subject} has its `{key}` keys in `{}`: expected them in `{}`",
                other.0, field.0
            ));
        }
        let values = map.values.as_ref().map_or(0, |values| values.elements().count());
        (field.1 != values).then(|| {
            let (keys, values) = (counted(field.1, "key"), counted(values, "value"));
            format!("{subject} has {keys}, but {values}")
        })
    }

    fn optional(&mut self, optional: &OptionalData, place: Entity) {
        let subject = self.subject(optional.name, "optional");
        let mut content = optional.content();
        let (first, second) = (content.next(), content.next());
        let found = first.and_then(|held| held.kind().name()).unwrap_or("?");
        let message = match (optional.kind, first) {
            _ if second.is_some() => {
                let values = counted(optional.content().count(), "value");
                Some(format!("{subject} holds {values}: expected at most one"))
            }
            (None, _) => Some(format!("{subject} has no value kind")),
            (Some(DataKind::UNDEFINED), None) => None,
            (Some(DataKind::UNDEFINED), Some(_)) => {
                Some(format!("{subject} is marked as empty, but holds a `{found}`"))
            }
            (Some(kind), first) => match (kind.name(), first) {
                (None, _) => Some(format!("{subject} has the unknown value kind {}", kind.0)),
                (Some(word), Some(held)) if held.kind() != kind => {
                    Some(format!("{subject} is an optional of `{word}`, but holds a `{found}`"))
                }
                (Some(_), _) => None,
            },
        };
        if let Some(message) = message {
            self.fail(place, message);
        }
        optional.content().for_each(|held| self.held(held));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Payload, Tensor};

    fn findings(data: Data) -> Vec<String> {
        let found = verify_data(&data, &Names::new(), &VerifyOptions::default());
        found.iter().map(|d| format!("{:?} {} {}", d.primary.place, d.code.id, d.message)).collect()
    }

    fn float() -> Tensor {
        Tensor {
            elem: Some(ElemType::FLOAT),
            data: [Payload::floats(vec![1.0])].into_iter().collect(),
            ..Tensor::default()
        }
    }

    fn sequence(kind: Option<DataKind>, elements: Vec<Data>) -> Sequence {
        let mut sequence = Sequence { kind, ..Sequence::default() };
        elements.into_iter().for_each(|element| sequence.push(element));
        sequence
    }

    const FLOATS: Option<DataKind> = Some(DataKind::TENSOR);

    #[test]
    fn sequences_hold_what_they_say() {
        let is = |kind, elements, expected: &str| {
            let found = findings(Data::Sequence(sequence(kind, elements)));
            let expected = if expected.is_empty() {
                Vec::new()
            } else {
                vec![format!("Entity(Data(0)) E0711 the sequence {expected}")]
            };
            assert_eq!(found, expected);
        };
        is(FLOATS, vec![Data::Tensor(float())], "");
        is(FLOATS, vec![], "");
        is(Some(DataKind::UNDEFINED), vec![], "");
        is(None, vec![Data::Tensor(float())], "has no element kind");
        is(Some(DataKind(9)), vec![], "has the unknown element kind 9");
        let inner = Data::Sequence(sequence(FLOATS, vec![]));
        is(FLOATS, vec![Data::Tensor(float()), inner], "is a sequence of `tensor`, but holds a `seq`");
    }

    #[test]
    fn maps_have_as_many_keys_as_values() {
        let is = |key, keys: &[i64], strings: &[&'static str], values: usize, expected: &str| {
            let values = vec![Data::Tensor(float()); values];
            let found = findings(Data::Map(MapData {
                key: Some(key),
                keys: keys.to_vec(),
                string_keys: strings.iter().map(|s| (*s).into()).collect(),
                values: Some(sequence(FLOATS, values)),
                ..MapData::default()
            }));
            let expected = if expected.is_empty() {
                Vec::new()
            } else {
                vec![format!("Entity(Data(0)) E0711 the map {expected}")]
            };
            assert_eq!(found, expected);
        };
        is(ElemType::INT64, &[1, 2], &[], 2, "");
        is(ElemType::STRING, &[], &["a"], 1, "");
        is(ElemType::INT64, &[1, 2], &[], 1, "has 2 keys, but 1 value");
        is(ElemType::INT64, &[1], &["a"], 1, "has keys in both `keys` and `string_keys`");
        is(ElemType::STRING, &[1], &[], 1, "has its `string` keys in `keys`: expected them in `string_keys`");
        is(ElemType::FLOAT, &[1], &[], 1, "has the key type `float`: expected an integer type or string");
        is(ElemType::UNDEFINED, &[1], &[], 1, "has no key type");
    }

    #[test]
    fn optionals_hold_one_value_or_none() {
        let is = |kind, values: Vec<Data>, expected: &str| {
            let mut optional = OptionalData { kind, ..OptionalData::default() };
            assert!(values.into_iter().all(|value| optional.set(value)));
            let found = findings(Data::Optional(optional));
            let expected = if expected.is_empty() {
                Vec::new()
            } else {
                vec![format!("Entity(Data(0)) E0711 the optional {expected}")]
            };
            assert_eq!(found, expected);
        };
        let tensor = || Data::Tensor(float());
        is(FLOATS, vec![tensor()], "");
        is(FLOATS, vec![], "");
        is(Some(DataKind::UNDEFINED), vec![], "");
        is(None, vec![], "has no value kind");
        is(Some(DataKind::UNDEFINED), vec![tensor()], "is marked as empty, but holds a `tensor`");
        is(Some(DataKind::SEQUENCE), vec![tensor()], "is an optional of `seq`, but holds a `tensor`");
        is(Some(DataKind(9)), vec![], "has the unknown value kind 9");
        let inner = Data::Sequence(sequence(FLOATS, vec![]));
        is(FLOATS, vec![tensor(), inner], "holds 2 values: expected at most one");
    }

    #[test]
    fn tensors_are_judged_where_they_are() {
        let short = Tensor { dims: [2].as_slice().into(), ..float() };
        let elements = vec![Data::Tensor(float()), Data::Tensor(short)];
        let found = findings(Data::Sequence(sequence(FLOATS, elements)));
        assert_eq!(
            found,
            ["Entity(Data(2)) E0505 a tensor without a name has 1 value, but `float[2]` needs 2"]
        );
        let sparse = SparseData { dims: [4].as_slice().into(), ..SparseData::default() };
        assert_eq!(
            findings(Data::SparseTensor(sparse)),
            ["Entity(Data(0)) E0521 a tensor without a name has no values"]
        );
    }
}
