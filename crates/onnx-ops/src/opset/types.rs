//! Types of signatures and sets of types.

use crate::schema::{ElemSet, Str, TypeSet};
use onnx_ir::{ElemType, Model, TensorType, TypeId, TypeKind, elem_text};
use std::borrow::Cow;

/// A type as schemas write it, without blanks: `map(string,tensor(int64))`. Empty for an incomplete type.
pub(super) fn spelling(model: &Model, id: TypeId) -> String {
    let inner = |inner: Option<TypeId>| inner.map_or(String::new(), |inner| spelling(model, inner));
    match &model.types[id].kind {
        TypeKind::Tensor(tensor) => format!("tensor({})", elem(tensor)),
        TypeKind::SparseTensor(tensor) => format!("sparse_tensor({})", elem(tensor)),
        TypeKind::Sequence(of) => format!("seq({})", inner(*of)),
        TypeKind::Optional(of) => format!("optional({})", inner(*of)),
        TypeKind::Map { key, value } => {
            format!("map({},{})", key.map_or(String::new(), |elem| elem_text(Some(elem))), inner(*value))
        }
        TypeKind::Opaque { domain, name } => format!("opaque({},{})", model.text(*domain), model.text(*name)),
        TypeKind::Unset => String::new(),
    }
}

fn elem(tensor: &TensorType) -> String {
    tensor.elem.map_or(String::new(), |elem| elem_text(Some(elem)))
}

/// The set of these types.
pub(super) fn set(model: &Model, types: &[TypeId]) -> TypeSet {
    let mut set = TypeSet::default();
    let mut others: Vec<Str> = Vec::new();
    for &id in types {
        match form(model, id) {
            Some((form, elem)) => add(form.of_mut(&mut set), elem),
            None => others.push(Cow::Owned(spelling(model, id))),
        }
    }
    set.others = Cow::Owned(others);
    set
}

fn add(set: &mut ElemSet, elem: ElemType) {
    set.0 |= u32::try_from(elem.0).ok().and_then(|number| 1u32.checked_shl(number)).unwrap_or(0);
}

/// The kinds of types in a [`TypeSet`] that have an element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Tensor,
    SparseTensor,
    Sequence,
    Optional,
    OptionalSequence,
}

impl Form {
    const ALL: [Form; 5] =
        [Form::Tensor, Form::SparseTensor, Form::Sequence, Form::Optional, Form::OptionalSequence];

    fn of(self, set: &TypeSet) -> ElemSet {
        match self {
            Form::Tensor => set.tensors,
            Form::SparseTensor => set.sparse_tensors,
            Form::Sequence => set.sequences,
            Form::Optional => set.optionals,
            Form::OptionalSequence => set.optional_sequences,
        }
    }

    fn of_mut(self, set: &mut TypeSet) -> &mut ElemSet {
        match self {
            Form::Tensor => &mut set.tensors,
            Form::SparseTensor => &mut set.sparse_tensors,
            Form::Sequence => &mut set.sequences,
            Form::Optional => &mut set.optionals,
            Form::OptionalSequence => &mut set.optional_sequences,
        }
    }

    fn ty(self, elem: ElemType, model: &mut Model) -> TypeId {
        let tensor = TensorType { elem: Some(elem), shape: None };
        let mut intern = |kind: TypeKind| model.types.intern(kind.into());
        match self {
            Form::Tensor => intern(TypeKind::Tensor(tensor)),
            Form::SparseTensor => intern(TypeKind::SparseTensor(tensor)),
            Form::Sequence => {
                let inner = intern(TypeKind::Tensor(tensor));
                intern(TypeKind::Sequence(Some(inner)))
            }
            Form::Optional => {
                let inner = intern(TypeKind::Tensor(tensor));
                intern(TypeKind::Optional(Some(inner)))
            }
            Form::OptionalSequence => {
                let inner = intern(TypeKind::Tensor(tensor));
                let inner = intern(TypeKind::Sequence(Some(inner)));
                intern(TypeKind::Optional(Some(inner)))
            }
        }
    }
}

/// The form of a type and its element type, if a [`TypeSet`] has a field and a bit for them.
fn form(model: &Model, id: TypeId) -> Option<(Form, ElemType)> {
    let kind = |id: TypeId| &model.types[id].kind;
    let tensor = |id: Option<TypeId>| match kind(id?) {
        TypeKind::Tensor(tensor) => tensor.elem,
        TypeKind::SparseTensor(_)
        | TypeKind::Sequence(_)
        | TypeKind::Optional(_)
        | TypeKind::Map { .. }
        | TypeKind::Opaque { .. }
        | TypeKind::Unset => None,
    };
    let found = match kind(id) {
        TypeKind::Tensor(t) => (Form::Tensor, t.elem?),
        TypeKind::SparseTensor(t) => (Form::SparseTensor, t.elem?),
        TypeKind::Sequence(inner) => (Form::Sequence, tensor(*inner)?),
        TypeKind::Optional(inner) => match kind((*inner)?) {
            TypeKind::Sequence(inner) => (Form::OptionalSequence, tensor(*inner)?),
            _ => (Form::Optional, tensor(*inner)?),
        },
        TypeKind::Map { .. } | TypeKind::Opaque { .. } | TypeKind::Unset => return None,
    };
    (found.1.0 > 0 && found.1.0 < 32).then_some(found)
}

/// The types of a set, in the order of its fields.
pub(super) fn types(set: &TypeSet, model: &mut Model) -> Vec<TypeId> {
    let mut types = Vec::new();
    for form in Form::ALL {
        types.extend(form.of(set).iter().map(|elem| form.ty(elem, model)));
    }
    types.extend(set.others.iter().filter_map(|other| read(other, model)));
    types
}

/// The type of a spelling; `None` if it is invalid.
pub(super) fn read(spelling: &str, model: &mut Model) -> Option<TypeId> {
    let (ty, rest) = read_one(spelling, model, MAX_DEPTH)?;
    rest.is_empty().then_some(ty)
}

/// The deepest type in a schema.
const MAX_DEPTH: u32 = 16;

fn read_one<'s>(text: &'s str, model: &mut Model, depth: u32) -> Option<(TypeId, &'s str)> {
    let (head, rest) = text.split_once('(')?;
    let depth = depth.checked_sub(1)?;
    let (kind, rest) = match head {
        "tensor" | "sparse_tensor" => {
            let (name, rest) = rest.split_once(')')?;
            let tensor = TensorType { elem: Some(ElemType::from_name(name)?), shape: None };
            let is_dense = head == "tensor";
            let kind = if is_dense { TypeKind::Tensor(tensor) } else { TypeKind::SparseTensor(tensor) };
            return Some((model.types.intern(kind.into()), rest));
        }
        "seq" | "optional" => {
            let (inner, rest) = read_one(rest, model, depth)?;
            let is_sequence = head == "seq";
            let kind =
                if is_sequence { TypeKind::Sequence(Some(inner)) } else { TypeKind::Optional(Some(inner)) };
            (kind, rest)
        }
        "map" => {
            let (key, rest) = rest.split_once(',')?;
            let (value, rest) = read_one(rest, model, depth)?;
            (TypeKind::Map { key: Some(ElemType::from_name(key)?), value: Some(value) }, rest)
        }
        "opaque" => {
            let (names, rest) = rest.split_once(')')?;
            let (domain, name) = names.split_once(',')?;
            let (domain, name) = (model.names.intern(domain), model.names.intern(name));
            let kind = TypeKind::Opaque { domain: Some(domain), name: Some(name) };
            return Some((model.types.intern(kind.into()), rest));
        }
        _ => return None,
    };
    Some((model.types.intern(kind.into()), rest.strip_prefix(')')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_come_back() {
        let mut model = Model::new();
        for text in [
            "tensor(int64)",
            "sparse_tensor(float)",
            "seq(tensor(string))",
            "optional(seq(tensor(float4e2m1)))",
            "map(string,tensor(int64))",
            "seq(map(int64,tensor(float)))",
            "opaque(com.acme,Blob)",
        ] {
            let ty = read(text, &mut model).unwrap();
            assert_eq!(spelling(&model, ty), text);
            let set = set(&model, &[ty]);
            assert_eq!(types(&set, &mut model), [ty], "{set:?}");
        }
        for text in ["", "float", "tensor(flaot)", "tensor(float", "seq(tensor(float)", "map(tensor(float))"]
        {
            assert_eq!(read(text, &mut model), None, "{text}");
        }
        assert_eq!(read(&"seq(".repeat(100_000), &mut model), None);
    }
}
