//! Each rule of graphs and names on models that break it and on models that keep it.

use crate::model::TrainingInfo;
use crate::verify::testing::*;

#[test]
fn a_use_before_the_definition_is_reported_once_with_the_producer() {
    let model = draft(|d| {
        d.graph("g", &["x"], &["y", "z"], |d| {
            d.node("Relu", &["t"], &["y"]);
            d.node("Abs", &["t"], &["z"]);
            d.node("Abs", &["x"], &["t"]);
        });
    });
    assert_eq!(findings(&model), ["E0202 use of `t` before the node that produces it"]);
}

#[test]
fn a_node_that_reads_itself_is_a_cycle() {
    let model = draft(|d| {
        d.graph("g", &["x"], &["y"], |d| {
            d.holder("If", &["x"], &["y"], |d| {
                d.graph("a", &[], &["p"], |d| d.node("Abs", &["y"], &["p"]));
            });
        });
    });
    assert_eq!(findings(&model), ["E0213 `y` is read by the node that produces it"]);
}

#[test]
fn an_undefined_name_is_reported_once_and_corrected() {
    let model = draft(|d| {
        d.graph("g", &["hidden_state"], &["y"], |d| {
            d.node("Relu", &["hiden_state"], &["t"]);
            d.holder("If", &["t"], &["y"], |d| {
                d.graph("a", &[], &["p"], |d| d.node("Abs", &["hiden_state"], &["p"]));
            });
        });
    });
    let list = crate::verify::verify(&model, &Default::default());
    let messages: Vec<_> = list.iter().map(|d| (d.message.as_str(), d.help.as_deref())).collect();
    assert_eq!(messages, [("use of undefined value `hiden_state`", Some("did you mean `hidden_state`?"))]);
}

#[test]
fn a_name_is_defined_once_in_each_graph() {
    let model = draft(|d| {
        d.graph("g", &["x", "x"], &["y", "y"], |d| {
            d.floats("w", &[1.0]);
            d.floats("w", &[2.0]);
            d.node("Relu", &["x"], &["y"]);
            d.node("Abs", &["w"], &["y"]);
            d.node("Abs", &["x"], &["w"]);
            // Siblings may use the same names.
            d.holder("If", &["x"], &["z"], |d| {
                d.graph("a", &[], &["p"], |d| d.node("Abs", &["x"], &["p"]));
                d.graph("b", &[], &["p"], |d| d.node("Abs", &["x"], &["p"]));
            });
        });
    });
    let expected = [
        "E0204 graph input `x` is listed twice",
        "W0232 graph output `y` is listed twice",
        "E0208 `w` is initialized twice",
        "E0204 `y` is defined a second time",
        "E0204 `w` is an initializer of the graph already",
    ];
    assert_eq!(findings(&model), expected);
}

#[test]
fn nested_graphs_do_not_reuse_outer_names() {
    let model = draft(|d| {
        d.graph("g", &["x"], &["y"], |d| {
            d.node("Abs", &["x"], &["t"]);
            d.holder("If", &["x"], &["y"], |d| {
                d.graph("a", &["x"], &["t"], |d| d.node("Abs", &["x"], &["t"]));
                d.graph("b", &[], &["x"], |_| {});
                d.graph("c", &[], &["later"], |d| d.node("Abs", &["x"], &["later"]));
            });
            d.node("Abs", &["x"], &["later"]);
        });
    });
    let expected = [
        "W0222 input `x` hides a value of the enclosing graph",
        "E0221 `t` hides a value of the enclosing graph",
        "E0223 nested graph returns `x` of the enclosing graph",
    ];
    assert_eq!(findings(&model), expected);
}

#[test]
fn functions_are_closed_scopes_with_codes_of_their_own() {
    let mut model = draft(|d| {
        d.graph("g", &["x"], &["y"], |d| {
            d.node("Abs", &["x"], &["t"]);
            d.node("l.f", &["t"], &["y"]);
        });
    });
    function(&mut model, "f", |d| {
        d.graph("f", &["a", "a"], &["b", "b", "nothing"], |d| {
            d.node("Add", &["late", "t"], &["b"]);
            d.node("Abs", &["a"], &["b"]);
            d.node("Abs", &["a"], &["late"]);
        });
    });
    let expected = [
        "E0805 function input `a` is listed twice",
        "E0805 function output `b` is listed twice",
        "E0807 function output `nothing` is not defined",
        "E0806 use of `late` before the node that produces it",
        "E0225 function reads `t`, which belongs to the main graph",
        "E0806 `b` is defined a second time",
    ];
    assert_eq!(findings(&model), expected);
}

#[test]
fn a_training_step_continues_the_main_graph() {
    let mut model = draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("Relu", &["x"], &["y"])));
    let step = body(&mut model, |d| {
        d.graph("step", &["target"], &["loss"], |d| d.node("Sub", &["y", "target"], &["loss"]));
    });
    model.training.push(TrainingInfo { algorithm: Some(step), ..TrainingInfo::default() });
    assert_eq!(findings(&model), [""; 0]);
    let step = body(&mut model, |d| {
        d.graph("step", &["z"], &["y"], |d| d.node("Sub", &["z", "nowhere"], &["y"]));
    });
    model.training[0].algorithm = Some(step);
    let expected =
        ["E0203 use of undefined value `nowhere`", "E0903 training step redefines `y` of the main graph"];
    let mut list = findings(&model);
    list.sort();
    assert_eq!(list, expected);
}

#[test]
fn a_value_of_a_graph_that_does_not_enclose_the_use_is_not_visible() {
    let mut model = draft(|d| {
        d.graph("g", &["x"], &["y"], |d| {
            d.holder("If", &["x"], &["z"], |d| {
                d.graph("a", &[], &["p"], |d| d.node("Abs", &["x"], &["p"]));
            });
            d.node("Abs", &["z"], &["y"]);
        });
    });
    let body = main(&mut model);
    let nodes: Vec<_> = body.nodes.ids().collect();
    let inner = body.nodes[nodes[1]].outputs[0];
    body.nodes[nodes[2]].inputs[0] = inner;
    assert_eq!(findings(&model), ["E0203 use of value `p`, which is not in scope"]);
}
