//! Progress messages: on a terminal, and only for work that takes more than half a second.

use crate::session::Session;
use indicatif::{ProgressBar, ProgressDrawTarget};
use onnx_text::visible;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Work in progress; its message disappears when this value is dropped.
pub(crate) struct Work(Option<(Sender<String>, JoinHandle<()>)>);

const PATIENCE: Duration = Duration::from_millis(500);

impl Work {
    /// Starts the timer.
    pub(crate) fn begin(session: &Session, what: impl Into<String>) -> Work {
        if !session.is_watched() {
            return Work(None);
        }
        let (send, receive) = mpsc::channel::<String>();
        let mut what: String = what.into();
        let watch = move || {
            let start = std::time::Instant::now();
            loop {
                match receive.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
                    Ok(next) => what = next,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_message(visible(&what).into_owned());
            bar.enable_steady_tick(Duration::from_millis(100));
            while let Ok(next) = receive.recv() {
                bar.set_message(visible(&next).into_owned());
            }
            bar.finish_and_clear();
        };
        Work(Some((send, thread::spawn(watch))))
    }

    /// Sets the message.
    pub(crate) fn now(&self, what: impl Into<String>) {
        if let Some((send, _)) = &self.0 {
            _ = send.send(what.into());
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some((send, watch)) = self.0.take() {
            drop(send);
            _ = watch.join();
        }
    }
}
