//! Splits a program's output into log lines: valid UTF-8 with a maximum length, and with colors and styles as the only escape
//! sequences. Invariant: no line ends inside a sequence.

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
                    self.cut(&mut line);
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

    /// Ends a line that is too long. An unfinished sequence at its end begins the next one.
    fn cut(&mut self, line: &mut impl FnMut(String)) {
        let unfinished = self.partial.split_off(whole_length(&self.partial));
        // A sequence as long as a line is no color and is dropped.
        if !self.partial.is_empty() {
            self.end(line);
            self.partial = unfinished;
        }
    }

    fn end(&mut self, line: &mut impl FnMut(String)) {
        line(clean(&self.partial));
        self.partial.clear();
    }
}

/// Returns a line as a terminal shows it: after the last carriage return.
fn clean(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let shown = bytes.rsplit(|byte| *byte == b'\r').find(|part| !part.is_empty()).unwrap_or_default();
    let mut text = excerpt::styled(&String::from_utf8_lossy(shown));
    // Replacement characters and tabs take more room than the bytes they stand for.
    text.truncate(text.floor_char_boundary(LINE_BYTES_MAX));
    text.truncate(whole_length(text.as_bytes()));
    text
}

/// Returns the length of the text without an unfinished escape sequence at its end.
fn whole_length(bytes: &[u8]) -> usize {
    let last = bytes.iter().rposition(|byte| *byte == 0x1b);
    last.filter(|at| excerpt::escape_length(&bytes[*at..]).is_none()).unwrap_or(bytes.len())
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
        assert_eq!(lines(&[b"\x1b[1;32mok\x1b[0", b"m \x1b]0;title\x07\x1b[2Kdone\n"]), ["\x1b[1;32mok\x1b[0m done"]);
        assert_eq!(lines(&[b"bad \xff byte\n"]), ["bad \u{fffd} byte"]);
    }

    #[test]
    fn a_line_is_never_cut_inside_a_color() {
        for before in LINE_BYTES_MAX - 6..LINE_BYTES_MAX {
            let found = lines(&["x".repeat(before).as_bytes(), b"\x1b[31mred\x1b[0m\n"]);
            assert!(found.iter().all(|line| line.len() <= LINE_BYTES_MAX));
            let shown: String = found.iter().map(|line| excerpt::plain(line)).collect();
            assert_eq!(shown, format!("{}red", "x".repeat(before)));
            assert!(found.concat().contains("\x1b[31mred\x1b[0m"));
        }
        // Tabs make a line longer after it was cut.
        let grown = lines(&[&b"\t\x1b[31m".repeat(400), b"\n"]).concat();
        assert!(grown.ends_with("    ") || grown.ends_with("\x1b[31m"), "{grown:?}");
        let endless = lines(&[b"\x1b]", &vec![b'x'; 3 * LINE_BYTES_MAX], b"\nend\n"]);
        assert_eq!(endless.last().map(String::as_str), Some("end"));
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_stays_within_its_bound() {
        let found = lines(&[&vec![0xff; 20_000]]);
        assert!(found.len() > 1);
        assert!(found.iter().all(|line| line.len() <= LINE_BYTES_MAX));
    }
}
