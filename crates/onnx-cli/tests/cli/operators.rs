//! The operators that the program knows, as a table, as cards and as JSON.

use crate::Folder;
use serde_json::Value;

fn text(arguments: &[&str]) -> String {
    Folder::new(&[]).run(arguments).expect(0).text().to_owned()
}

fn document(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

#[test]
fn the_table_has_every_operator_with_its_versions() {
    let table = text(&["ops"]);
    let line = |name: &str| table.lines().find(|line| line.split_whitespace().nth(1) == Some(name)).unwrap();
    assert_eq!(line("Conv").split_whitespace().collect::<Vec<_>>(), ["ai.onnx", "Conv", "1", "11", "22"]);
    assert!(line("Upsample").ends_with("deprecated"));
    assert!(line("Gelu").ends_with("function"));
    assert!(line("Scaler").starts_with("ai.onnx.ml "));
    assert!(table.lines().count() > 200 && table.lines().all(|line| line.trim_end() == line));
}

#[test]
fn the_table_of_a_version_has_what_is_in_force_there() {
    let names = |arguments: &[&str]| -> Vec<String> {
        let list = document(arguments);
        list.as_array().unwrap().iter().map(|op| op["name"].as_str().unwrap().to_owned()).collect()
    };
    let nine = names(&["ops", "--version", "9", "--json"]);
    assert!(nine.contains(&"Upsample".to_owned()) && !nine.contains(&"Gelu".to_owned()));
    let twenty = names(&["ops", "--version", "20", "--domain", "ai.onnx", "--json"]);
    assert!(!twenty.contains(&"Upsample".to_owned()) && twenty.contains(&"Gelu".to_owned()));
    let ml = names(&["ops", "--domain", "ai.onnx.ml", "--json"]);
    assert!(ml.contains(&"Scaler".to_owned()) && !ml.contains(&"Relu".to_owned()));
    let done = Folder::new(&[]).run(&["ops", "--domain", "nowhere"]).expect(2);
    assert!(done.stderr.contains("unknown domain `nowhere`"), "{}", done.stderr);
}

#[test]
fn a_card_has_the_signature_the_history_and_an_example() {
    let card = text(&["ops", "Squeeze"]);
    assert!(card.starts_with("ai.onnx.Squeeze, version "), "{card}");
    for part in [
        "\ninputs      data  T\n            axes  tensor(int64), optional\n",
        "\n   13  new input `axes`, optional, which was an attribute\n",
        "\n    1  the first version\n",
        "= Squeeze(x, axes)\n",
    ] {
        assert!(card.contains(part), "{part:?} in {card}");
    }
    assert!(card.lines().all(|line| line.chars().count() <= 100), "{card}");
}

#[test]
fn a_version_is_that_of_the_domain_and_explain_shows_the_same() {
    let card = text(&["ops", "Squeeze@12"]);
    assert!(card.starts_with("ai.onnx.Squeeze, version 11 of "), "{card}");
    assert!(card.contains("attributes  axes  ints\n") && !card.contains("history"), "{card}");
    assert_eq!(text(&["ops", "Squeeze", "--version", "12"]), card);
    assert_eq!(text(&["explain", "Squeeze@12"]), card);
    assert_eq!(text(&["explain", "ai.onnx.Squeeze@12"]), card);
    assert!(text(&["ops", "Upsample"]).contains("\ndeprecated: use `Resize`\n"));
    // A code comes before an operator.
    assert!(text(&["explain", "arity"]).contains("E1004"));
}

#[test]
fn json_has_every_type_and_default() {
    let softmax = document(&["ops", "Softmax@11", "--json"]);
    let [version] = softmax["versions"].as_array().unwrap().as_slice() else { panic!("{softmax}") };
    assert_eq!(version["since"], 11);
    assert_eq!(version["attributes"][0]["default"], 1);
    let types = ["tensor(float)", "tensor(float16)", "tensor(double)"];
    assert_eq!(version["inputs"][0]["types"], Value::from(types.to_vec()));
    assert_eq!(version["type_variables"]["T"], Value::from(types.to_vec()));
    let gemm = document(&["ops", "Celu", "--json"]);
    assert_eq!(gemm["versions"][0]["attributes"][0]["default"], 1.0);
}

#[test]
fn what_is_not_there_says_what_is_near() {
    let folder = Folder::new(&[]);
    let said = |arguments: &[&str]| folder.run(arguments).expect(2).stderr;
    assert!(said(&["ops", "Convv"]).contains("did you mean `Conv`?"));
    assert!(said(&["explain", "Convv"]).contains("did you mean `Conv`?"));
    assert!(said(&["explain", "value-undefind"]).contains("did you mean `value-undefined`?"));
    assert!(said(&["ops", "Gelu@19"]).contains("since version 20 of ai.onnx"));
    assert!(said(&["ops", "Gelu@new"]).contains("invalid version `new`"));
}

#[test]
fn the_operators_are_written_as_documents() {
    let folder = Folder::new(&[]);
    std::fs::create_dir(folder.path("sets")).unwrap();
    folder.run(&["ops", "--export", "sets"]).expect(0);
    let set = String::from_utf8(folder.read("sets/ai.onnx.ml.onnxtxt")).unwrap();
    assert!(set.contains("operator Scaler"), "{set}");
    folder.run(&["check", "sets/ai.onnx.onnxtxt", "sets/com.microsoft.onnxtxt"]).expect(0);
    // The exported file describes the operators as the program knows them, in every form.
    folder.run(&["ops", "--export", "ml.onnx", "--domain", "ai.onnx.ml", "--version", "3"]).expect(0);
    assert!(folder.read("ml.onnx").windows(9).any(|bytes| bytes == b"ONNXOPSET"));
    let done = folder.run(&["ops", "--export", "-", "--domain", "ai.onnx.ml", "--version", "3"]).expect(0);
    let text = folder.run(&["print", "ml.onnx"]).expect(0);
    assert_eq!(done.text(), text.text());
    folder.run(&["ops", "--export", "unknown"]).expect(2);
    folder.run(&["ops", "--export", "-", "--domain", "nowhere"]).expect(2);
}

#[test]
fn attributes_that_are_element_types_come_with_their_numbers() {
    for arguments in [["ops", "Cast"], ["explain", "Cast"], ["ops", "QuantizeLinear"], ["explain", "EyeLike"]]
    {
        let card = text(&arguments);
        assert!(card.contains(", the number of an element type"), "{card}");
        assert!(card.contains("1 float, 2 uint8,") && card.contains("16 bfloat16"), "{card}");
    }
    assert!(!text(&["ops", "Relu"]).contains("numbers"));
    let cast = document(&["ops", "Cast", "--json"]);
    let newest = &cast["versions"].as_array().unwrap().last().unwrap()["attributes"];
    let of = |name: &str| {
        newest.as_array().unwrap().iter().find(|a| a["name"] == name).unwrap()["element_type"].clone()
    };
    assert_eq!((of("to"), of("saturate")), (true.into(), false.into()));
    // Attributes with these names are element types in every operator.
    let registry = onnx_ops::schema::Registry::builtin();
    for name in registry.operators("") {
        let schemas = registry.versions("", name).iter().map(|id| registry.get(*id));
        for attr in
            schemas.flat_map(|schema| schema.attrs.iter()).filter(|attr| attr.ty == onnx_ir::AttrType::INT)
        {
            let is_called =
                attr.name == "to" || attr.name.contains("type") || attr.name.contains("precision");
            assert_eq!(attr.is_elem_type(), is_called, "{name}: {}", attr.name);
        }
    }
}

/// Each statement of an operator is one that the program reads without a mistake of syntax.
#[test]
fn a_snippet_is_a_statement() {
    assert_eq!(text(&["ops", "Relu", "--snippet"]), "Y = Relu(X)\n");
    let conv = text(&["ops", "Conv", "--snippet"]);
    assert!(conv.starts_with("# optional inputs: B\n# attributes: auto_pad = \"NOTSET\" (NOTSET"), "{conv}");
    assert!(conv.ends_with("Y = Conv(X, W)\n"), "{conv}");
    assert!(text(&["ops", "Cast", "--snippet"]).ends_with("output = Cast <to = 1> (input)\n"));
    let folder = Folder::new(&[]);
    for name in
        ["If", "Loop", "Scan", "LSTM", "Concat", "ai.onnx.ml.Scaler", "ai.onnx.ml.TreeEnsemble", "Optional"]
    {
        let snippet = text(&["ops", name, "--snippet"]);
        folder.write("n.onnxtxt", snippet.as_bytes());
        let done = folder.run(&["check", "--level", "syntax", "n.onnxtxt"]);
        assert_eq!(done.code, 0, "{snippet}{}", done.said());
    }
    folder.run(&["ops", "--snippet"]).expect(2);
}
