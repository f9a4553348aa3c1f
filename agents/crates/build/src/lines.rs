//! Bytes of a program's output to lines that a log can keep: whole, valid UTF-8, without control sequences, bounded.

/// A longer line is cut into several.
pub(crate) const LINE_BYTES_MAX: usize = 4096;

/// Collects bytes until a line is whole.
#[derive(Debug, Default)]
pub(crate) struct LineCutter {
    partial: Vec<u8>,
}

impl LineCutter {
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

/// What a terminal would show of a line: after the last carriage return, without escape sequences (ECMA-48).
fn clean(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let shown = bytes.rsplit(|byte| *byte == b'\r').find(|part| !part.is_empty()).unwrap_or_default();
    let mut text = String::with_capacity(shown.len());
    let decoded = String::from_utf8_lossy(shown);
    let mut chars = decoded.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => skip_sequence(&mut chars),
            '\t' => text.push_str("    "),
            char if char.is_control() => {}
            char => text.push(char),
        }
    }
    // Replacement characters take more room than the bytes they stand for.
    text.truncate(text.floor_char_boundary(LINE_BYTES_MAX));
    text
}

fn skip_sequence(chars: &mut std::str::Chars<'_>) {
    match chars.next() {
        // CSI: parameters, then one final byte.
        Some('[') => {
            chars.find(|char| ('\u{40}'..='\u{7e}').contains(char));
        }
        // OSC: up to BEL or ESC \.
        Some(']') if chars.find(|char| matches!(char, '\u{7}' | '\u{1b}')) == Some('\u{1b}') => {
            chars.next();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let (mut cutter, mut found) = (LineCutter::default(), Vec::new());
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
