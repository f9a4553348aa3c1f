//! Fuzz targets of heads: the proxy never accepts what a strict reader would not, and reads its own output as the same
//! message.

use fairlead_route::{
    Client, DownstreamBody, RequestEdit, RequestFacts, ResponseBody, ResponseFacts, encode_request, encode_response,
};

use crate::h1::head::{fields, header_slots, parse_request, parse_response};
use crate::limits::Limits;
use crate::reference;

/// Larger inputs may exceed the limits of the second reading, because the proxy adds fields.
const INPUT_BYTES_MAX: usize = 8 * 1024;
const FIELDS_MAX: usize = 90;

pub fn request_head(data: &[u8]) {
    if data.len() > INPUT_BYTES_MAX {
        return;
    }
    let limits = Limits::default();
    let mut slots = header_slots();
    let Ok(Some(head)) = parse_request(data, &mut slots, &limits) else { return };
    let (method, target, version, expected, length) = reference::request(data).expect("a strict reader refuses it");
    assert_eq!((head.line.method, head.length), (&method[..], length));
    let read: Vec<_> = fields(head.headers).map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    assert_eq!(read, expected);
    assert!(target.ends_with(head.line.target.path_and_query) || head.line.target.path_and_query == b"/");
    let mut shorter = header_slots();
    let begun = parse_request(&data[..length - 1], &mut shorter, &limits);
    assert!(matches!(begun, Ok(None) | Err(_)), "a head without its end is whole");

    let Ok(facts) = RequestFacts::gather(&head.line, fields(head.headers)) else { return };
    if head.headers.len() > FIELDS_MAX {
        return;
    }
    let client = Client::new("192.0.2.7".parse().unwrap(), true);
    let edit = RequestEdit::default();
    let mut sent = Vec::new();
    encode_request(&head.line, &facts, || fields(head.headers), &client, b"id", &edit, &mut sent);

    let (_, sent_target, sent_version, sent_fields, sent_length) = reference::request(&sent).expect("no strict request");
    assert_eq!((sent_length, &sent_version[..]), (sent.len(), &b"HTTP/1.1"[..]));
    assert_eq!(sent_target, head.line.target.path_and_query);
    assert!(sent_target.starts_with(b"/") || sent_target == b"*");
    let count = |name: &[u8]| sent_fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count();
    assert_eq!(count(b"host"), 1);
    assert!(count(b"content-length") + count(b"transfer-encoding") <= 1, "ambiguous framing is sent on");
    for ours in ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "x-request-id"] {
        assert_eq!(count(ours.as_bytes()), 1, "{ours}");
    }
    if version == b"HTTP/1.0" {
        assert_eq!(count(b"transfer-encoding") + count(b"expect"), 0);
    }

    let mut slots = header_slots();
    let again = parse_request(&sent, &mut slots, &limits).expect("we refuse what we send").expect("it has no end");
    let facts = RequestFacts::gather(&again.line, fields(again.headers)).expect("we refuse what we send");
    let mut sent_again = Vec::new();
    encode_request(&again.line, &facts, || fields(again.headers), &client, b"id", &edit, &mut sent_again);
    assert_eq!(String::from_utf8_lossy(&sent_again), String::from_utf8_lossy(&sent));
}

/// Fuzzes response heads; the first byte decides if it responds to HEAD.
pub fn response_head(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    if data.len() > INPUT_BYTES_MAX {
        return;
    }
    let (limits, to_head) = (Limits::default(), first % 2 == 1);
    let mut slots = header_slots();
    let Ok(Some(head)) = parse_response(data, &mut slots, &limits) else { return };
    assert!((100..=999).contains(&head.status));
    let headers = || fields(head.headers);
    let Ok(facts) = ResponseFacts::gather(head.status, head.is_http_1_1, to_head, headers()) else { return };
    if head.headers.len() > FIELDS_MAX {
        return;
    }
    let sent_on = |(name, _): &(&[u8], &[u8])| facts.forwards(name);
    let framing = match facts.body {
        ResponseBody::None => DownstreamBody::None(facts.content_length),
        ResponseBody::Length(length) => DownstreamBody::Length(length),
        ResponseBody::Chunked | ResponseBody::UntilClose => DownstreamBody::Chunked,
    };
    let mut sent = Vec::new();
    encode_response(head.status, head.reason, &facts, headers().filter(sent_on), framing, None, &mut sent);

    let mut slots = header_slots();
    let again = parse_response(&sent, &mut slots, &limits).expect("we refuse what we send").expect("it has no end");
    assert_eq!((again.length, again.status, again.reason), (sent.len(), head.status, head.reason));
    let body = match facts.body {
        ResponseBody::UntilClose => ResponseBody::Chunked,
        body => body,
    };
    let read = ResponseFacts::gather(again.status, true, to_head, fields(again.headers)).expect("ambiguous framing");
    assert_eq!(read.body, body);
    let has = |name: &[u8]| fields(again.headers).any(|(other, _)| other.eq_ignore_ascii_case(name));
    assert!(!(has(b"content-length") && has(b"transfer-encoding")));
    for hop in ["keep-alive", "proxy-authenticate", "te"] {
        assert!(!has(hop.as_bytes()), "{hop} is of the other hop");
    }
}
