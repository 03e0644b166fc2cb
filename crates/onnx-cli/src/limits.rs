//! How much a run may take.

use anyhow::{Context as _, bail};
use onnx_exec::{Memory, RunOptions};

/// What commands that run models take.
#[derive(clap::Args)]
pub(crate) struct LimitArgs {
    /// The most memory that tensors may take, such as 512M or 2G; default: three quarters of what the system has to spare
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<usize>,
    /// The most nodes that may be run, each iteration of a loop counted as eight, and a million steps of each on average
    #[arg(long, value_name = "N", default_value_t = RunOptions::default().fuel)]
    fuel: u64,
    /// The threads that compute; default: one for each core. Results do not depend on it
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl LimitArgs {
    /// How a model is run within these.
    pub(crate) fn options(&self, seed: u64) -> RunOptions<'static> {
        let most = self.max_memory.or_else(spare).unwrap_or(usize::MAX);
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
    use super::size;

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
