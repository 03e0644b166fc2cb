//! Moves the data of tensors out of a model and back into it.

use super::places;
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Entity, code, counted};
use onnx_ir::{BodyId, DataLocation, ElemType, Field, Model, Payload, Tensor, TensorId};
use sha1::{Digest as _, Sha1};
use smallvec::SmallVec;
use std::io;

/// The entry with the original field of external data: see the [module](super).
pub const MARK: &str = onnx_ir::INLINE_KEY;

/// The alignment of offsets, so that each tensor can be mapped into memory separately.
const ALIGNMENT: u64 = 4096;

/// Into which files data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout<'l> {
    /// All into one, at this location.
    One(&'l str),
    /// Each tensor into one of its own, in a folder at this location.
    Each(&'l str),
}

/// A file to write beside the model.
#[derive(Clone, PartialEq, Debug)]
pub struct DataFile {
    /// The location relative to the model's folder.
    pub location: String,
    /// The contents, in ascending order; gaps are zeros.
    pub chunks: Vec<Chunk>,
    /// The SHA-1 of the whole file, which the first tensor in it states as its `checksum`.
    pub sha1: [u8; 20],
}

impl DataFile {
    /// Writes the content to `out` in chunks.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut at = 0;
        for chunk in &self.chunks {
            let gap = chunk.offset.saturating_sub(at);
            io::copy(&mut io::Read::take(io::repeat(0), gap), out)?;
            out.write_all(&chunk.bytes)?;
            at = chunk.offset + size(&chunk.bytes);
        }
        Ok(())
    }

    /// Whether another file has the same content.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn is_content(&self, mut other: impl io::Read) -> io::Result<bool> {
        let mut summed = Summed(Sha1::new());
        io::copy(&mut other, &mut summed)?;
        Ok(self.sha1 == <[u8; 20]>::from(summed.0.finalize()))
    }
}

/// A writer that updates a checksum.
struct Summed(Sha1);

impl io::Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Consecutive bytes of a [`DataFile`].
#[derive(Clone, PartialEq, Debug)]
pub struct Chunk {
    /// The first byte.
    pub offset: u64,
    /// The bytes: the tensor's own, not a copy.
    pub bytes: Bytes,
}

/// Lets every tensor of at least `at_least` bytes point into files that are yet to be written; with `mark`, so that
/// [`internalize`] can put them back as they were. The first tensor of each file states the checksum of the file, so that
/// a model with the file of another is found out.
///
/// Tensors stay inline that are external already, whose data does not have the size that their shape asks for, or is
/// stored in another form than a file has (strings, narrow integers in `int32_data`).
pub fn externalize(model: &mut Model, at_least: u64, layout: Layout<'_>, mark: bool) -> Vec<DataFile> {
    let mut files: Vec<DataFile> = Vec::new();
    let mut firsts: Vec<(BodyId, TensorId)> = Vec::new();
    let mut end = 0;
    for (body, id, _) in places::tensors(model) {
        let tensor = &model.bodies[body].tensors[id];
        let Some((field, bytes)) = movable(tensor).filter(|(_, bytes)| size(bytes) >= at_least) else {
            continue;
        };
        let (location, offset) = match layout {
            Layout::One(location) => (location.to_owned(), u64::next_multiple_of(end, ALIGNMENT)),
            Layout::Each(folder) => (format!("{folder}/{}.bin", files.len()), 0),
        };
        end = offset + size(&bytes);
        let mut entries = vec![
            ("location", location.clone()),
            ("offset", offset.to_string()),
            ("length", bytes.len().to_string()),
        ];
        if mark {
            let is_explicit = tensor.extra().location == Some(DataLocation::DEFAULT);
            entries.push((MARK, format!("{}{}", field.name(), if is_explicit { EXPLICIT } else { "" })));
        }
        let names = &mut model.names;
        let entries = entries.into_iter().map(|(key, value)| onnx_ir::Entry {
            key: Some(names.intern(key)),
            value: Some(names.intern(&value)),
        });
        let tensor = &mut model.bodies[body].tensors[id];
        tensor.data.clear();
        let extra = tensor.extra_mut();
        extra.location = Some(DataLocation::EXTERNAL);
        extra.external = entries.collect();
        let chunk = Chunk { offset, bytes };
        match files.last_mut().filter(|file| file.location == location) {
            Some(file) => file.chunks.push(chunk),
            None => {
                files.push(DataFile { location, chunks: vec![chunk], sha1: [0; 20] });
                firsts.push((body, id));
            }
        }
    }
    for (file, (body, id)) in files.iter_mut().zip(firsts) {
        let mut summed = Summed(Sha1::new());
        // Writing to a checksum cannot fail.
        _ = file.write(&mut summed);
        file.sha1 = summed.0.finalize().into();
        let hex: String = file.sha1.iter().map(|byte| format!("{byte:02x}")).collect();
        let checksum = onnx_ir::Entry {
            key: Some(model.names.intern("checksum")),
            value: Some(model.names.intern(&hex)),
        };
        // After location, offset and length.
        model.bodies[body].tensors[id].extra_mut().external.insert(3, checksum);
    }
    files
}

/// Lets every tensor that points into the file at `location` point into the one at `to`.
pub fn relocate(model: &mut Model, location: &str, to: &str) {
    let to = model.names.intern(to);
    for (body, id, _) in places::tensors(model) {
        let names = &model.names;
        let is = |name: Option<onnx_ir::Name>, text: &str| name.is_some_and(|name| &names[name] == text);
        let tensor = &mut model.bodies[body].tensors[id];
        let points_there = |entry: &onnx_ir::Entry| is(entry.key, "location") && is(entry.value, location);
        if tensor.extra().external.iter().any(points_there) {
            let entries = tensor.extra_mut().external.iter_mut();
            entries.filter(|entry| points_there(entry)).for_each(|entry| entry.value = Some(to));
        }
    }
}

const EXPLICIT: &str = " explicit";

fn size(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The data of a tensor in the form that a file has, if it is stored in that form.
fn movable(tensor: &Tensor) -> Option<(Field, Bytes)> {
    let extra = tensor.extra();
    let is_inline = extra.location.is_none_or(|location| location == DataLocation::DEFAULT);
    if !is_inline || !extra.external.is_empty() || extra.segment.is_some() {
        return None;
    }
    let [Payload::Entries { field, bytes }] = tensor.data.as_slice() else { return None };
    let elem = tensor.elem?;
    let is_raw = is_layout_of_files(*field, elem);
    let is_whole = elem.raw_size(tensor.element_count()?)? == size(bytes);
    (is_raw && is_whole).then(|| (*field, bytes.clone()))
}

/// Whether entries of the field are the bytes that `raw_data` would have.
fn is_layout_of_files(field: Field, elem: ElemType) -> bool {
    match field {
        Field::Raw => true,
        Field::Float => elem == ElemType::FLOAT || elem == ElemType::COMPLEX64,
        Field::Double => elem == ElemType::DOUBLE || elem == ElemType::COMPLEX128,
        Field::Int32 => elem == ElemType::INT32,
        Field::Int64 => elem == ElemType::INT64,
        Field::Uint64 => elem == ElemType::UINT64,
        Field::String => false,
    }
}

/// Which external tensors to take into the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Which {
    /// Those that were inline before [`externalize`] marked them.
    Marked,
    /// All.
    All,
}

/// Loads the content of a tensor's file, or returns findings: [`Folder::load`](super::Folder::load), or another source of files.
pub type Load<'l> = dyn FnMut(&Model, &Tensor, Entity) -> Result<Bytes, Vec<Diagnostic>> + 'l;

/// Loads the data of external tensors into the model.
///
/// Tensors that could not be loaded stay external and are reported.
pub fn internalize(model: &mut Model, which: Which, load: &mut Load<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for (body, id, entity) in places::tensors(model) {
        let tensor = &model.bodies[body].tensors[id];
        let mark = mark_of(model, tensor);
        if !tensor.is_external() || (mark.is_none() && which == Which::Marked) {
            continue;
        }
        match data(model, tensor, entity, load) {
            Ok(bytes) => put(model, (body, id), mark.unwrap_or((Field::Raw, None)), bytes),
            Err(mut found) => diagnostics.append(&mut found),
        }
    }
    diagnostics
}

/// Whether a tensor is external that was inline.
pub fn has_marks(model: &Model) -> bool {
    let mut tensors = model.bodies.values().flat_map(|body| body.tensors.values());
    tensors.any(|tensor| tensor.is_external() && mark_of(model, tensor).is_some())
}

/// The field that held the data, and what `data_location` was.
fn mark_of(model: &Model, tensor: &Tensor) -> Option<(Field, Option<DataLocation>)> {
    let value = &model.names[tensor.external(&model.names, MARK)?];
    let (name, location) = match value.strip_suffix(EXPLICIT) {
        Some(name) => (name, Some(DataLocation::DEFAULT)),
        None => (value, None),
    };
    let fields = [Field::Raw, Field::Float, Field::Double, Field::Int32, Field::Int64, Field::Uint64];
    let field = fields.into_iter().find(|field| field.name() == name)?;
    let is_sound = tensor.elem.is_some_and(|elem| is_layout_of_files(field, elem));
    is_sound.then_some((field, location))
}

fn data(
    model: &Model,
    tensor: &Tensor,
    entity: Entity,
    load: &mut Load<'_>,
) -> Result<Bytes, Vec<Diagnostic>> {
    let content = load(model, tensor, entity)?;
    let number = |key| {
        let Some(name) = tensor.external(&model.names, key) else { return Ok(None) };
        let text = &model.names[name];
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<usize>() {
            Ok(number) if is_number => Ok(Some(number)),
            Ok(_) | Err(_) => {
                let message =
                    format!("invalid `{key}` of external data `{text}`: expected a number of bytes");
                Err(vec![Diagnostic::new(&code::OFFSET_LENGTH_SYNTAX, entity, message)])
            }
        }
    };
    let offset = number("offset")?.unwrap_or(0);
    let end = number("length")?.map_or(Some(content.len()), |length| offset.checked_add(length));
    let range = end.filter(|&end| offset <= end && end <= content.len()).map(|end| offset..end);
    range.map(|range| content.slice(range)).ok_or_else(|| {
        let message = format!("external data ends after the {} of its file", counted(content.len(), "byte"));
        vec![Diagnostic::new(&code::RANGE_BEYOND_FILE, entity, message)]
    })
}

fn put(
    model: &mut Model,
    (body, id): (BodyId, TensorId),
    (field, location): (Field, Option<DataLocation>),
    bytes: Bytes,
) {
    let tensor = &mut model.bodies[body].tensors[id];
    tensor.data = SmallVec::from_buf([Payload::Entries { field, bytes }]);
    let extra = tensor.extra_mut();
    extra.location = location;
    extra.external.clear();
    if *extra == onnx_ir::TensorExtra::default() {
        tensor.extra = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::BodyBuilder;

    fn model(tensors: Vec<Tensor>) -> Model {
        let mut model = Model::new();
        let mut b = BodyBuilder::new(&mut model);
        b.begin_graph(None, None);
        for (index, mut tensor) in tensors.into_iter().enumerate() {
            let name = b.name(&format!("w{index}"));
            tensor.name = Some(name);
            b.initializer(tensor);
        }
        b.end_graph();
        let main = b.finish();
        model.main = Some(main);
        model
    }

    fn tensor(elem: ElemType, count: i64, payload: Payload) -> Tensor {
        Tensor {
            elem: Some(elem),
            dims: SmallVec::from_slice(&[count]),
            data: SmallVec::from_buf([payload]),
            ..Tensor::default()
        }
    }

    /// The content of a file with these chunks.
    fn content(file: &DataFile) -> Bytes {
        let mut content = Vec::new();
        file.write(&mut content).unwrap();
        assert_eq!(file.sha1, <[u8; 20]>::from(Sha1::digest(&content)));
        content.into()
    }

    fn samples() -> Vec<Tensor> {
        let raw =
            |bytes: &'static [u8]| Payload::Entries { field: Field::Raw, bytes: Bytes::from_static(bytes) };
        let mut explicit = tensor(ElemType::UINT8, 3, raw(b"abc"));
        explicit.extra_mut().location = Some(DataLocation::DEFAULT);
        vec![
            tensor(ElemType::FLOAT, 2, Payload::floats(vec![1.0, f32::NAN])),
            tensor(ElemType::INT4, 3, raw(b"ab")),
            explicit,
            tensor(ElemType::INT64, 2, Payload::int64s(vec![-1, 7])),
        ]
    }

    #[test]
    fn data_that_went_out_comes_back() {
        for layout in [Layout::One("m.data"), Layout::Each("m")] {
            let mut moved = model(samples());
            let before = crate::write(&moved).unwrap();
            let files = externalize(&mut moved, 1, layout, true);
            assert_eq!(files.iter().map(|file| file.chunks.len()).sum::<usize>(), 4);
            assert!(has_marks(&moved) && is_external(&moved));
            let after = internalize(&mut moved, Which::Marked, &mut |model, tensor, _| {
                let location = &model.names[tensor.external(&model.names, "location").unwrap()];
                Ok(content(files.iter().find(|file| file.location == location).unwrap()))
            });
            assert_eq!(after, []);
            assert_eq!(crate::write(&moved).unwrap(), before, "{layout:?}");
        }
    }

    fn is_external(model: &Model) -> bool {
        super::super::is_stored_outside(model)
    }

    #[test]
    fn only_the_tensors_of_a_file_are_relocated() {
        let mut moved = model(samples());
        externalize(&mut moved, 1, Layout::Each("m"), true);
        relocate(&mut moved, "m/1.bin", "other");
        let locations: Vec<_> = super::super::external_tensors(&moved)
            .iter()
            .map(|(tensor, _)| moved.names[tensor.external(&moved.names, "location").unwrap()].to_owned())
            .collect();
        assert_eq!(locations, ["m/0.bin", "other", "m/2.bin", "m/3.bin"]);
    }

    #[test]
    fn what_a_file_cannot_hold_stays() {
        let mut stays = model(vec![
            tensor(ElemType::UINT8, 2, Payload::int32s(vec![1, 2])),
            tensor(ElemType::STRING, 1, Payload::Strings(vec!["x".into()])),
            tensor(ElemType::FLOAT, 3, Payload::floats(vec![1.0])),
            tensor(ElemType::FLOAT, 1, Payload::floats(vec![1.0])),
        ]);
        assert_eq!(externalize(&mut stays, 5, Layout::One("m.data"), true), []);
        assert!(!is_external(&stays));
    }

    #[test]
    fn data_beyond_its_file_is_reported() {
        let mut broken = model(samples());
        externalize(&mut broken, 1, Layout::One("m.data"), false);
        let found = internalize(&mut broken, Which::All, &mut |_, _, _| Ok(Bytes::from_static(&[0; 8])));
        let codes: Vec<_> = found.iter().map(|diagnostic| diagnostic.code.id).collect();
        assert_eq!(codes, ["E0607"; 3]);
    }
}
