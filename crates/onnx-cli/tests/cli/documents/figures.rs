//! Figures in README are those of the pages that commands of the project write.

use super::{compare, root};

/// The cells of the line of a table that begins with these.
fn row<'p>(page: &'p str, first: &[&str]) -> Vec<&'p str> {
    let mut rows = page.lines().filter(|line| line.starts_with("| ")).map(cells);
    rows.find(|cells| cells.starts_with(first)).unwrap_or_else(|| panic!("no line {first:?}"))
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// A line of the comparison with its figures.
fn renewed(line: &str, performance: &str, counts: &str) -> String {
    let mut cells: Vec<String> = cells(line).into_iter().map(str::to_owned).collect();
    let time = cells[0].strip_prefix("time, ");
    if let Some(threads) = time.and_then(|rest| rest.split(' ').next()) {
        let measured = row(performance, &["Networks of floats", threads]);
        // The page has our time as a part of theirs.
        let ratio: f64 = measured[2].split(' ').next().unwrap().parse().unwrap();
        cells[5] = format!("{:.2}", 1.0 / ratio);
    } else if cells[0] == "inference tests" {
        let counted = row(counts, &["shape_inference"]);
        cells[1] = format!("{} of {}", counted[1], counted[2]);
        counted[2].clone_into(&mut cells[2]);
    } else {
        return line.to_owned();
    }
    format!("| {} |", cells.join(" | "))
}

#[test]
fn figures_are_measured() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (performance, counts) = (read("docs/performance.md"), read("python/tests/compat_counts.md"));
    let readme = read("README.md");
    let lines: Vec<String> = readme.lines().map(|line| renewed(line, &performance, &counts)).collect();
    let figures =
        readme.lines().filter(|line| line.starts_with("| time, ") || line.starts_with("| inference tests "));
    assert_eq!(figures.count(), 3);
    compare(&root().join("README.md"), &(lines.join("\n") + "\n"));
}

#[test]
fn a_wrong_figure_is_found() {
    let performance = "| Networks of floats | 1 | 1.25 (6) | 2 |\n| Networks of floats | 2 | 1.50 (6) | 2 |";
    let line = "| time, 2 threads | 1 | – | – | – | 0.10 | – |";
    assert_eq!(renewed(line, performance, ""), line.replace("0.10", "0.67"));
    let counts = "| shape_inference | 7 | 9 | 77 % |";
    let line = "| inference tests | 9 of 9 | 9 | – | – | – | – |";
    assert_eq!(renewed(line, "", counts), line.replace("9 of 9", "7 of 9"));
    assert_eq!(renewed("| reads text | yes |", "", ""), "| reads text | yes |");
}
