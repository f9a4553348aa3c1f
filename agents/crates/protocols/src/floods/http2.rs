//! Floods of HTTP/2 frames (RFC 9113, 10.5; CVE-2019-9511 to -9518, CVE-2023-44487, CVE-2024-27316).

use std::sync::atomic::Ordering;

use libtest_mimic::Trial;

use super::{FloodContext, flood};
use crate::case::count;
use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Client, PING, PRIORITY, RST_STREAM, SETTINGS,
    StreamOutcome, WINDOW_UPDATE, block, frame, get, integer, literal,
};
use crate::support::HOST;

const FLOW_CONTROL_ERROR: u32 = 3;
const REFUSED_STREAM: u32 = 7;
const CANCEL: [u8; 4] = 8u32.to_be_bytes();

pub fn trials() -> Vec<Trial> {
    vec![
        flood("rapid-reset", 8, rapid_reset),
        flood("rapid-reset-of-running-requests", 8, rapid_reset_of_running_requests),
        flood("continuation", 4, continuation),
        flood("empty-continuation", 4, empty_continuation),
        flood("settings", 4, |context| repeat_unread(context, frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]))),
        flood("ping", 4, |context| repeat_unread(context, frame(PING, 0, 0, &[7; 8]))),
        flood("priority", 4, |context| repeat_unread(context, frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 9]))),
        flood("unknown-frames", 4, |context| repeat_unread(context, frame(0xfa, 0, 0, &[7; 100]))),
        flood("window-updates", 4, |context| repeat_unread(context, frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))),
        flood("resets-of-idle-streams", 4, |context| repeat_unread(context, frame(RST_STREAM, 0, 1, &CANCEL))),
        flood("empty-data", 4, empty_data),
        flood("window-overflow", 4, window_overflow),
        flood("window-of-nothing", 24, window_of_nothing),
        flood("window-of-one-byte", 24, window_of_one_byte),
        flood("shrinking-window", 24, shrinking_window),
        flood("data-beyond-the-window", 4, data_beyond_the_window),
        flood("header-bomb", 8, header_bomb),
        flood("tiny-headers", 4, tiny_headers),
        flood("cookie-crumbs", 4, cookie_crumbs),
        flood("streams-beyond-the-limit", 8, streams_beyond_the_limit),
        flood("requests-nobody-reads", 8, unread_requests),
    ]
}

/// Resets streams in the same packet that opens them.
async fn rapid_reset(context: FloodContext) {
    let streams = count(5000, 20);
    let mut client = Http2Client::connect(&context.endpoint).await;
    let head = get("/");
    for batch in 0..streams / 50 {
        let bytes: Vec<u8> = (0..50)
            .flat_map(|number| {
                let stream = (batch * 50 + number) as u32 * 2 + 1;
                [frame(HEADERS, END_HEADERS | END_STREAM, stream, &head), frame(RST_STREAM, 0, stream, &CANCEL)]
                    .concat()
            })
            .collect();
        if !client.force(&bytes).await {
            break;
        }
    }
    // The proxy closes the connection with ENHANCE_YOUR_CALM, and few of the requests reach the app.
    assert_eq!(client.end().await, Some(11));
    let reached = context.reached.load(Ordering::Relaxed);
    assert!(reached < 500, "{reached} of {streams} reached the app");
}

/// Resets streams once the app has their requests: each costs the app work and the proxy a connection.
async fn rapid_reset_of_running_requests(context: FloodContext) {
    let most = count(2000, 10);
    let mut client = Http2Client::connect(&context.endpoint).await;
    let head = get("/held");
    for number in 0..most {
        let stream = number as u32 * 2 + 1;
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).await;
        while context.reached.load(Ordering::Relaxed) <= number {
            // No response is expected: the read only checks that the connection is alive.
            if tokio::time::timeout(std::time::Duration::from_millis(2), client.next()).await == Ok(None) {
                return;
            }
        }
        client.send(&frame(RST_STREAM, 0, stream, &CANCEL)).await;
    }
    panic!("{most} requests were begun for nobody");
}

async fn continuation(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    client.send(&frame(HEADERS, END_STREAM, 1, &get("/"))).await;
    let piece = frame(CONTINUATION, 0, 1, &block(&[(b"x", &[b'y'; 4000])]).repeat(4));
    let mut taken = 0;
    while taken < 20_000 && client.force(&piece).await {
        taken += 1;
    }
    assert!(taken < 20_000, "a head without end was read");
    client.end().await;
}

async fn empty_continuation(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    client.send(&frame(HEADERS, END_STREAM, 1, &get("/"))).await;
    let piece = frame(CONTINUATION, 0, 1, &[]).repeat(1000);
    let mut taken = 0;
    while taken < 2000 && client.force(&piece).await {
        taken += 1;
    }
    assert!(taken < 2000, "a head without end was read");
    client.end().await;
}

/// Repeats one frame without reading responses: the proxy closes the connection, stops reading, or spends nothing.
async fn repeat_unread(context: FloodContext, frame: Vec<u8>) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    let piece = frame.repeat(500);
    for _ in 0..count(100, 20) {
        if !client.force(&piece).await {
            return;
        }
    }
}

async fn empty_data(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    client.send(&frame(HEADERS, END_HEADERS, 1, &get("/held"))).await;
    let piece = frame(DATA, 0, 1, &[]).repeat(500);
    for _ in 0..count(100, 20) {
        if !client.force(&piece).await {
            return;
        }
    }
}

async fn window_overflow(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    client.send(&frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffffu32.to_be_bytes()).repeat(2)).await;
    assert_eq!(client.end().await, Some(FLOW_CONTROL_ERROR));
    let mut client = Http2Client::connect(&context.endpoint).await;
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/held"))).await;
    client.send(&frame(WINDOW_UPDATE, 0, 1, &0x7fff_ffffu32.to_be_bytes()).repeat(2)).await;
    assert_eq!(client.answer(1).await, StreamOutcome::Reset(FLOW_CONTROL_ERROR));
}

/// Opens 100 streams for 4 MiB each on `client`, and waits until some responses have begun.
async fn ask_for_much(client: &mut Http2Client) {
    let head = get("/large");
    let streams: Vec<u8> =
        (0..100).flat_map(|number| frame(HEADERS, END_HEADERS | END_STREAM, number * 2 + 1, &head)).collect();
    client.send(&streams).await;
    for number in 0..30 {
        assert_eq!(client.answer_of_any().await, Some(200), "{number}");
    }
}

async fn window_of_nothing(context: FloodContext) {
    for _ in 0..count(1, 4) {
        let mut client = Http2Client::connect_with(&context.endpoint, &[(4, 0)]).await;
        ask_for_much(&mut client).await;
    }
}

async fn window_of_one_byte(context: FloodContext) {
    let mut client = Http2Client::connect_with(&context.endpoint, &[(4, 1)]).await;
    ask_for_much(&mut client).await;
    for _ in 0..count(20, 20) {
        let updates: Vec<u8> =
            (0..100u32).flat_map(|number| frame(WINDOW_UPDATE, 0, number * 2 + 1, &[0, 0, 0, 1])).collect();
        if !client.force(&updates).await {
            return;
        }
    }
}

/// SETTINGS that shrink the windows of responses in flight.
async fn shrinking_window(context: FloodContext) {
    let mut client = Http2Client::connect_with(&context.endpoint, &[(4, 1_000_000)]).await;
    ask_for_much(&mut client).await;
    for round in 0..count(20, 20) {
        let window = if round % 2 == 0 { [0, 4, 0, 0, 0, 0] } else { [0, 4, 0, 15, 0, 0] };
        if !client.force(&frame(SETTINGS, 0, 0, &window)).await {
            return;
        }
    }
}

async fn data_beyond_the_window(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    client.send(&frame(HEADERS, END_HEADERS, 1, &get("/held"))).await;
    let data = frame(DATA, 0, 1, &[7; 16_384]);
    for _ in 0..1000 {
        if !client.force(&data).await {
            break;
        }
    }
    let answer = client.answer(1).await;
    assert!(
        matches!(
            answer,
            StreamOutcome::Reset(FLOW_CONTROL_ERROR) | StreamOutcome::GoAway(Some(FLOW_CONTROL_ERROR) | None)
        ),
        "{answer:?}"
    );
}

/// Adds a field of 4,000 bytes to the dynamic table, then refers to it 4,000 times in each head: 4 KB mean 16 MB.
async fn header_bomb(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    let mut head = get("/");
    head.push(0x40);
    integer(1, 7, 0, &mut head);
    head.push(b'x');
    integer(4000, 7, 0, &mut head);
    head.extend([b'y'; 4000]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)).await;
    assert_eq!(client.answer(1).await, StreamOutcome::Status(200));
    // The newest field has index 62.
    let bomb = [get("/"), vec![0x80 | 62; 4000]].concat();
    for number in 1..count(100, 5) {
        let stream = number as u32 * 2 + 1;
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &bomb)).await;
        match client.answer(stream).await {
            StreamOutcome::Status(431) | StreamOutcome::Reset(_) => {}
            StreamOutcome::GoAway(_) => return,
            other => panic!("{other:?}"),
        }
    }
}

async fn tiny_headers(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    let mut head = get("/");
    for _ in 0..3000 {
        literal(b"x", b"", &mut head);
    }
    for number in 0..count(50, 10) {
        let stream = number as u32 * 2 + 1;
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).await;
        match client.answer(stream).await {
            StreamOutcome::Status(431) | StreamOutcome::Reset(_) => {}
            StreamOutcome::GoAway(_) => return,
            other => panic!("{other:?}"),
        }
    }
}

async fn cookie_crumbs(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    let mut head = get("/");
    for _ in 0..1500 {
        literal(b"cookie", b"a=b", &mut head);
    }
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)).await;
    let answer = client.answer(1).await;
    assert!(
        matches!(answer, StreamOutcome::Status(431) | StreamOutcome::Reset(_) | StreamOutcome::GoAway(_)),
        "{answer:?}"
    );
}

async fn streams_beyond_the_limit(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    let head = get("/held");
    for number in 0..200u32 {
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, number * 2 + 1, &head)).await;
    }
    // The app holds the first 128 requests; the proxy refuses the others with a code that allows a retry.
    assert_eq!(client.answer(399).await, StreamOutcome::Reset(REFUSED_STREAM));
}

async fn unread_requests(context: FloodContext) {
    let mut client = Http2Client::connect(&context.endpoint).await;
    let many: Vec<(&[u8], &[u8])> =
        vec![(b":method", b"GET"), (b":scheme", b"https"), (b":authority", HOST.as_bytes()), (b":path", b"/elsewhere")];
    let head = block(&many);
    for number in 0..count(20_000, 5) {
        if !client.force(&frame(HEADERS, END_HEADERS | END_STREAM, number as u32 * 2 + 1, &head)).await {
            return;
        }
    }
}
