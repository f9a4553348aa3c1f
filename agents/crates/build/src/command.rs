//! One command of a build: as the build's user, in its own session, with its output as lines of the log, and ended whole
//! when the build is cancelled or its time is over. Owns what a repository's programs may do to the server.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairlead_base::cgroup::Cgroup;
use fairlead_base::root_view::PROGRAMS;
use fairlead_base::sandbox::{self, FileRules, Sandbox, SandboxLimits};
use fairlead_base::{CancellationToken, busy_program, clock, excerpt};
use fairlead_model::{BuildLimits, DeploymentId, LogLine, LogStream, Secret, Step};
use fairlead_network::ServedNamespace;
use fairlead_secret::Redactor;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::as_user::as_user;
use crate::build_folders::{BuildFolders, DISK_BYTES_MIN};
use crate::command_paths::CommandPaths;
use crate::confine::{self, CommandNetwork, Confinement};
use crate::line_splitter::LineSplitter;
use crate::native::reuse::KeptFolders;
use crate::{BuildError, BuildOptions, BuildSink, leftover_processes, size};

/// Maximum number of lines of a build's log; only an endless loop writes more.
const LINES_MAX: u32 = 50_000;
/// Maximum wait, after the command has ended, for processes that hold its output open.
const OUTPUT_SLACK: Duration = Duration::from_millis(500);
/// Last lines kept for the sentence of a failure: npm writes a hundred lines of usage below the one that says why.
const TAIL_LINES: usize = 300;
/// Output that is captured, not logged: a commit's data, a list of refs.
const CAPTURE_BYTES_MAX: usize = 4 << 20;

/// Devices that hold no data of others, and terminals.
const DEVICES: [&str; 8] =
    ["/dev/full", "/dev/null", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"];

/// Interval at which the size of the build's folders is measured.
const SIZE_PAUSE: Duration = Duration::from_secs(3);

/// A build as its commands see it.
pub(crate) struct Workshop<'a> {
    pub(crate) options: &'a BuildOptions,
    pub(crate) deployment: &'a DeploymentId,
    pub(crate) build_folders: BuildFolders,
    /// Folder in which its commands keep files for the next build.
    pub(crate) cache: PathBuf,
    /// Folders of programs that come before those of the server.
    pub(crate) programs: Vec<PathBuf>,
    /// Folder that is packed; build commands find its programs. Empty until the plan is known.
    pub(crate) packed: PathBuf,
    /// Folders for the next build; `None` before the plan is known.
    pub(crate) kept: Option<KeptFolders>,
    /// Paths below the packed folder that are not packed.
    pub(crate) excluded: BTreeSet<PathBuf>,
    /// For build commands alone.
    pub(crate) secrets: Vec<Secret>,
    /// For build commands, and for a Dockerfile that declares them.
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) cgroup: Option<Cgroup>,
    /// `None`: its commands share the server's network.
    pub(crate) network: Option<ServedNamespace>,
    /// None of them is zero.
    pub(crate) limits: BuildLimits,
    pub(crate) limit: Duration,
    pub(crate) deadline: Instant,
    pub(crate) cancel: CancellationToken,
    pub(crate) sink: &'a mut dyn BuildSink,
    pub(crate) lines: u32,
    /// Keeps the build's user to it, until its folder is cleared.
    pub(crate) turn: leftover_processes::UserLock,
}

/// Program and arguments to run. Invariant: no shell parses the arguments.
pub(crate) struct CommandSpec<'a> {
    pub(crate) step: Step,
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [&'a OsStr],
    pub(crate) folder: &'a Path,
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// Standard output is wanted, not logged.
    pub(crate) capture: bool,
    /// True for a command of the build, which gets the build's variables and secrets.
    pub(crate) secrets: bool,
}

/// Result of a command.
pub(crate) struct CommandOutcome {
    pub(crate) status: ExitStatus,
    pub(crate) captured: Vec<u8>,
    /// The last lines it wrote to standard error, or to both when nothing was captured; without colors.
    pub(crate) tail: Vec<String>,
}

impl CommandOutcome {
    /// True if its output says that no space was left.
    pub(crate) fn disk_full(&self) -> bool {
        self.tail.iter().any(|line| line.contains("No space left on device") || line.contains("ENOSPC"))
    }
}

impl Workshop<'_> {
    /// Writes a line of Fairlead's own.
    pub(crate) fn say(&mut self, step: Step, text: impl Into<String>) {
        // Words of Fairlead's own may name a branch or a folder that holds a secret.
        let text = self.redacted(text.into());
        self.log(step, LogStream::System, text);
    }

    pub(crate) fn redacted(&self, text: String) -> String {
        match &self.options.redactor {
            Some(redactor) => redactor.text(&text),
            None => text,
        }
    }

    pub(crate) fn log(&mut self, step: Step, stream: LogStream, text: String) {
        self.lines = self.lines.saturating_add(1);
        let text = match self.lines {
            ..LINES_MAX => text,
            LINES_MAX => format!("The log has {LINES_MAX} lines now; what follows is left out."),
            _ => return,
        };
        self.sink.line(LogLine { unix_ms: clock::unix_ms(), step, stream, text });
    }

    /// Runs a command to its end, which may be failure; errors are those that end the build.
    pub(crate) async fn run(&mut self, order: &CommandSpec<'_>) -> Result<CommandOutcome, BuildError> {
        let command = self.command(order)?;
        self.finish(command, order).await
    }

    /// Runs the agent's own binary, without a network, and otherwise as [`Self::run`] does. `order.program` names it for people.
    pub(crate) async fn run_agent(&mut self, order: &CommandSpec<'_>) -> Result<CommandOutcome, BuildError> {
        // The descriptor opens it where the build's user may not enter the folders above it.
        let opened = File::open(&self.options.program).map_err(BuildError::server("opening the agent's program"))?;
        let program = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let command = self.confined(order, &program, Some(&self.options.program))?;
        self.finish(command, order).await
    }

    async fn finish(&mut self, mut command: Command, order: &CommandSpec<'_>) -> Result<CommandOutcome, BuildError> {
        if self.cancel.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        let mut child = start(&mut command).await.map_err(|error| not_started(order.program, error))?;
        let group = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(BuildError::server("reading its output")(io::ErrorKind::BrokenPipe.into()));
        };
        let mut output = CommandOutput::new(order.step, order.capture, self.options.redactor.as_ref());
        let (cancel, deadline) = (self.cancel.clone(), self.deadline);
        let doing = || {
            let arguments: Vec<_> = order.arguments.iter().map(|argument| argument.to_string_lossy()).collect();
            format!("ran `{} {}`", order.program, arguments.join(" "))
        };
        let mut watch = Box::pin(self.watch_size());
        let ended = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break Err(BuildError::Cancelled),
                () = sleep_until(deadline) => break Err(BuildError::Timeout { limit: self.limit, doing: doing() }),
                excess = &mut watch => break Err(excess.error(doing())),
                more = read(&mut out, &mut output.out, output.out_open) => output.take_out(self, more),
                more = read(&mut err, &mut output.err, output.err_open) => output.take_err(self, more),
                status = child.wait() => break status.map_err(BuildError::server("waiting for a command")),
            }
        };
        // Remaining processes must end: they would hold its output open.
        if let Some(group) = group {
            kill_process_group(group, Signal::KILL).ok();
        }
        let rest = async {
            while output.out_open || output.err_open {
                tokio::select! {
                    more = read(&mut out, &mut output.out, output.out_open) => output.take_out(self, more),
                    more = read(&mut err, &mut output.err, output.err_open) => output.take_err(self, more),
                }
            }
        };
        // Processes that still hold it end with the build.
        timeout(OUTPUT_SLACK, rest).await.ok();
        output.finish(self);
        match ended {
            Ok(status) if !status.success() && self.out_of_memory() => {
                Err(BuildError::OutOfMemory { limit_bytes: self.limits.memory_bytes_max, doing: doing() })
            }
            Ok(status) => Ok(CommandOutcome { status, captured: output.captured, tail: output.tail }),
            Err(error) => {
                // Collected here, or it would stay a zombie until the agent ends.
                timeout(OUTPUT_SLACK, child.wait()).await.ok();
                self.end_leftovers().await;
                Err(error)
            }
        }
    }

    /// Ends every process of this build.
    pub(crate) async fn end_leftovers(&self) {
        let (deployment, user) = (self.deployment.clone(), self.options.user);
        if tokio::task::spawn_blocking(move || leftover_processes::end(&deployment, user)).await.is_err() {
            tracing::warn!(deployment = %self.deployment, "the search for processes of the build failed");
        }
    }

    fn out_of_memory(&self) -> bool {
        self.cgroup.as_ref().is_some_and(Cgroup::out_of_memory)
    }

    /// Completes when the build's folders exceed their bound, or the disk is full.
    fn watch_size(&self) -> impl Future<Output = Excess> + use<> {
        let quota = self.disk_quota();
        async move {
            loop {
                sleep(SIZE_PAUSE).await;
                // If counting fails, the next count or the one at the command's end catches it.
                if let Ok(Some(excess)) = excess(quota.clone()).await {
                    return excess;
                }
            }
        }
    }

    /// Waits for the agent's own work in the build's folders, and stops it if they exceed their bound.
    pub(crate) async fn watched<T>(
        &self,
        work: impl Future<Output = T>,
        stop: &CancellationToken,
        doing: &str,
    ) -> Result<T, BuildError> {
        let mut work = std::pin::pin!(work);
        let excess = tokio::select! {
            biased;
            done = &mut work => return self.check_size(doing).await.map(|()| done),
            excess = self.watch_size() => excess,
        };
        stop.cancel();
        work.await;
        Err(excess.error(doing.to_owned()))
    }

    /// Fails a build that exceeds its bound: a command may end between two counts of its folders.
    pub(crate) async fn check_size(&self, doing: &str) -> Result<(), BuildError> {
        let found = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(BuildError::Cancelled),
            () = sleep_until(self.deadline) => {
                return Err(BuildError::Timeout { limit: self.limit, doing: doing.to_owned() });
            }
            found = excess(self.disk_quota()) => found,
        };
        let found = found.map_err(BuildError::server("counting what the build wrote"))?;
        found.map_or(Ok(()), |excess| Err(excess.error(doing.to_owned())))
    }

    /// Folders that the build's commands may write to, and what finds their processes.
    fn disk_quota(&self) -> DiskQuota {
        DiskQuota {
            folders: [
                self.build_folders.folder.clone(),
                self.build_folders.cache.clone(),
                self.build_folders.repository.clone(),
            ],
            deployment: self.deployment.clone(),
            user: self.options.user,
            limit_bytes: self.limits.disk_bytes_max,
        }
    }

    /// Folders of the build to write, the system to read. Shared folders are writable if the build has no replacement for them.
    fn sandbox(&self, path: &OsStr, has_namespaces: bool, agent: Option<&Path>) -> io::Result<Sandbox> {
        let environment = self.options.environment.values();
        // Certificate authorities that the agent was configured with, and Rust's home.
        let named = environment.flat_map(|value| value.split(':')).map(PathBuf::from).filter(|path| path.is_absolute());
        let readable: Vec<PathBuf> =
            sandbox::system_and_programs(path).into_iter().chain(named).chain(agent.map(Path::to_path_buf)).collect();
        let shared = self.build_folders.shared().into_iter();
        let shared = shared.filter(|bind| !has_namespaces || !self.build_folders.is_private(bind)).map(|bind| bind.at);
        let own = self.build_folders.own().into_iter().map(Path::to_path_buf);
        let writable: Vec<PathBuf> = own.chain(shared).chain(DEVICES.map(PathBuf::from)).collect();
        let files = FileRules { readable: &readable, writable: &writable };
        // Tests of a build listen on ports of their own choice.
        Sandbox::new(SandboxLimits { files: Some(files), ports: None, system_calls: sandbox::seccomp_known() })
    }

    /// Returns the `PATH` of build commands.
    pub(crate) fn path(&self) -> OsString {
        let own = self.programs.iter().map(|folder| folder.as_os_str());
        own.chain([self.options.path.as_os_str()]).collect::<Vec<_>>().join(OsStr::new(":"))
    }

    /// Programs that the app's dependencies bring come first for the build's own commands, as in a terminal of its package manager.
    fn path_of(&self, order: &CommandSpec<'_>) -> OsString {
        let mut folders = vec![order.folder, &self.packed];
        folders.dedup();
        folders.retain(|folder| order.secrets && folder.is_absolute());
        let own = folders.iter().flat_map(|folder| PROGRAMS.iter().map(|name| folder.join(name).into_os_string()));
        own.chain([self.path()]).collect::<Vec<_>>().join(OsStr::new(":"))
    }

    fn command(&self, order: &CommandSpec<'_>) -> Result<Command, BuildError> {
        let (path, user) = (self.path_of(order), self.options.user);
        // First what the build's user reaches; then what only the agent does, so that the failure tells one from the other.
        let reached = as_user(user, || find(order.program, &path, order.folder));
        let program = reached
            .map_err(BuildError::server("looking for a program"))?
            .or_else(|| find(order.program, &path, order.folder))
            .ok_or_else(|| not_started(order.program, io::ErrorKind::NotFound.into()))?;
        self.confined(order, &program, None)
    }

    /// Confines a program of the build, or with `agent` the agent's own binary.
    fn confined(&self, order: &CommandSpec<'_>, program: &Path, agent: Option<&Path>) -> Result<Command, BuildError> {
        let (path, user) = (self.path_of(order), self.options.user);
        let seen = CommandPaths::of(&self.build_folders, self.options)
            .map_err(BuildError::server("making its view of the files"))?;
        let mut command = std::process::Command::new(seen.path(program));
        command
            .args(order.arguments)
            .current_dir(order.folder)
            .env_clear()
            .envs(&self.options.environment)
            .env("LANG", "C.UTF-8")
            .env("CI", "true")
            // The agent reads what its own commands write.
            .envs((!order.secrets).then_some(("NO_COLOR", "1")))
            .envs(self.variables.iter().filter(|_| order.secrets))
            .envs(
                self.secrets
                    .iter()
                    .filter(|_| order.secrets)
                    .map(|secret| (&secret.name, OsStr::from_bytes(&secret.value))),
            )
            .env("PATH", seen.list(&path))
            .env("HOME", &self.build_folders.home)
            .env("TMPDIR", seen.path(&self.build_folders.tmp))
            .envs(seen.environment())
            .env(leftover_processes::MARK, self.deployment.as_str())
            .envs(order.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let entrances = self.cgroup.as_ref().map_or(Ok(Vec::new()), Cgroup::entrances);
        let network = self.network.as_ref().filter(|_| order.step == Step::Build);
        let mounts =
            self.options.user.filter(|_| confine::namespaces()).map(|_| self.build_folders.binds(network.is_some()));
        let network = match (network, agent) {
            (_, Some(_)) => Ok(CommandNetwork::None),
            (Some(network), None) => network.descriptor().try_clone_to_owned().map(CommandNetwork::Own),
            (None, None) => Ok(CommandNetwork::Server),
        };
        let sandbox = self.sandbox(&self.path(), mounts.is_some(), agent);
        entrances
            .and_then(|entrances| {
                let (sandbox, view) = (Some(sandbox?), seen.into_view(order.folder)?);
                Ok(Confinement { user, entrances, network: network?, mounts, view, sandbox })
            })
            .and_then(|confinement| confine::confine(&mut command, confinement))
            .map_err(BuildError::server("confining a command"))?;
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        Ok(command)
    }
}

/// Reason why a build may not continue to write.
#[derive(Debug, Clone, Copy)]
enum Excess {
    Bytes(u64),
    Depth,
    Disk,
}

impl Excess {
    fn error(self, doing: String) -> BuildError {
        match self {
            Self::Bytes(limit_bytes) => BuildError::TooLarge { limit_bytes, doing },
            Self::Depth => BuildError::Command(format!(
                "The build left folders nested deeper than {} levels, while it {doing}. Let it make fewer.",
                size::DEPTH_MAX
            )),
            Self::Disk => BuildError::DiskFull,
        }
    }
}

/// Folders and processes that count against a build's disk limit.
#[derive(Clone)]
struct DiskQuota {
    folders: [PathBuf; 3],
    deployment: DeploymentId,
    user: Option<u32>,
    limit_bytes: u64,
}

/// Stops a count when its future is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn excess(quota: DiskQuota) -> io::Result<Option<Excess>> {
    let DiskQuota { folders, deployment, user, limit_bytes } = quota;
    let stop = StopOnDrop(Arc::default());
    let stopped = Arc::clone(&stop.0);
    let counted = spawn_blocking(move || {
        let processes = leftover_processes::processes(&deployment, user);
        let folders = folders.each_ref().map(PathBuf::as_path);
        size::of(&size::SizeQuery { folders: &folders, processes: &processes, limit_bytes }, &stopped)
    });
    let size = counted.await.map_err(io::Error::other)??;
    Ok(if size.used_bytes > limit_bytes {
        Some(Excess::Bytes(limit_bytes))
    } else if size.too_deep {
        Some(Excess::Depth)
    } else {
        (size.free_bytes < DISK_BYTES_MIN).then_some(Excess::Disk)
    })
}

/// A program as the build will find it: the standard library looks in the agent's own PATH.
fn find(program: &str, path: &OsStr, folder: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(folder.join(program));
    }
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|program| {
        std::fs::metadata(program).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Like `busy_program::retry`, without blocking the thread.
async fn start(command: &mut Command) -> io::Result<Child> {
    let until = Instant::now() + busy_program::LIMIT;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < until => {
                sleep(busy_program::PAUSE).await;
            }
            started => return started,
        }
    }
}

fn not_started(program: &str, error: io::Error) -> BuildError {
    match error.kind() {
        io::ErrorKind::NotFound => BuildError::Command(format!(
            "The build needs `{program}`, which is not installed on this server. Install it there, then redeploy."
        )),
        io::ErrorKind::PermissionDenied => BuildError::Command(format!(
            "The program `{program}` can't be run by the user that builds. Install it where every user of the server can reach it, and keep the folders above the agent's data open to others (chmod o+x)."
        )),
        _ => BuildError::server("starting a command")(error),
    }
}

/// Reads once; never ready when the pipe has ended.
async fn read(pipe: &mut (impl AsyncRead + Unpin), buffer: &mut [u8], open: bool) -> usize {
    if !open {
        return std::future::pending().await;
    }
    // A pipe that can't be read has ended.
    pipe.read(buffer).await.unwrap_or_default()
}

struct CommandOutput {
    step: Step,
    capture: bool,
    out: Vec<u8>,
    err: Vec<u8>,
    out_open: bool,
    err_open: bool,
    out_lines: LineSplitter,
    err_lines: LineSplitter,
    /// Before lines are cut: a secret may lie across the cut.
    out_secrets: Option<fairlead_secret::RedactingStream>,
    err_secrets: Option<fairlead_secret::RedactingStream>,
    clean: Vec<u8>,
    captured: Vec<u8>,
    tail: Vec<String>,
}

impl CommandOutput {
    fn new(step: Step, capture: bool, redactor: Option<&Redactor>) -> Self {
        Self {
            step,
            capture,
            out: vec![0; 16 * 1024],
            err: vec![0; 16 * 1024],
            out_open: true,
            err_open: true,
            out_lines: LineSplitter::default(),
            err_lines: LineSplitter::default(),
            out_secrets: redactor.map(Redactor::stream),
            err_secrets: redactor.map(Redactor::stream),
            clean: Vec::new(),
            captured: Vec::new(),
            tail: Vec::new(),
        }
    }

    fn take_out(&mut self, workshop: &mut Workshop<'_>, count: usize) {
        self.out_open = count > 0;
        if self.capture {
            let room = CAPTURE_BYTES_MAX.saturating_sub(self.captured.len());
            self.captured.extend_from_slice(&self.out[..count.min(room)]);
            return;
        }
        let bytes = redacted(&mut self.out_secrets, &mut self.clean, &self.out[..count]);
        let (step, tail) = (self.step, &mut self.tail);
        self.out_lines.take(bytes, |line| keep(workshop, tail, step, LogStream::Stdout, line));
    }

    fn take_err(&mut self, workshop: &mut Workshop<'_>, count: usize) {
        self.err_open = count > 0;
        let bytes = redacted(&mut self.err_secrets, &mut self.clean, &self.err[..count]);
        let (step, tail) = (self.step, &mut self.tail);
        self.err_lines.take(bytes, |line| keep(workshop, tail, step, LogStream::Stderr, line));
    }

    fn finish(&mut self, workshop: &mut Workshop<'_>) {
        let (step, tail) = (self.step, &mut self.tail);
        let rest = |secrets: &mut Option<fairlead_secret::RedactingStream>| {
            let mut rest = Vec::new();
            if let Some(secrets) = secrets {
                secrets.finish(&mut rest);
            }
            rest
        };
        let (out, err) = (rest(&mut self.out_secrets), rest(&mut self.err_secrets));
        self.out_lines.take(&out, |line| keep(workshop, tail, step, LogStream::Stdout, line));
        self.err_lines.take(&err, |line| keep(workshop, tail, step, LogStream::Stderr, line));
        self.out_lines.finish(|line| keep(workshop, tail, step, LogStream::Stdout, line));
        self.err_lines.finish(|line| keep(workshop, tail, step, LogStream::Stderr, line));
    }
}

/// Redacts secrets from these bytes; may hold some back until more has come.
fn redacted<'a>(
    secrets: &mut Option<fairlead_secret::RedactingStream>,
    clean: &'a mut Vec<u8>,
    bytes: &'a [u8],
) -> &'a [u8] {
    let Some(secrets) = secrets else { return bytes };
    clean.clear();
    secrets.take(bytes, clean);
    clean
}

fn keep(workshop: &mut Workshop<'_>, tail: &mut Vec<String>, step: Step, stream: LogStream, line: String) {
    if tail.len() == TAIL_LINES {
        tail.remove(0);
    }
    // In the stream, an escape sequence inside a secret hides it from the search.
    let line = workshop.redacted(line);
    tail.push(excerpt::plain(&line));
    workshop.log(step, stream, line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_is_open_for_writing_starts_once_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::copy("/bin/true", &program).unwrap();
        let writer = std::fs::OpenOptions::new().write(true).open(&program).unwrap();
        let close = async {
            sleep(busy_program::PAUSE * 3).await;
            drop(writer);
        };
        let mut command = Command::new(&program);
        let (child, ()) = tokio::join!(start(&mut command), close);
        assert!(child.unwrap().wait().await.unwrap().success());
    }
}
