//! Finds and ends processes that hold a control socket, also hung ones and those of other versions. Invariant: signals
//! go through pidfds, because a process id may be reused.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, pidfd_getfd, pidfd_open, pidfd_send_signal};
use tokio::time::{sleep, timeout};

use super::ProxyError;

/// Maximum time from SIGKILL to the exit of the process.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The flag of a listening socket in /proc/net/unix (`__SO_ACCEPTCON`).
const LISTENING: u32 = 0x1_0000;

/// Handle of a process, child or not.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    pub(crate) pid: u32,
    handle: OwnedFd,
}

impl ProcessHandle {
    /// Opens a handle of the process that has this id now.
    pub(crate) fn open(pid: u32) -> Result<Self, ProxyError> {
        let open = || -> io::Result<OwnedFd> {
            let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
            Ok(pidfd_open(number, PidfdFlags::empty())?)
        };
        Ok(Self { pid, handle: open().map_err(ProxyError::system("cannot watch the proxy's process"))? })
    }

    /// Waits until the process has exited. Polls, because callers wait only when an exit is due.
    pub(crate) async fn ended(&self) {
        // A pidfd becomes readable when its process exits (pidfd_open(2)).
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let poll_once = || poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&at_once));
        while matches!(poll_once(), Ok(0) | Err(Errno::INTR)) {
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Ends the process: SIGTERM first, then SIGKILL after `exit_timeout`.
    pub(crate) async fn end(&self, exit_timeout: Duration) -> Result<(), ProxyError> {
        for (signal, exit_timeout) in [(Signal::TERM, exit_timeout), (Signal::KILL, KILL_TIMEOUT)] {
            if exit_timeout.is_zero() {
                continue;
            }
            match pidfd_send_signal(&self.handle, signal) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => return Err(ProxyError::system("cannot end the old proxy")(error.into())),
            }
            if timeout(exit_timeout, self.ended()).await.is_ok() {
                return Ok(());
            }
        }
        Err(ProxyError::Protocol("the old proxy does not end"))
    }

    /// Returns duplicates of its listening TCP sockets, so that clients wait in the accept queue while it is replaced.
    pub(crate) fn listening_sockets(&self) -> io::Result<Vec<OwnedFd>> {
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        for (number, link) in descriptors(self.pid)? {
            if !link.starts_with("socket:") || !seen.insert(link) {
                continue;
            }
            // The process may have closed it in the meantime.
            let Ok(socket) = pidfd_getfd(&self.handle, number, PidfdGetfdFlags::empty()) else { continue };
            let socket_ref = socket2::SockRef::from(&socket);
            let is_tcp = socket_ref.local_addr().is_ok_and(|address| address.as_socket().is_some());
            if is_tcp && socket_ref.is_listener().unwrap_or(false) {
                found.push(socket);
            }
        }
        Ok(found)
    }
}

/// Returns the other processes that listen on the Unix socket at `path`, even if its file is gone.
pub(crate) fn listening_on(path: &Path) -> io::Result<Vec<ProcessHandle>> {
    let sockets = sockets_at(path)?;
    let mut found = Vec::new();
    if sockets.is_empty() {
        return Ok(found);
    }
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let holds = || descriptors(pid).is_ok_and(|all| all.iter().any(|(_, link)| sockets.contains(link)));
        if pid == std::process::id() || !holds() {
            continue;
        }
        // The second check runs with the open pidfd: only now is the process id certainly the same process.
        if let Ok(process) = ProcessHandle::open(pid)
            && holds()
        {
            found.push(process);
        }
    }
    Ok(found)
}

/// Returns the sockets that listen at `path`, by their names in /proc.
fn sockets_at(path: &Path) -> io::Result<HashSet<String>> {
    let path = path.to_string_lossy();
    let listening = |line: &str| {
        let columns = line.strip_suffix(&*path)?.strip_suffix(' ')?;
        // Num RefCount Protocol Flags Type St Inode
        let columns: Vec<_> = columns.split_whitespace().collect();
        let flags = u32::from_str_radix(columns.get(3)?, 16).ok()?;
        (flags & LISTENING != 0).then(|| columns.get(6).map(|inode| format!("socket:[{inode}]")))?
    };
    Ok(fs::read_to_string("/proc/net/unix")?.lines().filter_map(listening).collect())
}

fn descriptors(pid: u32) -> io::Result<Vec<(RawFd, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let (Some(number), Ok(link)) = (number, fs::read_link(entry.path())) {
            found.push((number, link.to_string_lossy().into_owned()));
        }
    }
    Ok(found)
}
