//! Bounds and conversions of traffic policy.

use super::*;
use crate::message;

fn rule(name: &str, value: &str) -> HeaderRule {
    HeaderRule { action: HeaderAction::Set, name: name.into(), value: value.into() }
}

fn user(hash: &str) -> BasicAuth {
    BasicAuth { realm: String::new(), users: vec![BasicUser { name: "ann".into(), password_hash: hash.into() }] }
}

#[test]
fn the_defaults_are_good() {
    RoutePolicy::default().check().unwrap();
    AppTraffic::default().check().unwrap();
    ProxySettings::default().check().unwrap();
}

#[test]
fn a_field_that_is_wrong_is_named() {
    let hash = format!("pbkdf2-sha256:100000:{}:{}=", "A".repeat(24), "A".repeat(43));
    let with = |change: &dyn Fn(&mut RoutePolicy)| {
        let mut policy = RoutePolicy { basic_auth: Some(user(&hash)), ..RoutePolicy::default() };
        change(&mut policy);
        policy.check().map_err(|error| error.field)
    };
    assert_eq!(with(&|_| ()), Ok(()));
    type Fault = (&'static str, fn(&mut RoutePolicy));
    let faults: [Fault; 9] = [
        ("request_headers[0].name", |p| p.request_headers.push(rule("Host", "x"))),
        ("request_headers[0].name", |p| p.request_headers.push(rule("content-length", "5"))),
        ("response_headers[0].name", |p| p.response_headers.push(rule("x_y", "5"))),
        ("response_headers[0].value", |p| p.response_headers.push(rule("x-y", "5\r\nz: 1"))),
        ("basic_auth.users", |p| p.basic_auth = Some(BasicAuth { realm: String::new(), users: vec![] })),
        ("basic_auth.users[0].password_hash", |p| p.basic_auth = Some(user("secret"))),
        ("basic_auth.users[0].password_hash", |p| p.basic_auth = Some(user("pbkdf2-sha256:1:AAAAAAAAAAAA:AA"))),
        ("limits.client_burst", |p| p.limits.client_burst = 1_000_001),
        ("error_pages[0]", |p| {
            let page = Page { content_type: "text/html".into(), body: String::new(), retry_after_seconds: 0 };
            p.error_pages.push(ErrorPage { from: 200, to: 599, replace_app: false, page });
        }),
    ];
    for (field, change) in faults {
        assert_eq!(with(&change), Err(field.to_owned()));
    }
}

#[test]
fn trusting_this_machine_is_warned_of() {
    let warns = |net: &str| {
        let trusted_proxies = vec![net.parse().unwrap()];
        !ProxySettings { trusted_proxies, ..ProxySettings::default() }.warnings().is_empty()
    };
    assert!(["127.0.0.0/8", "127.0.0.1/32", "127.5.0.0/16", "0.0.0.0/0", "::1/128", "::/0"].into_iter().all(warns));
    assert!(!["10.0.0.0/8", "128.0.0.0/8", "2001:db8::/32"].into_iter().any(warns));
    assert!(ProxySettings::default().warnings().is_empty());
}

#[test]
fn proxy_protocol_needs_trusted_proxies() {
    let check = |trusted_proxies: Vec<ipnet::IpNet>| {
        let settings = ProxySettings { proxy_protocol: true, trusted_proxies, ..ProxySettings::default() };
        settings.check().map_err(|error| error.field)
    };
    assert_eq!(check(vec![]), Err("proxy_protocol".to_owned()));
    assert_eq!(check(vec!["10.0.0.0/8".parse().unwrap()]), Ok(()));
}

#[test]
fn redirects_lead_to_hosts_and_paths_only() {
    let check = |to: &str| Redirect { status: 308, to: to.into(), keep_path: true }.check().is_ok();
    for good in ["https://example.com", "http://example.com:8080/a", "/new"] {
        assert!(check(good), "{good}");
    }
    for bad in
        ["", "//evil.example", "javascript:alert(1)", "https://", "https://u@h", "/a b", "/a\r\nb", "/a?b", "/\\h"]
    {
        assert!(!check(bad), "{bad}");
    }
}

#[test]
fn an_app_s_and_the_proxy_s_bounds_are_kept() {
    let app = AppTraffic { sticky_sessions: Some(StickySessions::Cookie("a b".into())), ..AppTraffic::default() };
    assert_eq!(app.check().unwrap_err().field, "sticky_sessions.cookie");
    let tls = UpstreamTls { server_name: "a/b".into(), ..UpstreamTls::default() };
    let app = AppTraffic { tls: Some(tls), ..AppTraffic::default() };
    assert_eq!(app.check().unwrap_err().field, "tls.server_name");
    let app = AppTraffic { queue_timeout_ms: 0, ..AppTraffic::default() };
    assert_eq!(app.check().unwrap_err().field, "queue_timeout_ms");
    let mut settings = ProxySettings::default();
    settings.access_log.file_bytes_max = 1;
    assert_eq!(settings.check().unwrap_err().field, "access_log.file_bytes_max");
}

#[test]
fn addresses_are_read_as_they_are_written() {
    for text in [
        "127.0.0.1:3000",
        "[::1]:80",
        "71234@127.0.0.1:3000",
        "0@[::1]:80",
        "unix:/run/app.sock",
        "unix:2001@/run/a@b.sock",
        "unix:/run/a@b.sock",
        "ns:127.0.0.1:3000@/run/a@b.sock",
        "ns:[::1]:80@/run/net",
        "ns:unix@/run/net",
    ] {
        assert_eq!(text.parse::<UpstreamAddress>().unwrap().to_string(), text);
    }
    for text in [
        "localhost:1",
        "@127.0.0.1:3000",
        "root@127.0.0.1:3000",
        "1@2@127.0.0.1:3000",
        "unix:app.sock",
        "unix:@/run/app.sock",
        "unix:root@/run/app.sock",
        "unix:1@app.sock",
        "ns:127.0.0.1:3000",
        "ns:127.0.0.1@/run/net",
        "ns:unix@net",
        "",
        &format!("unix:/{}", "a".repeat(108)),
    ] {
        assert!(text.parse::<UpstreamAddress>().is_err(), "{text}");
    }
}

fn json<T: TrafficPart>(part: &T) -> Parsed<T> {
    TrafficEncoding::Json.decode(&serde_json::to_vec(part).unwrap())
}

fn decode<T: TrafficPart>(message: &T::Message) -> Parsed<T> {
    TrafficEncoding::Message.decode(&message.encode_to_vec())
}

#[test]
fn absent_fields_are_the_default_and_a_wrong_one_is_named() {
    for encoding in [TrafficEncoding::Message, TrafficEncoding::Json] {
        assert_eq!(encoding.decode(&[]), Ok(RoutePolicy::default()));
        assert_eq!(encoding.decode(&[]), Ok(AppTraffic::default()));
        assert_eq!(encoding.decode(&[]), Ok(ProxySettings::default()));
        assert!(encoding.decode::<Redirect>(&[]).is_err());
        assert_eq!(encoding.decode::<RoutePolicy>(&[0xff]).unwrap_err().field, "encoding");
    }
    let field = |policy: message::RoutePolicy| decode::<RoutePolicy>(&policy).unwrap_err().field;
    assert_eq!(field(message::RoutePolicy { allow: vec!["nowhere".into()], ..Default::default() }), "allow");
    assert_eq!(field(message::RoutePolicy { priority: 77, ..Default::default() }), "priority");
    let large = message::RoutePolicy { request_body_bytes_max: u64::MAX, ..Default::default() };
    assert_eq!(field(large), "request_body_bytes_max");
    let one = message::RoutePolicy { allow: vec!["192.0.2.7".into()], ..Default::default() };
    assert_eq!(decode::<RoutePolicy>(&one).unwrap().allow[0].to_string(), "192.0.2.7/32");
}

#[test]
fn forward_auth_names_an_app_and_copies_no_header_of_the_proxy() {
    let field = |change: fn(&mut message::ForwardAuth)| {
        let mut auth = message::ForwardAuth { app: "app_1".into(), path: "/verify".into(), ..Default::default() };
        change(&mut auth);
        let policy = message::RoutePolicy { forward_auth: Some(auth), ..Default::default() };
        decode::<RoutePolicy>(&policy)
            .map(|policy| policy.forward_auth.map(|auth| auth.timeout_ms))
            .map_err(|e| e.field)
    };
    assert_eq!(field(|_| ()), Ok(Some(5000)));
    type Fault = (&'static str, fn(&mut message::ForwardAuth));
    let faults: [Fault; 9] = [
        ("app", |auth| auth.app.clear()),
        ("app", |auth| auth.app = "app_1/env_2".into()),
        ("app", |auth| auth.app = "http://169.254.169.254".into()),
        ("path", |auth| auth.path = "verify".into()),
        ("path", |auth| auth.path = "/a b".into()),
        ("response_headers[0]", |auth| auth.response_headers.push("content-length".into())),
        ("response_headers[0]", |auth| auth.response_headers.push("x-forwarded-for".into())),
        ("timeout_ms", |auth| auth.timeout_ms = 60_001),
        ("cache_seconds", |auth| auth.cache_seconds = 301),
    ];
    for (name, change) in faults {
        assert_eq!(field(change), Err(format!("forward_auth.{name}")));
    }
}

#[test]
fn a_prefix_for_the_app_is_a_path() {
    let prefix = |text: &str, strip_prefix: bool| {
        let policy = message::RoutePolicy { rewrite_prefix: text.into(), strip_prefix, ..Default::default() };
        decode::<RoutePolicy>(&policy).map(|policy| policy.prefix_for_app().map(str::to_owned)).map_err(|e| e.field)
    };
    assert_eq!(prefix("", false), Ok(None));
    assert_eq!(prefix("", true), Ok(Some("/".into())));
    assert_eq!(prefix("/v1/", true), Ok(Some("/v1/".into())));
    for bad in ["v1", "//host", "/a//b", "/a?b", "/a#b", "/a b", "/\\h", "/é"] {
        assert_eq!(prefix(bad, false), Err("rewrite_prefix".to_owned()), "{bad}");
    }
}

#[test]
fn tls_and_hsts_have_bounds() {
    let field = |policy: message::RoutePolicy| decode::<RoutePolicy>(&policy).map(|_| ()).map_err(|error| error.field);
    let with_authorities = |ca_pem: String| {
        let client_auth = Some(message::ClientAuth { required: true, ca_pem });
        let tls = Some(message::HostTls { tls13_only: false, client_auth });
        field(message::RoutePolicy { tls, ..Default::default() })
    };
    assert_eq!(with_authorities("x".into()), Ok(()));
    for pem in [String::new(), "x".repeat(64 * 1024 + 1)] {
        assert_eq!(with_authorities(pem), Err("tls.client_auth.ca_pem".to_owned()));
    }
    let hsts = Some(message::Hsts { max_age_seconds: 315_360_001, ..Default::default() });
    assert_eq!(field(message::RoutePolicy { hsts, ..Default::default() }), Err("hsts.max_age_seconds".to_owned()));
}

#[test]
fn encoded_traffic_is_checked_and_shows_no_hash() {
    let bytes = message::RoutePolicy { compress: true, ..Default::default() }.encode_to_vec();
    let encoded = EncodedTraffic::checked::<RoutePolicy>(bytes.clone()).unwrap();
    assert_eq!((encoded.bytes(), format!("{encoded:?}").as_str()), (&bytes[..], "EncodedTraffic(2 bytes)"));
    assert!(EncodedTraffic::checked::<Redirect>(Vec::new()).is_err());
}

#[test]
fn a_part_comes_out_of_json_as_it_went_in() {
    let page = Page { content_type: "text/plain".into(), body: "soon".into(), retry_after_seconds: 9 };
    let rule = |action| HeaderRule { action, name: "x-a".into(), value: String::new() };
    let hash = format!("pbkdf2-sha256:100000:{}:{}=", "A".repeat(24), "A".repeat(43));
    let policy = RoutePolicy {
        serve_plain_http: true,
        strip_prefix: true,
        request_headers: vec![rule(HeaderAction::Set), rule(HeaderAction::Append)],
        response_headers: vec![rule(HeaderAction::Remove)],
        basic_auth: Some(BasicAuth {
            realm: "in".into(),
            users: vec![BasicUser { name: "ann".into(), password_hash: hash }],
        }),
        allow: vec!["192.0.2.0/24".parse().unwrap()],
        deny: vec!["2001:db8::/32".parse().unwrap()],
        maintenance: Some(page.clone()),
        error_pages: vec![ErrorPage { from: 500, to: 504, replace_app: true, page }],
        limits: RouteLimits {
            client_requests_per_second: 1,
            client_burst: 2,
            client_in_flight: 3,
            requests_per_second: 4,
            burst: 5,
            in_flight: 6,
        },
        priority: Priority::High,
        compress: true,
        request_body_bytes_max: 1 << 40,
        rewrite_prefix: "/v1".into(),
        forward_auth: Some(ForwardAuth {
            app: "auth".into(),
            path: "/verify?x".into(),
            response_headers: vec!["x-user".into()],
            timeout_ms: 6,
            cache_seconds: 7,
            cache_by_credentials: true,
        }),
        tls: Some(HostTls { tls13_only: true, client_auth: Some(ClientAuth { required: true, ca_pem: "x".into() }) }),
        hsts: Some(Hsts { max_age_seconds: 1, include_subdomains: true, preload: true }),
    };
    assert_eq!(json(&policy), Ok(policy));
    let traffic = AppTraffic {
        upstream_protocol: UpstreamProtocol::Http2,
        tls: Some(UpstreamTls { server_name: "a.test".into(), ca_pem: "x".into() }),
        load_balancing: LoadBalancing::RoundRobin,
        sticky_sessions: Some(StickySessions::Cookie("c".into())),
        slow_start_ms: 1,
        connections_per_instance: 2,
        in_flight_per_instance: 3,
        in_flight_per_app: 4,
        queue_length_max: 0,
        queue_timeout_ms: 6,
        response_timeout_ms: 7,
        load_shedding: true,
        retry_budget_percent: 0,
        outlier_ejection: OutlierEjection { consecutive_failures: 0, ejection_time_ms: 900, ejected_percent_max: 10 },
        health_check: Some(ActiveHealthCheck {
            path: "/up".into(),
            interval_ms: 10,
            timeout_ms: 11,
            healthy_threshold: 2,
            unhealthy_threshold: 4,
        }),
    };
    assert_eq!(json(&traffic), Ok(traffic));
    let settings = ProxySettings {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        cloudflare: true,
        proxy_protocol: true,
        http3: false,
        connections_per_client: 0,
        access_log: AccessLog {
            enabled: false,
            format: LogFormat::Combined,
            sample_permille: 0,
            file_bytes_max: 1 << 20,
            files_max: 2,
        },
    };
    assert_eq!(json(&settings), Ok(settings));
}

/// Rows of the contract's table: name of a bound, its least and its greatest value.
fn bounds_of_the_contract() -> Vec<(String, u64, u64)> {
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/contract/src/traffic-bounds.ts");
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().unwrap();
    let row = |line: &str| {
        let (name, values) = line.strip_prefix("  '")?.split_once("': [")?;
        let (least, most) = values.strip_suffix("],")?.split_once(',')?;
        Some((name.to_owned(), number(least), number(most)))
    };
    std::fs::read_to_string(table).unwrap().lines().filter_map(row).collect()
}

/// Decodes a part whose field has this value; all others are good.
fn decode_with<T: TrafficPart + Default>(name: &str, value: u64) -> Result<(), String> {
    let mut part = serde_json::to_value(T::default()).unwrap();
    let optional = [
        ("maintenance", serde_json::json!({ "body": "" })),
        ("forward_auth", serde_json::json!({ "app": "auth", "path": "/" })),
        ("health_check", serde_json::json!({})),
    ];
    for (field, default) in optional {
        if let Some(found) = part.get_mut(field) {
            *found = default;
        }
    }
    let (parents, field) = name.rsplit_once('.').unwrap_or(("", name));
    let parents = parents.split('.').filter(|parent| !parent.is_empty());
    parents.fold(&mut part, |part, parent| part.get_mut(parent).unwrap())[field] = value.into();
    let bytes = serde_json::to_vec(&part).unwrap();
    TrafficEncoding::Json.decode::<T>(&bytes).map(drop).map_err(|error| error.field)
}

#[test]
fn the_bounds_are_those_of_the_contract() {
    let bounds = bounds_of_the_contract();
    assert!(bounds.len() > 20, "the table of bounds was not read");
    for (bound, least, most) in bounds {
        let (part, name) = bound.split_once('.').unwrap();
        let decode = match part {
            "route" => decode_with::<RoutePolicy>,
            "app" => decode_with::<AppTraffic>,
            _ => decode_with::<ProxySettings>,
        };
        for good in [least, most] {
            assert_eq!(decode(name, good), Ok(()), "{bound} of {good}");
        }
        for bad in [least.checked_sub(1), Some(most + 1)].into_iter().flatten() {
            assert_eq!(decode(name, bad), Err(name.to_owned()), "{bound} of {bad}");
        }
    }
}
