//! Path rewrite: the app gets another path in place of the route's prefix, or none.

use fairlead_route::{StrippedPath, strip_prefix};

use super::RouteSettings;

#[derive(Debug)]
pub(crate) struct PathRewrite {
    /// Length of the path prefix of the route in bytes.
    prefix_bytes: usize,
    /// Path in place of the prefix, without a final slash; empty for none.
    replacement: Box<[u8]>,
}

impl PathRewrite {
    /// Returns `None` if the app gets the path as it is.
    pub(crate) fn compile(route: &RouteSettings<'_>) -> Option<Self> {
        let prefix = route.policy.prefix_for_app()?;
        let replacement = prefix.strip_suffix('/').unwrap_or(prefix).as_bytes().into();
        Some(Self { prefix_bytes: route.prefix_bytes, replacement })
    }

    /// Returns the new path; `None` for `*`, and if nothing changes.
    pub(crate) fn apply<'a>(&'a self, path_and_query: &'a [u8]) -> Option<StrippedPath<'a>> {
        if self.replacement.is_empty() {
            return strip_prefix(path_and_query, self.prefix_bytes);
        }
        let (prefix, rest) = path_and_query.split_at_checked(self.prefix_bytes)?;
        path_and_query.starts_with(b"/").then_some(StrippedPath { prefix, slash: &self.replacement, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_of_the_route_is_replaced() {
        for (prefix, to, path, expected) in [
            ("/api", "/v1", "/api/x?q", Some("/v1/x?q")),
            ("/api", "/v1", "/api", Some("/v1")),
            ("/api", "/v1", "/api?q=/", Some("/v1?q=/")),
            ("/api", "", "/api", Some("/")),
            ("", "/v1", "/x", Some("/v1/x")),
            ("", "/v1", "*", None),
            ("", "", "/x", None),
        ] {
            let rewrite = PathRewrite { prefix_bytes: prefix.len(), replacement: to.as_bytes().into() };
            let path = rewrite.apply(path.as_bytes()).map(|path| [path.slash, path.rest].concat());
            assert_eq!(path.as_deref(), expected.map(str::as_bytes));
        }
    }
}
