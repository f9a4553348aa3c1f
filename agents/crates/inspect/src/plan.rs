//! Plan of a build: tools, commands, and how the result starts.

use std::collections::BTreeMap;

use fairlead_model::ProcessSpec;
use serde::{Deserialize, Serialize};

use crate::strings;

/// Folder of the artifact that belongs to Fairlead.
pub const OWN_FOLDER: &str = ".fairlead";
/// Program that serves static sites: the agent itself, under a name that stays.
pub const SITE_COMMAND: [&str; 3] = ["fairlead-agent", "static", "."];
/// Page that is a fallback wherever a build leaves it.
const FALLBACK_PAGE: &str = "200.html";

/// Server that a framework's build leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltServer {
    /// File from the app's folder, or a folder with an `index.js`, as Node finds it.
    pub file: String,
    /// Sentences for a build that left none.
    pub advice: String,
}

/// Plan that turns a folder into something that starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Framework or kind of app for people, such as `Next.js`.
    pub framework: String,
    /// Runtime in lower case, such as `node`.
    pub runtime: String,
    /// Folder below the source that is built and packed: the workspace of the app; empty: the app's root folder itself.
    pub workspace: Option<String>,
    /// App's folder below the workspace, in which it starts; empty: the packed folder itself.
    pub folder: String,
    /// Commands that install dependencies, in order.
    pub install: Vec<PlanCommand>,
    /// Commands that build, in order.
    pub build: Vec<PlanCommand>,
    /// Start command of the process `web`.
    pub start: Vec<String>,
    /// Variables of all processes, which the app's own replace.
    pub environment: BTreeMap<String, String>,
    /// Candidate output folders of a static site, relative to the app's folder. The first with an index.html is served.
    pub output: Vec<String>,
    /// For a static site: page for paths without a file.
    pub fallback: Fallback,
    /// Folders of the app that it does not need once it is built.
    pub excluded_folders: Vec<String>,
    /// True if installed packages that only the build needs are left out of the artifact.
    pub prune_packages: bool,
    /// Server that the build has to leave in the app's folder.
    pub server: Option<BuiltServer>,
    /// Tools that the commands need.
    pub tools: Vec<Want>,
    /// Those of `tools` that the app needs while it runs.
    pub runs_with: Vec<Tool>,
    /// Names of tools that were fetched for it.
    pub toolchains: Vec<String>,
    /// Lock file: each content of it has a build cache of its own.
    pub lock_file: Option<String>,
    /// Folders that tools of the build keep for the next one, below the packed folder. They are not packed.
    pub caches: Vec<Cache>,
    /// Set if the dependencies of a former build may replace `install`, provided that all it reads is the same.
    pub reuse: Option<Reuse>,
    /// Processes without a port.
    pub workers: Vec<ProcessSpec>,
    /// Findings and decisions, one sentence each.
    pub sentences: Vec<String>,
    /// Names of variables in an example file.
    pub expected_variables: Vec<String>,
    /// Path of fairlead.toml's health check; empty: not set.
    pub health_path: String,
    /// Command that runs once before each release; empty: none.
    pub release_command: Vec<String>,
    /// True if it listens on a Unix socket instead of a port.
    pub listens_on_socket: bool,
    /// Content of fairlead.bench.json; empty: none. `None`: unreadable.
    pub benchmark_plan: Option<String>,
}

impl Plan {
    pub(crate) fn say(&mut self, sentence: impl Into<String>) {
        self.sentences.push(sentence.into());
    }

    /// Adds tools that a command names and no file asks for, such as Bun for `bun run src/index.ts`.
    pub(crate) fn add_named_tools(&mut self) {
        let commands = self.install.iter().chain(&self.build).map(|task| &task.command);
        let named = |command: &Vec<String>| Tool::ALL.into_iter().find(|tool| runs(command, tool.program()));
        let builds: Vec<Tool> = commands.filter_map(named).collect();
        let starts: Vec<Tool> = [&self.start]
            .into_iter()
            .chain(self.workers.iter().map(|worker| &worker.command))
            .filter_map(named)
            .collect();
        for tool in builds.into_iter().chain(starts.iter().copied()) {
            // Python's own environment has the program; Rust's tools only build.
            let in_artifact = matches!(tool, Tool::Python) && self.runtime == "python";
            if !in_artifact && self.tools.iter().all(|want| want.tool != tool) {
                self.tools.push(Want::any(tool));
            }
        }
        for tool in starts {
            if !self.runs_with.contains(&tool) && tool != Tool::Rust {
                self.runs_with.push(tool);
            }
        }
    }
}

/// True if a command's program is `program`, also in a line for a shell.
fn runs(command: &[String], program: &str) -> bool {
    match command {
        [shell, flag, line] if shell == "sh" && flag == "-c" => line.split(['&', '|', ';', '(', '\n']).any(|part| {
            let mut words = part.split_ascii_whitespace().filter(|word| *word != "exec" && !word.contains('='));
            words.next() == Some(program)
        }),
        [first, ..] => first == program,
        [] => false,
    }
}

/// Page of a static site for paths without a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fallback {
    /// The first of these pages that the build leaves; without one, an unknown path is an error 404.
    FirstOf(Vec<String>),
    /// Page that fairlead.toml names; the build must leave it.
    Required(String),
}

impl Default for Fallback {
    /// For a site of pages: builders leave a 200.html for no other purpose.
    fn default() -> Self {
        Self::FirstOf(strings(&[FALLBACK_PAGE]))
    }
}

impl Fallback {
    /// For a single-page app: its index.html renders every path.
    pub(crate) fn app() -> Self {
        Self::FirstOf(strings(&[FALLBACK_PAGE, "index.html"]))
    }

    /// For a single-page app of a builder that leaves a page of its own beside a rendered index.html.
    pub(crate) fn app_with(page: &str) -> Self {
        let mut pages = strings(&[FALLBACK_PAGE, page, "index.html"]);
        pages.dedup();
        Self::FirstOf(pages)
    }

    /// Pages to look for, in order.
    pub fn pages(&self) -> &[String] {
        match self {
            Self::FirstOf(pages) => pages,
            Self::Required(page) => std::slice::from_ref(page),
        }
    }
}

/// Folder that tools of a build keep for the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Path below the packed folder.
    pub folder: String,
    /// Folder in it that is not kept, because its tool does not check what is in it; empty: none.
    pub stale: String,
}

impl Cache {
    /// Folder of an app, which has this folder below the packed one.
    pub(crate) fn below(app: &str, folder: &str) -> Self {
        let folder = if app.is_empty() { folder.to_owned() } else { format!("{app}/{folder}") };
        Self { folder, stale: String::new() }
    }
}

/// Reuse of installed dependencies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reuse {
    /// Virtual environment that holds them, below the packed folder; `None`: all folders `node_modules`.
    pub environment: Option<String>,
    /// Commands instead of `install`: scripts of the app itself that its package manager runs with each install, or those that
    /// update the environment.
    pub commands: Vec<PlanCommand>,
}

/// Command of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCommand {
    /// Program, then its arguments.
    pub command: Vec<String>,
    /// Variables beside those of every command.
    pub environment: Vec<(String, String)>,
    /// True: it runs in the app's folder; false: in the workspace's, where there is one.
    pub in_app: bool,
    /// True if the build reports its failure and goes on.
    pub may_fail: bool,
}

impl PlanCommand {
    pub(crate) fn new(command: &[&str]) -> Self {
        Self { command: strings(command), ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Tool that can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tool {
    Node,
    Npm,
    Pnpm,
    Yarn,
    Bun,
    Deno,
    Uv,
    Python,
    Go,
    Rust,
}

impl Tool {
    pub const ALL: [Self; 10] = [
        Self::Node,
        Self::Npm,
        Self::Pnpm,
        Self::Yarn,
        Self::Bun,
        Self::Deno,
        Self::Uv,
        Self::Python,
        Self::Go,
        Self::Rust,
    ];

    /// Program that must be there, such as `cargo` for Rust.
    pub fn program(self) -> &'static str {
        match self {
            Self::Python => "python3",
            Self::Rust => "cargo",
            other => other.name(),
        }
    }

    /// Name in a toolchain's name, such as `node` in `node@24.4.1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
            Self::Deno => "deno",
            Self::Uv => "uv",
            Self::Python => "python",
            Self::Go => "go",
            Self::Rust => "rust",
        }
    }
}

/// Tool that a plan needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    pub tool: Tool,
    /// `None`: any version.
    pub version: Option<VersionRequest>,
}

/// Version that a file of the app asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRequest {
    /// Range in npm's notation, such as `>=20`, `^3.12` or `22.11.0`.
    pub range: String,
    /// File that asks, such as `package.json (engines)`.
    pub source: String,
    /// True if the file chooses this version; false if the app only works within the range, so the server's own may do.
    pub exact: bool,
}

impl VersionRequest {
    /// Source of a version that no file of the app asks for.
    const DEFAULT: &'static str = "Fairlead's default";

    /// True if no file of the app asks for a version.
    pub fn is_default(&self) -> bool {
        self.source == Self::DEFAULT
    }

    pub(crate) fn usual(range: &str) -> Self {
        Self::within(range, Self::DEFAULT)
    }

    pub(crate) fn exact(range: impl Into<String>, source: &str) -> Self {
        Self { range: range.into(), source: source.to_owned(), exact: true }
    }

    pub(crate) fn within(range: impl Into<String>, source: &str) -> Self {
        Self { range: range.into(), source: source.to_owned(), exact: false }
    }
}

impl Want {
    pub(crate) fn any(tool: Tool) -> Self {
        Self { tool, version: None }
    }

    pub(crate) fn of(tool: Tool, version: Option<VersionRequest>) -> Self {
        Self { tool, version }
    }
}
