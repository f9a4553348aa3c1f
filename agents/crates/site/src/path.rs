//! Resolves request paths to files. Invariant: never leads out of the folder, to a hidden file, or to the site's rules.

use std::path::{Path, PathBuf};

/// Files with rules of the site, at its top.
pub(crate) const RULE_FILES: [&str; 2] = ["_redirects", "_headers"];

/// Target of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathTarget {
    File(PathBuf),
    /// Canonical path of the page, with or without a slash at the end.
    Redirect(String),
    Nothing,
}

/// Resolves a path to a file or a redirect. Blocking.
pub(crate) fn find(root: &Path, path: &str) -> PathTarget {
    let Some(names) = names(path) else { return PathTarget::Nothing };
    if let [name] = names.as_slice()
        && RULE_FILES.contains(&name.as_str())
    {
        return PathTarget::Nothing;
    }
    let at = names.iter().fold(root.to_owned(), |at, name| at.join(name));
    let has_slash = path.ends_with('/') || path.is_empty();
    if let Some(page) = inside(root, &at.join("index.html")) {
        return if has_slash { PathTarget::File(page) } else { PathTarget::Redirect(format!("{path}/")) };
    }
    if let Some(file) = inside(root, &at).filter(|_| !has_slash) {
        return PathTarget::File(file);
    }
    // `/about` is about.html.
    let page = names.last().and_then(|name| inside(root, &at.with_file_name(format!("{name}.html"))));
    match page {
        Some(page) if !has_slash => PathTarget::File(page),
        Some(_) => PathTarget::Redirect(path.trim_end_matches('/').to_owned()),
        None => PathTarget::Nothing,
    }
}

/// Finds the page of a path that a rule names: a slash at its end makes no difference. Blocking.
pub(crate) fn find_page(root: &Path, path: &str) -> Option<PathBuf> {
    let found = match find(root, path) {
        PathTarget::Redirect(path) => find(root, &path),
        found => found,
    };
    match found {
        PathTarget::File(file) => Some(file),
        _ => None,
    }
}

/// Resolves links; `None` if the result is no file below the root. Blocking.
pub(crate) fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    (real.starts_with(root) && real.is_file()).then_some(real)
}

/// Decodes the names of a path; `None` if one of them could lead elsewhere or is hidden. `.well-known` is for all.
pub(crate) fn names(path: &str) -> Option<Vec<String>> {
    let name = |part: &str| {
        let name = decoded(part)?;
        let hidden = name.starts_with('.') && name != ".well-known";
        (!hidden && !name.contains(['/', '\\', '\0'])).then_some(name)
    };
    path.split('/').filter(|part| !part.is_empty()).map(name).collect()
}

/// Decodes percent-encoding; `None` if it is malformed or not UTF-8.
pub(crate) fn decoded(part: &str) -> Option<String> {
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

/// Percent-encodes all but unreserved characters (RFC 3986, section 2.3) and slashes.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match plain(byte) {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
        encoded
    })
}
