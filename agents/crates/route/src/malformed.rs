//! Reasons to reject a request as malformed. Each reason has one status; the proxy closes a connection that sent one.

/// Reason to reject a request as malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not HTTP/1.x, or a forbidden byte (bare CR or LF, NUL, a space before a colon, a folded line).
    #[error("the request is not valid HTTP")]
    Syntax,
    /// HTTP/1.x with a version other than 1.0 and 1.1.
    #[error("this HTTP version is not supported")]
    Version,
    /// No Host, more than one, or an invalid one.
    #[error("the request has no single valid Host")]
    Host,
    /// The target names another host than the Host header. RFC 9112, 3.2.2 lets a proxy choose; we refuse.
    #[error("the request's target and its Host differ")]
    HostMismatch,
    /// Content-Length that is not a plain number, or several.
    #[error("the request's Content-Length is not valid")]
    ContentLength,
    /// Content-Length beside Transfer-Encoding, or Transfer-Encoding in HTTP/1.0 (RFC 9112, 6.1 and 6.3).
    #[error("the request's framing is ambiguous")]
    Framing,
    /// A transfer coding other than a single `chunked`.
    #[error("this transfer coding is not supported")]
    TransferEncoding,
    /// Connection lists more names than any client needs.
    #[error("the Connection header is too long")]
    Connection,
    /// The target is not a path, nor an absolute URI, nor `*` with OPTIONS.
    #[error("the request's target is not valid")]
    Target,
    /// CONNECT, which only a forward proxy serves.
    #[error("this method is not supported here")]
    Method,
    /// Expect with anything but 100-continue.
    #[error("this expectation can't be met")]
    Expectation,
    /// The request line is longer than the limit.
    #[error("the request's target is too long")]
    TargetTooLong,
    /// The head is longer or has more fields than the limit.
    #[error("the request's headers are too large")]
    HeadTooLarge,
    /// The chunked body is not valid.
    #[error("the request's body is not valid")]
    Body,
}

impl Malformed {
    /// Returns the status of the response.
    pub fn status(self) -> u16 {
        match self {
            Self::Syntax
            | Self::Host
            | Self::HostMismatch
            | Self::ContentLength
            | Self::Framing
            | Self::Connection
            | Self::Target
            | Self::Body => 400,
            Self::Method => 405,
            Self::TargetTooLong => 414,
            Self::Expectation => 417,
            Self::HeadTooLarge => 431,
            Self::TransferEncoding => 501,
            Self::Version => 505,
        }
    }
}
