//! Paths as a build's commands see them: the source is `/app`, fetched programs lie below `/runtimes`, and nothing of the server
//! is above them. Without namespaces, commands see the server's own paths.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fairlead_base::root_view::{self, APP, RUNTIMES, RootView};

use crate::build_folders::BuildFolders;
use crate::{BuildOptions, confine};

/// Folders of the server and the paths at which commands see them; none without a view.
#[derive(Debug)]
pub(crate) struct CommandPaths {
    view: Option<RootView>,
    moved: Vec<(PathBuf, PathBuf)>,
}

impl CommandPaths {
    pub(crate) fn of(build_folders: &BuildFolders, options: &BuildOptions) -> io::Result<Self> {
        if options.user.is_none() || !confine::namespaces() || !root_view::is_possible() {
            return Ok(Self { view: None, moved: Vec::new() });
        }
        let runtimes = options.toolchains.as_ref().map(|toolchains| toolchains.folder());
        let view = RootView::new(&build_folders.source, runtimes, &build_folders.staging())?;
        let private = build_folders.shared().into_iter().filter(|bind| build_folders.is_private(bind));
        let mut moved: Vec<_> = private.map(|bind| (bind.from, bind.at)).collect();
        moved.push((build_folders.source.clone(), APP.into()));
        moved.extend(runtimes.map(|from| (from.to_owned(), RUNTIMES.into())));
        Ok(Self { view: Some(view), moved })
    }

    /// Returns the path at which commands see a file of the server.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        let below = |(from, at): &(PathBuf, PathBuf)| Some(at.join(path.strip_prefix(from).ok()?));
        let found = self.moved.iter().find_map(below);
        // Joining an empty path leaves a slash at the end.
        found.map_or_else(|| path.to_owned(), |found| found.components().collect())
    }

    /// Returns the folders of a `PATH` as commands see them.
    pub(crate) fn list(&self, path: &OsStr) -> OsString {
        let folders = std::env::split_paths(path).map(|folder| self.path(&folder).into_os_string());
        folders.collect::<Vec<_>>().join(OsStr::new(":"))
    }

    /// Variables for tools that would complain about the view: the source is on a mount of its own, so no link leads there from
    /// the cache.
    pub(crate) fn environment(&self) -> Option<(&'static str, &'static str)> {
        self.view.as_ref().map(|_| ("UV_LINK_MODE", "copy"))
    }

    /// Returns the view to enter and the working directory in it.
    pub(crate) fn into_view(self, folder: &Path) -> io::Result<Option<(RootView, CString)>> {
        let folder = CString::new(self.path(folder).as_os_str().as_bytes())?;
        Ok(self.view.map(|view| (view, folder)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_source_and_runtimes_have_other_paths() {
        let moved = vec![("/data/b/source".into(), APP.into()), ("/data/toolchains".into(), RUNTIMES.into())];
        let seen = CommandPaths { view: None, moved };
        let path = "/data/b/source/web/node_modules/.bin:/data/toolchains/node@24.1.0/bin:/usr/bin:/data/b/source-2";
        let shown = "/app/web/node_modules/.bin:/runtimes/node@24.1.0/bin:/usr/bin:/data/b/source-2";
        assert_eq!(seen.list(OsStr::new(path)), shown);
        assert_eq!(seen.path(Path::new("/data/b/source")).as_os_str(), APP);
    }
}
