//! Test server for foreign suites: `stand [APP]` runs a proxy for `localhost` in front of the named app or its own. It
//! prints a JSON line with its addresses and stops when its standard input ends.

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

/// Time for which the app waits for a body to end. Suites also send bodies that never end or end wrongly: an earlier
/// response would be complete before the error is found.
const BODY_TIMEOUT: Duration = Duration::from_millis(300);

/// Starts an app that responds to one request per connection.
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
                // The app responds either way: only the wait matters.
                tokio::time::timeout(BODY_TIMEOUT, whole).await.ok();
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
