//! Launcher: drops the agent's rights and becomes the app. Order: control group, session, private /tmp, /dev and
//! secrets, user, no new privileges, sandbox, exec. It writes every failure as a sentence to `start-error`, which the
//! shim puts into the exit record.

use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairlead_base::busy_program;
use fairlead_base::handover::{self, HandoverRequest};
use fairlead_base::sandbox::{FileRules, Sandbox, SandboxLimits};
use fairlead_model::{Secret, SecretDelivery};
use fairlead_network::{drop_all, join, join_user_and_network};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount};
use rustix::process::{Resource, Rlimit, Signal};
use rustix::thread::UnshareFlags;

use super::container;
use super::devices::mount_devices;
use super::hidden::hide;
use super::view;
use crate::health_check::HealthCheckKind;
use crate::instance::{InstanceFolder, InstanceSpec, NetworkLink, NetworkSpec};
use crate::secrets;

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Becomes the app. Returns only on failure.
pub(super) fn launch(folder: &Path) -> Result<Infallible, String> {
    let folder = InstanceFolder::new(folder);
    // Open the report while this process may still write here; exec closes it.
    let report = File::create(folder.start_error()).map_err(|error| format!("start-error: {error}"))?;
    let spec = folder.spec().map_err(|error| format!("spec.json: {error}"))?.ok_or("spec.json is missing")?;
    // Clone it before the secrets are read, which closes standard input.
    let parent = rustix::stdio::stdin().try_clone_to_owned().map_err(|error| format!("standard input: {error}"))?;
    let secrets = spec.secrets.as_ref().map(|secrets| secrets::receive(&secrets.version)).transpose();
    let error = match secrets {
        Ok(secrets) => {
            let secrets = secrets.map(|(_, bundle)| bundle.secrets).unwrap_or_default();
            if let Some(container) = &spec.container {
                match container::run(&folder, &spec, container, &secrets, &parent.into()) {
                    Ok(code) => std::process::exit(code),
                    Err(error) => return refuse(report, error),
                }
            }
            match confine(&spec, &secrets, None) {
                Ok(()) => become_app(&spec, &secrets),
                Err(error) => error,
            }
        }
        Err(error) => format!("The app could not be started: its secrets did not arrive ({error})."),
    };
    refuse(report, error)
}

/// Writes the reason where the shim reads it.
fn refuse(mut report: File, error: String) -> Result<Infallible, String> {
    report.write_all(error.as_bytes()).map_err(|failed| format!("{error}; {failed}"))?;
    Err(error)
}

/// Becomes one of the app's own checks, with all its rights and limits but without its secrets. Returns only on
/// failure. `pid` is the instance's process.
pub(super) fn check(folder: &Path, which: HealthCheckKind, pid: Option<u32>) -> Result<Infallible, String> {
    let spec = InstanceFolder::new(folder).spec().map_err(|error| format!("spec.json: {error}"))?;
    let mut spec = spec.ok_or("spec.json is missing")?;
    let check = match which {
        HealthCheckKind::Readiness => Some(spec.readiness_check.clone()),
        HealthCheckKind::Liveness => spec.liveness_check.take(),
    };
    let (command, limit) = check.map(|check| (check.command, check.timeout)).unwrap_or_default();
    if let Some(container) = &spec.container {
        std::process::exit(container::check(container, &spec.instance, &command, limit)?);
    }
    if let Some(network) = &spec.network {
        enter_network(network).map_err(|error| format!("its network: {error}"))?;
    }
    spec.command = command;
    let secrets = spec.secrets.take().and_then(|secrets| secrets.folder);
    // A check binds no port: the app itself listens on its port.
    if let Some(ports) = &mut spec.sandbox.tcp_ports {
        ports.clear();
    }
    let joined = match &spec.view {
        Some(_) => Some(RunningInstance { pid: pid.ok_or("the instance's process is missing")?, secrets }),
        None => None,
    };
    confine(&spec, &[], joined)?;
    Err(become_app(&spec, &[]))
}

/// Moves this process into the network of a running instance.
fn enter_network(network: &NetworkSpec) -> io::Result<()> {
    let namespace = handover::ask_blocking(&network.handover, HandoverRequest::Namespace)?;
    let namespace = namespace.first().ok_or(io::ErrorKind::NotFound)?.as_fd();
    match network.link {
        NetworkLink::Devices(_) => join(namespace),
        NetworkLink::Rootless(_) => join_user_and_network(namespace),
    }
}

/// Running instance, for a process that sees the same files.
struct RunningInstance {
    pid: u32,
    /// Folder of secrets to hide from the process.
    secrets: Option<PathBuf>,
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("The app could not be started: {what} failed ({error}).")
}

fn confine(spec: &InstanceSpec, secrets: &[Secret], joined: Option<RunningInstance>) -> Result<(), String> {
    let shim = rustix::process::getppid();
    if let Some(cgroup) = &spec.cgroup {
        cgroup.join().map_err(failed("entering its control group"))?;
    }
    rustix::process::setsid().map_err(|error| failed("making its session")(error.into()))?;
    match joined {
        Some(joined) => {
            join_mounts(spec, &joined).map_err(failed("joining the instance's view of the file systems"))?
        }
        None => make_mounts(spec, secrets)?,
    }
    // One byte, not zero: with zero, a core handler that is a pipe could still see the memory and the environment
    // (core(5)).
    let no_core = Rlimit { current: Some(1), maximum: Some(1) };
    rustix::process::setrlimit(Resource::Core, no_core).map_err(|error| failed("limiting core files")(error.into()))?;
    if let Some(user) = spec.user {
        become_user(user, spec.group).map_err(failed("becoming its own user"))?;
    }
    rustix::thread::set_no_new_privs(true).map_err(|error| failed("giving up privileges")(error.into()))?;
    // All mounts are made. In a user namespace of its own the app could change the rules of its network with these
    // capabilities.
    drop_all().map_err(failed("giving up capabilities"))?;
    // Set after the change of user, which clears it: an app must not outlive its shim.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| failed("tying it to its shim")(error.into()))?;
    if rustix::process::getppid() != shim {
        return Err("The app could not be started: its shim was killed meanwhile.".to_owned());
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o027));
    std::env::set_current_dir(&spec.folder).map_err(|error| {
        let path = spec.folder.display();
        format!("The app could not be started: its folder {path} can't be entered by its user ({error}). Every folder above it must let others pass (chmod o+x).")
    })?;
    let limits = &spec.sandbox;
    let files = limits.files.then_some(FileRules { readable: &limits.readable, writable: &limits.writable });
    let limits = SandboxLimits { files, ports: limits.tcp_ports.as_deref(), system_calls: limits.system_calls };
    let entered = Sandbox::new(limits).and_then(|sandbox| sandbox.enter());
    entered.map_err(failed("giving up files and system calls that are not its own"))
}

fn join_mounts(spec: &InstanceSpec, joined: &RunningInstance) -> io::Result<()> {
    view::join(joined.pid, spec)?;
    private_mounts()?;
    joined.secrets.as_deref().map_or(Ok(()), view::hide_secrets)
}

/// Makes the instance's own mounts.
fn make_mounts(spec: &InstanceSpec, secrets: &[Secret]) -> Result<(), String> {
    let folder = spec.secrets.as_ref().and_then(|secrets| secrets.folder.as_ref());
    let devices = spec.sandbox.devices.as_ref();
    let own_processes = spec.sandbox.own_processes;
    let resolv_conf = spec.network.as_ref().and_then(|network| network.resolv_conf.as_ref());
    let any = [spec.private_tmp.is_some(), folder.is_some(), devices.is_some(), resolv_conf.is_some()];
    if any.contains(&true) || own_processes || spec.view.is_some() {
        private_mounts().map_err(failed("making its own view of the file systems"))?;
    }
    if let Some(folder) = folder {
        mount_secrets(folder, spec.user, secrets).map_err(failed("making the folder of its secrets"))?;
    }
    // A server without this file has no place to mount it; then the C library asks 127.0.0.1, where nothing listens.
    if let Some(path) = resolv_conf.filter(|_| Path::new(RESOLV_CONF).exists()) {
        mount_bind(path, RESOLV_CONF).map_err(io::Error::from).map_err(failed("giving it its resolver"))?;
    }
    if let Some(network) = spec.network.as_ref().filter(|network| !network.hidden.is_empty()) {
        let kept = spec.socket.as_deref().and_then(Path::parent);
        hide(&network.hidden, kept).map_err(failed("hiding the agent's sockets"))?;
    }
    if let Some(tmp) = &spec.private_tmp {
        mount_bind(tmp, "/tmp").map_err(io::Error::from).map_err(failed("making its private /tmp"))?;
    }
    if let Some(devices) = devices {
        mount_devices(devices).map_err(failed("making its private /dev"))?;
    }
    if own_processes {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "/proc", "proc", flags, c"hidepid=invisible")
            .map_err(|error| failed("making its private /proc")(error.into()))?;
    }
    if let Some(view) = &spec.view {
        view::enter(spec, view).map_err(failed("making its own root file system"))?;
    }
    Ok(())
}

/// This process has one thread, so Linux's per-thread calls affect the whole process.
fn become_user(user: u32, group: Option<u32>) -> io::Result<()> {
    let (uid, gid) = (rustix::process::Uid::from_raw(user), rustix::process::Gid::from_raw(user));
    let groups: Vec<_> = group.map(rustix::process::Gid::from_raw).into_iter().collect();
    rustix::thread::set_thread_groups(&groups)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    if rustix::thread::set_thread_uid(rustix::process::Uid::ROOT).is_ok() {
        return Err(io::Error::other("the user could be changed back"));
    }
    Ok(())
}

fn private_mounts() -> io::Result<()> {
    unshare_mounts()?;
    // Without this, the mounts would appear on the server as well (mount_namespaces(7), shared subtrees).
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(())
}

/// Mounts a file system in memory that only this app sees and that ends with it. It has one read-only file per secret,
/// owned by the app's user.
fn mount_secrets(folder: &Path, user: Option<u32>, secrets: &[Secret]) -> io::Result<()> {
    let user = user.unwrap_or_default();
    let files = || secrets.iter().filter(|secret| secret.delivery == SecretDelivery::File);
    let pages: usize = files().map(|secret| secret.value.len().div_ceil(4096) + 1).sum();
    let options = format!("mode=0500,uid={user},gid={user},size={}k", (pages + 16) * 4);
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let mounted = |options: &str| {
        mount("tmpfs", folder, "tmpfs", flags, CString::new(options)?.as_c_str()).map_err(io::Error::from)
    };
    // Kernels before 6.4 can't keep it out of swap.
    match mounted(&format!("{options},noswap")) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => mounted(&options)?,
        result => result?,
    }
    for secret in files() {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o400).open(folder.join(&secret.name))?;
        file.write_all(&secret.value)?;
        fchown(&file, Some(user), Some(user))?;
    }
    mount_remount(folder, flags | MountFlags::RDONLY, c"")?;
    Ok(())
}

#[allow(unsafe_code)]
fn unshare_mounts() -> io::Result<()> {
    // SAFETY: only `UnshareFlags::FILES` can break descriptors that other threads hold; it isn't given, and there is
    // one thread.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    Ok(())
}

/// Replaces this process; returns the reason on failure.
fn become_app(spec: &InstanceSpec, secrets: &[Secret]) -> String {
    let Some((name, arguments)) = spec.command.split_first() else {
        return "The release has no start command. Set one in the settings of the app.".to_owned();
    };
    let path = spec.environment.get("PATH").map(String::as_str).unwrap_or_default();
    let Some(program) = find(name, path) else {
        return format!(
            "The app could not be started: there is no program `{name}` in its folder or on the server. Install it on the server, or change the start command."
        );
    };
    // Variables that Fairlead itself sets take precedence, as with variables that are no secrets.
    let variables =
        secrets.iter().filter(|one| one.delivery == SecretDelivery::Environment && !secrets::is_own(&one.name));
    let variables = variables.map(|one| (one.name.as_str(), OsStr::from_bytes(&one.value)));
    let mut command = Command::new(program);
    command.arg0(name).args(arguments).env_clear().envs(&spec.environment).envs(variables);
    let Err(error) = busy_program::retry(|| Err::<Infallible, _>(command.exec()));
    format!("The app could not be started: `{name}` can't be run ({error}). Check the start command.")
}

/// Finds a program by its path, or by its name in `PATH`.
fn find(name: &str, path: &str) -> Option<PathBuf> {
    let runnable =
        |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| runnable(path));
    }
    path.split(':').filter(|folder| !folder.is_empty()).map(|folder| Path::new(folder).join(name)).find(|p| runnable(p))
}
