//! Unary gRPC calls of the load generator, over HTTP/2. A call succeeds if its HTTP status is 200, its `grpc-status` is 0 and its
//! response is one whole message.

use std::rc::Rc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use http::{HeaderMap, Request, Response as HttpResponse, StatusCode, Version};

use crate::client::{LoadTarget, Shared};
use crate::failure::{FailureKind, RequestError};
use crate::http2::{Http2, failure};
use crate::multiplexed::{Driver, Multiplexed, MultiplexedRequest};
use crate::response::Response;

/// Compressed flag and length of a message.
const PREFIX_BYTES: usize = 5;
const STATUS: &str = "grpc-status";

pub(crate) struct Grpc;

impl Multiplexed for Grpc {
    const VERSION: Version = Version::HTTP_2;
    type Sender = SendRequest<Bytes>;

    async fn connect(shared: &Shared) -> Result<(Self::Sender, Driver), RequestError> {
        Http2::connect(shared).await
    }

    async fn ready(sender: &mut Self::Sender) -> Result<(), RequestError> {
        Http2::ready(sender).await
    }

    async fn send(sender: &mut Self::Sender, request: &MultiplexedRequest) -> Result<Response, RequestError> {
        let response = Http2::begin(sender, request).await?;
        let http_status = response.status();
        let (trailers, messages) = receive(response).await?;
        Ok(Response {
            status: http_status.as_u16(),
            body_bytes: messages.received,
            closes: false,
            grpc: GrpcOutcome::of(http_status, &trailers, &messages),
        })
    }

    fn requests(destination: &LoadTarget) -> Result<Rc<[MultiplexedRequest]>, RequestError> {
        let LoadTarget { path, requests, .. } = destination;
        if requests.is_empty() {
            return Ok([call(destination, path, &[], "")?].into());
        }
        requests.iter().map(|each| call(destination, &each.path, &each.headers, &each.body)).collect()
    }
}

/// Encodes a call. `message` is in base64.
fn call(
    destination: &LoadTarget,
    path: &str,
    headers: &[(String, String)],
    message: &str,
) -> Result<MultiplexedRequest, RequestError> {
    let malformed = |error: String| RequestError::new(FailureKind::Malformed, error);
    let message = BASE64_STANDARD.decode(message);
    let message = message.map_err(|error| malformed(format!("the message of a gRPC call is not base64: {error}")))?;
    let scheme = if destination.tls.is_some() { "https" } else { "http" };
    let uri = format!("{scheme}://{}{path}", destination.authority);
    let mut head = Request::builder().method("POST").version(Grpc::VERSION).uri(uri).header("te", "trailers");
    let is_set = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    for (name, value) in [("content-type", "application/grpc"), ("user-agent", "fairlead-bench")] {
        if !is_set(name) {
            head = head.header(name, value);
        }
    }
    for (name, value) in headers {
        head = head.header(name, value);
    }
    let head = head.body(()).map_err(|error| malformed(error.to_string()))?;
    let length = u32::try_from(message.len()).map_err(|error| malformed(error.to_string()))?;
    Ok(MultiplexedRequest { head, body: [&[0], &length.to_be_bytes()[..], &message].concat().into() })
}

/// Reads a response to its end. A response without a body has its trailers in the head.
async fn receive(response: HttpResponse<RecvStream>) -> Result<(HeaderMap, GrpcMessageCounter), RequestError> {
    let (head, mut body) = response.into_parts();
    let mut messages = GrpcMessageCounter::default();
    while let Some(data) = body.data().await {
        let data = data.map_err(failure)?;
        messages.read(&data);
        body.flow_control().release_capacity(data.len()).map_err(failure)?;
    }
    let trailers = body.trailers().await.map_err(failure)?;
    Ok((trailers.unwrap_or(head.headers), messages))
}

/// Outcome of a call with an HTTP status of 2xx.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrpcOutcome {
    /// Status 0 with one whole message.
    Ok,
    /// Status other than 0.
    Status(u32),
    /// The response has no status, or one that is no number.
    NoStatus,
    /// Status 0 without exactly one whole message.
    NoMessage,
    /// HTTP status of 2xx other than 200.
    HttpStatus(u16),
}

impl GrpcOutcome {
    /// Returns `None` for an HTTP status that is a failure by itself: an error response of a proxy may have no gRPC status.
    fn of(http_status: StatusCode, trailers: &HeaderMap, messages: &GrpcMessageCounter) -> Option<Self> {
        if http_status != StatusCode::OK {
            return http_status.is_success().then(|| Self::HttpStatus(http_status.as_u16()));
        }
        let status = trailers.get(STATUS).and_then(|value| value.to_str().ok());
        Some(match status.and_then(|text| text.parse().ok()) {
            None => Self::NoStatus,
            Some(0) if messages.is_one() => Self::Ok,
            Some(0) => Self::NoMessage,
            Some(status) => Self::Status(status),
        })
    }

    /// Returns its failure, with a sentence; `None` for a success.
    pub(crate) fn failure(self) -> Option<(FailureKind, String)> {
        match self {
            Self::Ok => None,
            Self::Status(status) => Some((FailureKind::GrpcStatus, format!("it answered with gRPC status {status}"))),
            Self::NoStatus => Some((FailureKind::GrpcStatus, "it answered without a gRPC status".to_owned())),
            Self::NoMessage => {
                Some((FailureKind::Malformed, "it answered with gRPC status 0, but not with one message".to_owned()))
            }
            Self::HttpStatus(status) => {
                Some((FailureKind::Malformed, format!("it answered with HTTP status {status} instead of 200")))
            }
        }
    }
}

/// Counts the messages in a body that arrives in pieces.
#[derive(Debug, Default)]
struct GrpcMessageCounter {
    /// Bytes of the body.
    received: u64,
    /// Messages that have begun.
    begun: u64,
    /// Read bytes of a prefix, which may arrive in pieces.
    prefix: Vec<u8>,
    /// Bytes of the last message that are still to come.
    left: u64,
}

impl GrpcMessageCounter {
    fn read(&mut self, mut data: &[u8]) {
        self.received += data.len() as u64;
        while !data.is_empty() {
            if self.left > 0 {
                let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(data.len());
                data = &data[taken..];
                self.left -= taken as u64;
                continue;
            }
            let taken = (PREFIX_BYTES - self.prefix.len()).min(data.len());
            self.prefix.extend_from_slice(&data[..taken]);
            data = &data[taken..];
            if let [_, length @ ..] = self.prefix.as_slice()
                && let Ok(length) = length.try_into()
            {
                self.left = u32::from_be_bytes(length).into();
                self.begun += 1;
                self.prefix.clear();
            }
        }
    }

    fn is_one(&self) -> bool {
        self.begun == 1 && self.left == 0 && self.prefix.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8], piece: usize) -> GrpcMessageCounter {
        let mut messages = GrpcMessageCounter::default();
        body.chunks(piece).for_each(|data| messages.read(data));
        messages
    }

    #[test]
    fn messages_are_counted_however_their_bytes_arrive() {
        let one = [&[0, 0, 0, 1, 4], [b'x'; 260].as_slice()].concat();
        let (empty, two) = ([0; 5], [one.as_slice(), &[0; 5]].concat());
        for piece in [1, 2, 4, 5, 6, 7, 300] {
            assert!(read(&one, piece).is_one() && read(&empty, piece).is_one(), "pieces of {piece}");
            for wrong in [&[][..], &one[..one.len() - 1], &one[..3], &two, &[one.as_slice(), &[0]].concat()] {
                assert!(!read(wrong, piece).is_one(), "{} bytes in pieces of {piece}", wrong.len());
            }
        }
        assert_eq!(read(&two, 7).received, 270);
    }

    #[test]
    fn only_http_status_200_and_status_0_with_a_message_are_a_success() {
        let answer = |http_status: u16, status: Option<&'static str>, body: &[u8]| {
            let fields = status.map(|status| (http::HeaderName::from_static(STATUS), status.parse().unwrap()));
            let http = StatusCode::from_u16(http_status).unwrap();
            let grpc = GrpcOutcome::of(http, &fields.into_iter().collect(), &read(body, 9));
            Response { grpc, ..Response::new(http_status, 0) }.failure().map(|(kind, _)| kind)
        };
        let outcome = |status, body: &[u8]| answer(200, status, body);
        for http_status in [201, 204, 299] {
            assert_eq!(answer(http_status, Some("0"), &[0; 5]), Some(FailureKind::Malformed), "{http_status}");
        }
        assert_eq!(answer(302, Some("0"), &[0; 5]), Some(FailureKind::Redirect));
        assert_eq!(answer(503, None, &[]), Some(FailureKind::ServerStatus));
        assert_eq!(outcome(Some("0"), &[0; 5]), None);
        assert_eq!(outcome(Some("0"), &[]), Some(FailureKind::Malformed));
        for status in [Some("14"), Some(""), Some("ok"), None] {
            assert_eq!(outcome(status, &[0; 5]), Some(FailureKind::GrpcStatus), "{status:?}");
        }
    }
}
