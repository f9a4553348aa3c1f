//! Spool: stores pushes on disk until the control plane has acknowledged them. Invariant: a kill of the process loses nothing; a
//! power cut may lose the last seconds, never a whole segment.

// Format: a segment is named by the sequence of its first record. A record is a length, a checksum and an encoded `Push`; its
// position gives its sequence. Sequences only grow, also across restarts: the newest segment stays even when it is empty.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest;
use fairlead_wire::agent::{Push, push};
use prost::Message;

/// Bytes of a record's header: length and checksum, four bytes each.
const HEAD_BYTES: usize = 8;
/// Maximum length of a record; one push must fit the gateway's frame limit with room to spare.
const RECORD_BYTES_MAX: usize = 960 * 1024;

/// Size limits of the spool.
#[derive(Debug, Clone, Copy)]
pub struct SpoolLimits {
    /// Size after which a segment is closed.
    pub segment_bytes: u64,
    /// Size beyond which the oldest segments are removed.
    pub total_bytes: u64,
}

impl Default for SpoolLimits {
    fn default() -> Self {
        Self { segment_bytes: 4 * 1024 * 1024, total_bytes: 256 * 1024 * 1024 }
    }
}

#[derive(Debug)]
struct SpoolSegment {
    first: u64,
    /// Sequence after its last record.
    end: u64,
    bytes: u64,
}

/// Spool of one agent; it has one owner at a time.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    limits: SpoolLimits,
    segments: VecDeque<SpoolSegment>,
    writer: File,
    reader: Option<(u64, File)>,
    /// Sequence of the next record to read.
    cursor: u64,
    acked: u64,
    dropped: u64,
}

impl Spool {
    /// Opens the folder and truncates a torn record. All remaining records will be read again.
    pub fn open(folder: &Path, limits: SpoolLimits) -> io::Result<Self> {
        let mut firsts = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let first =
                name.to_str().and_then(|name| name.strip_suffix(".seg")).and_then(|name| name.parse::<u64>().ok());
            firsts.extend(first);
        }
        firsts.sort_unstable();
        let mut segments: VecDeque<SpoolSegment> = VecDeque::with_capacity(firsts.len());
        for first in firsts {
            segments.push_back(recover(folder, first)?);
        }
        let newest = match segments.back() {
            Some(segment) => segment.first,
            None => {
                segments.push_back(SpoolSegment { first: 1, end: 1, bytes: 0 });
                1
            }
        };
        let writer = OpenOptions::new().create(true).append(true).open(path(folder, newest))?;
        let cursor = segments.front().map_or(1, |segment| segment.first);
        Ok(Self {
            folder: folder.into(),
            limits,
            segments,
            writer,
            reader: None,
            cursor,
            acked: cursor - 1,
            dropped: 0,
        })
    }

    /// Appends one push and returns its sequence.
    pub fn append(&mut self, body: push::Body) -> io::Result<u64> {
        let sequence = self.end();
        let record = Push { sequence, body: Some(body) }.encode_to_vec();
        if record.len() > RECORD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a push longer than a frame of the link"));
        }
        if self.segments.back().is_some_and(|segment| segment.bytes >= self.limits.segment_bytes) {
            self.start_segment(sequence)?;
        }
        let mut bytes = Vec::with_capacity(record.len() + HEAD_BYTES);
        bytes.extend_from_slice(&u32::try_from(record.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend_from_slice(&checksum(&record));
        bytes.extend_from_slice(&record);
        let segment = self.segments.back_mut().ok_or_else(|| io::Error::other("the spool has no segment"))?;
        if let Err(error) = self.writer.write_all(&bytes) {
            // Truncates a partial record, which would hide later ones (the disk may be full).
            self.writer.set_len(segment.bytes)?;
            return Err(error);
        }
        segment.bytes += bytes.len() as u64;
        segment.end += 1;
        self.enforce_limit()?;
        Ok(sequence)
    }

    /// Returns the next push since `rewind`, oldest first.
    pub fn read(&mut self) -> io::Result<Option<Push>> {
        while let Some(segment) = self.segments.iter().find(|segment| segment.end > self.cursor) {
            let (first, end) = (segment.first, segment.end);
            let wanted = first.max(self.cursor);
            let (at, mut file) = match self.reader.take() {
                Some((reading, file)) if reading == first => (wanted, file),
                _ => (first, File::open(path(&self.folder, first))?),
            };
            let mut record = None;
            for _ in at..=wanted {
                record = read_record(&mut file)?;
            }
            if let Some(push) = record.and_then(|bytes| Push::decode(bytes.as_slice()).ok()) {
                self.cursor = wanted + 1;
                self.reader = Some((first, file));
                return Ok(Some(push));
            }
            tracing::error!(segment = first, from = wanted, "a spool segment is damaged; its rest is given up");
            self.dropped += end - wanted;
            self.cursor = end;
        }
        Ok(None)
    }

    /// Marks all pushes up to and including `sequence` as stored by the control plane, and removes their segments.
    pub fn acknowledge(&mut self, sequence: u64) -> io::Result<()> {
        self.acked = self.acked.max(sequence.min(self.end() - 1));
        while self.segments.len() > 1 && self.segments.front().is_some_and(|segment| segment.end <= self.acked + 1) {
            self.remove_oldest()?;
        }
        Ok(())
    }

    /// Restarts reading after `acked`, the control plane's last sequence. If it is higher than this spool ever wrote (the folder
    /// was lost), sequences continue after it: otherwise the control plane would take new pushes for old ones.
    pub fn rewind(&mut self, acked: u64) -> io::Result<()> {
        if acked >= self.end() {
            self.start_segment(acked + 1)?;
        }
        self.acknowledge(acked)?;
        self.reader = None;
        self.cursor = self.acked + 1;
        Ok(())
    }

    /// Returns the number of pushes dropped since opening because the spool was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn end(&self) -> u64 {
        self.segments.back().map_or(1, |segment| segment.end)
    }

    fn start_segment(&mut self, first: u64) -> io::Result<()> {
        self.writer = OpenOptions::new().create(true).append(true).open(path(&self.folder, first))?;
        self.segments.push_back(SpoolSegment { first, end: first, bytes: 0 });
        Ok(())
    }

    fn enforce_limit(&mut self) -> io::Result<()> {
        while self.segments.len() > 1 && self.segments.iter().map(|s| s.bytes).sum::<u64>() > self.limits.total_bytes {
            let unacked = self.segments.front().map_or(0, |oldest| oldest.end.saturating_sub(self.acked + 1));
            self.dropped += unacked;
            tracing::warn!(unacked, dropped = self.dropped, "the spool is full; its oldest samples and logs are gone");
            self.remove_oldest()?;
        }
        Ok(())
    }

    fn remove_oldest(&mut self) -> io::Result<()> {
        let Some(oldest) = self.segments.pop_front() else { return Ok(()) };
        self.cursor = self.cursor.max(oldest.end);
        self.acked = self.acked.max(oldest.end - 1);
        if self.reader.as_ref().is_some_and(|(first, _)| *first == oldest.first) {
            self.reader = None;
        }
        fs::remove_file(path(&self.folder, oldest.first))
    }
}

fn path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:020}.seg"))
}

fn checksum(record: &[u8]) -> [u8; 4] {
    let whole = digest::digest(&digest::SHA256, record);
    let mut head = [0u8; 4];
    head.copy_from_slice(&whole.as_ref()[..4]);
    head
}

/// Reads the next record; `None` at the end or at a torn record.
fn read_record(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0u8; HEAD_BYTES];
    if !filled(file, &mut head)? {
        return Ok(None);
    }
    let [a, b, c, d, sum @ ..] = head;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length > RECORD_BYTES_MAX {
        return Ok(None);
    }
    let mut record = vec![0u8; length];
    if !filled(file, &mut record)? || checksum(&record) != sum {
        return Ok(None);
    }
    Ok(Some(record))
}

fn filled(file: &mut File, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn recover(folder: &Path, first: u64) -> io::Result<SpoolSegment> {
    let mut file = OpenOptions::new().read(true).write(true).open(path(folder, first))?;
    let mut segment = SpoolSegment { first, end: first, bytes: 0 };
    while let Some(record) = read_record(&mut file)? {
        segment.end += 1;
        segment.bytes += (HEAD_BYTES + record.len()) as u64;
    }
    let length = file.seek(SeekFrom::End(0))?;
    if length != segment.bytes {
        tracing::warn!(segment = first, torn_bytes = length - segment.bytes, "cut the torn end of a spool segment");
        file.set_len(segment.bytes)?;
    }
    Ok(segment)
}

#[cfg(test)]
#[path = "spool_tests.rs"]
mod tests;
