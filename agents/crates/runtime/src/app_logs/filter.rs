//! Filter of a log search, with the limits on its cost.

use fairlead_model::AppKey;
use regex::{Regex, RegexBuilder};

use super::line::{AppLogLine, LogLevel, level, parts};

/// Maximum number of lines in one answer.
const LIMIT_MAX: usize = 5000;
/// Maximum bytes of the search text.
const TEXT_BYTES_MAX: usize = 500;
/// Maximum memory of one compiled pattern, and of its cache while it matches.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Reason why a log search is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogFilterError {
    /// Not a regular expression, or one that would cost too much.
    #[error("`{text}` is no regular expression that can be searched with: {reason}.")]
    Pattern {
        /// Pattern as it was given.
        text: String,
        /// Error of the regex compiler.
        reason: String,
    },
    #[error("`{0}` is no level: error, warn, info or debug.")]
    Level(String),
}

/// Filter of an app's log lines.
#[derive(Debug, Clone)]
pub struct LogFilter {
    pub(super) key: AppKey,
    /// Process and instance to show; empty means all.
    pub(super) process: String,
    pub(super) instance: String,
    pattern: Option<Regex>,
    level: Option<LogLevel>,
    pub(super) from_unix_ms: u64,
    pub(super) to_unix_ms: u64,
    pub(super) limit: usize,
}

impl LogFilter {
    /// Selects all lines of an app.
    pub fn new(key: AppKey) -> Self {
        Self {
            key,
            process: String::new(),
            instance: String::new(),
            pattern: None,
            level: None,
            from_unix_ms: 0,
            to_unix_ms: u64::MAX,
            limit: LIMIT_MAX,
        }
    }

    /// Limits the search to one process or one instance; empty means all.
    pub fn by(mut self, process: &str, instance: &str) -> Self {
        (self.process, self.instance) = (process.to_owned(), instance.to_owned());
        self
    }

    /// Limits the search to lines that contain a text (case-insensitive) or match a regular expression; empty means
    /// all.
    pub fn matching(mut self, text: &str, regex: bool) -> Result<Self, LogFilterError> {
        if text.is_empty() {
            return Ok(self);
        }
        let refused = |reason: String| LogFilterError::Pattern { text: text.chars().take(80).collect(), reason };
        if text.len() > TEXT_BYTES_MAX {
            return Err(refused(format!("it is longer than {TEXT_BYTES_MAX} bytes")));
        }
        let pattern = if regex { text.to_owned() } else { regex::escape(text) };
        let built = RegexBuilder::new(&pattern)
            .case_insensitive(!regex)
            .size_limit(PATTERN_BYTES_MAX)
            .dfa_size_limit(PATTERN_BYTES_MAX)
            .build();
        // The library draws the position of the error over several lines; the last one says what is wrong.
        self.pattern = Some(built.map_err(|error| {
            let told = error.to_string();
            refused(told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
        })?);
        Ok(self)
    }

    /// Limits the search to lines of at least this level; empty means all.
    pub fn at_least(mut self, level: &str) -> Result<Self, LogFilterError> {
        if !level.is_empty() {
            let found = LogLevel::parse(level).ok_or_else(|| LogFilterError::Level(level.chars().take(40).collect()));
            self.level = Some(found?);
        }
        Ok(self)
    }

    /// Limits the search to a time range; zero means unbounded.
    pub fn between(mut self, from_unix_ms: u64, to_unix_ms: u64) -> Self {
        self.from_unix_ms = from_unix_ms;
        self.to_unix_ms = if to_unix_ms == 0 { u64::MAX } else { to_unix_ms };
        self
    }

    /// Limits the number of lines, newest first; zero means the maximum.
    pub fn newest(mut self, limit: usize) -> Self {
        self.limit = if limit == 0 { LIMIT_MAX } else { limit.min(LIMIT_MAX) };
        self
    }

    /// Returns the line if it matches.
    pub(super) fn take(&self, line: &[u8], of: &super::Writer) -> Option<AppLogLine> {
        let (unix_ms, stream, text) = parts(line)?;
        if unix_ms < self.from_unix_ms || unix_ms > self.to_unix_ms {
            return None;
        }
        let text = String::from_utf8_lossy(text);
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(&text)) {
            return None;
        }
        let level = level(&text);
        if self.level.is_some_and(|least| level.is_none_or(|level| level < least)) {
            return None;
        }
        let text = text.into_owned();
        let (instance, process, release) = (of.instance.clone(), of.process.clone(), of.release.clone());
        Some(AppLogLine { unix_ms, instance, process, release, stream, level, text })
    }
}
