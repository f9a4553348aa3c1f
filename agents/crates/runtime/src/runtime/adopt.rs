//! Adoption after an agent restart: running instances are adopted, and remains of the others are removed.

use std::net::SocketAddr;
use std::time::Duration;

use fairlead_model::{DeploymentId, InstanceId};
use tokio::sync::mpsc;

use super::driver::RuntimeDriver;
use super::{RolloutEvent, RuntimeError, files};
use crate::container;
use crate::instance::{InstanceFolder, InstanceSpec, WEB};
use crate::rollout::{AdoptedHook, AdoptedInstance, HookKind, HookOutcome};
use crate::supervisor::{AttachError, ShimConnection};

impl RuntimeDriver {
    /// Finds every instance by its folder and its shim by its socket.
    pub(super) async fn adopt(&mut self) -> Result<(), RuntimeError> {
        let (trash, releases) = (&self.options.trash, self.options.folders.releases());
        if let Err(error) = files::set_aside_partial_releases(trash, &releases) {
            tracing::warn!(%error, "what a crash left of a release could not be removed");
        }
        let path = self.options.folders.instances();
        let entries = std::fs::read_dir(&path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|source| RuntimeError::Instances { path, source })?;
        for entry in entries {
            let Some(id) = entry.file_name().to_str().and_then(|name| InstanceId::parse(name).ok()) else { continue };
            let folder = InstanceFolder::new(entry.path());
            let spec = match folder.spec() {
                Ok(Some(spec)) if spec.instance == id => spec,
                Ok(_) => {
                    self.clear(&folder);
                    continue;
                }
                Err(error) => {
                    tracing::warn!(instance = %id, %error, "an instance of the last run can't be read; it is left alone");
                    continue;
                }
            };
            if spec.ends_with_agent {
                self.end_copy(folder, &spec).await;
                continue;
            }
            if let (Some(kind), Some(deployment)) = (spec.hook, spec.deployment.clone()) {
                self.find_command(folder, spec, kind, deployment).await;
                continue;
            }
            match self.supervisor.attach(&id).await {
                Ok(attached) if attached.status.running => self.take_over(folder, spec, attached),
                Ok(_) => tracing::debug!(instance = %id, "ended while it was adopted"),
                Err(error) => match self.silent(&folder, &spec, &error) {
                    Some(attached) => self.take_over(folder, spec, attached),
                    None => {
                        tracing::info!(instance = %id, %error, "did not outlive the last run");
                        if spec.container.is_some() {
                            // After a boot its engine may start late; nothing else waits for that.
                            let supervisor = self.supervisor.clone();
                            tokio::spawn(async move { supervisor.clean(&spec).await });
                        } else {
                            self.supervisor.clean(&spec).await;
                        }
                        self.clear(&folder);
                    }
                },
            }
        }
        self.remove_devices();
        self.sweep().await;
        Ok(())
    }

    /// Ends a copy of a release that the previous agent process left. Its shim does the same, unless the shim was killed.
    async fn end_copy(&self, folder: InstanceFolder, spec: &InstanceSpec) {
        let attached = match self.supervisor.attach(&spec.instance).await {
            Ok(attached) => Some(attached).filter(|attached| attached.status.running),
            Err(error) => self.silent(&folder, spec, &error),
        };
        match attached {
            Some(attached) => {
                let (stop, stops) = mpsc::unbounded_channel();
                // The receiver is below.
                stop.send(Duration::ZERO).ok();
                self.supervisor.follow(&folder, spec, attached, stops).await;
            }
            None => self.supervisor.clean(spec).await,
        }
        self.clear(&folder);
    }

    /// Removes network devices of builds and instances that ended without an agent.
    fn remove_devices(&self) {
        let Some(network) = self.options.isolation.network() else { return };
        let known = |alias: &str| InstanceId::parse(alias).is_ok_and(|id| self.instances.contains_key(&id));
        if let Err(error) = network.remove_abandoned_devices(known) {
            tracing::warn!(%error, "network devices of former instances can't be removed");
        }
    }

    /// Removes unknown containers. If the engine doesn't answer now, the agent's next start does it.
    async fn sweep(&self) {
        let engine = &self.options.engine;
        if !engine.answers().await {
            return;
        }
        let known = self.instances.keys().cloned().collect();
        let folders = &self.options.folders;
        if let Err(error) = container::sweep(engine, &container::owner(folders), &folders.instances(), &known).await {
            tracing::warn!(%error, "containers of former instances can't be looked for");
        }
    }

    /// Reports a command that was started before the restart to its rollout: it runs, has ended, or is lost. A command
    /// is never run again.
    async fn find_command(
        &mut self,
        folder: InstanceFolder,
        spec: InstanceSpec,
        kind: HookKind,
        deployment: DeploymentId,
    ) {
        let attached = match self.supervisor.attach(&spec.instance).await {
            Ok(attached) => Some(attached).filter(|attached| attached.status.running),
            Err(error) => self.silent(&folder, &spec, &error),
        };
        let outcome = match &attached {
            Some(attached) => HookOutcome::Running { started_unix_ms: attached.status.started_unix_ms },
            None => match folder.exit() {
                Ok(Some(record)) => HookOutcome::Ended(record.into()),
                Ok(None) => HookOutcome::Lost,
                Err(error) => {
                    tracing::warn!(instance = %spec.instance, %error, "the end of a command can't be read");
                    HookOutcome::Lost
                }
            },
        };
        let event = RolloutEvent::AdoptHook(AdoptedHook {
            instance: spec.instance.clone(),
            release: spec.release.clone(),
            deployment: deployment.clone(),
            kind,
            stop_timeout: spec.stop_timeout,
            outcome,
        });
        match attached {
            Some(attached) => {
                self.follow_adopted(folder, spec.clone(), attached);
                self.follow_output(spec.instance.clone(), deployment, kind.step());
            }
            None => self.supervisor.clean(&spec).await,
        }
        self.adopt_event(&spec.key, event);
    }

    /// Describes an unreachable shim. It may still live: its app keeps serving.
    fn silent(&self, folder: &InstanceFolder, spec: &InstanceSpec, error: &AttachError) -> Option<ShimConnection> {
        let AttachError::Silent(error) = error else { return None };
        let attached = self.supervisor.silent(folder, spec)?;
        tracing::error!(instance = %spec.instance, app = %spec.key, %error, "its shim runs but can't be talked to");
        Some(attached)
    }

    fn take_over(&mut self, folder: InstanceFolder, spec: InstanceSpec, attached: ShimConnection) {
        tracing::info!(instance = %spec.instance, app = %spec.key, pid = attached.status.app_pid, "adopted");
        let container_record = folder.container_record().ok().flatten();
        let pid = container_record.as_ref().map_or(attached.status.app_pid, |container_record| container_record.pid);
        let address = match container_record {
            Some(container_record) if spec.network.is_some() => Some(spec.assumed_address(container_record.port, None)),
            Some(container_record) => {
                container_record.host.map(|host| SocketAddr::from((host, container_record.port)).into())
            }
            None if spec.container.is_some() => None,
            None => Some(spec.assumed_address(spec.port, self.options.listener_user(&spec))),
        };
        let adopted = AdoptedInstance {
            instance: spec.instance.clone(),
            release: spec.release.clone(),
            secrets: spec.secrets.as_ref().map(|secrets| secrets.version.clone()),
            deployment: spec.deployment.clone(),
            pid,
            address,
            started_unix_ms: attached.status.started_unix_ms,
            restarts: spec.restarts,
            drain_timeout: spec.drain_timeout,
            stop_timeout: spec.stop_timeout,
        };
        self.follow_adopted(folder, spec.clone(), attached);
        if spec.process == WEB {
            if spec.network.is_none() {
                self.ports.reserve(spec.port);
            }
            self.adopt_event(&spec.key, RolloutEvent::Adopt(adopted));
        } else {
            self.adopt_worker(&spec.key, spec.process, adopted);
        }
    }

    fn clear(&self, folder: &InstanceFolder) {
        if let Err(error) = self.options.trash.set_aside(folder.path()) {
            tracing::warn!(folder = %folder.path().display(), %error, "could not be removed");
        }
    }
}
