//! Log writer of an app's output, into segments of bounded size and number. A line of a segment is `<unix ms> <o|e>
//! <text>`. Never blocks the app for a full disk: drops lines, counts them and logs the gap.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Size at which a new segment begins.
pub const SEGMENT_BYTES_MAX: u64 = 1024 * 1024;
/// Maximum number of segments; the oldest is removed first.
pub const SEGMENTS_MAX: usize = 8;
/// Maximum rate of an app's output in bytes a second: more than anybody reads, less than would keep a disk busy.
pub const RATE_BYTES_MAX: u64 = 1024 * 1024;
/// Burst above `RATE_BYTES_MAX`.
pub const BURST_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Maximum length of a line; a longer one is split.
pub const LINE_BYTES_MAX: usize = 4096;

/// Output pipe of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    Out,
    Err,
}

/// Appends to the newest segment.
#[derive(Debug)]
pub struct LogWriter {
    folder: PathBuf,
    file: Option<File>,
    number: u64,
    size: u64,
    partial: [Vec<u8>; 2],
    batch: Vec<u8>,
    dropped: u64,
    /// Number of lines beyond the rate, and the bytes that may be written now.
    skipped: u64,
    room: u64,
    room_at: u64,
}

impl LogWriter {
    /// Begins a new segment after the existing ones.
    pub fn open(folder: &Path) -> io::Result<Self> {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let number = newest_number(folder)?;
        let partial = [Vec::new(), Vec::new()];
        let mut log = Self {
            folder: folder.into(),
            file: None,
            number,
            size: 0,
            partial,
            batch: Vec::new(),
            dropped: 0,
            skipped: 0,
            room: BURST_BYTES_MAX,
            room_at: 0,
        };
        log.rotate()?;
        Ok(log)
    }

    /// Takes bytes read from a pipe; complete lines are written before it returns.
    pub fn take(&mut self, pipe: Pipe, mut bytes: &[u8], unix_ms: u64) {
        while !bytes.is_empty() {
            let partial = &mut self.partial[pipe as usize];
            let room = LINE_BYTES_MAX - partial.len();
            let end = bytes.iter().take(room).position(|byte| *byte == b'\n');
            let length = end.unwrap_or(bytes.len().min(room));
            partial.extend_from_slice(&bytes[..length]);
            bytes = &bytes[length + usize::from(end.is_some())..];
            if end.is_some() || partial.len() == LINE_BYTES_MAX {
                self.end_line(pipe, unix_ms);
            }
        }
        self.write_batch(unix_ms);
    }

    /// Writes the last line of a pipe that ended without a line end.
    pub fn finish(&mut self, unix_ms: u64) {
        for pipe in [Pipe::Out, Pipe::Err] {
            if !self.partial[pipe as usize].is_empty() {
                self.end_line(pipe, unix_ms);
            }
        }
        self.write_batch(unix_ms);
    }

    fn end_line(&mut self, pipe: Pipe, unix_ms: u64) {
        let mark = if pipe == Pipe::Out { 'o' } else { 'e' };
        let partial = &mut self.partial[pipe as usize];
        if partial.last() == Some(&b'\r') {
            partial.pop();
        }
        // A write to a Vec can't fail.
        if write!(self.batch, "{unix_ms} {mark} ").is_ok() {
            self.batch.append(partial);
            self.batch.push(b'\n');
        }
        partial.clear();
    }

    /// True if the app is within its rate with its latest output.
    fn within_rate(&mut self, unix_ms: u64) -> bool {
        let gained = unix_ms.saturating_sub(self.room_at).saturating_mul(RATE_BYTES_MAX) / 1000;
        self.room = self.room.saturating_add(gained).min(BURST_BYTES_MAX);
        self.room_at = self.room_at.max(unix_ms);
        let size = self.batch.len() as u64;
        let within = size <= self.room;
        if within {
            self.room -= size;
        }
        within
    }

    fn write_batch(&mut self, unix_ms: u64) {
        if self.batch.is_empty() {
            return;
        }
        let lines = self.batch.iter().filter(|byte| **byte == b'\n').count();
        if !self.within_rate(unix_ms) {
            self.skipped += lines as u64;
            self.batch.clear();
            return;
        }
        if self.size >= SEGMENT_BYTES_MAX && self.rotate().is_err() {
            self.dropped += lines as u64;
            self.batch.clear();
            return;
        }
        if self.dropped > 0 {
            let gap = format!("{unix_ms} e {} lines are missing here: the disk was full\n", self.dropped);
            self.batch.splice(0..0, gap.into_bytes());
        }
        if self.skipped > 0 {
            let gap = format!(
                "{unix_ms} e {} lines are missing here: the app wrote more than 1 MiB a second\n",
                self.skipped
            );
            self.batch.splice(0..0, gap.into_bytes());
        }
        let written = self.file.as_mut().map(|file| file.write_all(&self.batch));
        match written {
            Some(Ok(())) => {
                self.size += self.batch.len() as u64;
                (self.dropped, self.skipped) = (0, 0);
            }
            _ => self.dropped += lines as u64,
        }
        self.batch.clear();
        // A burst must not hold its memory for the life of the app.
        self.batch.shrink_to(LINE_BYTES_MAX * 8);
    }

    fn rotate(&mut self) -> io::Result<()> {
        let path = self.folder.join(format!("{:010}.log", self.number + 1));
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        (self.file, self.size, self.number) = (Some(file), 0, self.number + 1);
        let segments = segments(&self.folder)?;
        for (_, path) in segments.iter().take(segments.len().saturating_sub(SEGMENTS_MAX)) {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

/// Returns the highest segment number, packed ones included.
fn newest_number(folder: &Path) -> io::Result<u64> {
    let mut newest = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.split(['-', '.']).next());
        newest = newest.max(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0));
    }
    Ok(newest)
}

/// Lists the segments of a folder, oldest first.
pub fn segments(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".log"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(folder: &Path) -> String {
        segments(folder).unwrap().iter().map(|(_, path)| fs::read_to_string(path).unwrap()).collect()
    }

    #[test]
    fn lines_that_arrive_in_pieces_are_whole_and_marked_by_their_pipe() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = LogWriter::open(&dir.path().join("log")).unwrap();
        log.take(Pipe::Out, b"one\r\ntw", 1);
        log.take(Pipe::Err, b"oh\n", 2);
        log.take(Pipe::Out, b"o\nlast", 3);
        log.finish(4);
        assert_eq!(text(&dir.path().join("log")), "1 o one\n2 e oh\n3 o two\n4 o last\n");
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_never_grows_the_memory() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = LogWriter::open(dir.path()).unwrap();
        log.take(Pipe::Out, &vec![b'x'; LINE_BYTES_MAX * 3 + 5], 1);
        log.finish(1);
        let lengths: Vec<usize> = text(dir.path()).lines().map(|line| line.len() - 4).collect();
        assert_eq!(lengths, [LINE_BYTES_MAX, LINE_BYTES_MAX, LINE_BYTES_MAX, 5]);
    }

    #[test]
    fn an_app_that_never_stops_talking_keeps_only_its_newest_segments() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = LogWriter::open(dir.path()).unwrap();
        let chunk: Vec<u8> = std::iter::repeat_n(*b"0123456789abcde\n", 4096).flatten().collect();
        // At the maximum rate.
        for at in 0..200 {
            log.take(Pipe::Out, &chunk, at * 63);
        }
        let kept = segments(dir.path()).unwrap();
        assert_eq!(kept.len(), SEGMENTS_MAX);
        let bytes: u64 = kept.iter().map(|(_, path)| fs::metadata(path).unwrap().len()).sum();
        assert!(bytes < SEGMENT_BYTES_MAX * (SEGMENTS_MAX as u64 + 1), "{bytes}");
        drop(log);
        LogWriter::open(dir.path()).unwrap().take(Pipe::Out, b"after a restart\n", 2);
        assert!(text(dir.path()).ends_with("2 o after a restart\n"));
    }

    #[test]
    fn what_an_app_writes_beyond_its_rate_is_left_out_and_the_gap_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = LogWriter::open(dir.path()).unwrap();
        let chunk = b"0123456789abcde\n".repeat(4096);
        let bytes =
            || -> u64 { segments(dir.path()).unwrap().iter().map(|(_, path)| fs::metadata(path).unwrap().len()).sum() };
        // 64 MiB within one second.
        for _ in 0..1000 {
            log.take(Pipe::Out, &chunk, 1000);
        }
        assert!(bytes() <= BURST_BYTES_MAX + SEGMENT_BYTES_MAX, "{}", bytes());
        log.take(Pipe::Out, b"calm again\n", 3000);
        let text = text(dir.path());
        let (gap, last) = (text.lines().rev().nth(1).unwrap(), text.lines().last().unwrap());
        assert!(gap.starts_with("3000 e ") && gap.contains("lines are missing here: the app wrote more"), "{gap}");
        assert_eq!(last, "3000 o calm again");
    }
}
