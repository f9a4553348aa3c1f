//! `uninstall`: removes the agent and everything that it put on this machine. Works without a control plane, and can be repeated.
//! Invariant: deletes only what the agent created, and volumes only with `--with-data`.

mod report;
mod service;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use fairlead_base::error::chain;
use fairlead_base::{Folders, tree};
use fairlead_engine::Engine;
use fairlead_model::Uninstall;
use fairlead_network::{Firewall, FirewallError, remove_devices};

use super::{CommandResult, block_on};
use crate::cli::UninstallArgs;
use crate::run::{images, lock};
use crate::upgrade::{UpgradeRecord, own_digest};

/// Time in which the proxy ends its requests.
const PROXY_TIMEOUT: Duration = Duration::from_secs(10);
/// Data folder of an installation by root.
const DATA_OF_ROOT: &str = "/var/lib/fairlead";
/// Program of an installation by root.
const PROGRAM_OF_ROOT: &str = "/usr/local/bin/fairlead-agent";
/// Data folder and program of an installation without root, below the home folder.
const DATA_BELOW_HOME: &str = ".local/share/fairlead";
const PROGRAM_BELOW_HOME: &str = ".local/bin/fairlead-agent";
/// Certificate authority of the control plane, which the install command puts into the data folder.
const CONTROL_CA: &str = "control-ca.pem";

pub(crate) fn uninstall(args: UninstallArgs) -> CommandResult {
    let is_named = args.data.is_some();
    let folders = Folders::new(&data_folder(args.data)?)?;
    if !folders.root().exists() {
        // An earlier run may have ended before it removed the program. A named folder may be a mistake.
        let program = (!is_named).then(|| installed_program(&folders));
        return finish(&folders, program.as_deref(), Vec::new());
    }
    require_agent_folder(&folders)?;
    let program = installed_program(&folders);
    service::stop(&folders)?;
    // A former uninstall removed the folder of the lock.
    fs::create_dir_all(folders.run())?;
    let locked = lock(&folders)?;
    let mut problems = block_on(end_processes(&folders))?;
    problems.extend(remove_each(runtime_paths(&folders, args.with_data)));
    if args.ordered
        && let Err(error) = block_on(report::send(&folders, &problems))?
    {
        eprintln!("fairlead-agent: the control plane did not learn that the agent is gone: {}", chain(&*error));
    }
    // The identity stays, so that this can be repeated.
    if !problems.is_empty() {
        return Err(sentence(&problems).into());
    }
    // The link needed the identity, so it goes last.
    problems.extend(remove_each(identity_paths(&folders)));
    drop(locked);
    problems.extend(remove_each(vec![folders.run()]));
    finish(&folders, Some(&program), problems)
}

/// Becomes the uninstall that the control plane asked for. A service starts it outside of its own unit, which may not change the
/// system's files.
pub(crate) fn exec_uninstall(folders: &Folders, order: Uninstall) -> CommandResult {
    let mut words =
        vec!["uninstall".into(), "--ordered".into(), "--data".into(), folders.root().as_os_str().to_owned()];
    if order.with_data {
        words.push("--with-data".into());
    }
    if service::is_installed(folders) {
        service::run_outside(&std::env::current_exe()?, &words)?;
        return Ok(ExitCode::SUCCESS);
    }
    Err(Command::new("/proc/self/exe").args(words).exec().into())
}

fn data_folder(given: Option<PathBuf>) -> Result<PathBuf, Box<dyn Error>> {
    if let Some(folder) = given.or_else(service::data_folder) {
        return Ok(folder);
    }
    if rustix::process::geteuid().is_root() {
        return Ok(DATA_OF_ROOT.into());
    }
    let home = std::env::var_os("HOME").ok_or("name the agent's data folder with --data")?;
    Ok(Path::new(&home).join(DATA_BELOW_HOME))
}

/// Refuses a folder that no agent made: its files would be deleted by their names.
fn require_agent_folder(folders: &Folders) -> Result<(), Box<dyn Error>> {
    let known = [folders.config(), folders.volumes(), folders.run_lock()];
    if known.iter().any(|path| path.exists()) {
        return Ok(());
    }
    Err(format!("{} is not the data folder of an agent: name it with --data", folders.root().display()).into())
}

/// Ends apps, builds and proxies, and removes their containers, groups, devices and firewall rules. Returns what went wrong.
async fn end_processes(folders: &Folders) -> Vec<String> {
    let engine = Engine::usual();
    let mut problems = Vec::new();
    let mut keep = |done: Result<(), String>| problems.extend(done.err());
    let ended = fairlead_runtime::end_instances(folders, &engine).await;
    keep(ended.map_err(|error| chain(&error)));
    let ended = fairlead_proxy::end_proxies(&folders.proxy_socket(), PROXY_TIMEOUT).await;
    keep(ended.map(drop).map_err(|error| chain(&error)));
    if engine.answers().await {
        let removed = images::remove_all(&engine, folders).await;
        keep(removed.map_err(|error| format!("the images of apps can't be removed: {}", chain(&error))));
    }
    if rustix::process::geteuid().is_root() {
        keep(remove_network(folders).map_err(|error| format!("firewall rules can't be removed: {}", chain(&*error))));
    }
    problems
}

fn remove_network(folders: &Folders) -> Result<(), Box<dyn Error>> {
    let firewall = match Firewall::of(folders.root()) {
        // Without the program there were no rules.
        Err(FirewallError::Missing) => return Ok(()),
        firewall => firewall?,
    };
    remove_devices(firewall.device_prefix(), |_| true)?;
    firewall.close_other_firewalls()?;
    Ok(firewall.remove()?)
}

/// Lists everything but identity and volumes.
fn runtime_paths(folders: &Folders, with_data: bool) -> Vec<PathBuf> {
    let mut paths = vec![
        folders.builds(),
        folders.artifacts(),
        folders.releases(),
        folders.instances(),
        folders.homes(),
        folders.caches(),
        folders.trash(),
        folders.toolchains(),
        folders.agents(),
        folders.authority(),
        folders.control_authorities(),
        folders.control(),
        folders.logs(),
    ];
    if with_data {
        paths.push(folders.volumes());
    }
    paths
}

/// Lists the files that the link needs.
fn identity_paths(folders: &Folders) -> Vec<PathBuf> {
    vec![
        folders.spool(),
        folders.state(),
        folders.sealing_key(),
        folders.root().join(CONTROL_CA),
        folders.key(),
        folders.config(),
    ]
}

fn remove_each(paths: Vec<PathBuf>) -> Vec<String> {
    let removed = paths.into_iter().map(|path| (tree::remove(&path), path));
    removed.filter_map(|(removed, path)| removed.err().map(|error| format!("{}: {error}", path.display()))).collect()
}

/// Path of the installed program: the one that the record of upgrades names, else the running one.
fn installed_program(folders: &Folders) -> PathBuf {
    let recorded = UpgradeRecord::open(folders).ok().and_then(|record| record.installed().map(Path::to_owned));
    let running = || std::env::current_exe().ok().filter(|program| own_digest(folders, program).is_none());
    recorded.or_else(running).unwrap_or_else(|| PROGRAM_OF_ROOT.into())
}

/// Removes service, empty data folder and program, and says what is left.
fn finish(folders: &Folders, program: Option<&Path>, mut problems: Vec<String>) -> CommandResult {
    let is_shared = service::data_folder().is_some_and(|data| data != folders.root());
    if let Err(error) = service::remove(folders) {
        problems.push(format!("the service can't be removed: {error}"));
    }
    let left = left_in(folders.root())?;
    if left.is_empty() {
        problems.extend(remove_each(vec![folders.root().to_owned()]));
    }
    match program {
        Some(program) if is_from_install_command(program) && !is_shared => {
            problems.extend(remove_each(vec![program.to_owned()]));
        }
        Some(program) if program.exists() => {
            println!("{} stays: it belongs to another installation.", program.display());
        }
        _ => {}
    }
    if !problems.is_empty() {
        return Err(sentence(&problems).into());
    }
    if left.is_empty() {
        println!("The agent is gone, and nothing of it is left.");
    } else if left.contains("volumes") {
        let volumes = folders.volumes();
        println!("The agent is gone. The volumes of apps stay in {}; --with-data deletes them.", volumes.display());
    } else {
        let names: Vec<&str> = left.iter().map(String::as_str).collect();
        println!("The agent is gone. {} has files of others: {}", folders.root().display(), names.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn left_in(root: &Path) -> io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Programs elsewhere belong to a package or a checkout.
fn is_from_install_command(program: &Path) -> bool {
    let below_home = std::env::var_os("HOME").map(|home| Path::new(&home).join(PROGRAM_BELOW_HOME));
    program == Path::new(PROGRAM_OF_ROOT) || below_home.is_some_and(|path| path == program)
}

fn sentence(problems: &[String]) -> String {
    format!(
        "Not everything could be removed: {}. Fix this, then run `fairlead-agent uninstall` again.",
        problems.join("; ")
    )
}
