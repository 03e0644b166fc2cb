//! Progress of long work, and with `-v` what took the time.
//!
//! On a terminal, work that takes more than half a second shows a line: what is done, and where it can be counted, how far it is, its
//! rate and the time that is left. Bytes that are read, packed or written are counted by [`count_bytes`], wherever that happens.

use crate::output::numbers::bytes;
use crate::session::{Session, to_stderr};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use onnx_ir::Model;
use onnx_text::visible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the line is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// Bytes since the phase began.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Counts bytes that are read, packed or written.
pub(crate) fn count_bytes(number: u64) {
    BYTES.fetch_add(number, Ordering::Relaxed);
}

/// The bytes of all stored tensors of the main graph: about what is read, packed or written with a model.
pub(crate) fn weight_bytes(model: &Model) -> u64 {
    let tensors = model.main_body().into_iter().flat_map(|body| body.tensors.values());
    let sizes = tensors.filter_map(|tensor| tensor.elem?.raw_size(tensor.element_count()?));
    sizes.fold(0, u64::saturating_add)
}

/// Work in progress; its line disappears when this value is dropped.
pub(crate) struct Work {
    line: Option<Line>,
    phase: Mutex<Phase>,
    /// The word before what took the time, with `-v`.
    note: Option<String>,
}

/// The line on a terminal.
struct Line {
    bar: ProgressBar,
    /// Whether the position is the number of bytes.
    has_bytes: Arc<AtomicBool>,
    end: Option<Sender<()>>,
    watch: Option<JoinHandle<()>>,
}

/// A part of the work.
struct Phase {
    what: String,
    start: Instant,
}

impl Work {
    /// Starts the timer.
    pub(crate) fn begin(session: &Session, what: impl Into<String>) -> Work {
        let note = session.is_verbose().then(|| session.paint("36", "note"));
        let target = || session.is_watched().then(ProgressDrawTarget::stderr);
        Work::on(target(), note, what.into())
    }

    fn on(target: Option<ProgressDrawTarget>, note: Option<String>, what: String) -> Work {
        BYTES.store(0, Ordering::Relaxed);
        let line = target.map(|target| Line::new(target, &what));
        Work { line, phase: Mutex::new(Phase { what, start: Instant::now() }), note }
    }

    /// Begins another part of the work.
    pub(crate) fn now(&self, what: impl Into<String>) {
        self.next(what.into(), None, false);
    }

    /// Begins a part that is counted up to a number by [`at`](Self::at).
    pub(crate) fn now_counted(&self, what: impl Into<String>, total: usize) {
        self.next(what.into(), Some(total as u64), false);
    }

    /// Begins a part whose bytes are counted by [`count_bytes`]; their number is about this.
    pub(crate) fn now_bytes(&self, what: impl Into<String>, total: u64) {
        self.next(what.into(), (total > 0).then_some(total), true);
    }

    /// How far a counted part is, and what it is at.
    pub(crate) fn at(&self, position: usize, what: &str) {
        if let Some(line) = &self.line {
            line.bar.set_position(position as u64);
            line.bar.set_message(visible(what).into_owned());
        }
    }

    /// Prints something above the line.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        match &self.line {
            Some(line) => line.bar.suspend(print),
            None => print(),
        }
    }

    fn next(&self, what: String, total: Option<u64>, has_bytes: bool) {
        self.end_phase();
        BYTES.store(0, Ordering::Relaxed);
        if let Some(line) = &self.line {
            line.show(&what, total, has_bytes);
        }
        *self.phase() = Phase { what, start: Instant::now() };
    }

    /// With `-v`, says how long a part took.
    fn end_phase(&self) {
        let Some(note) = &self.note else { return };
        let phase = self.phase();
        if phase.what.is_empty() {
            return;
        }
        let seconds = phase.start.elapsed().as_secs_f64();
        let mut text = format!("{note}: {}: {seconds:.2} s", visible(&phase.what));
        let number = BYTES.load(Ordering::Relaxed);
        if number > 0 {
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "for people"
            )]
            let rate = (number as f64 / seconds.max(1e-6)) as u64;
            text += &format!(", {}, {}/s", bytes(number), bytes(rate));
        }
        self.above(|| _ = to_stderr(&format!("{text}\n")));
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(line) = &mut self.line {
            drop(line.end.take());
            if let Some(watch) = line.watch.take() {
                _ = watch.join();
            }
        }
        self.end_phase();
    }
}

impl Line {
    fn new(target: ProgressDrawTarget, what: &str) -> Line {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let has_bytes = Arc::new(AtomicBool::new(false));
        let (end, ended) = mpsc::channel::<()>();
        let watch = thread::spawn({
            let (bar, has_bytes) = (bar.clone(), Arc::clone(&has_bytes));
            move || {
                if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                bar.set_draw_target(target);
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    if has_bytes.load(Ordering::Relaxed) {
                        bar.set_position(BYTES.load(Ordering::Relaxed));
                    }
                    bar.tick();
                }
                bar.finish_and_clear();
            }
        });
        let line = Line { bar, has_bytes, end: Some(end), watch: Some(watch) };
        line.show(what, None, false);
        line
    }

    /// Shows another part of the work.
    fn show(&self, what: &str, total: Option<u64>, has_bytes: bool) {
        self.has_bytes.store(has_bytes, Ordering::Relaxed);
        self.bar.set_style(style(total.is_some(), has_bytes));
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.reset();
        self.bar.set_message(visible(what).into_owned());
    }
}

/// The content of a line.
fn style(has_total: bool, has_bytes: bool) -> ProgressStyle {
    let template = match (has_total, has_bytes) {
        (false, false) => "{spinner} {wide_msg} {elapsed}",
        (false, true) => "{spinner} {wide_msg} {bytes} ({bytes_per_sec})",
        (true, false) => "{spinner} {wide_msg} {pos}/{len} ({rate}, {eta} left)",
        (true, true) => "{spinner} {wide_msg} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)",
    };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    style.with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        _ = write!(out, "{:.1}/s", state.per_sec());
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::io;

    /// A terminal that keeps what is written.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(&format!("{text}\n"))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.write_str("\r")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shown(screen: &Screen) -> String {
        screen.0.lock().unwrap().clone()
    }

    #[test]
    fn long_work_shows_rate_and_rest_and_short_work_nothing() {
        let screen = Screen::default();
        let target = || Some(ProgressDrawTarget::term_like(Box::new(screen.clone())));
        let work = Work::on(target(), None, "short".to_owned());
        work.now("shorter");
        drop(work);
        assert_eq!(shown(&screen), "");

        let work = Work::on(target(), None, "reading".to_owned());
        work.now_counted("testing", 40);
        for position in 0..14 {
            work.at(position, &format!("test {position}"));
            thread::sleep(Duration::from_millis(60));
        }
        let text = shown(&screen);
        assert!(text.contains("test 1") && text.contains("/40 (") && text.contains("/s, "), "{text:?}");
        assert!(text.contains(" left)"), "{text:?}");
        work.now_bytes("writing", 1 << 30);
        for _ in 0..8 {
            count_bytes(20 << 20);
            thread::sleep(Duration::from_millis(50));
        }
        drop(work);
        let text = shown(&screen);
        assert!(text.contains("writing") && text.contains("MiB/1.00 GiB ("), "{text:?}");
        // The line is gone.
        assert!(text.ends_with('\r'), "{text:?}");
    }
}
