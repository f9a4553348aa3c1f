//! Builds an instance's spec from its release: folders, user, port and environment. Blocking: never call it on the
//! runtime's task.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions, set_permissions};
use std::io::{self, Read};
use std::net::Ipv4Addr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairlead_base::Trash;
use fairlead_base::cgroup::GroupLimits;
use fairlead_base::root_view::{APP, PROGRAMS, RUNTIMES};
use fairlead_base::sandbox;
use fairlead_model::{
    AppKey, ArtifactKind, DeploymentId, EnvironmentId, InstanceId, ReleaseSpec, RunFile, SOCKET_PATH_BYTES_MAX,
};
use fairlead_network::{AppNetwork, resolv_conf};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use zeroize::Zeroizing;

use super::{IMAGE_FILE, RuntimeOptions};
use crate::instance::{
    ContainerSpec, InstanceFolder, InstanceSpec, NetworkLink, NetworkSpec, SandboxSpec, SecretsSpec, ViewSpec, WEB,
};
use crate::layer::{DiskFull, LayerKind};
use crate::rollout::{Exit, HookKind};
use crate::secrets::{self, PlainSecrets};
use crate::shim::{CONTAINER_SECRETS, CONTAINER_VOLUMES};
use crate::volumes;
use crate::{app_logs, container};

/// Variable with the path of the app's socket.
const SOCKET_VARIABLE: &str = "FAIRLEAD_SOCKET";

/// Variable that only copies of a release have.
const COPY_VARIABLE: &str = "FAIRLEAD_BENCHMARK_COPY";

/// Folder of Python's virtual environment in an app.
const VENV: &str = ".venv";

/// Variables with the address to listen on: Next.js reads the second, most other frameworks the first.
const HOST_VARIABLES: [&str; 2] = ["HOST", "HOSTNAME"];

/// Only root can make a file system that a single app sees.
const NO_SECRET_FILES: &str = "The app could not be started: some of its secrets are to be files, which needs an agent that runs as root. Deliver them as variables, or run the agent as root.";

/// Instance to launch, and the port allocated for it.
#[derive(Debug)]
pub(super) struct LaunchRequest {
    pub(super) instance: InstanceId,
    pub(super) key: AppKey,
    /// Key that its secrets are sealed for: another one only behind a deployment URL.
    pub(super) sealed_for: AppKey,
    /// Name of the app's process.
    pub(super) process: String,
    pub(super) release: ReleaseSpec,
    pub(super) folder: PathBuf,
    pub(super) deployment: Option<DeploymentId>,
    pub(super) restarts: u32,
    pub(super) port: u16,
    /// Kind of the rollout command, which listens nowhere; `None` for an instance.
    pub(super) hook: Option<HookKind>,
    /// True for a copy of a release, which is no instance of the app.
    pub(super) is_copy: bool,
}

/// Instance that is ready to be started.
pub(super) struct PreparedInstance {
    pub(super) folder: InstanceFolder,
    pub(super) spec: InstanceSpec,
    /// Plain secrets, for the shim only.
    pub(super) secrets: Option<Zeroizing<Vec<u8>>>,
}

/// Opens the secrets, makes the instance's folders and writes its spec. The exit explains a failure in a sentence.
pub(super) fn prepare(options: &Arc<RuntimeOptions>, request: LaunchRequest) -> Result<PreparedInstance, Exit> {
    let failed = |unopenable, error| Exit { start_error: Some(error), unopenable, ..Exit::default() };
    let sealed = request.release.secrets.as_ref();
    let opened = sealed.map(|sealed| secrets::open(&options.sealing, &request.sealed_for, sealed)).transpose();
    let opened = opened.map_err(|error| failed(true, error))?;
    if opened.as_ref().is_some_and(|opened| opened.files) && !rustix::process::geteuid().is_root() {
        return Err(failed(false, NO_SECRET_FILES.to_owned()));
    }
    let (folder, spec) = build(options, request, opened.as_ref()).map_err(|error| {
        let disk_full = error.kind() == io::ErrorKind::StorageFull;
        let no_room = error.get_ref().is_some_and(|inner| inner.is::<DiskFull>());
        let words = if disk_full && !no_room {
            "The app could not be started: the server's disk is full. Free some space, then deploy again.".to_owned()
        } else {
            format!("The app could not be started: {error}.")
        };
        Exit { disk_full, ..failed(false, words) }
    })?;
    Ok(PreparedInstance { folder, spec, secrets: opened.map(|opened| opened.plain) })
}

fn build(
    options: &Arc<RuntimeOptions>,
    request: LaunchRequest,
    opened: Option<&PlainSecrets>,
) -> io::Result<(InstanceFolder, InstanceSpec)> {
    let account = account(&request.key, &request.sealed_for)?;
    let user = options.identities.app_user(&account)?;
    // The group belongs to the app, not to this environment: a release may be live in several.
    let group = options.identities.user_for(&format!("release/{}", request.key.app))?;
    let folder = InstanceFolder::new(options.folders.instances().join(request.instance.as_str()));
    make_folder(folder.path(), 0o711, None)?;
    let view = match (options.isolation.layer, user, request.release.artifact_kind) {
        (Some(layer), Some(user), ArtifactKind::Archive) => Some(view(options, &request, &folder, layer, user)?),
        _ => None,
    };
    if let Some(group) = group.filter(|_| view.is_none()) {
        give_to_group(&request.folder, group)?;
    }
    let (app, runtimes) = match &view {
        Some(_) => (PathBuf::from(APP), PathBuf::from(RUNTIMES)),
        None => (request.folder.clone(), options.folders.toolchains()),
    };
    let home = options.folders.homes().join(format!("{}-{}", account.app, account.environment));
    make_folder(&home, 0o700, user)?;
    let container = match request.release.artifact_kind {
        ArtifactKind::Image => Some(container(options, &request, opened)?),
        ArtifactKind::Archive => None,
    };
    let private_tmp = if options.isolation.private_tmp && container.is_none() {
        make_folder(&folder.tmp(), 0o700, user)?;
        Some(folder.tmp())
    } else {
        None
    };
    let secrets_folder = match (&container, opened.is_some_and(|opened| opened.files)) {
        (None, true) => Some(folder.secrets()),
        _ => None,
    };
    if let Some(path) = &secrets_folder {
        make_folder(path, 0o711, None)?;
    }
    let limits = GroupLimits {
        memory_bytes: request.release.memory_bytes_max,
        cpu_millis: request.release.cpu_millis_max,
        processes: request.release.processes_max,
    };
    let cgroup = match &container {
        Some(_) => None,
        None => options.isolation.cgroups.create(request.instance.as_str(), limits)?,
    };
    let run = run_file(&request.folder);
    let environment = match &container {
        Some(container) => environment_inside(&request, container),
        None => {
            let paths =
                VisiblePaths { app: &app, runtimes: &runtimes, home: &home, secrets: secrets_folder.as_deref() };
            environment(&request, options, &folder, &paths, run.environment)
        }
    };
    let socket = (request.release.listens_on_socket && request.process == WEB && request.hook.is_none())
        .then(|| make_socket_folder(&options.trash, &folder, user))
        .transpose()?;
    let network = own_network(options, &request, &folder, container.is_some())?;
    let devices = (options.isolation.private_dev && container.is_none()).then(|| folder.devices());
    if let Some(devices) = &devices {
        make_folder(devices, 0o755, None)?;
    }
    // The output of a rollout command is in the deployment's log, and that of a copy is not kept.
    let log = (request.hook.is_none() && !request.is_copy).then(|| {
        app_logs::folder_for(&options.folders, &request.key, &request.process, &request.instance, &request.release.id)
    });
    if let Some(of_process) = log.as_deref().and_then(Path::parent) {
        make_folder(of_process, 0o700, None)?;
    }
    let sandbox = match &container {
        // The engine confines a container.
        Some(_) => SandboxSpec::default(),
        None => SandboxSpec {
            devices,
            own_processes: options.isolation.private_proc,
            files: options.isolation.landlock,
            readable: readable(&request, options, &app, &runtimes, secrets_folder.as_deref()),
            writable: [home, "/tmp".into(), "/dev".into()]
                .into_iter()
                .chain(view.is_some().then(|| app.clone()))
                .chain(make_volumes(options, &request, user)?)
                .chain(socket.as_deref().and_then(Path::parent).map(Path::to_path_buf))
                .collect(),
            system_calls: options.isolation.seccomp,
            tcp_ports: (options.isolation.network.is_none())
                .then(|| Some(request.port).filter(|port| *port != 0).into_iter().collect()),
        },
    };
    let spec = InstanceSpec {
        environment,
        sandbox,
        instance: request.instance,
        key: request.key,
        process: request.process,
        release: request.release.id,
        deployment: request.deployment,
        command: request.release.command,
        folder: app.join(run.folder),
        view,
        port: request.port,
        network,
        socket,
        user,
        group,
        private_tmp,
        secrets: request.release.secrets.map(|sealed| SecretsSpec { version: sealed.version, folder: secrets_folder }),
        log,
        cgroup,
        container,
        ends_with_agent: request.is_copy,
        restarts: request.restarts,
        hook: request.hook,
        readiness_check: request.release.readiness_check,
        liveness_check: request.release.liveness_check,
        drain_timeout: request.release.drain_timeout,
        stop_timeout: request.release.stop_timeout,
    };
    folder.prepare(&spec)?;
    Ok((folder, spec))
}

/// Returns the key of its user and home. The deployment URLs of an app in an environment share a user, because users are never
/// given back. It is not the app's own, which owns the volumes.
fn account(key: &AppKey, sealed_for: &AppKey) -> io::Result<AppKey> {
    if key == sealed_for {
        return Ok(key.clone());
    }
    let AppKey { app, environment } = sealed_for.clone();
    let environment = EnvironmentId::parse(&format!("{environment}urls")).map_err(io::Error::other)?;
    Ok(AppKey { app, environment })
}

/// Makes the instance's layer over its release. Each start begins with the release as it was built.
fn view(
    options: &RuntimeOptions,
    request: &LaunchRequest,
    folder: &InstanceFolder,
    layer: LayerKind,
    user: u32,
) -> io::Result<ViewSpec> {
    options.trash.set_aside(&folder.layer())?;
    make_folder(&folder.staging(), 0o700, None)?;
    layer.make(&request.folder, &folder.layer(), user)?;
    Ok(ViewSpec {
        release: request.folder.clone(),
        layer,
        folder: folder.path().to_owned(),
        runtimes: options.folders.toolchains(),
    })
}

/// Describes the instance's own network; `None` if this server can't make one.
fn own_network(
    options: &RuntimeOptions,
    request: &LaunchRequest,
    folder: &InstanceFolder,
    is_container: bool,
) -> io::Result<Option<NetworkSpec>> {
    if !options.isolation.gives_network(is_container) {
        return Ok(None);
    }
    let private = request.release.private_network;
    let link = match &options.isolation.network {
        Some(AppNetwork::Own(network)) => NetworkLink::Devices(network.link(private, request.instance.as_str())),
        Some(AppNetwork::Rootless(network)) => NetworkLink::Rootless(network.link(private)),
        None => return Ok(None),
    };
    let handover = folder.handover();
    require_short(&handover)?;
    let path = (!is_container).then(|| folder.resolv_conf());
    if let Some(path) = &path {
        fairlead_base::file::replace(path, resolv_conf().as_bytes(), 0o644)?;
    }
    let server_ports = request.release.server_ports.clone();
    let hidden = match link {
        NetworkLink::Rootless(_) => options.folders.socket_folders(),
        NetworkLink::Devices(_) => Vec::new(),
    };
    Ok(Some(NetworkSpec { link, server_ports, handover, hidden, resolv_conf: path }))
}

/// Describes the container to the engine, without its environment.
fn container(
    options: &RuntimeOptions,
    request: &LaunchRequest,
    opened: Option<&PlainSecrets>,
) -> io::Result<ContainerSpec> {
    let socket = options.engine.socket().ok_or_else(|| {
        io::Error::other("this server has no container engine; install Docker on it, then deploy again")
    })?;
    let owner = container::owner(&options.folders);
    let secrets = match opened {
        Some(opened) if opened.files => {
            Some(container::secrets_folder(&owner, &request.instance).ok_or_else(|| {
                io::Error::other("neither /run nor /dev/shm is in memory here, where secrets that are files would be")
            })?)
        }
        _ => None,
    };
    let user = options.identities.app_user(&account(&request.key, &request.sealed_for)?)?;
    let mut volumes = Vec::new();
    for volume in &request.release.volumes {
        let path = volumes::path_of(&options.folders, &request.key, &volume.name);
        let path = path.ok_or_else(|| io::Error::other(format!("`{}` is no name of a volume", volume.name)))?;
        make_folder(&volumes::folder_of(&options.folders, &request.key), 0o711, None)?;
        // The image chooses the user inside, who has access by the group. A folder that an image has made its own stays
        // so.
        if !path.exists() {
            make_folder(&path, 0o770, user)?;
            inherit_group(&path)?;
        }
        volumes.push((path, vec![volume.path.clone(), format!("{CONTAINER_VOLUMES}/{}", volume.name)]));
    }
    Ok(ContainerSpec {
        socket,
        owner,
        image: std::fs::read_to_string(request.folder.join(IMAGE_FILE))?.trim().to_owned(),
        memory_bytes: request.release.memory_bytes_max,
        cpu_millis: request.release.cpu_millis_max,
        processes: request.release.processes_max,
        volumes,
        secrets,
    })
}

/// Returns the variables that Fairlead sets in a container; the image provides the others. The port is unknown before
/// the image is inspected.
fn environment_inside(request: &LaunchRequest, container: &ContainerSpec) -> BTreeMap<String, String> {
    let mut environment = request.release.variables.clone();
    environment.insert("FAIRLEAD_INSTANCE_ID".to_owned(), request.instance.to_string());
    environment.insert("FAIRLEAD_RELEASE_ID".to_owned(), request.release.id.to_string());
    environment.insert("FAIRLEAD_PROCESS".to_owned(), request.process.clone());
    if request.is_copy {
        environment.insert(COPY_VARIABLE.to_owned(), "1".to_owned());
    }
    if !container.volumes.is_empty() {
        environment.insert(volumes::FOLDER_VARIABLE.to_owned(), CONTAINER_VOLUMES.to_owned());
    }
    if container.secrets.is_some() {
        environment.insert(secrets::FOLDER_VARIABLE.to_owned(), CONTAINER_SECRETS.to_owned());
    }
    environment
}

/// Makes an empty folder for the instance's socket: a socket of a former process would block the next one. The first
/// passed health check lets the proxy in (`socket`).
fn make_socket_folder(trash: &Trash, instance: &InstanceFolder, user: Option<u32>) -> io::Result<PathBuf> {
    let socket = instance.socket();
    let folder = socket.parent().unwrap_or(instance.path());
    require_short(&socket)?;
    trash.set_aside(folder)?;
    make_folder(folder, 0o700, user)?;
    Ok(socket)
}

fn require_short(socket: &Path) -> io::Result<()> {
    let length = socket.as_os_str().len();
    if length <= SOCKET_PATH_BYTES_MAX {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the path of its socket ({}) has {length} bytes, and no system takes more than {SOCKET_PATH_BYTES_MAX}; move the agent's data folder to a shorter path",
        socket.display()
    )))
}

/// Makes the persistent folders of the release if they are missing; never empties them.
fn make_volumes(options: &RuntimeOptions, request: &LaunchRequest, user: Option<u32>) -> io::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    for volume in &request.release.volumes {
        let path = volumes::path_of(&options.folders, &request.key, &volume.name);
        let path = path.ok_or_else(|| io::Error::other(format!("`{}` is no name of a volume", volume.name)))?;
        make_folder(&volumes::folder_of(&options.folders, &request.key), 0o711, None)?;
        make_folder(&path, 0o700, user)?;
        made.push(path);
    }
    Ok(made)
}

/// Reads the artifact's note about its commands; empty if it is missing or invalid.
fn run_file(release: &Path) -> RunFile {
    let read = || {
        let folder = openat(CWD, release, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        // A build wrote it: no link of a release is followed with the agent's rights.
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = std::fs::File::from(openat2(&folder, RunFile::PATH, flags, Mode::empty(), resolve)?);
        let mut bytes = Vec::new();
        if file.metadata()?.is_file() {
            file.take(RunFile::BYTES_MAX).read_to_end(&mut bytes)?;
        }
        Ok::<_, io::Error>(bytes)
    };
    read().ok().and_then(|bytes| RunFile::parse(&bytes)).unwrap_or_default()
}

/// Paths as the instance sees them.
struct VisiblePaths<'a> {
    app: &'a Path,
    runtimes: &'a Path,
    home: &'a Path,
    secrets: Option<&'a Path>,
}

fn environment(
    request: &LaunchRequest,
    options: &RuntimeOptions,
    folder: &InstanceFolder,
    paths: &VisiblePaths<'_>,
    of_artifact: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut environment: BTreeMap<String, String> = [
        ("NODE_ENV", "production".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        // Unbuffered lines reach the log at once, not when a buffer is full.
        ("PYTHONUNBUFFERED", "1".to_owned()),
        ("DENO_DIR", text(&paths.app.join(".fairlead/deno"))),
    ]
    .map(|(name, value)| (name.into(), value))
    .into();
    environment.extend(of_artifact);
    if std::fs::symlink_metadata(request.folder.join(VENV)).is_ok_and(|found| found.is_dir()) {
        environment.insert("VIRTUAL_ENV".to_owned(), text(&paths.app.join(VENV)));
    }
    let has_port = request.process == WEB && request.hook.is_none() && !request.release.listens_on_socket;
    if has_port && options.isolation.network.is_none() {
        // A port on all addresses would be public and bypass the proxy.
        environment.extend(HOST_VARIABLES.map(|name| (name.to_owned(), Ipv4Addr::LOCALHOST.to_string())));
    }
    environment.extend(request.release.variables.clone());
    // The app's own programs come first, as in a terminal of its package manager.
    let own = PROGRAMS.iter().map(|name| paths.app.join(name));
    let names = request.release.toolchains.iter().filter(|name| options.folders.toolchain_programs(name).is_some());
    let runtimes = names.map(|name| paths.runtimes.join(name).join("bin"));
    let path: Vec<String> = own.chain(runtimes).map(|path| text(&path)).collect();
    let path = format!("{}:{}", path.join(":"), options.path.to_string_lossy());
    environment.extend(
        [
            ("HOME", text(paths.home)),
            ("PATH", path),
            ("FAIRLEAD_INSTANCE_ID", request.instance.to_string()),
            ("FAIRLEAD_RELEASE_ID", request.release.id.to_string()),
            ("FAIRLEAD_PROCESS", request.process.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    environment.retain(|name, _| name != "PORT" && name != SOCKET_VARIABLE);
    if request.process == WEB && request.hook.is_none() {
        let (name, value) = match request.release.listens_on_socket {
            true => (SOCKET_VARIABLE, text(&folder.socket())),
            false => ("PORT", request.port.to_string()),
        };
        environment.insert(name.to_owned(), value);
    }
    if request.is_copy {
        environment.insert(COPY_VARIABLE.to_owned(), "1".to_owned());
    }
    if !request.release.volumes.is_empty() {
        let path = volumes::folder_of(&options.folders, &request.key);
        environment.insert(volumes::FOLDER_VARIABLE.to_owned(), text(&path));
    }
    environment.extend(paths.secrets.map(|path| (secrets::FOLDER_VARIABLE.to_owned(), text(path))));
    environment
}

/// Lists paths that it may read and run: the system, its release, its secrets, runtimes, and the programs of the
/// server's `PATH` with what lies beside them. Never follows links of a release.
fn readable(
    request: &LaunchRequest,
    options: &RuntimeOptions,
    app: &Path,
    runtimes: &Path,
    secrets: Option<&Path>,
) -> Vec<PathBuf> {
    let mut found = sandbox::system_and_programs(&options.path);
    found.extend([app.to_owned(), runtimes.to_owned()]);
    found.extend(secrets.map(Path::to_path_buf));
    let is_own = |program: &Path| [app, runtimes, Path::new(APP)].iter().any(|folder| program.starts_with(folder));
    let program = request.release.command.first().map(Path::new);
    let program = program.filter(|program| program.is_absolute() && !is_own(program));
    found.extend(program.and_then(Path::parent).and_then(sandbox::with_libraries));
    found.sort();
    found.dedup();
    found
}

/// Gives only the app's own instances access to a release: its content is readable by all.
fn give_to_group(release: &Path, group: u32) -> io::Result<()> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = match OpenOptions::new().read(true).custom_flags(flags).open(release) {
        // The start reports it with a better message.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    fchown(&folder, None, Some(group))?;
    folder.set_permissions(PermissionsExt::from_mode(0o750))
}

/// Gives files that are made in a volume the volume's group, by its setgid bit. Where the service forbids that bit
/// (systemd's `RestrictSUIDSGID=`), each file keeps the group of its writer.
fn inherit_group(volume: &Path) -> io::Result<()> {
    match set_permissions(volume, PermissionsExt::from_mode(0o2770)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            tracing::debug!(volume = %volume.display(), "the service forbids the setgid bit");
            Ok(())
        }
        set => set,
    }
}

fn make_folder(path: &Path, mode: u32, owner: Option<u32>) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    // The umask may have removed some bits.
    set_permissions(path, PermissionsExt::from_mode(mode))?;
    if owner.is_some() {
        chown(path, owner, owner)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        apply_filter,
    };

    use super::*;

    /// System calls that take a mode, and the index of that argument.
    const TAKE_MODE: &[(i64, u8)] = &[
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (libc::SYS_mkdirat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mkdir, 1),
    ];

    /// Forbids this thread the setgid bit, as systemd's `RestrictSUIDSGID=` does.
    fn restrict_setgid() {
        let rule = |&(call, argument): &(i64, u8)| {
            let bit = SeccompCmpOp::MaskedEq(0o2000);
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, bit, 0o2000).unwrap();
            (call, vec![SeccompRule::new(vec![condition]).unwrap()])
        };
        let rules = TAKE_MODE.iter().map(rule).collect();
        let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
        apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    }

    #[test]
    fn a_service_without_setgid_bits_makes_volumes_too() {
        let parent = tempfile::tempdir().unwrap();
        let mode = |name: &str| std::fs::metadata(parent.path().join(name)).unwrap().mode() & 0o7777;
        let make = |name: &str| {
            let path = parent.path().join(name);
            make_folder(&path, 0o770, None).and_then(|()| inherit_group(&path)).unwrap();
        };
        make("free");
        std::thread::scope(|threads| {
            threads.spawn(|| {
                restrict_setgid();
                // Control: the folder can't be made with the bit.
                assert!(make_folder(&parent.path().join("with-bit"), 0o2770, None).is_err());
                make("restricted");
            });
        });
        assert_eq!((mode("free"), mode("restricted")), (0o2770, 0o770));
    }
}
