//! Runs a command of the user with a model in place of `{}`.

use crate::programs::scratch::{self, Scratch};
use anyhow::{Context as _, ensure};
use onnx_ir::Model;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The placeholder for the model in a command.
pub(crate) const MODEL: &str = "{}";
/// More bytes of output are not looked at.
const MAX_OUTPUT: u64 = 16 << 20;

/// A command with `{}` in it.
pub(crate) struct UserCommand<'w> {
    words: &'w [String],
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was ended because it took too long.
    Timeout,
}

/// A command that has ended.
pub(crate) struct CommandResult {
    pub(crate) end: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl<'w> UserCommand<'w> {
    /// A command of at least one word, with `{}` in one of those after the first.
    pub(crate) fn new(words: &'w [String]) -> anyhow::Result<UserCommand<'w>> {
        let has_model = words.iter().skip(1).any(|word| word.contains(MODEL));
        ensure!(has_model, "the command has no `{MODEL}`, which stands for the model");
        Ok(UserCommand { words })
    }

    /// The command line for a model of this path.
    pub(crate) fn line(&self, model: &str) -> String {
        let quoted = |word: &String| quoted(&word.replace(MODEL, model));
        self.words.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Runs the command with a copy of a model, at most for some time.
    pub(crate) fn run_copy(
        &self,
        file: &onnxtxt::File,
        model: &Model,
        timeout: Option<Duration>,
    ) -> anyhow::Result<CommandResult> {
        let scratch = Scratch::new()?;
        self.run(&scratch.copy(file, model)?, timeout)
    }

    /// Runs the command with a file that it may change, at most for some time.
    pub(crate) fn run(&self, model: &Path, timeout: Option<Duration>) -> anyhow::Result<CommandResult> {
        let Some((program, arguments)) = self.words.split_first() else { anyhow::bail!("no command given") };
        // Files instead of pipes: a program that the command leaves behind must not keep them open.
        let (mut stdout, mut stderr) = (scratch::unnamed()?, scratch::unnamed()?);
        let start = Instant::now();
        let mut command = Command::new(program);
        command
            .args(arguments.iter().map(|word| with_model(word, model)))
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?);
        // With all that it starts, so that it can be ended as a whole.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = Group::start(&mut command).with_context(|| format!("cannot run `{program}`"))?;
        let end = wait(&mut child, timeout)?.map_or(Exit::Timeout, Exit::of);
        let took = start.elapsed();
        Ok(CommandResult { end, stdout: content(&mut stdout)?, stderr: content(&mut stderr)?, took })
    }
}

/// A word with a model in place of `{}`. The path of a model need not be UTF-8.
fn with_model(word: &str, model: &Path) -> OsString {
    let mut out = OsString::new();
    for (at, part) in word.split(MODEL).enumerate() {
        if at > 0 {
            out.push(model);
        }
        out.push(part);
    }
    out
}

impl Exit {
    fn of(status: ExitStatus) -> Exit {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Exit::Signal(signal);
        }
        Exit::Code(status.code().unwrap_or(-1))
    }
}

/// `exits with 1`
impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exits with {code}"),
            Exit::Signal(signal) => write!(f, "is ended by signal {signal}"),
            Exit::Timeout => f.write_str("does not end in time"),
        }
    }
}

/// A process and those that it starts, which end with this program.
struct Group(Child);

/// The groups that run.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    fn start(command: &mut Command) -> std::io::Result<Group> {
        WATCH.call_once(|| onnxtxt::files::when_ended(|| running().iter().for_each(|&id| end_group(id))));
        // A signal waits until the group is in the list.
        let mut running = running();
        let child = command.spawn()?;
        running.push(child.id());
        Ok(Group(child))
    }

    /// Ends all processes of the group, none of which has been waited for.
    fn end(&mut self) -> std::io::Result<()> {
        end_group(self.0.id());
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        running().retain(|&id| id != self.0.id());
    }
}

#[cfg(unix)]
fn end_group(id: u32) {
    let group = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // A group that has ended already is what was asked for.
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end_group(_: u32) {}

/// Waits for a process, and ends it when the time is over.
fn wait(group: &mut Group, timeout: Option<Duration>) -> anyhow::Result<Option<ExitStatus>> {
    let Some(timeout) = timeout else { return Ok(Some(group.0.wait()?)) };
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = group.0.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= timeout {
            group.end()?;
            return Ok(None);
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn content(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["sh", "-c", "grep -q 'x y' {}"].map(str::to_owned);
        assert_eq!(UserCommand::new(&words).unwrap().line("m.onnx"), r"sh -c 'grep -q '\''x y'\'' m.onnx'");
        assert!(UserCommand::new(&words[..2]).is_err());
    }
}
