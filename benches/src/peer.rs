//! A peer in a separate process that runs requested jobs: the Python package (`peer.py`), or a runtime (`peers`).

use crate::clock::Sample;
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A running peer.
pub(crate) struct Peer {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    process: Child,
}

/// The peer's answer when it is ready for a job.
pub(crate) struct Prepared {
    /// Size of the text that it makes, in bytes, if it makes text.
    pub(crate) bytes: Option<usize>,
    /// The files that it cannot do the job for.
    pub(crate) refused: Vec<PathBuf>,
}

impl Peer {
    /// The Python package, which does jobs.
    pub(crate) fn of_python(python: &Path) -> Result<Peer> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peer.py");
        Peer::start(Command::new(python).arg(script))
    }

    /// Any program that answers requests.
    pub(crate) fn start(command: &mut Command) -> Result<Peer> {
        let mut process = (command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn())
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let input = process.stdin.take().context("the peer has a stdin")?;
        let output = BufReader::new(process.stdout.take().context("the peer has a stdout")?);
        Ok(Peer { input, output, process })
    }

    /// Loads the files of a job and does it once.
    pub(crate) fn prepare(&mut self, job: &str, files: &[PathBuf]) -> Result<Prepared> {
        let answer = self.ask(&json!({"prepare": job, "files": files}))?;
        let refused = answer["refused"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Prepared {
            bytes: answer["bytes"].as_u64().and_then(|bytes| usize::try_from(bytes).ok()),
            refused: refused.iter().filter_map(Value::as_str).map(PathBuf::from).collect(),
        })
    }

    /// Does the job.
    pub(crate) fn run(&mut self) -> Result<Sample> {
        let answer = self.ask(&json!({"run": true}))?;
        Ok(Sample { wall: seconds(&answer, "wall")?, cpu: seconds(&answer, "cpu")?, memory: None })
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.input, "{request}").context("the peer has ended")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line).context("the peer has ended")?;
        match answer["error"].as_str() {
            Some(error) => bail!("{error}"),
            None => Ok(answer),
        }
    }
}

impl Peer {
    /// [`ask`](Self::ask), and ends the peer where the answer takes longer.
    pub(crate) fn ask_within(&mut self, request: &Value, limit: Duration) -> Result<Value> {
        let process = self.process.id();
        let (answered, waits) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let is_late = waits.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                end(process);
            }
            is_late
        });
        let answer = self.ask(request);
        drop(answered);
        match watch.join() {
            Ok(true) => bail!("it takes longer than {} s", limit.as_secs()),
            Ok(false) | Err(_) => answer,
        }
    }
}

/// Ends a process that is a child of this one and has not been waited for.
#[cfg(unix)]
fn end(process: u32) {
    if let Ok(process) = i32::try_from(process) {
        let process = nix::unistd::Pid::from_raw(process);
        _ = nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL);
    }
}

/// Elsewhere it is waited for.
#[cfg(not(unix))]
fn end(_: u32) {}

impl Drop for Peer {
    /// Nothing of it is worth keeping, and its memory would be missing while the next one is timed.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A time of an answer.
pub(crate) fn seconds(answer: &Value, key: &str) -> Result<f64> {
    answer[key].as_f64().context("the peer tells its times")
}
