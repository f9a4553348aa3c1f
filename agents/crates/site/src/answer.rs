//! One request to one file. Bytes, ranges and kinds of content are tower-http's; which file it is, is decided here.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::header::{
    ALLOW, CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
    LOCATION, RANGE,
};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tower_http::services::ServeFile;
use tower_service::Service;

use crate::etag::Tags;

type Body = UnsyncBoxBody<bytes::Bytes, io::Error>;

/// A folder to serve.
#[derive(Debug)]
pub struct Site {
    root: PathBuf,
    tags: Arc<Tags>,
}

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    File(PathBuf),
    /// A folder with a page, asked for without the slash that its links need.
    Elsewhere(String),
    Nothing,
}

impl Site {
    /// The folder must be there.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { root: folder.canonicalize()?, tags: Arc::default() })
    }

    /// Answers with a file, or says why not.
    pub async fn answer<B>(&self, request: Request<B>) -> Result<Response<Body>, Infallible> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "This site can only be read.\n");
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Ok(refused);
        }
        let (path, query) = (request.uri().path().to_owned(), request.uri().query().map(str::to_owned));
        let root = self.root.clone();
        let found = tokio::task::spawn_blocking(move || find(&root, &path)).await.unwrap_or(Found::Nothing);
        Ok(match found {
            Found::File(file) => self.file(file, &request, StatusCode::OK).await,
            Found::Elsewhere(path) => elsewhere(&path, query.as_deref()),
            Found::Nothing => match inside(&self.root, &self.root.join("404.html")) {
                Some(page) => self.file(page, &request, StatusCode::NOT_FOUND).await,
                None => plain(StatusCode::NOT_FOUND, "There is no such page.\n"),
            },
        })
    }

    async fn file<B>(&self, file: PathBuf, request: &Request<B>, status: StatusCode) -> Response<Body> {
        let (tags, path) = (Arc::clone(&self.tags), file.clone());
        let tag = tokio::task::spawn_blocking(move || tags.of(&path)).await.map_err(io::Error::other);
        let Ok(Ok(tag)) = tag else { return plain(StatusCode::NOT_FOUND, "There is no such page.\n") };
        let header = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let tagged = HeaderValue::from_str(&tag).unwrap_or_else(|_| HeaderValue::from_static(""));
        if status == StatusCode::OK && header(IF_NONE_MATCH).is_some_and(|known| matches(known, &tag)) {
            let mut same = Response::new(empty());
            *same.status_mut() = StatusCode::NOT_MODIFIED;
            same.headers_mut().insert(ETAG, tagged);
            return same;
        }
        let mut asked = Request::new(http_body_util::Empty::<bytes::Bytes>::new());
        *asked.method_mut() = request.method().clone();
        *asked.uri_mut() = Uri::from_static("/");
        // A part of what it was is no part of what it is (RFC 9110, section 13.1.5); an error is never sent in parts.
        let wants_part = status == StatusCode::OK && header(IF_RANGE).is_none_or(|known| known == tag);
        if let Some(range) = request.headers().get(RANGE).filter(|_| wants_part) {
            asked.headers_mut().insert(RANGE, range.clone());
        }
        // Times differ from server to server: conditions are by content.
        for name in [IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE] {
            asked.headers_mut().remove(name);
        }
        match ServeFile::new(file).call(asked).await {
            Ok(answer) => {
                let mut answer = answer.map(|body| body.map_err(io::Error::other).boxed_unsync());
                if status != StatusCode::OK {
                    *answer.status_mut() = status;
                }
                let headers = answer.headers_mut();
                headers.remove(LAST_MODIFIED);
                headers.insert(ETAG, tagged);
                // Asked again each time, answered in a few bytes.
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                answer
            }
            Err(never) => match never {},
        }
    }
}

fn matches(known: &str, tag: &str) -> bool {
    known.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// Blocking.
fn find(root: &Path, path: &str) -> Found {
    let Some(names) = names(path) else { return Found::Nothing };
    let at = names.iter().fold(root.to_owned(), |at, name| at.join(name));
    if at.is_dir() {
        return match inside(root, &at.join("index.html")) {
            Some(page) if path.ends_with('/') => Found::File(page),
            Some(_) => Found::Elsewhere(format!("{path}/")),
            None => Found::Nothing,
        };
    }
    if path.ends_with('/') {
        return Found::Nothing;
    }
    // `/about` is about.html.
    let page = names.last().map(|name| at.with_file_name(format!("{name}.html")));
    let file = inside(root, &at).or_else(|| inside(root, &page?));
    file.map_or(Found::Nothing, Found::File)
}

/// A file that lies below the root, also when links are followed.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    (real.starts_with(root) && real.is_file()).then_some(real)
}

/// The decoded names of a path; `None` when one of them could lead elsewhere or is hidden. `.well-known` is for all.
fn names(path: &str) -> Option<Vec<String>> {
    let name = |part: &str| {
        let name = decoded(part)?;
        let hidden = name.starts_with('.') && name != ".well-known";
        (!hidden && !name.contains(['/', '\\', '\0'])).then_some(name)
    };
    path.split('/').filter(|part| !part.is_empty()).map(name).collect()
}

fn decoded(part: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(part.len()), part.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let hex = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

/// With one slash in front: two would name another host.
fn elsewhere(path: &str, query: Option<&str>) -> Response<Body> {
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    let mut moved = plain(StatusCode::PERMANENT_REDIRECT, "");
    match HeaderValue::from_str(&format!("/{}{query}", path.trim_start_matches('/'))) {
        Ok(location) => {
            moved.headers_mut().insert(LOCATION, location);
            moved
        }
        Err(_) => plain(StatusCode::NOT_FOUND, "There is no such page.\n"),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut answer = Response::new(
        Full::new(bytes::Bytes::from_static(text.as_bytes())).map_err(|never| match never {}).boxed_unsync(),
    );
    *answer.status_mut() = status;
    answer.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

fn empty() -> Body {
    Full::new(bytes::Bytes::new()).map_err(|never| match never {}).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("site");
        for (name, text) in [
            ("index.html", "home"),
            ("about.html", "about"),
            ("docs/index.html", "docs"),
            ("a.css", "0123456789"),
            (".env", "hidden"),
            ("404.html", "lost"),
        ] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let site = Site::open(&root).unwrap();
        (dir, site)
    }

    async fn ask(site: &Site, path: &str, headers: &[(http::HeaderName, &str)]) -> (u16, String, http::HeaderMap) {
        let mut request = Request::new(());
        *request.uri_mut() = path.parse().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let answer = site.answer(request).await.unwrap();
        let (head, body) = answer.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        (head.status.as_u16(), text, head.headers)
    }

    #[tokio::test]
    async fn paths_lead_to_pages_and_what_is_lost_has_its_own() {
        let (_dir, site) = site();
        for (path, status, text) in [
            ("/", 200, "home"),
            ("/about", 200, "about"),
            ("/about.html", 200, "about"),
            ("/docs/", 200, "docs"),
            ("/%61bout", 200, "about"),
            ("/nothing", 404, "lost"),
            ("/about/", 404, "lost"),
        ] {
            let (found, body, headers) = ask(&site, path, &[]).await;
            assert_eq!((found, body.as_str()), (status, text), "{path}");
            assert!(headers[http::header::CONTENT_TYPE].to_str().unwrap().starts_with("text/html"), "{path}");
        }
        let (status, _, headers) = ask(&site, "/docs?a=b", &[]).await;
        assert_eq!((status, headers[LOCATION].to_str().unwrap()), (308, "/docs/?a=b"));
    }

    #[tokio::test]
    async fn nothing_outside_of_the_folder_and_nothing_hidden_is_shown() {
        let (_dir, site) = site();
        for path in [
            "/../secret",
            "/%2e%2e/secret",
            "/..%2fsecret",
            "/link",
            "/.env",
            "/%2eenv",
            "/a%00.css",
            "/%zz",
            "//..//secret",
        ] {
            let (status, body, _) = ask(&site, path, &[]).await;
            assert_eq!((status, body.as_str()), (404, "lost"), "{path}");
        }
    }

    #[tokio::test]
    async fn what_is_known_is_not_sent_again_and_parts_are_sent_as_parts() {
        let (_dir, site) = site();
        let (_, _, headers) = ask(&site, "/a.css", &[]).await;
        let tag = headers[ETAG].to_str().unwrap().to_owned();
        let (status, body, _) = ask(&site, "/a.css", &[(IF_NONE_MATCH, &format!("\"x\", W/{tag}"))]).await;
        assert_eq!((status, body.as_str()), (304, ""));
        let (status, body, headers) = ask(&site, "/a.css", &[(RANGE, "bytes=2-4")]).await;
        assert_eq!((status, body.as_str()), (206, "234"));
        assert_eq!(headers[http::header::CONTENT_RANGE], "bytes 2-4/10");
        assert_eq!(ask(&site, "/a.css", &[(RANGE, "bytes=2-4"), (IF_RANGE, "\"old\"")]).await.0, 200);
        assert_eq!(ask(&site, "/a.css", &[(RANGE, "bytes=2-4"), (IF_RANGE, &tag)]).await.0, 206);
        assert_eq!(ask(&site, "/a.css", &[(RANGE, "bytes=20-")]).await.0, 416);
        std::fs::write(site.root.join("a.css"), "changed").unwrap();
        assert_eq!(ask(&site, "/a.css", &[(IF_NONE_MATCH, &tag)]).await.0, 200);
    }
}
