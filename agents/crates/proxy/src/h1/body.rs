//! Decoder for bodies of HTTP/1.1 messages: finds their data and their end.

use fairlead_route::{RequestBody, ResponseBody};

use super::chunked::{ChunkError, Chunked};

/// A body that is being read.
#[derive(Debug)]
pub(crate) enum BodyDecoder {
    /// The body has ended, or there is none.
    Ended,
    /// Number of bytes left.
    Length(u64),
    /// Chunked coding, not at its end.
    Chunked(Box<Chunked>),
    /// Body that ends when the peer closes; also an upgraded connection.
    UntilClose,
}

/// Result of one decoding step.
#[derive(Debug)]
pub(crate) struct DecodedPart<'a> {
    /// Number of input bytes consumed.
    pub(crate) consumed: usize,
    /// Body data in the consumed bytes.
    pub(crate) data: &'a [u8],
    /// Trailer lines; set if the body ends here.
    pub(crate) end: Option<Vec<u8>>,
}

impl BodyDecoder {
    pub(crate) fn of_request(body: RequestBody) -> Self {
        match body {
            RequestBody::None | RequestBody::Length(0) => Self::Ended,
            RequestBody::Length(length) => Self::Length(length),
            RequestBody::Chunked => Self::Chunked(Box::new(Chunked::new())),
        }
    }

    pub(crate) fn of_response(body: ResponseBody) -> Self {
        match body {
            ResponseBody::None | ResponseBody::Length(0) => Self::Ended,
            ResponseBody::Length(length) => Self::Length(length),
            ResponseBody::Chunked => Self::Chunked(Box::new(Chunked::new())),
            ResponseBody::UntilClose => Self::UntilClose,
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self, Self::Ended)
    }

    /// Decodes as much of `input` as possible. Bytes after the body are not consumed.
    pub(crate) fn decode<'a>(&mut self, input: &'a [u8]) -> Result<DecodedPart<'a>, ChunkError> {
        match self {
            Self::Ended => Ok(DecodedPart { consumed: 0, data: &[], end: None }),
            Self::UntilClose => Ok(DecodedPart { consumed: input.len(), data: input, end: None }),
            Self::Length(remaining) => {
                let length = usize::try_from(*remaining).unwrap_or(usize::MAX).min(input.len());
                *remaining -= length as u64;
                let ended = *remaining == 0;
                if ended {
                    *self = Self::Ended;
                }
                Ok(DecodedPart { consumed: length, data: &input[..length], end: ended.then(Vec::new) })
            }
            Self::Chunked(chunked) => {
                let (consumed, data, done) = chunked.decode(input)?;
                let end = if done { Some(chunked.forwardable_trailers()?) } else { None };
                if done {
                    *self = Self::Ended;
                }
                Ok(DecodedPart { consumed, data, end })
            }
        }
    }
}
