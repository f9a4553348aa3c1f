//! Path rewrite: the app gets the path without the route's prefix.

use fairlead_route::{StrippedPath, strip_prefix};

use super::RouteSettings;

#[derive(Debug)]
pub(crate) struct PathRewrite {
    /// Length of the path prefix of the route in bytes.
    prefix_bytes: usize,
}

impl PathRewrite {
    /// Returns `None` if the app gets the path as it is.
    pub(crate) fn compile(route: &RouteSettings<'_>) -> Option<Self> {
        route.policy.strip_prefix.then_some(Self { prefix_bytes: route.prefix_bytes })
    }

    pub(crate) fn apply<'a>(&self, path_and_query: &'a [u8]) -> Option<StrippedPath<'a>> {
        strip_prefix(path_and_query, self.prefix_bytes)
    }
}
