//! Fuzz target of request targets, hosts and the route table, compared with a simple lookup.

use fairlead_route::{Authority, RequestTarget, RouteMatch, RouteTable, strip_prefix};

const HOSTS: [&str; 3] = ["a.test", "b.a.test", "test"];
const PREFIXES: [&str; 6] = ["/", "/a", "/a/b", "/ab", "/a/b/c", "/b/"];

fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !segment.is_empty()).collect()
}

/// Fuzzes three bytes that choose the routes, then a target, then LF and a host.
pub fn routing(data: &[u8]) {
    let Some((chosen, rest)) = data.split_at_checked(3) else { return };
    let bits = usize::from(chosen[0]) | usize::from(chosen[1]) << 8 | usize::from(chosen[2]) << 16;
    let cut = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (raw, host) = (&rest[..cut], rest.get(cut + 1..).unwrap_or_default());
    let method: &[u8] = if chosen[2] & 0x80 == 0 { b"GET" } else { b"OPTIONS" };
    let Ok(target) = RequestTarget::parse(method, raw) else { return };
    let path = target.path();
    assert!(path.starts_with(b"/") || path == b"*" && method == b"OPTIONS");
    assert!(target.path_and_query.iter().all(|byte| matches!(byte, 0x21..=0x7e)));
    assert!(raw.ends_with(target.path_and_query) || path == b"/");
    if let Some(authority) = target.authority {
        assert_eq!(Authority::parse(authority.text), Ok(authority));
    }
    let Ok(authority) = Authority::parse(host) else { return };
    let name = authority.name();
    let lower = name.as_bytes();
    assert!(lower.iter().all(|byte| !byte.is_ascii_uppercase() && *byte > b' '));
    // A parsed name parses to itself.
    if !lower.is_empty() {
        assert_eq!(
            Authority::parse(lower).expect("a name is no host").name().as_bytes(),
            lower.strip_suffix(b".").unwrap_or(lower)
        );
    }

    let routes: Vec<_> = HOSTS
        .iter()
        .flat_map(|host| PREFIXES.iter().map(move |prefix| (*host, *prefix)))
        .enumerate()
        .filter(|(number, _)| bits >> number & 1 == 1)
        .map(|(number, (host, prefix))| (host, prefix, number))
        .collect();
    let table = RouteTable::build(routes.iter().copied()).unwrap();
    let found = match table.find(lower, path) {
        RouteMatch::Found(number) => Some(number),
        RouteMatch::NoPath | RouteMatch::NoHost => None,
        RouteMatch::Ambiguous => {
            // Only a path that some app reads as another one is refused.
            let text = std::str::from_utf8(path).unwrap();
            assert!(["//", "/.", "%", ";", "\\"].iter().any(|sign| text.contains(sign)), "{text} is plain");
            return;
        }
    };
    let text = std::str::from_utf8(path).unwrap();
    // `//a` is not below `/a`: apps interpret empty segments, so only ordinary paths are compared.
    if text.contains("//") {
        return;
    }
    let slow = routes
        .iter()
        .filter(|(host, prefix, _)| {
            host.as_bytes() == lower && segments(text).starts_with(&segments(prefix))
                || host.as_bytes() == lower && *prefix == "/"
        })
        .max_by_key(|(_, prefix, _)| segments(prefix).len())
        .map(|(_, _, number)| *number);
    assert_eq!(found, slow, "{text} at {}", String::from_utf8_lossy(lower));
    if let Some((_, prefix, _)) = routes.iter().find(|(_, _, number)| Some(*number) == found) {
        let length = prefix.trim_end_matches('/').len();
        if path != b"*"
            && let Some(stripped) = strip_prefix(target.path_and_query, length)
        {
            let sent = [stripped.slash, stripped.rest].concat();
            assert!(sent.starts_with(b"/"), "{:?} is no path", String::from_utf8_lossy(&sent));
        }
    }
}
