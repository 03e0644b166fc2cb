//! Annotations of a raised tree.

use super::{Profile, Raiser};
use crate::ast::{Element, Field, FieldValue, List, NoteLine, Notes};
use crate::lower::{Storage, keys};
use crate::visible::is_active;
use onnx_ir::{DimValue, Entry, Name, NodeDeviceConfiguration, NodeExtra, OpsetImport, TypeId, TypeKind};

impl Raiser<'_> {
    /// Adds a line `#@ key: value` to the notes of an item; in a text without annotations, remembers that it was due.
    pub(super) fn note(&mut self, notes: &mut Notes, key: &str, value: impl FnOnce(&mut Self) -> FieldValue) {
        if !self.defaults.is_annotated {
            match self.options.profile {
                Profile::Onnx | Profile::Extended => self.notes_missed = true,
                Profile::Reference => {
                    self.lose(format!("the grammar of the reference cannot express `{key}`"))
                }
            }
            return;
        }
        let start = self.out.put("#@");
        let field = self.field(key, value);
        let span = self.out.since(start);
        notes.0.get_or_insert_default().lines.push(NoteLine { span, fields: vec![field] });
    }

    pub(super) fn field(&mut self, key: &str, value: impl FnOnce(&mut Self) -> FieldValue) -> Field {
        let key = self.out.put(key);
        Field { key, value: value(self) }
    }

    /// A text in an annotation or record: shared, quoted, or `_` if it is absent.
    pub(super) fn text_value(&mut self, name: Option<Name>) -> FieldValue {
        let Some(name) = name else { return FieldValue::Word(self.out.put("_")) };
        if let Some(number) = self.defaults.shared[name] {
            return FieldValue::Shared(self.out.put(&format!("${number}")));
        }
        FieldValue::String(self.note_string(name))
    }

    fn note_string(&mut self, name: Name) -> onnx_ir::diag::Span {
        let names = &self.model.names;
        if names.is_utf8(name) { self.out.escaped(&names[name]) } else { self.out.bytes(names.bytes(name)) }
    }

    pub(super) fn int_value(&mut self, value: Option<i64>) -> FieldValue {
        match value {
            Some(value) => FieldValue::Int(self.out.int(value)),
            None => FieldValue::Word(self.out.put("_")),
        }
    }

    pub(super) fn list_value<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut element: impl FnMut(&mut Self, T) -> Element,
    ) -> FieldValue {
        let start = self.out.put("[");
        let items = items.into_iter().map(|i| element(self, i)).collect();
        self.out.put("]");
        FieldValue::List(List { items, span: self.out.since(start) })
    }

    pub(super) fn record_value(&mut self, fields: impl FnOnce(&mut Self) -> Vec<Field>) -> FieldValue {
        let start = self.out.put("{");
        let items = fields(self);
        self.out.put("}");
        FieldValue::Record(List { items, span: self.out.since(start) })
    }

    /// `["key": "value"]`
    pub(super) fn entries_value(&mut self, entries: &[Entry]) -> FieldValue {
        self.list_value(entries, |this, entry| {
            let key = Some(this.text_value(entry.key));
            Element { key, value: this.text_value(entry.value) }
        })
    }

    fn words_value(&mut self, words: &[&str]) -> FieldValue {
        self.list_value(words, |this, word| {
            let plain = crate::identifier::is_identifier(word);
            let value = if plain {
                FieldValue::Word(this.out.put(word))
            } else {
                FieldValue::String(this.out.escaped(word))
            };
            Element { key: None, value }
        })
    }

    pub(super) fn words_note(&mut self, notes: &mut Notes, key: &str, words: &[&str]) {
        if !words.is_empty() {
            self.note(notes, key, |this| this.words_value(words));
        }
    }

    pub(super) fn words_field(&mut self, key: &str, words: &[&str]) -> Field {
        self.field(key, |this| this.words_value(words))
    }

    /// `##` lines where the text fits them, else `doc_string`.
    pub(super) fn doc_note(&mut self, notes: &mut Notes, doc: Option<Name>) {
        let Some(doc) = doc else { return };
        if !self.options.metadata {
            return;
        }
        let names = &self.model.names;
        let text = &names[doc];
        let fits = names.is_utf8(doc)
            && !text.is_empty()
            && text.split('\n').all(|l| !l.ends_with(char::is_whitespace) && !l.contains(is_active));
        if !fits || !self.defaults.is_annotated {
            self.note(notes, keys::DOC, |this| this.text_value(Some(doc)));
            return;
        }
        for line in text.split('\n') {
            let span = match line {
                "" => self.out.put("##"),
                _ => self.out.put(&format!("## {line}")),
            };
            notes.0.get_or_insert_default().docs.push(span);
        }
    }

    pub(super) fn metadata_note(&mut self, notes: &mut Notes, metadata: &[Entry]) {
        if !metadata.is_empty() && self.options.metadata {
            self.note(notes, keys::METADATA, |this| this.entries_value(metadata));
        }
    }

    pub(super) fn file_notes(&mut self) -> Notes {
        let mut notes = Notes::default();
        if !self.defaults.is_annotated {
            let model = self.model;
            let is_due = model.main.is_none()
                || !model.configurations.is_empty()
                || !unset_imports(&model.header.opset_imports).is_empty();
            match self.options.profile {
                Profile::Onnx | Profile::Extended => self.notes_missed |= is_due,
                Profile::Reference if is_due => {
                    self.lose("device configurations, or fields that are not set")
                }
                Profile::Reference => {}
            }
            return notes;
        }
        self.conventions_notes(&mut notes);
        let model = self.model;
        let mut unset = unset_imports(&model.header.opset_imports);
        if model.main.is_none() {
            unset.push("graph".to_owned());
        }
        let unset: Vec<_> = unset.iter().map(String::as_str).collect();
        self.words_note(&mut notes, keys::UNSET, &unset);
        for configuration in &model.configurations {
            self.note(&mut notes, keys::CONFIGURATION, |this| {
                this.record_value(|this| {
                    let mut fields = Vec::new();
                    if configuration.name.is_some() {
                        fields.push(this.field("name", |t| t.text_value(configuration.name)));
                    }
                    if let Some(count) = configuration.num_devices {
                        fields.push(this.field("num_devices", |t| t.int_value(Some(count.into()))));
                    }
                    if !configuration.devices.is_empty() {
                        fields.push(this.field("device", |t| {
                            t.list_value(&configuration.devices, |t, &d| Element {
                                key: None,
                                value: t.text_value(Some(d)),
                            })
                        }));
                    }
                    fields
                })
            });
        }
        self.strings_notes(&mut notes);
        notes
    }

    /// Annotations of a text that is not a whole model, for all of it.
    pub(super) fn conventions(&mut self) -> Notes {
        let mut notes = Notes::default();
        if self.defaults.is_annotated {
            self.conventions_notes(&mut notes);
            self.strings_notes(&mut notes);
        }
        notes
    }

    fn conventions_notes(&mut self, notes: &mut Notes) {
        if self.defaults.storage == Storage::Raw {
            self.note(notes, keys::STORAGE, |this| FieldValue::Word(this.out.put("raw")));
        }
        let mut set = Vec::new();
        if self.defaults.domain_is_set {
            set.push("node.domain");
        }
        if self.defaults.tensor_name_is_set {
            set.push("tensor.name");
        }
        self.words_note(notes, keys::SET, &set);
    }

    fn strings_notes(&mut self, notes: &mut Notes) {
        for (number, name) in (0..).zip(self.defaults.shared_strings.clone()) {
            self.note(notes, keys::STRINGS, |this| {
                this.list_value([name], |this, name| Element {
                    key: Some(this.int_value(Some(number))),
                    value: FieldValue::String(this.note_string(name)),
                })
            });
        }
    }

    pub(super) fn unset_imports_note(&mut self, notes: &mut Notes, imports: &[OpsetImport]) {
        let unset = unset_imports(imports);
        let unset: Vec<_> = unset.iter().map(String::as_str).collect();
        self.words_note(notes, keys::UNSET, &unset);
    }

    pub(super) fn node_extra(&mut self, notes: &mut Notes, extra: &NodeExtra) {
        self.doc_note(notes, extra.doc);
        self.metadata_note(notes, &extra.metadata);
        for device in &extra.devices {
            self.note(notes, keys::DEVICES, |this| this.devices_value(device));
        }
    }

    fn devices_value(&mut self, device: &NodeDeviceConfiguration) -> FieldValue {
        self.record_value(|this| {
            let mut fields = Vec::new();
            if device.configuration.is_some() {
                fields.push(this.field("configuration_id", |t| t.text_value(device.configuration)));
            }
            if let Some(stage) = device.pipeline_stage {
                fields.push(this.field("pipeline_stage", |t| t.int_value(Some(stage.into()))));
            }
            if !device.sharding.is_empty() {
                fields.push(this.field("sharding_spec", |t| {
                    t.list_value(&device.sharding, |t, spec| Element {
                        key: None,
                        value: t.sharding_value(spec),
                    })
                }));
            }
            fields
        })
    }

    fn sharding_value(&mut self, spec: &onnx_ir::ShardingSpec) -> FieldValue {
        let ints = |t: &mut Self, list: &[i64]| {
            t.list_value(list, |t, &n| Element { key: None, value: t.int_value(Some(n)) })
        };
        self.record_value(|this| {
            let mut fields = Vec::new();
            if spec.tensor_name.is_some() {
                fields.push(this.field("tensor_name", |t| t.text_value(spec.tensor_name)));
            }
            if !spec.devices.is_empty() {
                fields.push(this.field("device", |t| ints(t, &spec.devices)));
            }
            if !spec.groups.is_empty() {
                fields.push(this.field("index_to_device_group_map", |t| {
                    t.list_value(&spec.groups, |t, group| {
                        let value = t.record_value(|t| {
                            let mut fields = Vec::new();
                            if group.key.is_some() {
                                fields.push(t.field("key", |t| t.int_value(group.key)));
                            }
                            if !group.devices.is_empty() {
                                fields.push(t.field("value", |t| ints(t, &group.devices)));
                            }
                            fields
                        });
                        Element { key: None, value }
                    })
                }));
            }
            if !spec.axes.is_empty() {
                fields.push(this.field("sharded_dim", |t| {
                    t.list_value(&spec.axes, |t, axis| {
                        let value = t.record_value(|t| {
                            let mut fields = Vec::new();
                            if axis.axis.is_some() {
                                fields.push(t.field("axis", |t| t.int_value(axis.axis)));
                            }
                            if !axis.parts.is_empty() {
                                fields.push(t.field("simple_sharding", |t| {
                                    t.list_value(&axis.parts, |t, part| Element {
                                        key: None,
                                        value: t.part_value(part),
                                    })
                                }));
                            }
                            fields
                        });
                        Element { key: None, value }
                    })
                }));
            }
            fields
        })
    }

    fn part_value(&mut self, part: &onnx_ir::SimpleSharding) -> FieldValue {
        self.record_value(|t| {
            let mut fields = Vec::new();
            match part.dim {
                DimValue::Unknown => {}
                DimValue::Value(value) => fields.push(t.field("dim_value", |t| t.int_value(Some(value)))),
                DimValue::Param(name) => fields.push(t.field("dim_param", |t| t.text_value(Some(name)))),
            }
            if part.shards.is_some() {
                fields.push(t.field("num_shards", |t| t.int_value(part.shards)));
            }
            fields
        })
    }

    /// `denotation: ["0": "DATA_BATCH"]` if the type has any.
    pub(super) fn denotation_note(&mut self, notes: &mut Notes, ty: TypeId) {
        let mut found = Vec::new();
        self.denotations(ty, String::new(), &mut found);
        if found.is_empty() {
            return;
        }
        self.note(notes, keys::DENOTATION, |this| {
            this.list_value(found, |this, (path, denotation)| {
                let key = FieldValue::String(this.out.escaped(&path));
                Element { key: Some(key), value: this.text_value(Some(denotation)) }
            })
        });
    }

    fn denotations(&self, ty: TypeId, path: String, found: &mut Vec<(String, Name)>) {
        let ty = &self.model.types[ty];
        let at = |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
        if let Some(denotation) = ty.denotation {
            found.push((path.clone(), denotation));
        }
        match &ty.kind {
            TypeKind::Tensor(t) | TypeKind::SparseTensor(t) => {
                for (axis, dim) in t.shape.iter().flatten().enumerate() {
                    if let Some(denotation) = dim.denotation {
                        found.push((at(&axis.to_string()), denotation));
                    }
                }
            }
            TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => {
                self.denotations(*inner, at("elem"), found);
            }
            TypeKind::Map { value: Some(inner), .. } => self.denotations(*inner, at("value"), found),
            TypeKind::Sequence(None)
            | TypeKind::Optional(None)
            | TypeKind::Map { value: None, .. }
            | TypeKind::Opaque { .. }
            | TypeKind::Unset => {}
        }
    }
}

fn unset_imports(imports: &[OpsetImport]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, import) in imports.iter().enumerate() {
        if import.domain.is_none() {
            out.push(format!("opset_import.{i}.domain"));
        }
        if import.version.is_none() {
            out.push(format!("opset_import.{i}.version"));
        }
    }
    out
}
