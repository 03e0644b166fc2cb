//! Schedules in files: written, changed, verified and run.

use crate::Folder;

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[N,8] x, float[8,4] w) => (float[N,4] y)\n{\n    t = MatMul(x, w)\n    r = Relu(t)\n    y = Softmax(r)\n}\n";

/// A folder with a model and its schedule, and the text of the schedule.
fn folder() -> (Folder, String) {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    folder.run(&["lower", "m.onnxtxt", "-D", "N=6", "-o", "s.txt"]).expect(0);
    let text = std::fs::read_to_string(folder.path("s.txt")).unwrap();
    (folder, text)
}

/// The output of `run` for a changed schedule.
fn run(change: impl Fn(&str) -> String) -> (i32, String) {
    let (folder, text) = folder();
    let changed = change(&text);
    assert_ne!(changed, text, "nothing has been changed in\n{text}");
    folder.write("s.txt", changed.as_bytes());
    let arguments = ["run", "m.onnxtxt", "--random", "-D", "N=6", "--schedule", "s.txt", "--format", "short"];
    let done = folder.run(&arguments);
    (done.code, done.stderr.clone())
}

#[test]
fn a_schedule_is_run_as_it_stands() {
    let (folder, text) = folder();
    let random = ["run", "m.onnxtxt", "--random", "-D", "N=6"];
    let plain = folder.run(&random);
    let scheduled = folder.run(&[&random[..], &["--schedule", "s.txt"]].concat());
    assert_eq!((scheduled.code, scheduled.text()), (0, plain.text()), "{}", scheduled.stderr);
    // Blocks of other sizes compute the same.
    let rows = " of 6 rows, 6 at a time";
    assert!(text.contains(rows), "{text}");
    folder.write("s.txt", text.replace(rows, " of 6 rows, 1 at a time").as_bytes());
    let scheduled = folder.run(&[&random[..], &["--schedule", "s.txt"]].concat());
    assert_eq!((scheduled.code, scheduled.text()), (0, plain.text()), "{}", scheduled.stderr);
    let bench = ["bench", "m.onnxtxt", "-D", "N=6", "--runs", "1", "--schedule", "s.txt"];
    let done = folder.run(&bench);
    assert_eq!(done.code, 0, "{}", done.stderr);
}

#[test]
fn the_model_is_not_replaced_by_its_schedule() {
    let (folder, _) = folder();
    let done = folder.run(&["lower", "m.onnxtxt", "-D", "N=6", "-o", "m.onnxtxt"]);
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert_eq!(std::fs::read_to_string(folder.path("m.onnxtxt")).unwrap(), MODEL);
}

#[test]
fn what_breaks_the_grammar_is_refused() {
    let (code, found) = run(|text| text.replacen("kernel", "kernle", 1));
    assert_eq!(code, 1);
    assert!(
        found.contains("error[E1611]: expected `constant`, `alias`, `kernel` or `node`, found `kernle`"),
        "{found}"
    );
    let (code, found) = run(|text| text.replacen("as loops", "as lops", 1));
    assert_eq!(code, 1);
    assert!(found.contains("error[E1611]: expected one of `loops`"), "{found}");
}

#[test]
fn what_cannot_be_run_is_refused() {
    // A position out of bounds.
    let (code, found) = run(|text| text.replacen("x[i0, i2]", "x[i0, i2 + 1]", 1));
    assert_eq!(code, 1);
    assert!(found.contains("error[E1612]: `x` is read out of bounds"), "{found}");
    // A row that reads another row of the same kernel.
    let (code, found) = run(|text| text.replacen("[i0, 0])", "[0, 0])", 1));
    assert_eq!(code, 1);
    assert!(found.contains("reads other rows that the same kernel computes"), "{found}");
    // A result that is missing.
    let (code, found) = run(|text| text[..text.find("  kernel").unwrap()].to_owned());
    assert_eq!(code, 1);
    assert!(found.contains("error[E1612]: no kernel computes `y`"), "{found}");
    // Loops that a formula does not have.
    let (code, found) = run(|text| text.replacen("as loops along the reduction", "as copy", 1));
    assert_eq!(code, 1);
    assert!(found.contains("error[E1612]: this formula cannot be computed as `copy`"), "{found}");
}

#[test]
fn a_schedule_of_something_else_is_refused() {
    let (folder, _) = folder();
    let arguments = ["run", "m.onnxtxt", "--random", "-D", "N=7", "--schedule", "s.txt", "--format", "short"];
    let done = folder.run(&arguments);
    assert_eq!(done.code, 1);
    assert!(done.stderr.contains("error[E1613]"), "{}", done.stderr);
    let (code, found) = run(|text| text.replace("x[", "z[").replace("] x\n", "] z\n"));
    assert_eq!(code, 1);
    assert!(found.contains("error[E1613]"), "{found}");
}

#[test]
fn other_results_are_refused() {
    let (code, found) = run(|text| text.replacen("exp(", "expm1(", 1));
    assert_eq!(code, 1);
    assert!(found.contains("error[E1614]"), "{found}");
    let (code, found) = run(|text| text.replacen("max(float(total), 0.0)", "max(float(total), 1.0)", 1));
    assert_eq!(code, 1);
    assert!(found.contains("error[E1614]"), "{found}");
}

/// The example in `grammar/schedule.md`.
#[test]
fn a_schedule_by_hand_is_refused_until_it_is_right() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let read = |name: &str| std::fs::read_to_string(examples.join(name)).unwrap();
    let right = read("columns.schedule");
    let folder = Folder::new(&[("m.onnxtxt", read("columns.onnxtxt").as_bytes())]);
    let run = |schedule: &str| {
        folder.write("s.schedule", schedule.as_bytes());
        folder.run(&["run", "m.onnxtxt", "--random", "--schedule", "s.schedule", "--format", "short"])
    };
    let wrong = run(&right.replace("both[i1, i0]", "both[i0, i1]"));
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.stderr.contains(":9:5: error[E1614]: this is not what the nodes define"),
        "{}",
        wrong.stderr
    );
    let homeless = run(&right.replace("as loops at 0", "as loops"));
    assert!(
        homeless.stderr.contains(":6:5: error[E1612]: a result that only this plan reads"),
        "{}",
        homeless.stderr
    );
    let done = run(&right);
    assert_eq!((done.code, done.text()), (0, folder.run(&["run", "m.onnxtxt", "--random"]).text()));
}

#[test]
fn aliases_that_form_a_circle_are_refused() {
    let (code, found) = run(|text| {
        let at = text.find("  kernel").unwrap();
        format!("{}  alias float[6,4] p of q\n  alias float[6,4] q of p\n{}", &text[..at], &text[at..])
    });
    assert_eq!(code, 1);
    assert!(found.contains("error[E1612]: a value cannot be an alias of itself"), "{found}");
}
