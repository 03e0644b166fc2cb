//! The next step after an error that ends a command, which is shown after its message.

use crate::read_files::Unreadable;
use onnx_ir::diag::did_you_mean;
use onnxtxt::Form;
use std::io;
use std::path::Path;

/// No more names of a folder are compared with a name that is not there.
const MAX_NAMES: usize = 10_000;
/// No more models of a folder are named.
const MAX_MODELS: usize = 3;

/// The step after an error that ends a command.
pub(crate) fn after_error(error: &anyhow::Error) -> Option<String> {
    let unreadable = error.downcast_ref::<Unreadable>()?;
    let path = Path::new(&unreadable.file);
    if unreadable.to_string() == format!("{} is a folder", unreadable.file) {
        return Some("name a file in it; `check`, `fmt` and `test` accept folders".to_owned());
    }
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.map(io::Error::kind).any(|kind| kind == io::ErrorKind::NotFound).then(|| near(path))?
}

/// Files that may be meant by the name of one that is not there: of a similar name, or models of its folder.
fn near(path: &Path) -> Option<String> {
    let folder = match path.parent()? {
        folder if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    if !folder.is_dir() {
        return Some(format!("there is no folder `{}`", folder.display()));
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten().take(MAX_NAMES);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let at = |name: &str| path.with_file_name(name).display().to_string();
    let name = path.file_name()?.to_str()?;
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let is_model = |name: &&String| Form::of_name(Path::new(name)).is_some();
    // A file of the same stem in another format comes first.
    let models: Vec<&String> = names.iter().filter(is_model).collect();
    let same = models.iter().find(|model| Form::of_name(path).is_some() && stem(model) == stem(name));
    let similar =
        same.map(|name| name.as_str()).or_else(|| did_you_mean(name, names.iter().map(String::as_str)));
    if let Some(similar) = similar {
        return Some(format!("did you mean `{}`?", at(similar)));
    }
    let shown: Vec<String> = models.iter().take(MAX_MODELS).map(|name| format!("`{}`", at(name))).collect();
    let more = if models.len() > MAX_MODELS { ", …" } else { "" };
    (!shown.is_empty()).then(|| format!("models of this folder: {}{more}", shown.join(", ")))
}
