//! Schemas, rules, types and shapes, and formulas of operators, beside the reference and ONNX Runtime.

mod checks;
mod contributed;
mod errors;
mod function_bodies;
mod inference;
mod inference_cases;
mod inferred;
mod meaning;
mod meaning_edges;
mod meaning_random;
mod meaning_text;
mod operator_examples;
mod operator_facts;
mod rules;
mod runtime_operators;
mod runtime_shapes;
mod special_values;
mod targets;
