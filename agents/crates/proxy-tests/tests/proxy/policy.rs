//! Route policies over real sockets, with the same results for HTTP/1.1 and HTTP/2.

use std::sync::Arc;

use crate::support::app::App;
use crate::support::client::{self, Client, get};
use crate::support::{APP, HOST, Proxy, quick, upstream};
use crate::{encoded, rejected};
use bytes::Bytes;
use fairlead_model::{
    BasicAuth, BasicUser, ErrorPage, HeaderAction, HeaderRule, Page, ProxySettings, Redirect, RouteLimits, RoutePolicy,
};
use fairlead_wire::local::{AcmeResponder, ProxyRoute, ProxySnapshot, ProxyStats};
use h2::client::SendRequest;
use http::Request;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::client::TlsStream;

/// Hash of `open sesame` with the minimum number of iterations.
const HASH: &str = "pbkdf2-sha256:10000:MDEyMzQ1Njc4OWFiY2RlZg==:I1fRzPdik5F+m1JYkXkqwnEmFt/dm1VokeoVyG9DVvs=";
const ANN: (&str, &str) = ("authorization", "Basic YW5uOm9wZW4gc2VzYW1l");

/// A client of either protocol.
enum Asker {
    Http1(Box<Client<TlsStream<TcpStream>>>),
    Http2(SendRequest<Bytes>),
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

impl Asker {
    async fn both(proxy: &Proxy) -> [Self; 2] {
        let h2 = client::handshake(proxy, &proxy.tls(&["h2"]), HOST).await.unwrap();
        let (send, connection) = h2::client::handshake(h2.stream).await.unwrap();
        tokio::spawn(async move {
            // Ends with the test.
            drop(connection.await);
        });
        [Self::Http1(Box::new(client::tls(proxy).await)), Self::Http2(send)]
    }

    async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        match self {
            Self::Http1(client) => {
                let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let response = client.ask(&format!("{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n")).await;
                let lines = response.head.lines().skip(1).filter_map(|line| line.split_once(": "));
                let headers = lines.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
                Answer { status: response.status, headers, body: response.text().to_owned() }
            }
            Self::Http2(send) => {
                let mut request = Request::builder().method(method).uri(format!("https://{HOST}{path}"));
                for (name, value) in headers {
                    request = request.header(*name, *value);
                }
                let (response, _) = send.clone().send_request(request.body(()).unwrap(), true).unwrap();
                let (head, mut body) = response.await.unwrap().into_parts();
                let mut bytes = Vec::new();
                while let Some(data) = body.data().await {
                    bytes.extend_from_slice(&data.unwrap());
                }
                let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
                let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
                Answer { status: head.status.as_u16(), headers, body: String::from_utf8(bytes).unwrap() }
            }
        }
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[]).await
    }
}

/// The proxy's usual table, changed.
async fn proxy(app: &App, change: impl FnOnce(&mut ProxySnapshot)) -> Proxy {
    let mut proxy = Proxy::bare(quick()).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    snapshot.traffic_is_json = true;
    change(&mut snapshot);
    proxy.apply(snapshot).await.unwrap();
    proxy
}

async fn with_policy(app: &App, policy: RoutePolicy) -> Proxy {
    proxy(app, |snapshot| snapshot.routes[0].policy = encoded(&policy)).await
}

fn rule(action: HeaderAction, name: &str, value: &str) -> HeaderRule {
    HeaderRule { action, name: name.into(), value: value.into() }
}

fn page(body: &str) -> Page {
    Page { content_type: "text/html".into(), body: body.into(), retry_after_seconds: 0 }
}

/// Trusts proxies on this machine, where the tests run.
fn behind_trusted(snapshot: &mut ProxySnapshot) {
    let trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    snapshot.settings = encoded(&ProxySettings { trusted_proxies, ..ProxySettings::default() });
}

#[tokio::test]
async fn header_rules_hold_both_ways_and_the_prefix_is_taken_off() {
    let app = App::echo().await;
    let policy = RoutePolicy {
        strip_prefix: true,
        request_headers: vec![rule(HeaderAction::Set, "x-user", "ann"), rule(HeaderAction::Remove, "accept", "")],
        response_headers: vec![
            rule(HeaderAction::Append, "x-frame-options", "DENY"),
            rule(HeaderAction::Remove, "content-type", ""),
        ],
        ..RoutePolicy::default()
    };
    let proxy = proxy(&app, |snapshot| {
        snapshot.routes[0].path_prefix = "/api/".to_owned();
        snapshot.routes[0].policy = encoded(&policy);
    })
    .await;
    for mut client in Asker::both(&proxy).await {
        let answer = client.ask("GET", "/api/x?q=1", &[("x_user", "root"), ("accept", "*/*")]).await;
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
        assert!(answer.body.starts_with("GET /x?q=1 HTTP/1.1\r\n"), "{}", answer.body);
        assert!(answer.body.contains("x-user: ann\r\n") && answer.body.contains("x-forwarded-prefix: /api\r\n"));
        assert!(!answer.body.contains("root") && !answer.body.contains("*/*"));
        assert!(client.get("/api").await.body.starts_with("GET / "));
        assert_eq!(client.get("/other").await.status, 404);
    }
}

/// Some apps merge trailers into the headers: a trailer must not say what a rule sets or removes.
#[tokio::test]
async fn header_rules_hold_for_trailers_both_ways() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let text = request.trailers;
            let trailers = "X-Sum: 9\r\nX-Secret: 1\r\nx_tag: 2\r\nForwarded: for=6.6.6.6\r\n";
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            peer.write(&format!("{head}{:x}\r\n{text}\r\n0\r\n{trailers}\r\n", text.len())).await;
        }
    })
    .await;
    let ruled = RoutePolicy {
        request_headers: vec![rule(HeaderAction::Set, "x-user", "ann"), rule(HeaderAction::Remove, "x-debug", "")],
        response_headers: vec![rule(HeaderAction::Remove, "x-secret", ""), rule(HeaderAction::Set, "x-tag", "1")],
        ..RoutePolicy::default()
    };
    // The control: without rules the fields pass, except those that only the proxy may set.
    for (policy, at_app, at_client) in [
        (ruled, "x-keep: 1", &["x-sum"][..]),
        (RoutePolicy::default(), "x-user: red x_user: red x-debug: 1 x-keep: 1", &["x-sum", "x-secret", "x_tag"][..]),
    ] {
        let proxy = with_policy(&app, policy).await;
        let trailers = "X-User: red\r\nX_User: red\r\nX-Debug: 1\r\nX-Forwarded-For: 6.6.6.6\r\nX-Keep: 1\r\n";
        let head = format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let mut http1 = client::tls(&proxy).await;
        let response = http1.ask(&format!("{head}1\r\nx\r\n0\r\n{trailers}\r\n")).await;
        let flat = |text: &str| text.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(flat(response.text()), at_app);
        let names = response.trailers.to_ascii_lowercase();
        let names: Vec<_> = names.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
        assert_eq!(names, at_client, "{}", response.trailers);

        let send = crate::support::http2::connect(&proxy).await;
        let (response, mut stream) =
            send.clone().send_request(crate::support::http2::request("POST", "/"), false).unwrap();
        stream.send_data("x".into(), false).unwrap();
        let fields = trailers.lines().filter_map(|line| line.split_once(": "));
        let fields = fields.map(|(name, value)| (name.to_ascii_lowercase().parse().unwrap(), value.parse().unwrap()));
        stream.send_trailers(fields.collect::<http::HeaderMap>()).unwrap();
        let mut body = response.await.unwrap().into_body();
        let text = String::from_utf8(crate::support::http2::read(&mut body).await.unwrap()).unwrap();
        assert_eq!(flat(&text), at_app);
        let trailers = body.trailers().await.unwrap().unwrap();
        assert_eq!(trailers.keys().map(http::HeaderName::as_str).collect::<Vec<_>>(), at_client);
    }
}

#[tokio::test]
async fn a_guarded_path_is_not_reached_by_another_spelling() {
    let app = App::echo().await;
    for (deny, refused, format) in [(vec!["0.0.0.0/0".parse().unwrap()], 400, 403), (vec![], 200, 200)] {
        let policy = RoutePolicy { deny, ..RoutePolicy::default() };
        let proxy = proxy(&app, |snapshot| {
            let admin =
                ProxyRoute { path_prefix: "/admin".to_owned(), policy: encoded(&policy), ..snapshot.routes[0].clone() };
            snapshot.routes.push(admin);
        })
        .await;
        // The control, without denied addresses: each spelling reaches the app.
        for mut client in Asker::both(&proxy).await {
            for path in ["/ADMIN", "/%2561dmin", "/admin%20", "/admin%00", "/admin%09", "/admin.", "/Admin/x"] {
                assert_eq!(client.get(path).await.status, refused, "{path}");
            }
            for path in ["/admin.json", "/Admin.css"] {
                assert_eq!(client.get(path).await.status, format, "{path}");
            }
            for path in ["/", "/Other", "/administrator", "/x.json", "/a%20b"] {
                assert_eq!(client.get(path).await.status, 200, "{path}");
            }
        }
    }
}

#[tokio::test]
async fn redirects_lead_where_they_say_and_plain_http_is_served_where_that_is_wanted() {
    let app = App::echo().await;
    let proxy = proxy(&app, |snapshot| {
        let usual = snapshot.routes[0].clone();
        let redirect = Redirect { status: 302, to: "https://new.test/base".into(), keep_path: true };
        let redirect = encoded(&redirect);
        let plain = RoutePolicy { serve_plain_http: true, ..RoutePolicy::default() };
        snapshot.routes.extend([
            ProxyRoute { path_prefix: "/old".into(), app_key: String::new(), redirect, ..usual.clone() },
            ProxyRoute { path_prefix: "/plain".into(), policy: encoded(&plain), ..usual.clone() },
            ProxyRoute { host: "*.any.localhost".into(), ..usual },
        ]);
    })
    .await;
    for mut client in Asker::both(&proxy).await {
        let answer = client.get("/old/x?y").await;
        assert_eq!((answer.status, answer.header("location")), (302, Some("https://new.test/base/x?y")));
        let head = client.ask("HEAD", "/old", &[]).await;
        assert_eq!((head.status, head.body.as_str()), (302, ""));
    }
    let mut plain = client::plain(&proxy).await;
    let port = proxy.https.port();
    let answer = plain.ask(&get("/x?y")).await;
    assert_eq!((answer.status, answer.header("location")), (308, Some(format!("https://{HOST}:{port}/x?y").as_str())));
    assert_eq!(plain.ask(&get("/plain")).await.status, 200);
    assert_eq!(plain.ask(&get("/.well-known/acme-challenge/x")).await.status, 200);
    let below = plain.ask("GET /x HTTP/1.1\r\nHost: a.b.ANY.localhost\r\n\r\n").await;
    // HTTPS could not serve it, so it is not redirected.
    assert_eq!((below.status, below.header("location")), (503, None));
    assert!(String::from_utf8_lossy(&below.body).contains("no certificate yet"));
    assert_eq!(plain.ask("GET / HTTP/1.1\r\nHost: any.localhost\r\n\r\n").await.status, 404);
}

#[tokio::test]
async fn challenges_of_a_host_with_an_order_are_answered_over_plain_http_only() {
    let app = App::echo().await;
    let proxy = proxy(&app, |snapshot| {
        snapshot.acme_responders.push(AcmeResponder {
            host: HOST.into(),
            thumbprint: "print".into(),
            ..AcmeResponder::default()
        });
    })
    .await;
    let mut plain = client::plain(&proxy).await;
    let answer = plain.ask(&get("/.well-known/acme-challenge/a-token")).await;
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"a-token.print"[..]));
    // Not a token: the app decides, as for hosts without an order.
    assert_ne!(plain.ask(&get("/.well-known/acme-challenge/a/b")).await.body, b"a/b.print");
    for mut client in Asker::both(&proxy).await {
        assert_ne!(client.get("/.well-known/acme-challenge/a-token").await.body, "a-token.print");
    }
}

#[tokio::test]
async fn a_password_lets_in_and_is_not_sent_on() {
    let app = App::echo().await;
    let user = |name: &str| BasicUser { name: name.into(), password_hash: HASH.into() };
    let auth = |realm: &str, name| Some(BasicAuth { realm: realm.into(), users: vec![user(name)] });
    let policy = RoutePolicy { basic_auth: auth("staff", "ann"), ..RoutePolicy::default() };
    let mut proxy = with_policy(&app, policy).await;
    for mut client in Asker::both(&proxy).await {
        let nobody = client.get("/").await;
        assert_eq!(nobody.status, 401);
        assert_eq!(nobody.header("www-authenticate"), Some("Basic realm=\"staff\", charset=\"UTF-8\""));
        for wrong in ["Basic YW5uOm9wZW4gc2VzYW0=", "Basic Ym9iOm9wZW4gc2VzYW1l", "Basic !", "Bearer x"] {
            assert_eq!(client.ask("GET", "/", &[("authorization", wrong)]).await.status, 401, "{wrong}");
        }
        assert_eq!(client.ask("GET", "/", &[ANN, ANN]).await.status, 401);
        for _ in 0..2 {
            let answer = client.ask("GET", "/", &[ANN]).await;
            assert_eq!(answer.status, 200);
            assert!(!answer.body.to_ascii_lowercase().contains("authorization"), "{}", answer.body);
        }
        let head = client.ask("HEAD", "/", &[]).await;
        assert_eq!((head.status, head.body.as_str()), (401, ""));
    }
    // A removed user is rejected, although the password was cached.
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    snapshot.traffic_is_json = true;
    let policy = RoutePolicy { basic_auth: auth("staff", "eve"), ..RoutePolicy::default() };
    snapshot.routes[0].policy = encoded(&policy);
    proxy.apply(snapshot).await.unwrap();
    for mut client in Asker::both(&proxy).await {
        assert_eq!(client.ask("GET", "/", &[ANN]).await.status, 401);
    }
}

#[tokio::test]
async fn address_rules_accept_a_client_address_only_from_trusted_proxies() {
    let app = App::echo().await;
    let deny = |text: &str| RoutePolicy { deny: vec![text.parse().unwrap()], ..RoutePolicy::default() };
    let forged = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "http"), ("cf-connecting-ip", "192.0.2.1")];
    let direct = with_policy(&app, deny("192.0.2.0/24")).await;
    for mut client in Asker::both(&direct).await {
        let answer = client.ask("GET", "/", &forged).await;
        assert_eq!(answer.status, 200);
        assert!(answer.body.contains("x-forwarded-for: 127.0.0.1\r\n") && !answer.body.contains("192.0.2.1"));
    }
    let behind = proxy(&app, |snapshot| {
        snapshot.routes[0].policy = encoded(&deny("192.0.2.0/24"));
        behind_trusted(snapshot);
    })
    .await;
    for mut client in Asker::both(&behind).await {
        assert_eq!(client.ask("GET", "/", &forged).await.status, 403);
        let chain = [("x-forwarded-for", "192.0.2.1, 198.51.100.7, 127.0.0.3")];
        let answer = client.ask("GET", "/", &chain).await;
        assert_eq!(answer.status, 200);
        assert!(answer.body.contains("x-forwarded-for: 198.51.100.7, 127.0.0.3, 127.0.0.1\r\n"), "{}", answer.body);
        assert!(answer.body.contains("x-forwarded-proto: https\r\n"));
    }
    // A proxy that ended TLS speaks plain HTTP to us: no redirect, which would come back here.
    let mut plain = client::plain(&behind).await;
    let asked = |proto: &str| format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-Proto: {proto}\r\n\r\n");
    assert!(plain.ask(&asked("https")).await.text().contains("x-forwarded-proto: https\r\n"));
    assert_eq!(plain.ask(&asked("http")).await.status, 308);
    assert_eq!(client::plain(&direct).await.ask(&asked("https")).await.status, 308);
}

#[tokio::test]
async fn maintenance_is_a_page_for_all() {
    let app = App::echo().await;
    let policy = RoutePolicy {
        maintenance: Some(Page { retry_after_seconds: 600, ..page("<h1>Soon</h1>") }),
        error_pages: vec![ErrorPage { from: 400, to: 599, replace_app: true, page: page("other") }],
        response_headers: vec![rule(HeaderAction::Set, "cache-control", "no-cache")],
        ..RoutePolicy::default()
    };
    let proxy = with_policy(&app, policy).await;
    for mut client in Asker::both(&proxy).await {
        let answer = client.get("/").await;
        assert_eq!((answer.status, answer.body.as_str()), (503, "<h1>Soon</h1>"));
        for (name, value) in [("retry-after", "600"), ("content-type", "text/html"), ("cache-control", "no-cache")] {
            assert_eq!(answer.header(name), Some(value));
        }
        let head = client.ask("HEAD", "/", &[]).await;
        assert_eq!((head.header("content-length"), head.body.as_str()), (Some("13"), ""));
    }
    assert_eq!(app.connections(), 0);
}

#[tokio::test]
async fn error_pages_take_the_place_of_errors_and_connections_stay_in_step() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let response = match request.head.split(' ').nth(1).unwrap() {
                "/500" => "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nETag: x\r\nX-App: y\r\nContent-Length: 5\r\n\r\ntrace",
                // Its body never ends.
                "/501" => "HTTP/1.1 501 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ntrace\r\n",
                "/404" => "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nmine",
                "/502" => return,
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            };
            peer.write(response).await;
        }
    })
    .await;
    let policy = RoutePolicy {
        error_pages: vec![
            ErrorPage { from: 500, to: 501, replace_app: true, page: page("<p>sorry</p>") },
            ErrorPage { from: 400, to: 599, replace_app: false, page: page("<p>proxy</p>") },
        ],
        ..RoutePolicy::default()
    };
    let proxy = with_policy(&app, policy).await;
    for mut client in Asker::both(&proxy).await {
        for _ in 0..3 {
            let answer = client.get("/500").await;
            assert_eq!((answer.status, answer.body.as_str()), (500, "<p>sorry</p>"));
            assert_eq!((answer.header("etag"), answer.header("x-app")), (None, Some("y")));
            assert_eq!(answer.header("content-type"), Some("text/html"));
            assert_eq!(client.ask("HEAD", "/501", &[]).await.header("content-length"), Some("12"));
            assert_eq!(client.get("/501").await.body, "<p>sorry</p>");
            assert_eq!(client.get("/").await.body, "ok");
        }
        assert_eq!(client.get("/404").await.body, "mine");
        let bad = client.get("/502").await;
        assert_eq!((bad.status, bad.body.as_str()), (502, "<p>proxy</p>"));
    }
}

#[tokio::test]
async fn an_error_whose_body_came_with_it_leaves_the_app_s_connection_in_use() {
    let app = App::answering("HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\ntrace").await;
    let pages = vec![ErrorPage { from: 500, to: 500, replace_app: true, page: page("sorry") }];
    let proxy = with_policy(&app, RoutePolicy { error_pages: pages, ..RoutePolicy::default() }).await;
    let mut client = client::tls(&proxy).await;
    for _ in 0..10 {
        assert_eq!(client.ask(&get("/")).await.text(), "sorry");
    }
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn a_client_above_its_rate_limit_gets_429_and_others_do_not() {
    let app = App::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    // A second's worth is one, and two more; no test runs so slow that it would earn ten others.
    let limits = RouteLimits { client_requests_per_second: 1, client_burst: 2, ..RouteLimits::default() };
    let policy = RoutePolicy { limits, ..RoutePolicy::default() };
    let proxy = proxy(&app, |snapshot| {
        snapshot.routes[0].policy = encoded(&policy);
        behind_trusted(snapshot);
    })
    .await;
    let [mut one, mut two] = Asker::both(&proxy).await;
    let (mut served, mut refused) = (0, 0);
    // From one /64, over both protocols and so over both cores.
    for number in 0..1000 {
        let client = if number % 2 == 0 { &mut one } else { &mut two };
        let address = format!("2001:db8::{number:x}");
        let answer = client.ask("GET", "/", &[("x-forwarded-for", &address)]).await;
        match answer.status {
            200 => served += 1,
            429 => {
                assert_eq!(answer.header("retry-after"), Some("1"));
                refused += 1;
            }
            status => panic!("{status}"),
        }
    }
    assert!(served >= 3 && refused > 0, "{served} {refused}");
    assert_eq!(two.ask("GET", "/", &[("x-forwarded-for", "2001:db8:0:1::1")]).await.status, 200);
    assert_eq!(one.ask("GET", "/", &[("x-forwarded-for", "192.0.2.1")]).await.status, 200);
}

#[tokio::test]
async fn requests_at_once_are_counted_until_they_end_however_they_end() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let app = App::new(move |mut peer, _| {
        let gate = Arc::clone(&opened);
        async move {
            while peer.request().await.is_some() {
                gate.acquire().await.unwrap().forget();
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
        }
    })
    .await;
    let limits = RouteLimits { client_in_flight: 2, in_flight: 3, ..RouteLimits::default() };
    let policy = RoutePolicy { limits, ..RoutePolicy::default() };
    let proxy = proxy(&app, |snapshot| {
        snapshot.routes[0].policy = encoded(&policy);
        behind_trusted(snapshot);
    })
    .await;
    let from = |address: &str| format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-For: {address}\r\n\r\n");
    let mut kept = Vec::new();
    for address in ["192.0.2.1", "192.0.2.1", "192.0.2.2"] {
        let mut client = client::tls(&proxy).await;
        client.send(&from(address)).await;
        kept.push(client);
    }
    // A request is the only way to see that all three are counted.
    let mut probe = client::tls(&proxy).await;
    while app.connections() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(probe.ask(&from("192.0.2.1")).await.status, 429);
    assert_eq!(probe.ask(&from("192.0.2.3")).await.status, 429);
    // One leaves in the middle, the others are answered.
    drop(kept.remove(0));
    gate.add_permits(3);
    for client in &mut kept {
        assert_eq!(client.response(false).await.unwrap().status, 200);
    }
    gate.add_permits(1000);
    loop {
        // The proxy notices a client's leaving in its own time.
        if probe.ask(&from("192.0.2.1")).await.status == 200 {
            break;
        }
    }
}

#[tokio::test]
async fn a_body_beyond_its_bound_is_refused_before_the_app_hears_of_it_or_of_its_end() {
    let app = App::echo().await;
    let policy = RoutePolicy { request_body_bytes_max: 10, ..RoutePolicy::default() };
    let mut proxy = with_policy(&app, policy).await;
    // Content-Length alone rejects it: the app gets no connection.
    let mut client = client::tls(&proxy).await;
    let ask = format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
    let answer = client.ask(&ask).await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    assert!(client.at_end().await);
    let h2 = crate::support::http2::connect(&proxy).await;
    let post = |length: Option<&str>| {
        let mut request = crate::support::http2::request("POST", "/");
        length.map(|length| request.headers_mut().insert("content-length", length.parse().unwrap()));
        request
    };
    let (response, _upload) = h2.clone().send_request(post(Some("11")), false).unwrap();
    assert_eq!(response.await.unwrap().status(), 413);
    assert_eq!(app.connections(), 0);
    // Exactly as large as may be.
    let whole = "\r\n5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n";
    let head = format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n");
    let mut client = client::tls(&proxy).await;
    client.send(&format!("{head}{whole}")).await;
    let answer = client.response(false).await.unwrap();
    assert!(answer.status == 200 && answer.text().ends_with("helloworld"), "{answer:?}");
    // Grown beyond it: the app answers only what is whole.
    client.send(&format!("{head}\r\n5\r\nhello\r\n6\r\nworlds\r\n0\r\n\r\n")).await;
    assert_eq!(client.response(false).await.unwrap().status, 413);
    let (response, mut upload) = h2.clone().send_request(post(None), false).unwrap();
    upload.send_data(Bytes::from_static(b"hello"), false).unwrap();
    upload.send_data(Bytes::from_static(b"worlds"), false).unwrap();
    assert_eq!(response.await.unwrap().status(), 413);
    // The stream alone is over, not its connection.
    assert_eq!(crate::support::http2::get(&h2, "/").await.0, 200);
    proxy.stats_until(|stats| rejected(stats, "body_too_large") == 4).await;
}

#[tokio::test]
async fn each_route_s_requests_are_counted_apart_over_cores_and_tables() {
    let app = App::new(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let status = if request.head.contains("/bad") { "500 Oops" } else { "404 Not Found" };
            peer.write(&format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")).await;
        }
    })
    .await;
    let mut proxy = Proxy::before(app.address).await;
    let table = |proxy: &Proxy, extra: &str| {
        let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
        let route = |path: &str| ProxyRoute { path_prefix: path.to_owned(), ..snapshot.routes[0].clone() };
        // The one in front changes the place of the others.
        let routes = [route(extra), route("/api"), snapshot.routes[0].clone()];
        snapshot.routes = routes.into();
        snapshot
    };
    proxy.apply(table(&proxy, "/one")).await.unwrap();
    for mut client in Asker::both(&proxy).await {
        for path in ["/", "/bad", "/api/x", "/api"] {
            client.get(path).await;
        }
    }
    let mut swapped = table(&proxy, "/one");
    swapped.routes.remove(0);
    proxy.apply(swapped).await.unwrap();
    client::tls(&proxy).await.ask(&get("/api/bad")).await;
    let of = |stats: &ProxyStats, path: &str| {
        let mine = stats
            .route_metrics
            .iter()
            .filter(|served| served.route == format!("{HOST}{path}") && served.app_key == APP);
        mine.fold((0, 0, 0, 0), |sum, served| {
            let latencies = sum.3 + served.latency_count.iter().sum::<u64>();
            (sum.0 + served.requests, sum.1 + served.errors, sum.2 + served.client_errors, latencies)
        })
    };
    let stats = proxy.stats_until(|stats| of(stats, "/").0 + of(stats, "/api/").0 >= 9).await;
    assert_eq!((of(&stats, "/"), of(&stats, "/api/"), of(&stats, "/one/")), ((4, 2, 2, 4), (5, 1, 4, 5), (0, 0, 0, 0)));
    assert_eq!(stats.apps[0].requests, 9);
}

#[tokio::test]
async fn what_a_route_answers_itself_is_counted() {
    let app = App::echo().await;
    let auth =
        BasicAuth { realm: String::new(), users: vec![BasicUser { name: "ann".into(), password_hash: HASH.into() }] };
    let policy = RoutePolicy { basic_auth: Some(auth), ..RoutePolicy::default() };
    let mut proxy = with_policy(&app, policy).await;
    for mut client in Asker::both(&proxy).await {
        assert_eq!(client.get("/").await.status, 401);
        assert_eq!(client.ask("GET", "/", &[("authorization", "Basic YW5uOg==")]).await.status, 401);
        assert_eq!(client.ask("GET", "/", &[ANN]).await.status, 200);
    }
    assert_eq!(client::plain(&proxy).await.ask(&get("/")).await.status, 308);
    let of_route = |stats: &ProxyStats| (rejected(stats, "unauthorized"), rejected(stats, "redirected"));
    let stats = proxy.stats_until(|stats| of_route(stats).0 >= 4 && of_route(stats).1 >= 1).await;
    assert_eq!(of_route(&stats), (4, 1));
    assert!(stats.route_responses.iter().all(|route| route.route == format!("{HOST}/")));
    // None of them was the app's.
    let stats = if stats.apps.is_empty() { proxy.stats_until(|stats| !stats.apps.is_empty()).await } else { stats };
    assert_eq!((stats.apps[0].requests, stats.apps[0].client_errors, stats.apps[0].in_flight), (2, 0, 0));
}

#[tokio::test]
async fn a_policy_that_can_t_be_used_is_refused_with_its_place() {
    let app = App::echo().await;
    let mut proxy = Proxy::before(app.address).await;
    let mut snapshot = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    snapshot.traffic_is_json = true;
    let user = BasicUser { name: "ann".into(), password_hash: HASH.into() };
    let auth = BasicAuth { realm: String::new(), users: vec![user] };
    let mut policy = RoutePolicy { basic_auth: Some(auth), ..RoutePolicy::default() };
    snapshot.routes[0].policy = encoded(&policy);
    let mut redirect = snapshot.clone();
    redirect.routes[0].redirect = encoded(&Redirect { status: 308, to: "/x".into(), keep_path: false });
    assert!(proxy.apply(redirect).await.unwrap_err().contains("basic_auth"));
    // Four characters of base64 that no 32 bytes have at their end.
    let bad = HASH.replace("Vvs=", "V===");
    policy.basic_auth.as_mut().unwrap().users[0].password_hash = bad;
    snapshot.routes[0].policy = encoded(&policy);
    assert!(proxy.apply(snapshot).await.unwrap_err().contains("users.ann"));
    assert_eq!(client::tls(&proxy).await.ask(&get("/")).await.status, 200);
    let mut twice = proxy.snapshot(vec![upstream("ins_1", app.address)]);
    twice.routes.push(ProxyRoute { host: "*.*.localhost".into(), app_key: APP.into(), ..twice.routes[0].clone() });
    assert!(proxy.apply(twice).await.unwrap_err().contains("*.*.localhost"));
}
