//! The times of models, for people and for programs.

use super::{PEERS, Row};
use crate::clock::Sample;
use crate::table::{columns, median, number, ratios, side};
use serde_json::{Value, json};

const LEGEND: &str = "
CPU time of one run on one thread: median, ours and each peer's. Ratios ours/peer, below 1 is faster: median of the turns
(lowest-highest). The mean is that of the medians, geometric, over the models that both run.
";

/// A line for each model, the means, and what could not be run.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines = vec![vec!["model".to_owned(), "ours".to_owned()]];
    lines[0].extend(PEERS.iter().flat_map(|(name, _)| [(*name).to_owned(), "ours/peer".to_owned()]));
    lines.extend(rows.iter().filter_map(line));
    let mut means = vec!["mean".to_owned(), String::new()];
    for peer in 0..PEERS.len() {
        let medians: Vec<f64> = rows.iter().filter_map(|row| Some(median(&ratios_to(row, peer)?))).collect();
        means.extend(match medians.is_empty() {
            true => ["-".to_owned(), "-".to_owned()],
            false => [format!("{} models", medians.len()), number(geometric_mean(&medians))],
        });
    }
    lines.push(means);
    columns(&lines) + LEGEND + &left_out(rows)
}

fn line(row: &Row) -> Option<Vec<String>> {
    let ours = row.ours.as_ref().ok()?;
    let mut line = vec![row.name.clone(), milliseconds(ours)];
    for (peer, samples) in row.peers.iter().enumerate() {
        line.extend(match (samples, ratios_to(row, peer).as_deref()) {
            (Ok(samples), Some(ratios @ [low, .., high])) => {
                let ratio = format!("{} ({}-{})", number(median(ratios)), number(*low), number(*high));
                [milliseconds(samples), ratio]
            }
            (Ok(samples), Some(ratios)) => [milliseconds(samples), number(median(ratios))],
            (_, None) | (Err(_), _) => ["-".to_owned(), "-".to_owned()],
        });
    }
    Some(line)
}

fn milliseconds(samples: &[Sample]) -> String {
    let mut times: Vec<f64> = samples.iter().map(|sample| sample.cpu * 1e3).collect();
    times.sort_by(f64::total_cmp);
    format!("{} ms", number(median(&times)))
}

/// Turn by turn, lowest first, if both have been timed.
fn ratios_to(row: &Row, peer: usize) -> Option<Vec<f64>> {
    let (ours, peer) = (row.ours.as_ref().ok()?, row.peers.get(peer)?.as_ref().ok()?);
    Some(ratios(ours, peer, |sample| sample.cpu))
}

fn geometric_mean(numbers: &[f64]) -> f64 {
    (numbers.iter().map(|number| number.ln()).sum::<f64>() / numbers.len() as f64).exp()
}

/// What could not be run, with the reason.
fn left_out(rows: &[Row]) -> String {
    let mut lines = Vec::new();
    for row in rows {
        if let Err(why) = &row.ours {
            lines.push(format!("  {}, ours: {why:#}\n", row.name));
        }
        for ((peer, _), samples) in PEERS.iter().zip(&row.peers) {
            if let Err(why) = samples {
                lines.push(format!("  {}, {peer}: {why:#}\n", row.name));
            }
        }
    }
    if lines.is_empty() { String::new() } else { format!("\n*** NOT RUN:\n{}", lines.concat()) }
}

/// All that was measured.
pub(super) fn json(row: &Row) -> Value {
    let of = |samples: &anyhow::Result<Vec<Sample>>| match samples {
        Ok(samples) => side(samples, None),
        Err(why) => json!({"not_run": format!("{why:#}")}),
    };
    let peers = PEERS.iter().zip(&row.peers).map(|((name, _), samples)| ((*name).to_owned(), of(samples)));
    json!({"name": row.name, "ours": of(&row.ours), "peers": peers.collect::<serde_json::Map<_, _>>()})
}

impl Row {
    /// In a few words, while other models are still to come.
    pub(super) fn note(&self) -> String {
        let peers = self.peers.iter().filter(|peer| peer.is_ok()).count();
        match &self.ours {
            Ok(samples) => format!("{} turns with {peers} of {} peers", samples.len(), PEERS.len()),
            Err(why) => format!("NOT RUN: {why:#}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_table_has_means_of_what_both_run_and_reasons() {
        let samples = |times: &[f64]| {
            times.iter().map(|cpu| Sample { wall: *cpu, cpu: *cpu, memory: None }).collect::<Vec<_>>()
        };
        let row = |name: &str, ours: &[f64], peer: &[f64]| Row {
            name: name.to_owned(),
            ours: Ok(samples(ours)),
            peers: vec![Ok(samples(peer)), Err(anyhow!("no Relu")), Ok(samples(ours))],
        };
        let rows = [row("a", &[0.01, 0.02, 0.01], &[0.01; 3]), row("b", &[0.02], &[0.005])];
        let text = table(&rows);
        let words = |line: usize| {
            text.lines().nth(line).into_iter().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(1), "a 10.0 ms 10.0 ms 1.00 (1.00-2.00) - - 10.0 ms 1.00 (1.00-1.00)", "{text}");
        assert_eq!(words(3), "mean 2 models 2.00 - - 2 models 1.00", "{text}");
        assert!(text.ends_with("*** NOT RUN:\n  a, tract: no Relu\n  b, tract: no Relu\n"), "{text}");
    }
}
