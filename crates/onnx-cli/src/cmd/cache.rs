//! `onnxtxt cache`: lists and removes packed weights that programs of this machine share.

use crate::args::limits::size;
use crate::output;
use crate::output::numbers::{bytes, count};
use crate::output::table::Table;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail};
use onnxtxt::files::{CacheEntry, WeightCache};
use serde_json::json;
use std::time::{Duration, SystemTime};

/// List or remove packed weights that are kept from one run to the next
///
/// `--cache` of `run`, `bench` and others keeps packed weights in files, which all processes of a machine map. The folder is
/// `$ONNXTXT_CACHE/weights`, otherwise `onnxtxt/weights` in the cache folder of the user. Everything there can be removed at any time: it
/// is made again when it is needed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt cache                                 what is kept
  onnxtxt run model.onnx --random --cache       keep the packed weights of a model
  onnxtxt cache --clean --unused-for 7d         remove what was not used for a week
  onnxtxt cache --clean --max-size 2G           remove the least recently used, until 2 GiB are left
  onnxtxt cache --clean                         remove everything")]
pub(crate) struct Args {
    /// Remove entries; all, unless other options say which
    #[arg(long)]
    clean: bool,
    /// Remove entries that were not used for this time, such as 12h or 7d
    #[arg(long, value_name = "TIME", requires = "clean", value_parser = time)]
    unused_for: Option<Duration>,
    /// Remove the least recently used entries, until the others have at most this size, such as 512M or 2G
    #[arg(long, value_name = "SIZE", requires = "clean", value_parser = size)]
    max_size: Option<usize>,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let Some(path) = WeightCache::default_path(|name| std::env::var_os(name)) else {
        bail!("this user has no cache folder: set `ONNXTXT_CACHE` to the path of one")
    };
    let cache = match path.try_exists() {
        Ok(false) => None,
        Ok(true) | Err(_) => Some(WeightCache::open_existing(&path, WeightCache::MAX_BYTES)?),
    };
    if args.clean {
        let max = match (args.max_size, args.unused_for) {
            (Some(size), _) => size as u64,
            (None, Some(_)) => u64::MAX,
            (None, None) => 0,
        };
        let is_all = args.max_size.is_none() && args.unused_for.is_none();
        let unused_for = args.unused_for.unwrap_or(if is_all { Duration::ZERO } else { Duration::MAX });
        let cleaned = cache.as_ref().map(|cache| cache.clean(unused_for, max)).transpose()?;
        let cleaned = cleaned.unwrap_or_default();
        if session.wants_json() {
            output::json(&json!({ "removed": cleaned.entries, "bytes": cleaned.bytes }))?;
        } else {
            session.note(&format!("{} removed, {}", count(cleaned.entries, "entry"), bytes(cleaned.bytes)));
        }
        return Ok(Status::Clean);
    }
    let entries = cache.as_ref().map(WeightCache::entries).transpose()?.unwrap_or_default();
    let total = entries.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add);
    if session.wants_json() {
        let entry = |entry: &CacheEntry| {
            json!({
                "name": entry.name, "bytes": entry.bytes, "unused_seconds": unused(entry).as_secs(),
                "description": entry.description,
            })
        };
        let entries: Vec<serde_json::Value> = entries.iter().map(entry).collect();
        output::json(&json!({ "folder": path.display().to_string(), "bytes": total, "entries": entries }))?;
        return Ok(Status::Clean);
    }
    let mut table = Table::new(["<name", "size", "unused", "<content"]);
    for entry in &entries {
        table.row([
            entry.name.chars().take(12).collect(),
            bytes(entry.bytes),
            shown(unused(entry)),
            entry.description.clone().unwrap_or_else(|| "damaged, or of another version".to_owned()),
        ]);
    }
    let text = if table.is_empty() { String::new() } else { table.text() };
    output::to_people(&text)?;
    session.note(&format!("{}: {}, {}", path.display(), count(entries.len(), "entry"), bytes(total)));
    Ok(Status::Clean)
}

/// How long an entry was not used.
fn unused(entry: &CacheEntry) -> Duration {
    SystemTime::now().duration_since(entry.used).unwrap_or_default()
}

/// The units of a time, the largest first.
const UNITS: [(char, u64); 5] = [('w', 7 * 86400), ('d', 86400), ('h', 3600), ('m', 60), ('s', 1)];

/// `90m`, `7d`
fn time(text: &str) -> anyhow::Result<Duration> {
    let unit = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, *seconds)));
    let (number, seconds) =
        unit.with_context(|| format!("invalid time `{text}`: expected a number with s, m, h, d or w"))?;
    let number: u64 = number.parse().with_context(|| format!("invalid time `{text}`"))?;
    let seconds = number.checked_mul(seconds).with_context(|| format!("`{text}` is too long"))?;
    Ok(Duration::from_secs(seconds))
}

/// A time in the largest unit of which it has two.
fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    let unit = UNITS.iter().find(|(_, unit)| seconds >= 2 * unit);
    unit.map_or_else(|| format!("{seconds}s"), |(name, unit)| format!("{}{name}", seconds / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in [("0s", 0), ("90m", 5400), ("12h", 43200), ("7d", 604_800), ("2w", 1_209_600)]
        {
            assert_eq!(time(text).unwrap().as_secs(), seconds, "{text}");
        }
        for text in ["", "7", "d", "-1d", "1.5h", "1y", "99999999999999999999d"] {
            assert!(time(text).is_err(), "{text}");
        }
        let shown = |seconds| shown(Duration::from_secs(seconds));
        assert_eq!([shown(0), shown(119), shown(7200), shown(180_000)], ["0s", "119s", "2h", "2d"]);
    }
}
