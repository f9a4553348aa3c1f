//! The route table: host, then longest path prefix. Immutable once built; one hash look-up a request for a host that has its own
//! routes.
//!
//! `*.example.com` takes every name below `example.com`, however many labels it has. A host's own routes come before those of
//! wildcards, a longer wildcard's before a shorter one's; where none of a host's prefixes fits, the next one's may.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use fairlead_model::{RouteError, route_key, wildcard_of};

use crate::lenient_path;

/// What a look-up found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteMatch<T> {
    /// The target of the longest prefix.
    Found(T),
    /// The host is known, but none of its prefixes fits.
    NoPath,
    /// The host is not known.
    NoHost,
    /// The path leads to one place as it is written, and to another as an app may read it.
    Ambiguous,
}

/// Targets by host and path prefix.
#[derive(Debug, Clone)]
pub struct RouteTable<T> {
    hosts: Hosts<T>,
    /// By what follows `*.`.
    wildcards: Hosts<T>,
    /// Bit n: a wildcard has n labels after `*`. No other ends of a name are looked up.
    wildcard_labels: u128,
}

type Hosts<T> = HashMap<Box<[u8]>, Vec<Prefix<T>>, RandomState>;

#[derive(Debug, Clone)]
struct Prefix<T> {
    /// Without a final slash; empty for all paths.
    path: Box<[u8]>,
    /// As an app may read it; `None` when that is the same.
    lenient: Option<Box<[u8]>>,
    target: T,
}

impl<T: Copy + PartialEq> RouteTable<T> {
    /// Builds a table of (host, path prefix, target). A final slash of a prefix means nothing: `/api/` is `/api`.
    pub fn build<'a>(routes: impl IntoIterator<Item = (&'a str, &'a str, T)>) -> Result<Self, RouteError> {
        let (mut hosts, mut wildcards) = (Hosts::default(), Hosts::default());
        let mut wildcard_labels = 0;
        for (host, path_prefix, target) in routes {
            let path = route_key(host, path_prefix)?.as_bytes();
            let prefixes: &mut Vec<Prefix<T>> = match wildcard_of(host) {
                Some(name) => {
                    wildcard_labels |= label_bit(name.split('.').count());
                    wildcards.entry(name.as_bytes().into()).or_default()
                }
                None => hosts.entry(host.as_bytes().into()).or_default(),
            };
            if prefixes.iter().any(|prefix| *prefix.path == *path) {
                return Err(RouteError::Duplicate { host: host.to_owned(), path_prefix: path_prefix.to_owned() });
            }
            let lenient = lenient_path(path).map(|path| path.strip_suffix(b"/").unwrap_or(&path).into());
            prefixes.push(Prefix { path: path.into(), lenient, target });
        }
        for prefixes in hosts.values_mut().chain(wildcards.values_mut()) {
            prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.path.len()));
        }
        Ok(Self { hosts, wildcards, wildcard_labels })
    }

    /// Finds the longest prefix of `path` among those of `host` (lower case). A prefix ends at a segment's border:
    /// `/api` takes `/api` and `/api/x`, not `/apis`.
    ///
    /// A path that an app may read as another one must lead to the same place either way: `/%61dmin` must not pass by what is
    /// set for `/admin`. It costs nothing where a host leads to one place only, and a look at each byte elsewhere.
    pub fn find(&self, host: &[u8], path: &[u8]) -> RouteMatch<T> {
        let own = self.hosts.get(host);
        if let Some([only]) = own.map(Vec::as_slice)
            && only.path.is_empty()
        {
            return RouteMatch::Found(only.target);
        }
        let found = self.find_by(own, host, |prefix| (&prefix.path, path));
        let Some(lenient) = lenient_path(path).filter(|_| found != RouteMatch::NoHost) else { return found };
        let other =
            self.find_by(own, host, |prefix| (prefix.lenient.as_ref().unwrap_or(&prefix.path), lenient.as_slice()));
        if other == found { found } else { RouteMatch::Ambiguous }
    }

    fn find_by<'a>(
        &'a self,
        own: Option<&'a Vec<Prefix<T>>>,
        host: &[u8],
        compared: impl Fn(&'a Prefix<T>) -> (&'a [u8], &'a [u8]),
    ) -> RouteMatch<T> {
        if let Some(target) = own.and_then(|prefixes| longest(prefixes, &compared)) {
            return RouteMatch::Found(target);
        }
        let mut known = own.is_some();
        for prefixes in self.wildcards_of(host) {
            if let Some(target) = longest(prefixes, &compared) {
                return RouteMatch::Found(target);
            }
            known = true;
        }
        if known { RouteMatch::NoPath } else { RouteMatch::NoHost }
    }

    /// Whether any route has this host.
    pub fn knows(&self, host: &[u8]) -> bool {
        self.hosts.contains_key(host) || self.wildcards_of(host).next().is_some()
    }

    /// The wildcards that take a host, longest first.
    fn wildcards_of(&self, host: &[u8]) -> impl Iterator<Item = &Vec<Prefix<T>>> {
        // Nothing is counted, nor looked up, where there are no wildcards.
        let host = if self.wildcard_labels == 0 { &[] } else { host };
        let mut labels = memchr::memchr_iter(b'.', host).count();
        memchr::memchr_iter(b'.', host).filter_map(move |dot| {
            // An empty label is no name below.
            let worth_it = dot > 0 && self.wildcard_labels & label_bit(labels) != 0;
            labels -= 1;
            if worth_it { self.wildcards.get(&host[dot + 1..]) } else { None }
        })
    }
}

/// Names of more labels than a name can have (127) share the last bit.
fn label_bit(labels: usize) -> u128 {
    1 << labels.min(127)
}

/// `compared` tells which spellings of a prefix and of the path are held against each other.
fn longest<'a, T: Copy>(
    prefixes: &'a [Prefix<T>],
    compared: impl Fn(&'a Prefix<T>) -> (&'a [u8], &'a [u8]),
) -> Option<T> {
    let fits = |prefix: &&'a Prefix<T>| {
        let (prefix, path) = compared(prefix);
        path.starts_with(prefix) && matches!(path.get(prefix.len()), None | Some(b'/'))
            // `*` of OPTIONS belongs to the whole host.
            || prefix.is_empty()
    };
    prefixes.iter().find(fits).map(|prefix| prefix.target)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How well a route's host fits: not at all, or better the more of it is named.
    fn fit(route_host: &str, host: &str) -> Option<usize> {
        match route_host.strip_prefix('*') {
            Some(end) => host.ends_with(end).then_some(end.len()),
            None => (route_host == host).then_some(usize::MAX),
        }
    }

    /// The obvious way: compare the host's end and whole segments with every route, keep the one with most of both.
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
