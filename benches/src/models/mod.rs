//! Whole models, and single operators, ours and other runtimes by turns: `cargo xtask bench models`.
//!
//! `models.py` writes the models and their inputs. Each side is a process of its own that answers the requests of
//! `peers/src/lib.rs`, ours too ([`serve`]). All have the same inputs; a peer whose outputs are not ours is reported and not timed.
//!
//! The sides run by turns, each as often as makes up a turn, so that whatever else the machine does meanwhile slows all; the time of a
//! turn is the median of its runs. What is measured is kept in files, so that a table can be put together of several calls.

mod chart;
mod document;
pub(crate) mod fusion;
mod picture;
mod row;
pub(crate) mod serve;
mod side;
mod table;
pub(crate) mod tensor;

use crate::drawn::{self, Drawn};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use onnx_exec::Machine;
use row::{Figures, Outcome, Row};
use side::Side;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tensor::Stored;

/// The runtimes that run the models.
pub(crate) struct Contest {
    pub(crate) python: PathBuf,
    pub(crate) corpus: PathBuf,
    pub(crate) folder: PathBuf,
    /// Where the programs of `peers` are.
    pub(crate) peers: Option<PathBuf>,
    pub(crate) runs: u32,
    pub(crate) json: bool,
    pub(crate) options: ModelArgs,
}

/// Which models, and how.
#[derive(clap::Args, Clone)]
pub(crate) struct ModelArgs {
    /// Models: those whose name has one of these; without any, those of the set
    pub(crate) names: Vec<String>,
    /// How many threads, one after the other
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    pub(crate) threads: Vec<usize>,
    /// A few models of each kind, patterns of a few operators, all, or none but those that are drawn
    #[arg(long, value_name = "SET", default_value = "small", value_parser = ["small", "patterns", "all", "none"])]
    pub(crate) set: String,
    /// Number of networks that a seed draws, as for the census of `roofline`
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) drawn: usize,
    /// The seed of the networks that are drawn; without it, a new one
    #[arg(long, requires = "drawn")]
    pub(crate) seed: Option<u64>,
    /// Take what this build has measured before, and measure only the rest
    #[arg(long)]
    pub(crate) reuse: bool,
    /// Write docs/performance.md
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "docs")]
    pub(crate) write: Option<PathBuf>,
    /// Hold this file locked while a model is timed, so that several that measure on one machine wait for one another
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
}

impl ModelArgs {
    /// All models, one thread.
    pub(crate) fn all() -> ModelArgs {
        let (names, threads, set) = (Vec::new(), vec![1], "all".to_owned());
        ModelArgs { names, threads, set, drawn: 0, seed: None, reuse: false, write: None, lock: None }
    }
}

/// The program of a peer: a script in this crate, or a program of the workspace `peers`.
pub(crate) enum Program {
    Script(&'static str),
    Built(&'static str),
}

/// The peers by name.
pub(crate) const PEERS: [(&str, Program); 4] = [
    ("onnxruntime", Program::Script("ort.py")),
    ("openvino", Program::Script("ov.py")),
    ("tract", Program::Built("peer-tract")),
    ("rten", Program::Built("peer-rten")),
];

/// Groups of models, in the order of tables, with what they are called there.
pub(crate) const GROUPS: [(&str, &str); 7] = [
    ("drawn", "Networks drawn by a seed"),
    ("float", "Networks of floats"),
    ("float16", "Networks of float16"),
    ("quantized", "Quantized networks"),
    ("small", "Classical and small models"),
    ("patterns", "Patterns of a few operators"),
    ("kernels", "Single operators"),
];

/// All turns of a model take about so long; there are three at least.
const LONGEST: f64 = 12.0;
const MIN_TURNS: u32 = 3;
/// Threads of the last side that wait awake sleep after this.
const PAUSE: Duration = Duration::from_millis(4);

/// A model that `models.py` has written.
pub(crate) struct Subject {
    pub(crate) name: String,
    group: String,
    what: String,
    tolerance: f64,
    /// Or why it is not there.
    pub(crate) files: Result<(PathBuf, Vec<Stored>)>,
}

impl Contest {
    /// Times the models that are asked for.
    pub(crate) fn run(&self) -> Result<()> {
        let subjects = self.subjects()?;
        let build = build()?;
        let mut machines: HashMap<usize, Machine> = HashMap::new();
        let mut rows = Vec::new();
        for &threads in &self.options.threads {
            for subject in &subjects {
                let kept = Row::kept(&self.folder, &subject.name, threads, build);
                if let Some(row) = kept.filter(|_| self.options.reuse) {
                    rows.push(row);
                    continue;
                }
                eprint!("{:<22} {threads} …", subject.name);
                let _lock = self.locked()?;
                let machine = machines.entry(threads).or_insert_with(|| Machine::measure(threads));
                let row = self.row(subject, threads, build, machine);
                eprintln!(" {}", table::note(&row));
                row.keep(&self.folder)?;
                if self.json {
                    println!("{}", serde_json::to_string(&row)?);
                }
                rows.push(row);
            }
        }
        if !self.json {
            print!("{}", table::table(&rows, &self.options.threads));
        }
        if let Some(folder) = &self.options.write {
            for threads in &self.options.threads {
                machines.entry(*threads).or_insert_with(|| Machine::measure(*threads));
            }
            let machines: Vec<&Machine> = self.options.threads.iter().map(|t| &machines[t]).collect();
            document::write(folder, &rows, &machines, &self.versions())?;
        }
        Ok(())
    }

    /// The models that are asked for, written where they were not yet.
    pub(crate) fn subjects(&self) -> Result<Vec<Subject>> {
        std::fs::create_dir_all(&self.folder)?;
        let mut subjects = match self.options.set.as_str() {
            "none" => Vec::new(),
            _ => self.kept_subjects()?,
        };
        subjects.extend(self.drawn_subjects()?);
        ensure!(!subjects.is_empty(), "no model has such a name");
        Ok(subjects)
    }

    /// Those of `models.py`.
    fn kept_subjects(&self) -> Result<Vec<Subject>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("models.py");
        let mut list = Command::new(&self.python);
        list.arg(script).arg(&self.corpus).arg(&self.folder).arg(&self.options.set).args(&self.options.names);
        let list = list.output().context("cannot start Python")?;
        ensure!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
        String::from_utf8(list.stdout)?.lines().map(Subject::of).collect()
    }

    /// Those that a seed draws, of which there are none unless they are asked for.
    fn drawn_subjects(&self) -> Result<Vec<Subject>> {
        let ModelArgs { names, drawn: count, seed, .. } = &self.options;
        let seed = seed.unwrap_or_else(drawn::new_seed);
        let folder = self.folder.join("drawn");
        std::fs::create_dir_all(&folder)?;
        drawn::drawn(seed, *count, names).iter().map(|it| Subject::of_drawn(it, seed, &folder)).collect()
    }

    /// Waits for the lock that is asked for; it is given back when the file is dropped.
    pub(crate) fn locked(&self) -> Result<Option<std::fs::File>> {
        let Some(path) = &self.options.lock else { return Ok(None) };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.lock()?;
        Ok(Some(file))
    }

    fn row(&self, subject: &Subject, threads: usize, build: u64, machine: &Machine) -> Row {
        let mut row = Row {
            name: subject.name.clone(),
            group: subject.group.clone(),
            what: subject.what.clone(),
            threads,
            build,
            others: None,
            ours: Outcome::NotRun(String::new()),
            peers: Vec::new(),
            kernels: Vec::new(),
        };
        if let Err(error) = self.measure(subject, &mut row, machine) {
            row.ours = Outcome::NotRun(format!("{error:#}"));
        }
        row
    }

    fn measure(&self, subject: &Subject, row: &mut Row, machine: &Machine) -> Result<()> {
        let (model, inputs) = subject.files.as_ref().map_err(|why| anyhow!("{why:#}"))?;
        let start = |command: &mut Command| Side::start(command, model, inputs, &self.folder, row.threads);
        let mut ours = start(Command::new(std::env::current_exe()?).arg(serve::SERVE))?;
        let expected: Vec<_> = ours.outputs.iter().map(Stored::read).collect::<Result<_>>()?;
        let mut peers: Vec<Result<Side>> = Vec::new();
        for (_, program) in &PEERS {
            let side = self.command(program).and_then(|mut command| start(&mut command));
            peers.push(side.and_then(|side| {
                is_alike(&side.outputs, &expected, subject.tolerance)?;
                Ok(side)
            }));
        }
        let all = ours.once.max(0.06) + peers.iter().flatten().map(|side| side.once.max(0.06)).sum::<f64>();
        let turns = ((LONGEST / all) as u32).clamp(MIN_TURNS, self.runs.max(MIN_TURNS));
        let mut of_ours = Vec::new();
        let mut of_peers: Vec<Vec<f64>> = peers.iter().map(|_| Vec::new()).collect();
        let (begin, busy, mut own) = (Instant::now(), busy(), 0.0);
        for _ in 0..turns {
            std::thread::sleep(PAUSE);
            let (median, cpu) = ours.turn()?;
            of_ours.push(median);
            own += cpu;
            for (peer, turns) in peers.iter_mut().zip(&mut of_peers) {
                let Ok(side) = peer else { continue };
                std::thread::sleep(PAUSE);
                match side.turn() {
                    Ok((median, cpu)) => {
                        turns.push(median);
                        own += cpu;
                    }
                    Err(error) => *peer = Err(error),
                }
            }
        }
        row.others = busy
            .zip(self::busy())
            .map(|(before, after)| ((after - before - own) / begin.elapsed().as_secs_f64()).max(0.0));
        for (peer, turns) in peers.into_iter().zip(of_peers) {
            let figures = peer.and_then(|mut side| figures(&mut side, turns));
            row.peers.push(figures.map_or_else(|why| Outcome::NotRun(format!("{why:#}")), Outcome::Ran));
        }
        row.kernels = row::kernels(&ours.kernels()?, machine);
        row.ours = Outcome::Ran(figures(&mut ours, of_ours)?);
        Ok(())
    }

    fn command(&self, program: &Program) -> Result<Command> {
        Ok(match program {
            Program::Script(script) => {
                let mut python = Command::new(&self.python);
                python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script));
                python
            }
            Program::Built(name) => {
                Command::new(self.peers.as_deref().context("it is not built")?.join(name))
            }
        })
    }

    /// The versions of the peers.
    fn versions(&self) -> Vec<(String, String)> {
        let ask = "import importlib.metadata as m; print(m.version('onnxruntime'), m.version('openvino'))";
        let output = Command::new(&self.python).args(["-c", ask]).output().ok();
        let text =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let mut of_python = text.split_whitespace();
        let lock = include_str!("../../peers/Cargo.lock");
        let of_lock = |name: &str| {
            let at = lock.find(&format!("name = \"{name}\"\n"))?;
            lock[at..].lines().nth(1)?.strip_prefix("version = \"")?.strip_suffix('"').map(str::to_owned)
        };
        let versions = PEERS.iter().map(|(name, program)| {
            let version = match program {
                Program::Script(_) => of_python.next().map(str::to_owned),
                Program::Built(_) => of_lock(if *name == "tract" { "tract-onnx" } else { name }),
            };
            ((*name).to_owned(), version.unwrap_or_else(|| "not installed".to_owned()))
        });
        versions.collect()
    }
}

impl Subject {
    /// Writes a model that was drawn, and its inputs, into a folder.
    fn of_drawn(drawn: &Drawn, seed: u64, folder: &Path) -> Result<Subject> {
        let name = format!("{}-of-{seed}", drawn.name);
        let model = folder.join(format!("{name}.onnx"));
        std::fs::write(&model, onnx_proto::write(&drawn.model)?)?;
        let inputs = drawn.inputs.iter().enumerate().map(|(at, (input, tensor))| {
            let mut stored = Stored::write(tensor, folder.join(format!("{name}-{at}.bin")))?;
            stored.name.clone_from(input);
            Ok(stored)
        });
        let inputs = inputs.collect::<Result<_>>()?;
        let group = "drawn".to_owned();
        let what = format!("Drawn by the seed {seed}");
        Ok(Subject { name, group, what, tolerance: drawn.tolerance(), files: Ok((model, inputs)) })
    }

    fn of(line: &str) -> Result<Subject> {
        let subject: serde_json::Value = serde_json::from_str(line)?;
        let text = |key: &str| subject[key].as_str().map(str::to_owned);
        let files = match text("model") {
            Some(model) => Stored::all(&subject["inputs"]).map(|inputs| (PathBuf::from(model), inputs)),
            None => Err(anyhow!(text("why").unwrap_or_default())),
        };
        Ok(Subject {
            name: text("name").context("a model has a name")?,
            group: text("group").context("a model has a group")?,
            what: text("what").unwrap_or_default(),
            tolerance: subject["tolerance"].as_f64().context("a tolerance")?,
            files,
        })
    }

    /// How far results of this model may be apart.
    pub(crate) fn tolerance(&self) -> f64 {
        self.tolerance
    }
}

/// The measurements of a side.
fn figures(side: &mut Side, turns: Vec<f64>) -> Result<Figures> {
    Ok(Figures { load: side.load, first: side.first, memory: side.memory()?, turns })
}

/// Whether a peer's outputs are ours.
fn is_alike(outputs: &[Stored], expected: &[onnx_exec::Tensor], tolerance: f64) -> Result<()> {
    if outputs.len() != expected.len() {
        bail!("{} outputs, ours are {}", outputs.len(), expected.len());
    }
    for (output, expected) in outputs.iter().zip(expected) {
        let apart = output.apart(expected)?;
        ensure!(apart <= tolerance, "its outputs are not ours: {apart:.1e} of the largest apart");
    }
    Ok(())
}

/// When this program was made, which tells builds apart.
fn build() -> Result<u64> {
    let made = std::env::current_exe()?.metadata()?.modified()?;
    Ok(made.duration_since(UNIX_EPOCH)?.as_secs())
}

/// The seconds that all cores together have been busy since the system began, if it says so.
fn busy() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let numbers = text.lines().next()?.split_whitespace().skip(1).take(8);
    let ticks: Vec<f64> = numbers.map(|n| n.parse().ok()).collect::<Option<_>>()?;
    // Of the eight, the fourth and the fifth are idle; there are a hundred ticks a second.
    Some((ticks.iter().sum::<f64>() - ticks.get(3)? - ticks.get(4)?) / 100.0)
}
