//! The route table: host, then longest path prefix. Immutable once built; one hash look-up a request.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use fairlead_model::{RouteError, route_key};

/// What a look-up found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteMatch<T> {
    /// The target of the longest prefix.
    Found(T),
    /// The host is known, but none of its prefixes fits.
    NoPath,
    /// The host is not known.
    NoHost,
}

/// Targets by host and path prefix.
#[derive(Debug, Clone)]
pub struct RouteTable<T> {
    hosts: HashMap<Box<[u8]>, Vec<Prefix<T>>, RandomState>,
}

#[derive(Debug, Clone)]
struct Prefix<T> {
    /// Without a final slash; empty for all paths.
    path: Box<[u8]>,
    target: T,
}

impl<T: Copy> RouteTable<T> {
    /// Builds a table of (host, path prefix, target). A final slash of a prefix means nothing: `/api/` is `/api`.
    pub fn build<'a>(routes: impl IntoIterator<Item = (&'a str, &'a str, T)>) -> Result<Self, RouteError> {
        let mut hosts: HashMap<Box<[u8]>, Vec<Prefix<T>>, RandomState> = HashMap::default();
        for (host, path_prefix, target) in routes {
            let path = route_key(host, path_prefix)?.as_bytes();
            let prefixes = hosts.entry(host.as_bytes().into()).or_default();
            if prefixes.iter().any(|prefix| *prefix.path == *path) {
                return Err(RouteError::Duplicate { host: host.to_owned(), path_prefix: path_prefix.to_owned() });
            }
            prefixes.push(Prefix { path: path.into(), target });
        }
        for prefixes in hosts.values_mut() {
            prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.path.len()));
        }
        Ok(Self { hosts })
    }

    /// Finds the longest prefix of `path` among those of `host` (lower case). A prefix ends at a segment's border:
    /// `/api` takes `/api` and `/api/x`, not `/apis`.
    pub fn find(&self, host: &[u8], path: &[u8]) -> RouteMatch<T> {
        let Some(prefixes) = self.hosts.get(host) else { return RouteMatch::NoHost };
        let fits = |prefix: &&Prefix<T>| {
            path.starts_with(&prefix.path) && matches!(path.get(prefix.path.len()), None | Some(b'/'))
                // `*` of OPTIONS belongs to the whole host.
                || prefix.path.is_empty()
        };
        prefixes.iter().find(fits).map_or(RouteMatch::NoPath, |prefix| RouteMatch::Found(prefix.target))
    }

    /// Whether any route has this host.
    pub fn knows(&self, host: &[u8]) -> bool {
        self.hosts.contains_key(host)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The obvious way: compare whole segments with every route, keep the one with most of them.
    fn slow(routes: &[(String, String)], host: &str, path: &str) -> Option<usize> {
        let segments = |path: &str| path.split('/').filter(|s| !s.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        routes
            .iter()
            .enumerate()
            .filter(|(_, (route_host, prefix))| route_host == host && segments(path).starts_with(&segments(prefix)))
            .max_by_key(|(_, (_, prefix))| segments(prefix).len())
            .map(|(index, _)| index)
    }

    fn host() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a.test", "b.test", "a.b.test"]).prop_map(str::to_owned)
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["x", "xy", "y", "x-y"]), 0..4)
            .prop_map(|segments| format!("/{}", segments.join("/")))
    }

    proptest! {
        #[test]
        fn the_table_finds_what_the_obvious_search_finds(
            routes in prop::collection::vec((host(), path()), 0..12), asked in host(), asked_path in path()
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
                RouteMatch::NoPath | RouteMatch::NoHost => None,
            };
            prop_assert_eq!(found, slow(&unique, &asked, &asked_path));
            prop_assert_eq!(table.knows(asked.as_bytes()), unique.iter().any(|(host, _)| *host == asked));
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
