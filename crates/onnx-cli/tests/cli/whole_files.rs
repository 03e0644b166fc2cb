//! A file is the old one or the new one, never a part.

use crate::{Folder, SOUND, binary, long_model};
use std::time::Duration;

#[test]
fn the_input_is_replaced_in_place_only() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes()), ("other.onnx", b"old")]);
    let refused = folder.run(&["convert", "m.onnxtxt", "-o", "./m.onnxtxt"]).expect(2);
    assert!(refused.stderr.contains("--in-place"), "{}", refused.stderr);
    assert_eq!(folder.read("m.onnxtxt"), SOUND.as_bytes());
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnxtxt", "--in-place", "--to", "binary"]).expect(0);
    assert_eq!(folder.read("m.onnxtxt"), binary(SOUND));
    folder.run(&["convert", "m.onnxtxt", "-o", "other.onnx"]).expect(0);
    assert_eq!(folder.read("other.onnx"), binary(SOUND));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_replaced_is_refused() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes()), ("old.onnx", b"old")]);
    let mut permissions = std::fs::metadata(folder.path("old.onnx")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.path("old.onnx"), permissions).unwrap();
    let refused = folder.run(&["convert", "m.onnxtxt", "-o", "old.onnx"]).expect(2);
    assert!(refused.stderr.contains("read-only"), "{}", refused.stderr);
    std::fs::create_dir(folder.path("folder.onnx")).unwrap();
    let refused = folder.run(&["convert", "m.onnxtxt", "-o", "folder.onnx"]).expect(2);
    assert!(refused.stderr.contains("is a folder"), "{}", refused.stderr);
    assert_eq!((folder.read("old.onnx"), folder.names().len()), (b"old".to_vec(), 3));
}

/// Kills the program at many moments.
#[test]
fn a_killed_program_leaves_a_whole_file() {
    let folder = Folder::new(&[("m.onnxtxt", long_model(30_000).as_bytes())]);
    let old = binary(SOUND);
    let new = binary(&long_model(30_000));
    let (mut olds, mut news) = (0, 0);
    for moment in 0..40 {
        folder.write("out.onnx", &old);
        let mut child = folder.start(&["convert", "m.onnxtxt", "-o", "out.onnx"]);
        std::thread::sleep(Duration::from_millis(5 * moment));
        _ = child.kill();
        _ = child.wait();
        let content = folder.read("out.onnx");
        olds += usize::from(content == old);
        news += usize::from(content == new);
    }
    assert_eq!(olds + news, 40, "{olds} old, {news} new");
    assert!(olds > 0, "no run was killed early enough");
}
