//! Tests downloads and uploads against a small store that speaks the control plane's protocol and drops connections on demand.
#![cfg(test)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use fairlead_base::CancellationToken;
use fairlead_fetch::{Digest, FetchClient, FetchError, Receive, Send, SendReason};

const TOKEN: &str = "a-token";

/// State of one file in the store, and the failures that the store injects.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    whole: bool,
    /// Bytes after which answers break off, each once.
    breaks: Vec<usize>,
    /// Every request, as `METHOD range`.
    asked: Vec<String>,
}

struct Store {
    address: SocketAddr,
    held: Arc<Mutex<Held>>,
}

impl Store {
    fn start(held: Held) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, held) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(held)));
        let shared = Arc::clone(&held);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &shared);
            }
        });
        Self { address, held }
    }

    fn url(&self) -> String {
        format!("http://{}/agent/artifacts/x", self.address)
    }
}

fn answer(mut stream: TcpStream, held: &Mutex<Held>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let method = line.split(' ').next().unwrap().to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let header = |name: &str| headers.get(name).map_or("", String::as_str);
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let mut held = held.lock().unwrap();
    held.asked.push(format!("{method} {}{}", header("range"), header("content-range")));
    let mut say = |status: &str, more: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n");
        stream.write_all(head.as_bytes()).ok();
        stream.write_all(body).ok();
    };
    if header("authorization") != format!("Bearer {TOKEN}") {
        return say("401 Unauthorized", "Content-Length: 0\r\n", b"");
    }
    if matches!(method.as_str(), "HEAD" | "PUT") && header("fairlead-deployment") != "dep_1" {
        return say("404 Not Found", "Content-Length: 0\r\n", b"");
    }
    let have = held.bytes.len();
    match method.as_str() {
        "HEAD" if held.whole => say("200 OK", &format!("Content-Length: {have}\r\n"), b""),
        "HEAD" if have > 0 => say("200 OK", &format!("Upload-Offset: {have}\r\n"), b""),
        "HEAD" => say("404 Not Found", "", b""),
        "GET" => {
            let from: usize = header("range")
                .strip_prefix("bytes=")
                .and_then(|r| r.strip_suffix('-'))
                .map_or(0, |r| r.parse().unwrap());
            let rest = held.bytes[from..].to_vec();
            let length = format!("Content-Length: {}\r\n", rest.len());
            let sent = if held.breaks.is_empty() { rest.len() } else { held.breaks.remove(0).min(rest.len()) };
            if from > 0 {
                let range = format!("{length}Content-Range: bytes {from}-{}/{have}\r\n", have - 1);
                say("206 Partial Content", &range, &rest[..sent]);
            } else {
                say("200 OK", &length, &rest[..sent]);
            }
        }
        _ => {
            let range = header("content-range").strip_prefix("bytes ").unwrap();
            let (range, total) = range.split_once('/').unwrap();
            let from: usize = range.split('-').next().unwrap().parse().unwrap();
            if from != have {
                return say("409 Conflict", &format!("Upload-Offset: {have}\r\nContent-Length: 0\r\n"), b"");
            }
            if !held.breaks.is_empty() {
                // The store keeps a part and drops the connection before it answers.
                let kept = held.breaks.remove(0).min(body.len());
                held.bytes.extend_from_slice(&body[..kept]);
                return;
            }
            held.bytes.extend_from_slice(&body);
            if held.bytes.len().to_string() == *total {
                held.whole = true;
                say("201 Created", "Content-Length: 0\r\n", b"");
            } else {
                say("202 Accepted", &format!("Upload-Offset: {}\r\nContent-Length: 0\r\n", held.bytes.len()), b"");
            }
        }
    }
}

fn sha256(bytes: &[u8]) -> Digest {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Digest::sha256(&format!("sha256:{hex}")).unwrap()
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[tokio::test]
async fn a_file_that_breaks_off_goes_on_where_it_was_and_is_proved() {
    let bytes = content(300_000);
    let store =
        Store::start(Held { bytes: bytes.clone(), whole: true, breaks: vec![100_000, 50_000], ..Held::default() });
    let (dir, client) = (tempfile::tempdir().unwrap(), FetchClient::new(None).unwrap());
    let (to, url, cancel) = (dir.path().join("file"), store.url(), CancellationToken::new());
    let what = Receive { url: &url, token: TOKEN, bytes_max: 1 << 20 };
    client.file(what, Some(&sha256(&bytes)), &to, &cancel).await.unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), bytes);
    assert_eq!(store.held.lock().unwrap().asked, ["GET ", "GET bytes=100000-", "GET bytes=150000-"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing lies beside it");

    let error = client.file(what, Some(&sha256(b"other")), &dir.path().join("wrong"), &cancel).await.unwrap_err();
    assert!(matches!(error, FetchError::Digest { .. }), "{error}");
    let small = Receive { bytes_max: 1000, ..what };
    let error = client.file(small, Some(&sha256(&bytes)), &dir.path().join("large"), &cancel).await.unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error}");
    let closed = Receive { token: "wrong", ..what };
    let error = client.file(closed, Some(&sha256(&bytes)), &dir.path().join("closed"), &cancel).await.unwrap_err();
    assert!(matches!(error, FetchError::Status { status: 401, .. }) && !error.to_string().contains("wrong"), "{error}");
    assert!(!dir.path().join("wrong").exists() && !dir.path().join("wrong.fetch").exists());
}

#[tokio::test]
async fn a_file_is_sent_in_parts_from_where_the_store_is_and_never_twice() {
    let bytes = content((8 << 20) + 1000);
    let store = Store::start(Held { bytes: bytes[..5].to_vec(), breaks: vec![70_000], ..Held::default() });
    let (dir, client) = (tempfile::tempdir().unwrap(), FetchClient::new(None).unwrap());
    let (file, url, cancel) = (dir.path().join("file"), store.url(), CancellationToken::new());
    std::fs::write(&file, &bytes).unwrap();
    let what = Send { url: &url, token: TOKEN, file: &file, reason: SendReason::Deployment("dep_1") };
    client.send(what, &cancel).await.unwrap();
    {
        let held = store.held.lock().unwrap();
        assert!(held.whole && held.bytes == bytes);
        let total = bytes.len();
        let expected = [
            "HEAD ".to_owned(),
            format!("PUT bytes 5-{}/{total}", 5 + (8 << 20) - 1),
            "HEAD ".to_owned(),
            format!("PUT bytes 70005-{}/{total}", total - 1),
        ];
        assert_eq!(held.asked, expected);
    }
    client.send(what, &cancel).await.unwrap();
    assert_eq!(store.held.lock().unwrap().asked.last().unwrap(), "HEAD ");
}
