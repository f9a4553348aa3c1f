//! `local.json`: outcomes of builds, benchmarks, certificate orders and tasks on volumes, and the rows of a running benchmark,
//! so that a restart does not repeat them. Keeps only what desired state lists; the runtime stores releases and promotions.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fairlead_base::{StateFileError, file, state_file};
use fairlead_model::{
    BenchmarkStatus, BuildStatus, CertificateId, CertificateStatus, DeploymentId, DesiredState, RunId, VolumeTaskId,
    VolumeTaskStatus, WorkState,
};
use serde::{Deserialize, Serialize};

/// Outcomes by deployment, by benchmark run and by certificate.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishedWork {
    builds: BTreeMap<DeploymentId, BuildStatus>,
    benchmarks: BTreeMap<RunId, BenchmarkStatus>,
    /// Outcome of the newest order.
    #[serde(default)]
    certificates: BTreeMap<CertificateId, CertificateStatus>,
    #[serde(default)]
    volume_tasks: BTreeMap<VolumeTaskId, VolumeTaskStatus>,
}

impl FinishedWork {
    fn count(&self) -> usize {
        self.builds.len() + self.benchmarks.len() + self.certificates.len() + self.volume_tasks.len()
    }
}

/// The file and its contents.
#[derive(Debug)]
pub(crate) struct LocalState {
    path: PathBuf,
    contents: FinishedWork,
}

impl LocalState {
    /// Reads the file. Renames a damaged one: repeating its work is safe.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let contents = match Self::read(&path) {
            Ok(contents) => contents.unwrap_or_default(),
            Err(StateFileError::Io { source, .. }) => return Err(source),
            Err(StateFileError::Damaged { reason, .. }) => {
                let aside = state_file::set_aside(&path)?;
                tracing::error!(reason, aside = %aside.display(), "local.json is damaged and was set aside");
                FinishedWork::default()
            }
        };
        Ok(Self { path, contents })
    }

    pub(crate) fn read(path: &Path) -> Result<Option<FinishedWork>, StateFileError> {
        state_file::read(path, |bytes| serde_json::from_slice(bytes).map_err(|error| error.to_string()))
    }

    /// Returns the outcome of a build, if it is finished.
    pub(crate) fn build(&self, deployment: &DeploymentId) -> Option<&BuildStatus> {
        self.contents.builds.get(deployment)
    }

    /// Returns the outcome of a benchmark run, if it is finished.
    pub(crate) fn benchmark(&self, run: &RunId) -> Option<&BenchmarkStatus> {
        self.contents.benchmarks.get(run).filter(|status| status.state != WorkState::Running)
    }

    /// Returns the progress of a benchmark run that is not finished. A restarted agent continues after its last row.
    pub(crate) fn benchmark_progress(&self, run: &RunId) -> Option<&BenchmarkStatus> {
        self.contents.benchmarks.get(run).filter(|status| status.state == WorkState::Running)
    }

    /// Returns the outcome of an order, if it is finished.
    pub(crate) fn certificate(&self, certificate: &CertificateId, attempt: u32) -> Option<&CertificateStatus> {
        self.contents.certificates.get(certificate).filter(|status| status.attempt == attempt)
    }

    /// Saves a finished order. Invariant: it is on disk before it is reported.
    pub(crate) fn save_certificate(&mut self, status: CertificateStatus) -> io::Result<()> {
        self.contents.certificates.insert(status.id.clone(), status);
        self.save()
    }

    /// Returns the outcome of a task on a volume, if it is finished.
    pub(crate) fn volume_task(&self, task: &VolumeTaskId) -> Option<&VolumeTaskStatus> {
        self.contents.volume_tasks.get(task)
    }

    /// Saves a finished task on a volume. Invariant: it is on disk before it is reported.
    pub(crate) fn save_volume_task(&mut self, status: VolumeTaskStatus) -> io::Result<()> {
        self.contents.volume_tasks.insert(status.id.clone(), status);
        self.save()
    }

    /// Saves a finished build. Invariant: it is on disk before it is reported.
    pub(crate) fn save_build(&mut self, status: BuildStatus) -> io::Result<()> {
        self.contents.builds.insert(status.deployment.clone(), status);
        self.save()
    }

    /// Saves the outcome or the progress of a benchmark run. Invariant: it is on disk before it is reported.
    pub(crate) fn save_benchmark(&mut self, status: BenchmarkStatus) -> io::Result<()> {
        self.contents.benchmarks.insert(status.run.clone(), status);
        self.save()
    }

    /// Removes outcomes that desired state no longer lists.
    pub(crate) fn retain(&mut self, desired: &DesiredState) -> io::Result<()> {
        let before = self.contents.count();
        self.contents.builds.retain(|deployment, _| desired.builds.contains_key(deployment));
        self.contents.benchmarks.retain(|run, _| desired.benchmarks.iter().any(|plan| plan.run == *run));
        self.contents
            .certificates
            .retain(|id, _| desired.certificates.iter().any(|spec| spec.id == *id && spec.order.is_some()));
        self.contents.volume_tasks.retain(|id, _| desired.volume_tasks.iter().any(|task| task.id == *id));
        if self.contents.count() == before {
            return Ok(());
        }
        self.save()
    }

    fn save(&self) -> io::Result<()> {
        file::replace(&self.path, &serde_json::to_vec(&self.contents)?, 0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(deployment: &DeploymentId) -> BuildStatus {
        BuildStatus {
            deployment: deployment.clone(),
            state: WorkState::Failed,
            steps: Vec::new(),
            failure: None,
            commit: None,
            artifact: None,
        }
    }

    #[test]
    fn a_finished_build_is_remembered_until_desired_state_drops_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("local.json");
        let deployment = DeploymentId::parse("dep_1").unwrap();
        LocalState::open(path.clone()).unwrap().save_build(finished(&deployment)).unwrap();
        let mut again = LocalState::open(path.clone()).unwrap();
        assert_eq!(again.build(&deployment), Some(&finished(&deployment)));
        again.retain(&super::super::empty_state()).unwrap();
        assert!(LocalState::open(path).unwrap().build(&deployment).is_none());
    }

    #[test]
    fn a_benchmark_that_was_interrupted_has_progress_and_no_outcome() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("local.json");
        let run = RunId::parse("run_1").unwrap();
        let status = |state| BenchmarkStatus {
            run: run.clone(),
            state,
            rows: Vec::new(),
            rows_total: 4,
            failure: None,
            programs: Vec::new(),
            events_due: 1,
            rows_ready: 0,
            https_port: 0,
        };
        LocalState::open(path.clone()).unwrap().save_benchmark(status(WorkState::Running)).unwrap();
        let mut again = LocalState::open(path).unwrap();
        assert_eq!((again.benchmark(&run), again.benchmark_progress(&run).unwrap().events_due), (None, 1));
        again.save_benchmark(status(WorkState::Succeeded)).unwrap();
        assert!(again.benchmark(&run).is_some() && again.benchmark_progress(&run).is_none());
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_the_agent_starts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("local.json");
        std::fs::write(&path, b"{half").unwrap();
        assert!(LocalState::open(path.clone()).unwrap().contents.builds.is_empty());
        assert!(path.with_extension("json.damaged").exists());
    }
}
