//! What is known of operators, beside the reference and ONNX Runtime: schemas, rules, types and shapes, formulas.

mod checks;
mod contributed;
mod function_bodies;
mod inference;
mod inferred;
mod meaning;
mod meaning_edges;
mod meaning_random;
mod meaning_text;
mod operator_examples;
mod operator_facts;
mod rules;
mod runtime_shapes;
mod targets;
