//! Runs a command of the user with a model in place of `{}`.

use anyhow::{Context as _, ensure};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The placeholder for the model in a command.
pub(crate) const MODEL: &str = "{}";
/// More bytes of output are not looked at.
const MAX_OUTPUT: u64 = 16 << 20;

/// A command with `{}` in it.
pub(crate) struct Trial<'w> {
    words: &'w [String],
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was ended because it took too long.
    Timeout,
}

/// A command that has ended.
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl<'w> Trial<'w> {
    /// A command of at least one word, with `{}` in one of those after the first.
    pub(crate) fn new(words: &'w [String]) -> anyhow::Result<Trial<'w>> {
        let has_model = words.iter().skip(1).any(|word| word.contains(MODEL));
        ensure!(has_model, "the command has no `{MODEL}`, which stands for the model");
        Ok(Trial { words })
    }

    /// The command line for a model of this path.
    pub(crate) fn line(&self, model: &str) -> String {
        let quoted = |word: &String| quoted(&word.replace(MODEL, model));
        self.words.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Runs the command, at most for some time.
    pub(crate) fn run(&self, model: &Path, timeout: Option<Duration>) -> anyhow::Result<Ran> {
        let path = model.to_str().with_context(|| format!("{} is not UTF-8", model.display()))?;
        let Some((program, arguments)) = self.words.split_first() else { anyhow::bail!("no command given") };
        // Files instead of pipes: a program that the command leaves behind must not keep them open.
        let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let start = Instant::now();
        let mut child = Command::new(program)
            .args(arguments.iter().map(|word| word.replace(MODEL, path)))
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .spawn()
            .with_context(|| format!("cannot run `{program}`"))?;
        let end = wait(&mut child, timeout)?.map_or(End::Timeout, End::of);
        let took = start.elapsed();
        Ok(Ran { end, stdout: content(&mut stdout)?, stderr: content(&mut stderr)?, took })
    }
}

impl End {
    fn of(status: ExitStatus) -> End {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return End::Signal(signal);
        }
        End::Code(status.code().unwrap_or(-1))
    }
}

/// `exits with 1`
impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Code(code) => write!(f, "exits with {code}"),
            End::Signal(signal) => write!(f, "is ended by signal {signal}"),
            End::Timeout => f.write_str("does not end in time"),
        }
    }
}

/// Waits for a process, and ends it when the time is over.
fn wait(child: &mut Child, timeout: Option<Duration>) -> anyhow::Result<Option<ExitStatus>> {
    let Some(timeout) = timeout else { return Ok(Some(child.wait()?)) };
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= timeout {
            child.kill()?;
            child.wait()?;
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
        assert_eq!(Trial::new(&words).unwrap().line("m.onnx"), r"sh -c 'grep -q '\''x y'\'' m.onnx'");
        assert!(Trial::new(&words[..2]).is_err());
    }
}
