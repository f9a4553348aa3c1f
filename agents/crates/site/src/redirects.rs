//! Rules of `_redirects`: redirects, and pages served under another path or with an error status. Never requests another host, and
//! never lets a request choose the host of a redirect.

use std::path::Path;
use std::str::FromStr;

use http::uri::Authority;
use http::{HeaderValue, StatusCode};

use crate::path::{encoded, names};
use crate::pattern::{Captures, Pattern, filled};
use crate::rule_file::RuleFile;

/// Rules in the order of their lines.
#[derive(Debug, Default)]
pub(crate) struct Redirects(Vec<RedirectRule>);

#[derive(Debug)]
struct RedirectRule {
    from: Pattern,
    to: RedirectTarget,
    status: StatusCode,
    /// True if the rule applies even if a file exists.
    is_forced: bool,
}

/// Target of a rule, with placeholders for captured text.
#[derive(Debug)]
struct RedirectTarget {
    /// Scheme and authority of another site; empty: this one.
    origin: String,
    /// Path, with a query and a fragment.
    path: String,
}

/// Outcome of the rules for a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RedirectDecision {
    Redirect { status: StatusCode, location: HeaderValue },
    Page { status: StatusCode, path: String },
}

impl Redirects {
    /// Reads the site's rules and returns them with warnings. Blocking.
    pub(crate) fn read(root: &Path) -> (Self, Vec<String>) {
        let mut file = RuleFile::read(root, "_redirects");
        let mut rules = Vec::new();
        for (line, text) in std::mem::take(&mut file.lines) {
            match RedirectRule::parse(&text) {
                Ok(rule) => rules.push(rule),
                Err(why) => file.warn(line, why),
            }
        }
        (Self(rules), file.into_warnings())
    }

    /// Decides by the first rule that matches a decoded path without a slash at its end; `None`: what is there is served.
    pub(crate) fn decide(&self, path: &str, query: Option<&str>, is_there: bool) -> Option<RedirectDecision> {
        for rule in &self.0 {
            let Some(captures) = rule.from.captures(path) else { continue };
            if is_there && !rule.is_forced {
                return None;
            }
            let to = rule.to.filled(&captures);
            if !rule.status.is_redirection() {
                let path = to.split(['?', '#']).next().unwrap_or_default().to_owned();
                return Some(RedirectDecision::Page { status: rule.status, path });
            }
            // A rule like `/* /moved` would redirect its own target for ever.
            if rule.to.origin.is_empty() && is_same(&to, path) {
                continue;
            }
            let location = HeaderValue::from_str(&with_query(&to, query)).ok()?;
            return Some(RedirectDecision::Redirect { status: rule.status, location });
        }
        None
    }
}

impl RedirectRule {
    /// Fails with the reason, for a sentence.
    fn parse(line: &str) -> Result<Self, &'static str> {
        let words = line.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
        let words: Vec<&str> = words.collect();
        let (from, to, status) = match words.as_slice() {
            [from, to] => (from, to, "301"),
            [from, to, status] => (from, to, *status),
            [_] => return Err("it has no target"),
            _ => return Err("it has conditions, which are not supported"),
        };
        let from = Pattern::parse(from)?;
        let (digits, is_forced) = status.strip_suffix('!').map_or((status, false), |digits| (digits, true));
        let status = match digits {
            "200" | "301" | "302" | "303" | "307" | "308" | "404" | "410" => StatusCode::from_str(digits),
            _ => return Err("its status is none of 200, 301, 302, 303, 307, 308, 404 and 410"),
        };
        let status = status.map_err(|_| "its status is no number")?;
        let to = RedirectTarget::parse(to)?;
        if !to.origin.is_empty() && !status.is_redirection() {
            return Err("its target is another host, to which only a redirect can lead");
        }
        Ok(Self { from, to, status, is_forced })
    }
}

impl RedirectTarget {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains('\\') || text.chars().any(char::is_control) {
            return Err("its target has a character that no address has");
        }
        if text.starts_with('/') && !text.starts_with("//") {
            return Ok(Self { origin: String::new(), path: ascii(text) });
        }
        let no_address = "its target is neither a path that begins with one / nor an address with http:// or https://";
        let (scheme, rest) = text.split_once("://").ok_or(no_address)?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(no_address);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let known = Authority::from_str(authority).map_err(|_| "the host of its target is not valid")?;
        // A user's name in front of the host, or a placeholder in it, could hide where the redirect leads.
        if known.host().is_empty() || (known.as_str() != known.host() && known.port_u16().is_none()) {
            return Err("the host of its target is not valid");
        }
        if authority.contains('@') {
            return Err("the host of its target is not valid");
        }
        Ok(Self { origin: format!("{scheme}://{authority}"), path: ascii(path) })
    }

    fn filled(&self, captures: &Captures<'_>) -> String {
        let path = filled(&self.path, captures, encoded);
        if self.origin.is_empty() {
            // A path with two slashes in front names another host.
            return format!("/{}", path.trim_start_matches('/'));
        }
        format!("{}{path}", self.origin)
    }
}

/// Percent-encodes what no header may have.
fn ascii(text: &str) -> String {
    text.chars().map(|char| if char.is_ascii() { char.to_string() } else { encoded(&char.to_string()) }).collect()
}

/// True if a target is the requested path.
fn is_same(to: &str, path: &str) -> bool {
    let to = to.split('#').next().unwrap_or_default();
    !to.contains('?') && names(to).is_some_and(|names| joined(&names) == path)
}

/// Joins decoded names to the path that patterns match; empty for the root.
pub(crate) fn joined(names: &[String]) -> String {
    names.iter().fold(String::new(), |path, name| path + "/" + name)
}

/// Adds the query of the request to the one that the target has.
fn with_query(to: &str, query: Option<&str>) -> String {
    let Some(query) = query.filter(|query| !query.is_empty()) else { return to.to_owned() };
    let (to, fragment) = to.split_at(to.find('#').unwrap_or(to.len()));
    let mark = if to.contains('?') { '&' } else { '?' };
    format!("{to}{mark}{}{fragment}", ascii(query))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(text: &str) -> Redirects {
        Redirects(text.lines().map(|line| RedirectRule::parse(line).unwrap()).collect())
    }

    fn decide(rules: &Redirects, path: &str, query: Option<&str>) -> Option<(u16, String)> {
        Some(match rules.decide(path, query, false)? {
            RedirectDecision::Redirect { status, location } => (status.as_u16(), location.to_str().unwrap().to_owned()),
            RedirectDecision::Page { status, path } => (status.as_u16(), path),
        })
    }

    #[test]
    fn the_first_rule_that_matches_decides_and_the_query_is_kept() {
        let rules = rules(
            "/old /new\n/old /other 302\n/blog/:year/:slug /posts/:slug?year=:year 308 # as it was\n/docs/* \
             https://docs.example.com:8443/v1/:splat#top 302\n/app/* /app/index.html 200\n/gone/* /gone.html 410\n/:lang/x /:lang/404.html 404\n\
             /café /caf%C3%A9-neu 303\n/home / 307",
        );
        for (path, query, status, to) in [
            ("/old", None, 301, "/new"),
            ("/old", Some("a=b&c"), 301, "/new?a=b&c"),
            ("/blog/2026/a b", Some("c=d"), 308, "/posts/a%20b?year=2026&c=d"),
            ("/docs/a/b", Some("q=1"), 302, "https://docs.example.com:8443/v1/a/b?q=1#top"),
            ("/app/deep/link", Some("q=1"), 200, "/app/index.html"),
            ("/gone/a", None, 410, "/gone.html"),
            ("/en/x", None, 404, "/en/404.html"),
            ("/café", None, 303, "/caf%C3%A9-neu"),
            ("/home", Some(""), 307, "/"),
        ] {
            assert_eq!(decide(&rules, path, query), Some((status, to.to_owned())), "{path}");
        }
        assert_eq!(decide(&rules, "/other", None), None);
    }

    #[test]
    fn existing_files_win_unless_a_rule_is_forced_and_no_rule_redirects_to_itself() {
        let rules = rules("/a /b\n/a /c 301!\n/d /e 302!\n/* /moved 302!");
        assert_eq!(rules.decide("/a", None, true), None);
        assert!(rules.decide("/d", None, true).is_some());
        assert!(rules.decide("/x", None, true).is_some());
        assert_eq!(decide(&rules, "/moved", None), None);
    }

    #[test]
    fn no_path_makes_a_redirect_lead_to_another_host() {
        let rules = rules("/go/* /:splat\n/x/:a https://example.com/:a\n/y/* /:splat/z");
        for path in ["/go//evil.example", "/go/http://evil.example", "/go/\\evil.example", "/y//evil.example"] {
            let (_, to) = decide(&rules, path, None).unwrap();
            assert!(to.starts_with('/') && !to.starts_with("//") && !to.contains('\\'), "{to}");
        }
        assert_eq!(decide(&rules, "/y", None), Some((301, "/z".to_owned())));
        assert_eq!(decide(&rules, "/x/@evil.example:80", None).unwrap().1, "https://example.com/%40evil.example%3A80");
        assert_eq!(decide(&rules, "/go/a\r\nset-cookie: b", None).unwrap().1, "/a%0D%0Aset-cookie%3A%20b");
    }

    #[test]
    fn a_line_that_can_not_be_used_is_a_warning_with_its_number() {
        for line in [
            "/a",
            "/a b",
            "/a //evil.example",
            "/a /\\evil.example",
            "/a ftp://example.com/",
            "/a javascript:alert(1)",
            "/a https://:splat.example.com/",
            "/* https://example.com:splat/",
            "/* https://good.example:x@evil.example/",
            "/a https://good.example@evil.example/",
            "/a https:///path",
            "/api/* https://api.example.com/:splat 200",
            "/a https://example.com/ 404",
            "/a /b 999",
            "/a /b 401",
            "/a /b +301",
            "/a /b 301!!",
            "/a /b 302 Country=de",
            "/a id=:id /b 301",
            "https://a.example/* /b",
        ] {
            assert!(RedirectRule::parse(line).is_err(), "{line}");
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("_redirects"), "# one\n/a /b\n/c\n/d /e 404!\n").unwrap();
        let (rules, warnings) = Redirects::read(&dir.path().canonicalize().unwrap());
        assert_eq!(rules.0.len(), 2);
        assert_eq!(warnings, ["line 3 of _redirects is ignored: it has no target"]);
    }

    proptest! {
        #[test]
        fn no_line_and_no_path_makes_a_redirect_that_leaves_the_host_of_its_rule(
            from in "[/:*a-c]{0,8}", to in "(https?://|/|//|)[/:\\\\a-c@.*?#%0-9]{0,12}(:splat|:a|)[/a]{0,3}", path in "(/[^/]{1,6}){0,4}",
        ) {
            if let Ok(rule) = RedirectRule::parse(&format!("{from} {to}")) {
                let origin = rule.to.origin.clone();
                if let Some(RedirectDecision::Redirect { location, .. }) = Redirects(vec![rule]).decide(&path, Some("q=//x"), false) {
                    let location = location.to_str().unwrap();
                    let rest = location.strip_prefix(origin.as_str()).unwrap();
                    prop_assert!(rest.is_empty() || rest.starts_with(['/', '?', '#']), "{}", location);
                    prop_assert!(!origin.is_empty() || (rest.starts_with('/') && !rest.starts_with("//")), "{}", location);
                    prop_assert!(!location.contains(['\\', '\r', '\n', ' ']), "{}", location);
                }
            }
        }

        #[test]
        fn no_line_breaks_the_parsers(line in "\\PC{0,40}", path in "\\PC{0,20}") {
            if let Ok(rule) = RedirectRule::parse(&line) {
                let _decided = Redirects(vec![rule]).decide(&path, None, false);
            }
            if let Ok(pattern) = Pattern::parse(&line) {
                let _captures = pattern.captures(&path);
            }
        }
    }
}
