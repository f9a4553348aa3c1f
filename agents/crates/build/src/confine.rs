//! Confinement of a build's process before its program begins: its own session, control group, mounts, processes, user and
//! sandbox. Everything that allocates happens before the fork; after it there are system calls only.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use fairlead_base::descriptor::close_range;
use fairlead_base::root_view::RootView;
use fairlead_base::sandbox::Sandbox;
use rustix::process::Signal;
use rustix::thread::UnshareFlags;

/// File or folder that a build sees instead of the server's own.
#[derive(Debug, Clone)]
pub(crate) struct BuildBind {
    pub(crate) from: PathBuf,
    pub(crate) at: PathBuf,
}

/// Network of one command.
#[derive(Debug)]
pub(crate) enum CommandNetwork {
    /// Shares the server's network namespace.
    Server,
    /// Joins this network namespace.
    Own(OwnedFd),
    /// No network; the server's if this process may not give network namespaces.
    None,
}

/// Restrictions of one command.
pub(crate) struct Confinement {
    pub(crate) user: Option<u32>,
    /// Descriptors through which it enters its control groups.
    pub(crate) entrances: Vec<OwnedFd>,
    pub(crate) network: CommandNetwork,
    /// Mounts in namespaces of its own; empty if this server can't give any.
    pub(crate) mounts: Option<Vec<BuildBind>>,
    /// Root file system of its own beside these mounts, and the working directory in it.
    pub(crate) view: Option<(RootView, CString)>,
    /// Files and system calls that remain allowed.
    pub(crate) sandbox: Option<Sandbox>,
}

/// Returns true if this process may create namespaces. Checks once and caches the result.
pub(crate) fn namespaces() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        if !rustix::process::geteuid().is_root() {
            return false;
        }
        let mut command = Command::new("true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mounts = Some(vec![BuildBind { from: "/etc/passwd".into(), at: "/etc/passwd".into() }]);
        let confined = confine(
            &mut command,
            Confinement {
                user: None,
                entrances: Vec::new(),
                network: CommandNetwork::Server,
                mounts,
                view: None,
                sandbox: None,
            },
        );
        let given = confined.and_then(|()| command.status());
        match given {
            Ok(status) => status.success(),
            Err(error) => {
                tracing::warn!(%error, "builds get no namespaces of their own");
                false
            }
        }
    })
}

/// True if this process may give network namespaces; tried once.
#[allow(unsafe_code)]
fn network_namespaces() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let tried = std::thread::spawn(|| {
            // SAFETY: only `UnshareFlags::FILES` can break descriptors that other threads hold; it isn't given.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
        });
        let tried = tried.join().map_err(|_| io::Error::other("the attempt ended unexpectedly"));
        match tried.and_then(|tried| tried.map_err(io::Error::from)) {
            Ok(()) => true,
            Err(error) => {
                tracing::info!(%error, "repositories are read by a process that has the server's network");
                false
            }
        }
    })
}

/// Writes a passwd with the build's user: some programs fail without an entry (ssh, Node's `os.userInfo`).
pub(crate) fn write_passwd(path: &Path, user: u32, home: &Path) -> io::Result<()> {
    let known = fs::read_to_string("/etc/passwd")?;
    let line = format!("build:x:{user}:{user}::{}:/usr/sbin/nologin\n", home.display());
    fairlead_base::file::replace(path, format!("{known}{line}").as_bytes(), 0o644)
}

/// Prepares a command; it is confined when it begins.
#[allow(unsafe_code)]
pub(crate) fn confine(command: &mut Command, confinement: Confinement) -> io::Result<()> {
    let Confinement { user, entrances, network, mounts, view, sandbox } = confinement;
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let mounts: Option<Vec<_>> = mounts
        .map(|binds| binds.iter().map(|bind| Ok::<_, io::Error>((path(&bind.from)?, path(&bind.at)?))).collect())
        .transpose()?;
    let network = match network {
        CommandNetwork::None if !network_namespaces() => CommandNetwork::Server,
        network => network,
    };
    let confine = move || {
        rustix::process::setsid()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        for entrance in &entrances {
            // SAFETY: one byte of a constant to a descriptor that is open.
            if unsafe { libc::write(entrance.as_raw_fd(), c"0".as_ptr().cast(), 1) } != 1 {
                return Err(io::Error::last_os_error());
            }
        }
        match &network {
            CommandNetwork::Server => {}
            CommandNetwork::Own(network) => fairlead_network::join(network.as_fd())?,
            // SAFETY: a system call with a constant, in a process that has one thread.
            CommandNetwork::None => done(unsafe { libc::unshare(libc::CLONE_NEWNET) })?,
        }
        if let Some(binds) = &mounts {
            // SAFETY: system calls with constants and strings that were made before the fork.
            unsafe { unshare(binds, view.as_ref().map(|(view, _)| view))? };
        }
        if let Some(user) = user {
            // SAFETY: system calls with numbers.
            unsafe {
                done(libc::setgroups(0, std::ptr::null()))?;
                done(libc::setresgid(user, user, user))?;
                done(libc::setresuid(user, user, user))?;
            }
        }
        if let Some((_, folder)) = &view {
            // With the user's rights: a build can put a link in its place.
            rustix::process::chdir(folder.as_c_str())?;
        }
        rustix::thread::set_no_new_privs(true)?;
        // After the change of user, which clears it.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // Programs of a repository must not inherit open descriptors. They are marked, not closed: the standard library
        // still needs its own. A kernel before 5.11 can't mark them, and they stay open.
        // SAFETY: only sets close-on-exec; no descriptor is closed here.
        unsafe { close_range(3, libc::CLOSE_RANGE_CLOEXEC) };
        // The sandbox comes last: the steps before need calls that it refuses.
        sandbox.as_ref().map_or(Ok(()), Sandbox::enter)
    };
    // SAFETY: between fork and exec only system calls are made: nothing allocates, locks or touches shared state.
    unsafe { command.pre_exec(confine) };
    Ok(())
}

/// Unshares mounts, IPC and PIDs, then forks. The child is the first process of the PID namespace: when it exits, the kernel
/// kills the others. The parent waits for the child and exits as it did.
#[allow(unsafe_code)]
unsafe fn unshare(binds: &[(CString, CString)], view: Option<&RootView>) -> io::Result<()> {
    let none = std::ptr::null();
    // SAFETY: the caller's promise; all pointers are to constants or to strings that outlive the calls.
    unsafe {
        done(libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWPID))?;
        done(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
        for (from, at) in binds {
            done(libc::mount(from.as_ptr(), at.as_ptr(), none, libc::MS_BIND, none.cast()))?;
        }
        // It contains the mounts above.
        view.map_or(Ok(()), RootView::enter)?;
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // If the one that waits is ended, so is this.
                done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
                let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
                done(libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, none.cast()))
            }
            child => wait_for(child),
        }
    }
}

/// Ends as the child does.
#[allow(unsafe_code)]
unsafe fn wait_for(child: libc::pid_t) -> ! {
    // SAFETY: system calls only, in a process that has one thread; it never returns.
    unsafe {
        // Otherwise readers of pipes shared with the child would never see them closed.
        close_range(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let mut status = 0;
        while libc::waitpid(child, &raw mut status, 0) == -1 {
            if *libc::__errno_location() != libc::EINTR {
                libc::_exit(127);
            }
        }
        if libc::WIFSIGNALED(status) {
            libc::kill(libc::getpid(), libc::WTERMSIG(status));
            // The signal did not end this process.
            libc::_exit(128 + libc::WTERMSIG(status));
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confined_command_sees_its_own_processes_tmp_and_user_and_ends_as_its_program_does() {
        if !namespaces() {
            return;
        }
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (tmp, passwd) = (dir.path().join("tmp"), dir.path().join("passwd"));
        fs::create_dir(&tmp).unwrap();
        write_passwd(&passwd, 71_235, dir.path()).unwrap();
        let run = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            let bind = |from: &Path, at: &str| BuildBind { from: from.to_owned(), at: at.into() };
            let mounts = Some(vec![bind(&tmp, "/tmp"), bind(&passwd, "/etc/passwd")]);
            let confinement = Confinement {
                user: Some(71_235),
                entrances: Vec::new(),
                network: CommandNetwork::None,
                mounts,
                view: None,
                sandbox: None,
            };
            confine(&mut command, confinement).unwrap();
            let output = command.output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(run(&["id", "-un"]).1, "build\n");
        assert_eq!(run(&["ls", "/tmp"]).1, "");
        assert_eq!(run(&["cat", "/proc/self/comm"]).1, "cat\n");
        assert_eq!(run(&["readlink", "/proc/self"]).1, "1\n");
        assert_eq!(run(&["env", "false"]).0, Some(1));
        if network_namespaces() {
            // Two lines of titles, and the loopback alone.
            assert_eq!(run(&["cat", "/proc/net/dev"]).1.lines().count(), 3);
        }
    }
}
