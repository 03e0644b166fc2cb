//! Which kernels are slower fused than their nodes are one by one: `cargo xtask bench fusion`.
//!
//! Each model is run by its plans and node by node, by turns. Kernels that stand for the same nodes, such as a convolution and the copy
//! to another layout before it, are one: their time together is compared with that of their nodes together. Views take no kernel in a
//! plan, and what is computed when a plan is made is in no kernel: neither counts on the other side.

use super::serve::{failure, inputs, outputs, read};
use super::{Contest, Subject};
use crate::table::{columns, number};
use anyhow::{Result, anyhow, ensure};
use onnx_exec::{CompileOptions, Executable, Profile, RunOptions, Value, compile};
use onnx_ir::NodeId;
use onnx_ops::opset::registry_of;
use serde_json::json;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a model is run in both ways, in seconds, and in how many turns at least and at most.
const LONG: f64 = 3.0;
const MIN_TURNS: usize = 5;
const MAX_TURNS: usize = 200;
/// Slower is by more than this part and by more than this time: less is noise.
const SLOWER: f64 = 1.1;
const MIN_DIFFERENCE: Duration = Duration::from_micros(3);

/// Kernels that stand for the same nodes.
struct Group {
    kernels: Vec<String>,
    /// The name of the last node.
    node: String,
    nodes: usize,
    fused: Times,
    apart: Times,
}

/// Of all turns, in seconds.
#[derive(Clone, Copy, Default)]
struct Times {
    median: f64,
    least: f64,
}

/// A model in both ways.
struct Compared {
    fused: Times,
    apart: Times,
    groups: Vec<Group>,
}

impl Contest {
    /// Names the kernels of models that are slower fused.
    pub(crate) fn fusion(&self) -> Result<()> {
        let mut found = Vec::new();
        let mut models = vec![["model", "plan", "nodes", "plan/nodes"].map(str::to_owned)];
        let mut not_run = Vec::new();
        let subjects = self.subjects()?;
        for &threads in &self.options.threads {
            for subject in &subjects {
                eprint!("{:<22} {threads} …", subject.name);
                let _lock = self.locked()?;
                match compare(subject, threads) {
                    Ok(compared) => {
                        let slower = compared.groups.iter().filter(|group| group.is_slower()).count();
                        eprintln!(" {slower} of {} kernels slower", compared.groups.len());
                        if self.json {
                            println!("{}", compared.json(&subject.name, threads));
                        }
                        let name = format!("{} ({threads})", subject.name);
                        models.push([
                            name.clone(),
                            milliseconds(compared.fused.median),
                            milliseconds(compared.apart.median),
                            number(compared.fused.median / compared.apart.median),
                        ]);
                        found.extend(compared.groups.into_iter().map(|group| (name.clone(), group)));
                    }
                    Err(why) => {
                        eprintln!(" NOT RUN: {why:#}");
                        not_run.push(format!("{}: {why:#}", subject.name));
                    }
                }
            }
        }
        if !self.json {
            print!("{}\n{}", columns(&models), slower(&mut found));
            if !not_run.is_empty() {
                println!("\n*** NOT RUN:\n  {}", not_run.join("\n  "));
            }
        }
        Ok(())
    }
}

/// A line for each group that is slower, those that lose most first.
fn slower(found: &mut Vec<(String, Group)>) -> String {
    found.retain(|(_, group)| group.is_slower());
    found.sort_by(|(_, a), (_, b)| b.lost().total_cmp(&a.lost()));
    if found.is_empty() {
        return "No kernel is slower fused.\n".to_owned();
    }
    let head = ["slower fused", "fused", "nodes apart", "fused/apart", "nodes", "last node", "kernels"];
    let mut lines = vec![head.map(str::to_owned)];
    for (model, group) in found {
        lines.push([
            model.clone(),
            milliseconds(group.fused.median),
            milliseconds(group.apart.median),
            number(group.fused.median / group.apart.median),
            group.nodes.to_string(),
            group.node.clone(),
            group.kernels.join(", "),
        ]);
    }
    columns(&lines)
}

fn milliseconds(seconds: f64) -> String {
    format!("{} ms", number(seconds * 1e3))
}

/// Runs a model by its plans and node by node.
fn compare(subject: &Subject, threads: usize) -> Result<Compared> {
    let (path, stored) = subject.files.as_ref().map_err(|why| anyhow!("{why:#}"))?;
    let model = read(path)?;
    let compiled = |node_by_node| {
        let options = CompileOptions { node_by_node, ..CompileOptions::default() };
        compile(&model, registry_of(&model), &options).map_err(|found| failure(&found))
    };
    let (fused, apart) = (compiled(false)?, compiled(true)?);
    let given = stored.iter().map(|s| Ok((s.name.as_str(), s.read()?))).collect::<Result<_>>()?;
    let inputs = inputs(&fused, given)?;
    let options = RunOptions { threads, ..RunOptions::default() };
    let results = [outputs(&fused, &inputs, &options)?, outputs(&apart, &inputs, &options)?];
    for (a, b) in results[0].iter().zip(&results[1]) {
        let is_close = super::tensor::distance(a, b)? <= subject.tolerance();
        ensure!(is_close, "the nodes one by one have other results than the plan");
    }
    let profiles = [Turns::new(&fused), Turns::new(&apart)];
    let [fused, apart] = by_turns(profiles, &inputs, &options)?;
    Ok(compared(&fused, &apart))
}

/// One way to run a model, and what its runs took.
struct Turns<'e, 'r> {
    executable: &'e Executable<'r>,
    profile: Option<Profile>,
    walls: Vec<f64>,
}

impl<'e, 'r> Turns<'e, 'r> {
    fn new(executable: &'e Executable<'r>) -> Turns<'e, 'r> {
        Turns { executable, profile: None, walls: Vec::new() }
    }

    /// One run that is not watched, and one that is.
    fn turn(&mut self, inputs: &[Option<Value>], options: &RunOptions<'_>) -> Result<()> {
        let told = |error: Box<onnx_ir::diag::Diagnostic>| failure(&[*error]);
        let start = Instant::now();
        let outputs = self.executable.run(inputs.to_vec(), options).map_err(told)?;
        self.walls.push(start.elapsed().as_secs_f64());
        drop(outputs);
        let profile = self.executable.profile(inputs, options, &mut |_| true).map_err(told)?;
        match &mut self.profile {
            Some(all) => all.add(profile),
            None => self.profile = Some(profile),
        }
        Ok(())
    }
}

/// Times both variants alternately.
fn by_turns(
    mut ways: [Turns<'_, '_>; 2],
    inputs: &[Option<Value>],
    options: &RunOptions<'_>,
) -> Result<[(Profile, Vec<f64>); 2]> {
    let begin = Instant::now();
    let mut turns = 0;
    while turns < MIN_TURNS || turns < MAX_TURNS && begin.elapsed().as_secs_f64() < LONG {
        for way in &mut ways {
            way.turn(inputs, options)?;
        }
        turns += 1;
    }
    Ok(ways.map(|way| (way.profile.unwrap_or_default(), way.walls)))
}

/// The kernels of a plan, each with its nodes as they are apart.
fn compared(fused: &(Profile, Vec<f64>), apart: &(Profile, Vec<f64>)) -> Compared {
    let nodes: HashMap<NodeId, Vec<f64>> = apart
        .0
        .kernels
        .iter()
        .filter_map(|kernel| Some((*kernel.nodes.first()?, seconds(&kernel.times))))
        .collect();
    let kernels: Vec<&[NodeId]> = fused.0.kernels.iter().map(|kernel| &kernel.nodes[..]).collect();
    let groups = joined(&kernels).into_iter().filter_map(|members| {
        let mut own: Vec<NodeId> = members.iter().flat_map(|at| kernels[*at]).copied().collect();
        own.sort_unstable();
        own.dedup();
        let of = |at: &usize| seconds(&fused.0.kernels[*at].times);
        let last = &fused.0.kernels[*members.last()?];
        Some(Group {
            kernels: members.iter().map(|at| fused.0.kernels[*at].op.clone()).collect(),
            node: last.name.clone(),
            nodes: own.len(),
            fused: Times::of(&members.iter().map(of).collect::<Vec<_>>()),
            apart: Times::of(&own.iter().filter_map(|node| nodes.get(node).cloned()).collect::<Vec<_>>()),
        })
    });
    Compared {
        fused: Times::of(std::slice::from_ref(&fused.1)),
        apart: Times::of(std::slice::from_ref(&apart.1)),
        groups: groups.collect(),
    }
}

fn seconds(times: &[Duration]) -> Vec<f64> {
    times.iter().map(Duration::as_secs_f64).collect()
}

/// Sets of kernels that share nodes, each in order.
fn joined(kernels: &[&[NodeId]]) -> Vec<Vec<usize>> {
    // For each kernel the first one of its set.
    let mut first: Vec<usize> = (0..kernels.len()).collect();
    let mut by_node: HashMap<NodeId, usize> = HashMap::new();
    for (at, nodes) in kernels.iter().enumerate() {
        for node in *nodes {
            let other = first[*by_node.entry(*node).or_insert(at)];
            let (from, to) = (first[at].max(other), first[at].min(other));
            first.iter_mut().filter(|set| **set == from).for_each(|set| *set = to);
        }
    }
    let mut sets: Vec<Vec<usize>> = vec![Vec::new(); kernels.len()];
    for (at, set) in first.iter().enumerate() {
        sets[*set].push(at);
    }
    sets.retain(|set| !set.is_empty());
    sets
}

impl Times {
    /// Of the sums of several things, each of which took so long in each turn.
    fn of(all: &[Vec<f64>]) -> Times {
        let turns = all.iter().map(Vec::len).min().unwrap_or(0);
        let mut sums: Vec<f64> = (0..turns).map(|turn| all.iter().map(|times| times[turn]).sum()).collect();
        sums.sort_by(f64::total_cmp);
        Times {
            median: sums.get(turns / 2).copied().unwrap_or(0.0),
            least: sums.first().copied().unwrap_or(0.0),
        }
    }

    /// Whether it is longer than another, in the median as well as at best.
    fn is_longer(&self, other: &Times) -> bool {
        self.median > other.median * SLOWER
            && self.least > other.least * SLOWER
            && self.median - other.median > MIN_DIFFERENCE.as_secs_f64()
    }
}

impl Group {
    /// Whether there is something fused, and it is slower.
    fn is_slower(&self) -> bool {
        self.nodes > 1 && self.apart.median > 0.0 && self.fused.is_longer(&self.apart)
    }

    fn lost(&self) -> f64 {
        self.fused.median - self.apart.median
    }
}

impl Compared {
    fn json(&self, name: &str, threads: usize) -> serde_json::Value {
        let groups = self.groups.iter().filter(|group| group.nodes > 1).map(|group| {
            json!({
                "kernels": group.kernels, "node": group.node, "nodes": group.nodes,
                "fused": group.fused.median, "apart": group.apart.median, "is_slower": group.is_slower(),
            })
        });
        json!({
            "name": name, "threads": threads, "fused": self.fused.median, "apart": self.apart.median,
            "kernels": groups.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_exec::{KernelProfile, Work};
    use onnx_ir::PrimaryMap;

    /// The nodes at these positions of a body.
    fn ids(positions: &[usize]) -> Vec<NodeId> {
        let mut nodes = PrimaryMap::<NodeId, ()>::new();
        let all: Vec<NodeId> = (0..10).map(|_| nodes.push(())).collect();
        positions.iter().map(|at| all[*at]).collect()
    }

    fn kernel(op: &str, nodes: &[usize], times: &[u64]) -> KernelProfile {
        KernelProfile {
            op: op.to_owned(),
            name: format!("n{}", nodes.last().copied().unwrap_or(0)),
            nodes: ids(nodes),
            results: Vec::new(),
            start: Duration::ZERO,
            times: times.iter().map(|t| Duration::from_micros(*t)).collect(),
            work: Work::default(),
        }
    }

    #[test]
    fn kernels_are_held_against_their_nodes() {
        let fused = vec![
            kernel("Conv+Relu", &[0, 1], &[90, 100, 110]),
            kernel("Mul+Add", &[2, 3], &[100, 100, 100]),
            kernel("Softmax", &[5], &[70, 70, 70]),
            // A copy for what the first one reads.
            kernel("Relu", &[1], &[50, 50, 50]),
        ];
        let apart: Vec<_> = [(0, 60), (1, 60), (2, 60), (3, 60), (4, 90), (5, 10)]
            .map(|(n, t)| kernel("", &[n], &[t; 3]))
            .into();
        let profile = |kernels| (Profile { kernels }, vec![1e-3; 3]);
        let compared = compared(&profile(fused), &profile(apart));
        let seen: Vec<_> = compared
            .groups
            .iter()
            .map(|g| (g.kernels.join(" "), g.nodes, (g.lost() * 1e6).round(), g.is_slower()))
            .collect();
        assert_eq!(
            seen,
            [
                // 90 + 50 at best, 120 apart.
                ("Conv+Relu Relu".to_owned(), 2, 30.0, true),
                ("Mul+Add".to_owned(), 2, -20.0, false),
                // Nothing is fused in it.
                ("Softmax".to_owned(), 1, 60.0, false),
            ]
        );
        let mut found: Vec<_> =
            compared.groups.into_iter().map(|group| ("m (1)".to_owned(), group)).collect();
        let text = slower(&mut found);
        assert!(text.lines().count() == 2 && text.contains("Conv+Relu, Relu"), "{text}");
    }

    #[test]
    fn sets_grow_together() {
        let kernels = [ids(&[1]), ids(&[2]), ids(&[3, 4]), ids(&[2, 3]), ids(&[5])];
        let kernels: Vec<&[NodeId]> = kernels.iter().map(|nodes| &nodes[..]).collect();
        assert_eq!(joined(&kernels), [vec![0], vec![1, 2, 3], vec![4]]);
    }
}
