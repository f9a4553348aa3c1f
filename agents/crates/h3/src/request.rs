//! Validation of a request's fields: required pseudo-header fields, and fields that HTTP/3 forbids (RFC 9114, 4.2 and
//! 4.3).

use crate::qpack::Fields;

/// Pseudo-header fields of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestFields<'a> {
    /// `:method`.
    pub method: &'a [u8],
    /// `:path`; `None` for an ordinary CONNECT.
    pub path: Option<&'a [u8]>,
    /// `:authority`.
    pub authority: Option<&'a [u8]>,
    /// `:protocol` of an extended CONNECT.
    pub protocol: Option<&'a [u8]>,
    /// Number of pseudo-header fields before the regular ones.
    pub pseudo_count: usize,
}

/// Validates a request's fields; `None` if it is malformed, which is an error of its stream.
pub fn request(fields: &Fields) -> Option<RequestFields<'_>> {
    let (mut method, mut scheme, mut path, mut authority, mut protocol) = (None, None, None, None, None);
    let (mut pseudo_count, mut has_host) = (0, false);
    for (position, (name, value)) in fields.iter().enumerate() {
        if name.first() != Some(&b':') {
            has_host |= name == b"host";
            if !is_regular(name, value) {
                return None;
            }
            continue;
        }
        let slot = match name {
            b":method" => &mut method,
            b":scheme" => &mut scheme,
            b":path" => &mut path,
            b":authority" => &mut authority,
            b":protocol" => &mut protocol,
            _ => return None,
        };
        // Duplicate, or after a regular field.
        if slot.replace(value).is_some() || position != pseudo_count || !is_value(value) {
            return None;
        }
        pseudo_count += 1;
    }
    let method = method.filter(|method| !method.is_empty() && method.iter().all(|byte| is_token(*byte)))?;
    if method == b"CONNECT" && protocol.is_none() {
        // Only names a host to connect to.
        let ordinary = scheme.is_none() && path.is_none() && authority.is_some_and(|authority| !authority.is_empty());
        return ordinary.then_some(RequestFields { method, path, authority, protocol, pseudo_count });
    }
    let is_http = matches!(scheme?, b"https" | b"http");
    let named = authority.is_some_and(|authority| !authority.is_empty()) || authority.is_none() && has_host;
    let right = !path?.is_empty() && (!is_http || named) && (protocol.is_none() || method == b"CONNECT");
    right.then_some(RequestFields { method, path, authority, protocol, pseudo_count })
}

/// True if a regular field is allowed.
pub fn is_regular(name: &[u8], value: &[u8]) -> bool {
    let is_name = |byte: &u8| is_token(*byte) && !byte.is_ascii_uppercase();
    if name.is_empty() || !name.iter().all(is_name) || !is_value(value) {
        return false;
    }
    match name.len() {
        2 if name == b"te" => value.trim_ascii().eq_ignore_ascii_case(b"trailers"),
        7 => name != b"upgrade",
        10 => name != b"connection" && name != b"keep-alive",
        16 => name != b"proxy-connection",
        17 => name != b"transfer-encoding",
        _ => true,
    }
}

/// Allows visible characters, blanks and bytes beyond ASCII (RFC 9110, 5.5).
fn is_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte >= b' ' && *byte != 0x7f || *byte == b'\t')
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack::{decode, encode_field, encode_prefix};

    /// `encode_field` writes names in lower case, so the test adds upper case afterwards.
    fn read(list: &[(&str, &str)]) -> Option<String> {
        let mut block = Vec::new();
        encode_prefix(&mut block);
        for (name, value) in list {
            encode_field(name.as_bytes(), value.as_bytes(), &mut block);
            if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                let start =
                    block.windows(name.len()).rposition(|text| text.eq_ignore_ascii_case(name.as_bytes())).unwrap();
                block[start..start + name.len()].copy_from_slice(name.as_bytes());
            }
        }
        let mut fields = Fields::default();
        decode(&block, 10_000, &mut fields).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        request(&fields).map(|head| {
            format!(
                "{} {} {}",
                text(head.method),
                head.path.map(text).unwrap_or_default(),
                head.authority.map(text).unwrap_or_default()
            )
        })
    }

    const GET: [(&str, &str); 4] =
        [(":method", "GET"), (":scheme", "https"), (":path", "/a"), (":authority", "a.test")];

    fn with(more: &[(&'static str, &'static str)]) -> Option<String> {
        read(&[&GET[..], more].concat())
    }

    #[test]
    fn a_request_is_what_its_pseudo_fields_say() {
        assert_eq!(with(&[("te", "trailers"), ("x", "\u{e9}\t")]).unwrap(), "GET /a a.test");
        assert_eq!(read(&[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("host", "b")]).unwrap(), "GET / ");
        assert_eq!(read(&[(":method", "CONNECT"), (":authority", "a:1")]).unwrap(), "CONNECT  a:1");
        let websocket = [&[(":method", "CONNECT"), (":protocol", "websocket")], &GET[1..]].concat();
        assert_eq!(read(&websocket).unwrap(), "CONNECT /a a.test");
    }

    #[test]
    fn what_the_rfc_forbids_is_malformed() {
        for field in GET {
            let lacking: Vec<_> = GET.into_iter().filter(|other| *other != field).collect();
            assert_eq!(read(&lacking), None, "without {}", field.0);
            assert_eq!(with(&[field]), None, "{} twice", field.0);
        }
        for field in [
            (":status", "200"),
            (":unknown", "1"),
            (":protocol", "websocket"),
            ("Upper", "1"),
            ("connection", "close"),
            ("keep-alive", "1"),
            ("proxy-connection", "1"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("te", "gzip"),
            ("a b", "1"),
            ("x", "a\r\nb: c"),
            ("x", "a\0b"),
        ] {
            assert_eq!(with(&[field]), None, "{field:?}");
        }
        assert_eq!(read(&[GET[0], GET[1], GET[2], ("x", "1"), GET[3]]), None, "a pseudo-field after another");
        assert_eq!(read(&[GET[0], GET[1], (":path", ""), GET[3]]), None);
        assert_eq!(read(&[GET[0], GET[1], GET[2], (":authority", "")]), None);
        assert_eq!(read(&[(":method", "G T"), GET[1], GET[2], GET[3]]), None);
        assert_eq!(read(&[(":method", "CONNECT"), (":authority", "a:1"), (":path", "/")]), None);
    }
}
