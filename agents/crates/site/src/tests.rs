use std::path::Path;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    IF_MATCH, IF_NONE_MATCH, IF_RANGE, LOCATION, RANGE, VARY,
};
use http::{HeaderMap, HeaderName, Method, Request};
use http_body_util::BodyExt;

use crate::Site;

const SCRIPT: &str = "export const text = 'the same words again and again';\n";

/// Site with these files beside a secret that a link leads to.
fn site(files: &[(&str, &str)], fallback: Option<&str>) -> (tempfile::TempDir, Site) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("site");
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::fs::write(dir.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
    let site = Site::open(&root, fallback.map(Path::new)).unwrap();
    (dir, site)
}

fn pages() -> (tempfile::TempDir, Site) {
    let files = [
        ("index.html", "home"),
        ("about.html", "about"),
        ("docs/index.html", "docs"),
        ("team.html", "team"),
        ("team/ada.html", "ada"),
        ("a.css", "0123456789"),
        (".env", "hidden"),
        ("404.html", "lost"),
    ];
    site(&files, None)
}

async fn ask_by(method: Method, site: &Site, path: &str, headers: &[(HeaderName, &str)]) -> (u16, Vec<u8>, HeaderMap) {
    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap();
    for (name, value) in headers {
        request.headers_mut().append(name, value.parse().unwrap());
    }
    let (head, body) = site.answer(request).await.unwrap().into_parts();
    (head.status.as_u16(), body.collect().await.unwrap().to_bytes().to_vec(), head.headers)
}

async fn ask(site: &Site, path: &str, headers: &[(HeaderName, &str)]) -> (u16, String, HeaderMap) {
    let (status, body, headers) = ask_by(Method::GET, site, path, headers).await;
    (status, String::from_utf8(body).unwrap(), headers)
}

fn brotli(text: &str) -> Vec<u8> {
    let mut compressed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams::default();
    brotli::BrotliCompress(&mut text.as_bytes(), &mut compressed, &parameters).unwrap();
    compressed
}

#[tokio::test]
async fn paths_resolve_to_pages_and_unknown_ones_to_the_404_page() {
    let (_dir, site) = pages();
    for (path, status, text) in [
        ("/", 200, "home"),
        ("/about", 200, "about"),
        ("/about.html", 200, "about"),
        ("/docs/", 200, "docs"),
        ("/team", 200, "team"),
        ("/team/ada", 200, "ada"),
        ("/%61bout", 200, "about"),
        ("/nothing", 404, "lost"),
        ("/nothing/", 404, "lost"),
    ] {
        let (found, body, headers) = ask(&site, path, &[]).await;
        assert_eq!((found, body.as_str()), (status, text), "{path}");
        assert_eq!(headers[CONTENT_TYPE], "text/html; charset=utf-8", "{path}");
        assert_eq!(headers[CACHE_CONTROL], "no-cache", "{path}");
        assert!(!headers.contains_key(VARY), "{path}");
    }
    for (path, to) in [
        ("/docs?a=b", "/docs/?a=b"),
        ("/about/?a=b", "/about?a=b"),
        ("/team/", "/team"),
        ("//about//", "/about"),
        ("//docs", "/docs/"),
    ] {
        let (status, _, headers) = ask(&site, path, &[]).await;
        assert_eq!((status, headers[LOCATION].to_str().unwrap()), (308, to), "{path}");
    }
}

#[tokio::test]
async fn nothing_outside_of_the_folder_and_nothing_hidden_is_shown() {
    let (_dir, site) = pages();
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
        "/_redirects",
        "/_headers",
        "/%5fheaders",
    ] {
        for (name, text) in [("_redirects", "/x /y\n"), ("_headers", "/x\n  A: b\n")] {
            std::fs::write(site.root().join(name), text).unwrap();
        }
        let (status, body, _) = ask(&site, path, &[]).await;
        assert_eq!((status, body.as_str()), (404, "lost"), "{path}");
    }
}

#[tokio::test]
async fn known_content_gets_304_and_ranges_get_206() {
    let (_dir, site) = pages();
    let (_, _, headers) = ask(&site, "/a.css", &[]).await;
    let tag = headers[ETAG].to_str().unwrap().to_owned();
    let (status, body, headers) = ask(&site, "/a.css", &[(IF_NONE_MATCH, &format!("\"x\", W/{tag}"))]).await;
    assert_eq!((status, body.as_str()), (304, ""));
    assert_eq!(
        (headers[ETAG].to_str().unwrap(), &headers[CACHE_CONTROL]),
        (tag.as_str(), &"no-cache".parse().unwrap())
    );
    assert_eq!(ask(&site, "/a.css", &[(IF_NONE_MATCH, "\"x\""), (IF_NONE_MATCH, &tag)]).await.0, 304);
    assert_eq!(ask(&site, "/a.css", &[(IF_MATCH, &tag)]).await.0, 200);
    assert_eq!(ask(&site, "/a.css", &[(IF_MATCH, "\"old\"")]).await.0, 412);
    let (status, body, headers) = ask(&site, "/a.css", &[(RANGE, "bytes=2-4")]).await;
    assert_eq!((status, body.as_str()), (206, "234"));
    assert_eq!(headers[CONTENT_RANGE], "bytes 2-4/10");
    assert_eq!(ask(&site, "/a.css", &[(RANGE, "bytes=2-4"), (IF_RANGE, "\"old\"")]).await.0, 200);
    assert_eq!(ask(&site, "/a.css", &[(RANGE, "bytes=2-4"), (IF_RANGE, &tag)]).await.0, 206);
    assert_eq!(ask(&site, "/a.css", &[(RANGE, "bytes=20-")]).await.0, 416);
    for range in ["bytes=0-1,3-4", "lines=1-2"] {
        assert_eq!(ask(&site, "/a.css", &[(RANGE, range)]).await.0, 200, "{range}");
    }
    assert_eq!(ask(&site, "/nothing", &[(RANGE, "bytes=0-1")]).await.1, "lost");
    std::fs::write(site.root().join("a.css"), "changed").unwrap();
    assert_eq!(ask(&site, "/a.css", &[(IF_NONE_MATCH, &tag)]).await.0, 200);
    let (status, body, headers) = ask_by(Method::HEAD, &site, "/about", &[]).await;
    assert_eq!((status, body.len(), &headers[CONTENT_LENGTH]), (200, 0, &"5".parse().unwrap()));
    let (status, _, headers) = ask_by(Method::POST, &site, "/about", &[]).await;
    assert_eq!((status, headers["allow"].to_str().unwrap()), (405, "GET, HEAD"));
}

#[tokio::test]
async fn navigation_to_an_unknown_path_gets_the_fallback_page_and_a_missing_file_does_not() {
    let files = [("index.html", "app"), ("404.html", "lost"), ("assets/a.js", "code"), ("empty/a.txt", "x")];
    let (_dir, site) = site(&files, Some("index.html"));
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (path, accept) in [
        ("/user/7", Some(browser)),
        ("/user/7/?tab=a.b", Some(browser)),
        ("/user", Some("*/*")),
        ("/empty", Some("TEXT/HTML;q=0.1")),
        ("/user", None),
    ] {
        let accept: Vec<_> = accept.map(|accept| (ACCEPT, accept)).into_iter().collect();
        let (status, body, headers) = ask(&site, path, &accept).await;
        assert_eq!((status, body.as_str()), (200, "app"), "{path}");
        assert_eq!(
            (&headers[VARY], &headers[CACHE_CONTROL]),
            (&"accept".parse().unwrap(), &"no-cache".parse().unwrap())
        );
    }
    for (path, accept) in [
        ("/assets/gone.js", browser),
        ("/user/john.doe", browser),
        ("/api/users", "application/json"),
        ("/user", "text/html;q=0, image/*"),
        ("/.env", browser),
        ("/%zz", browser),
        ("/../secret", browser),
    ] {
        let (status, body, _) = ask(&site, path, &[(ACCEPT, accept)]).await;
        assert_eq!((status, body.as_str()), (404, "lost"), "{path}");
    }
    assert_eq!(ask(&site, "/api/users", &[(ACCEPT, "application/json")]).await.2[VARY], "accept");
    assert_eq!(ask_by(Method::HEAD, &site, "/user", &[]).await.0, 200);
    assert_eq!(ask_by(Method::POST, &site, "/user", &[]).await.0, 405);
}

#[tokio::test]
async fn a_fallback_page_outside_of_the_folder_or_none_is_an_error_404() {
    for page in ["../secret", "link", "absent.html"] {
        let (_dir, site) = site(&[("index.html", "app")], Some(page));
        let (status, body, _) = ask(&site, "/user", &[]).await;
        assert_eq!((status, body.as_str()), (404, "There is no such page.\n"), "{page}");
    }
    let (_dir, site) = site(&[("index.html", "app"), ("200.html", "other")], None);
    assert_eq!(ask(&site, "/user", &[]).await.0, 404, "a command without a fallback serves as it did");
}

#[tokio::test]
async fn rules_of_the_site_redirect_rewrite_and_set_headers() {
    let redirects = "/old/* /docs/:splat 301\n/app/* /about 200\n/index.html /gone 302!\n/gone /gone-page 410\n/lost/* /team/lost.html 404\n\
                     /missing /absent.html 200\n/gone-too /absent.html 410\nbroken\n";
    let headers = "/*\n  X-Frame-Options: DENY\n/about\n  Cache-Control: max-age=60\n  Content-Type: text/plain\n/nothing\n  Cache-Control: max-age=60\n";
    let files = [
        ("_redirects", redirects),
        ("_headers", headers),
        ("index.html", "home"),
        ("about.html", "about"),
        ("app/real.txt", "real"),
        ("gone-page.html", "gone"),
        ("team/lost.html", "team lost"),
        ("404.html", "lost"),
    ];
    let (_dir, site) = site(&files, None);
    let (status, _, headers) = ask(&site, "/old/a/b?c=d", &[]).await;
    assert_eq!((status, headers[LOCATION].to_str().unwrap()), (301, "/docs/a/b?c=d"));
    assert_eq!(headers[CACHE_CONTROL], "no-cache");
    assert!(!headers.contains_key("x-frame-options"));
    assert_eq!(ask_by(Method::POST, &site, "/old/a", &[]).await.0, 301);
    for (path, status, text) in [
        ("/app/deep", 200, "about"),
        ("/app/real.txt", 200, "real"),
        ("/gone", 410, "gone"),
        ("/gone-too", 410, "This page is gone.\n"),
        ("/lost/a", 404, "team lost"),
        ("/missing", 404, "lost"),
        ("/", 200, "home"),
    ] {
        let (found, body, headers) = ask(&site, path, &[]).await;
        assert_eq!((found, body.as_str()), (status, text), "{path}");
        assert_eq!(headers["x-frame-options"], "DENY", "{path}");
    }
    assert_eq!(ask(&site, "/index.html", &[]).await.0, 302);
    let (_, _, headers) = ask(&site, "/about", &[]).await;
    assert_eq!(
        (&headers[CACHE_CONTROL], &headers[CONTENT_TYPE]),
        (&"max-age=60".parse().unwrap(), &"text/plain".parse().unwrap())
    );
    let tag = headers[ETAG].to_str().unwrap().to_owned();
    let (status, _, headers) = ask(&site, "/about", &[(IF_NONE_MATCH, &tag)]).await;
    assert_eq!((status, headers[CACHE_CONTROL].to_str().unwrap()), (304, "max-age=60"));
    assert_eq!(ask(&site, "/nothing", &[]).await.2[CACHE_CONTROL], "no-cache");
    assert_eq!(ask_by(Method::POST, &site, "/app/deep", &[]).await.0, 405);
}

#[tokio::test]
async fn files_with_a_hash_in_their_names_are_immutable_and_text_has_a_charset() {
    let files = [
        ("assets/index-BfX3kZ9a.js", "a"),
        ("assets/jquery-3.7.1.min.js", "b"),
        ("a.json", "{}"),
        ("a.svg", "<svg/>"),
        ("a.txt", "x"),
        ("a.webmanifest", "{}"),
        ("a.js.map", "{}"),
        ("a.mjs", ""),
        ("a.png", ""),
        ("404.html", "lost"),
    ];
    let (_dir, site) = site(&files, None);
    let immutable = "public, max-age=31536000, immutable";
    for (path, caching, kind) in [
        ("/assets/index-BfX3kZ9a.js", immutable, "text/javascript; charset=utf-8"),
        ("/assets/jquery-3.7.1.min.js", "no-cache", "text/javascript; charset=utf-8"),
        ("/a.json", "no-cache", "application/json; charset=utf-8"),
        ("/a.svg", "no-cache", "image/svg+xml; charset=utf-8"),
        ("/a.txt", "no-cache", "text/plain; charset=utf-8"),
        ("/a.webmanifest", "no-cache", "application/manifest+json; charset=utf-8"),
        ("/a.js.map", "no-cache", "application/json; charset=utf-8"),
        ("/a.mjs", "no-cache", "text/javascript; charset=utf-8"),
        ("/a.png", "no-cache", "image/png"),
        ("/assets/index-CfX3kZ9b.js", "no-cache", "text/html; charset=utf-8"),
    ] {
        let (_, _, headers) = ask(&site, path, &[]).await;
        assert_eq!(
            (headers[CACHE_CONTROL].to_str().unwrap(), headers[CONTENT_TYPE].to_str().unwrap()),
            (caching, kind),
            "{path}"
        );
    }
    let (status, _, headers) = ask(&site, "/assets/index-BfX3kZ9a.js", &[(RANGE, "bytes=9-")]).await;
    assert_eq!((status, headers[CACHE_CONTROL].to_str().unwrap()), (416, "no-cache"));
}

#[tokio::test]
async fn a_compressed_file_is_sent_to_clients_that_accept_it_with_its_own_tag() {
    let script = SCRIPT.repeat(100);
    let (_dir, site) = site(&[("a.js", &script), ("plain.js", &script)], None);
    let compressed = brotli(&script);
    std::fs::write(site.root().join("a.js.br"), &compressed).unwrap();
    let zstd = zstd::bulk::compress(script.as_bytes(), 3).unwrap();
    std::fs::write(site.root().join("a.js.zst"), &zstd).unwrap();
    let by = async |headers: Vec<(HeaderName, &str)>| ask_by(Method::GET, &site, "/a.js", &headers).await;
    let (_, body, plain) = by(vec![]).await;
    assert_eq!((body, &plain[VARY]), (script.clone().into_bytes(), &"accept-encoding".parse().unwrap()));
    assert!(!plain.contains_key(CONTENT_ENCODING));
    let (status, body, coded) = by(vec![(ACCEPT_ENCODING, "gzip, deflate, br, zstd")]).await;
    assert_eq!((status, &body, &coded[CONTENT_ENCODING]), (200, &compressed, &"br".parse().unwrap()));
    assert_eq!(
        (&coded[VARY], &coded[CONTENT_TYPE]),
        (&plain[VARY], &"text/javascript; charset=utf-8".parse().unwrap())
    );
    assert_eq!(coded[CONTENT_LENGTH], compressed.len().to_string());
    assert_ne!(coded[ETAG], plain[ETAG]);
    assert_eq!(by(vec![(ACCEPT_ENCODING, "br;q=0.5, zstd")]).await.1, zstd);
    for other in ["gzip", "br;q=0", "identity", ""] {
        assert!(!by(vec![(ACCEPT_ENCODING, other)]).await.2.contains_key(CONTENT_ENCODING), "{other}");
    }
    let (tag, plain_tag) = (coded[ETAG].to_str().unwrap(), plain[ETAG].to_str().unwrap());
    let br = (ACCEPT_ENCODING, "br");
    let (status, _, known) = by(vec![br.clone(), (IF_NONE_MATCH, tag)]).await;
    assert_eq!((status, &known[VARY], &known[ETAG]), (304, &coded[VARY], &coded[ETAG]));
    assert_eq!(by(vec![br.clone(), (IF_NONE_MATCH, plain_tag)]).await.0, 200);
    let range = (RANGE, "bytes=0-3");
    for (headers, status, bytes) in [
        (vec![br.clone(), range.clone()], 206, &script.as_bytes()[..4]),
        (vec![br.clone(), range.clone(), (IF_RANGE, plain_tag)], 206, &script.as_bytes()[..4]),
        (vec![br.clone(), range.clone(), (IF_RANGE, tag)], 206, &compressed[..4]),
        (vec![br.clone(), range.clone(), (IF_RANGE, "\"old\"")], 200, &compressed[..]),
        (vec![range, (IF_RANGE, tag)], 200, script.as_bytes()),
    ] {
        let (found, body, _) = by(headers.clone()).await;
        assert_eq!((found, body.as_slice()), (status, bytes), "{headers:?}");
    }
    let (status, body, head) = ask_by(Method::HEAD, &site, "/a.js", std::slice::from_ref(&br)).await;
    assert_eq!((status, body.len(), &head[CONTENT_LENGTH]), (200, 0, &coded[CONTENT_LENGTH]));
    std::fs::write(site.root().join("a.js"), "changed").unwrap();
    let (_, body, headers) = by(vec![br]).await;
    assert_eq!(body, b"changed", "a compressed file of other content is not sent");
    assert!(!headers.contains_key(VARY));
}
