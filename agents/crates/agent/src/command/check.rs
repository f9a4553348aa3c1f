//! `check`: reports what works on this machine and what to do about the rest. Changes nothing that runs, and changes files of the
//! agent's state only with `--repair`.

mod state;

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use fairlead_base::error::chain;
use fairlead_base::{Folders, config};
use fairlead_link::{AgentConfig, AgentKey, Endpoint};
use fairlead_network::AppNetwork;
use fairlead_runtime::Isolation;
use serde::Serialize;

use super::{CommandResult, block_on};
use crate::cli::CheckArgs;

/// Minimum free space; below it a build or a log may fail at any moment.
const DISK_FREE_BYTES_MIN: u64 = 1024 * 1024 * 1024;

/// Minimum number of free inodes for builds, whatever space the disk has.
const FILES_FREE_MIN: u64 = 50_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckStatus {
    Good,
    /// Works, but without an optional feature or protection.
    Reduced,
    Bad,
}

#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    verdict: CheckStatus,
    detail: String,
}

pub(crate) fn check(args: CheckArgs) -> CommandResult {
    let folders = Folders::new(&args.data)?;
    let mut findings = if args.repair { state::repair(&folders)? } else { Vec::new() };
    findings.extend([system(), disk(&folders), files(&folders), clock(), groups(&folders)]);
    findings.extend(state::inspect(&folders));
    findings.extend(programs());
    findings.push(engine(&ENGINES.map(Path::new)));
    findings.extend(isolation(&folders));
    findings.extend(proxy(&folders, args.listen.https.iter().chain(&args.listen.http)));
    findings.push(link(&folders)?);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings)?);
    } else {
        for finding in &findings {
            let mark = match finding.verdict {
                CheckStatus::Good => "ok     ",
                CheckStatus::Reduced => "reduced",
                CheckStatus::Bad => "bad    ",
            };
            println!("{mark}  {:<10}  {}", finding.what, finding.detail);
        }
    }
    let bad = findings.iter().any(|finding| finding.verdict == CheckStatus::Bad);
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn finding(what: &'static str, verdict: CheckStatus, detail: impl Into<String>) -> Finding {
    Finding { what, verdict, detail: detail.into() }
}

fn disk(folders: &Folders) -> Finding {
    let root = folders.root();
    match rustix::fs::statvfs(root) {
        Err(error) => finding("disk", CheckStatus::Bad, format!("{}: {error}", root.display())),
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let mebibytes = free / (1024 * 1024);
            if free < DISK_FREE_BYTES_MIN {
                return finding(
                    "disk",
                    CheckStatus::Bad,
                    format!("only {mebibytes} MiB free in {}: make room", root.display()),
                );
            }
            finding("disk", CheckStatus::Good, format!("{mebibytes} MiB free in {}", root.display()))
        }
    }
}

/// Older ones lack `cgroup.kill`, which ends an app at once whatever it forks.
const KERNEL_MIN: (u32, u32) = (5, 14);

fn system() -> Finding {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let (detail, (major, minor)) = (format!("Linux {release} on {}", std::env::consts::ARCH), KERNEL_MIN);
    if version < KERNEL_MIN {
        return finding(
            "system",
            CheckStatus::Reduced,
            format!("{detail}: {major}.{minor} or newer keeps apps better apart"),
        );
    }
    finding("system", CheckStatus::Good, detail)
}

/// Checks free inodes: a disk with free space may still take no more files.
fn files(folders: &Folders) -> Finding {
    match rustix::fs::statvfs(folders.root()) {
        Err(error) => finding("files", CheckStatus::Bad, format!("{}: {error}", folders.root().display())),
        // Some file systems do not count inodes.
        Ok(disk) if disk.f_files == 0 || disk.f_favail >= FILES_FREE_MIN => {
            finding("files", CheckStatus::Good, "there is room for more files")
        }
        Ok(disk) => finding(
            "files",
            CheckStatus::Bad,
            format!(
                "only {} more files fit on this disk: remove some, or make a file system with more inodes",
                disk.f_favail
            ),
        ),
    }
}

/// Checks that the clock is synchronized (adjtimex(2)): certificates, tokens and logs depend on it.
#[allow(unsafe_code)]
fn clock() -> Finding {
    // SAFETY: all zeros is a valid `timex`: no mode is set, so the call only reads.
    let state = unsafe {
        let mut time: libc::timex = std::mem::zeroed();
        libc::adjtimex(&raw mut time)
    };
    if state == libc::TIME_ERROR || state < 0 {
        return finding(
            "clock",
            CheckStatus::Reduced,
            "nothing keeps it right, as far as the kernel knows: install chrony or systemd-timesyncd",
        );
    }
    finding("clock", CheckStatus::Good, "is kept right")
}

fn detect(folders: &Folders) -> Isolation {
    let program = std::env::current_exe().map_err(|error| format!("its program can't be found ({error})"));
    Isolation::detect(folders, program.and_then(|program| AppNetwork::probe(folders, &program)))
}

fn groups(folders: &Folders) -> Finding {
    let isolation = detect(folders);
    match isolation.limits() {
        Ok(version) => finding("limits", CheckStatus::Good, format!("by control groups of version {version}")),
        Err(reason) => finding("limits", CheckStatus::Reduced, format!("apps have none: {reason}")),
    }
}

/// Default sockets of container engines.
const ENGINES: [&str; 3] = ["/var/run/docker.sock", "/run/podman/podman.sock", "/run/docker.sock"];

fn engine(sockets: &[&Path]) -> Finding {
    let answers = sockets.iter().find(|socket| UnixStream::connect(socket).is_ok());
    match (answers, sockets.iter().find(|socket| socket.exists())) {
        (Some(socket), _) => finding("engine", CheckStatus::Good, format!("listens on {}", socket.display())),
        (None, Some(socket)) => finding(
            "engine",
            CheckStatus::Reduced,
            format!("{} can't be connected to: start the container engine, or let this user in", socket.display()),
        ),
        (None, None) => {
            finding("engine", CheckStatus::Reduced, "no Docker here: apps are built and run without containers")
        }
    }
}

fn programs() -> Vec<Finding> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let look = |name: &'static str| match found(name) {
        Some(file) => finding(name, CheckStatus::Good, file.display().to_string()),
        None => finding(name, CheckStatus::Bad, format!("{name} is not in PATH: builds need it, install it")),
    };
    ["git", "node", "npm"].map(look).into()
}

fn isolation(folders: &Folders) -> Vec<Finding> {
    let isolation = detect(folders);
    if isolation.off().is_empty() {
        return vec![finding(
            "isolation",
            CheckStatus::Good,
            "apps have their own user, network, limits and view of the system",
        )];
    }
    isolation.off().iter().map(|reason| finding("isolation", CheckStatus::Reduced, reason)).collect()
}

fn proxy<'a>(folders: &Folders, addresses: impl Iterator<Item = &'a SocketAddr>) -> Vec<Finding> {
    if UnixStream::connect(folders.proxy_socket()).is_ok() {
        return vec![finding("proxy", CheckStatus::Good, "runs and holds its ports")];
    }
    let try_port = |address: &SocketAddr| match TcpListener::bind(address) {
        Ok(_) => finding("ports", CheckStatus::Good, format!("{address} is free")),
        Err(error) => finding("ports", CheckStatus::Bad, format!("{address} can't be used: {error}")),
    };
    let mut findings = vec![finding("proxy", CheckStatus::Reduced, "does not run: start the agent with `run`")];
    findings.extend(addresses.map(try_port));
    findings
}

fn link(folders: &Folders) -> std::io::Result<Finding> {
    let config = match config::read::<AgentConfig>(&folders.config()) {
        Ok(config) => config,
        Err(error) => return Ok(finding("link", CheckStatus::Bad, format!("not enrolled: {}", chain(&error)))),
    };
    if let Err(error) = AgentKey::open(&folders.key()) {
        return Ok(finding("link", CheckStatus::Bad, format!("{}: {}", folders.key().display(), chain(&error))));
    }
    let reached = match Endpoint::new(&config.control_url, config.control_ca_file.as_deref()) {
        Err(error) => Err(error),
        Ok(endpoint) => block_on(endpoint.probe())?,
    };
    Ok(match reached {
        Ok(()) => finding("link", CheckStatus::Good, format!("{} reaches {}", config.server_name, config.control_url)),
        Err(error) => finding("link", CheckStatus::Bad, format!("{}; apps serve on meanwhile", chain(&error))),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn an_engine_is_there_silent_or_missing() {
        let dir = tempfile::tempdir().unwrap();
        let (missing, socket) = (dir.path().join("none.sock"), dir.path().join("engine.sock"));
        assert_eq!(engine(&[&missing]).verdict, CheckStatus::Reduced);
        assert!(engine(&[&missing]).detail.contains("without containers"));
        let listener = UnixListener::bind(&socket).unwrap();
        let found = engine(&[&missing, &socket]);
        assert_eq!(found.verdict, CheckStatus::Good);
        assert!(found.detail.contains("engine.sock"));
        drop(listener);
        assert!(engine(&[&missing, &socket]).detail.contains("start the container engine"));
    }

    #[test]
    fn every_check_has_a_status_and_a_detail() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let findings = [system(), disk(&folders), files(&folders), clock(), groups(&folders)];
        assert!(findings.iter().all(|finding| !finding.detail.is_empty() && finding.verdict != CheckStatus::Bad));
        let gone = Folders::new(&dir.path().join("gone")).unwrap();
        assert_eq!([disk(&gone), files(&gone)].map(|finding| finding.verdict), [CheckStatus::Bad; 2]);
    }
}
