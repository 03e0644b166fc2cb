//! Limits of a run.

use anyhow::{Context as _, bail};
use onnx_exec::{CompileOptions, Memory, RunOptions};
use onnx_ir::{Model, Payload};
use onnxtxt::files::WeightCache;
use std::sync::{Arc, OnceLock};

/// Limit options of commands that run models.
#[derive(clap::Args)]
pub(crate) struct LimitArgs {
    /// Maximum memory for tensors, such as 512M or 2G; default: 4G plus twice the size of the weights, but at most three
    /// quarters of the available memory
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<usize>,
    /// Maximum number of nodes to run (an iteration of a loop counts as eight), and a million steps for each on average
    #[arg(long, value_name = "N", default_value_t = RunOptions::default().fuel)]
    fuel: u64,
    /// Number of threads; default: one per core. Results do not depend on it
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Round after every node, as the operators are defined; otherwise, float16 and bfloat16 intermediates are kept in single
    /// precision and convolutions may use Winograd's algorithm
    #[arg(long)]
    exact: bool,
    /// Keep packed weights in the cache folder of the user, so that the next run starts faster and processes of this machine share
    /// their memory; `onnxtxt cache` lists and removes them
    #[arg(long)]
    cache: bool,
    /// The cache, once it was opened.
    #[arg(skip)]
    opened: OnceLock<Option<Arc<WeightCache>>>,
    /// Run the model even if `check` finds errors that make its meaning unclear
    #[arg(long)]
    pub(crate) unchecked: bool,
}

impl LimitArgs {
    /// The options to prepare a model with that [`Prepared::admit`](crate::execution::prepared::Prepared::admit) has admitted, or that a
    /// command has made of such a model. A cache that cannot be used is noted, once.
    pub(crate) fn compile_options(&self, note: &dyn Fn(&str)) -> CompileOptions {
        let opened = self.opened.get_or_init(|| match self.cache.then(open_cache)? {
            Ok(cache) => Some(Arc::new(cache)),
            Err(why) => {
                note(&format!("packed weights are not kept: {why:#}"));
                None
            }
        });
        let packed_store = opened.clone().map(|cache| cache as _);
        CompileOptions { unchecked: true, exact: self.exact, packed_store, ..CompileOptions::default() }
    }

    /// The options to run this model with.
    pub(crate) fn options(&self, seed: u64, model: &Model) -> RunOptions<'static> {
        let max = self.max_memory.unwrap_or_else(|| usual(stored(model)).min(spare().unwrap_or(usize::MAX)));
        let threads = self.threads.map_or_else(|| RunOptions::default().threads, usize::from);
        let memory = Some(Memory::new(max));
        RunOptions { seed, max_memory: max, memory, fuel: self.fuel, threads, ..RunOptions::default() }
    }
}

/// The cache for packed weights of this user.
fn open_cache() -> anyhow::Result<WeightCache> {
    let path = WeightCache::default_path(|name| std::env::var_os(name));
    let path = path.context("this user has no cache folder: set `ONNXTXT_CACHE` to the path of one")?;
    Ok(WeightCache::open(&path, WeightCache::MAX_BYTES)?)
}

/// `4096`, `512M`, `2GiB`
pub(crate) fn size(text: &str) -> anyhow::Result<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: usize = text[..end].parse().with_context(|| format!("invalid size `{text}`"))?;
    let unit = text[end..].trim().to_ascii_lowercase();
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => bail!("unknown unit `{unit}`: expected K, M, G or T"),
    };
    number.checked_mul(1 << shift).with_context(|| format!("`{text}` is too large"))
}

/// The default memory limit in bytes for a model with this many bytes of weights. A loop with growing values reaches it within
/// seconds on any machine; weights may be converted and packed.
fn usual(stored: usize) -> usize {
    (4usize << 30).saturating_add(stored.saturating_mul(2))
}

/// The bytes of all tensors of a model.
pub(crate) fn stored(model: &Model) -> usize {
    let tensors = model.bodies.values().flat_map(|body| body.tensors.values());
    let bytes = tensors.flat_map(|tensor| &tensor.data).map(|data| match data {
        Payload::Entries { bytes, .. } => bytes.len(),
        Payload::Strings(strings) => strings.iter().map(|string| string.len()).sum(),
    });
    bytes.fold(0, usize::saturating_add)
}

/// Three quarters of the available memory, if the system reports it: allocators and other programs need the rest.
fn spare() -> Option<usize> {
    let min = [available(), of_group()].into_iter().flatten().min()?;
    Some(min / 4 * 3)
}

fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The memory that the control group of a container leaves, if it has a limit.
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
    use std::sync::OnceLock;

    #[test]
    fn the_memory_of_a_run_is_bounded_on_every_machine() {
        let limits = |max_memory| LimitArgs {
            max_memory,
            fuel: 1,
            threads: None,
            exact: false,
            cache: false,
            opened: OnceLock::new(),
            unchecked: false,
        };
        let read = |text: &str| onnx_text::read_model(text).value;
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
