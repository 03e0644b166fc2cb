//! Texts and messages: what is read back, what the reference reads of ours, and what is damaged.

mod beyond_reference;
mod damage;
mod found;
mod fragments;
mod fuzz_targets;
mod one_mistake;
mod random_fixes;
mod random_labels;
mod random_models;
mod random_sugar;
mod reference_reads_ours;
mod reference_texts;
mod round_trips;
