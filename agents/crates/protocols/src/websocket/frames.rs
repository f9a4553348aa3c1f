//! WebSocket client of raw frames: sends invalid input that no library would.

use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::proxy_endpoint::ProxyEndpoint;
use crate::support::HOST;
use crate::support::client::Client;

pub const CONTINUATION: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;
pub const FIN: u8 = 0x80;
pub const RSV1: u8 = 0x40;

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// Sec-WebSocket-Accept for `KEY` (RFC 6455, 1.3).
pub const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// Encodes a masked frame; `first` is FIN, reserved bits and opcode.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut bytes = head(first, 0x80, payload.len());
    bytes.extend(mask);
    bytes.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
    bytes
}

/// Encodes a frame without a mask, which only a server may send.
pub fn unmasked(first: u8, payload: &[u8]) -> Vec<u8> {
    [head(first, 0, payload.len()), payload.to_vec()].concat()
}

fn head(first: u8, mask_bit: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..=125 => bytes.push(mask_bit | length as u8),
        126..=65_535 => {
            bytes.push(mask_bit | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(mask_bit | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes
}

/// Returns an upgrade request with more header lines.
pub fn request(more: &str) -> String {
    format!(
        "GET /socket HTTP/1.1\r\nHost: {HOST}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n{more}\r\n"
    )
}

pub struct RawWebSocket {
    pub client: Client<TlsStream<TcpStream>>,
}

impl RawWebSocket {
    pub async fn open(endpoint: &ProxyEndpoint) -> Self {
        let mut client = Client::new(endpoint.open("http/1.1").await);
        client.send(&request("")).await;
        let (status, head) = client.head().await.unwrap();
        assert_eq!(status, 101, "{head}");
        assert!(head.to_ascii_lowercase().contains(&format!("sec-websocket-accept: {ACCEPT}").to_ascii_lowercase()));
        Self { client }
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.client.send_bytes(bytes).await;
    }

    /// Reads the next frame: its first byte and payload; `None` at the end.
    pub async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let head = self.client.exactly(2).await?;
        let length = match head[1] {
            126 => {
                let bytes = self.client.exactly(2).await?;
                usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
            }
            127 => u64::from_be_bytes(self.client.exactly(8).await?.try_into().unwrap()) as usize,
            short => {
                assert!(short < 126, "a server's frame is masked");
                usize::from(short)
            }
        };
        Some((head[0], self.client.exactly(length).await?))
    }

    /// Reads until the endpoint closes; returns its close code and all frames before.
    pub async fn until_closed(&mut self) -> (Option<u16>, Vec<(u8, Vec<u8>)>) {
        let mut before = Vec::new();
        while let Some((first, payload)) = self.next().await {
            if first == FIN | CLOSE {
                let code = payload.get(..2).map(|code| u16::from_be_bytes([code[0], code[1]]));
                assert!(self.client.at_end().await, "the connection outlives its close");
                return (code, before);
            }
            before.push((first, payload));
        }
        panic!("ended without a close frame, after {before:?}");
    }
}
