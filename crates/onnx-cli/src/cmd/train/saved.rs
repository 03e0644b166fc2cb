//! The saved state of a training: an archive of arrays, replaced as a whole or not at all.
//!
//! Variables have their names; what belongs to the training itself has names that begin with `onnxtxt.train.`, and the best state
//! of a training with `--early-stop` has the prefix `onnxtxt.train.best/`.

use crate::feed::npy;
use crate::output;
use crate::reads::{self, Unreadable};
use anyhow::{Context as _, ensure};
use onnx_exec::Tensor;
use onnx_ir::ElemType;
use onnxtxt::train::{Position, State, Trainer};
use std::path::Path;

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

impl Saved {
    /// Writes the archive.
    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
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
        // The state that the training continues from may be replaced: that is what it is for.
        output::rewrite(path, |out| npy::write_all(&arrays, out))
    }

    /// Reads the archive for a training.
    pub(super) fn read(path: &Path, trainer: &Trainer<'_>) -> anyhow::Result<Saved> {
        let cannot = || Unreadable::new(path);
        reads::note(path);
        let bytes = onnx_proto::file::open(path).with_context(cannot)?;
        let names: Vec<(String, String, ElemType)> = (trainer.state().variables.into_iter())
            .map(|(name, tensor)| (npy::member(&name), name, tensor.elem()))
            .collect();
        let find = |member: &str| {
            let member = member.strip_prefix(BEST).unwrap_or(member);
            names.iter().find(|(known, ..)| known == member)
        };
        let wanted = |member: &str| find(member).map(|(.., elem)| *elem);
        let arrays = npy::read_all(&bytes, wanted).with_context(cannot)?;
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
