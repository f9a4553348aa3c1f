//! Takes secrets out of what an app writes, wherever reads and lines cut it. Owns the automaton over all their forms.
//! The cost of a byte does not depend on how many secrets there are; what is held back never exceeds one form and the
//! line ends in it.

use std::collections::{BTreeSet, VecDeque};
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
/// A longer form is searched for in pieces.
const FORM_BYTES_MAX: usize = 4096;
/// The most that is held back: a form, and the line ends it may be broken by. One that is broken by more is not found.
const HELD_BYTES_MAX: usize = 2 * FORM_BYTES_MAX;
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
        let automaton =
            NFA::builder().match_kind(MatchKind::Standard).prefilter(false).dense_depth(2).build(&all).ok()?;
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
        Stream {
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
struct Forms {
    all: BTreeSet<Vec<u8>>,
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
    /// Bytes that went out. Places below count from the beginning of the stream.
    gone: u64,
    /// What may still turn out to be the beginning of a secret, with the lines that wait for it.
    held: VecDeque<u8>,
    /// Where those of `held` are that are no line ends.
    places: VecDeque<u64>,
    /// What of `held` belongs to secrets: from, to; ascending and apart.
    hidden: VecDeque<(u64, u64)>,
    /// The last byte that went out belonged to a secret.
    inside: bool,
}

impl Stream {
    /// Takes what was read and appends to `out` what is certain.
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
        // Line ends are held with the rest, and a program may write nothing else.
        self.release(keep_from.max(self.end().saturating_sub(HELD_BYTES_MAX as u64)), out);
    }

    /// Whether a whole line waits for what comes after it.
    pub fn holds_line(&self) -> bool {
        self.held.contains(&b'\n')
    }

    /// Gives up waiting: appends every whole line that was held back.
    pub fn flush_lines(&mut self, out: &mut Vec<u8>) {
        let lines = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        self.release(self.gone + lines, out);
    }

    /// Nothing more comes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(self.end(), out);
        (self.state, self.inside) = (self.of.start, false);
    }

    fn end(&self) -> u64 {
        self.gone + self.held.len() as u64
    }

    /// Where the last `count` bytes that are no line ends begin; what went out already can't be called back.
    fn back(&self, count: usize) -> u64 {
        let first = self.places.len().checked_sub(count).and_then(|index| self.places.get(index));
        first.copied().unwrap_or(self.gone)
    }

    fn hide(&mut self, length: usize) {
        let mut from = self.back(length);
        // A form may hold a shorter one that was found before.
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
