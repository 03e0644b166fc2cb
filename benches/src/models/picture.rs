//! The picture of the page of measurements, drawn from its tables, so that both say the same.

use super::chart::{Bar, Panel, svg};
use super::{GROUPS, PEERS};

/// Groups of many models, of which only means are drawn.
const MEANS_ALONE: [&str; 2] = ["drawn", "patterns"];

/// Speeds of groups against each peer, and of models against the first, on the least number of threads; faster groups and models come
/// first.
pub(super) fn picture(page: &str) -> String {
    let means = tables(section(page, "Means"));
    let rows: Vec<&Vec<&str>> = means.iter().flatten().skip(1).collect();
    let threads = rows.iter().filter_map(|row| row.get(1)?.parse::<usize>().ok()).min().unwrap_or(1);
    let mut groups = Vec::new();
    for (name, title) in GROUPS {
        let Some(row) = rows.iter().find(|row| row[0] == title && row[1] == threads.to_string()) else {
            continue;
        };
        let mut bars = Vec::new();
        for (peer, ((name, _), cell)) in PEERS.iter().zip(&row[2..]).enumerate() {
            if let Some(speed) = speed(cell) {
                let models = cell.split_once(' ').map_or("", |(_, models)| models);
                bars.push(Bar { label: format!("than {name} {models}"), colour: peer, speed });
            }
        }
        groups.push((name, title, bars));
    }
    let first = |bars: &[Bar]| bars.first().map_or(0.0, |bar| bar.speed);
    groups.sort_by(|(_, _, a), (_, _, b)| first(b).total_cmp(&first(a)));
    let mut panels = Vec::new();
    let mut models = Vec::new();
    for (name, title, bars) in groups {
        if !MEANS_ALONE.contains(&name) {
            models.push(Panel {
                heading: format!("{title}, than {}", PEERS[0].0),
                bars: models_of(page, title, threads),
            });
        }
        panels.push(Panel { heading: format!("{title}, mean"), bars });
    }
    panels.extend(models);
    panels.retain(|panel| !panel.bars.is_empty());
    let unit = if threads == 1 { "thread" } else { "threads" };
    let title = format!("How many times as fast as other runtimes, on {threads} {unit}");
    svg(&title, &PEERS.map(|(name, _)| name), &panels)
}

/// The models of a group against the first peer.
fn models_of(page: &str, title: &str, threads: usize) -> Vec<Bar> {
    let tables = tables(section(page, title));
    let is_of = |table: &&Vec<Vec<&str>>| table[0][0].split(' ').next() == Some(threads.to_string().as_str());
    let rows = tables.iter().filter(is_of).flat_map(|table| &table[1..]);
    let bar = |row: &Vec<&str>| Some(Bar { label: row[0].to_owned(), colour: 0, speed: speed(row.get(4)?)? });
    let mut bars: Vec<Bar> = rows.filter_map(bar).collect();
    bars.sort_by(|a, b| b.speed.total_cmp(&a.speed));
    bars
}

/// How many times as fast, of a cell with a ratio of times: `0.93 (0.88-0.95)`.
fn speed(cell: &str) -> Option<f64> {
    let ratio: f64 = cell.split(' ').next()?.parse().ok()?;
    Some(1.0 / ratio)
}

/// The lines below a heading, up to the next one.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let rest = page.split_once(&format!("\n## {heading}\n")).map_or("", |(_, rest)| rest);
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// The tables of a part of a page, as rows of cells without the line below their heads.
fn tables(section: &str) -> Vec<Vec<Vec<&str>>> {
    let blocks = section.split("\n\n").map(str::trim).filter(|block| block.starts_with('|'));
    blocks.map(|block| block.lines().filter(|line| !line.starts_with("| ---")).map(cells).collect()).collect()
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `INSTA_UPDATE=always`, the picture is drawn again.
    #[test]
    fn the_picture_is_that_of_the_page_and_one_page_high() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
        let drawn = picture(&std::fs::read_to_string(format!("{docs}/performance.md")).unwrap());
        let file = format!("{docs}/performance.svg");
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(&file, &drawn).unwrap();
        }
        assert!(
            std::fs::read_to_string(&file).unwrap() == drawn,
            "`cargo xtask docs --write` draws {file} again"
        );
        let size = drawn.split("viewBox=\"").nth(1).unwrap().split('"').next().unwrap();
        let height: f64 = size.split(' ').nth(3).unwrap().parse().unwrap();
        assert!(height <= 1100.0, "{height}");
        assert!(drawn.matches("faster →").count() == 1 && drawn.matches("<rect").count() > 40);
    }

    #[test]
    fn the_fastest_come_first() {
        let page = "# P\n\n## Means\n\n| ours/peer | threads | onnxruntime | openvino | tract | rten |\n| --- | --- | ---: | ---: | ---: | ---: |\n\
            | Networks of floats | 1 | 2.00 (2) | – | – | 0.50 (1) |\n| Single operators | 1 | 0.50 (1) | – | – | – |\n\
            | Single operators | 2 | 9.00 (1) | – | – | – |\n\n\
            ## Networks of floats\n\n| 1 thread | what | ours | onnxruntime | ours/onnxruntime |\n| --- | --- | ---: | ---: | ---: |\n\
            | slow | x | 1 ms | 1 ms | 4.00 (3.00-5.00) |\n| fast | x | 1 ms | 1 ms | 1.00 |\n| none | x | 1 ms | – | – |\n\n\
            | 2 threads | what | ours | onnxruntime | ours/onnxruntime |\n| --- | --- | ---: | ---: | ---: |\n| fast | x | 1 ms | 1 ms | 0.10 |\n\n## End\n";
        let drawn = picture(page);
        let at = |text: &str| drawn.find(text).unwrap_or_else(|| panic!("{text}: {drawn}"));
        assert!(at("Single operators, mean") < at("Networks of floats, mean"));
        assert!(at(">fast<") < at(">slow<"));
        assert!(drawn.contains(">than rten (1)<") && drawn.contains(">0.25<") && !drawn.contains(">none<"));
        assert!(drawn.contains("on 1 thread<") && drawn.matches(">fast<").count() == 1);
    }
}
