//! The report of a panic, which is always a bug: version, command, and place.

use std::ffi::OsString;
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};

/// Replaces the panic message of Rust by a request for a bug report, printed once and without a backtrace.
pub(crate) fn report_panics() {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    panic::set_hook(Box::new(move |info| {
        // If one of several threads panics, the thread that joins it panics too.
        if !IS_REPORTED.swap(true, Ordering::SeqCst) {
            let place =
                info.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
            let text = report(&format!("{}{place}", what(info)), std::env::args_os());
            // A closed stderr must not panic again.
            _ = super::to_stderr(&text);
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
    use super::{OsString, report};

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
