//! Temporary files that are renamed when complete, and removed when the program is terminated.
//!
//! They are removed after termination by INT, TERM or HUP (ignored signals stay ignored), by a file size limit, or by truncation
//! of a mapped file. KILL cannot be handled: then one may remain.

use super::place::{Folder, Kind};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// A temporary name, which is removed on drop.
#[derive(Debug)]
pub(crate) struct Temporary {
    folder: Folder,
    name: OsString,
    number: u64,
}

type List = Vec<(u64, Folder, OsString)>;

/// The names of temporary files: these around the number of the process and that of the file.
const PREFIX: &str = ".onnxtxt-";
const ENDING: &str = ".tmp";

/// Whether a file has the name of a temporary one, of any process.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(ENDING)
}

static TEMPORARY: Mutex<List> = Mutex::new(Vec::new());
static NUMBER: AtomicU64 = AtomicU64::new(0);
static WATCH: Once = Once::new();

fn list() -> MutexGuard<'static, List> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Temporary {
    /// Creates a file.
    pub(crate) fn create(folder: &Folder, permissions: u32) -> io::Result<(Temporary, File)> {
        WATCH.call_once(watch);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!("{PREFIX}{}-{number}{ENDING}", std::process::id()));
            // Signals wait until the file is in the list.
            let mut list = list();
            match folder.create(&name, permissions) {
                Ok(file) => {
                    list.push((number, folder.clone(), name.clone()));
                    return Ok((Temporary { folder: folder.clone(), name, number }, file));
                }
                // Left by a killed process, or created by another machine.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Renames the file to its final place. An existing file gets the temporary name and is removed with it unless it is put
    /// back: no file ever has two names, which readers of external data refuse.
    pub(crate) fn replace(&self, place: &OsStr, signals: &mut DeferredSignals) -> io::Result<Replaced> {
        let found = self.folder.look(place)?;
        let is_file = found.as_ref().is_some_and(|found| found.kind == Kind::File);
        // Not all file systems can exchange names.
        if is_file && self.folder.exchange(&self.name, place).is_ok() {
            return Ok(Replaced::Kept);
        }
        self.folder.rename(&self.name, place)?;
        signals.0.retain(|(number, ..)| *number != self.number);
        Ok(if found.is_none() { Replaced::Nothing } else { Replaced::Lost })
    }
}

impl Temporary {
    /// Renames the file to a name that does not exist. It fails if another program has made a file of that name meanwhile.
    #[cfg(feature = "run")]
    pub(crate) fn settle(&self, place: &OsStr, signals: &mut DeferredSignals) -> io::Result<()> {
        self.folder.rename_new(&self.name, place)?;
        signals.0.retain(|(number, ..)| *number != self.number);
        Ok(())
    }
}

/// The outcome for the existing file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Replaced {
    Nothing,
    /// It has the temporary name now.
    Kept,
    /// It cannot be put back.
    Lost,
}

/// While it exists, termination by a signal that can be handled is deferred; so several files are replaced together or not at
/// all.
pub(crate) struct DeferredSignals(MutexGuard<'static, List>);

/// See [`DeferredSignals`].
pub(crate) fn defer_signals() -> DeferredSignals {
    DeferredSignals(list())
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut list = list();
        if list.iter().any(|(number, ..)| *number == self.number) {
            _ = self.folder.remove(&self.name);
            list.retain(|(number, ..)| *number != self.number);
        }
    }
}

static ENDINGS: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

/// Runs `act` when the program is terminated by INT, TERM or HUP, unless these are ignored or the program handles them itself.
pub fn when_ended(act: fn()) {
    WATCH.call_once(watch);
    ENDINGS.lock().unwrap_or_else(PoisonError::into_inner).push(act);
}

/// Removes all files and blocks creating or keeping one until the program ends.
fn remove_all() -> Option<MutexGuard<'static, List>> {
    // A thread that renames holds the lock briefly; one interrupted by the signal may hold it forever.
    for _ in 0..1000 {
        let list = match TEMPORARY.try_lock() {
            Ok(list) => list,
            Err(std::sync::TryLockError::Poisoned(list)) => list.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => {
                std::thread::sleep(std::time::Duration::from_millis(1));
                continue;
            }
        };
        for (_, folder, name) in list.iter() {
            _ = folder.remove(name);
        }
        return Some(list);
    }
    None
}

#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    onnx_proto::file::when_cut_short(|| std::mem::forget(remove_all()));
    // Writing beyond the limit then fails with an error, as on a full disk.
    _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
    let ends = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_taken(signal));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(ends) else { return };
    let end = move || {
        if let Some(signal) = signals.forever().next() {
            let _list = remove_all();
            ENDINGS.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|act| act());
            _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    _ = std::thread::Builder::new().name("signals".to_owned()).spawn(end);
}

#[cfg(not(unix))]
fn watch() {}

/// Whether a signal does not end the program: it is ignored, as under `nohup`, or the program around the library handles it, as
/// Python does. If the system does not tell, it does.
#[cfg(unix)]
fn is_taken(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has = |line: &str| {
        let bits = ["SigIgn:", "SigCgt:"].iter().find_map(|name| line.strip_prefix(name));
        let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
        bits >> (signal - 1) & 1 != 0
    };
    status.lines().any(has)
}
