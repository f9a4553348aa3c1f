//! Processes of the lab. Each is the agent's own program with another command, and ends with its standard input. So none is left
//! behind when the agent ends.

use std::ffi::OsString;
use std::io::{Error, Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::thread::JoinHandle;

use fairlead_base::accounts::User;
use fairlead_model::LabApp;
use fairlead_telemetry::tree_of;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, waitid,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::app;
use crate::floor::{FloorThread, forward};
use crate::grpc_app;
use crate::probe_app;
use crate::user::forbid_new_rights;

/// The listen backlog must fit the simultaneous connections of a proxy.
const BACKLOG: i32 = 4096;

/// Arguments of a guard, before the ids of its processes.
const GUARD: [&str; 2] = ["lab", "guard"];

/// Addresses that a process of the lab prints once it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// Address without TLS.
    pub address: SocketAddr,
    pub https: Option<SocketAddr>,
}

/// Serves the lab's app on a port of the kernel's choice, or on a Unix socket, until standard input ends.
pub fn run_app(settings: LabApp, socket: Option<&Path>) -> Result<()> {
    let (address, domain) = match socket {
        Some(path) => (SockAddr::unix(path)?, Domain::UNIX),
        None => (SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into(), Domain::IPV4),
    };
    let listener = Socket::new(domain, Type::STREAM, None)?;
    listener.bind(&address)?;
    listener.listen(BACKLOG)?;
    listener.set_nonblocking(true)?;
    match (socket, listener.local_addr()?.as_socket()) {
        (Some(path), _) => println!("{{\"address\":\"unix:{}\"}}", path.display()),
        (None, Some(address)) => announce(Serving { address, https: None })?,
        (None, None) => return Err(Error::other("a port has no address")),
    }
    let listener = OwnedFd::from(listener);
    until_input_ends([std::thread::spawn(move || match settings {
        LabApp { speaks_grpc: true, .. } => grpc_app::serve(listener, settings),
        LabApp { serves_probes: true, .. } => probe_app::serve(listener),
        _ => app::serve(&listener, settings),
    })])
}

/// Serves the null proxy until standard input ends. `certificate`: folder of `certificate::issue`.
pub fn run_floor(certificate: &Path, app: SocketAddr, workers: usize) -> Result<()> {
    let tls = tls(certificate)?;
    let (mut https, mut cleartext) = (loopback(0), loopback(0));
    let mut threads = Vec::new();
    for _ in 0..workers {
        let sockets = (listen(&mut https)?, listen(&mut cleartext)?);
        let thread = FloorThread { https: sockets.0, cleartext: sockets.1, tls: tls.clone(), app };
        threads.push(std::thread::spawn(move || forward(&thread)));
    }
    announce(Serving { address: cleartext, https: Some(https) })?;
    until_input_ends(threads)
}

/// Moves the calling thread, and what it starts, into the network namespace of a file such as `/proc/1/ns/net`.
pub fn enter_network(file: &Path) -> Result<()> {
    fairlead_network::join(std::fs::File::open(file)?.as_fd())
}

/// Runs a program in a process group of its own until standard input ends, or until the program does. Its group and its
/// descendants end with it. A guard ends them too, so that they also end with this process. With a `user`, this process is root,
/// and the program runs as that user without any capability.
pub fn run_peer(program: &Path, arguments: &[OsString], user: Option<User>) -> Result<ExitCode> {
    // Descendants that outlive the program stay descendants of this process.
    set_child_subreaper(Some(getpid()))?;
    let mut child = start_peer(Command::new(program).args(arguments).stdin(std::process::Stdio::null()), user)?;
    let [own, group] = [std::process::id(), child.id()].map(|id| id.to_string());
    let guard = Command::new("/proc/self/exe").args(GUARD).args([own, group]).process_group(0).spawn();
    let mut guard = match guard {
        Ok(guard) => guard,
        Err(error) => {
            child.kill()?;
            return Err(error);
        }
    };
    let status = wait_for_leader(&mut child)?;
    guard.kill()?;
    guard.wait()?;
    kill_descendants(getpid())?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Starts a program in a process group of its own.
fn start_peer(command: &mut Command, user: Option<User>) -> Result<Child> {
    if let Some(User { uid, gid }) = user {
        forbid_new_rights()?;
        // A change of user that began as root also clears the other groups and the capabilities.
        command.uid(uid).gid(gid);
    }
    command.process_group(0).spawn()
}

/// Waits for the leader of a process group, then kills the rest of the group.
fn wait_for_leader(leader: &mut Child) -> Result<ExitStatus> {
    let group = Pid::from_child(leader);
    // An unreaped leader keeps its id, so the id is not yet that of another group.
    while let Err(error) = waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    kill_group(group)?;
    leader.wait()
}

/// Kills without a drain: no connection matters any more. A group that is already gone is no failure.
fn kill_group(group: Pid) -> Result<()> {
    match kill_process_group(group, Signal::KILL) {
        Err(error) if error != Errno::SRCH => Err(error.into()),
        _ => Ok(()),
    }
}

/// Kills all descendants of a process, also those in other process groups: Fairlead's supervisor starts its proxy in one.
fn kill_descendants(ancestor: Pid) -> Result<()> {
    // Invariant: a stopped process neither forks nor reaps, so ids don't change once the whole tree is stopped.
    let mut stopped: Vec<Pid> = Vec::new();
    loop {
        let tree = tree_of(ancestor.as_raw_pid().unsigned_abs());
        let descendants = tree.into_iter().skip(1).filter_map(|pid| Pid::from_raw(pid.cast_signed()));
        let new: Vec<Pid> = descendants.filter(|pid| !stopped.contains(pid)).collect();
        if new.is_empty() {
            break;
        }
        new.iter().try_for_each(|pid| signal(*pid, Signal::STOP))?;
        stopped.extend(new);
    }
    stopped.into_iter().try_for_each(|pid| signal(pid, Signal::KILL))
}

/// Sends a signal. A process that is already gone is no failure.
fn signal(pid: Pid, signal: Signal) -> Result<()> {
    match kill_process(pid, signal) {
        Err(error) if error != Errno::SRCH => Err(error.into()),
        _ => Ok(()),
    }
}

/// Waits until standard input ends or the process `parent` does, then kills the process group `group`, its leader's descendants
/// included.
pub fn run_guard(parent: i32, group: i32) -> Result<()> {
    let unknown = || Error::other("no process id");
    let (parent, group) = (Pid::from_raw(parent).ok_or_else(unknown)?, Pid::from_raw(group).ok_or_else(unknown)?);
    let pidfd = pidfd_open(parent, PidfdFlags::empty());
    // A process that lost its parent has another one.
    if let Ok(pidfd) = pidfd
        && getppid() == Some(parent)
    {
        let input = std::io::stdin();
        let mut polled = [PollFd::new(&input, PollFlags::IN), PollFd::new(&pidfd, PollFlags::IN)];
        while let Err(error) = poll(&mut polled, None) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
    }
    // The group must end even if a descendant can't be killed: it would stay stopped.
    let descendants = signal(group, Signal::STOP).and_then(|()| kill_descendants(group));
    kill_group(group)?;
    descendants
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Listens beside other threads on the same port; the first one gets a free port.
fn listen(address: &mut SocketAddr) -> Result<OwnedFd> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_port(true)?;
    socket.bind(&(*address).into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    *address = socket.local_addr()?.as_socket().ok_or_else(|| Error::other("a port has no address"))?;
    Ok(socket.into())
}

fn tls(certificate: &Path) -> Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_file_iter(certificate.join("leaf.pem")).map_err(Error::other)?;
    let chain = chain.collect::<std::result::Result<Vec<_>, _>>().map_err(Error::other)?;
    let key = PrivateKeyDer::from_pem_file(certificate.join("leaf-key.pem")).map_err(Error::other)?;
    let mut provider = aws_lc_rs::default_provider();
    // The same parameters as in the peers' configurations.
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519];
    let builder = ServerConfig::builder_with_provider(provider.into());
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(Error::other)?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(Error::other)?;
    // Only gRPC clients offer HTTP/2, and they offer nothing else.
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    Ok(config.into())
}

fn announce(serving: Serving) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &serving)?;
    writeln!(out)?;
    out.flush()
}

/// A thread ends only after a fatal error, and nothing can be measured then.
fn until_input_ends(threads: impl IntoIterator<Item = JoinHandle<Result<()>>>) -> Result<()> {
    for thread in threads {
        std::thread::spawn(move || {
            if let Ok(Err(error)) = thread.join() {
                eprintln!("the lab can't go on: {error}");
            }
            std::process::exit(1);
        });
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;
    use std::process::Stdio;

    use fairlead_base::accounts;
    use rustix::event::Timespec;
    use rustix::process::{getegid, geteuid};

    use super::*;

    /// Without root, no other user is possible: then the test's own user loses its rights.
    #[test]
    fn a_program_with_a_user_has_no_rights_of_root() {
        let user = match geteuid() {
            own if own.is_root() => accounts::lab_user().unwrap(),
            own => User { uid: own.as_raw(), gid: getegid().as_raw() },
        };
        let child =
            start_peer(Command::new("cat").arg("/proc/self/status").stdout(Stdio::piped()), Some(user)).unwrap();
        let status = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(field("Uid:"), vec![user.uid.to_string(); 4]);
        assert_eq!(field("Gid:"), vec![user.gid.to_string(); 4]);
        assert_eq!(field("NoNewPrivs:"), ["1"]);
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            assert_eq!(field(set), ["0".repeat(16)], "{set}");
        }
        if geteuid().is_root() {
            assert!(field("Groups:").is_empty(), "{status}");
        }
    }

    #[test]
    fn a_group_ends_with_its_leader() {
        let mut leader = Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!; exit 3"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        let other = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        assert_eq!(wait_for_leader(&mut leader).unwrap().code(), Some(3));
        let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(&other, PollFlags::IN)], Some(&patience)).unwrap();
        assert_eq!(ended, 1, "{pid:?} still runs");
    }

    #[test]
    fn descendants_in_other_groups_are_killed() {
        // The program starts one in a session of its own, which starts another.
        let script = "setsid sh -c 'sleep 1000 & echo $! $$; wait' & wait";
        let mut leader =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let others: Vec<_> = line
            .split_whitespace()
            .map(|pid| pidfd_open(Pid::from_raw(pid.parse().unwrap()).unwrap(), PidfdFlags::empty()).unwrap())
            .collect();
        assert_eq!(others.len(), 2);
        kill_descendants(Pid::from_child(&leader)).unwrap();
        let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
        for other in &others {
            assert_eq!(
                poll(&mut [PollFd::new(other, PollFlags::IN)], Some(&patience)).unwrap(),
                1,
                "{line} still runs"
            );
        }
        leader.wait().unwrap();
    }
}
