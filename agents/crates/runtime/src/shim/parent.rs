//! Main loop of the shim: writes pipes into the log, executes the agent's commands and reaps all processes of the app.
//! Invariant: `exit.json` is written only after the last process of the instance has ended.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairlead_base::clock::unix_ms;
use fairlead_base::handover;
use fairlead_network::{Relay, RootlessNamespace, current, join};
use fairlead_secret::Redactor;
use fairlead_wire::local::ShimStatus;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, getppid, kill_process, kill_process_group, pidfd_open,
    setrlimit, setsid, wait,
};

use super::capture::Capture;
use super::handover::Handover;
use super::log::{LogWriter, Pipe};
use super::network::{self, RootlessConnection};
use super::serve::{ShimRequest, ShimServer};
use crate::instance::{ExitRecord, InstanceFolder, InstanceSpec, NetworkSpec};
use crate::secrets;
use fairlead_base::cgroup::Cgroup;

/// Pauses between two checks for remains of the app: zombies while it runs, stragglers while it ends.
const IDLE_PAUSE: Duration = Duration::from_secs(30);
const ENDING_PAUSE: Duration = Duration::from_millis(25);
/// Time after which a process that SIGKILL has not removed counts as stuck in the kernel.
const KILL_LIMIT: Duration = Duration::from_secs(10);

struct Parent {
    app: Pid,
    /// Readable when the app ends; `None` from then on, because it would stay readable.
    pidfd: Option<OwnedFd>,
    /// Readable when the agent ends; `None` if the app may outlive it.
    agent: Option<OwnedFd>,
    stop_timeout: Duration,
    pipes: Vec<(Pipe, Box<dyn PipeEnd>)>,
    log: Capture,
    server: ShimServer,
    /// `None` without a network of its own.
    handover: Option<Handover>,
    /// `None` with root.
    connection: Option<RootlessConnection>,
    /// Launcher of a container, until it has passed the container's network.
    launcher: Option<Launcher>,
    status: ShimStatus,
    cgroup: Option<Cgroup>,
    ended: Option<ExitRecord>,
    kill_at: Option<Instant>,
    stopping: bool,
}

/// Other end of the standard input of a container's launcher, which passes the container's network.
struct Launcher {
    stream: UnixStream,
    network: NetworkSpec,
}

trait PipeEnd: Read + AsFd {}
impl<T: Read + AsFd> PipeEnd for T {}

/// Starts the app and stays until no process of it is left.
pub(super) fn run(folder: &Path, socket: &Path) -> Result<(), String> {
    let named = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let folder = InstanceFolder::new(folder);
    let spec = folder.spec().map_err(named("spec.json"))?.ok_or("spec.json is missing")?;
    let secrets = spec.secrets.as_ref().map(|secrets| secrets::receive(&secrets.version)).transpose();
    let secrets = secrets.map_err(named("secrets"))?;
    let redactor =
        secrets.as_ref().and_then(|(_, bundle)| Redactor::new(bundle.secrets.iter().map(|one| one.value.as_slice())));
    let agent = spec.ends_with_agent.then(agent).transpose().map_err(named("agent"))?;
    let server = ShimServer::open(socket).map_err(named("socket"))?;
    let log = LogWriter::open(&folder.log(&spec)).map_err(named("log"))?;
    let log = Capture::new(log, redactor.as_ref());
    // Ctrl-C in a terminal is for the agent, which decides about its apps.
    setsid().map_err(|error| format!("session: {error}"))?;
    // Daemons of the app still become children of this process.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| format!("subreaper: {error}"))?;
    // A core dump of this process might contain a secret. One byte, not zero: with zero, a core handler that is a pipe
    // could still see the memory and the environment (core(5)).
    let no_core = Rlimit { current: Some(1), maximum: Some(1) };
    setrlimit(Resource::Core, no_core).map_err(|error| format!("core files: {error}"))?;
    // After this, the shim and all that it starts are in the instance's network. A container's network comes from its
    // launcher.
    let of_process = spec.network.as_ref().filter(|_| spec.container.is_none());
    let entered = of_process.map(|network| network::enter(&spec, network)).transpose()?;
    let (handover, namespace, connection) = entered.map_or((None, None, None), |entered| {
        let network::InstanceNetwork { handover, namespace, connection } = entered;
        (Some(handover), namespace, connection)
    });
    let of_container = spec.network.clone().filter(|_| spec.container.is_some());
    let (launcher, stdin) = match of_container.map(Launcher::new).transpose().map_err(named("standard input"))? {
        Some((launcher, stdin)) => (Some(launcher), stdin),
        // Not a socket: shells take it for a remote login and run their start-up files.
        None => (None, Stdio::piped()),
    };
    let start = || start(&folder, stdin);
    let child = if connection.is_some() { RootlessNamespace::with_mounts(start) } else { start() };
    let mut child = child.map_err(named("launch"))?;
    if let Some((plain, _)) = secrets {
        // A launcher that ended before it had read them has left its reason in `start-error`.
        match (child.stdin.take(), &launcher) {
            (Some(to), _) => secrets::hand_over(to, &plain).ok(),
            (None, Some(launcher)) => secrets::hand_over(&launcher.stream, &plain).ok(),
            (None, None) => None,
        };
    }
    drop(child.stdin.take());
    let mut parent = Parent::new(spec, &mut child, server, (handover, launcher), log).map_err(named("child"))?;
    (parent.connection, parent.agent) = (connection, agent);
    tell_ready().map_err(named("ready"))?;
    let record = parent.watch().map_err(named("watching"))?;
    let start_error = std::fs::read_to_string(folder.start_error()).unwrap_or_default();
    let start_error = match &redactor {
        Some(redactor) => redactor.text(&start_error),
        None => start_error,
    };
    let record = ExitRecord {
        start_error: Some(start_error).filter(|error| !error.is_empty()),
        out_of_memory: record.out_of_memory || folder.out_of_memory().exists(),
        ..record
    };
    // The network ends before the exit is recorded: a socket that the app passed to another process leads nowhere then.
    drop(namespace);
    folder.write_exit(&record).map_err(named("exit.json"))?;
    parent.status.running = false;
    parent.status.exit_code = record.code.unwrap_or_default();
    parent.status.exit_signal = record.signal.unwrap_or_default();
    parent.status.finished_unix_ms = record.finished_unix_ms;
    parent.server.broadcast(&parent.status);
    Ok(())
}

impl Launcher {
    /// Returns the launcher and the standard input for its process.
    fn new(network: NetworkSpec) -> io::Result<(Self, Stdio)> {
        let (stream, stdin) = UnixStream::pair()?;
        Ok((Self { stream, network }, OwnedFd::from(stdin).into()))
    }

    /// Moves this process into the container's network, and reports the result to the launcher.
    fn enter(&self) -> Option<Handover> {
        let entered = self.enter_network();
        let said = entered.as_ref().err().map_or(super::READY, String::as_str);
        // A launcher that is gone needs no answer; its exit is recorded.
        (&self.stream).write_all(said.as_bytes()).ok();
        entered.ok()
    }

    /// Enters the container's network. The error completes a sentence.
    fn enter_network(&self) -> Result<Handover, String> {
        let failed = |what: &str, error: io::Error| format!("{what} failed ({error})");
        let namespace = handover::receive(&self.stream).map_err(|error| failed("taking its network", error))?;
        let namespace = namespace.into_iter().next().ok_or("its network did not come")?;
        let outside = current().map_err(|error| failed("opening the server's network", error))?;
        join(namespace.as_fd()).map_err(|error| failed("entering its network", error))?;
        let served = self.serve_inside(namespace, &outside);
        if served.is_err() {
            join(outside.as_fd()).map_err(|error| failed("leaving its network", error))?;
        }
        served
    }

    fn serve_inside(&self, namespace: OwnedFd, outside: &OwnedFd) -> Result<Handover, String> {
        let failed = |what: &str, error: io::Error| format!("{what} failed ({error})");
        let NetworkSpec { server_ports, handover, .. } = &self.network;
        if !server_ports.is_empty() {
            let relay = Relay::bind_ports(server_ports)
                .map_err(|error| failed("listening in its container for a port of the server", error))?;
            let spawned = outside.try_clone().and_then(|outside| relay.spawn(outside));
            spawned.map_err(|error| failed("connecting it to ports of the server", error))?;
        }
        Handover::open(handover, namespace, None).map_err(|error| failed("opening the hand-over of its sockets", error))
    }
}

fn start(folder: &InstanceFolder, stdin: Stdio) -> io::Result<Child> {
    // Starts /proc/self/exe, so that an agent that was replaced on disk still runs its own version.
    Command::new("/proc/self/exe")
        .arg0("fairlead-launch")
        .args(["shim", "--launch"])
        .arg(folder.path())
        .env_clear()
        .current_dir("/")
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Writes the line that the agent waits for; standard output is not used after that.
fn tell_ready() -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(format!("{}\n", super::READY).as_bytes())?;
    out.flush()?;
    let null = std::fs::File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(null)?;
    Ok(())
}

impl Parent {
    fn new(
        spec: InstanceSpec,
        child: &mut Child,
        server: ShimServer,
        (handover, launcher): (Option<Handover>, Option<Launcher>),
        log: Capture,
    ) -> io::Result<Self> {
        let app = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let app = app.ok_or_else(|| io::Error::other("the child has no pid"))?;
        let mut pipes: Vec<(Pipe, Box<dyn PipeEnd>)> = Vec::new();
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            pipes.push((Pipe::Out, Box::new(out)));
            pipes.push((Pipe::Err, Box::new(err)));
        }
        let status = ShimStatus {
            instance_id: spec.instance.to_string(),
            app_pid: child.id(),
            started_unix_ms: unix_ms(),
            running: true,
            cgroup_path: spec.cgroup.as_ref().map(Cgroup::describe).unwrap_or_default(),
            ..ShimStatus::default()
        };
        let pidfd = Some(pidfd_open(app, PidfdFlags::empty())?);
        Ok(Self {
            app,
            pidfd,
            agent: None,
            stop_timeout: spec.stop_timeout,
            pipes,
            log,
            server,
            handover,
            connection: None,
            launcher,
            status,
            cgroup: spec.cgroup,
            ended: None,
            kill_at: None,
            stopping: false,
        })
    }

    /// Returns after the app, all its processes and its network are gone.
    fn watch(&mut self) -> io::Result<ExitRecord> {
        let mut hopeless_at: Option<Instant> = None;
        loop {
            self.wait()?;
            let alone = self.reap()?;
            if let Some(record) = self.ended.clone() {
                if alone || hopeless_at.is_some_and(|at| Instant::now() >= at) {
                    self.read_pipes();
                    if let Some(connection) = self.connection.take() {
                        connection.end();
                    }
                    self.log.finish(unix_ms());
                    return Ok(record);
                }
                // An app that was asked to stop may finish its work in a child; one that ended by itself may not.
                if !self.stopping || self.kill_at.is_none_or(|at| Instant::now() >= at) {
                    self.kill_all();
                    hopeless_at.get_or_insert_with(|| Instant::now() + KILL_LIMIT);
                }
            } else if self.kill_at.is_some_and(|at| Instant::now() >= at) {
                self.kill_all();
            }
        }
    }

    /// Waits for a pipe, the socket, the end of the app or a deadline, and serves it.
    fn wait(&mut self) -> io::Result<()> {
        let pause = if self.ended.is_some() { ENDING_PAUSE } else { IDLE_PAUSE };
        let pause = self.log.due_in().map_or(pause, |due| due.min(pause));
        let pause = self.kill_at.map_or(pause, |at| at.saturating_duration_since(Instant::now()).min(pause));
        // Rounded up, or the loop would spin through the last millisecond.
        let timeout = Timespec { tv_sec: pause.as_secs().cast_signed(), tv_nsec: i64::from(pause.subsec_nanos()) };
        let (pipes, sources, launcher, changes, agent);
        let ready: Vec<bool> = {
            let mut polled: Vec<PollFd<'_>> =
                self.pipes.iter().map(|(_, end)| PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)).collect();
            pipes = polled.len();
            polled.extend(self.server.sources().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            sources = polled.len() - pipes;
            let streams = self.launcher.iter().map(|launcher| launcher.stream.as_fd());
            polled.extend(streams.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            launcher = polled.len() - pipes - sources;
            let connection = self.connection.iter().map(RootlessConnection::changes);
            polled.extend(connection.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            changes = polled.len() - pipes - sources - launcher;
            polled.extend(self.agent.iter().map(|agent| PollFd::from_borrowed_fd(agent.as_fd(), PollFlags::IN)));
            agent = polled.len() - pipes - sources - launcher - changes;
            let handover = self.handover.iter().flat_map(Handover::sources);
            polled.extend(handover.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            polled.extend(self.pidfd.iter().map(|pidfd| PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)));
            match poll(&mut polled, Some(&timeout)) {
                Err(Errno::INTR) => return Ok(()),
                result => result?,
            };
            polled.iter().map(|one| !one.revents().is_empty()).collect()
        };
        let (pipes, rest) = ready.split_at(pipes);
        let (sources, rest) = rest.split_at(sources);
        let (launcher, rest) = rest.split_at(launcher);
        let (changes, rest) = rest.split_at(changes);
        let (agent, handover) = rest.split_at(agent);
        // The hand-over comes first, because requests of visitors wait for it.
        if let Some(server) = &mut self.handover {
            server.serve(handover);
        }
        if agent.contains(&true) {
            self.agent = None;
            self.execute(&ShimRequest::Stop { stop_timeout: self.stop_timeout });
        }
        if changes.contains(&true)
            && let Some(connection) = &mut self.connection
        {
            connection.update();
        }
        if launcher.contains(&true)
            && let Some(launcher) = self.launcher.take()
        {
            self.handover = launcher.enter();
        }
        self.read_ready(pipes);
        self.log.flush(unix_ms());
        for request in self.server.serve(sources) {
            self.execute(&request);
        }
        Ok(())
    }

    fn execute(&mut self, request: &ShimRequest) {
        match request {
            ShimRequest::Status(client) => self.server.answer(*client, &self.status),
            ShimRequest::Stop { stop_timeout } => {
                let kill_at = Instant::now() + *stop_timeout;
                // A second stop can shorten the stop timeout, never extend it.
                self.kill_at = Some(self.kill_at.map_or(kill_at, |at| at.min(kill_at)));
                self.stopping = true;
                signal_group(self.app, Signal::TERM);
            }
        }
    }

    fn read_ready(&mut self, ready: &[bool]) {
        let mut bytes = [0u8; 16 * 1024];
        let mut index = 0;
        let log = &mut self.log;
        self.pipes.retain_mut(|(pipe, end)| {
            index += 1;
            if !ready.get(index - 1).copied().unwrap_or(false) {
                return true;
            }
            match end.read(&mut bytes) {
                Ok(0) => false,
                Ok(count) => {
                    log.take(*pipe, &bytes[..count], unix_ms());
                    true
                }
                Err(error) => error.kind() == io::ErrorKind::Interrupted,
            }
        });
    }

    /// Drains the pipes after the end; processes that still hold them open are ignored.
    fn read_pipes(&mut self) {
        loop {
            let ready: Vec<bool> = {
                let mut polled: Vec<PollFd<'_>> =
                    self.pipes.iter().map(|(_, end)| PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)).collect();
                let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                if poll(&mut polled, Some(&now)).is_err() {
                    return;
                }
                polled.iter().map(|one| !one.revents().is_empty()).collect()
            };
            if !ready.contains(&true) {
                return;
            }
            self.read_ready(&ready);
        }
    }

    /// Reaps ended children; true if this process has no child of the app left.
    fn reap(&mut self) -> io::Result<bool> {
        let connector = self.connection.as_ref().and_then(RootlessConnection::process);
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.app => {
                    self.pidfd = None;
                    self.ended = Some(ExitRecord {
                        code: status.exit_status(),
                        signal: status.terminating_signal(),
                        start_error: None,
                        out_of_memory: self.cgroup.as_ref().is_some_and(Cgroup::out_of_memory),
                        finished_unix_ms: unix_ms(),
                    });
                }
                // Only a restart gives the app another connection.
                Ok(Some((pid, _))) if Some(pid) == connector => self.kill_all(),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(connector.is_some() && children().iter().all(|child| Some(*child) == connector)),
                Err(Errno::CHILD) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends SIGKILL to the group, to the control group, and to every child, orphans included.
    fn kill_all(&self) {
        signal_group(self.app, Signal::KILL);
        if let Some(cgroup) = &self.cgroup {
            // Processes that survive this are killed as children below, or in the next round.
            cgroup.kill().ok();
        }
        for child in children() {
            kill_process(child, Signal::KILL).ok();
        }
    }
}

/// Opens a pidfd of the agent, the parent of this process. Fails if the agent has ended, because the parent is another one then.
fn agent() -> io::Result<OwnedFd> {
    let ended = || io::Error::other("it has ended");
    let parent = getppid().ok_or_else(ended)?;
    let agent = pidfd_open(parent, PidfdFlags::empty())?;
    if getppid() == Some(parent) { Ok(agent) } else { Err(ended()) }
}

/// Sends a signal to the group. The group may be gone already, which is fine.
fn signal_group(app: Pid, signal: Signal) {
    kill_process_group(app, signal).ok();
}

/// Lists this process's children, by the kernel's own list (proc(5), /proc/pid/task/tid/children).
fn children() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_pid();
    let text = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).collect()
}
