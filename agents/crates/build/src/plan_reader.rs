//! Plans a build in a separate process that reads the source, so no file can crash the agent.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use fairlead_inspect::{BuildMethod, InspectError, OwnedPlanRequest, read_answer};
use fairlead_model::{BuildSpec, Step};
use tokio::time::Instant;

use crate::as_user::as_user;
use crate::command::{CommandSpec, Workshop};
use crate::{BuildError, pack};

/// Limit of the reading, far above what the largest repositories take.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Maximum size of an answer; a plan has a few KiB.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Name of the reading in sentences that begin with "it".
const DOING: &str = "read the files of the repository";

/// Reason why the process that reads a source gave no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// It crashed, or was ended by the server.
    #[error("the process that reads them ended with {0}")]
    Ended(String),
    /// It took longer than it may.
    #[error("reading them took longer than {} s", .0.as_secs())]
    Late(Duration),
    /// The plan is larger than it may be.
    #[error("the plan has more than {} KiB", .0 >> 10)]
    TooLarge(usize),
    /// It wrote something else than a plan.
    #[error("the process that reads them wrote no plan ({0})")]
    NoPlan(String),
}

/// Plans the app in the source; returns its folder below the source and its plan, or the reason why there is none.
pub(crate) async fn read_plan(
    workshop: &mut Workshop<'_>,
    spec: &BuildSpec,
) -> Result<(PathBuf, Result<BuildMethod, InspectError>), BuildError> {
    let below = folder(workshop, spec).await?;
    let engine = match &workshop.options.engine {
        Some(engine) => engine.answers().await,
        None => false,
    };
    let request = OwnedPlanRequest {
        builder: spec.builder,
        overrides: spec.overrides.clone(),
        engine,
        root_folder: below.to_string_lossy().into_owned(),
        shown: shown(spec),
    };
    let request =
        serde_json::to_string(&request).map_err(|error| BuildError::server("asking for a plan")(error.into()))?;
    let answer = read(workshop, &request).await?;
    let plan = read_answer(&answer, &below).map_err(|error| ReadingError::NoPlan(error.to_string()))?;
    Ok((below, plan))
}

/// Runs the process that reads the source; returns what it wrote.
async fn read(workshop: &mut Workshop<'_>, request: &str) -> Result<Vec<u8>, BuildError> {
    let source = workshop.build_folders.source.clone();
    let arguments = ["inspect", "--request", request, "."].map(OsStr::new);
    let order = CommandSpec {
        step: Step::Build,
        program: "fairlead-agent",
        arguments: &arguments,
        folder: &source,
        environment: &[],
        capture: true,
        secrets: false,
    };
    let until = workshop.deadline;
    workshop.deadline = until.min(Instant::now() + TIME_LIMIT);
    let ran = workshop.run_agent(&order).await;
    workshop.deadline = until;
    let doing = DOING.to_owned();
    let outcome = ran.map_err(|error| match error {
        BuildError::Timeout { .. } if Instant::now() < until => ReadingError::Late(TIME_LIMIT).into(),
        BuildError::Timeout { limit, .. } => BuildError::Timeout { limit, doing },
        BuildError::OutOfMemory { limit_bytes, .. } => BuildError::OutOfMemory { limit_bytes, doing },
        BuildError::TooLarge { limit_bytes, .. } => BuildError::TooLarge { limit_bytes, doing },
        other => other,
    })?;
    if !outcome.status.success() {
        return Err(ReadingError::Ended(end_of(outcome.status)).into());
    }
    if outcome.captured.len() > ANSWER_BYTES_MAX {
        return Err(ReadingError::TooLarge(ANSWER_BYTES_MAX).into());
    }
    Ok(outcome.captured)
}

fn end_of(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// Finds the app's folder below the source.
async fn folder(workshop: &Workshop<'_>, spec: &BuildSpec) -> Result<PathBuf, BuildError> {
    let (source, user, root) = (workshop.build_folders.source.clone(), workshop.options.user, spec.root_folder.clone());
    // A repository's links may lead anywhere: they show it nothing that it could not read itself.
    let found = tokio::task::spawn_blocking(move || as_user(user, || pack::inside(&source, &root))).await;
    let found = found.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    found.map_err(BuildError::server("looking for the root folder"))?.ok_or_else(|| {
        let whole = if spec.upload_digest.is_some() { "The upload" } else { "The repository" };
        BuildError::RootFolderMissing(format!(
            "{whole} has no folder `{}`. Change the root folder in the settings of the app.",
            spec.root_folder
        ))
    })
}

/// Names the app's folder for people.
fn shown(spec: &BuildSpec) -> String {
    let whole = if spec.upload_digest.is_some() { "the upload" } else { "the repository" };
    match spec.root_folder.as_str() {
        "" | "." => whole.to_owned(),
        root => format!("the folder {root} of {whole}"),
    }
}
