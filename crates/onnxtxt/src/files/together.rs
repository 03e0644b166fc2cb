//! Replaces a model and the files of its weights together.
//!
//! Two files cannot be replaced atomically, and not every runtime compares checksums. If weights are replaced that the old model
//! uses, the new model first refers to a copy of its weights, whose name is derived from their content:
//!
//! ```text
//! 1. m.onnx.data.4d1e…  is a copy of the new weights   old model, old weights
//! 2. m.onnx             refers to m.onnx.data.4d1e…    new model, new weights
//! 3. m.onnx.data        is the new weights             the same
//! 4. m.onnx             refers to m.onnx.data          the same
//! 5. m.onnx.data.4d1e…  is removed                     the same
//! ```
//!
//! Whenever the program is killed, the model and its weights are both old or both new. It is a copy, not a link, because readers
//! refuse external data with several names. A leftover copy is removed by the next run that replaces the model by the same one,
//! or a model that refers to it.

use super::place::{FilePlace, Kind};
use super::reads::Reads;
use super::temporary;
use super::whole::{self, Batch, Guard, Pending};
use crate::error::Error;
use crate::source::File;
use onnx_ir::Model;
use onnx_proto::external::{self, DataFile};
use std::cell::LazyCell;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Weights whose file is renamed temporarily.
pub(crate) struct Moved {
    /// The location in the model.
    pub(crate) from: String,
    /// The temporary location.
    pub(crate) to: String,
}

/// Writes a model with its weights at their locations, except those that are moved.
pub(crate) type WriteModel<'w> = dyn Fn(&[Moved], &mut dyn Write) -> io::Result<()> + 'w;

/// The locations of external data of a model.
pub(crate) fn locations(model: &Model) -> impl Iterator<Item = &str> {
    let entries =
        external::external_tensors(model).into_iter().flat_map(|(tensor, _)| &tensor.extra().external);
    entries.filter(|entry| model.text(entry.key) == "location").map(|entry| model.text(entry.value))
}

/// Normalizes a location: `./a//b` is `a/b`.
pub(crate) fn plain(location: &str) -> PathBuf {
    Path::new(location).components().filter(|part| *part != Component::CurDir).collect()
}

/// Writes a model and the files beside it: first all temporary files, then all renames.
pub(crate) fn put(
    path: &Path,
    guard: Guard<'_>,
    files: &[DataFile],
    write: &WriteModel<'_>,
) -> Result<(), Error> {
    if files.is_empty() {
        return Pending::write(path, guard, |out| write(&[], out))?.commit();
    }
    let place = FilePlace::of(path)?;
    let old = LazyCell::new(|| used_by(&place));
    let mut weights = Vec::new();
    for file in files {
        let beside = place.beside(&file.location)?;
        is_replaced(&place, &beside, file, guard, &old)?;
        let pending = Pending::write_at(beside.clone(), guard, |out| file.write(out))?;
        weights.push(Weights { file, place: beside, pending });
    }
    let model = Pending::write_at(place.clone(), guard, |out| write(&[], out))?;
    let _lock = place.folder.lock().map_err(|error| Error::write(&place.shown, error))?;
    // Another process may have changed the files in the meantime.
    let old = LazyCell::new(|| used_by(&place));
    let mut replaced = Vec::new();
    for one in &weights {
        if is_replaced(&place, &one.place, one.file, guard, &old)? {
            replaced.push(one);
        }
    }
    let left = left_behind(&place, &old, &weights, guard)?;
    if replaced.is_empty() {
        whole::commit_all(weights.into_iter().map(|one| one.pending).chain([model]).collect())?;
    } else {
        let moved =
            replaced.iter().map(|one| Moved { from: one.file.location.clone(), to: copy_name(one.file) });
        let moved: Vec<Moved> = moved.collect();
        let copies = replaced.iter().map(|one| copy(&place, one.file)).collect::<Result<Vec<_>, _>>()?;
        let first = Pending::write_at(place.clone(), guard, |out| write(&moved, out))?;
        replace_both(weights, model, first, copies.into_iter().flatten().collect())?;
    }
    for place in left {
        // This run has read its content already.
        _ = place.folder.remove(&place.name);
    }
    Ok(())
}

/// Whether a model and the files beside it may be written now. Their content may be another one when they are written, so files
/// beside the model must belong to the model that is there.
pub(crate) fn may_put(path: &Path, guard: Guard<'_>, files: &[DataFile]) -> Result<(), Error> {
    let place = FilePlace::of(path)?;
    if let Some(existing) = place.look().map_err(|error| Error::write(&place.shown, error))? {
        whole::may_replace(&place.shown, &existing, guard)?;
    }
    let old = LazyCell::new(|| used_by(&place));
    for file in files {
        let beside = place.beside(&file.location)?;
        if let Some(existing) = beside.look().map_err(|error| Error::write(&beside.shown, error))? {
            whole::may_replace(&beside.shown, &existing, guard)?;
            ensure_own(&place, &beside, file, &old)?;
        }
    }
    Ok(())
}

/// A file of weights that is written but not yet renamed.
struct Weights<'f> {
    file: &'f DataFile,
    place: FilePlace,
    pending: Pending,
}

/// The locations of weights that an existing model uses.
fn used_by(model: &FilePlace) -> Vec<PathBuf> {
    match File::open(Path::new(&model.shown)) {
        Ok(file) => locations(&file.load().model).map(plain).collect(),
        Err(_) => Vec::new(),
    }
}

/// Whether a place beside a model has other weights, which the `old` model uses. Fails if the place must not be overwritten.
fn is_replaced(
    model: &FilePlace,
    place: &FilePlace,
    file: &DataFile,
    guard: Guard<'_>,
    old: &[PathBuf],
) -> Result<bool, Error> {
    let name = &place.shown;
    let cannot = |error| Error::write(name, error);
    let Some(existing) = place.look().map_err(cannot)? else { return Ok(false) };
    whole::may_replace(name, &existing, guard)?;
    let content = place.folder.read(&place.name).map_err(cannot)?;
    if file.is_content(content).map_err(cannot)? {
        return Ok(false);
    }
    ensure_own(model, place, file, old)?;
    Ok(true)
}

/// Fails if the old model does not use the weights at a place beside it.
fn ensure_own(model: &FilePlace, place: &FilePlace, file: &DataFile, old: &[PathBuf]) -> Result<(), Error> {
    let is_own = |used: &PathBuf| used == Path::new(&file.location) || is_copy_name(used, &file.location);
    if old.iter().any(is_own) {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{} exists and is not used by {}, so it may be the weights of another model: remove it, choose another \
         name, or use --weights inline",
        place.shown, model.shown
    )))
}

/// Copies left by a killed run: those of the same weights, and those that the old model uses, except files that this run reads.
fn left_behind(
    model: &FilePlace,
    old: &[PathBuf],
    weights: &[Weights<'_>],
    guard: Guard<'_>,
) -> Result<Vec<FilePlace>, Error> {
    let mut left = Vec::new();
    for one in weights {
        let same = PathBuf::from(copy_name(one.file));
        let names = old.iter().filter(|name| is_copy_name(name, &one.file.location)).chain([&same]);
        for name in names.filter_map(|name| name.to_str()) {
            let place = model.beside(name)?;
            let cannot = |error| Error::write(&place.shown, error);
            let found = place.look().map_err(cannot)?;
            let Some(found) = found.filter(|found| found.kind == Kind::File) else { continue };
            let is_old = old.iter().any(|used| used == Path::new(name));
            let is_read = guard.keeps(&found).is_some();
            let is_same = || one.file.is_content(place.folder.read(&place.name)?);
            if !is_read && (is_old || is_same().map_err(cannot)?) {
                left.push(place);
            }
        }
    }
    Ok(left)
}

/// Checksum digits in the name of a copy.
const DIGITS: usize = 16;

/// A location for a copy of weights, derived from their content.
fn copy_name(file: &DataFile) -> String {
    let digits = file.sha1.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}"));
    format!("{}.{}", file.location, digits.collect::<String>())
}

/// Whether a location has the form of [`copy_name`] for another one.
fn is_copy_name(name: &Path, location: &str) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(location)?.strip_prefix('.'));
    rest.is_some_and(|rest| rest.len() == DIGITS && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Writes a copy of weights, unless a killed run left one.
fn copy(model: &FilePlace, file: &DataFile) -> Result<Option<(FilePlace, Pending)>, Error> {
    let place = model.beside(&copy_name(file))?;
    let cannot = |error| Error::write(&place.shown, error);
    let Some(found) = place.look().map_err(cannot)? else {
        let none = Reads::default();
        let pending = Pending::write_at(place.clone(), Guard::new(&none), |out| file.write(out))?;
        return Ok(Some((place, pending)));
    };
    let is_same = || file.is_content(place.folder.read(&place.name)?);
    if found.kind == Kind::File && is_same().map_err(cannot)? {
        return Ok(None);
    }
    Err(Error::Refused(format!("{} exists: remove it, or choose another name", place.shown)))
}

/// Renames weights and model if the old model uses old weights. `first` is the new model with references to the copies.
fn replace_both(
    weights: Vec<Weights<'_>>,
    model: Pending,
    first: Pending,
    copies: Vec<(FilePlace, Pending)>,
) -> Result<(), Error> {
    let (places, copies): (Vec<FilePlace>, Vec<Pending>) = copies.into_iter().unzip();
    let mut copies = Batch::new(copies)?;
    let mut first = Batch::new(vec![first])?;
    let mut last = Batch::new(weights.into_iter().map(|one| one.pending).chain([model]).collect())?;
    let mut signals = temporary::defer_signals();
    let mut replace = || {
        copies.replace(&mut signals)?;
        copies.sync();
        first.replace(&mut signals).inspect_err(|_| copies.put_back(&mut signals))?;
        first.sync();
        last.replace(&mut signals).inspect_err(|_| {
            first.put_back(&mut signals);
            copies.put_back(&mut signals);
        })
    };
    replace()?;
    last.sync();
    for place in places {
        _ = place.folder.remove(&place.name);
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::place::faults;
    use super::*;
    use crate::{Form, SaveOptions, Weights};
    use onnx_proto::external::{Folder, Which, internalize};
    use std::fs;

    /// The environment variables of the child: the folder, and the number of changes.
    const DIES: &str = "ONNXTXT_TEST_DIES_AFTER";
    const ME: &str = "files::together::tests::a_program_that_is_killed_leaves_a_model_with_its_weights";

    /// A model with two tensors of 8 KiB.
    fn text(number: u8) -> String {
        let elements = vec![format!("{number}"); 2048].join(", ");
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[2048] x) => (float[2048] z) <float[2048] v = {{{elements}}}, \
             float[2048] w = {{{elements}}}> {{ y = Add(x, v) z = Mul(y, w) }}"
        )
    }

    /// Converts in a child process that is killed after this many changes of a folder. Returns whether it survived.
    fn convert(folder: &Path, changes: usize, to: &str, weights: &str) -> bool {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", ME])
            .env(DIES, format!("{changes} {to} {weights}"))
            .current_dir(folder)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        status.success()
    }

    fn run_child(case: &str) {
        let words: Vec<&str> = case.split(' ').collect();
        let [changes, to, weights] = words[..] else { panic!("{case}") };
        faults::die_after(changes.parse().unwrap());
        let weights = if weights == "files" { Weights::Files } else { Weights::Sidecar };
        let form = Form::of_name(Path::new(to));
        let options = SaveOptions { form, weights: Some(weights), ..SaveOptions::default() };
        let saved = crate::open("new.onnxtxt").unwrap().save_with(Path::new(to), &options).unwrap();
        assert!(saved.is_written);
    }

    /// The model at a path with its external weights, in wire format.
    fn whole(path: &Path) -> Vec<u8> {
        let mut model = File::open(path).unwrap().load().model;
        let mut folder = Folder::of(path);
        // The test checks whether the weights belong to the model, so checksums must not.
        let found = internalize(&mut model, Which::All, &mut |model, tensor, entity| {
            folder.load(model, tensor, entity, false)
        });
        assert!(found.is_empty(), "{found:?}");
        onnx_proto::write(&model).unwrap()
    }

    #[test]
    fn a_program_that_is_killed_leaves_a_model_with_its_weights() {
        if let Ok(case) = std::env::var(DIES) {
            return run_child(&case);
        }
        for (output, weights) in [("m.onnx", "sidecar"), ("m.onnx", "files"), ("m.onnxtxt", "sidecar")] {
            let made = |number: u8| {
                let folder = tempfile::tempdir().unwrap();
                fs::write(folder.path().join("new.onnxtxt"), text(number)).unwrap();
                assert!(convert(folder.path(), usize::MAX, output, weights));
                let whole = whole(&folder.path().join(output));
                (folder, whole)
            };
            let ((template, old), (_, new)) = (made(1), made(2));
            fs::write(template.path().join("new.onnxtxt"), text(2)).unwrap();
            let before = names(template.path());
            let mut seen = Vec::new();
            for changes in 0.. {
                let folder = tempfile::tempdir().unwrap();
                for name in &before {
                    let to = folder.path().join(name);
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    fs::copy(template.path().join(name), to).unwrap();
                }
                let is_done = convert(folder.path(), changes, output, weights);
                let now = whole(&folder.path().join(output));
                let case = format!("{output}, {weights}: killed after {changes} changes");
                assert!(now == old || now == new, "{case}");
                seen.push(now == new);
                // Leftover files do not matter, and do not remain.
                assert!(convert(folder.path(), usize::MAX, output, weights), "{case}");
                assert!(whole(&folder.path().join(output)) == new, "{case}");
                assert_eq!(names(folder.path()), before, "{case}");
                if is_done {
                    break;
                }
            }
            // New from some change on, and killed before, between and after the two.
            assert!(seen.is_sorted() && seen.iter().filter(|&&is_new| is_new).count() > 3, "{seen:?}");
        }
    }

    /// The files in a folder, recursively, except those that a killed program cannot remove.
    fn names(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.path().is_dir() {
                names.extend(self::names(&entry.path()).into_iter().map(|inner| format!("{name}/{inner}")));
            } else if !name.starts_with(".onnxtxt-") {
                names.push(name);
            }
        }
        names.sort();
        names
    }

    #[test]
    fn names_of_copies_are_known() {
        let file = DataFile { location: "a/0.bin".to_owned(), chunks: Vec::new(), sha1: [0xa7; 20] };
        assert_eq!(copy_name(&file), "a/0.bin.a7a7a7a7a7a7a7a7");
        assert!(is_copy_name(Path::new(&copy_name(&file)), "a/0.bin"));
        for other in ["a/0.bin", "a/0.bin.a7", "a/0.bin.data-of-user-000", "a/1.bin.a7a7a7a7a7a7a7a7"] {
            assert!(!is_copy_name(Path::new(other), "a/0.bin"), "{other}");
        }
    }
}
