//! Fuzz target of the chunked coding: pieces never change the data, a strict reader accepts what the proxy does, and
//! the proxy accepts its own output.

use fairlead_route::trailer_forwards;

use crate::h1::chunked::{ChunkError, Chunked, encode_chunk, encode_end};
use crate::reference;

/// (data, consumed, forwarded trailers) of a complete body; `None` if more of it has to come.
type Decoded = Option<(Vec<u8>, usize, Vec<u8>)>;

/// Decodes `input` as it arrives in pieces; `piece` returns the length of the next one.
fn decode(input: &[u8], mut piece: impl FnMut() -> usize) -> Result<Decoded, ChunkError> {
    let (mut chunked, mut data, mut consumed, mut arrived) = (Chunked::new(), Vec::new(), 0, 0);
    loop {
        let (used, run, done) = chunked.decode(&input[consumed..arrived])?;
        data.extend_from_slice(run);
        consumed += used;
        if done {
            return Ok(Some((data, consumed, chunked.forwardable_trailers()?)));
        }
        if used == 0 || consumed == arrived {
            if arrived == input.len() {
                return Ok(None);
            }
            arrived = (arrived + piece().max(1)).min(input.len());
        }
    }
}

/// Fuzzes the decoder; the first byte seeds the pieces.
pub fn chunked(data: &[u8]) {
    let Some((seed, input)) = data.split_first() else { return };
    let whole = decode(input, || input.len());
    let mut state = u64::from(*seed) + 1;
    let pieces = decode(input, || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 60) as usize
    });
    let bytes = decode(input, || 1);
    assert_eq!(whole, pieces, "pieces change what is read");
    assert_eq!(whole, bytes, "single bytes change what is read");
    let Ok(Some((read, consumed, trailers))) = whole else { return };

    let (expected, fields, length) = reference::chunks(input).expect("a strict reader refuses it");
    assert_eq!((&read, consumed), (&expected, length));
    let mut forwarded = Vec::new();
    for (name, value) in fields.iter().filter(|(name, _)| trailer_forwards(name)) {
        for part in [name, &b": "[..], value, b"\r\n"] {
            forwarded.extend_from_slice(part);
        }
    }
    // Only blanks around a value may differ.
    let words = |lines: &[u8]| lines.split(|byte| *byte == b'\n').map(|line| line.trim_ascii().to_vec()).collect::<Vec<_>>();
    assert_eq!(words(&trailers).len(), words(&forwarded).len());

    let mut sent = Vec::new();
    read.chunks(usize::from(*seed) + 1).for_each(|chunk| encode_chunk(chunk, &mut sent));
    encode_end(&trailers, &mut sent);
    let again = decode(&sent, || sent.len()).expect("we refuse what we send").expect("it has no end");
    assert_eq!(again, (read, sent.len(), trailers));
}
