//! Splits a program's output into log lines: valid UTF-8, without control sequences, with a maximum length.

use fairlead_base::excerpt;

/// Maximum length of a line; a longer one is cut into several.
pub(crate) const LINE_BYTES_MAX: usize = 4096;

/// Splitter that collects bytes until a line is complete.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    partial: Vec<u8>,
}

impl LineSplitter {
    /// Takes bytes and gives each line that they complete.
    pub(crate) fn take(&mut self, bytes: &[u8], mut line: impl FnMut(String)) {
        for byte in bytes {
            if *byte == b'\n' {
                self.end(&mut line);
            } else {
                self.partial.push(*byte);
                if self.partial.len() == LINE_BYTES_MAX {
                    self.end(&mut line);
                }
            }
        }
    }

    /// Gives what is left after the last line end.
    pub(crate) fn finish(&mut self, mut line: impl FnMut(String)) {
        if !self.partial.is_empty() {
            self.end(&mut line);
        }
    }

    fn end(&mut self, line: &mut impl FnMut(String)) {
        line(clean(&self.partial));
        self.partial.clear();
    }
}

/// Returns a line as a terminal shows it: after the last carriage return, without escape sequences.
fn clean(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let shown = bytes.rsplit(|byte| *byte == b'\r').find(|part| !part.is_empty()).unwrap_or_default();
    let mut text = excerpt::plain(&String::from_utf8_lossy(shown));
    // Replacement characters take more room than the bytes they stand for.
    text.truncate(text.floor_char_boundary(LINE_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let (mut cutter, mut found) = (LineSplitter::default(), Vec::new());
        for chunk in chunks {
            cutter.take(chunk, |line| found.push(line));
        }
        cutter.finish(|line| found.push(line));
        found
    }

    #[test]
    fn lines_are_whole_clean_and_what_a_terminal_would_show() {
        assert_eq!(lines(&[b"one\r\ntw", b"o\n\nlast"]), ["one", "two", "", "last"]);
        assert_eq!(lines(&[b"10%\r50%\r100%\n"]), ["100%"]);
        assert_eq!(lines(&[b"\x1b[1;32mok\x1b[0m \x1b]0;title\x07done\n"]), ["ok done"]);
        assert_eq!(lines(&[b"bad \xff byte\n"]), ["bad \u{fffd} byte"]);
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_stays_within_its_bound() {
        let found = lines(&[&vec![0xff; 20_000]]);
        assert!(found.len() > 1);
        assert!(found.iter().all(|line| line.len() <= LINE_BYTES_MAX));
    }
}
