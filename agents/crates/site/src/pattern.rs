//! Patterns of paths in `_redirects` and `_headers`: literal text, `:name` for one segment and one `*` for any text. They match
//! decoded paths, with and without a slash at the end.

use crate::path::decoded;

/// Name under which the text of `*` is captured.
const SPLAT: &str = "splat";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pieces: Vec<PatternPart>,
    /// Literal text after `*`; `None`: there is no `*`.
    after_splat: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum PatternPart {
    Literal(String),
    Placeholder(String),
}

/// Captured text by name.
pub(crate) type Captures<'a> = Vec<(&'a str, &'a str)>;

impl Pattern {
    /// Fails with the reason, for a sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.starts_with('/') {
            return Err("its path does not begin with /");
        }
        if text.contains(['?', '#', '\\']) {
            return Err("its path has a character that no path has");
        }
        let mut pattern = Self { pieces: Vec::new(), after_splat: None };
        for part in text[1..].trim_end_matches('/').split('/') {
            pattern.push("/");
            let name = part.strip_prefix(':').filter(|name| is_name(name));
            match (name, &pattern.after_splat) {
                (Some(_), Some(_)) => return Err("it has a placeholder after *"),
                (Some(name), None) => {
                    let is_known =
                        |piece: &PatternPart| matches!(piece, PatternPart::Placeholder(known) if known == name);
                    if name == SPLAT || pattern.pieces.iter().any(is_known) {
                        return Err("it has two placeholders of one name, or one that is called splat");
                    }
                    pattern.pieces.push(PatternPart::Placeholder(name.to_owned()));
                }
                (None, _) => pattern.segment(part)?,
            }
        }
        if pattern.pieces == [PatternPart::Literal("/".to_owned())] && pattern.after_splat.is_none() {
            pattern.pieces.clear();
        }
        Ok(pattern)
    }

    fn segment(&mut self, part: &str) -> Result<(), &'static str> {
        for (index, literal) in part.split('*').enumerate() {
            if index > 0 && self.after_splat.replace(String::new()).is_some() {
                return Err("it has more than one *");
            }
            let literal = decoded(literal).filter(|literal| !literal.contains(['/', '\\', '\0']));
            self.push(&literal.ok_or("its path is not encoded as it should be")?);
        }
        Ok(())
    }

    fn push(&mut self, literal: &str) {
        match (&mut self.after_splat, self.pieces.last_mut()) {
            (Some(text), _) | (None, Some(PatternPart::Literal(text))) => text.push_str(literal),
            (None, _) => self.pieces.push(PatternPart::Literal(literal.to_owned())),
        }
    }

    /// Captures of a decoded path without a slash at its end; `None` if it does not match.
    pub(crate) fn captures<'a>(&'a self, path: &'a str) -> Option<Captures<'a>> {
        let mut captures = Captures::new();
        let mut rest = path;
        for (index, piece) in self.pieces.iter().enumerate() {
            match piece {
                // `/blog/*` is for /blog too.
                PatternPart::Literal(literal) if self.ends_at(index, literal, rest) => rest = "",
                PatternPart::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                PatternPart::Placeholder(name) => {
                    let (value, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                    if value.is_empty() {
                        return None;
                    }
                    captures.push((name, value));
                    rest = after;
                }
            }
        }
        match &self.after_splat {
            Some(after) => captures.push((SPLAT, rest.strip_suffix(after.as_str())?)),
            None if rest.is_empty() => {}
            None => return None,
        }
        Some(captures)
    }

    /// True if the path ends where the slash before a last `*` is.
    fn ends_at(&self, index: usize, literal: &str, rest: &str) -> bool {
        let is_last = index + 1 == self.pieces.len() && self.after_splat.as_deref() == Some("");
        is_last && literal.strip_suffix('/') == Some(rest)
    }
}

/// Fills the placeholders of a target. `encode` makes captured text harmless.
pub(crate) fn filled(template: &str, captures: &Captures<'_>, encode: fn(&str) -> String) -> String {
    let mut parts = template.split(':');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part.split_at(part.find(|char| !is_name_char(char)).unwrap_or(part.len()));
        match captures.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => text.push_str(&encode(value)),
            None => {
                text.push(':');
                text.push_str(name);
            }
        }
        text.push_str(after);
    }
    text
}

fn is_name(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic()) && text.chars().all(is_name_char)
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captures(pattern: &str, path: &str) -> Option<Vec<(String, String)>> {
        let pattern = Pattern::parse(pattern).unwrap();
        let found = pattern.captures(path)?;
        Some(found.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn literals_placeholders_and_splats_match_whole_paths() {
        for (pattern, path) in [("/a", "/a"), ("/a/", "/a"), ("/", ""), ("/caf%C3%A9", "/café"), ("/a:b", "/a:b")] {
            assert_eq!(captures(pattern, path), Some(Vec::new()), "{pattern}");
        }
        for (pattern, path) in
            [("/a", "/ab"), ("/a", ""), ("/", "/a"), ("/a/:b", "/a"), ("/a/:b", "/a/b/c"), ("/:a", "")]
        {
            assert_eq!(captures(pattern, path), None, "{pattern}");
        }
        assert_eq!(captures("/news/:year/:slug", "/news/2026/x"), Some(vec![pair("year", "2026"), pair("slug", "x")]));
        for (pattern, path, splat) in [
            ("/*", "", ""),
            ("/*", "/a/b", "a/b"),
            ("/blog/*", "/blog", ""),
            ("/blog/*", "/blog/a", "a"),
            ("/*.jpg", "/a/b.jpg", "a/b"),
            ("/a*/end", "/abc/d/end", "bc/d"),
        ] {
            assert_eq!(captures(pattern, path), Some(vec![pair("splat", splat)]), "{pattern}");
        }
        assert_eq!(captures("/:lang/*", "/en"), Some(vec![pair("lang", "en"), pair("splat", "")]));
        for (pattern, path) in [("/blog/*", "/blogs"), ("/*.jpg", "/a.png"), ("/a*/end", "/a")] {
            assert_eq!(captures(pattern, path), None, "{pattern}");
        }
    }

    #[test]
    fn an_invalid_pattern_is_refused() {
        for text in [
            "",
            "a",
            "https://a.example/b",
            "/*/*",
            "/*/:a",
            "/:a/:a",
            "/:splat",
            "/%zz",
            "/a%2fb",
            "/a?b=c",
            "/a#b",
            "/\\a",
        ] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn known_placeholders_of_a_target_are_filled_and_others_stay() {
        let captures = vec![("year", "2026"), ("splat", "a/b c")];
        let filled = |template| filled(template, &captures, crate::path::encoded);
        assert_eq!(filled("/b/:year-:year/:splat"), "/b/2026-2026/a/b%20c");
        assert_eq!(filled("/:years:x/a:"), "/:years:x/a:");
    }
}
