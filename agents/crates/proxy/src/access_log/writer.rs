//! The thread that makes lines and writes them: one file, closed and renamed when it is full, the oldest removed.
//! A disk that fails costs lines and a word in the agent's log, never a request.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::{LogFile, Record, line};

/// Batches that may wait for the disk.
const WAITING_MAX: usize = 64;

/// How long a proxy that ends waits for its last lines.
const SYNC_TIMEOUT: Duration = Duration::from_secs(2);

/// What the thread is told.
#[derive(Debug)]
pub(crate) enum Message {
    /// Write there from now on.
    Set(LogFile),
    /// Encoded records.
    Records(Vec<u8>),
    /// Say when all that came before is written.
    Sync(SyncSender<()>),
}

/// The writer; its thread ends with the last sender.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Option<LogFile>,
    open: Option<Open>,
    /// The last write failed, which was said.
    failing: bool,
    lines: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    file: File,
    inode: u64,
    bytes: u64,
}

impl LogWriter {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<SyncSender<Message>> {
        let (sender, received) = sync_channel(WAITING_MAX);
        let writer = Self { file: None, open: None, failing: false, lines: Vec::new() };
        std::thread::Builder::new().name("access-log".to_owned()).spawn(move || writer.run(&received))?;
        Ok(sender)
    }

    /// Waits until everything sent before is written, but not for ever.
    pub(crate) fn sync(writer: &SyncSender<Message>) {
        let (done, is_done) = sync_channel(1);
        if writer.send(Message::Sync(done)).is_err() || is_done.recv_timeout(SYNC_TIMEOUT).is_err() {
            tracing::warn!("the last lines of the access log may be lost");
        }
    }

    fn run(mut self, received: &Receiver<Message>) {
        for message in received {
            match message {
                Message::Set(file) => {
                    if self.file.as_ref() != Some(&file) {
                        self.open = None;
                        self.file = Some(file);
                    }
                }
                // Whoever asked may have stopped waiting.
                Message::Sync(done) => drop(done.try_send(())),
                Message::Records(records) => {
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
        let Some(LogFile { path, settings }) = self.file.clone().filter(|file| !file.path.is_empty()) else {
            return Ok(());
        };
        let path = Path::new(&*path);
        self.lines.clear();
        while let Some(record) = Record::decode(&mut records) {
            line::append(&record, settings.format, &mut self.lines);
        }
        // Somebody may have moved or removed the file: then a new one is begun.
        let there = std::fs::metadata(path).ok().map(|metadata| metadata.ino());
        if self.open.as_ref().is_some_and(|open| there != Some(open.inode)) {
            self.open = None;
        }
        if self.open.as_ref().is_some_and(|open| open.bytes >= settings.file_bytes_max) {
            self.open = None;
            rotate(path, settings.files_max)?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(Open::at(path)?),
        };
        open.file.write_all(&self.lines)?;
        open.bytes += self.lines.len() as u64;
        Ok(())
    }
}

impl Open {
    fn at(path: &Path) -> io::Result<Self> {
        // Addresses and what people asked for: not for everybody on the machine.
        let file = OpenOptions::new().create(true).append(true).mode(0o640).open(path)?;
        let metadata = file.metadata()?;
        Ok(Self { file, inode: metadata.ino(), bytes: metadata.len() })
    }
}

/// `access.log` becomes `access.log.1`, that one `.2`, and so on; beyond `files_max` they are removed.
fn rotate(path: &Path, files_max: u32) -> io::Result<()> {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    ignore_missing(std::fs::remove_file(numbered(files_max)))?;
    for number in (1..files_max).rev() {
        ignore_missing(std::fs::rename(numbered(number), numbered(number + 1)))?;
    }
    ignore_missing(std::fs::rename(path, numbered(1)))
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use fairlead_model::AccessLog;

    use super::super::record::tests::record;
    use super::*;

    fn writer(path: &Path, file_bytes_max: u64) -> LogWriter {
        let settings = AccessLog { file_bytes_max, files_max: 2, ..AccessLog::default() };
        let file = LogFile { path: path.to_string_lossy().as_ref().into(), settings };
        LogWriter { file: Some(file), open: None, failing: false, lines: Vec::new() }
    }

    fn one() -> Vec<u8> {
        let mut records = Vec::new();
        record().encode(&mut records);
        records
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn full_files_are_kept_under_numbers_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mut writer = writer(&path, 1);
        for _ in 0..5 {
            writer.write(&one()).unwrap();
        }
        assert_eq!(names(folder.path()), ["access.log", "access.log.1", "access.log.2"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_file_that_was_moved_away_is_begun_anew_and_one_that_is_there_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mut first = writer(&path, 1 << 20);
        first.write(&one()).unwrap();
        first.write(&one()).unwrap();
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        first.write(&one()).unwrap();
        writer(&path, 1 << 20).write(&one()).unwrap();
        let lines = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
        assert_eq!((lines("moved"), lines("access.log")), (2, 2));
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_and_not_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("later").join("access.log");
        let mut writer = writer(&path, 1 << 20);
        assert!(writer.write(&one()).is_err());
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        writer.write(&one()).unwrap();
    }
}
