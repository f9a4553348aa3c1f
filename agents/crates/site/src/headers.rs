//! Rules of `_headers`: header fields of the responses of some paths. Never sets what belongs to the server or the connection.

use std::path::Path;
use std::str::FromStr;

use http::header::{CACHE_CONTROL, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::pattern::Pattern;
use crate::rule_file::RuleFile;

/// Fields that a site can't set: those of the connection, of the server, and of the body as it is sent.
const FORBIDDEN: [&str; 20] = [
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "date",
    "etag",
    "keep-alive",
    "location",
    "proxy-authenticate",
    "proxy-connection",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Rules in the order of their lines.
#[derive(Debug, Default)]
pub(crate) struct Headers(Vec<PathHeaders>);

#[derive(Debug)]
struct PathHeaders {
    pattern: Pattern,
    fields: Vec<(HeaderName, HeaderValue)>,
}

impl Headers {
    /// Reads the site's rules and returns them with warnings. Blocking.
    pub(crate) fn read(root: &Path) -> (Self, Vec<String>) {
        let mut file = RuleFile::read(root, "_headers");
        let mut rules: Vec<PathHeaders> = Vec::new();
        // The fields below a path that is ignored are ignored with it.
        let mut is_ignored = false;
        for (line, text) in std::mem::take(&mut file.lines) {
            let text = text.trim();
            if text.starts_with('/') || text.contains("://") && !text.contains(' ') {
                let pattern = Pattern::parse(text);
                is_ignored = pattern.is_err();
                match pattern {
                    Ok(pattern) => rules.push(PathHeaders { pattern, fields: Vec::new() }),
                    Err(why) => file.warn(line, why),
                }
            } else if !is_ignored {
                match (field(text), rules.last_mut()) {
                    (Ok(field), Some(rule)) => rule.fields.push(field),
                    (Ok(_), None) => file.warn(line, "there is no path above it"),
                    (Err(why), _) => file.warn(line, why),
                }
            }
        }
        (Self(rules), file.into_warnings())
    }

    /// Sets the fields of all rules for a decoded path without a slash at its end. A later rule replaces the fields of an earlier
    /// one and of the server; a field that a rule has several times is sent several times.
    pub(crate) fn apply(&self, path: &str, status: StatusCode, headers: &mut HeaderMap) {
        for rule in self.0.iter().filter(|rule| rule.pattern.captures(path).is_some()) {
            for (index, (name, value)) in rule.fields.iter().enumerate() {
                // An error response with a long cache lifetime would outlive its cause.
                if name == CACHE_CONTROL && (status.is_client_error() || status.is_server_error()) {
                    continue;
                }
                let is_repeated = rule.fields[..index].iter().any(|(earlier, _)| earlier == name);
                if is_repeated || name == VARY {
                    headers.append(name, value.clone());
                } else {
                    headers.insert(name, value.clone());
                }
            }
        }
    }
}

fn field(text: &str) -> Result<(HeaderName, HeaderValue), &'static str> {
    let (name, value) = text.split_once(':').ok_or("it is neither a path nor a header")?;
    let name = HeaderName::from_str(name.trim()).map_err(|_| "the name of its header is not valid")?;
    if FORBIDDEN.contains(&name.as_str()) {
        return Err("its header is set by the server alone");
    }
    let value = value.trim();
    if value.is_empty() {
        return Err("its header has no value");
    }
    let value =
        HeaderValue::from_str(value).map_err(|_| "the value of its header has a character that no header has")?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Headers, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("_headers"), text).unwrap();
        Headers::read(&dir.path().canonicalize().unwrap())
    }

    fn applied(headers: &Headers, path: &str, status: u16) -> Vec<(String, String)> {
        let mut map = HeaderMap::new();
        map.insert("cache-control", HeaderValue::from_static("no-cache"));
        headers.apply(path, StatusCode::from_u16(status).unwrap(), &mut map);
        let pairs = map.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort();
        pairs
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn all_rules_of_a_path_apply_and_the_last_one_wins() {
        let (headers, warnings) = read(
            "/*\n  X-Frame-Options: DENY\n  Link: </a>; rel=preload\n  Link: </b>; rel=preload\n/docs/:page\n  x-frame-options: SAMEORIGIN\n\
             /*.json\n\tCache-Control: max-age=60\n  Access-Control-Allow-Origin: *\n",
        );
        assert_eq!(warnings, [] as [String; 0]);
        let links = [("link", "</a>; rel=preload"), ("link", "</b>; rel=preload")];
        let all = |frame, more: &[(&str, &str)]| pairs(&[more, &links, &[("x-frame-options", frame)]].concat());
        assert_eq!(applied(&headers, "", 200), all("DENY", &[("cache-control", "no-cache")]));
        assert_eq!(applied(&headers, "/docs/a", 200), all("SAMEORIGIN", &[("cache-control", "no-cache")]));
        let json = [("access-control-allow-origin", "*"), ("cache-control", "max-age=60")];
        assert_eq!(applied(&headers, "/a/b.json", 200), all("DENY", &json));
        let lost = [("access-control-allow-origin", "*"), ("cache-control", "no-cache")];
        assert_eq!(applied(&headers, "/a/b.json", 404), all("DENY", &lost));
    }

    #[test]
    fn an_invalid_rule_is_a_warning_with_its_line() {
        let text = "X-Early: 1\n/a\n  Content-Length: 5\n  transfer-encoding: chunked\n  Connection: close\n  Server: x\n  Bad Name: x\n\
                    \x20 X-Bad: a\x07b\n  X-Empty:\n  ! X-Detached\n  X-Good: 1\nhttps://a.example/*\n  X-Other: 1\n";
        let (headers, warnings) = read(text);
        assert_eq!(applied(&headers, "/a", 200), pairs(&[("cache-control", "no-cache"), ("x-good", "1")]));
        let lines: Vec<&str> = warnings.iter().map(|warning| warning.split(' ').nth(1).unwrap()).collect();
        assert_eq!(lines, ["1", "3", "4", "5", "6", "7", "8", "9", "10", "12"], "{warnings:?}");
        assert_eq!(warnings[1], "line 3 of _headers is ignored: its header is set by the server alone");
    }
}
