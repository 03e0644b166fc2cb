//! Whole models, ours and other runtimes by turns, on one thread: `cargo xtask bench models`.
//!
//! `models.py` writes the models and their inputs. Each peer is a program that answers the requests of `peers/src/lib.rs`. All
//! have the same inputs; a peer whose outputs are not ours is told of and not timed.
//!
//! A sample is as many runs as make up [`SAMPLE`], so that what one evicts from the caches counts little for the others.

mod table;
mod tensor;

use crate::clock::{Sample, time};
use crate::peer::{Peer, seconds};
use anyhow::{Context as _, Result, anyhow, ensure};
use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::Model;
use onnx_ops::opset::registry_of;
use onnx_proto::external::{Folder, Which, internalize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use tensor::Stored;

/// How long a sample takes at least, in seconds.
const SAMPLE: f64 = 0.05;

/// How far outputs may be apart, as a part of the largest magnitude. Every runtime adds in an order of its own.
const TOLERANCE: f64 = 1e-2;

/// What the models are run on.
pub(crate) struct Contest {
    pub(crate) python: PathBuf,
    pub(crate) corpus: PathBuf,
    pub(crate) folder: PathBuf,
    /// Where the programs of `peers` are.
    pub(crate) peers: Option<PathBuf>,
    pub(crate) runs: u32,
    pub(crate) json: bool,
}

/// The peers by name, ONNX Runtime first, and their programs in `peers`.
const PEERS: [(&str, Option<&str>); 3] =
    [("onnxruntime", None), ("tract", Some("peer-tract")), ("rten", Some("peer-rten"))];

/// What came of a model.
struct Row {
    name: String,
    /// Or why we cannot run it; then it is not timed at all.
    ours: Result<Vec<Sample>>,
    /// As many as there are [`PEERS`]: samples, or why there are none.
    peers: Vec<Result<Vec<Sample>>>,
}

impl Contest {
    /// Times the models whose name has one of these, without any all.
    pub(crate) fn run(&self, names: &[String]) -> Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("models.py");
        let mut list = Command::new(&self.python);
        list.arg(script).arg(&self.corpus).arg(&self.folder).args(names);
        let list = list.output().context("cannot start Python")?;
        ensure!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
        let mut rows = Vec::new();
        for line in String::from_utf8(list.stdout)?.lines() {
            let subject: serde_json::Value = serde_json::from_str(line)?;
            let name = subject["name"].as_str().context("a model has a name")?.to_owned();
            eprint!("{name:<28} …");
            let row = match subject["model"].as_str() {
                Some(model) => self.row(name, Path::new(model), &Stored::all(&subject["inputs"])?),
                None => {
                    let why = subject["why"].as_str().unwrap_or_default().to_owned();
                    Row { name, ours: Err(anyhow!(why)), peers: Vec::new() }
                }
            };
            eprintln!(" {}", row.note());
            if self.json {
                println!("{}", table::json(&row));
            }
            rows.push(row);
        }
        ensure!(!rows.is_empty(), "no model has such a name");
        if !self.json {
            print!("{}", table::table(&rows));
        }
        Ok(())
    }

    fn row(&self, name: String, path: &Path, inputs: &[Stored]) -> Row {
        let row = self.measured(name.clone(), path, inputs);
        row.unwrap_or_else(|error| Row { name, ours: Err(error), peers: Vec::new() })
    }

    fn measured(&self, name: String, path: &Path, inputs: &[Stored]) -> Result<Row> {
        let model = read(path)?;
        let executable = compile(&model, registry_of(&model), &CompileOptions::default());
        let executable = executable.map_err(|found| failure(&found))?;
        let mut ours = Ours::of(&executable, inputs)?;
        let expected = ours.outputs()?;
        let mut peers: Vec<Result<Peer>> =
            PEERS.iter().map(|(_, program)| self.prepare(*program, path, inputs, &expected)).collect();
        ours.times(1)?;
        let once = ours.times(3)?.wall;
        let times = (SAMPLE / once).ceil().clamp(1.0, 1000.0) as u32;
        let mut samples = Vec::new();
        let mut of_peers: Vec<Vec<Sample>> = peers.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.runs {
            samples.push(ours.times(times)?);
            for (peer, samples) in peers.iter_mut().zip(&mut of_peers) {
                let Ok(running) = peer else { continue };
                match running.ask(&json!({"times": times})).and_then(|answer| sample(&answer, times)) {
                    Ok(sample) => samples.push(sample),
                    Err(error) => *peer = Err(error),
                }
            }
        }
        let peers = peers.into_iter().zip(of_peers).map(|(peer, samples)| peer.map(|_| samples)).collect();
        Ok(Row { name, ours: Ok(samples), peers })
    }

    /// Starts a peer that has run the model, with outputs like these.
    fn prepare(
        &self,
        program: Option<&str>,
        model: &Path,
        inputs: &[Stored],
        expected: &[onnx_exec::Tensor],
    ) -> Result<Peer> {
        let mut command = match program {
            None => {
                let mut python = Command::new(&self.python);
                python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/ort.py"));
                python
            }
            Some(program) => Command::new(self.peers.as_deref().context("it is not built")?.join(program)),
        };
        let mut peer = Peer::start(&mut command)?;
        let inputs: Vec<_> = inputs.iter().map(Stored::json).collect();
        let answer = peer.ask(&json!({"model": model, "inputs": inputs, "folder": self.folder}))?;
        let outputs = Stored::all(&answer["outputs"])?;
        ensure!(outputs.len() == expected.len(), "{} outputs, ours are {}", outputs.len(), expected.len());
        for (output, expected) in outputs.iter().zip(expected) {
            let apart = output.apart(expected)?;
            ensure!(apart <= TOLERANCE, "its outputs are not ours: {apart:.1e} of the largest apart");
        }
        Ok(peer)
    }
}

/// What a peer says of so many runs, for one of them.
fn sample(answer: &serde_json::Value, times: u32) -> Result<Sample> {
    let each = |key| Ok::<_, anyhow::Error>(seconds(answer, key)? / f64::from(times));
    Ok(Sample { wall: each("wall")?, cpu: each("cpu")?, memory: None })
}

/// A model with the weights that lie beside it.
fn read(path: &Path) -> Result<Model> {
    let (mut model, found) = onnx_proto::read(onnx_proto::file::open(path)?);
    ensure!(found.is_empty(), failure(&found));
    let mut folder = Folder::of(path);
    let found = internalize(&mut model, Which::All, &mut |model, tensor, entity| {
        folder.load(model, tensor, entity, false)
    });
    ensure!(found.is_empty(), failure(&found));
    Ok(model)
}

/// The first of what is wrong.
fn failure(found: &[onnx_ir::Diagnostic]) -> anyhow::Error {
    anyhow!("{}", found.first().map_or("", |first| &first.message))
}

/// Our side of a model.
struct Ours<'m> {
    executable: &'m Executable<'m>,
    inputs: Vec<Option<Value>>,
    options: RunOptions<'m>,
}

impl<'m> Ours<'m> {
    fn of(executable: &'m Executable<'m>, stored: &[Stored]) -> Result<Ours<'m>> {
        let input = |port: &onnx_ir::Port| {
            let name = executable.model().text(port.name);
            let stored = stored.iter().find(|stored| stored.name == name);
            stored.map(|stored| Ok(Value::Tensor(stored.read()?))).transpose()
        };
        let inputs = executable.inputs().iter().map(input).collect::<Result<_>>()?;
        Ok(Ours { executable, inputs, options: RunOptions { threads: 1, ..RunOptions::default() } })
    }

    fn outputs(&self) -> Result<Vec<onnx_exec::Tensor>> {
        let outputs = self.executable.run(self.inputs.clone(), &self.options);
        let outputs = outputs.map_err(|error| failure(&[*error]))?;
        outputs.iter().map(|value| value.tensor().cloned().map_err(|why| anyhow!("{why}"))).collect()
    }

    /// One of so many runs.
    fn times(&mut self, times: u32) -> Result<Sample> {
        let mut all = Sample { wall: 0.0, cpu: 0.0, memory: None };
        for _ in 0..times {
            let inputs = self.inputs.clone();
            let (sample, outputs) = time(|| self.executable.run(inputs, &self.options));
            outputs.map_err(|error| failure(&[*error]))?;
            all.wall += sample.wall;
            all.cpu += sample.cpu;
        }
        let each = |all: f64| all / f64::from(times);
        Ok(Sample { wall: each(all.wall), cpu: each(all.cpu), memory: None })
    }
}
