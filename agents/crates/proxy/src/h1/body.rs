//! Bodies of HTTP/1.1 messages as they are read: where they end and which bytes are data.

use fairlead_route::{RequestBody, ResponseBody};

use super::chunked::{ChunkError, Chunked};

/// A body that is being read.
#[derive(Debug)]
pub(crate) enum Body {
    /// Ended, or none.
    Ended,
    /// This many bytes to come.
    Length(u64),
    /// Chunks to come.
    Chunked(Box<Chunked>),
    /// Everything until the peer closes; also an upgraded connection.
    UntilClose,
}

/// One step of reading.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    /// Bytes of the input that are done with.
    pub(crate) consumed: usize,
    /// Data among them.
    pub(crate) data: &'a [u8],
    /// Set when the body ends here: its trailer lines.
    pub(crate) end: Option<Vec<u8>>,
}

impl Body {
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

    /// Takes what it can of `input`. Nothing of what follows the body is consumed.
    pub(crate) fn decode<'a>(&mut self, input: &'a [u8]) -> Result<Decoded<'a>, ChunkError> {
        match self {
            Self::Ended => Ok(Decoded { consumed: 0, data: &[], end: None }),
            Self::UntilClose => Ok(Decoded { consumed: input.len(), data: input, end: None }),
            Self::Length(remaining) => {
                let length = usize::try_from(*remaining).unwrap_or(usize::MAX).min(input.len());
                *remaining -= length as u64;
                let ended = *remaining == 0;
                if ended {
                    *self = Self::Ended;
                }
                Ok(Decoded { consumed: length, data: &input[..length], end: ended.then(Vec::new) })
            }
            Self::Chunked(chunked) => {
                let (consumed, data, done) = chunked.decode(input)?;
                let end = if done { Some(chunked.forwardable_trailers()?) } else { None };
                if done {
                    *self = Self::Ended;
                }
                Ok(Decoded { consumed, data, end })
            }
        }
    }
}
