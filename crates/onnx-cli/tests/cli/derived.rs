//! Files whose names the user did not type: no link is followed, and no file of anyone else is replaced.
//!
//! `cargo xtask tidy` (`writes`) lists every place of the program that writes a file and says whether the user named it; those that the
//! user did not name are here.
#![cfg(unix)]

use crate::{Folder, SOUND, binary, weighty};
use std::os::unix::fs::symlink;
use std::path::Path;

/// A command that writes files which its command line does not name.
struct Writes {
    command: &'static [&'static str],
    /// The files that it is run with.
    given: fn() -> Vec<(&'static str, Vec<u8>)>,
    /// The files that it names, and folders that it makes as the user wants.
    named: &'static [&'static str],
    /// The other files that it writes.
    derived: &'static [&'static str],
    /// Folders of those that the user has not named.
    folders: &'static [&'static str],
    code: i32,
    /// Whether any regular file of the name is replaced, because its name makes it ours.
    is_by_name: bool,
}

const PRINTS: &str = "#! print\n";
/// A training without data.
const TRAINS: &str = "<ir_version: 10, opset_import: [\"\": 21],
    training_info: {
        initialization: i () => () {},
        algorithm: step () => (float[1] w1) <float[1] d = {1}> { w1 = Add(w, d) },
        update_binding: [\"w\": \"w1\"]
    }>
    g () => (float[1] y) <float[1] w = {0}> { y = Relu(w) }";

/// A training whose state is so large that it goes beside a text.
fn trains_much() -> Vec<u8> {
    let zeros = vec!["0"; 8000].join(", ");
    let text = TRAINS.replace("float[1] w1", "float[8000] w1").replace("float[1] y", "float[8000] y");
    text.replace("float[1] w = {0}", &format!("float[8000] w = {{{zeros}}}")).into()
}

fn two_outputs() -> Vec<u8> {
    SOUND.replace("(float[N] y)", "(float[N] y, float[N] t)").into()
}

const ALL: &[Writes] = &[
    Writes {
        command: &["merge", "base.onnx", "ours.onnx", "theirs.onnx", "-o", "out.onnx"],
        given: || {
            let with = |w: &str| binary(&SOUND.replace("{1, 2}", w));
            vec![
                ("base.onnx", with("{1, 2}")),
                ("ours.onnx", with("{3, 4}")),
                ("theirs.onnx", with("{5, 6}")),
            ]
        },
        named: &["out.onnx"],
        derived: &["out.onnx.conflict.onnxtxt"],
        folders: &[],
        code: 1,
        is_by_name: false,
    },
    Writes {
        command: &["test", ".", "--bless"],
        given: || vec![("sub/a.onnxtxt", format!("{PRINTS}{SOUND}").into())],
        named: &[],
        derived: &["sub/a.print.snap"],
        folders: &[],
        code: 0,
        is_by_name: true,
    },
    Writes {
        command: &["test", ".", "--bless", "--snapshots", "snapshots"],
        given: || vec![("sub/a.onnxtxt", format!("#--- part\n{PRINTS}{SOUND}").into())],
        named: &[],
        derived: &["snapshots/sub/a.part.print.snap"],
        folders: &["snapshots/sub"],
        code: 0,
        is_by_name: true,
    },
    Writes {
        command: &["test", "--record", "m.onnxtxt", "-D", "N=2"],
        given: || vec![("m.onnxtxt", SOUND.into())],
        // Its snapshots are blessed.
        named: &["m.test.interface.snap"],
        derived: &["m.test.onnxtxt"],
        folders: &[],
        code: 0,
        is_by_name: false,
    },
    Writes {
        command: &["test", "--record", "m.onnxtxt"],
        given: || {
            vec![(
                "m.onnxtxt",
                SOUND.replace("[N]", "[400]").replace("float[2] w = {1, 2}", "float w = {2}").into(),
            )]
        },
        named: &["m.test.onnxtxt", "m.test.interface.snap"],
        derived: &["m.test.inputs.npz", "m.test.outputs.npz"],
        folders: &[],
        code: 0,
        is_by_name: false,
    },
    Writes {
        command: &["train", "m.onnxtxt", "--steps", "2", "--save", "every=1", "-o", "out.onnx"],
        given: || vec![("m.onnxtxt", TRAINS.into())],
        named: &["out.onnx"],
        derived: &["out.state.npz"],
        folders: &[],
        code: 0,
        is_by_name: false,
    },
    Writes {
        command: &["train", "m.onnxtxt", "--steps", "2", "--save", "every=1", "-o", "out.onnxtxt"],
        given: || vec![("m.onnxtxt", trains_much())],
        named: &["out.onnxtxt"],
        derived: &["out.state.npz", "out.onnxtxt.data"],
        folders: &[],
        code: 0,
        is_by_name: false,
    },
    Writes {
        command: &["run", "m.onnxtxt", "--random", "-D", "N=2", "--output-dir", "out"],
        given: || vec![("m.onnxtxt", two_outputs())],
        named: &[],
        derived: &["out/output_0.pb", "out/output_1.pb"],
        folders: &[],
        code: 0,
        is_by_name: false,
    },
    Writes {
        command: &["ops", "--export", "out"],
        given: || vec![("out/.keep", Vec::new())],
        named: &[],
        derived: &["out/ai.onnx.ml.onnxtxt"],
        folders: &[],
        code: 0,
        is_by_name: false,
    },
    Writes {
        command: &["convert", "m.onnx", "-o", "out.onnxtxt"],
        given: || vec![("m.onnx", binary(&weighty(0, 10_000)))],
        named: &["out.onnxtxt"],
        derived: &["out.onnxtxt.data"],
        folders: &[],
        code: 0,
        is_by_name: false,
    },
    Writes {
        command: &["convert", "m.onnx", "-o", "out.onnx", "--weights", "files"],
        given: || vec![("m.onnx", binary(&weighty(0, 10_000)))],
        named: &["out.onnx"],
        derived: &["out.onnx.weights/0.bin"],
        folders: &["out.onnx.weights"],
        code: 0,
        is_by_name: false,
    },
];

impl Writes {
    fn folder(&self) -> Folder {
        let folder = Folder::new(&[]);
        for (name, content) in (self.given)() {
            make_folder_of(&folder.path(name));
            folder.write(name, &content);
        }
        folder
    }
}

fn make_folder_of(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
}

/// All files in a folder and below it.
fn files(folder: &Path, prefix: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => all.extend(files(&entry.path(), &format!("{name}/"))),
            false => all.push(name),
        }
    }
    all.sort();
    all
}

#[test]
fn every_derived_name_is_known_and_may_be_written_again() {
    for writes in ALL {
        let folder = writes.folder();
        let before = files(&folder.path(""), "");
        folder.run(writes.command).expect(writes.code);
        let new: Vec<String> =
            files(&folder.path(""), "").into_iter().filter(|name| !before.contains(name)).collect();
        for name in writes.derived.iter().chain(writes.named) {
            assert!(new.iter().any(|new| new == name), "{:?}: {name} is not in {new:?}", writes.command);
        }
        let is_known =
            |name: &&String| writes.derived.contains(&name.as_str()) || writes.named.contains(&name.as_str());
        // Documents of all domains have names of one kind.
        let is_document = |name: &str| writes.command[0] == "ops" && name.starts_with("out/");
        let unknown = new.iter().filter(|name| !is_known(name) && !is_document(name));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new(), "{:?}", writes.command);
        // Files that the program wrote itself are replaced, but for a first test, which is written once.
        let again = if writes.command.contains(&"--record") { 2 } else { writes.code };
        folder.run(writes.command).expect(again);
    }
}

#[test]
fn links_and_foreign_files_stay_as_they_are() {
    for writes in ALL {
        for name in writes.derived {
            for kind in ["link", "dangling link", "folder", "foreign file", "empty file"] {
                if writes.is_by_name && kind.ends_with("file") {
                    continue;
                }
                let (folder, elsewhere) = (writes.folder(), Folder::new(&[("victim", b"victim")]));
                let path = folder.path(name);
                make_folder_of(&path);
                match kind {
                    "link" => symlink(elsewhere.path("victim"), &path).unwrap(),
                    "dangling link" => symlink(elsewhere.path("nowhere"), &path).unwrap(),
                    "folder" => std::fs::create_dir(&path).unwrap(),
                    "empty file" => folder.write(name, b""),
                    _ => folder.write(name, b"mine"),
                }
                let before = path.symlink_metadata().unwrap();
                let names = folder.names();
                let done = folder.run(writes.command);
                let case = format!("{:?}: {name} is a {kind}: {}", writes.command, done.said());
                // A test fails; everything else is refused.
                assert_eq!(done.code, if writes.command.contains(&"--bless") { 1 } else { 2 }, "{case}");
                assert!(done.said().contains(path.file_name().unwrap().to_str().unwrap()), "{case}");
                let after = path.symlink_metadata().unwrap();
                assert_eq!((after.file_type(), after.len()), (before.file_type(), before.len()), "{case}");
                if kind == "foreign file" {
                    assert_eq!(folder.read(name), b"mine", "{case}");
                }
                if writes.command[0] == "train" {
                    assert_eq!(folder.names(), names, "the training has begun: {case}");
                }
                assert_eq!(elsewhere.names(), ["victim"], "{case}");
                assert_eq!(elsewhere.read("victim"), b"victim", "{case}");
            }
        }
        for name in writes.folders {
            let (folder, elsewhere) = (writes.folder(), Folder::new(&[]));
            make_folder_of(&folder.path(name));
            symlink(elsewhere.path(""), folder.path(name)).unwrap();
            let done = folder.run(writes.command);
            assert!(done.code != 0 && done.said().contains("is a link"), "{name}: {}", done.said());
            assert_eq!(elsewhere.names(), Vec::<String>::new(), "{name}");
        }
    }
}

/// Files that were found in a folder: the user has named only the folder.
#[test]
fn links_in_folders_are_not_followed_to_be_changed() {
    let unformatted = SOUND.replace("    y =", "y =");
    let mistake = crate::MISTAKE;
    let blessed = format!("#! run\n#! input float[2] x = {{1, 2}}\n#! expect float[2] y = {{9, 9}}\n{SOUND}");
    for (command, text, code) in [
        (&["fmt"][..], unformatted.as_str(), 0),
        (&["check", "--fix"], mistake, 0),
        (&["test", "--bless=force"], &blessed, 0),
    ] {
        let elsewhere = Folder::new(&[("victim.onnxtxt", text.as_bytes())]);
        let folder = Folder::new(&[]);
        std::fs::create_dir(folder.path("in")).unwrap();
        symlink(elsewhere.path("victim.onnxtxt"), folder.path("in/a.onnxtxt")).unwrap();
        let done = folder.run(&[command, &["in"]].concat());
        assert!(done.code != 0 && done.said().contains("is a link"), "{command:?}: {}", done.said());
        assert_eq!(elsewhere.read("victim.onnxtxt"), text.as_bytes(), "{command:?}");
        // One that is named is the user's.
        folder.run(&[command, &["in/a.onnxtxt"]].concat()).expect(code);
        assert_ne!(elsewhere.read("victim.onnxtxt"), text.as_bytes(), "{command:?}");
        assert!(folder.path("in/a.onnxtxt").symlink_metadata().unwrap().is_symlink());
    }
}

/// Expected values in files, which a test names.
#[test]
fn blessed_values_stay_below_the_folder_of_the_test() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.run(&["run", "m.onnxtxt", "--random", "-D", "N=2", "-o", "y.npz"]).expect(0);
    let values = folder.read("y.npz");
    symlink("../y.npz", folder.path("in/link.npz")).unwrap();
    for name in ["link.npz", "../y.npz", folder.path("y.npz").to_str().unwrap()] {
        let head = format!("#! run\n#! input float[2] x = {{100, 200}}\n#! expect {name}\n");
        folder.write("in/a.onnxtxt", format!("{head}{SOUND}").as_bytes());
        let done = folder.run(&["test", "in", "--bless=force"]);
        assert_eq!(done.code, 1, "{name}: {}", done.said());
        assert_eq!(folder.read("y.npz"), values, "{name}");
    }
}
