//! One command of a build: as the build's user, in its own session, with its output as lines of the log, and ended whole
//! when the build is cancelled or its time is over. Owns what a repository's programs may do to the server.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use fairlead_base::{CancellationToken, clock};
use fairlead_model::{DeploymentId, LogLine, LogStream, Step};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, sleep_until, timeout};

use crate::lines::LineCutter;
use crate::{BuildError, BuildOptions, BuildSink, leftover};

/// Lines of a build's log; whoever writes more has a loop.
const LINES_MAX: u32 = 50_000;
/// After the command has ended: how long something it left may hold its output open.
const OUTPUT_SLACK: Duration = Duration::from_millis(500);
/// Last lines kept for the sentence of a failure.
const TAIL_LINES: usize = 20;
/// Output that is captured, not logged: a commit's data, a list of refs.
const CAPTURE_BYTES_MAX: usize = 4 << 20;

/// A build as its commands see it.
pub(crate) struct Workshop<'a> {
    pub(crate) options: &'a BuildOptions,
    pub(crate) deployment: &'a DeploymentId,
    /// Home of everything that runs; the source lies beside it.
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
    pub(crate) cache: PathBuf,
    pub(crate) limit: Duration,
    pub(crate) deadline: Instant,
    pub(crate) cancel: CancellationToken,
    pub(crate) sink: &'a mut dyn BuildSink,
    pub(crate) lines: u32,
}

/// What to run. Arguments are never parsed again.
pub(crate) struct Order<'a> {
    pub(crate) step: Step,
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [&'a OsStr],
    pub(crate) folder: &'a Path,
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// Standard output is wanted, not logged.
    pub(crate) capture: bool,
}

/// How it ended.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) captured: Vec<u8>,
    /// The last lines it wrote to standard error, or to both when nothing was captured.
    pub(crate) tail: Vec<String>,
}

impl Outcome {
    /// Whether it said that no space was left.
    pub(crate) fn disk_full(&self) -> bool {
        self.tail.iter().any(|line| line.contains("No space left on device") || line.contains("ENOSPC"))
    }
}

impl Workshop<'_> {
    /// Writes a line of Fairlead's own.
    pub(crate) fn say(&mut self, step: Step, text: impl Into<String>) {
        self.log(step, LogStream::System, text.into());
    }

    fn log(&mut self, step: Step, stream: LogStream, text: String) {
        self.lines = self.lines.saturating_add(1);
        let text = match self.lines {
            ..LINES_MAX => text,
            LINES_MAX => format!("The log has {LINES_MAX} lines now; what follows is left out."),
            _ => return,
        };
        self.sink.line(LogLine { unix_ms: clock::unix_ms(), step, stream, text });
    }

    /// Runs a command to its end, which may be failure; errors are those that end the build.
    pub(crate) async fn run(&mut self, order: &Order<'_>) -> Result<Outcome, BuildError> {
        if self.cancel.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        let mut child = self.command(order).spawn().map_err(|error| not_started(order.program, error))?;
        let group = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(BuildError::server("reading its output")(io::ErrorKind::BrokenPipe.into()));
        };
        let mut output = Output::new(order.step, order.capture);
        let (cancel, deadline) = (self.cancel.clone(), self.deadline);
        let ended = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break Err(BuildError::Cancelled),
                () = sleep_until(deadline) => {
                    let arguments: Vec<_> = order.arguments.iter().map(|argument| argument.to_string_lossy()).collect();
                    let doing = format!("ran `{} {}`", order.program, arguments.join(" "));
                    break Err(BuildError::Timeout { limit: self.limit, doing });
                }
                more = read(&mut out, &mut output.out, output.out_open) => output.take_out(self, more),
                more = read(&mut err, &mut output.err, output.err_open) => output.take_err(self, more),
                status = child.wait() => break status.map_err(BuildError::server("waiting for a command")),
            }
        };
        // Whatever it left behind must not go on, and must not hold its output open.
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
        // What still holds it is ended with the build.
        timeout(OUTPUT_SLACK, rest).await.ok();
        output.finish(self);
        match ended {
            Ok(status) => Ok(Outcome { status, captured: output.captured, tail: output.tail }),
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
        if tokio::task::spawn_blocking(move || leftover::end(&deployment, user)).await.is_err() {
            tracing::warn!(deployment = %self.deployment, "the search for processes of the build failed");
        }
    }

    fn command(&self, order: &Order<'_>) -> Command {
        let mut command = std::process::Command::new(order.program);
        command
            .args(order.arguments)
            .current_dir(order.folder)
            .env_clear()
            .envs(&self.options.environment)
            .env("PATH", &self.options.path)
            .env("HOME", &self.home)
            .env("TMPDIR", &self.tmp)
            .env("LANG", "C.UTF-8")
            .env("CI", "true")
            .env("NO_COLOR", "1")
            .env(leftover::MARK, self.deployment.as_str())
            .envs(order.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(user) = self.options.user {
            std::os::unix::process::CommandExt::uid(&mut command, user);
            std::os::unix::process::CommandExt::gid(&mut command, user);
        }
        confine(&mut command);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        command
    }
}

/// A session of its own, no new privileges, and no life beyond the agent's.
#[allow(unsafe_code)]
fn confine(command: &mut std::process::Command) {
    let confine = || {
        rustix::process::setsid()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        rustix::thread::set_no_new_privs(true)?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // What whoever started the agent had left open is not for a repository's programs. Marked, not closed: the
        // standard library still needs its own. A kernel before 5.11 can't, and leaves it as it was.
        // SAFETY: only sets close-on-exec; no descriptor is closed here.
        unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC.cast_signed()) };
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made: nothing allocates, locks or touches shared state.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, confine) };
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

struct Output {
    step: Step,
    capture: bool,
    out: Vec<u8>,
    err: Vec<u8>,
    out_open: bool,
    err_open: bool,
    out_lines: LineCutter,
    err_lines: LineCutter,
    captured: Vec<u8>,
    tail: Vec<String>,
}

impl Output {
    fn new(step: Step, capture: bool) -> Self {
        Self {
            step,
            capture,
            out: vec![0; 16 * 1024],
            err: vec![0; 16 * 1024],
            out_open: true,
            err_open: true,
            out_lines: LineCutter::default(),
            err_lines: LineCutter::default(),
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
        let (step, tail) = (self.step, &mut self.tail);
        self.out_lines.take(&self.out[..count], |line| keep(workshop, tail, step, LogStream::Stdout, line));
    }

    fn take_err(&mut self, workshop: &mut Workshop<'_>, count: usize) {
        self.err_open = count > 0;
        let (step, tail) = (self.step, &mut self.tail);
        self.err_lines.take(&self.err[..count], |line| keep(workshop, tail, step, LogStream::Stderr, line));
    }

    fn finish(&mut self, workshop: &mut Workshop<'_>) {
        let (step, tail) = (self.step, &mut self.tail);
        self.out_lines.finish(|line| keep(workshop, tail, step, LogStream::Stdout, line));
        self.err_lines.finish(|line| keep(workshop, tail, step, LogStream::Stderr, line));
    }
}

fn keep(workshop: &mut Workshop<'_>, tail: &mut Vec<String>, step: Step, stream: LogStream, line: String) {
    if tail.len() == TAIL_LINES {
        tail.remove(0);
    }
    tail.push(line.clone());
    workshop.log(step, stream, line);
}
