//! The times of models, for people at a terminal.

use super::row::{Outcome, Row, geometric_mean};
use super::{GROUPS, PEERS};
use crate::table::{columns, number};

const LEGEND: &str = "
Wall time of one run, median of the turns, ours and each peer's. Ratios ours/peer, below 1 is faster: median of the turns
(lowest-highest). Means are geometric, over the models that both run. Others: cores that other programs used meanwhile.
Load is up to the first run; memory is how far the resident memory grew since before the model was loaded, at most.
";

/// A line for each model and number of threads, the means of groups, and what could not be run.
pub(super) fn table(rows: &[Row], threads: &[usize]) -> String {
    let mut text = String::new();
    for &threads in threads {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.threads == threads).collect();
        let mut lines = vec![vec![format!("threads: {threads}"), "ours".to_owned()]];
        lines[0].extend(PEERS.iter().flat_map(|(name, _)| [(*name).to_owned(), "ours/peer".to_owned()]));
        lines[0].push("others".to_owned());
        lines.extend(rows.iter().filter_map(|row| line(row)));
        for (group, _) in GROUPS {
            let of_group: Vec<&Row> = rows.iter().copied().filter(|row| row.group == group).collect();
            lines.extend(mean(&format!("mean of {group}"), &of_group));
        }
        lines.extend(mean("mean", &rows));
        text += &columns(&lines);
        text.push('\n');
        let mut lines = vec![vec!["load, first, memory".to_owned(), "ours".to_owned()]];
        lines[0].extend(PEERS.iter().map(|(name, _)| (*name).to_owned()));
        lines.extend(rows.iter().filter_map(|row| around(row)));
        text += &columns(&lines);
        text.push('\n');
    }
    text + LEGEND.trim_start() + &left_out(rows)
}

fn line(row: &Row) -> Option<Vec<String>> {
    let mut line = vec![row.name.clone(), milliseconds(row.ours.figures()?.median())];
    for (peer, outcome) in row.peers.iter().enumerate() {
        line.extend(match (outcome.figures(), row.ratios(peer)) {
            (Some(figures), Some(ratios)) => [milliseconds(figures.median()), spread(&ratios)],
            _ => ["-".to_owned(), "-".to_owned()],
        });
    }
    line.push(row.others.map_or("-".to_owned(), |others| format!("{others:.1}")));
    Some(line)
}

/// The median of ratios and how far they lie apart.
pub(super) fn spread(ratios: &[f64]) -> String {
    let median = number(ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN));
    match ratios {
        [low, .., high] => format!("{median} ({}-{})", number(*low), number(*high)),
        _ => median,
    }
}

/// Geometric means over the rows that both run, if there are any.
fn mean(name: &str, rows: &[&Row]) -> Option<Vec<String>> {
    let mut line = vec![name.to_owned(), String::new()];
    let mut is_there = false;
    for peer in 0..PEERS.len() {
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio(peer)).collect();
        is_there |= !ratios.is_empty();
        line.extend(match ratios.is_empty() {
            true => ["-".to_owned(), "-".to_owned()],
            false => [format!("{} models", ratios.len()), number(geometric_mean(&ratios))],
        });
    }
    is_there.then_some(line)
}

/// The measurements before the steady state.
fn around(row: &Row) -> Option<Vec<String>> {
    let cell = |outcome: &Outcome| match outcome.figures() {
        Some(figures) => {
            let memory =
                figures.memory.map_or("-".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
            format!("{}, {}, {memory}", milliseconds(figures.load), milliseconds(figures.first))
        }
        None => "-".to_owned(),
    };
    row.ours.figures()?;
    let mut line = vec![row.name.clone(), cell(&row.ours)];
    line.extend(row.peers.iter().map(cell));
    Some(line)
}

pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{} ms", number(seconds * 1e3))
}

/// The models and sides that could not run, with the reason, one per line.
pub(super) fn not_run(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        if let Outcome::NotRun(why) = &row.ours {
            lines.push(format!("{}, ours: {why}", row.name));
        }
        for ((peer, _), outcome) in PEERS.iter().zip(&row.peers) {
            if let Outcome::NotRun(why) = outcome {
                lines.push(format!("{}, {peer}: {why}", row.name));
            }
        }
    }
    // Equal on one thread and on two.
    let mut seen = std::collections::HashSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}

fn left_out(rows: &[Row]) -> String {
    let lines = not_run(rows);
    match lines.is_empty() {
        true => String::new(),
        false => format!("\n*** NOT RUN:\n  {}\n", lines.join("\n  ")),
    }
}

/// A row in a few words, while others are still to come.
pub(super) fn note(row: &Row) -> String {
    let Outcome::Ran(figures) = &row.ours else {
        return match &row.ours {
            Outcome::NotRun(why) => format!("NOT RUN: {why}"),
            Outcome::Ran(_) => String::new(),
        };
    };
    let ratios = PEERS.iter().enumerate().map(|(peer, (name, _))| match row.ratio(peer) {
        Some(ratio) => format!("{name} {}", number(ratio)),
        None => format!("{name} NOT RUN"),
    });
    format!("{}; {}", milliseconds(figures.median()), ratios.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::row;
    use super::*;

    #[test]
    fn a_table_has_means_of_what_both_run_and_reasons() {
        let three: &[f64] = &[0.01; 3];
        let rows = [
            row("a", "float", &[0.01, 0.02, 0.01], &[Some(three), None, Some(three), None]),
            row("b", "small", &[0.02], &[Some(&[0.005]), None, None, None]),
        ];
        let text = table(&rows, &[1]);
        let words = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            words("a "),
            "a 10.0 ms 10.0 ms 1.00 (1.00-2.00) - - 10.0 ms 1.00 (1.00-2.00) - - 0.5",
            "{text}"
        );
        assert_eq!(words("mean of small"), "mean of small 1 models 4.00 - - - - - -", "{text}");
        assert_eq!(words("mean  "), "mean 2 models 2.00 - - 1 models 1.00 - -", "{text}");
        assert!(text.contains("a                    500 ms, 250 ms, 2 MB"), "{text}");
        assert!(text.contains("*** NOT RUN:\n  a, openvino: no Relu\n"), "{text}");
    }
}
