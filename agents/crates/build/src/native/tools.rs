//! Programs of a build: the server's own where their version fits, else fetched toolchains.

mod server_tools;

use std::path::PathBuf;

use fairlead_base::CancellationToken;
use fairlead_inspect::{Plan, Tool, VersionRequest, Want};
use fairlead_model::Step;

use crate::BuildError;
use crate::command::Workshop;
use crate::toolchain::{ToolchainError, Toolchains, label, range};
use crate::version::SemVer;
use server_tools::ServerTool;

/// The first uv that knows `UV_SYSTEM_CERTS` and calls `UV_NATIVE_TLS` deprecated.
const UV_SYSTEM_CERTS: SemVer = SemVer(0, 11, 0);

/// Source of a tool.
#[derive(Debug)]
enum ToolSource {
    /// The server's own; with a sentence when another version was wanted.
    Server { own: ServerTool, warning: Option<String> },
    /// A toolchain of the store.
    Fetched { name: String, version: Option<SemVer>, programs: PathBuf },
}

/// Tools of a build.
#[derive(Debug)]
pub(super) struct BuildTools {
    /// Variables that say which Python and uv it is.
    pub(super) environment: Vec<(&'static str, String)>,
    /// Names and versions of the tools.
    pub(super) versions: Vec<String>,
}

/// Makes sure that what the plan wants is there.
pub(super) async fn tools(workshop: &mut Workshop<'_>, plan: &mut Plan) -> Result<BuildTools, BuildError> {
    let mut versions = Vec::new();
    let mut environment = vec![
        // A manager that was chosen here does not fetch another one of itself.
        ("npm_config_manage_package_manager_versions", "false".to_owned()),
        ("COREPACK_ENABLE_STRICT", "0".to_owned()),
        ("UV_PYTHON_DOWNLOADS", "never".to_owned()),
    ];
    let (mut node, mut fetched_node) = (None, false);
    for want in wants(plan) {
        // A start without a build needs none of the tools that build.
        let commands = plan.install.iter().chain(&plan.build).filter_map(|task| task.command.first());
        let runs = plan.runs_with.contains(&want.tool);
        if !runs && !commands.into_iter().any(|word| uses(word, want.tool)) {
            continue;
        }
        let own = server_tools::find(workshop, want.tool).await?;
        // A manager of the server's own may not run with another Node than the server's.
        let foreign = fetched_node && matches!(want.tool, Tool::Npm | Tool::Pnpm | Tool::Yarn);
        let needs = Needs { want: &want, own: &own, foreign, node, runs };
        let (toolchains, cancel) = (workshop.options.toolchains.clone(), workshop.cancel.clone());
        let settled = settle(toolchains.as_ref(), &needs, &cancel).await.map_err(unavailable)?;
        let (sentence, version) = match &settled {
            ToolSource::Server { warning: Some(warning), own } => (Some(warning.clone()), Some(own.version)),
            ToolSource::Server { own, .. } => (of_server(want.tool, own), Some(own.version)),
            ToolSource::Fetched { name, version, .. } => {
                let asked = |asked: &VersionRequest| format!(", for {} of {}", asked.range, asked.source);
                (Some(format!("Uses {name}{}.", want.version.as_ref().map(asked).unwrap_or_default())), *version)
            }
        };
        if let Some(sentence) = sentence {
            workshop.say(Step::Build, sentence.clone());
            plan.sentences.push(sentence);
        }
        if want.tool == Tool::Uv {
            let name = if version >= Some(UV_SYSTEM_CERTS) { "UV_SYSTEM_CERTS" } else { "UV_NATIVE_TLS" };
            environment.push((name, "true".to_owned()));
        }
        match settled {
            ToolSource::Server { own, .. } => {
                versions.push(format!("{} {} {}", want.tool.name(), own.version, own.program.display()));
                if want.tool == Tool::Python {
                    environment.push(("UV_PYTHON", own.program.to_string_lossy().into_owned()));
                }
            }
            ToolSource::Fetched { name, version, programs } => {
                if want.tool == Tool::Python {
                    let program = programs.join(Tool::Python.program());
                    environment.push(("UV_PYTHON", program.to_string_lossy().into_owned()));
                }
                versions.push(name.clone());
                workshop.programs.push(programs);
                if want.tool == Tool::Node {
                    (node, fetched_node) = (version, true);
                }
                if runs {
                    plan.toolchains.push(name);
                }
            }
        }
    }
    Ok(BuildTools { environment, versions })
}

/// Lists the tools of a plan, and Rust also where only a command names it.
fn wants(plan: &Plan) -> Vec<Want> {
    let mut wants = plan.tools.clone();
    if wants.iter().all(|want| want.tool != Tool::Rust) {
        wants.push(Want { tool: Tool::Rust, version: None });
    }
    wants
}

fn uses(program: &str, tool: Tool) -> bool {
    match tool {
        // The managers are programs of Node.
        Tool::Node => matches!(program, "node" | "npm" | "npx" | "pnpm" | "yarn" | "sh"),
        Tool::Python => matches!(program, "uv" | "uvx" | "pip" | "poetry" | "pdm" | "pipenv") || is_python(program),
        Tool::Rust => matches!(program, "cargo" | "rustc"),
        other => program == other.name(),
    }
}

/// `python`, `python3` or `python3.12`.
fn is_python(program: &str) -> bool {
    let Some(rest) = program.strip_prefix("python") else { return false };
    let rest = rest.strip_prefix('3').unwrap_or(rest);
    rest.is_empty() || rest.strip_prefix('.').is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()))
}

fn of_server(tool: Tool, own: &ServerTool) -> Option<String> {
    match tool {
        Tool::Rust => Some(format!("Uses the server's cargo {}.", own.version)),
        Tool::Python => Some(format!("Uses the server's Python {} ({}).", own.version, own.program.display())),
        _ => None,
    }
}

fn unavailable(error: ToolchainError) -> BuildError {
    match error {
        ToolchainError::Cancelled => BuildError::Cancelled,
        error => BuildError::Toolchain(error.to_string()),
    }
}

/// Request for one tool, and the server's own versions of it.
struct Needs<'a> {
    want: &'a Want,
    own: &'a [ServerTool],
    /// True if the server's own is a last resort.
    foreign: bool,
    /// Node that it must run on.
    node: Option<SemVer>,
    /// True if the app needs it while it runs.
    runs: bool,
}

/// Takes the server's own where no version is named, or where it is within what a package says that it works with. A file that
/// chooses a version is followed, because the next server may have another. When its source can't be reached, the server's own
/// replaces a chosen version, but never one that the app says it does not work with.
async fn settle(
    toolchains: Option<&Toolchains>,
    needs: &Needs<'_>,
    cancel: &CancellationToken,
) -> Result<ToolSource, ToolchainError> {
    let Needs { want, own, .. } = needs;
    let asked = want.version.as_ref();
    let allowed = asked.map(|asked| range(want.tool, &asked.range));
    let fits = |own: &&ServerTool| match &allowed {
        None => true,
        Some(range) => range.as_ref().is_some_and(|range| range.has(own.version)),
    };
    // Without a version the first of the PATH, as in a terminal; else the newest.
    let fitting = match asked {
        None => own.first(),
        Some(_) => own.iter().filter(fits).max_by_key(|own| own.version),
    };
    let chosen_by_file = asked.is_some_and(|asked| asked.exact);
    if let Some(own) = fitting.filter(|_| !needs.foreign && !chosen_by_file) {
        return Ok(ToolSource::Server { own: own.clone(), warning: None });
    }
    let is_default = asked.is_some_and(VersionRequest::is_default);
    let Some(toolchains) = toolchains else {
        let own = own.first().filter(|_| asked.is_none() || is_default);
        let own = own.ok_or_else(|| ToolchainError::Unknown(not_installed(want.tool)))?;
        return Ok(ToolSource::Server { own: own.clone(), warning: None });
    };
    let error = match fetched(toolchains, needs, cancel).await {
        Err(error) => error,
        settled => return settled,
    };
    let Some(host) = error.unreachable() else { return Err(with_own(error, own)) };
    let wanted = wanted(want);
    let strict = asked.is_some_and(|asked| !asked.exact) && !is_default;
    let fallback = fitting.or_else(|| own.iter().filter(|_| !strict).max_by_key(|own| own.version));
    let tool = label(want.tool);
    match fallback {
        Some(own) => {
            let verb = if needs.runs { "runs" } else { "builds" };
            let warning =
                format!("Wanted {wanted}; {host} can't be reached, so this server's {tool} {} {verb} it.", own.version);
            Ok(ToolSource::Server { own: own.clone(), warning: Some(warning) })
        }
        None if own.is_empty() => Err(ToolchainError::Unknown(format!(
            "Wanted {wanted}; {host} can't be reached. {} Or let the server reach that host, or set a mirror for it.",
            not_installed(want.tool)
        ))),
        None => Err(ToolchainError::Unknown(format!(
            "Wanted {wanted}; this server has {tool} {}, and {host} can't be reached for others. Let the server reach that host, set a mirror for it, or change {}.",
            versions(own),
            asked.map_or("the version", |asked| asked.source.as_str())
        ))),
    }
}

/// The newest that its source has, or one of the store when the source can't be reached.
async fn fetched(
    toolchains: &Toolchains,
    needs: &Needs<'_>,
    cancel: &CancellationToken,
) -> Result<ToolSource, ToolchainError> {
    let Needs { want, node, .. } = needs;
    let asked = want.version.as_ref();
    let chosen = toolchains.choose(want.tool, asked, *node).await?;
    let (chosen, programs) = match toolchains.ensure(&chosen.name, cancel).await {
        Ok(programs) => (chosen, programs),
        Err(error) if error.unreachable().is_some() => {
            let kept = toolchains.newest_installed(want.tool, asked, error)?;
            let programs = toolchains.ensure(&kept.name, cancel).await?;
            (kept, programs)
        }
        Err(error) => return Err(error),
    };
    Ok(ToolSource::Fetched { name: chosen.name, version: chosen.version, programs: toolchains.visible(&programs) })
}

/// `Python 3.13 of .python-version`.
fn wanted(want: &Want) -> String {
    let asked = want.version.as_ref().map(|asked| format!(" {} of {}", asked.range, asked.source));
    format!("{}{}", label(want.tool), asked.unwrap_or_default())
}

fn versions(own: &[ServerTool]) -> String {
    own.iter().map(|own| own.version.to_string()).collect::<Vec<_>>().join(", ")
}

/// Names what the server has beside what the source has.
fn with_own(error: ToolchainError, own: &[ServerTool]) -> ToolchainError {
    match error {
        ToolchainError::Unknown(text) if !own.is_empty() => {
            ToolchainError::Unknown(format!("{text} The server's own is {}.", versions(own)))
        }
        error => error,
    }
}

fn not_installed(tool: Tool) -> String {
    match tool {
        Tool::Rust => "This server has no Rust that builds can use: there is no `cargo`, or it is in a user's home folder, where rustup puts it. Install it for all users (on Debian and Ubuntu: `apt-get install cargo`), then deploy again; or add a Dockerfile where the server has a container engine.".to_owned(),
        tool => format!(
            "The build needs `{}`, which is not installed on this server. Install it there, then redeploy.",
            tool.program()
        ),
    }
}
