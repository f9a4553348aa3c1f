//! Files of a source folder: bounded reads that never follow a link out of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::InspectError;

/// A larger file was not written for us.
const TEXT_BYTES_MAX: u64 = 4 << 20;
/// Bytes that one inspection reads of all files, some of them several times.
const READ_BYTES_MAX: u64 = 256 << 20;
/// Bound of each walk through folders.
const ENTRIES_MAX: usize = 5_000;
/// Folders of other people's code, of tests and of results.
const SKIPPED: [&str; 16] = [
    "node_modules",
    "vendor",
    "venv",
    "env",
    "dist",
    "build",
    "target",
    "test",
    "tests",
    "__tests__",
    "__pycache__",
    "docs",
    "examples",
    "example",
    "site-packages",
    "migrations",
];

/// Files that show an app.
const APP_FILES: [&str; 8] = [
    "package.json",
    "deno.json",
    "requirements.txt",
    "pyproject.toml",
    "go.mod",
    "Cargo.toml",
    "index.html",
    "Dockerfile",
];

/// Folder of a source.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
    /// Bytes read so far by all that look at this source.
    read: Arc<AtomicU64>,
    /// Path from the root, without slashes at its ends; empty: the root.
    at: String,
}

impl Files {
    pub fn new(root: PathBuf) -> Self {
        Self { root, read: Arc::default(), at: String::new() }
    }

    /// Folder below this one.
    pub(crate) fn below(&self, folder: &str) -> Self {
        let folder = folder.trim_matches('/').trim_start_matches("./");
        let folder = if folder == "." { "" } else { folder };
        let parts = [self.at.as_str(), folder].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        Self { at: parts.join("/"), ..self.clone() }
    }

    /// True if a relative path stays in the source, also one that leads above this folder.
    pub(crate) fn stays_in_source(&self, name: &str) -> bool {
        let mut depth = self.at.split('/').filter(|part| !part.is_empty()).count();
        let stays = |part: &str| match part {
            ".." => depth.checked_sub(1).inspect(|above| depth = *above).is_some(),
            "" | "." => true,
            _ => {
                depth += 1;
                true
            }
        };
        !name.is_empty() && !name.starts_with(['/', '-']) && name.split('/').all(stays)
    }

    /// Folders from the one above this up to the root.
    pub(crate) fn above(&self) -> impl Iterator<Item = Self> + '_ {
        let mut at = Some(self.at.as_str()).filter(|at| !at.is_empty());
        std::iter::from_fn(move || {
            let parent = at?.rsplit_once('/').map_or("", |(parent, _)| parent);
            at = Some(parent).filter(|parent| !parent.is_empty());
            Some(Self { at: parent.to_owned(), ..self.clone() })
        })
    }

    /// Path from the source's root.
    pub(crate) fn path(&self) -> &str {
        &self.at
    }

    fn full(&self, name: &str) -> PathBuf {
        self.root.join(&self.at).join(name)
    }

    /// True for a regular file that no link leads to.
    pub(crate) fn has(&self, name: &str) -> bool {
        inside(name) && !self.is_linked(name) && is(&self.full(name), std::fs::FileType::is_file)
    }

    pub(crate) fn has_folder(&self, name: &str) -> bool {
        inside(name) && !self.is_linked(name) && is(&self.full(name), std::fs::FileType::is_dir)
    }

    /// True if one of the folders on the way is a link.
    fn is_linked(&self, name: &str) -> bool {
        let mut path = self.root.join(&self.at);
        name.split('/').any(|part| {
            path.push(part);
            is(&path, std::fs::FileType::is_symlink)
        })
    }

    /// First of these names that is a file.
    pub(crate) fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// Names in a folder below, ascending; none if it can't be read.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        if !below.is_empty() && !self.has_folder(below) {
            return Vec::new();
        }
        let entries = std::fs::read_dir(self.full(below)).into_iter().flatten().flatten().take(ENTRIES_MAX);
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Folders below, at most `depth` levels deep, near ones first; without hidden ones and those of [`SKIPPED`].
    pub(crate) fn folders(&self, below: &str, depth: usize) -> Vec<String> {
        let mut level = vec![below.to_owned()];
        let mut found = Vec::new();
        for _ in 0..depth {
            let mut next = Vec::new();
            for folder in &level {
                for name in self.names(folder) {
                    let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                    let skipped = name.starts_with('.') || SKIPPED.contains(&name.as_str());
                    if !skipped && found.len() + next.len() < ENTRIES_MAX && self.has_folder(&path) {
                        next.push(path);
                    }
                }
            }
            found.extend(next.iter().cloned());
            level = next;
        }
        found
    }

    /// Folders at most two levels below that look like apps, at most eight.
    pub(crate) fn apps(&self) -> Vec<String> {
        let folders = self.folders("", 2);
        let is_app = |folder: &&String| APP_FILES.iter().any(|name| self.has(&format!("{folder}/{name}")));
        folders.iter().filter(is_app).take(8).cloned().collect()
    }

    /// Lists files with names that end in `ending`, at most `depth` folders deep, near ones first.
    pub(crate) fn ending(&self, ending: &str, depth: usize) -> Vec<String> {
        let folders = [String::new()].into_iter().chain(self.folders("", depth));
        let mut found = Vec::new();
        for folder in folders {
            for name in self.names(&folder).into_iter().filter(|name| name.ends_with(ending)) {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if found.len() < ENTRIES_MAX && self.has(&path) {
                    found.push(path);
                }
            }
        }
        found
    }

    /// Text of a file; `None` if it isn't there.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, InspectError> {
        if !self.has(name) {
            return Ok(None);
        }
        let broken = |why: String| {
            InspectError::Manifest(format!("The file `{name}` can't be used: {why}. Correct it, then deploy again."))
        };
        let path = self.full(name);
        let size = std::fs::metadata(&path).map_err(|error| broken(error.to_string()))?.len();
        if size > TEXT_BYTES_MAX {
            return Err(broken("it is larger than 4 MiB".to_owned()));
        }
        if self.read.fetch_add(size, Ordering::Relaxed) > READ_BYTES_MAX {
            return Err(broken("too much was read before it".to_owned()));
        }
        let text = std::fs::read(path).map_err(|error: io::Error| broken(error.to_string()))?;
        let text = String::from_utf8(text).map_err(|_| broken("it is not UTF-8".to_owned()))?;
        // Editors of Windows begin files with a byte order mark.
        Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)))
    }

    /// Text of a file to search in; empty if it is missing or unreadable.
    pub(crate) fn search(&self, name: &str) -> String {
        self.text(name).ok().flatten().unwrap_or_default()
    }

    /// Text of the first of these files.
    pub(crate) fn search_first(&self, names: &[&str]) -> String {
        self.first(names).map(|name| self.search(name)).unwrap_or_default()
    }

    /// First line that says something, for files that hold a version alone.
    pub(crate) fn line(&self, name: &str) -> Result<Option<String>, InspectError> {
        let text = self.text(name)?.unwrap_or_default();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(line.map(str::to_owned))
    }
}

fn is(path: &Path, of: impl Fn(&std::fs::FileType) -> bool) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| of(&found.file_type()))
}

/// True for a relative path that stays below.
pub(crate) fn inside(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['/', '-']) && !name.split('/').any(|part| part == "..")
}

/// Text of a JavaScript or TypeScript file without its comments. A `//` within a line's string stays.
pub(crate) fn without_comments(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    let mut quote = None;
    while let Some(char) = rest.chars().next() {
        let after = &rest[char.len_utf8()..];
        match quote {
            None if rest.starts_with("//") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            None if rest.starts_with("/*") => {
                rest = rest[2..].find("*/").map_or("", |end| &rest[end + 4..]);
                code.push(' ');
                continue;
            }
            None if matches!(char, '"' | '\'' | '`') => quote = Some(char),
            Some(_) if char == '\\' => {
                let escaped = after.chars().next().map_or(0, char::len_utf8);
                code.push_str(&rest[..1 + escaped]);
                rest = &after[escaped..];
                continue;
            }
            // A regular expression may hold a quote that never ends.
            Some(open) if char == open || (char == '\n' && open != '`') => quote = None,
            _ => {}
        }
        code.push(char);
        rest = after;
    }
    code
}

/// Text between the quotes after `key` and a colon or equals sign, as in `outDir: 'public'`.
pub(crate) fn quoted_after(text: &str, key: &str) -> Option<String> {
    text.match_indices(key).find_map(|(at, _)| {
        let rest = text[at + key.len()..].trim_start().trim_start_matches(['"', '\'']).trim_start();
        let rest = rest.strip_prefix([':', '='])?.trim_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
        let value = rest[1..].split(quote).next()?;
        (!value.is_empty() && value.len() < 200 && !value.contains('\n')).then(|| value.to_owned())
    })
}
