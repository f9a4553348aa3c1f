//! Sandbox of files and TCP ports (Landlock) and system calls (seccomp) that a process and its children can't leave. Apps and
//! builds share this definition. A sandbox is made before the fork; entering it makes system calls only.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};
use rustix::fs::{Mode, OFlags};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, sock_filter,
};

/// Newest Landlock rights that are requested; an older kernel applies those that it knows.
const LANDLOCK: ABI = ABI::V6;
/// First version of Landlock that keeps signals and abstract Unix sockets inside of the sandbox (Linux 6.12).
pub const LANDLOCK_SCOPES: u32 = 6;
/// First version of Landlock that restricts the TCP ports a process may bind (Linux 6.7).
pub const LANDLOCK_PORTS: u32 = 4;
/// First version of Landlock that knows the right to truncate (Linux 6.2).
const LANDLOCK_TRUNCATE: u32 = 3;

/// Folders where systems keep programs, libraries and what these read. Missing ones are skipped.
const SYSTEM: [&str; 16] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/etc",
    "/sys",
    "/snap",
    "/nix/store",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/var/lib/ca-certificates",
    "/var/lib/dbus",
];

/// System calls that fail with EPERM: they change the machine, look into other processes, or had exploitable faults in the
/// kernel.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// System calls of one processor only.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] =
    &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_ustat, libc::SYS_sysfs];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Namespaces that clone(2) could give a child: each is a way to rights that its parent lacks.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Sockets that lead to the kernel's cryptography or out of the machine.
const FAMILIES: [libc::c_int; 2] = [libc::AF_ALG, libc::AF_VSOCK];

/// Protocols other than TCP that can listen on TCP ports and that Landlock does not check: MPTCP and SMC.
const TCP_TWINS: [libc::c_int; 2] = [libc::IPPROTO_MPTCP, 256];
/// SMC's own family of sockets.
const AF_SMC: libc::c_int = 43;

/// System calls of the second numbering of x86-64 (x32), which the filters below do not check.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// Files that a confined process may open. Each path includes everything below it; `/proc` is always readable.
#[derive(Debug, Clone, Copy)]
pub struct FileRules<'a> {
    /// Paths that may be read and executed.
    pub readable: &'a [PathBuf],
    /// Paths that may be read, executed and changed.
    pub writable: &'a [PathBuf],
}

/// Restrictions of a sandbox. The default has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct SandboxLimits<'a> {
    /// Only these files can be opened.
    pub files: Option<FileRules<'a>>,
    /// Only these TCP ports can be bound. Any port that the kernel picks (port 0) can be bound too: programs talk to their own
    /// children over such ports, and listening without an address picks one in any case.
    pub ports: Option<&'a [u16]>,
    /// System calls that have no use for apps and builds fail.
    pub system_calls: bool,
}

/// Sandbox that is ready to be entered.
#[derive(Debug)]
pub struct Sandbox {
    /// None if neither files nor ports are restricted, or the kernel has no Landlock.
    rules: Option<OwnedFd>,
    /// True if file access is restricted.
    files: bool,
    programs: Vec<BpfProgram>,
}

impl Sandbox {
    /// Opens the paths of the rules and compiles the filters. Skips missing paths, and limits that the kernel does not know.
    pub fn new(limits: SandboxLimits<'_>) -> io::Result<Self> {
        let restricts = limits.files.is_some() || limits.ports.is_some();
        let rules = restricts.then(|| rules(limits)).transpose().map_err(io::Error::other)?;
        let mut programs = if limits.system_calls { programs().map_err(io::Error::other)? } else { Vec::new() };
        if limits.ports.is_some() && limits.system_calls {
            programs.push(twins().map_err(io::Error::other)?);
        }
        Ok(Self { rules: rules.and_then(Option::from), files: limits.files.is_some(), programs })
    }

    /// Confines this process, which must have set `no_new_privs`. Neither allocates nor locks, so that it can run between fork
    /// and exec. `/proc` is opened here: it may have been mounted after the sandbox was made.
    pub fn enter(&self) -> io::Result<()> {
        if let Some(rules) = &self.rules {
            if self.files {
                allow_proc(rules)?;
            }
            restrict(rules)?;
        }
        for program in &self.programs {
            apply_filter(program).map_err(|_| io::Error::last_os_error())?;
        }
        Ok(())
    }
}

/// Returns the version of the kernel's Landlock; 0 without it (landlock_create_ruleset(2)).
#[allow(unsafe_code)]
pub fn landlock_version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: without attributes and with this flag the call reads no memory and makes nothing.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    u32::try_from(version).unwrap_or_default()
}

/// True if the kernel has seccomp filters.
pub fn seccomp_known() -> bool {
    Path::new("/proc/sys/kernel/seccomp/actions_avail").exists()
}

/// Lists the system's folders, and the programs of a `PATH` with the files beside them.
pub fn system_and_programs(path: &OsStr) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let programs = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    system.chain(programs.filter_map(|folder| with_libraries(&folder))).collect()
}

/// Returns a folder of programs, or its prefix with `lib` and `share` if it is the `bin` of one.
pub fn with_libraries(programs: &Path) -> Option<PathBuf> {
    let programs = programs.canonicalize().ok()?;
    let of_prefix = programs.file_name().is_some_and(|name| name == "bin" || name == "sbin" || name == ".bin");
    let prefix = programs.parent().filter(|prefix| of_prefix && prefix.components().count() > 2);
    Some(prefix.map(Path::to_path_buf).unwrap_or(programs))
}

fn rules(limits: SandboxLimits<'_>) -> Result<RulesetCreated, landlock::RulesetError> {
    let (read, all) = (AccessFs::from_read(LANDLOCK), AccessFs::from_all(LANDLOCK));
    let mut handled = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    if limits.files.is_some() {
        handled = handled.handle_access(all)?.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    }
    if limits.ports.is_some() {
        handled = handled.handle_access(AccessNet::BindTcp)?;
    }
    let mut created = handled.create()?;
    if let Some(files) = limits.files {
        created = created
            .add_rules(path_beneath_rules(files.readable, read))?
            .add_rules(path_beneath_rules(files.writable, all))?;
    }
    if let Some(ports) = limits.ports {
        let port = |port| Ok::<_, landlock::RulesetError>(NetPort::new(port, AccessNet::BindTcp));
        created = created.add_rules(ports.iter().copied().chain([0]).map(port))?;
    }
    Ok(created)
}

/// `struct landlock_path_beneath_attr` of the kernel.
#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

/// Makes `/proc` readable, and lets programs change their own settings there.
#[allow(unsafe_code)]
fn allow_proc(rules: &OwnedFd) -> io::Result<()> {
    const PATH_BENEATH: u32 = 1;
    // Shells truncate a process's own settings as they open them, which needs the right to write. The kernel guards those of
    // others by their users.
    let mut access = AccessFs::from_read(ABI::V1) | AccessFs::WriteFile;
    if landlock_version() >= LANDLOCK_TRUNCATE {
        access |= AccessFs::Truncate;
    }
    let proc = rustix::fs::open(c"/proc", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let rule = PathBeneath { allowed_access: access.bits(), parent_fd: proc.as_raw_fd() };
    // SAFETY: the call takes descriptors that are open and reads one structure that outlives it.
    done(unsafe { libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), PATH_BENEATH, &raw const rule, 0u32) })
}

#[allow(unsafe_code)]
fn restrict(rules: &OwnedFd) -> io::Result<()> {
    // SAFETY: the call takes a descriptor that is open.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0u32) })
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Compiles each filter into a program of its own, because one program has one answer.
fn programs() -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())).collect();
    let one = |compare, value: libc::c_int| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, compare, value)
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    let spaces = NAMESPACES.map(|flag| one(SeccompCmpOp::MaskedEq(u64::from(flag.cast_unsigned())), flag));
    refused.insert(libc::SYS_clone, spaces.into_iter().collect::<Result<_, _>>()?);
    let families = FAMILIES.map(|family| one(SeccompCmpOp::Eq, family));
    refused.insert(libc::SYS_socket, families.into_iter().collect::<Result<_, _>>()?);
    // Flags of clone3 lie in memory, where no filter sees them. Without clone3, libraries use clone(2).
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let mut programs = vec![filter(unknown, libc::ENOSYS)?, filter(refused, libc::EPERM)?];
    programs.extend(second_numbering());
    Ok(programs)
}

/// Refuses the sockets that Landlock's rules for TCP ports miss. The error means a kernel without the protocol, so programs
/// use TCP instead.
fn twins() -> Result<BpfProgram, seccompiler::BackendError> {
    let one = |argument, value: libc::c_int| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    let mut refused = vec![one(0, AF_SMC)?];
    for protocol in TCP_TWINS {
        refused.push(one(2, protocol)?);
    }
    filter(BTreeMap::from([(libc::SYS_socket, refused)]), libc::EPROTONOSUPPORT)
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    answer: libc::c_int,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = std::env::consts::ARCH.try_into()?;
    let refuse = SeccompAction::Errno(answer.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}

#[cfg(target_arch = "x86_64")]
fn second_numbering() -> Option<BpfProgram> {
    let step = |code: u32, jt, jf, k| sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k };
    Some(vec![
        // The call's number is the first word that a filter sees (struct seccomp_data).
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn second_numbering() -> Option<BpfProgram> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_compiles_for_this_processor() {
        let programs = programs().unwrap();
        assert!(programs.iter().all(|program| program.len() > 3 && program.len() < 4096));
    }

    #[test]
    fn a_sandbox_of_ports_binds_these_and_what_the_kernel_picks() {
        use std::net::TcpListener;
        if landlock_version() < LANDLOCK_PORTS || !seccomp_known() {
            return;
        }
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (own, other) = (free(), free());
        let errno = |result: io::Result<()>| result.err().and_then(|error| error.raw_os_error());
        let listens = move |host: &str, port: u16| errno(TcpListener::bind((host, port)).map(drop));
        let opens = move |protocol| {
            use rustix::net::{AddressFamily, Protocol, SocketType, socket};
            let protocol = std::num::NonZeroU32::new(protocol).map(Protocol::from_raw);
            errno(socket(AddressFamily::INET, SocketType::STREAM, protocol).map(drop).map_err(io::Error::from))
        };
        assert_eq!(listens("127.0.0.1", other), None, "control: outside of the sandbox");
        // A thread's sandbox ends with the thread.
        let inside = std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            let ports = [own];
            let limits = SandboxLimits { ports: Some(&ports), system_calls: true, ..SandboxLimits::default() };
            Sandbox::new(limits).unwrap().enter().unwrap();
            assert_eq!((listens("127.0.0.1", own), listens("::", own), listens("127.0.0.1", 0)), (None, None, None));
            assert_eq!(listens("127.0.0.1", other), Some(libc::EACCES));
            assert_eq!(listens("::", other), Some(libc::EACCES));
            for twin in TCP_TWINS {
                assert_eq!(opens(twin.cast_unsigned()), Some(libc::EPROTONOSUPPORT), "{twin}");
            }
            assert!(std::fs::read("/proc/self/status").is_ok(), "files are as before");
        });
        inside.join().unwrap();
    }
}
