//! Values in files of arrays: what `run` writes it reads, and names and types that NumPy does not have.

use crate::Folder;

fn model(graph: &str) -> Vec<u8> {
    format!("<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.ml\": 3]>\n{graph}").into_bytes()
}

/// An array as NumPy writes it.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

#[test]
fn a_value_that_is_two_outputs_is_written_and_compared() {
    let folder = Folder::new(&[
        ("m.onnxtxt", &model("g (float[2] x) => (float[2] y, float[2] y) { y = Neg(x) }")),
        ("x.onnxtxt", b"float[2] x = {1, -2}"),
        ("z.onnxtxt", &model("g (float[2] y) => (float[2] z) { z = Neg(y) }")),
    ]);
    let line = "float[2] y = {-1, 2}\n";
    assert_eq!(folder.run(&["run", "m.onnxtxt", "-i", "x.onnxtxt"]).expect(0).text(), line.repeat(2));
    folder.run(&["run", "m.onnxtxt", "-i", "x.onnxtxt", "-o", "y.npz", "--output-dir", "out"]).expect(0);
    assert_eq!(folder.run(&["run", "z.onnxtxt", "-i", "y.npz"]).expect(0).text(), "float[2] z = {1, -2}\n");
    for i in 0..2 {
        let done = folder.run(&["print", &format!("out/output_{i}.pb")]).expect(0);
        assert!(done.text().ends_with(line), "{}", done.text());
    }
    folder.run(&["verify", "m.onnxtxt", "m.onnxtxt", "-i", "x.onnxtxt"]).expect(0);
    folder.run(&["compare", "m.onnxtxt", "m.onnxtxt", "-i", "x.onnxtxt"]).expect(0);
    folder.run(&["repro", "m.onnxtxt", "-i", "x.onnxtxt", "-o", "bug"]).expect(0);
    folder.run(&["run", "bug/model.onnxtxt", "-i", "bug/inputs.npz"]).expect(0);
    folder.run(&["test", "--record", "m.onnxtxt", "-i", "x.onnxtxt"]).expect(0);
}

#[test]
fn sequences_and_maps_in_archives_are_given_again() {
    let folder = Folder::new(&[
        (
            "write.onnxtxt",
            &model(
                "g (float[4] x, float[1,2] s) => (seq(float[2]) y, seq(map(int64, float)) m, seq(float) e, optional(float[4]) o, optional(float[4]) n) {
                    y = SplitToSequence <axis = 0> (x, two)  m = ai.onnx.ml.ZipMap <classlabels_int64s = [7, 8]> (s)
                    e = SequenceEmpty()  o = Optional(x)  n = Optional <type = float[4]> ()
                 }"
                .replace("optional(float[4]) n) {", "optional(float[4]) n)\n<int64 two = {2}> {")
                .as_str(),
            ),
        ),
        (
            "read.onnxtxt",
            &model(
                "g (seq(float[N]) y, seq(map(int64, float)) m, seq(float) e, optional(float[4]) o, optional(float[4]) n)
                 => (float[M] z, seq(map(int64, float)) m, int64 count, bool has, bool hasn't) {
                    z = ConcatFromSequence <axis = 0> (y)  count = SequenceLength(e)
                    has = OptionalHasElement(o)  \"hasn't\" = OptionalHasElement(n)
                 }"
                .replace("bool hasn't", "bool \"hasn't\"")
                .as_str(),
            ),
        ),
        ("x.onnxtxt", b"float[4] x = {1, 2, 3, 4}"),
        ("s.onnxtxt", b"float[1,2] s = {0.25, 0.75}"),
    ]);
    let given = ["-i", "x.onnxtxt", "-i", "s.onnxtxt"];
    folder.run(&[&["run", "write.onnxtxt", "-o", "out.npz"], &given[..]].concat()).expect(0);
    let done = folder.run(&["run", "read.onnxtxt", "-i", "out.npz"]).expect(0);
    for part in [
        "z = {1, 2, 3, 4}",
        "keys = [7, 8]",
        "float {0.75}",
        "int64 count = {0}",
        "bool has = {1}",
        "bool \"hasn't\" = {0}",
    ] {
        assert!(done.text().contains(part), "{part}: {}", done.text());
    }
    // A reproduction has inputs of every type.
    folder.run(&["repro", "read.onnxtxt", "-i", "out.npz", "-o", "bug"]).expect(0);
    folder.run(&["run", "bug/model.onnxtxt", "-i", "bug/inputs.npz"]).expect(0);
}

/// NumPy has no type for these: the model says what the arrays are.
#[test]
fn recorded_tests_read_types_that_numpy_lacks_from_archives() {
    for elem in ["bfloat16", "float8e4m3fn", "float8e5m2", "int4", "uint4", "float4e2m1", "int2"] {
        let text = format!(
            "<ir_version: 13, opset_import: [\"\": 25]>
            g ({elem}[400] x) => ({elem}[400] y) {{ y = Identity(x) }}"
        );
        let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
        folder.run(&["test", "--record", "m.onnxtxt"]).expect(0);
        assert!(folder.names().contains(&"m.test.inputs.npz".to_owned()), "{elem}: {:?}", folder.names());
        folder.run(&["test", "m.test.onnxtxt"]).expect(0);
    }
}

#[test]
fn recorded_tests_read_sequences_from_archives() {
    let many: Vec<u8> = (0..1200u16).flat_map(|i| (f32::from(i) / 8.0).to_le_bytes()).collect();
    let folder = Folder::new(&[
        (
            "s.onnxtxt",
            &model(
                "g (float[1200] x) => (seq(float[600]) y) <int64 n = {600}> { y = SplitToSequence(x, n) }",
            ),
        ),
        ("m.onnxtxt", &model("g (seq(float[N]) y) => (seq(float[N]) z) { z = Identity(y) }")),
        ("x.npy", &npy("<f4", "(1200,)", &many)),
    ]);
    folder.run(&["run", "s.onnxtxt", "-i", "x=x.npy", "-o", "y.npz"]).expect(0);
    folder.run(&["test", "--record", "m.onnxtxt", "-i", "y.npz"]).expect(0);
    let archive = std::fs::read_dir(folder.path("")).unwrap().flatten();
    assert!(
        archive
            .map(|entry| entry.file_name())
            .any(|name| name.to_string_lossy().ends_with(".test.inputs.npz"))
    );
    folder.run(&["test", "."]).expect(0);
}

#[test]
fn arrays_of_one_name_are_refused() {
    let folder = Folder::new(&[
        (
            "m.onnxtxt",
            &model(
                "g (float[2] x) => (seq(float[2]) y, float[2] \"y.0\") { y = SequenceConstruct(x)  \"y.0\" = Neg(x) }",
            ),
        ),
        ("x.onnxtxt", b"float[2] x = {1, -2}"),
    ]);
    let done = folder.run(&["run", "m.onnxtxt", "-i", "x.onnxtxt", "-o", "out.npz"]).expect(2);
    let message =
        "two arrays would have the name `y.0` in out.npz: write the values as files with `--output-dir`";
    assert!(done.stderr.contains(message), "{}", done.stderr);
    assert!(!folder.path("out.npz").exists());
    folder.run(&["run", "m.onnxtxt", "-i", "x.onnxtxt", "--output-dir", "out"]).expect(0);
}

#[test]
fn names_of_inputs_may_contain_an_equals_sign() {
    let data = [1.0f32, 2.0].map(f32::to_le_bytes).concat();
    let folder = Folder::new(&[
        ("m.onnxtxt", &model("g (float[2] x, float[2] \"x=1\") => (float[2] y) { y = Sub(x, \"x=1\") }")),
        ("a.npy", &npy("<f4", "(2,)", &data)),
        ("b.npy", &npy("<f4", "(2,)", &[0; 8])),
    ]);
    std::fs::copy(folder.path("a.npy"), folder.path("1=a.npy")).unwrap();
    for (x, other, expected) in [
        ("x=a.npy", "x=1=b.npy", "{1, 2}"),
        ("x=b.npy", "x=1=a.npy", "{-1, -2}"),
        // A path that could belong to the name.
        ("x=./1=a.npy", "x=1=./1=a.npy", "{0, 0}"),
    ] {
        let done = folder.run(&["run", "m.onnxtxt", "-i", x, "-i", other]).expect(0);
        assert_eq!(done.text(), format!("float[2] y = {expected}\n"), "{x} {other}");
    }
    let help = folder.run(&["run", "--help"]).expect(0);
    assert!(help.text().contains("x=./1=x.npy"), "{}", help.text());
}

#[test]
fn elements_of_less_than_a_byte_are_read_as_ml_dtypes_writes_them() {
    for (ty, bytes, expected) in [
        ("int4", [14, 15, 0, 7], "{-2, -1, 0, 7}"),
        ("uint4", [14, 15, 0, 7], "{14, 15, 0, 7}"),
        ("int2", [2, 3, 0, 1], "{-2, -1, 0, 1}"),
        ("uint2", [2, 3, 0, 1], "{2, 3, 0, 1}"),
    ] {
        let graph = format!("g ({ty}[4] x) => (int32[4] y) {{ y = Cast <to = 6> (x) }}");
        let text = format!("<ir_version: 13, opset_import: [\"\": 25]>\n{graph}");
        let folder = Folder::new(&[("m.onnxtxt", text.as_bytes()), ("x.npy", &npy("<V1", "(4,)", &bytes))]);
        let done = folder.run(&["run", "m.onnxtxt", "-i", "x=x.npy"]).expect(0);
        assert_eq!(done.text(), format!("int32[4] y = {expected}\n"), "{ty}");
        folder.write("m.onnxtxt", &model("g (float[4] x) => (float[4] y) { y = Neg(x) }"));
        let done = folder.run(&["run", "m.onnxtxt", "-i", "x=x.npy"]);
        assert_eq!(done.code, 2, "{}", done.stderr);
        assert!(done.stderr.contains("write the array with `.astype(\"float32\")`"), "{}", done.stderr);
    }
}
