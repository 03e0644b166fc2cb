//! Files whose names the user did not give: they follow from the name of another file, from a folder, or from a text that someone
//! else may have written.
//!
//! ```text
//! given        m.onnx              a link is followed, an existing file is replaced
//! derived      m.onnx.conflict…    a link is refused, an existing file is replaced only if this program wrote it
//! ```
//!
//! Every writer of a file chooses between [`write`](super::write) and [`Derived`]: `cargo xtask tidy` knows all calls of the former,
//! and finds places outside of this folder that open files for writing. The weights of a model are derived names as well, and are
//! written together with it.

use super::place::FilePlace;
use super::whole::{self, Guard, Pending};
use crate::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Whether the content of an existing file shows that this program wrote it, or wrote it for this purpose.
pub type IsOwn = fn(&mut File) -> io::Result<bool>;

/// A file whose name the user did not give.
#[derive(Clone, Copy, Debug)]
pub struct Derived<'p> {
    /// The folder that the user gave, or that has the file that the user gave; a link to it is followed.
    folder: &'p Path,
    /// Whether the folder is made if it does not exist.
    makes_folder: bool,
    /// The name in the folder or in folders below it.
    name: &'p Path,
    is_own: IsOwn,
}

impl<'p> Derived<'p> {
    /// A file below a folder that the user gave, which is made if it does not exist.
    pub fn below(folder: &'p Path, name: &'p Path, is_own: IsOwn) -> Derived<'p> {
        Derived { folder, makes_folder: true, name, is_own }
    }

    /// A file in the folder of another one.
    pub fn beside(path: &'p Path, is_own: IsOwn) -> Derived<'p> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.strip_prefix(folder).unwrap_or(path);
        Derived { folder, makes_folder: false, name, is_own }
    }

    /// Whether it may be written now, for commands that work for a long time before they write. Makes the folders between.
    ///
    /// # Errors
    ///
    /// It is a link, another program's file, or one that was read.
    pub fn check(&self, guard: Guard<'_>) -> Result<(), Error> {
        self.place(guard).map(drop)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    ///
    /// See [`check`](Self::check); or it cannot be written.
    pub fn write(
        &self,
        guard: Guard<'_>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        Pending::write_at(self.place(guard)?, guard, write)?.commit()
    }

    /// Removes the file.
    ///
    /// # Errors
    ///
    /// See [`check`](Self::check); or it cannot be removed.
    pub fn remove(&self, guard: Guard<'_>) -> Result<(), Error> {
        let place = self.place(guard)?;
        place.folder.remove(&place.name).map_err(|error| Error::write(&place.shown, error))
    }

    /// The place of the file, if it may be written.
    fn place(&self, guard: Guard<'_>) -> Result<FilePlace, Error> {
        if self.makes_folder {
            whole::make_folder(self.folder)?;
        }
        let place = FilePlace::below(self.folder, self.name)?;
        let cannot = |error| Error::write(&place.shown, error);
        let Some(found) = place.look().map_err(cannot)? else { return Ok(place) };
        whole::may_replace(&place.shown, &found, guard)?;
        let mut file = place.folder.read(&place.name).map_err(cannot)?;
        if (self.is_own)(&mut file).map_err(cannot)? {
            return Ok(place);
        }
        Err(Error::Refused(format!(
            "{} exists, and this program did not write it: remove it, or choose another name",
            place.shown
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Reads;
    use std::fs;
    use std::io::Read as _;

    fn is_own(file: &mut File) -> io::Result<bool> {
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text.starts_with("own"))
    }

    #[test]
    fn only_own_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let none = Reads::default();
        let write = |name: &str| {
            let done = Derived::below(root, Path::new(name), is_own)
                .write(Guard::new(&none), |out| out.write_all(b"own 2"));
            done.map_err(|error| error.to_string())
        };
        fs::write(root.join("own"), "own 1").unwrap();
        fs::write(root.join("foreign"), "foreign").unwrap();
        let beside = root.join("no/folder/new");
        assert!(Derived::beside(&beside, is_own).check(Guard::new(&none)).is_err());
        assert!(!root.join("no").exists());
        for (name, why) in [
            ("new", None),
            ("a/b/new", None),
            ("own", None),
            ("foreign", Some("this program did not write it")),
            ("foreign/x", Some("is not a folder")),
            ("../x", Some("is not below")),
            ("a/../x", Some("is not below")),
            ("/tmp/x", Some("is not below")),
            ("", Some("is not the name of a file")),
            ("a", Some("is a folder")),
        ] {
            match (write(name), why) {
                (Ok(()), None) => assert_eq!(fs::read(root.join(name)).unwrap(), b"own 2", "{name}"),
                (Err(found), Some(why)) => assert!(found.contains(why), "{name}: {found}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
        assert_eq!(fs::read(root.join("foreign")).unwrap(), b"foreign");
        let mut reads = Reads::default();
        reads.note(&root.join("own"));
        let own = root.join("own");
        let refused = Derived::beside(&own, is_own).check(Guard::new(&reads)).unwrap_err().to_string();
        assert!(refused.contains("is read by this command"), "{refused}");
        Derived::beside(&own, is_own).remove(Guard::new(&none)).unwrap();
        assert!(!own.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused_wherever_they_are() {
        use std::os::unix::fs::symlink;
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = elsewhere.path().join("victim");
        fs::write(&victim, "own, but elsewhere").unwrap();
        symlink(&victim, folder.path().join("file")).unwrap();
        symlink(elsewhere.path().join("nowhere"), folder.path().join("dangling")).unwrap();
        symlink(elsewhere.path(), folder.path().join("folder")).unwrap();
        // The folder that the user gave may be a link.
        let given = elsewhere.path().join("given");
        symlink(folder.path(), &given).unwrap();
        let none = Reads::default();
        for root in [folder.path(), &given] {
            for name in ["file", "dangling", "folder/victim", "folder/new", "folder"] {
                let file = Derived::below(root, Path::new(name), is_own);
                for done in [
                    file.check(Guard::new(&none)),
                    file.write(Guard::new(&none).even_read(), |out| out.write_all(b"lost")),
                    file.remove(Guard::new(&none)),
                ] {
                    let refused = done.unwrap_err().to_string();
                    assert!(refused.contains("is a link, which is not followed"), "{name}: {refused}");
                }
            }
            Derived::below(root, Path::new("new"), is_own)
                .write(Guard::new(&none), |out| out.write_all(b"own"))
                .unwrap();
        }
        assert_eq!(fs::read(&victim).unwrap(), b"own, but elsewhere");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 2);
    }
}
