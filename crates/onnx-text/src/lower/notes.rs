//! Applies annotations: information that the reference grammar cannot express, in `#@` and `##` comments before an entity.
//! `grammar/annotations.md` documents the keys.

use super::{Cx, Fields, Storage};
use crate::ast::{FieldValue, List, Notes};
use onnx_ir::diag::{Diagnostic, Span, code, counted};
use onnx_ir::{
    BodyBuilder, DataLocation, DeviceConfiguration, DeviceGroup, DimValue, Entry, Function, Model, Name,
    Names, NodeDeviceConfiguration, NodeId, OpsetImport, Port, QuantizationAnnotation, Segment, ShardedAxis,
    ShardingSpec, SimpleSharding, Tensor, TypeId, TypeKind, Types,
};

/// The keys of annotations; fields of the .proto keep their names.
pub(crate) mod keys {
    pub(crate) const CONFIGURATION: &str = "configuration";
    pub(crate) const DENOTATION: &str = "denotation";
    pub(crate) const DEVICES: &str = "device_configurations";
    pub(crate) const DOC: &str = "doc_string";
    pub(crate) const METADATA: &str = "metadata_props";
    /// Bit patterns of the NaNs that are not the canonical one: `[index: bits]`.
    pub(crate) const NAN: &str = "nan";
    pub(crate) const QUANTIZATION: &str = "quantization_annotation";
    pub(crate) const SEGMENT: &str = "segment";
    /// Fields that are present with their empty value where the text would leave them absent.
    pub(crate) const SET: &str = "set";
    /// `raw` or `typed`.
    pub(crate) const STORAGE: &str = "storage";
    /// Strings that annotations share: `[3: "…"]`.
    pub(crate) const STRINGS: &str = "strings";
    /// Annotations of the tensor of an attribute.
    pub(crate) const TENSOR: &str = "tensor";
    /// Marks fields that are absent although the text has a value.
    pub(crate) const UNSET: &str = "unset";
}

const FILE_KEYS: [&str; 5] = [keys::STORAGE, keys::STRINGS, keys::CONFIGURATION, keys::SET, keys::UNSET];

/// Annotations of a tensor.
#[derive(Default)]
pub(super) struct TensorNotes {
    pub(super) storage: Option<Storage>,
    pub(super) nans: Vec<(usize, u64)>,
    pub(super) doc: Option<Name>,
    pub(super) metadata: Vec<Entry>,
    pub(super) segment: Option<Segment>,
    pub(super) set: Vec<Name>,
    pub(super) unset: Vec<Name>,
}

impl Cx<'_> {
    /// The text of `##` lines, without one space after the marker.
    pub(super) fn doc_lines(&mut self, names: &mut Names, notes: &Notes) -> Option<Name> {
        let line = |span: &Span| {
            let text = self.text(*span).strip_prefix("##").unwrap_or("");
            text.strip_prefix(' ').unwrap_or(text)
        };
        match notes.docs() {
            [] => None,
            [one] => Some(names.intern(line(one))),
            many => Some(names.intern(&many.iter().map(line).collect::<Vec<_>>().join("\n"))),
        }
    }

    fn doc_and_metadata(
        &mut self,
        names: &mut Names,
        notes: &Notes,
        doc: &mut Option<Name>,
        metadata: &mut Vec<Entry>,
    ) {
        if let Some(text) = self.doc_lines(names, notes) {
            *doc = Some(text);
        }
        for field in notes.fields() {
            match self.text(field.key) {
                keys::DOC => *doc = Fields::NOTE.text(self, names, &field.value),
                keys::METADATA => metadata.extend(Fields::NOTE.entries(self, names, &field.value)),
                _ => {}
            }
        }
    }

    /// Annotations that the rest of lowering needs first: shared strings and the default storage.
    pub(super) fn file_notes(&mut self, names: &mut Names, notes: &Notes) {
        for field in notes.fields() {
            match self.text(field.key) {
                keys::STORAGE => {
                    if let Some(storage) = self.storage_value(&field.value) {
                        self.storage = storage;
                    }
                }
                keys::SET => {
                    for what in Fields::NOTE.texts(self, names, &field.value) {
                        match &names[what] {
                            "node.domain" => self.default_domain = Some(Name::empty()),
                            "tensor.name" => self.default_tensor_name = Some(Name::empty()),
                            _ => self.unknown_word(field.value.span(), &["node.domain", "tensor.name"]),
                        }
                    }
                }
                keys::UNSET => {
                    let what = Fields::NOTE.texts(self, names, &field.value);
                    self.graph_is_placeholder |= what.iter().any(|&w| &names[w] == "graph");
                }
                keys::STRINGS => {
                    let FieldValue::List(list) = &field.value else {
                        self.wrong_kind(field.value.span(), "a list such as `[0: \"text\"]`");
                        continue;
                    };
                    for element in &list.items {
                        let number = element.key.as_ref().and_then(|k| Fields::NOTE.int(self, k));
                        let text = Fields::NOTE.text(self, names, &element.value);
                        if let (Some(number), Some(text)) = (number, text) {
                            self.shared.insert(number, text);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The rest of the file's annotations.
    pub(super) fn model_notes(&mut self, model: &mut Model, notes: &Notes, has_header: bool) {
        if has_header {
            let Model { names, header, .. } = model;
            self.doc_and_metadata(names, notes, &mut header.doc, &mut header.metadata);
        }
        for field in notes.fields() {
            match self.text(field.key) {
                keys::CONFIGURATION => {
                    for record in Fields::NOTE.records(self, &field.value) {
                        let mut out = DeviceConfiguration::default();
                        for field in &record.items {
                            match self.text(field.key) {
                                "name" => out.name = Fields::NOTE.text(self, &mut model.names, &field.value),
                                "num_devices" => out.num_devices = Fields::NOTE.int32(self, &field.value),
                                "device" => {
                                    out.devices = Fields::NOTE.texts(self, &mut model.names, &field.value);
                                }
                                _ => self.unknown_key(field.key, &["name", "num_devices", "device"]),
                            }
                        }
                        model.configurations.push(out);
                    }
                }
                keys::UNSET => {
                    let paths = Fields::NOTE.texts(self, &mut model.names, &field.value);
                    unset_imports(&model.names, &mut model.header.opset_imports, &paths);
                }
                keys::STORAGE | keys::STRINGS | keys::SET => {}
                keys::DOC | keys::METADATA => {}
                // Without a header these notes are the graph's as well.
                keys::QUANTIZATION if !has_header => {}
                _ => self.unknown_key(field.key, &FILE_KEYS),
            }
        }
    }

    pub(super) fn graph_notes(&mut self, b: &mut BodyBuilder<'_>, notes: &Notes, is_root: bool) {
        if notes.is_empty() {
            return;
        }
        let (mut doc, mut metadata, mut quantization) = (None, Vec::new(), Vec::new());
        self.doc_and_metadata(b.names, notes, &mut doc, &mut metadata);
        for field in notes.fields() {
            match self.text(field.key) {
                keys::DOC | keys::METADATA => {}
                keys::QUANTIZATION => {
                    for record in Fields::NOTE.records(self, &field.value) {
                        let mut out = QuantizationAnnotation::default();
                        for field in &record.items {
                            match self.text(field.key) {
                                "tensor_name" => {
                                    out.tensor_name = Fields::NOTE.text(self, b.names, &field.value)
                                }
                                "quant_parameter_tensor_names" => {
                                    out.parameters = Fields::NOTE.entries(self, b.names, &field.value);
                                }
                                _ => {
                                    self.unknown_key(
                                        field.key,
                                        &["tensor_name", "quant_parameter_tensor_names"],
                                    );
                                }
                            }
                        }
                        quantization.push(out);
                    }
                }
                keys::UNSET => {
                    for what in Fields::NOTE.texts(self, b.names, &field.value) {
                        match &b.names[what] {
                            "name" => b.current_graph().name = None,
                            // Without a header these notes are the file's as well.
                            _ if is_root => {}
                            _ => self.unknown_word(field.value.span(), &["name"]),
                        }
                    }
                }
                key if is_root && FILE_KEYS.contains(&key) => {}
                _ => {
                    self.unknown_key(field.key, &[keys::DOC, keys::METADATA, keys::QUANTIZATION, keys::UNSET])
                }
            }
        }
        let graph = b.current_graph();
        (graph.doc, graph.metadata, graph.quantization) = (doc, metadata, quantization);
    }

    /// Annotations of a declaration. Those of an input with elements are the tensor's as well.
    pub(super) fn port_notes(
        &mut self,
        b: &mut BodyBuilder<'_>,
        notes: &Notes,
        port: &mut Port,
        is_initialized: bool,
    ) {
        if notes.is_empty() {
            return;
        }
        self.doc_and_metadata(b.names, notes, &mut port.doc, &mut port.metadata);
        let mut denotations = None;
        for field in notes.fields() {
            match self.text(field.key) {
                keys::DOC | keys::METADATA => {}
                keys::DENOTATION => denotations = Some(&field.value),
                keys::SET => {
                    for what in Fields::NOTE.texts(self, b.names, &field.value) {
                        if &b.names[what] != "type" {
                            self.unknown_word(field.value.span(), &["type"]);
                        } else if port.ty.is_none() {
                            port.ty = Some(b.types.intern(TypeKind::Unset.into()));
                        }
                    }
                }
                keys::UNSET => {
                    for what in Fields::NOTE.texts(self, b.names, &field.value) {
                        if &b.names[what] == "name" {
                            port.name = None;
                        } else {
                            self.unknown_word(field.value.span(), &["name"]);
                        }
                    }
                }
                keys::STORAGE | keys::NAN if is_initialized => {}
                _ => self.unknown_key(
                    field.key,
                    &[keys::DOC, keys::METADATA, keys::DENOTATION, keys::SET, keys::UNSET],
                ),
            }
        }
        // An annotation below may have stated that there is a type.
        if let (Some(ty), Some(value)) = (port.ty, denotations) {
            port.ty = Some(self.denotations(b.names, b.types, ty, value));
        }
    }

    pub(super) fn denotations(
        &mut self,
        names: &mut Names,
        types: &mut Types,
        ty: TypeId,
        value: &FieldValue,
    ) -> TypeId {
        let mut ty = ty;
        for entry in Fields::NOTE.entries(self, names, value) {
            let (Some(path), Some(denotation)) = (entry.key, entry.value) else { continue };
            let path = names[path].to_owned();
            match self.denote(types, ty, &path, denotation) {
                Some(new) => ty = new,
                None => {
                    let d = Diagnostic::new(
                        &code::UNKNOWN_KEY,
                        value.span(),
                        format!("the type has no component `{path}`"),
                    );
                    self.report(
                        d.label("expected `\"\"`, the number of an axis, or a path such as `elem.0`"),
                    );
                }
            }
        }
        ty
    }

    pub(super) fn node_notes(&mut self, b: &mut BodyBuilder<'_>, notes: &Notes, node: NodeId) {
        let (mut doc, mut metadata, mut devices) = (None, Vec::new(), Vec::new());
        self.doc_and_metadata(b.names, notes, &mut doc, &mut metadata);
        for field in notes.fields() {
            match self.text(field.key) {
                keys::DOC | keys::METADATA => {}
                keys::DEVICES => {
                    for record in Fields::NOTE.records(self, &field.value) {
                        devices.push(self.node_devices(b.names, record));
                    }
                }
                keys::SET => {
                    for what in Fields::NOTE.texts(self, b.names, &field.value) {
                        let what = b.names[what].to_owned();
                        let node = &mut b.body_mut().nodes[node];
                        let slot = match &*what {
                            "name" => &mut node.name,
                            "domain" => &mut node.domain,
                            "overload" => &mut node.overload,
                            _ => {
                                self.unknown_word(field.value.span(), &["name", "domain", "overload"]);
                                continue;
                            }
                        };
                        slot.get_or_insert(Name::empty());
                    }
                }
                keys::UNSET => {
                    for what in Fields::NOTE.texts(self, b.names, &field.value) {
                        match &b.names[what] {
                            "op_type" => b.body_mut().nodes[node].op = None,
                            "domain" => b.body_mut().nodes[node].domain = None,
                            _ => self.unknown_word(field.value.span(), &["op_type", "domain"]),
                        }
                    }
                }
                _ => self.unknown_key(
                    field.key,
                    &[keys::DOC, keys::METADATA, keys::DEVICES, keys::SET, keys::UNSET],
                ),
            }
        }
        if doc.is_some() || !metadata.is_empty() || !devices.is_empty() {
            let extra = b.body_mut().nodes[node].extra_mut();
            (extra.doc, extra.metadata, extra.devices) = (doc, metadata, devices);
        }
    }

    fn node_devices(
        &mut self,
        names: &mut Names,
        record: &List<crate::ast::Field>,
    ) -> NodeDeviceConfiguration {
        let mut out = NodeDeviceConfiguration::default();
        for field in &record.items {
            match self.text(field.key) {
                "configuration_id" => out.configuration = Fields::NOTE.text(self, names, &field.value),
                "pipeline_stage" => out.pipeline_stage = Fields::NOTE.int32(self, &field.value),
                "sharding_spec" => {
                    for record in Fields::NOTE.records(self, &field.value) {
                        out.sharding.push(self.sharding_spec(names, record));
                    }
                }
                _ => self.unknown_key(field.key, &["configuration_id", "pipeline_stage", "sharding_spec"]),
            }
        }
        out
    }

    fn sharding_spec(&mut self, names: &mut Names, record: &List<crate::ast::Field>) -> ShardingSpec {
        let mut out = ShardingSpec::default();
        for field in &record.items {
            let value = &field.value;
            match self.text(field.key) {
                "tensor_name" => out.tensor_name = Fields::NOTE.text(self, names, value),
                "device" => out.devices = Fields::NOTE.ints(self, value),
                "index_to_device_group_map" => {
                    for record in Fields::NOTE.records(self, value) {
                        let mut group = DeviceGroup::default();
                        for field in &record.items {
                            match self.text(field.key) {
                                "key" => group.key = Fields::NOTE.int(self, &field.value),
                                "value" => group.devices = Fields::NOTE.ints(self, &field.value),
                                _ => self.unknown_key(field.key, &["key", "value"]),
                            }
                        }
                        out.groups.push(group);
                    }
                }
                "sharded_dim" => {
                    for record in Fields::NOTE.records(self, value) {
                        let mut axis = ShardedAxis::default();
                        for field in &record.items {
                            match self.text(field.key) {
                                "axis" => axis.axis = Fields::NOTE.int(self, &field.value),
                                "simple_sharding" => {
                                    for record in Fields::NOTE.records(self, &field.value) {
                                        axis.parts.push(self.simple_sharding(names, record));
                                    }
                                }
                                _ => self.unknown_key(field.key, &["axis", "simple_sharding"]),
                            }
                        }
                        out.axes.push(axis);
                    }
                }
                _ => self.unknown_key(
                    field.key,
                    &["tensor_name", "device", "index_to_device_group_map", "sharded_dim"],
                ),
            }
        }
        out
    }

    fn simple_sharding(&mut self, names: &mut Names, record: &List<crate::ast::Field>) -> SimpleSharding {
        let mut out = SimpleSharding { dim: DimValue::Unknown, shards: None };
        for field in &record.items {
            match self.text(field.key) {
                "dim_value" => {
                    out.dim = Fields::NOTE.int(self, &field.value).map_or(DimValue::Unknown, DimValue::Value)
                }
                "dim_param" => {
                    out.dim = Fields::NOTE
                        .text(self, names, &field.value)
                        .map_or(DimValue::Unknown, DimValue::Param);
                }
                "num_shards" => out.shards = Fields::NOTE.int(self, &field.value),
                _ => self.unknown_key(field.key, &["dim_value", "dim_param", "num_shards"]),
            }
        }
        out
    }

    pub(super) fn function_notes(&mut self, model: &mut Model, notes: &Notes, function: &mut Function) {
        if notes.is_empty() {
            return;
        }
        self.doc_and_metadata(&mut model.names, notes, &mut function.doc, &mut function.metadata);
        for field in notes.fields() {
            match self.text(field.key) {
                keys::DOC | keys::METADATA => {}
                keys::UNSET => {
                    let paths = Fields::NOTE.texts(self, &mut model.names, &field.value);
                    if paths.iter().any(|&p| &model.names[p] == "name") {
                        function.name = None;
                    }
                    unset_imports(&model.names, &mut function.opset_imports, &paths);
                }
                _ => self.unknown_key(field.key, &[keys::DOC, keys::METADATA, keys::UNSET]),
            }
        }
    }

    fn unknown_word(&mut self, at: Span, known: &[&str]) {
        let message = format!("expected {}", crate::lex::one_of(known));
        self.report(Diagnostic::new(&code::UNKNOWN_KEY, at, "unknown field in this list").label(message));
    }

    fn storage_value(&mut self, value: &FieldValue) -> Option<Storage> {
        match value {
            FieldValue::Word(span) if self.text(*span) == "raw" => Some(Storage::Raw),
            FieldValue::Word(span) if self.text(*span) == "typed" => Some(Storage::Typed),
            _ => {
                self.wrong_kind(value.span(), "`raw` or `typed`");
                None
            }
        }
    }

    pub(super) fn tensor_notes(&mut self, names: &mut Names, notes: &Notes) -> TensorNotes {
        let mut out = TensorNotes::default();
        if notes.is_empty() {
            return out;
        }
        self.doc_and_metadata(names, notes, &mut out.doc, &mut out.metadata);
        for field in notes.fields() {
            self.tensor_note(names, field, &mut out);
        }
        out
    }

    /// `tensor: {…}` of an attribute.
    pub(super) fn attr_tensor_notes(&mut self, names: &mut Names, notes: &Notes) -> TensorNotes {
        let mut out = TensorNotes::default();
        for field in notes.fields() {
            if self.text(field.key) != keys::TENSOR {
                continue;
            }
            let Some(record) = Fields::NOTE.record(self, &field.value) else { continue };
            for field in &record.items {
                match self.text(field.key) {
                    keys::DOC => out.doc = Fields::NOTE.text(self, names, &field.value),
                    keys::METADATA => out.metadata.extend(Fields::NOTE.entries(self, names, &field.value)),
                    _ => self.tensor_note(names, field, &mut out),
                }
            }
        }
        out
    }

    fn tensor_note(&mut self, names: &mut Names, field: &crate::ast::Field, out: &mut TensorNotes) {
        match self.text(field.key) {
            keys::DOC | keys::METADATA => {}
            keys::STORAGE => out.storage = self.storage_value(&field.value),
            keys::NAN => out.nans = self.nan_bits(&field.value),
            keys::SEGMENT => {
                if let FieldValue::List(list) = &field.value {
                    let mut ends = list.items.iter().map(|e| Fields::NOTE.int(self, &e.value));
                    let (begin, end) = (ends.next().flatten(), ends.next().flatten());
                    out.segment = Some(Segment { begin, end });
                } else {
                    self.wrong_kind(field.value.span(), "a list of two integers");
                }
            }
            keys::SET => out.set = Fields::NOTE.texts(self, names, &field.value),
            keys::UNSET => out.unset = Fields::NOTE.texts(self, names, &field.value),
            // An input with elements carries annotations of both.
            keys::DENOTATION => {}
            _ => self.unknown_key(
                field.key,
                &[keys::DOC, keys::METADATA, keys::STORAGE, keys::NAN, keys::SEGMENT, keys::SET, keys::UNSET],
            ),
        }
    }

    /// `[3: 2143289345]`
    pub(super) fn nan_bits(&mut self, value: &FieldValue) -> Vec<(usize, u64)> {
        let FieldValue::List(list) = value else {
            self.wrong_kind(value.span(), "a list such as `[3: 2143289345]`");
            return Vec::new();
        };
        let mut out = Vec::with_capacity(list.items.len());
        for element in &list.items {
            let index = element.key.as_ref().and_then(|k| Fields::NOTE.int(self, k));
            let bits = Fields::NOTE.int(self, &element.value);
            if let (Some(Ok(index)), Some(bits)) = (index.map(usize::try_from), bits) {
                out.push((index, bits.cast_unsigned()));
            }
        }
        out
    }

    /// Applies the remaining annotations after the payload is set.
    pub(super) fn finish_tensor(
        &mut self,
        names: &Names,
        notes: TensorNotes,
        tensor: &mut Tensor,
        span: Span,
    ) {
        let has = |list: &[Name], what: &str| list.iter().any(|&n| &names[n] == what);
        if has(&notes.unset, "name") {
            tensor.name = None;
        }
        if has(&notes.set, "name") {
            tensor.name.get_or_insert(Name::empty());
        }
        if notes.doc.is_some() || !notes.metadata.is_empty() || notes.segment.is_some() {
            let extra = tensor.extra_mut();
            (extra.doc, extra.metadata, extra.segment) = (notes.doc, notes.metadata, notes.segment);
        }
        if has(&notes.set, "data_location") {
            tensor.extra_mut().location.get_or_insert(DataLocation::DEFAULT);
        }
        if has(&notes.set, "raw_data") && tensor.data.is_empty() {
            let bytes = bytes::Bytes::new();
            tensor.data.push(onnx_ir::Payload::Entries { field: onnx_ir::Field::Raw, bytes });
        }
        if !notes.nans.is_empty() {
            let count = notes.nans.len();
            if !super::tensors::patch_nans(tensor, &notes.nans) {
                let d = Diagnostic::new(
                    &code::UNKNOWN_KEY,
                    span,
                    format!("{} of `nan` do not name a NaN element", counted(count, "entry")),
                );
                self.report(d.label("the tensor that is annotated"));
            }
        }
    }
}

/// `opset_import.0.domain`: an import with a field that is absent in the model.
fn unset_imports(names: &Names, imports: &mut [OpsetImport], paths: &[Name]) {
    for &path in paths {
        let mut parts = names[path].split('.');
        if parts.next() != Some("opset_import") {
            continue;
        }
        let import = parts.next().and_then(|i| i.parse::<usize>().ok()).and_then(|i| imports.get_mut(i));
        match (import, parts.next()) {
            (Some(import), Some("domain")) => import.domain = None,
            (Some(import), Some("version")) => import.version = None,
            _ => {}
        }
    }
}
