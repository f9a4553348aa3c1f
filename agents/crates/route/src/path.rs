//! Paths of requests: prefix stripping, redirect locations, and the lenient readings that an app may have of a path.

use fairlead_model::Redirect;

/// Strips a prefix of `length` bytes; the result starts with `/`. Returns `None` if the app gets the path unchanged.
/// `path_and_query` must start with that prefix, which ends at a segment (or is empty).
pub fn strip_prefix(path_and_query: &[u8], length: usize) -> Option<StrippedPath<'_>> {
    let rest = path_and_query.get(length..).filter(|_| length > 0)?;
    let slash: &[u8] = if rest.first() == Some(&b'/') { b"" } else { b"/" };
    Some(StrippedPath { prefix: &path_and_query[..length], slash, rest })
}

/// Returns the path as the most lenient framework may read it: escapes decoded, `\` as `/`, segment parameters (`;x`)
/// removed, repeated slashes merged, dot segments resolved (RFC 3986, 5.2.4). `None` if there is no other reading.
///
/// For comparisons only. A client must not evade a route's policy with a spelling that the app accepts and the route
/// table does not.
pub fn lenient_path(path: &[u8]) -> Option<Vec<u8>> {
    let plain = path.iter().zip(path.iter().skip(1).chain(&[0])).all(|(byte, next)| match byte {
        b'%' | b'\\' | b';' => false,
        b'/' => !matches!(next, b'/' | b'.'),
        _ => true,
    });
    if plain {
        return None;
    }
    Some(resolve(&unescape(path), without_parameters))
}

/// Returns the path as a careless app may read it: as `lenient_path`, with escapes decoded twice and without blanks, dots and
/// control characters around segments. `None` if the path has none of that. Keeps the case of letters.
///
/// Use it only to compare with guarded routes: many apps can't tell `/%2561dmin` and `/admin%20` from `/admin`.
pub fn loose_path(path: &[u8]) -> Option<Vec<u8>> {
    let after = path.iter().skip(1).chain(&[0]);
    let plain = path.iter().zip(after).all(|(byte, next)| match byte {
        b'%' | b'\\' | b';' | ..=b' ' => false,
        b'/' => !matches!(next, b'/' | b'.'),
        b'.' => !matches!(next, b'/' | 0),
        _ => true,
    });
    if plain { None } else { Some(resolve(&unescape(&unescape(path)), trimmed)) }
}

/// True if an app may read a segment of the path as `.` or `..`: also with escapes decoded twice, `\` as a slash, blanks
/// and path parameters.
pub fn has_dot_segment(path: &[u8]) -> bool {
    let is_dots = |segment: &[u8]| {
        let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        matches!(name.trim_ascii(), b"." | b"..")
    };
    let has = |path: &[u8]| path.split(|byte| *byte == b'/').any(is_dots);
    if path.iter().any(|byte| matches!(byte, b'%' | b'\\')) { has(&unescape(&unescape(path))) } else { has(path) }
}

/// Returns the path behind the authority of a network-path reference (RFC 3986, 4.2) as browsers and Node's `URL` read it:
/// `/admin` for `//x/admin` and `/\x/admin`. `None` for any other path.
pub(crate) fn without_authority(path: &[u8]) -> Option<&[u8]> {
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let slashes = path.iter().take_while(|byte| is_slash(byte)).count();
    let authority = path.get(slashes..).filter(|_| slashes > 1)?;
    Some(authority.iter().position(is_slash).map_or(b"/", |end| &authority[end..]))
}

fn unescape(path: &[u8]) -> Vec<u8> {
    let mut read = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((byte, after)) = rest.split_first() {
        let escaped = match (byte, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        let byte = escaped.unwrap_or(*byte);
        read.push(if byte == b'\\' { b'/' } else { byte });
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    read
}

/// Resolves dot segments and empty ones; `clean` returns the part of a segment that counts.
fn resolve(read: &[u8], clean: fn(&[u8]) -> &[u8]) -> Vec<u8> {
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut ends_in_folder = false;
    for segment in read.split(|byte| *byte == b'/').map(clean) {
        ends_in_folder = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let mut resolved = Vec::with_capacity(read.len());
    for segment in segments {
        resolved.push(b'/');
        resolved.extend_from_slice(segment);
    }
    if ends_in_folder {
        resolved.push(b'/');
    }
    resolved
}

fn without_parameters(segment: &[u8]) -> &[u8] {
    segment.split(|byte| *byte == b';').next().unwrap_or_default()
}

/// Returns a segment up to its parameters or a NUL, without the blanks around it and the dots behind it.
fn trimmed(segment: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| *byte <= b' ' || *byte == 0x7f;
    let end = segment.iter().position(|byte| matches!(byte, b';' | 0)).unwrap_or(segment.len());
    let start = segment[..end].iter().position(|byte| !is_blank(byte)).unwrap_or(end);
    let end = segment[..end].iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
    let segment = &segment[start..end];
    if matches!(segment, b"." | b"..") {
        return segment;
    }
    let last = segment.iter().rposition(|byte| *byte != b'.' && !is_blank(byte));
    &segment[..last.map_or(0, |last| last + 1)]
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Path without its route's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrippedPath<'a> {
    /// Removed prefix without a final slash; the app gets it in X-Forwarded-Prefix.
    pub prefix: &'a [u8],
    /// Slash to send before `rest`, if that doesn't start with one.
    pub slash: &'a [u8],
    /// Path and query after the prefix.
    pub rest: &'a [u8],
}

/// Returns the location of a redirect for a request. Its path starts with the route's prefix of `prefix_length` bytes.
///
/// A request's path can't choose another host. With `to` of `/`, `/%old//evil.example` would otherwise become
/// `//evil.example`, which browsers take for a host (RFC 3986, 4.2), and `\` for `/`.
pub fn redirect_location(redirect: &Redirect, path_and_query: &[u8], prefix_length: usize) -> String {
    if !redirect.keep_path {
        return redirect.to.clone();
    }
    let rest = path_and_query.get(prefix_length..).unwrap_or_default();
    let base = redirect.to.strip_suffix('/').unwrap_or(&redirect.to);
    let mut rest = String::from_utf8_lossy(rest);
    if base.is_empty() {
        rest = format!("/{}", rest.trim_start_matches(['/', '\\'])).into();
    } else if !rest.is_empty()
        && !rest.starts_with('/')
        && !base[base.find("//").map_or(0, |at| at + 2)..].contains('/')
    {
        // After a host, a query needs a path before it.
        rest = format!("/{rest}").into();
    }
    format!("{base}{rest}")
}

/// Returns the same address over HTTPS. Includes a port other than 443.
pub fn https_location(host: &[u8], port: u16, path_and_query: &[u8]) -> String {
    let (host, path) = (String::from_utf8_lossy(host), String::from_utf8_lossy(path_and_query));
    // `*` of OPTIONS is not a path.
    let path = if path.starts_with('/') { path } else { "/".into() };
    if port == 443 { format!("https://{host}{path}") } else { format!("https://{host}:{port}{path}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redirect(to: &str) -> Redirect {
        Redirect { status: 308, to: to.into(), keep_path: true }
    }

    #[test]
    fn a_dot_segment_is_found_however_it_is_written() {
        for path in [
            "/../x",
            "/a/./x",
            "/a/..",
            "/%2e%2e/x",
            "/%252e%252e/x",
            "/..;v=1/x",
            "/a\\..\\x",
            "/a%5c..%2fx",
            "/.. /x",
        ] {
            assert!(has_dot_segment(path.as_bytes()), "{path}");
        }
        for path in ["/", "/a/...", "/.well-known/x", "/a..b/x.y", "/100%", "/a%20b;v=..", "*"] {
            assert!(!has_dot_segment(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn a_roundabout_path_is_read_as_the_most_lenient_app_would() {
        for (path, read) in [
            ("/%61dmin", "/admin"),
            ("//admin", "/admin"),
            ("/x/../admin", "/admin"),
            ("/x/%2e%2E/admin/", "/admin/"),
            ("/./admin", "/admin"),
            ("/admin%2Fx", "/admin/x"),
            ("\\/admin", "/admin"),
            ("/%5cadmin", "/admin"),
            ("/admin;v=1/x", "/admin/x"),
            ("/..;/admin", "/admin"),
            ("/../../a", "/a"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/%", "/%"),
            ("/%zz/%4", "/%zz/%4"),
            ("/%25%36%31", "/%61"),
            ("//", "/"),
        ] {
            assert_eq!(lenient_path(path.as_bytes()).as_deref(), Some(read.as_bytes()), "{path}");
        }
        for path in ["/", "/admin", "/a.b/c..d/e.", "/a-b_c~d", "*", ""] {
            assert_eq!(lenient_path(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn a_loose_path_is_read_twice_and_trimmed() {
        for (path, read) in [
            ("/%2561dmin", "/admin"),
            ("/admin%20", "/admin"),
            ("/admin%09/x", "/admin/x"),
            ("/admin%00", "/admin"),
            ("/admin%00.png", "/admin"),
            ("/admin%2500", "/admin"),
            ("/admin.", "/admin"),
            ("/admin.%20./x", "/admin/x"),
            ("/%20admin", "/admin"),
            ("/x/%252e%252e/admin", "/admin"),
            ("/admin;x", "/admin"),
            ("/.../admin", "/admin"),
            ("/admin%2ejson", "/admin.json"),
        ] {
            assert_eq!(loose_path(path.as_bytes()).as_deref(), Some(read.as_bytes()), "{path}");
        }
        for path in ["/", "/admin", "/ADMIN", "/admin.json", "/a.b/c..d/e.f", "/a-b_c~d", "*", ""] {
            assert_eq!(loose_path(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn a_stripped_path_still_begins_with_a_slash() {
        let strip = |path: &'static str, prefix: &str| {
            strip_prefix(path.as_bytes(), prefix.len()).map(|s| String::from_utf8([s.slash, s.rest].concat()).unwrap())
        };
        for (path, prefix, expected) in [
            ("/api/x?q", "/api", Some("/x?q")),
            ("/api", "/api", Some("/")),
            ("/api?q=/", "/api", Some("/?q=/")),
            ("/api/", "/api", Some("/")),
            ("/x", "", None),
            ("*", "", None),
        ] {
            assert_eq!(strip(path, prefix).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_redirect_keeps_what_follows_the_prefix() {
        for (to, path, prefix, expected) in [
            ("https://b.test", "/a/x?q", "/a", "https://b.test/x?q"),
            ("https://b.test/", "/x", "", "https://b.test/x"),
            ("https://b.test", "/a?q", "/a", "https://b.test/?q"),
            ("https://b.test", "/a", "/a", "https://b.test"),
            ("https://b.test/new", "/a?q", "/a", "https://b.test/new?q"),
            ("/new", "/old/x", "/old", "/new/x"),
            ("/new/", "/old", "/old", "/new"),
            ("/", "/old", "/old", "/"),
            ("/", "/old//evil.example", "/old", "/evil.example"),
            ("/", "/old/\\/evil.example", "/old", "/evil.example"),
            ("https://b.test", "/a@evil.example", "", "https://b.test/a@evil.example"),
        ] {
            assert_eq!(redirect_location(&redirect(to), path.as_bytes(), prefix.len()), expected);
        }
        let fixed = Redirect { keep_path: false, ..redirect("/new?a=b") };
        assert_eq!(redirect_location(&fixed, b"/old/x", 4), "/new?a=b");
        assert_eq!(https_location(b"a.test", 443, b"/x?y"), "https://a.test/x?y");
        assert_eq!(https_location(b"a.test", 8443, b"*"), "https://a.test:8443/");
    }

    proptest! {
        #[test]
        fn no_path_leads_to_another_host(
            to in prop::sample::select(vec!["/", "/new", "/new/", "https://b.test", "https://b.test/", "https://b.test/x"]),
            rest in "[/\\\\.@?a]{0,8}"
        ) {
            let path = format!("/old/{rest}");
            let location = redirect_location(&redirect(to), path.as_bytes(), 4);
            match to.strip_prefix("https://") {
                Some(_) => {
                    let after = location.strip_prefix("https://b.test");
                    prop_assert!(after.is_some_and(|after| after.is_empty() || after.starts_with('/')), "{}", location);
                }
                None => {
                    prop_assert!(location.starts_with('/'), "{}", location);
                    prop_assert!(!location[1..].starts_with(['/', '\\']), "{}", location);
                }
            }
        }
    }
}
