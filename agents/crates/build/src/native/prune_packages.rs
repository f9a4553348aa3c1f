//! Prunes `node_modules`: finds installed packages that the running app does not need. Invariant: a package stays if a package
//! that stays, a file of the app or a command may load it; in doubt all stay.

mod manifest;
mod search;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use fairlead_base::CancellationToken;
use fairlead_inspect::Plan;
use fairlead_model::Step;

use super::untrusted_files::MODULES;
use crate::BuildError;
use crate::as_user::as_user;
use crate::command::Workshop;
use manifest::PackageManifest;
use search::{Search, words};

/// Maximum number of folders and packages that are looked at, and of bytes and seconds that this takes; with more, all packages stay.
const STEPS_MAX: u32 = 400_000;
const BYTES_MAX: u64 = 256 << 20;
const TIME_MAX: Duration = Duration::from_secs(60);
/// Folders of `node_modules` that hold each package beside links to those that it needs: of pnpm and Bun.
const STORES: [&str; 2] = [".pnpm", ".bun"];
/// Programs that only run another one.
const WRAPPERS: [&str; 9] = [
    "concurrently",
    "cross-env",
    "cross-env-shell",
    "dotenv-cli",
    "env-cmd",
    "npm-run-all",
    "npm-run-all2",
    "pm2",
    "wait-on",
];
/// Packages that compile the app's own files while it runs, by settings in many places.
const COMPILERS: [&str; 9] = [
    "@babel/node",
    "@babel/register",
    "@swc-node/register",
    "esbuild-register",
    "jiti",
    "sucrase",
    "ts-node",
    "ts-node-dev",
    "tsx",
];

/// Limits of one search for unused packages.
struct Budget {
    cancel: CancellationToken,
    deadline: Instant,
    steps: Cell<u32>,
    bytes: Cell<u64>,
}

impl Budget {
    fn new(cancel: CancellationToken) -> Self {
        let deadline = Instant::now() + TIME_MAX;
        Self { cancel, deadline, steps: Cell::new(STEPS_MAX), bytes: Cell::new(BYTES_MAX) }
    }

    fn spend(&self, steps: u32, bytes: u64) -> io::Result<()> {
        let left = (self.steps.get().checked_sub(steps), self.bytes.get().checked_sub(bytes));
        let (Some(steps), Some(bytes)) = left else { return Err(io::Error::other("the app has too many packages")) };
        self.steps.set(steps);
        self.bytes.set(bytes);
        if self.cancel.is_cancelled() || Instant::now() >= self.deadline {
            return Err(io::Error::other("it took too long"));
        }
        Ok(())
    }
}

/// Excludes unused packages from the artifact of an app. `others` are commands of the app's settings.
pub(super) async fn prune(
    workshop: &mut Workshop<'_>,
    packed: &Path,
    plan: &Plan,
    others: &[String],
) -> Result<(), BuildError> {
    if !plan.prune_packages || !plan.output.is_empty() {
        return Ok(());
    }
    workshop.end_leftovers().await;
    let workers = plan.workers.iter().map(|worker| &worker.command);
    let commands = workers.chain([&plan.start, &plan.release_command]).map(|command| command.join(" "));
    let commands: Vec<String> = commands.chain(others.iter().cloned()).collect();
    let (source, packed, folder) = (workshop.build_folders.source.clone(), packed.to_owned(), plan.folder.clone());
    let (user, stop) = (workshop.options.user, workshop.cancel.child_token());
    let cancel = stop.clone();
    let work = tokio::task::spawn_blocking(move || {
        as_user(user, || find_unused(&source, &packed, &folder, &commands, &Budget::new(cancel)))
    });
    let found = workshop.watched(work, &stop, "looked for packages that the app does not need").await?;
    match found.unwrap_or_else(|error| Ok(Err(io::Error::other(error)))).and_then(|found| found) {
        Ok(found) => {
            let count = found.iter().filter(|path| !path.components().any(|part| part.as_os_str() == ".bin")).count();
            if count > 0 {
                workshop.say(Step::Build, format!("Leaves out {count} packages that the app does not need to run."));
            }
            workshop.excluded = found;
        }
        Err(error) => tracing::info!(deployment = %workshop.deployment, %error, "all packages are packed"),
    }
    Ok(())
}

/// Lists packages, and links to their programs, that the app in `folder` of `packed` does not need, relative to `packed`.
fn find_unused(
    source: &Path,
    packed: &Path,
    folder: &str,
    commands: &[String],
    budget: &Budget,
) -> io::Result<BTreeSet<PathBuf>> {
    let base = fs::canonicalize(source)?.join(packed);
    let app = base.join(folder);
    // A build may have put a link to a folder of the server in their place.
    if [&base, &app].into_iter().any(|folder| fs::canonicalize(folder).ok().as_ref() != Some(folder)) {
        return Err(io::Error::other("the build moved the folder of the app"));
    }
    let mut packages =
        Packages { base, budget, needed: BTreeMap::new(), to_read: Vec::new(), has_modules: RefCell::default() };
    packages.need(&app);
    packages.need(&packages.base.clone());
    packages.follow()?;
    let manifest = PackageManifest::read(&app, budget)?;
    let named = words(commands.iter().map(String::as_str), &manifest.scripts);
    if named.iter().any(|word| [".ts", ".tsx", ".mts", ".cts"].iter().any(|ending| word.ends_with(ending))) {
        return Ok(BTreeSet::new());
    }
    let programs = packages.unused_names(&app)?;
    for name in named.iter().filter_map(|word| programs.get(word)) {
        if !WRAPPERS.contains(&name.as_str()) {
            return Ok(BTreeSet::new());
        }
        packages.need_named(&app, name)?;
    }
    let tool_words = words(manifest.tool_settings.iter().map(String::as_str), &manifest.scripts);
    for name in tool_words.iter().filter_map(|word| programs.get(word)) {
        packages.need_named(&app, name)?;
    }
    let mut loaded = packages.search(&app)?;
    loaded.extend(manifest.needs());
    if COMPILERS.iter().any(|name| loaded.contains(*name)) {
        return Ok(BTreeSet::new());
    }
    packages.list(&app)
}

/// Packages of an app and of its workspace, by their real paths.
struct Packages<'a> {
    base: PathBuf,
    budget: &'a Budget,
    /// Those that stay; true: one of the app's own, which was not installed.
    needed: BTreeMap<PathBuf, bool>,
    /// Packages of `needed` with a package.json that was not read yet.
    to_read: Vec<PathBuf>,
    /// Folders that were looked at; true: with a folder `node_modules`.
    has_modules: RefCell<HashMap<PathBuf, bool>>,
}

impl Packages<'_> {
    fn is_needed(&self, package: Option<&Path>) -> bool {
        package.is_some_and(|package| self.needed.contains_key(package))
    }

    fn need(&mut self, package: &Path) {
        let is_own = !self.is_installed(package);
        if package.starts_with(&self.base) && self.needed.insert(package.to_owned(), is_own).is_none() {
            self.to_read.push(package.to_owned());
        }
    }

    fn need_named(&mut self, from: &Path, name: &str) -> io::Result<()> {
        if let Some(found) = self.resolve(from, name)? {
            self.need(&found);
        }
        self.follow()
    }

    /// True for a package that was installed, false for one of the app or its workspace.
    fn is_installed(&self, package: &Path) -> bool {
        let below = package.strip_prefix(&self.base).unwrap_or(package);
        below.components().any(|part| part.as_os_str() == MODULES)
    }

    /// Adds all that packages need by their package.json.
    fn follow(&mut self) -> io::Result<()> {
        while let Some(package) = self.to_read.pop() {
            for name in PackageManifest::read(&package, self.budget)?.needs() {
                if let Some(found) = self.resolve(&package, &name)? {
                    self.need(&found);
                }
            }
        }
        Ok(())
    }

    /// Folders `node_modules` in which files of a folder find packages, the nearest first.
    fn modules_of(&self, folder: &Path) -> Vec<PathBuf> {
        let mut known = self.has_modules.borrow_mut();
        let mut has = |folder: &Path| match known.get(folder) {
            Some(has) => *has,
            None => {
                let has = folder.join(MODULES).is_dir();
                known.insert(folder.to_owned(), has);
                has
            }
        };
        let above = folder.ancestors().take_while(|folder| folder.starts_with(&self.base));
        let above = above.filter(|folder| folder.file_name().is_none_or(|name| name != MODULES) && has(folder));
        above.map(|folder| folder.join(MODULES)).collect()
    }

    /// Finds an installed package as Node does (its documentation, "Loading from node_modules folders").
    fn resolve(&self, from: &Path, name: &str) -> io::Result<Option<PathBuf>> {
        if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(None);
        }
        for folder in self.modules_of(from) {
            if let Some(found) = self.real_folder(&folder.join(name))? {
                return Ok(found.starts_with(&self.base).then_some(found));
            }
        }
        Ok(None)
    }

    /// Lists what files of a folder can load by name.
    fn visible_from(&self, folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
        let mut visible = BTreeMap::new();
        for folder in self.modules_of(folder) {
            for (name, path) in self.entries(&folder)? {
                if let Some(found) = self.real_folder(&path)?.filter(|found| found.starts_with(&self.base)) {
                    visible.entry(name).or_insert(found);
                }
            }
        }
        Ok(visible)
    }

    /// Packages that files of a folder can load and that are not needed so far, by their names and those of their programs.
    fn unused_names(&self, folder: &Path) -> io::Result<BTreeMap<String, String>> {
        let mut unused = BTreeMap::new();
        for (name, path) in self.visible_from(folder)? {
            if !self.is_needed(Some(&path)) {
                for program in PackageManifest::read(&path, self.budget)?.programs(&name) {
                    unused.insert(program, name.clone());
                }
                unused.insert(name.clone(), name);
            }
        }
        Ok(unused)
    }

    /// Adds the packages that files of the app, and of its workspace's needed packages, name. Repeats until it finds no new one,
    /// because configurations count only once their tool does. Returns the names.
    fn search(&mut self, app: &Path) -> io::Result<BTreeSet<String>> {
        let mut all = BTreeSet::new();
        loop {
            let before = self.needed.len();
            // The root of a workspace has the files of all its packages.
            let own = self.needed.iter().filter(|(path, is_own)| **is_own && (**path != self.base || **path == *app));
            let own: Vec<PathBuf> = own.map(|(path, _)| path.clone()).collect();
            for folder in own {
                let visible = self.visible_from(&folder)?;
                let unused_names = self.unused_names(&folder)?;
                let needed_names = visible.iter().filter(|(_, path)| self.is_needed(Some(path)));
                let needed_names: BTreeSet<&str> = needed_names.map(|(name, _)| name.as_str()).collect();
                for name in
                    (Search { base: &self.base, unused_names: &unused_names, needed_names, budget: self.budget })
                        .named_in(&folder)?
                {
                    self.need_named(&folder, &name)?;
                    all.insert(name);
                }
            }
            if self.needed.len() == before {
                return Ok(all);
            }
        }
    }

    /// Lists what is not needed of the packages that were installed.
    fn list(&self, app: &Path) -> io::Result<BTreeSet<PathBuf>> {
        let mut found = BTreeSet::new();
        // A build may have put packages of its own into the folder of its output.
        let above = app.ancestors().take_while(|folder| folder.starts_with(&self.base)).map(Path::to_owned);
        let own = self.needed.iter().filter(|(_, is_own)| **is_own).map(|(path, _)| path.clone());
        let mut folders: BTreeSet<PathBuf> = above.chain(own).collect();
        let stored: HashSet<PathBuf> = self.needed.keys().filter_map(|path| in_store(path)).collect();
        let mut listed = HashSet::new();
        while let Some(folder) = folders.pop_first() {
            if listed.insert(folder.clone()) {
                let modules = folder.join(MODULES);
                folders.extend(self.list_in(&modules, &mut found)?);
                for store in STORES.map(|store| modules.join(store)) {
                    for (name, path) in self.named(&store)? {
                        let is_hoisted = name == MODULES;
                        if is_hoisted {
                            self.list_in(&path, &mut found)?;
                        } else if !stored.contains(&path) && path.join(MODULES).is_dir() {
                            found.extend(self.below(&path));
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Lists what is not needed in one folder `node_modules`; returns the packages of the workspace that it has links to.
    fn list_in(&self, folder: &Path, found: &mut BTreeSet<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let mut own = Vec::new();
        for (_, path) in self.entries(folder)? {
            let Some(real) = self.real_folder(&path)?.filter(|real| real.starts_with(&self.base)) else { continue };
            if !self.is_installed(&real) {
                own.push(real.clone());
            }
            // A folder without this file may be anything.
            if !self.is_needed(Some(&real)) && fs::symlink_metadata(real.join("package.json")).is_ok() {
                found.extend(self.below(&path));
            }
        }
        for (_, link) in self.named(&folder.join(".bin"))? {
            let is_link = fs::symlink_metadata(&link).is_ok_and(|found| found.is_symlink());
            let Some(program) = fs::canonicalize(&link).ok().filter(|_| is_link) else { continue };
            let package = program.ancestors().find(|path| is_package(path));
            if package.is_some_and(|package| package.starts_with(&self.base) && !self.is_needed(Some(package))) {
                found.extend(self.below(&link));
            }
        }
        Ok(own)
    }

    fn below(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.base).map(Path::to_owned).ok()
    }

    /// Real path of a folder, if it is one.
    fn real_folder(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        self.budget.spend(1, 0)?;
        Ok(fs::canonicalize(path).ok().filter(|found| found.is_dir()))
    }

    /// Lists packages in a folder `node_modules`, by name.
    fn entries(&self, folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
        let mut found = Vec::new();
        for (name, path) in self.named(folder)? {
            if name.starts_with('@') {
                found.extend(self.named(&path)?.into_iter().map(|(own, path)| (format!("{name}/{own}"), path)));
            } else if !name.starts_with('.') {
                found.push((name, path));
            }
        }
        Ok(found)
    }

    /// Lists what is in a folder; nothing if there is no such folder.
    fn named(&self, folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
        use io::ErrorKind::{NotADirectory, NotFound};
        let mut found = Vec::new();
        let entries = match fs::read_dir(folder) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(found),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            self.budget.spend(1, 0)?;
            found.extend(entry.file_name().into_string().ok().map(|name| (name, entry.path())));
        }
        Ok(found)
    }
}

/// True for a folder that a package manager made for a package.
fn is_package(path: &Path) -> bool {
    let name = |path: Option<&Path>| path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let parent = path.parent();
    let above =
        if name(parent).is_some_and(|name| name.starts_with('@')) { parent.and_then(Path::parent) } else { parent };
    name(above).is_some_and(|name| name == MODULES) && name(Some(path)).is_some_and(|name| !name.starts_with('@'))
}

/// The folder of a store that holds a package.
fn in_store(path: &Path) -> Option<PathBuf> {
    let is_store = |path: &Path| path.file_name().is_some_and(|name| STORES.iter().any(|store| name == *store));
    path.ancestors().find(|folder| folder.parent().is_some_and(is_store)).map(Path::to_owned)
}

#[cfg(test)]
mod tests;
