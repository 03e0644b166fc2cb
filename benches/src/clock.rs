//! Wall time and the CPU time of one thread.

use std::time::{Duration, Instant};

/// The cost of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) wall: f64,
    /// User and system time in seconds.
    pub(crate) cpu: f64,
    /// Most memory that was resident, in bytes, for programs.
    pub(crate) memory: Option<u64>,
}

/// Runs something on this thread. Dropping its result is left to the caller.
pub(crate) fn time<T>(f: impl FnOnce() -> T) -> (Sample, T) {
    let (wall, cpu) = (Instant::now(), thread_cpu());
    let result = std::hint::black_box(f());
    let (cpu, wall) = (thread_cpu().saturating_sub(cpu), wall.elapsed());
    (Sample { wall: wall.as_secs_f64(), cpu: cpu.as_secs_f64(), memory: None }, result)
}

#[cfg(unix)]
fn thread_cpu() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    clock.now().map_or(Duration::ZERO, Duration::from)
}

/// The CPU time of this process.
#[cfg(unix)]
pub(crate) fn process_cpu() -> Duration {
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    clock.now().map_or(Duration::ZERO, Duration::from)
}

/// CPU time and most resident bytes of the child processes that have ended.
#[cfg(unix)]
pub(crate) fn children() -> (Duration, Option<u64>) {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return (Duration::ZERO, None) };
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    // Kilobytes on Linux, bytes on macOS.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let memory = u64::try_from(usage.max_rss()).ok().map(|max| max * unit);
    (Duration::from_micros(micros.unsigned_abs()), memory)
}

/// Elsewhere only wall time is known.
#[cfg(not(unix))]
fn thread_cpu() -> Duration {
    Duration::ZERO
}

#[cfg(not(unix))]
pub(crate) fn process_cpu() -> Duration {
    Duration::ZERO
}

#[cfg(not(unix))]
pub(crate) fn children() -> (Duration, Option<u64>) {
    (Duration::ZERO, None)
}
