//! The log of a server: a line for each message and the time of each request.

use lsp_server::Message;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Characters of a message that are logged: a document may have megabytes.
const MAX_LOGGED: usize = 400;

#[derive(Debug)]
pub(crate) struct Log {
    file: Option<Mutex<File>>,
    begun: Instant,
}

impl Log {
    /// Appends to a file; without one, nothing is logged.
    pub(crate) fn open(path: Option<&Path>) -> std::io::Result<Log> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        let file = path.map(open).transpose()?.map(Mutex::new);
        Ok(Log { file, begun: Instant::now() })
    }

    pub(crate) fn write(&self, text: &str) {
        let Some(file) = &self.file else { return };
        let line = format!("{:9.3} {text}\n", self.begun.elapsed().as_secs_f64());
        if let Ok(mut file) = file.lock() {
            // A log that cannot be written does not end the server.
            _ = file.write_all(line.as_bytes());
        }
    }

    pub(crate) fn message(&self, direction: &str, message: &Message) {
        if self.file.is_none() {
            return;
        }
        let (what, content) = match message {
            Message::Request(request) => {
                (format!("{} {}", request.method, request.id), request.params.to_string())
            }
            Message::Notification(notification) => {
                (notification.method.clone(), notification.params.to_string())
            }
            Message::Response(response) => match &response.response_result {
                Ok(value) => (format!("answer {}", response.id), value.to_string()),
                Err(error) => (format!("error {}", response.id), format!("{} {}", error.code, error.message)),
            },
        };
        let end = content.floor_char_boundary(MAX_LOGGED);
        let rest = if end < content.len() { "…" } else { "" };
        self.write(&format!("{direction} {what} {}{rest}", onnx_text::visible(&content[..end])));
    }

    pub(crate) fn time(&self, method: &str, time: Duration) {
        if self.file.is_some() {
            self.write(&format!("{method}: {:.1} ms", time.as_secs_f64() * 1e3));
        }
    }
}
