//! Project automation: `cargo xtask --help`.

mod api;
mod bench;
mod browser;
mod capi;
mod checkers;
mod cluster;
mod codegen;
mod corpus;
mod dirs;
mod docs;
mod doctor;
mod editors;
mod fuzz;
mod machine_code;
mod operator;
mod package;
mod process;
mod python;
mod test;
mod tidy;
mod torch;
mod venv;
mod wheel;

use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Project automation")]
enum Task {
    /// Compare the public items of the libraries with those of another commit
    Api(api::Args),
    /// Measure speed and memory beside the Python package
    Bench(bench::Args),
    /// Look at pages of `onnxtxt draw` in a headless browser
    Browser(browser::Args),
    /// Build, install and test the C interface
    Capi(capi::Args),
    /// Test the helpers for Ray and Spark with real ones, on this machine
    Cluster(cluster::Args),
    /// Generate the code that proto/, the onnx package and the examples of operators determine
    Codegen(codegen::Args),
    /// Fetch or build test models into target/corpus
    Corpus(corpus::Args),
    /// Look at everything that is shown: Markdown with its tables and links, HTML, pictures
    Docs(docs::Args),
    /// Say what this machine lacks, for which part, and which command installs it
    Doctor(doctor::Args),
    /// Check grammars, extensions and the language server in editors
    Editors(editors::Args),
    /// Run the fuzz targets, on the stable compiler
    Fuzz(fuzz::Args),
    /// Look into the machine code of the installed program: are its loops vectorized?
    MachineCode(machine_code::Args),
    /// Interpret unit tests with Miri (needs a nightly compiler)
    Miri(checkers::MiriArgs),
    /// Make the row, the example and the suite file of a new operator
    NewOperator(operator::Args),
    /// Pack the crates, and compile each from its package
    Package(package::Args),
    /// Build and test the Python module
    Python(python::Args),
    /// Check everything, and say what was left out
    Test(test::Args),
    /// Look for data races in the thread pool with Miri and ThreadSanitizer (needs a nightly compiler)
    Threads(checkers::ThreadsArgs),
    /// Check the invariants that text can show
    Tidy(tidy::Args),
    /// Compare gradients, optimizers and the speed of training with torch
    Torch(torch::Args),
    /// Make the Python environment of the reference implementation
    Venv(venv::Args),
    /// Build the wheel of the Python package, into dist/
    Wheel(wheel::Args),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Api(args) => api::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Browser(args) => browser::run(&args),
        Task::Capi(args) => capi::run(&args),
        Task::Cluster(args) => cluster::run(&args),
        Task::Codegen(args) => codegen::run(&args),
        Task::Corpus(args) => corpus::run(&args),
        Task::Docs(args) => docs::run(&args),
        Task::Doctor(args) => doctor::run(&args),
        Task::Editors(args) => editors::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::MachineCode(args) => machine_code::run(&args),
        Task::Miri(args) => checkers::miri(&args),
        Task::NewOperator(args) => operator::run(&args),
        Task::Package(args) => package::run(&args),
        Task::Python(args) => python::run(&args),
        Task::Test(args) => test::run(&args),
        Task::Threads(args) => checkers::threads(&args),
        Task::Tidy(args) => tidy::run(&args),
        Task::Torch(args) => torch::run(&args),
        Task::Venv(args) => venv::run(&args),
        Task::Wheel(args) => wheel::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn arguments_are_consistent() {
        Task::command().debug_assert();
    }
}
