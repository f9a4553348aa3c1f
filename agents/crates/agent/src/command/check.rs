//! `check`: what works on this machine and what does not, each with what to do. Changes nothing that runs.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use fairlead_base::error::chain;
use fairlead_base::{Folders, config};
use fairlead_link::{AgentConfig, AgentKey, Endpoint};
use fairlead_runtime::Isolation;
use serde::Serialize;

use super::{Outcome, block_on};
use crate::cli::CheckArgs;

/// Below this a build or a log may fail at any moment.
const DISK_FREE_BYTES_MIN: u64 = 1024 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    /// Works, with less than there could be.
    Reduced,
    Bad,
}

#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    verdict: Verdict,
    detail: String,
}

pub(crate) fn check(args: CheckArgs) -> Outcome {
    let folders = Folders::new(&args.data)?;
    let mut findings = vec![disk(&folders)];
    findings.extend(programs());
    findings.extend(isolation(&folders));
    findings.extend(proxy(&folders, args.listen.https.iter().chain(&args.listen.http)));
    findings.push(link(&folders)?);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings)?);
    } else {
        for finding in &findings {
            let mark = match finding.verdict {
                Verdict::Good => "ok     ",
                Verdict::Reduced => "reduced",
                Verdict::Bad => "bad    ",
            };
            println!("{mark}  {:<10}  {}", finding.what, finding.detail);
        }
    }
    let bad = findings.iter().any(|finding| finding.verdict == Verdict::Bad);
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn finding(what: &'static str, verdict: Verdict, detail: impl Into<String>) -> Finding {
    Finding { what, verdict, detail: detail.into() }
}

fn disk(folders: &Folders) -> Finding {
    let root = folders.root();
    match rustix::fs::statvfs(root) {
        Err(error) => finding("disk", Verdict::Bad, format!("{}: {error}", root.display())),
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let mebibytes = free / (1024 * 1024);
            if free < DISK_FREE_BYTES_MIN {
                return finding(
                    "disk",
                    Verdict::Bad,
                    format!("only {mebibytes} MiB free in {}: make room", root.display()),
                );
            }
            finding("disk", Verdict::Good, format!("{mebibytes} MiB free in {}", root.display()))
        }
    }
}

fn programs() -> Vec<Finding> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let look = |name: &'static str| match found(name) {
        Some(file) => finding(name, Verdict::Good, file.display().to_string()),
        None => finding(name, Verdict::Bad, format!("{name} is not in PATH: builds need it, install it")),
    };
    ["git", "node", "npm"].map(look).into()
}

fn isolation(folders: &Folders) -> Vec<Finding> {
    let isolation = Isolation::detect(folders);
    if isolation.off().is_empty() {
        return vec![finding("isolation", Verdict::Good, "apps have their own user, limits and view of the system")];
    }
    isolation.off().iter().map(|reason| finding("isolation", Verdict::Reduced, reason)).collect()
}

fn proxy<'a>(folders: &Folders, addresses: impl Iterator<Item = &'a SocketAddr>) -> Vec<Finding> {
    if UnixStream::connect(folders.proxy_socket()).is_ok() {
        return vec![finding("proxy", Verdict::Good, "runs and holds its ports")];
    }
    let try_port = |address: &SocketAddr| match TcpListener::bind(address) {
        Ok(_) => finding("ports", Verdict::Good, format!("{address} is free")),
        Err(error) => finding("ports", Verdict::Bad, format!("{address} can't be used: {error}")),
    };
    let mut findings = vec![finding("proxy", Verdict::Reduced, "does not run: start the agent with `run`")];
    findings.extend(addresses.map(try_port));
    findings
}

fn link(folders: &Folders) -> std::io::Result<Finding> {
    let config = match config::read::<AgentConfig>(&folders.config()) {
        Ok(config) => config,
        Err(error) => return Ok(finding("link", Verdict::Bad, format!("not enrolled: {}", chain(&error)))),
    };
    if let Err(error) = AgentKey::open(&folders.key()) {
        return Ok(finding("link", Verdict::Bad, chain(&error)));
    }
    let reached = match Endpoint::new(&config.control_url, config.control_ca_file.as_deref()) {
        Err(error) => Err(error),
        Ok(endpoint) => block_on(endpoint.probe())?,
    };
    Ok(match reached {
        Ok(()) => finding("link", Verdict::Good, format!("{} reaches {}", config.server_name, config.control_url)),
        Err(error) => finding("link", Verdict::Bad, format!("{}; apps serve on meanwhile", chain(&error))),
    })
}
