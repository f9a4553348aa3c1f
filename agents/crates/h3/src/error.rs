//! Error codes of HTTP/3 and QPACK (RFC 9114, 8.1; RFC 9204, 6), and the scope of each error.

/// Error code on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum ErrorCode {
    /// No error, for a graceful close.
    NoError = 0x100,
    /// Protocol violation without a code of its own.
    GeneralProtocol = 0x101,
    /// Internal error of the server.
    Internal = 0x102,
    /// The peer opened a stream that it must not open.
    StreamCreation = 0x103,
    /// The peer closed a stream that the connection requires.
    ClosedCriticalStream = 0x104,
    /// The frame is not allowed here.
    FrameUnexpected = 0x105,
    /// The frame has a wrong length or invalid contents.
    Frame = 0x106,
    /// The peer causes excessive load.
    ExcessiveLoad = 0x107,
    /// An id is used wrongly.
    Id = 0x108,
    /// A setting is invalid or duplicate.
    Settings = 0x109,
    /// The control stream does not begin with SETTINGS.
    MissingSettings = 0x10a,
    /// The server has not processed the request, so it may be retried.
    RequestRejected = 0x10b,
    /// A request or its response is cancelled.
    RequestCancelled = 0x10c,
    /// The request ended before it was complete.
    RequestIncomplete = 0x10d,
    /// The message is malformed.
    Message = 0x10e,
    /// A field section can't be decoded.
    QpackDecompressionFailed = 0x200,
    /// An instruction on the peer's encoder stream is invalid.
    QpackEncoderStream = 0x201,
    /// An instruction on the peer's decoder stream is invalid.
    QpackDecoderStream = 0x202,
}

impl ErrorCode {
    /// Returns the number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// Protocol error of a peer, by its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Ends the whole connection.
    Connection(ErrorCode),
    /// Ends only its stream.
    Stream(ErrorCode),
    /// The head is larger than announced; the response is 431.
    HeadTooLarge,
}
