//! Error codes of HTTP/3 and QPACK (RFC 9114, 8.1; RFC 9204, 6), and what each fault ends.

/// An error code as it is sent to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Code {
    /// Nothing is wrong.
    NoError = 0x100,
    /// The peer broke the protocol in a way that has no code of its own.
    GeneralProtocol = 0x101,
    /// Something failed on our side.
    Internal = 0x102,
    /// A stream that the peer must not open.
    StreamCreation = 0x103,
    /// The peer closed a stream that the connection can't live without.
    ClosedCriticalStream = 0x104,
    /// A frame where it must not be.
    FrameUnexpected = 0x105,
    /// A frame that is not as long as it said, or holds something else.
    Frame = 0x106,
    /// The peer makes more work than is bearable.
    ExcessiveLoad = 0x107,
    /// An id that must not be used, or not so.
    Id = 0x108,
    /// A setting that must not be, or twice.
    Settings = 0x109,
    /// The control stream did not begin with settings.
    MissingSettings = 0x10a,
    /// A request was not looked at, and may be sent again.
    RequestRejected = 0x10b,
    /// A request or its response is no longer wanted.
    RequestCancelled = 0x10c,
    /// A request ended before it was whole.
    RequestIncomplete = 0x10d,
    /// A message that is not valid.
    Message = 0x10e,
    /// A block of fields can't be read.
    QpackDecompressionFailed = 0x200,
    /// An instruction on the peer's encoder stream can't be followed.
    QpackEncoderStream = 0x201,
    /// An instruction on the peer's decoder stream makes no sense.
    QpackDecoderStream = 0x202,
}

impl Code {
    /// The number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// What a peer did wrong, by what it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The whole connection.
    Connection(Code),
    /// One stream.
    Stream(Code),
    /// A head that is larger than we said we would take: answered with 431.
    HeadTooLarge,
}
