//! The folders that the client has open: settings, and the files in them.

use crate::client::{Client, Outbox};
use crate::document::{Encoding, Snapshot};
use crate::settings::{ClientSettings, Settings};
use crate::uri;
use crate::virtual_text;
use gen_lsp_types::Uri;
use onnxtxt::config::{CONFIG_FILE, Config};
use onnxtxt::files::below;
use onnxtxt::ir::diag::{Level, counted};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// File name extensions of ONNX text.
const EXTENSIONS: &[&str] = &["onnxtxt", "onnxtext"];

/// Larger files that are not open are not read: answers about all files of a folder would take minutes.
const MAX_UNOPENED: u64 = 64 << 20;

/// The folders of the client.
#[derive(Debug)]
pub(crate) struct Workspace {
    folders: Vec<PathBuf>,
    configs: Arc<Configs>,
}

impl Workspace {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Workspace {
        Workspace { folders, configs: Arc::default() }
    }

    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    pub(crate) fn add(&mut self, folder: PathBuf) {
        if !self.folders.contains(&folder) {
            self.folders.push(folder);
        }
    }

    pub(crate) fn remove(&mut self, folder: &Path) {
        self.folders.retain(|other| other != folder);
    }

    /// Follows the settings of the client.
    pub(crate) fn configure(&mut self, client: &ClientSettings) {
        self.configs = Arc::new(Configs { client: client.clone(), ..Configs::default() });
    }

    /// Forgets the files that were read.
    pub(crate) fn reload(&mut self) {
        let client = self.configs.client.clone();
        self.configure(&client);
    }

    pub(crate) fn configs(&self) -> Arc<Configs> {
        Arc::clone(&self.configs)
    }

    /// Whether the settings of documents depend on a file.
    pub(crate) fn is_used(&self, uri: &Uri) -> bool {
        let Some(path) = uri::path_of(uri) else { return false };
        path.file_name().is_some_and(|name| name == CONFIG_FILE) || self.configs.uses(&path)
    }
}

/// The settings of files, by folder; a file that was read is kept until a notification says that it has changed.
#[derive(Debug, Default)]
pub(crate) struct Configs {
    client: ClientSettings,
    known: Mutex<HashMap<PathBuf, Arc<Settings>>>,
    /// Operator sets that settings have.
    used: Mutex<BTreeSet<PathBuf>>,
    /// Mistakes in configurations, to be shown once.
    errors: Mutex<Vec<String>>,
}

impl Configs {
    /// The settings of a file; those of the client for what is not a file.
    pub(crate) fn settings(&self, path: Option<&Path>) -> Arc<Settings> {
        let folder = path.and_then(Path::parent).map_or_else(PathBuf::new, Path::to_owned);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&folder).cloned();
        if let Some(settings) = known {
            return settings;
        }
        let settings = Arc::new(self.read(path));
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(folder, Arc::clone(&settings));
        settings
    }

    fn read(&self, path: Option<&Path>) -> Settings {
        let config = path.map_or(Ok(None), Config::find);
        let config = config.unwrap_or_else(|error| {
            self.error(error.to_string());
            None
        });
        let config = config.unwrap_or_default();
        let mut settings = Settings { hints: self.client.inlay_hints, ..Settings::default() };
        settings.check = config.filter();
        if config.level.is_none()
            && let Some(name) = &self.client.level
        {
            match Level::named(name) {
                Some(level) => settings.check.level = level,
                None => self.error(format!("unknown level `{name}`: expected syntax, spec, types or strict")),
            }
        }
        settings.line_width = config.line_width.unwrap_or(settings.line_width);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(config.opsets.iter().cloned());
        settings.registry = match config.registry() {
            Ok(registry) => registry.map(Arc::new),
            Err(error) => {
                self.error(error.to_string());
                None
            }
        };
        settings.targets = config.targets;
        settings
    }

    fn error(&self, message: String) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if !errors.contains(&message) {
            errors.push(message);
        }
    }

    /// The mistakes since they were asked for last.
    pub(crate) fn take_errors(&self) -> Vec<String> {
        std::mem::take(&mut *self.errors.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn uses(&self, path: &Path) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).contains(path)
    }
}

/// The other documents of a request.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) open: Vec<Arc<Snapshot>>,
    pub(crate) encoding: Encoding,
    pub(crate) client: Client,
    pub(crate) configs: Arc<Configs>,
    pub(crate) outbox: Outbox,
}

impl View {
    /// The text files of the folders, sorted. A folder that cannot be read has none.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let files = self.folders.iter().flat_map(|folder| below(folder, EXTENSIONS).unwrap_or_default());
        files.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// An open document, or a file.
    pub(crate) fn snapshot(&self, path: &Path) -> Option<Arc<Snapshot>> {
        let uri = uri::of_path(path);
        let open = self.open.iter().find(|open| open.path().as_deref() == Some(path));
        let read = || read(&uri, self.encoding, self.configs.settings(Some(path))).ok().map(Arc::new);
        open.cloned().or_else(read)
    }

    /// Every text of the folders, and every open document.
    pub(crate) fn all(&self) -> impl Iterator<Item = Arc<Snapshot>> + '_ {
        let files = self.files();
        let is_elsewhere = |open: &&Arc<Snapshot>| open.path().is_none_or(|path| !files.contains(&path));
        let others: Vec<_> = self.open.iter().filter(is_elsewhere).cloned().collect();
        let of_files = files.into_iter().filter_map(|path| self.snapshot(&path));
        of_files.chain(others)
    }
}

/// A document that is not open: a text file, or the text of a binary model.
pub(crate) fn read(uri: &Uri, encoding: Encoding, settings: Arc<Settings>) -> Result<Snapshot, String> {
    if uri.0.starts_with(virtual_text::SCHEME) {
        let text = virtual_text::text(uri).map_err(|failure| failure.0)?;
        return Ok(Snapshot::of_text(uri.clone(), text, encoding, settings));
    }
    let path = uri::path_of(uri).ok_or_else(|| format!("the document {} is not open", uri.0))?;
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let length = fs::metadata(&path).map_err(cannot)?.len();
    if length > MAX_UNOPENED {
        let size = counted(length, "byte");
        return Err(format!("{} has {size}: it is read when it is opened", path.display()));
    }
    let text = fs::read_to_string(&path).map_err(cannot)?;
    Ok(Snapshot::of_text(uri.clone(), text, encoding, settings))
}
