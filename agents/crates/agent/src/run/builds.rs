//! Runs the builds of desired state: one at a time, each once. Owns their queue and their status reports; `fairlead_build` does
//! the work.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use fairlead_base::{CancellationToken, clock};
use fairlead_build::{BuildError, BuildOptions, BuildOutcome, BuildSink, TransferError, build, cache_name};
use fairlead_model::{
    AppKey, BuildSpec, BuildStatus, Commit, DeploymentId, DesiredState, LogLine, LogStream, Step, StepState,
    StepStatus, WorkState,
};
use fairlead_runtime::Identities;
use fairlead_secret::{Redactor, SealingKey};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::local_state::LocalState;
use super::logs::DeploymentLine;
use super::upload_retry;

/// Event of the running build.
#[derive(Debug)]
pub(crate) enum BuildEvent {
    /// A step began or ended.
    Step(StepStatus),
    /// The commit is pinned.
    Commit(Commit),
    /// The build ended, with its outcome or its error.
    Finished(Box<Result<BuildOutcome, BuildError>>),
}

#[derive(Debug)]
struct RunningBuild {
    status: BuildStatus,
    cancel: CancellationToken,
    task: JoinHandle<()>,
    /// Removes secrets from the build's messages.
    redactor: Option<Redactor>,
}

/// Queue of builds; at most one runs at a time.
#[derive(Debug)]
pub(crate) struct Builds {
    options: BuildOptions,
    identities: Arc<Identities>,
    sealing: Arc<SealingKey>,
    running: Option<RunningBuild>,
    events: mpsc::UnboundedSender<BuildEvent>,
    lines: mpsc::Sender<DeploymentLine>,
    /// Cleanup of a former run's builds; the first build waits for it.
    clearing: Option<JoinHandle<()>>,
}

impl Builds {
    /// Creates an idle queue and the receiver of the events of its builds.
    pub(crate) fn new(
        options: BuildOptions,
        identities: Arc<Identities>,
        sealing: Arc<SealingKey>,
        lines: mpsc::Sender<DeploymentLine>,
        clearing: JoinHandle<()>,
    ) -> (Self, mpsc::UnboundedReceiver<BuildEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        let clearing = Some(clearing);
        (Self { options, identities, sealing, running: None, events, lines, clearing }, receiver)
    }

    /// Cancels a build that desired state no longer lists and starts the next unfinished one.
    pub(crate) fn reconcile(&mut self, desired: &DesiredState, local: &LocalState) {
        if let Some(running) = &self.running {
            if !desired.builds.contains_key(&running.status.deployment) {
                running.cancel.cancel();
            }
            return;
        }
        let next = desired.builds.values().find(|spec| local.build(&spec.deployment).is_none());
        if let Some(spec) = next {
            let redactor = self.redactor(desired, spec);
            self.running = Some(self.start(spec.clone(), redactor));
        }
    }

    /// Applies one event. Invariant: the outcome is on disk before it is reported.
    pub(crate) fn take(&mut self, event: BuildEvent, local: &mut LocalState) -> io::Result<()> {
        let Some(running) = &mut self.running else { return Ok(()) };
        match event {
            BuildEvent::Step(step) => {
                match running.status.steps.iter_mut().find(|known| known.step == step.step) {
                    Some(known) => *known = step,
                    None => running.status.steps.push(step),
                }
                Ok(())
            }
            BuildEvent::Commit(commit) => {
                running.status.commit = Some(commit);
                Ok(())
            }
            BuildEvent::Finished(outcome) => {
                let Some(finished) = self.running.take() else { return Ok(()) };
                if finished.cancel.is_cancelled() {
                    return Ok(());
                }
                let mut status = concluded(finished.status, *outcome);
                if let (Some(redactor), Some(failure)) = (finished.redactor, &mut status.failure) {
                    failure.message = redactor.text(&failure.message);
                }
                local.save_build(status)
            }
        }
    }

    /// Returns the status of every build in desired state. A queued build counts as running, without steps.
    pub(crate) fn statuses(&self, desired: &DesiredState, local: &LocalState) -> Vec<BuildStatus> {
        let status = |deployment: &DeploymentId| match (&self.running, local.build(deployment)) {
            (_, Some(finished)) => finished.clone(),
            (Some(running), None) if running.status.deployment == *deployment => running.status.clone(),
            (_, None) => started(deployment.clone()),
        };
        desired.builds.keys().map(status).collect()
    }

    /// Cancels the running build; a restarted agent runs it again.
    pub(crate) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.cancel.cancel();
            if let Err(error) = running.task.await {
                tracing::error!(%error, "the build under way did not end in order");
            }
        }
    }

    /// Returns a redactor for the secrets of an app in all its environments, and those of the build itself.
    fn redactor(&self, desired: &DesiredState, build: &BuildSpec) -> Option<Redactor> {
        let specs = desired.apps.values().filter(|spec| spec.key.app == build.app);
        let specs: Vec<_> = specs.map(|spec| (spec, spec.sealed_for())).collect();
        let sealed = specs.iter().flat_map(|(spec, key)| {
            let releases = spec.live.iter().chain(spec.candidate.iter().map(|rollout| &rollout.release));
            releases.filter_map(move |release| Some((key, release.secrets.as_ref()?)))
        });
        let own = build
            .environment
            .as_ref()
            .map(|environment| AppKey { app: build.app.clone(), environment: environment.clone() });
        let of_build = build.secrets.iter().chain(&build.credentials);
        let of_build = of_build.filter_map(|sealed| Some((own.as_ref()?, sealed)));
        fairlead_runtime::redactor(&self.sealing, sealed.chain(of_build))
    }

    fn start(&mut self, spec: BuildSpec, redactor: Option<Redactor>) -> RunningBuild {
        let status = started(spec.deployment.clone());
        let cancel = CancellationToken::new();
        let mut sink = BuildReporter {
            deployment: spec.deployment.clone(),
            events: self.events.clone(),
            lines: self.lines.clone(),
            redactor: redactor.clone(),
            lost: BTreeMap::new(),
            done: None,
        };
        let (events, token, mut options) = (self.events.clone(), cancel.clone(), self.options.clone());
        let log_redactor = redactor.clone();
        let user = self.identities.user_for(&format!("build/{}", cache_name(&spec.app, spec.environment.as_ref())));
        let clearing = self.clearing.take();
        let task = tokio::spawn(async move {
            if let Some(clearing) = clearing
                && let Err(error) = clearing.await
            {
                tracing::error!(%error, "files and processes of former builds could not be cleared");
            }
            let outcome = match user {
                Ok(user) => {
                    options.user = user;
                    options.redactor = log_redactor;
                    let outcome = build(&spec, &options, &mut sink, token.clone()).await;
                    if let Ok(made) = &outcome {
                        hand_over(made, &options, &mut sink, &token).await;
                    }
                    outcome
                }
                Err(source) => Err(BuildError::Server { what: "finding a user for the build", source }),
            };
            sink.report_lost_lines();
            sink.end_step(clock::unix_ms());
            if events.send(BuildEvent::Finished(Box::new(outcome))).is_err() {
                tracing::debug!("a build ended after the agent had");
            }
        });
        RunningBuild { status, cancel, task, redactor }
    }
}

/// Uploads the artifact to the control plane for the app's other servers. A failed upload does not fail the build.
async fn hand_over(made: &BuildOutcome, options: &BuildOptions, sink: &mut BuildReporter, cancel: &CancellationToken) {
    let digest = &made.artifact.digest;
    let (Some(store), Some(path)) = (&options.store, fairlead_build::artifact_path(&options.artifacts, digest)) else {
        return;
    };
    let text = match store.send(digest, &path, &sink.deployment, cancel).await {
        Ok(()) => "Artifact stored.".to_owned(),
        Err(TransferError::Cancelled) => return,
        Err(error) if error.is_passing() => {
            if let Err(error) = upload_retry::note(&options.artifacts, digest, &sink.deployment) {
                tracing::error!(%error, "an artifact that could not be sent can't be noted: it is not tried again");
            }
            // A control plane without an artifact store gives no transfer token.
            if matches!(error, TransferError::Unlinked) {
                return;
            }
            format!("The artifact could not be sent to the control plane yet ({error}). It is tried again.")
        }
        Err(error) => {
            format!("The artifact could not be sent to the control plane ({error}); other servers can't fetch it.")
        }
    };
    sink.line(LogLine { unix_ms: clock::unix_ms(), step: Step::Pack, stream: LogStream::System, text });
}

fn started(deployment: DeploymentId) -> BuildStatus {
    BuildStatus {
        deployment,
        state: WorkState::Running,
        steps: Vec::new(),
        failure: None,
        commit: None,
        artifact: None,
    }
}

fn concluded(mut status: BuildStatus, outcome: Result<BuildOutcome, BuildError>) -> BuildStatus {
    match outcome {
        Ok(outcome) => {
            status.state = WorkState::Succeeded;
            status.commit = outcome.commit;
            status.artifact = Some(outcome.artifact);
        }
        Err(error) => {
            status.state = WorkState::Failed;
            status.failure = Some(error.failure());
            let now = clock::unix_ms();
            for step in status.steps.iter_mut().filter(|step| step.state == StepState::Running) {
                step.state = StepState::Failed;
                step.finished_unix_ms = now;
            }
        }
    }
    status
}

/// Receives a build's lines, steps and commit. Invariant: lines never block the build; lines beyond the queue are dropped, and
/// their count is logged.
struct BuildReporter {
    deployment: DeploymentId,
    events: mpsc::UnboundedSender<BuildEvent>,
    lines: mpsc::Sender<DeploymentLine>,
    redactor: Option<Redactor>,
    lost: BTreeMap<&'static str, (Step, u64)>,
    /// Finished step, held back until the next one begins or the build ends. Work between two steps, such as the upload of the
    /// artifact, belongs to the first.
    done: Option<StepStatus>,
}

impl BuildReporter {
    fn end_step(&mut self, unix_ms: u64) {
        if let Some(mut step) = self.done.take() {
            step.finished_unix_ms = step.finished_unix_ms.max(unix_ms);
            self.send_event(BuildEvent::Step(step));
        }
    }

    fn offer(&mut self, mut line: LogLine) {
        if let Some(redactor) = &self.redactor {
            line.text = redactor.text(&line.text);
        }
        let step = line.step;
        if self.lines.try_send((self.deployment.clone(), line)).is_err() {
            self.lost.entry(step.name()).or_insert((step, 0)).1 += 1;
        }
    }

    fn report_lost_lines(&mut self) {
        for (step, count) in std::mem::take(&mut self.lost).into_values() {
            let text = format!("{count} lines came faster than they could be kept and were left out.");
            let line = LogLine { unix_ms: clock::unix_ms(), step, stream: LogStream::System, text };
            if self.lines.try_send((self.deployment.clone(), line)).is_err() {
                tracing::warn!(deployment = %self.deployment, count, "log lines were lost");
            }
        }
    }

    fn send_event(&self, event: BuildEvent) {
        if self.events.send(event).is_err() {
            tracing::debug!("a build spoke after the agent had ended");
        }
    }
}

impl BuildSink for BuildReporter {
    fn line(&mut self, line: LogLine) {
        self.offer(line);
    }

    fn step(&mut self, step: StepStatus) {
        self.report_lost_lines();
        if step.state == StepState::Done {
            self.done = Some(step);
            return;
        }
        self.end_step(step.started_unix_ms);
        self.send_event(BuildEvent::Step(step));
    }

    fn commit(&mut self, commit: &Commit) {
        self.send_event(BuildEvent::Commit(commit.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use base64::Engine;
    use fairlead_base::Folders;
    use fairlead_model::{AppId, EnvironmentId, SealedSecrets};

    use tokio::sync::{Mutex, MutexGuard};

    use super::*;

    /// Serializes the tests: builds of one user are killed together, and every data folder gives its first app the same user.
    static ALONE: Mutex<()> = Mutex::const_new(());

    struct Bench {
        _dir: tempfile::TempDir,
        builds: Builds,
        events: mpsc::UnboundedReceiver<BuildEvent>,
        lines: mpsc::Receiver<DeploymentLine>,
        local: LocalState,
        _alone: MutexGuard<'static, ()>,
    }

    async fn bench() -> Bench {
        let alone = ALONE.lock().await;
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o711)).unwrap();
        let folders = Folders::new(&dir.path().join("data")).unwrap();
        folders.create().unwrap();
        let options = BuildOptions {
            builds: folders.builds(),
            artifacts: folders.artifacts(),
            caches: folders.caches(),
            trash: fairlead_base::Trash::new(&folders),
            user: None,
            program: std::env::current_exe().unwrap(),
            path: std::env::var_os("PATH").unwrap(),
            environment: BTreeMap::new(),
            limits: fairlead_build::usual_limits(0),
            cgroups: fairlead_base::cgroup::Cgroups::off("a test"),
            network: None,
            toolchains: None,
            engine: None,
            image_owner: String::new(),
            store: None,
            sealing: None,
            redactor: None,
        };
        let identities = Arc::new(Identities::open(&folders).unwrap());
        let (sender, lines) = mpsc::channel(1024);
        let sealing = Arc::new(SealingKey::from_bytes(&(1..=32).collect::<Vec<u8>>()).unwrap());
        let (builds, events) = Builds::new(options, identities, sealing, sender, tokio::spawn(async {}));
        Bench {
            _alone: alone,
            _dir: dir,
            builds,
            events,
            lines,
            local: LocalState::open(folders.local_state()).unwrap(),
        }
    }

    /// Two builds of a repository without a server: port 1 is closed.
    fn desired() -> DesiredState {
        let mut state = super::super::empty_state();
        for id in ["dep_1", "dep_2"] {
            let deployment = DeploymentId::parse(id).unwrap();
            let spec = BuildSpec {
                deployment: deployment.clone(),
                app: AppId::parse("app_1").unwrap(),
                repository_url: "http://127.0.0.1:1/nothing.git".into(),
                git_ref: "main".into(),
                root_folder: String::new(),
                timeout: Duration::from_secs(60),
                environment: None,
                builder: fairlead_model::Builder::Detected,
                overrides: fairlead_model::BuildOverrides::default(),
                image: String::new(),
                upload_digest: None,
                without_cache: false,
                limits: fairlead_model::BuildLimits::default(),
                secrets: None,
                credentials: None,
                variables: BTreeMap::new(),
                run_commands: Vec::new(),
            };
            state.builds.insert(deployment, spec);
        }
        state
    }

    async fn until_finished(bench: &mut Bench) {
        loop {
            let event = bench.events.recv().await.unwrap();
            let finished = matches!(event, BuildEvent::Finished(_));
            bench.builds.take(event, &mut bench.local).unwrap();
            if finished {
                return;
            }
        }
    }

    #[tokio::test]
    async fn builds_run_one_at_a_time_and_once_and_their_failure_is_saved() {
        let (mut bench, state) = (bench().await, desired());
        bench.builds.reconcile(&state, &bench.local);
        bench.builds.reconcile(&state, &bench.local);
        let waiting = bench.builds.statuses(&state, &bench.local);
        assert!(waiting.iter().all(|status| status.state == WorkState::Running), "one runs, one waits its turn");
        until_finished(&mut bench).await;
        bench.builds.reconcile(&state, &bench.local);
        until_finished(&mut bench).await;
        bench.builds.reconcile(&state, &bench.local);
        assert!(bench.builds.running.is_none(), "nothing is done twice");
        for status in bench.builds.statuses(&state, &bench.local) {
            assert_eq!(status.state, WorkState::Failed);
            assert_eq!(status.failure.unwrap().code, "build.clone_failed");
            assert!(status.steps.iter().all(|step| step.state != StepState::Running));
        }
        assert!(bench.lines.try_recv().is_ok(), "the log tells what was tried");
    }

    /// The control plane's library sealed these secrets (the contract's fixture). The branch here equals one of them.
    #[tokio::test]
    async fn secrets_are_redacted_in_the_log_and_failure_of_a_build() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures/sealing.json");
        let fixture: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let sealed = base64::engine::general_purpose::STANDARD.decode(fixture["sealed"].as_str().unwrap()).unwrap();
        let key = AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        let redactor = |sealed| {
            fairlead_runtime::redactor(
                &SealingKey::from_bytes(&(1..=32).collect::<Vec<u8>>()).unwrap(),
                [(&key, &sealed)],
            )
        };
        let (mut bench, secret) = (bench().await, "correct-horse-battery-staple");
        let mut sink = BuildReporter {
            deployment: DeploymentId::parse("dep_1").unwrap(),
            events: bench.builds.events.clone(),
            lines: bench.builds.lines.clone(),
            redactor: redactor(SealedSecrets { sealed, version: "v1".into() }),
            lost: BTreeMap::new(),
            done: None,
        };
        for shown in [secret, "correct-\u{1b}[31mhorse\u{1b}[0m-battery-staple"] {
            let text = format!("cloning with {shown}");
            sink.line(LogLine { unix_ms: 1, step: Step::Clone, stream: LogStream::Stderr, text });
            assert_eq!(bench.lines.recv().await.unwrap().1.text, "cloning with [redacted]");
        }
        let mut running = bench.builds.start(desired().builds.into_values().next().unwrap(), sink.redactor.clone());
        running.task.abort();
        running.status.steps.clear();
        bench.builds.running = Some(running);
        let failed = BuildError::Server { what: "a step", source: io::Error::other(secret) };
        bench.builds.take(BuildEvent::Finished(Box::new(Err(failed))), &mut bench.local).unwrap();
        let failure = bench.local.build(&DeploymentId::parse("dep_1").unwrap()).unwrap().failure.clone().unwrap();
        assert!(!failure.message.contains(secret), "{}", failure.message);
    }

    #[tokio::test]
    async fn an_unwanted_build_is_cancelled_and_leaves_no_outcome() {
        let (mut bench, state) = (bench().await, desired());
        bench.builds.reconcile(&state, &bench.local);
        bench.builds.reconcile(&super::super::empty_state(), &bench.local);
        until_finished(&mut bench).await;
        assert!(state.builds.keys().all(|deployment| bench.local.build(deployment).is_none()));
    }

    #[tokio::test]
    async fn a_step_lasts_until_the_next_one_begins_or_the_build_is_over() {
        let (events, mut told) = mpsc::unbounded_channel();
        let (deployment, lost) = (DeploymentId::parse("dep_1").unwrap(), BTreeMap::new());
        let mut sink =
            BuildReporter { deployment, events, lines: mpsc::channel(1).0, redactor: None, lost, done: None };
        let status = |step, state, started_unix_ms, finished_unix_ms| StepStatus {
            step,
            state,
            started_unix_ms,
            finished_unix_ms,
        };
        sink.step(status(Step::Build, StepState::Running, 10, 0));
        sink.step(status(Step::Build, StepState::Done, 10, 20));
        sink.step(status(Step::Pack, StepState::Running, 25, 0));
        sink.step(status(Step::Pack, StepState::Done, 25, 30));
        // The upload of the artifact takes this time.
        sink.end_step(90);
        let mut next = || match told.try_recv() {
            Ok(BuildEvent::Step(step)) => step,
            other => panic!("{other:?}"),
        };
        assert_eq!(next(), status(Step::Build, StepState::Running, 10, 0));
        assert_eq!(next(), status(Step::Build, StepState::Done, 10, 25));
        assert_eq!(next(), status(Step::Pack, StepState::Running, 25, 0));
        assert_eq!(next(), status(Step::Pack, StepState::Done, 25, 90));
    }
}
