//! Runs of ours and of the peer's, by turns.

use crate::clock::Sample;
use crate::peer::Peer;
use anyhow::{Context as _, Result};
use std::path::PathBuf;
use std::time::Instant;

/// Of a case whose first pair takes longer than this (in seconds), three pairs have to do.
const SLOW: f64 = 3.0;

/// The environment of the cases.
pub(crate) struct Bench {
    /// The Python package, if there is one.
    pub(crate) peer: Option<Peer>,
    pub(crate) python: Option<PathBuf>,
    pub(crate) corpus: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) runs: u32,
}

/// The outcome of one case.
pub(crate) enum Row {
    Measured(Measured),
    /// Why nothing was measured.
    LeftOut(String),
}

/// Times by pairs.
pub(crate) struct Measured {
    /// The input.
    pub(crate) subject: String,
    /// The number of bytes for throughput, ours and the peer's: the text for text, otherwise the file. `None` to report times.
    pub(crate) bytes: Option<(usize, usize)>,
    pub(crate) ours: Vec<Sample>,
    /// As many as `ours`, or none.
    pub(crate) peers: Vec<Sample>,
    /// The reason why a peer is missing.
    pub(crate) alone: Option<String>,
    /// The time in seconds that we should not exceed, if there is one.
    pub(crate) bound: Option<f64>,
}

impl Row {
    /// The same, and what it was measured on.
    pub(crate) fn on(mut self, subject: String) -> Row {
        if let Row::Measured(measured) = &mut self {
            measured.subject = subject;
        }
        self
    }

    /// In a few words, while other cases are still to come.
    pub(crate) fn note(&self) -> String {
        match self {
            Row::Measured(measured) => match &measured.alone {
                Some(why) => format!("alone: {why}"),
                None => format!("{} pairs", measured.ours.len()),
            },
            Row::LeftOut(why) => format!("left out: {why}"),
        }
    }
}

impl Bench {
    /// Measures `ours`, which times itself, beside a job of the peer's on `files`. `bytes` is what our speed is counted
    /// in, if it is; the peer's is counted in the text that it makes, if it makes one.
    pub(crate) fn pairs(
        &mut self,
        job: &str,
        files: &[PathBuf],
        bytes: impl Into<Option<usize>>,
        mut ours: impl FnMut() -> Sample,
    ) -> Result<Row> {
        let mut alone = None;
        let mut peer = self.peer.as_mut();
        let bytes = bytes.into();
        let mut peer_bytes = bytes;
        match peer.as_mut().map(|peer| peer.prepare(job, files)) {
            Some(Ok(made)) => peer_bytes = made.bytes.or(bytes),
            Some(Err(error)) => {
                peer = None;
                alone = Some(format!("{error:#}"));
            }
            None => alone = Some("no Python environment".to_owned()),
        }
        let theirs = peer.map(|peer| || peer.run());
        let (ours, peers) = alternate(self.runs, || Ok(ours()), theirs)?;
        let bytes = bytes.zip(peer_bytes);
        Ok(Row::Measured(Measured { subject: String::new(), bytes, ours, peers, alone, bound: None }))
    }

    /// A generated file, with its path.
    pub(crate) fn file<T: AsRef<[u8]>>(&self, name: &str, content: T) -> Result<(PathBuf, T)> {
        let path = self.folder.join(name);
        if std::fs::read(&path).ok().as_deref() != Some(content.as_ref()) {
            std::fs::write(&path, &content).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok((path, content))
    }
}

/// Runs the two by turns, after one pair that does not count.
pub(crate) fn alternate(
    runs: u32,
    mut ours: impl FnMut() -> Result<Sample>,
    mut theirs: Option<impl FnMut() -> Result<Sample>>,
) -> Result<(Vec<Sample>, Vec<Sample>)> {
    let mut pair = || -> Result<_> { Ok((ours()?, theirs.as_mut().map(|theirs| theirs()).transpose()?)) };
    let start = Instant::now();
    pair()?;
    let runs = if start.elapsed().as_secs_f64() > SLOW { runs.min(3) } else { runs };
    let pairs: Vec<_> = (0..runs).map(|_| pair()).collect::<Result<_>>()?;
    let (ours, peers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    Ok((ours, peers.into_iter().flatten().collect()))
}
