//! A plan carried out with the runtime's own tools: programs found or fetched, dependencies installed, the app built.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, Digest, SHA256};
use fairlead_model::Step;

use crate::as_user::as_user;
use crate::command::{Order, Workshop};
use crate::plan::{Plan, SITE_COMMAND, Task, Tool, Want, shown};
use crate::toolchain::{ToolchainError, site_toolchain};
use crate::version::{Range, Version};
use crate::{BuildError, places::blocking};

/// Caches of former lock files that stay beside the newest.
const CACHES_MAX: usize = 2;

/// Installs and builds; returns the folder to pack, below the source.
pub(crate) async fn make(workshop: &mut Workshop<'_>, below: &Path, plan: &mut Plan) -> Result<PathBuf, BuildError> {
    let folder = workshop.places.source.join(below);
    tools(workshop, &folder, plan).await?;
    cargo(workshop, &folder, plan).await?;
    cache(workshop, &folder, plan).await?;
    for (task, installs) in
        plan.install.iter().map(|task| (task, true)).chain(plan.build.iter().map(|task| (task, false)))
    {
        run(workshop, &folder, task, installs).await?;
    }
    if plan.output.is_empty() {
        return Ok(below.to_owned());
    }
    let candidates = plan.output.clone();
    let is_site = |output: &String| {
        std::fs::symlink_metadata(folder.join(output).join("index.html")).is_ok_and(|found| found.is_file())
    };
    let output = as_user(workshop.options.user, || candidates.iter().find(|output| is_site(output)).cloned())
        .map_err(BuildError::server("looking for what the build made"))?;
    let output = output.ok_or_else(|| {
        BuildError::OutputMissing(format!(
            "There is no index.html to serve, neither in {}. Set the output folder in the settings of the app or in fairlead.toml, or add a start script.",
            plan.output.join(" nor in ")
        ))
    })?;
    if plan.start == SITE_COMMAND {
        plan.toolchains.push(site_toolchain());
    }
    workshop.say(Step::Build, format!("The site is the folder {output}."));
    Ok(if output == "." { below.to_owned() } else { below.join(output) })
}

/// Makes sure that what the plan wants is there: the server's own where that will do, else of a registry.
async fn tools(workshop: &mut Workshop<'_>, folder: &Path, plan: &mut Plan) -> Result<(), BuildError> {
    let (mut node, mut fetched_node) = (None, false);
    for want in plan.tools.clone() {
        // Whoever only starts a program needs none of those that build.
        let needed = plan.runs_with.contains(&want.tool)
            || plan
                .install
                .iter()
                .chain(&plan.build)
                .any(|task| task.command.first().is_some_and(|word| uses(word, want.tool)));
        if !needed {
            continue;
        }
        // A manager of the server's own may not run with another Node than the server's.
        let foreign = fetched_node && matches!(want.tool, Tool::Npm | Tool::Pnpm | Tool::Yarn);
        if !foreign && has_own(workshop, folder, &want).await? {
            continue;
        }
        let Some(toolchains) = workshop.options.toolchains.clone() else {
            return Err(BuildError::Toolchain(format!(
                "The build needs `{}`, which is not installed on this server. Install it there, then redeploy.",
                want.tool.name()
            )));
        };
        let (name, version) = toolchains.choose(want.tool, want.version.as_ref(), node).await.map_err(unavailable)?;
        let because = want.version.map_or(String::new(), |(wanted, file)| format!(", for {wanted} of {file}"));
        let sentence = format!("Uses {name}{because}.");
        workshop.say(Step::Build, sentence.clone());
        plan.sentences.push(sentence);
        let programs = toolchains.ensure(&name, &workshop.cancel.clone()).await.map_err(unavailable)?;
        workshop.programs.push(programs);
        if want.tool == Tool::Node {
            (node, fetched_node) = (Some(version), true);
        }
        if plan.runs_with.contains(&want.tool) {
            plan.toolchains.push(name);
        }
    }
    Ok(())
}

/// No registry that Fairlead asks has Rust's tools, so the server's own must do; where they will not, that is said before the build.
async fn cargo(workshop: &mut Workshop<'_>, folder: &Path, plan: &mut Plan) -> Result<(), BuildError> {
    if plan.install.iter().chain(&plan.build).all(|task| task.command.first().is_none_or(|word| word != "cargo")) {
        return Ok(());
    }
    let order = Order {
        step: Step::Build,
        program: "cargo",
        arguments: &[OsStr::new("--version")],
        folder,
        environment: &[],
        capture: true,
        secrets: false,
    };
    let said = match workshop.run(&order).await {
        // Not there, or not for this user.
        Err(BuildError::Command(_)) => None,
        answer => Some(answer?).filter(|answer| answer.status.success()),
    };
    let Some(said) = said else {
        return Err(BuildError::Toolchain(
            "This server has no Rust that builds can use: there is no `cargo`, or it lies in somebody's home, as rustup puts it there. Install it for all users (on Debian and Ubuntu: `apt-get install cargo`), then deploy again; or add a Dockerfile where the server has a container engine."
                .to_owned(),
        ));
    };
    let version = String::from_utf8_lossy(&said.captured);
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    let sentence = format!("Uses the server's {}.", version.join(" "));
    workshop.say(Step::Build, sentence.clone());
    plan.sentences.push(sentence);
    Ok(())
}

fn uses(program: &str, tool: Tool) -> bool {
    // The managers are programs of Node.
    program == tool.name() || (tool == Tool::Node && matches!(program, "npm" | "pnpm" | "yarn"))
}

fn unavailable(error: ToolchainError) -> BuildError {
    match error {
        ToolchainError::Cancelled => BuildError::Cancelled,
        error => BuildError::Toolchain(error.to_string()),
    }
}

/// Whether the server's own program will do: where no version is named, or where its version is within what a package says
/// that it works with. A file that chooses a version is followed: the next server may have another.
async fn has_own(workshop: &mut Workshop<'_>, folder: &Path, want: &Want) -> Result<bool, BuildError> {
    let (path, name) = (workshop.path(), want.tool.name());
    let found = || {
        std::env::split_paths(&path)
            .any(|folder| std::fs::metadata(folder.join(name)).is_ok_and(|found| found.is_file()))
    };
    if !as_user(workshop.options.user, found).map_err(BuildError::server("looking for programs"))? {
        return Ok(false);
    }
    let Some((wanted, file)) = &want.version else { return Ok(true) };
    if !matches!(*file, "go.mod" | "package.json (engines)" | "yarn.lock") {
        return Ok(false);
    }
    let question: &[&str] = if want.tool == Tool::Go { &["env", "GOVERSION"] } else { &["--version"] };
    let arguments: Vec<&OsStr> = question.iter().map(OsStr::new).collect();
    let environment = [("GOTOOLCHAIN", "local")];
    let order = Order {
        step: Step::Build,
        program: name,
        arguments: &arguments,
        folder,
        environment: &environment,
        capture: true,
        secrets: false,
    };
    let said = workshop.run(&order).await?;
    let said = String::from_utf8_lossy(&said.captured).trim().to_owned();
    let version = Version::parse(said.strip_prefix("go").unwrap_or(&said));
    Ok(version.zip(Range::parse(wanted)).is_some_and(|(version, range)| range.has(version)))
}

/// One cache for one content of the lock file; the oldest are left to go.
async fn cache(workshop: &mut Workshop<'_>, folder: &Path, plan: &Plan) -> Result<(), BuildError> {
    let (lock, runtime) = (plan.lock_file.as_ref().map(|name| folder.join(name)), plan.runtime.clone());
    let (all, user) = (workshop.places.cache.clone(), workshop.options.user);
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
        // Whoever asked has gone only when the build has.
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

async fn run(workshop: &mut Workshop<'_>, folder: &Path, task: &Task, installs: bool) -> Result<(), BuildError> {
    let words = shown(&task.command);
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
        caches.iter().map(|(name, path)| (*name, path.as_str())).chain(given).collect();
    let Some((program, arguments)) = task.command.split_first() else { return Ok(()) };
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let order = Order {
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
    let sentence = format!("The command `{words}` {how}. {}", task.advice);
    Err(if installs { BuildError::Install(sentence) } else { BuildError::Command(sentence) })
}
