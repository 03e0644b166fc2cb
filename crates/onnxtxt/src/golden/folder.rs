//! Golden tests in files: a file or all files of a folder, with their snapshots.
//!
//! A test program with `libtest_mimic` for the models in a folder:
//!
//! ```no_run
//! # mod libtest_mimic {
//! #     pub struct Arguments; impl Arguments { pub fn from_args() -> Self { Self } }
//! #     pub struct Trial; impl Trial { pub fn test(_: String, _: impl FnOnce() -> Result<(), String> + Send + 'static) -> Self { Self } }
//! #     pub fn run(_: &Arguments, _: Vec<Trial>) -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
//! # }
//! use libtest_mimic::{Arguments, Trial};
//! use onnxtxt::golden::folder::{Options, tests};
//!
//! fn main() -> std::process::ExitCode {
//!     let tests = tests("tests/models", &Options::default()).expect("a folder with tests");
//!     let trial = |test: onnxtxt::golden::folder::Test| Trial::test(test.name().to_owned(), move || test.run());
//!     libtest_mimic::run(&Arguments::from_args(), tests.into_iter().map(trial).collect())
//! }
//! ```

use super::directives::{file_of_values, split_tolerances};
use super::store::Store;
use super::values::elem_of;
use super::{Case, ElemOf, Host, Named, changed_results, run, split};
use crate::files::{self, Derived, Guard, Reads, below};
use crate::{Error, Loaded};
use onnx_exec::Value;
use onnx_ir::Model;
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the values of a file.
pub type ReadValues = dyn Fn(&Path, &ElemOf<'_>) -> Result<Named, String> + Send + Sync;
/// Runs a model with ONNX Runtime.
pub type OnnxRuntime = dyn Fn(&Model, &Named) -> Result<Named, String> + Send + Sync;

/// The content of a file of this name with these values.
pub type WriteValues = dyn Fn(&Path, &Named) -> Result<Vec<u8>, String> + Send + Sync;
/// A value with a name as ONNX text: `float[2] y = {1, 2}`.
pub type Literal = dyn Fn(&str, &Value) -> Result<String, String> + Send + Sync;

/// Whether snapshots and expected values are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Bless {
    /// No: a difference is a failure.
    #[default]
    No,
    /// Yes, unless results change: outputs that a pass changes, or that are not those of `#! expect`.
    Safe,
    /// Yes; if results change, the test gets a comment that says so.
    Force,
}

/// Options of finding and running tests.
#[derive(Clone, Default)]
pub struct Options {
    /// Whether snapshots are written.
    pub bless: Bless,
    /// The folder of the snapshots, if they are not beside the tests.
    pub snapshots: Option<PathBuf>,
    /// The folder that has all files that tests name; default: the folder of the tests, or that of a single file.
    pub root: Option<PathBuf>,
    /// Reads `.npz`, `.npy` and `.pb` files, for tests with `#! input FILE`.
    pub values: Option<Arc<ReadValues>>,
    /// Encodes `.npz` files, to bless expected outputs in files.
    pub write_values: Option<Arc<WriteValues>>,
    /// Writes literals, to bless expected outputs in tests.
    pub literal: Option<Arc<Literal>>,
    /// Whether tests may start other programs: a test that would, fails otherwise.
    pub allow_programs: bool,
    /// Runs ONNX Runtime, for tests with `#! expect same as onnxruntime`.
    pub onnxruntime: Option<Arc<OnnxRuntime>>,
}

impl Debug for Options {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("bless", &self.bless)
            .field("snapshots", &self.snapshots)
            .field("allow_programs", &self.allow_programs)
            .finish_non_exhaustive()
    }
}

/// A test and its file.
#[derive(Debug)]
pub struct Test {
    /// The file.
    pub file: PathBuf,
    /// Names for selecting it.
    pub tags: Vec<String>,
    /// The name of the case in a file with several cases.
    part: Option<String>,
    /// Whether the file was found in a folder, so that the user did not name it.
    is_in_folder: bool,
    case: Case,
    host: Arc<Beside>,
    bless: Bless,
}

impl Test {
    /// The path below the folder without the extension, and the name of the case in a file with several cases:
    /// `passes/relu/twice`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.case.name
    }

    /// Runs the test; if it passes and snapshots are blessed, writes changed snapshots.
    ///
    /// # Errors
    ///
    /// The difference from the expectation; a panic is an error too.
    pub fn run(&self) -> Result<(), String> {
        let ran = catch_unwind(AssertUnwindSafe(|| self.judge()));
        ran.unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("a bug in this program: {}", message.unwrap_or("panicked")))
        })
    }

    fn judge(&self) -> Result<(), String> {
        run(&self.case)?;
        let accepted = self.host.accepted();
        if self.bless == Bless::No || accepted.is_empty() && !self.host.store.has_changes() {
            return Ok(());
        }
        let changed = match changed_results(&self.case) {
            Ok(changed) => changed,
            Err(why) => Some(format!("the results before and after the pass cannot be compared: {why}")),
        };
        let differences = accepted.iter().map(|output| format!("{}\n", output.difference));
        let how: String = changed.into_iter().chain(differences).collect();
        if !how.is_empty() {
            if self.bless == Bless::Safe {
                return Err(format!(
                    "not blessed, because results change (`--bless=force` does it anyway):\n{how}"
                ));
            }
            let lines = self.renewed(&accepted)?;
            self.record(&how, &lines).map_err(|error| with_source(&error))?;
        }
        self.host.store.write().map_err(|error| with_source(&error))
    }

    /// Writes the files of accepted outputs; returns the lines of the others, before and after.
    fn renewed(&self, accepted: &[Accepted]) -> Result<Vec<(String, String)>, String> {
        let options = &self.host.options;
        let mut lines = Vec::new();
        let mut files: BTreeMap<String, Vec<&Accepted>> = BTreeMap::new();
        for output in accepted {
            let line = self.case.text.lines().nth(output.line.saturating_sub(1)).unwrap_or_default();
            if let Some(file) = file_of_values(line) {
                files.entry(file.to_owned()).or_default().push(output);
                continue;
            }
            let literal = options.literal.as_ref().ok_or("values cannot be written here")?;
            let literal = literal(&output.name, &output.value)?;
            let literal: Vec<&str> = literal.lines().map(str::trim).collect();
            let (_, tolerances) = split_tolerances(line.trim_end());
            lines.push((line.to_owned(), format!("#! expect {}{tolerances}", literal.join(" "))));
        }
        for (file, outputs) in files {
            let write = options.write_values.as_ref().ok_or("values cannot be written here")?;
            let known = outputs.iter().map(|output| (&*output.name, &output.value));
            let mut values = self.host.values(&file, &|name| elem_of(known.clone(), name))?;
            let count = values.len();
            for (name, value) in &mut values {
                let fits = |output: &&&Accepted| output.name == *name || name.is_empty() && count == 1;
                if let Some(output) = outputs.iter().find(fits) {
                    value.clone_from(&output.value);
                }
            }
            let content = write(Path::new(&file), &values)?;
            self.host.place(&file)?;
            // The file has been read as values.
            let file = Derived::below(&self.host.folder, Path::new(&file), |_| Ok(true));
            file.write(Guard::new(&Reads::default()), |out| out.write_all(&content))
                .map_err(|error| with_source(&error))?;
        }
        Ok(lines)
    }

    /// Records in the file, below the directives, that results change, and puts lines in place of others.
    fn record(&self, how: &str, lines: &[(String, String)]) -> Result<(), Error> {
        const MARK: &str = "# Results change: ";
        let cannot = |source| Error::read(&self.file, source);
        let mut text = fs::read_to_string(&self.file).map_err(cannot)?;
        for (old, new) in lines {
            // In the part itself, or in the head that it shares with others.
            let part = self.part.as_ref().and_then(|part| text.find(&format!("#--- {part}"))).unwrap_or(0);
            let found =
                text[part..].find(old.as_str()).map(|at| part + at).or_else(|| text.find(old.as_str()));
            if let Some(at) = found {
                text.replace_range(at..at + old.len(), new);
            }
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let starts = |line: &&str| line.strip_prefix("#---").map(str::trim) == self.part.as_deref();
        let begin =
            if self.part.is_some() { lines.iter().position(starts).map_or(0, |at| at + 1) } else { 0 };
        let is_head = |line: &&&str| line.starts_with("#!") || line.starts_with(MARK);
        let end = begin + lines[begin..].iter().take_while(is_head).count();
        let mut new: String = lines[..begin].concat();
        new.extend(lines[begin..end].iter().filter(|line| !line.starts_with(MARK)).copied());
        for line in how.lines() {
            new += &format!("{MARK}{line}\n");
        }
        new += &lines[end..].concat();
        let none = Reads::default();
        if self.is_in_folder {
            let file = Derived::beside(&self.file, |_| Ok(true));
            return file.write(Guard::new(&none), |out| out.write_all(new.as_bytes()));
        }
        files::write(&self.file, Guard::new(&none), |out| out.write_all(new.as_bytes()))
    }
}

fn with_source(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// The tests of a file, or of the `.onnxtxt` files of a folder that have directives, in the order of their names. Hidden entries
/// and links to folders are skipped.
///
/// # Errors
///
/// A file cannot be read, or its directives are invalid.
pub fn tests(path: impl AsRef<Path>, options: &Options) -> Result<Vec<Test>, Error> {
    let path = path.as_ref();
    let mut tests = Vec::new();
    if !path.is_dir() {
        add(path, path.parent().unwrap_or(Path::new("")), false, options, &mut tests)?;
        return Ok(tests);
    }
    for file in below(path, &["onnxtxt", "onnxtext"])? {
        add(&file, path, true, options, &mut tests)?;
    }
    Ok(tests)
}

/// Adds the tests of a file. In a folder, texts without directives are not tests, but models that tests refer to.
fn add(
    file: &Path,
    root: &Path,
    is_in_folder: bool,
    options: &Options,
    tests: &mut Vec<Test>,
) -> Result<(), Error> {
    let bytes = onnx_proto::file::open(file).map_err(|source| Error::read(file, source))?;
    let Ok(text) = String::from_utf8(bytes.into()) else {
        return if is_in_folder {
            Ok(())
        } else {
            Err(Error::refused(format!("{} is not a text", file.display())))
        };
    };
    let is_test = text.lines().any(|line| line.starts_with("#!") || line.starts_with("#---"));
    if is_in_folder && !is_test {
        return Ok(());
    }
    let stem = file.strip_prefix(root).unwrap_or(file).with_extension("");
    let name = stem.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
    let name = name.join("/");
    let wrong = |(line, why)| Error::refused(format!("{}:{line}: {why}", file.display()));
    for (part, text) in split(&text).map_err(wrong)? {
        let own = file.parent().unwrap_or(Path::new(""));
        let (snapshots, base) = match &options.snapshots {
            Some(folder) => (folder.clone(), stem.clone()),
            None => (own.to_owned(), PathBuf::from(stem.file_name().unwrap_or_default())),
        };
        let host = Arc::new(Beside {
            folder: own.to_owned(),
            root: options.root.as_deref().unwrap_or(root).to_owned(),
            store: Store::new(snapshots, base, part.as_deref(), options.bless != Bless::No),
            accepted: Mutex::default(),
            options: options.clone(),
        });
        let name = part.as_ref().map_or_else(|| name.clone(), |part| format!("{name}/{part}"));
        // An invalid directive fails the test.
        let tags = super::tags(&text).unwrap_or_default();
        let case = Case { name, text, host: Arc::<Beside>::clone(&host) };
        let (file, bless) = (file.to_owned(), options.bless);
        tests.push(Test { file, tags, part, is_in_folder, case, host, bless });
    }
    Ok(())
}

/// The host for a test: the files beside it.
#[derive(Debug)]
struct Beside {
    folder: PathBuf,
    /// The folder that files of directives are in.
    root: PathBuf,
    store: Store,
    accepted: Mutex<Vec<Accepted>>,
    options: Options,
}

/// An output that is accepted in place of an expectation.
#[derive(Clone, Debug)]
struct Accepted {
    /// The line of the directive in the text of the test, from 1.
    line: usize,
    name: String,
    value: Value,
    difference: String,
}

impl Beside {
    /// The path of a file that a directive names: a test reads no file outside of the tested folder, also not through links, and
    /// nothing that has no end.
    fn place(&self, file: &str) -> Result<PathBuf, String> {
        let outside = || format!("`{file}` is outside of the tested folder");
        if Path::new(file).has_root() {
            return Err(outside());
        }
        let path = self.folder.join(file);
        let root = if self.root.as_os_str().is_empty() { Path::new(".") } else { &self.root };
        let cannot = |error| format!("{}: {error}", path.display());
        let (real, root) = (path.canonicalize().map_err(cannot)?, root.canonicalize().map_err(cannot)?);
        if !real.starts_with(root) {
            return Err(outside());
        }
        match real.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(path),
            Ok(_) => Err(format!("`{file}` is not a regular file")),
            Err(error) => Err(cannot(error)),
        }
    }

    fn accepted(&self) -> Vec<Accepted> {
        std::mem::take(&mut *self.accepted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Host for Beside {
    fn compare(&self, _: &Case, what: &str, output: &str) -> Result<(), String> {
        self.store.compare(what, output)
    }

    fn values(&self, file: &str, elem: &ElemOf<'_>) -> Result<Named, String> {
        match &self.options.values {
            Some(read) => read(&self.place(file)?, elem),
            None => Err(format!("values cannot be read from the file `{file}` here")),
        }
    }

    fn accepts(&self, _: &Case, line: usize, (name, value): (&str, &Value), difference: &str) -> bool {
        if self.options.bless == Bless::No {
            return false;
        }
        let (name, value, difference) = (name.to_owned(), value.clone(), difference.to_owned());
        let accepted = Accepted { line, name, value, difference };
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner).push(accepted);
        true
    }

    fn model(&self, file: &str) -> Result<Loaded, String> {
        crate::open(self.place(file)?).map_err(|error| with_source(&error))
    }

    fn allows_programs(&self) -> bool {
        self.options.allow_programs
    }

    fn onnxruntime(&self, model: &Model, inputs: &Named) -> Result<Named, String> {
        match &self.options.onnxruntime {
            Some(run) => run(model, inputs),
            None => Err("ONNX Runtime is not available here".to_owned()),
        }
    }
}
