//! Snapshots: `NAME.WHAT.snap` beside the test, or `NAME.PART.WHAT.snap`.
//!
//! A snapshot may begin with a header between lines `---`, as insta writes it; only what follows is compared.

use crate::Error;
use crate::files::{Derived, Guard, Reads};
use similar::TextDiff;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The snapshots of one test.
#[derive(Debug)]
pub(super) struct Store {
    /// The folder of the snapshots.
    folder: PathBuf,
    /// The name in it without `.WHAT.snap`, below the folders that the test has.
    base: PathBuf,
    /// Whether differences are accepted.
    blesses: bool,
    /// The snapshots to write, by their names in the folder.
    changes: Mutex<Vec<(PathBuf, String)>>,
}

impl Store {
    pub(super) fn new(folder: PathBuf, mut base: PathBuf, part: Option<&str>, blesses: bool) -> Store {
        if let Some(part) = part {
            // Names of parts are not paths.
            let part: String =
                part.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect();
            base.as_mut_os_string().push(format!(".{part}"));
        }
        Store { folder, base, blesses, changes: Mutex::default() }
    }

    /// Compares an output with its snapshot, or records it to be written.
    pub(super) fn compare(&self, what: &str, content: &str) -> Result<(), String> {
        let mut name = self.base.clone();
        name.as_mut_os_string().push(format!(".{what}.snap"));
        let path = self.folder.join(&name);
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(format!("the snapshot {} is not a regular file", path.display()));
        }
        let stored = match fs::read_to_string(&path) {
            Ok(stored) => Some(stored),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let (head, body) = stored.as_deref().map_or(("", None), |text| {
            let (head, body) = split(text);
            (head, Some(body))
        });
        if body.is_some_and(|body| body.trim_end() == content.trim_end()) {
            return Ok(());
        }
        if self.blesses {
            let text = format!("{head}{}\n", content.trim_end());
            self.changes.lock().unwrap_or_else(PoisonError::into_inner).push((name, text));
            return Ok(());
        }
        let Some(body) = body else {
            return Err(format!("missing snapshot {}: `--bless` writes it", path.display()));
        };
        let (old, new) = (format!("{}\n", body.trim_end()), format!("{}\n", content.trim_end()));
        let diff = TextDiff::from_lines(&old, &new);
        let name = path.display().to_string();
        Err(diff.unified_diff().context_radius(3).header(&name, "now").to_string())
    }

    /// Whether there are snapshots to write.
    pub(super) fn has_changes(&self) -> bool {
        !self.changes.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Writes the recorded snapshots.
    pub(super) fn write(&self) -> Result<(), Error> {
        let changes = std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner));
        for (name, text) in changes {
            // A file with the name of a snapshot may be replaced.
            let file = Derived::below(&self.folder, &name, |_| Ok(true));
            file.write(Guard::new(&Reads::default()), |out| out.write_all(text.as_bytes()))?;
        }
        Ok(())
    }
}

/// The header and the content of a snapshot.
fn split(text: &str) -> (&str, &str) {
    let end = text.strip_prefix("---\n").and_then(|rest| rest.find("\n---\n"));
    end.map_or(("", text), |end| text.split_at("---\n".len() + end + "\n---\n".len()))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn the_head_of_a_snapshot_is_kept_apart() {
        assert_eq!(split("---\nsource: x\n---\ny\n"), ("---\nsource: x\n---\n", "y\n"));
        assert_eq!(split("y\n---\n"), ("", "y\n---\n"));
    }
}
