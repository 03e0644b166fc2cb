//! The report of a panic, which is always a bug: version, command, and place.

use std::ffi::OsString;
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a panic, with and without unwinding.
const BUG: i32 = 101;

/// Replaces the panic message of Rust by a request for a bug report, printed once and without a backtrace. A program that is
/// compiled without unwinding ends here.
pub(crate) fn report_panics() {
    report_and(cfg!(panic = "abort"));
}

fn report_and(ends: bool) {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    panic::set_hook(Box::new(move |info| {
        // If one of several threads panics, the thread that joins it panics too.
        if !IS_REPORTED.swap(true, Ordering::SeqCst) {
            let place =
                info.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
            let text = report(&format!("{}{place}", what(info)), std::env::args_os());
            // A closed stderr must not panic again.
            _ = super::to_stderr(&text);
            if ends {
                onnxtxt::files::clean_up();
                std::process::exit(BUG);
            }
        }
        if ends {
            // Another thread has panicked before, and ends the program.
            loop {
                std::thread::park();
            }
        }
    }));
}

/// The message of a panic.
fn what(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text =
        payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic").to_owned()
}

/// The text of the bug report.
fn report(what: &str, command: impl Iterator<Item = OsString>) -> String {
    let command: Vec<String> = command.map(|part| shown(&part.to_string_lossy())).collect();
    format!(
        "internal error: {}\n\nthis is a bug in onnxtxt {}. Please report it with these lines and, if you can, the file:\n  {}\n",
        what.escape_debug(),
        env!("CARGO_PKG_VERSION"),
        command.join(" "),
    )
}

/// A command-line argument, quoted where a shell would split it, with control characters escaped.
fn shown(part: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !part.is_empty() && part.chars().all(is_plain) { part.to_owned() } else { format!("{part:?}") }
}

#[cfg(test)]
mod tests {
    use super::{BUG, OsString, report, report_and};
    use onnxtxt::files::{Guard, Reads, write};
    use std::path::Path;
    use std::process::Command;

    /// The folder of the program that panics in the test below.
    const FOLDER: &str = "ONNXTXT_TEST_OF_PANICS";

    /// Panics while a file is written, in one thread or in several.
    fn panic_in(folder: &Path) {
        report_and(true);
        let panic = || {
            let text = folder.join("a.txt");
            write(&text, Guard::new(&Reads::default()), |out| {
                out.write_all(b"half")?;
                panic!("a bug in the test")
            })
        };
        std::thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(panic)));
    }

    #[test]
    fn a_panic_without_unwinding_is_reported_once_and_leaves_no_file() {
        if let Some(folder) = std::env::var_os(FOLDER) {
            return panic_in(Path::new(&folder));
        }
        let folder = tempfile::tempdir().unwrap();
        let name = "session::panics::tests::a_panic_without_unwinding_is_reported_once_and_leaves_no_file";
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args([name, "--exact"]).env(FOLDER, folder.path());
        let done = program.output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(BUG), "{stderr}");
        assert_eq!(stderr.matches("internal error: a bug in the test at ").count(), 1, "{stderr}");
        let left: Vec<_> = folder.path().read_dir().unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn a_report_has_the_version_and_the_command() {
        let command = ["onnxtxt", "run", "a b.onnx", "\u{1b}[31m"].map(OsString::from);
        let text = report("index out of bounds at x.rs:7", command.into_iter());
        for part in [
            "internal error: index out of bounds at x.rs:7\n",
            concat!("onnxtxt ", env!("CARGO_PKG_VERSION"), ". Please report"),
            "onnxtxt run \"a b.onnx\" \"\\u{1b}[31m\"\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("backtrace") && !text.contains('\u{1b}'));
    }
}
