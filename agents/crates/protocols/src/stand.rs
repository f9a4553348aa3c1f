//! A proxy for suites of others: `stand [APP]` keeps one in front of an app, which is its own unless one is named, prints a
//! JSON line with its addresses and ends with its standard input. It answers for `localhost`, which every resolver knows.

use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use fairlead_wire::local::{ProxyApp, ProxyCertificate, ProxyRoute, ProxySnapshot};
use rcgen::{CertificateParams, KeyPair};

use crate::support::app::App;
use crate::support::{APP, Proxy, quick, upstream};

const HOST: &str = "localhost";
/// Long enough that flow control has something to hold back.
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 60\r\nConnection: close\r\n\r\n\
                      0123456789012345678901234567890123456789012345678901234567\r\n";

/// How long the app waits for a body to end. Suites send bodies that never end, but also ones whose end is wrong: an answer
/// before that is read would be whole before the fault is seen.
const BODY_PATIENCE: Duration = Duration::from_millis(300);

/// Answers whatever begins like a request, once a connection.
async fn own_app() -> SocketAddr {
    let app = App::new(|mut peer, _| async move {
        if let Some(head) = peer.head().await {
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length:").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
            if head.contains("transfer-encoding") || length.is_some() {
                let is_whole = |unread: &[u8]| {
                    length.map_or_else(|| unread.ends_with(b"0\r\n\r\n"), |length: usize| unread.len() >= length)
                };
                let whole = async { while !is_whole(&peer.unread) && peer.fill().await {} };
                // Either way it is answered: what matters is that it was waited for.
                tokio::time::timeout(BODY_PATIENCE, whole).await.ok();
            }
            peer.write(ANSWER).await;
            while peer.fill().await {}
        }
    });
    app.await.address
}

pub async fn run(app: Option<SocketAddr>) {
    let app = match app {
        Some(address) => address,
        None => own_app().await,
    };
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![HOST.to_owned()]).unwrap().self_signed(&key).unwrap();
    let mut proxy = Proxy::bare(quick()).await;
    let snapshot = ProxySnapshot {
        routes: vec![ProxyRoute {
            host: HOST.to_owned(),
            path_prefix: "/".to_owned(),
            app_key: APP.to_owned(),
            ..ProxyRoute::default()
        }],
        certificates: vec![ProxyCertificate {
            hosts: vec![HOST.to_owned()],
            chain_der: vec![certificate.der().to_vec()],
            key_pkcs8_der: key.serialize_der(),
        }],
        apps: vec![ProxyApp {
            app_key: APP.to_owned(),
            upstreams: vec![upstream("ins_1", app)],
            measured: true,
            ..ProxyApp::default()
        }],
        ..ProxySnapshot::default()
    };
    proxy.apply(snapshot).await.unwrap();
    println!("{{\"https\":\"{}\",\"http\":\"{}\"}}", proxy.https, proxy.http);
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await.unwrap().unwrap();
    proxy.end().await;
}
