//! Packed weights that programs share.

use crate::{Done, Folder};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// A product with packed weights of a megabyte. The weights are made by the model, so that its text is short.
fn product() -> String {
    let numbers: Vec<String> = (0..512 * 512).map(|i| format!("{}", (i * 7919) % 1009)).collect();
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[M, 512] x) => (float[M, 512] y)\n\
         <float[512, 512] w = {{{}}}>\n{{\n    y = MatMul(x, w)\n}}\n",
        numbers.join(", ")
    )
}

/// A folder with the model, whose cache is below it.
struct Cached(Folder);

impl Cached {
    fn new() -> Cached {
        Cached(Folder::new(&[("m.onnxtxt", product().as_bytes())]))
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.0.command(arguments);
        command.env("ONNXTXT_CACHE", self.0.path("cache"));
        command
    }

    fn onnxtxt(&self, arguments: &[&str]) -> Done {
        Done::of(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// The results of a run.
    fn run(&self, more: &[&str]) -> Vec<u8> {
        let arguments = ["run", "m.onnxtxt", "--random", "-D", "M=3", "--full"];
        self.onnxtxt(&[&arguments, more].concat()).expect(0).stdout
    }

    fn folder(&self) -> PathBuf {
        self.0.path("cache/weights")
    }

    /// The files of the cache.
    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder()).map(|files| files.map(|file| file.unwrap().path()));
        files.map(Iterator::collect).unwrap_or_default()
    }
}

#[test]
fn weights_are_kept_only_if_that_is_asked_for() {
    let cached = Cached::new();
    let plain = cached.run(&[]);
    assert!(cached.files().is_empty());
    for _ in 0..2 {
        assert_eq!(cached.run(&["--cache"]), plain);
        assert_eq!(cached.files().len(), 1);
    }
    let list = cached.onnxtxt(&["cache"]).expect(0);
    assert!(list.text().contains("float32 512 x 512 in tiles of "), "{}", list.text());
    assert!(list.stderr.contains("1 entry, 1.0 MiB"), "{}", list.stderr);
    let list = cached.onnxtxt(&["cache", "--format", "json"]).expect(0);
    let list: serde_json::Value = serde_json::from_str(list.text()).unwrap();
    assert_eq!(list["entries"].as_array().unwrap().len(), 1);
    assert_eq!(list["bytes"], fs::metadata(&cached.files()[0]).unwrap().len());
}

#[test]
fn entries_are_removed_by_age_by_size_or_all() {
    let cached = Cached::new();
    // Without a cache there is nothing to list or to remove.
    assert!(cached.onnxtxt(&["cache"]).expect(0).stderr.contains("0 entries"));
    cached.onnxtxt(&["cache", "--clean"]).expect(0);
    cached.run(&["--cache"]);
    fs::write(cached.folder().join("mine.txt"), "not an entry").unwrap();
    for arguments in [&["--unused-for", "1h"][..], &["--max-size", "2M"]] {
        let done = cached.onnxtxt(&[&["cache", "--clean"], arguments].concat()).expect(0);
        assert!(done.stderr.contains("0 entries removed"), "{}", done.stderr);
    }
    let done = cached.onnxtxt(&["cache", "--clean", "--max-size", "1K"]).expect(0);
    assert!(done.stderr.contains("1 entry removed, 1.0 MiB"), "{}", done.stderr);
    cached.run(&["--cache"]);
    let entry = cached.files().into_iter().find(|path| !path.ends_with("mine.txt")).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(8000);
    fs::File::open(&entry).unwrap().set_modified(old).unwrap();
    cached.onnxtxt(&["cache", "--clean", "--unused-for", "1h"]).expect(0);
    assert!(!entry.exists());
    cached.run(&["--cache"]);
    cached.onnxtxt(&["cache", "--clean"]).expect(0);
    assert_eq!(cached.files(), [cached.folder().join("mine.txt")]);
}

/// Weights inside a protobuf file are where they happen to be, mostly not at a multiple of four.
#[test]
fn weights_at_odd_addresses_are_shared_too() {
    let cached = Cached::new();
    let plain = cached.run(&[]);
    for name in ["a", "ab", "abc", "abcd"] {
        let text = product().replace("g (", &format!("{name} ("));
        fs::write(cached.0.path("n.onnxtxt"), text).unwrap();
        cached.onnxtxt(&["convert", "n.onnxtxt", "-o", "n.onnx"]).expect(0);
        let run = ["run", "n.onnx", "--random", "-D", "M=3", "--full", "--cache"];
        assert!(cached.onnxtxt(&run).expect(0).stdout == plain, "{name}");
        fs::remove_file(cached.0.path("n.onnx")).unwrap();
    }
    // The packed weights, and those that were copied to where they are aligned, once for all models.
    let list = cached.onnxtxt(&["cache"]).expect(0);
    assert!(list.text().contains("1048576 bytes as stored, aligned"), "{}", list.text());
    assert_eq!(cached.files().len(), 2, "{}", list.text());
}

/// Each command that has the option notes once that the cache cannot be used, and does its work.
#[test]
fn every_command_notes_a_cache_that_cannot_be_used() {
    let data = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }\n";
    let folder = Folder::new(&[("m.onnxtxt", data.as_bytes()), ("cache", b"a file")]);
    let train = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/train-digits.onnxtxt");
    fs::copy(train, folder.path("t.onnxtxt")).unwrap();
    let commands: &[&[&str]] = &[
        &["run", "m.onnxtxt", "--random"],
        &["bench", "m.onnxtxt", "--runs", "1"],
        &["verify", "m.onnxtxt", "m.onnxtxt"],
        &["compare", "m.onnxtxt", "m.onnxtxt"],
        &["lower", "m.onnxtxt"],
        &["stats", "m.onnxtxt", "--random"],
        &["repro", "m.onnxtxt", "-o", "repro"],
        &["quantize", "m.onnxtxt", "-o", "q.onnx"],
        &["simplify", "m.onnxtxt", "-o", "s.onnx", "--verify"],
        &["train", "t.onnxtxt", "--init", "-o", "t.onnx"],
        &["test", "--record", "m.onnxtxt"],
    ];
    for arguments in commands {
        let mut command = folder.command(&[arguments, &["--cache"][..]].concat());
        command.env("ONNXTXT_CACHE", folder.path("cache")).stdin(Stdio::null());
        let done = Done::of(command.output().unwrap());
        let notes = done.stderr.matches("packed weights are not kept").count();
        assert_eq!(notes, 1, "{arguments:?}: {}", done.stderr);
        done.expect(0);
    }
}

#[test]
fn processes_that_start_at_once_have_the_same_results_and_one_entry() {
    let cached = Cached::new();
    let plain = cached.run(&[]);
    let start = || -> Child {
        let mut command = cached.command(&["run", "m.onnxtxt", "--random", "-D", "M=3", "--full", "--cache"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..4).map(|_| start()).collect();
    for child in children {
        assert_eq!(Done::of(child.wait_with_output().unwrap()).expect(0).stdout, plain);
    }
    assert_eq!(cached.files().len(), 1);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_used_is_noted_and_the_model_runs() {
    use std::os::unix::fs::PermissionsExt as _;
    let cached = Cached::new();
    let plain = cached.run(&[]);
    let arguments = ["run", "m.onnxtxt", "--random", "-D", "M=3", "--full", "--cache"];
    let noted = |why: &str| {
        let done = cached.onnxtxt(&arguments).expect(0);
        assert!(done.stdout == plain && done.stderr.contains(why), "{why}: {}", done.stderr);
    };
    // A file in place of the folder above, of the folder, and a folder that others can write to.
    fs::write(cached.0.path("cache"), "").unwrap();
    noted("packed weights are not kept: cannot write");
    fs::remove_file(cached.0.path("cache")).unwrap();
    fs::create_dir(cached.0.path("cache")).unwrap();
    fs::write(cached.folder(), "").unwrap();
    noted("packed weights are not kept: cannot write");
    fs::remove_file(cached.folder()).unwrap();
    fs::create_dir(cached.folder()).unwrap();
    fs::set_permissions(cached.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    noted("belongs to another user, or others can write to it");
    assert!(cached.files().is_empty());
    // A file size limit is a full disk; the limit of a shell is in blocks of 512 bytes or of 1024.
    fs::set_permissions(cached.folder(), fs::Permissions::from_mode(0o700)).unwrap();
    let program = cached.command(&arguments).get_program().to_owned();
    let mut limited = std::process::Command::new("sh");
    limited.current_dir(cached.0.path("")).env("ONNXTXT_CACHE", cached.0.path("cache"));
    limited.args(["-c", "ulimit -f 500; exec \"$@\"", "sh"]).arg(program).args(arguments);
    assert_eq!(Done::of(limited.output().unwrap()).expect(0).stdout, plain);
    assert!(cached.files().is_empty(), "{:?}", cached.files());
}
