//! Slow clients of each protocol, which read nothing or nearly nothing, and clients with more requests than the proxy
//! has room for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use h3::client::RequestStream;
use h3_quinn::BidiStream;
use http::Request;
use libtest_mimic::Trial;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{FloodContext, flood};
use crate::case::is_long;
use crate::frames::{
    CONTINUATION, END_HEADERS, END_STREAM, HEADERS, Http2Client, STALL, WINDOW_UPDATE, frame, get, literal,
};
use crate::support::HOST;
use crate::support::client::{Client, get as get_http1};

const STREAMS: u32 = 128;
const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
const WINDOW_MAX: u32 = 0x7fff_ffff;
/// Content type of a TLS record with a handshake message (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 22;
/// Maximum growth of the proxy in MiB.
const GROWTH_MIB_MAX: u64 = 128;
/// Minimum number of streams with begun responses for a flood to count.
const STALLED_MIN: usize = 100;

pub fn trials() -> Vec<Trial> {
    vec![
        flood("http2-stalled-streams", GROWTH_MIB_MAX, stalled_streams),
        flood("http2-unread-connections", GROWTH_MIB_MAX, unread_connections),
        flood("http2-small-responses-unread", GROWTH_MIB_MAX, small_responses_unread),
        flood("http3-stalled-streams", GROWTH_MIB_MAX, http3_stalled_streams),
        flood("http1-slow-readers", GROWTH_MIB_MAX, slow_readers),
        flood("queued-heads", GROWTH_MIB_MAX, queued_heads),
        flood("connections-of-one-client", GROWTH_MIB_MAX, connections_of_one_client),
        flood("silent-connections", GROWTH_MIB_MAX, silent_connections),
    ]
}

fn count(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}

/// Returns the duration of a flood in rounds of the polite client.
fn rounds() -> usize {
    count(20, 200)
}

/// Opens as many streams as a connection may have, in one write.
fn ask_on_all_streams(path: &str) -> Vec<u8> {
    let head = get(path);
    (0..STREAMS).flat_map(|number| frame(HEADERS, END_HEADERS | END_STREAM, number * 2 + 1, &head)).collect()
}

/// Reads until nothing more comes; returns the number of begun responses.
async fn responses(client: &mut Http2Client) -> usize {
    let mut begun = 0;
    while let Ok(Some(frame)) = timeout(STALL, client.next()).await {
        begun += usize::from(frame.kind == HEADERS);
    }
    begun
}

/// Empty windows that the client opens by one byte at a time.
async fn stalled_streams(context: FloodContext) {
    let mut clients = Vec::new();
    for _ in 0..count(16, 100) {
        let mut client = Http2Client::connect_with(&context.endpoint, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]).await;
        client.send(&ask_on_all_streams("/large")).await;
        clients.push(client);
    }
    let updates: Vec<u8> =
        (0..STREAMS).flat_map(|number| frame(WINDOW_UPDATE, 0, number * 2 + 1, &[0, 0, 0, 1])).collect();
    let mut begun = 0;
    for round in 0..count(2, 10) {
        for client in &mut clients {
            client.force(&updates).await;
        }
        context.polite_rounds(rounds() / count(2, 10)).await;
        if round == 0 {
            let counted = clients.iter_mut().map(responses);
            begun = futures_util::future::join_all(counted).await.into_iter().sum();
        }
    }
    assert!(begun >= STALLED_MIN, "{begun} streams were stalled");
}

/// Windows of maximum size on connections that the client never reads.
async fn unread_connections(context: FloodContext) {
    leave_unread(&context, "/large").await;
}

/// Responses so small that the proxy finishes them at once, on connections that the client never reads.
async fn small_responses_unread(context: FloodContext) {
    leave_unread(&context, "/small").await;
}

async fn leave_unread(context: &FloodContext, path: &str) {
    let mut clients = Vec::new();
    for _ in 0..count(16, 100) {
        let settings = [(SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_MAX)];
        let mut client = Http2Client::connect_with(&context.endpoint, &settings).await;
        client.send(&frame(WINDOW_UPDATE, 0, 0, &(WINDOW_MAX - 0xffff).to_be_bytes())).await;
        client.send(&ask_on_all_streams(path)).await;
        clients.push(client);
    }
    context.polite_rounds(rounds()).await;
    let reached = context.reached.load(Ordering::Relaxed);
    assert!(reached >= STALLED_MIN, "{reached} requests reached the app");
}

type Http3Stream = RequestStream<BidiStream<bytes::Bytes>, bytes::Bytes>;

/// Windows with room for a head and little else.
async fn http3_stalled_streams(context: FloodContext) {
    let tls = QuicClientConfig::try_from(context.endpoint.tls(&["h3"])).unwrap();
    let mut config = ClientConfig::new(Arc::new(tls));
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(600u32.into());
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client((context.endpoint.from, 0).into()).unwrap();
    let mut drivers = tokio::task::JoinSet::new();
    let (mut senders, mut streams): (Vec<_>, Vec<Http3Stream>) = (Vec::new(), Vec::new());
    for _ in 0..count(16, 100) {
        let connection = endpoint.connect_with(config.clone(), context.endpoint.https, HOST).unwrap().await.unwrap();
        let (mut driver, mut send) = h3::client::new(h3_quinn::Connection::new(connection)).await.unwrap();
        drivers.spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
        for _ in 0..STREAMS {
            let request = Request::get(format!("https://{HOST}/large")).body(()).unwrap();
            let Ok(Ok(mut stream)) = timeout(STALL, send.send_request(request)).await else { break };
            if stream.finish().await.is_ok() {
                streams.push(stream);
            }
        }
        senders.push(send);
    }
    context.polite_rounds(rounds()).await;
    let asked = streams.len();
    let begun = futures_util::future::join_all(
        streams.iter_mut().map(|stream| async { matches!(timeout(STALL, stream.recv_response()).await, Ok(Ok(_))) }),
    );
    let begun = begun.await.into_iter().filter(|begun| *begun).count();
    assert!(begun >= STALLED_MIN, "{begun} of {asked} streams were stalled");
}

async fn slow_readers(context: FloodContext) {
    let mut clients = Vec::new();
    for _ in 0..count(200, 600) {
        let mut client = Client::new(context.endpoint.open("http/1.1").await);
        client.send(&get_http1("/large")).await;
        clients.push(client);
    }
    context.polite_rounds(rounds()).await;
    let begun =
        futures_util::future::join_all(clients.iter_mut().map(|client| async { timeout(STALL, client.head()).await }));
    let begun = begun.await.into_iter().filter(|head| matches!(head, Ok(Some((200, _))))).count();
    assert!(begun >= STALLED_MIN, "{begun} responses were stalled");
}

/// Requests with heads of nearly 64 KiB for an app that never responds: many more than the proxy has room for.
async fn queued_heads(context: FloodContext) {
    let mut head = get("/other/held");
    for number in 0..15 {
        literal(format!("x-{number}").as_bytes(), &[b'q'; 4000], &mut head);
    }
    let request = |number: u32| {
        let mut pieces = head.chunks(16_000).peekable();
        let mut frames = frame(HEADERS, END_STREAM, number * 2 + 1, pieces.next().unwrap_or_default());
        while let Some(piece) = pieces.next() {
            let flags = if pieces.peek().is_none() { END_HEADERS } else { 0 };
            frames.extend(frame(CONTINUATION, flags, number * 2 + 1, piece));
        }
        frames
    };
    let mut clients = Vec::new();
    for _ in 0..count(16, 64) {
        let mut client = Http2Client::connect(&context.endpoint).await;
        for number in 0..STREAMS {
            if !client.force(&request(number)).await {
                break;
            }
        }
        clients.push(client);
    }
    context.polite_rounds(rounds()).await;
    let refused: usize = futures_util::future::join_all(clients.iter_mut().map(responses)).await.into_iter().sum();
    let reached = context.reached.load(Ordering::Relaxed);
    assert!(reached >= STALLED_MIN && refused > 0, "{reached} requests reached the app, {refused} were refused");
}

/// More idle connections than one client may have. Each sends the first byte of a TLS record, so that the kernel
/// hands it to the proxy at once.
async fn connections_of_one_client(context: FloodContext) {
    let streams = idle_connections(&context, &[TLS_HANDSHAKE]).await;
    context.polite_rounds(rounds()).await;
    let refused = refused(&streams);
    assert!(refused >= STALLED_MIN, "{refused} of {} connections were refused", streams.len());
}

/// More silent connections than one client may have. They wait in the kernel first, and the proxy refuses them when it
/// gets them.
async fn silent_connections(context: FloodContext) {
    let streams = idle_connections(&context, &[]).await;
    while refused(&streams) < STALLED_MIN {
        context.polite_rounds(rounds()).await;
    }
}

async fn idle_connections(context: &FloodContext, first_bytes: &[u8]) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count(1500, 3000) {
        let Ok(mut stream) = context.endpoint.connect().await else { continue };
        // The proxy may refuse the connection first; `refused` counts it.
        stream.write_all(first_bytes).await.ok();
        streams.push(stream);
    }
    streams
}

/// Returns the number of streams that the proxy has closed or reset.
fn refused(streams: &[TcpStream]) -> usize {
    let is_open = |stream: &&TcpStream| match stream.try_read(&mut [0]) {
        Ok(bytes) => bytes > 0,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    };
    streams.len() - streams.iter().filter(is_open).count()
}
