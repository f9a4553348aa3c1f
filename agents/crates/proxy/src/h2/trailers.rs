//! Converts trailers between HTTP/2 fields and the lines that an exchange forwards.

use fairlead_route::trailer_forwards;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::exchange::trailer_fields;

/// Returns the forwardable trailers as lines with CRLF.
pub(crate) fn trailer_lines(trailers: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in trailers.iter().filter(|(name, _)| trailer_forwards(name.as_str().as_bytes())) {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

/// Parses trailer lines into fields.
pub(crate) fn trailer_map(lines: &[u8]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in trailer_fields(lines) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            map.append(name, value);
        }
    }
    map
}
