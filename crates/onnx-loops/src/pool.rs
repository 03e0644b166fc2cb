//! A pool of threads.
//!
//! The threads are started once and kept. Waking a sleeping thread costs as much as millions of multiplications, so a thread
//! spins for a while before it sleeps, and longer while a run uses several threads. [`run`] distributes tasks over the threads,
//! including the calling one: each has tasks of its own, and then claims those that others have not begun. So a thread that the
//! system does not schedule delays a run by the task that it is in, at most, and by nothing if it has not begun. Results must not
//! depend on which thread runs a task.

#![allow(
    unsafe_code,
    reason = "a task is borrowed by threads that live longer; `run` waits for them before the borrow ends"
)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::thread::{self, Thread};

/// How often a thread polls for a task before it sleeps: some tens of microseconds. Few polls under Miri, where the interleaving
/// of two threads is what matters.
const LOOKS: u32 = if cfg!(miri) { 10 } else { 4_000 };
/// How often it polls while a run uses several threads: some milliseconds, longer than the single-threaded phases of a run.
const LOOKS_IN_RUN: u32 = if cfg!(miri) { 10 } else { 200_000 };
/// The most threads that are started.
const MAX_THREADS: usize = 256;

thread_local! {
    /// The number of threads that [`run`] uses when this thread calls it.
    static THREADS: Cell<usize> = const { Cell::new(1) };
}

/// The number of runs that use several threads now.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Runs `work` with `threads` threads for [`run`].
pub fn with_threads<T>(threads: usize, work: impl FnOnce() -> T) -> T {
    /// The previous number of threads, and whether this run counts in [`RUNS`].
    struct Restore(usize, usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            THREADS.set(self.0);
            RUNS.fetch_sub(self.1, Ordering::Relaxed);
        }
    }
    let threads = threads.clamp(1, MAX_THREADS);
    let is_run = usize::from(threads > 1);
    RUNS.fetch_add(is_run, Ordering::Relaxed);
    let _restore = Restore(THREADS.replace(threads), is_run);
    work()
}

/// The number of threads that [`run`] uses.
pub fn threads() -> usize {
    THREADS.get()
}

/// The default number of threads: one for each core that this process may use.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Runs the tasks `0..tasks` and waits for them. Nested calls run on the thread of the outer task. A panic in a task is
/// propagated after all tasks end.
pub fn run(tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    let threads = threads().min(tasks);
    let all = || (0..tasks).for_each(task);
    if threads < 2 {
        return all();
    }
    static POOL: Mutex<Pool> = Mutex::new(Pool { process: 0, workers: Vec::new() });
    let mut pool = match POOL.try_lock() {
        Ok(pool) => pool,
        Err(TryLockError::Poisoned(pool)) => pool.into_inner(),
        // Another run uses the pool: run the tasks on this thread, which is not slower.
        Err(TryLockError::WouldBlock) => return all(),
    };
    let workers = pool.here();
    while workers.len() < threads - 1 {
        match Worker::start() {
            Some(worker) => workers.push(worker),
            None => return all(),
        }
    }
    let workers = &workers[..threads - 1];
    let job = Job::new(task, tasks, threads);
    // SAFETY: workers use the extended borrow only between `give` and the end of `wait`, and this function cannot be left in
    // between: `give` does not panic, and a panic of this thread's own tasks is resumed only after the wait.
    let shared = unsafe { std::mem::transmute::<&Job<'_>, &'static Job<'static>>(&job) };
    for (i, worker) in workers.iter().enumerate() {
        worker.give(shared, i + 1);
    }
    let own = with_threads(1, || catch_unwind(AssertUnwindSafe(|| job.work(0))));
    let mut has_panicked = false;
    for worker in workers {
        has_panicked |= worker.wait();
    }
    if let Err(panic) = own {
        resume_unwind(panic);
    }
    assert!(!has_panicked, "a task has panicked on another thread");
}

/// The threads that were started, and the process that they run in.
struct Pool {
    process: u32,
    workers: Vec<Arc<Worker>>,
}

impl Pool {
    /// The threads of this process: a process that was forked has none of its parent's.
    fn here(&mut self) -> &mut Vec<Arc<Worker>> {
        let process = std::process::id();
        if self.process != process {
            self.process = process;
            self.workers.clear();
        }
        &mut self.workers
    }
}

/// Runs a task for each part and moves the part into it.
pub fn each<T: Send>(parts: &[Mutex<Option<T>>], task: &(dyn Fn(usize, T) + Sync)) {
    run(parts.len(), &|i| {
        let part = parts[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(part) = part {
            task(i, part);
        }
    });
}

/// Tasks that several threads claim.
struct Job<'j> {
    task: &'j (dyn Fn(usize) + Sync),
    shares: [Share; MAX_SHARES],
    /// The number of shares in use.
    count: usize,
}

/// The most shares of a job. With more threads, several begin with the same share.
const MAX_SHARES: usize = 16;

/// Successive tasks that a thread begins with.
struct Share {
    /// The next unclaimed task.
    next: AtomicUsize,
    end: usize,
}

impl Job<'_> {
    fn new(task: &(dyn Fn(usize) + Sync), tasks: usize, threads: usize) -> Job<'_> {
        let count = threads.min(MAX_SHARES);
        let at = |share: usize| tasks * share.min(count) / count;
        let shares = std::array::from_fn(|i| Share { next: AtomicUsize::new(at(i)), end: at(i + 1) });
        Job { task, shares, count }
    }

    /// Runs the tasks of a thread, and then those of others, until all tasks have begun.
    fn work(&self, thread: usize) {
        for i in 0..self.count {
            let share = &self.shares[(thread + i) % self.count];
            loop {
                let task = share.next.fetch_add(1, Ordering::Relaxed);
                if task >= share.end {
                    break;
                }
                (self.task)(task);
            }
        }
    }
}

/// A thread of the pool.
struct Worker {
    state: AtomicU32,
    sleeps: AtomicBool,
    has_panicked: AtomicBool,
    given: Mutex<Option<Given>>,
    thread: OnceLock<Thread>,
}

/// A job for a worker, and the share that it begins with.
struct Given {
    job: &'static Job<'static>,
    share: usize,
}

/// States of a worker.
const IDLE: u32 = 0;
const BUSY: u32 = 1;

impl Worker {
    fn new() -> Worker {
        Worker {
            state: AtomicU32::new(IDLE),
            sleeps: AtomicBool::new(false),
            has_panicked: AtomicBool::new(false),
            given: Mutex::new(None),
            thread: OnceLock::new(),
        }
    }

    fn start() -> Option<Arc<Worker>> {
        let worker = Arc::new(Worker::new());
        let mine = Arc::clone(&worker);
        let started = thread::Builder::new().name("onnxtxt".to_owned()).spawn(move || mine.live()).ok()?;
        _ = worker.thread.set(started.thread().clone());
        Some(worker)
    }

    fn given(&self) -> std::sync::MutexGuard<'_, Option<Given>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, job: &'static Job<'static>, share: usize) {
        *self.given() = Some(Given { job, share });
        self.state.store(BUSY, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Waits until the worker is done with a job of which all tasks have begun; returns whether a task panicked. If the worker has not
    /// taken the job, it does not get it any more.
    fn wait(&self) -> bool {
        if self.given().take().is_some() {
            self.state.store(IDLE, Ordering::SeqCst);
            return false;
        }
        let mut looks = 0;
        while self.state.load(Ordering::SeqCst) == BUSY {
            looks += 1;
            // With more threads than cores, spinning would block the worker.
            if looks < LOOKS { std::hint::spin_loop() } else { thread::yield_now() }
        }
        self.has_panicked.swap(false, Ordering::SeqCst)
    }

    fn live(&self) {
        loop {
            let mut looks = 0;
            while self.state.load(Ordering::SeqCst) != BUSY {
                looks += 1;
                if looks < LOOKS || looks < LOOKS_IN_RUN && RUNS.load(Ordering::Relaxed) > 0 {
                    std::hint::spin_loop();
                    continue;
                }
                self.sleeps.store(true, Ordering::SeqCst);
                // A concurrent `give` either sees the sleeping state or is seen by this load.
                if self.state.load(Ordering::SeqCst) != BUSY {
                    thread::park();
                }
                self.sleeps.store(false, Ordering::SeqCst);
            }
            let given = self.given().take();
            // Without a job, its caller has taken it back, and sets the state. There may be a next one already.
            let Some(Given { job, share }) = given else { continue };
            if catch_unwind(AssertUnwindSafe(|| job.work(share))).is_err() {
                self.has_panicked.store(true, Ordering::SeqCst);
            }
            self.state.store(IDLE, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_run_once() {
        let most = if cfg!(miri) { 8 } else { 100 };
        for threads in [1, 2, 3, 7] {
            for tasks in [0, 1, 2, 5, most] {
                let counts: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                with_threads(threads, || {
                    run(tasks, &|task| {
                        counts[task].fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{threads} {tasks}");
            }
        }
    }

    /// Writes without atomics: a missing synchronization between a task and its caller, or between two runs, is a data race on
    /// these elements.
    #[test]
    fn what_tasks_write_is_seen_by_who_waits() {
        let (runs, most) = if cfg!(miri) { (6, 5) } else { (2_000, 64) };
        for run in 0..runs {
            let mut numbers: Vec<usize> = (0..1 + run % most).collect();
            let parts: Vec<_> = numbers.iter_mut().map(|number| Mutex::new(Some(number))).collect();
            with_threads(2 + run % 3, || each(&parts, &|_, number| *number += run));
            drop(parts);
            assert!(numbers.iter().enumerate().all(|(i, number)| *number == i + run), "{numbers:?}");
            // Sometimes sleep long enough for the workers to park.
            if run % 97 == 3 {
                thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }

    /// A worker that the system never schedules: its tasks are run by the others, and it does not hold up the run.
    #[test]
    fn a_thread_that_has_not_begun_delays_no_run() {
        static JOB: OnceLock<Job<'static>> = OnceLock::new();
        static COUNTS: [AtomicUsize; 9] = [const { AtomicUsize::new(0) }; 9];
        let job = JOB.get_or_init(|| {
            Job::new(
                &|task| {
                    COUNTS[task].fetch_add(1, Ordering::Relaxed);
                },
                9,
                3,
            )
        });
        let worker = Worker::new();
        worker.give(job, 1);
        job.work(0);
        assert!(!worker.wait());
        assert!(worker.given().is_none() && worker.state.load(Ordering::SeqCst) == IDLE);
        assert!(COUNTS.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }

    /// The pool serves one run at a time; concurrent runs execute their tasks on their own thread.
    #[test]
    fn runs_on_several_threads_share_the_pool() {
        let runs = if cfg!(miri) { 2 } else { 500 };
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..runs {
                        let mut numbers = [0usize; 9];
                        let parts: Vec<_> =
                            numbers.iter_mut().map(|number| Mutex::new(Some(number))).collect();
                        with_threads(3, || each(&parts, &|_, number| *number += 1));
                        drop(parts);
                        assert_eq!(numbers, [1; 9]);
                    }
                });
            }
        });
    }

    #[test]
    fn the_threads_of_another_process_are_not_used() {
        let mut pool = Pool { process: 0, workers: vec![Arc::new(Worker::new())] };
        assert!(pool.here().is_empty());
        pool.here().push(Arc::new(Worker::new()));
        assert_eq!(pool.here().len(), 1);
    }

    #[test]
    fn tasks_may_have_tasks_and_panic() {
        with_threads(3, || {
            let sum = AtomicUsize::new(0);
            run(4, &|a| {
                run(4, &|b| {
                    sum.fetch_add(a * b, Ordering::Relaxed);
                })
            });
            assert_eq!(sum.load(Ordering::Relaxed), 36);
            for bad in 0..3 {
                let caught = catch_unwind(|| run(3, &|task| assert_ne!(task, bad)));
                assert!(caught.is_err(), "{bad}");
            }
            let parts = [1, 2, 3].map(|part| Mutex::new(Some(part)));
            let sum = AtomicUsize::new(0);
            each(&parts, &|at, part| {
                sum.fetch_add(at * part, Ordering::Relaxed);
            });
            assert_eq!(sum.load(Ordering::Relaxed), 8);
        });
    }
}
