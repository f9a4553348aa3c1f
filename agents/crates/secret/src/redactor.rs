//! Takes secrets out of what an app writes, wherever reads and lines cut it. Owns the automaton over all their forms.
//! The cost of a byte does not depend on how many secrets there are; what is held back never exceeds one form.

use std::fmt;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use crate::forms;

/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";
/// Shorter values are not searched for: they would blacken ordinary words.
pub const SECRET_BYTES_MIN: usize = forms::FORM_BYTES_MIN;
/// A longer form is searched for in pieces, and this is the most that is held back.
const FORM_BYTES_MAX: usize = 4096;
/// All forms together. The values themselves come first, then the encodings of the shortest.
const FORMS_BYTES_MAX: usize = 1024 * 1024;

/// Knows the secrets of one app. Shared by its streams.
#[derive(Clone)]
pub struct Redactor(Arc<Inner>);

struct Inner {
    automaton: NFA,
    start: StateID,
    /// By state: how many bytes of a form have been seen.
    depths: Vec<u16>,
    /// By state: the longest form that ends here; 0 for none.
    ends: Vec<u16>,
}

impl Redactor {
    /// Over these values; `None` when none of them is long enough to be searched for.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut values: Vec<&[u8]> = values.into_iter().collect();
        values.sort_by_key(|value| value.len());
        let exact = values.iter().flat_map(|value| forms::exact(value));
        let mut found = Forms::default();
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
        // Fails only past the number of states that an id can name, which the limit on all forms keeps far away.
        let automaton = NFA::builder().match_kind(MatchKind::Standard).prefilter(false).dense_depth(2).build(&all).ok()?;
        Inner::new(automaton, &all).map(|inner| Self(Arc::new(inner)))
    }

    /// A text that is whole.
    pub fn text(&self, text: &str) -> String {
        let mut stream = self.stream();
        let mut out = Vec::with_capacity(text.len());
        stream.take(text.as_bytes(), &mut out);
        stream.finish(&mut out);
        // A form begins and ends where a character does, or the secret was no text; then the rest is made valid.
        String::from_utf8_lossy(&out).into_owned()
    }

    /// A text that comes in pieces.
    pub fn stream(&self) -> Stream {
        Stream { of: self.0.clone(), state: self.0.start, held: Vec::new(), hidden: Vec::new(), inside: false }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(..)")
    }
}

#[derive(Default)]
struct Forms {
    all: std::collections::BTreeSet<Vec<u8>>,
    bytes: usize,
}

impl Forms {
    fn add(&mut self, form: &[u8]) {
        for piece in form.chunks(FORM_BYTES_MAX) {
            if piece.len() >= forms::FORM_BYTES_MIN && self.all.insert(piece.to_vec()) {
                self.bytes += piece.len();
            }
        }
    }
}

impl Inner {
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
                // A beginning of a form always has a state of its own.
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

/// One stream of bytes, redacted as it comes. Line ends are passed over in the search, so that a value that was broken
/// into lines is found; they stay in what comes out.
pub struct Stream {
    of: Arc<Inner>,
    state: StateID,
    /// What may still turn out to be the beginning of a secret, and before it what waits for its turn.
    held: Vec<u8>,
    /// By byte of `held`: it belongs to a secret.
    hidden: Vec<bool>,
    /// The last byte that went out belonged to a secret.
    inside: bool,
}

impl Stream {
    /// Takes what was read and appends to `out` what is certain.
    pub fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            self.held.push(*byte);
            self.hidden.push(false);
            if is_line_end(*byte) {
                continue;
            }
            self.state = self.of.automaton.next_state(Anchored::No, self.state, *byte);
            let length = self.of.ends.get(self.state.as_usize()).copied().unwrap_or(0);
            if length > 0 {
                self.hide(usize::from(length));
            }
        }
        let depth = self.of.depths.get(self.state.as_usize()).copied().unwrap_or(0);
        let keep = self.last(usize::from(depth));
        self.release(self.held.len() - keep, out);
    }

    /// Whether a whole line waits for what comes after it.
    pub fn holds_line(&self) -> bool {
        self.held.contains(&b'\n')
    }

    /// Gives up waiting: appends every whole line that was held back.
    pub fn flush_lines(&mut self, out: &mut Vec<u8>) {
        let end = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.release(end, out);
    }

    /// Nothing more comes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(self.held.len(), out);
        (self.state, self.inside) = (self.of.start, false);
    }

    /// Marks the last `length` bytes that are not line ends, and the line ends between them. Stops at what is marked
    /// already, so that no byte is looked at twice.
    fn hide(&mut self, length: usize) {
        let mut left = length;
        for at in (0..self.held.len()).rev() {
            if left == 0 || self.hidden[at] {
                return;
            }
            self.hidden[at] = true;
            left -= usize::from(!is_line_end(self.held[at]));
        }
    }

    /// How many bytes of `held` the last `length` ones that are not line ends take.
    fn last(&self, length: usize) -> usize {
        let mut left = length;
        let bytes = self.held.iter().rev().take_while(|byte| {
            let more = left > 0;
            left -= usize::from(more && !is_line_end(**byte));
            more
        });
        bytes.count()
    }

    fn release(&mut self, count: usize, out: &mut Vec<u8>) {
        for (byte, hidden) in self.held.drain(..count).zip(self.hidden.drain(..count)) {
            if is_line_end(byte) || !hidden {
                out.push(byte);
                self.inside = false;
            } else if !self.inside {
                out.extend_from_slice(REDACTED.as_bytes());
                self.inside = true;
            }
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream(..)")
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
#[path = "redactor_tests.rs"]
mod tests;
