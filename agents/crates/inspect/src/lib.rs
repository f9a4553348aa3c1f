//! Plans how to install, build and start the app in a folder, from its files alone. Runs nothing and fetches nothing, so the
//! same files give the same plan on every server.

#![allow(missing_docs, reason = "names of variants and fields say it all")]

mod benchmark_plan;
mod command_line;
mod container;
mod database;
mod deno;
mod env_example;
mod error;
mod exchange;
mod excluded_folders;
mod files;
mod frameworks;
mod go;
mod javascript;
mod manifest;
mod plan;
mod procfile;
mod python;
mod report;
mod rust;
mod static_generator;
mod static_site;
mod unsupported;

use fairlead_model::{BuildOverrides, Builder};
use serde::{Deserialize, Serialize};

pub use command_line::{command, display_command};
pub use error::InspectError;
pub use exchange::{OwnedPlanRequest, read_answer};
pub use files::Files;
pub use plan::{
    BuiltServer, Cache, Fallback, OWN_FOLDER, Plan, PlanCommand, Reuse, SITE_COMMAND, Tool, VersionRequest, Want,
};
pub use report::report;

/// Request for a plan, beside the files.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    pub builder: Builder,
    pub overrides: &'a BuildOverrides,
    /// True if a container engine of this server answers.
    pub engine: bool,
    /// App folder below the source; empty: the source itself.
    pub root_folder: &'a str,
    /// Name of that folder for people, such as `the repository`.
    pub shown: &'a str,
}

/// Method to build a source.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BuildMethod {
    /// With the runtime's own tools.
    Native(Box<Plan>),
    /// With a container engine, from this file.
    Dockerfile { file: String, plan: Box<Plan> },
}

/// Start command and output folder that a person set; `None`: detected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanOverrides<'a> {
    pub(crate) start: Option<&'a [String]>,
    pub(crate) output: Option<&'a str>,
}

/// Folder of an app in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppSource<'a> {
    pub(crate) app: &'a Files,
    pub(crate) asked: PlanOverrides<'a>,
    /// Name of the folder for people.
    pub(crate) shown: &'a str,
}

/// Plans the build of the app in a folder of `source`. Settings in a committed fairlead.toml win over those of the app, and these over
/// what is detected.
pub fn inspect(source: &Files, plan_request: PlanRequest<'_>) -> Result<BuildMethod, InspectError> {
    let files = &source.below(plan_request.root_folder);
    let manifest = manifest::read(files)?;
    let procfile = procfile::read(files)?;
    let expected_variables = env_example::expected(files);
    let (benchmark_plan, plan_problem) = benchmark_plan::read(files);
    if let Some(file) = container::chosen(files, &manifest, plan_request)? {
        let mut plan = Plan { expected_variables, runtime: "docker".to_owned(), ..Plan::default() };
        plan.health_path.clone_from(&manifest.run.health_path);
        if manifest.run.listens_on_socket {
            return Err(manifest::no_socket());
        }
        if manifest.fallback.is_some() {
            return Err(manifest::no_site());
        }
        plan.say(format!("Found `{file}` in {}; the container engine builds it.", plan_request.shown));
        // The image's own start command applies unless the settings have one.
        plan.benchmark_plan = benchmark_plan;
        plan.sentences.extend(plan_problem);
        plan.start =
            first_given(&[&manifest.run.start_command, &plan_request.overrides.start_command]).unwrap_or_default();
        finish(&mut plan, &manifest, None);
        return Ok(BuildMethod::Dockerfile { file, plan: Box::new(plan) });
    }
    let start = first_given(&[&manifest.run.start_command, &plan_request.overrides.start_command])
        .or_else(|| procfile.as_ref().and_then(|procfile| procfile.web.clone()));
    let output = [&manifest.build.output_folder, &plan_request.overrides.output_folder]
        .into_iter()
        .find(|output| !output.is_empty());
    let asked = PlanOverrides { start: start.as_deref(), output: output.map(String::as_str) };
    let mut plan = detect(AppSource { app: files, asked, shown: plan_request.shown }, plan_request)?;
    plan.expected_variables = expected_variables;
    plan.benchmark_plan = benchmark_plan;
    plan.sentences.extend(plan_problem);
    plan.health_path.clone_from(&manifest.run.health_path);
    if let Some(install) = first_given(&[&manifest.build.install_command, &plan_request.overrides.install_command]) {
        plan.install = replaced(&plan.install, install);
        // Nothing tells what another command reads.
        plan.reuse = None;
    }
    if let Some(build) = first_given(&[&manifest.build.build_command, &plan_request.overrides.build_command]) {
        plan.build = replaced(&plan.build, build);
    }
    plan.add_named_tools();
    for (tool, version) in &manifest.tools {
        plan.tools.retain(|want| want.tool != *tool);
        plan.tools.push(Want::of(*tool, Some(version.clone())));
    }
    for (verb, tasks) in [("Installs with", &plan.install), ("Builds with", &plan.build)] {
        if !tasks.is_empty() {
            let all: Vec<String> = tasks.iter().map(|task| format!("`{}`", display_command(&task.command))).collect();
            plan.sentences.push(format!("{verb} {}.", all.join(", then ")));
        }
    }
    if plan.output.is_empty() {
        plan.sentences.push(format!("Starts with `{}`.", display_command(&plan.start)));
    } else {
        plan.sentences.push(format!("Serves the files of {}.", folders(&plan.output)));
    }
    set_fallback(&mut plan, manifest.fallback.as_ref())?;
    finish(&mut plan, &manifest, procfile);
    plan.sentences.extend(database::advice(files).filter(|_| plan.output.is_empty()));
    let named = manifest.build.cache.iter().map(|folder| Cache::below(&plan.folder, folder));
    plan.caches.extend(named);
    plan.prune_packages = match manifest.build.prune {
        Some(true) if matches!(plan.runtime.as_str(), "node" | "bun") => {
            let package = javascript::NodePackage::read(files, plan_request.shown)?;
            package.is_some_and(|package| !javascript::is_workspace_root(files, &package))
        }
        Some(_) => false,
        None => plan.prune_packages,
    } && plan.output.is_empty();
    if manifest.build.prune != Some(false) {
        excluded_folders::add(&mut plan, files, plan_request.shown)?;
    }
    Ok(BuildMethod::Native(Box::new(plan)))
}

/// Replaces the fallback page of a site with that of fairlead.toml, and adds a sentence about it.
fn set_fallback(plan: &mut Plan, fallback: Option<&Fallback>) -> Result<(), InspectError> {
    if let Some(fallback) = fallback {
        if plan.output.is_empty() {
            return Err(manifest::no_site());
        }
        plan.fallback.clone_from(fallback);
    }
    let sentence = match &plan.fallback {
        _ if plan.output.is_empty() => return Ok(()),
        Fallback::Required(page) => format!("Paths without a file get `{page}`, the fallback page of fairlead.toml."),
        Fallback::FirstOf(pages) => match pages.as_slice() {
            [] => "Paths without a file get an error 404.".to_owned(),
            [_] => return Ok(()),
            pages => format!(
                "It is a single-page app: paths without a file get the first of {} that the build produces.",
                pages.join(", ")
            ),
        },
    };
    plan.sentences.push(sentence);
    Ok(())
}

/// Tries each language in turn; the first that recognizes the files decides.
fn detect(app_source: AppSource<'_>, plan_request: PlanRequest<'_>) -> Result<Plan, InspectError> {
    type Detect = fn(AppSource<'_>) -> Result<Option<Plan>, InspectError>;
    const LANGUAGES: [Detect; 7] =
        [deno::plan, javascript::plan, python::plan, go::plan, rust::plan, static_generator::plan, static_site::plan];
    for language in LANGUAGES {
        if let Some(mut plan) = language(app_source)? {
            if matches!(plan.runtime.as_str(), "python" | "go" | "rust") {
                javascript::add_assets(&mut plan, app_source)?;
            }
            return Ok(plan);
        }
    }
    Err(unsupported::explain(app_source, plan_request.engine))
}

fn finish(plan: &mut Plan, manifest: &manifest::AppManifest, procfile: Option<procfile::Procfile>) {
    plan.release_command = first_given(&[&manifest.run.release_command])
        .or_else(|| procfile.as_ref().and_then(|procfile| procfile.release.clone()))
        .unwrap_or_default();
    if !plan.release_command.is_empty() {
        plan.sentences
            .push(format!("Runs `{}` before each release goes live.", display_command(&plan.release_command)));
    }
    plan.workers.clone_from(&manifest.workers);
    for worker in procfile.map(|procfile| procfile.workers).unwrap_or_default() {
        if !plan.workers.iter().any(|known| known.name == worker.name) {
            plan.workers.push(worker);
        }
    }
    for worker in &plan.workers {
        plan.sentences.push(format!("Also runs {} × `{}`.", worker.instances, display_command(&worker.command)));
    }
    plan.listens_on_socket = manifest.run.listens_on_socket;
    if plan.listens_on_socket {
        plan.sentences.push("It listens on the Unix socket at $FAIRLEAD_SOCKET.".to_owned());
    }
    if !plan.health_path.is_empty() {
        plan.sentences.push(format!("It is healthy when {} answers.", plan.health_path));
    }
}

/// Replaces commands with one; it keeps their environment and folder.
fn replaced(tasks: &[PlanCommand], command: Vec<String>) -> Vec<PlanCommand> {
    let first = tasks.first().cloned().unwrap_or_default();
    vec![PlanCommand { command, may_fail: false, ..first }]
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

pub(crate) fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
