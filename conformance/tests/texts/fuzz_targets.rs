//! The fuzz targets on their seeds, and on seeds that are changed: the same inputs in every run. `cargo xtask fuzz` goes further.

use conformance::corpus::{in_parallel, scratch, workspace};
use conformance::fuzz::{FuzzTarget, Mutator, TARGETS, words};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How many changed seeds each target is given, unless `ONNXTXT_FUZZ` says so.
const INPUTS: usize = 150;
/// More seeds are left to `cargo xtask fuzz`: of those that a target borrows, one in so many.
const SEEDS: usize = 80;
/// As long as `cargo xtask fuzz` allows; nothing takes a second on a machine that is idle.
const LONGEST: Duration = Duration::from_secs(30);

/// The failure of an input, which is saved.
fn wrong(target: &FuzzTarget, number: usize, input: &[u8]) -> Option<String> {
    let start = Instant::now();
    let caught = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let why = match caught {
        Ok(()) if start.elapsed() < LONGEST => return None,
        Ok(()) => format!("takes {} s", start.elapsed().as_secs()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panics").to_owned()
        }
    };
    let kept = workspace().join("target/conformance/fuzz").join(format!("{}-{number}", target.name));
    _ = std::fs::write(&kept, input);
    Some(format!("{}: {why}\n  the input is {}", target.name, kept.display()))
}

fn failures(target: &FuzzTarget) -> Vec<String> {
    let mut seeds = target.seeds();
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    let step = seeds.len().div_ceil(SEEDS);
    seeds = seeds.into_iter().step_by(step).collect();
    let dictionary = ["", "text"].iter().find_map(|other| {
        let name = if other.is_empty() { target.name } else { other };
        std::fs::read_to_string(workspace().join("fuzz").join(format!("{name}.dict"))).ok()
    });
    let mut mutator = Mutator::new(&seeds, words(&dictionary.unwrap_or_default()), 7);
    let count = std::env::var("ONNXTXT_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(INPUTS);
    let changed: Vec<Vec<u8>> = (0..count).map(|_| mutator.input()).collect();
    let inputs = seeds.iter().chain(&changed).enumerate();
    inputs.filter_map(|(number, input)| wrong(target, number, input)).collect()
}

#[test]
fn what_must_hold_holds_for_seeds_and_what_is_like_them() {
    scratch("fuzz");
    let failures: Vec<String> = in_parallel(TARGETS, failures).into_iter().flatten().collect();
    let shown: Vec<&str> = failures.iter().take(12).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} inputs fail:\n{}", failures.len(), shown.join("\n"));
}

#[test]
fn a_target_is_found_by_its_name() {
    assert!(
        TARGETS.iter().all(|target| FuzzTarget::named(target.name).is_some_and(|t| t.name == target.name))
    );
    assert!(TARGETS.is_sorted_by_key(|target| target.name));
    assert!(FuzzTarget::named("nothing").is_none());
}
