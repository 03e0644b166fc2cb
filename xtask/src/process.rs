//! Running other programs: the command line is shown, a failure names it.

use anyhow::{Context as _, Result, bail};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs to the end; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", line(command));
    let status = command.status().with_context(|| format!("cannot start `{}`", program(command)))?;
    succeeded(command, status)
}

/// Like [`run`], but kills the program when the time is up.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    eprintln!("$ {}", line(command));
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", program(command)))?;
    match wait_within(&mut child, limit)? {
        Some(status) => succeeded(command, status),
        None => bail!("`{}` took longer than {} s", program(command), limit.as_secs()),
    }
}

/// Waits for the end of a program; kills it when the time is up, and then gives nothing.
pub(crate) fn wait_within(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the trimmed stdout of a program.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", program(command)))?;
    succeeded(command, output.status)?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Whether the program starts and succeeds; prints nothing.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The machine that this runs on, as a target of the compiler.
pub(crate) fn host() -> Result<String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say its host")?.to_owned())
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { bail!("`{}` failed ({status})", line(command)) }
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn line(command: &Command) -> String {
    let root = crate::dirs::root();
    let prefix = format!("{}/", root.display());
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().replace(&prefix, ""))
        .collect::<Vec<_>>()
        .join(" ")
}
