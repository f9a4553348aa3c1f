//! Redacts secrets in output of apps, also across reads and lines, by an automaton over all encodings. Invariant: the cost of a
//! byte does not depend on the number of secrets, and at most `HELD_BYTES_MAX` bytes are held back.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use fairlead_base::excerpt;

use crate::forms;

/// Replacement text of a secret.
pub const REDACTED: &str = "[redacted]";
/// Minimum length of a redacted value: a shorter one would match ordinary words.
pub const SECRET_BYTES_MIN: usize = forms::FORM_BYTES_MIN;
/// Maximum length of a searched form; a longer one is searched for in pieces.
const FORM_BYTES_MAX: usize = 4096;
/// Maximum number of bytes held back: a form and the line ends inside it. A form with more line ends is not found.
const HELD_BYTES_MAX: usize = 2 * FORM_BYTES_MAX;
/// Maximum total length of all forms. The values come first, then the encodings of the shortest values.
const FORMS_BYTES_MAX: usize = 1024 * 1024;

/// Redactor of one app's secrets, shared by its streams.
#[derive(Clone)]
pub struct Redactor(Arc<RedactionAutomaton>);

struct RedactionAutomaton {
    automaton: NFA,
    start: StateID,
    /// Number of matched bytes of a form, by state.
    depths: Vec<u16>,
    /// Length of the longest form that ends in a state, by state; 0 for none.
    ends: Vec<u16>,
}

impl Redactor {
    /// Creates a redactor of these values; `None` if none is long enough.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut values: Vec<&[u8]> = values.into_iter().collect();
        values.sort_by_key(|value| value.len());
        let exact = values.iter().flat_map(|value| forms::exact(value));
        let mut found = FormSet::default();
        exact.for_each(|form| found.add(&form));
        for value in values {
            if found.bytes >= FORMS_BYTES_MAX {
                break;
            }
            forms::encoded(value).iter().for_each(|form| found.add(&forms::without_line_ends(form)));
        }
        if found.all.is_empty() {
            return None;
        }
        let all: Vec<Vec<u8>> = found.all.into_iter().collect();
        // Fails only if states exceed the range of their ids, which the limit on all forms prevents.
        let automaton =
            NFA::builder().match_kind(MatchKind::Standard).prefilter(false).dense_depth(2).build(&all).ok()?;
        RedactionAutomaton::new(automaton, &all).map(|inner| Self(Arc::new(inner)))
    }

    /// Redacts a complete text. A text whose secret has an escape sequence inside loses all of its sequences.
    pub fn text(&self, text: &str) -> String {
        let redacted = self.redact(text);
        if !redacted.contains('\u{1b}') {
            return redacted;
        }
        let plain = excerpt::plain(&redacted);
        let plain_redacted = self.redact(&plain);
        if plain_redacted == plain { redacted } else { plain_redacted }
    }

    fn redact(&self, text: &str) -> String {
        let mut stream = self.stream();
        let mut out = Vec::with_capacity(text.len());
        stream.take(text.as_bytes(), &mut out);
        stream.finish(&mut out);
        // Forms begin and end at character boundaries, unless the secret is not text; invalid bytes are then replaced.
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Starts redaction of a text that arrives in pieces.
    pub fn stream(&self) -> RedactingStream {
        RedactingStream {
            of: self.0.clone(),
            state: self.0.start,
            gone: 0,
            held: VecDeque::new(),
            places: VecDeque::new(),
            hidden: VecDeque::new(),
            inside: false,
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(..)")
    }
}

#[derive(Default)]
struct FormSet {
    all: BTreeSet<Vec<u8>>,
    bytes: usize,
}

impl FormSet {
    fn add(&mut self, form: &[u8]) {
        for piece in form.chunks(FORM_BYTES_MAX) {
            if piece.len() >= forms::FORM_BYTES_MIN && self.all.insert(piece.to_vec()) {
                self.bytes += piece.len();
            }
        }
    }
}

impl RedactionAutomaton {
    fn new(automaton: NFA, forms: &[Vec<u8>]) -> Option<Self> {
        let start = automaton.start_state(Anchored::No).ok()?;
        let (mut depths, mut ends) = (Vec::new(), Vec::new());
        let at = |list: &mut Vec<u16>, state: StateID, value: usize| {
            if list.len() <= state.as_usize() {
                list.resize(state.as_usize() + 1, 0u16);
            }
            list[state.as_usize()] = u16::try_from(value).unwrap_or(u16::MAX);
        };
        for form in forms {
            let mut state = start;
            for (index, byte) in form.iter().enumerate() {
                // Each prefix of a form has its own state.
                state = automaton.next_state(Anchored::No, state, *byte);
                at(&mut depths, state, index + 1);
                if automaton.is_match(state) {
                    let lengths = (0..automaton.match_len(state)).map(|nth| automaton.match_pattern(state, nth));
                    at(&mut ends, state, lengths.map(|form| automaton.pattern_len(form)).max().unwrap_or(0));
                }
            }
        }
        Some(Self { automaton, start, depths, ends })
    }
}

/// Redaction of one byte stream. The search skips line ends, so that a value broken into lines is found; the output keeps them.
pub struct RedactingStream {
    of: Arc<RedactionAutomaton>,
    state: StateID,
    /// Number of emitted bytes. Positions count from the beginning of the stream.
    gone: u64,
    /// Bytes that may be the beginning of a secret, with the lines that wait for them.
    held: VecDeque<u8>,
    /// Positions of the bytes in `held` that are not line ends.
    places: VecDeque<u64>,
    /// Ranges of `held` that belong to secrets: from, to; ascending and disjoint.
    hidden: VecDeque<(u64, u64)>,
    /// True if the last emitted byte belonged to a secret.
    inside: bool,
}

impl RedactingStream {
    /// Processes input and appends the bytes that are certain to `out`.
    pub fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            let place = self.end();
            self.held.push_back(*byte);
            if is_line_end(*byte) {
                continue;
            }
            self.places.push_back(place);
            self.state = self.of.automaton.next_state(Anchored::No, self.state, *byte);
            let length = self.of.ends.get(self.state.as_usize()).copied().unwrap_or(0);
            if length > 0 {
                self.hide(length.into());
            }
        }
        let depth = self.of.depths.get(self.state.as_usize()).copied().unwrap_or(0);
        let keep_from = if depth == 0 { self.end() } else { self.back(depth.into()) };
        // Bounds the held bytes: line ends are held too, and a program may write only these.
        self.release(keep_from.max(self.end().saturating_sub(HELD_BYTES_MAX as u64)), out);
    }

    /// True if a complete line is held back.
    pub fn holds_line(&self) -> bool {
        self.held.contains(&b'\n')
    }

    /// Stops waiting: appends every complete line that is held back.
    pub fn flush_lines(&mut self, out: &mut Vec<u8>) {
        let lines = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        self.release(self.gone + lines, out);
    }

    /// Ends the stream: appends all bytes that are held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(self.end(), out);
        (self.state, self.inside) = (self.of.start, false);
    }

    fn end(&self) -> u64 {
        self.gone + self.held.len() as u64
    }

    /// Returns the position of the `count`-th last byte that is not a line end, but never one that was already emitted.
    fn back(&self, count: usize) -> u64 {
        let first = self.places.len().checked_sub(count).and_then(|index| self.places.get(index));
        first.copied().unwrap_or(self.gone)
    }

    fn hide(&mut self, length: usize) {
        let mut from = self.back(length);
        // A form may contain a shorter one that was found before.
        while let Some((earlier, _)) = self.hidden.pop_back_if(|(_, to)| *to >= from) {
            from = from.min(earlier);
        }
        self.hidden.push_back((from, self.end()));
    }

    fn release(&mut self, until: u64, out: &mut Vec<u8>) {
        while self.gone < until {
            let Some(byte) = self.held.pop_front() else { return };
            let place = self.gone;
            self.gone += 1;
            self.places.pop_front_if(|first| *first == place);
            self.hidden.pop_front_if(|(_, to)| *to <= place);
            if is_line_end(byte) || self.hidden.front().is_none_or(|(from, _)| *from > place) {
                out.push(byte);
                self.inside = false;
            } else if !self.inside {
                out.extend_from_slice(REDACTED.as_bytes());
                self.inside = true;
            }
        }
    }
}

impl fmt::Debug for RedactingStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedactingStream(..)")
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
#[path = "redactor_tests.rs"]
mod tests;
