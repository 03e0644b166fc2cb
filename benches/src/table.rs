//! The figures, for people and for programs.

use crate::cases::Case;
use crate::clock::Sample;
use crate::pair::{Measured, Row};
use serde_json::{Value, json};

const HEAD: [&str; 7] = ["job", "size", "ours", "peer", "CPU ours/peer", "wall ours/peer", "memory"];

const LEGEND: &str = "
Speed, by CPU time, and wall time: median (best). 1 MB is 10^6 bytes of text, each side's own, or of the file.
Ratios of time, below 1 is faster: median of the pairs (lowest-highest). Memory: most that was resident, ours and peer.
";

/// A table with one line for each case.
pub(crate) fn table(rows: &[(&Case, Row)]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(|(case, row)| line(case, row)));
    columns(&lines) + LEGEND
}

/// Cells below one another.
pub(crate) fn columns<L: AsRef<[String]>>(lines: &[L]) -> String {
    let lines: Vec<&[String]> = lines.iter().map(AsRef::as_ref).collect();
    let mut out = String::new();
    for line in &lines {
        for (column, cell) in line.iter().enumerate() {
            let width = lines.iter().filter_map(|line| line.get(column)).map(|c| c.chars().count()).max();
            out.push_str(&format!("{cell:<width$}  ", width = width.unwrap_or(0)));
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

fn line(case: &Case, row: &Row) -> [String; 7] {
    let measured = match row {
        Row::Measured(measured) => measured,
        Row::LeftOut(_) => {
            let mut line = [const { String::new() }; 7];
            line[0] = case.what.to_owned();
            line[1] = "left out".to_owned();
            return line;
        }
    };
    let subject = if measured.subject.is_empty() { "" } else { &format!(" ({})", measured.subject) };
    let size = measured.bytes.map_or(String::new(), |(ours, _)| format!("{:.1} MB", ours as f64 / 1e6));
    let (ours_bytes, peer_bytes) = measured.bytes.map_or((None, None), |(a, b)| (Some(a), Some(b)));
    let peer = match (&measured.alone, measured.bound) {
        (_, Some(bound)) => format!("at most {} ms", number(bound * 1e3)),
        (Some(_), None) => "-".to_owned(),
        (None, None) => figure(&measured.peers, peer_bytes),
    };
    [
        format!("{}{subject}", case.what),
        size,
        figure(&measured.ours, ours_bytes),
        peer,
        ratio(measured, |sample| sample.cpu),
        ratio(measured, |sample| sample.wall),
        memory(measured),
    ]
}

/// Speed if bytes are counted, otherwise time.
fn figure(samples: &[Sample], bytes: Option<usize>) -> String {
    let times = sorted(samples.iter().map(|sample| if bytes.is_some() { sample.cpu } else { sample.wall }));
    let (median, best) = (median(&times), times.first().copied().unwrap_or(f64::NAN));
    match bytes {
        Some(bytes) => {
            let speed = |time: f64| number(bytes as f64 / 1e6 / time);
            format!("{} ({}) MB/s", speed(median), speed(best))
        }
        None => format!("{} ({}) ms", number(median * 1e3), number(best * 1e3)),
    }
}

/// The ratio of our times to those of the peer, or to the bound.
fn ratio(measured: &Measured, time: fn(&Sample) -> f64) -> String {
    let ratios = match measured.bound {
        Some(bound) => sorted(measured.ours.iter().map(|ours| time(ours) / bound)),
        None => ratios(&measured.ours, &measured.peers, time),
    };
    match (ratios.first(), ratios.last()) {
        (Some(&low), Some(&high)) => {
            format!("{} ({}-{})", number(median(&ratios)), number(low), number(high))
        }
        _ => "-".to_owned(),
    }
}

/// Pair by pair, lowest first.
pub(crate) fn ratios(ours: &[Sample], peers: &[Sample], time: fn(&Sample) -> f64) -> Vec<f64> {
    sorted(ours.iter().zip(peers).map(|(ours, peer)| time(ours) / time(peer)))
}

fn memory(measured: &Measured) -> String {
    let most = |samples: &[Sample]| samples.iter().filter_map(|sample| sample.memory).max();
    let megabytes = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    match (most(&measured.ours), most(&measured.peers)) {
        (Some(ours), Some(peer)) => format!("{}, {}", megabytes(ours), megabytes(peer)),
        (Some(ours), None) => megabytes(ours),
        (None, _) => String::new(),
    }
}

/// Three digits that count, at most.
pub(crate) fn number(value: f64) -> String {
    match value {
        value if value >= 99.5 => format!("{value:.0}"),
        value if value >= 9.95 => format!("{value:.1}"),
        value if value >= 0.0995 => format!("{value:.2}"),
        value => format!("{value:.4}"),
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// All that was measured.
pub(crate) fn json(case: &Case, row: &Row) -> Value {
    let mut object = json!({"name": case.name, "what": case.what});
    match row {
        Row::LeftOut(why) => object["left_out"] = json!(why),
        Row::Measured(measured) => {
            object["subject"] = json!(measured.subject);
            object["ours"] = side(&measured.ours, measured.bytes.map(|(ours, _)| ours));
            if let Some(bound) = measured.bound {
                object["bound"] = json!(bound);
            }
            match &measured.alone {
                Some(why) => object["no_peer"] = json!(why),
                None => object["peer"] = side(&measured.peers, measured.bytes.map(|(_, peer)| peer)),
            }
        }
    }
    object
}

pub(crate) fn side(samples: &[Sample], bytes: Option<usize>) -> Value {
    let each = |value: fn(&Sample) -> Value| samples.iter().map(value).collect::<Vec<_>>();
    json!({
        "bytes": bytes,
        "cpu": each(|sample| json!(sample.cpu)),
        "wall": each(|sample| json!(sample.wall)),
        "memory": each(|sample| json!(sample.memory)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_medians_of_pairs() {
        let sample = |cpu: f64| Sample { wall: cpu * 2.0, cpu, memory: None };
        let measured = Measured {
            subject: String::new(),
            bytes: Some((10_000_000, 5_000_000)),
            ours: vec![sample(0.1), sample(0.2), sample(0.1)],
            peers: vec![sample(0.5), sample(0.4), sample(0.1)],
            alone: None,
            bound: None,
        };
        let case = &crate::cases::CASES[0];
        let line = line(case, &Row::Measured(measured));
        assert_eq!(line[1..4], ["10.0 MB", "100 (100) MB/s", "12.5 (50.0) MB/s"]);
        assert_eq!(line[4..6], ["0.50 (0.20-1.00)", "0.50 (0.20-1.00)"]);
    }

    #[test]
    fn a_table_has_our_time_against_its_bound() {
        let ours = [0.1, 0.2, 0.4].map(|cpu| Sample { wall: cpu * 2.0, cpu, memory: None });
        let measured = Measured {
            subject: String::new(),
            bytes: None,
            ours: ours.to_vec(),
            peers: Vec::new(),
            alone: Some("ours alone".to_owned()),
            bound: Some(0.2),
        };
        let line = line(&crate::cases::CASES[0], &Row::Measured(measured));
        assert_eq!(line[2..4], ["400 (200) ms", "at most 200 ms"]);
        assert_eq!(line[4..6], ["1.00 (0.50-2.00)", "2.00 (1.00-4.00)"]);
    }
}
