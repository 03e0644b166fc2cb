//! Threads that answer requests.

use super::Event;
use crossbeam_channel::{Sender, unbounded};
use std::thread;

type Task = Box<dyn FnOnce() + Send>;

/// A few threads with one queue. They end when the server drops it.
pub(crate) struct Workers {
    queue: Sender<Task>,
    events: Sender<Event>,
}

/// The parser recurses on brackets, whose nesting is bounded: unoptimized builds need more than the 2 MiB of a thread.
const STACK: usize = 16 << 20;

impl Workers {
    pub(crate) fn new(count: usize, events: Sender<Event>) -> Workers {
        let cores = || thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4));
        let (queue, tasks) = unbounded::<Task>();
        for i in 0..if count == 0 { cores() } else { count } {
            let tasks = tasks.clone();
            let run = move || tasks.iter().for_each(|task| task());
            // Without threads there is no server; with some of them there is.
            let started = thread::Builder::new().name(format!("worker {i}")).stack_size(STACK).spawn(run);
            drop(started);
        }
        Workers { queue, events }
    }

    /// Runs a task that tells the loop what it has found.
    pub(crate) fn run(&self, task: impl FnOnce() -> Option<Event> + Send + 'static) {
        let events = self.events.clone();
        let task = move || {
            if let Some(event) = task() {
                _ = events.send(event);
            }
        };
        _ = self.queue.send(Box::new(task));
    }
}
