//! Where results go: stdout, or files that are replaced as a whole or not at all.
//!
//! A file is written under another name in the same folder, put onto the disk, and only then renamed. Whatever happens
//! before, the old file is there. Several files are renamed together; if that fails, the old ones are put back. Devices and
//! pipes are written as they are.

use crate::place::{Found, Kind, Place};
use crate::reads;
use crate::temporary::{self, Held, Replaced, Temporary};
use anyhow::{Context as _, bail, ensure};
use onnx_text::visible;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

/// Where a result goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    /// `-` is stdout, and so is its device: a file that stdout was sent to must not be replaced under it.
    pub(crate) fn new(path: &Path) -> Target {
        let is_stdout = path == Path::new("-") || path == Path::new("/dev/stdout");
        if is_stdout { Target::Stdout } else { Target::File(path.to_owned()) }
    }

    /// Whether it is where `input` was read from.
    pub(crate) fn is(&self, input: &Path) -> bool {
        let Target::File(path) = self else { return false };
        let is_same_path = match (path.canonicalize(), input.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        };
        let id = |path: &Path| path.metadata().ok().and_then(|metadata| reads::id(&metadata));
        is_same_path || id(path).is_some_and(|file| Some(file) == id(input))
    }

    /// The name to show.
    pub(crate) fn name(&self) -> String {
        match self {
            Target::Stdout => "stdout".to_owned(),
            Target::File(path) => path.display().to_string(),
        }
    }
}

/// Writes data to stdout.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).context("cannot write to stdout")
}

/// Writes a JSON document to stdout.
pub(crate) fn json(value: &serde_json::Value) -> anyhow::Result<()> {
    to_people(&format!("{value:#}\n"))
}

/// Writes to stdout what people read: no name or text of a model does anything to their terminal.
pub(crate) fn to_people(text: &str) -> anyhow::Result<()> {
    to_stdout(|out| out.write_all(visible(text).as_bytes()))
}

/// Whether stdout is a terminal, where binary data does harm.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Which files may be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Replace {
    /// Those that this run has not read.
    Unread,
    /// Those that it has read, too: the user asked for that.
    Read,
}

/// A file that is written and not yet in its place.
pub(crate) struct Pending {
    /// `None`: a device or pipe, which was written at once.
    file: Option<(Place, Temporary)>,
}

impl Pending {
    /// Writes the content beside its place, where the path that a user typed leads.
    pub(crate) fn write(
        path: &Path,
        replace: Replace,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<Pending> {
        let name = path.display();
        if let Ok(metadata) = fs::metadata(path)
            && Found::of(&metadata).kind == Kind::Other
        {
            let cannot = || format!("cannot write {name}");
            let mut device = BufWriter::new(File::options().write(true).open(path).with_context(cannot)?);
            write(&mut device).and_then(|()| device.flush()).map_err(why).with_context(cannot)?;
            return Ok(Pending { file: None });
        }
        Pending::write_at(Place::of(path)?, replace, write)
    }

    /// Writes the content beside its place.
    pub(crate) fn write_at(
        place: Place,
        replace: Replace,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<Pending> {
        let name = &place.shown;
        let cannot = || format!("cannot write {name}");
        let existing = place.look().with_context(cannot)?;
        if let Some(existing) = &existing {
            may_replace(name, existing, replace)?;
        }
        let permissions = existing.as_ref().map_or_else(reads::permissions, |existing| existing.permissions);
        let (temporary, file) = Temporary::create(&place.folder, permissions).with_context(cannot)?;
        if existing.is_some() {
            // Whatever the mask of this run would leave out.
            #[cfg(unix)]
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(permissions & 0o7777))
                .with_context(cannot)?;
        }
        let mut out = BufWriter::with_capacity(1 << 18, &file);
        write(&mut out).and_then(|()| out.flush()).map_err(why).with_context(cannot)?;
        drop(out);
        file.sync_all().with_context(cannot)?;
        Ok(Pending { file: Some((place, temporary)) })
    }

    /// Puts the file into its place.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        commit_all(vec![self])
    }
}

/// Whether what is there may be replaced.
pub(crate) fn may_replace(name: &str, existing: &Found, replace: Replace) -> anyhow::Result<()> {
    match existing.kind {
        Kind::File => {}
        Kind::Folder => bail!("{name} is a folder"),
        Kind::Link => bail!("{name} is a link, which is not followed: remove it, or choose another name"),
        Kind::Other => bail!("{name} is not a regular file"),
    }
    ensure!(!existing.is_read_only(), "{name} is read-only");
    if let (Replace::Unread, Some(read)) = (replace, reads::name_of(existing.file)) {
        let also = if read == name { String::new() } else { format!(" (as {read})") };
        bail!("{name} is read by this command{also} and would be replaced: choose another name");
    }
    Ok(())
}

/// Puts files into their places: all of them, or none. The last one is the one that the others belong to.
pub(crate) fn commit_all(files: Vec<Pending>) -> anyhow::Result<()> {
    let mut batch = Batch::new(files)?;
    let mut held = temporary::hold();
    batch.replace(&mut held)?;
    drop(held);
    batch.sync();
    Ok(())
}

/// Files that get their places together.
pub(crate) struct Batch {
    files: Vec<(Place, Temporary)>,
    /// What became of the first ones.
    replaced: Vec<Replaced>,
}

impl Batch {
    pub(crate) fn new(files: Vec<Pending>) -> anyhow::Result<Batch> {
        // What was written may be zeros that a file does not have any more.
        if let Some(name) = onnx_proto::file::cut_short() {
            bail!("{name} was cut short by another program while it was read");
        }
        let files = files.into_iter().filter_map(|pending| pending.file).collect();
        Ok(Batch { files, replaced: Vec::new() })
    }

    /// Replaces one file after the other. If that fails, those that were replaced are put back.
    pub(crate) fn replace(&mut self, held: &mut Held) -> anyhow::Result<()> {
        for (done, (place, temporary)) in self.files.iter().enumerate() {
            if done > 0 && done + 1 == self.files.len() {
                // What the last one refers to is on the disk before it.
                self.files.iter().take(done).for_each(|(place, _)| place.folder.sync());
            }
            match temporary.replace(&place.name, held) {
                Ok(replaced) => self.replaced.push(replaced),
                Err(error) => {
                    let failed = Err(error).with_context(|| format!("cannot write {}", place.shown));
                    self.put_back(held);
                    return failed;
                }
            }
        }
        Ok(())
    }

    /// Puts back what was replaced, as far as it is still there.
    pub(crate) fn put_back(&mut self, held: &mut Held) {
        let done = self.files.iter().zip(self.replaced.drain(..)).rev();
        for ((place, temporary), replaced) in done {
            match replaced {
                Replaced::Kept => _ = temporary.replace(&place.name, held),
                Replaced::Nothing => _ = place.folder.remove(&place.name),
                Replaced::Lost => {}
            }
        }
    }

    /// Waits until the names are on the disk.
    pub(crate) fn sync(&self) {
        self.files.iter().for_each(|(place, _)| place.folder.sync());
    }
}

/// The error of a write in the user's terms: what is written may be memory that is a file.
fn why(error: io::Error) -> io::Error {
    match onnx_proto::file::cut_short() {
        Some(name) => io::Error::other(format!("{name} was cut short by another program while it was read")),
        None => error,
    }
}

/// Writes a file, as a whole or not at all.
pub(crate) fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    Pending::write(path, Replace::Unread, write)?.commit()
}

/// Writes a file that was read, as a whole or not at all.
pub(crate) fn rewrite(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    Pending::write(path, Replace::Read, write)?.commit()
}

/// Whether the reader of our output has gone.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(closed))
}

/// Lets what writes text write to what takes bytes; remembers what went wrong there.
pub(crate) struct TextWriter<'w> {
    out: &'w mut dyn Write,
    error: Option<io::Error>,
}

impl<'w> TextWriter<'w> {
    pub(crate) fn new(out: &'w mut dyn Write) -> Self {
        TextWriter { out, error: None }
    }

    /// What became of the writing.
    pub(crate) fn finish(self, result: std::fmt::Result) -> io::Result<()> {
        match (result, self.error) {
            (_, Some(error)) => Err(error),
            (Ok(()), None) => Ok(()),
            (Err(std::fmt::Error), None) => Err(io::Error::other("the text cannot be written")),
        }
    }
}

impl std::fmt::Write for TextWriter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            std::fmt::Error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        fs::write(&path, "old").unwrap();
        let failed = to_file(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Names of the cases of `a_program_that_dies_at_any_write_leaves_whole_files`, in the environment of its child.
    const DIES: &str = "ONNXTXT_TEST_DIES_AT";

    fn dying(at: usize, out: &mut dyn Write, written: &mut usize) -> io::Result<()> {
        for piece in 0..4_u8 {
            if *written == at {
                std::process::abort();
            }
            // Large enough to reach the disk.
            out.write_all(&vec![b'0' + piece; 1 << 18])?;
            *written += 1;
        }
        Ok(())
    }

    /// Does what `put` does, in a process of its own, and dies before any of its writes.
    #[test]
    fn a_program_that_dies_at_any_write_leaves_whole_files() {
        let write = |folder: &Path, at: usize| {
            let mut written = 0;
            let names = ["m.onnxtxt.data", "m.onnxtxt"].map(|name| folder.join(name));
            let pending = names.map(|path| {
                Pending::write(&path, Replace::Unread, |out| dying(at, out, &mut written)).unwrap()
            });
            commit_all(pending.into()).unwrap();
        };
        if let Some((folder, at)) = std::env::var(DIES).ok().as_deref().and_then(|case| case.split_once(':'))
        {
            return write(Path::new(folder), at.parse().unwrap());
        }
        let new: Vec<u8> = (b'0'..b'4').flat_map(|byte| vec![byte; 1 << 18]).collect();
        for at in 0..=8 {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("m.onnxtxt"), "old").unwrap();
            fs::write(folder.path().join("m.onnxtxt.data"), "old data").unwrap();
            let test = "output::tests::a_program_that_dies_at_any_write_leaves_whole_files";
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", test])
                .env(DIES, format!("{}:{at}", folder.path().display()))
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
            let both = (read("m.onnxtxt"), read("m.onnxtxt.data"));
            assert_eq!(status.success(), at == 8, "{at}");
            let expected =
                if at == 8 { (new.clone(), new.clone()) } else { (b"old".to_vec(), b"old data".to_vec()) };
            assert!(both == expected, "died at write {at}");
        }
    }

    #[test]
    fn files_that_belong_together_are_replaced_together() {
        let folder = tempfile::tempdir().unwrap();
        let (data, text) = (folder.path().join("m.data"), folder.path().join("m"));
        fs::write(&data, "old data").unwrap();
        let pending =
            |path: &Path| Pending::write(path, Replace::Unread, |out| out.write_all(b"new")).unwrap();
        let files = vec![pending(&data), pending(&text)];
        // The second one cannot get its place.
        fs::create_dir(&text).unwrap();
        fs::write(text.join("in"), "").unwrap();
        assert!(commit_all(files).is_err());
        assert_eq!(fs::read(&data).unwrap(), b"old data");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("m"), folder.path().join("l"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        to_file(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn folders_and_read_only_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(to_file(folder.path(), |_| Ok(())).unwrap_err().to_string().ends_with("is a folder"));
        let path = folder.path().join("m");
        fs::write(&path, "old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert!(to_file(&path, |_| Ok(())).unwrap_err().to_string().ends_with("is read-only"));
    }
}
