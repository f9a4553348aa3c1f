//! A plan carried out with the runtime's own tools: programs found or fetched, dependencies installed, the app built.

mod prune_packages;
pub(crate) mod reuse;
mod tools;
mod untrusted_files;

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Component, Path, PathBuf};

use aws_lc_rs::digest::{Context, Digest, SHA256};
use fairlead_model::{RunFile, Step};

use crate::as_user::as_user;
use crate::command::{CommandSpec, Workshop};
use crate::diagnose::{CommandFailure, diagnose};
use crate::toolchain::site_toolchain;
use crate::{BuildError, build_folders::blocking};
use fairlead_inspect::{Fallback, Plan, PlanCommand, SITE_COMMAND, display_command};

/// Caches of former lock files that stay beside the newest.
const CACHES_MAX: usize = 2;

/// Installs and builds; returns the folder to pack, below the source.
pub(crate) async fn make(
    workshop: &mut Workshop<'_>,
    below: &Path,
    plan: &mut Plan,
    run_commands: &[String],
) -> Result<PathBuf, BuildError> {
    let packed = plan.workspace.as_ref().map_or_else(|| below.to_owned(), PathBuf::from);
    let base = workshop.build_folders.source.join(&packed);
    let folder = base.join(&plan.folder);
    workshop.packed.clone_from(&base);
    let chosen = tools::tools(workshop, plan).await?;
    cache(workshop, &base, plan).await?;
    reuse::begin(workshop, &base, plan, &chosen).await?;
    let place = |task: &PlanCommand| if task.in_app { &folder } else { &base };
    let mut restored = reuse::restore(workshop, plan).await?;
    let reuse_commands = plan.reuse.as_ref().map_or(&[][..], |reuse| &reuse.commands);
    for task in reuse_commands.iter().filter(|_| restored) {
        run(workshop, place(task), task, &chosen.environment, true).await?;
    }
    let updates = plan.reuse.as_ref().is_some_and(|reuse| reuse.environment.is_some());
    if restored && !reuse_commands.is_empty() && !updates {
        restored = reuse::are_unchanged(workshop).await?;
    }
    for task in plan.install.iter().filter(|_| !restored) {
        run(workshop, place(task), task, &chosen.environment, true).await?;
    }
    reuse::installed(workshop).await;
    for task in &plan.build {
        run(workshop, place(task), task, &chosen.environment, false).await?;
    }
    reuse::built(workshop, plan).await;
    if plan.output.is_empty() {
        require_server(workshop, &folder, plan)?;
        prune_packages::prune(workshop, &packed, plan, run_commands).await?;
        write_run_file(workshop, &base, plan).await?;
        return Ok(packed);
    }
    let candidates = plan.output.clone();
    let has_page = |output: &String, page: &str| {
        std::fs::symlink_metadata(folder.join(output).join(page)).is_ok_and(|found| found.is_file())
    };
    // A single-page app may have its fallback page alone.
    let is_site = |output: &String| {
        has_page(output, "index.html") || plan.fallback.pages().iter().any(|page| has_page(output, page))
    };
    let find = || {
        // Some builders name a folder of their own in it, such as `build/prod`.
        let nested = candidates.iter().filter(|output| *output != ".").filter_map(|output| {
            let entries = std::fs::read_dir(folder.join(output)).ok()?.flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut sites = names.map(|name| format!("{output}/{name}")).filter(is_site);
            sites.next().filter(|_| sites.next().is_none())
        });
        let output = candidates.iter().find(|output| is_site(output)).cloned().or_else(|| nested.into_iter().next())?;
        let fallback = plan.fallback.pages().iter().find(|page| has_page(&output, page)).cloned();
        Some((output, fallback))
    };
    let found = as_user(workshop.options.user, find).map_err(BuildError::server("looking for what the build made"))?;
    let (output, fallback) = found.ok_or_else(|| {
        BuildError::OutputMissing(format!(
            "There is no index.html to serve, neither in {}. Set the output folder in the settings of the app or in fairlead.toml, or add a start script.",
            plan.output.join(" nor in ")
        ))
    })?;
    workshop.say(Step::Build, format!("The site is the folder {output}."));
    if plan.start == SITE_COMMAND {
        add_fallback(workshop, plan, &output, fallback)?;
    }
    Ok(plain(&packed.join(&plan.folder).join(output)))
}

/// Fails if the build left no server, so the cause is clear before the app starts.
fn require_server(workshop: &Workshop<'_>, folder: &Path, plan: &Plan) -> Result<(), BuildError> {
    let Some(server) = &plan.server else { return Ok(()) };
    let is_there = || {
        let path = folder.join(&server.file);
        let endings = ["", ".js", ".mjs", ".cjs", "/index.js", "/index.cjs"];
        endings.iter().any(|ending| {
            let mut path = path.clone().into_os_string();
            path.push(ending);
            std::fs::metadata(&path).is_ok_and(|found| found.is_file())
        })
    };
    let found =
        as_user(workshop.options.user, is_there).map_err(BuildError::server("looking for what the build made"))?;
    if found { Ok(()) } else { Err(BuildError::OutputMissing(server.advice.clone())) }
}

/// Path without `.` and `..`; what would lead out of the source ends at the source.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            _ => {}
        }
        plain
    })
}

/// Adds the fallback page that the build left to the command that serves the site.
fn add_fallback(
    workshop: &mut Workshop<'_>,
    plan: &mut Plan,
    output: &str,
    fallback: Option<String>,
) -> Result<(), BuildError> {
    plan.toolchains.push(site_toolchain(fallback.is_some()));
    match (fallback, &plan.fallback) {
        (Some(page), _) => {
            workshop.say(Step::Build, format!("Paths without a file get its page {page}."));
            plan.start.extend(["--fallback".to_owned(), page]);
            Ok(())
        }
        (None, Fallback::Required(page)) => Err(BuildError::OutputMissing(format!(
            "The folder {output} has no page `{page}`, which fairlead.toml names as `site.fallback`. Correct the name, or let the build write that page."
        ))),
        (None, Fallback::FirstOf(_)) => Ok(()),
    }
}

/// Leaves a note in the artifact for the servers that start it: the folder and the variables of its commands.
async fn write_run_file(workshop: &Workshop<'_>, base: &Path, plan: &Plan) -> Result<(), BuildError> {
    let file = RunFile { folder: plan.folder.clone(), environment: plan.environment.clone() };
    if file == RunFile::default() {
        return Ok(());
    }
    let (path, user) = (base.join(RunFile::PATH), workshop.options.user);
    blocking("describing how it starts", move || {
        as_user(user, || {
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            // A pipe that the build left there would hold up the agent.
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            std::fs::File::create_new(&path)?.write_all(&serde_json::to_vec_pretty(&file)?)
        })?
    })
    .await
}

/// One cache for one content of the lock file; the oldest are left to go.
async fn cache(workshop: &mut Workshop<'_>, folder: &Path, plan: &Plan) -> Result<(), BuildError> {
    let (lock, runtime) = (plan.lock_file.as_ref().map(|name| folder.join(name)), plan.runtime.clone());
    let (all, user) = (workshop.build_folders.cache.clone(), workshop.options.user);
    let trash = workshop.options.trash.clone();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    blocking("preparing the cache", move || {
        let (own, old) = as_user(user, || -> std::io::Result<_> {
            let hash: String = hash(lock.as_deref())?.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            let own = all.join(format!("{runtime}-{hash}"));
            std::fs::create_dir_all(&own)?;
            // Its time is when it was last used.
            std::fs::File::open(&own)?.set_modified(std::time::SystemTime::now())?;
            let mut others = Vec::new();
            for entry in std::fs::read_dir(&all)? {
                let entry = entry?;
                if entry.path() != own {
                    others.push((entry.metadata()?.modified()?, entry.path()));
                }
            }
            others.sort();
            others.truncate(others.len().saturating_sub(CACHES_MAX));
            Ok((own, others))
        })??;
        for (_, path) in old {
            trash.set_aside(&path)?;
        }
        // The receiver is dropped only when the build has ended.
        sender.send(own).ok();
        Ok::<(), std::io::Error>(())
    })
    .await?;
    if let Ok(own) = receiver.await {
        workshop.cache = own;
    }
    Ok(())
}

/// Hashes a file in pieces, because a repository decides its size; a missing file hashes as an empty one.
fn hash(file: Option<&Path>) -> std::io::Result<Digest> {
    let mut hash = Context::new(&SHA256);
    if let Some(file) = file {
        let mut file = std::fs::File::open(file)?;
        let mut piece = vec![0; 1 << 16];
        loop {
            match std::io::Read::read(&mut file, &mut piece)? {
                0 => break,
                count => hash.update(&piece[..count]),
            }
        }
    }
    Ok(hash.finish())
}

async fn run(
    workshop: &mut Workshop<'_>,
    folder: &Path,
    task: &PlanCommand,
    chosen: &[(&'static str, String)],
    installs: bool,
) -> Result<(), BuildError> {
    let words = display_command(&task.command);
    workshop.say(Step::Build, format!("$ {words}"));
    let cache = |name: &str| workshop.cache.join(name).to_string_lossy().into_owned();
    let caches = [
        ("npm_config_cache", cache("npm")),
        ("npm_config_store_dir", cache("pnpm")),
        ("YARN_CACHE_FOLDER", cache("yarn")),
        ("YARN_GLOBAL_FOLDER", cache("yarn-global")),
        ("BUN_INSTALL_CACHE_DIR", cache("bun")),
        ("UV_CACHE_DIR", cache("uv")),
        ("PIP_CACHE_DIR", cache("pip")),
        ("GOMODCACHE", cache("go-modules")),
        ("GOCACHE", cache("go")),
        ("GOTOOLCHAIN", "local".to_owned()),
        ("CARGO_HOME", cache("cargo")),
        ("CARGO_TARGET_DIR", cache("target")),
    ];
    let given = task.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let environment: Vec<(&str, &str)> =
        caches.iter().chain(chosen).map(|(name, value)| (*name, value.as_str())).chain(given).collect();
    let Some((program, arguments)) = task.command.split_first() else { return Ok(()) };
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let order = CommandSpec {
        step: Step::Build,
        program,
        arguments: &arguments,
        folder,
        environment: &environment,
        capture: false,
        secrets: true,
    };
    let done = workshop.run(&order).await?;
    if done.status.success() {
        return workshop.check_size(&format!("ran `{words}`")).await;
    }
    if done.disk_full() {
        return Err(BuildError::DiskFull);
    }
    let how = match (done.status.code(), done.status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(9)) => "was killed, most likely because the server ran out of memory".to_owned(),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    };
    let was_killed = done.status.signal() == Some(9);
    let error = diagnose(&CommandFailure { command: &words, how: &how, lines: &done.tail, installs, was_killed });
    if task.may_fail {
        workshop.say(Step::Build, format!("{error} The build goes on without it."));
        return Ok(());
    }
    Err(error)
}
