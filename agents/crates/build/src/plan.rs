//! What a source holds and how it becomes something that starts. Pure but for looking at files: the same files make the
//! same plan on every server. Owns the plan; runs nothing, fetches nothing.

mod deno;
mod files;
mod go;
mod javascript;
mod manifest;
mod procfile;
mod python;
mod rust;
mod site;
mod variables;
mod words;

use fairlead_model::{BuildOverrides, Builder, ProcessSpec};

use crate::BuildError;

pub(crate) use files::Files;
pub(crate) use words::shown;

/// Where a build keeps what it made itself; part of the artifact.
pub(crate) const OWN_FOLDER: &str = ".fairlead";
/// The program that serves static sites; the agent itself, by a name that stays.
pub(crate) const SITE_COMMAND: [&str; 3] = ["fairlead-agent", "static", "."];

/// How to turn a folder into something that starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Like `node`.
    pub(crate) runtime: String,
    /// Commands that install dependencies, in order.
    pub(crate) install: Vec<Task>,
    /// Commands that build, in order.
    pub(crate) build: Vec<Task>,
    /// The start command.
    pub(crate) start: Vec<String>,
    /// Of a static site: folders of which the first with an index.html is what is packed.
    pub(crate) output: Vec<String>,
    /// Programs that install and build need.
    pub(crate) tools: Vec<Want>,
    /// Programs that the app needs while it runs; of `tools`.
    pub(crate) runs_with: Vec<Tool>,
    /// Names of those that were fetched for it.
    pub(crate) toolchains: Vec<String>,
    /// Its lock file: the cache is for one content of it.
    pub(crate) lock_file: Option<String>,
    /// Processes without a port.
    pub(crate) workers: Vec<ProcessSpec>,
    /// What was found and decided, a sentence each.
    pub(crate) sentences: Vec<String>,
    /// Variables that an example names.
    pub(crate) expected_variables: Vec<String>,
    /// Of fairlead.toml; empty: not said.
    pub(crate) health_path: String,
    /// Of fairlead.toml; empty: none.
    pub(crate) release_command: Vec<String>,
    /// Of fairlead.toml: it has a Unix socket instead of a port.
    pub(crate) listens_on_socket: bool,
}

/// One command of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Beside what every command gets.
    pub(crate) environment: Vec<(String, String)>,
    /// What usually helps when it fails.
    pub(crate) advice: &'static str,
}

impl Task {
    fn new(command: &[&str]) -> Self {
        Self { command: strings(command), environment: Vec::new(), advice: "The last lines of the log say why." }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn advised(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }
}

/// A program that a registry of packages has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    Node,
    Npm,
    Pnpm,
    Yarn,
    Bun,
    Deno,
    Uv,
    Go,
}

impl Tool {
    /// Its name in a toolchain's name and the program that must be there.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
            Self::Deno => "deno",
            Self::Uv => "uv",
            Self::Go => "go",
        }
    }
}

/// A program that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) tool: Tool,
    /// What its version must be, in npm's words, and the file that says so; none: any.
    pub(crate) version: Option<(String, &'static str)>,
}

impl Want {
    fn any(tool: Tool) -> Self {
        Self { tool, version: None }
    }

    fn of(tool: Tool, version: Option<(String, &'static str)>) -> Self {
        Self { tool, version }
    }
}

/// How the source is built.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By the runtime's own tools.
    Native(Box<Plan>),
    /// By a container engine, from this file.
    Dockerfile { file: String, plan: Box<Plan> },
}

/// What was asked for, beside the files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) builder: Builder,
    pub(crate) overrides: &'a BuildOverrides,
    /// Whether this server can build a Dockerfile.
    pub(crate) engine: bool,
    /// The folder's name for people.
    pub(crate) shown: &'a str,
}

/// Decides how to build what the files are.
pub(crate) fn decide(files: &Files, wish: Wish<'_>) -> Result<Way, BuildError> {
    let manifest = manifest::read(files)?;
    let procfile = procfile::read(files)?;
    let mut plan = Plan { expected_variables: variables::expected(files), ..Plan::default() };
    plan.health_path.clone_from(&manifest.run.health);
    if let Some(file) = dockerfile(files, &manifest, wish)? {
        if manifest.run.listens_on_socket {
            return Err(manifest::no_socket());
        }
        plan.runtime = "docker".to_owned();
        plan.sentences.push(format!("Found `{file}` in {}; the container engine builds it.", wish.shown));
        // What a container starts is the image's own word, unless somebody says otherwise.
        plan.start = first_given(&[&manifest.run.start, &wish.overrides.start]).unwrap_or_default();
        finish(&mut plan, &manifest, None);
        return Ok(Way::Dockerfile { file, plan: Box::new(plan) });
    }
    let start = first_given(&[&manifest.run.start, &wish.overrides.start])
        .or_else(|| procfile.as_ref().and_then(|procfile| procfile.web.clone()));
    let output = [&manifest.build.output, &wish.overrides.output_folder].into_iter().find(|output| !output.is_empty());
    let asked = Asked { start: start.as_deref(), output: output.map(String::as_str) };
    let found = detect(files, asked, wish.shown)?;
    plan = Plan { expected_variables: plan.expected_variables, health_path: plan.health_path, ..found };
    if let Some(install) = first_given(&[&manifest.build.install, &wish.overrides.install]) {
        plan.install = replaced(&plan.install, install);
    }
    if let Some(build) = first_given(&[&manifest.build.build, &wish.overrides.build]) {
        plan.build = replaced(&plan.build, build);
    }
    for (verb, tasks) in [("Installs with", &plan.install), ("Builds with", &plan.build)] {
        if !tasks.is_empty() {
            let all: Vec<String> = tasks.iter().map(|task| format!("`{}`", shown(&task.command))).collect();
            plan.sentences.push(format!("{verb} {}.", all.join(", then ")));
        }
    }
    if plan.output.is_empty() {
        plan.sentences.push(format!("Starts with `{}`.", shown(&plan.start)));
    } else {
        plan.sentences.push(format!("Serves the files of {}.", folders(&plan.output)));
    }
    finish(&mut plan, &manifest, procfile);
    Ok(Way::Native(Box::new(plan)))
}

/// What a person said about how it starts and what it makes; the rest is detected.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    start: Option<&'a [String]>,
    output: Option<&'a str>,
}

/// Every builder in turn; the first that knows the files decides.
fn detect(files: &Files, asked: Asked<'_>, shown: &str) -> Result<Plan, BuildError> {
    type Detect = fn(&Files, Asked<'_>, &str) -> Result<Option<Plan>, BuildError>;
    const BUILDERS: [Detect; 6] = [deno::plan, javascript::plan, python::plan, go::plan, rust::plan, site::plan];
    for builder in BUILDERS {
        if let Some(plan) = builder(files, asked, shown)? {
            return Ok(plan);
        }
    }
    Err(BuildError::NotDetected(format!(
        "Nothing in {shown} tells how to build it. Fairlead looks for package.json, deno.json, requirements.txt, pyproject.toml, go.mod, Cargo.toml, index.html and a Dockerfile. Add one, or set the root folder in the settings of the app."
    )))
}

fn dockerfile(files: &Files, manifest: &manifest::Manifest, wish: Wish<'_>) -> Result<Option<String>, BuildError> {
    let named =
        [&manifest.build.dockerfile, &wish.overrides.dockerfile].into_iter().find(|name| !name.is_empty()).cloned();
    let wanted = wish.builder == Builder::Dockerfile || (wish.builder == Builder::Detected && named.is_some());
    let file = named.unwrap_or_else(|| "Dockerfile".to_owned());
    if wanted {
        if files.has(&file) {
            return Ok(Some(file));
        }
        return Err(BuildError::NotDetected(format!(
            "There is no file `{file}` in {}. Add it, or choose another builder in the settings of the app.",
            wish.shown
        )));
    }
    // Without an engine the files themselves may still tell enough.
    Ok((wish.builder == Builder::Detected && wish.engine && files.has(&file)).then_some(file))
}

fn finish(plan: &mut Plan, manifest: &manifest::Manifest, procfile: Option<procfile::Procfile>) {
    plan.release_command = first_given(&[&manifest.run.release])
        .or_else(|| procfile.as_ref().and_then(|procfile| procfile.release.clone()))
        .unwrap_or_default();
    if !plan.release_command.is_empty() {
        plan.sentences.push(format!("Before each release runs `{}`.", shown(&plan.release_command)));
    }
    plan.workers.clone_from(&manifest.workers);
    for worker in procfile.map(|procfile| procfile.workers).unwrap_or_default() {
        if !plan.workers.iter().any(|known| known.name == worker.name) {
            plan.workers.push(worker);
        }
    }
    for worker in &plan.workers {
        plan.sentences.push(format!("Beside it runs {} × `{}`.", worker.instances, shown(&worker.command)));
    }
    plan.listens_on_socket = manifest.run.listens_on_socket;
    if plan.listens_on_socket {
        plan.sentences.push("It listens on the Unix socket at $FAIRLEAD_SOCKET.".to_owned());
    }
    if !plan.health_path.is_empty() {
        plan.sentences.push(format!("It is healthy when {} answers.", plan.health_path));
    }
}

/// One command instead of several; it keeps what they were given.
fn replaced(tasks: &[Task], command: Vec<String>) -> Vec<Task> {
    let environment = tasks.first().map(|task| task.environment.clone()).unwrap_or_default();
    vec![Task { command, environment, advice: "The last lines of the log say why." }]
}

fn first_given(candidates: &[&Vec<String>]) -> Option<Vec<String>> {
    candidates.iter().find(|command| !command.is_empty()).map(|command| (*command).clone())
}

fn folders(candidates: &[String]) -> String {
    match candidates {
        [one] if one == "." => "the folder itself".to_owned(),
        [one] => format!("`{one}`"),
        many => format!("the first of {} that has an index.html", many.join(", ")),
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests;
