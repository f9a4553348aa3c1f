//! Digests that say whether an install would do the same again, and whether anything changed what it left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, Digest, SHA256, digest};
use fairlead_inspect::Cache;
use serde_json::{Map, Value};

use crate::native::untrusted_files::{MANIFEST_BYTES_MAX, MODULES, read, visit};

/// Files in any folder that package managers read, beside package.json.
const INPUTS: [&str; 11] = [
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
];
/// Folders that they read as a whole.
const INPUT_FOLDERS: [&str; 2] = [".yarn", "patches"];
/// Files that run code of the app during an install.
const CODE: [&str; 4] = [".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js", "binding.gyp"];
/// Scripts of a package that run during an install.
const SCRIPTS: [&str; 9] = [
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "preprepare",
    "prepare",
    "postprepare",
    "dependencies",
    "pnpm:devPreinstall",
];
/// Packages with install scripts that read the machine and other packages, but nothing of the app.
const INDEPENDENT: [&str; 23] = [
    "@biomejs/biome",
    "@nestjs/core",
    "@parcel/watcher",
    "@sentry/cli",
    "@swc/core",
    "bcrypt",
    "better-sqlite3",
    "bufferutil",
    "canvas",
    "core-js",
    "core-js-pure",
    "es5-ext",
    "esbuild",
    "fsevents",
    "lmdb",
    "msgpackr-extract",
    "protobufjs",
    "sharp",
    "sqlite3",
    "unrs-resolver",
    "utf-8-validate",
    "vue-demi",
    "workerd",
];
/// Endings of files that say what a virtual environment holds, or that those include.
const ENVIRONMENT_INPUTS: [&str; 5] = ["cfg", "in", "lock", "toml", "txt"];
/// Maximum size of all inputs of an install together.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Inputs of an install.
#[derive(Clone)]
pub(super) struct Install<'a> {
    /// Folder of the repository.
    pub(super) source: &'a Path,
    /// Number of packages with install scripts that the build runs itself.
    pub(super) packages_with_scripts: usize,
    pub(super) commands: String,
}

/// Digest of settings that any tool of a build may read: versions, variables and the like.
pub(super) fn settings_key(settings: &[String]) -> String {
    let mut hash = Context::new(&SHA256);
    settings.iter().for_each(|setting| add(&mut hash, setting.as_bytes()));
    short(hash)
}

/// Digest of all that an install reads; `None` if that can't be told.
pub(super) fn install_key(install: &Install<'_>, settings: &str) -> io::Result<Option<String>> {
    let mut inputs = Vec::new();
    let (mut is_known, mut with_scripts, mut bytes_left) = (true, 0, INPUT_BYTES_MAX);
    let is_whole = visit(install.source, |below, kind| {
        let name = below.file_name().unwrap_or_default().to_string_lossy();
        let is_in_folder = below.components().any(|part| INPUT_FOLDERS.iter().any(|name| part.as_os_str() == *name));
        is_known &= !CODE.contains(&name.as_ref()) && name != MODULES;
        if kind.is_dir() {
            return Ok(name != ".git");
        }
        let is_manifest = name == "package.json";
        if is_manifest || is_in_folder || INPUTS.contains(&name.as_ref()) || name.ends_with(".patch") {
            let bytes_max = if is_manifest { bytes_left.min(MANIFEST_BYTES_MAX) } else { bytes_left };
            let Some(text) = read(&install.source.join(below), bytes_max)?.filter(|_| is_known) else {
                is_known = false;
                return Ok(true);
            };
            bytes_left -= text.len() as u64;
            if is_manifest {
                match serde_json::from_slice::<Map<String, Value>>(&text) {
                    Ok(package) => {
                        is_known &= !has_local_dependency(&package);
                        with_scripts += usize::from(has_install_script(&package));
                    }
                    Err(_) => is_known = false,
                }
            }
            inputs.push((below.to_owned(), digest(&SHA256, &text)));
        }
        Ok(true)
    })?;
    if !is_whole || !is_known || with_scripts != install.packages_with_scripts {
        return Ok(None);
    }
    Ok(Some(key(install, settings, inputs)))
}

/// Digest of all that may say what a virtual environment holds; `None` if a requirement is a folder or an address: its content
/// may change without a change of its version.
pub(super) fn environment_key(install: &Install<'_>, settings: &str) -> io::Result<Option<String>> {
    let (mut inputs, mut is_known, mut bytes_left) = (Vec::new(), true, INPUT_BYTES_MAX);
    let is_whole = visit(install.source, |below, kind| {
        let name = below.file_name().unwrap_or_default().to_string_lossy();
        if kind.is_dir() {
            return Ok(name != ".git" && name != MODULES);
        }
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        if !ENVIRONMENT_INPUTS.contains(&ending) && name != "setup.py" {
            return Ok(true);
        }
        let Some(text) = read(&install.source.join(below), bytes_left)? else {
            is_known = false;
            return Ok(true);
        };
        bytes_left -= text.len() as u64;
        let text_of = String::from_utf8_lossy(&text);
        is_known &= match ending {
            "txt" | "in" => !text_of.lines().any(|line| is_local_requirement(line.trim())),
            "lock" => !["source = { directory", "source = { path", "source = { git", "source = { url"]
                .iter()
                .any(|source| text_of.contains(source)),
            _ => true,
        };
        inputs.push((below.to_owned(), digest(&SHA256, &text)));
        Ok(true)
    })?;
    Ok((is_whole && is_known).then(|| key(install, settings, inputs)))
}

/// True for a line of a requirements file that names a folder, a file or an address instead of a version.
fn is_local_requirement(line: &str) -> bool {
    let starts = ["-e", "--editable", ".", "/"].iter().any(|start| line.starts_with(start));
    starts || ["file:", "git+", "hg+", "svn+", "bzr+", " @ "].iter().any(|part| line.contains(part))
}

fn key(install: &Install<'_>, settings: &str, mut inputs: Vec<(PathBuf, Digest)>) -> String {
    inputs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut hash = Context::new(&SHA256);
    add(&mut hash, settings.as_bytes());
    add(&mut hash, install.commands.as_bytes());
    for (path, content) in inputs {
        add(&mut hash, path.as_os_str().as_bytes());
        add(&mut hash, content.as_ref());
    }
    short(hash)
}

fn has_install_script(package: &Map<String, Value>) -> bool {
    let scripts = package.get("scripts").and_then(Value::as_object);
    scripts.is_some_and(|scripts| SCRIPTS.iter().any(|name| scripts.contains_key(*name)))
}

/// True if a dependency is a folder or an archive: its files may change without a change of its version.
fn has_local_dependency(package: &Map<String, Value>) -> bool {
    let lists = ["dependencies", "devDependencies", "optionalDependencies", "resolutions", "overrides", "pnpm"];
    package.contains_key("dependenciesMeta") || lists.iter().filter_map(|list| package.get(*list)).any(names_local)
}

/// True if a version of this list, which may nest others, is a path.
fn names_local(list: &Value) -> bool {
    match list {
        Value::String(range) => {
            let kinds = ["file:", "link:", "portal:", "exec:", ".", "/", "~/"];
            kinds.iter().any(|kind| range.starts_with(kind))
        }
        Value::Object(lists) => lists.values().any(names_local),
        Value::Array(lists) => lists.iter().any(names_local),
        _ => false,
    }
}

/// Files of installed packages, to the last change of each: its time of change and its inode tell also of one that keeps size and
/// date.
#[derive(Debug)]
pub(super) struct InstallSnapshot {
    files: BTreeMap<PathBuf, [u64; 5]>,
    folders: BTreeSet<PathBuf>,
}

impl InstallSnapshot {
    /// Reads the folders below `base` without those of `caches`.
    pub(super) fn of(base: &Path, folders: &[PathBuf], caches: &[Cache]) -> io::Result<Result<Self, Unusable>> {
        let (mut snapshot, mut unusable) = (Self { files: BTreeMap::new(), folders: BTreeSet::new() }, None);
        for folder in folders {
            let is_whole = visit(&base.join(folder), |below, kind| {
                let path = folder.join(below);
                if caches.iter().any(|cache| path == Path::new(&cache.folder)) {
                    return Ok(false);
                }
                if kind.is_dir() {
                    snapshot.folders.insert(path);
                    return Ok(true);
                }
                let found = fs::symlink_metadata(base.join(&path))?;
                if kind.is_file() && !is_independent(base, &path)? {
                    unusable = Some(Unusable::InstallScript(path.clone()));
                }
                let changed = [found.ctime(), found.ctime_nsec()].map(i64::cast_unsigned);
                let state = [found.mode().into(), found.ino(), found.size(), changed[0], changed[1]];
                snapshot.files.insert(path, state);
                Ok(true)
            })?;
            if !is_whole {
                return Ok(Err(Unusable::Large));
            }
        }
        Ok(unusable.map_or(Ok(snapshot), Err))
    }

    /// Lists what `later` has more, the outermost folders and files.
    pub(super) fn added<'a>(&'a self, later: &'a Self) -> Vec<&'a Path> {
        let mut added: Vec<&Path> = later.folders.difference(&self.folders).map(PathBuf::as_path).collect();
        added.extend(later.files.keys().filter(|path| !self.files.contains_key(*path)).map(PathBuf::as_path));
        added.sort();
        added.dedup_by(|path, before| path.starts_with(before));
        added
    }

    /// Returns a file that `later` lacks or has otherwise.
    pub(super) fn changed(&self, later: &Self) -> Option<&Path> {
        self.files.iter().find(|(path, state)| later.files.get(*path) != Some(state)).map(|(path, _)| path.as_path())
    }
}

/// Reason why installed packages are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The install script of this package.json may read files of the app.
    InstallScript(PathBuf),
    /// The build changed this file.
    Changed(PathBuf),
    Large,
}

/// False for the package.json of a package with an install script that may read files of the app, as that of Prisma's client does.
fn is_independent(base: &Path, path: &Path) -> io::Result<bool> {
    let mut names = path.iter().rev().map(|name| name.to_string_lossy());
    if names.next().is_none_or(|name| name != "package.json") {
        return Ok(true);
    }
    let Some(mut name) = names.next().map(std::borrow::Cow::into_owned) else { return Ok(true) };
    let mut above = names.next().unwrap_or_default();
    if above.starts_with('@') {
        name = format!("{above}/{name}");
        above = names.next().unwrap_or_default();
    }
    if above != MODULES || INDEPENDENT.contains(&name.as_str()) {
        return Ok(true);
    }
    let Some(text) = read(&base.join(path), MANIFEST_BYTES_MAX)? else { return Ok(false) };
    let Ok(package) = serde_json::from_slice::<Map<String, Value>>(&text) else { return Ok(true) };
    let scripts = package.get("scripts").and_then(Value::as_object);
    let runs = |scripts: &Map<String, Value>| {
        ["preinstall", "install", "postinstall"].iter().any(|script| scripts.contains_key(*script))
    };
    Ok(!scripts.is_some_and(runs))
}

fn add(hash: &mut Context, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn short(hash: Context) -> String {
    hash.finish().as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}
