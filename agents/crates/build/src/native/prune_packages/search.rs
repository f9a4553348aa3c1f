//! Names of packages in commands and in files of an app.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Budget;
use crate::native::untrusted_files::{MODULES, read, visit};

/// Maximum size of a file that is searched.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Maximum length of a text in quotes that may be a command, and of a package's name.
const QUOTED_MAX: usize = 300;
/// Endings of files that may load a package.
const CODE: [&str; 13] =
    ["astro", "cjs", "cts", "js", "json", "jsx", "mdx", "mjs", "mts", "svelte", "ts", "tsx", "vue"];
/// Folders with files that do not run in production, at any depth.
const NOT_RUN: [&str; 8] = [".git", ".github", ".husky", ".storybook", ".turbo", ".vscode", "__tests__", MODULES];
/// Folders directly below an app with files that do not run in production.
const NOT_RUN_AT_TOP: [&str; 7] = ["__mocks__", "coverage", "cypress", "e2e", "spec", "test", "tests"];
/// Files that name packages of development.
const LISTS: [&str; 9] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "bun.lock",
    "nest-cli.json",
    "tsconfig.json",
    "jsconfig.json",
    "turbo.json",
    "nx.json",
];
/// Programs that run scripts by their names.
const RUNNERS: [&str; 11] =
    ["npm", "pnpm", "yarn", "bun", "npx", "bunx", "--run", "run-s", "run-p", "concurrently", "npm-run-all"];

/// Search in the files of a folder.
pub(super) struct Search<'a> {
    pub(super) base: &'a Path,
    /// Packages that are not needed so far, by their names and those of their programs.
    pub(super) unused_names: &'a BTreeMap<String, String>,
    /// Names of those that are needed.
    pub(super) needed_names: BTreeSet<&'a str>,
    pub(super) budget: &'a Budget,
}

impl Search<'_> {
    /// Lists the packages that files of a folder name.
    pub(super) fn named_in(&self, folder: &Path) -> io::Result<BTreeSet<String>> {
        let mut named = BTreeSet::new();
        let (mut left, mut seen) = (vec![folder.to_owned()], HashSet::new());
        while let Some(folder) = left.pop() {
            if seen.insert(folder.clone()) {
                left.extend(self.search_in(&folder, &mut named)?);
            }
        }
        Ok(named)
    }

    /// Searches a folder; returns folders of the app that it has links to.
    fn search_in(&self, folder: &Path, named: &mut BTreeSet<String>) -> io::Result<Vec<PathBuf>> {
        let mut linked = Vec::new();
        let is_whole = visit(folder, |below, kind| {
            let (path, name) = (folder.join(below), below.file_name().unwrap_or_default().to_string_lossy());
            let name = name.as_ref();
            if kind.is_dir() {
                let is_at_top = below.components().count() == 1 && NOT_RUN_AT_TOP.contains(&name);
                return Ok(!NOT_RUN.contains(&name) && !is_at_top);
            }
            if kind.is_symlink() {
                let real = fs::canonicalize(&path).ok().filter(|real| real.is_dir() && real.starts_with(self.base));
                let is_new = |real: &PathBuf| !real.components().any(|part| part.as_os_str() == MODULES);
                linked.extend(real.filter(is_new).filter(|real| !real.starts_with(folder)));
                return Ok(true);
            }
            if kind.is_file() && self.may_load(name) {
                self.search_file(&path, name, named)?;
            }
            Ok(true)
        })?;
        if is_whole { Ok(linked) } else { Err(io::Error::other("the app has too many files")) }
    }

    fn search_file(&self, path: &Path, name: &str, named: &mut BTreeSet<String>) -> io::Result<()> {
        let Some(text) = read(path, FILE_BYTES_MAX)? else {
            // Larger ones are data.
            let is_data = name.ends_with(".json");
            return if is_data { Ok(()) } else { Err(io::Error::other("a file of the app is too large")) };
        };
        self.budget.spend(0, text.len() as u64)?;
        // Node loads a configuration in TypeScript by this package.
        if name.contains(".config.") && name.ends_with("ts") {
            named.extend(self.unused_names.get("typescript").cloned());
        }
        let mut add = |word: &str| named.extend(self.unused_names.get(word).cloned());
        quoted(&text, &mut add);
        if name.ends_with(".sh") || text.starts_with(b"#!") {
            let text = String::from_utf8_lossy(&text);
            words(text.lines(), &BTreeMap::new()).iter().for_each(|word| add(word));
        }
        Ok(())
    }

    /// True if a file of this name may load a package while the app runs.
    fn may_load(&self, name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        let ending = lower.trim_start_matches('.').rsplit_once('.').map(|(_, ending)| ending);
        let is_code = ending.is_some_and(|ending| CODE.contains(&ending)) && !lower.ends_with(".d.ts");
        let is_test = [".test.", ".spec.", ".stories."].iter().any(|part| lower.contains(part));
        let is_list = LISTS.contains(&lower.as_str()) || lower.starts_with("tsconfig.");
        // Only its own tool reads a configuration.
        let tool = lower.split_once(".config.").map(|(tool, _)| tool);
        let tool = tool.or_else(|| lower.strip_prefix('.')?.split('.').next()?.strip_suffix("rc"));
        let is_of_unused = tool.filter(|tool| !tool.is_empty()).is_some_and(|tool| {
            let is_of_tool = |name: &str| name.trim_start_matches('@').starts_with(tool);
            self.unused_names.values().any(|name| is_of_tool(name))
                && !self.needed_names.iter().any(|name| is_of_tool(name))
        });
        (is_code || is_script(&lower)) && !is_test && !is_list && !is_of_unused
    }
}

/// True for a script of a shell and for a file without an ending, such as `bin/www`.
fn is_script(name: &str) -> bool {
    let name = name.trim_start_matches('.');
    name.rsplit_once('.').is_none_or(|(_, ending)| ending == "sh")
}

/// Words of commands and of the scripts that they run, also as the package that a word names.
pub(super) fn words<'a>(
    commands: impl Iterator<Item = &'a str>,
    scripts: &'a BTreeMap<String, String>,
) -> HashSet<String> {
    let mut words = HashSet::new();
    let (mut left, mut followed): (Vec<&str>, HashSet<&str>) = (commands.collect(), HashSet::new());
    while let Some(command) = left.pop() {
        for part in command.split(['&', '|', ';', '\n', '(', ')']) {
            let part: Vec<&str> =
                part.split([' ', '\t', '"', '\'', '=', '`', ',']).filter(|word| !word.is_empty()).collect();
            let runs_scripts = part.iter().any(|word| RUNNERS.contains(word));
            for word in part {
                let word = word.strip_prefix("npm:").or(word.strip_prefix("-r")).unwrap_or(word);
                for (name, script) in scripts.iter().filter(|(name, _)| runs_scripts && is_named(word, name)) {
                    if followed.insert(name) {
                        left.push(script);
                    }
                }
                let package = package_name(word);
                let without_version = package.rfind('@').filter(|at| *at > 0).map_or(package, |at| &package[..at]);
                let file = word.rsplit('/').next().unwrap_or(word);
                words.extend([word, file, package, without_version].map(str::to_owned));
            }
        }
    }
    words
}

/// True if a word runs a script: `start` also runs `prestart` and `poststart`, and `start:*` all that begin with `start:`.
fn is_named(word: &str, script: &str) -> bool {
    let is = |script: &str| word.strip_suffix('*').map_or(word == script, |start| script.starts_with(start));
    is(script) || ["pre", "post"].iter().any(|hook| script.strip_prefix(hook).is_some_and(is))
}

/// Calls with the package of each text in quotes, and with each word of one that may be a command.
pub(super) fn quoted(text: &[u8], found: &mut impl FnMut(&str)) {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"@/._-".contains(byte);
    for at in memchr::memchr3_iter(b'"', b'\'', b'`', text) {
        let rest = text.get(at + 1..).unwrap_or_default();
        let rest = &rest[..rest.len().min(QUOTED_MAX)];
        let length = rest.iter().take_while(|byte| is_name(byte)).count();
        if let Some(name) = std::str::from_utf8(&rest[..length]).ok().filter(|name| !name.is_empty()) {
            found(package_name(name));
        }
        let is_command = rest.get(length).is_some_and(|byte| *byte == b' ') && length > 0;
        if let Some(end) = rest.iter().position(|byte| *byte == text[at]).filter(|_| is_command) {
            let command = String::from_utf8_lossy(&rest[..end]);
            words([command.as_ref()].into_iter(), &BTreeMap::new()).iter().for_each(|word| found(word));
        }
    }
}

/// The package of a path that is loaded, such as `@a/b` of `@a/b/c` and `c` of `./node_modules/c/d.js`.
pub(super) fn package_name(path: &str) -> &str {
    let path = path.rfind(MODULES).map_or(path, |at| path[at + MODULES.len()..].trim_start_matches('/'));
    let path = path.strip_prefix(".bin/").unwrap_or(path);
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let end = if path.starts_with('@') { slashes.nth(1) } else { slashes.next() };
    &path[..end.unwrap_or(path.len())]
}
