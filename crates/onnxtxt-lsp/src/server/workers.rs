//! Threads that answer requests.

use super::Event;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::thread;

type Task = Box<dyn FnOnce() + Send>;

/// A few threads with one queue, and one for what must not wait behind others. They end when the server drops it.
pub(crate) struct Workers {
    queue: Sender<Task>,
    urgent: Sender<Task>,
    events: Sender<Event>,
}

/// The parser recurses on brackets, whose nesting is bounded: unoptimized builds need more than the 2 MiB of a thread.
const STACK: usize = 16 << 20;

impl Workers {
    pub(crate) fn new(count: usize, events: Sender<Event>) -> Workers {
        let cores = || thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4));
        let (queue, tasks) = unbounded::<Task>();
        for i in 0..if count == 0 { cores() } else { count } {
            start(format!("worker {i}"), tasks.clone());
        }
        let (urgent, tasks) = unbounded::<Task>();
        start("urgent".to_owned(), tasks);
        Workers { queue, urgent, events }
    }

    /// Runs a task that tells the loop what it has found.
    pub(crate) fn run(&self, task: impl FnOnce() -> Option<Event> + Send + 'static) {
        _ = self.queue.send(self.reporting(task));
    }

    /// Runs a task of few milliseconds, though all other threads be busy.
    pub(crate) fn run_urgently(&self, task: impl FnOnce() -> Option<Event> + Send + 'static) {
        _ = self.urgent.send(self.reporting(task));
    }

    fn reporting(&self, task: impl FnOnce() -> Option<Event> + Send + 'static) -> Task {
        let events = self.events.clone();
        Box::new(move || {
            if let Some(event) = task() {
                _ = events.send(event);
            }
        })
    }
}

fn start(name: String, tasks: Receiver<Task>) {
    let run = move || tasks.iter().for_each(|task| task());
    // Without threads there is no server; with some of them there is.
    let started = thread::Builder::new().name(name).stack_size(STACK).spawn(run);
    drop(started);
}
