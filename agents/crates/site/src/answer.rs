//! Builds the response to a request: rules of the site first, then its files, then its fallback page or 404.html. tower-http
//! provides bytes, ranges and content types.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use fairlead_route::{Coding, negotiate_among};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH,
    IF_RANGE, LAST_MODIFIED, LOCATION, RANGE, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use tower_http::services::ServeFile;
use tower_service::Service;

use crate::caching::is_immutable;
use crate::contents::{Content, Contents};
use crate::headers::Headers;
use crate::path::{PathTarget, find, find_page, inside, names};
use crate::redirects::{RedirectDecision, Redirects, joined};

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Makes browsers ask each time; the response takes a few bytes while nothing has changed.
const REVALIDATED: HeaderValue = HeaderValue::from_static("no-cache");
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Folder to serve, with the rules that it holds.
#[derive(Debug)]
pub struct Site {
    root: PathBuf,
    /// Page for navigation to paths without a file.
    fallback: Option<PathBuf>,
    redirects: Redirects,
    headers: Headers,
    contents: Arc<Contents>,
}

/// File to send, with its status and caching properties.
struct FileResponse {
    file: PathBuf,
    status: StatusCode,
    /// True if the content under this path never changes.
    is_immutable: bool,
    /// True if the response depends on Accept.
    varies_by_accept: bool,
}

impl Site {
    /// Opens a folder, which must be there, and reads its rules. `fallback` is a page below it. Warnings go to the log.
    pub fn open(folder: &Path, fallback: Option<&Path>) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        let (redirects, of_redirects) = Redirects::read(&root);
        let (headers, of_headers) = Headers::read(&root);
        for warning in of_redirects.iter().chain(&of_headers) {
            tracing::warn!("{warning}.");
        }
        let fallback = fallback.map(|page| root.join(page));
        Ok(Self { root, fallback, redirects, headers, contents: Arc::default() })
    }

    #[cfg(test)]
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Responds with a file, a redirect or an error.
    pub async fn answer<B>(&self, request: Request<B>) -> Result<Response<Body>, Infallible> {
        let (head, _) = request.into_parts();
        let path = names(head.uri.path()).map(|names| joined(&names));
        let mut answer = self.respond(&head, path.as_deref()).await;
        let status = answer.status();
        let is_redirect = status.is_redirection() && status != StatusCode::NOT_MODIFIED;
        if let Some(path) = path.filter(|_| !is_redirect) {
            self.headers.apply(&path, status, answer.headers_mut());
        }
        Ok(answer)
    }

    async fn respond(&self, head: &http::request::Parts, path: Option<&str>) -> Response<Body> {
        let (asked, root) = (head.uri.path().to_owned(), self.root.clone());
        let found = blocking(move || find(&root, &asked)).await.unwrap_or(PathTarget::Nothing);
        let query = head.uri.query();
        let decision = path.and_then(|path| self.redirects.decide(path, query, found != PathTarget::Nothing));
        if let Some(RedirectDecision::Redirect { status, location }) = decision {
            return redirect(status, location);
        }
        if !matches!(head.method, Method::GET | Method::HEAD) {
            let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "This site can only be read.\n");
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        if let Some(RedirectDecision::Page { status, path }) = decision {
            let root = self.root.clone();
            return match blocking(move || find_page(&root, &path)).await.flatten() {
                Some(file) => self.file(head, FileResponse::new(file, status)).await,
                None if status == StatusCode::GONE => plain(status, "This page is gone.\n"),
                None => self.not_found(head, false).await,
            };
        }
        match found {
            PathTarget::File(file) => {
                let is_immutable = path.is_some_and(is_immutable);
                self.file(head, FileResponse { is_immutable, ..FileResponse::new(file, StatusCode::OK) }).await
            }
            PathTarget::Redirect(path) => redirect_to(&path, query),
            PathTarget::Nothing => self.fallback(head, path).await,
        }
    }

    /// Responds to a path without a file.
    async fn fallback(&self, head: &http::request::Parts, path: Option<&str>) -> Response<Body> {
        let Some(fallback) = self.fallback.clone().filter(|_| path.is_some_and(is_of_a_page)) else {
            return self.not_found(head, false).await;
        };
        let root = self.root.clone();
        match blocking(move || inside(&root, &fallback)).await.flatten().filter(|_| accepts_pages(&head.headers)) {
            Some(file) => {
                self.file(head, FileResponse { varies_by_accept: true, ..FileResponse::new(file, StatusCode::OK) })
                    .await
            }
            None => self.not_found(head, true).await,
        }
    }

    async fn not_found(&self, head: &http::request::Parts, varies_by_accept: bool) -> Response<Body> {
        let root = self.root.clone();
        match blocking(move || inside(&root, &root.join("404.html"))).await.flatten() {
            Some(file) => {
                self.file(head, FileResponse { varies_by_accept, ..FileResponse::new(file, StatusCode::NOT_FOUND) })
                    .await
            }
            None => {
                let mut answer = lost();
                vary(answer.headers_mut(), varies_by_accept, false);
                answer
            }
        }
    }

    async fn file(&self, head: &http::request::Parts, page: FileResponse) -> Response<Body> {
        let (contents, file) = (Arc::clone(&self.contents), page.file.clone());
        let Some(Ok(content)) = blocking(move || contents.of(&file)).await else { return lost() };
        // An error is never sent in parts, and no condition keeps it back.
        let is_error = page.status != StatusCode::OK;
        let range = range(&head.headers).filter(|_| !is_error);
        let coding = coding(&head.headers, &content, range.is_some());
        let tag = content.tag(coding);
        if !is_error {
            let status = match () {
                () if !is_matched(&head.headers, &tag) => StatusCode::PRECONDITION_FAILED,
                () if is_known(&head.headers, &tag) => StatusCode::NOT_MODIFIED,
                () => StatusCode::OK,
            };
            if status != StatusCode::OK {
                let mut answer = Response::new(empty());
                *answer.status_mut() = status;
                describe(answer.headers_mut(), &page, &content, &tag);
                return answer;
            }
        }
        let mut asked = Request::new(Empty::<Bytes>::new());
        asked.method_mut().clone_from(&head.method);
        let mut service = ServeFile::new(&page.file);
        if let Some(coding) = coding {
            service = match coding {
                Coding::Brotli => service.precompressed_br(),
                Coding::Zstd => service.precompressed_zstd(),
                Coding::Gzip => service.precompressed_gzip(),
            };
            asked.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static(coding.token()));
        }
        // If-Range: a range of changed content must not be sent (RFC 9110, section 13.1.5).
        let is_current = text(&head.headers, &IF_RANGE).is_none_or(|known| known == tag);
        if let Some(range) = range.filter(|_| is_current) {
            asked.headers_mut().insert(RANGE, range.clone());
        }
        let answer = match service.call(asked).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let mut answer = answer.map(|body| body.map_err(io::Error::other).boxed_unsync());
        if is_error {
            *answer.status_mut() = page.status;
        }
        let is_coded = answer.headers().contains_key(CONTENT_ENCODING);
        if (!answer.status().is_success() && !is_error) || is_coded != coding.is_some() {
            // The range is not satisfiable, or the file is gone.
            answer.headers_mut().insert(CACHE_CONTROL, REVALIDATED);
            return answer;
        }
        let kind = text(answer.headers(), &CONTENT_TYPE).and_then(|kind| with_charset(&page.file, kind));
        if let Some(kind) = kind {
            answer.headers_mut().insert(CONTENT_TYPE, kind);
        }
        answer.headers_mut().remove(LAST_MODIFIED);
        describe(answer.headers_mut(), &page, &content, &tag);
        answer
    }
}

impl FileResponse {
    fn new(file: PathBuf, status: StatusCode) -> Self {
        Self { file, status, is_immutable: false, varies_by_accept: false }
    }
}

/// Sets the fields that a file's responses have in common, also those without its content.
fn describe(headers: &mut HeaderMap, page: &FileResponse, content: &Content, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CACHE_CONTROL, if page.is_immutable { IMMUTABLE } else { REVALIDATED });
    vary(headers, page.varies_by_accept, !content.codings.is_empty());
}

fn vary(headers: &mut HeaderMap, by_accept: bool, by_encoding: bool) {
    headers.remove(VARY);
    for (name, _) in [("accept", by_accept), ("accept-encoding", by_encoding)].into_iter().filter(|(_, is_so)| *is_so) {
        headers.append(VARY, HeaderValue::from_static(name));
    }
}

/// Chooses the coding of a response. A range is one of the content as it is, unless If-Range names a coding's own tag.
fn coding(headers: &HeaderMap, content: &Content, is_ranged: bool) -> Option<Coding> {
    let fields = headers.get_all(ACCEPT_ENCODING).iter().map(HeaderValue::as_bytes);
    let coding = negotiate_among(&content.codings, fields);
    if !is_ranged {
        return coding;
    }
    let known = text(headers, &IF_RANGE)?;
    coding.filter(|_| known != content.tag(None))
}

/// Returns a single byte range; other Range fields are ignored (RFC 9110, section 14.2).
fn range(headers: &HeaderMap) -> Option<&HeaderValue> {
    let is_one = |range: &&HeaderValue| range.as_bytes().starts_with(b"bytes=") && !range.as_bytes().contains(&b',');
    headers.get(RANGE).filter(is_one)
}

/// False if If-Match names other contents only.
fn is_matched(headers: &HeaderMap, tag: &str) -> bool {
    let mut known = list(headers, IF_MATCH).peekable();
    known.peek().is_none() || known.any(|one| one == "*" || one == tag)
}

/// True if If-None-Match names the content; the proxy makes a tag weak where it compresses.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    list(headers, IF_NONE_MATCH).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// True if the last segment of the path has no file extension.
fn is_of_a_page(path: &str) -> bool {
    !path.rsplit('/').next().unwrap_or_default().contains('.')
}

/// True if Accept is missing or takes HTML.
fn accepts_pages(headers: &HeaderMap) -> bool {
    let mut kinds = list(headers, ACCEPT).peekable();
    let is_page = |kind: &str| {
        let mut parts = kind.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_named = ["text/html", "text/*", "*/*"].iter().any(|page| name.eq_ignore_ascii_case(page));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        is_named && weight.is_none_or(|weight| weight.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
    };
    kinds.peek().is_none() || kinds.any(is_page)
}

/// Returns the list items of all fields of a name.
fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let fields = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    fields.flat_map(|field| field.split(',')).map(str::trim).filter(|item| !item.is_empty())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the content type with its charset; `None`: the type is already complete.
fn with_charset(file: &Path, kind: &str) -> Option<HeaderValue> {
    let kind = match file.extension().and_then(|ending| ending.to_str()) {
        Some("map") => "application/json",
        Some("mjs") => "text/javascript",
        _ => kind,
    };
    let is_text = kind.starts_with("text/")
        || ["application/javascript", "application/json", "application/xml", "image/svg+xml"].contains(&kind)
        || (kind.starts_with("application/") && (kind.ends_with("+json") || kind.ends_with("+xml")));
    if !is_text || kind.contains(';') {
        return None;
    }
    HeaderValue::from_str(&format!("{kind}; charset=utf-8")).ok()
}

/// Runs work that waits for the disk; `None` if it panicked.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Redirects to a path with one slash in front: two would name another host.
fn redirect_to(path: &str, query: Option<&str>) -> Response<Body> {
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    match HeaderValue::from_str(&format!("/{}{query}", path.trim_start_matches('/'))) {
        Ok(location) => redirect(StatusCode::PERMANENT_REDIRECT, location),
        Err(_) => lost(),
    }
}

fn redirect(status: StatusCode, location: HeaderValue) -> Response<Body> {
    let mut moved = plain(status, "");
    moved.headers_mut().insert(LOCATION, location);
    moved
}

fn lost() -> Response<Body> {
    plain(StatusCode::NOT_FOUND, "There is no such page.\n")
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let body = Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer.headers_mut().insert(CACHE_CONTROL, REVALIDATED);
    answer
}

fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}
