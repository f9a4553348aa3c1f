//! A build from its first step to its last: one function a step, each with its times. Owns the working folder.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlead_base::{CancellationToken, clock};
use fairlead_inspect::{BuildMethod, Plan, SITE_COMMAND};
use fairlead_model::{Artifact, BuildLimits, BuildSpec, Builder, DeploymentId, Step, StepState, StepStatus};
use fairlead_network::{OwnNetwork, resolv_conf};
use tokio::time::Instant;

use crate::build_folders::{BuildFolders, blocking, owner};
use crate::command::Workshop;
use crate::git::{self, LargeFiles};
use crate::pack::PackError;
use crate::plan_reader::read_plan;

use crate::{
    BuildError, BuildOptions, BuildOutcome, BuildSink, compress, container, leftover_processes, native, pack,
    packed_tree, secrets, size, upload,
};

/// Builds once. Nothing of an earlier attempt for the same deployment is left when it begins, nothing of this one but
/// the artifact and the cache when it ends. Cancelling ends every process it started. `options.user` is of the builds of
/// this app for this environment alone, and one of them runs at a time: everything of that user is ended with the build.
pub async fn build(
    spec: &BuildSpec,
    options: &BuildOptions,
    sink: &mut dyn BuildSink,
    cancel: CancellationToken,
) -> Result<BuildOutcome, BuildError> {
    let opening = Opening {
        build_folders: BuildFolders::new(options, spec),
        limits: limits(spec.limits, options.limits),
        deadline: Instant::now() + spec.timeout,
        network: options.network.as_ref(),
    };
    let mut workshop = open(spec, options, opening, sink, cancel).await?;
    let result = steps(&mut workshop, spec).await;
    close(workshop).await;
    result
}

/// Settings in which a build and an inspection differ.
pub(crate) struct Opening<'a> {
    pub(crate) build_folders: BuildFolders,
    pub(crate) limits: BuildLimits,
    pub(crate) deadline: Instant,
    /// `None`: its commands share the server's network.
    pub(crate) network: Option<&'a (OwnNetwork, bool)>,
}

/// Clears what an earlier attempt left and makes the folders of a build anew.
pub(crate) async fn open<'a>(
    spec: &'a BuildSpec,
    options: &'a BuildOptions,
    Opening { build_folders, limits, deadline, network }: Opening<'_>,
    sink: &'a mut dyn BuildSink,
    cancel: CancellationToken,
) -> Result<Workshop<'a>, BuildError> {
    let another =
        || io::Error::new(io::ErrorKind::ResourceBusy, "another build of this app for this environment still runs");
    let turn = leftover_processes::UserLock::take(options.user)
        .ok_or_else(another)
        .map_err(BuildError::server("beginning"))?;
    let deployment = spec.deployment.clone();
    blocking("preparing its folder", {
        let (build_folders, trash, user) = (build_folders.clone(), options.trash.clone(), options.user);
        let without_cache = spec.without_cache;
        move || {
            leftover_processes::end(&deployment, user);
            // The cache counts against the build's bound: a cache that leaves no room would make every later build fail.
            let half = limits.disk_bytes_max / 2;
            let kept: Vec<&Path> = [&build_folders.cache, &build_folders.repository]
                .map(PathBuf::as_path)
                .into_iter()
                .filter(|path| path.exists())
                .collect();
            let size = size::of_folders(&kept, half)?;
            let is_large = size.used_bytes > half || size.too_deep;
            let without_cache = without_cache || is_large;
            build_folders.make(&trash, user, without_cache)
        }
    })
    .await?;
    let cgroup = options.cgroups.create(&format!("build-{}", spec.deployment), group_limits(limits));
    let cgroup = cgroup.map_err(BuildError::server("making its control group"))?;
    let network = network.filter(|_| options.user.is_some());
    let network = network.map(|(network, private)| {
        fairlead_base::file::replace(&build_folders.resolv_conf(), resolv_conf().as_bytes(), 0o644)?;
        network.serve(*private)
    });
    let network = network.transpose().map_err(BuildError::server("making its network"))?;
    Ok(Workshop {
        options,
        deployment: &spec.deployment,
        cache: build_folders.cache.clone(),
        build_folders,
        programs: Vec::new(),
        packed: PathBuf::new(),
        kept: None,
        secrets: Vec::new(),
        variables: spec.variables.clone(),
        excluded: BTreeSet::new(),
        cgroup,
        network,
        limits,
        limit: spec.timeout,
        deadline,
        cancel,
        sink,
        lines: 0,
        turn,
    })
}

/// Ends everything that a build left running and clears its folder.
pub(crate) async fn close(mut workshop: Workshop<'_>) {
    workshop.end_leftovers().await;
    drop(workshop.network.take());
    let Workshop { options, deployment, build_folders, cgroup, turn, .. } = workshop;
    let trash = options.trash.clone();
    let cleaned = blocking("clearing its folder", move || {
        trash.set_aside(&build_folders.folder)?;
        cgroup.map_or(Ok(()), |cgroup| cgroup.remove())
    });
    if let Err(error) = cleaned.await {
        // The artifact is good; the next build of this deployment, or the prune of old ones, clears the rest.
        tracing::warn!(%deployment, %error, "the folder of a build stays");
    }
    drop(turn);
}

/// Ends and clears what a former run of the agent left of builds other than `keep`. Blocking; call it before any build.
pub fn clear_abandoned(options: &BuildOptions, keep: &[DeploymentId]) -> io::Result<()> {
    let kept = |name: &str| keep.iter().any(|deployment| deployment.as_str() == name);
    for entry in fs::read_dir(&options.builds)? {
        let entry = entry?;
        let deployment = entry.file_name().to_str().and_then(|name| DeploymentId::parse(name).ok());
        if let Some(deployment) = deployment.filter(|deployment| !kept(deployment.as_str())) {
            leftover_processes::end(&deployment, owner(&entry.path().join("source")));
            options.trash.set_aside(&entry.path())?;
        }
    }
    packed_tree::clear_trees(&options.artifacts, &options.trash)?;
    for entry in fs::read_dir(&options.artifacts)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".part"));
        if name.is_some_and(|name| !kept(name)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Returns a build's limits: the requested ones, else the agent's own; never more than the server has.
fn limits(asked: BuildLimits, own: BuildLimits) -> BuildLimits {
    let or = |asked: u64, own: u64| if asked == 0 { own } else { asked };
    BuildLimits {
        memory_bytes_max: or(asked.memory_bytes_max, own.memory_bytes_max),
        cpu_millis_max: if asked.cpu_millis_max == 0 { own.cpu_millis_max } else { asked.cpu_millis_max },
        disk_bytes_max: or(asked.disk_bytes_max, own.disk_bytes_max),
    }
}

fn group_limits(limits: BuildLimits) -> fairlead_base::cgroup::GroupLimits {
    fairlead_base::cgroup::GroupLimits {
        memory_bytes: limits.memory_bytes_max,
        cpu_millis: limits.cpu_millis_max,
        ..Default::default()
    }
}

async fn steps(workshop: &mut Workshop<'_>, spec: &BuildSpec) -> Result<BuildOutcome, BuildError> {
    if spec.builder == Builder::Image {
        let mut step = StepReporter::begin(workshop, Step::Build);
        let artifact = container::pull(step.workshop, spec).await;
        step.end(&artifact);
        return Ok(BuildOutcome { commit: None, artifact: artifact? });
    }
    let commit = {
        let mut step = StepReporter::begin(workshop, Step::Clone);
        let commit = match &spec.upload_digest {
            Some(digest) => upload::fetch(step.workshop, digest).await.map(|()| None),
            None => git::clone(step.workshop, spec, LargeFiles::Fetch).await.map(Some),
        };
        step.end(&commit);
        commit?
    };
    if let Some(commit) = &commit {
        workshop.sink.commit(commit);
        workshop.variables.insert("FAIRLEAD_GIT_COMMIT".to_owned(), commit.hash.clone());
        if !commit.branch.is_empty() {
            workshop.variables.insert("FAIRLEAD_GIT_BRANCH".to_owned(), commit.branch.clone());
        }
    }
    let made = {
        let mut step = StepReporter::begin(workshop, Step::Build);
        let made = make(step.workshop, spec).await;
        step.end(&made);
        made?
    };
    let mut step = StepReporter::begin(workshop, Step::Pack);
    let artifact = match made {
        BuildProduct::Folder { below, plan } => pack_up(step.workshop, spec, below, *plan).await,
        BuildProduct::Image { name, plan } => container::save(step.workshop, spec, &name, *plan).await,
    };
    step.end(&artifact);
    Ok(BuildOutcome { commit, artifact: artifact? })
}

/// Result of the step `build` that the next step packs.
enum BuildProduct {
    /// Folder below the source.
    Folder { below: PathBuf, plan: Box<Plan> },
    /// Image in the container engine.
    Image { name: String, plan: Box<Plan> },
}

/// Finds the app, installs and builds it.
async fn make(workshop: &mut Workshop<'_>, spec: &BuildSpec) -> Result<BuildProduct, BuildError> {
    let (below, way) = read_plan(workshop, spec).await?;
    let way = way?;
    let (BuildMethod::Native(plan) | BuildMethod::Dockerfile { plan, .. }) = &way;
    for sentence in plan.sentences.clone() {
        workshop.say(Step::Build, sentence);
    }
    workshop.secrets = secrets::open(workshop.options, spec, spec.secrets.as_ref())?;
    match way {
        BuildMethod::Native(mut plan) => {
            // The plan knows nothing of these, which may need what it leaves behind.
            if !spec.run_commands.is_empty() {
                plan.excluded_folders.clear();
            }
            let below = native::make(workshop, &below, &mut plan, &spec.run_commands).await?;
            Ok(BuildProduct::Folder { below, plan })
        }
        BuildMethod::Dockerfile { file, plan } => {
            let name = container::build(workshop, spec, &below, &file).await?;
            Ok(BuildProduct::Image { name, plan })
        }
    }
}

async fn pack_up(
    workshop: &mut Workshop<'_>,
    spec: &BuildSpec,
    below: PathBuf,
    plan: Plan,
) -> Result<Artifact, BuildError> {
    // Nothing may change a file while it is packed.
    workshop.end_leftovers().await;
    let (artifacts, name, cancel) =
        (workshop.options.artifacts.clone(), spec.deployment.to_string(), workshop.cancel.clone());
    let (trusted, user, trash) =
        (workshop.options.builds.clone(), workshop.options.user, workshop.options.trash.clone());
    let source = &workshop.build_folders.source;
    let below = source.strip_prefix(&trusted).unwrap_or(source).join(below);
    let deadline = workshop.deadline.into_std();
    if plan.start.starts_with(&SITE_COMMAND.map(str::to_owned)) {
        compress_site(workshop, &trusted, &below).await?;
    }
    let excluded = std::mem::take(&mut workshop.excluded);
    let packed = tokio::task::spawn_blocking(move || {
        // No release has taken that of the build before: there is room for one.
        packed_tree::clear_trees(&artifacts, &trash)?;
        let bounds = pack::ArtifactLimits::ARTIFACT;
        let order = pack::PackRequest {
            trusted: &trusted,
            below: &below,
            excluded: &excluded,
            user,
            cancel: &cancel,
            deadline,
            bounds,
        };
        pack::pack(&order, &artifacts, &name)
    });
    let packed = packed.await.unwrap_or_else(|error| Err(io::Error::other(error).into()));
    let packed = packed.map_err(|error| not_packed(error, workshop.limit, "packed the app"))?;
    for left_out in &packed.left_out {
        workshop.say(Step::Pack, format!("Left out: {left_out}."));
    }
    let size = match packed.size_bytes {
        bytes if bytes < 1 << 20 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        bytes => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    };
    let (files, digest) = (packed.files, &packed.digest[..19]);
    native::reuse::save(workshop).await;
    workshop.say(Step::Pack, format!("Packed {files} files into {size}, {digest}."));
    Ok(artifact(packed.digest, packed.size_bytes, fairlead_model::ArtifactKind::Archive, plan))
}

/// Writes compressed files beside those of a site, for the agent's own server.
async fn compress_site(workshop: &mut Workshop<'_>, trusted: &Path, below: &Path) -> Result<(), BuildError> {
    const DOING: &str = "compressed the site";
    let (stop, deadline, user) = (workshop.cancel.child_token(), workshop.deadline.into_std(), workshop.options.user);
    let work = tokio::task::spawn_blocking({
        let (trusted, below, cancel) = (trusted.to_owned(), below.to_owned(), stop.clone());
        move || {
            let (trusted, below, bounds) = (trusted.as_path(), below.as_path(), pack::ArtifactLimits::ARTIFACT);
            compress::compress(&pack::PackRequest {
                trusted,
                below,
                excluded: &pack::NO_EXCLUSIONS,
                user,
                cancel: &cancel,
                deadline,
                bounds,
            })
        }
    });
    let done = workshop.watched(work, &stop, DOING).await?;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error).into()));
    let compress::Compressed { files, left } = done.map_err(|error| not_packed(error, workshop.limit, DOING))?;
    if files > 0 {
        workshop.say(Step::Pack, format!("Compressed {files} files with Brotli, zstd and gzip."));
    }
    if left > 0 {
        workshop.say(
            Step::Pack,
            format!(
                "Left {left} files uncompressed: there are too many, or the build's user can't read or write them."
            ),
        );
    }
    Ok(())
}

/// Turns the error that ended a packing into the error of its build; `doing` follows "it".
pub(crate) fn not_packed(error: PackError, limit: Duration, doing: &'static str) -> BuildError {
    match error {
        PackError::Cancelled => BuildError::Cancelled,
        PackError::Timeout => BuildError::Timeout { limit, doing: doing.to_owned() },
        PackError::Refused(sentence) => BuildError::Command(sentence),
        PackError::Server(source) => BuildError::server("packing")(source),
    }
}

/// Returns the artifact with the manifest of its plan.
pub(crate) fn artifact(digest: String, size_bytes: u64, kind: fairlead_model::ArtifactKind, plan: Plan) -> Artifact {
    Artifact {
        digest,
        size_bytes,
        runtime: plan.runtime,
        command: plan.start,
        kind,
        manifest: fairlead_model::BuildManifest {
            workers: plan.workers,
            toolchains: plan.toolchains,
            sentences: plan.sentences,
            expected_variables: plan.expected_variables,
            health_path: plan.health_path,
            release_command: plan.release_command,
            listens_on_socket: plan.listens_on_socket,
            benchmark_plan: plan.benchmark_plan,
        },
    }
}

/// Reports the start of a step, and its end with the result.
struct StepReporter<'a, 'b> {
    workshop: &'a mut Workshop<'b>,
    status: StepStatus,
}

impl<'a, 'b> StepReporter<'a, 'b> {
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
