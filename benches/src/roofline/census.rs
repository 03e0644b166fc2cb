//! The time that kernels lose to the roofline, by class.
//!
//! ```text
//! lost = time − least time,    share of the peak = least time / time
//! ```
//! The least time is that of the operations and bytes which the operators need: a kernel that only copies between layouts that the
//! planner chose has none.

use super::class::class;
use crate::table::{columns, number};
use onnx_exec::{KernelProfile, Machine, Profile};
use onnx_ir::Model;
use std::collections::BTreeMap;

/// The kernels of a class.
#[derive(Clone, Default, Debug)]
pub(super) struct Sums {
    pub(super) kernels: usize,
    /// Seconds.
    pub(super) time: f64,
    pub(super) least: f64,
    /// The model and node that lose most, and how much.
    pub(super) worst: (String, f64),
}

impl Sums {
    /// The share of the peak, weighted by time.
    pub(super) fn share(&self) -> f64 {
        self.least / self.time.max(f64::MIN_POSITIVE)
    }

    fn lost(&self) -> f64 {
        self.time - self.least
    }
}

/// All kernels that were measured.
#[derive(Default)]
pub(super) struct Census {
    pub(super) classes: BTreeMap<String, Sums>,
    /// Each model with its sums.
    models: Vec<(String, Sums)>,
}

/// The class of copies that no operator asks for.
const COPIES: &str = "copies between layouts";
/// The share that models are to have, and from which time on.
const GOAL: f64 = 0.65;
const LONG: f64 = 2e-3;

impl Census {
    /// Adds the kernels of a model. The least of the times of a kernel counts: others were disturbed.
    pub(super) fn add(&mut self, name: &str, model: &Model, profile: &Profile, machine: &Machine) {
        let constants = profile.constants();
        let mut all = Sums::default();
        for kernel in &profile.kernels {
            let Some(time) = kernel.times.iter().min() else { continue };
            let is_copy = is_copy(kernel, profile);
            let class = if is_copy { COPIES.to_owned() } else { class(kernel, model) };
            let limit = machine.limit(&kernel.work, constants).seconds();
            let time = time.as_secs_f64();
            let least = if is_copy { 0.0 } else { limit.min(time) };
            let sums = self.classes.entry(class).or_default();
            for sums in [sums, &mut all] {
                sums.kernels += 1;
                sums.time += time;
                sums.least += least;
                if time - least > sums.worst.1 {
                    let node = if kernel.name.is_empty() { &kernel.op } else { &kernel.name };
                    let results = kernel.results.iter().map(|(_, dims)| format!("{dims:?}"));
                    let results = results.collect::<Vec<_>>().join(" ");
                    sums.worst = (format!("{name}: {node} {results}"), time - least);
                }
            }
        }
        self.models.push((name.to_owned(), all));
    }

    /// A table of the classes, those first that lose most, and of the long models below the goal.
    pub(super) fn text(&self) -> String {
        let total: f64 = self.classes.values().map(Sums::lost).sum();
        let head = ["class", "kernels", "time", "of peak", "lost", "of all lost", "loses most"];
        let mut lines = vec![head.map(str::to_owned)];
        for (class, sums) in self.sorted() {
            lines.push([
                class.clone(),
                sums.kernels.to_string(),
                milliseconds(sums.time),
                percent(sums.share()),
                milliseconds(sums.lost()),
                percent(sums.lost() / total.max(f64::MIN_POSITIVE)),
                sums.worst.0.clone(),
            ]);
        }
        let mut text = columns(&lines);
        let mut low: Vec<_> = self.models.iter().filter(|(_, sums)| sums.time >= LONG).collect();
        let count = low.len();
        low.retain(|(_, sums)| sums.share() < GOAL);
        low.sort_by(|(_, a), (_, b)| a.share().total_cmp(&b.share()));
        let goal = percent(GOAL);
        text += &format!("\n{} of {count} models above 2 ms are below {goal} of their peak:\n", low.len());
        let cells = |(name, sums): &&(String, Sums)| {
            [name.clone(), milliseconds(sums.time), percent(sums.share()), sums.worst.0.clone()]
        };
        text + &columns(&low.iter().map(cells).collect::<Vec<_>>())
    }

    /// The table of the classes for the page of performance, beside the shares that were stored before.
    pub(super) fn page(&self, before: &BTreeMap<String, f64>) -> String {
        let mut text = "| class | kernels | time | of the peak | before | lost |\n".to_owned();
        text += "| --- | ---: | ---: | ---: | ---: | ---: |\n";
        for (class, sums) in self.sorted() {
            let before = before.get(class).map_or("–".to_owned(), |share| percent(*share));
            text += &format!(
                "| {class} | {} | {} | {} | {before} | {} |\n",
                sums.kernels,
                milliseconds(sums.time),
                percent(sums.share()),
                milliseconds(sums.lost()),
            );
        }
        text
    }

    fn sorted(&self) -> Vec<(&String, &Sums)> {
        let mut all: Vec<_> = self.classes.iter().collect();
        all.sort_by(|(_, a), (_, b)| b.lost().total_cmp(&a.lost()));
        all
    }
}

/// Whether a kernel computes nothing, and its nodes are those of another kernel that does.
fn is_copy(kernel: &KernelProfile, profile: &Profile) -> bool {
    kernel.work.operations() == 0
        && !kernel.nodes.is_empty()
        && profile.kernels.iter().any(|other| {
            !std::ptr::eq(other, kernel)
                && other.work.operations() > 0
                && kernel.nodes.iter().all(|node| other.nodes.contains(node))
        })
}

fn milliseconds(seconds: f64) -> String {
    format!("{} ms", number(seconds * 1e3))
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_exec::Work;
    use onnx_ir::{NodeId, PrimaryMap};
    use std::time::Duration;

    #[test]
    fn classes_lose_what_they_take_longer_than_their_work() {
        let mut nodes = PrimaryMap::<NodeId, ()>::new();
        let ids: Vec<NodeId> = (0..3).map(|_| nodes.push(())).collect();
        let kernel = |op: &str, node: usize, singles, micros: &[u64]| KernelProfile {
            op: op.to_owned(),
            name: format!("n{node}"),
            nodes: vec![ids[node]],
            results: Vec::new(),
            start: Duration::ZERO,
            times: micros.iter().map(|t| Duration::from_micros(*t)).collect(),
            work: Work { singles, ..Work::default() },
        };
        let kernels = vec![
            // A thousand operations take a microsecond.
            kernel("Softmax", 0, 1000, &[5, 4]),
            kernel("Softmax", 1, 2000, &[2, 9]),
            // A copy for the one before.
            kernel("Softmax", 1, 0, &[3]),
            kernel("Transpose", 2, 0, &[1]),
        ];
        let bandwidths = Vec::new();
        let machine =
            Machine { threads: 1, isa: "", singles: 1e9, doubles: 1e9, byte_products: 1e9, bandwidths };
        let mut census = Census::default();
        census.add("m", &Model::of_opset(21), &Profile { kernels }, &machine);
        let seen: Vec<_> = census
            .sorted()
            .into_iter()
            .map(|(class, sums)| (class.as_str(), sums.kernels, (sums.lost() * 1e6).round(), sums.share()))
            .collect();
        assert_eq!(
            seen[..2].iter().map(|it| (it.0, it.1, it.2)).collect::<Vec<_>>(),
            [("Softmax", 2, 3.0), (COPIES, 1, 3.0)]
        );
        assert!((seen[0].3 - 0.5).abs() < 1e-9 && seen[1].3 == 0.0, "{seen:?}");
        assert!(census.text().contains("m: n0"), "{}", census.text());
        let page = census.page(&BTreeMap::from([("Softmax".to_owned(), 0.25)]));
        assert!(page.contains("| Softmax | 2 | 0.0060 ms | 50% | 25% | 0.0030 ms |"), "{page}");
    }
}
