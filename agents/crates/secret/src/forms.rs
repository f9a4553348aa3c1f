//! Encodings in which a secret may appear in a text: plain, percent-encoded, base64 or JSON. Invariant: forms contain no line
//! ends, because the search also skips them in the text.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Minimum length of a searched form: a shorter one would match ordinary words.
pub(crate) const FORM_BYTES_MIN: usize = 6;

/// Returns the value and each of its lines.
pub(crate) fn exact(value: &[u8]) -> Vec<Vec<u8>> {
    parts(value).into_iter().map(without_line_ends).collect()
}

/// Returns the encodings of the value and of each of its lines.
pub(crate) fn encoded(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for part in parts(value) {
        forms.extend(percent(part));
        forms.extend(base64(part));
        forms.extend(json(part));
    }
    forms
}

fn parts(value: &[u8]) -> Vec<&[u8]> {
    let lines = value.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| line.len() < value.len());
    let parts = std::iter::once(value).chain(lines);
    parts.filter(|part| part.len() >= FORM_BYTES_MIN).collect()
}

pub(crate) fn without_line_ends(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect()
}

/// Returns the percent-encodings of RFC 3986, encodeURIComponent and HTML forms, with upper- and lower-case digits.
fn percent(value: &[u8]) -> Vec<Vec<u8>> {
    let kept: [&[u8]; 3] = [b"-._~", b"-._~!*'()", b"-._*"];
    let mut forms = Vec::new();
    for (index, kept) in kept.into_iter().enumerate() {
        for upper in [true, false] {
            let mut text = String::new();
            for byte in value {
                // `write!` to a String can't fail.
                let written = match byte {
                    b' ' if index == 2 => write!(text, "+"),
                    byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => {
                        write!(text, "{}", char::from(*byte))
                    }
                    byte if upper => write!(text, "%{byte:02X}"),
                    byte => write!(text, "%{byte:02x}"),
                };
                debug_assert!(written.is_ok());
            }
            forms.push(text.into_bytes());
        }
    }
    forms
}

/// Returns the base64 forms of the value alone and inside a longer text. Inside a text, characters depend on the offset, and
/// those at the borders on the neighbours, so the borders are left out.
fn base64(value: &[u8]) -> Vec<Vec<u8>> {
    let alone =
        [STANDARD.encode(value), STANDARD_NO_PAD.encode(value), URL_SAFE.encode(value), URL_SAFE_NO_PAD.encode(value)];
    let inside = (0..3).flat_map(|before| {
        let shifted = [vec![0; before], value.to_vec()].concat();
        let (from, to) = ((before * 8).div_ceil(6), shifted.len() * 8 / 6);
        [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)].map(|text| text[from..to].to_owned())
    });
    alone.into_iter().chain(inside).map(String::into_bytes).collect()
}

/// Returns the JSON forms: required escapes only, with escaped `/`, in ASCII only, and safe inside HTML.
fn json(value: &[u8]) -> Vec<Vec<u8>> {
    let Ok(value) = std::str::from_utf8(value) else { return Vec::new() };
    let styles: [(bool, bool, bool); 4] =
        [(false, false, false), (true, false, false), (false, true, false), (false, false, true)];
    let mut forms = Vec::new();
    for (slash, ascii, html) in styles {
        for upper in [true, false] {
            let mut text = String::new();
            for letter in value.chars() {
                match letter {
                    '"' => text.push_str("\\\""),
                    '\\' => text.push_str("\\\\"),
                    '\n' => text.push_str("\\n"),
                    '\r' => text.push_str("\\r"),
                    '\t' => text.push_str("\\t"),
                    '\u{8}' => text.push_str("\\b"),
                    '\u{c}' => text.push_str("\\f"),
                    '/' if slash => text.push_str("\\/"),
                    '<' | '>' | '&' | '\'' if html => unicode(&mut text, letter, upper),
                    letter if letter < ' ' || (ascii && !letter.is_ascii()) => unicode(&mut text, letter, upper),
                    letter => text.push(letter),
                }
            }
            forms.push(text.into_bytes());
        }
    }
    forms
}

fn unicode(text: &mut String, letter: char, upper: bool) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        let written = if upper { write!(text, "\\u{unit:04X}") } else { write!(text, "\\u{unit:04x}") };
        debug_assert!(written.is_ok());
    }
}
