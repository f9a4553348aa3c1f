//! Client of a request: the connection's peer, or the client that a trusted proxy names. Claims of other peers are
//! ignored.

use std::net::IpAddr;

use fairlead_model::ProxySettings;

use crate::Authority;
use crate::address::AddressSet;
use crate::cloudflare::CLOUDFLARE_RANGES;
use crate::header::is;
use crate::request::push;

/// Maximum number of trusted proxies before this one; more are not believed.
const HOPS_MAX: usize = 16;

/// Client as forwarded headers describe it. Made once per connection, or once per request behind a trusted proxy.
#[derive(Debug, Clone)]
pub struct Client {
    ip: IpAddr,
    secure: bool,
    /// Value of X-Forwarded-For: the client's address, then those of the proxies. The only text that is stored, because
    /// each idle connection has one.
    chain: Box<str>,
    /// Details that only a client behind a trusted proxy has.
    forwarded: Option<Box<ForwardedClient>>,
}

#[derive(Debug, Clone)]
struct ForwardedClient {
    /// Elements of Forwarded after the client's: `, for=…` for each proxy.
    nodes: Box<str>,
    /// Host that the client requested, if the proxy requests another one.
    host: Option<Box<[u8]>>,
    /// True if Cloudflare named the client.
    by_cloudflare: bool,
}

impl Client {
    /// Creates the client at `address`; `secure` if its connection uses TLS.
    pub fn new(address: IpAddr, secure: bool) -> Self {
        // Converts ::ffff:192.0.2.1, a dual-stack socket's form of an IPv4 client; apps expect the plain form.
        let ip = address.to_canonical();
        Self { ip, secure, chain: ip.to_string().into(), forwarded: None }
    }

    /// Returns the client's address, which limits and address rules use.
    pub fn ip(&self) -> IpAddr {
        self.ip
    }

    /// True if the client uses TLS, to us or to the trusted proxy in front.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    fn scheme(&self) -> &'static [u8] {
        if self.secure { b"https" } else { b"http" }
    }

    /// Returns the address as RFC 7239, 6 requires, in three pieces: IPv6 is quoted and in brackets.
    fn node(&self) -> [&[u8]; 3] {
        let chain = self.chain.as_bytes();
        let first = self.forwarded.as_ref().and_then(|_| memchr::memchr(b',', chain));
        let address = &chain[..first.unwrap_or(chain.len())];
        if self.ip.is_ipv6() { [b"\"[", address, b"]\""] } else { [b"", address, b""] }
    }

    /// Appends all fields that describe the client to an app.
    pub(crate) fn encode_all(&self, host: &[u8], out: &mut Vec<u8>) {
        if self.forwarded.is_some() {
            return self.encode(host, |_| false, out);
        }
        // Few pieces, most of known length.
        let address = self.chain.as_bytes();
        push(out, &[b"x-forwarded-for: ", address, b"\r\nx-forwarded-host: ", host]);
        if self.secure {
            out.extend_from_slice(b"\r\nx-forwarded-proto: https\r\nforwarded: for=");
        } else {
            out.extend_from_slice(b"\r\nx-forwarded-proto: http\r\nforwarded: for=");
        }
        if self.ip.is_ipv6() {
            push(out, &self.node());
        } else {
            out.extend_from_slice(address);
        }
        push(out, &[b";host=\"", host]);
        if self.secure {
            out.extend_from_slice(b"\";proto=https\r\n");
        } else {
            out.extend_from_slice(b"\";proto=http\r\n");
        }
    }

    /// Appends the fields that describe the client to an app, except those that `drops` names.
    pub(crate) fn encode(&self, host: &[u8], drops: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) {
        let forwarded = self.forwarded.as_deref();
        let host = forwarded.and_then(|forwarded| forwarded.host.as_deref()).unwrap_or(host);
        if !drops(b"x-forwarded-for") {
            push(out, &[b"x-forwarded-for: ", self.chain.as_bytes(), b"\r\n"]);
        }
        if !drops(b"x-forwarded-host") {
            push(out, &[b"x-forwarded-host: ", host, b"\r\n"]);
        }
        if !drops(b"x-forwarded-proto") {
            push(out, &[b"x-forwarded-proto: ", self.scheme(), b"\r\n"]);
        }
        if !drops(b"forwarded") {
            let nodes = forwarded.map_or(&[][..], |forwarded| forwarded.nodes.as_bytes());
            out.extend_from_slice(b"forwarded: for=");
            push(out, &self.node());
            push(out, &[b";host=\"", host, b"\";proto=", self.scheme(), nodes, b"\r\n"]);
        }
        if forwarded.is_some_and(|forwarded| forwarded.by_cloudflare) && !drops(b"cf-connecting-ip") {
            let first = self.chain.split(',').next().unwrap_or_default();
            push(out, &[b"cf-connecting-ip: ", first.as_bytes(), b"\r\n"]);
        }
    }
}

fn node(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("\"[{ip}]\"") } else { ip.to_string() }
}

/// Trusted proxies in front of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedProxies {
    proxies: AddressSet,
    /// Cloudflare's ranges; set if Cloudflare is trusted too.
    cloudflare: Option<AddressSet>,
}

impl TrustedProxies {
    /// Returns `None` without trusted proxies, as in the default settings.
    pub fn new(settings: &ProxySettings) -> Option<Self> {
        let cloudflare = settings
            .cloudflare
            .then(|| AddressSet::new(CLOUDFLARE_RANGES.iter().filter_map(|range| range.parse().ok())));
        if cloudflare.is_none() && settings.trusted_proxies.is_empty() {
            return None;
        }
        Some(Self { proxies: AddressSet::new(settings.trusted_proxies.iter().copied()), cloudflare })
    }

    /// True if an address belongs to a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.proxies.contains(address) || self.is_cloudflare(address)
    }

    fn is_cloudflare(&self, address: IpAddr) -> bool {
        self.cloudflare.as_ref().is_some_and(|ranges| ranges.contains(address))
    }

    /// Returns the client that a trusted peer names; `None` if `peer` is no trusted proxy, and so is the client itself.
    ///
    /// Walks X-Forwarded-For from its right end, which the peer wrote, through addresses of trusted proxies. The first
    /// address that is not trusted is the client. Entries to the left of it are the client's own claims and are
    /// dropped. An entry that is no address ends the walk.
    pub fn client<'a>(&self, peer: &Client, headers: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<Client> {
        if !self.trusts(peer.ip) {
            return None;
        }
        let claims = Claims::gather(headers);
        let mut hops = vec![peer.ip];
        let named = claims.cloudflare.filter(|_| self.is_cloudflare(peer.ip));
        match named {
            Some(client) => hops.push(client),
            None => self.walk(&claims.forwarded_for, &mut hops),
        }
        Some(client_of(&hops, claims.secure.unwrap_or(peer.secure), claims.host, named.is_some()))
    }

    fn walk(&self, lines: &[&[u8]], hops: &mut Vec<IpAddr>) {
        let entries = lines.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
        for entry in entries.take(HOPS_MAX) {
            let Some(address) = forwarded_address(entry) else { return };
            hops.push(address);
            if !self.trusts(address) {
                return;
            }
        }
    }
}

/// Builds the client; `hops` starts with the connection's peer and ends with the client.
fn client_of(hops: &[IpAddr], secure: bool, host: Option<&[u8]>, by_cloudflare: bool) -> Client {
    let ip = hops[hops.len() - 1];
    let mut chain = String::new();
    let mut nodes = String::new();
    for hop in hops.iter().rev() {
        if !chain.is_empty() {
            chain.push_str(", ");
            nodes.push_str(", for=");
            nodes.push_str(&node(*hop));
        }
        chain.push_str(&hop.to_string());
    }
    let forwarded = ForwardedClient { nodes: nodes.into(), host: host.map(Into::into), by_cloudflare };
    Client { ip, secure, chain: chain.into(), forwarded: Some(Box::new(forwarded)) }
}

/// Claims of a proxy about the client.
struct Claims<'a> {
    forwarded_for: Vec<&'a [u8]>,
    secure: Option<bool>,
    host: Option<&'a [u8]>,
    cloudflare: Option<IpAddr>,
}

impl<'a> Claims<'a> {
    fn gather(headers: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let mut claims = Self { forwarded_for: Vec::new(), secure: None, host: None, cloudflare: None };
        let mut named = 0;
        for (name, value) in headers.filter(|(name, _)| memchr::memchr(b'_', name).is_none()) {
            match name.len() {
                15 if is(name, b"x-forwarded-for") => claims.forwarded_for.push(value),
                17 if is(name, b"x-forwarded-proto") => claims.secure = secure(value).or(claims.secure),
                16 if is(name, b"x-forwarded-host") => {
                    claims.host = Authority::parse(value).ok().map(|authority| authority.text);
                }
                16 if is(name, b"cf-connecting-ip") => {
                    named += 1;
                    claims.cloudflare = forwarded_address(value);
                }
                _ => {}
            }
        }
        // Cloudflare sends the field exactly once.
        claims.cloudflare = claims.cloudflare.filter(|_| named == 1);
        claims
    }
}

/// Reads the last of several values: the nearest proxy wrote it.
fn secure(value: &[u8]) -> Option<bool> {
    match value.rsplit(|byte| *byte == b',').next()?.trim_ascii() {
        scheme if scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"wss") => Some(true),
        scheme if scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"ws") => Some(false),
        _ => None,
    }
}

/// Parses an address as proxies write it: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`,
/// `[2001:db8::1]:4711`.
pub fn forwarded_address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry.trim_ascii()).ok()?;
    let address = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            if !(after.is_empty() || after.strip_prefix(':').is_some_and(is_port)) {
                return None;
            }
            IpAddr::V6(address.parse().ok()?)
        }
        None => match text.split_once(':') {
            Some((address, port)) if !port.contains(':') => {
                if !is_port(port) {
                    return None;
                }
                IpAddr::V4(address.parse().ok()?)
            }
            _ => text.parse().ok()?,
        },
    };
    Some(address.to_canonical())
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings(trusted: &[&str], cloudflare: bool) -> ProxySettings {
        let trusted_proxies = trusted.iter().map(|net| net.parse().unwrap()).collect();
        ProxySettings { trusted_proxies, cloudflare, ..ProxySettings::default() }
    }

    #[test]
    fn fields_made_beforehand_are_those_made_one_by_one() {
        for (address, is_secure) in [("192.0.2.7", true), ("2001:db8::1", false), ("::ffff:192.0.2.1", true)] {
            let client = Client::new(address.parse().unwrap(), is_secure);
            let (mut all, mut each) = (Vec::new(), Vec::new());
            client.encode_all(b"own.test:1", &mut all);
            client.encode(b"own.test:1", |_| false, &mut each);
            assert_eq!(String::from_utf8(all), String::from_utf8(each));
        }
    }

    fn told(trust: &TrustedProxies, peer: &str, headers: &[(&str, &str)]) -> Option<String> {
        let peer = Client::new(peer.parse().unwrap(), false);
        let headers = headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let client = trust.client(&peer, headers)?;
        let mut out = Vec::new();
        client.encode(b"own.test", |_| false, &mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_rightmost_untrusted_hop_is_the_client_and_what_it_said_is_dropped() {
        let trust = TrustedProxies::new(&settings(&["10.0.0.0/8"], false)).unwrap();
        let headers = [
            ("x-forwarded-for", "6.6.6.6, 192.0.2.7"),
            ("x-forwarded-for", "10.0.0.2:81"),
            ("X-Forwarded-Proto", "https"),
            ("x-forwarded-host", "shop.test"),
        ];
        assert_eq!(
            told(&trust, "::ffff:10.0.0.1", &headers).unwrap(),
            "x-forwarded-for: 192.0.2.7, 10.0.0.2, 10.0.0.1\r\nx-forwarded-host: shop.test\r\nx-forwarded-proto: https\r\n\
             forwarded: for=192.0.2.7;host=\"shop.test\";proto=https, for=10.0.0.2, for=10.0.0.1\r\n"
        );
        assert_eq!(told(&trust, "192.0.2.7", &headers), None);
    }

    #[test]
    fn an_entry_that_is_no_address_ends_the_walk() {
        let trust = TrustedProxies::new(&settings(&["10.0.0.0/8", "2001:db8::/32"], false)).unwrap();
        for (chain, expected) in [
            ("192.0.2.7, unknown, 10.0.0.2", "10.0.0.2, 10.0.0.1"),
            ("192.0.2.7,, 10.0.0.2", "10.0.0.2, 10.0.0.1"),
            ("", "10.0.0.1"),
            ("10.0.0.3", "10.0.0.3, 10.0.0.1"),
            ("192.0.2.7, [2001:db8::1]:99", "192.0.2.7, 2001:db8::1, 10.0.0.1"),
            ("\u{e9}", "10.0.0.1"),
        ] {
            let told = told(&trust, "10.0.0.1", &[("x-forwarded-for", chain), ("x-forwarded-host", "a b")]).unwrap();
            assert!(
                told.starts_with(&format!("x-forwarded-for: {expected}\r\nx-forwarded-host: own.test\r\n")),
                "{told}"
            );
        }
    }

    #[test]
    fn only_cloudflare_names_the_client_in_its_header() {
        let trust = TrustedProxies::new(&settings(&["10.0.0.0/8"], true)).unwrap();
        let named = [("cf-connecting-ip", "2001:db8::9"), ("x-forwarded-for", "6.6.6.6")];
        let told_by = |peer| told(&trust, peer, &named).unwrap();
        assert!(told_by("104.16.0.1").starts_with("x-forwarded-for: 2001:db8::9, 104.16.0.1\r\n"));
        assert!(told_by("104.16.0.1").contains("\r\nforwarded: for=\"[2001:db8::9]\";host="));
        assert!(told_by("104.16.0.1").ends_with("\r\ncf-connecting-ip: 2001:db8::9\r\n"));
        assert!(told_by("10.0.0.1").starts_with("x-forwarded-for: 6.6.6.6, 10.0.0.1\r\n"));
        assert!(!told_by("10.0.0.1").contains("cf-connecting-ip"));
        let twice =
            [("cf-connecting-ip", "2001:db8::9"), ("cf-connecting-ip", "192.0.2.1"), ("x-forwarded-for", "192.0.2.2")];
        assert!(told(&trust, "104.16.0.1", &twice).unwrap().starts_with("x-forwarded-for: 192.0.2.2, "));
        let without = TrustedProxies::new(&settings(&["10.0.0.0/8"], false)).unwrap();
        assert_eq!(told(&without, "104.16.0.1", &named), None);
        assert_eq!(TrustedProxies::new(&settings(&[], false)), None);
    }

    #[test]
    fn an_ipv6_client_is_quoted_where_the_rfc_wants_it_and_a_mapped_ipv4_one_is_plain() {
        let node = |address: &str| Client::new(address.parse().unwrap(), false).node().concat();
        assert_eq!(node("2001:db8::1"), b"\"[2001:db8::1]\"");
        assert_eq!(node("::ffff:192.0.2.1"), b"192.0.2.1");
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            "a",
            "1.2.3",
            "1.2.3.4:",
            "1.2.3.4:x",
            "[::1",
            "[::1]x",
            "[1.2.3.4]",
            "::1]",
            "1.2.3.4, ",
            "fe80::1%eth0",
        ] {
            assert_eq!(forwarded_address(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        /// Compares with a model: all entries in one list from the nearest on, up to the first that is invalid or not
        /// trusted.
        #[test]
        fn the_walk_finds_what_the_obvious_search_finds(entries in prop::collection::vec(
            prop::sample::select(vec!["10.0.0.1", "10.0.0.2", "192.0.2.1", "192.0.2.2", "x"]), 0..6)
        ) {
            let trust = TrustedProxies::new(&settings(&["10.0.0.0/8"], false)).unwrap();
            let mut expected = "10.9.9.9";
            for entry in entries.iter().rev() {
                if *entry == "x" {
                    break;
                }
                expected = entry;
                if !entry.starts_with("10.") {
                    break;
                }
            }
            let peer = Client::new("10.9.9.9".parse().unwrap(), true);
            let lines = entries.iter().map(|entry| (&b"x-forwarded-for"[..], entry.as_bytes()));
            prop_assert_eq!(trust.client(&peer, lines).unwrap().ip().to_string(), expected);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(address) = forwarded_address(&bytes) {
                prop_assert!(forwarded_address(address.to_string().as_bytes()) == Some(address));
            }
        }
    }
}
