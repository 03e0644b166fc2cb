//! How much a run may take.

use anyhow::{Context as _, bail};
use onnx_exec::{CompileOptions, Memory, RunOptions};
use onnx_ir::{Model, Payload};

/// What commands that run models take.
#[derive(clap::Args)]
pub(crate) struct LimitArgs {
    /// The most memory that tensors may take, such as 512M or 2G; default: 4G and twice what the model's weights take,
    /// but at most three quarters of what the system has to spare
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<usize>,
    /// The most nodes that may be run, each iteration of a loop counted as eight, and a million steps of each on average
    #[arg(long, value_name = "N", default_value_t = RunOptions::default().fuel)]
    fuel: u64,
    /// The threads that compute; default: one for each core. Results do not depend on it
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Round after every node, as the operators are defined; otherwise float16 and bfloat16 are kept in single precision
    /// between nodes where nobody sees them, and convolutions may be computed with fewer products
    #[arg(long)]
    exact: bool,
}

impl LimitArgs {
    /// How a model is prepared.
    pub(crate) fn compile_options(&self) -> CompileOptions {
        CompileOptions { exact: self.exact, ..CompileOptions::default() }
    }

    /// How this model is run within these.
    pub(crate) fn options(&self, seed: u64, model: &Model) -> RunOptions<'static> {
        let most = self.max_memory.unwrap_or_else(|| usual(stored(model)).min(spare().unwrap_or(usize::MAX)));
        let threads = self.threads.map_or_else(|| RunOptions::default().threads, usize::from);
        let memory = Some(Memory::new(most));
        RunOptions { seed, max_memory: most, memory, fuel: self.fuel, threads, ..RunOptions::default() }
    }
}

/// `4096`, `512M`, `2GiB`
fn size(text: &str) -> anyhow::Result<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: usize = text[..end].parse().with_context(|| format!("`{text}` is no size"))?;
    let unit = text[end..].trim().to_ascii_lowercase();
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => bail!("`{unit}` is no unit of memory: K, M, G, T"),
    };
    number.checked_mul(1 << shift).with_context(|| format!("`{text}` is too large"))
}

/// The default memory budget in bytes for a model with this many bytes of weights. A loop whose values grow reaches it within
/// seconds on any machine, and weights may be converted and packed.
fn usual(stored: usize) -> usize {
    (4usize << 30).saturating_add(stored.saturating_mul(2))
}

/// The bytes of all tensors that a model has.
fn stored(model: &Model) -> usize {
    let tensors = model.bodies.values().flat_map(|body| body.tensors.values());
    let bytes = tensors.flat_map(|tensor| &tensor.data).map(|data| match data {
        Payload::Entries { bytes, .. } => bytes.len(),
        Payload::Strings(strings) => strings.iter().map(|string| string.len()).sum(),
    });
    bytes.fold(0, usize::saturating_add)
}

/// Three quarters of the memory that the system says is there, where it says so: allocators and other programs need some.
fn spare() -> Option<usize> {
    let least = [available(), of_group()].into_iter().flatten().min()?;
    Some(least / 4 * 3)
}

fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// What the control group of a container leaves, if there is one with a limit.
fn of_group() -> Option<usize> {
    let number = |name: &str| -> Option<usize> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::{LimitArgs, size, stored};
    use onnx_ir::Model;

    #[test]
    fn the_memory_of_a_run_is_bounded_on_every_machine() {
        let limits = |max_memory| LimitArgs { max_memory, fuel: 1, threads: None, exact: false };
        let read = |text: &str| onnx_text::read_model(text).model;
        let small = Model::new();
        assert!(limits(None).options(0, &small).max_memory <= 4 << 30);
        assert_eq!(limits(Some(8 << 30)).options(0, &small).max_memory, 8 << 30);
        let weights = read("g () => (float[2] y) <float[2] w = {1, 2}> { y = Relu(w) }");
        assert_eq!(stored(&weights), 8);
        assert!(limits(None).options(0, &weights).max_memory <= (4 << 30) + 16);
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("4096", 4096), ("1k", 1024), ("512M", 512 << 20), ("2GiB", 2 << 30), ("3 MB", 3 << 20)]
        {
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "M", "12x", "99999999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
