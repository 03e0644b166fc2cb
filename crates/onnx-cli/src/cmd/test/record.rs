//! `onnxtxt test --record`: a first test of a model, from what it computes today.

use crate::args::limits::LimitArgs;
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::output;
use crate::output::results::{self, Results};
use crate::session::{Session, Status};
use anyhow::{Context as _, bail, ensure};
use onnx_ir::diag::Level;
use onnx_text::visible;
use onnxtxt::files::Derived;
use onnxtxt::golden::folder::{Bless, Options, tests};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Values of more characters are written to a file of arrays.
const LITERAL: usize = 400;

/// The options of `--record`.
#[derive(clap::Args)]
#[command(next_help_heading = "For --record")]
pub(super) struct RecordArgs {
    /// Write a first test of a model beside it: its findings, interface and operators, and the outputs for these inputs, or for
    /// random ones
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["list", "bless", "filter"])]
    pub(super) record: Option<PathBuf>,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(super) fn run(file: &Path, args: &RecordArgs, session: &mut Session) -> anyhow::Result<Status> {
    let name = file.file_name().and_then(|name| name.to_str()).context("the model needs a name in UTF-8")?;
    let test = file.with_extension("test.onnxtxt");
    ensure!(test.symlink_metadata().is_err(), "{} exists: remove it first, or bless it", test.display());
    let prepared = Prepared::open(file, &args.opset, session)?;
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let (executable, inputs) =
        prepared.with_inputs(&args.limits, &args.inputs.or_random(), &options, session)?;
    let text = |port: &onnx_ir::Port| executable.model().text(port.name).to_owned();
    let names = executable.inputs().iter().map(text);
    let given: Results =
        names.zip(&inputs).filter_map(|(name, value)| Some((name, value.clone()?))).collect();
    let values =
        executable.run(inputs, &options).map_err(|finding| prepared.reported(session, &[*finding]))?;
    let outputs: Results = executable.outputs().iter().map(text).zip(values).collect();

    let mut head = format!("#! model {name}\n#! check\n");
    for found in onnxtxt::open(file)?.check(Level::Types) {
        let said = format!("{}[{}]: {}", found.severity.name(), found.code.id, found.message);
        _ = writeln!(head, "#! finds {}", visible(&said).lines().next().unwrap_or_default());
    }
    head += "#! interface\n#! run\n";
    head += &directives("input", &given, &file.with_extension("test.inputs.npz"))?;
    head += &directives("expect", &outputs, &file.with_extension("test.outputs.npz"))?;
    output::derived(Derived::beside(&test, |_| Ok(false)), |out| out.write_all(head.as_bytes()))?;

    let options = Options { bless: Bless::Safe, values: Some(Arc::new(super::values)), ..Options::default() };
    for recorded in tests(&test, &options)? {
        if let Err(why) = recorded.run() {
            bail!("the test {} was written, but fails: {why}", test.display());
        }
    }
    session.note(&format!("wrote {}: run it with `onnxtxt test {}`", test.display(), test.display()));
    Ok(Status::Clean)
}

/// Directives for values: as literals where they are short, otherwise in an archive.
fn directives(verb: &str, values: &Results, archive: &Path) -> anyhow::Result<String> {
    let texts: Vec<String> =
        values.iter().map(|(name, value)| results::literal(name, value)).collect::<anyhow::Result<_>>()?;
    if texts.iter().all(|text| text.len() <= LITERAL && !text.contains('\n')) {
        return Ok(texts.iter().map(|text| format!("#! {verb} {text}\n")).collect());
    }
    let content = results::archive(archive, values)?;
    output::derived(Derived::beside(archive, |_| Ok(false)), |out| out.write_all(&content))?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("#! {verb} {name}\n"))
}
