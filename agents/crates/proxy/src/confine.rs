//! Confinement of the proxy's process: a user of its own, no capabilities, no files (Landlock), a list of allowed system calls
//! (seccomp). Invariant: the only thread applies it before it reads a client's byte, and it is never undone.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use fairlead_base::accounts::{self, User};
use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope};
use rustix::io::Errno;
use rustix::process::{Gid, Resource, Rlimit, Uid, geteuid, getpid, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// Newest Landlock rights that are requested; an older kernel enforces those that it knows.
const LANDLOCK: ABI = ABI::V6;
/// Capabilities have numbers below this (struct __user_cap_data_struct, twice 32 bits).
const CAPABILITIES_MAX: u32 = 64;
/// Bits of a socket's type that are its type; the others are flags (SOCK_TYPE_MASK).
const SOCKET_TYPE_MASK: u64 = 0xf;

/// System calls that serving needs, whatever their arguments.
const ALLOWED: &[i64] = &[
    libc::SYS_accept4,
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_connect,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpeername,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    // Rings exist before the filter and can only send. Without io_uring_register they can't be changed.
    libc::SYS_io_uring_enter,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
    // A filter of its own answers these with ENOSYS.
    libc::SYS_clone3,
];

/// Older calls that only one processor still has.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[i64] = &[libc::SYS_epoll_wait, libc::SYS_poll, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[i64] = &[];

/// System calls that only an intruder makes. They end the process, so that the kernel logs it and a clean process follows.
const DEADLY: &[i64] = &[
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_finit_module,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Flags of clone(2) that every new thread has, and those that a new process or namespace would have.
const THREAD: libc::c_int = libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND;
const NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Gives up every right that serving does not need. The log names what the kernel or a container does not allow; the rest still
/// applies.
pub fn confine() -> io::Result<()> {
    require_one_thread()?;
    // One byte, not zero: with zero, a core handler that is a pipe still sees the memory, which holds keys (core(5)).
    setrlimit(Resource::Core, Rlimit { current: Some(1), maximum: Some(1) })?;
    empty_bounding_set();
    let user = if geteuid().is_root() { become_user(accounts::proxy_user()?) } else { None };
    let none = CapabilitySet::empty();
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    rustix::thread::set_no_new_privs(true)?;
    if user.is_some() && rustix::thread::set_thread_uid(Uid::ROOT).is_ok() {
        return Err(io::Error::other("the user could be changed back"));
    }
    let stays_root = geteuid().is_root();
    if stays_root {
        tracing::warn!(
            "the proxy stays root, so it connects to no Unix socket: apps on one can't be reached. Create an account \
             fairlead-proxy with a number that this container or user namespace knows, and allow CAP_SETUID and CAP_SETGID"
        );
    }
    let has_seccomp = Path::new("/proc/sys/kernel/seccomp/actions_avail").exists();
    let landlock = forbid_files().map_err(io::Error::other)?;
    if has_seccomp {
        for program in programs(!stays_root).map_err(io::Error::other)? {
            apply_filter(&program).map_err(io::Error::other)?;
        }
    } else {
        tracing::warn!("this kernel has no seccomp filters: the proxy can make every system call");
    }
    if landlock == RulesetStatus::NotEnforced {
        tracing::warn!("this kernel has no Landlock: only its user and seccomp keep the proxy from files");
    }
    tracing::info!(user = geteuid().as_raw(), landlock = ?landlock, "gave up all rights that serving does not need");
    Ok(())
}

/// Users, capabilities and filters belong to a thread in Linux: another thread would keep its rights.
fn require_one_thread() -> io::Result<()> {
    match std::fs::read_dir(Path::new("/proc/self/task")).map(Iterator::count) {
        Ok(1) => Ok(()),
        Ok(threads) => Err(io::Error::other(format!("{threads} threads run already"))),
        Err(error) => {
            tracing::debug!(%error, "threads can't be counted");
            Ok(())
        }
    }
}

/// Clears the bounding set. Without CAP_SETPCAP it stays, as in units of former versions; with `no_new_privs` it gives nothing.
fn empty_bounding_set() {
    for number in 0..CAPABILITIES_MAX {
        match rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The number is past the kernel's last capability.
            Err(Errno::INVAL) => return,
            Err(error) => {
                if geteuid().is_root() {
                    tracing::warn!(%error, "the capability bounding set can't be emptied (CAP_SETPCAP is missing)");
                }
                return;
            }
        }
    }
}

/// Changes the user. A container or user namespace may not know the number or may forbid the change; then root stays, without its
/// capabilities.
fn become_user(User { uid, gid }: User) -> Option<User> {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let changed = rustix::thread::set_thread_groups(&[])
        .and_then(|()| rustix::thread::set_thread_res_gid(group, group, group))
        .and_then(|()| rustix::thread::set_thread_res_uid(user, user, user));
    match changed {
        Ok(()) => Some(User { uid, gid }),
        Err(error) => {
            tracing::warn!(uid, gid, %error, "the proxy keeps its user, because it can't become its own");
            None
        }
    }
}

/// Denies opening paths, binding TCP ports, reaching abstract sockets and signalling processes outside.
fn forbid_files() -> Result<RulesetStatus, landlock::RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::BindTcp)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    Ok(rules.create()?.restrict_self()?.ruleset)
}

/// Returns the filters in the order in which they are applied: the allow list comes last, because it allows no further filter.
fn programs(unix_sockets: bool) -> Result<[BpfProgram; 3], BackendError> {
    let always = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect::<BTreeMap<_, _>>();
    let refuse = |error: libc::c_int| SeccompAction::Errno(error.cast_unsigned());
    let deadly = filter(always(DEADLY), SeccompAction::Allow, SeccompAction::KillProcess)?;
    // Flags of clone3 lie in memory, where no filter sees them. Without clone3, libraries use clone(2).
    let unknown = filter(always(&[libc::SYS_clone3]), SeccompAction::Allow, refuse(libc::ENOSYS))?;
    let mut allowed = always(ALLOWED);
    allowed.extend(always(ALLOWED_HERE));
    allowed.extend(conditional(unix_sockets)?);
    Ok([deadly, unknown, filter(allowed, refuse(libc::EPERM), SeccompAction::Allow)?])
}

/// System calls that are allowed with some arguments only. Unix sockets lead root to the agent, Docker and every database.
fn conditional(unix_sockets: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let bits = |value: libc::c_int| u64::from(value.cast_unsigned());
    let any_of = |index, values: &[u64]| -> Result<Vec<SeccompRule>, BackendError> {
        values.iter().map(|value| one(&[(index, u64::MAX, *value)])).collect()
    };
    let not_executable = || one(&[(2, bits(libc::PROT_EXEC), 0)]);
    let stream =
        |family| one(&[(0, u64::MAX, bits(family)), (1, SOCKET_TYPE_MASK, bits(libc::SOCK_STREAM)), (2, u64::MAX, 0)]);
    let mut sockets = vec![
        stream(libc::AF_INET)?,
        stream(libc::AF_INET6)?,
        // Questions about the user at the other end of a local connection; it changes nothing without CAP_NET_ADMIN.
        one(&[
            (0, u64::MAX, bits(libc::AF_NETLINK)),
            (1, SOCKET_TYPE_MASK, bits(libc::SOCK_DGRAM)),
            (2, u64::MAX, bits(libc::NETLINK_SOCK_DIAG)),
        ])?,
    ];
    if unix_sockets {
        sockets.push(stream(libc::AF_UNIX)?);
    }
    Ok(BTreeMap::from([
        (libc::SYS_clone, vec![one(&[(0, bits(THREAD | NAMESPACES), bits(THREAD))])?]),
        (
            libc::SYS_fcntl,
            any_of(1, &[libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL].map(bits))?,
        ),
        // TIOCSTI would type into the terminal of the user who started the process.
        (libc::SYS_ioctl, any_of(1, &[libc::FIONBIO, libc::FIONREAD, libc::TCGETS])?),
        (libc::SYS_mmap, vec![not_executable()?]),
        (libc::SYS_mprotect, vec![not_executable()?]),
        (libc::SYS_prctl, any_of(0, &[libc::PR_SET_NAME, libc::PR_SET_VMA].map(bits))?),
        // Only for this process or thread.
        (libc::SYS_prlimit64, any_of(0, &[0])?),
        (libc::SYS_setpriority, any_of(1, &[0])?),
        (libc::SYS_tgkill, any_of(0, &[bits(getpid().as_raw_pid())])?),
        (libc::SYS_socket, sockets),
    ]))
}

/// Returns a rule that holds when each argument, under its mask, has its value.
fn one(arguments: &[(u8, u64, u64)]) -> Result<SeccompRule, BackendError> {
    let condition = |(index, mask, value): &(u8, u64, u64)| {
        SeccompCondition::new(*index, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(*mask), *value)
    };
    SeccompRule::new(arguments.iter().map(condition).collect::<Result<_, _>>()?)
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(rules, otherwise, listed, std::env::consts::ARCH.try_into()?)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_compiles_for_this_processor() {
        for unix_sockets in [false, true] {
            let programs = programs(unix_sockets).unwrap();
            assert!(programs.iter().all(|program| program.len() > 3 && program.len() < 4096));
        }
    }
}
