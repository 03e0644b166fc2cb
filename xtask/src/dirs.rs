//! Where things are in the checkout. Caches lie under `target/`, also when `CARGO_TARGET_DIR` sends builds elsewhere, so
//! that scripts and tests find them.

use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

pub(crate) fn corpus() -> PathBuf {
    root().join("target/corpus")
}

pub(crate) fn corpus_script(name: &str) -> PathBuf {
    root().join("xtask/corpus").join(name)
}

pub(crate) fn reference_script() -> PathBuf {
    root().join("tests/python/reference.py")
}
