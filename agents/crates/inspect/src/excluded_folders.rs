//! Folders that are left out of the artifact because the built app does not need them. Invariant: each command of the app is known
//! to run without them.

use crate::javascript::NodePackage;
use crate::{Files, InspectError, Plan, command_line};

/// Folder in which Nitro puts a server with copies of all that it imports.
const SELF_CONTAINED: &str = ".output/server/";
/// Configurations in which an app may take that copying out.
const CONFIGURATIONS: [&str; 4] = ["nuxt.config", "nitro.config", "vite.config", "app.config"];
const ENDINGS: [&str; 4] = ["js", "mjs", "ts", "mts"];

/// Adds `node_modules` to the folders that a finished plan excludes, if the built app does not need it.
pub(crate) fn add(plan: &mut Plan, files: &Files, shown: &str) -> Result<(), InspectError> {
    // A workspace has its packages in the folders of others.
    if plan.runtime != "node" || plan.workspace.is_some() || !plan.output.is_empty() {
        return Ok(());
    }
    let Some(package) = NodePackage::read(files, shown)? else { return Ok(()) };
    let workers = plan.workers.iter().map(|worker| &worker.command);
    let release = Some(&plan.release_command).filter(|command| !command.is_empty());
    let commands: Vec<&Vec<String>> = workers.chain(release).chain([&plan.start]).collect();
    let is_alone = commands.iter().all(|command| is_self_contained(command, &package));
    if is_alone && !sets_imports(files) {
        plan.excluded_folders.push("node_modules".to_owned());
        plan.say("Leaves node_modules out of the artifact: `.output` holds copies of what it imports.");
    }
    Ok(())
}

/// True if a command, or the script that it names, runs nothing but a file that Nitro built.
fn is_self_contained(command: &[String], package: &NodePackage) -> bool {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["node", file] => file.trim_start_matches("./").starts_with(SELF_CONTAINED) && !file.contains(".."),
        // Other managers may want what they installed before they run a script.
        ["npm", "start"] => script(package, "start"),
        ["npm", "run", name] => script(package, name),
        _ => false,
    }
}

fn script(package: &NodePackage, name: &str) -> bool {
    let hooks = ["pre", "post"].iter().any(|when| package.script(&format!("{when}{name}")).is_some());
    let words = package.script(name).and_then(command_line::plain).filter(|_| !hooks);
    // A script that names another one stays as it is.
    words.is_some_and(|words| words.first().is_some_and(|word| word == "node") && is_self_contained(&words, package))
}

/// True if a configuration says which packages Nitro copies, or where it puts them.
fn sets_imports(files: &Files) -> bool {
    let names = CONFIGURATIONS.iter().flat_map(|name| ENDINGS.iter().map(move |ending| format!("{name}.{ending}")));
    let texts: Vec<String> = names.map(|name| files.search(&name)).collect();
    let is_set = |words: &str| texts.iter().any(|text| text.contains(words));
    ["externals", "external:", "noExternals", "trace", "output:"].iter().any(|words| is_set(words))
}
