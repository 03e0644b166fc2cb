//! Learning curves as a picture: how the numbers of a training change with its steps.
//!
//! Each number has a panel. A thin line has every step (or means of several, if there are many), a thick one a moving mean, and points are
//! evaluations. Values that span several powers of ten are drawn on a logarithmic axis.

mod axis;
#[cfg(test)]
mod tests;

use axis::Axis;
use onnx_text::visible;
use std::fmt::Write as _;

/// The numbers of one output, over the steps of a training.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// The name of the output.
    pub name: String,
    /// Steps with the numbers that they computed.
    pub steps: Vec<(u64, f64)>,
    /// Steps with the means of evaluations after them.
    pub evaluations: Vec<(u64, f64)>,
}

const WIDTH: f64 = 720.0;
/// The height of a panel, with its title and the labels of its axis.
const PANEL: f64 = 250.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 36.0;

/// A thin line has at most so many points.
const POINTS: usize = 600;
/// The moving mean covers this part of the steps.
const WINDOW: usize = 40;

const STYLE: &str = "\
text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',Arial,sans-serif;fill:#59636e}
.t{font-size:13px;font-weight:600;fill:#1b1f24}
.bg{fill:#ffffff}
.grid{stroke:#e6ebf1}
.axis{stroke:#8d98a6}
.raw{fill:none;stroke:#9ec5fe;stroke-width:1}
.mean{fill:none;stroke:#0b5fd0;stroke-width:2}
.eval{fill:none;stroke:#c2410c;stroke-width:1.5}
.dot{fill:#c2410c}
.e{text-anchor:end}
.m{text-anchor:middle}
@media (prefers-color-scheme:dark){
text{fill:#a3adb9}
.t{fill:#e9ecf0}
.bg{fill:#12151a}
.grid{stroke:#262c35}
.axis{stroke:#6d7886}
.raw{stroke:#274b7d}
.mean{stroke:#6ea8fe}
.eval{stroke:#fb923c}
.dot{fill:#fb923c}
}
";

/// The curves as SVG, one below the other, for light and dark backgrounds.
pub fn curves(title: &str, all: &[Curve]) -> String {
    let drawn: Vec<&Curve> = all.iter().filter(|curve| curve.points().next().is_some()).collect();
    let height = PANEL * drawn.len().max(1) as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n<rect class=\"bg\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escaped(title)
    );
    let last = drawn.iter().flat_map(|curve| curve.points()).map(|(step, _)| step).max().unwrap_or(1);
    let first = drawn.iter().flat_map(|curve| curve.points()).map(|(step, _)| step).min().unwrap_or(1);
    for (i, curve) in drawn.iter().enumerate() {
        panel(&mut out, curve, (first, last), PANEL * i as f64);
    }
    if drawn.is_empty() {
        _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{TOP}\">no step has computed a number</text>");
    }
    out + "</svg>\n"
}

impl Curve {
    /// All points that can be drawn.
    fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        self.steps.iter().chain(&self.evaluations).copied().filter(|(_, y)| y.is_finite())
    }
}

/// Draws one curve with its axes.
fn panel(out: &mut String, curve: &Curve, (first, last): (u64, u64), top: f64) {
    // The axes and their ticks.
    let across = Axis::linear(first as f64, last as f64);
    let thin = means(&curve.steps, POINTS);
    let thick = moving_mean(&curve.steps);
    let values: Vec<f64> = thin.iter().chain(&curve.evaluations).map(|(_, y)| *y).collect();
    let up = Axis::of(values.iter().copied().filter(|y| y.is_finite()));
    let (low, high) = (top + PANEL - BOTTOM, top + TOP);
    let x = |step: u64| LEFT + across.place(step as f64) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| low + up.place(value) * (high - low);
    for tick in up.ticks() {
        let (at, label) = (n(y(tick)), up.label(tick));
        _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at}H{}\"/><text class=\"e\" x=\"{}\" y=\"{}\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            n(y(tick) + 4.0)
        );
    }
    for tick in across.ticks() {
        let at = n(LEFT + across.place(tick) * (WIDTH - LEFT - RIGHT));
        let (label, below) = (across.label(tick), n(low + 16.0));
        _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{at} {}v4\"/><text class=\"m\" x=\"{at}\" y=\"{below}\">{label}</text>",
            n(low)
        );
    }
    _ = writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {}H{}\"/>", n(low), WIDTH - RIGHT);
    // Every step as a thin line, the moving mean as a thick one, evaluations with dots.
    let line = |out: &mut String, class: &str, points: &[(u64, f64)]| {
        let mut data = String::new();
        for (step, value) in points.iter().filter(|(_, y)| y.is_finite()) {
            let letter = if data.is_empty() { 'M' } else { 'L' };
            _ = write!(data, "{letter}{} {}", n(x(*step)), n(y(*value)));
        }
        if !data.is_empty() {
            _ = writeln!(out, "<path class=\"{class}\" d=\"{data}\"/>");
        }
    };
    line(out, "raw", &thin);
    line(out, "mean", &thick);
    line(out, "eval", &curve.evaluations);
    for (step, value) in curve.evaluations.iter().filter(|(_, y)| y.is_finite()) {
        let (cx, cy) = (n(x(*step)), n(y(*value)));
        _ = writeln!(out, "<circle class=\"dot\" cx=\"{cx}\" cy=\"{cy}\" r=\"2.5\"/>");
    }
    // The title and the legend.
    let title = n(top + 22.0);
    _ = writeln!(out, "<text class=\"t\" x=\"{LEFT}\" y=\"{title}\">{}</text>", escaped(&curve.name));
    let mut entries = vec![("mean", "steps")];
    if !curve.evaluations.is_empty() {
        entries.push(("eval", "evaluation"));
    }
    let mut at = WIDTH - RIGHT - 100.0 * entries.len() as f64;
    for (class, label) in entries {
        let (left, y) = (n(at), n(top + 18.0));
        _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{left} {y}h22\"/><text x=\"{}\" y=\"{title}\">{label}</text>",
            n(at + 28.0)
        );
        at += 100.0;
    }
}

/// Means of neighbors, so that at most so many points are left.
fn means(points: &[(u64, f64)], most: usize) -> Vec<(u64, f64)> {
    let size = points.len().div_ceil(most).max(1);
    let mean = |part: &[(u64, f64)]| {
        let sum: f64 = part.iter().map(|(_, y)| y).sum();
        (part[part.len() / 2].0, sum / part.len() as f64)
    };
    points.chunks(size).map(mean).collect()
}

/// The mean of each point and those around it, at most `POINTS` of them.
fn moving_mean(points: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let half = points.len() / WINDOW / 2;
    let every = points.len().div_ceil(POINTS).max(1);
    let mut sums = vec![0.0];
    for (_, y) in points {
        sums.push(sums.last().copied().unwrap_or(0.0) + y);
    }
    let mean = |(i, (step, _)): (usize, &(u64, f64))| {
        // As many on both sides, so that the ends are not shifted.
        let reach = half.min(i).min(points.len() - 1 - i);
        let (from, to) = (i - reach, i + reach + 1);
        (*step, (sums[to] - sums[from]) / (to - from) as f64)
    };
    let all = points.iter().enumerate();
    all.filter(|(i, _)| i % every == 0 || i + 1 == points.len()).map(mean).collect()
}

/// A coordinate with one decimal.
fn n(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Text without markup and control characters.
fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
