//! Project automation: `cargo xtask --help`.

mod codegen;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Project automation")]
enum Task {
    /// Generate the code that proto/ determines
    Codegen(codegen::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Codegen(args) => codegen::run(&args),
    }
}
