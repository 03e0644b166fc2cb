//! `--watch`: runs a command again when a file that it has read changes, until the process is ended (Ctrl-C).
//!
//! Folders are watched, not files: many editors write a new file and give it the name of the old one. Changes that follow each other
//! within [`QUIET`] count as one.

use crate::args::global::Format;
use crate::output;
use crate::read_files;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail, ensure};
use notify::event::EventKind;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use onnx_ir::diag::counted;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

/// An editor that saves makes several changes.
const QUIET: Duration = Duration::from_millis(50);
/// Changes that do not end are not waited for.
const LONGEST: Duration = Duration::from_secs(1);

/// Runs a command, and again after each change of a file in `roots` or of another one that it has read; in folders, of files with
/// these extensions. Returns only if that is impossible, or if the output is closed.
pub(crate) fn watch(
    roots: &[PathBuf],
    extensions: &[&str],
    session: &mut Session,
    mut command: impl FnMut(&mut Session) -> anyhow::Result<Status>,
) -> anyhow::Result<Status> {
    ensure!(roots.iter().all(|root| root != Path::new("-")), "stdin cannot be watched: name a file");
    ensure!(
        session.format() != Format::Sarif,
        "`--watch` has no end, and a SARIF document is one of the whole run"
    );
    let (sender, changes) = mpsc::channel();
    let watcher = notify::recommended_watcher(sender).context("cannot watch files")?;
    let mut watched = Watched { watcher, folders: HashSet::new(), files: HashSet::new(), roots: Vec::new() };
    for root in roots {
        watched.add_root(root)?;
    }
    loop {
        (session.errors, session.warnings) = (0, 0);
        let start = SystemTime::now();
        match command(session).or_else(|error| session.ended_by(error)) {
            Err(error) if output::is_closed_pipe(&error) => return Err(error),
            Err(error) => session.error(&error),
            Ok(_) => {}
        }
        // A file in a folder that was not watched may have changed since it was read.
        let new = watched.add_reads()?;
        let is_newer =
            |file: &PathBuf| file.metadata().and_then(|it| it.modified()).is_ok_and(|at| at >= start);
        if new.iter().any(is_newer) {
            continue;
        }
        session.note(&format!("watching {}; Ctrl-C ends", watched.described()));
        watched.wait(&changes, extensions)?;
    }
}

struct Watched {
    watcher: RecommendedWatcher,
    folders: HashSet<PathBuf>,
    files: HashSet<PathBuf>,
    /// Folders that the user has named.
    roots: Vec<PathBuf>,
}

impl Watched {
    fn add_root(&mut self, path: &Path) -> anyhow::Result<()> {
        if !path.is_dir() {
            return self.add_file(path).map(|_| ());
        }
        let folder = path.canonicalize().with_context(|| cannot_watch(path))?;
        if self.folders.insert(folder.clone()) {
            let done = self.watcher.watch(&folder, RecursiveMode::Recursive);
            done.with_context(|| cannot_watch(path))?;
            self.roots.push(folder);
        }
        Ok(())
    }

    /// Watches the folder of a file, which may be missing. Returns whether it is a new one, and the file.
    fn add_file(&mut self, path: &Path) -> anyhow::Result<(bool, PathBuf)> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().with_context(|| cannot_watch(path))?;
        let file = folder.join(path.file_name().unwrap_or_default());
        let is_below = self.roots.iter().any(|root| folder.starts_with(root));
        let is_new = !is_below && self.folders.insert(folder.clone());
        if is_new {
            let done = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
            done.with_context(|| cannot_watch(path))?;
        }
        self.files.insert(file.clone());
        Ok((is_new, file))
    }

    /// Watches the files that the command has read. Returns those whose folders were not watched before.
    fn add_reads(&mut self) -> anyhow::Result<Vec<PathBuf>> {
        let mut new = Vec::new();
        for path in read_files::all().paths() {
            let (is_new, file) = self.add_file(path)?;
            new.extend(is_new.then_some(file));
        }
        Ok(new)
    }

    fn described(&self) -> String {
        let of = |count: usize, noun: &str| (count > 0).then(|| counted(count, noun));
        let is_outside = |file: &&PathBuf| !self.roots.iter().any(|root| file.starts_with(root));
        let files = of(self.files.iter().filter(is_outside).count(), "file");
        let parts: Vec<String> = of(self.roots.len(), "folder").into_iter().chain(files).collect();
        parts.join(" and ")
    }

    /// Waits for a change, and for those that follow it at once.
    fn wait(&self, changes: &Receiver<notify::Result<Event>>, extensions: &[&str]) -> anyhow::Result<()> {
        while !self.concerns(&changes.recv()?.context("cannot watch files")?, extensions) {}
        let start = Instant::now();
        while start.elapsed() < LONGEST {
            match changes.recv_timeout(QUIET) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => bail!("cannot watch files"),
            }
        }
        Ok(())
    }

    /// Whether a watched file may have another content now.
    fn concerns(&self, event: &Event, extensions: &[&str]) -> bool {
        let is_watched = |path: &PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            let is_in_folder = || self.roots.iter().any(|root| path.starts_with(root));
            self.files.contains(path) || extensions.contains(&extension) && is_in_folder()
        };
        // A system that has lost events says so without a path.
        !matches!(event.kind, EventKind::Access(_))
            && (event.need_rescan() || event.paths.iter().any(is_watched))
    }
}

fn cannot_watch(path: &Path) -> String {
    format!("cannot watch {}", path.display())
}
