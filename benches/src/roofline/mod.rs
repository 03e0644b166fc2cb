//! Time that kernels lose to the roofline, by class: `cargo xtask bench roofline`.
//!
//! Models come from the corpus and from a seed, which the run prints; without `--seed` it is a new one each time. Peaks are measured
//! before and after in the same call, which is discarded if they differ: then something else has used the machine.

mod census;
mod class;
mod drawn;
mod page;
mod stored;

pub(crate) use page::section;

use crate::models::serve::{self, failure};
use crate::models::{Contest, Subject};
use anyhow::{Result, anyhow, bail, ensure};
use census::Census;
use drawn::Drawn;
use onnx_exec::{Bandwidth, CompileOptions, Machine, Profile, RunOptions, Tensor, compile};
use onnx_ir::Model;
use onnx_ops::opset::registry_of;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
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

/// Peaks that differ by more than this part were measured on a machine that did something else.
const MAX_DIFFERENCE: f64 = 0.05;
/// How often peaks are measured until they agree.
const MAX_MEASURES: usize = 4;
const MAX_RUNS: usize = 300;

/// The census of a number of threads.
struct Measured {
    census: Census,
    /// The peak that differs between the measurements before and after, if one does.
    differs: Option<String>,
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
        let before = settled(threads);
        let isa = before.isa;
        let entry = stored.entry(isa, threads).cloned();
        ensure!(entry.is_some() || !args.check, "no shares are stored for {isa}, threads: {threads}");
        let fixed = entry.as_ref().filter(|_| args.check);
        let seed = fixed.map(|entry| entry.seed).or(args.seed).unwrap_or_else(new_seed);
        let count = fixed.map_or(args.drawn, |entry| entry.models);
        let measured = measure(sources(contest, args, seed, count)?, &before, args.seconds)?;
        println!("seed {seed}, {count} models drawn, {isa}, threads: {threads}\n{}", measured.census.text());
        if let Some(why) = &measured.differs {
            bail!("these figures are discarded: {why}");
        }
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

fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // Few digits, to be typed.
    since.map_or(0, |since| since.as_secs()) % 1_000_000
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

/// Runs the models. The peaks before are given.
fn measure(sources: Vec<Source>, before: &Machine, seconds: f64) -> Result<Measured> {
    let threads = before.threads;
    let mut profiles = Vec::new();
    for source in sources {
        let name = source.name();
        eprint!("{name:<24} {threads} …");
        match source.profile(threads, seconds) {
            Ok((model, profile)) => {
                let runs = profile.kernels.first().map_or(0, |kernel| kernel.times.len());
                eprintln!(" {} kernels, {runs} runs", profile.kernels.len());
                profiles.push((name, model, profile));
            }
            Err(why) => eprintln!(" NOT RUN: {why:#}"),
        }
    }
    ensure!(!profiles.is_empty(), "no model has run");
    let mut after = Machine::measure(threads);
    for _ in 1..MAX_MEASURES {
        if difference(before, &after).is_none() {
            break;
        }
        after = best(&after, &Machine::measure(threads));
    }
    let differs = difference(before, &after);
    let machine = best(before, &after);
    let mut census = Census::default();
    for (name, model, profile) in &profiles {
        census.add(name, model, profile, &machine);
    }
    Ok(Measured { census, differs })
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
    fn profile(self, threads: usize, seconds: f64) -> Result<(Model, Profile)> {
        let (model, inputs) = match self {
            Source::Drawn(drawn) => (drawn.model, drawn.inputs),
            Source::File(path) => (read(&path)?, Vec::new()),
            Source::Subject(subject) => {
                let (path, stored) = subject.files.as_ref().map_err(|why| anyhow!("{why:#}"))?;
                let inputs = stored.iter().map(|it| Ok((it.name.clone(), it.read()?)));
                (serve::read(path)?, inputs.collect::<Result<Vec<(String, Tensor)>>>()?)
            }
        };
        let executable = compile(&model, registry_of(&model), &CompileOptions::default());
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

/// The peaks of a machine with their names.
fn peaks(machine: &Machine) -> Vec<(String, f64)> {
    let mut all = vec![
        ("products of single floats".to_owned(), machine.singles),
        ("products of bytes".to_owned(), machine.byte_products),
    ];
    for Bandwidth { set, read, copy, .. } in &machine.bandwidths {
        all.push((format!("reading {} KiB", set >> 10), *read));
        all.push((format!("copying {} KiB", set >> 10), *copy));
    }
    all
}

/// The peaks of a machine, measured until two measurements agree: the first may meet a processor that has rested.
fn settled(threads: usize) -> Machine {
    let mut all = Machine::measure(threads);
    for _ in 1..MAX_MEASURES {
        let next = Machine::measure(threads);
        let is_settled = difference(&all, &next).is_none();
        all = best(&all, &next);
        if is_settled {
            break;
        }
    }
    all
}

/// The first peak that differs too much between two measurements.
fn difference(before: &Machine, after: &Machine) -> Option<String> {
    let pairs = peaks(before).into_iter().zip(peaks(after));
    let mut far = pairs.filter(|((_, a), (_, b))| (a - b).abs() > a.max(*b) * MAX_DIFFERENCE);
    far.next().map(|((name, a), (_, b))| {
        format!("the peak of {name} was {:.1} G/s before and {:.1} G/s after", a / 1e9, b / 1e9)
    })
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

    #[test]
    fn peaks_that_differ_are_named() {
        let machine = |singles, read| Machine {
            threads: 1,
            isa: "",
            singles,
            doubles: 1e9,
            byte_products: 1e9,
            bandwidths: vec![Bandwidth { set: 1 << 20, read, write: 1e9, copy: 1e9 }],
        };
        let (a, b) = (machine(1e11, 2e10), machine(0.96e11, 2.1e10));
        assert_eq!(difference(&a, &b), None);
        let found = difference(&a, &machine(1e11, 1.8e10)).unwrap();
        assert_eq!(found, "the peak of reading 1024 KiB was 20.0 G/s before and 18.0 G/s after");
        let best = best(&a, &b);
        assert_eq!((best.singles, best.bandwidths[0].read), (1e11, 2.1e10));
    }

    #[test]
    fn drawn_models_are_measured() {
        let drawn = drawn::drawn(3, 40, &["layers".to_owned()]);
        let sources = drawn.into_iter().map(|it| Source::Drawn(Box::new(it))).collect();
        let measured = measure(sources, &Machine::measure(1), 0.0).unwrap();
        let sums: Vec<_> = measured.census.classes.values().collect();
        assert!(!sums.is_empty() && sums.iter().all(|it| it.time > 0.0 && it.share() <= 1.0));
    }
}
