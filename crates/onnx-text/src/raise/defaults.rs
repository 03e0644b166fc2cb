//! Conventions of a model, stated once for the file instead of on every node.

use super::{Profile, RaiseOptions};
use crate::lower::Storage;
use onnx_ir::{AttrValue, Body, Field, Model, Name, Payload, SecondaryMap};

/// Texts at least this long are shared between annotations.
const SHARED_LENGTH: usize = 24;

/// The conventions of one text.
#[derive(Clone)]
pub(super) struct Defaults {
    /// Whether the text has annotations.
    pub(super) is_annotated: bool,
    /// Storage of tensors without an annotation.
    pub(super) storage: Storage,
    /// Whether a node without a prefix has a `domain` field, which is empty.
    pub(super) domain_is_set: bool,
    /// Whether the tensor of an attribute has a `name` field, which is empty, if the text has none.
    pub(super) tensor_name_is_set: bool,
    /// Strings of metadata that occur more than once, with their numbers.
    pub(super) shared: SecondaryMap<Name, Option<u32>>,
    /// These strings in the order of their numbers.
    pub(super) shared_strings: Vec<Name>,
}

#[derive(Default)]
struct Count {
    raw: usize,
    typed: usize,
    domain_set: usize,
    domain_absent: usize,
    tensor_name_set: usize,
    tensor_name_absent: usize,
}

impl Defaults {
    /// The conventions of the reference.
    pub(super) fn plain() -> Self {
        Defaults {
            is_annotated: false,
            storage: Storage::Typed,
            domain_is_set: true,
            tensor_name_is_set: true,
            shared: SecondaryMap::default(),
            shared_strings: Vec::new(),
        }
    }

    /// The conventions of the reference if the model follows them; otherwise those of the majority.
    pub(super) fn of(model: &Model, options: &RaiseOptions) -> Self {
        let mut defaults = Defaults::plain();
        if options.profile == Profile::Reference {
            return defaults;
        }
        if options.metadata {
            defaults.share(model);
        }
        let count = Count::of(model);
        if count.raw + count.domain_absent + count.tensor_name_absent + defaults.shared_strings.len() > 0 {
            defaults.is_annotated = true;
            return defaults.annotated(model);
        }
        defaults
    }

    /// The conventions of the majority, for a text with annotations.
    pub(super) fn annotated(mut self, model: &Model) -> Self {
        let count = Count::of(model);
        self.storage = if count.raw > count.typed { Storage::Raw } else { Storage::Typed };
        self.domain_is_set = count.domain_set > count.domain_absent;
        self.tensor_name_is_set = count.tensor_name_set > count.tensor_name_absent;
        self
    }

    fn share(&mut self, model: &Model) {
        let mut uses = SecondaryMap::<Name, u8>::with_len(0, model.names.len());
        let mut see = |name: Name| {
            let seen = &mut uses[name];
            *seen = seen.saturating_add(1);
            if *seen == 2 && model.names[name].len() >= SHARED_LENGTH {
                self.shared[name] = u32::try_from(self.shared_strings.len()).ok();
                self.shared_strings.push(name);
            }
        };
        for body in model.bodies.values() {
            let nodes = body.nodes.values().filter_map(|n| n.extra.as_ref()).flat_map(|e| &e.metadata);
            let ports = body
                .graphs
                .values()
                .flat_map(|g| g.inputs.iter().chain(&g.outputs).chain(&g.value_info))
                .flat_map(|p| &p.metadata);
            for entry in nodes.chain(ports) {
                entry.key.into_iter().chain(entry.value).for_each(&mut see);
            }
        }
    }
}

impl Count {
    fn of(model: &Model) -> Self {
        let mut count = Count::default();
        for body in model.bodies.values() {
            count.body(body);
        }
        count
    }

    fn body(&mut self, body: &Body) {
        for tensor in body.tensors.values() {
            for payload in &tensor.data {
                match payload {
                    Payload::Entries { field: Field::Raw, .. } => self.raw += 1,
                    Payload::Entries { .. } => self.typed += 1,
                    Payload::Strings(_) => {}
                }
            }
        }
        for node in body.nodes.values() {
            match node.domain {
                Some(domain) if domain.is_empty() => self.domain_set += 1,
                Some(_) => {}
                None => self.domain_absent += 1,
            }
            for value in node.attrs.iter().flat_map(|a| &a.values) {
                let tensors = match value {
                    AttrValue::Tensor(t) => std::slice::from_ref(t),
                    AttrValue::Tensors(tensors) => tensors,
                    _ => continue,
                };
                for &tensor in tensors {
                    match body.tensors[tensor].name {
                        Some(name) if name.is_empty() => self.tensor_name_set += 1,
                        Some(_) => {}
                        None => self.tensor_name_absent += 1,
                    }
                }
            }
        }
    }
}
