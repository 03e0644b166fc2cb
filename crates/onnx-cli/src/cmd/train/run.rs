//! The loop over batches: steps, evaluations, saved states, and when to stop.

use super::data::Data;
use super::history::History;
use super::record::{Means, Numbers, Report, numbers, shown};
use super::saved::{Best, Saved, StateFile};
use crate::session::Session;
use crate::session::progress::Work;
use anyhow::{Context as _, ensure};
use onnx_ir::diag::{Diagnostic, Place, code, counted};
use onnxtxt::train::{Batches, Position, Trainer};
use std::time::Instant;

/// When a training ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// After so many steps in all.
    Steps(u64),
    /// After so many epochs in all.
    Epochs(u64),
}

/// How a model is trained.
pub(super) struct TrainingPlan {
    pub(super) stop: Stop,
    /// Examples per step.
    pub(super) batch: Option<usize>,
    /// The seed of the order of examples.
    pub(super) shuffle: Option<u64>,
    /// Epochs without a lower loss.
    pub(super) early_stop: Option<u64>,
    /// After how many steps the state is saved, and where.
    pub(super) save: Option<(u64, StateFile)>,
    /// Outputs to report.
    pub(super) log: Vec<String>,
    /// The numbers of all steps, and where they are written.
    pub(super) history: History,
}

/// The number of lines that report the progress of a training.
const LINES: u64 = 20;

/// A training that is under way.
struct TrainingRun<'t, 'r> {
    trainer: &'t mut Trainer<'r>,
    plan: &'t TrainingPlan,
    data: &'t Data,
    eval: Option<&'t Data>,
    batches: Batches,
    best: Option<Best>,
    report: Report,
    history: History,
    is_saved: bool,
}

/// Trains a model, or says why it cannot be trained.
pub(super) fn train(
    trainer: &mut Trainer<'_>,
    plan: &TrainingPlan,
    data: &Data,
    eval: Option<&Data>,
    resumed: Option<Saved>,
    session: &Session,
    work: &Work,
) -> anyhow::Result<Result<Report, Vec<Diagnostic>>> {
    if let (Some(batch), Some(declared)) = (plan.batch, data.declared) {
        ensure!(
            batch == declared,
            "--batch {batch}, but the model declares {} per step",
            counted(declared, "example")
        );
    }
    let batch = plan.batch.or(data.declared).unwrap_or(data.rows);
    let batches = Batches::new(data.rows, batch, plan.shuffle, data.declared.is_none());
    let mut batches = batches.with_context(|| {
        format!("the data has {}, fewer than a step of {batch}", counted(data.rows, "example"))
    })?;
    let mut best = None;
    if let Some(saved) = resumed {
        ensure!(
            saved.rows == data.rows,
            "the data has {}, but the state was saved with {}",
            counted(data.rows, "example"),
            saved.rows,
        );
        batches.seek(saved.position);
        best = saved.best;
    }
    let report = Report { steps: trainer.steps(), ..Report::default() };
    let history = plan.history.clone();
    let mut run = TrainingRun { trainer, plan, data, eval, batches, best, report, history, is_saved: false };
    let start = Instant::now();
    let done = run.all(session, work);
    // Also of a training that diverged: its curves show where.
    run.history.write()?;
    let done = done?;
    run.report.took = start.elapsed();
    Ok(done.map(|()| run.report))
}

impl TrainingRun<'_, '_> {
    /// The number of steps in all, as far as it is known.
    fn total(&self) -> u64 {
        match self.plan.stop {
            Stop::Steps(steps) => steps,
            Stop::Epochs(epochs) => epochs.saturating_mul(self.batches.per_epoch() as u64),
        }
    }

    fn is_done(&self) -> bool {
        let position = self.batches.position();
        let waits = self.best.as_ref().map_or(0, |best| best.epochs_since);
        self.plan.early_stop.is_some_and(|max| waits >= max)
            || match self.plan.stop {
                Stop::Steps(steps) => self.trainer.steps() >= steps,
                Stop::Epochs(epochs) => position.epoch >= epochs,
            }
    }

    fn all(&mut self, session: &Session, work: &Work) -> anyhow::Result<Result<(), Vec<Diagnostic>>> {
        let total = self.total().max(1);
        work.now_counted("training", usize::try_from(total).unwrap_or(usize::MAX));
        while !self.is_done() {
            // One step.
            let before = self.batches.position();
            let batch = self.batches.next_batch();
            let inputs = self.data.of(&batch)?;
            let outputs = match self.trainer.step(&inputs) {
                Ok(outputs) => outputs,
                Err(found) => {
                    self.keep_last_state(before, session)?;
                    return Ok(Err(vec![*found]));
                }
            };
            // Its results are recorded. NaN ends the training.
            let step = self.trainer.steps();
            self.report.last = numbers(&outputs, &self.plan.log)?;
            let position = self.batches.position();
            self.history.step(step, position.epoch + u64::from(position.row > 0), &self.report.last);
            if let Some((name, _)) = self.report.last.iter().find(|(_, number)| number.is_nan()) {
                let message = format!("`{name}` is NaN after step {step}: the training diverges");
                let found = Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, message);
                self.keep_last_state(self.batches.position(), session)?;
                return Ok(Err(vec![found.help("lower the learning rate")]));
            }
            if batch.is_last
                && let Err(found) = self.end_epoch()?
            {
                return Ok(Err(found));
            }
            self.report.steps = step;
            self.report.epochs = self.batches.position().epoch;
            let is_end = self.is_done();
            // The state is saved from time to time, and a line is printed for each tenth of the training.
            if let Some((every, _)) = &self.plan.save
                && (step.is_multiple_of(*every) || is_end)
            {
                self.save(self.batches.position())?;
                self.is_saved = true;
            }
            let line = |step: u64| u128::from(step) * u128::from(LINES) / u128::from(total);
            if line(step) != line(step - 1) || (is_end && line(step) == 0) {
                work.above(|| session.note(&self.line(step)));
            }
            work.at(
                usize::try_from(step).unwrap_or(usize::MAX),
                &format!("training: {}", shown(&self.report.last)),
            );
        }
        // A training that was stopped early returns its best weights, which are evaluated at the end.
        self.report.is_stopped_early = self
            .plan
            .early_stop
            .is_some_and(|max| self.best.as_ref().is_some_and(|best| best.epochs_since >= max));
        if self.report.is_stopped_early
            && let Some(best) = &self.best
            && let Err(found) = self.trainer.load_state(&best.state)
        {
            return Ok(Err(found));
        }
        if let Some(eval) = self.eval {
            match self.evaluate(eval)? {
                Ok(numbers) => {
                    if !self.report.is_stopped_early {
                        self.history.evaluation(self.trainer.steps(), &numbers);
                    }
                    self.report.eval = Some(numbers);
                }
                Err(found) => return Ok(Err(vec![*found])),
            }
        }
        Ok(Ok(()))
    }

    /// `step 45 (epoch 1): loss 0.3125`
    fn line(&self, step: u64) -> String {
        // The epoch that the step belongs to, counted from 1.
        let position = self.batches.position();
        let mut text = format!("step {step} (epoch {})", position.epoch + u64::from(position.row > 0));
        if !self.report.last.is_empty() {
            text += &format!(": {}", shown(&self.report.last));
        }
        if let Some(eval) = self.report.eval.as_ref().filter(|eval| !eval.is_empty()) {
            text += &format!("; eval {}", shown(eval));
        }
        text
    }

    /// Evaluates the model at the end of an epoch, and remembers the best state.
    fn end_epoch(&mut self) -> anyhow::Result<Result<(), Vec<Diagnostic>>> {
        let mut watched = self.report.last.first().map(|(_, loss)| *loss);
        if let Some(eval) = self.eval {
            match self.evaluate(eval)? {
                Ok(numbers) => {
                    self.history.evaluation(self.trainer.steps(), &numbers);
                    watched = numbers.first().map(|(_, loss)| *loss);
                    self.report.eval = Some(numbers);
                }
                Err(found) => return Ok(Err(vec![*found])),
            }
        }
        self.history.update()?;
        if self.plan.early_stop.is_some() {
            let loss = watched.context("no output of a step is a number that --early-stop could watch")?;
            // NaN is not lower than anything, and anything is lower than NaN.
            let is_lower = self.best.as_ref().is_none_or(|best| loss < best.loss || best.loss.is_nan());
            match &mut self.best {
                Some(best) if !is_lower => best.epochs_since += 1,
                best => *best = Some(Best { loss, epochs_since: 0, state: self.trainer.state() }),
            }
        }
        Ok(Ok(()))
    }

    /// Means over data, in batches of the same size.
    fn evaluate(&self, data: &Data) -> anyhow::Result<Result<Numbers, Box<Diagnostic>>> {
        let batch = self.plan.batch.or(data.declared).unwrap_or(data.rows);
        let batches = Batches::new(data.rows, batch, None, data.declared.is_none());
        let mut batches = batches.with_context(|| {
            format!("the data of --eval has {}, fewer than a step of {batch}", counted(data.rows, "example"))
        })?;
        let mut means = Means::default();
        for _ in 0..batches.per_epoch() {
            let batch = batches.next_batch();
            match self.trainer.evaluate(&data.of(&batch)?) {
                Ok(outputs) => means.add(&numbers(&outputs, &self.plan.log)?, batch.rows.len()),
                Err(found) => return Ok(Err(found)),
            }
        }
        Ok(Ok(means.get()))
    }

    /// Saves the last good state of a training that diverges, if no earlier one was saved, and says where the last one is.
    fn keep_last_state(&self, position: Position, session: &Session) -> anyhow::Result<()> {
        let Some((_, file)) = &self.plan.save else { return Ok(()) };
        if !self.is_saved && !file.is_resumed {
            self.save(position)?;
        }
        session.note(&format!("train: the last state is in {}", file.path.display()));
        Ok(())
    }

    fn save(&self, position: Position) -> anyhow::Result<()> {
        let Some((_, file)) = &self.plan.save else { return Ok(()) };
        let saved = Saved {
            state: self.trainer.state(),
            position,
            rows: self.data.rows,
            seed: self.trainer.seed(),
            shuffle: self.plan.shuffle.is_some(),
            best: self.best.clone(),
        };
        saved.write(file)
    }
}
