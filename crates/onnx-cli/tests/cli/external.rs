//! Weights in files: only those below the model's folder are read, and problems are reported.

use crate::{Folder, SOUND};

fn model(entries: &str) -> String {
    SOUND.replace("w = {1, 2}", &format!("w = [{entries}]"))
}

/// The codes that `check` finds, and that `convert` refuses to read for.
fn codes(folder: &Folder, entries: &str) -> (Vec<String>, i32) {
    folder.write("m.onnxtxt", model(entries).as_bytes());
    let arguments = ["--verify-checksums", "--format", "short", "m.onnxtxt"];
    let found = folder.run(&[&["check"], &arguments[..]].concat());
    let code = |line: &str| line.split_once('[').map(|(_, rest)| rest[..5].to_owned());
    let convert = ["convert", "--weights", "inline", "-o", "out.onnx"];
    let converted = folder.run(&[&convert[..], &arguments[..]].concat());
    (found.text().lines().filter(|line| !line.contains("note")).filter_map(code).collect(), converted.code)
}

#[test]
fn what_is_wrong_with_files_is_found() {
    let folder = Folder::new(&[("w.bin", &[0, 0, 128, 63, 0, 0, 0, 64]), ("short.bin", &[0; 4])]);
    std::fs::create_dir(folder.path("folder")).unwrap();
    // SHA-1 of w.bin, and of the empty string.
    let good = "\"checksum\": \"7f6e1d7de3ab2d47658382fc453ea1e6b73e05b1\"";
    let bad = "\"checksum\": \"da39a3ee5e6b4b0d3255bfef95601890afd80709\"";
    assert_eq!(codes(&folder, "\"location\": \"w.bin\""), (vec![], 0));
    assert_eq!(codes(&folder, &format!("\"location\": \"w.bin\", {good}")), (vec![], 0));
    for (entries, code) in [
        ("\"location\": \"none.bin\"", "E0603"),
        ("\"location\": \"folder\"", "E0603"),
        ("\"location\": \"short.bin\"", "E0608"),
        ("\"location\": \"w.bin\", \"offset\": \"100\"", "E0607"),
        ("\"location\": \"w.bin\", \"length\": \"100\"", "E0607"),
        ("\"location\": \"w.bin\", \"length\": \"4\"", "E0608"),
        ("\"location\": \"w.bin\", \"offset\": \"x\"", "E0606"),
        ("\"location\": \"../w.bin\"", "E0602"),
        ("\"location\": \"/etc/hostname\"", "E0602"),
        ("\"offset\": \"0\"", "E0601"),
        (&format!("\"location\": \"w.bin\", {bad}"), "E0610"),
    ] {
        assert_eq!(codes(&folder, entries), (vec![code.to_owned()], 1), "{entries}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_refused() {
    let outside = Folder::new(&[("secret", &[1; 8])]);
    let folder = Folder::new(&[]);
    std::os::unix::fs::symlink(outside.path("secret"), folder.path("soft")).unwrap();
    std::os::unix::fs::symlink(outside.path(""), folder.path("folder")).unwrap();
    std::fs::hard_link(outside.path("secret"), folder.path("hard")).unwrap();
    for location in ["soft", "folder/secret", "hard"] {
        let entries = format!("\"location\": \"{location}\"");
        assert_eq!(codes(&folder, &entries), (vec!["E0604".to_owned()], 1), "{location}");
    }
}

#[test]
fn weights_that_stay_behind_are_mentioned() {
    let folder =
        Folder::new(&[("w.bin", &[0; 8]), ("m.onnxtxt", model("\"location\": \"w.bin\"").as_bytes())]);
    std::fs::create_dir(folder.path("elsewhere")).unwrap();
    let done = folder.run(&["convert", "m.onnxtxt", "-o", "elsewhere/m.onnx"]).expect(0);
    assert!(done.stderr.contains("weights are still in w.bin"), "{}", done.stderr);
    let done = folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    assert!(done.stderr.is_empty(), "{}", done.stderr);
}

/// The codes of errors that `check` finds in a text; `run` and `convert --weights inline` refuse it as well.
fn refused(folder: &Folder, text: &str) -> Vec<String> {
    folder.write("m.onnxtxt", text.as_bytes());
    let found = folder.run(&["check", "--level", "spec", "--format", "short", "m.onnxtxt"]).expect(1);
    folder.run(&["convert", "m.onnxtxt", "-o", "out.onnx", "--weights", "inline"]).expect(1);
    folder.run(&["run", "m.onnxtxt", "--random", "-D", "N=2"]).expect(1);
    let code = |line: &str| line.split_once("error[").map(|(_, rest)| rest[..5].to_owned());
    found.said().lines().filter_map(code).collect()
}

#[test]
fn every_entry_about_a_file_counts() {
    let folder = Folder::new(&[("w.bin", &[0; 8]), ("v.bin", &[1; 8])]);
    let outside = "\"location\": \"w.bin\", \"location\": \"../w.bin\"";
    assert!(refused(&folder, &model(outside)).contains(&"E0602".to_owned()));
    let outside = "\"location\": \"../w.bin\", \"location\": \"w.bin\"";
    assert!(refused(&folder, &model(outside)).contains(&"E0602".to_owned()));
    // Readers differ in which of two counts.
    for two in [
        "\"location\": \"w.bin\", \"location\": \"v.bin\"",
        "\"location\": \"w.bin\", \"offset\": \"0\", \"offset\": \"4\"",
    ] {
        assert_eq!(refused(&folder, &model(two)), ["E0614"], "{two}");
    }
}

/// Every place of a model that a tensor can be at, as text with `DATA` for what a tensor of two floats has, and `INDEX` for
/// the bytes of a tensor of two integers.
const PLACES: [&str; 9] = [
    "g (float[2] x) => (float[2] y)\n<float[2] w = DATA>\n{\n    y = Add(x, w)\n}\n",
    "g (float[2] x) => (float[2] y)\n{\n    w = Constant<value = float[2] DATA>()\n    y = Add(x, w)\n}\n",
    "g (float[4] x) => (float[4] y)\n<sparse[4] w = {values = float[2] DATA, indices = int64[2] {0, 2}}>\n\
     {\n    y = Add(x, w)\n}\n",
    "g (float[4] x) => (float[4] y)\n<sparse[4] w = {values = float[2] {1, 2}, indices = int64[2] INDEX}>\n\
     {\n    y = Add(x, w)\n}\n",
    "g (float[4] x) => (float[4] y)\n<sparse[4] w = {values = float[2] DATA, indices = int64[2] INDEX}>\n\
     {\n    y = Add(x, w)\n}\n",
    "g (float[4] x) => (float[4] y)\n{\n    w = Constant<sparse_value = sparse [4] {values = float[2] DATA, \
     indices = int64[2] {0, 2}}>()\n    y = Add(x, w)\n}\n",
    "g (float[4] x) => (float[4] y)\n{\n    w = Constant<sparse_value = sparse [4] {values = float[2] {1, 2}, \
     indices = int64[2] INDEX}>()\n    y = Add(x, w)\n}\n",
    "g (float[2] x, bool c) => (float[2] y)\n{\n    y = If(c)<then_branch = t () => (float[2] a)\n\
     <float[2] w = DATA>\n{\n    a = Add(x, w)\n}, else_branch = e () => (float[2] b)\n{\n    \
     v = Constant<value = float[2] DATA>()\n    b = Sub(x, v)\n}>\n}\n",
    "g (float[2] x) => (float[2] y)\n{\n    y = local.f(x)\n}\n<domain: \"local\", opset_import: [\"\": 21]>\n\
     f (x) => (y)\n{\n    w = Constant<value = float[2] DATA>()\n    y = Add(x, w)\n}\n",
];

fn at(place: &str, data: &str, index: &str) -> String {
    let header = "<ir_version: 10, opset_import: [\"\": 21, \"local\": 1]>\n";
    header.to_owned() + &place.replace("DATA", data).replace("INDEX", index)
}

#[test]
fn no_place_of_a_model_leads_outside() {
    let outside = Folder::new(&[("w.bin", &[0; 8]), ("i.bin", &[0; 16])]);
    for place in PLACES {
        let folder = Folder::new(&[("w.bin", &[0; 8]), ("i.bin", &[0; 16])]);
        let away = |name: &str| format!("[\"location\": \"{}\"]", outside.path(name).display());
        let text = at(place, &away("w.bin"), &away("i.bin"));
        assert!(refused(&folder, &text).iter().all(|code| code == "E0602"), "{place}");
        // One of two that is sound does not hide the other.
        let text = at(place, "[\"location\": \"w.bin\"]", &away("i.bin"));
        if place.contains("INDEX") {
            assert_eq!(refused(&folder, &text), ["E0602"], "{place}");
        }
    }
}

#[test]
fn every_place_of_a_model_is_read_and_written() {
    let files: [(&str, &[u8]); 2] = [
        ("w.bin", &[0, 0, 128, 63, 0, 0, 0, 64]),
        ("i.bin", &[0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]),
    ];
    for place in PLACES {
        let folder = Folder::new(&files);
        folder.write("in.onnxtxt", at(place, "{1, 2}", "{0, 2}").as_bytes());
        let (data, index) = ("[\"location\": \"w.bin\"]", "[\"location\": \"i.bin\"]");
        folder.write("ex.onnxtxt", at(place, data, index).as_bytes());
        folder.run(&["check", "--level", "spec", "ex.onnxtxt"]).expect(0);
        let run = |name: &str| {
            folder.run(&["run", "--unchecked", name, "--random", "--seed", "1"]).expect(0).stdout
        };
        let expected = run("in.onnxtxt");
        assert_eq!(run("ex.onnxtxt"), expected, "{place}");
        folder.run(&["convert", "ex.onnxtxt", "-o", "inline.onnx", "--weights", "inline"]).expect(0);
        std::fs::remove_file(folder.path("w.bin")).unwrap();
        assert_eq!(run("inline.onnx"), expected, "{place}");
    }
}

/// Large parts of sparse tensors go beside a text like others, and come back.
#[test]
fn parts_of_sparse_tensors_go_beside_a_text_and_come_back() {
    let list = |of: &dyn Fn(usize) -> String| (0..10_000).map(of).collect::<Vec<_>>().join(", ");
    let (values, indices) = (list(&|i| format!("{i}.5")), list(&|i| (2 * i).to_string()));
    let sparse = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[20000] x) => (float[20000] y)\n<sparse[20000] w = \
         {{values = float[10000] {{{values}}}, indices = int64[10000] {{{indices}}}}}>\n{{\n    y = Add(x, w)\n}}\n"
    );
    let model = crate::binary(&sparse);
    let folder = Folder::new(&[("m.onnx", &model)]);
    folder.run(&["convert", "m.onnx", "-o", "m.onnxtxt"]).expect(0);
    assert!(folder.read("m.onnxtxt").len() < 2_000, "the parts are beside the text");
    folder.run(&["check", "--level", "spec", "m.onnxtxt"]).expect(0);
    folder.run(&["convert", "m.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == model);
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_never_waited_for() {
    let folder = Folder::new(&[]);
    std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    std::os::unix::fs::symlink("/dev", folder.path("devices")).unwrap();
    for (location, code) in [("pipe", "E0603"), ("socket", "E0603"), ("devices/zero", "E0604")] {
        let entries = format!("\"location\": \"{location}\"");
        assert_eq!(codes(&folder, &entries), (vec![code.to_owned()], 1), "{location}");
    }
}

/// A folder is swapped for a link to another again and again: what is read is never from there.
#[cfg(unix)]
#[test]
fn a_folder_that_is_swapped_for_a_link_leaks_nothing() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let outside = Folder::new(&[("w.bin", b"SECRET!!")]);
    let folder = Folder::new(&[]);
    std::fs::create_dir(folder.path("real")).unwrap();
    folder.write("real/w.bin", &[0; 8]);
    std::os::unix::fs::symlink(outside.path(""), folder.path("link")).unwrap();
    folder.write("m.onnxtxt", model("\"location\": \"sub/w.bin\"").as_bytes());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                _ = std::fs::rename(folder.path("real"), folder.path("sub"));
                _ = std::fs::rename(folder.path("sub"), folder.path("real"));
                _ = std::fs::rename(folder.path("link"), folder.path("sub"));
                _ = std::fs::rename(folder.path("sub"), folder.path("link"));
            }
        });
        for _ in 0..60 {
            let done =
                folder.run(&["convert", "m.onnxtxt", "-o", "-", "--to", "binary", "--weights", "inline"]);
            assert!(!done.stdout.windows(6).any(|word| word == b"SECRET"));
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
