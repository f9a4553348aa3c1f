//! Content coding negotiation (RFC 9110, 12.5.3), and rules for which responses to compress.

use crate::ResponseBody;

/// Shorter bodies fit into the packets that are sent anyway.
const BODY_BYTES_MIN: u64 = 1024;

/// Content coding that the proxy can produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Zstandard (RFC 8878): the least work for its size.
    Zstd,
    /// Brotli (RFC 7932).
    Brotli,
    /// gzip (RFC 1952), which every client accepts.
    Gzip,
}

/// Codings by the proxy's preference.
const CODINGS: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

impl Coding {
    /// Returns its name in Content-Encoding.
    pub fn token(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    fn is_named(self, name: &[u8]) -> bool {
        let name = if name.eq_ignore_ascii_case(b"x-gzip") { &b"gzip"[..] } else { name };
        name.eq_ignore_ascii_case(self.token().as_bytes())
    }
}

/// Returns the coding that the Accept-Encoding fields prefer; `None` if the body is better left as it is. Ignores parts
/// that are malformed.
pub fn negotiate<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Option<Coding> {
    negotiate_among(&CODINGS, fields)
}

/// Like [`negotiate`], for a body that exists in these codings only. Picks the first of those that the client likes
/// equally.
pub fn negotiate_among<'a>(offered: &[Coding], fields: impl Iterator<Item = &'a [u8]>) -> Option<Coding> {
    // Weights in thousandths; the first mention of a coding counts.
    let mut weights: [Option<u16>; CODINGS.len()] = [None; CODINGS.len()];
    let (mut others, mut identity) = (None, None);
    for part in fields.flat_map(|field| field.split(|byte| *byte == b',')) {
        let Some((name, weight)) = weighted(part) else { continue };
        if name == b"*" {
            others = others.or(Some(weight));
        } else if name.eq_ignore_ascii_case(b"identity") {
            identity = identity.or(Some(weight));
        } else if let Some(coding) = CODINGS.into_iter().find(|coding| coding.is_named(name)) {
            weights[coding as usize] = weights[coding as usize].or(Some(weight));
        }
    }
    let mut best = (0, None);
    for coding in offered {
        let weight = weights[*coding as usize].or(others).unwrap_or(0);
        if weight > best.0 {
            best = (weight, Some(*coding));
        }
    }
    best.1.filter(|_| identity.is_none_or(|identity| identity <= best.0))
}

/// Parses `name;q=0.5` to the name and thousandths.
fn weighted(part: &[u8]) -> Option<(&[u8], u16)> {
    let mut pieces = part.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let name = pieces.next().filter(|name| !name.is_empty())?;
    let Some(parameter) = pieces.next() else { return Some((name, 1000)) };
    let value = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="))?;
    let (whole, digits) = match value {
        [whole] => (whole, &[][..]),
        [whole, b'.', digits @ ..] if digits.len() <= 3 => (whole, digits),
        _ => return None,
    };
    let mut weight = match whole {
        b'0' => 0,
        b'1' => 1000,
        _ => return None,
    };
    for (digit, unit) in digits.iter().zip([100, 10, 1]) {
        weight += u16::from(digit.checked_sub(b'0').filter(|digit| *digit <= 9)?) * unit;
    }
    (weight <= 1000 && pieces.next().is_none()).then_some((name, weight))
}

/// True if compression helps a response: text of some length that is complete, not yet compressed, and without
/// `no-transform`.
pub fn is_compressible<'a>(
    status: u16,
    body: ResponseBody,
    headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> bool {
    let long_enough = match body {
        ResponseBody::None => false,
        ResponseBody::Length(length) => length >= BODY_BYTES_MIN,
        ResponseBody::Chunked | ResponseBody::UntilClose => true,
    };
    if !long_enough || status < 200 || status == 206 {
        return false;
    }
    let mut is_text = false;
    for (name, value) in headers {
        if name.eq_ignore_ascii_case(b"content-type") {
            is_text = is_text_like(value);
        } else if name.eq_ignore_ascii_case(b"content-encoding") && !value.eq_ignore_ascii_case(b"identity")
            || name.eq_ignore_ascii_case(b"content-range")
            || name.eq_ignore_ascii_case(b"cache-control") && has_token(value, b"no-transform")
        {
            return false;
        }
    }
    is_text
}

/// True if a list contains a token, ignoring case.
pub fn has_token(list: &[u8], token: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

fn is_text_like(content_type: &[u8]) -> bool {
    let end = memchr::memchr(b';', content_type).unwrap_or(content_type.len());
    let kind = content_type[..end].trim_ascii().to_ascii_lowercase();
    let Some(slash) = memchr::memchr(b'/', &kind) else { return false };
    let (main, sub) = (&kind[..slash], &kind[slash + 1..]);
    match main {
        b"text" => true,
        b"application" => {
            matches!(
                sub,
                b"json"
                    | b"javascript"
                    | b"x-javascript"
                    | b"xml"
                    | b"wasm"
                    | b"x-ndjson"
                    | b"manifest+json"
                    | b"graphql"
            ) || sub.ends_with(b"+json")
                || sub.ends_with(b"+xml")
        }
        b"image" => matches!(sub, b"svg+xml" | b"bmp" | b"x-icon" | b"vnd.microsoft.icon"),
        b"font" => matches!(sub, b"ttf" | b"otf"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn best(field: &str) -> Option<Coding> {
        negotiate(std::iter::once(field.as_bytes()))
    }

    #[test]
    fn what_browsers_send_gets_the_best_they_take() {
        assert_eq!(best("gzip, deflate, br, zstd"), Some(Coding::Zstd));
        assert_eq!(best("gzip, deflate, br"), Some(Coding::Brotli));
        assert_eq!(best("gzip"), Some(Coding::Gzip));
        assert_eq!(best("x-gzip"), Some(Coding::Gzip));
        assert_eq!(best("*"), Some(Coding::Zstd));
        assert_eq!(negotiate([&b"deflate"[..], b"GZIP;q=0.1"].into_iter()), Some(Coding::Gzip));
    }

    #[test]
    fn weights_and_refusals_are_kept() {
        assert_eq!(best("br;q=0.5, gzip;q=0.9"), Some(Coding::Gzip));
        assert_eq!(best("*;q=0.5, zstd;q=0"), Some(Coding::Brotli));
        assert_eq!(best("gzip;q=0.5, identity"), None);
        for field in [
            "",
            "identity",
            "gzip;q=0",
            "*;q=0",
            "deflate",
            "gzip;q=2",
            "gzip;q=0.1234",
            "gzip;level=1",
            ";q=1",
            "gzip;q=1;q=1",
        ] {
            assert_eq!(best(field), None, "{field}");
        }
    }

    #[test]
    fn only_what_is_offered_is_chosen_and_the_first_of_equals() {
        let best =
            |offered: &[Coding], field: &'static str| negotiate_among(offered, std::iter::once(field.as_bytes()));
        let all = [Coding::Brotli, Coding::Zstd, Coding::Gzip];
        assert_eq!(best(&all, "gzip, deflate, br, zstd"), Some(Coding::Brotli));
        assert_eq!(best(&all, "br;q=0.1, zstd;q=0.2"), Some(Coding::Zstd));
        assert_eq!(best(&all[2..], "gzip;q=0.1, br, zstd"), Some(Coding::Gzip));
        assert_eq!(best(&all[2..], "br, zstd"), None);
        assert_eq!(best(&[], "*"), None);
    }

    #[test]
    fn only_what_gets_smaller_is_compressed() {
        let with = |status, body, headers: &[(&'static str, &'static str)]| {
            is_compressible(status, body, headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
        };
        let html = ("Content-Type", "text/html; charset=utf-8");
        let long = ResponseBody::Length(1024);
        assert!(with(200, long, &[html]) && with(404, ResponseBody::Chunked, &[html]));
        assert!(with(200, long, &[("content-type", "Application/Problem+JSON")]));
        assert!(with(200, ResponseBody::Chunked, &[("content-type", "text/event-stream")]));
        assert!(with(200, long, &[html, ("content-encoding", "identity")]));
        for (status, body, headers) in [
            (200, ResponseBody::Length(1023), &[html][..]),
            (200, ResponseBody::None, &[html]),
            (206, long, &[html]),
            (200, long, &[html, ("content-range", "bytes 0-1/2")]),
            (200, long, &[html, ("content-encoding", "br")]),
            (200, long, &[html, ("cache-control", "public, No-Transform")]),
            (200, long, &[("content-type", "image/png")]),
            (200, long, &[("content-type", "application/grpc+proto")]),
            (200, long, &[("content-type", "text")]),
            (200, long, &[]),
        ] {
            assert!(!with(status, body, headers), "{status} {headers:?}");
        }
    }

    /// Simple model: each coding's weight by the RFC's rules, then the greatest.
    fn model(parts: &[(String, u16)]) -> Option<Coding> {
        let weight = |name: &str| parts.iter().find(|(other, _)| other == name).map(|(_, weight)| *weight);
        let of = |coding: Coding| weight(coding.token()).or(weight("*")).unwrap_or(0);
        let most =
            CODINGS.into_iter().map(of).max().filter(|most| *most > 0 && weight("identity").unwrap_or(0) <= *most)?;
        CODINGS.into_iter().find(|coding| of(*coding) == most)
    }

    proptest! {
        #[test]
        fn the_choice_is_the_models(parts in proptest::collection::vec(("(gzip|br|zstd|identity|deflate|\\*)", 0u16..=1000), 0..6)) {
            let field: Vec<_> = parts.iter().map(|(name, q)| format!("{name} ; q={}.{:03}", q / 1000, q % 1000)).collect();
            prop_assert_eq!(best(&field.join(" , ")), model(&parts));
        }

        #[test]
        fn nothing_breaks_it(field in proptest::collection::vec(any::<u8>(), 0..60)) {
            let choice = negotiate(std::iter::once(field.as_slice()));
            prop_assert!(choice.is_none() || !field.is_empty());
        }
    }
}
