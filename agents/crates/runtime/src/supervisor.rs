//! Client of the shims: starts one per instance or reattaches to it, and reports its changes. Invariant: every start
//! ends in exactly one `Exited`. Never restarts anything: the rollout decides.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fairlead_model::InstanceId;
use fairlead_network::remove_devices;
use fairlead_wire::local::{ShimCommand, ShimEvent, ShimHello, ShimStatus, ShimStatusRequest, ShimStop};
use fairlead_wire::local::{shim_command, shim_event};
use fairlead_wire::{LOCAL_PROTOCOL, LocalChannel, local_protocol_accepted};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use zeroize::Zeroizing;

use crate::container;
use crate::instance::{ContainerRecord, InstanceFolder, InstanceSpec, NetworkLink, NetworkSpec};
use crate::rollout::Exit;
use crate::{secrets, shim};

/// Timeout of a shim's start and of each response: it does nothing slow.
const SHIM_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause between two attempts to reach a shim that doesn't answer.
const ANSWER_PAUSE: Duration = Duration::from_secs(1);
/// Timeout of emptying a control group, and the pause between two attempts.
const CLEAN_TIMEOUT: Duration = Duration::from_secs(2);
const CLEAN_PAUSE: Duration = Duration::from_millis(5);

/// Change of an instance's state.
#[derive(Debug)]
pub(crate) enum Change {
    /// The process runs; a container also reports where it listens.
    Started { pid: u32, started_unix_ms: u64, container_record: Option<ContainerRecord> },
    /// No process of the instance is left.
    Exited(Exit),
}

/// Starts shims and connects to them.
#[derive(Debug, Clone)]
pub(crate) struct Supervisor {
    /// The agent's own binary.
    pub(crate) program: PathBuf,
    /// Folder of the sockets.
    pub(crate) sockets: PathBuf,
}

type ShimChannel = LocalChannel<ShimCommand, ShimEvent>;

/// Connection to a shim with a running app.
pub(crate) struct ShimConnection {
    /// `None` while the shim doesn't answer.
    channel: Option<ShimChannel>,
    pub(crate) status: ShimStatus,
}

/// Reason why a shim can't be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachError {
    /// No listener: the shim has ended.
    #[error("{0}")]
    Gone(std::io::Error),
    /// The shim does not answer, but may still live.
    #[error("{0}")]
    Silent(String),
}

impl From<std::io::Error> for AttachError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => Self::Gone(error),
            _ => Self::Silent(error.to_string()),
        }
    }
}

impl Supervisor {
    fn socket(&self, instance: &InstanceId) -> PathBuf {
        self.sockets.join(format!("{instance}.sock"))
    }

    /// Starts the instance, passes its secrets, and follows it to its end. `stops` carries the stop timeout of each request to
    /// stop.
    pub(crate) async fn run(
        &self,
        folder: InstanceFolder,
        spec: InstanceSpec,
        secrets: Option<Zeroizing<Vec<u8>>>,
        stops: mpsc::UnboundedReceiver<Duration>,
        changed: impl Fn(Change),
    ) {
        let started = async {
            let mut child = self.spawn(&folder, &spec)?;
            let attached = async {
                // A shim that ends before it has read them reports the reason itself.
                let (_, ready) = tokio::join!(hand_over(child.stdin.take(), secrets), ready(&mut child, &folder));
                ready?;
                self.attach(&spec.instance).await.map_err(|error| format!("its shim didn't answer: {error}"))
            };
            match attached.await {
                Ok(attached) => Ok((child, attached)),
                Err(error) => {
                    // Nothing else would ever stop it, and the next start has the same folder.
                    end(child, &spec.instance).await;
                    Err(error)
                }
            }
        };
        match started.await {
            Ok((mut child, attached)) => {
                let exit = self.report_and_follow(&folder, &spec, attached, stops, &changed).await;
                // The shim is a child of this process: wait for it before the exit is reported.
                if let Err(error) = timeout(SHIM_TIMEOUT, child.wait()).await {
                    tracing::warn!(instance = %spec.instance, %error, "the shim did not end");
                }
                changed(Change::Exited(exit));
            }
            Err(error) => {
                // The instance may have ended before the connection was made: then its record has the exit.
                let exit = match folder.exit() {
                    Ok(Some(record)) => record.into(),
                    _ => {
                        Exit { start_error: Some(format!("The app could not be started: {error}.")), ..Exit::default() }
                    }
                };
                self.clean(&spec).await;
                changed(Change::Exited(exit));
            }
        }
    }

    /// Reports the start, which for a container comes later than its shim's, and follows the instance.
    pub(crate) async fn report_and_follow(
        &self,
        folder: &InstanceFolder,
        spec: &InstanceSpec,
        attached: ShimConnection,
        stops: mpsc::UnboundedReceiver<Duration>,
        changed: &impl Fn(Change),
    ) -> Exit {
        let (pid, started_unix_ms) = (attached.status.app_pid, attached.status.started_unix_ms);
        if spec.container.is_none() {
            changed(Change::Started { pid, started_unix_ms, container_record: None });
            return self.follow(folder, spec, attached, stops).await;
        }
        let mut followed = std::pin::pin!(self.follow(folder, spec, attached, stops));
        tokio::select! {
            container_record = container::wait_until_running(folder) => {
                changed(Change::Started { pid: container_record.pid, started_unix_ms, container_record: Some(container_record) });
                followed.await
            }
            exit = &mut followed => exit,
        }
    }

    /// Follows an adopted instance.
    pub(crate) async fn follow(
        &self,
        folder: &InstanceFolder,
        spec: &InstanceSpec,
        attached: ShimConnection,
        mut stops: mpsc::UnboundedReceiver<Duration>,
    ) -> Exit {
        let app = attached.status.app_pid;
        if let Some(channel) = attached.channel {
            self.follow_channel(spec, channel, &mut stops, None).await;
        } else if let Some((channel, asked)) = self.wait_for_answer(spec, &mut stops).await {
            self.follow_channel(spec, channel, &mut stops, asked).await;
        } else if let Some(shim) = shim_process(folder.path()) {
            // The request to stop was lost: the app must not run beside its replacement.
            kill_process(shim, Signal::KILL).ok();
        }
        let record = folder.exit().unwrap_or_else(|error| {
            tracing::warn!(instance = %spec.instance, %error, "the exit record can't be read");
            None
        });
        if record.is_none() {
            // The shim was killed. Its app died with it; this ends processes that the app had started.
            if let Some(pid) = i32::try_from(app).ok().and_then(Pid::from_raw) {
                kill_process_group(pid, Signal::KILL).ok();
            }
        }
        self.clean(spec).await;
        record.map(Exit::from).unwrap_or_default()
    }

    /// Passes on stops until the shim reports the end, or is lost.
    async fn follow_channel(
        &self,
        spec: &InstanceSpec,
        mut channel: ShimChannel,
        stops: &mut mpsc::UnboundedReceiver<Duration>,
        mut asked: Option<Duration>,
    ) {
        loop {
            if let Some(stop_timeout) = asked.take() {
                let stop_timeout_ms = u32::try_from(stop_timeout.as_millis()).unwrap_or(u32::MAX);
                let stop = ShimCommand { body: Some(shim_command::Body::Stop(ShimStop { stop_timeout_ms })) };
                if let Err(error) = channel.send(&stop, &[]).await {
                    tracing::warn!(instance = %spec.instance, %error, "lost the shim");
                    return;
                }
            }
            let event = tokio::select! {
                Some(stop_timeout) = stops.recv() => {
                    asked = Some(stop_timeout);
                    continue;
                }
                event = channel.receive_only_messages() => event,
            };
            match event {
                Ok(Some(ShimEvent { body: Some(shim_event::Body::Status(status)) })) if !status.running => return,
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(instance = %spec.instance, %error, "lost the shim");
                    return;
                }
            }
        }
    }

    /// Kills what is left in the instance's control group and removes the group. Returns when that is done or hopeless:
    /// until then no new process of the instance may enter it.
    pub(crate) async fn clean(&self, spec: &InstanceSpec) {
        if let Err(error) = std::fs::remove_file(self.socket(&spec.instance))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(instance = %spec.instance, %error, "the socket could not be removed");
        }
        if let Some(container) = &spec.container {
            container::clean(spec, container).await;
        } else if let Some(NetworkSpec { link: NetworkLink::Devices(link), .. }) = &spec.network {
            // Its shim removed the device, unless it was killed.
            let removed = remove_devices(&link.prefix, |alias| alias == spec.instance.as_str());
            if let Err(error) = removed {
                tracing::warn!(instance = %spec.instance, %error, "the device of its network could not be removed");
            }
        }
        let Some(cgroup) = &spec.cgroup else { return };
        let until = Instant::now() + CLEAN_TIMEOUT;
        while let Err(error) = cgroup.kill().and_then(|()| cgroup.remove()) {
            // Killed processes take a moment to disappear, and no event reports it.
            if Instant::now() >= until {
                tracing::warn!(instance = %spec.instance, %error, "the control group could not be removed");
                return;
            }
            sleep(CLEAN_PAUSE).await;
        }
    }

    fn spawn(&self, folder: &InstanceFolder, spec: &InstanceSpec) -> Result<Child, String> {
        let shim_log = File::create(folder.shim_log()).map_err(|error| format!("shim.log: {error}"))?;
        Command::new(&self.program)
            .arg("shim")
            .arg(folder.path())
            .arg(self.socket(&spec.instance))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(shim_log)
            .spawn()
            .map_err(|error| format!("{} can't be run: {error}", self.program.display()))
    }

    /// Connects to the shim of an instance, negotiates the protocol and requests its status.
    pub(crate) async fn attach(&self, instance: &InstanceId) -> Result<ShimConnection, AttachError> {
        let attached = timeout(SHIM_TIMEOUT, self.attach_patiently(instance)).await;
        attached.unwrap_or_else(|_| Err(AttachError::Silent("no answer in time".to_owned())))
    }

    /// Describes an instance with a shim that lives but doesn't answer; `None` if no such shim runs.
    pub(crate) fn silent(&self, folder: &InstanceFolder, spec: &InstanceSpec) -> Option<ShimConnection> {
        let shim = shim_process(folder.path())?;
        let app_pid = children(shim)
            .into_iter()
            .find(|child| !is_connector(*child))
            .map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
        let written = std::fs::metadata(folder.path().join("spec.json")).and_then(|found| found.modified()).ok();
        let age = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
        let started_unix_ms = u64::try_from(age.as_millis()).unwrap_or_default();
        let instance_id = spec.instance.to_string();
        let status = ShimStatus { instance_id, running: true, app_pid, started_unix_ms, ..ShimStatus::default() };
        Some(ShimConnection { channel: None, status })
    }

    /// Waits until a silent shim answers; `None` if it is gone, or did not receive a stop.
    async fn wait_for_answer(
        &self,
        spec: &InstanceSpec,
        stops: &mut mpsc::UnboundedReceiver<Duration>,
    ) -> Option<(ShimChannel, Option<Duration>)> {
        let (mut asked, mut until) = (None, None);
        loop {
            match self.attach(&spec.instance).await {
                Ok(ShimConnection { channel: Some(channel), status }) => {
                    return status.running.then_some((channel, asked));
                }
                Ok(_) => {}
                Err(AttachError::Gone(_)) => return None,
                Err(AttachError::Silent(error)) => {
                    tracing::warn!(instance = %spec.instance, %error, "its shim doesn't answer; the app goes on");
                }
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            tokio::select! {
                Some(stop_timeout) = stops.recv() => {
                    asked = Some(stop_timeout);
                    until.get_or_insert(Instant::now() + stop_timeout);
                }
                () = sleep(ANSWER_PAUSE) => {}
            }
        }
    }

    async fn attach_patiently(&self, instance: &InstanceId) -> Result<ShimConnection, AttachError> {
        let stream = UnixStream::connect(self.socket(instance)).await?;
        let mut channel = ShimChannel::new(stream);
        let hello = ShimHello {
            protocol_version: LOCAL_PROTOCOL,
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        };
        for body in [shim_command::Body::Hello(hello), shim_command::Body::Status(ShimStatusRequest {})] {
            channel.send(&ShimCommand { body: Some(body) }, &[]).await.map_err(silent)?;
        }
        loop {
            let event = channel.receive_only_messages().await.map_err(silent)?;
            match event.ok_or_else(|| silent("it closed the connection"))?.body {
                Some(shim_event::Body::Hello(hello)) if !local_protocol_accepted(hello.protocol_version) => {
                    return Err(silent(format!("it speaks protocol {}", hello.protocol_version)));
                }
                Some(shim_event::Body::Status(status)) if status.instance_id != instance.as_str() => {
                    return Err(silent(format!("it is the shim of {}", status.instance_id)));
                }
                Some(shim_event::Body::Status(status)) => return Ok(ShimConnection { channel: Some(channel), status }),
                _ => {}
            }
        }
    }
}

fn silent(error: impl ToString) -> AttachError {
    AttachError::Silent(error.to_string())
}

/// Returns the shim's process for a folder. Other users may use the same process name, but can't run it as the agent's
/// user.
pub(crate) fn shim_process(folder: &Path) -> Option<Pid> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let path = format!("/proc/{pid}/cmdline");
        let words = std::fs::read(&path).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0).skip(1);
        let named = words.next() == Some(b"shim") && words.next() == Some(folder.as_os_str().as_bytes());
        named && std::fs::metadata(&path).is_ok_and(|found| found.uid() == own)
    };
    pids.find(is_it).and_then(Pid::from_raw)
}

/// True if a child of a shim connects its network, and is no process of the app.
fn is_connector(pid: Pid) -> bool {
    let words = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    words.split(|byte| *byte == 0).skip(1).take(2).eq([b"shim".as_slice(), shim::CONNECT.as_bytes()])
}

/// Lists a process's children, by the kernel's own list (proc(5), /proc/pid/task/tid/children).
fn children(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).filter_map(Pid::from_raw).collect()
}

/// Passes the secrets to the shim, which alone may read them.
async fn hand_over(to: Option<ChildStdin>, secrets: Option<Zeroizing<Vec<u8>>>) -> std::io::Result<()> {
    let (Some(mut to), Some(plain)) = (to, secrets) else { return Ok(()) };
    to.write_all(&secrets::head(&plain)?).await?;
    to.write_all(&plain).await
}

/// Waits until the shim reports that its socket exists.
async fn ready(child: &mut Child, folder: &InstanceFolder) -> Result<(), String> {
    let out = child.stdout.take().ok_or("the shim has no output")?;
    let mut line = String::new();
    match timeout(SHIM_TIMEOUT, BufReader::new(out).read_line(&mut line)).await {
        Ok(Ok(_)) if line.trim_end() == shim::READY => Ok(()),
        Err(_) => Err("its shim was not ready in time".to_owned()),
        Ok(_) => Err(shim_log_text(&folder.shim_log())),
    }
}

/// Kills a shim that can't be reached, and the whole session of its app.
async fn end(mut child: Child, instance: &InstanceId) {
    // The children are known only while the shim lives. Its app dies with it; this is for processes that the app had
    // started.
    let shim = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let apps = shim.map(children).unwrap_or_default();
    // Killing an ended process fails, and it is reaped all the same.
    child.start_kill().ok();
    for app in &apps {
        kill_process_group(*app, Signal::KILL).ok();
    }
    if timeout(SHIM_TIMEOUT, child.wait()).await.is_err() {
        tracing::warn!(%instance, "the shim of a failed start did not end");
    }
    let until = Instant::now() + CLEAN_TIMEOUT;
    while apps.iter().any(|app| test_kill_process_group(*app).is_ok()) && Instant::now() < until {
        sleep(CLEAN_PAUSE).await;
    }
}

/// Returns the log of a shim that didn't start.
fn shim_log_text(path: &Path) -> String {
    let words = std::fs::read_to_string(path).unwrap_or_default();
    match words.trim() {
        "" => "its shim ended at once".to_owned(),
        words => format!("its shim said: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use fairlead_model::{AppId, AppKey, EnvironmentId, HealthCheck, ReleaseId};

    use super::*;

    fn spec() -> InstanceSpec {
        InstanceSpec {
            instance: InstanceId::parse("ins_a").unwrap(),
            key: AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() },
            release: ReleaseId::parse("rel_1").unwrap(),
            deployment: None,
            command: vec!["node".into()],
            environment: BTreeMap::new(),
            folder: "/".into(),
            view: None,
            port: 1,
            network: None,
            socket: None,
            user: None,
            group: None,
            private_tmp: None,
            process: "web".into(),
            sandbox: Default::default(),
            secrets: None,
            log: None,
            cgroup: None,
            container: None,
            ends_with_agent: false,
            restarts: 0,
            hook: None,
            liveness_check: None,
            readiness_check: HealthCheck {
                path: "/".into(),
                interval: Duration::from_secs(1),
                timeout: Duration::from_secs(1),
                command: Vec::new(),
            },
            drain_timeout: Duration::from_secs(1),
            stop_timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn an_instance_that_an_older_agent_started_is_read() {
        let mut saved = serde_json::to_value(spec()).unwrap();
        let fields = saved.as_object_mut().unwrap();
        for (old, new) in
            [("health", "readiness_check"), ("stop_grace", "stop_timeout"), ("liveness", "liveness_check")]
        {
            let value = fields.remove(new).unwrap();
            fields.insert(old.to_owned(), value);
        }
        assert_eq!(serde_json::from_value::<InstanceSpec>(saved).unwrap(), spec());
    }

    /// Starts a shim that reports ready, has started its app in a session of its own, and never answers.
    #[tokio::test]
    async fn a_start_that_fails_leaves_neither_its_shim_nor_its_app() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("shim");
        let script = "#!/bin/sh\nPATH=/usr/bin:/bin\nsetsid sleep 1000 >/dev/null 2>&1 &\n\
            until [ \"$(cut -d' ' -f6 /proc/$!/stat)\" = $! ]; do :; done\n\
            echo $$ $! > \"$2/pids.new\"; mv \"$2/pids.new\" \"$2/pids\"; echo ready; exec sleep 1000\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let supervisor = Supervisor { program, sockets: dir.path().to_owned() };
        let (_stop, stops) = mpsc::unbounded_channel();
        let (told, mut changes) = mpsc::unbounded_channel();
        supervisor.run(InstanceFolder::new(dir.path()), spec(), None, stops, |change| told.send(change).unwrap()).await;
        let change = changes.recv().await.unwrap();
        assert!(matches!(&change, Change::Exited(Exit { start_error: Some(_), .. })), "{change:?}");
        for pid in std::fs::read_to_string(dir.path().join("pids")).unwrap().split_whitespace() {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
        }
    }
}
