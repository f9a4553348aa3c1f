//! Log search over segments, newest first, with bounded memory, and a follower for new lines. Blocking: never call it
//! on a thread that others wait for. Stops soon after it is cancelled.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use fairlead_base::Folders;

use super::filter::LogFilter;
use super::line::AppLogLine;
use super::{LogSegment, Writer, app_folder, list, segments_of, writers};

/// Maximum bytes of the lines in one answer.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum bytes that a follower reads of a segment at a time.
const FOLLOW_BYTES_MAX: u64 = 256 * 1024;
/// Number of lines between two checks for cancellation.
const LINES_BETWEEN: u64 = 1024;

/// End of each open segment at one moment; the follower reads on from there.
type SegmentEnds = BTreeMap<PathBuf, u64>;

fn matching_writers(folders: &Folders, filter: &LogFilter) -> io::Result<Vec<Writer>> {
    let mut found = Vec::new();
    for process in list(&app_folder(folders, &filter.key))? {
        let name = process.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if filter.process.is_empty() || filter.process == name {
            found.extend(writers(&process)?);
        }
    }
    found.retain(|writer| filter.instance.is_empty() || filter.instance == writer.instance);
    Ok(found)
}

fn ends_of(writers: &[Writer]) -> SegmentEnds {
    let open = writers.iter().flat_map(|writer| &writer.segments).filter(|segment| !segment.packed);
    open.map(|segment| (segment.path.clone(), segment.bytes)).collect()
}

/// Position of a line among all: ordered by time, then by the order of writing.
type LogPosition = (u64, usize, u64, u64);

struct PositionedLine(LogPosition, AppLogLine);

impl PartialEq for PositionedLine {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for PositionedLine {}
impl PartialOrd for PositionedLine {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for PositionedLine {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// Returns the newest matching lines, oldest first; true if there are older ones.
fn search(writers: &[Writer], filter: &LogFilter, cancelled: &AtomicBool) -> io::Result<(Vec<AppLogLine>, bool)> {
    let mut order: Vec<(usize, &LogSegment)> = writers
        .iter()
        .enumerate()
        .flat_map(|(index, writer)| writer.segments.iter().map(move |one| (index, one)))
        .collect();
    order.sort_by_key(|(_, segment)| Reverse((segment.last_unix_ms, segment.number)));
    let (mut kept, mut bytes, mut more) = (BinaryHeap::<Reverse<PositionedLine>>::new(), 0, false);
    for (index, segment) in order {
        if segment.last_unix_ms < filter.from_unix_ms || segment.first_unix_ms > filter.to_unix_ms {
            continue;
        }
        let full = kept.len() >= filter.limit || bytes >= ANSWER_BYTES_MAX;
        if full && kept.peek().is_some_and(|Reverse(oldest)| segment.last_unix_ms < oldest.0.0) {
            more = true;
            continue;
        }
        let mut number = 0;
        each_line(segment, |line| {
            number += 1;
            if number % LINES_BETWEEN == 0 && cancelled.load(Ordering::Relaxed) {
                return false;
            }
            let Some(line) = filter.take(line, &writers[index]) else { return true };
            bytes += line.text.len();
            kept.push(Reverse(PositionedLine((line.unix_ms, index, segment.number, number), line)));
            while kept.len() > filter.limit || bytes > ANSWER_BYTES_MAX {
                let Some(Reverse(PositionedLine(_, oldest))) = kept.pop() else { break };
                bytes -= oldest.text.len();
                more = true;
            }
            true
        })?;
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
    }
    let mut found: Vec<PositionedLine> = kept.into_iter().map(|Reverse(found)| found).collect();
    found.sort();
    Ok((found.into_iter().map(|PositionedLine(_, line)| line).collect(), more))
}

/// Calls `take` with each line until it returns false. Skips a segment that was removed meanwhile.
fn each_line(segment: &LogSegment, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut reader: Box<dyn BufRead> = match open(segment)? {
        Some((file, true)) => Box::new(BufReader::new(zstd::Decoder::new(file)?)),
        Some((file, false)) => Box::new(BufReader::new(file.take(segment.bytes))),
        None => return Ok(()),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if !take(&line) {
            return Ok(());
        }
    }
}

/// Opens a segment, and reports whether it is packed: it may have been packed since it was listed.
fn open(segment: &LogSegment) -> io::Result<Option<(File, bool)>> {
    match File::open(&segment.path) {
        Ok(file) => return Ok(Some((file, segment.packed))),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    let Some(folder) = segment.path.parent().filter(|_| !segment.packed) else { return Ok(None) };
    let packed = segments_of(folder)?.into_iter().find(|one| one.number == segment.number && one.packed);
    packed.map(|one| Ok((File::open(one.path)?, true))).transpose()
}

/// Follower that reads the lines written after a search.
#[derive(Debug)]
pub struct LogFollower {
    filter: LogFilter,
    ends: SegmentEnds,
}

impl LogFollower {
    /// Searches and remembers the end of the search. Returns the newest matching lines, oldest first; true if there are
    /// older ones.
    pub fn begin(
        folders: &Folders,
        filter: LogFilter,
        cancelled: &AtomicBool,
    ) -> io::Result<(Self, Vec<AppLogLine>, bool)> {
        let writers = matching_writers(folders, &filter)?;
        let (lines, more) = search(&writers, &filter, cancelled)?;
        Ok((Self { filter, ends: ends_of(&writers) }, lines, more))
    }

    /// Returns lines written since the last call. The size is bounded, so more may be available at once.
    pub fn poll(&mut self, folders: &Folders) -> io::Result<Vec<AppLogLine>> {
        let writers = matching_writers(folders, &self.filter)?;
        let (mut ends, mut found) = (SegmentEnds::new(), Vec::new());
        for writer in &writers {
            for segment in writer.segments.iter().filter(|segment| !segment.packed) {
                let from = self.ends.get(&segment.path).copied().unwrap_or(0);
                let until = self.read_on(writer, segment, from, &mut found)?;
                ends.insert(segment.path.clone(), until);
            }
        }
        self.ends = ends;
        found.sort_by_key(|line: &AppLogLine| line.unix_ms);
        Ok(found)
    }

    /// Reads complete lines only: the rest of a line that is being written comes with the next call.
    fn read_on(&self, of: &Writer, segment: &LogSegment, from: u64, found: &mut Vec<AppLogLine>) -> io::Result<u64> {
        if segment.bytes <= from {
            return Ok(from);
        }
        let mut file = match File::open(&segment.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(from),
            file => file?,
        };
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(FOLLOW_BYTES_MAX).read_to_end(&mut bytes)?;
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Ok(from) };
        found.extend(bytes[..end].split(|byte| *byte == b'\n').filter_map(|line| self.filter.take(line, of)));
        Ok(from + end as u64 + 1)
    }
}
