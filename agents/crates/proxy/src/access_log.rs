//! Access log: a core copies a few bytes of each sampled request, and a writer thread formats and writes the lines.
//! Records that the writer cannot keep up with are dropped and counted.

mod line;
mod record;
mod writer;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use fairlead_model::AccessLog as Settings;

pub(crate) use record::AccessLogRecord;
pub(crate) use writer::{AccessLogWriter, LogMessage};

/// Size at which a core hands its batch of records to the writer; every tick hands it over too.
const BATCH_BYTES: usize = 32 * 1024;

/// Access log of one core: samples requests and batches their records.
#[derive(Debug)]
pub(crate) struct AccessLogger {
    writer: SyncSender<LogMessage>,
    /// Number of requests out of 2^16 that did not fail and are logged; `None` disables the log.
    sample: Cell<Option<u32>>,
    batch: RefCell<Vec<u8>>,
    dropped: Cell<u64>,
}

impl AccessLogger {
    pub(crate) fn new(writer: SyncSender<LogMessage>) -> Self {
        Self { writer, sample: Cell::new(None), batch: RefCell::default(), dropped: Cell::new(0) }
    }

    /// Applies the settings of a snapshot. An empty `path` disables the log.
    pub(crate) fn set(&self, settings: &Settings, path: &str) {
        let on = settings.enabled && !path.is_empty();
        self.sample.set(on.then(|| (settings.sample_permille * (1 << 16)).div_ceil(1000)));
    }

    /// True if a response is logged: every failure (5xx), and a sample of the others. `random` is any random number.
    pub(crate) fn wants(&self, status: u16, random: u64) -> bool {
        match self.sample.get() {
            None => false,
            Some(sample) => status >= 500 || u32::from((random & 0xffff) as u16) < sample,
        }
    }

    /// Adds one record to the batch.
    pub(crate) fn write(&self, record: &AccessLogRecord<'_>) {
        let mut batch = self.batch.borrow_mut();
        record.encode(&mut batch);
        if batch.len() >= BATCH_BYTES {
            drop(batch);
            self.flush();
        }
    }

    /// Hands the batch to the writer. Never waits.
    pub(crate) fn flush(&self) {
        let mut batch = self.batch.borrow_mut();
        if batch.is_empty() {
            return;
        }
        let records = std::mem::take(&mut *batch);
        match self.writer.try_send(LogMessage::Records(records)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.dropped.set(self.dropped.get() + 1),
        }
    }

    /// Returns the number of batches dropped since the last call.
    pub(crate) fn take_dropped(&self) -> u64 {
        self.dropped.take()
    }
}

/// Settings of the writer, which gets the file itself as a descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogTarget {
    /// Empty: nothing is written.
    pub(crate) path: Arc<str>,
    pub(crate) settings: Settings,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_always_logged_and_others_are_sampled() {
        let (writer, _receiver) = std::sync::mpsc::sync_channel(1);
        let log = AccessLogger::new(writer);
        let with = |sample_permille| Settings { sample_permille, ..Settings::default() };
        log.set(&with(1000), "");
        assert!(!log.wants(502, 0), "there is no file");
        let share = |permille| {
            log.set(&with(permille), "access.log");
            (0..1u64 << 16).filter(|random| log.wants(200, *random)).count()
        };
        assert_eq!((share(0), share(1000), share(500)), (0, 1 << 16, 1 << 15));
        assert!((650..=660).contains(&share(10)));
        log.set(&with(0), "access.log");
        assert!(log.wants(500, u64::MAX) && !log.wants(499, 0));
        log.set(&Settings { enabled: false, ..with(1000) }, "access.log");
        assert!(!log.wants(500, 0));
    }

    #[test]
    fn a_slow_writer_costs_lines_and_never_time() {
        let (writer, received) = std::sync::mpsc::sync_channel(1);
        let log = AccessLogger::new(writer);
        for _ in 0..3 {
            log.write(&record::tests::record());
            log.flush();
        }
        assert_eq!(log.take_dropped(), 2);
        assert!(matches!(received.try_recv(), Ok(LogMessage::Records(records)) if !records.is_empty()));
    }
}
