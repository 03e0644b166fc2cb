//! `infer --why` and `infer --json`.

use crate::{Folder, binary};
use serde_json::Value;

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>
g (float[N,2,3] x, float[3] b, bool c) => (float[M,6] y, float[7,3] bad)
<int64[2] six = {0, 6}>
{
    t = Add(x, b)
    y = Reshape(t, six)
    i = NonZero(x)
    j = l.f(i)
    d = If(c) <then_branch = a () => (p) { p = Relu(x) }, else_branch = e () => (q) { q = Abs(x) }>
    [clip] z = Clip(d, , six)
    bad = Relu(t)
}
<domain: \"l\", opset_import: [\"\": 21]>
f (a) => (r) { r = Transpose(a) }
";

#[test]
fn a_derivation_goes_back_to_inputs_and_stored_tensors() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let shown = folder.run(&["infer", "--why", "y", "m.onnxtxt"]).expect(0);
    let expected = "\
y: float[N,6]
  m.onnxtxt:6:5: computed by ai.onnx.Reshape, version 21
  element type: the type variable T, bound by `t`
  shape: the rule of the operator, from the shape of `t`, `six`; the elements of `six`; allowzero = 0
  from `t` float[N,2,3], `six` int64[2] {0, 6}
  declared float[M,6] at m.onnxtxt:2:44, which agrees
  `N` is a dimension of the input `x`, m.onnxtxt:2:4

t: float[N,2,3]
  m.onnxtxt:5:5: computed by ai.onnx.Add, version 14
  element type: the type variable T, bound by `x`
  shape: the rule of the operator: its inputs broadcast
  from `x` float[N,2,3], `b` float[3]
  `N` is a dimension of the input `x`, m.onnxtxt:2:4

six: int64[2] {0, 6}
  m.onnxtxt:3:2: a stored tensor

x: float[N,2,3]
  m.onnxtxt:2:4: an input

b: float[3]
  m.onnxtxt:2:20: an input
";
    assert_eq!(shown.text(), expected);
    let short = folder.run(&["infer", "--why", "y", "--most", "2", "m.onnxtxt"]).expect(0);
    assert!(short.text().ends_with("… and the derivations of 3 more values: `--most N` shows more\n"));
}

#[test]
fn calls_branches_and_data_are_followed() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let why = |value| folder.run(&["infer", "--why", value, "m.onnxtxt"]).expect(0).text().to_owned();
    let call = why("j");
    for part in [
        "j: int64[i,3]\n  m.onnxtxt:8:5: the result of a call of the function l.f\n",
        "  from `i` int64[3,i], `r` int64[i,3]\n  `i` is introduced by `i`, m.onnxtxt:7:5: it depends on data\n",
        "  element type: tensor(int64), always\n",
        "  m.onnxtxt:14:4: an input of the function f, the common type of all calls\n",
    ] {
        assert!(call.contains(part), "{part}\n{call}");
    }
    let branch = why("d");
    assert!(branch.contains("  from `c` bool, `p` float[N,2,3], `q` float[N,2,3]\n"), "{branch}");
    // An input that is omitted has no number among those that the result is from.
    let clip = why("clip");
    assert!(clip.starts_with("z: ") && clip.contains("from `d` float[N,2,3], `six`"), "{clip}");
    assert!(why("bad").contains("  declared float[7,3] at m.onnxtxt:2:58, which does not agree\n"));
    let unknown = folder.run(&["infer", "--why", "sixx", "m.onnxtxt"]).expect(2);
    assert!(unknown.stderr.contains("did you mean `six`?"), "{}", unknown.stderr);
}

#[test]
fn programs_get_json() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes()), ("m.onnx", &binary(MODEL))]);
    for file in ["m.onnxtxt", "m.onnx"] {
        let document = folder.run(&["infer", "--why", "y", "--json", file]).expect(0);
        let document: Value = serde_json::from_str(document.text()).unwrap();
        let first = &document["steps"][0];
        assert_eq!(first["value"]["type"], "float[N,6]");
        assert_eq!(first["how"]["operator"], "ai.onnx.Reshape");
        assert_eq!(first["how"]["elements_of"], Value::from(vec![1]));
        assert_eq!(first["declared"][0]["agrees"], true);
        assert!(first["place"]["line"].is_number() && first["place"]["file"] == file);
        assert!(document["steps"].as_array().unwrap().iter().all(|step| step["place"]["file"] == file));
        let facts = folder.run(&["infer", "--json", file]).expect(1);
        let facts: Value = serde_json::from_str(facts.text()).unwrap();
        let of = |name: &str| facts.as_array().unwrap().iter().find(|f| f["name"] == name).unwrap();
        assert_eq!(of("t")["shape"], serde_json::json!(["N", 2, 3]));
        assert!(
            facts
                .as_array()
                .unwrap()
                .iter()
                .all(|fact| fact["file"] == file && fact.get("line") != Some(&Value::Null))
        );
        assert!(of("x")["line"].is_number() && of("six")["line"].is_number());
        assert_eq!((&of("six")["known"], &of("x")["known"]), (&"stored".into(), &"declared".into()));
        assert_eq!(of("r")["function"], "l.f");
    }
}

#[test]
fn a_formula_that_is_not_computed_does_not_agree() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                g (float[H] x) => (float[\"H*4\"] y)\n{\n    y = Concat <axis = 0> (x, x, x)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let shown = folder.run(&["infer", "--why", "y", "m.onnxtxt"]).expect(0);
    assert!(shown.text().contains("which agrees only if H*4 = H*3"), "{}", shown.text());
    let shown = folder.run(&["infer", "--why", "y", "--json", "m.onnxtxt"]).expect(0);
    let document: Value = serde_json::from_str(shown.text()).unwrap();
    assert_eq!(document["steps"][0]["declared"][0]["agrees"], false);
    assert_eq!(document["steps"][0]["declared"][0]["only_where"], "H*4 = H*3");
}

#[test]
fn symbols_in_place_of_which_there_are_numbers_are_told() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                g (float[2,128] x) => (float[N] y)\n<int64[1] s = {-1}>\n{\n    y = Reshape(x, s)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let made = folder.run(&["infer", "m.onnxtxt"]).expect(0);
    assert!(made.text().contains("=> (float[256] y)"), "{}", made.text());
    assert!(made.stderr.contains("axis 0 of `y` is declared as `N` and inferred as 256"), "{}", made.stderr);
}

#[test]
fn floats_have_the_digits_of_their_type_and_the_last_nodes_come_first() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>\n\
                g (float[N] x) => (float[N] y)\n<float a = {0.1}, double b = {0.1}, float16 c = {0.1}>\n{\n\
                early = Neg(x)\n    one = Identity(a)\n    p = l.f(one)\n    q = Neg(p)\n    y = Mul(early, q)\n\
                d = Identity(b)\n    e = Identity(c)\n}\n<domain: \"l\", opset_import: [\"\": 21]>\nf (i) => (o) { m = Identity(i) o = Identity(m) }\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let why = |value| folder.run(&["infer", "--why", value, "m.onnxtxt"]).expect(0).text().to_owned();
    assert!(why("one").starts_with("one: float {0.1}\n"), "{}", why("one"));
    assert!(why("d").starts_with("d: double {0.1}\n"), "{}", why("d"));
    assert!(why("e").starts_with("e: float16 {0.1}\n"), "{}", why("e"));
    // Nearest first would have `early` before `p`, and `x` before the body of the function.
    let all = why("y");
    let steps: Vec<&str> = all.split("\n\n").filter_map(|step| step.split(':').next()).collect();
    assert_eq!(steps, ["y", "q", "p", "o", "m", "i", "one", "early", "a", "x"], "{all}");
}
