//! Access log of a real proxy: each request writes one line.

use std::path::Path;

use crate::support::app::App;
use crate::support::client;
use crate::support::{HOST, Proxy, quick, upstream};
use fairlead_model::message::{AccessLog, ProxySettings};
use fairlead_wire::local::ProxySnapshot;
use prost::Message;
use serde_json::Value;

async fn lines(path: &Path, count: usize) -> Vec<Value> {
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.lines().count() >= count {
            return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        }
        tokio::task::yield_now().await;
    }
}

fn logged(
    proxy: &Proxy,
    upstreams: Vec<fairlead_wire::local::ProxyUpstream>,
    path: &Path,
    sample: u32,
) -> ProxySnapshot {
    let access_log = Some(AccessLog { sample_permille: Some(sample), ..AccessLog::default() });
    ProxySnapshot {
        settings: ProxySettings { access_log, ..ProxySettings::default() }.encode_to_vec(),
        access_log_path: path.to_string_lossy().into_owned(),
        ..proxy.snapshot(upstreams)
    }
}

#[tokio::test]
async fn every_request_has_its_line_and_a_sample_of_none_leaves_only_failures() {
    let app = App::echo().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut proxy = Proxy::bare(quick()).await;
    proxy.pass_log(&std::fs::File::create(&path).unwrap()).await;
    let upstreams = || vec![upstream("ins_1", app.address)];
    let snapshot = logged(&proxy, upstreams(), &path, 1000);
    proxy.apply(snapshot).await.unwrap();
    let mut client = client::tls(&proxy).await;
    let ask = format!("GET /a?b=1 HTTP/1.1\r\nHost: {HOST}\r\nUser-Agent: \"quoted\"\r\nX-Request-ID: mine\r\n\r\n");
    assert_eq!(client.ask(&ask).await.status, 200);
    assert_eq!(client.ask("GET / HTTP/1.1\r\nHost: nobody.localhost\r\n\r\n").await.status, 404);
    let found = lines(&path, 2).await;
    for (name, value) in [
        ("client", Value::from("127.0.0.1")),
        ("method", "GET".into()),
        ("host", HOST.into()),
        ("target", "/a?b=1".into()),
        ("protocol", "HTTP/1.1".into()),
        ("user_agent", "\"quoted\"".into()),
        ("request_id", "mine".into()),
        ("instance", "ins_1".into()),
        ("secure", true.into()),
        ("status", 200.into()),
    ] {
        assert_eq!(found[0][name], value, "{name}");
    }
    assert_eq!((&found[1]["status"], &found[1]["host"]), (&404.into(), &"nobody.localhost".into()));
    assert!(found[1].get("instance").is_none());

    let snapshot = logged(&proxy, Vec::new(), &path, 0);
    proxy.apply(snapshot).await.unwrap();
    assert_eq!(client.ask("GET / HTTP/1.1\r\nHost: nobody.localhost\r\n\r\n").await.status, 404);
    assert_eq!(client.ask(&ask).await.status, 503);
    assert_eq!(lines(&path, 3).await[2]["status"], 503);
}
