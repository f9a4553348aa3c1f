//! Installed packages of JavaScript that a built app does not need, because only its development and its build do.
//! Invariant: a package stays if something may load it while the app runs: the package.json of one that stays, a file of the app by
//! its name, or a command.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use fairlead_inspect::Plan;
use fairlead_model::Step;
use serde_json::{Map, Value};

use super::left_files::{MANIFEST_BYTES_MAX, MODULES, read, visit};
use crate::as_user::as_user;
use crate::command::Workshop;

/// Maximum size of a file of the app that is searched for names of packages; with a larger one, all packages stay.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Maximum size of all these files together; with more, all packages stay.
const SEARCHED_BYTES_MAX: u64 = 256 << 20;
/// Maximum length of a package's name.
const NAME_MAX: usize = 214;
/// Folders of `node_modules` that hold each package beside links to those that it needs: of pnpm and Bun.
const STORES: [&str; 2] = [".pnpm", ".bun"];
/// Endings of files that may load a package.
const CODE: [&str; 13] =
    ["astro", "cjs", "cts", "js", "json", "jsx", "mdx", "mjs", "mts", "svelte", "ts", "tsx", "vue"];
/// Folders of an app whose files do not run in production.
const NOT_RUN: [&str; 14] = [
    ".git",
    ".github",
    ".husky",
    ".storybook",
    ".turbo",
    ".vscode",
    "__mocks__",
    "__tests__",
    "coverage",
    "cypress",
    "e2e",
    "test",
    "tests",
    MODULES,
];
/// Files that name packages of development.
const LISTS: [&str; 8] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "bun.lock",
    "tsconfig.json",
    "jsconfig.json",
    "turbo.json",
    "nx.json",
];
/// Programs of package managers, which run scripts by their names.
const MANAGERS: [&str; 6] = ["npm", "pnpm", "yarn", "bun", "npx", "bunx"];

/// Finds what the artifact of an app can do without. Never fails a build: all packages stay if that can't be told.
pub(super) async fn leave_out(workshop: &mut Workshop<'_>, base: &Path, plan: &Plan, others: &[String]) {
    if !plan.prunes || !plan.output.is_empty() {
        return;
    }
    workshop.end_leftovers().await;
    let workers = plan.workers.iter().map(|worker| &worker.command);
    let commands = workers.chain([&plan.start, &plan.release_command]).map(|command| command.join(" "));
    let commands: Vec<String> = commands.chain(others.iter().cloned()).collect();
    let (base, folder, user) = (base.to_owned(), plan.folder.clone(), workshop.options.user);
    let found = tokio::task::spawn_blocking(move || as_user(user, || unneeded(&base, &folder, &commands))).await;
    match found.unwrap_or_else(|error| Ok(Err(io::Error::other(error)))).and_then(|found| found) {
        Ok(found) => {
            let count = found.iter().filter(|path| !path.components().any(|part| part.as_os_str() == ".bin")).count();
            if count > 0 {
                workshop.say(Step::Build, format!("Leaves out {count} packages that the app does not need to run."));
            }
            workshop.unneeded = found;
        }
        Err(error) => tracing::warn!(deployment = %workshop.deployment, %error, "all packages are packed"),
    }
}

/// Lists packages, and links to their programs, that the app in this folder of `base` does not need, relative to `base`.
fn unneeded(base: &Path, folder: &str, commands: &[String]) -> io::Result<BTreeSet<PathBuf>> {
    let base = fs::canonicalize(base)?;
    let app = fs::canonicalize(base.join(folder))?;
    let mut packages = Packages { base, needed: HashSet::new(), to_read: Vec::new(), to_search: Vec::new() };
    packages.need(app.clone());
    packages.need(packages.base.clone());
    packages.follow()?;
    let scripts = manifest(&app)?.remove("scripts");
    if packages.are_named(&packages.visible_from(&app)?, &words(commands, scripts.as_ref()))? {
        return Ok(BTreeSet::new());
    }
    let mut bytes_left = SEARCHED_BYTES_MAX;
    while let Some(folder) = packages.to_search.pop() {
        let installed = packages.visible_from(&folder)?;
        let Some(names) = packages.named_in(&folder, &installed, &mut bytes_left)? else { return Ok(BTreeSet::new()) };
        for name in names {
            packages.need(installed[&name].clone());
        }
        packages.follow()?;
    }
    packages.list(&app)
}

/// Packages of an app and of its workspace, by their real paths.
struct Packages {
    base: PathBuf,
    needed: HashSet<PathBuf>,
    /// Those of `needed` whose package.json was not read yet.
    to_read: Vec<PathBuf>,
    /// Those that are not installed but the app's own, whose files were not searched yet.
    to_search: Vec<PathBuf>,
}

impl Packages {
    fn need(&mut self, package: PathBuf) {
        if !package.starts_with(&self.base) || !self.needed.insert(package.clone()) {
            return;
        }
        // The root of a workspace has the files of all its packages.
        if !self.is_installed(&package) && (package != self.base || self.needed.len() == 1) {
            self.to_search.push(package.clone());
        }
        self.to_read.push(package);
    }

    /// Adds all that packages need by their package.json.
    fn follow(&mut self) -> io::Result<()> {
        while let Some(package) = self.to_read.pop() {
            for name in needs(&manifest(&package)?) {
                if let Some(found) = self.resolve(&package, &name) {
                    self.need(found);
                }
            }
        }
        Ok(())
    }

    /// Finds an installed package as Node does (its documentation, "Loading from node_modules folders").
    fn resolve(&self, from: &Path, name: &str) -> Option<PathBuf> {
        let is_name = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let mut folders = from.ancestors().take_while(|folder| folder.starts_with(&self.base));
        let found = is_name.then(|| folders.find_map(|folder| real_folder(&folder.join(MODULES).join(name))))?;
        found.filter(|found| found.starts_with(&self.base))
    }

    /// Lists what files of a folder can load by name.
    fn visible_from(&self, app: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
        let mut visible = BTreeMap::new();
        for folder in app.ancestors().take_while(|folder| folder.starts_with(&self.base)) {
            for (name, path) in entries(&folder.join(MODULES))? {
                if let Some(found) = real_folder(&path).filter(|found| found.starts_with(&self.base)) {
                    visible.entry(name).or_insert(found);
                }
            }
        }
        Ok(visible)
    }

    /// True if one of these words is a package that is not needed so far, or a program of one.
    fn are_named(&self, installed: &BTreeMap<String, PathBuf>, words: &HashSet<String>) -> io::Result<bool> {
        for (name, path) in installed.iter().filter(|(_, path)| !self.needed.contains(*path)) {
            let programs = match manifest(path)?.remove("bin") {
                Some(Value::Object(programs)) => programs.into_iter().map(|(program, _)| program).collect(),
                Some(_) => vec![name.rsplit('/').next().unwrap_or(name).to_owned()],
                None => Vec::new(),
            };
            if words.contains(name) || programs.iter().any(|program| words.contains(program)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lists packages that are not needed so far and whose names are in files of a folder; `None`: it has too many files.
    fn named_in(
        &self,
        folder: &Path,
        installed: &BTreeMap<String, PathBuf>,
        bytes_left: &mut u64,
    ) -> io::Result<Option<BTreeSet<String>>> {
        let is_open = |(_, path): &(&String, &PathBuf)| !self.needed.contains(*path);
        let names =
            |open| installed.iter().filter(move |package| is_open(package) == open).map(|(name, _)| name.as_str());
        let (open, settled): (BTreeSet<&str>, BTreeSet<&str>) = (names(true).collect(), names(false).collect());
        let (mut named, mut fits) = (BTreeSet::new(), true);
        let is_whole = visit(folder, |below, kind| {
            let name = below.file_name().unwrap_or_default().to_string_lossy();
            if kind.is_dir() {
                return Ok(!NOT_RUN.contains(&name.as_ref()));
            }
            if !fits || !kind.is_file() || !may_load(&name, &open, &settled) {
                return Ok(true);
            }
            let path = folder.join(below);
            let Some(text) = read(&path, FILE_BYTES_MAX)? else {
                fits = false;
                return Ok(true);
            };
            fits = text.len() as u64 <= *bytes_left;
            *bytes_left = bytes_left.saturating_sub(text.len() as u64);
            // Node loads a configuration in TypeScript by this package.
            if name.contains(".config.") && name.ends_with("ts") && open.contains("typescript") {
                named.insert("typescript".to_owned());
            }
            quoted_names(&text, |name| {
                if open.contains(name) {
                    named.insert(name.to_owned());
                }
            });
            Ok(true)
        })?;
        Ok((is_whole && fits).then_some(named))
    }

    /// Lists what is not needed of the packages that were installed.
    fn list(&self, app: &Path) -> io::Result<BTreeSet<PathBuf>> {
        let mut found = BTreeSet::new();
        // A build may have put packages of its own into the folder of its output.
        let above = app.ancestors().take_while(|folder| folder.starts_with(&self.base)).map(Path::to_owned);
        let own = self.needed.iter().filter(|package| !self.is_installed(package)).cloned();
        let mut folders: BTreeSet<PathBuf> = above.chain(own).collect();
        let mut listed = HashSet::new();
        while let Some(folder) = folders.pop_first() {
            if listed.insert(folder.clone()) {
                self.list_in(&folder.join(MODULES), &mut found, &mut folders)?;
            }
        }
        Ok(found)
    }

    /// True for a package that was installed, false for one of the app or its workspace.
    fn is_installed(&self, package: &Path) -> bool {
        let below = package.strip_prefix(&self.base).unwrap_or(package);
        below.components().any(|part| part.as_os_str() == MODULES)
    }

    /// Lists what is not needed in a folder `node_modules`; `folders` gets the packages of the workspace that it has links to.
    fn list_in(&self, folder: &Path, found: &mut BTreeSet<PathBuf>, folders: &mut BTreeSet<PathBuf>) -> io::Result<()> {
        let below = |path: &Path| path.strip_prefix(&self.base).map(Path::to_owned).ok();
        for (_, path) in entries(folder)? {
            let Some(real) = real_folder(&path).filter(|real| real.starts_with(&self.base)) else { continue };
            if !self.is_installed(&real) {
                folders.insert(real.clone());
            }
            if !self.needed.contains(&real) {
                // A folder without this file may be anything.
                if fs::symlink_metadata(real.join("package.json")).is_ok() {
                    found.extend(below(&path));
                }
            } else if real == path {
                self.list_in(&path.join(MODULES), found, folders)?;
            }
        }
        for store in STORES.map(|store| folder.join(store)) {
            let stored: HashSet<PathBuf> = self.needed.iter().filter_map(|path| child(&store, path)).collect();
            for path in inner_folders(&store)? {
                if path.file_name().is_some_and(|name| name == MODULES) {
                    self.list_in(&path, found, folders)?;
                } else if !stored.contains(&path) && real_folder(&path.join(MODULES)).is_some() {
                    found.extend(below(&path));
                }
            }
        }
        for link in links(&folder.join(".bin"))? {
            let Ok(program) = fs::canonicalize(&link) else { continue };
            let package = program.ancestors().find(|path| is_package(path));
            if package.is_some_and(|package| package.starts_with(&self.base) && !self.needed.contains(package)) {
                found.extend(below(&link));
            }
        }
        Ok(())
    }
}

/// Reads a package.json; empty if there is none that can be used.
fn manifest(package: &Path) -> io::Result<Map<String, Value>> {
    let text = match read(&package.join("package.json"), MANIFEST_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        text => text?,
    };
    Ok(text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default())
}

/// Names of packages that a package loads while it runs.
fn needs(manifest: &Map<String, Value>) -> Vec<String> {
    let list = |key: &str| manifest.get(key).and_then(Value::as_object);
    let is_optional = |name: &String| {
        let peer = list("peerDependenciesMeta").and_then(|peers| peers.get(name));
        peer.is_some_and(|peer| peer.get("optional") == Some(&Value::Bool(true)))
    };
    let own = ["dependencies", "optionalDependencies"].into_iter().filter_map(list).flat_map(Map::keys);
    let peers = list("peerDependencies").into_iter().flat_map(Map::keys).filter(|name| !is_optional(name));
    let mut names: Vec<String> = own.chain(peers).cloned().collect();
    // Names with `#` stand for files or packages.
    collect_strings(manifest.get("imports"), &mut names);
    names
}

fn collect_strings(value: Option<&Value>, all: &mut Vec<String>) {
    match value {
        Some(Value::String(text)) => all.push(package_name(text).to_owned()),
        Some(Value::Object(values)) => values.values().for_each(|value| collect_strings(Some(value), all)),
        Some(Value::Array(values)) => values.iter().for_each(|value| collect_strings(Some(value), all)),
        _ => {}
    }
}

/// Words of commands and of the scripts that they run, also as the package that a word names.
fn words(commands: &[String], scripts: Option<&Value>) -> HashSet<String> {
    let mut words = HashSet::new();
    let (mut left, mut followed) = (commands.to_vec(), HashSet::new());
    while let Some(command) = left.pop() {
        for part in command.split(['&', '|', ';', '\n', '(', ')']) {
            let part: Vec<&str> =
                part.split([' ', '\t', '"', '\'', '=', '`']).filter(|word| !word.is_empty()).collect();
            let runs_scripts = part.iter().any(|word| MANAGERS.contains(word) || word.starts_with("npm-run"));
            for word in part {
                let names = [word, &format!("pre{word}"), &format!("post{word}")].map(str::to_owned);
                for name in names.into_iter().filter(|_| runs_scripts) {
                    let script = scripts.and_then(|scripts| scripts.get(&name)).and_then(Value::as_str);
                    left.extend(script.filter(|_| followed.insert(name)).map(str::to_owned));
                }
                words.extend([word, word.rsplit('/').next().unwrap_or(word), package_name(word)].map(str::to_owned));
            }
        }
    }
    words
}

/// Calls with the package of each text in quotes.
fn quoted_names(text: &[u8], mut found: impl FnMut(&str)) {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"@/._-".contains(byte);
    for at in memchr::memchr3_iter(b'"', b'\'', b'`', text) {
        let rest = text.get(at + 1..).unwrap_or_default();
        let length = rest.iter().take(2 * NAME_MAX).take_while(|byte| is_name(byte)).count();
        if let Ok(name @ (_, 1..)) = std::str::from_utf8(&rest[..length]).map(|name| (name, name.len())) {
            found(package_name(name.0));
        }
    }
}

/// The package of a path that is loaded, such as `@a/b` of `@a/b/c` and `c` of `./node_modules/c/d.js`.
fn package_name(path: &str) -> &str {
    let path = path.rfind(MODULES).map_or(path, |at| path[at + MODULES.len()..].trim_start_matches('/'));
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let end = if path.starts_with('@') { slashes.nth(1) } else { slashes.next() };
    &path[..end.unwrap_or(path.len())]
}

/// True if a file of this name may load a package while the app runs. `open` are packages that the app does not need so far,
/// `settled` those that it needs.
fn may_load(name: &str, open: &BTreeSet<&str>, settled: &BTreeSet<&str>) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_code = match lower.trim_start_matches('.').rsplit_once('.') {
        Some((_, ending)) => CODE.contains(&ending) && !lower.ends_with(".d.ts"),
        None => lower.ends_with("rc"),
    };
    let is_test = [".test.", ".spec.", ".stories."].iter().any(|part| lower.contains(part));
    let is_list = LISTS.contains(&lower.as_str()) || lower.starts_with("tsconfig.");
    // Only its own tool reads a configuration.
    let tool = lower.split_once(".config.").map(|(tool, _)| tool);
    let tool = tool.or_else(|| lower.strip_prefix('.')?.split('.').next()?.strip_suffix("rc"));
    let is_of_open = tool.is_some_and(|tool| {
        let has = |name: &&str| name.trim_start_matches('@').starts_with(tool);
        !tool.is_empty() && !settled.contains(tool) && open.iter().any(has)
    });
    is_code && !is_test && !is_list && !is_of_open
}

/// Real path of a folder, if it is one.
fn real_folder(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|path| path.is_dir())
}

/// True for a folder that a package manager made for a package.
fn is_package(path: &Path) -> bool {
    let named = |path: Option<&Path>, name: &str| path.and_then(Path::file_name).is_some_and(|found| found == name);
    let parent = path.parent();
    let in_scope = parent.and_then(Path::file_name).is_some_and(|name| name.to_string_lossy().starts_with('@'));
    if in_scope { named(parent.and_then(Path::parent), MODULES) } else { named(parent, MODULES) && !is_scope(path) }
}

fn is_scope(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('@'))
}

/// Lists packages in a folder `node_modules`, by name.
fn entries(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for (name, path) in named(folder)? {
        if name.starts_with('@') {
            found.extend(named(&path)?.into_iter().map(|(own, path)| (format!("{name}/{own}"), path)));
        } else if !name.starts_with('.') {
            found.push((name, path));
        }
    }
    Ok(found)
}

/// Lists what is in a folder; nothing if there is no such folder.
fn named(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?.collect::<io::Result<Vec<_>>>()?,
    };
    Ok(entries.into_iter().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect())
}

fn inner_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(named(folder)?
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| kind(path).is_some_and(|kind| kind.is_dir()))
        .collect())
}

fn links(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_link = |path: &PathBuf| kind(path).is_some_and(|kind| kind.is_symlink());
    Ok(named(folder)?.into_iter().map(|(_, path)| path).filter(is_link).collect())
}

fn kind(path: &Path) -> Option<fs::FileType> {
    fs::symlink_metadata(path).ok().map(|found| found.file_type())
}

/// The child of `folder` that a path leads through.
fn child(folder: &Path, path: &Path) -> Option<PathBuf> {
    path.strip_prefix(folder).ok()?.components().next().map(|name| folder.join(name))
}

#[cfg(test)]
mod tests;
