//! Message framing: the only code that decides the length of a body, because request smuggling exploits disagreements
//! about it.

use crate::Malformed;

/// Body of a request by its framing headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestBody {
    /// No body: neither a length nor a coding.
    None,
    /// Body of exactly this many bytes.
    Length(u64),
    /// Chunks until the last one.
    Chunked,
}

/// Body of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseBody {
    /// No body, regardless of the headers: HEAD, 1xx, 204, 304.
    None,
    /// Body of exactly this many bytes.
    Length(u64),
    /// Chunks until the last one.
    Chunked,
    /// All bytes until the peer closes the connection.
    UntilClose,
}

/// Parses a Content-Length: 1 to 19 digits, no sign, no list, no space.
pub fn content_length(value: &[u8]) -> Option<u64> {
    // 19 nines fit into u64, so no arithmetic can overflow.
    if value.is_empty() || value.len() > 19 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(value.iter().fold(0, |length, digit| length * 10 + u64::from(digit - b'0')))
}

/// Framing headers of one head, before a decision.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FramingHeaders {
    pub(crate) length: Option<u64>,
    pub(crate) chunked: bool,
}

impl FramingHeaders {
    pub(crate) fn see_content_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        // Equal duplicates may be merged (RFC 9110, 8.6), but no honest client sends them.
        if self.length.is_some() {
            return Err(Malformed::ContentLength);
        }
        self.length = Some(content_length(value).ok_or(Malformed::ContentLength)?);
        Ok(())
    }

    pub(crate) fn see_transfer_encoding(&mut self, value: &[u8]) -> Result<(), Malformed> {
        if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Malformed::TransferEncoding);
        }
        self.chunked = true;
        Ok(())
    }

    /// Returns the request's body. Refuses a request with both headers: RFC 9112, 6.3 describes it as a mark of an
    /// attack.
    pub(crate) fn request(self, is_http_1_1: bool) -> Result<RequestBody, Malformed> {
        match (self.chunked, self.length) {
            (true, Some(_)) => Err(Malformed::Framing),
            (true, None) if !is_http_1_1 => Err(Malformed::Framing),
            (true, None) => Ok(RequestBody::Chunked),
            (false, Some(length)) => Ok(RequestBody::Length(length)),
            (false, None) => Ok(RequestBody::None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_digits_are_a_length() {
        assert_eq!(content_length(b"0"), Some(0));
        assert_eq!(content_length(b"9999999999999999999"), Some(9_999_999_999_999_999_999));
        for value in ["", "+1", "-1", " 1", "1 ", "1,1", "0x10", "1.0", "00000000000000000001", "١"] {
            assert_eq!(content_length(value.as_bytes()), None, "{value:?}");
        }
    }
}
