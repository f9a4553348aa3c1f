//! Sentences for sources that Fairlead does not build by itself.

use crate::command_line::in_quotes;
use crate::{AppSource, Files, InspectError, container};

/// Languages that need a Dockerfile, with the files that tell them.
const LANGUAGES: [(&str, &[&str]); 10] = [
    ("Ruby", &["Gemfile", "config.ru"]),
    ("PHP", &["composer.json", "index.php"]),
    ("Java", &["pom.xml", "build.gradle", "build.gradle.kts"]),
    ("Scala", &["build.sbt"]),
    ("Clojure", &["project.clj", "deps.edn"]),
    ("Elixir", &["mix.exs"]),
    ("Haskell", &["stack.yaml", "cabal.project"]),
    ("Crystal", &["shard.yml"]),
    ("Dart", &["pubspec.yaml"]),
    ("Gleam", &["gleam.toml"]),
];

const DOTNET: [&str; 3] = [".csproj", ".fsproj", ".sln"];

/// Says why nothing builds this folder, and what to do.
pub(crate) fn explain(app_source: AppSource<'_>, engine: bool) -> InspectError {
    let (files, shown) = (app_source.app, app_source.shown);
    if !engine && let Some(file) = container::NAMES.into_iter().find(|name| files.has(name)) {
        return InspectError::NotDetected(format!(
            "There is a `{file}` in {shown}, but this server has no container engine to build it, and no other file says how to build the app. Install Docker on the server, or place the app on a server that has it."
        ));
    }
    let known = language(files);
    let dotnet = files.names("").iter().any(|name| DOTNET.iter().any(|end| name.ends_with(end)));
    if let Some(language) = known.or(dotnet.then_some(".NET")) {
        return InspectError::NotDetected(format!(
            "This is an app in {language}, which Fairlead builds only from a Dockerfile. Add a Dockerfile to {shown}, and install Docker on the server if it has none."
        ));
    }
    let apps = files.apps();
    if !apps.is_empty() {
        let choice = if apps.len() == 1 { "it" } else { "one of them" };
        let sentence = format!(
            "There is no app in {shown} itself, but in {}. Set {choice} as the root folder in the settings of the app.",
            in_quotes(&apps)
        );
        return InspectError::InFolders { sentence, folders: apps };
    }
    InspectError::NotDetected(format!(
        "Nothing in {shown} says how to build it. Fairlead looks for package.json, deno.json, requirements.txt, pyproject.toml, Pipfile, go.mod, Cargo.toml, index.html and a Dockerfile. Add one, or set the root folder in the settings of the app."
    ))
}

/// Language that Fairlead builds from a Dockerfile only.
pub(crate) fn language(files: &Files) -> Option<&'static str> {
    LANGUAGES.into_iter().find(|(_, names)| names.iter().any(|name| files.has(name))).map(|(language, _)| language)
}
