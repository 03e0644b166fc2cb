//! The results of the executor, beside formulas, ONNX Runtime and other plans of the same model.

mod bodies_run;
mod cancelled;
mod chains;
mod contributed_run;
mod control;
mod long_attention;
mod loops;
mod precision;
mod random_arrays;
mod random_images;
mod random_neural;
mod random_plans;
mod schedules;
mod winograd;
