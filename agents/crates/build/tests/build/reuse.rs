//! Reuse of installed dependencies and of tools' cache folders by the next build.

use std::path::Path;

use super::*;

/// An npm that installs without a registry and says how often it did.
const NPM: &str = r#"#!/bin/sh
case "$1" in
--version) echo 11.0.0 ;;
ci) mkdir -p node_modules/dep node_modules/tool && echo '{"bin":"a.js"}' > node_modules/tool/package.json
    echo "exports.n = $(date +%s%N)" > node_modules/dep/index.js && echo installed ;;
run) exec node "$2.js" ;;
esac
"#;
const APP: &str = r#"{"name":"a","dependencies":{"dep":"1.0.0"},"scripts":{"build":"node build.js","start":"node server.js","postinstall":"node postinstall.js"}}"#;
/// Counts in the folder that fairlead.toml names.
const BUILD: &str = r#"
const fs = require('node:fs');
require('dep');
fs.mkdirSync('state/tool', { recursive: true });
fs.appendFileSync('state/tool/runs', '.');
console.log('runs', fs.readFileSync('state/tool/runs', 'utf8'));
if (fs.existsSync('fail')) process.exit(1);
if (fs.existsSync('change')) fs.writeFileSync('node_modules/dep/index.js', 'exports.n = 0');
"#;

impl Server {
    fn with_npm(mut self) -> Self {
        let programs = self.folder.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::fs::write(programs.join("npm"), NPM).unwrap();
        std::fs::set_permissions(programs.join("npm"), PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::split_paths(&self.options.path).collect::<Vec<_>>();
        self.options.path = std::env::join_paths([programs].into_iter().chain(path)).unwrap();
        self
    }

    /// Builds and unpacks; returns the lines of the log that the build's own programs wrote, and the folder.
    async fn again(&self, spec: &BuildSpec) -> (Vec<String>, PathBuf) {
        let mut ears = Ears::default();
        let made = self.build(spec, &mut ears).await.unwrap_or_else(|error| panic!("{error}\n{:#?}", ears.lines));
        let folder = self.folder.path().join("releases").join(spec.deployment.as_str());
        let artifact = artifact_path(&self.options.artifacts, &made.artifact.digest).unwrap();
        unpack(&artifact, &made.artifact.digest, &folder).unwrap();
        let told = |line: &String| ["installed", "runs ", "after"].iter().any(|word| line.starts_with(word));
        (ears.lines.into_iter().filter(told).collect(), folder)
    }
}

fn dependency(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("node_modules/dep/index.js")).unwrap()
}

#[tokio::test]
async fn the_next_build_installs_nothing_until_something_that_an_install_reads_changes() {
    let (host, server) = (GitHost::start(), Server::new().with_npm());
    let files = [
        ("package.json", APP),
        ("package-lock.json", LOCK),
        ("build.js", BUILD),
        ("postinstall.js", "console.log('after', require('node:fs').existsSync('node_modules/dep/index.js'))"),
        ("server.js", "one"),
        ("fairlead.toml", "[build]\ncache = [\"state/tool\"]\n"),
    ];
    let repository = host.repository("app.git", &files);
    let url = host.url("app.git");
    let (told, first) = server.again(&spec(url.clone(), "main")).await;
    // This npm runs no scripts after an install.
    assert_eq!(told, ["installed", "runs ."]);
    assert!(!first.join("state/tool").exists(), "the tool's folder is not in the artifact");

    repository.commit("Another page", &[("server.js", "two")]);
    let (told, second) = server.again(&spec(url.clone(), "main")).await;
    assert_eq!(told, ["after true", "runs .."], "the app's own script runs, the install does not");
    assert_eq!(dependency(&second), dependency(&first));
    assert_eq!(std::fs::read_to_string(second.join("server.js")).unwrap(), "two");
    assert!(!second.join("state/tool").exists());

    // Other environments, and builds without the cache, have none of it.
    let environment = Some(fairlead_model::EnvironmentId::parse("env_s").unwrap());
    let (told, _) = server.again(&BuildSpec { environment, ..spec(url.clone(), "main") }).await;
    assert_eq!(told, ["installed", "runs ."]);

    // Another variable may change what an install or a tool does.
    let other = || BuildSpec { variables: BTreeMap::from([("A".into(), "b".into())]), ..spec(url.clone(), "main") };
    assert_eq!(server.again(&other()).await.0, ["installed", "runs ."]);
    let changing = BTreeMap::from([("A".into(), "b".into()), ("FAIRLEAD_GIT_COMMIT".into(), "c".into())]);
    assert_eq!(server.again(&BuildSpec { variables: changing, ..other() }).await.0, ["after true", "runs .."]);

    repository.commit("Settings of npm", &[(".npmrc", "omit=optional")]);
    assert_eq!(server.again(&other()).await.0, ["installed", "runs ..."]);
    let without = BuildSpec { without_cache: true, ..other() };
    assert_eq!(server.again(&without).await.0, ["installed", "runs ."]);
}

#[tokio::test]
async fn packages_of_development_are_kept_for_builds_and_not_packed() {
    let (host, server) = (GitHost::start(), Server::new().with_npm());
    let package = r#"{"dependencies":{"dep":"1"},"devDependencies":{"tool":"1"},"scripts":{"build":"node build.js"}}"#;
    let build = "console.log('runs', require('node:fs').existsSync('node_modules/' + ['to', 'ol'].join('')))";
    let files = [("package.json", package), ("package-lock.json", LOCK), ("build.js", build), ("server.js", "")];
    let repository = host.repository("app.git", &files);
    let spec = || spec(host.url("app.git"), "main");
    // An app without a framework keeps all, unless it says otherwise.
    let (_, folder) = server.again(&spec()).await;
    assert!(folder.join("node_modules/tool").exists());
    repository.commit("Leave out", &[("fairlead.toml", "[build]\nprune = true\n")]);
    let packed = async |spec: &BuildSpec| {
        let (told, folder) = server.again(spec).await;
        assert_eq!(told.last().unwrap(), "runs true");
        assert!(folder.join("node_modules/dep/index.js").exists());
        (told.len() == 2, folder.join("node_modules/tool").exists())
    };
    for _ in 0..2 {
        assert_eq!(packed(&spec()).await, (false, false), "the build has it without an install");
    }
    let with_worker = BuildSpec { run_commands: vec!["tool work.js".to_owned()], ..spec() };
    assert_eq!(packed(&with_worker).await, (false, true), "a worker of the settings runs it");
    repository.commit("Keep all", &[("fairlead.toml", "[build]\nprune = false\n")]);
    assert_eq!(packed(&spec()).await, (false, true));
}

#[tokio::test]
async fn a_build_that_fails_or_changes_its_dependencies_leaves_none_to_the_next() {
    let (host, server) = (GitHost::start(), Server::new().with_npm());
    let files = [
        ("package.json", APP),
        ("package-lock.json", LOCK),
        ("build.js", BUILD),
        ("postinstall.js", ""),
        ("server.js", ""),
    ];
    let repository = host.repository("app.git", &files);
    let spec = || spec(host.url("app.git"), "main");
    assert_eq!(server.again(&spec()).await.0, ["installed", "runs ."]);
    assert_eq!(server.again(&spec()).await.0, ["runs ."]);
    repository.commit("Fail", &[("fail", "")]);
    let failure = server.build(&spec(), &mut Ears::default()).await.unwrap_err();
    assert_eq!(failure.failure().code, "build.command_failed");
    repository.git(&["rm", "--quiet", "fail"]);
    repository.commit("Change", &[("change", "")]);
    for _ in 0..2 {
        let (told, folder) = server.again(&spec()).await;
        assert_eq!(told, ["installed", "runs ."]);
        assert_eq!(dependency(&folder), "exports.n = 0");
    }
}

#[tokio::test]
async fn scripts_of_the_app_that_change_dependencies_get_them_as_an_install_leaves_them() {
    let (host, server) = (GitHost::start(), Server::new().with_npm());
    let script = "require('node:fs').appendFileSync('node_modules/dep/index.js', ' // again'); console.log('after');";
    let files = [
        ("package.json", APP),
        ("package-lock.json", LOCK),
        ("build.js", BUILD),
        ("postinstall.js", script),
        ("server.js", ""),
    ];
    host.repository("app.git", &files);
    let spec = || spec(host.url("app.git"), "main");
    assert_eq!(server.again(&spec()).await.0, ["installed", "runs ."]);
    let (told, folder) = server.again(&spec()).await;
    assert_eq!(told, ["after", "installed", "runs ."]);
    // This npm runs no scripts after an install.
    assert!(!dependency(&folder).contains("again"));
}
