//! Forward auth over real sockets, with an auth app beside the protected one.

use fairlead_model::message::{ForwardAuth, RoutePolicy};
use fairlead_wire::local::{ProxyApp, ProxySnapshot};
use prost::Message;

use crate::rejected;
use crate::support::app::App;
use crate::support::client;
use crate::support::{HOST, Proxy, quick, upstream};

/// App in the environment of the usual route.
const AUTH: &str = "app_auth/env_production";

/// An auth app: admits one session, answers a second one never, and sends all others to its login page.
async fn auth_app() -> App {
    App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            assert_eq!(request.header("x-forwarded-host"), Some(HOST));
            match request.header("cookie") {
                Some("session=1") => peer.write("HTTP/1.1 200 OK\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n").await,
                Some("session=slow") => std::future::pending().await,
                _ => {
                    let head = "HTTP/1.1 302 Found\r\nLocation: /login\r\nSet-Cookie: csrf=1\r\nContent-Length: 5\r\n";
                    peer.write(&format!("{head}\r\nlogin")).await;
                }
            }
        }
    })
    .await
}

fn snapshot(proxy: &Proxy, app: &App, auth_key: &str, auth: Option<&App>, timeout_ms: u32) -> ProxySnapshot {
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    let forward_auth = ForwardAuth {
        app: "app_auth".into(),
        path: "/verify".into(),
        response_headers: vec!["x-user".into()],
        timeout_ms,
        ..ForwardAuth::default()
    };
    snapshot.routes[0].policy =
        RoutePolicy { forward_auth: Some(forward_auth), ..RoutePolicy::default() }.encode_to_vec();
    snapshot.apps.push(ProxyApp {
        app_key: auth_key.to_owned(),
        upstreams: auth.map(|auth| upstream("ins_auth", auth.address)).into_iter().collect(),
        ..ProxyApp::default()
    });
    snapshot
}

fn post(cookie: &str) -> String {
    let fields = "X-User: root\r\nX_User: root\r\nContent-Length: 5";
    format!("POST /a?b HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookie}\r\n{fields}\r\n\r\nhello")
}

#[tokio::test]
async fn a_request_reaches_the_app_only_if_the_auth_app_allows_it() {
    let (app, auth) = (App::echo().await, auth_app().await);
    let mut proxy = Proxy::bare(quick()).await;
    proxy.apply(snapshot(&proxy, &app, AUTH, Some(&auth), 60_000)).await.unwrap();
    for cookie in ["session=2", "session=1"] {
        let response = client::tls(&proxy).await.ask(&post(cookie)).await;
        if cookie == "session=2" {
            assert_eq!((response.status, response.text()), (302, "login"));
            assert!(response.head.contains("location: /login\r\n") && response.head.contains("set-cookie: csrf=1\r\n"));
            assert_eq!(app.connections(), 0);
        } else {
            assert_eq!(response.status, 200);
            let echoed = response.text().to_ascii_lowercase();
            assert!(echoed.starts_with("post /a?b ") && echoed.ends_with("hello"), "{echoed}");
            assert!(echoed.contains("\r\nx-user: ann\r\n") && !echoed.contains("root"), "{echoed}");
        }
    }
    let stats = proxy.stats_until(|stats| rejected(stats, "forward_auth") == 1).await;
    assert_eq!(stats.apps.iter().map(|app| app.requests).sum::<u32>(), 1);
}

#[tokio::test]
async fn an_auth_app_that_fails_or_is_elsewhere_lets_nothing_pass() {
    let (app, auth) = (App::echo().await, auth_app().await);
    for (key, instances, timeout_ms) in
        [(AUTH, Some(&auth), 50), (AUTH, None, 60_000), ("app_auth/env_staging", Some(&auth), 60_000)]
    {
        let mut proxy = Proxy::bare(quick()).await;
        proxy.apply(snapshot(&proxy, &app, key, instances, timeout_ms)).await.unwrap();
        let response = client::tls(&proxy).await.ask(&post("session=slow")).await;
        assert_eq!((response.status, app.connections()), (503, 0), "{key}");
    }
}
