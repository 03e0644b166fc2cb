//! The reference implementation: `tests/python/reference.py serve`, asked in batches.

use crate::corpus::{left_out, workspace};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

/// A way to ask the reference implementation.
#[derive(Clone, Debug)]
pub struct Oracle {
    python: PathBuf,
}

impl Oracle {
    /// `ONNXTXT_PYTHON`, or the environment that `cargo xtask venv` makes. Says so, for the test called `whose`, where
    /// there is none.
    pub fn find(whose: &str) -> Option<Oracle> {
        let python = std::env::var_os("ONNXTXT_PYTHON")
            .map_or_else(|| workspace().join("target/venv/bin/python"), PathBuf::from);
        let works = Command::new(&python)
            .args(["-c", "import onnx"])
            .output()
            .is_ok_and(|output| output.status.success());
        if !works {
            left_out(&format!("{whose}: no Python with the `onnx` package (`cargo xtask venv`)"));
        }
        works.then_some(Oracle { python })
    }

    /// Runs a script of the project and parses its output as JSON; `script` is its path from the root of the workspace.
    pub fn run(&self, script: &str, arguments: &[&OsStr]) -> Value {
        let output = Command::new(&self.python)
            .arg(workspace().join(script))
            .args(arguments)
            .output()
            .expect("python starts");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("the script prints JSON")
    }

    /// The answers to these requests, in their order. `tests/python/cases.py` says what there is to ask.
    pub fn ask(&self, requests: &[Value]) -> Vec<Value> {
        self.ask_within(requests, Duration::from_secs(120))
    }

    /// The same, with a limit for each request; one that takes longer is answered as one that crashes.
    pub fn ask_within(&self, requests: &[Value], limit: Duration) -> Vec<Value> {
        let mut child = Command::new(&self.python)
            .arg(workspace().join("tests/python/reference.py"))
            .args(["--timeout", &limit.as_secs().to_string(), "serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        let answers: Vec<Value> = std::thread::scope(|scope| {
            scope.spawn(move || {
                for request in requests {
                    // An answer is missing if this fails, which is found below.
                    let _ = writeln!(stdin, "{request}");
                }
            });
            let lines = BufReader::new(stdout).lines();
            lines
                .map(|line| serde_json::from_str(&line.expect("answers are text")).expect("answers are JSON"))
                .collect()
        });
        let status = child.wait().expect("python ends");
        assert!(
            status.success() && answers.len() == requests.len(),
            "the reference implementation: {status}"
        );
        answers
    }
}

/// Whether an answer is a success.
pub fn is_ok(answer: &Value) -> bool {
    answer["ok"] == true
}

/// Whether ONNX Runtime's products of `uint8` and `int8` are exact only up to 7 bits: x86 processors without VNNI add pairs
/// of such products in 16 bits, with saturation. `tests/python/processor.py` tries it.
pub fn products_saturate() -> bool {
    static KNOWN: LazyLock<bool> = LazyLock::new(|| {
        let oracle = Oracle::find("products of bytes");
        oracle.is_some_and(|oracle| oracle.run("tests/python/processor.py", &[]) == true)
    });
    *KNOWN
}

/// Says what a test draws otherwise where they are not.
pub fn say_if_products_saturate(whose: &str) {
    if products_saturate() {
        left_out(&format!(
            "{whose}: int8 of 8 bits, as ONNX Runtime saturates products of bytes on a processor without VNNI"
        ));
    }
}
