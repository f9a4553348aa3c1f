//! Strict, simple readers of HTTP/1. Invariant: they read every message that the proxy accepts as the same message.

/// Reads a line without its CR LF; returns it and the rest. Control bytes except a tab are errors.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|window| window == b"\r\n")?;
    let line = &bytes[..end];
    let allowed = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    line.iter().all(allowed).then_some((line, &bytes[end + 2..]))
}

fn is_token(bytes: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(allowed)
}

pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads the fields of a head or trailer section up to its empty line; returns them and the rest.
pub(crate) fn fields(mut bytes: &[u8]) -> Option<(Fields, &[u8])> {
    let mut fields = Vec::new();
    loop {
        let (field, rest) = line(bytes)?;
        bytes = rest;
        if field.is_empty() {
            return Some((fields, bytes));
        }
        let colon = field.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&field[..colon], field[colon + 1..].trim_ascii());
        if !is_token(name) {
            return None;
        }
        fields.push((name.to_vec(), value.to_vec()));
    }
}

/// Reads (method, target, version, fields, length) of a request's head.
pub(crate) fn request(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>, Fields, usize)> {
    let mut start = bytes;
    while let Some(rest) = start.strip_prefix(b"\r\n") {
        start = rest;
    }
    let (first, rest) = line(start)?;
    let words: Vec<_> = first.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words[..] else { return None };
    let (fields, rest) = fields(rest)?;
    let ok = is_token(method) && !target.is_empty() && matches!(version, b"HTTP/1.0" | b"HTTP/1.1");
    ok.then(|| (method.to_vec(), target.to_vec(), version.to_vec(), fields, bytes.len() - rest.len()))
}

/// Reads (data, trailers, length) of a chunked body.
pub(crate) fn chunks(input: &[u8]) -> Option<(Vec<u8>, Fields, usize)> {
    let (mut data, mut bytes) = (Vec::new(), input);
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n")?;
        let (size, rest) = (&bytes[..end], &bytes[end + 2..]);
        if size.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        let digits = size.split(|byte| *byte == b';').next()?;
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        bytes = rest;
        if size == 0 {
            break;
        }
        let (chunk, rest) = bytes.split_at_checked(size)?;
        data.extend_from_slice(chunk);
        bytes = rest.strip_prefix(b"\r\n")?;
    }
    let (trailers, rest) = fields(bytes)?;
    Some((data, trailers, input.len() - rest.len()))
}
