//! Disk monitor: measures Fairlead's disk usage, forecasts when the disk is full, and removes unused artifacts, toolchains and
//! caches. Never touches volumes, homes or running instances.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fairlead_base::{Folders, Trash, clock, file};
use fairlead_build::{Toolchains, cache_name, clear_trees, repository_name};
use fairlead_engine::Engine;
use fairlead_link::AcceptedState;
use fairlead_model::{AppId, DesiredState, Failure, VolumeKey};
use fairlead_runtime::{
    FREE_BYTES_RESERVE, bytes_below, set_aside_renamed_volumes, set_aside_replaced_volumes, volumes_used,
};
use fairlead_wire::agent;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::images;

/// Interval of samples, and the number of samples after which folder sizes are measured again.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(60);
const MEASURE_EVERY: u32 = 15;
/// Time for which an unused file stays, since a finished build or a late desired state may still need it.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// The forecast uses the samples of the last day, at most `HISTORY_STEP` apart.
const HISTORY: Duration = Duration::from_secs(24 * 60 * 60);
const HISTORY_STEP: Duration = Duration::from_secs(10 * 60);
/// Minimum time span of a forecast's samples.
const HISTORY_MIN: Duration = Duration::from_secs(60 * 60);
/// Maximum time that the linear forecast samples ahead.
const AHEAD_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Warning threshold of the forecast.
const AHEAD_WARNED: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// Low-space thresholds: below either, the report warns and unpacked copies of artifacts are removed without a grace period.
const FREE_BYTES_LOW: u64 = 2 * 1024 * 1024 * 1024;
const FREE_PERCENT_LOW: u64 = 5;
/// Minimum size of instances' temporary files that a warning mentions.
const INSTANCES_BYTES_REPORTED: u64 = 1024 * 1024 * 1024;
/// Assumed ratio of a release's unpacked size to its archive's size.
const UNPACKED_RATIO: u64 = 5;

/// Part of the report about disk usage.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DiskReport {
    pub(crate) status: Option<agent::DiskStatus>,
    pub(crate) volumes: Vec<(VolumeKey, u64)>,
}

/// Free disk space at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct DiskSample {
    unix_ms: u64,
    free_bytes: u64,
}

/// Samples free space, measures folders and removes unused files once a minute, until the report's receiver is closed.
pub(crate) struct DiskMonitor {
    folders: Folders,
    trash: Trash,
    desired: watch::Receiver<AcceptedState>,
    report: watch::Sender<DiskReport>,
    history: Vec<DiskSample>,
    sizes: FolderSizes,
    engine: Engine,
    toolchains: Toolchains,
}

#[derive(Debug, Clone, Default)]
struct FolderSizes {
    artifacts: u64,
    caches: u64,
    images: u64,
    instances: u64,
    logs: u64,
    volumes: Vec<(VolumeKey, u64)>,
}

impl DiskMonitor {
    pub(crate) fn new(
        folders: Folders,
        trash: Trash,
        desired: watch::Receiver<AcceptedState>,
        engine: Engine,
        toolchains: Toolchains,
    ) -> (Self, watch::Receiver<DiskReport>) {
        let (report, receiver) = watch::channel(DiskReport::default());
        let history = file::read_if_present(&folders.disk_history()).ok().flatten();
        // An unreadable history starts anew.
        let history = history.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        (Self { folders, trash, desired, report, history, sizes: FolderSizes::default(), engine, toolchains }, receiver)
    }

    pub(crate) async fn run(mut self) {
        let mut samples = interval(SAMPLE_INTERVAL);
        samples.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0;
        while !self.report.is_closed() {
            samples.tick().await;
            let desired = self.desired.borrow().state.clone();
            let measures = count % MEASURE_EVERY == 0;
            count += 1;
            if measures && self.engine.answers().await {
                match images::prune(&self.engine, &self.folders, desired.as_deref()).await {
                    Ok(bytes) => self.sizes.images = bytes,
                    Err(error) => tracing::warn!(%error, "the engine's images can't be looked at"),
                }
            }
            let sampled = spawn_blocking(move || {
                let sampled = self.sample(desired, measures);
                (self, sampled)
            });
            match sampled.await {
                Ok((disk, Ok(report))) => {
                    self = disk;
                    self.report.send_if_modified(|current| std::mem::replace(current, report.clone()) != report);
                }
                Ok((disk, Err(error))) => {
                    self = disk;
                    tracing::warn!(%error, "the disk can't be looked at");
                }
                Err(error) => {
                    tracing::error!(%error, "the disk is looked at no more");
                    return;
                }
            }
        }
    }

    fn sample(&mut self, desired: Option<Arc<DesiredState>>, measures: bool) -> io::Result<DiskReport> {
        let now = clock::unix_ms();
        let (free, total) = space(self.folders.root())?;
        self.remember(DiskSample { unix_ms: now, free_bytes: free });
        if measures {
            let low = is_low(free, total);
            if let Some(state) = &desired {
                prune(&self.folders, &self.trash, &self.toolchains, state, SystemTime::now(), low)?;
            }
            set_aside_renamed_volumes(&self.folders, &self.trash)?;
            set_aside_replaced_volumes(&self.folders, &self.trash)?;
            self.sizes = FolderSizes {
                artifacts: bytes_below(&self.folders.artifacts()),
                caches: bytes_below(&self.folders.caches()),
                images: self.sizes.images,
                instances: bytes_below(&self.folders.instances()),
                logs: bytes_below(&self.folders.logs()),
                volumes: volumes_used(&self.folders)?,
            };
        }
        let full_unix_ms = forecast(&self.history);
        let sizes = &self.sizes;
        let status = agent::DiskStatus {
            free_bytes: free,
            total_bytes: total,
            artifacts_bytes: sizes.artifacts,
            caches_bytes: sizes.caches,
            images_bytes: sizes.images,
            logs_bytes: sizes.logs,
            volumes_bytes: sizes.volumes.iter().map(|(_, bytes)| bytes).sum(),
            full_unix_ms,
            warning: with_instances(warning(free, total, now, full_unix_ms), sizes.instances),
        };
        Ok(DiskReport { status: Some(status), volumes: sizes.volumes.clone() })
    }

    fn remember(&mut self, sample: DiskSample) {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        if self.history.last().is_some_and(|last| sample.unix_ms.saturating_sub(last.unix_ms) < millis(HISTORY_STEP)) {
            return;
        }
        self.history.push(sample);
        let oldest = sample.unix_ms.saturating_sub(millis(HISTORY));
        self.history.retain(|one| one.unix_ms >= oldest && one.unix_ms <= sample.unix_ms);
        let saved = serde_json::to_vec(&self.history).map_err(io::Error::from);
        if let Err(error) = saved.and_then(|bytes| file::replace(&self.folders.disk_history(), &bytes, 0o600)) {
            tracing::warn!(%error, "the disk's history can't be saved; its forecast begins anew after a restart");
        }
    }
}

/// Returns the bytes that are free for this user, and the size without blocks that are reserved for root.
pub(super) fn space(path: &Path) -> io::Result<(u64, u64)> {
    let disk = rustix::fs::statvfs(path)?;
    let usable = disk.f_blocks.saturating_sub(disk.f_bfree).saturating_add(disk.f_bavail);
    Ok((disk.f_bavail.saturating_mul(disk.f_frsize), usable.saturating_mul(disk.f_frsize)))
}

fn is_low(free: u64, total: u64) -> bool {
    free < FREE_BYTES_LOW || free < total / 100 * FREE_PERCENT_LOW
}

/// Forecasts in Unix milliseconds when the disk is full, by least squares. Zero: not within a month, or too few samples.
fn forecast(history: &[DiskSample]) -> u64 {
    let (Some(first), Some(last)) = (history.first(), history.last()) else { return 0 };
    let span = last.unix_ms.saturating_sub(first.unix_ms);
    if u128::from(span) < HISTORY_MIN.as_millis() {
        return 0;
    }
    // Relative to the first sample, so that the numbers stay small enough to be exact.
    let points: Vec<(f64, f64)> = history
        .iter()
        .map(|sample| ((sample.unix_ms - first.unix_ms) as f64, first.free_bytes as f64 - sample.free_bytes as f64))
        .collect();
    let count = points.len() as f64;
    let (mean_x, mean_y) =
        (points.iter().map(|(x, _)| x).sum::<f64>() / count, points.iter().map(|(_, y)| y).sum::<f64>() / count);
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    let bytes_per_ms = covariance / variance;
    if !bytes_per_ms.is_finite() || bytes_per_ms <= 0.0 {
        return 0;
    }
    let ahead = last.free_bytes as f64 / bytes_per_ms;
    if ahead > AHEAD_MAX.as_millis() as f64 { 0 } else { last.unix_ms + ahead as u64 }
}

fn warning(free: u64, total: u64, now: u64, full: u64) -> String {
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / (1024.0 * 1024.0 * 1024.0));
    if is_low(free, total) {
        return format!(
            "Only {} of {} are free on this server's disk. Free some space, or builds and logs will fail.",
            gib(free),
            gib(total)
        );
    }
    let ahead = full.saturating_sub(now);
    if full > 0 && u128::from(ahead) < AHEAD_WARNED.as_millis() {
        let hours = (ahead / 3_600_000).max(1);
        return format!(
            "This server's disk fills up: at the pace of the last day it is full in about {hours} h. See what grows, or make it larger."
        );
    }
    String::new()
}

/// Adds the size of instances' temporary files to the warning if it is large.
fn with_instances(warning: String, bytes: u64) -> String {
    if warning.is_empty() || bytes < INSTANCES_BYTES_REPORTED {
        return warning;
    }
    let gib = bytes as f64 / (1024.0 * 1024.0 * 1024.0);
    format!(
        "{warning} Temporary files of apps (/app and /tmp) take {gib:.1} GiB: each app frees its own when it is deployed again."
    )
}

/// Removes unused artifacts, toolchains and caches that were not touched during the grace period. Older control planes do not
/// list needed artifacts; artifacts and toolchains then go only when space is low.
fn prune(
    folders: &Folders,
    trash: &Trash,
    toolchains: &Toolchains,
    state: &DesiredState,
    now: SystemTime,
    low: bool,
) -> io::Result<()> {
    let releases = || {
        let apps = state.apps.values();
        apps.flat_map(|app| app.live.iter().chain(app.candidate.iter().map(|rollout| &rollout.release)))
    };
    let digests = releases().map(|release| &release.artifact_digest);
    let named: BTreeSet<&str> = digests.chain(&state.kept_artifacts).map(|digest| digest_hex(digest)).collect();
    if low {
        clear_trees(&folders.artifacts(), trash)?;
    }
    if low || !state.kept_artifacts.is_empty() {
        let run_with = releases().flat_map(|release| &release.toolchains).map(String::as_str).collect();
        toolchains.prune(trash, &run_with, &named, now)?;
        for path in old_entries(&folders.artifacts(), now)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // The agent names an artifact by its digest and a suffix; it leaves other files alone.
            let digest = name.split('.').next().unwrap_or_default().trim_start_matches("sha256-");
            let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_digest && !named.contains(digest) {
                tracing::info!(artifact = name, "removed: no release needs it");
                trash.set_aside(&path)?;
            }
        }
    }
    let placed = state.apps.keys().map(|key| cache_name(&key.app, Some(&key.environment)));
    let built = state.builds.values().map(|build| cache_name(&build.app, build.environment.as_ref()));
    let caches: BTreeSet<String> = placed.chain(built).flat_map(|name| [repository_name(&name), name]).collect();
    for path in old_entries(&folders.caches(), now)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let app =
            name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next().unwrap_or_default();
        if AppId::parse(app).is_ok() && !caches.contains(name) {
            tracing::info!(cache = name, "removed: its app is not on this server in that environment");
            trash.set_aside(&path)?;
        }
    }
    Ok(())
}

fn digest_hex(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

fn old_entries(folder: &Path, now: SystemTime) -> io::Result<Vec<PathBuf>> {
    let mut old = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let age = entry.metadata()?.modified()?;
        if now.duration_since(age).unwrap_or_default() >= GRACE {
            old.push(entry.path());
        }
    }
    Ok(old)
}

/// Checks that the disk has room to unpack a release.
pub(super) fn room_for(artifact: &Path, folders: &Folders) -> Result<(), Failure> {
    let Ok(size) = fs::metadata(artifact).map(|found| found.len()) else { return Ok(()) };
    let Ok((free, _)) = space(folders.root()) else { return Ok(()) };
    let needed = size.saturating_mul(UNPACKED_RATIO).saturating_add(FREE_BYTES_RESERVE);
    if free >= needed {
        return Ok(());
    }
    let mib = |bytes: u64| bytes / (1024 * 1024);
    Err(Failure {
        code: "rollout.disk_full".into(),
        message: format!(
            "This server's disk has {} MiB free, and unpacking the release may take {} MiB. Free some space on it, then deploy again.",
            mib(free),
            mib(needed)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlead_model::{AppKey, AppSpec, EnvironmentId};

    const HOUR: u64 = 3_600_000;
    const GIB: u64 = 1024 * 1024 * 1024;

    fn samples(free_gib: impl Fn(u64) -> u64) -> Vec<DiskSample> {
        (0..=24).map(|hour| DiskSample { unix_ms: hour * HOUR, free_bytes: free_gib(hour) * GIB }).collect()
    }

    #[test]
    fn the_forecast_follows_the_slope_and_is_zero_without_one() {
        assert_eq!(forecast(&samples(|hour| 100 - hour)), (24 + 76) * HOUR, "a GiB an hour, 76 left");
        assert_eq!(forecast(&samples(|_| 100)), 0);
        assert_eq!(forecast(&samples(|hour| 50 + hour)), 0, "it empties");
        assert_eq!(forecast(&samples(|hour| 1_000_000 - hour)), 0, "not within a month");
        assert_eq!(forecast(&samples(|hour| 100 - hour)[..1]), 0);
        assert_eq!(forecast(&[]), 0);
    }

    #[test]
    fn a_warning_comes_before_the_disk_is_full() {
        let now = 100 * HOUR;
        assert!(warning(GIB, 100 * GIB, now, 0).starts_with("Only 1.0 GiB of 100.0 GiB are free"));
        assert!(warning(4 * GIB, 100 * GIB, now, 0).contains("free"), "below five percent");
        assert!(warning(50 * GIB, 100 * GIB, now, now + 5 * HOUR).contains("in about 5 h"));
        assert_eq!(warning(50 * GIB, 100 * GIB, now, now + 200 * HOUR), "");
        assert_eq!(warning(50 * GIB, 100 * GIB, now, 0), "");
        let low = || warning(GIB, 100 * GIB, now, 0);
        assert!(
            with_instances(low(), 3 * GIB).ends_with("take 3.0 GiB: each app frees its own when it is deployed again.")
        );
        assert_eq!(with_instances(low(), GIB / 2), low());
        assert_eq!(with_instances(String::new(), 3 * GIB), "");
    }

    fn store(folders: &Folders) -> Toolchains {
        let client = fairlead_fetch::FetchClient::new(None).unwrap();
        Toolchains::new(folders.toolchains(), PathBuf::from("/nowhere"), client, fairlead_build::Mirrors::default())
    }

    fn state(kept: &[String]) -> DesiredState {
        let key =
            AppKey { app: AppId::parse("app_here").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        let app = AppSpec {
            key: key.clone(),
            name: String::new(),
            live: None,
            candidate: None,
            instances: 1,
            traffic: Default::default(),
            autoscaling: None,
            release_environment: None,
        };
        DesiredState {
            apps: [(key, app)].into(),
            kept_artifacts: kept.iter().map(|digest| format!("sha256:{digest}")).collect(),
            ..super::super::empty_state()
        }
    }

    #[test]
    fn unused_files_are_removed_after_their_grace_and_needed_or_foreign_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let trash = Trash::new(&folders);
        let toolchains = store(&folders);
        let (kept, old) = ("a".repeat(64), "b".repeat(64));
        toolchains.note_needs(&format!("sha256:{kept}"), &["python@3.13.5".to_owned()]).unwrap();
        toolchains.note_needs(&format!("sha256:{old}"), &["node@20.1.0".to_owned()]).unwrap();
        for name in ["python@3.13.5", "node@20.1.0", "node@18.1.0", "go@1.26.8.partial", "site@1", "notes"] {
            fs::create_dir_all(folders.toolchains().join(name).join("bin")).unwrap();
        }
        let runtimes = || {
            let entries = fs::read_dir(folders.toolchains()).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
            names.retain(|name| !name.starts_with('.'));
            names.sort();
            names
        };
        let made = || {
            for name in [&kept, &old] {
                fs::write(folders.artifacts().join(format!("{name}.tar.zst")), "x").unwrap();
            }
            fs::write(folders.artifacts().join("notes.txt"), "x").unwrap();
            let repositories = ["app_here-env_p.git", "app_gone-env_p.git"];
            for app in
                ["app_here-env_p", "app_here-env_q", "app_here", "app_gone-env_p", "other"].iter().chain(&repositories)
            {
                fs::create_dir_all(folders.caches().join(app).join("inner")).unwrap();
            }
        };
        let left = || {
            let names = |folder: PathBuf| {
                let entries = fs::read_dir(folder).unwrap();
                let mut names: Vec<String> = entries
                    .map(|entry| entry.unwrap().file_name().to_string_lossy().chars().take(18).collect())
                    .collect();
                names.sort();
                names
            };
            (names(folders.artifacts()), names(folders.caches()))
        };
        made();
        let (now, later) = (SystemTime::now(), SystemTime::now() + GRACE * 2);
        prune(&folders, &trash, &toolchains, &state(std::slice::from_ref(&kept)), now, true).unwrap();
        assert_eq!(left().0.len() + left().1.len(), 10, "all within their grace");
        prune(&folders, &trash, &toolchains, &state(&[]), later, false).unwrap();
        assert_eq!(left().0.len(), 3, "a control plane that names none may come back to each");
        prune(&folders, &trash, &toolchains, &state(std::slice::from_ref(&kept)), later, false).unwrap();
        let caches = vec!["app_here-env_p".into(), "app_here-env_p.git".into(), "other".into()];
        assert_eq!(left(), (vec!["a".repeat(18), "notes.txt".into()], caches));
        assert_eq!(runtimes().len(), 6, "a build may use each again");
        let much_later = SystemTime::now() + GRACE * 10;
        prune(&folders, &trash, &toolchains, &state(std::slice::from_ref(&kept)), much_later, false).unwrap();
        assert_eq!(runtimes(), ["notes", "python@3.13.5", "site@1"]);
        made();
        prune(&folders, &trash, &toolchains, &state(&[]), later, true).unwrap();
        assert_eq!(left().0, ["notes.txt"], "short of space, what no release needs goes");
    }

    #[tokio::test]
    async fn disk_usage_is_measured_and_reported() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        fs::write(folders.artifacts().join("x"), vec![1u8; 200_000]).unwrap();
        let volume = folders.volumes().join("app_a-env_p/data");
        fs::create_dir_all(&volume).unwrap();
        fs::write(volume.join("x"), vec![1u8; 300_000]).unwrap();
        let (_sender, desired) = watch::channel(AcceptedState::default());
        let (disk, mut report) = DiskMonitor::new(
            folders.clone(),
            Trash::new(&folders),
            desired,
            Engine::at(Path::new("/nowhere")),
            store(&folders),
        );
        let task = tokio::spawn(disk.run());
        report.changed().await.unwrap();
        let told = report.borrow_and_update().clone();
        let status = told.status.unwrap();
        assert!(status.total_bytes > status.free_bytes && status.free_bytes > 0);
        assert!(status.artifacts_bytes >= 200_000 && status.volumes_bytes >= 300_000, "{status:?}");
        assert_eq!(told.volumes[0].0.name, "data");
        task.abort();
    }
}
