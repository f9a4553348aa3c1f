//! Confinement of the proxy process: each attack fails in a confined process and succeeds without confinement. This
//! program is the test and, as `PROGRAM attempt …`, the attacker.

// Not `cfg(test)` to the lints, because it has its own `main`; some attempts have no safe form.
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::expect_used)]

use std::fs::{File, OpenOptions};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio, exit};

use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Exit code of an attempt that was refused.
const REFUSED: i32 = 77;
/// User of the second round, where root runs the tests.
const ORDINARY_USER: u32 = 65_534;

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Succeeded,
    Refused,
    /// Signal by which the kernel ended the process (SIGSYS).
    Killed,
}

/// Attempts, and whether only root may do them without confinement.
const ATTEMPTS: [(&str, Outcome, bool); 22] = [
    ("read-shadow", Outcome::Refused, true),
    ("read-key", Outcome::Refused, false),
    ("read-public-file", Outcome::Refused, false),
    ("write-file", Outcome::Refused, false),
    ("list-folder", Outcome::Refused, false),
    ("execute", Outcome::Killed, false),
    ("start-process", Outcome::Refused, false),
    ("trace", Outcome::Killed, true),
    ("signal", Outcome::Refused, false),
    ("raw-socket", Outcome::Refused, true),
    ("netlink-socket", Outcome::Refused, false),
    ("datagram-socket", Outcome::Refused, false),
    ("listen", Outcome::Refused, false),
    ("agent-socket", Outcome::Refused, true),
    ("abstract-socket", Outcome::Refused, false),
    ("become-root", Outcome::Refused, true),
    ("executable-memory", Outcome::Refused, false),
    ("namespace", Outcome::Killed, true),
    ("keyring", Outcome::Killed, false),
    ("ring", Outcome::Killed, false),
    ("ring-change", Outcome::Refused, false),
    // Serving needs it.
    ("connect-to-app", Outcome::Succeeded, false),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, wall, attempt, at] = arguments.as_slice()
        && first == "attempt"
    {
        if wall == "confined-as-root" {
            give_up(CapabilitySet::SETUID);
        }
        let ring = (attempt == "ring-change").then(|| ring().unwrap());
        if wall != "free" {
            fairlead_proxy::confine().unwrap();
        }
        let tried = ring.map_or_else(|| try_to(attempt, at), |ring| change_ring(&ring));
        if let Err(error) = tried {
            eprintln!("{wall} {attempt}: {error}");
            exit(REFUSED);
        }
        exit(0);
    }
    if arguments.first().is_some_and(|first| first == "round") {
        round();
        return;
    }
    round();
    println!("ok: a confined proxy is refused what it could do otherwise, as user {}", geteuid().as_raw());
    if geteuid().is_root() {
        let status =
            Command::new("/proc/self/exe").arg("round").uid(ORDINARY_USER).gid(ORDINARY_USER).status().unwrap();
        assert!(status.success());
        println!("ok: so is one of an ordinary user");
    }
    println!("test result: ok. {} passed; 0 failed; 0 ignored", 1 + u32::from(geteuid().is_root()));
}

/// Targets of the intruder: files, sockets and a process of the user who started the proxy.
struct Prey {
    folder: tempfile::TempDir,
    victim: Child,
    app: TcpListener,
    _agent: UnixListener,
    _abstract: UnixListener,
}

impl Prey {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::write(folder.path().join("key.ed25519"), "secret").unwrap();
        let victim = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        Self {
            app: TcpListener::bind("127.0.0.1:0").unwrap(),
            _agent: UnixListener::bind(folder.path().join("agent.sock")).unwrap(),
            _abstract: UnixListener::bind_addr(&abstract_address(&folder.path().to_string_lossy())).unwrap(),
            victim,
            folder,
        }
    }

    fn of(&self, attempt: &str) -> String {
        let path = |name: &str| self.folder.path().join(name).to_string_lossy().into_owned();
        match attempt {
            "read-key" => path("key.ed25519"),
            "write-file" => path("written"),
            "agent-socket" => path("agent.sock"),
            "trace" | "signal" => self.victim.id().to_string(),
            "connect-to-app" => self.app.local_addr().unwrap().to_string(),
            _ => path(""),
        }
    }
}

impl Drop for Prey {
    fn drop(&mut self) {
        self.victim.kill().unwrap();
        self.victim.wait().unwrap();
    }
}

fn round() {
    let prey = Prey::new();
    let attempt = |wall: &str, attempt: &str| {
        let ended =
            Command::new("/proc/self/exe").args(["attempt", wall, attempt, &prey.of(attempt)]).output().unwrap();
        match (ended.status.code(), ended.status.signal()) {
            (Some(0), _) => Outcome::Succeeded,
            (Some(REFUSED), _) => Outcome::Refused,
            (None, Some(libc::SIGSYS)) => Outcome::Killed,
            _ => panic!("{wall} {attempt}: {ended:?}"),
        }
    };
    // A container may forbid io_uring; the proxy then works without it.
    let has_io_uring = ring().is_ok();
    for (name, outcome, needs_root) in ATTEMPTS {
        if needs_root && !geteuid().is_root() || name.starts_with("ring") && !has_io_uring {
            continue;
        }
        assert_eq!(attempt("free", name), Outcome::Succeeded, "{name} without confinement");
        assert_eq!(attempt("confined", name), outcome, "{name}");
    }
    // Files of root are its own still, and so would be the sockets of Docker and the agent.
    if geteuid().is_root() {
        for (name, outcome) in [("agent-socket", Outcome::Refused), ("connect-to-app", Outcome::Succeeded)] {
            assert_eq!(attempt("confined-as-root", name), outcome, "{name} where the user can't be changed");
        }
    }
}

fn give_up(capability: CapabilitySet) {
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None).unwrap();
    let sets = [effective, permitted, inheritable].map(|set| set.difference(capability));
    let [effective, permitted, inheritable] = sets;
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable }).unwrap();
}

fn try_to(attempt: &str, at: &str) -> io::Result<()> {
    let process = || Pid::from_raw(at.parse().unwrap()).unwrap();
    match attempt {
        "read-shadow" => File::open("/etc/shadow").map(drop),
        "read-key" => std::fs::read(at).map(drop),
        "read-public-file" => File::open("/etc/passwd").map(drop),
        "write-file" => OpenOptions::new().create(true).append(true).open(at).map(drop),
        "list-folder" => std::fs::read_dir("/").map(drop),
        "execute" => Err(Command::new("/bin/true").exec()),
        "start-process" => Command::new("/bin/true").status().map(drop),
        "trace" => trace(process()),
        "signal" => Ok(kill_process(process(), Signal::CONT)?),
        "raw-socket" => {
            socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).map(drop).map_err(io::Error::from)
        }
        "netlink-socket" => socket(AddressFamily::NETLINK, SocketType::RAW, None).map(drop).map_err(io::Error::from),
        "datagram-socket" => socket(AddressFamily::INET, SocketType::DGRAM, None).map(drop).map_err(io::Error::from),
        "listen" => TcpListener::bind("127.0.0.1:0").map(drop),
        "agent-socket" => UnixStream::connect(at).map(drop),
        "abstract-socket" => UnixStream::connect_addr(&abstract_address(at)).map(drop),
        "become-root" => Ok(rustix::thread::set_thread_uid(rustix::process::Uid::ROOT)?),
        "executable-memory" => executable_memory(),
        "namespace" => namespace(),
        "keyring" => keyring(),
        "ring" => ring().map(drop),
        "connect-to-app" => TcpStream::connect(at).map(drop),
        other => panic!("no attempt {other}"),
    }
}

fn abstract_address(folder: &str) -> SocketAddr {
    let name = Path::new(folder).file_name().unwrap();
    SocketAddr::from_abstract_name(name.as_encoded_bytes()).unwrap()
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn trace(process: Pid) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: seizing stops nothing and touches no memory of either process.
    done(unsafe { libc::ptrace(libc::PTRACE_SEIZE, process.as_raw_pid(), none, none) })
}

fn executable_memory() -> io::Result<()> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    // SAFETY: new memory without other users.
    unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE)? };
    Ok(())
}

fn namespace() -> io::Result<()> {
    // SAFETY: a number; the process ends next.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) }.into())
}

fn keyring() -> io::Result<()> {
    const GET_KEYRING_ID: libc::c_long = 0;
    const SESSION_KEYRING: libc::c_long = -3;
    // SAFETY: numbers; asks for an id.
    done(unsafe { libc::syscall(libc::SYS_keyctl, GET_KEYRING_ID, SESSION_KEYRING, 1) })
}

/// Makes an io_uring without restrictions.
fn ring() -> io::Result<OwnedFd> {
    // Zeros: no flags (struct io_uring_params).
    let mut parameters = [0_u64; 15];
    // SAFETY: the kernel reads and writes the parameters, which have the size of its structure.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    done(ring)?;
    // SAFETY: the call returned a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(ring.try_into().map_err(io::Error::other)?) })
}

fn change_ring(ring: &OwnedFd) -> io::Result<()> {
    const REGISTER_PERSONALITY: libc::c_long = 9;
    // SAFETY: numbers; stores the credentials of this process in the ring.
    done(unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), REGISTER_PERSONALITY, 0_usize, 0_usize)
    })
}
