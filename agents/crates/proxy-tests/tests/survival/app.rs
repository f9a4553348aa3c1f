//! Test apps: one answers, answers slowly and echoes WebSockets; one misbehaves in every way.

use std::time::Duration;

use crate::support::app::{App, Peer};

pub const ECHO_TEXT: &[u8] = b"an echo across a change";
const PIECES: usize = 20;
const PIECE: &str = "a piece of a long response\n";
pub const LONG_BYTES: usize = PIECES * PIECE.len();
const PIECE_EVERY: Duration = Duration::from_millis(25);
const DOWNLOAD_PIECES: usize = 60;
const DOWNLOAD_PIECE_BYTES: usize = 64 * 1024;
pub const DOWNLOAD_BYTES: usize = DOWNLOAD_PIECES * DOWNLOAD_PIECE_BYTES;

/// The app that everything steady asks.
pub async fn steady() -> App {
    App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let path = request.head.split(' ').nth(1).unwrap_or_default().to_owned();
            match path.as_str() {
                "/long" => long(&mut peer).await,
                "/download" => download(&mut peer).await,
                "/socket" => return echo(peer).await,
                _ => peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await,
            }
        }
    })
    .await
}

async fn long(peer: &mut Peer) {
    peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {LONG_BYTES}\r\n\r\n")).await;
    for _ in 0..PIECES {
        tokio::time::sleep(PIECE_EVERY).await;
        peer.write(PIECE).await;
    }
}

/// Large enough to fill every window on its way, and slow enough to last over several events.
async fn download(peer: &mut Peer) {
    peer.write(&format!("HTTP/1.1 200 OK\r\nContent-Length: {DOWNLOAD_BYTES}\r\n\r\n")).await;
    let piece = vec![b'd'; DOWNLOAD_PIECE_BYTES];
    for _ in 0..DOWNLOAD_PIECES {
        tokio::time::sleep(PIECE_EVERY).await;
        peer.write_bytes(&piece).await;
    }
}

async fn echo(mut peer: Peer) {
    peer.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n").await;
    loop {
        let Some(head) = peer.try_exactly(2).await else { return };
        let (opcode, length) = (head[0] & 0x0f, usize::from(head[1] & 0x7f));
        let Some(masked) = peer.try_exactly(4 + length).await else { return };
        let payload: Vec<u8> =
            masked[4..].iter().zip(masked[..4].iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        let mut answer = vec![0x80 | opcode, length as u8];
        answer.extend(payload);
        peer.write_bytes(&answer).await;
        if opcode == 8 {
            return;
        }
    }
}

/// Fails in the way that the request path selects.
pub async fn broken() -> App {
    App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            match request.head.split(' ').nth(1).unwrap_or_default() {
                "/broken/reset" => return peer.reset(),
                "/broken/close" => return,
                "/broken/garbage" => return peer.write("\x16\x03 garbage\r\n\r\n").await,
                "/broken/half-head" => return peer.write("HTTP/1.1 200 OK\r\nContent-Le").await,
                "/broken/half-body" => {
                    return peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
                }
                "/broken/half-chunks" => {
                    return peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n").await;
                }
                // Waits until the other side gives up.
                _ => drop(peer.fill().await),
            }
        }
    })
    .await
}
