//! Bound of what instances write to `/app` and `/tmp`. The agent counts it while they run and stops an instance that exceeds it.
//! No kernel mechanism fits: project quotas are a mount option of the server's file system, and a bounded tmpfs takes memory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use fairlead_base::root_view::APP;
use fairlead_base::{Trash, tree};
use fairlead_model::InstanceId;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::instance::{InstanceFolder, InstanceSpec};
use crate::layer::LayerKind;

/// Space of the disk that releases and instances leave free, for logs and the agent's own state.
pub const FREE_BYTES_RESERVE: u64 = 256 << 20;
/// Divisor of the CPU time for counting: at most one part in 20 of a core.
const COUNT_SHARE: u32 = 20;
/// Counts without another stop after one for want of free space: the removal of the files takes a moment.
const COUNTS_BETWEEN: u32 = 6;

/// Bounds of the temporary files of instances.
#[derive(Debug, Clone, Copy)]
pub struct LayerBounds {
    /// Most bytes of one instance in `/app` and `/tmp`, without its release.
    pub bytes_max: u64,
    /// Shortest pause between two counts.
    pub pause: Duration,
}

impl Default for LayerBounds {
    fn default() -> Self {
        Self { bytes_max: 4 << 30, pause: Duration::from_secs(10) }
    }
}

/// Temporary files for which an instance was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerExcess {
    /// Bytes in `/app` and `/tmp`, without the release.
    pub used_bytes: u64,
    /// Entry of `/app` or `/tmp` with the most of them, as the app sees it.
    pub largest: PathBuf,
    /// Bound that was exceeded.
    pub bound: LayerBound,
}

/// Bound of an instance's temporary files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerBound {
    /// Most bytes of one instance.
    Instance(u64),
    /// Space that stays free on the disk.
    FreeSpace(u64),
}

/// Watch over the temporary files of running instances.
#[derive(Debug)]
pub(crate) struct LayerWatch {
    bounds: LayerBounds,
    /// Folder of instances, for the free space of its disk.
    instances: PathBuf,
    watched: Mutex<BTreeMap<InstanceId, Arc<WatchedInstance>>>,
}

#[derive(Debug)]
struct WatchedInstance {
    folders: Vec<WrittenFolder>,
    /// Processes of the instance; they may hold files that have no name any more.
    cgroup: Option<fairlead_base::cgroup::Cgroup>,
    stop_timeout: Duration,
    stop: mpsc::UnboundedSender<Duration>,
    excess: OnceLock<LayerExcess>,
}

/// Folder that an instance writes to.
#[derive(Debug)]
struct WrittenFolder {
    folder: PathBuf,
    /// Path at which the app sees it.
    shown: &'static str,
    /// Release that the folder is a copy of, and its size, which never changes.
    copy_of: Option<(PathBuf, OnceLock<u64>)>,
}

impl LayerWatch {
    pub(crate) fn new(bounds: LayerBounds, instances: PathBuf) -> Self {
        Self { bounds, instances, watched: Mutex::default() }
    }

    /// Watches an instance until it is removed. `stop` stops it with `stop_timeout`.
    pub(crate) fn add(&self, spec: &InstanceSpec, stop_timeout: Duration, stop: mpsc::UnboundedSender<Duration>) {
        let folders = WrittenFolder::of(spec);
        if !folders.is_empty() {
            let watched =
                WatchedInstance { folders, cgroup: spec.cgroup.clone(), stop_timeout, stop, excess: OnceLock::new() };
            self.lock().insert(spec.instance.clone(), Arc::new(watched));
        }
    }

    /// Returns the reason if the watch stopped the instance.
    pub(crate) fn remove(&self, instance: &InstanceId) -> Option<Box<LayerExcess>> {
        self.lock().remove(instance)?.excess.get().cloned().map(Box::new)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<InstanceId, Arc<WatchedInstance>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts periodically, and stops instances that exceed their bound.
    pub(crate) async fn run(self: Arc<Self>) {
        let (mut pause, mut counts_to_wait) = (self.bounds.pause, 0);
        loop {
            sleep(pause).await;
            let watched: Vec<_> = self.lock().iter().map(|(id, watched)| (id.clone(), watched.clone())).collect();
            if watched.is_empty() {
                continue;
            }
            let (since, this) = (Instant::now(), self.clone());
            let stops_for_space = counts_to_wait == 0;
            let stopped = spawn_blocking(move || this.stop_excesses(&watched, stops_for_space)).await;
            let for_space = stopped.unwrap_or_else(|error| {
                tracing::error!(%error, "the temporary files of instances could not be counted");
                false
            });
            counts_to_wait = if for_space { COUNTS_BETWEEN } else { counts_to_wait.saturating_sub(1) };
            pause = self.bounds.pause.max(since.elapsed() * COUNT_SHARE);
        }
    }

    /// True if an instance was stopped because too little of the disk is free.
    fn stop_excesses(&self, watched: &[(InstanceId, Arc<WatchedInstance>)], stops_for_space: bool) -> bool {
        let running: Vec<_> = watched.iter().filter(|(_, watched)| watched.excess.get().is_none()).collect();
        let counts: Vec<(usize, u64)> = running
            .iter()
            .enumerate()
            .map(|(index, (_, watched))| (index, watched.used(self.bounds.bytes_max)))
            .collect();
        let free_bytes = free_bytes(&self.instances).filter(|_| stops_for_space);
        let excesses = excesses(&counts, free_bytes, self.bounds.bytes_max);
        for (index, bound) in &excesses {
            let Some((instance, watched)) = running.get(*index) else { continue };
            let (used_bytes, largest) = watched.sum();
            tracing::warn!(%instance, used_bytes, largest = %largest.display(), "stopped: too many temporary files");
            // Only this task sets it, once.
            watched.excess.set(LayerExcess { used_bytes, largest, bound: *bound }).ok();
            // A closed channel means that it has ended already.
            watched.stop.send(watched.stop_timeout).ok();
        }
        excesses.iter().any(|(_, bound)| matches!(bound, LayerBound::FreeSpace(_)))
    }
}

/// Picks the instances to stop: all that exceed their bound; or else, where too little space is free, the one with the most files.
fn excesses(counts: &[(usize, u64)], free_bytes: Option<u64>, bytes_max: u64) -> Vec<(usize, LayerBound)> {
    let over = counts.iter().filter(|(_, used)| *used > bytes_max);
    let over: Vec<_> = over.map(|(index, _)| (*index, LayerBound::Instance(bytes_max))).collect();
    if !over.is_empty() || free_bytes.is_none_or(|free| free >= FREE_BYTES_RESERVE) {
        return over;
    }
    let largest = counts.iter().max_by_key(|(_, used)| *used).filter(|(_, used)| *used > FREE_BYTES_RESERVE);
    largest.map(|(index, _)| (*index, LayerBound::FreeSpace(FREE_BYTES_RESERVE))).into_iter().collect()
}

/// Moves the temporary files of an instance that has ended into the trash: until its next start they would take their space.
pub(crate) fn set_aside(folder: &InstanceFolder, trash: &Trash) -> std::io::Result<()> {
    trash.set_aside(&folder.layer())?;
    trash.set_aside(&folder.tmp())?;
    Ok(())
}

/// Space left on the disk of a folder; `None` if the kernel can't tell.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

impl WatchedInstance {
    /// Counts until the bound is exceeded.
    fn used(&self, bytes_max: u64) -> u64 {
        let unlinked = self.unlinked();
        self.folders.iter().fold(unlinked, |used, written| {
            used.saturating_add(written.used(bytes_max.saturating_sub(used.min(bytes_max))))
        })
    }

    /// Bytes of files that only open descriptors keep on the disk.
    fn unlinked(&self) -> u64 {
        let pids = self.cgroup.as_ref().and_then(|cgroup| cgroup.pids().ok()).unwrap_or_default();
        let mut files = BTreeMap::new();
        for entry in pids.iter().flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd"))).flatten().flatten() {
            // It was closed meanwhile.
            let Ok(found) = fs::metadata(entry.path()) else { continue };
            if found.is_file() && found.nlink() == 0 && self.holds(&entry.path()) {
                files.insert((found.dev(), found.ino()), found.blocks().saturating_mul(512).max(tree::ENTRY_BYTES));
            }
        }
        files.into_values().sum()
    }

    /// True if the link of a descriptor leads into one of the folders, as the app sees them.
    fn holds(&self, link: &Path) -> bool {
        fs::read_link(link).is_ok_and(|path| self.folders.iter().any(|written| path.starts_with(written.shown)))
    }

    /// Counts everything; returns the sum, and the entry with the most bytes, as the app sees it.
    fn sum(&self) -> (u64, PathBuf) {
        let (mut sum, mut largest) = (self.unlinked(), (0, PathBuf::from(APP)));
        for written in &self.folders {
            for name in written.names() {
                let bytes = written.used_in(&name);
                sum += bytes;
                if bytes > largest.0 {
                    largest = (bytes, Path::new(written.shown).join(name));
                }
            }
        }
        (sum, largest.1)
    }
}

impl WrittenFolder {
    fn of(spec: &InstanceSpec) -> Vec<Self> {
        let layer = spec.view.as_ref().map(|view| {
            let layer = InstanceFolder::new(&view.folder).layer();
            match view.layer {
                LayerKind::Overlay => Self { folder: layer.join("upper"), shown: APP, copy_of: None },
                LayerKind::Copy => Self {
                    folder: layer.join("app"),
                    shown: APP,
                    copy_of: Some((view.release.clone(), OnceLock::new())),
                },
            }
        });
        let tmp = spec.private_tmp.clone().map(|folder| Self { folder, shown: "/tmp", copy_of: None });
        layer.into_iter().chain(tmp).collect()
    }

    /// Counts until the bound is exceeded. A folder that is gone counts nothing.
    fn used(&self, bytes_max: u64) -> u64 {
        let copied = self.copy_of.as_ref().map_or(0, |(release, size)| *size.get_or_init(|| bytes_of(release)));
        let enough = copied.saturating_add(bytes_max);
        let size = tree::size(&self.folder, |size| size.cost_bytes > enough).unwrap_or_default();
        size.cost_bytes.saturating_sub(copied)
    }

    /// Iterates over the names one after the other: an app may have millions.
    fn names(&self) -> impl Iterator<Item = OsString> {
        fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.file_name())
    }

    fn used_in(&self, name: &OsString) -> u64 {
        let copied = self.copy_of.as_ref().map_or(0, |(release, _)| bytes_of(&release.join(name)));
        bytes_of(&self.folder.join(name)).saturating_sub(copied)
    }
}

pub(crate) fn bytes_of(path: &Path) -> u64 {
    tree::size(path, |_| false).map_or(0, |size| size.cost_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn all_beyond_their_bound_are_stopped_and_one_where_space_is_short() {
        let bytes_max = 4096 * MIB;
        let counts = [(0, 300 * MIB), (1, 5000 * MIB), (2, 400 * MIB)];
        let over = vec![(1, LayerBound::Instance(bytes_max))];
        assert_eq!(excesses(&counts, Some(u64::MAX), bytes_max), over);
        assert_eq!(excesses(&counts, Some(0), bytes_max), over, "the removal of its files may be enough");
        assert_eq!(excesses(&counts[2..], Some(FREE_BYTES_RESERVE), bytes_max), []);
        let for_space = vec![(2, LayerBound::FreeSpace(FREE_BYTES_RESERVE))];
        assert_eq!(excesses(&[counts[0], counts[2]], Some(0), bytes_max), for_space);
        assert_eq!(excesses(&[counts[0], counts[2]], None, bytes_max), []);
        assert_eq!(excesses(&[(0, 200 * MIB)], Some(0), bytes_max), [], "its files are not what fills the disk");
    }

    #[test]
    fn a_copy_counts_without_its_release_and_the_largest_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (release, folder) = (dir.path().join("release"), dir.path().join("layer"));
        for path in [&release, &folder] {
            fs::create_dir_all(path.join("code")).unwrap();
            fs::write(path.join("code/file"), vec![1; 2 << 20]).unwrap();
        }
        let (stop, _stops) = mpsc::unbounded_channel();
        let copy_of = Some((release, OnceLock::new()));
        let watched = WatchedInstance {
            folders: vec![WrittenFolder { folder: folder.clone(), shown: APP, copy_of }],
            cgroup: None,
            stop_timeout: Duration::ZERO,
            stop,
            excess: OnceLock::new(),
        };
        assert_eq!(watched.used(MIB), 0);
        fs::create_dir(folder.join("uploads")).unwrap();
        for name in 0..300 {
            fs::write(folder.join("uploads").join(name.to_string()), "").unwrap();
        }
        assert!(watched.used(MIB) > MIB, "empty files count too");
        let (sum, largest) = watched.sum();
        assert!((MIB..2 * MIB).contains(&sum), "{sum}");
        assert_eq!(largest, Path::new("/app/uploads"));
        fs::remove_dir_all(folder).unwrap();
        assert_eq!(watched.used(MIB), 0);
    }
}
