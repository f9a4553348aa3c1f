//! What a folder holds and how to build and start it. Pure but for looking at which files are there.
//! Owns the plan; runs nothing.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::BuildError;

/// A package.json larger than this is none.
const MANIFEST_BYTES_MAX: u64 = 4 << 20;

/// How to turn a Node folder into something that starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NodePlan {
    /// Arguments of `npm` that install the dependencies; `None` when there are none.
    pub(crate) install: Option<Vec<String>>,
    /// Whether `npm run build` is there to run.
    pub(crate) build: bool,
    /// The start command.
    pub(crate) command: Vec<String>,
    /// What people should know about how it was decided.
    pub(crate) remarks: Vec<String>,
}

/// The part of package.json that matters (npm's documentation, package.json).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Manifest {
    scripts: BTreeMap<String, serde_json::Value>,
    main: Option<String>,
    dependencies: BTreeMap<String, serde_json::Value>,
    dev_dependencies: BTreeMap<String, serde_json::Value>,
    optional_dependencies: BTreeMap<String, serde_json::Value>,
    workspaces: Option<serde_json::Value>,
}

/// Looks at the app's folder; `shown` is its name for people.
pub(crate) fn detect(folder: &Path, shown: &str) -> Result<NodePlan, BuildError> {
    let has = |name: &str| is_file(&folder.join(name));
    if !has("package.json") {
        return Err(BuildError::NotDetected(format!(
            "There is no package.json in {shown}, and Fairlead builds Node apps only so far. Add one with a start script, or set the root folder in the settings of the app."
        )));
    }
    let manifest = read(&folder.join("package.json"), shown)?;
    let locked = has("package-lock.json") || has("npm-shrinkwrap.json");
    let mut remarks = Vec::new();
    let install = if locked {
        Some("ci")
    } else if manifest.needs_install() {
        remarks.push("There is no package-lock.json: `npm install` takes the newest versions allowed. Commit a lock file to get the same ones every time.".to_owned());
        Some("install")
    } else {
        None
    };
    for other in ["yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"] {
        if !locked && has(other) {
            remarks.push(format!("{other} is not used: only npm is known so far."));
        }
    }
    // Build tools are often development dependencies, so they are installed whatever NODE_ENV says.
    let install = install.map(|verb| [verb, "--include=dev", "--no-audit", "--no-fund"].map(str::to_owned).to_vec());
    let command = manifest.start(&has).ok_or_else(|| {
        BuildError::NotDetected(format!(
            "It is not clear how to start the app in {shown}: its package.json has no start script, and there is no server.js or index.js. Add a start script, for example \"start\": \"node server.js\"."
        ))
    })?;
    Ok(NodePlan { install, build: manifest.script("build").is_some(), command, remarks })
}

fn read(path: &Path, shown: &str) -> Result<Manifest, BuildError> {
    let broken = |why: String| {
        BuildError::NotDetected(format!(
            "The package.json in {shown} can't be used: {why}. Correct it, then deploy again."
        ))
    };
    let size = std::fs::metadata(path).map_err(|error| broken(error.to_string()))?.len();
    if size > MANIFEST_BYTES_MAX {
        return Err(broken("it is larger than 4 MiB".to_owned()));
    }
    let text = std::fs::read(path).map_err(|error: io::Error| broken(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))
}

impl Manifest {
    fn script(&self, name: &str) -> Option<&str> {
        self.scripts.get(name).and_then(serde_json::Value::as_str).map(str::trim).filter(|script| !script.is_empty())
    }

    fn needs_install(&self) -> bool {
        let any = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        any.iter().any(|dependencies| !dependencies.is_empty()) || self.workspaces.is_some()
    }

    fn start(&self, has: &impl Fn(&str) -> bool) -> Option<Vec<String>> {
        if let Some(script) = self.script("start") {
            let alone = self.script("prestart").is_none() && self.script("poststart").is_none();
            // Started directly, signals reach the app itself and npm's 60 MB stay out of memory.
            return Some(plain_node(script).filter(|_| alone).unwrap_or_else(|| vec!["npm".into(), "start".into()]));
        }
        let main = self.main.as_deref().map(|main| main.trim_start_matches("./"));
        let files = main.into_iter().chain(["server.js", "index.js", "server.mjs", "index.mjs"]);
        let inside =
            |name: &&str| !name.is_empty() && !name.starts_with(['/', '-']) && !name.split('/').any(|p| p == "..");
        files.filter(inside).find(|name| has(name)).map(|name| vec!["node".into(), name.into()])
    }
}

/// A script that means the same without a shell: `node` and words that no shell would change.
fn plain_node(script: &str) -> Option<Vec<String>> {
    let plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:@=,+-".contains(&byte));
    let words: Vec<&str> = script.split_ascii_whitespace().collect();
    let whole = words.first() == Some(&"node") && words.len() > 1 && words.iter().all(|word| plain(word));
    whole.then(|| words.into_iter().map(str::to_owned).collect())
}

/// A file of the repository itself, not a link that leads who knows where.
fn is_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(files: &[(&str, &str)]) -> Result<NodePlan, BuildError> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        detect(dir.path(), "the repository")
    }

    fn command(package: &str, more: &[(&str, &str)]) -> Vec<String> {
        plan(&[&[("package.json", package)], more].concat()).unwrap().command
    }

    #[test]
    fn a_plain_start_script_needs_no_shell_and_any_other_goes_through_npm() {
        assert_eq!(
            command(r#"{"scripts":{"start":"node  server.js --port=1"}}"#, &[]),
            ["node", "server.js", "--port=1"]
        );
        for script in
            ["node a.js && node b.js", "next start", "NODE_ENV=x node a.js", "node \\\"a b.js\\\"", "node $X", "node"]
        {
            let package = format!(r#"{{"scripts":{{"start":"{script}"}}}}"#);
            assert_eq!(command(&package, &[]), ["npm", "start"], "{script}");
        }
        assert_eq!(command(r#"{"scripts":{"start":"node a.js","prestart":"x"}}"#, &[]), ["npm", "start"]);
    }

    #[test]
    fn without_a_start_script_the_main_file_or_a_usual_name_is_started() {
        assert_eq!(command(r#"{"main":"./app.js"}"#, &[("app.js", "")]), ["node", "app.js"]);
        assert_eq!(command("{}", &[("index.js", ""), ("server.js", "")]), ["node", "server.js"]);
        let error = plan(&[("package.json", r#"{"main":"../../etc/passwd"}"#)]).unwrap_err();
        assert_eq!(error.failure().code, "build.not_detected");
    }

    #[test]
    fn dependencies_are_installed_from_the_lock_file_or_said_not_to_be() {
        let locked = plan(&[("package.json", "{}"), ("package-lock.json", "{}"), ("index.js", "")]).unwrap();
        assert_eq!(locked.install.unwrap()[0], "ci");
        assert!(locked.remarks.is_empty());
        let package = r#"{"devDependencies":{"a":"1"},"scripts":{"build":"x"}}"#;
        let loose = plan(&[("package.json", package), ("yarn.lock", ""), ("index.js", "")]).unwrap();
        assert_eq!(loose.install.unwrap()[0], "install");
        assert!(loose.build);
        assert_eq!(loose.remarks.len(), 2);
        assert_eq!(plan(&[("package.json", "{}"), ("index.js", "")]).unwrap().install, None);
    }

    #[test]
    fn what_is_not_a_node_app_or_not_json_says_what_to_do() {
        let nothing = plan(&[("Gemfile", "")]).unwrap_err().to_string();
        assert!(nothing.contains("no package.json") && nothing.contains("root folder"), "{nothing}");
        let broken = plan(&[("package.json", "{,}")]).unwrap_err().to_string();
        assert!(broken.contains("line 1"), "{broken}");
    }
}
