//! Weights in files: only those below the model's folder are read, and what is wrong with them is told.

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
    (found.text().lines().filter_map(code).collect(), converted.code)
}

#[test]
fn what_is_wrong_with_files_is_found() {
    let folder = Folder::new(&[("w.bin", &[0, 0, 128, 63, 0, 0, 0, 64]), ("short.bin", &[0; 4])]);
    std::fs::create_dir(folder.path("folder")).unwrap();
    // SHA-1 of w.bin, and of nothing.
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
    assert!(done.stderr.contains("stay in w.bin"), "{}", done.stderr);
    let done = folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    assert!(done.stderr.is_empty(), "{}", done.stderr);
}
