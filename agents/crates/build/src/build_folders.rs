//! Folders of one build, with their owners and permissions.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use fairlead_base::Trash;
use fairlead_model::{AppId, BuildSpec, EnvironmentId};

use crate::confine::{BuildBind, write_passwd};
use crate::{BuildError, BuildOptions};

/// Minimum free disk space to start a build; with less it would fail later, with a worse message.
pub(crate) const DISK_BYTES_MIN: u64 = 128 << 20;

/// Paths of one build's folders.
#[derive(Debug, Clone)]
pub(crate) struct BuildFolders {
    /// Parent folder of all but the cache and the repository; the agent owns it.
    pub(crate) folder: PathBuf,
    pub(crate) source: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
    /// The build's own `/var/tmp` and `/dev/shm`, if it has namespaces of its own.
    pub(crate) var_tmp: PathBuf,
    pub(crate) shm: PathBuf,
    /// Keys of the source, gone before anything of a repository runs.
    pub(crate) keys: PathBuf,
    /// Cache of the app in one environment, for all its builds. Builds of other environments can't write to it.
    pub(crate) cache: PathBuf,
    /// Holds the app's repository for the same builds. The agent's, and closed: commands of a build could plant settings of git.
    pub(crate) repository: PathBuf,
}

impl BuildFolders {
    pub(crate) fn new(options: &BuildOptions, spec: &BuildSpec) -> Self {
        let folder = options.builds.join(spec.deployment.as_str());
        let name = cache_name(&spec.app, spec.environment.as_ref());
        let repository = options.caches.join(repository_name(&name));
        Self::below(folder, options.caches.join(name), repository)
    }

    /// Places without a cache that outlives them.
    pub(crate) fn without_cache(options: &BuildOptions, spec: &BuildSpec) -> Self {
        let folder = options.builds.join(spec.deployment.as_str());
        let (cache, repository) = (folder.join("cache"), folder.join("repository"));
        Self::below(folder, cache, repository)
    }

    fn below(folder: PathBuf, cache: PathBuf, repository: PathBuf) -> Self {
        let place = |name: &str| folder.join(name);
        Self {
            source: place("source"),
            home: place("home"),
            tmp: place("tmp"),
            var_tmp: place("var-tmp"),
            shm: place("shm"),
            keys: place("keys"),
            cache,
            repository,
            folder,
        }
    }

    /// Folders that every program of the server may write to, and their replacements in a build. The replacements count against
    /// the bound and are removed with the build.
    pub(crate) fn shared(&self) -> [BuildBind; 3] {
        [(&self.tmp, "/tmp"), (&self.var_tmp, "/var/tmp"), (&self.shm, "/dev/shm")]
            .map(|(from, at)| BuildBind { from: from.clone(), at: at.into() })
    }

    /// Mounts of the build's commands, in namespaces of their own. In their own network they get another resolv.conf.
    pub(crate) fn binds(&self, own_network: bool) -> Vec<BuildBind> {
        let passwd = BuildBind { from: self.folder.join("passwd"), at: "/etc/passwd".into() };
        let resolver = BuildBind { from: self.resolv_conf(), at: "/etc/resolv.conf".into() };
        let resolver = Some(resolver).filter(|bind| own_network && bind.at.exists());
        self.shared().into_iter().filter(|bind| self.is_private(bind)).chain([passwd]).chain(resolver).collect()
    }

    /// File that commands in a network of their own see as /etc/resolv.conf.
    pub(crate) fn resolv_conf(&self) -> PathBuf {
        self.folder.join("resolv.conf")
    }

    /// False if a mount would hide the build's own files, or its target does not exist on this server.
    pub(crate) fn is_private(&self, bind: &BuildBind) -> bool {
        !self.folder.starts_with(&bind.at) && !self.cache.starts_with(&bind.at) && bind.at.is_dir()
    }

    /// Folder in which the root file system of a command is put together; the agent's own.
    pub(crate) fn staging(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// Folders of the build's user.
    pub(crate) fn own(&self) -> [&Path; 7] {
        [&self.source, &self.home, &self.tmp, &self.var_tmp, &self.shm, &self.keys, &self.cache]
    }

    /// Makes the folders of a build anew, owned by its user and closed to all others.
    pub(crate) fn make(&self, trash: &Trash, user: Option<u32>, without_cache: bool) -> io::Result<()> {
        trash.set_aside(&self.folder)?;
        if without_cache {
            trash.set_aside(&self.cache)?;
            trash.set_aside(&self.repository)?;
        }
        let parent = self.folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let disk = rustix::fs::statvfs(parent)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < DISK_BYTES_MIN {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // The folder stays the agent's: its user could move the others and have a link followed in their place.
        give(&self.folder, 0o711, None)?;
        for path in self.own() {
            give(path, 0o700, user)?;
        }
        give(&self.staging(), 0o700, None)?;
        give(&self.repository, 0o700, None)?;
        user.map_or(Ok(()), |user| write_passwd(&self.folder.join("passwd"), user, &self.home))
    }
}

/// Names what builds for one environment share, their cache and their user, and builds for no other.
pub fn cache_name(app: &AppId, environment: Option<&EnvironmentId>) -> String {
    environment.map_or_else(|| app.to_string(), |environment| format!("{app}-{environment}"))
}

/// Names what holds the repository, beside the cache of this name.
pub fn repository_name(cache_name: &str) -> String {
    format!("{cache_name}.git")
}

/// Makes a folder, unless it is there, with this mode and owner. Never changes what a link leads to.
fn give(path: &Path, mode: u32, user: Option<u32>) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // The umask may have taken some bits away.
    folder.set_permissions(PermissionsExt::from_mode(mode))?;
    if user.is_some() {
        fchown(&folder, user, user)?;
    }
    Ok(())
}

/// Returns the owner of a folder; `None` if it is gone.
pub(crate) fn owner(path: &Path) -> Option<u32> {
    fs::symlink_metadata(path).ok().map(|found| found.uid())
}

pub(crate) async fn blocking(
    what: &'static str,
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<(), BuildError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(BuildError::server(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_for_two_environments_of_an_app_share_nothing() {
        let app = AppId::parse("app_1").unwrap();
        let name = |environment: &str| cache_name(&app, Some(&EnvironmentId::parse(environment).unwrap()));
        assert_eq!([name("env_p"), name("env_s"), cache_name(&app, None)], ["app_1-env_p", "app_1-env_s", "app_1"]);
    }

    #[test]
    fn a_build_owns_its_folders_but_never_the_one_that_holds_them() {
        let dir = tempfile::tempdir().unwrap();
        let trash = Trash::new(&fairlead_base::Folders::new(dir.path()).unwrap());
        let folder = dir.path().join("builds/dep_1");
        fs::create_dir(dir.path().join("builds")).unwrap();
        let build_folders =
            BuildFolders::below(folder.clone(), dir.path().join("caches/app_1"), dir.path().join("caches/app_1.git"));
        fs::create_dir(dir.path().join("caches")).unwrap();
        let root = rustix::process::geteuid().is_root();
        let user = if root { 71_234 } else { rustix::process::geteuid().as_raw() };
        for _ in 0..2 {
            build_folders.make(&trash, root.then_some(user), false).unwrap();
            for path in build_folders.own() {
                let found = fs::symlink_metadata(path).unwrap();
                assert_eq!((found.uid(), found.mode() & 0o777), (user, 0o700), "{}", path.display());
            }
            // The owner could replace one of the others by a link.
            let found = fs::symlink_metadata(&folder).unwrap();
            assert_eq!((found.uid(), found.mode() & 0o777), (rustix::process::geteuid().as_raw(), 0o711));
            let found = fs::symlink_metadata(&build_folders.repository).unwrap();
            assert_eq!((found.uid(), found.mode() & 0o777), (rustix::process::geteuid().as_raw(), 0o700));
        }
        let kept = [build_folders.cache.join("kept"), build_folders.repository.join("kept")];
        kept.iter().for_each(|path| fs::write(path, "").unwrap());
        build_folders.make(&trash, root.then_some(user), false).unwrap();
        assert!(kept.iter().all(|path| path.exists()));
        build_folders.make(&trash, root.then_some(user), true).unwrap();
        assert!(!kept.iter().any(|path| path.exists()));
    }
}
