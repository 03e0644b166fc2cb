//! `onnxtxt.toml`: the settings of the folder of a file.

use crate::read_files::STDIN;
use onnx_ops::schema::Registry;
use onnxtxt::config::Config;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The settings of a folder, with the operators that they add.
#[derive(Debug, Default)]
pub(crate) struct FolderSettings {
    pub(crate) config: Config,
    pub(crate) registry: Option<Registry>,
}

/// The settings of folders, each read once.
#[derive(Debug, Default)]
pub(crate) struct Configs(HashMap<PathBuf, Rc<FolderSettings>>);

impl Configs {
    /// The settings that apply to a file; those of the current folder for stdin.
    pub(crate) fn of(&mut self, path: &Path) -> anyhow::Result<Rc<FolderSettings>> {
        let is_stdin = path == Path::new("-") || path == Path::new(STDIN);
        let folder = if is_stdin { Path::new(".") } else { path.parent().unwrap_or(Path::new(".")) };
        if let Some(known) = self.0.get(folder) {
            return Ok(Rc::clone(known));
        }
        let config = Config::find(folder)?.unwrap_or_default();
        let registry = config.registry()?;
        let settings = Rc::new(FolderSettings { config, registry });
        self.0.insert(folder.to_owned(), Rc::clone(&settings));
        Ok(settings)
    }
}
