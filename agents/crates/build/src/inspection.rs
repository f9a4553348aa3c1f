//! Inspects a source before its first build: clones it as a build does, plans it, and removes it. Runs nothing of the repository.

use fairlead_base::CancellationToken;
use fairlead_inspect::{BuildMethod, InspectError};
use fairlead_model::{BuildLimits, BuildSpec, Commit, LogLine, StepStatus};
use tokio::time::Instant;

use crate::build::{Opening, close, open};
use crate::build_folders::BuildFolders;
use crate::git::{self, LargeFiles};
use crate::plan_reader::read_plan;
use crate::{BuildError, BuildOptions, BuildSink};

/// Bounds of one inspection: a few MiB do for most repositories, and several run beside the server's apps.
const LIMITS: BuildLimits = BuildLimits { memory_bytes_max: 1 << 30, cpu_millis_max: 1000, disk_bytes_max: 1 << 30 };

/// Result of an inspection.
#[derive(Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Commit that was read.
    pub commit: Commit,
    /// Plan of the build, or the reason why there is none.
    pub plan: Result<BuildMethod, InspectError>,
}

/// Clones a repository and plans its build. `spec.deployment` names the folder alone and `options.user` works for no other
/// inspection or build meanwhile. Nothing is left when it ends, also when it is cancelled.
pub async fn inspect_source(
    spec: &BuildSpec,
    options: &BuildOptions,
    deadline: Instant,
    cancel: CancellationToken,
) -> Result<Inspection, BuildError> {
    let opening =
        Opening { build_folders: BuildFolders::without_cache(options, spec), limits: LIMITS, deadline, network: None };
    let mut sink = Unheard;
    let mut workshop = open(spec, options, opening, &mut sink, cancel).await?;
    let result = async {
        let commit = git::clone(&mut workshop, spec, LargeFiles::Leave).await?;
        workshop.check_size("cloned the repository").await?;
        let (_, plan) = read_plan(&mut workshop, spec).await?;
        Ok(Inspection { commit, plan })
    }
    .await;
    close(workshop).await;
    result
}

/// Sink that discards the log of an inspection.
struct Unheard;

impl BuildSink for Unheard {
    fn line(&mut self, _: LogLine) {}
    fn step(&mut self, _: StepStatus) {}
    fn commit(&mut self, _: &Commit) {}
}
