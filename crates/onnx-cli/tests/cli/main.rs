//! The program as scripts and people see it: exit codes, streams, forms of findings, files that are whole.

mod agree;
mod arrays;
mod backend_test;
mod bench;
mod cache;
mod comments;
mod compare;
mod corpus;
mod derived;
mod diff;
mod documents;
mod draw;
mod edits_concat;
mod edits_editor;
mod edits_extract;
mod edits_parts;
mod edits_quantize;
mod edits_reduce;
mod edits_rename;
mod edits_shapes;
mod edits_weights;
mod external;
mod findings;
mod forms;
mod git;
mod golden;
mod inputs;
mod lower;
mod lsp;
mod next_steps;
mod operator_sets;
mod operators;
mod opset;
mod parts;
mod passes;
mod report;
mod repro;
mod run;
mod schedules;
mod semver;
mod sessions;
mod sidecars;
mod signals;
mod streams;
mod sugar;
mod train;
mod visible;
mod watch;
mod whole_files;
mod why;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A model without findings.
pub(crate) const SOUND: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[N] x) => (float[N] y)\n<float[2] w = {1, 2}>\n{\n    t = Mul(x, w)\n    y = Relu(t)\n}\n";
/// A model that can be read and has an error.
pub(crate) const UNDEFINED: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[N] x) => (float[N] y)\n{\n    y = Relu(imgae)\n}\n";
/// A text with a fixable mistake.
pub(crate) const MISTAKE: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[N] x) => (float[N] y)\n{\n    y = Add(x x)\n}\n";

/// A folder with files, where the program runs.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, content) in files {
            folder.write(name, content);
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = onnxtxt();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    /// Runs the program here.
    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        Done::of(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Starts the program here, without its output.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs the program here, with this on its stdin.
    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> Done {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let stdin = stdin.to_vec();
        let writer = std::thread::spawn(move || _ = pipe.write_all(&stdin));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Done::of(output)
    }
}

pub(crate) fn onnxtxt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnxtxt"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CLICOLOR").env("TERM", "xterm");
    // No test reads or changes the cache of the user.
    command.env("ONNXTXT_CACHE", std::env::temp_dir().join("onnxtxt-no-cache"));
    command
}

/// The outcome of the program.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn of(output: Output) -> Done {
        let stderr = String::from_utf8(output.stderr).expect("what people read is UTF-8");
        Done { code: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
    }

    /// Everything that it said.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned() + &self.stderr
    }

    /// Stdout as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("stdout is text")
    }

    /// Ends the test unless the program ended like this.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Done {
        assert_eq!(
            self.code,
            code,
            "stdout: {}\nstderr: {}",
            String::from_utf8_lossy(&self.stdout),
            self.stderr
        );
        self
    }
}

/// A model with this many numbers, which go into a file beside a text; the first one is given.
pub(crate) fn weighty(first: u32, numbers: usize) -> String {
    let numbers: Vec<String> = (0..numbers).map(|i| format!("{}.5", first as usize + i)).collect();
    let big = format!("w = {{1, 2}}, float[{}] big = {{{}}}", numbers.len(), numbers.join(", "));
    SOUND.replace("w = {1, 2}", &big)
}

/// A model of this many nodes.
pub(crate) fn long_model(nodes: usize) -> String {
    let mut text =
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y)\n{\n".to_owned();
    for index in 0..nodes {
        let input = if index == 0 { "x".to_owned() } else { format!("t{}", index - 1) };
        let output = if index + 1 == nodes { "y".to_owned() } else { format!("t{index}") };
        text += &format!("    {output} = Relu({input})\n");
    }
    text + "}\n"
}

/// Bytes of a model that is text.
pub(crate) fn binary(text: &str) -> Vec<u8> {
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx", "--weights", "inline"]).expect(0);
    folder.read("m.onnx")
}
