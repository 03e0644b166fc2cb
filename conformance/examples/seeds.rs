//! Writes the seeds of the fuzz targets: small random models, as wire format and as text.
//!
//! ```text
//! cargo run -p conformance --example seeds
//! ```

use conformance::convert::{print, read_wire};
use conformance::corpus::workspace;
use conformance::random::{Choices, Generator, Random, Schema, Wildness};
use onnx_text::Profile;
use std::collections::BTreeSet;
use std::fs;

/// Larger ones slow the fuzzer down.
const MAX_BYTES: usize = 400;

fn main() -> std::io::Result<()> {
    let seeds = workspace().join("fuzz/seeds");
    let schema = Schema::load();
    let mut random = Random::new(11);
    let mut seen = BTreeSet::new();
    let mut number = 0;
    // As long as a model has a field that none before had, up to a limit for those that are hard to meet.
    for _ in 0..20_000 {
        let count = 30 + random.below(300);
        let choices = random.choices(count);
        let wildness = if random.byte() < 128 { Wildness::Wild } else { Wildness::Plain };
        let wire = Generator::new(&schema, Choices::new(&choices), wildness).model();
        let before = seen.len();
        if wire.len() <= MAX_BYTES {
            schema.occurring(&wire, &mut seen);
        }
        if seen.len() == before {
            continue;
        }
        let model = read_wire(wire.clone().into()).expect("the generator writes sound wire format");
        let text = print(&model, Profile::Onnx).text;
        number += 1;
        for (target, ending, bytes) in [
            ("wire", "onnx", wire.as_slice()),
            ("convert", "onnx", &wire),
            ("text", "onnxtxt", text.as_bytes()),
            ("fmt", "onnxtxt", text.as_bytes()),
        ] {
            fs::create_dir_all(seeds.join(target))?;
            fs::write(seeds.join(target).join(format!("random-{number:02}.{ending}")), bytes)?;
        }
    }
    Ok(())
}
