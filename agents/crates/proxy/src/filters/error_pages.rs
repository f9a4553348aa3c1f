//! Error and maintenance pages of a route, prepared once and sent without a copy.

use bytes::Bytes;
use fairlead_model as model;

use crate::exchange::Reply;

#[derive(Debug)]
pub(crate) struct PreparedPage {
    pub(crate) content_type: Box<str>,
    pub(crate) body: Bytes,
    /// Value of Retry-After; `None` for none.
    pub(crate) retry_after: Option<Box<str>>,
}

impl PreparedPage {
    pub(super) fn new(page: &model::Page) -> Self {
        let seconds = page.retry_after_seconds;
        Self {
            content_type: page.content_type.as_str().into(),
            body: page.body.clone().into(),
            retry_after: (seconds > 0).then(|| seconds.to_string().into()),
        }
    }

    /// Returns its Content-Type and Retry-After fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let retry = self.retry_after.iter().map(|seconds| ("retry-after", &**seconds));
        std::iter::once(("content-type", &*self.content_type)).chain(retry)
    }
}

/// Error pages of a route by status; the first match wins.
#[derive(Debug)]
pub(crate) struct ErrorPages(Box<[StatusRange]>);

#[derive(Debug)]
struct StatusRange {
    from: u16,
    to: u16,
    replace_app: bool,
    page: PreparedPage,
}

impl ErrorPages {
    pub(crate) fn compile(policy: &model::RoutePolicy) -> Self {
        let range = |found: &model::ErrorPage| StatusRange {
            from: found.from,
            to: found.to,
            replace_app: found.replace_app,
            page: PreparedPage::new(&found.page),
        };
        Self(policy.error_pages.iter().map(range).collect())
    }

    /// Gives a reply of the proxy its page, unless it has one of its own.
    pub(crate) fn dress(&self, reply: Reply) -> Reply {
        let fits = |range: &&StatusRange| !reply.has_page() && (range.from..=range.to).contains(&reply.status);
        match self.0.iter().find(fits) {
            Some(range) => reply.with_page(&range.page),
            None => reply,
        }
    }

    /// Returns the page that replaces the response of an app.
    pub(crate) fn instead_of_app(&self, status: u16) -> Option<&PreparedPage> {
        let fits = |range: &&StatusRange| range.replace_app && (range.from..=range.to).contains(&status);
        self.0.iter().find(fits).map(|range| &range.page)
    }
}
