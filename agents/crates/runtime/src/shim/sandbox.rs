//! What an app can't do though its user could: system calls it has no use for (seccomp), and files that are not its own
//! (Landlock). Owns both lists. Applied last before exec, and never taken back: what the app starts has them too.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, sock_filter,
};

use crate::instance::Sandbox;

/// The newest rights that are asked for; an older kernel gives what it knows.
const LANDLOCK: ABI = ABI::V6;

/// Refused with EPERM: they change the machine, look into other processes, or are doors of the kernel that broke before.
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

/// Of one processor only.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] =
    &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_ustat, libc::SYS_sysfs];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Namespaces that a child could be given by clone(2): each is a way to rights that its parent lacks.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Sockets that lead into the kernel's own cryptography or past the machine.
const FAMILIES: [libc::c_int; 2] = [libc::AF_ALG, libc::AF_VSOCK];

/// System calls of the second numbering of x86-64 (x32), which the filters below would not know.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// Applies what the spec asks for, in the order that leaves each step its rights.
pub(super) fn enter(sandbox: &Sandbox) -> io::Result<()> {
    if sandbox.files {
        files(sandbox)?;
    }
    if sandbox.system_calls {
        for program in programs().map_err(io::Error::other)? {
            apply_filter(&program).map_err(io::Error::other)?;
        }
    }
    Ok(())
}

/// Read and run what the system and the app have; write only what is the app's own.
fn files(sandbox: &Sandbox) -> io::Result<()> {
    let (read, all) = (AccessFs::from_read(LANDLOCK), AccessFs::from_all(LANDLOCK));
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::Signal))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(&sandbox.readable, read)))
        // A process's own settings; those of others the kernel guards by their users.
        .and_then(|rules| rules.add_rules(path_beneath_rules([Path::new("/proc")], read | AccessFs::WriteFile)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&sandbox.writable, all)));
    rules.and_then(landlock::RulesetCreated::restrict_self).map_err(io::Error::other)?;
    Ok(())
}

/// Each in its own program, as one program has one answer.
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
    // Its flags lie in memory, where no filter sees them; without it, libraries take clone(2).
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let mut programs = vec![filter(unknown, libc::ENOSYS)?, filter(refused, libc::EPERM)?];
    programs.extend(second_numbering());
    Ok(programs)
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
        // The number is the first word of what a filter sees (struct seccomp_data).
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
}
