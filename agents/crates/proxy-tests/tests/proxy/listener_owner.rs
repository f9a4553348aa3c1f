//! Apps on loopback ports, where every program of the server can listen: the proxy connects only to listeners of the
//! app's own user.

use std::net::SocketAddr;

use crate::support::app::App;
use crate::support::client::{self, get};
use crate::support::http2::{self, Http2App, echo};
use crate::support::{Proxy, quick, upstream};
use fairlead_model::message::AppTraffic;
use fairlead_wire::local::ProxyUpstream;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn owned(owner: u32, address: SocketAddr) -> Vec<ProxyUpstream> {
    vec![ProxyUpstream { address: format!("{owner}@{address}"), ..upstream("ins_1", address) }]
}

#[tokio::test]
async fn a_request_never_reaches_a_program_of_another_user_on_the_app_s_port() {
    for host in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let listener = TcpListener::bind(host).await.unwrap();
        let mut address = listener.local_addr().unwrap();
        if address.ip().is_unspecified() {
            address.set_ip("127.0.0.1".parse().unwrap());
        }
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read(&mut [0u8; 64]).await.unwrap_or_default()
        });
        let mut proxy = Proxy::bare(quick()).await;
        proxy.route(owned(own_user() + 1, address)).await;
        let mut client = client::tls(&proxy).await;
        assert_eq!(client.ask(&get("/")).await.status, 502, "{host}");
        assert_eq!(heard.await.unwrap(), 0, "{host}: it hears nothing");
        proxy.end().await;
    }
}

#[tokio::test]
async fn an_app_of_its_own_user_is_asked_once_a_connection() {
    let app = App::echo().await;
    let mut proxy = Proxy::bare(quick()).await;
    proxy.route(owned(own_user(), app.address)).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..5 {
        assert_eq!(client.ask(&get("/")).await.status, 200);
    }
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn http_2_to_apps_has_the_same_rule() {
    let app = Http2App::new(echo).await;
    let mut proxy = Proxy::bare(quick()).await;
    for (owner, status) in [(own_user() + 1, 502), (own_user(), 200)] {
        let snapshot = http2::snapshot(&proxy, owned(owner, app.address), AppTraffic::default());
        proxy.apply(snapshot).await.unwrap();
        let mut client = client::tls(&proxy).await;
        assert_eq!(client.ask(&get("/")).await.status, status);
    }
}
