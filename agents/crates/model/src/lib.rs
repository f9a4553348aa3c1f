//! Desired state and status of a server: ids, route table, app spec, and the difference of two
//! states. Only types and pure comparisons: no I/O and no clock.

mod benchmark;
mod benchmark_gate;
mod certificate;
mod diff;
mod id;
mod route_key;
mod run_file;
mod secret;
mod state;
mod status;
mod traffic;
mod volume_task;

/// Messages of traffic policy, generated from `traffic.proto`.
#[allow(missing_docs, clippy::all)]
pub mod message {
    include!("gen/fairlead.traffic.v1.rs");
}

pub use benchmark::{
    BenchmarkLoad, BenchmarkPart, BenchmarkPhase, BenchmarkPlan, BenchmarkProbe, BenchmarkProgram, BenchmarkProtocol,
    BenchmarkRequest, BenchmarkRole, BenchmarkRow, BenchmarkScenario, BenchmarkStage, BenchmarkTarget, LabApp,
    LabServer, LinkCondition, LinkCounters, LinkReport, MachineNoise, NetworkPath, PortCheck, RowOrder,
};
pub use benchmark_gate::{BenchmarkGate, BenchmarkMetric, BenchmarkThreshold, GateProgress, ThresholdBound};
pub use certificate::{
    AcmeAccount, AcmeChallenge, AcmeOrder, AcmeProof, AcmeStep, CertificateSpec, CertificateStatus, IssuedCertificate,
    SealedKey,
};
pub use diff::{StateChange, diff};
pub use id::{
    AcmeAccountId, AppId, AppKey, CertificateId, DeploymentId, EnvironmentId, IdError, InstanceId, ReleaseId, RunId,
    ServerId, VolumeTaskId,
};
pub use route_key::{HOST_BYTES_MAX, RouteError, route_key, wildcard_of};
pub use run_file::RunFile;
pub use secret::{SealedSecrets, Secret, SecretBundle, SecretDelivery};
pub use state::{
    AgentRelease, AppSpec, ArtifactKind, Autoscaling, BuildLimits, BuildOverrides, BuildSpec, Builder, Canary,
    DesiredState, HealthCheck, Hook, ProcessSpec, ReleaseSpec, Rollout, Route, RouteTarget, StateError, Uninstall,
    Version, VolumeKey, VolumeMount,
};
pub use status::{
    AgentStatus, Artifact, BenchmarkStatus, BuildManifest, BuildStatus, Commit, Failure, InstanceState, InstanceStatus,
    LogLine, LogStream, RolloutStatus, Step, StepState, StepStatus, UpgradeStatus, UpgradeStep, WorkState,
};
pub use traffic::*;
pub use volume_task::{VolumeAction, VolumeStep, VolumeTask, VolumeTaskStatus};
