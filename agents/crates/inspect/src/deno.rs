//! Apps for Deno: by their deno.json, their lock file, or a program that imports as only Deno does.

use serde::Deserialize;

use crate::javascript::{NodePackage, pinned_tool};
use crate::{
    AppSource, Fallback, Files, InspectError, OWN_FOLDER, Plan, PlanCommand, Tool, VersionRequest, Want, static_site,
    strings,
};

/// Parts of a deno.json that matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DenoJson {
    tasks: std::collections::BTreeMap<String, serde_json::Value>,
}

const PERMISSIONS: [&str; 3] = ["--allow-net", "--allow-env", "--allow-read"];

pub(crate) fn plan(app_source: AppSource<'_>) -> Result<Option<Plan>, InspectError> {
    let files = app_source.app;
    let configured = files.first(&["deno.json", "deno.jsonc"]);
    let locked = files.has("deno.lock");
    let main = main(files);
    let is_deno = configured.is_some() || locked;
    // A package.json beside may be what Deno itself reads; one with a start script is an app of Node.
    if let Some(package) = NodePackage::read(files, app_source.shown)?
        && (!is_deno || package.script("start").is_some_and(|script| !script.contains("deno ")))
    {
        return Ok(None);
    }
    let imports = |name: &str| {
        let text = files.search(name);
        ["jsr:", "npm:", "https://deno.land/", "https://esm.sh/", "Deno."].iter().any(|mark| text.contains(mark))
    };
    if !is_deno && !main.as_deref().is_some_and(imports) {
        return Ok(None);
    }
    let text = configured.map(|name| files.text(name)).transpose()?.flatten();
    let config: DenoJson =
        text.and_then(|text| serde_json::from_str(&without_comments(&text)).ok()).unwrap_or_default();
    let has_task = |name: &str| config.tasks.contains_key(name);
    let task = |name: &str| {
        let value = config.tasks.get(name)?;
        value.as_str().or_else(|| value.get("command")?.as_str())
    };
    let builds = has_task("build");
    let runs_vite = task("build").is_some_and(|line| line.contains("vite build"));
    let builds_site = runs_vite || task("build").is_some_and(|line| line.contains("lume"));
    let mut plan = Plan {
        framework: "Deno".to_owned(),
        runtime: "deno".to_owned(),
        tools: vec![Want::of(Tool::Deno, version(files)?)],
        runs_with: vec![Tool::Deno],
        lock_file: locked.then(|| "deno.lock".to_owned()),
        ..Plan::default()
    };
    plan.say(match configured {
        Some(file) => format!("Found a Deno app in {} ({file}).", app_source.shown),
        None => format!("Found a Deno app in {} ({}).", app_source.shown, main.as_deref().unwrap_or("deno.lock")),
    });
    let cache = format!("{OWN_FOLDER}/deno");
    plan.environment.insert("DENO_DIR".to_owned(), cache.clone());
    let give = |task: PlanCommand| {
        task.with("DENO_DIR", &cache).with("DENO_NO_UPDATE_CHECK", "1").with("DENO_TLS_CA_STORE", "system")
    };
    let mut install = vec!["deno", "install"];
    if locked {
        install.push("--frozen");
    }
    if let Some(main) = &main {
        install.extend(["--entrypoint", main]);
    }
    plan.install.push(give(PlanCommand::new(&install)));
    if builds {
        plan.build.push(give(PlanCommand::new(&["deno", "task", "build"])));
    }
    let run =
        |file: &str| [strings(&["deno", "run", "--cached-only"]), strings(&PERMISSIONS), strings(&[file])].concat();
    let output = app_source.asked.output.map(|folder| vec![folder.to_owned()]);
    let site = output.or_else(|| {
        (builds_site && !has_task("start") && (main.is_none() || files.has("index.html")))
            .then(|| strings(&["dist", "_site"]))
    });
    match (app_source.asked.start, site, main) {
        (Some(start), _, _) => plan.start = start.to_vec(),
        (None, Some(folders), _) => {
            let site = static_site::serving("Deno", folders);
            plan = Plan {
                runs_with: Vec::new(),
                environment: Default::default(),
                runtime: site.runtime,
                start: site.start,
                output: site.output,
                fallback: if runs_vite { Fallback::app() } else { Fallback::default() },
                ..plan
            };
        }
        (None, None, _) if has_task("start") => plan.start = strings(&["deno", "task", "start"]),
        (None, None, Some(main)) => plan.start = run(&main),
        (None, None, None) if has_task("serve") => plan.start = strings(&["deno", "task", "serve"]),
        (None, None, None) => {
            return Err(InspectError::NotDetected(format!(
                "It is not clear how to start the Deno app in {}: it has neither a task `start` nor a main.ts or server.ts. Add one, or set a start command in the settings of the app.",
                app_source.shown
            )));
        }
    }
    Ok(Some(plan))
}

fn main(files: &Files) -> Option<String> {
    let names = ["main", "server", "mod", "index", "app"];
    let folders = ["", "src/"];
    let mut candidates = folders.iter().flat_map(|folder| {
        names
            .iter()
            .flat_map(move |name| ["ts", "tsx", "js"].iter().map(move |ending| format!("{folder}{name}.{ending}")))
    });
    candidates.find(|name| files.has(name))
}

fn version(files: &Files) -> Result<Option<VersionRequest>, InspectError> {
    for name in [".deno-version", ".dvmrc"] {
        if let Some(version) = files.line(name)? {
            return Ok(Some(VersionRequest::exact(version, name)));
        }
    }
    Ok(pinned_tool(files, &["deno"]).map(|(version, file)| VersionRequest::exact(version, file)))
}

/// JSON without the comments and the last commas that JSONC allows.
fn without_comments(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let (mut chars, mut quoted) = (text.chars().peekable(), false);
    while let Some(char) = chars.next() {
        match (char, chars.peek().copied()) {
            ('\\', Some(next)) if quoted => {
                clean.extend(['\\', next]);
                chars.next();
            }
            ('"', _) => {
                quoted = !quoted;
                clean.push('"');
            }
            ('/', Some('/')) if !quoted => while chars.next_if(|next| *next != '\n').is_some() {},
            ('/', Some('*')) if !quoted => {
                let mut last = ' ';
                for next in chars.by_ref().skip(1) {
                    if last == '*' && next == '/' {
                        break;
                    }
                    last = next;
                }
            }
            ('}' | ']', _) if !quoted => {
                let end = clean.trim_end().trim_end_matches(',').len();
                clean.truncate(end);
                clean.push(char);
            }
            (char, _) => clean.push(char),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_and_last_commas_are_left_out_of_json() {
        let text = "{ // a\n \"a\": \"x // \\\" y\", /* b, */ \"c\": [1, 2,], }";
        let value: serde_json::Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value["a"], "x // \" y");
        assert_eq!(value["c"][1], 2);
    }
}
