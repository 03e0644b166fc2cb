//! Reads texts of the reference printer: the result must have the same bytes as that of the reference parser.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert::{same_bytes, text_to_wire};
use conformance::corpus::{folder, in_parallel, left_out};
use serde_json::Value;
use std::fs;

#[test]
fn reference_texts_mean_the_same_here() {
    let index = folder().map(|folder| (folder.join("reference_text/index.json"), folder));
    let Some((Ok(index), corpus)) = index.map(|(path, folder)| (fs::read(path), folder)) else {
        left_out("reference texts: there are none (`cargo xtask corpus` writes them)");
        return;
    };
    let index: Value = serde_json::from_slice(&index).expect("the index is JSON");
    let entries = index["entries"].as_array().expect("the index has entries");
    let outcomes = in_parallel(entries, |entry| {
        let path = entry["path"].as_str().expect("entries have a path");
        let text = fs::read_to_string(corpus.join(format!("reference_text/{path}.onnxtxt")));
        match entry["state"].as_str() {
            Some("ok") => {
                let theirs = fs::read(corpus.join(format!("reference_parsed/{path}.pb")));
                let (text, theirs) = (text.expect("it was printed"), theirs.expect("it was parsed"));
                let ours = text_to_wire(&text).and_then(|ours| same_bytes(&theirs, &ours));
                ours.map_err(|why| format!("{path}: {why}"))
            }
            // A text that the reference rejects has no meaning; reading it must terminate cleanly.
            Some("refused") => {
                _ = onnx_text::read_model(&text.expect("it was printed"));
                Ok(())
            }
            _ => Ok(()),
        }
    });
    let failures: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{} texts:\n{}", failures.len(), failures.join("\n"));
    let accepted = entries.iter().filter(|entry| entry["state"] == "ok").count();
    eprintln!("{accepted} of {} texts that the reference accepts mean the same here", entries.len());
    assert!(accepted > 1500, "the corpus is nearly empty");
}
