//! Folders that move between the cache and a build. Blocking; works with the rights of the build's user.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairlead_base::random;
use fairlead_inspect::Cache;

use super::fingerprint::{InstallSnapshot, Unusable};
use crate::native::untrusted_files::{MODULES, visit};

/// Folder in the build's home for what is neither packed nor needed any more.
const ASIDE: &str = ".fairlead-aside";
const CACHES: &str = "caches-";
const DEPENDENCIES: &str = "dependencies-";

/// Folders that a build keeps for the next one.
#[derive(Debug)]
pub(crate) struct KeptFolders {
    /// Folder that is packed.
    base: PathBuf,
    aside: PathBuf,
    caches: Vec<Cache>,
    /// Place of the tools' folders in the cache.
    caches_kept: PathBuf,
    dependencies: Option<Dependencies>,
    /// Virtual environment that holds the dependencies; `None`: all folders `node_modules`.
    environment: Option<PathBuf>,
}

#[derive(Debug)]
struct Dependencies {
    kept: PathBuf,
    /// Folders of dependencies below the packed folder, and what they were after the install.
    installed: Option<(Vec<PathBuf>, Result<InstallSnapshot, Unusable>)>,
}

/// Names of what a build may take over.
#[derive(Debug)]
pub(super) struct ReuseKeys {
    pub(super) settings: String,
    /// `None`: dependencies are installed anew.
    pub(super) install: Option<String>,
}

impl KeptFolders {
    /// Finds what the cache `own` holds for these keys and takes all else out of it; `all` holds the caches of other lock files.
    pub(super) fn begin(
        (all, own): (&Path, &Path),
        home: &Path,
        base: &Path,
        caches: &[Cache],
        environment: Option<&str>,
        keys: &ReuseKeys,
    ) -> io::Result<Self> {
        let aside = home.join(ASIDE);
        fs::create_dir(&aside)?;
        let kept = Self {
            base: base.to_owned(),
            aside,
            environment: environment.map(PathBuf::from),
            caches: caches.to_owned(),
            caches_kept: own.join(format!("{CACHES}{}", keys.settings)),
            dependencies: keys
                .install
                .as_ref()
                .map(|key| Dependencies { kept: own.join(format!("{DEPENDENCIES}{key}")), installed: None }),
        };
        let wanted = [Some(&kept.caches_kept), kept.dependencies.as_ref().map(|dependencies| &dependencies.kept)];
        // Folders that a build closed to its own user stay where they are.
        for cache in folders(all).unwrap_or_default() {
            for path in folders(&cache).unwrap_or_default() {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_own = name.starts_with(DEPENDENCIES) || (cache == own && name.starts_with(CACHES));
                if is_own && !wanted.contains(&Some(&path)) {
                    kept.put_aside(&path).ok();
                }
            }
        }
        Ok(kept)
    }

    /// Moves the kept dependencies into the app. Returns false if there are none, or not for these folders.
    pub(super) fn restore_dependencies(&mut self) -> io::Result<bool> {
        let Some(kept) = self.dependencies.as_ref().map(|dependencies| &dependencies.kept) else { return Ok(false) };
        if !is_folder(kept) {
            return Ok(false);
        }
        let found = self.folders_in(kept)?.unwrap_or_default();
        let fits = |folder: &PathBuf| {
            let parent = folder.parent().unwrap_or(Path::new(""));
            is_real(&self.base, parent) && fs::symlink_metadata(self.base.join(folder)).is_err()
        };
        let candidates: &[PathBuf] = if found.iter().all(fits) { &found } else { &[] };
        let moves = |folder: &&PathBuf| fs::rename(kept.join(folder), self.base.join(folder)).is_ok();
        let moved = candidates.iter().take_while(moves).count();
        self.put_aside(kept)?;
        if moved == found.len() {
            // An environment is updated before it is what an install leaves.
            if self.environment.is_none() {
                self.installed()?;
            }
            return Ok(moved > 0);
        }
        for folder in &found[..moved] {
            self.put_aside(&self.base.join(folder))?;
        }
        Ok(false)
    }

    /// Returns false if scripts of the app changed restored dependencies, which are then gone: an install would run the scripts on
    /// unchanged ones.
    pub(super) fn are_unchanged(&mut self) -> io::Result<bool> {
        let Some(Dependencies { installed, .. }) = &mut self.dependencies else { return Ok(true) };
        let Some((found, Ok(before))) = installed else { return Ok(true) };
        let after = InstallSnapshot::of(&self.base, found, &self.caches)?;
        if after.is_ok_and(|after| before.changed(&after).is_none()) {
            return Ok(true);
        }
        let found = std::mem::take(found);
        *installed = None;
        for folder in found {
            self.put_aside(&self.base.join(folder))?;
        }
        Ok(false)
    }

    /// Remembers what the install left, unless these are the dependencies of a former install.
    pub(super) fn installed(&mut self) -> io::Result<()> {
        if self.dependencies.as_ref().is_none_or(|dependencies| dependencies.installed.is_some()) {
            return Ok(());
        }
        let Some(found) = self.folders_in(&self.base)?.filter(|found| !found.is_empty()) else { return Ok(()) };
        let snapshot = InstallSnapshot::of(&self.base, &found, &self.caches)?;
        if let Some(dependencies) = &mut self.dependencies {
            dependencies.installed = Some((found, snapshot));
        }
        Ok(())
    }

    /// Lists the folders of dependencies below a folder; `None`: too many entries.
    fn folders_in(&self, base: &Path) -> io::Result<Option<Vec<PathBuf>>> {
        match &self.environment {
            Some(folder) => Ok(Some(if is_real(base, folder) { vec![folder.clone()] } else { Vec::new() })),
            None => modules(base),
        }
    }

    /// Moves the kept folders of tools to where these look for them.
    pub(super) fn restore_caches(&self) -> io::Result<()> {
        for Cache { folder, .. } in &self.caches {
            let (from, to) = (self.caches_kept.join(folder), self.base.join(folder));
            if !is_folder(&from) || fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            let parent = Path::new(folder).parent().unwrap_or(Path::new(""));
            fs::create_dir_all(self.base.join(parent))?;
            if is_real(&self.base, parent) {
                fs::rename(from, to)?;
            }
        }
        if is_folder(&self.caches_kept) {
            self.put_aside(&self.caches_kept)?;
        }
        Ok(())
    }

    /// Takes the folders of tools out of what is packed.
    pub(super) fn take_caches(&self) -> io::Result<()> {
        for Cache { folder, stale } in &self.caches {
            if !is_real(&self.base, Path::new(folder)) {
                continue;
            }
            let to = self.aside.join("caches").join(folder);
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::rename(self.base.join(folder), &to)?;
            if !stale.is_empty() && is_folder(&to.join(stale)) {
                self.put_aside(&to.join(stale))?;
            }
        }
        Ok(())
    }

    /// Takes a folder out of what is packed that the app does not need once it is built.
    pub(super) fn leave_behind(&self, folder: &Path) -> io::Result<()> {
        if !is_real(&self.base, folder) {
            return Ok(());
        }
        let to = self.aside.join("left").join(folder);
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::rename(self.base.join(folder), to)
    }

    /// Moves all into the cache, after the app was packed. Returns why the next build must install its dependencies.
    pub(super) fn save(self) -> io::Result<Option<Unusable>> {
        let caches = self.aside.join("caches");
        if is_folder(&caches) {
            fs::rename(caches, &self.caches_kept)?;
        }
        let Some(Dependencies { kept, installed: Some((found, installed)) }) = &self.dependencies else {
            return Ok(None);
        };
        let installed = match installed {
            Ok(installed) => installed,
            Err(unusable) => return Ok(Some(unusable.clone())),
        };
        let gathered = self.aside.join("dependencies");
        for folder in found {
            let left = self.aside.join("left").join(folder);
            let from = if is_folder(&left) { left } else { self.base.join(folder) };
            let to = gathered.join(folder);
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::rename(from, to)?;
        }
        let built = match InstallSnapshot::of(&gathered, found, &self.caches)? {
            Ok(built) => built,
            Err(unusable) => return Ok(Some(unusable)),
        };
        if let Some(changed) = installed.changed(&built) {
            return Ok(Some(Unusable::Changed(changed.to_owned())));
        }
        // The next build gets what an install leaves, and nothing that this one wrote beside it.
        for added in installed.added(&built) {
            self.put_aside(&gathered.join(added))?;
        }
        fs::rename(gathered, kept)?;
        Ok(None)
    }

    fn put_aside(&self, path: &Path) -> io::Result<()> {
        fs::rename(path, self.aside.join(random::alphanumeric(16)))
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// True if the path below `base` is a folder, and no part of it a link.
fn is_real(base: &Path, below: &Path) -> bool {
    let mut path = base.to_owned();
    below.components().all(|part| {
        path.push(part);
        is_folder(&path)
    })
}

fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    Ok(entries.into_iter().filter(is_dir).map(|entry| entry.path()).collect())
}

/// Lists the outermost folders `node_modules` below a folder, in order; `None`: too many entries.
fn modules(base: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let mut found = Vec::new();
    let whole = visit(base, |below, kind| {
        let is_modules = kind.is_dir() && below.file_name().is_some_and(|name| name == MODULES);
        if is_modules {
            found.push(below.to_owned());
        }
        Ok(!is_modules)
    })?;
    found.sort();
    Ok(whole.then_some(found))
}
