//! Search for the object that a web server of Python serves, such as `app = FastAPI()` in `app/main.py`.

use crate::Files;

/// File names in the order in which they are preferred.
const NAMES: [&str; 12] =
    ["main", "app", "server", "api", "wsgi", "asgi", "run", "index", "application", "web", "__init__", "hello"];
/// More text than this is not searched.
const FILES_MAX: usize = 400;

/// Object of a web framework.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebObject {
    /// Path of the file from the app's folder.
    pub(super) file: String,
    pub(super) object: String,
    /// True for a function that makes the object.
    pub(super) is_factory: bool,
}

impl WebObject {
    /// Folder to put into Python's search path, and the module's name from there.
    pub(super) fn module(&self, files: &Files) -> (String, String) {
        let path = self.file.trim_end_matches(".py");
        let path = path.strip_suffix("/__init__").unwrap_or(path);
        let parts: Vec<&str> = path.split('/').collect();
        let text = files.search(&self.file);
        let imports: Vec<&str> = text.lines().filter_map(imported).collect();
        let is_relative = text.lines().any(|line| line.starts_with("from ."));
        // The author starts it from the folder that holds the modules it imports; a package is named from its parent.
        let start = (0..parts.len()).find(|at| {
            let folder = parts[..*at].join("/");
            let names = files.names(&folder);
            imports.iter().any(|module| {
                let is_itself = *at + 1 == parts.len() && *module == parts[*at];
                !is_itself && names.iter().any(|name| name.trim_end_matches(".py") == *module)
            })
        });
        let is_package = |at: usize| files.has(&format!("{}/__init__.py", parts[..at].join("/")));
        let start = start.unwrap_or_else(|| match (1..parts.len()).find(|at| is_package(*at)) {
            Some(first) => first - 1,
            None if is_relative => parts.len().saturating_sub(2),
            None if parts[0] == "src" => 1,
            None => 0,
        });
        (parts[..start].join("/"), parts[start..].join("."))
    }
}

/// First part of the module that a line imports absolutely.
fn imported(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace();
    let module = matches!(words.next(), Some("from" | "import")).then(|| words.next()).flatten()?;
    module.split(['.', ',']).next().filter(|name| !name.is_empty())
}

/// Finds `name = Class(` or a factory `def create_app(`; the nearest file with the most usual name first.
pub(super) fn find(files: &Files, classes: &[&str], factories: &[&str]) -> Option<WebObject> {
    let mut candidates = files.ending(".py", 3);
    candidates.truncate(FILES_MAX);
    let rank = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".py");
        let known = NAMES.iter().position(|known| *known == name).unwrap_or(NAMES.len());
        (path.matches('/').count(), known)
    };
    candidates.sort_by_key(rank);
    let by_object = candidates.iter().find_map(|file| {
        let text = files.search(file);
        let object = text.lines().find_map(|line| object_of(line, classes))?;
        Some(WebObject { file: file.clone(), object, is_factory: false })
    });
    by_object.or_else(|| {
        candidates.iter().find_map(|file| {
            let text = files.search(file);
            let factory = factories
                .iter()
                .find(|name| text.contains(&format!("\ndef {name}(")) || text.starts_with(&format!("def {name}(")))?;
            Some(WebObject { file: file.clone(), object: (*factory).to_owned(), is_factory: true })
        })
    })
}

/// Name at the start of a line that gets one of the classes, also `app: FastAPI = FastAPI(` and `app = flask.Flask(`.
fn object_of(line: &str, classes: &[&str]) -> Option<String> {
    let (left, right) = line.split_once('=')?;
    let name = left.split(':').next()?.trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let called = right.trim_start().split('(').next()?.rsplit('.').next()?.trim();
    (is_name && right.contains('(') && classes.contains(&called)).then(|| name.to_owned())
}
