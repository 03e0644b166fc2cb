//! Time that kernels lose to the roofline, by class: `cargo xtask bench roofline`.
//!
//! Models come from the corpus and from a seed, which the run prints; without `--seed` it is a new one each time. Peaks are measured
//! before and after each model. If the least time of its kernels differs by them, something else has used the machine, and the model is
//! measured again.

mod census;
mod class;
mod page;
mod stored;

pub(crate) use page::section;

use crate::drawn::{self, Drawn};
use crate::models::serve::{self, failure};
use crate::models::{Contest, Subject};
use anyhow::{Result, anyhow, ensure};
use census::Census;
use onnx_exec::{Bandwidth, CompileOptions, Machine, Profile, RunOptions, Tensor, compile};
use onnx_ir::Model;
use onnx_ops::opset::registry_of;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use stored::{Entry, Stored};

/// Which models, and what becomes of the figures.
#[derive(clap::Args, Clone)]
pub(crate) struct RooflineArgs {
    /// Files of models without inputs, or parts of the names of models; without any, all that are drawn
    models: Vec<String>,
    /// Include the models of `bench models --set all`: the generated ones and the corpus
    #[arg(long)]
    pub(crate) all: bool,
    /// The seed of the models that are drawn; without it, a new one
    #[arg(long)]
    seed: Option<u64>,
    /// Number of models that are drawn
    #[arg(long, default_value_t = 40)]
    drawn: usize,
    /// Numbers of threads, one after the other
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Seconds that each model is run
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Draw the models of the stored shares, and fail if a class has lost a tenth of its share
    #[arg(long, conflicts_with_all = ["all", "seed", "models", "store"])]
    check: bool,
    /// Store the shares of the classes for `--check`
    #[arg(long, conflicts_with_all = ["all", "models"])]
    store: bool,
    /// Write the table of the classes to docs/performance.md
    #[arg(long)]
    write: bool,
}

/// Least times that differ by more than this part were those of a machine that did something else.
const MAX_DIFFERENCE: f64 = 0.05;
/// How often a model is measured until the peaks around it agree; then it is left out.
const MAX_MEASURES: usize = 4;
/// A census that leaves out more than this part of its models is discarded.
const MAX_LEFT_OUT: f64 = 0.1;
const MAX_RUNS: usize = 300;

/// The census of a number of threads.
struct Measured {
    census: Census,
    /// The number of models that ran, and those around which the peaks differed, with how much.
    models: usize,
    left_out: Vec<String>,
}

/// A model to be measured.
enum Source {
    Drawn(Box<Drawn>),
    File(PathBuf),
    Subject(Box<Subject>),
}

/// Takes the census. `contest` has the folders, and Python for `--all`.
pub(crate) fn run(contest: &Contest, args: &RooflineArgs) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("roofline.json");
    let mut stored = Stored::read(&file)?;
    let mut worse = Vec::new();
    for &threads in &args.threads {
        // The first measurement may meet a processor that has rested.
        let isa = Machine::measure(threads).isa;
        let entry = stored.entry(isa, threads).cloned();
        ensure!(entry.is_some() || !args.check, "no shares are stored for {isa}, threads: {threads}");
        let fixed = entry.as_ref().filter(|_| args.check);
        let seed = fixed.map(|entry| entry.seed).or(args.seed).unwrap_or_else(drawn::new_seed);
        let count = fixed.map_or(args.drawn, |entry| entry.models);
        let measured =
            measure(sources(contest, args, seed, count)?, &mut || Machine::measure(threads), args.seconds)?;
        println!("seed {seed}, {count} models drawn, {isa}, threads: {threads}\n{}", measured.census.text());
        measured.left_out.iter().for_each(|it| println!("left out: {it}"));
        ensure!(
            measured.left_out.len() as f64 <= measured.models as f64 * MAX_LEFT_OUT,
            "these figures are discarded: peaks differ around {} of {} models",
            measured.left_out.len(),
            measured.models
        );
        if let Some(entry) = fixed {
            worse.extend(entry.lost(&measured.census));
        }
        let shares = entry.map(|entry| entry.shares).unwrap_or_default();
        if args.write {
            let title = format!("{isa}, threads: {threads}, {count} models of the seed {seed}");
            page::write(&folder.join("../docs/performance.md"), &title, &measured.census.page(&shares))?;
        }
        if args.store {
            stored.set(isa, threads, Entry::of(&measured.census, seed, count));
            stored.write(&file)?;
        }
    }
    ensure!(worse.is_empty(), "classes have lost a tenth or more:\n  {}", worse.join("\n  "));
    Ok(())
}

fn sources(contest: &Contest, args: &RooflineArgs, seed: u64, count: usize) -> Result<Vec<Source>> {
    let (files, words): (Vec<_>, Vec<_>) =
        args.models.iter().cloned().partition(|it| Path::new(it).is_file());
    let mut all: Vec<Source> = files.iter().map(|file| Source::File(file.into())).collect();
    if files.is_empty() || !words.is_empty() {
        all.extend(drawn::drawn(seed, count, &words).into_iter().map(|it| Source::Drawn(Box::new(it))));
    }
    if args.all {
        all.extend(contest.subjects()?.into_iter().map(|it| Source::Subject(Box::new(it))));
    }
    ensure!(!all.is_empty(), "no model has such a name");
    Ok(all)
}

/// Runs the models. `peaks` measures the machine.
fn measure(sources: Vec<Source>, peaks: &mut dyn FnMut() -> Machine, seconds: f64) -> Result<Measured> {
    let mut before = peaks();
    let threads = before.threads;
    let mut measured = Measured { census: Census::default(), models: 0, left_out: Vec::new() };
    for source in sources {
        let name = source.name();
        eprint!("{name:<24} {threads} …");
        let mut differs = None;
        for _ in 0..MAX_MEASURES {
            let (model, profile) = match source.profile(threads, seconds) {
                Ok(measured) => measured,
                Err(why) => {
                    eprint!(" NOT RUN: {why:#}");
                    break;
                }
            };
            let runs = profile.kernels.first().map_or(0, |kernel| kernel.times.len());
            eprint!(" {} kernels, {runs} runs", profile.kernels.len());
            let after = peaks();
            let around = best(&before, &after);
            differs = Some(difference(&profile, [&before, &after]));
            before = after;
            if differs <= Some(MAX_DIFFERENCE) {
                measured.census.add(&name, &model, &profile, &around);
                break;
            }
        }
        eprintln!();
        measured.models += usize::from(differs.is_some());
        if let Some(part) = differs.filter(|part| *part > MAX_DIFFERENCE) {
            measured
                .left_out
                .push(format!("{name}: by the peaks before and after, {:.0}% apart", part * 100.0));
        }
    }
    ensure!(measured.models > 0, "no model has run");
    Ok(measured)
}

/// By which part of the larger one the least times of a model differ between two measurements of the peaks.
fn difference(profile: &Profile, peaks: [&Machine; 2]) -> f64 {
    let constants = profile.constants();
    let [a, b] = peaks.map(|machine| {
        let least = profile.kernels.iter().map(|kernel| machine.limit(&kernel.work, constants).seconds());
        least.sum::<f64>()
    });
    (a - b).abs() / a.max(b).max(f64::MIN_POSITIVE)
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::Drawn(drawn) => drawn.name.clone(),
            Source::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            Source::Subject(subject) => subject.name.clone(),
        }
    }

    /// The model, and the kernels of its runs.
    fn profile(&self, threads: usize, seconds: f64) -> Result<(Model, Profile)> {
        let (model, inputs) = match self {
            Source::Drawn(drawn) => (Cow::Borrowed(&drawn.model), drawn.inputs.clone()),
            Source::File(path) => (Cow::Owned(read(path)?), Vec::new()),
            Source::Subject(subject) => {
                let (path, stored) = subject.files.as_ref().map_err(|why| anyhow!("{why:#}"))?;
                let inputs = stored.iter().map(|it| Ok((it.name.clone(), it.read()?)));
                (Cow::Owned(serve::read(path)?), inputs.collect::<Result<Vec<(String, Tensor)>>>()?)
            }
        };
        let model = &*model;
        let executable = compile(model, registry_of(model), &CompileOptions::default());
        let executable = executable.map_err(|found| failure(&found))?;
        let given = inputs.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
        let inputs = serve::inputs(&executable, given)?;
        let options = RunOptions { threads, ..RunOptions::default() };
        // The first run plans.
        serve::outputs(&executable, &inputs, &options)?;
        let begin = Instant::now();
        let enough = Duration::from_secs_f64(seconds);
        let mut is_enough = |runs: usize| begin.elapsed() >= enough && runs > 2 || runs >= MAX_RUNS;
        let profile = executable.profile(&inputs, &options, &mut is_enough);
        let profile = profile.map_err(|error| failure(&[*error]))?;
        // Fused nodes have the ids of the model as it is run.
        let run = executable.model().clone();
        drop(executable);
        Ok((run, profile))
    }
}

/// A model in text or in the binary format.
fn read(path: &Path) -> Result<Model> {
    if path.extension().is_some_and(|it| it == "onnx") {
        return serve::read(path);
    }
    let (model, found) = onnx_text::read_model(&std::fs::read_to_string(path)?).into_parts();
    ensure!(found.is_empty(), failure(&found));
    Ok(model)
}

/// The higher one of each peak.
fn best(a: &Machine, b: &Machine) -> Machine {
    let pairs = a.bandwidths.iter().zip(&b.bandwidths);
    let bandwidth = |(a, b): (&Bandwidth, &Bandwidth)| Bandwidth {
        set: a.set,
        read: a.read.max(b.read),
        write: a.write.max(b.write),
        copy: a.copy.max(b.copy),
    };
    Machine {
        threads: a.threads,
        isa: a.isa,
        singles: a.singles.max(b.singles),
        doubles: a.doubles.max(b.doubles),
        byte_products: a.byte_products.max(b.byte_products),
        bandwidths: pairs.map(bandwidth).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_exec::{KernelProfile, Work};

    #[test]
    fn peaks_differ_as_much_as_the_times_by_them() {
        let machine = |singles, read| Machine {
            threads: 1,
            isa: "",
            singles,
            doubles: 1e9,
            byte_products: 1e9,
            bandwidths: vec![Bandwidth { set: 1 << 20, read, write: 1e9, copy: 1e9 }],
        };
        let kernel = |work| KernelProfile {
            op: String::new(),
            name: String::new(),
            nodes: Vec::new(),
            results: Vec::new(),
            start: Duration::ZERO,
            times: Vec::new(),
            work,
        };
        // 3 µs of operations, and 1 µs of reading.
        let of = |singles, read| kernel(Work { singles, read, ..Work::default() });
        let profile = Profile { kernels: vec![of(3000, 0), of(0, 1000)] };
        let (a, b) = (machine(1e9, 1e9), machine(1e9, 2e9));
        assert_eq!(difference(&profile, [&a, &a]), 0.0);
        assert!((difference(&profile, [&a, &b]) - 0.125).abs() < 1e-12);
        let best = best(&machine(2e9, 1e9), &b);
        assert_eq!((best.singles, best.bandwidths[0].read), (2e9, 2e9));
    }

    #[test]
    fn drawn_models_are_measured() {
        let drawn = drawn::drawn(3, 40, &["layers".to_owned()]);
        let sources = drawn.into_iter().map(|it| Source::Drawn(Box::new(it))).collect();
        let peaks = Machine::measure(1);
        let measured = measure(sources, &mut || peaks.clone(), 0.0).unwrap();
        assert!(measured.models > 0 && measured.left_out.is_empty());
        let sums: Vec<_> = measured.census.classes.values().collect();
        assert!(!sums.is_empty() && sums.iter().all(|it| it.time > 0.0 && it.share() <= 1.0));
    }

    #[test]
    fn models_between_peaks_that_differ_are_left_out() {
        let drawn = drawn::drawn(3, 40, &["layers".to_owned()]).into_iter().take(1);
        let sources = drawn.map(|it| Source::Drawn(Box::new(it))).collect();
        let (fast, mut calls) = (Machine::measure(1), 0);
        let peaks = &mut || {
            calls += 1;
            // Every second time, everything takes twice as long.
            let slow = |bandwidth: &Bandwidth| Bandwidth {
                set: bandwidth.set,
                read: bandwidth.read / 2.0,
                write: bandwidth.write / 2.0,
                copy: bandwidth.copy / 2.0,
            };
            if calls % 2 == 0 {
                let bandwidths = fast.bandwidths.iter().map(slow).collect();
                Machine {
                    singles: fast.singles / 2.0,
                    doubles: fast.doubles / 2.0,
                    bandwidths,
                    ..fast.clone()
                }
            } else {
                fast.clone()
            }
        };
        let measured = measure(sources, peaks, 0.0).unwrap();
        assert_eq!((measured.models, measured.census.classes.len()), (1, 0));
        assert_eq!(measured.left_out.len(), 1);
        assert!(measured.left_out[0].ends_with(", 50% apart"), "{:?}", measured.left_out);
        assert_eq!(calls, 1 + MAX_MEASURES);
    }
}
