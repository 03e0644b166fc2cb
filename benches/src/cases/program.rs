//! The program from start to exit, beside a Python script that does the nearest thing. Most of the script's time on a
//! small model is its imports; `program/version` shows how much.

use super::{NODES, wire};
use crate::generate;
use crate::pair::{Bench, Measured, Row, alternate};
use crate::program;
use anyhow::Result;
use std::ffi::OsString;
use std::path::Path;

const LOAD: &str = "import onnx, sys; onnx.load(sys.argv[1])";

const CHECK: &str = "\
import onnx, onnx.checker, onnx.parser, sys
onnx.checker.check_model(onnx.parser.parse_model(open(sys.argv[1]).read()), full_check=True)";

pub(super) fn version(bench: &mut Bench) -> Result<Row> {
    programs(bench, &["--version"], None, "import onnx")
}

pub(super) fn info(bench: &mut Bench) -> Result<Row> {
    let Some(path) = wire::largest(bench) else { return Ok(wire::no_corpus()) };
    programs(bench, &["info"], Some(&path), LOAD)
}

pub(super) fn elide(bench: &mut Bench) -> Result<Row> {
    let Some(path) = wire::largest(bench) else { return Ok(wire::no_corpus()) };
    programs(bench, &["print", "--elide", "4"], Some(&path), LOAD)
}

pub(super) fn check(bench: &mut Bench) -> Result<Row> {
    let (path, _) = bench.file("nodes.onnxtxt", generate::nodes(NODES))?;
    programs(bench, &["check", "--quiet"], Some(&path), CHECK)
}

fn programs(bench: &Bench, words: &[&str], file: Option<&Path>, script: &str) -> Result<Row> {
    let file = file.map(|path| path.as_os_str().to_owned());
    let line = |start: Vec<OsString>| start.into_iter().chain(file.clone()).collect::<Vec<_>>();
    let ours = line(
        [program::onnxtxt()?.into_os_string()].into_iter().chain(words.iter().map(OsString::from)).collect(),
    );
    let theirs = bench
        .python
        .as_ref()
        .map(|python| line(vec![python.into(), "-c".into(), script.into()]))
        .map(|line| move || program::run(&line));
    let alone = theirs.is_none().then(|| "no Python environment".to_owned());
    let (ours, peers) = alternate(bench.runs, || program::run(&ours), theirs)?;
    let subject = file.as_ref().and_then(|path| Path::new(path).file_stem());
    let subject = subject.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Row::Measured(Measured { subject, bytes: None, ours, peers, alone, bound: None }))
}
