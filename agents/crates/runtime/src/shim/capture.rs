//! Capture of an app's output: removes secrets from its pipes before they reach the log. Invariant: no secret is
//! written to disk, so none can leave the server.

use std::time::{Duration, Instant};

use fairlead_secret::{RedactingStream, Redactor};

use super::log::{LogWriter, Pipe};

/// Maximum wait for the rest of a line that ends with the possible beginning of a secret.
const WAIT: Duration = Duration::from_secs(1);

pub(super) struct Capture {
    log: LogWriter,
    /// One stream per pipe; `None` for an app without secrets, and then bytes pass unchanged.
    streams: Option<[RedactingStream; 2]>,
    redacted: Vec<u8>,
    waits_since: Option<Instant>,
}

impl Capture {
    pub(super) fn new(log: LogWriter, redactor: Option<&Redactor>) -> Self {
        let streams = redactor.map(|redactor| [redactor.stream(), redactor.stream()]);
        Self { log, streams, redacted: Vec::new(), waits_since: None }
    }

    pub(super) fn take(&mut self, pipe: Pipe, bytes: &[u8], unix_ms: u64) {
        let Some(streams) = &mut self.streams else { return self.log.take(pipe, bytes, unix_ms) };
        streams[pipe as usize].take(bytes, &mut self.redacted);
        self.log.take(pipe, &self.redacted, unix_ms);
        self.redacted.clear();
        let waits = streams.iter().any(RedactingStream::holds_line);
        self.waits_since = if waits { self.waits_since.or_else(|| Some(Instant::now())) } else { None };
    }

    /// Returns the time until `flush` has something to do.
    pub(super) fn due_in(&self) -> Option<Duration> {
        self.waits_since.map(|since| (since + WAIT).saturating_duration_since(Instant::now()))
    }

    /// Writes the lines that have waited long enough.
    pub(super) fn flush(&mut self, unix_ms: u64) {
        if self.due_in() == Some(Duration::ZERO) {
            self.waits_since = None;
            self.each(unix_ms, RedactingStream::flush_lines);
        }
    }

    /// Writes the rest after the end of all output.
    pub(super) fn finish(&mut self, unix_ms: u64) {
        self.each(unix_ms, RedactingStream::finish);
        self.log.finish(unix_ms);
    }

    fn each(&mut self, unix_ms: u64, release: impl Fn(&mut RedactingStream, &mut Vec<u8>)) {
        let Some(streams) = &mut self.streams else { return };
        for (pipe, stream) in [Pipe::Out, Pipe::Err].into_iter().zip(streams) {
            release(stream, &mut self.redacted);
            self.log.take(pipe, &self.redacted, unix_ms);
            self.redacted.clear();
        }
    }
}
