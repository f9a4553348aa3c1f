//! Workspace of a JavaScript app: the folder above it that holds the lock file of several packages.

use super::package::NodePackage;
use crate::Files;

/// Patterns of a workspace that are looked at.
const PATTERNS_MAX: usize = 1000;

#[derive(Debug)]
pub(crate) struct Workspace<'a> {
    pub(crate) root: Files,
    pub(crate) app: &'a Files,
    name: Option<String>,
}

impl<'a> Workspace<'a> {
    /// Finds the workspace of an app; an app without one is its own.
    pub(crate) fn of(app: &'a Files, package: &NodePackage) -> Self {
        let root = app.above().find(|folder| is_root(folder, app));
        // Templates lie in a workspace of another manager than the one that their users have.
        let is_foreign = |root: &Files| package.uses_bun() && root.first(&["bun.lock", "bun.lockb"]).is_none();
        // Without a lock file pnpm looks up the packages of all, and one that can't be had ends the install of another.
        let is_loose =
            |root: &Files| root.has("pnpm-workspace.yaml") && !root.has("pnpm-lock.yaml") && !package.needs_workspace();
        let root = root.filter(|root| !is_foreign(root) && !is_loose(root)).unwrap_or_else(|| app.clone());
        Self { root, app, name: package.name().map(str::to_owned) }
    }

    /// True if the app is one of several packages.
    pub(crate) fn member(&self) -> bool {
        self.root.path() != self.app.path()
    }

    /// App's folder below the workspace's; empty if they are the same.
    pub(crate) fn folder(&self) -> &str {
        self.app.path().strip_prefix(self.root.path()).unwrap_or_default().trim_start_matches('/')
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

fn is_root(folder: &Files, app: &Files) -> bool {
    let below = app.path().strip_prefix(folder.path()).unwrap_or_default().trim_start_matches('/');
    if folder.has("pnpm-workspace.yaml") && folder.search("pnpm-workspace.yaml").contains("packages:") {
        return includes(&patterns_of_pnpm(&folder.search("pnpm-workspace.yaml")), below);
    }
    let package = NodePackage::read(folder, "the workspace").ok().flatten();
    package.and_then(|package| package.workspaces).is_some_and(|workspaces| {
        let list = workspaces.get("packages").unwrap_or(&workspaces);
        let patterns = list.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
        includes(&patterns.collect::<Vec<_>>(), below)
    })
}

/// Items of `packages:` in a pnpm-workspace.yaml, in the forms that pnpm's documentation shows.
fn patterns_of_pnpm(text: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("packages:"));
    let first = lines.next().and_then(|line| line.strip_prefix("packages:")).unwrap_or_default().trim();
    let clean = |item: &str| item.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned();
    if let Some(inline) = first.strip_prefix('[') {
        return inline.trim_end_matches(']').split(',').map(clean).filter(|item| !item.is_empty()).collect();
    }
    let items = lines.take_while(|line| line.trim().is_empty() || line.starts_with([' ', '-', '#']));
    items.filter_map(|line| Some(clean(line.trim().strip_prefix('-')?))).collect()
}

/// True if one of the patterns names the folder and none excludes it. Last match decides.
fn includes(patterns: &[String], folder: &str) -> bool {
    let mut included = false;
    for pattern in patterns.iter().take(PATTERNS_MAX) {
        let (pattern, wanted) = pattern.strip_prefix('!').map_or((pattern.as_str(), true), |rest| (rest, false));
        let parts: Vec<&str> = pattern.trim_start_matches("./").trim_end_matches('/').split('/').collect();
        if matches(&parts, &folder.split('/').collect::<Vec<_>>()) {
            included = wanted;
        }
    }
    included
}

/// Matches name by name: `reached[n]` is true while the pattern so far fits the first `n` names of the folder.
fn matches(pattern: &[&str], folder: &[&str]) -> bool {
    let mut reached = vec![false; folder.len() + 1];
    reached[0] = true;
    for part in pattern {
        let mut next = vec![false; reached.len()];
        let mut any = false;
        for (count, is_reached) in reached.iter().enumerate() {
            any |= *is_reached;
            if *part == "**" {
                next[count] = any;
            } else if *is_reached && folder.get(count).is_some_and(|name| fits(part, name)) {
                next[count + 1] = true;
            }
        }
        reached = next;
    }
    reached[folder.len()]
}

fn fits(part: &str, name: &str) -> bool {
    match part.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        None => part == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_workspaces_name_folders() {
        let yaml =
            "# all\npackages:\n  # apps\n  - 'apps/*'\n  - \"packages/**\" # deep\n  - '!apps/old'\ncatalog:\n  a: 1\n";
        let patterns = patterns_of_pnpm(yaml);
        assert_eq!(patterns, ["apps/*", "packages/**", "!apps/old"]);
        for (folder, included) in
            [("apps/web", true), ("apps/old", false), ("apps/web/x", false), ("packages/a/b", true), ("docs", false)]
        {
            assert_eq!(includes(&patterns, folder), included, "{folder}");
        }
        // A pattern that would take a search for ever, or more calls than a thread has room for.
        let hostile = [format!("{}x", "**/".repeat(1_000_000))];
        assert!(!includes(&hostile, "a/b/c") && includes(&hostile, "a/x"));
        assert_eq!(patterns_of_pnpm("packages: ['a', \"b/*\"]\n"), ["a", "b/*"]);
    }
}
