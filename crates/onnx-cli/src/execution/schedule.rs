//! `--schedule FILE`: runs a model by a given schedule.

use crate::execution::prepared::Prepared;
use crate::session::{Reported, Session, Status};
use anyhow::Context as _;
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::diag::{Code, code};
use onnx_text::render::{SourceKind, SourceText};
use std::fs;
use std::path::PathBuf;

/// Findings with places in the schedule, not in the model.
const OF_SCHEDULES: [&Code; 4] =
    [&code::SCHEDULE_SYNTAX, &code::SCHEDULE_ILLEGAL, &code::SCHEDULE_MISMATCH, &code::SCHEDULE_RESULTS];

/// The schedule to run a model by.
#[derive(clap::Args)]
pub(crate) struct ScheduleArgs {
    /// Run the kernels of this schedule, in the format of `lower`; it is verified first
    #[arg(long, value_name = "FILE")]
    schedule: Option<PathBuf>,
}

impl ScheduleArgs {
    /// Makes runs with such inputs follow the schedule, if one is given. An illegal schedule is reported.
    pub(crate) fn follow(
        &self,
        prepared: &Prepared,
        executable: &Executable<'_>,
        inputs: &[Option<Value>],
        options: &RunOptions<'_>,
        session: &mut Session,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.schedule else { return Ok(()) };
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let options = RunOptions { observe: None, time: None, ..options.clone() };
        let done = options.within(|| executable.read_schedule(&text, inputs.to_vec(), &options));
        let Err(finding) = done else { return Ok(()) };
        if OF_SCHEDULES.contains(&finding.code) {
            let name = path.display().to_string();
            session.report(&SourceText::new(&name, &text, SourceKind::Text), &[*finding]);
        } else {
            prepared.report(session, &[*finding]);
        }
        Err(Reported(Status::Findings).into())
    }
}
