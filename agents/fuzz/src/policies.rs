//! Fuzz target of header rules and client addresses: the output follows the rules, and only a trusted proxy names
//! another client.

use std::net::IpAddr;

use fairlead_model::{HeaderAction, HeaderRule, ProxySettings};
use fairlead_route::{
    Client, Credentials, HeaderRules, HttpVersion, RequestEdit, RequestFacts, RequestLine, RequestTarget,
    TrustedProxies, encode_request, forwarded_address, usable_request_id,
};

use crate::reference;

const NAMES: [&str; 8] = ["x-a", "x-b", "cookie", "authorization", "accept", "x-forwarded-for", "x-real-ip", "server"];

/// Fuzzes bytes for rules, LF, then fields as a head has them.
pub fn policy(data: &[u8]) {
    let cut = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len()).min(16);
    let (chosen, lines) = data.split_at(cut);
    let mut text = lines.get(1..).unwrap_or_default().to_vec();
    text.extend_from_slice(b"\r\n\r\n");
    let Some((fields, _)) = reference::fields(&text) else { return };
    let headers = || fields.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));

    addresses(&fields, headers);
    for (name, value) in headers() {
        if name.eq_ignore_ascii_case(b"authorization")
            && let Some(credentials) = Credentials::parse(value)
        {
            assert!(!credentials.user().contains(&b':'));
        }
        if usable_request_id(value) {
            assert!(value.iter().all(|byte| matches!(byte, 0x21..=0x7e)));
        }
    }
    rules(chosen, headers);
}

fn addresses<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(fields: &'a reference::Fields, headers: impl Fn() -> H) {
    let settings = ProxySettings { trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()], ..ProxySettings::default() };
    let trust = TrustedProxies::new(&settings).unwrap();
    let stranger = Client::new("192.0.2.7".parse().unwrap(), true);
    assert!(trust.client(&stranger, headers()).is_none(), "a stranger spoke for another");
    let proxy: IpAddr = "10.0.0.1".parse().unwrap();
    let client = trust.client(&Client::new(proxy, true), headers()).expect("a trusted proxy is not heard");
    // Simple model: all entries from the right, up to the first that is not a trusted proxy's.
    let mut entries = Vec::new();
    for (name, value) in fields {
        if name.eq_ignore_ascii_case(b"x-forwarded-for") {
            entries.extend(value.split(|byte| *byte == b','));
        }
    }
    let mut slow = proxy;
    for entry in entries.iter().rev().take(16) {
        let Some(address) = forwarded_address(entry) else { break };
        slow = address;
        if !trust.trusts(address) {
            break;
        }
    }
    assert_eq!(client.ip(), slow);
}

fn rules<'a, H: Iterator<Item = (&'a [u8], &'a [u8])>>(chosen: &[u8], headers: impl Fn() -> H) {
    let rules: Vec<_> = chosen
        .iter()
        .map(|byte| {
            let action = [HeaderAction::Set, HeaderAction::Append, HeaderAction::Remove][usize::from(byte / 8) % 3];
            let value = if action == HeaderAction::Remove { String::new() } else { format!("v{byte}") };
            HeaderRule { action, name: NAMES[usize::from(byte % 8)].to_owned(), value }
        })
        .collect();
    let line = RequestLine {
        method: b"GET",
        target: RequestTarget::parse(b"GET", b"/").unwrap(),
        version: HttpVersion::Http11,
        authority: Some(b"a.test"),
        unsized_body: false,
    };
    let Ok(facts) = RequestFacts::gather(&line, headers()) else { return };
    let compiled = HeaderRules::of_requests(&rules, &[]);
    let edit = RequestEdit { rules: compiled.as_ref(), stripped: None };
    let client = Client::new("192.0.2.7".parse().unwrap(), true);
    let mut sent = Vec::new();
    encode_request(&line, &facts, headers, &client, b"id", &edit, &mut sent);
    let (_, _, _, sent_fields, length) = reference::request(&sent).expect("no strict request");
    assert_eq!(length, sent.len());
    // The last replacing rule of a name decides which values are allowed.
    for name in NAMES {
        let values: Vec<_> =
            sent_fields.iter().filter(|(other, _)| *other == name.as_bytes()).map(|(_, value)| value).collect();
        let of_name: Vec<_> = rules.iter().filter(|rule| rule.name == name).collect();
        let Some(last) = of_name.iter().rposition(|rule| rule.action != HeaderAction::Append) else { continue };
        let mut expected = Vec::new();
        if of_name[last].action == HeaderAction::Set {
            expected.push(of_name[last].value.clone());
        }
        expected.extend(of_name[last + 1..].iter().map(|rule| rule.value.clone()));
        if name == "cookie" && !expected.is_empty() {
            expected = vec![expected.join("; ")];
        }
        let values: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect();
        assert_eq!(values, expected, "{name}");
    }
}
