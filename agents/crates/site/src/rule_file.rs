//! Bounded reading of a file with rules at the top of a site. A file or line that can't be used is a warning, never an error: the
//! site is served without it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::path::inside;

const FILE_BYTES_MAX: u64 = 256 * 1024;
const LINES_MAX: usize = 2_000;
const LINE_BYTES_MAX: usize = 2_000;
/// Warnings of one file; a file of another format has one for each line.
const WARNINGS_MAX: usize = 20;

/// Lines of a file with their numbers, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct RuleFile {
    name: &'static str,
    pub(crate) lines: Vec<(usize, String)>,
    warnings: Vec<String>,
    unsaid: usize,
}

impl RuleFile {
    /// Reads `name` at the top of the site; empty if it is missing. Blocking.
    pub(crate) fn read(root: &Path, name: &'static str) -> Self {
        let mut file = Self { name, ..Self::default() };
        let Some(path) = inside(root, &root.join(name)) else { return file };
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|opened| opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        match read.and_then(|_| String::from_utf8(bytes).map_err(io::Error::other)) {
            Err(error) => file.warnings.push(format!("{name} is ignored: it can't be read as UTF-8 ({error})")),
            Ok(text) if text.len() as u64 > FILE_BYTES_MAX => {
                file.warnings.push(format!("{name} is ignored: it is larger than {} KiB", FILE_BYTES_MAX >> 10));
            }
            Ok(text) => file.take(text.strip_prefix('\u{feff}').unwrap_or(&text)),
        }
        file
    }

    fn take(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            if index == LINES_MAX {
                self.warn(index + 1, "it and all after it are too many");
                return;
            }
            if line.len() > LINE_BYTES_MAX {
                self.warn(index + 1, "it is too long");
            } else if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                self.lines.push((index + 1, line.to_owned()));
            }
        }
    }

    /// Notes that a line is ignored; `why` follows a colon.
    pub(crate) fn warn(&mut self, line: usize, why: &str) {
        if self.warnings.len() == WARNINGS_MAX {
            self.unsaid += 1;
            return;
        }
        self.warnings.push(format!("line {line} of {} is ignored: {why}", self.name));
    }

    /// Returns the warnings as sentences without their period; the last one counts those that are left out.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        let more = (self.unsaid > 0).then(|| format!("{} more lines of {} are ignored", self.unsaid, self.name));
        self.warnings.into_iter().chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> RuleFile {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("_headers"), text).unwrap();
        RuleFile::read(&dir.path().canonicalize().unwrap(), "_headers")
    }

    #[test]
    fn a_file_is_read_within_bounds_and_never_through_a_link_that_leads_outside() {
        let file = read(b"\xef\xbb\xbf/a b\n\n# c\n  # d\n/e f\r\n");
        assert_eq!(file.lines, [(1, "/a b".to_owned()), (5, "/e f".to_owned())]);
        let large = vec![b'\n'; 256 * 1024 + 1];
        assert_eq!(read(&large).into_warnings(), ["_headers is ignored: it is larger than 256 KiB"]);
        assert_eq!(read(b"\xff").lines, []);
        assert!(read(b"\xff").into_warnings()[0].starts_with("_headers is ignored: it can't be read as UTF-8"));
        let many = read("/a\n".repeat(2_001).as_bytes());
        assert_eq!(many.lines.len(), 2_000);
        assert_eq!(many.into_warnings(), ["line 2001 of _headers is ignored: it and all after it are too many"]);
        let long = read(format!("/a\n{}", "b".repeat(2_001)).as_bytes());
        assert_eq!((long.lines.len(), long.into_warnings().len()), (1, 1));
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("site");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(dir.path().join("secret"), "/a b").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("_redirects")).unwrap();
        assert_eq!(RuleFile::read(&root, "_redirects").lines, []);
    }

    #[test]
    fn warnings_are_bounded() {
        let mut file = RuleFile { name: "_headers", ..RuleFile::default() };
        (0..50).for_each(|line| file.warn(line, "x"));
        let warnings = file.into_warnings();
        assert_eq!((warnings.len(), warnings[20].as_str()), (21, "30 more lines of _headers are ignored"));
    }
}
