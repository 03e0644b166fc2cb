//! Measured peak performance of the processor (a roofline), to compare kernel times with.
//!
//! ```text
//! least time of a kernel = max(operations / most operations a second, bytes / most bytes a second)
//! ```
//! The bandwidth depends on the working set, because what fits into a cache is read from there. It is measured for several sizes;
//! for a kernel it is interpolated to the bytes that the kernel moves.

#[cfg(target_arch = "x86_64")]
use crate::loops::has_tile_registers;
use crate::loops::{Body, peak, widest};
use crate::pool;
use crate::profile::Work;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The peaks of a processor for a number of threads.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The number of threads.
    pub threads: usize,
    /// The widest instruction set that the executor uses on this machine.
    pub isa: &'static str,
    /// Single-precision operations per second; a multiply-add counts as two.
    pub singles: f64,
    /// Double-precision operations per second.
    pub doubles: f64,
    /// Operations per second on products of bytes.
    pub byte_products: f64,
    /// Bandwidths in the order of increasing sets.
    pub bandwidths: Vec<Bandwidth>,
}

/// Bytes per second for a working set, over all threads.
#[derive(Clone, Copy, Debug)]
pub struct Bandwidth {
    /// Bytes of the set.
    pub set: u64,
    /// Read only.
    pub read: f64,
    /// Written only.
    pub write: f64,
    /// Half read, half written; both are counted.
    pub copy: f64,
}

/// The lower bounds on the time of a kernel in seconds, by resource.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    /// The bound of its operations.
    pub compute: f64,
    /// The bound of its memory traffic.
    pub memory: f64,
}

impl Limit {
    /// The larger bound.
    pub fn seconds(&self) -> f64 {
        self.compute.max(self.memory)
    }

    /// The fraction that the bound is of a measured time.
    pub fn part_of(&self, took: Duration) -> f64 {
        self.seconds() / took.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Whether memory is the bottleneck.
    pub fn is_memory(&self) -> bool {
        self.memory >= self.compute
    }
}

/// The sizes in bytes of the working sets that are measured.
const SETS: [usize; 6] = [256 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20, 128 << 20];
/// The least bytes that a sample moves.
const SAMPLE: usize = 16 << 20;
/// Samples per measurement; the best one counts, which excludes interference by other processes.
const SAMPLES: usize = 12;
/// Samples of the largest set, which take long.
const SAMPLES_OF_LARGEST: usize = 4;
/// Floats per cache line.
const LINE: usize = 16;
/// Rounds of a sample.
const ROUNDS: usize = 100_000;

impl Machine {
    /// Measures the processor; takes less than two seconds and 128 MB.
    pub fn measure(threads: usize) -> Machine {
        let threads = threads.max(1);
        pool::with_threads(threads, || {
            let singles = rate(threads, &|| peak::singles(ROUNDS));
            let most = SETS[SETS.len() - 1] / size_of::<f32>();
            let mut numbers = vec![1.0f32; most + LINE];
            // Vector loads that cross a cache line take twice as long.
            let first = numbers.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
            let numbers = &mut numbers[first..first + most];
            Machine {
                threads,
                isa: isa(),
                singles,
                // Half as many lanes.
                doubles: singles / 2.0,
                byte_products: rate(threads, &|| peak::bytes(ROUNDS)),
                bandwidths: SETS.iter().map(|set| Bandwidth::measure(*set, threads, numbers)).collect(),
            }
        })
    }

    /// The least time for some work. `constants` bytes are the same in every run of the model and are read from the memory level
    /// that fits a set of that size.
    pub fn limit(&self, work: &Work, constants: u64) -> Limit {
        let each = [
            (work.singles, self.singles),
            (work.doubles, self.doubles),
            (work.byte_products, self.byte_products),
        ];
        let compute = each.iter().map(|(count, rate)| *count as f64 / rate).sum();
        let near = self.bandwidth(work.read + work.written);
        let (read, written) = (work.read as f64, work.written as f64);
        let memory = 2.0 * read.min(written) / near.copy
            + (read - written).max(0.0) / near.read
            + (written - read).max(0.0) / near.write
            + work.constants as f64 / self.bandwidth(constants).read;
        Limit { compute, memory }
    }

    /// The bandwidth for a working set, interpolated between the measured sets on a logarithmic scale.
    fn bandwidth(&self, bytes: u64) -> Bandwidth {
        let none = Bandwidth { set: 0, read: f64::INFINITY, write: f64::INFINITY, copy: f64::INFINITY };
        let below = self.bandwidths.iter().rev().find(|bandwidth| bandwidth.set <= bytes);
        let above = self.bandwidths.iter().find(|bandwidth| bandwidth.set > bytes);
        let (below, above) = match (below, above) {
            (Some(below), Some(above)) => (below, above),
            (Some(only), None) | (None, Some(only)) => return *only,
            (None, None) => return none,
        };
        let far = (bytes as f64 / below.set as f64).ln() / (above.set as f64 / below.set as f64).ln();
        let between = |a: f64, b: f64| a * (b / a).powf(far);
        Bandwidth {
            set: bytes,
            read: between(below.read, above.read),
            write: between(below.write, above.write),
            copy: between(below.copy, above.copy),
        }
    }
}

/// The peak rate in operations per second over all threads.
fn rate(threads: usize, work: &(dyn Fn() -> u64 + Sync)) -> f64 {
    let mut best = 0.0f64;
    for _ in 0..SAMPLES {
        let start = Instant::now();
        let counts = std::sync::atomic::AtomicU64::new(0);
        pool::run(threads, &|_| {
            counts.fetch_add(work(), std::sync::atomic::Ordering::Relaxed);
        });
        best = best.max(counts.into_inner() as f64 / start.elapsed().as_secs_f64());
    }
    best
}

impl Bandwidth {
    fn measure(set: usize, threads: usize, numbers: &mut [f32]) -> Bandwidth {
        let numbers = &mut numbers[..set / size_of::<f32>()];
        let samples = if set < SAMPLE { SAMPLES } else { SAMPLES_OF_LARGEST };
        let rounds = (SAMPLE / set).max(1);
        let mut best = |work: &(dyn Fn(&mut [f32]) + Sync)| {
            let mut least = f64::INFINITY;
            for _ in 0..samples {
                let parts = numbers.chunks_mut(numbers.len().div_ceil(threads));
                let parts: Vec<Mutex<Option<&mut [f32]>>> =
                    parts.map(|part| Mutex::new(Some(part))).collect();
                let start = Instant::now();
                pool::each(&parts, &|_, part| (0..rounds).for_each(|_| work(black_box(&mut *part))));
                least = least.min(start.elapsed().as_secs_f64());
            }
            (rounds * set) as f64 / least
        };
        let read = best(&|numbers| _ = black_box(widest(Read(numbers))));
        let write = best(&|numbers| widest(Write(numbers)));
        let by_loop = best(&|numbers| widest(Copied(numbers)));
        let by_call = best(&|numbers| {
            let (to, from) = numbers.split_at_mut(numbers.len() / 2);
            to.copy_from_slice(&from[..to.len()]);
        });
        Bandwidth { set: set as u64, read, write, copy: by_loop.max(by_call) }
    }
}

/// Sums the bits of all numbers. The order does not matter, so the compiler can use several accumulators.
struct Read<'n>(&'n [f32]);

impl Body for Read<'_> {
    type Out = u32;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> u32 {
        self.0.iter().fold(0, |sum, number| sum.wrapping_add(number.to_bits()))
    }
}

/// Sets all numbers.
struct Write<'n>(&'n mut [f32]);

impl Body for Write<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.0.iter_mut().for_each(|number| *number = 1.0);
    }
}

/// Writes the absolute values of the second half to the first half.
struct Copied<'n>(&'n mut [f32]);

impl Body for Copied<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (to, from) = self.0.split_at_mut(self.0.len() / 2);
        for (to, from) in to.iter_mut().zip(from) {
            // Not a plain copy, which the compiler would replace with a call of `memcpy`.
            *to = from.abs();
        }
    }
}

/// The widest instruction set that the executor uses on this machine.
fn isa() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq") {
            return match has!("avx512vnni") {
                true if has_tile_registers() => "AVX-512 with VNNI and AMX",
                true => "AVX-512 with VNNI",
                false => "AVX-512",
            };
        }
        if has!("avx2") && has!("fma") {
            return if has!("avxvnni") { "AVX2 with VNNI" } else { "AVX2" };
        }
    }
    if cfg!(target_arch = "aarch64") { "NEON" } else { "baseline" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let bandwidth = |set, all: f64| Bandwidth { set, read: all, write: all / 2.0, copy: all };
        let bandwidths = vec![bandwidth(1 << 10, 1e9), bandwidth(1 << 20, 1e8)];
        Machine { threads: 1, isa: "", singles: 1e9, doubles: 5e8, byte_products: 4e9, bandwidths }
    }

    #[test]
    fn the_slower_of_operations_and_bytes_limits() {
        let work = Work { singles: 1000, read: 100, ..Work::default() };
        let limit = machine().limit(&work, 0);
        assert_eq!((limit.compute, limit.memory, limit.is_memory()), (1e-6, 1e-7, false));
        assert_eq!(limit.part_of(Duration::from_micros(4)), 0.25);
        let work = Work { doubles: 100, byte_products: 400, read: 100, written: 300, ..Work::default() };
        let limit = machine().limit(&work, 0);
        // 200 bytes are copied and 200 are only written.
        assert!((limit.compute - 3e-7).abs() < 1e-15 && (limit.memory - 6e-7).abs() < 1e-15, "{limit:?}");
    }

    #[test]
    fn bytes_are_as_fast_as_their_set_allows() {
        let of = |read| machine().limit(&Work { read, ..Work::default() }, 0).memory;
        assert_eq!((of(1 << 9), of(1 << 20)), ((1u64 << 9) as f64 / 1e9, (1u64 << 20) as f64 / 1e8));
        // Halfway between the sets on the logarithmic scale.
        assert!((of(1 << 15) - (1u64 << 15) as f64 / (1e9f64 * 1e8).sqrt()).abs() < 1e-12);
        let constants = Work { constants: 1000, ..Work::default() };
        assert_eq!(machine().limit(&constants, 1 << 21).memory, 1e-5);
    }

    #[test]
    fn what_is_measured_is_there() {
        let machine = Machine::measure(1);
        assert!(machine.singles > 1e8 && machine.doubles > 1e8 && machine.byte_products > 1e8, "{machine:?}");
        assert!(
            machine.bandwidths.iter().all(|b| b.read > 1e7 && b.write > 1e7 && b.copy > 1e7),
            "{machine:?}"
        );
        assert!(machine.bandwidths.is_sorted_by_key(|b| b.set));
    }
}
