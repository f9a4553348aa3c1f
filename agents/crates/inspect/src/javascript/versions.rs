//! Versions of Node and Bun that the files of an app choose.

use super::package::NodePackage;
use crate::{Files, InspectError, VersionRequest};

/// Code names of Node's lines with long support (nodejs.org/en/about/previous-releases).
const LINES: [(&str, &str); 10] = [
    ("argon", "4"),
    ("boron", "6"),
    ("carbon", "8"),
    ("dubnium", "10"),
    ("erbium", "12"),
    ("fermium", "14"),
    ("gallium", "16"),
    ("hydrogen", "18"),
    ("iron", "20"),
    ("jod", "22"),
];
/// Line that runs apps which name no version: the same on every server.
const USUAL_LINE: &str = "^24";

/// Version of Node: files of the app first, then those of its workspace.
pub(crate) fn node(folders: &[&Files], packages: &[&NodePackage]) -> Result<VersionRequest, InspectError> {
    for files in folders {
        for name in [".nvmrc", ".node-version"] {
            if let Some(line) = files.line(name)? {
                return Ok(request(&line, name));
            }
        }
        if let Some((version, file)) = pinned_tool(files, &["nodejs", "node"]) {
            return Ok(request(&version, file));
        }
    }
    for package in packages {
        if let Some(version) = package.volta("node") {
            return Ok(VersionRequest::exact(version, "package.json (volta)"));
        }
        if let Some((_, version)) =
            package.dev_engine(false).filter(|(name, version)| *name == "node" && !version.is_empty())
        {
            return Ok(VersionRequest::within(version, "package.json (devEngines)"));
        }
        if let Some(range) = package.engine("node") {
            return Ok(VersionRequest::within(range, "package.json (engines)"));
        }
    }
    Ok(VersionRequest::usual(USUAL_LINE))
}

pub(crate) fn bun(folders: &[&Files], packages: &[&NodePackage]) -> Result<Option<VersionRequest>, InspectError> {
    for files in folders {
        if let Some(line) = files.line(".bun-version")? {
            return Ok(Some(VersionRequest::exact(line, ".bun-version")));
        }
        if let Some((version, file)) = pinned_tool(files, &["bun"]) {
            return Ok(Some(VersionRequest::exact(version, file)));
        }
    }
    let engine = packages.iter().find_map(|package| package.engine("bun"));
    Ok(engine.map(|range| VersionRequest::within(range, "package.json (engines)")))
}

/// Request of a version file, in the words of nvm (github.com/nvm-sh/nvm).
fn request(line: &str, file: &str) -> VersionRequest {
    let line = line.trim().trim_start_matches("node@").trim();
    let name = line.strip_prefix("lts/").unwrap_or(line).to_ascii_lowercase();
    if matches!(name.as_str(), "*" | "node" | "stable" | "lts" | "latest" | "current") {
        return VersionRequest::within(USUAL_LINE, file);
    }
    let known = LINES.iter().find(|(known, _)| *known == name).map(|(_, major)| *major);
    VersionRequest::exact(known.unwrap_or(if name == "krypton" { "24" } else { line }), file)
}

/// Version of a tool in asdf's .tool-versions or mise's mise.toml, with the file.
pub(crate) fn pinned_tool(files: &Files, names: &[&str]) -> Option<(String, &'static str)> {
    let asdf = files.search(".tool-versions");
    let found = asdf.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        words.next().filter(|word| names.contains(word)).and(words.next())
    });
    if let Some(version) = found.filter(|version| version.starts_with(|first: char| first.is_ascii_digit())) {
        return Some((version.to_owned(), ".tool-versions"));
    }
    let file = files.first(&["mise.toml", ".mise.toml"])?;
    let mise: toml::Table = toml::from_str(&files.search(file)).ok()?;
    let tools = mise.get("tools")?;
    let value = names.iter().find_map(|name| tools.get(name))?;
    let version = value.as_str().or_else(|| value.get("version")?.as_str())?;
    Some((version.to_owned(), if file == "mise.toml" { "mise.toml" } else { ".mise.toml" }))
}
