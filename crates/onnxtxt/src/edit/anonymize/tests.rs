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
