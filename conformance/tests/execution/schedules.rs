//! Schedules as text: every schedule that is written can be read back, is the same text when it is written again, and computes the
//! same. Invalid texts are rejected with a place.

use conformance::convert::{read_text, read_wire};
use conformance::corpus::{in_parallel, models};
use conformance::graphs;
use conformance::images;
use conformance::random::Random;
use conformance::results::{difference, made_up, shortest};
use conformance::texts::small_texts;
use conformance::trial::{self, is_determinate};
use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::Model;
use onnx_ir::diag::{Diagnostic, Place};
use onnx_ops::opset::registry_of;
use onnx_proto::file;
use std::fs;

/// Models of the corpus that are larger are left to benchmarks.
const LARGEST: u64 = 1 << 20;

/// The limit of a run: texts of the suite have endless loops.
const MAX_BYTES: usize = 64 << 20;
const FUEL: u64 = 2_000;

fn ready(model: &Model) -> Option<Executable<'static>> {
    compile(model, registry_of(model), &CompileOptions::default()).ok()
}

fn told(finding: &Diagnostic, text: &str) -> String {
    let at = match finding.primary.place {
        Place::Source(span) => text.get(span.range()).unwrap_or("no place in the text").to_owned(),
        _ => "no place".to_owned(),
    };
    format!("{} {}: {at}", finding.code.id, finding.message)
}

/// The failure of a model's schedule for inputs, if there is one.
fn failure(model: &Model, inputs: Vec<Option<Value>>) -> Option<String> {
    let options = RunOptions { threads: 1, max_memory: MAX_BYTES, fuel: FUEL, ..RunOptions::default() };
    let first = ready(model)?;
    let expected = first.run(inputs.clone(), &options).ok()?;
    let text = first.schedule(inputs.clone(), &options).ok()?.text;
    if text.is_empty() {
        return None;
    }
    let second = ready(model)?;
    let wrong = |how: String| Some(format!("{how}\n{text}"));
    if let Err(finding) = second.read_schedule(&text, inputs.clone(), &options) {
        return wrong(told(&finding, &text));
    }
    let again = match second.schedule(inputs.clone(), &options) {
        Ok(again) => again.text,
        Err(finding) => return wrong(finding.message.clone()),
    };
    if without_reasons(&again) != without_reasons(&text) {
        return wrong(format!("it is written as\n{again}\nwhen it has been read from"));
    }
    let results = match second.run(inputs, &options) {
        Ok(results) => results,
        Err(finding) => return wrong(finding.message.clone()),
    };
    let is_same = expected.iter().zip(&results).all(|(a, b)| is_same(a, b));
    if is_same || !is_determinate(model) { None } else { wrong("other results".to_owned()) }
}

/// Whether two values are the same to the bit.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => a.bytes() == b.bytes() && a.dims() == b.dims(),
        (Value::Sequence(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b))
        }
        (a, b) => a == b || format!("{a:?}") == format!("{b:?}"),
    }
}

/// Why formulas are apart is known to who has put them apart.
fn without_reasons(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim_start().starts_with("# apart")).collect()
}

fn all_are_right(failures: Vec<Option<String>>, least: usize) {
    assert!(failures.len() >= least, "{} schedules", failures.len());
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures[..failures.len().min(3)].join("\n\n"));
}

#[test]
fn schedules_of_texts_are_read_back() {
    let failures = in_parallel(&small_texts(), |path| {
        let text = fs::read_to_string(path).ok()?;
        let model = read_text(&text).ok()?;
        let how = failure(&model, made_up(&model)?)?;
        Some(format!("{}: {how}", path.display()))
    });
    all_are_right(failures, 500);
}

#[test]
fn schedules_of_random_networks_are_read_back() {
    let seeds: Vec<u64> = (0..more("ONNXTXT_SCHEDULES", 150)).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let network = images::random(seed, 3 + seed as usize % 9);
        let model = read_text(&network.text).ok()?;
        failure(&model, made_up(&model)?).map(|how| format!("images, seed {seed}: {how}"))
    });
    all_are_right(failures, 100);
    let failures = in_parallel(&seeds, |&seed| {
        let model = read_text(&graphs::random(seed, [5, 20, 60][seed as usize % 3])).ok()?;
        failure(&model, made_up(&model)?).map(|how| format!("graphs, seed {seed}: {how}"))
    });
    all_are_right(failures, 100);
}

#[test]
fn schedules_of_the_corpus_are_read_back() {
    let models: Vec<_> = models().into_iter().filter(|model| model.size <= LARGEST).collect();
    let failures = in_parallel(&models, |model| {
        let read = read_wire(file::open(&model.path).ok()?).ok()?;
        let inputs = trial::inputs(&ready(&read)?, &trial::data(model));
        failure(&read, inputs).map(|how| format!("{}: {how}", model.name))
    });
    all_are_right(failures, 0);
}

/// A schedule with some tokens changed, as in tuning.
fn changed(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<Vec<String>> =
        text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect();
    for _ in 0..=random.below(3) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(8) {
            0 => lines.swap(at, other),
            1 => drop(lines.remove(at)),
            2 => lines.insert(other, lines[at].clone()),
            3 => {
                let token = random.below(lines[at].len());
                lines[at].remove(token);
            }
            4 => {
                let (token, by) = (random.below(lines[at].len()), random.below(lines[other].len()));
                lines[at][token] = lines[other][by].clone();
            }
            _ => number(&mut lines[at], random),
        }
        if lines.is_empty() {
            break;
        }
    }
    let lines: Vec<String> = lines.iter().map(|tokens| tokens.join(" ")).collect();
    lines.join("\n")
}

/// Changes a number of a line, if it has one.
fn number(tokens: &mut [String], random: &mut Random) {
    let text = tokens.join(" ");
    let is_start = |at: &usize| {
        let before = at.checked_sub(1).map_or(b' ', |before| text.as_bytes()[before]);
        text.as_bytes()[*at].is_ascii_digit() && !before.is_ascii_alphanumeric() && before != b'.'
    };
    let starts: Vec<usize> = (0..text.len()).filter(is_start).collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[random.below(starts.len())];
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    let was: u64 = text[start..start + digits].parse().unwrap_or(u64::MAX);
    let now = match random.below(6) {
        0 => 0,
        1 => was.saturating_add(1),
        2 => was.saturating_sub(1),
        3 => was.saturating_mul(2),
        4 => u64::MAX,
        _ => was / 2,
    };
    let text = format!("{}{now}{}", &text[..start], &text[start + digits..]);
    for (token, changed) in tokens.iter_mut().zip(text.split(' ')) {
        changed.clone_into(token);
    }
}

/// The numbers of broken schedules that are rejected, that are run, and of these the ones with other results than the
/// nodes: verification looks at samples, so that a change which shows in few elements may be missed.
fn broken(model: &Model, seed: u64, count: usize) -> Result<[usize; 3], String> {
    let mut counts = [0; 3];
    let options = RunOptions { threads: 2, max_memory: MAX_BYTES, fuel: FUEL, ..RunOptions::default() };
    let Some((first, inputs)) = ready(model).zip(made_up(model)) else { return Ok(counts) };
    let Ok(expected) = first.run(inputs.clone(), &options) else { return Ok(counts) };
    let Ok(text) = first.schedule(inputs.clone(), &options).map(|schedule| schedule.text) else {
        return Ok(counts);
    };
    let Some(second) = ready(model).filter(|_| !text.is_empty()) else { return Ok(counts) };
    let mut random = Random::new(seed);
    for _ in 0..count {
        let changed = changed(&text, &mut random);
        match second.read_schedule(&changed, inputs.clone(), &options) {
            Err(finding) => {
                counts[0] += 1;
                let has_place = match finding.primary.place {
                    Place::Source(span) => changed.get(span.range()).is_some(),
                    _ => !finding.code.id.starts_with("E161"),
                };
                if !has_place {
                    return Err(format!("{} has no place in\n{changed}", told(&finding, &changed)));
                }
            }
            Ok(()) => {
                let results = match second.run(inputs.clone(), &options) {
                    Ok(results) => results,
                    // A load under a condition can be out of bounds elsewhere.
                    Err(finding) if finding.code.id == "E1612" => {
                        counts[0] += 1;
                        continue;
                    }
                    Err(finding) => return Err(format!("{}: the run failed\n{changed}", finding.message)),
                };
                counts[1] += 1;
                let differs = |(a, b)| difference(b, a, shortest(model));
                let differs = expected.iter().zip(&results).find_map(differs);
                counts[2] += usize::from(differs.is_some() && is_determinate(model));
            }
        }
    }
    Ok(counts)
}

#[test]
fn broken_schedules_are_refused_or_run() {
    let seeds: Vec<u64> = (0..more("ONNXTXT_SCHEDULES", 40)).collect();
    let found = in_parallel(&seeds, |&seed| {
        let model = match seed % 2 {
            0 => read_text(&images::random(seed, 2 + seed as usize % 5).text),
            _ => read_text(&graphs::random(seed, [3, 8, 20][seed as usize % 3])),
        };
        model.map(|model| broken(&model, seed, 30).map_err(|how| format!("seed {seed}: {how}")))
    });
    let mut counts = [0; 3];
    let mut failures = Vec::new();
    for found in found.into_iter().flatten() {
        match found {
            Ok(more) => counts.iter_mut().zip(more).for_each(|(count, more)| *count += more),
            Err(how) => failures.push(how),
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures[..failures.len().min(3)].join("\n\n"));
    let [refused, run, differ] = counts;
    assert!(refused > 100 && run > 20 && 200 * differ <= refused + run, "{counts:?}");
}

/// How many are drawn: so many, or as many as a variable says.
fn more(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}
