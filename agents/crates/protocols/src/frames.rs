//! HTTP/2 client of raw frames (RFC 9113, 4): sends invalid input that no library would, and parses just enough of
//! responses.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::proxy_endpoint::ProxyEndpoint;
use crate::support::HOST;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// A proxy that reads nothing for this long applies backpressure, which is one way to limit a flood.
pub const STALL: Duration = Duration::from_millis(500);

/// Encodes a frame with its header.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Appends HPACK's literal field without indexing or Huffman coding (RFC 7541, 6.2.2).
pub fn literal(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    for text in [name, value] {
        integer(text.len(), 7, 0, out);
        out.extend(text);
    }
}

/// Appends HPACK's integer (RFC 7541, 5.1).
pub fn integer(value: usize, prefix_bits: u32, flags: u8, out: &mut Vec<u8>) {
    let most = (1 << prefix_bits) - 1;
    if value < most {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | most as u8);
    let mut rest = value - most;
    while rest >= 128 {
        out.push((rest % 128) as u8 | 128);
        rest /= 128;
    }
    out.push(rest as u8);
}

/// Encodes a header block of literal fields.
pub fn block(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        literal(name, value, &mut out);
    }
    out
}

/// Encodes the header block of a GET of a path on the usual host.
pub fn get(path: &str) -> Vec<u8> {
    block(&[
        (b":method", b"GET"),
        (b":scheme", b"https"),
        (b":authority", HOST.as_bytes()),
        (b":path", path.as_bytes()),
    ])
}

#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// Outcome of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamOutcome {
    Status(u16),
    /// RST_STREAM with this code.
    Reset(u32),
    /// GOAWAY with this code, or the end of the connection.
    GoAway(Option<u32>),
}

/// Connection after the exchange of preface and settings.
pub struct Http2Client {
    pub stream: TlsStream<TcpStream>,
}

impl Http2Client {
    pub async fn connect(endpoint: &ProxyEndpoint) -> Self {
        Self::connect_with(endpoint, &[]).await
    }

    /// Connects with `settings`, which are (identifier, value).
    pub async fn connect_with(endpoint: &ProxyEndpoint, settings: &[(u16, u32)]) -> Self {
        let mut this = Self { stream: endpoint.open("h2").await };
        // Forbids the proxy a dynamic table: `status` has none.
        let payload: Vec<u8> = [(1, 0)]
            .iter()
            .chain(settings)
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()[..]].concat())
            .collect();
        this.send(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &frame(SETTINGS, 0, 0, &payload)].concat()).await;
        while this.next().await.expect("no settings").kind != SETTINGS {}
        this.send(&frame(SETTINGS, ACK, 0, &[])).await;
        this
    }

    /// Sends bytes. A later read reports a closed connection.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok() && self.stream.flush().await.is_ok()
    }

    /// Sends without reading; returns false if the proxy reads nothing more or has closed the connection.
    pub async fn force(&mut self, bytes: &[u8]) -> bool {
        tokio::time::timeout(STALL, self.send(bytes)).await.unwrap_or(false)
    }

    /// Reads the next frame; `None` at the end.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], stream, payload })
    }

    /// Reads the final response of a stream; skips interim ones.
    pub async fn answer(&mut self, stream: u32) -> StreamOutcome {
        loop {
            let Some(frame) = self.next().await else { return StreamOutcome::GoAway(None) };
            match frame.kind {
                HEADERS if frame.stream == stream => {
                    let status = status(&frame.payload);
                    if status >= 200 {
                        return StreamOutcome::Status(status);
                    }
                }
                RST_STREAM if frame.stream == stream => return StreamOutcome::Reset(code(&frame.payload)),
                GOAWAY => {
                    let code = code(&frame.payload[4..]);
                    // A graceful GOAWAY names the last stream that still gets a response.
                    if code != 0 || u32::from_be_bytes(frame.payload[..4].try_into().unwrap()) < stream {
                        return StreamOutcome::GoAway(Some(code));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the status of the next response on any stream; `None` at the end of the connection.
    pub async fn answer_of_any(&mut self) -> Option<u16> {
        loop {
            let frame = self.next().await?;
            if frame.kind == HEADERS {
                return Some(status(&frame.payload));
            }
        }
    }

    /// Reads until the connection ends; returns the code of the last GOAWAY.
    pub async fn end(&mut self) -> Option<u32> {
        let mut last = None;
        while let Some(frame) = self.next().await {
            if frame.kind == GOAWAY {
                last = Some(code(&frame.payload[4..]));
            }
        }
        last
    }
}

fn code(payload: &[u8]) -> u32 {
    u32::from_be_bytes(payload[..4].try_into().unwrap())
}

/// Parses `:status`, which the `h2` crate writes first: an entry of the static table, or a literal of three Huffman
/// digits.
fn status(block: &[u8]) -> u16 {
    // Skips changes of the dynamic table's size (RFC 7541, 6.3).
    let block = &block[block.iter().take_while(|byte| **byte & 0xe0 == 0x20).count()..];
    match block[0] {
        0x88 => 200,
        0x89 => 204,
        0x8a => 206,
        0x8b => 304,
        0x8c => 400,
        0x8d => 404,
        0x8e => 500,
        _ => {
            let (length, text) = (block[1] & 0x7f, &block[2..]);
            if block[1] & 0x80 == 0 {
                return std::str::from_utf8(&text[..3]).unwrap().parse().unwrap();
            }
            let bits = text[..usize::from(length)].iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
            let mut at = u32::from(length) * 8;
            (0..3).fold(0, |status, _| {
                // 0, 1 and 2 have five bits, 3 to 9 have six (RFC 7541, appendix B).
                let five = bits >> (at - 5) & 0x1f;
                let digit = if five < 3 {
                    at -= 5;
                    five
                } else {
                    at -= 6;
                    (bits >> at & 0x3f) - 0x19 + 3
                };
                status * 10 + digit as u16
            })
        }
    }
}
