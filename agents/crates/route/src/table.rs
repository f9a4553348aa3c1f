//! Route table: matches the host, then the longest path prefix. Immutable once built; one hash lookup per request for a
//! host that has its own routes.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use fairlead_model::{RouteError, route_key, wildcard_of};

use crate::path::{lenient_path, loose_path, without_authority};

/// Result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteMatch<T> {
    /// Target of the longest matching prefix.
    Found(T),
    /// The host is known, but none of its prefixes matches.
    NoPath,
    /// The host is not known.
    NoHost,
    /// The path leads to different targets as written and as an app may read it.
    Ambiguous,
}

/// Route targets by host and path prefix.
///
/// `*.example.com` matches every name below `example.com`, with any number of labels. A host's own routes come before
/// those of wildcards, a longer wildcard's before a shorter one's. If none of a host's prefixes matches, the next one's
/// may.
#[derive(Debug, Clone)]
pub struct RouteTable<T> {
    hosts: Hosts<T>,
    /// Wildcard hosts by the name after `*.`.
    wildcards: Hosts<T>,
    /// Bit n is set if a wildcard has n labels after `*`. Only suffixes of these lengths are looked up.
    wildcard_labels: u128,
}

type Hosts<T> = HashMap<Box<[u8]>, Host<T>, RandomState>;

#[derive(Debug, Clone)]
struct Host<T> {
    /// Prefixes, the longest one first.
    prefixes: Vec<Prefix<T>>,
    /// True if some of the prefixes are guarded.
    guarded: bool,
}

impl<T> Default for Host<T> {
    fn default() -> Self {
        Self { prefixes: Vec::new(), guarded: false }
    }
}

#[derive(Debug, Clone)]
struct Prefix<T> {
    /// Prefix without a final slash; empty for all paths.
    path: Box<[u8]>,
    /// Prefix as an app may read it; `None` if that is the same.
    lenient: Option<Box<[u8]>>,
    /// Prefix as a careless app may read it.
    loose: Box<[u8]>,
    target: T,
    guard: Guard,
}

/// Rules that restrict access to a route's app. Requests must not reach it by another route with weaker rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guard {
    /// Number of the rules; zero for none. Routes with the same rules have the same number.
    pub rules: u64,
    /// App that the route leads to with an unchanged path; `None` if it changes the path or leads to no app.
    pub app: Option<u32>,
}

impl<T: Copy + PartialEq> RouteTable<T> {
    /// Builds a table of (host, path prefix, target) without guards.
    pub fn build<'a>(routes: impl IntoIterator<Item = (&'a str, &'a str, T)>) -> Result<Self, RouteError> {
        Self::with_guards(
            routes.into_iter().map(|(host, path_prefix, target)| (host, path_prefix, target, Guard::default())),
        )
    }

    /// Builds a table of (host, path prefix, target, guard). A final slash of a prefix has no meaning: `/api/` is `/api`.
    pub fn with_guards<'a>(routes: impl IntoIterator<Item = (&'a str, &'a str, T, Guard)>) -> Result<Self, RouteError> {
        let (mut hosts, mut wildcards) = (Hosts::<T>::default(), Hosts::<T>::default());
        let mut wildcard_labels = 0;
        for (host, path_prefix, target, guard) in routes {
            let path = route_key(host, path_prefix)?.as_bytes();
            let of_host: &mut Host<T> = match wildcard_of(host) {
                Some(name) => {
                    wildcard_labels |= label_bit(name.split('.').count());
                    wildcards.entry(name.as_bytes().into()).or_default()
                }
                None => hosts.entry(host.as_bytes().into()).or_default(),
            };
            if of_host.prefixes.iter().any(|prefix| *prefix.path == *path) {
                return Err(RouteError::Duplicate { host: host.to_owned(), path_prefix: path_prefix.to_owned() });
            }
            let without_slash = |path: Vec<u8>| -> Box<[u8]> { path.strip_suffix(b"/").unwrap_or(&path).into() };
            let lenient = lenient_path(path).map(without_slash);
            let loose = loose_path(path).map_or_else(|| path.into(), without_slash);
            of_host.prefixes.push(Prefix { path: path.into(), lenient, loose, target, guard });
            of_host.guarded |= guard.rules != 0;
        }
        for host in hosts.values_mut().chain(wildcards.values_mut()) {
            host.prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.path.len()));
        }
        Ok(Self { hosts, wildcards, wildcard_labels })
    }

    /// Finds the longest prefix of `path` among those of `host` (lower case). A prefix ends at a segment: `/api`
    /// matches `/api` and `/api/x`, not `/apis`.
    ///
    /// A path that an app may read as another one must lead to the same target either way: `/%61dmin` must not evade
    /// the policy of `/admin`. That check costs nothing for a host with a single target, and a look at each byte
    /// elsewhere.
    pub fn find(&self, host: &[u8], path: &[u8]) -> RouteMatch<T> {
        let own = self.hosts.get(host);
        if let Some([only]) = own.map(|host| host.prefixes.as_slice())
            && only.path.is_empty()
        {
            return RouteMatch::Found(only.target);
        }
        let found = match self.find_by(own, host, |prefix| begins(path, &prefix.path)) {
            Ok(found) => found,
            Err(miss) => {
                let lenient = lenient_path(path).filter(|_| miss == RouteMatch::NoPath);
                let other = lenient.map(|path| self.find_leniently(own, host, &path));
                return if matches!(other, Some(RouteMatch::Found(_))) { RouteMatch::Ambiguous } else { miss };
            }
        };
        // An app behind a stripped prefix may read an authority after that prefix.
        if let Some(rest) = without_authority(&path[found.path.len()..])
            && self.find_reading(own, host, &[&found.path, rest].concat()) != RouteMatch::Found(found.target)
        {
            return RouteMatch::Ambiguous;
        }
        self.check_reading(own, host, path, found)
    }

    /// Finds the route of another reading of the path.
    fn find_reading(&self, own: Option<&Host<T>>, host: &[u8], path: &[u8]) -> RouteMatch<T> {
        match self.find_by(own, host, |prefix| begins(path, &prefix.path)) {
            Ok(found) => self.check_reading(own, host, path, found),
            Err(miss) => miss,
        }
    }

    /// Checks that the lenient and the loose reading of a path lead where its bytes lead.
    fn check_reading(&self, own: Option<&Host<T>>, host: &[u8], path: &[u8], found: &Prefix<T>) -> RouteMatch<T> {
        let exact = RouteMatch::Found(found.target);
        if let Some(lenient) = lenient_path(path)
            && self.find_leniently(own, host, &lenient) != exact
        {
            return RouteMatch::Ambiguous;
        }
        let guarded = own.is_some_and(|host| host.guarded) || self.wildcards_of(host).any(|host| host.guarded);
        if guarded { self.find_guarded(own, host, path, found) } else { exact }
    }

    fn find_leniently(&self, own: Option<&Host<T>>, host: &[u8], lenient: &[u8]) -> RouteMatch<T> {
        let found = self.find_by(own, host, |prefix| begins(lenient, prefix.lenient.as_ref().unwrap_or(&prefix.path)));
        found.map_or_else(|miss| miss, |found| RouteMatch::Found(found.target))
    }

    /// Keeps a request from bypassing a guard: a careless app reads `/ADMIN`, `/%2561dmin` and `/admin%20` as `/admin`. Only
    /// readings with stricter rules than those of `found` count. `/admin.json` gets the guarded route when the app is the same:
    /// many frameworks read a final `.json` as a format.
    fn find_guarded(&self, own: Option<&Host<T>>, host: &[u8], path: &[u8], found: &Prefix<T>) -> RouteMatch<T> {
        let loose = loose_path(path);
        let loose = loose.as_deref().unwrap_or(path);
        let is_stricter = |other: &Prefix<T>| other.guard.rules != 0 && other.guard.rules != found.guard.rules;
        let read = |format: bool| {
            let other = self.find_by(own, host, |prefix| begins_loosely(loose, &prefix.loose, format));
            other.ok().filter(|other| is_stricter(other))
        };
        if read(false).is_some() {
            return RouteMatch::Ambiguous;
        }
        match read(true) {
            None => RouteMatch::Found(found.target),
            Some(other) if other.guard.app.is_some() && other.guard.app == found.guard.app => {
                RouteMatch::Found(other.target)
            }
            Some(_) => RouteMatch::Ambiguous,
        }
    }

    /// Returns the first matching prefix, of the host itself and then of wildcards.
    fn find_by<'a>(
        &'a self,
        own: Option<&'a Host<T>>,
        host: &[u8],
        fits: impl Fn(&Prefix<T>) -> bool,
    ) -> Result<&'a Prefix<T>, RouteMatch<T>> {
        if let Some(found) = own.and_then(|host| host.prefixes.iter().find(|prefix| fits(prefix))) {
            return Ok(found);
        }
        let mut known = own.is_some();
        for wildcard in self.wildcards_of(host) {
            if let Some(found) = wildcard.prefixes.iter().find(|prefix| fits(prefix)) {
                return Ok(found);
            }
            known = true;
        }
        Err(if known { RouteMatch::NoPath } else { RouteMatch::NoHost })
    }

    /// True if any route has this host.
    pub fn knows(&self, host: &[u8]) -> bool {
        self.hosts.contains_key(host) || self.wildcards_of(host).next().is_some()
    }

    /// Returns the wildcards that match a host, longest first.
    fn wildcards_of(&self, host: &[u8]) -> impl Iterator<Item = &Host<T>> {
        // Without wildcards there is nothing to count or to look up.
        let host = if self.wildcard_labels == 0 { &[] } else { host };
        let mut labels = memchr::memchr_iter(b'.', host).count();
        memchr::memchr_iter(b'.', host).filter_map(move |dot| {
            // A name with an empty label does not match.
            let worth_it = dot > 0 && self.wildcard_labels & label_bit(labels) != 0;
            labels -= 1;
            if worth_it { self.wildcards.get(&host[dot + 1..]) } else { None }
        })
    }
}

/// Names with more labels than a name can have (127) share the last bit.
fn label_bit(labels: usize) -> u128 {
    1 << labels.min(127)
}

/// True if `path` equals `prefix` or continues it with another segment.
fn begins(path: &[u8], prefix: &[u8]) -> bool {
    path.starts_with(prefix) && matches!(path.get(prefix.len()), None | Some(b'/'))
        // `*` of OPTIONS belongs to the whole host.
        || prefix.is_empty()
}

/// Does the same without regard to case; with `format`, also if the last segment continues with a dot and an extension. Slashes
/// behind an extension do not count: Rails drops them before it looks for a format.
fn begins_loosely(path: &[u8], prefix: &[u8], format: bool) -> bool {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = if format { &path[..end] } else { path };
    let Some((start, rest)) = path.split_at_checked(prefix.len()) else { return false };
    let goes_on = match rest.split_first() {
        None | Some((b'/', _)) => true,
        Some((b'.', extension)) => format && !extension.iter().any(|byte| matches!(byte, b'/' | b'.')),
        Some(_) => false,
    };
    goes_on && start.eq_ignore_ascii_case(prefix) || prefix.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns how well a route's host matches: `None` if not at all, or a greater number the more of the name is
    /// fixed.
    fn fit(route_host: &str, host: &str) -> Option<usize> {
        match route_host.strip_prefix('*') {
            Some(end) => host.ends_with(end).then_some(end.len()),
            None => (route_host == host).then_some(usize::MAX),
        }
    }

    /// Simple model: compares the host's end and whole segments with every route, and keeps the best match.
    fn slow(routes: &[(String, String)], host: &str, path: &str) -> Option<usize> {
        let segments = |path: &str| path.split('/').filter(|s| !s.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        routes
            .iter()
            .enumerate()
            .filter(|(_, (_, prefix))| segments(path).starts_with(&segments(prefix)))
            .filter_map(|(index, (route_host, prefix))| Some((fit(route_host, host)?, segments(prefix).len(), index)))
            .max()
            .map(|(_, _, index)| index)
    }

    fn host() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a.test", "b.test", "a.b.test", "x.a.b.test", "test"]).prop_map(str::to_owned)
    }

    fn route_host() -> impl Strategy<Value = String> {
        let wildcard = prop::sample::select(vec!["*.test", "*.b.test", "*.a.b.test", "*.y.test"]);
        prop_oneof![host(), wildcard.prop_map(str::to_owned)]
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["x", "xy", "y", "x-y"]), 0..4)
            .prop_map(|segments| format!("/{}", segments.join("/")))
    }

    proptest! {
        #[test]
        fn the_table_finds_what_the_obvious_search_finds(
            routes in prop::collection::vec((route_host(), path()), 0..12), asked in host(), asked_path in path()
        ) {
            let mut unique: Vec<(String, String)> = Vec::new();
            for route in routes {
                if !unique.contains(&route) {
                    unique.push(route);
                }
            }
            let table = RouteTable::build(unique.iter().enumerate().map(|(index, (host, path))| (host.as_str(), path.as_str(), index))).unwrap();
            let found = match table.find(asked.as_bytes(), asked_path.as_bytes()) {
                RouteMatch::Found(index) => Some(index),
                RouteMatch::NoPath | RouteMatch::NoHost | RouteMatch::Ambiguous => None,
            };
            prop_assert_eq!(found, slow(&unique, &asked, &asked_path));
            prop_assert_eq!(table.knows(asked.as_bytes()), unique.iter().any(|(host, _)| fit(host, &asked).is_some()));
        }
    }

    #[test]
    fn a_spelling_that_an_app_may_understand_does_not_slip_past_a_route() {
        let table = RouteTable::build([("h.test", "/", 1), ("h.test", "/admin", 2), ("h.test", "/a%20b", 3)]).unwrap();
        let find = |path: &str| table.find(b"h.test", path.as_bytes());
        for path in
            ["/%61dmin", "//admin", "/x/../admin", "/x/..%2fadmin/y", "/./admin", "/admin;x", "/admin/../x", "/\\admin"]
        {
            assert_eq!(find(path), RouteMatch::Ambiguous, "{path}");
        }
        for (path, target) in [("/admin/%61", 2), ("/admin//x", 2), ("/x%2fy", 1), ("/a/../b", 1), ("/a%20b/x", 3)] {
            assert_eq!(find(path), RouteMatch::Found(target), "{path}");
        }
        // `new URL(path, base)` takes the first segment for a host.
        for path in [
            "//x/admin",
            "/\\x/admin",
            "///x/admin/y",
            "/\\/x\\admin",
            "//u%2f@x/admin",
            "//x/%61dmin",
            "//x/y/../admin",
        ] {
            assert_eq!(find(path), RouteMatch::Ambiguous, "{path}");
        }
        for path in ["//x/other", "//x", "/\\", "//x//y/admin", "/x//y/admin"] {
            assert_eq!(find(path), RouteMatch::Found(1), "{path}");
        }
        let wild = RouteTable::build([("*.test", "/", 1), ("*.test", "/admin", 2)]).unwrap();
        assert_eq!(wild.find(b"a.test", b"/%61dmin"), RouteMatch::Ambiguous);
        assert_eq!(wild.find(b"other", b"/%61dmin"), RouteMatch::NoHost);
        let one = RouteTable::build([("h.test", "/", 1)]).unwrap();
        assert_eq!(
            one.find(b"h.test", b"/%61//../x"),
            RouteMatch::Found(1),
            "whatever it means, it means the same route"
        );
    }

    const OPEN: Guard = Guard { rules: 0, app: Some(1) };
    const GUARDED: Guard = Guard { rules: 7, app: Some(1) };

    #[test]
    fn a_spelling_that_a_careless_app_may_understand_does_not_slip_past_a_guard() {
        const WAYS: [&str; 15] = [
            "/ADMIN",
            "/Admin/users",
            "/%2561dmin",
            "/admin%20",
            "/admin%09",
            "/admin%00",
            "/admin%00.png",
            "/admin./x",
            "/admin.",
            "/%41dmin%20",
            "/admin%2500",
            "/a/%252e%252e/admin",
            "/admin%20/x",
            "/%2561dmin.json%20",
            "/%20admin",
        ];
        let with = |guard| RouteTable::with_guards([("h.test", "/", 1, OPEN), ("h.test", "/admin", 2, guard)]).unwrap();
        let (guarded, open) = (with(GUARDED), with(OPEN));
        for path in WAYS {
            let found = guarded.find(b"h.test", path.as_bytes());
            let expected = if path.contains(".json") { RouteMatch::Found(2) } else { RouteMatch::Ambiguous };
            assert_eq!(found, expected, "{path}");
            // Control: without a guard each of them is left to the app.
            assert_eq!(open.find(b"h.test", path.as_bytes()), RouteMatch::Found(1), "{path}");
        }
        // A format has the same guard as the path without it.
        for path in ["/admin.json", "/ADMIN.css", "/admin.%6Ason", "/admin.json/", "/admin.json%2F/"] {
            assert_eq!(guarded.find(b"h.test", path.as_bytes()), RouteMatch::Found(2), "{path}");
        }
        for (path, target) in [
            ("/admin", 2),
            ("/admin/x.json", 2),
            ("/admin/A%20", 2),
            ("/administrator", 1),
            ("/x/admin", 1),
            ("/Other", 1),
            ("/admin.min.css", 1),
            ("/admin.d/x", 1),
            ("/admin.d/x/", 1),
            ("//x/other", 1),
            ("/a%20b", 1),
            ("/", 1),
            ("/.well-known/x", 1),
            ("/adm%20in", 1),
        ] {
            assert_eq!(guarded.find(b"h.test", path.as_bytes()), RouteMatch::Found(target), "{path}");
        }
    }

    #[test]
    fn an_authority_in_the_path_does_not_slip_past_a_guard() {
        let routes = [("/", 1, OPEN), ("/admin", 2, GUARDED), ("/api", 3, OPEN), ("/api/admin", 4, GUARDED)];
        let with = |guard: fn(Guard) -> Guard| {
            let routes = routes.map(|(path, target, own)| ("h.test", path, target, guard(own)));
            RouteTable::with_guards(routes).unwrap()
        };
        let table = with(|guard| guard);
        // The last two reach an app without `/api`.
        for path in
            ["//x/admin", "/\\x/ADMIN", "//x/admin.json", "//x/admin%20", "/api//x/admin", "/api/\\x/Admin.json"]
        {
            assert_eq!(table.find(b"h.test", path.as_bytes()), RouteMatch::Ambiguous, "{path}");
        }
        for (path, target) in [("/x/admin", 1), ("/api/x/admin", 3), ("/api//x/y", 3), ("/admin//x/y", 2)] {
            assert_eq!(table.find(b"h.test", path.as_bytes()), RouteMatch::Found(target), "{path}");
        }
    }

    #[test]
    fn only_stricter_rules_than_those_of_the_route_found_count() {
        let strict = Guard { rules: 9, app: Some(1) };
        let table = RouteTable::with_guards([
            ("h.test", "/", 1, GUARDED),
            ("h.test", "/same", 2, GUARDED),
            ("h.test", "/public", 3, OPEN),
            ("h.test", "/strict", 4, strict),
            ("h.test", "/strict/public", 5, OPEN),
            ("h.test", "/strict.css", 6, OPEN),
        ])
        .unwrap();
        for (path, target) in [("/SAME", 1), ("/PUBLIC", 1), ("/strict.css", 6), ("/strict/public", 5)] {
            assert_eq!(table.find(b"h.test", path.as_bytes()), RouteMatch::Found(target), "{path}");
        }
        for path in ["/STRICT", "/strict/../STRICT", "/strict%20/x"] {
            assert_eq!(table.find(b"h.test", path.as_bytes()), RouteMatch::Ambiguous, "{path}");
        }
        // Another app, or one with a changed path, must not get a request that it does not expect.
        for app in [Some(2), None] {
            let guard = Guard { rules: 7, app };
            let table = RouteTable::with_guards([("*.test", "/", 1, OPEN), ("*.test", "/admin", 2, guard)]).unwrap();
            assert_eq!(table.find(b"a.test", b"/admin.json"), RouteMatch::Ambiguous);
            assert_eq!(table.find(b"a.test", b"/Admin"), RouteMatch::Ambiguous);
            assert_eq!(table.find(b"a.test", b"/other"), RouteMatch::Found(1));
        }
    }

    #[test]
    fn prefixes_end_at_a_segment_and_a_final_slash_means_nothing() {
        let table = RouteTable::build([("h.test", "/api/", 1), ("h.test", "/", 2)]).unwrap();
        for (path, target) in [("/api", 1), ("/api/", 1), ("/api/x", 1), ("/apis", 2), ("/", 2), ("*", 2)] {
            assert_eq!(table.find(b"h.test", path.as_bytes()), RouteMatch::Found(target), "{path}");
        }
        assert_eq!(table.find(b"other.test", b"/"), RouteMatch::NoHost);
        let only = RouteTable::build([("h.test", "/api", 1)]).unwrap();
        assert_eq!(only.find(b"h.test", b"/"), RouteMatch::NoPath);
    }

    #[test]
    fn the_nearest_name_wins_and_a_wildcard_is_not_its_own_name() {
        let table = RouteTable::build([
            ("*.h.test", "/", 1),
            ("*.a.h.test", "/", 2),
            ("b.a.h.test", "/api", 3),
            ("*.only.test", "/x", 4),
        ])
        .unwrap();
        for (host, path, target) in [
            ("b.h.test", "/", 1),
            ("c.b.h.test", "/", 1),
            ("a.h.test", "/", 1),
            ("b.a.h.test", "/", 2),
            ("b.a.h.test", "/api", 3),
            ("y.only.test", "/x/z", 4),
        ] {
            assert_eq!(table.find(host.as_bytes(), path.as_bytes()), RouteMatch::Found(target), "{host}{path}");
        }
        assert_eq!(table.find(b"h.test", b"/"), RouteMatch::NoHost);
        assert_eq!(table.find(b"y.only.test", b"/"), RouteMatch::NoPath);
        assert_eq!(table.find(b".h.test", b"/"), RouteMatch::NoHost);
        let deep = "a.".repeat(126) + "b";
        assert_eq!(table.find(deep.as_bytes(), b"/"), RouteMatch::NoHost);
        assert!(!table.knows(b"h.test") && table.knows(b"q.h.test"));
    }

    #[test]
    fn bad_routes_are_refused_with_their_reason() {
        let build = |routes: &[(&'static str, &'static str)]| {
            RouteTable::build(routes.iter().map(|(h, p)| (*h, *p, ()))).unwrap_err()
        };
        assert!(matches!(build(&[("Upper.test", "/")]), RouteError::Host { .. }));
        assert!(matches!(build(&[("h.test:80", "/")]), RouteError::Host { .. }));
        assert!(matches!(build(&[("h.test", "api")]), RouteError::PathPrefix { .. }));
        assert!(matches!(build(&[("h.test", "/a?b")]), RouteError::PathPrefix { .. }));
        assert!(matches!(build(&[("h.test", "/a"), ("h.test", "/a/")]), RouteError::Duplicate { .. }));
    }
}
