//! Floods of HTTP/2 frames (RFC 9113, 10.5; CVE-2019-9511 to -9518, CVE-2023-44487, CVE-2024-27316).

use std::sync::atomic::Ordering;

use libtest_mimic::Trial;

use super::{Stage, flood};
use crate::case::count;
use crate::frames::{
    Answer, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, block, frame, get, integer, literal,
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
        flood("settings", 4, |stage| nobody_reads(stage, frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]))),
        flood("ping", 4, |stage| nobody_reads(stage, frame(PING, 0, 0, &[7; 8]))),
        flood("priority", 4, |stage| nobody_reads(stage, frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 9]))),
        flood("unknown-frames", 4, |stage| nobody_reads(stage, frame(0xfa, 0, 0, &[7; 100]))),
        flood("window-updates", 4, |stage| nobody_reads(stage, frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))),
        flood("resets-of-idle-streams", 4, |stage| nobody_reads(stage, frame(RST_STREAM, 0, 1, &CANCEL))),
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
        flood("requests-nobody-reads", 8, requests_nobody_reads),
    ]
}

/// Streams that are reset in the very packet that opens them.
async fn rapid_reset(stage: Stage) {
    let streams = count(5000, 20);
    let mut client = Frames::connect(&stage.door).await;
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
    // Whoever floods is shown the door, and the app has seen little of it.
    assert_eq!(client.end().await, Some(11));
    let reached = stage.reached.load(Ordering::Relaxed);
    assert!(reached < 500, "{reached} of {streams} reached the app");
}

/// Streams that are reset once the app has their request: each costs it work, and the proxy a connection.
async fn rapid_reset_of_running_requests(stage: Stage) {
    let most = count(2000, 10);
    let mut client = Frames::connect(&stage.door).await;
    let head = get("/held");
    for number in 0..most {
        let stream = number as u32 * 2 + 1;
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).await;
        while stage.reached.load(Ordering::Relaxed) <= number {
            // Answers nothing; read only to see whether the connection still lives.
            if tokio::time::timeout(std::time::Duration::from_millis(2), client.next()).await == Ok(None) {
                return;
            }
        }
        client.send(&frame(RST_STREAM, 0, stream, &CANCEL)).await;
    }
    panic!("{most} requests were begun for nobody");
}

async fn continuation(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    client.send(&frame(HEADERS, END_STREAM, 1, &get("/"))).await;
    let piece = frame(CONTINUATION, 0, 1, &block(&[(b"x", &[b'y'; 4000])]).repeat(4));
    let mut taken = 0;
    while taken < 20_000 && client.force(&piece).await {
        taken += 1;
    }
    assert!(taken < 20_000, "a head without end was read");
    client.end().await;
}

async fn empty_continuation(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    client.send(&frame(HEADERS, END_STREAM, 1, &get("/"))).await;
    let piece = frame(CONTINUATION, 0, 1, &[]).repeat(1000);
    let mut taken = 0;
    while taken < 2000 && client.force(&piece).await {
        taken += 1;
    }
    assert!(taken < 2000, "a head without end was read");
    client.end().await;
}

/// One frame again and again, and no answer is read: it ends, is held back, or costs nothing.
async fn nobody_reads(stage: Stage, frame: Vec<u8>) {
    let mut client = Frames::connect(&stage.door).await;
    let piece = frame.repeat(500);
    for _ in 0..count(100, 20) {
        if !client.force(&piece).await {
            return;
        }
    }
}

async fn empty_data(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    client.send(&frame(HEADERS, END_HEADERS, 1, &get("/held"))).await;
    let piece = frame(DATA, 0, 1, &[]).repeat(500);
    for _ in 0..count(100, 20) {
        if !client.force(&piece).await {
            return;
        }
    }
}

async fn window_overflow(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    client.send(&frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffffu32.to_be_bytes()).repeat(2)).await;
    assert_eq!(client.end().await, Some(FLOW_CONTROL_ERROR));
    let mut client = Frames::connect(&stage.door).await;
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/held"))).await;
    client.send(&frame(WINDOW_UPDATE, 0, 1, &0x7fff_ffffu32.to_be_bytes()).repeat(2)).await;
    assert_eq!(client.answer(1).await, Answer::Reset(FLOW_CONTROL_ERROR));
}

/// Opens 100 streams for 4 MiB each on `client`, and waits until some have begun.
async fn ask_for_much(client: &mut Frames) {
    let head = get("/large");
    let streams: Vec<u8> =
        (0..100).flat_map(|number| frame(HEADERS, END_HEADERS | END_STREAM, number * 2 + 1, &head)).collect();
    client.send(&streams).await;
    for number in 0..30 {
        assert_eq!(client.answer_of_any().await, Some(200), "{number}");
    }
}

async fn window_of_nothing(stage: Stage) {
    for _ in 0..count(1, 4) {
        let mut client = Frames::connect_with(&stage.door, &[(4, 0)]).await;
        ask_for_much(&mut client).await;
    }
}

async fn window_of_one_byte(stage: Stage) {
    let mut client = Frames::connect_with(&stage.door, &[(4, 1)]).await;
    ask_for_much(&mut client).await;
    for _ in 0..count(20, 20) {
        let updates: Vec<u8> =
            (0..100u32).flat_map(|number| frame(WINDOW_UPDATE, 0, number * 2 + 1, &[0, 0, 0, 1])).collect();
        if !client.force(&updates).await {
            return;
        }
    }
}

/// SETTINGS that take back the window of responses under way.
async fn shrinking_window(stage: Stage) {
    let mut client = Frames::connect_with(&stage.door, &[(4, 1_000_000)]).await;
    ask_for_much(&mut client).await;
    for round in 0..count(20, 20) {
        let window = if round % 2 == 0 { [0, 4, 0, 0, 0, 0] } else { [0, 4, 0, 15, 0, 0] };
        if !client.force(&frame(SETTINGS, 0, 0, &window)).await {
            return;
        }
    }
}

async fn data_beyond_the_window(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    client.send(&frame(HEADERS, END_HEADERS, 1, &get("/held"))).await;
    let data = frame(DATA, 0, 1, &[7; 16_384]);
    for _ in 0..1000 {
        if !client.force(&data).await {
            break;
        }
    }
    let answer = client.answer(1).await;
    assert!(
        matches!(answer, Answer::Reset(FLOW_CONTROL_ERROR) | Answer::Away(Some(FLOW_CONTROL_ERROR) | None)),
        "{answer:?}"
    );
}

/// A field of 4,000 bytes in the dynamic table, named 4,000 times a head: 4 KB mean 16 MB.
async fn header_bomb(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    let mut head = get("/");
    head.push(0x40);
    integer(1, 7, 0, &mut head);
    head.push(b'x');
    integer(4000, 7, 0, &mut head);
    head.extend([b'y'; 4000]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)).await;
    assert_eq!(client.answer(1).await, Answer::Status(200));
    // The newest field is number 62.
    let bomb = [get("/"), vec![0x80 | 62; 4000]].concat();
    for number in 1..count(100, 5) {
        let stream = number as u32 * 2 + 1;
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &bomb)).await;
        match client.answer(stream).await {
            Answer::Status(431) | Answer::Reset(_) => {}
            Answer::Away(_) => return,
            other => panic!("{other:?}"),
        }
    }
}

async fn tiny_headers(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    let mut head = get("/");
    for _ in 0..3000 {
        literal(b"x", b"", &mut head);
    }
    for number in 0..count(50, 10) {
        let stream = number as u32 * 2 + 1;
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).await;
        match client.answer(stream).await {
            Answer::Status(431) | Answer::Reset(_) => {}
            Answer::Away(_) => return,
            other => panic!("{other:?}"),
        }
    }
}

async fn cookie_crumbs(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    let mut head = get("/");
    for _ in 0..1500 {
        literal(b"cookie", b"a=b", &mut head);
    }
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)).await;
    let answer = client.answer(1).await;
    assert!(matches!(answer, Answer::Status(431) | Answer::Reset(_) | Answer::Away(_)), "{answer:?}");
}

async fn streams_beyond_the_limit(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    let head = get("/held");
    for number in 0..200u32 {
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, number * 2 + 1, &head)).await;
    }
    // The first 128 are held by the app; those beyond are refused, which tells that they may be asked again.
    assert_eq!(client.answer(399).await, Answer::Reset(REFUSED_STREAM));
}

async fn requests_nobody_reads(stage: Stage) {
    let mut client = Frames::connect(&stage.door).await;
    let many: Vec<(&[u8], &[u8])> =
        vec![(b":method", b"GET"), (b":scheme", b"https"), (b":authority", HOST.as_bytes()), (b":path", b"/elsewhere")];
    let head = block(&many);
    for number in 0..count(20_000, 5) {
        if !client.force(&frame(HEADERS, END_HEADERS | END_STREAM, number as u32 * 2 + 1, &head)).await {
            return;
        }
    }
}
