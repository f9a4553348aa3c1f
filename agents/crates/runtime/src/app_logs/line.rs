//! Parser of one line of a segment and of the log level in it. Never stores a line.

use fairlead_model::LogStream;

/// Severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    /// Returns the name that is sent to clients.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// Parses a level word of a log, case-insensitively.
    pub fn parse(word: &str) -> Option<Self> {
        let is = |words: &[&str]| words.iter().any(|one| one.eq_ignore_ascii_case(word));
        if is(&["error", "err", "fatal", "critical", "crit", "panic", "alert", "emerg", "severe", "e"]) {
            Some(Self::Error)
        } else if is(&["warn", "warning", "w"]) {
            Some(Self::Warn)
        } else if is(&["info", "notice", "information", "i", "log"]) {
            Some(Self::Info)
        } else if is(&["debug", "trace", "verbose", "d"]) {
            Some(Self::Debug)
        } else {
            None
        }
    }
}

/// Log line that matches a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppLogLine {
    /// Time at which it was read from the app's pipe.
    pub unix_ms: u64,
    /// Instance that wrote it.
    pub instance: String,
    /// Process of the app, for example `web`.
    pub process: String,
    /// Release that the instance ran.
    pub release: String,
    /// Pipe that it was written to.
    pub stream: LogStream,
    /// Level found in its text.
    pub level: Option<LogLevel>,
    /// Text of the line, made valid UTF-8.
    pub text: String,
}

/// Returns the time at which a line was written.
pub(super) fn unix_ms(line: &[u8]) -> Option<u64> {
    let end = line.iter().position(|byte| *byte == b' ')?;
    std::str::from_utf8(&line[..end]).ok()?.parse().ok()
}

/// Splits a line into time, stream and text; `None` if it is no line of a segment.
pub(super) fn parts(line: &[u8]) -> Option<(u64, LogStream, &[u8])> {
    let at = unix_ms(line)?;
    let rest = &line[line.iter().position(|byte| *byte == b' ')? + 1..];
    let stream = match rest.first()? {
        b'o' => LogStream::Stdout,
        b'e' => LogStream::Stderr,
        _ => return None,
    };
    Some((at, stream, rest.get(2..).unwrap_or_default()))
}

/// Number of leading bytes in which the level is searched.
const LEVEL_WITHIN: usize = 96;

/// Finds the level of a line: in JSON by its field, otherwise by a word near its beginning.
pub(super) fn level(text: &str) -> Option<LogLevel> {
    if text.trim_start().starts_with('{') {
        return json_level(text);
    }
    let mut end = text.len().min(LEVEL_WITHIN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let words = text[..end].split(|letter: char| !letter.is_ascii_alphanumeric());
    // A single letter counts as a level only as the very first word, as some libraries write it.
    words.enumerate().filter(|(index, word)| word.len() > 1 || *index == 0).find_map(|(_, word)| {
        // `log` and `information` are also ordinary words.
        let prose = ["log", "information", "alert", "critical", "i", "d", "e", "w"];
        if prose.iter().any(|one| one.eq_ignore_ascii_case(word)) { None } else { LogLevel::parse(word) }
    })
}

/// Reads the field `level` or `severity`: a word, or a number as pino counts.
fn json_level(text: &str) -> Option<LogLevel> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let field = ["level", "severity", "lvl"].iter().find_map(|name| value.get(*name))?;
    match (field.as_str(), field.as_u64()) {
        (Some(word), _) => LogLevel::parse(word),
        (None, Some(50..)) => Some(LogLevel::Error),
        (None, Some(40..)) => Some(LogLevel::Warn),
        (None, Some(30..)) => Some(LogLevel::Info),
        (None, Some(_)) => Some(LogLevel::Debug),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_in_text_and_in_json_and_never_in_prose() {
        for (text, expected) in [
            ("2026-01-01T00:00:00Z ERROR db: gone", Some(LogLevel::Error)),
            ("[warn] slow", Some(LogLevel::Warn)),
            ("INFO started", Some(LogLevel::Info)),
            (r#"{"level":50,"msg":"x"}"#, Some(LogLevel::Error)),
            (r#"{"level":"warning","msg":"error"}"#, Some(LogLevel::Warn)),
            (r#"{"severity":"DEBUG"}"#, Some(LogLevel::Debug)),
            ("terror and errors of the past", None),
            ("listening on 3000", None),
            (&format!("{} error", "x".repeat(200)), None),
            (&"ä".repeat(100), None),
        ] {
            assert_eq!(level(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_line_of_a_segment_is_none() {
        assert_eq!(parts(b"12 o hello"), Some((12, LogStream::Stdout, &b"hello"[..])));
        assert_eq!(parts(b"12 e "), Some((12, LogStream::Stderr, &b""[..])));
        for bad in [&b""[..], b"12", b"x o y", b"12 q y", b"\xff\xfe o y"] {
            assert_eq!(parts(bad), None, "{bad:?}");
        }
    }
}
