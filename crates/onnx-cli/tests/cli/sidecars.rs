//! Files that are written beside a result: nothing outside of its folder, nothing that something else needs, and always
//! the one that belongs to it.

use crate::{Folder, SOUND, binary, weighty};

/// Two models of the same form with other weights, as `a.onnx` and `b.onnx`.
fn two_models() -> Folder {
    Folder::new(&[("a.onnx", &binary(&weighty(0, 10_000))), ("b.onnx", &binary(&weighty(7, 10_000)))])
}

#[cfg(unix)]
#[test]
fn what_is_written_beside_a_result_follows_no_link() {
    use std::os::unix::fs::symlink;
    let outside = Folder::new(&[("victim", b"precious"), ("m.onnxtxt", SOUND.as_bytes())]);
    let folder = two_models();
    symlink(outside.path("victim"), folder.path("o.onnxtxt.data")).unwrap();
    let refused = folder.run(&["convert", "a.onnx", "-o", "o.onnxtxt"]).expect(2);
    assert!(refused.stderr.contains("o.onnxtxt.data is a link"), "{}", refused.stderr);
    symlink(outside.path(""), folder.path("f.onnx.weights")).unwrap();
    let refused = folder.run(&["convert", "a.onnx", "-o", "f.onnx", "--weights", "files"]).expect(2);
    assert!(refused.stderr.contains("f.onnx.weights is a link"), "{}", refused.stderr);
    assert_eq!(outside.read("victim"), b"precious");
    assert_eq!(outside.names(), ["m.onnxtxt", "victim"]);
    assert!(!folder.path("o.onnxtxt").exists() && !folder.path("f.onnx").exists());
}

#[cfg(unix)]
#[test]
fn output_through_a_link_can_be_read_by_that_path() {
    let folder = two_models();
    std::fs::create_dir(folder.path("real")).unwrap();
    folder.write("real/there.onnxtxt", SOUND.as_bytes());
    for (link, to) in [("old.onnxtxt", "real/there.onnxtxt"), ("new.onnxtxt", "real/new-there.onnxtxt")] {
        std::os::unix::fs::symlink(to, folder.path(link)).unwrap();
        folder.run(&["convert", "a.onnx", "-o", link]).expect(0);
        assert!(std::fs::symlink_metadata(folder.path(link)).unwrap().is_symlink());
        assert!(folder.path(&format!("{to}.data")).exists(), "{to}");
        for path in [link, to] {
            folder.run(&["check", path]).expect(0);
            folder.run(&["convert", path, "-o", "back.onnx"]).expect(0);
            assert!(folder.read("back.onnx") == folder.read("a.onnx"), "{path}");
        }
    }
}

#[test]
fn weights_of_another_model_are_not_replaced() {
    let folder = two_models();
    folder.run(&["convert", "a.onnx", "-o", "new.onnxtxt"]).expect(0);
    let weights = folder.read("new.onnxtxt.data");
    std::fs::rename(folder.path("new.onnxtxt"), folder.path("user.onnxtxt")).unwrap();
    for old in [None, Some(SOUND)] {
        if let Some(old) = old {
            folder.write("new.onnxtxt", old.as_bytes());
        }
        let refused = folder.run(&["convert", "b.onnx", "-o", "new.onnxtxt"]).expect(2);
        assert!(
            refused.stderr.contains("new.onnxtxt.data") && refused.stderr.contains("--weights inline"),
            "{}",
            refused.stderr
        );
        assert!(folder.read("new.onnxtxt.data") == weights);
    }
    // Equal weights replace nothing.
    folder.run(&["convert", "a.onnx", "-o", "new.onnxtxt"]).expect(0);
    // Now the text uses them.
    folder.run(&["convert", "b.onnx", "-o", "new.onnxtxt"]).expect(0);
    assert!(folder.read("new.onnxtxt.data") != weights);
    folder.run(&["convert", "new.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == folder.read("b.onnx"));
    assert!(!folder.names().iter().any(|name| name.starts_with('.')), "{:?}", folder.names());
}

#[test]
fn weights_that_the_input_reads_are_not_replaced() {
    let folder = two_models();
    folder.run(&["convert", "a.onnx", "-o", "k.onnx", "--weights", "sidecar"]).expect(0);
    let weights = folder.read("k.onnx.data");
    let refused = folder.run(&["convert", "k.onnx", "-o", "k.onnx.data", "--to", "binary"]).expect(2);
    assert!(refused.stderr.contains("k.onnx.data"), "{}", refused.stderr);
    let refused = folder
        .run(&["convert", "k.onnx", "-o", "k.onnx.data", "--to", "text", "--weights", "inline"])
        .expect(2);
    assert!(refused.stderr.contains("k.onnx.data"), "{}", refused.stderr);
    // Another name of the same file.
    std::fs::hard_link(folder.path("k.onnx.data"), folder.path("other")).unwrap();
    folder.run(&["convert", "k.onnx", "-o", "other", "--to", "json"]).expect(2);
    assert!(folder.read("k.onnx.data") == weights && folder.read("other") == weights);
}

#[test]
fn every_spelling_of_ones_own_weights_is_known() {
    let folder = two_models();
    let small = weighty(0, 10_000)
        .replace("w = {1, 2}", "w = {1, 2}, float[2] own = [\"location\": \"./own.onnxtxt.data\"]");
    folder.write("in.onnxtxt", small.as_bytes());
    folder.write("own.onnxtxt.data", &[1, 0, 128, 63, 0, 0, 0, 64]);
    let refused = folder.run(&["convert", "in.onnxtxt", "-o", "own.onnxtxt"]).expect(2);
    assert!(refused.stderr.contains("own.onnxtxt.data"), "{}", refused.stderr);
    assert_eq!(folder.read("own.onnxtxt.data"), [1, 0, 128, 63, 0, 0, 0, 64]);
}

#[test]
fn a_text_is_changed_in_place_with_its_weights() {
    let folder = two_models();
    folder.run(&["convert", "a.onnx", "-o", "m.onnxtxt"]).expect(0);
    let text = String::from_utf8(folder.read("m.onnxtxt")).unwrap();
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnxtxt", "--in-place"]).expect(0);
    assert_eq!(String::from_utf8(folder.read("m.onnxtxt")).unwrap(), text);
    folder.run(&["convert", "m.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == folder.read("a.onnx"));
}

#[test]
fn a_text_with_the_weights_of_another_is_refused() {
    let folder = two_models();
    folder.run(&["convert", "a.onnx", "-o", "a.onnxtxt"]).expect(0);
    folder.run(&["convert", "b.onnx", "-o", "b.onnxtxt"]).expect(0);
    std::fs::copy(folder.path("b.onnxtxt.data"), folder.path("a.onnxtxt.data")).unwrap();
    for command in [
        &["check", "a.onnxtxt"][..],
        &["run", "a.onnxtxt", "--random", "-D", "N=2"],
        &["convert", "a.onnxtxt", "-o", "back.onnx"],
    ] {
        let refused = folder.run(command).expect(1);
        assert!(refused.said().contains("E0610"), "{}", refused.said());
    }
    assert!(!folder.path("back.onnx").exists());
}

/// For any two concurrent programs: a text and weights that belong to it.
#[test]
fn two_programs_that_write_the_same_text_leave_one_of_the_two() {
    let folder = two_models();
    let convert = |from: &str| folder.start(&["convert", from, "-o", "out.onnxtxt"]);
    for _ in 0..20 {
        let mut both = [convert("a.onnx"), convert("b.onnx")];
        both.iter_mut().for_each(|child| _ = child.wait().unwrap());
        folder.run(&["convert", "out.onnxtxt", "-o", "back.onnx"]).expect(0);
        let back = folder.read("back.onnx");
        assert!(back == folder.read("a.onnx") || back == folder.read("b.onnx"));
        std::fs::remove_file(folder.path("back.onnx")).unwrap();
    }
    assert_eq!(folder.names(), ["a.onnx", "b.onnx", "out.onnxtxt", "out.onnxtxt.data"]);
}

#[cfg(unix)]
#[test]
fn new_files_are_no_more_readable_than_what_was_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = two_models();
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    let set = |name: &str, mode: u32| {
        std::fs::set_permissions(folder.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a.onnx", 0o600);
    folder.run(&["convert", "a.onnx", "-o", "a.onnxtxt"]).expect(0);
    folder.run(&["convert", "a.onnx", "-o", "f.onnx", "--weights", "files"]).expect(0);
    assert_eq!(
        (mode("a.onnxtxt"), mode("a.onnxtxt.data"), mode("f.onnx.weights/0.bin")),
        (0o600, 0o600, 0o600)
    );
    // The files of weights count too.
    set("a.onnxtxt", 0o644);
    folder.run(&["convert", "a.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert_eq!(mode("back.onnx"), 0o600);
    folder.run(&["run", "a.onnxtxt", "--random", "-D", "N=2", "-o", "y.npz"]).expect(0);
    assert_eq!(mode("y.npz"), 0o600);
}
