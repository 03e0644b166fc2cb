//! `--watch`: a real process, files that change in place and by rename, and Ctrl-C.
#![cfg(unix)]

use crate::signals::ignored_signals;
use crate::{Folder, SOUND, UNDEFINED};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// A program that watches, with the lines of its two streams.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(folder: &Folder, arguments: &[&str]) -> Watching {
        // One pipe for both, which keeps their order.
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = folder.command(arguments);
        command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
        let child = command.spawn().unwrap();
        // The command holds the ends of the pipe that are written to.
        drop(command);
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(reader).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Watching { child, lines }
    }

    /// The lines up to the one that says that it waits for a change.
    #[track_caller]
    fn run(&self) -> String {
        let mut lines = Vec::new();
        loop {
            let line =
                self.lines.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{lines:?}"));
            if line.contains("Ctrl-C ends") {
                return lines.join("\n");
            }
            lines.push(line);
        }
    }

    /// Ends it as Ctrl-C does.
    fn end(mut self) {
        // A job in the background of a shell ignores INT, and so do its children.
        let is_ignored = ignored_signals() >> (Signal::SIGINT as i32 - 1) & 1 != 0;
        let signal = if is_ignored { Signal::SIGTERM } else { Signal::SIGINT };
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
        assert_eq!(self.child.wait().unwrap().signal(), Some(signal as i32));
    }
}

#[test]
fn a_check_follows_its_files() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes()), ("other.txt", b"")]);
    let watching = Watching::start(&folder, &["check", "--watch", "m.onnxtxt"]);
    assert!(watching.run().contains("no findings"));
    folder.write("m.onnxtxt", UNDEFINED.as_bytes());
    let second = watching.run();
    assert!(
        second.contains("use of undefined value `imgae`") && second.contains("1 error in 1 file"),
        "{second}"
    );
    // As many editors save: a new file gets the name. What else is in the folder does not matter.
    folder.write("other.txt", b"changed");
    folder.write(".m.onnxtxt.new", SOUND.as_bytes());
    std::fs::rename(folder.path(".m.onnxtxt.new"), folder.path("m.onnxtxt")).unwrap();
    let third = watching.run();
    assert!(third.contains("no findings") && !third.contains("error"), "{third}");
    // A file that is gone is an error of this run alone.
    std::fs::remove_file(folder.path("m.onnxtxt")).unwrap();
    assert!(watching.run().contains("cannot read m.onnxtxt"));
    folder.write("m.onnxtxt", SOUND.as_bytes());
    assert!(watching.run().contains("no findings"));
    watching.end();
}

#[test]
fn a_check_of_a_folder_finds_new_files() {
    let folder = Folder::new(&[("models/m.onnxtxt", SOUND.as_bytes())]);
    let watching = Watching::start(&folder, &["check", "--watch", "models"]);
    assert!(watching.run().contains("no findings in 1 file"));
    folder.write("models/new.onnxtxt", UNDEFINED.as_bytes());
    assert!(watching.run().contains("1 error in 2 files"));
    watching.end();
}

#[test]
fn a_run_follows_its_model() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    let watching = Watching::start(&folder, &["run", "m.onnxtxt", "--random", "-D", "N=2", "--watch"]);
    assert!(watching.run().contains("float[2] y"));
    folder.write("m.onnxtxt", SOUND.replace("float[N] y", "float[N] z").replace("y =", "z =").as_bytes());
    assert!(watching.run().contains("float[2] z"));
    watching.end();
}

#[test]
fn what_has_no_name_cannot_be_watched() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    let done = folder.run_with(&["check", "--watch"], SOUND.as_bytes()).expect(2);
    assert!(done.stderr.contains("stdin cannot be watched"), "{}", done.stderr);
    let done = folder.run(&["check", "--watch", "--format", "sarif", "m.onnxtxt"]).expect(2);
    assert!(done.stderr.contains("SARIF"), "{}", done.stderr);
}
