//! HTTP/2 request head, converted from the HTTP/1.1 head that every exchange has. The header rules were already
//! applied to that head.

use h2::ext::Protocol;
use http::header::{CONNECTION, HOST, SEC_WEBSOCKET_KEY, TRANSFER_ENCODING, UPGRADE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use httparse::EMPTY_HEADER;

use crate::limits::HEADERS_MAX;
use crate::websocket;

/// Maximum number of fields that the proxy adds to those of the client.
const ADDED_MAX: usize = 64;

/// Converts `head`; `None` if it is invalid, which a head of this proxy never is.
pub(crate) fn request(head: &[u8], secure: bool) -> Option<Request<()>> {
    let mut slots = [EMPTY_HEADER; HEADERS_MAX + ADDED_MAX];
    let mut parsed = httparse::Request::new(&mut slots);
    parsed.parse(head).ok()?;
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(parsed.method?.as_bytes()).ok()?;
    let mut authority = None;
    let headers = request.headers_mut();
    headers.reserve(parsed.headers.len());
    for field in parsed.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(field.value.trim_ascii()).ok()?;
        match name {
            HOST => authority = Some(Authority::try_from(value.as_bytes()).ok()?),
            // Connection-specific fields of HTTP/1.1 (RFC 9113, 8.2.2).
            CONNECTION | TRANSFER_ENCODING | UPGRADE => {}
            name => {
                headers.append(name, value);
            }
        }
    }
    let mut uri = Uri::default().into_parts();
    uri.scheme = Some(if secure { Scheme::HTTPS } else { Scheme::HTTP });
    uri.authority = authority;
    uri.path_and_query = Some(path_and_query(parsed.path?)?);
    *request.uri_mut() = Uri::from_parts(uri).ok()?;
    Some(request)
}

/// Converts a WebSocket request to extended CONNECT (RFC 8441); returns the accept value for its key, or `None`
/// without a key.
pub(crate) fn as_tunnel(request: &mut Request<()>) -> Option<String> {
    let key = request.headers_mut().remove(SEC_WEBSOCKET_KEY)?;
    *request.method_mut() = Method::CONNECT;
    request.extensions_mut().insert(Protocol::from_static("websocket"));
    Some(websocket::accept(key.as_bytes()))
}

/// Three characters that HTTP/1.1 clients send and no URI has are encoded, as they should have been (RFC 3986, 2.4).
fn path_and_query(path: &str) -> Option<PathAndQuery> {
    if !path.bytes().any(|byte| matches!(byte, b'<' | b'>' | b'`')) {
        return PathAndQuery::try_from(path).ok();
    }
    PathAndQuery::try_from(path.replace('<', "%3C").replace('>', "%3E").replace('`', "%60")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_http_1_stays_there() {
        let head = "POST /a?b=<1> HTTP/1.1\r\nhost: a.test:8080\r\nAccept: */*\r\nx-request-id: 7\r\ntransfer-encoding: chunked\r\n\
                    connection: te\r\nte: trailers\r\n\r\n";
        let request = request(head.as_bytes(), true).unwrap();
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "https://a.test:8080/a?b=%3C1%3E");
        let names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["accept", "x-request-id", "te"]);
    }

    #[test]
    fn the_asterisk_form_is_a_path() {
        let request = request(b"OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", false).unwrap();
        assert_eq!((request.uri().path(), request.uri().scheme_str()), ("*", Some("http")));
    }
}
