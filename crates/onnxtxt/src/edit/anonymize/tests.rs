//! Tests of the parts of a model that stay, and of those that do not.

use super::weights::rough;
use super::*;
use onnx_exec::{Random, Tensor};
use onnx_ops::opset::registry_of;

const TEXT: &str = r#"<ir_version: 10, opset_import: ["": 21, "com.acme": 1, "com.secret": 3], producer_name: "acme", doc_string: "for ads">
acme_ranker (float[users,64] clicks, float["2*users"] extra) => (float[users,1] ctr, string[1] label)
<float[64,1] ctr_w = {0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25,
 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25,
 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25,
 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25}, int64[2] shape = {-1, 1}> {
    [ad_score] s = MatMul(clicks, ctr_w)
    r = com.acme.ranker <slope_x = 0.5> (s)
    q = com.secret.Magic <password = "hunter2", n = 3> (r)
    ctr = Reshape <allowzero = 0> (q, shape)
    label = Constant <value_strings = ["click"]> ()
}
<domain: "com.acme", opset_import: ["": 21]> ranker <slope_x> (a) => (b) { b = LeakyRelu <alpha: float = @slope_x> (a) }
"#;

fn anonymous(options: Anonymize) -> String {
    let mut model = onnx_text::read_model(TEXT).value;
    let registry = registry_of(&model.clone());
    anonymize(&mut model, registry, options).unwrap();
    crate::Text::new(&model, &onnx_text::RaiseOptions::default()).to_text()
}

#[test]
fn nothing_of_the_owner_is_left_and_the_structure_stays() {
    let text = anonymous(Anonymize { keep_weights: false, seed: 0 });
    for word in [
        "acme", "ads", "click", "ctr", "user", "secret", "Magic", "hunter", "password", "slope", "rank",
        "extra",
    ] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    for part in [
        "graph_0 (float[dim_0,64] input_0, float",
        "2*dim_0",
        "float[dim_0,1] output_0,",
        "{-1, 1}",
        "[node_0]",
        "domain_0.function_0 <attribute_0 = 0.5>",
        "@attribute_0",
        "domain_1.Operator_0",
        "Reshape <allowzero = 0>",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("0.5, 0.25, 0.5"), "{text}");
    assert_eq!(text, anonymous(Anonymize { keep_weights: false, seed: 0 }));
}

/// Numbers wherever a model can have them: those of the owner go, and those that the structure needs stay.
#[test]
fn numbers_of_the_owner_are_replaced_wherever_they_are() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3, "com.acme": 1], model_version: 4711>
g (float[2,3] x, bool c) => (float[2,3] y, float[2,1] t, float[2,3] z, float[3,2] v, int64[3] k, float[2,4711] h)
<int64[3] ids = {4711, 4713, 49990}, int64[2] shape = {3, 2}, bool[6] mask = {1, 0, 0, 1, 0, 1}, int64 token = {4711}> {
    s = ai.onnx.ml.Scaler <offset = [47.11, 900.5, -3.25], scale = [0.4711, 9.5, -3.25]> (x)
    b = ai.onnx.ml.Binarizer <threshold = 0.4711> (s)
    t = ai.onnx.ml.LinearRegressor <coefficients = [4.711, 912.5, -3.25], intercepts = [47.11]> (b)
    e = ai.onnx.ml.LabelEncoder <keys_int64s = [4711, 4999], values_floats = [0.4711, 9.5]> (ids)
    five = Constant <value_floats = [0.4711, 9.5, -8.5, 3.5, 2.5, 1.5]> ()
    form = Constant <value_ints = [2, 3]> ()
    f = Reshape(five, form)
    y = Add(x, f)
    n = Constant <value_int = 3> ()
    d = Constant <value = int64[1] {2}> ()
    n1 = Reshape(n, one)
    both = Concat <axis = 0> (n1, d)
    v = Reshape(x, both)
    one = Constant <value_ints = [1]> ()
    w = Reshape(mask, form)
    z = Where(w, x, f)
    k = Add(ids, token)
    wide = Constant <value_ints = [2, 4711]> ()
    scalar = Constant <value_float = 0.5> ()
    h = Expand(scalar, wide)
    l = com.acme.Secret <limits = [47.11, -47.5]> (e, shape)
}
"#;
    let mut model = onnx_text::read_model(text).value;
    onnx_ir::pass::topological_sort(&mut model);
    let registry = registry_of(&model.clone());
    anonymize(&mut model, registry, Anonymize { keep_weights: false, seed: 3 }).unwrap();
    let after = crate::Text::new(&model, &onnx_text::RaiseOptions::default()).to_text();
    for number in [
        "4.711",
        "47.11",
        "0.4711",
        "4713",
        "49990",
        "900.5",
        "912.5",
        "model_version: 4711",
        "{1, 0, 0, 1, 0, 1}",
        "acme",
    ] {
        assert!(!after.contains(number), "{number}: {after}");
    }
    // Shapes stay, where they are stored and where they are computed; 4711 is the size of an axis too.
    for part in [
        "value_ints = [2, 3]",
        "value_int = 3",
        "int64[1] {2}",
        "value_ints = [2, 4711]",
        "value_float = 0.5",
    ] {
        assert!(after.contains(part), "{part}: {after}");
    }
    assert_eq!(after.matches("4711").count(), 2, "{after}");
    let errors = onnx_ops::check::check(&model, registry, &onnx_ir::VerifyOptions::default());
    assert!(
        !errors.iter().any(|finding| finding.is_error() && finding.code.id != "E1001"),
        "{errors:?}: {after}"
    );
    // Equal labels stay equal, and their order stays.
    assert!(after.contains("keys_int64s = [0, 1]"), "{after}");
}

#[test]
fn numbers_alone_keep_their_sign_and_stay_in_range() {
    let mut random = Random::new(0);
    for x in [0.0, 1.0, -1.0] {
        assert_eq!(
            randomized(&Tensor::scalar(x as f32).unwrap(), &mut random).unwrap().floats().unwrap()[0],
            x
        );
    }
    for _ in 0..100 {
        let index = randomized(&Tensor::of(&[2], &[30_522i64; 2]).unwrap(), &mut random).unwrap();
        assert!((1..=30_522).contains(&index.slice::<i64>().unwrap()[0]));
        let slope = randomized(&Tensor::scalar(-0.37f32).unwrap(), &mut random).unwrap().floats().unwrap()[0];
        assert!((-0.375..-0.18).contains(&slope), "{slope}");
    }
}

#[test]
fn weights_may_stay() {
    assert!(anonymous(Anonymize { keep_weights: true, seed: 0 }).contains("0.5, 0.25, 0.5"));
}

#[test]
fn random_numbers_are_in_the_range() {
    let numbers: Vec<f32> = (0..1000).map(|i| (i % 10) as f32 * 0.1 + 1.0).collect();
    let tensor = Tensor::of(&[1000], &numbers).unwrap();
    let new = randomized(&tensor, &mut Random::new(1)).unwrap();
    let list = new.floats().unwrap();
    assert!(list.iter().all(|x| (1.0..=1.91).contains(x)));
    assert!((list.iter().sum::<f64>() / 1000.0 - 1.45).abs() < 0.1);
    assert_eq!((rough(-1749.0), rough(0.0)), (-1700.0, 0.0));
}
