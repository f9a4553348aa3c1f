//! Access log writer: a thread that formats lines and appends them to the file that `run` passes and rotates. A failing disk
//! costs lines and a message in the agent's log, never a request.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::{AccessLogRecord, LogTarget, line};

/// Maximum number of batches that wait for the disk.
const WAITING_MAX: usize = 64;

/// Maximum time that a stopping proxy waits for its last lines.
const SYNC_TIMEOUT: Duration = Duration::from_secs(2);

/// A file may grow to this multiple of its bound while no `run` rotates it; further lines are lost.
const FULL_FACTOR: u64 = 2;

/// Message to the writer thread.
#[derive(Debug)]
pub(crate) enum LogMessage {
    /// Sets the format from now on.
    Set(LogTarget),
    /// Sets the file from now on.
    File(File),
    Records(Vec<u8>),
    /// Answers once all earlier messages are written.
    Sync(SyncSender<()>),
}

/// State of the writer thread, which ends when the last sender is dropped.
#[derive(Debug)]
pub(crate) struct AccessLogWriter {
    settings: Option<LogTarget>,
    open: Option<OpenLog>,
    /// True if the last write failed and the failure was logged.
    failing: bool,
    lines: Vec<u8>,
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    bytes: u64,
}

impl AccessLogWriter {
    pub(crate) fn start() -> io::Result<SyncSender<LogMessage>> {
        let (sender, received) = sync_channel(WAITING_MAX);
        let writer = Self { settings: None, open: None, failing: false, lines: Vec::new() };
        std::thread::Builder::new().name("access-log".to_owned()).spawn(move || writer.run(&received))?;
        Ok(sender)
    }

    /// Waits until all earlier messages are written, for at most `SYNC_TIMEOUT`.
    pub(crate) fn sync(writer: &SyncSender<LogMessage>) {
        let (done, is_done) = sync_channel(1);
        if writer.send(LogMessage::Sync(done)).is_err() || is_done.recv_timeout(SYNC_TIMEOUT).is_err() {
            tracing::warn!("the last lines of the access log may be lost");
        }
    }

    fn run(mut self, received: &Receiver<LogMessage>) {
        for message in received {
            match message {
                LogMessage::Set(settings) => self.settings = Some(settings),
                LogMessage::File(file) => self.open = OpenLog::new(file),
                // The receiver may have timed out.
                LogMessage::Sync(done) => drop(done.try_send(())),
                LogMessage::Records(records) => {
                    let written = self.write(&records);
                    match written {
                        Ok(()) if self.failing => tracing::info!("the access log is written again"),
                        Err(ref error) if !self.failing => tracing::error!(%error, "the access log can't be written"),
                        _ => {}
                    }
                    self.failing = written.is_err();
                }
            }
        }
    }

    fn write(&mut self, mut records: &[u8]) -> io::Result<()> {
        let Some(LogTarget { settings, .. }) = self.settings.as_ref().filter(|file| !file.path.is_empty()) else {
            return Ok(());
        };
        self.lines.clear();
        while let Some(record) = AccessLogRecord::decode(&mut records) {
            line::append(&record, settings.format, &mut self.lines);
        }
        let no_file = || io::Error::other("the process that started this proxy has passed no file");
        let open = self.open.as_mut().ok_or_else(no_file)?;
        if open.bytes >= settings.file_bytes_max.saturating_mul(FULL_FACTOR) {
            return Err(io::Error::other("the file is full, and no process rotates it"));
        }
        open.file.write_all(&self.lines)?;
        open.bytes += self.lines.len() as u64;
        Ok(())
    }
}

impl OpenLog {
    fn new(mut file: File) -> Option<Self> {
        match file.seek(SeekFrom::End(0)) {
            Ok(bytes) => Some(Self { file, bytes }),
            Err(error) => {
                tracing::error!(%error, "the access log's file can't be used");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlead_model::AccessLog;

    use super::super::record::tests::record;
    use super::*;

    fn one() -> Vec<u8> {
        let mut records = Vec::new();
        record().encode(&mut records);
        records
    }

    #[test]
    fn lines_go_to_the_passed_file_until_it_is_full() {
        let (file, next) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
        let settings = AccessLog { file_bytes_max: 1, ..AccessLog::default() };
        let settings = LogTarget { path: "access.log".into(), settings };
        let mut writer = AccessLogWriter { settings: None, open: None, failing: false, lines: Vec::new() };
        writer.write(&one()).unwrap();
        writer.settings = Some(settings);
        assert!(writer.write(&one()).unwrap_err().to_string().contains("passed no file"));
        writer.open = OpenLog::new(file.reopen().unwrap());
        writer.write(&one()).unwrap();
        assert!(writer.write(&one()).unwrap_err().to_string().contains("full"));
        writer.open = OpenLog::new(next.reopen().unwrap());
        writer.write(&one()).unwrap();
        let lines = |file: &tempfile::NamedTempFile| std::fs::read_to_string(file.path()).unwrap().lines().count();
        assert_eq!((lines(&file), lines(&next)), (1, 1));
    }
}
