//! Response compression: negotiates the coding and rewrites the fields of the head.

use fairlead_route::{Coding, ResponseBody, has_token, is_compressible, negotiate};

use super::downstream::Recoding;
use super::{Downstream, Edit, Exchange, RelayError, ResponseView};
use crate::compress::Compressor;
use crate::h1::fields;

/// Sends the head; returns the compressor for its body, if any.
pub(super) fn head<D: Downstream>(
    exchange: &Exchange,
    downstream: &mut D,
    view: &ResponseView<'_>,
) -> Result<Option<Compressor>, RelayError> {
    // A header rule for content-encoding takes precedence.
    let is_ruled = view.edit.rules.is_some_and(|rules| rules.names(b"content-encoding"));
    if exchange.is_head || is_ruled || !is_compressible(view.status, view.facts.body, fields(view.headers)) {
        downstream.head(view)?;
        return Ok(None);
    }
    let compressor = accepted(&exchange.head).and_then(|coding| Some((coding, Compressor::new(coding)?)));
    let value = |name: &'static [u8]| {
        fields(view.headers).filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let strong_etag = value(b"etag").next().filter(|etag| compressor.is_some() && !etag.starts_with(b"W/"));
    let weak_etag = strong_etag.map(|etag| [b"W/", etag].concat());
    let varies = !value(b"vary").any(|vary| has_token(vary, b"accept-encoding") || has_token(vary, b"*"));
    let coding = compressor.as_ref().map(|(coding, _)| *coding);
    let recoding = Recoding { coding, varies, weak_etag: weak_etag.as_deref() };
    let edit = Edit { recoding: Some(recoding), ..view.edit };
    let mut facts = *view.facts;
    if coding.is_some() {
        facts.body = ResponseBody::Chunked;
        facts.content_length = None;
    }
    downstream.head(&ResponseView { facts: &facts, edit, ..*view })?;
    Ok(compressor.map(|(_, compressor)| compressor))
}

/// Negotiates the coding from the Accept-Encoding fields of the forwarded head.
fn accepted(head: &[u8]) -> Option<Coding> {
    let lines = head.split(|byte| *byte == b'\n');
    negotiate(lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        line[..colon].eq_ignore_ascii_case(b"accept-encoding").then(|| line[colon + 1..].trim_ascii())
    }))
}
