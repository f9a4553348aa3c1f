//! Reader of the last lines that an app wrote. The shim writes the segments.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use fairlead_model::LogStream;

use crate::shim::log::segments;

/// Number of bytes read from the end of a segment.
const TAIL_BYTES: u64 = 64 * 1024;

/// Line that an app wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputLine {
    /// Time at which it was read from the pipe.
    pub(crate) unix_ms: u64,
    /// Pipe that it was written to.
    pub(crate) stream: LogStream,
    /// Text of the line, made valid UTF-8.
    pub(crate) text: String,
}

/// Returns the last `count` lines written at or after `since_unix_ms`, oldest first.
pub(crate) fn tail(folder: &Path, count: usize, since_unix_ms: u64) -> io::Result<Vec<OutputLine>> {
    let segments = match segments(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        segments => segments?,
    };
    let mut lines = Vec::new();
    for (_, path) in segments.iter().rev() {
        let mut older = parse(&last_bytes(path)?);
        older.retain(|line| line.unix_ms >= since_unix_ms);
        older.append(&mut lines);
        lines = older;
        if lines.len() >= count {
            break;
        }
    }
    Ok(lines.split_off(lines.len().saturating_sub(count)))
}

/// True if a line is what programs write when they may not listen on a port (EACCES of bind(2)).
pub(crate) fn names_refused_port(line: &str) -> bool {
    let line = line.to_lowercase();
    let is_refused = ["eacces", "permission denied"].iter().any(|word| line.contains(word));
    let is_port = ["listen", "bind"].iter().any(|word| line.contains(word));
    // Python reports neither the call nor the port, but it names a refused file.
    is_refused && is_port || line.ends_with("permissionerror: [errno 13] permission denied")
}

fn last_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    if from > 0 {
        let first_end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        bytes.drain(..first_end);
    }
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Vec<OutputLine> {
    let line = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        let mut fields = text.splitn(3, ' ');
        let unix_ms = fields.next()?.parse().ok()?;
        let stream = match fields.next()? {
            "o" => LogStream::Stdout,
            "e" => LogStream::Stderr,
            _ => return None,
        };
        Some(OutputLine { unix_ms, stream, text: fields.next().unwrap_or_default().to_owned() })
    };
    bytes.split(|byte| *byte == b'\n').filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_about_a_refused_port_are_known_in_each_language() {
        for line in [
            "Error: listen EACCES: permission denied 0.0.0.0:8080",
            "listen tcp :8080: bind: permission denied",
            "PermissionError: [Errno 13] Permission denied",
            "[Errno 13] error while attempting to bind on address ('0.0.0.0', 8080): permission denied",
            "java.net.BindException: Permission denied",
            "nginx: [emerg] bind() to 0.0.0.0:80 failed (13: Permission denied)",
            "bind: Permission denied (os error 13)",
        ] {
            assert!(names_refused_port(line), "{line}");
        }
        for line in [
            "PermissionError: [Errno 13] Permission denied: '/etc/shadow'",
            "Error: EACCES: permission denied, open '/etc/shadow'",
            "Error: listen EADDRINUSE: address already in use :::8080",
            "listening on 8080",
        ] {
            assert!(!names_refused_port(line), "{line}");
        }
    }

    use crate::shim::log::{LogWriter, Pipe};

    #[test]
    fn the_last_lines_are_found_over_several_segments() {
        let dir = tempfile::tempdir().unwrap();
        for start in 0..3u64 {
            let mut log = LogWriter::open(dir.path()).unwrap();
            log.take(Pipe::Out, format!("first {start}\nsecond {start}\n").as_bytes(), start);
        }
        let texts = |count, since| {
            tail(dir.path(), count, since).unwrap().into_iter().map(|line| line.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(3, 0), ["second 1", "first 2", "second 2"]);
        assert_eq!(texts(10, 2), ["first 2", "second 2"]);
        assert_eq!(tail(&dir.path().join("absent"), 3, 0).unwrap(), []);
    }
}
