//! Differential request smuggling tests: hyper, a strict reader and a real nginx each see exactly the requests that the
//! proxy forwarded, and none that it refused.

use std::path::PathBuf;

use libtest_mimic::Trial;

use crate::case::case;
use crate::corpus::{self, CorpusCase, ExpectedOutcome};
use crate::nginx::{self, Nginx};
use crate::reference::{AppTranscript, ParsedRequest, ReferenceApp, strict};
use crate::support::client::{self, get};
use crate::support::{HOST, Proxy};

/// Valid requests that nginx always refuses.
const NGINX_REFUSES: [&str; 2] = ["asterisk-for-options", "method-in-small-letters"];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for attack in corpus::all() {
        trials.push(case("smuggling", format!("hyper/{}", attack.name), || before_hyper(attack)));
        if let Some(program) = nginx::program() {
            trials.push(case("smuggling", format!("nginx/{}", attack.name), || before_nginx(attack, program)));
        }
    }
    trials
}

async fn before_hyper(attack: &CorpusCase) {
    let app = ReferenceApp::start().await;
    let proxy = Proxy::before(app.address).await;
    play(attack, &proxy).await;
    proxy.end().await;
    let record = app.finish().await;
    check(attack, &record);
    let (mut requests, mut rest) = (Vec::new(), Vec::new());
    for bytes in &record.bytes {
        let (read, left) = strict(bytes);
        requests.extend(read);
        rest.extend(left);
    }
    assert_eq!(requests, record.requests, "hyper and the strict reader differ");
    match attack.outcome {
        ExpectedOutcome::Refused(_) => {
            assert!(record.bytes.is_empty(), "a refused request reached the app: {record:?}")
        }
        // The app gets the head and a part of the body, without an end.
        ExpectedOutcome::Cut(_) => {}
        ExpectedOutcome::Forwarded(_) | ExpectedOutcome::ForwardedThenRefused(..) => {
            assert!(rest.is_empty() && record.errors.is_empty(), "{record:?}");
        }
    }
}

async fn before_nginx(attack: &CorpusCase, program: PathBuf) {
    let app = ReferenceApp::start().await;
    let nginx = Nginx::start(program, app.address);
    let proxy = Proxy::before(nginx.address).await;
    if NGINX_REFUSES.contains(&attack.name) {
        let response = client::tls(&proxy).await.ask(&String::from_utf8(replace_host(attack.send)).unwrap()).await;
        assert_eq!(response.status, 400);
        return;
    }
    play(attack, &proxy).await;
    proxy.end().await;
    let refused = nginx.finish();
    let record = app.finish().await;
    check(attack, &record);
    if !matches!(attack.outcome, ExpectedOutcome::Cut(_)) {
        assert!(refused.is_empty(), "nginx would not read what was forwarded: {refused:?}");
    }
}

/// Sends the case and one more request, and checks what the client gets.
async fn play(attack: &CorpusCase, proxy: &Proxy) {
    let mut client = client::tls(proxy).await;
    let sent = replace_host(attack.send);
    client.send_bytes(&[sent.as_slice(), get("/after").as_bytes()].concat()).await;
    let (served, refused) = match attack.outcome {
        ExpectedOutcome::Refused(status) | ExpectedOutcome::Cut(status) => (0, Some(status)),
        ExpectedOutcome::Forwarded(requests) => (requests.len() + 1, None),
        ExpectedOutcome::ForwardedThenRefused(requests, status) => (requests.len(), Some(status)),
    };
    for number in 0..served {
        let mut response = client.response(false).await.expect("no answer");
        while response.status == 100 {
            response = client.response(false).await.expect("no answer");
        }
        assert_eq!((response.status, response.text()), (200, "ok"), "answer {number}");
    }
    if let Some(status) = refused {
        let response = client.response(false).await.expect("no answer");
        assert_eq!(response.status, status, "{}", response.text());
        assert_eq!(response.header("connection"), Some("close"));
        assert!(client.at_end().await, "more was answered");
    }
}

fn check(attack: &CorpusCase, record: &AppTranscript) {
    let after = [("GET", "/after", &b""[..])];
    let expected = match attack.outcome {
        ExpectedOutcome::Refused(_) | ExpectedOutcome::Cut(_) => Vec::new(),
        ExpectedOutcome::Forwarded(requests) => [requests, &after].concat(),
        ExpectedOutcome::ForwardedThenRefused(requests, _) => requests.to_vec(),
    };
    let expected: Vec<_> =
        expected.iter().map(|(method, target, body)| ParsedRequest::new(method, target, &replace_host(body))).collect();
    assert_eq!(record.requests, expected);
}

fn replace_host(text: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(6).position(|window| window == b"{host}") {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(HOST.as_bytes());
        rest = &rest[at + 6..];
    }
    replaced.extend_from_slice(rest);
    replaced
}
