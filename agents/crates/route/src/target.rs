//! Request target (RFC 9112, 3.2): origin form, absolute form, or `*` with OPTIONS.

use crate::{Authority, Malformed};

/// Request target after parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTarget<'a> {
    /// Path and query as forwarded; starts with `/`, or is `*`.
    pub path_and_query: &'a [u8],
    /// Authority of the absolute form; must agree with Host.
    pub authority: Option<Authority<'a>>,
}

impl<'a> RequestTarget<'a> {
    /// Parses a target. Refuses fragments, bytes outside of visible ASCII and CONNECT's authority form.
    pub fn parse(method: &[u8], raw: &'a [u8]) -> Result<Self, Malformed> {
        if method == b"CONNECT" {
            return Err(Malformed::Method);
        }
        let visible = raw.iter().fold(true, |fine, byte| fine & matches!(byte, 0x21..=0x7e) & (*byte != b'#'));
        if raw.is_empty() || !visible {
            return Err(Malformed::Target);
        }
        match raw {
            [b'/', ..] => Ok(Self { path_and_query: raw, authority: None }),
            b"*" if method == b"OPTIONS" => Ok(Self { path_and_query: raw, authority: None }),
            _ => Self::absolute(raw),
        }
    }

    fn absolute(raw: &'a [u8]) -> Result<Self, Malformed> {
        let scheme_end = memchr::memmem::find(raw, b"://").ok_or(Malformed::Target)?;
        let (scheme, rest) = (&raw[..scheme_end], &raw[scheme_end + 3..]);
        if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
            return Err(Malformed::Target);
        }
        let path_start = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
        let (authority, path_and_query) = rest.split_at(path_start);
        let path_and_query = match path_and_query {
            [] => b"/",
            [b'/', ..] => path_and_query,
            // `http://host?query` has an empty path, which can't be written in origin form.
            _ => return Err(Malformed::Target),
        };
        Ok(Self { path_and_query, authority: Some(Authority::parse(authority)?) })
    }

    /// Returns the path without the query.
    pub fn path(&self) -> &'a [u8] {
        let end = memchr::memchr(b'?', self.path_and_query).unwrap_or(self.path_and_query.len());
        &self.path_and_query[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_absolute_form_becomes_origin_form() {
        let target = RequestTarget::parse(b"GET", b"http://Example.com:80/a?b").unwrap();
        assert_eq!((target.path_and_query, target.path()), (&b"/a?b"[..], &b"/a"[..]));
        assert_eq!(target.authority.unwrap().text, b"Example.com:80");
        assert_eq!(RequestTarget::parse(b"GET", b"https://a").unwrap().path_and_query, b"/");
        assert_eq!(RequestTarget::parse(b"OPTIONS", b"*").unwrap().path_and_query, b"*");
    }

    #[test]
    fn other_targets_are_refused() {
        for (method, raw) in [
            ("GET", "*"),
            ("GET", ""),
            ("GET", "a/b"),
            ("GET", "/a#b"),
            ("GET", "/a b"),
            ("GET", "/\u{e9}"),
            ("GET", "ftp://a/"),
            ("GET", "http://u@a/"),
            ("GET", "http:///a"),
        ] {
            assert!(RequestTarget::parse(method.as_bytes(), raw.as_bytes()).is_err(), "{method} {raw:?}");
        }
        assert_eq!(RequestTarget::parse(b"CONNECT", b"a:443"), Err(Malformed::Method));
    }
}
