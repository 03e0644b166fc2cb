//! The models that `cargo xtask corpus` has fetched.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One model of the corpus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CorpusModel {
    /// Its path in the corpus, without the ending: `backend/node/test_abs/model`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The corpus: `ONNXTXT_CORPUS`, or `target/corpus`; `None` if it is not there.
pub fn folder() -> Option<PathBuf> {
    let folder =
        std::env::var_os("ONNXTXT_CORPUS").map_or_else(|| workspace().join("target/corpus"), PathBuf::from);
    folder.join("backend").is_dir().then_some(folder)
}

/// Every model of the corpus, in the order of the names. Says so where there is none.
pub fn models() -> Vec<CorpusModel> {
    let Some(folder) = folder() else {
        left_out("conformance with the corpus: there is none (`cargo xtask corpus`)");
        return Vec::new();
    };
    let mut found = Vec::new();
    for top in ["backend", "models"] {
        collect(&folder.join(top), &folder, &mut found);
    }
    if !folder.join("models").is_dir() {
        left_out(
            "conformance with real models: only ONNX's own test models are there (`cargo xtask corpus`)",
        );
    }
    found.sort();
    found
}

fn collect(folder: &Path, root: &Path, found: &mut Vec<CorpusModel>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, root, found);
        } else if path.extension().is_some_and(|ending| ending == "onnx") {
            let name = path.strip_prefix(root).expect("it was found there").with_extension("");
            let size = entry.metadata().map_or(0, |metadata| metadata.len());
            found.push(CorpusModel { name: name.to_string_lossy().into_owned(), path, size });
        }
    }
}

/// A folder of this name under `target/`, empty.
pub fn scratch(name: &str) -> PathBuf {
    let folder = workspace().join("target/conformance").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("target/ can be written to");
    folder
}

/// Says loudly what a test did not do: on the standard error stream, and in the file that `ONNXTXT_LEFT_OUT` names.
#[allow(clippy::print_stderr, reason = "a test that cannot run, or only in part, has to say so")]
pub fn left_out(what: &str) {
    eprintln!("LEFT OUT: {what}");
    if let Some(path) = std::env::var_os("ONNXTXT_LEFT_OUT") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{what}"));
    }
}

/// Applies `work` to each item on all cores; results in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    let result = work(item);
                    done.lock().expect("no worker panics while it holds the lock").push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("all workers are done");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
