//! Resolves URL references against a base URL (RFC 3986, 5.2). Does not check whether an address is allowed.

/// Resolves `reference` against `base`, a URL with a scheme and a host. The result has no fragment, because clients never
/// send one.
pub fn resolve(base: &str, reference: &str) -> String {
    let reference = before(reference, &['#']);
    if has_scheme(reference) {
        return reference.to_owned();
    }
    let base = before(base, &['#']);
    let scheme = base.find("://").unwrap_or_default();
    if reference.starts_with("//") {
        return format!("{}:{reference}", &base[..scheme]);
    }
    let host = (scheme + "://".len()).min(base.len());
    let host_end = base[host..].find(['/', '?']).map_or(base.len(), |length| host + length);
    let base_path = before(&base[host_end..], &['?']);
    let (path, query) = reference.split_at(before(reference, &['?']).len());
    let path = match path {
        "" if query.is_empty() => return base.to_owned(),
        "" => base_path.to_owned(),
        _ if path.starts_with('/') => without_dots(path),
        // Relative to the folder of the base.
        _ => without_dots(&format!("{}/{path}", &base_path[..base_path.rfind('/').unwrap_or_default()])),
    };
    format!("{}{path}{query}", &base[..host_end])
}

fn before<'a>(text: &'a str, ends: &[char]) -> &'a str {
    text.split(ends).next().unwrap_or_default()
}

fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

/// Removes `.` and `..` from a path that begins with a slash; `..` at the root stays at the root.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    // Such a path names a folder.
    if path.ends_with("/.") || path.ends_with("/..") {
        parts.push("");
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_mean_what_the_standard_says() {
        let base = "https://a.example/b/c/d?q=1#s";
        let rows = [
            ("ftp:x", "ftp:x"),
            ("g", "https://a.example/b/c/g"),
            ("./g/", "https://a.example/b/c/g/"),
            ("/g/../h", "https://a.example/h"),
            ("//other.example/g", "https://other.example/g"),
            ("?y", "https://a.example/b/c/d?y"),
            ("g?y/../x:z", "https://a.example/b/c/g?y/../x:z"),
            ("g#sha256=1", "https://a.example/b/c/g"),
            ("", "https://a.example/b/c/d?q=1"),
            (".", "https://a.example/b/c/"),
            ("..", "https://a.example/b/"),
            ("../..", "https://a.example/"),
            ("../../../../g", "https://a.example/g"),
            ("./g:h", "https://a.example/b/c/g:h"),
            ("https://other.example/x#y", "https://other.example/x"),
        ];
        for (reference, whole) in rows {
            assert_eq!(resolve(base, reference), whole, "{reference}");
        }
        assert_eq!(resolve("http://127.0.0.1:81", "g"), "http://127.0.0.1:81/g");
        assert_eq!(resolve("http://[::1]:81?x", "?y"), "http://[::1]:81?y");
    }
}
