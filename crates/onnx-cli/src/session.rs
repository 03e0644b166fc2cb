//! One run of the program: where findings go, in which form, and how many there were.

use crate::args::{Color, Format, Global};
use anstream::{AutoStream, ColorChoice};
use onnx_ir::{Diagnostic, Severity};
use onnx_text::render::{Sarif, Source, Style, github, human, json, short};
use onnx_text::visible;
use std::io::{self, IsTerminal as _, Write as _};

/// How a run ended that did what it was asked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Nothing was found.
    Clean,
    /// Something was found: exit code 1.
    Findings,
}

impl Status {
    /// Findings if there are any.
    pub(crate) fn of(is_clean: bool) -> Status {
        if is_clean { Status::Clean } else { Status::Findings }
    }

    /// The worse of two.
    pub(crate) fn and(self, other: Status) -> Status {
        Status::of(self == Status::Clean && other == Status::Clean)
    }
}

/// One run of the program.
pub(crate) struct Session {
    format: Format,
    style: Style,
    color: Color,
    quiet: bool,
    verbose: bool,
    sarif: Sarif,
    /// Findings so far.
    pub(crate) errors: usize,
    /// See `errors`.
    pub(crate) warnings: usize,
}

/// Columns that findings have where no terminal says how many there are.
const DEFAULT_WIDTH: usize = 120;

impl Session {
    pub(crate) fn new(global: &Global) -> Session {
        let choice = match global.color {
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
            Color::Auto => AutoStream::choice(&io::stderr()),
        };
        choice.write_global();
        let width = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
        Session {
            format: global.format,
            style: Style { color: choice != ColorChoice::Never, width: width.unwrap_or(DEFAULT_WIDTH) },
            color: global.color,
            quiet: global.quiet,
            verbose: global.verbose > 0,
            sarif: Sarif::default(),
            errors: 0,
            warnings: 0,
        }
    }

    /// Shows findings about one source.
    pub(crate) fn report(&mut self, source: &Source<'_>, diagnostics: &[Diagnostic]) {
        let mut out = String::new();
        for diagnostic in diagnostics {
            match diagnostic.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
            }
            match self.format {
                Format::Human => out += &(human(diagnostic, source, self.style) + "\n"),
                Format::Short => out += &(short(diagnostic, source) + "\n"),
                Format::Json => out += &(json(diagnostic, source) + "\n"),
                Format::Github => out += &(github(diagnostic, source) + "\n"),
                Format::Sarif => self.sarif.add(diagnostic, source),
            }
            if out.len() > 1 << 16 {
                self.say(&out);
                out.clear();
            }
        }
        self.say(&out);
    }

    /// Says something that is no finding, to people.
    pub(crate) fn note(&self, text: &str) {
        if self.format == Format::Human && !self.quiet {
            self.say(&format!("{}: {}\n", self.paint("36", "note"), visible(text)));
        }
    }

    /// Says something to people who asked for more.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.note(text);
        }
    }

    /// Says how much was found.
    pub(crate) fn summary(&self, files: usize) {
        if self.format != Format::Human || self.quiet {
            return;
        }
        let found: Vec<String> = [(self.errors, "error"), (self.warnings, "warning")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| count(number, word))
            .collect();
        if !found.is_empty() {
            let place = if files > 1 { format!(" in {files} files") } else { String::new() };
            self.say(&format!("{}{place}\n", found.join(", ")));
        } else if self.verbose {
            self.say(&format!("{} without findings\n", count(files, "file")));
        }
    }

    /// Says why the program ends.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let text = format!("{error:#}");
        self.say(&format!("{}: {}\n", self.paint("1;31", "error"), visible(&text)));
    }

    /// Ends the run: writes what can only be written as a whole.
    pub(crate) fn finish(&mut self) {
        if self.format == Format::Sarif {
            let document = std::mem::take(&mut self.sarif).finish(env!("CARGO_PKG_VERSION"));
            self.say(&document);
        }
    }

    /// Whether someone watches who may want to know that work goes on.
    pub(crate) fn is_watched(&self) -> bool {
        self.format == Format::Human && !self.quiet && io::stderr().is_terminal()
    }

    /// Whether what goes to stdout may be coloured.
    pub(crate) fn colors_data(&self) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.style.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A closed stderr is no reason to stop.
    fn say(&self, text: &str) {
        _ = to_stderr(text);
    }
}

/// Writes to stderr; escape sequences as the global choice of colours has it.
pub(crate) fn to_stderr(text: &str) -> io::Result<()> {
    let mut err = anstream::stderr().lock();
    err.write_all(text.as_bytes())?;
    err.flush()
}

/// `1 error`, `2 errors`
pub(crate) fn count(number: usize, word: &str) -> String {
    format!("{} {word}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// `1,234,567`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `97.5 MiB`
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return count(usize::try_from(number).unwrap_or(usize::MAX), "byte");
    }
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut size = number as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_234_567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
        assert_eq!(
            (bytes(1), bytes(1023), bytes(1536)),
            ("1 byte".into(), "1,023 bytes".into(), "1.5 KiB".into())
        );
        assert_eq!(bytes(400 << 20), "400.0 MiB");
    }
}
