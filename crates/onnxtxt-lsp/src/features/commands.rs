//! Commands that an editor executes for the user: run a model, show its schedule, run a test, accept its results.

use crate::answer::{Answer, Failure};
use crate::document::Snapshot;
use crate::request::RequestContext;
use gen_lsp_types::*;
use onnxtxt::golden::folder::{Bless, Options, tests};
use onnxtxt::golden::{random_results, random_schedule};
use onnxtxt::{Distribution, Purpose};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// Runs the main graph with random inputs.
pub(crate) const RUN: &str = "onnxtxt.run";
/// Shows the kernels of the main graph.
pub(crate) const SCHEDULE: &str = "onnxtxt.schedule";
/// Runs the tests of a file.
pub(crate) const TEST: &str = "onnxtxt.test";
/// Runs the tests of a file and writes their results into it.
pub(crate) const BLESS: &str = "onnxtxt.bless";

/// All commands.
pub(crate) const ALL: [&str; 4] = [RUN, SCHEDULE, TEST, BLESS];

/// The name of a command for people.
pub(crate) fn title(command: &str) -> &'static str {
    match command {
        RUN => "Run the model with random inputs",
        SCHEDULE => "Show the schedule of the model",
        TEST => "Run the tests of this file",
        BLESS => "Accept the results of the tests of this file",
        _ => "Run an unknown command",
    }
}

/// Whether a command runs a model or writes files, which the model of someone else must not do without being asked.
pub(crate) fn needs_consent(command: &str) -> bool {
    ALL.contains(&command)
}

/// Executes a command with a document as its argument, and shows the result.
pub(crate) fn execute(cx: &RequestContext, params: ExecuteCommandParams) -> Answer<Option<Value>> {
    let uri = params.arguments.as_ref().and_then(|arguments| arguments.first()?.as_str());
    let uri = Uri(uri.ok_or_else(|| Failure(format!("`{}` expects a document", params.command)))?.to_owned());
    let open = cx.view.open.iter().find(|open| *open.uri() == uri).cloned();
    let read = || {
        let settings = cx.view.configs.settings(crate::virtual_text::path_of(&uri).as_deref());
        crate::workspace::read(&uri, cx.view.encoding, settings).map(Arc::new)
    };
    let snapshot = match open {
        Some(open) => open,
        None => read()?,
    };
    let text = match params.command.as_str() {
        RUN => run(&snapshot)?,
        SCHEDULE => schedule(&snapshot)?,
        TEST => test(&snapshot, Bless::No)?,
        BLESS => test(&snapshot, Bless::Safe)?,
        other => return Err(Failure(format!("unknown command `{other}`"))),
    };
    let params = ShowMessageParams { kind: MessageType::Info, message: text.clone() };
    cx.view.outbox.notify::<ShowMessageNotification>(params);
    Ok(Some(json!({ "text": text })))
}

/// The model of a document with its weights, if its meaning is clear.
fn runnable(snapshot: &Snapshot) -> Answer<onnxtxt::Loaded> {
    let mut loaded = snapshot.file().load();
    let first =
        |found: Vec<onnxtxt::Diagnostic>| Failure(found.first().map(ToString::to_string).unwrap_or_default());
    loaded.ensure_clear(Purpose::Inference).map_err(first)?;
    let found = loaded.load_weights();
    if found.iter().any(onnxtxt::Diagnostic::is_error) {
        return Err(first(found));
    }
    Ok(loaded)
}

/// The outputs for random inputs, one a line.
fn run(snapshot: &Snapshot) -> Answer<String> {
    let loaded = runnable(snapshot)?;
    let mut out = String::new();
    for (name, value) in random_results(&loaded.model)? {
        let ty = value.tensor().map_or_else(|_| value.kind().to_owned(), |tensor| tensor.type_text());
        let numbers = match Distribution::of_value(&value) {
            Some(Distribution { min: Some(min), max: Some(max), mean: Some(mean), .. }) => {
                format!(" from {min:.6} to {max:.6}, mean {mean:.6}")
            }
            _ => String::new(),
        };
        _ = writeln!(out, "{name}: {ty}{numbers}");
    }
    Ok(out)
}

fn schedule(snapshot: &Snapshot) -> Answer<String> {
    let loaded = runnable(snapshot)?;
    Ok(random_schedule(&loaded.model)?)
}

/// Runs the tests of a file as it is on the disk. Tests start no programs.
fn test(snapshot: &Snapshot, bless: Bless) -> Answer<String> {
    let path =
        snapshot.path().ok_or_else(|| Failure("the document is not a file: save it first".to_owned()))?;
    let on_disk =
        std::fs::read_to_string(&path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    if on_disk != snapshot.text() {
        return Err(Failure("the document has changes: save it first".to_owned()));
    }
    let options = Options { bless, ..Options::default() };
    let tests = tests(&path, &options)?;
    let mut out = String::new();
    let mut failed = 0;
    for test in &tests {
        if let Err(why) = test.run() {
            failed += 1;
            _ = writeln!(out, "{} failed: {why}", test.name());
        }
    }
    _ = write!(out, "{} passed, {failed} failed", tests.len() - failed);
    Ok(out)
}

#[cfg(test)]
mod tests_of_commands {
    use super::*;
    use crate::document::Encoding;
    use crate::features::testing::{model, snapshot};
    use crate::uri;

    #[test]
    fn models_run_and_show_their_schedule() {
        let text = model("t = Abs(x)\ny = Sqrt(t)").replace('N', "3");
        let results = run(&snapshot(&text)).unwrap();
        assert!(results.starts_with("y: float[3,4] from "), "{results}");
        assert!(schedule(&snapshot(&text)).unwrap().contains("y"));
        assert!(run(&snapshot(&model("y = Abs(q)"))).unwrap_err().0.contains("undefined value `q`"));
        assert!(run(&snapshot("g (float x) => (float y) { y = Nothing(x) }")).is_err());
    }

    #[test]
    fn tests_run_on_the_saved_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.onnxtxt");
        let text = "#! check\n<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) { y = Relu(z) }\n";
        std::fs::write(&path, text).unwrap();
        let of = |text: &str| {
            Snapshot::of_text(uri::of_path(&path), text.to_owned(), Encoding::Utf8, std::sync::Arc::default())
        };
        let result = test(&of(text), Bless::No).unwrap();
        assert!(result.ends_with("0 passed, 1 failed"), "{result}");
        assert!(test(&of("#! check"), Bless::No).unwrap_err().0.contains("save it first"));
    }
}
