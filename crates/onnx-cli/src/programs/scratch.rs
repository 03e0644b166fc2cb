//! Temporary folders for other programs, which only the user can read.
//!
//! A command of the user always gets a copy, which it may change or delete.

use anyhow::Context as _;
use onnx_ir::Model;
use onnx_proto::external::external_tensors;
use onnxtxt::File;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// A folder that is removed on drop.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// A folder where the system has such.
    pub(crate) fn new() -> anyhow::Result<Scratch> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        Ok(Scratch(builder.tempdir().context("cannot make a temporary folder")?))
    }

    /// A folder that becomes a result in this one: see [`persist`](Self::persist).
    pub(crate) fn in_folder(parent: &Path) -> anyhow::Result<Scratch> {
        let made = tempfile::Builder::new().prefix(".onnxtxt-").tempdir_in(parent);
        Ok(Scratch(made.with_context(|| format!("cannot make a folder in {}", parent.display()))?))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a new file.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: &[u8]) -> anyhow::Result<PathBuf> {
        let path = self.path().join(name);
        let mut options = fs::File::options();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.write(true).create_new(true).open(&path);
        file.and_then(|mut file| file.write_all(content))
            .with_context(|| format!("cannot write the temporary file {}", path.display()))?;
        Ok(path)
    }

    /// Copies a model of this content under its own name, with the files of its weights that are beside it.
    pub(crate) fn copy(&self, file: &File, model: &Model) -> anyhow::Result<PathBuf> {
        let own = file.path.as_deref();
        let name = own.and_then(Path::file_name).map(PathBuf::from);
        let name = name.unwrap_or_else(|| PathBuf::from(format!("model.{}", file.form.ending())));
        let path = self.write(&name, &file.bytes)?;
        let Some(own) = own else { return Ok(path) };
        let tensors = external_tensors(model);
        let entries = tensors.iter().flat_map(|(tensor, _)| &tensor.extra().external);
        for entry in entries.filter(|entry| model.text(entry.key) == "location") {
            let location = Path::new(model.text(entry.value));
            let is_below = location.components().all(|part| matches!(part, Component::Normal(_)));
            let (from, to) = (own.with_file_name(location), path.with_file_name(location));
            let is_file = fs::symlink_metadata(&from).is_ok_and(|metadata| metadata.is_file());
            if !is_below || !is_file || to.exists() {
                continue;
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).context("cannot make a temporary folder")?;
            }
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        Ok(path)
    }

    /// Makes an empty folder of this name.
    pub(crate) fn empty(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.path().join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).context("cannot empty a temporary folder")?;
        }
        fs::create_dir(&folder).context("cannot make a temporary folder")?;
        Ok(folder)
    }

    /// Leaves the folder to the user.
    pub(crate) fn keep(self) -> PathBuf {
        self.0.keep()
    }

    /// Gives the folder its final name.
    pub(crate) fn persist(self, path: &Path) -> anyhow::Result<()> {
        fs::rename(self.path(), path).with_context(|| format!("cannot write {}", path.display()))?;
        _ = self.0.keep();
        Ok(())
    }
}

/// A file without a name.
pub(crate) fn unnamed() -> anyhow::Result<fs::File> {
    tempfile::tempfile().context("cannot make a temporary file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnxtxt::{Form, SaveOptions, Weights};

    #[test]
    fn a_copy_has_the_weights_beside_it_and_is_private() {
        let text = "<ir_version: 10, opset_import: [\"\": 21]> g () => (float[1024] w)\n<float[1024] w = {";
        let text = format!("{text}{}}}> {{}}", vec!["1"; 1024].join(", "));
        let from = tempfile::tempdir().unwrap();
        for weights in [Weights::Inline, Weights::Sidecar, Weights::Files] {
            let path = from.path().join("m.onnx");
            let options =
                SaveOptions { form: Some(Form::Binary), weights: Some(weights), ..SaveOptions::default() };
            assert!(onnxtxt::parse(&text).save_with(&path, &options).unwrap().is_written);
            let loaded = onnxtxt::open(&path).unwrap();
            let scratch = Scratch::new().unwrap();
            let copy = scratch.copy(loaded.file(), &loaded.model).unwrap();
            let mut copied = onnxtxt::open(&copy).unwrap();
            assert_eq!(copied.load_weights(), [], "{weights:?}");
            #[cfg(unix)]
            assert_eq!(
                std::os::unix::fs::PermissionsExt::mode(&copy.metadata().unwrap().permissions()) & 0o777,
                0o600
            );
            fs::remove_file(&path).unwrap();
        }
    }
}
