//! The saved state of a training: an archive of arrays, replaced as a whole or not at all.
//!
//! Variables have their names; what belongs to the training itself has names that begin with `onnxtxt.train.`, and the best state
//! of a training with `--early-stop` has the prefix `onnxtxt.train.best/`.

use super::Args;
use crate::npy::{self, Wanted};
use crate::output::OutputTarget;
use crate::read_files::{self, Unreadable};
use anyhow::{Context as _, bail, ensure};
use onnx_exec::Tensor;
use onnx_ir::ElemType;
use onnxtxt::files::{self, Derived, Guard, Reads};
use onnxtxt::train::{Position, State, Trainer};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Prefix of names that are not variables.
const OWN: &str = "onnxtxt.train.";
/// Prefix of variables of the best state.
const BEST: &str = "onnxtxt.train.best/";

/// The best state so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Best {
    /// The loss, and the epochs since.
    pub(super) loss: f64,
    pub(super) epochs_since: u64,
    pub(super) state: State,
}

/// Everything that a training continues from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Saved {
    pub(super) state: State,
    pub(super) position: Position,
    pub(super) rows: usize,
    pub(super) seed: u64,
    pub(super) shuffle: bool,
    pub(super) best: Option<Best>,
}

/// The file of the saved state.
#[derive(Clone, Debug)]
pub(super) struct StateFile {
    pub(super) path: PathBuf,
    /// Whether its name follows from that of the result.
    is_derived: bool,
    /// Whether the training continues from it, so that it is replaced although it was read.
    pub(super) is_resumed: bool,
}

impl StateFile {
    /// The file that a command line means, if it may be written.
    pub(super) fn of(args: &Args) -> anyhow::Result<StateFile> {
        let path = match (&args.state, OutputTarget::new(args.out.path().unwrap_or(&args.file))) {
            (Some(path), _) => path.clone(),
            (None, OutputTarget::File(path)) => path.with_extension("state.npz"),
            (None, OutputTarget::Stdout) => {
                bail!("stdout has no name for the saved state: add `--state STATE.npz`")
            }
        };
        ensure!(npy::is_archive(&path), "{} does not end in .npz", path.display());
        let target = OutputTarget::File(path.clone());
        let is_resumed = args.resume.as_ref().is_some_and(|resumed| target.is(resumed));
        let file = StateFile { path, is_derived: args.state.is_none(), is_resumed };
        let reads = read_files::all();
        match file.is_derived {
            true => file.derived().check(file.guard(&reads))?,
            false => files::may_write(&file.path, file.guard(&reads))?,
        }
        Ok(file)
    }

    fn derived(&self) -> Derived<'_> {
        Derived::beside(&self.path, is_state)
    }

    fn guard<'r>(&self, reads: &'r Reads) -> Guard<'r> {
        let guard = Guard::new(reads);
        if self.is_resumed { guard.even_read() } else { guard }
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        let reads = read_files::all();
        match self.is_derived {
            true => self.derived().write(self.guard(&reads), write)?,
            false => files::write(&self.path, self.guard(&reads), write)?,
        }
        Ok(())
    }
}

/// Whether a file is the saved state of a training.
fn is_state(file: &mut File) -> io::Result<bool> {
    Ok(npy::has_array(file, &format!("{OWN}step")))
}

impl Saved {
    /// Writes the archive.
    pub(super) fn write(&self, file: &StateFile) -> anyhow::Result<()> {
        let mut arrays = self.state.variables.clone();
        let mut number = |name: &str, number: u64| -> anyhow::Result<()> {
            arrays.push((format!("{OWN}{name}"), Tensor::scalar(number)?));
            Ok(())
        };
        number("step", self.state.step)?;
        number("epoch", self.position.epoch)?;
        number("row", self.position.row as u64)?;
        number("rows", self.rows as u64)?;
        number("seed", self.seed)?;
        number("shuffle", u64::from(self.shuffle))?;
        if let Some(best) = &self.best {
            number("best_step", best.state.step)?;
            number("epochs_since_best", best.epochs_since)?;
            arrays.push((format!("{OWN}best_loss"), Tensor::scalar(best.loss)?));
            let variables = best.state.variables.iter();
            arrays.extend(variables.map(|(name, tensor)| (format!("{BEST}{name}"), tensor.clone())));
        }
        file.write(|out| npy::write_all(&arrays, out))
    }

    /// Reads the archive for a training.
    pub(super) fn read(path: &Path, trainer: &Trainer<'_>) -> anyhow::Result<Saved> {
        let cannot = || Unreadable::new(path);
        read_files::note(path);
        let bytes = onnx_proto::file::open(path).with_context(cannot)?;
        let names: Vec<(String, String, ElemType)> = (trainer.state().variables.into_iter())
            .map(|(name, tensor)| (npy::member(&name), name, tensor.elem()))
            .collect();
        let find = |member: &str| {
            let member = member.strip_prefix(BEST).unwrap_or(member);
            names.iter().find(|(known, ..)| known == member)
        };
        let requested = |member: &str| Wanted::As(find(member).map(|(.., elem)| *elem));
        let arrays = npy::read_all(&bytes, requested).with_context(cannot)?.read;
        let own = |name: &str| {
            let array = arrays.iter().find(|(known, _)| known.strip_prefix(OWN) == Some(name));
            array.map(|(_, tensor)| tensor)
        };
        let number = |name: &str| -> anyhow::Result<u64> {
            let tensor =
                own(name).with_context(|| format!("it has no `{OWN}{name}`")).with_context(cannot)?;
            let numbers = tensor.slice::<u64>().with_context(cannot)?;
            numbers.first().copied().with_context(|| format!("`{OWN}{name}` is empty"))
        };
        let (mut variables, mut best_variables) = (Vec::new(), Vec::new());
        for (member, tensor) in &arrays {
            let name = find(member).map_or(member.as_str(), |(_, name, _)| name).to_owned();
            if member.starts_with(BEST) {
                best_variables.push((name, tensor.clone()));
            } else if !member.starts_with(OWN) {
                variables.push((name, tensor.clone()));
            }
        }
        let best = match own("best_loss") {
            Some(loss) => {
                let loss = loss.slice::<f64>().with_context(cannot)?.first().copied();
                let loss = loss.context("the best loss is empty").with_context(cannot)?;
                let state = State { step: number("best_step")?, variables: best_variables };
                Some(Best { loss, epochs_since: number("epochs_since_best")?, state })
            }
            None => None,
        };
        let size = |name: &str| -> anyhow::Result<usize> {
            usize::try_from(number(name)?).with_context(|| format!("`{OWN}{name}` is too large"))
        };
        let (row, rows) = (size("row")?, size("rows")?);
        ensure!(row <= rows, "{} is not a saved state: row {row} of {rows}", path.display());
        Ok(Saved {
            state: State { step: number("step")?, variables },
            position: Position { epoch: number("epoch")?, row },
            rows,
            seed: number("seed")?,
            shuffle: number("shuffle")? != 0,
            best,
        })
    }
}
