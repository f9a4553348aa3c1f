//! Inspects sources for the control plane: two at a time, each as a separate user. Invariant: each query ends with an answer,
//! when it is cancelled, or with its connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairlead_base::{CancellationToken, random};
use fairlead_build::{BuildError, BuildOptions, Inspection, inspect_source};
use fairlead_inspect::{BuildMethod, InspectError, Plan, PlanCommand, display_command};
use fairlead_link::InspectRequest;
use fairlead_model::{AppKey, BuildSpec, Commit, DeploymentId};
use fairlead_runtime::Identities;
use fairlead_secret::Redactor;
use fairlead_wire::{agent, inspected_source};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// Maximum number of concurrent inspections: git takes a core and some memory from the server's apps.
const RUNNING_MAX: usize = 2;
/// Maximum number of open queries, including queued ones.
const OPEN_MAX: usize = 8;
/// Maximum time from a query to its answer.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// Bounds of an answer, far below the link's limit for a message.
const LIST_MAX: usize = 50;
const TEXT_BYTES_MAX: usize = 1000;

/// Serves inspection queries until the link ends.
pub(crate) struct Inspections {
    work: Arc<InspectionContext>,
    answers: mpsc::Sender<agent::Inspection>,
    open: HashMap<String, CancellationToken>,
    tasks: JoinSet<()>,
}

/// Parts that all inspections share.
struct InspectionContext {
    options: BuildOptions,
    identities: Arc<Identities>,
    running: Semaphore,
    /// Numbers of the users that are free for an inspection.
    free: Mutex<Vec<usize>>,
    /// True once the folder of builds holds nothing of a former run.
    cleared: watch::Receiver<bool>,
}

impl Inspections {
    pub(crate) fn new(
        options: BuildOptions,
        identities: Arc<Identities>,
        answers: mpsc::Sender<agent::Inspection>,
        cleared: watch::Receiver<bool>,
    ) -> Self {
        let free = Mutex::new((0..RUNNING_MAX).collect());
        let work = InspectionContext { options, identities, running: Semaphore::new(RUNNING_MAX), free, cleared };
        Self { work: Arc::new(work), answers, open: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Serves requests until the link drops its end; returns once no inspection runs.
    pub(crate) async fn run(mut self, mut requests: mpsc::UnboundedReceiver<InspectRequest>) {
        while let Some(request) = requests.recv().await {
            match request {
                InspectRequest::Query(query) => self.open(*query),
                InspectRequest::Cancel(id) => {
                    self.open.remove(&id).inspect(CancellationToken::cancel);
                }
                InspectRequest::CancelAll => self.cancel_all(),
            }
        }
        self.cancel_all();
        self.tasks.join_all().await;
    }

    fn cancel_all(&mut self) {
        self.open.drain().for_each(|(_, cancel)| cancel.cancel());
    }

    fn open(&mut self, query: agent::InspectQuery) {
        while self.tasks.try_join_next().is_some() {}
        let (work, answers, cancel) = (self.work.clone(), self.answers.clone(), CancellationToken::new());
        // A cancelled inspection counts until it has removed its folder.
        let busy = self.tasks.len() >= OPEN_MAX;
        self.open.retain(|_, cancel| !cancel.is_cancelled());
        if let Some(former) = self.open.insert(query.query_id.clone(), cancel.clone()) {
            former.cancel();
        }
        self.tasks.spawn(async move {
            let query_id = query.query_id.clone();
            let answer = if busy { refused(InspectionRefusal::busy()) } else { work.answer(query, &cancel).await };
            if !cancel.is_cancelled() {
                // An error means that the link and thus the client of the query are gone.
                answers.send(agent::Inspection { query_id, ..answer }).await.ok();
                cancel.cancel();
            }
        });
    }
}

impl InspectionContext {
    async fn answer(&self, query: agent::InspectQuery, cancel: &CancellationToken) -> agent::Inspection {
        let spec = *query.source.unwrap_or_default();
        let stand_in = DeploymentId::parse(&format!("dep_{}", random::alphanumeric(20)));
        let spec = stand_in
            .map_err(|error| error.to_string())
            .and_then(|stand_in| inspected_source(spec, &stand_in).map_err(|error| error.to_string()));
        let spec = match spec {
            Ok(spec) => spec,
            Err(error) => return refused(InspectionRefusal::invalid(&error)),
        };
        let limit = spec.timeout.min(TIMEOUT_MAX);
        let mut options = self.options.clone();
        options.redactor = self.redactor(&spec);
        let redactor = options.redactor.clone();
        let answer = match self.inspect(&spec, options, limit, cancel).await {
            Ok(Inspection { commit, plan: Ok(way) }) => {
                agent::Inspection { commit: Some(commit_message(commit)), plan: Some(plan(&way)), ..Default::default() }
            }
            Ok(Inspection { commit, plan: Err(error) }) => without_plan(commit, &error, &spec.root_folder),
            Err(refusal) => refused(refusal),
        };
        redacted(answer, redactor.as_ref())
    }

    async fn inspect(
        &self,
        spec: &BuildSpec,
        mut options: BuildOptions,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Inspection, InspectionRefusal> {
        let deadline = Instant::now() + limit;
        let mut cleared = self.cleared.clone();
        let turn = async {
            // An error means that the agent shuts down.
            cleared.wait_for(|cleared| *cleared).await.map_err(|_| ())?;
            self.running.acquire().await.map_err(|_| ())
        };
        let turn = tokio::select! {
            () = cancel.cancelled() => return Err(BuildError::Cancelled.into()),
            turn = timeout_at(deadline, turn) => turn,
        };
        let Ok(Ok(_permit)) = turn else { return Err(InspectionRefusal::busy()) };
        let user = FreeUser::take(&self.free);
        options.user = self
            .identities
            .user_for(&format!("inspection/{}", user.number))
            .map_err(|source| BuildError::Server { what: "finding a user for the inspection", source })?;
        inspect_source(spec, &options, deadline, cancel.clone())
            .await
            .map_err(|error| InspectionRefusal::of(&error, limit))
    }

    /// Returns a redactor for the source's credentials, which git may repeat in its messages.
    fn redactor(&self, spec: &BuildSpec) -> Option<Redactor> {
        let key = AppKey { app: spec.app.clone(), environment: spec.environment.clone()? };
        let sealing = self.options.sealing.as_ref()?;
        fairlead_runtime::redactor(sealing, spec.credentials.iter().map(|sealed| (&key, sealed)))
    }
}

/// Number of a user, returned to the pool on drop. The pool has as many users as permits.
struct FreeUser<'a> {
    number: usize,
    free: &'a Mutex<Vec<usize>>,
}

impl<'a> FreeUser<'a> {
    fn take(free: &'a Mutex<Vec<usize>>) -> Self {
        let number = free.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        Self { number, free }
    }
}

impl Drop for FreeUser<'_> {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

/// Reason for a missing inspection: a code and a message.
struct InspectionRefusal {
    code: String,
    sentence: String,
}

impl InspectionRefusal {
    fn new(code: &str, sentence: impl Into<String>) -> Self {
        Self { code: code.to_owned(), sentence: sentence.into() }
    }

    fn busy() -> Self {
        Self::new("inspect.busy", "This server is busy inspecting other repositories. Try again in a moment.")
    }

    fn invalid(error: &str) -> Self {
        Self::new("inspect.source_invalid", format!("The source can't be inspected: {error}. Correct it, then retry."))
    }

    /// Uses the messages of a build, except where the limits of an inspection differ.
    fn of(error: &BuildError, limit: Duration) -> Self {
        match error {
            BuildError::Timeout { doing, .. } => Self::new(
                "inspect.timeout",
                format!(
                    "Reading the repository took longer than {} s, while it {doing}. Retry, or create the app: a build has more time.",
                    limit.as_secs()
                ),
            ),
            BuildError::TooLarge { limit_bytes, .. } | BuildError::OutOfMemory { limit_bytes, .. } => Self::new(
                "inspect.too_large",
                format!(
                    "The repository needs more than the {} MiB of an inspection. Create the app: a build may use more.",
                    limit_bytes >> 20
                ),
            ),
            other => {
                let failure = other.failure();
                Self { code: failure.code, sentence: failure.message }
            }
        }
    }
}

impl From<BuildError> for InspectionRefusal {
    fn from(error: BuildError) -> Self {
        Self::of(&error, TIMEOUT_MAX)
    }
}

fn refused(InspectionRefusal { code, sentence }: InspectionRefusal) -> agent::Inspection {
    let failure = agent::Failure { code, message: sentence };
    agent::Inspection { failure: Some(failure), ..agent::Inspection::default() }
}

fn without_plan(commit: Commit, error: &InspectError, root_folder: &str) -> agent::Inspection {
    let app_folders = error.app_folders().iter().map(|folder| match root_folder {
        "" | "." => folder.clone(),
        root => format!("{root}/{folder}"),
    });
    let app_folders = app_folders.map(clip).collect();
    let failure = refused(InspectionRefusal::new(error.code(), error.to_string()));
    agent::Inspection { app_folders, commit: Some(commit_message(commit)), ..failure }
}

fn redacted(mut answer: agent::Inspection, redactor: Option<&Redactor>) -> agent::Inspection {
    if let Some(failure) = &mut answer.failure {
        if let Some(redactor) = redactor {
            failure.message = redactor.text(&failure.message);
        }
        failure.message = clip(std::mem::take(&mut failure.message));
    }
    answer
}

fn commit_message(commit: Commit) -> agent::Commit {
    agent::Commit {
        hash: commit.hash,
        subject: commit.subject,
        author: commit.author,
        committed_unix_ms: commit.committed_unix_ms,
        branch: commit.branch,
    }
}

fn plan(way: &BuildMethod) -> agent::BuildPlan {
    match way {
        BuildMethod::Native(plan) => agent::BuildPlan { builder: agent::Builder::Native.into(), ..fields(plan) },
        BuildMethod::Dockerfile { file, plan } => agent::BuildPlan {
            builder: agent::Builder::Dockerfile.into(),
            dockerfile: clip(file.clone()),
            ..fields(plan)
        },
    }
}

fn fields(plan: &Plan) -> agent::BuildPlan {
    let lines = |tasks: &[PlanCommand]| list(tasks.iter().map(|task| display_command(&task.command)));
    let tools = plan.tools.iter().take(LIST_MAX).map(|want| {
        let (range, source) =
            want.version.as_ref().map(|version| (version.range.clone(), version.source.clone())).unwrap_or_default();
        agent::ToolRequest { tool: want.tool.name().to_owned(), range: clip(range), source: clip(source) }
    });
    let workers = plan.workers.iter().take(LIST_MAX).map(|worker| agent::PlannedWorker {
        name: clip(worker.name.clone()),
        command: clip(display_command(&worker.command)),
        instances: worker.instances,
    });
    agent::BuildPlan {
        framework: clip(plan.framework.clone()),
        runtime: plan.runtime.clone(),
        tools: tools.collect(),
        install_commands: lines(&plan.install),
        build_commands: lines(&plan.build),
        start_command: clip(display_command(&plan.start)),
        output_folders: list(plan.output.iter().cloned()),
        workers: workers.collect(),
        release_command: clip(display_command(&plan.release_command)),
        health_path: clip(plan.health_path.clone()),
        listens_on_socket: plan.listens_on_socket,
        expected_variables: plan.expected_variables.clone(),
        sentences: list(plan.sentences.iter().cloned()),
        ..agent::BuildPlan::default()
    }
}

fn list(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.take(LIST_MAX).map(clip).collect()
}

/// Clips a text, since a repository's names and commands have any length.
fn clip(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

/// Runs the cleanup and signals when the folder of builds holds nothing of a former run.
pub(crate) fn cleared_after(
    clearing: impl Future<Output = ()> + Send + 'static,
) -> (tokio::task::JoinHandle<()>, watch::Receiver<bool>) {
    let (end, cleared) = watch::channel(false);
    let task = tokio::spawn(async move {
        clearing.await;
        end.send_replace(true);
    });
    (task, cleared)
}

#[cfg(test)]
#[path = "inspections_tests.rs"]
mod tests;
