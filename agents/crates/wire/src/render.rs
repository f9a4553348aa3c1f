//! Encoding of the agent's reports and log chunks as messages.

use fairlead_model as model;

use crate::agent;
use crate::benchmark;
use crate::volume_task::volume_task_status;

/// Contents of a report.
#[derive(Debug, Default)]
pub struct ReportParts<'a> {
    /// Newest applied state; zero if there is none.
    pub applied: model::Version,
    /// Reason why the newest state was rejected, as (code, sentence).
    pub refused: Option<(&'a str, String)>,
    /// All instances of this server.
    pub instances: Vec<model::InstanceStatus>,
    /// Rollouts of the candidates in desired state.
    pub rollouts: Vec<model::RolloutStatus>,
    /// Builds in desired state.
    pub builds: Vec<model::BuildStatus>,
    /// Benchmark runs in desired state.
    pub benchmarks: Vec<model::BenchmarkStatus>,
    /// Orders of certificates in desired state.
    pub certificates: Vec<model::CertificateStatus>,
    /// Tasks on volumes in desired state.
    pub volume_tasks: Vec<model::VolumeTaskStatus>,
    /// Volumes and their size in bytes.
    pub volumes: Vec<(model::VolumeKey, u64)>,
    /// Disk usage, once it was measured.
    pub disk: Option<agent::DiskStatus>,
    /// Status of the agent's own program, once it is known.
    pub agent: Option<model::AgentStatus>,
    /// Status of the firewall of apps, if they have networks of their own.
    pub network: Option<agent::NetworkStatus>,
    /// Status of an agent that removes itself.
    pub uninstall: Option<agent::UninstallStatus>,
}

/// Encodes a report; the link assigns its `report_id`.
pub fn report(parts: ReportParts<'_>) -> agent::Report {
    agent::Report {
        report_id: 0,
        applied: Some(version(parts.applied)),
        refused: parts.refused.map(|(code, message)| agent::LinkError { code: code.into(), message, retryable: false }),
        instances: parts.instances.into_iter().map(instance).collect(),
        rollouts: parts.rollouts.into_iter().map(rollout).collect(),
        builds: parts.builds.into_iter().map(build).collect(),
        benchmarks: parts.benchmarks.into_iter().map(benchmark::status).collect(),
        volumes: parts.volumes.into_iter().map(volume).collect(),
        disk: parts.disk,
        agent: parts.agent.map(agent_status),
        network: parts.network,
        certificates: parts.certificates.into_iter().map(certificate).collect(),
        volume_tasks: parts.volume_tasks.into_iter().map(volume_task_status).collect(),
        uninstall: parts.uninstall,
    }
}

fn certificate(status: model::CertificateStatus) -> agent::CertificateStatus {
    agent::CertificateStatus {
        certificate_id: status.id.to_string(),
        attempt: status.attempt,
        state: work(status.state),
        step: status.step.name().into(),
        failure: status.failure.map(failure),
        chain_der: status.chain_der,
        retry_after_unix_ms: status.retry_after_unix_ms,
        renew_unix_ms: status.renew_unix_ms,
        proofs: status.proofs.into_iter().map(proof).collect(),
    }
}

fn proof(proof: model::AcmeProof) -> agent::AcmeProof {
    agent::AcmeProof { host: proof.host, value: proof.value }
}

fn agent_status(status: model::AgentStatus) -> agent::AgentStatus {
    let upgrade = status.upgrade.map(|upgrade| agent::UpgradeStatus {
        attempt: upgrade.attempt,
        state: work(upgrade.state),
        step: upgrade.step.name().into(),
        failure: upgrade.failure.map(failure),
    });
    agent::AgentStatus { digest: status.digest, upgrade }
}

fn volume((volume, used_bytes): (model::VolumeKey, u64)) -> agent::VolumeStatus {
    let key = agent::VolumeKey {
        app_id: volume.key.app.to_string(),
        environment_id: volume.key.environment.to_string(),
        name: volume.name,
    };
    agent::VolumeStatus { key: Some(key), used_bytes }
}

/// Encodes consecutive lines of a deployment's log; `first_line` counts from 0.
pub fn log_chunk(
    deployment: &model::DeploymentId,
    first_line: u64,
    lines: impl IntoIterator<Item = model::LogLine>,
) -> agent::LogChunk {
    let line = |line: model::LogLine| agent::LogLine {
        unix_ms: line.unix_ms,
        step: line.step.name().into(),
        stream: match line.stream {
            model::LogStream::System => agent::LogStream::System,
            model::LogStream::Stdout => agent::LogStream::Stdout,
            model::LogStream::Stderr => agent::LogStream::Stderr,
        }
        .into(),
        text: line.text,
    };
    agent::LogChunk { deployment_id: deployment.to_string(), first_line, lines: lines.into_iter().map(line).collect() }
}

/// Encodes a version of desired state.
pub fn version(version: model::Version) -> agent::Version {
    agent::Version { epoch: version.epoch, number: version.number }
}

fn instance(status: model::InstanceStatus) -> agent::InstanceStatus {
    let state = match status.state {
        model::InstanceState::Starting => agent::InstanceState::Starting,
        model::InstanceState::Healthy => agent::InstanceState::Healthy,
        model::InstanceState::Unhealthy => agent::InstanceState::Unhealthy,
        model::InstanceState::Draining => agent::InstanceState::Draining,
        model::InstanceState::Stopped => agent::InstanceState::Stopped,
        model::InstanceState::Crashed => agent::InstanceState::Crashed,
        model::InstanceState::CrashLooping => agent::InstanceState::CrashLooping,
        model::InstanceState::Asleep => agent::InstanceState::Asleep,
    };
    agent::InstanceStatus {
        instance_id: status.id.to_string(),
        app_id: status.key.app.to_string(),
        environment_id: status.key.environment.to_string(),
        release_id: status.release.to_string(),
        state: state.into(),
        pid: status.pid,
        port: status.port.into(),
        restarts: status.restarts,
        started_unix_ms: status.started_unix_ms,
        detail: status.detail,
        process: status.process,
        cpu_millis: status.cpu_millis,
        memory_bytes: status.memory_bytes,
    }
}

fn rollout(status: model::RolloutStatus) -> agent::RolloutStatus {
    agent::RolloutStatus {
        deployment_id: status.deployment.to_string(),
        state: work(status.state),
        steps: status.steps.into_iter().map(step).collect(),
        failure: status.failure.map(failure),
        benchmark_rows: status.benchmark_rows.into_iter().map(benchmark::row).collect(),
        live_benchmark_rows: status.live_benchmark_rows.into_iter().map(benchmark::row).collect(),
    }
}

fn build(status: model::BuildStatus) -> agent::BuildStatus {
    agent::BuildStatus {
        deployment_id: status.deployment.to_string(),
        state: work(status.state),
        steps: status.steps.into_iter().map(step).collect(),
        failure: status.failure.map(failure),
        commit: status.commit.map(|commit| agent::Commit {
            hash: commit.hash,
            subject: commit.subject,
            author: commit.author,
            committed_unix_ms: commit.committed_unix_ms,
            branch: commit.branch,
        }),
        artifact: status.artifact.map(artifact),
    }
}

fn artifact(artifact: model::Artifact) -> agent::Artifact {
    let kind = match artifact.kind {
        model::ArtifactKind::Archive => agent::ArtifactKind::Unspecified,
        model::ArtifactKind::Image => agent::ArtifactKind::Image,
    };
    let process = |process: model::ProcessSpec| agent::ProcessSpec {
        name: process.name,
        command: process.command,
        instances: process.instances,
        memory_bytes_max: process.memory_bytes_max,
        cpu_millis_max: process.cpu_millis_max,
        stays_awake: process.stays_awake,
    };
    let manifest = artifact.manifest;
    agent::Artifact {
        digest: artifact.digest,
        size_bytes: artifact.size_bytes,
        runtime: artifact.runtime,
        command: artifact.command,
        kind: kind.into(),
        workers: manifest.workers.into_iter().map(process).collect(),
        toolchains: manifest.toolchains,
        sentences: manifest.sentences,
        expected_variables: manifest.expected_variables,
        health_path: manifest.health_path,
        release_command: manifest.release_command,
        listens_on_socket: manifest.listens_on_socket,
        benchmark_plan: manifest.benchmark_plan,
    }
}

fn step(status: model::StepStatus) -> agent::StepStatus {
    let state = match status.state {
        model::StepState::Running => agent::StepState::Running,
        model::StepState::Done => agent::StepState::Done,
        model::StepState::Failed => agent::StepState::Failed,
        model::StepState::Skipped => agent::StepState::Skipped,
    };
    agent::StepStatus {
        name: status.step.name().into(),
        state: state.into(),
        started_unix_ms: status.started_unix_ms,
        finished_unix_ms: status.finished_unix_ms,
    }
}

pub(crate) fn failure(failure: model::Failure) -> agent::Failure {
    agent::Failure { code: failure.code, message: failure.message }
}

pub(crate) fn work(state: model::WorkState) -> i32 {
    match state {
        model::WorkState::Running => agent::WorkState::Running,
        model::WorkState::Succeeded => agent::WorkState::Succeeded,
        model::WorkState::Failed => agent::WorkState::Failed,
        model::WorkState::Cancelled => agent::WorkState::Cancelled,
    }
    .into()
}

pub(crate) fn saturate(value: u128) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
