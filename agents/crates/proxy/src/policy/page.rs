//! Error and maintenance pages of a route, prepared once and sent without a copy.

use bytes::Bytes;
use fairlead_model as model;

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
    pub(super) fn new(pages: &[model::ErrorPage]) -> Self {
        let range = |found: &model::ErrorPage| StatusRange {
            from: found.from,
            to: found.to,
            replace_app: found.replace_app,
            page: PreparedPage::new(&found.page),
        };
        Self(pages.iter().map(range).collect())
    }

    pub(super) fn of(&self, status: u16) -> Option<&PreparedPage> {
        self.0.iter().find(|range| (range.from..=range.to).contains(&status)).map(|range| &range.page)
    }

    pub(super) fn instead_of_app(&self, status: u16) -> Option<&PreparedPage> {
        let fits = |range: &&StatusRange| range.replace_app && (range.from..=range.to).contains(&status);
        self.0.iter().find(fits).map(|range| &range.page)
    }
}
