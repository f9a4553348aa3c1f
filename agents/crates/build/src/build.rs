//! A build from its first step to its last: one function a step, each with its times. Owns the working folder.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use fairlead_base::{CancellationToken, clock};
use fairlead_model::{Artifact, BuildSpec, DeploymentId, Step, StepState, StepStatus};
use tokio::time::Instant;

use crate::as_user::as_user;
use crate::command::{Order, Workshop};
use crate::detect::{NodePlan, detect};
use crate::pack::PackError;
use crate::{BuildError, BuildOptions, BuildOutcome, BuildSink, git, leftover, pack};

/// Less than this and a build would only fail later, with worse words.
const DISK_BYTES_MIN: u64 = 128 << 20;

/// Builds once. Nothing of an earlier attempt for the same deployment is left when it begins, nothing of this one but
/// the artifact and the app's cache when it ends. Cancelling ends every process it started. `options.user` is of this
/// app's builds alone, and one of them runs at a time: everything of that user is ended with the build.
pub async fn build(
    spec: &BuildSpec,
    options: &BuildOptions,
    sink: &mut dyn BuildSink,
    cancel: CancellationToken,
) -> Result<BuildOutcome, BuildError> {
    let another = || io::Error::new(io::ErrorKind::ResourceBusy, "another build of this app still runs");
    let turn = leftover::Turn::take(options.user).ok_or_else(another).map_err(BuildError::server("beginning"))?;
    let folder = options.builds.join(spec.deployment.as_str());
    let cache = options.caches.join(spec.app.as_str());
    let places = Places { source: folder.join("source"), home: folder.join("home"), tmp: folder.join("tmp"), cache };
    let deployment = spec.deployment.clone();
    blocking("preparing its folder", {
        let (folder, places, user) = (folder.clone(), places.clone(), options.user);
        move || {
            leftover::end(&deployment, user);
            places.make(&folder, user)
        }
    })
    .await?;
    let mut workshop = Workshop {
        options,
        deployment: &spec.deployment,
        home: places.home.clone(),
        tmp: places.tmp.clone(),
        cache: places.cache.clone(),
        limit: spec.timeout,
        deadline: Instant::now() + spec.timeout,
        cancel,
        sink,
        lines: 0,
    };
    let result = steps(&mut workshop, spec, &places).await;
    workshop.end_leftovers().await;
    let cleaned = blocking("clearing its folder", move || remove(&folder)).await;
    if let Err(error) = cleaned {
        // The artifact is good; the next build of this deployment, or the prune of old ones, clears the rest.
        tracing::warn!(deployment = %spec.deployment, %error, "the folder of a build stays");
    }
    drop(turn);
    result
}

/// Ends and clears what a former run of the agent left of builds other than `keep`. Blocking; call it at start.
pub fn clear_abandoned(options: &BuildOptions, keep: &[DeploymentId]) -> io::Result<()> {
    let kept = |name: &str| keep.iter().any(|deployment| deployment.as_str() == name);
    for entry in fs::read_dir(&options.builds)? {
        let entry = entry?;
        let deployment = entry.file_name().to_str().and_then(|name| DeploymentId::parse(name).ok());
        if let Some(deployment) = deployment.filter(|deployment| !kept(deployment.as_str())) {
            leftover::end(&deployment, owner(&entry.path().join("source")));
            remove(&entry.path())?;
        }
    }
    for entry in fs::read_dir(&options.artifacts)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".part"));
        if name.is_some_and(|name| !kept(name)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

async fn steps(workshop: &mut Workshop<'_>, spec: &BuildSpec, places: &Places) -> Result<BuildOutcome, BuildError> {
    let commit = {
        let mut step = Running::begin(workshop, Step::Clone);
        let commit = git::clone(step.workshop, spec, &places.source).await;
        step.end(&commit);
        commit?
    };
    workshop.sink.commit(&commit);
    let (below, plan) = {
        let mut step = Running::begin(workshop, Step::Build);
        let made = make(step.workshop, spec, &places.source).await;
        step.end(&made);
        made?
    };
    let mut step = Running::begin(workshop, Step::Pack);
    let artifact = pack_up(step.workshop, spec, places, &below, plan).await;
    step.end(&artifact);
    Ok(BuildOutcome { commit, artifact: artifact? })
}

/// Finds the app, installs and builds it; returns its folder below the source and how it starts.
async fn make(workshop: &mut Workshop<'_>, spec: &BuildSpec, source: &Path) -> Result<(PathBuf, NodePlan), BuildError> {
    let shown = match spec.root_folder.as_str() {
        "" | "." => "the repository".to_owned(),
        root => format!("the folder {root} of the repository"),
    };
    let look = || {
        let below = pack::inside(source, &spec.root_folder).ok_or_else(|| {
            BuildError::RootFolderMissing(format!(
                "The repository has no folder `{}`. Change the root folder in the settings of the app.",
                spec.root_folder
            ))
        })?;
        let plan = detect(&source.join(&below), &shown)?;
        Ok::<_, BuildError>((below, plan))
    };
    // A repository's links may lead anywhere: they show it nothing that it could not read itself.
    let (below, plan) =
        as_user(workshop.options.user, look).map_err(BuildError::server("reading the repository"))??;
    let app = source.join(&below);
    workshop.say(Step::Build, format!("Found a Node app in {shown}; it starts with `{}`.", plan.command.join(" ")));
    for remark in &plan.remarks {
        workshop.say(Step::Build, remark.clone());
    }
    match &plan.install {
        Some(arguments) => npm(workshop, &app, arguments, "development").await?,
        None => workshop.say(Step::Build, "It has no dependencies to install."),
    }
    if plan.build {
        npm(workshop, &app, &["run".to_owned(), "build".to_owned()], "production").await?;
    }
    Ok((below, plan))
}

async fn npm(workshop: &mut Workshop<'_>, folder: &Path, arguments: &[String], mode: &str) -> Result<(), BuildError> {
    let shown = format!("npm {}", arguments.join(" "));
    workshop.say(Step::Build, format!("$ {shown}"));
    let cache = workshop.cache.join("npm").to_string_lossy().into_owned();
    let environment = [
        ("npm_config_cache", cache.as_str()),
        ("npm_config_update_notifier", "false"),
        ("npm_config_progress", "false"),
        ("NODE_ENV", mode),
    ];
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let order = Order {
        step: Step::Build,
        program: "npm",
        arguments: &arguments,
        folder,
        environment: &environment,
        capture: false,
    };
    let done = workshop.run(&order).await?;
    if done.status.success() {
        return Ok(());
    }
    if done.disk_full() {
        return Err(BuildError::DiskFull);
    }
    use std::os::unix::process::ExitStatusExt;
    let how = match (done.status.code(), done.status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(9)) => "was killed, most likely because the server ran out of memory".to_owned(),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    };
    let advice = match arguments.first().and_then(|verb| verb.to_str()) {
        Some("ci") => {
            "Often the lock file and package.json do not match: run `npm install`, commit both, then deploy again."
        }
        _ => "The last lines of the log say why.",
    };
    Err(BuildError::Command(format!("The command `{shown}` {how}. {advice}")))
}

async fn pack_up(
    workshop: &mut Workshop<'_>,
    spec: &BuildSpec,
    places: &Places,
    below: &Path,
    plan: NodePlan,
) -> Result<Artifact, BuildError> {
    // Nothing may change a file while it is packed.
    workshop.end_leftovers().await;
    let (artifacts, name, cancel) =
        (workshop.options.artifacts.clone(), spec.deployment.to_string(), workshop.cancel.clone());
    let (trusted, user) = (workshop.options.builds.clone(), workshop.options.user);
    let below = places.source.strip_prefix(&trusted).unwrap_or(&places.source).join(below);
    let deadline = workshop.deadline.into_std();
    let packed = tokio::task::spawn_blocking(move || {
        let bounds = pack::Bounds::ARTIFACT;
        let order = pack::Order { trusted: &trusted, below: &below, user, cancel: &cancel, deadline, bounds };
        pack::pack(&order, &artifacts, &name)
    });
    let packed = packed.await.unwrap_or_else(|error| Err(io::Error::other(error).into()));
    let packed = packed.map_err(|error| match error {
        PackError::Cancelled => BuildError::Cancelled,
        PackError::Timeout => BuildError::Timeout { limit: workshop.limit, doing: "packed the app".to_owned() },
        PackError::Refused(sentence) => BuildError::Command(sentence),
        PackError::Server(source) => BuildError::server("packing the app")(source),
    })?;
    for left_out in &packed.left_out {
        workshop.say(Step::Pack, format!("Left out: {left_out}."));
    }
    let mebibytes = packed.size_bytes as f64 / f64::from(1 << 20);
    let (files, digest) = (packed.files, &packed.digest[..19]);
    workshop.say(Step::Pack, format!("Packed {files} files into {mebibytes:.1} MiB, {digest}."));
    Ok(Artifact {
        digest: packed.digest,
        size_bytes: packed.size_bytes,
        runtime: "node".to_owned(),
        command: plan.command,
        kind: fairlead_model::ArtifactKind::Archive,
        manifest: fairlead_model::Manifest::default(),
    })
}

/// A step under way; its end is told with its outcome.
struct Running<'a, 'b> {
    workshop: &'a mut Workshop<'b>,
    status: StepStatus,
}

impl<'a, 'b> Running<'a, 'b> {
    fn begin(workshop: &'a mut Workshop<'b>, step: Step) -> Self {
        let started_unix_ms = clock::unix_ms();
        let status = StepStatus { step, state: StepState::Running, started_unix_ms, finished_unix_ms: 0 };
        workshop.sink.step(status.clone());
        Self { workshop, status }
    }

    fn end<T>(&mut self, result: &Result<T, BuildError>) {
        if let Err(error) = result {
            self.workshop.say(self.status.step, error.to_string());
        }
        self.status.state = if result.is_ok() { StepState::Done } else { StepState::Failed };
        self.status.finished_unix_ms = clock::unix_ms();
        self.workshop.sink.step(self.status.clone());
    }
}

#[derive(Clone)]
struct Places {
    source: PathBuf,
    home: PathBuf,
    tmp: PathBuf,
    cache: PathBuf,
}

impl Places {
    /// Makes the folders of a build anew, owned by its user and closed to all others.
    fn make(&self, folder: &Path, user: Option<u32>) -> io::Result<()> {
        remove(folder)?;
        let parent = folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let disk = rustix::fs::statvfs(parent)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < DISK_BYTES_MIN {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // The folder stays the agent's: its user could move the others and have a link followed in their place.
        give(folder, 0o711, None)?;
        for path in [&self.source, &self.home, &self.tmp, &self.cache] {
            give(path, 0o700, user)?;
        }
        Ok(())
    }
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

/// The user whose build a folder is; `None` when it is gone.
fn owner(path: &Path) -> Option<u32> {
    fs::symlink_metadata(path).ok().map(|found| found.uid())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

async fn blocking(
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
    fn a_build_owns_its_folders_but_never_the_one_that_holds_them() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("builds/dep_1");
        fs::create_dir(dir.path().join("builds")).unwrap();
        let place = |name: &str| folder.join(name);
        let places = Places {
            source: place("source"),
            home: place("home"),
            tmp: place("tmp"),
            cache: dir.path().join("caches/app_1"),
        };
        fs::create_dir(dir.path().join("caches")).unwrap();
        let root = rustix::process::geteuid().is_root();
        let user = if root { 71_234 } else { rustix::process::geteuid().as_raw() };
        for _ in 0..2 {
            places.make(&folder, root.then_some(user)).unwrap();
            for path in [&places.source, &places.home, &places.tmp, &places.cache] {
                let found = fs::symlink_metadata(path).unwrap();
                assert_eq!((found.uid(), found.mode() & 0o777), (user, 0o700), "{}", path.display());
            }
            // Whoever owns it could put a link in the place of one of the others.
            let found = fs::symlink_metadata(&folder).unwrap();
            assert_eq!((found.uid(), found.mode() & 0o777), (rustix::process::geteuid().as_raw(), 0o711));
        }
    }
}
