//! Builds with the real git, npm and node, from a git host on loopback.
#![cfg(test)]

mod confinement;
mod containers;
mod inspections;
mod kept_repository;
mod reuse;
mod runtimes;
mod sources;
mod support;
mod view;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fairlead_base::cgroup::Cgroups;
use fairlead_base::{CancellationToken, Folders, Trash};
use fairlead_build::{
    BuildError, BuildOptions, BuildOutcome, BuildSink, artifact_path, build, clear_abandoned, prune_images, unpack,
    usual_limits,
};
use fairlead_model::{AppId, BuildLimits, BuildSpec, Commit, DeploymentId, LogLine, StepState, StepStatus};
use fairlead_secret::Redactor;
use support::GitHost;

/// Variable with the working folder of a test that runs itself as another user.
const FOLDER: &str = "FAIRLEAD_TEST_FOLDER";

struct Server {
    folder: tempfile::TempDir,
    options: BuildOptions,
}

/// Keeps all it hears; cancels when a line says so.
#[derive(Default)]
struct Ears {
    lines: Vec<String>,
    steps: Vec<(&'static str, StepState)>,
    commit: Option<Commit>,
    cancel_at: Option<(&'static str, CancellationToken)>,
}

impl BuildSink for Ears {
    fn line(&mut self, line: LogLine) {
        if let Some((words, cancel)) = &self.cancel_at
            && line.text.contains(words)
        {
            cancel.cancel();
        }
        self.lines.push(line.text);
    }

    fn step(&mut self, step: StepStatus) {
        assert_eq!(step.finished_unix_ms == 0, step.state == StepState::Running);
        self.steps.push((step.step.name(), step.state));
    }

    fn commit(&mut self, commit: &Commit) {
        self.commit = Some(commit.clone());
    }
}

/// A build ends everything of its user, so no two tests that run at the same time may share one.
fn own_user() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    200_000 + std::process::id() % 100_000 * 32 + NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Server {
    fn new() -> Self {
        Self::below(&std::env::var(FOLDER).map_or_else(|_| std::env::temp_dir(), PathBuf::from))
    }

    fn below(parent: &std::path::Path) -> Self {
        let folder = tempfile::Builder::new().prefix("fl").tempdir_in(parent).unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let folders = Folders::new(folder.path()).unwrap();
        folders.create().unwrap();
        let options = BuildOptions {
            builds: folders.builds(),
            artifacts: folders.artifacts(),
            caches: folders.caches(),
            trash: Trash::new(&folders),
            user: rustix::process::geteuid().is_root().then(own_user),
            program: env!("CARGO_BIN_EXE_fairlead-test-inspect").into(),
            path: std::env::var_os("PATH").unwrap(),
            environment: BTreeMap::new(),
            limits: usual_limits(4 << 30),
            network: None,
            cgroups: Cgroups::detect(&format!("fairlead-test-builds-{}", rustix::process::geteuid().as_raw())),
            toolchains: None,
            engine: None,
            image_owner: "0a".into(),
            store: None,
            sealing: None,
            redactor: None,
        };
        Self { folder, options }
    }

    async fn build(&self, spec: &BuildSpec, ears: &mut Ears) -> Result<BuildOutcome, BuildError> {
        let cancel = ears.cancel_at.as_ref().map(|(_, cancel)| cancel.clone()).unwrap_or_default();
        let result = build(spec, &self.options, ears, cancel).await;
        assert_eq!(std::fs::read_dir(&self.options.builds).unwrap().count(), 0, "the working folder is gone");
        result
    }

    /// Removes what former builds made, with the folders for releases of this server.
    fn forget_artifacts(&self) {
        for entry in self.options.artifacts.read_dir().unwrap() {
            fairlead_base::tree::remove(&entry.unwrap().path()).unwrap();
        }
    }

    async fn fails(&self, spec: &BuildSpec, code: &str, words: &str) -> Ears {
        let mut ears = Ears::default();
        let failure = self.build(spec, &mut ears).await.unwrap_err().failure();
        assert_eq!(failure.code, code, "{}\n{}", failure.message, ears.lines.join("\n"));
        assert!(failure.message.contains(words), "{}", failure.message);
        assert!(ears.lines.contains(&failure.message), "the log says it too: {:?}", ears.lines);
        assert_eq!(std::fs::read_dir(&self.options.artifacts).unwrap().count(), 0);
        ears
    }
}

fn spec(url: String, git_ref: &str) -> BuildSpec {
    BuildSpec {
        // A build ends every process that carries its id, so no two tests may share one.
        deployment: DeploymentId::parse(&format!("dep_{}", fairlead_base::random::alphanumeric(20))).unwrap(),
        app: AppId::parse("app_a").unwrap(),
        repository_url: url,
        git_ref: git_ref.into(),
        root_folder: String::new(),
        timeout: Duration::from_secs(120),
        environment: None,
        builder: fairlead_model::Builder::Detected,
        overrides: fairlead_model::BuildOverrides::default(),
        image: String::new(),
        upload_digest: None,
        without_cache: false,
        limits: fairlead_model::BuildLimits::default(),
        secrets: None,
        credentials: None,
        variables: BTreeMap::new(),
        run_commands: Vec::new(),
    }
}

const PACKAGE: &str = r#"{"name":"a","version":"1.0.0","scripts":{"build":"node build.js","start":"node server.js"}}"#;
const LOCK: &str = r#"{"name":"a","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"a","version":"1.0.0"}}}"#;
const BUILD: &str = "const fs = require('fs'); fs.mkdirSync('dist'); fs.writeFileSync('dist/who', String(process.getuid()));\
    fs.writeFileSync('dist/home', process.env.HOME.replace(/dep_[^/]+/, 'dep')); console.log('built it'); console.error('a warning');";

#[tokio::test]
async fn a_pushed_app_becomes_an_artifact_that_holds_what_its_build_made() {
    let (host, server) = (GitHost::start(), Server::new());
    let files = [("package.json", PACKAGE), ("package-lock.json", LOCK), ("build.js", BUILD), ("server.js", "// x")];
    let repository = host.repository("app.git", &files);
    let hash = repository.git(&["rev-parse", "HEAD"]);
    let mut ears = Ears::default();
    let made = server.build(&spec(host.url("app.git"), "main"), &mut ears).await.unwrap();
    let commit = made.commit.unwrap();
    assert_eq!((commit.hash.as_str(), commit.subject.as_str()), (hash.as_str(), "First commit"));
    assert_eq!(commit.author, "Ada");
    assert_eq!(ears.commit.as_ref(), Some(&commit));
    assert_eq!(made.artifact.command, ["node", "server.js"]);
    use StepState::{Done, Running};
    let steps =
        [("clone", Running), ("clone", Done), ("build", Running), ("build", Done), ("pack", Running), ("pack", Done)];
    assert_eq!(ears.steps, steps);
    for words in ["built it", "a warning", "$ npm ci", "$ npm run build"] {
        assert!(ears.lines.iter().any(|line| line.contains(words)), "{words}: {:#?}", ears.lines);
    }
    let into = server.folder.path().join("releases/rel_1");
    let artifact = artifact_path(&server.options.artifacts, &made.artifact.digest).unwrap();
    assert_eq!(std::fs::metadata(&artifact).unwrap().len(), made.artifact.size_bytes);
    unpack(&artifact, &made.artifact.digest, &into).unwrap();
    let user = server.options.user.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    assert_eq!(std::fs::read_to_string(into.join("dist/who")).unwrap(), user.to_string());
    assert!(std::fs::read_to_string(into.join("dist/home")).unwrap().ends_with("/home"));
    assert!(!into.join(".git").exists());
    assert_eq!(std::fs::metadata(into.join("server.js")).unwrap().uid(), rustix::process::geteuid().as_raw());

    let again = server.build(&spec(host.url("app.git"), &hash), &mut Ears::default()).await.unwrap();
    assert_eq!(again.artifact, made.artifact, "the same commit makes the same artifact");
}

#[tokio::test]
async fn branches_tags_and_commits_are_found_wherever_they_are() {
    let (host, server) = (GitHost::start(), Server::new());
    let repository = host.repository("app.git", &[("package.json", "{}"), ("index.js", "1")]);
    let first = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["tag", "-a", "v1", "-m", "one"]);
    let second = repository.commit("Second: \"quoted\" $(x)", &[("index.js", "2")]);
    repository.git(&["branch", "feature/x"]);
    repository.commit("Third", &[("index.js", "3")]);
    for (wanted, hash) in
        [("v1", &first), ("feature/x", &second), (first.as_str(), &first), ("refs/heads/feature/x", &second)]
    {
        let made = server.build(&spec(host.url("app.git"), wanted), &mut Ears::default()).await.unwrap();
        assert_eq!(&made.commit.unwrap().hash, hash, "{wanted}");
    }
    let absent = "0123456789".repeat(4);
    server.forget_artifacts();
    server.fails(&spec(host.url("app.git"), "nowhere"), "build.ref_not_found", "no branch or tag `nowhere`").await;
    server.fails(&spec(host.url("app.git"), &absent), "build.ref_not_found", "no commit").await;
    server.fails(&spec(host.url("app.git"), "--upload-pack=x"), "build.ref_not_found", "not the name").await;
}

#[tokio::test]
async fn without_a_ref_the_branch_is_the_repositorys_default() {
    let (host, server) = (GitHost::start(), Server::new());
    let repository = host.repository("trunk.git", &[("package.json", "{}"), ("index.js", "1")]);
    repository.git(&["branch", "-m", "trunk"]);
    repository.git(&["tag", "v1"]);
    let mut ears = Ears::default();
    let commit = server.build(&spec(host.url("trunk.git"), ""), &mut ears).await.unwrap().commit.unwrap();
    assert_eq!((commit.hash, commit.branch.as_str()), (repository.git(&["rev-parse", "HEAD"]), "trunk"));
    assert!(ears.lines.iter().any(|line| line.contains("branch trunk (the repository's default)")), "{:?}", ears.lines);
    let tagged = server.build(&spec(host.url("trunk.git"), "v1"), &mut Ears::default()).await.unwrap();
    assert_eq!(tagged.commit.unwrap().branch, "", "a tag is no branch");
    server.forget_artifacts();

    let empty = host.repository("empty.git", &[("README", "x")]);
    empty.git(&["symbolic-ref", "HEAD", "refs/heads/nothing"]);
    server.fails(&spec(host.url("empty.git"), ""), "build.ref_not_found", "no commit on its default branch").await;
}

/// A write to a pipe without a reader never ends.
#[tokio::test]
async fn a_pipe_in_the_place_of_the_agents_note_holds_up_no_build() {
    let (host, server) = (GitHost::start(), Server::new());
    let package =
        r#"{"name":"a","scripts":{"build":"mkdir -p ../.fairlead && mkfifo ../.fairlead/run.json"},"main":"a.js"}"#;
    host.repository(
        "app.git",
        &[("package.json", r#"{"workspaces":["a"]}"#), ("a/package.json", package), ("a/a.js", "")],
    );
    let spec = BuildSpec { root_folder: "a".into(), ..spec(host.url("app.git"), "main") };
    let mut ears = Ears::default();
    let made = server.build(&spec, &mut ears).await;
    made.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
}

#[tokio::test]
async fn build_commands_see_the_variables_of_the_build_and_its_commit_and_git_sees_none() {
    let (host, mut server) = (GitHost::start(), Server::new());
    server.options.redactor = Redactor::new([b"hidden-value".as_slice()]);
    let script = "const fs = require('fs'); fs.writeFileSync('seen.json', JSON.stringify(process.env));
        console.log('\\u001b[32mbuilt\\u001b[39m'); console.log('hidden-\\u001b[1mvalue\\u001b[2K');";
    let package = r#"{"name":"a","version":"1.0.0","scripts":{"build":"node build.js"},"main":"a.js"}"#;
    let files = [("package.json", package), ("package-lock.json", LOCK), ("build.js", script), ("a.js", "")];
    host.repository("app.git", &files);
    let set = [
        ("VITE_API", "https://api.example/?a=$HOME b"),
        ("CI", "false"),
        ("PATH", "/nowhere"),
        ("NODE_ENV", "production"),
        ("FAIRLEAD_APP", "shop"),
        // With it, git would trace every command.
        ("GIT_TRACE", "1"),
    ];
    let variables = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut ears = Ears::default();
    let made = server.build(&BuildSpec { variables, ..spec(host.url("app.git"), "main") }, &mut ears).await;
    let made = made.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
    let folder = server.folder.path().join("releases/app");
    let artifact = artifact_path(&server.options.artifacts, &made.artifact.digest).unwrap();
    unpack(&artifact, &made.artifact.digest, &folder).unwrap();
    let seen: BTreeMap<String, String> =
        serde_json::from_slice(&std::fs::read(folder.join("seen.json")).unwrap()).unwrap();
    assert_eq!(seen["VITE_API"], "https://api.example/?a=$HOME b");
    assert_eq!((seen["CI"].as_str(), seen["FAIRLEAD_APP"].as_str()), ("false", "shop"));
    assert!(!seen["PATH"].starts_with("/nowhere") && !seen.contains_key("PORT") && !seen.contains_key("NO_COLOR"));
    for line in ["\u{1b}[32mbuilt\u{1b}[39m", "[redacted]"] {
        assert!(ears.lines.iter().any(|each| each == line), "{line}: {:?}", ears.lines);
    }
    let commit = made.commit.unwrap();
    assert_eq!((&seen["FAIRLEAD_GIT_COMMIT"], seen["FAIRLEAD_GIT_BRANCH"].as_str()), (&commit.hash, "main"));
    assert!(!ears.lines.iter().any(|line| line.contains("trace: ")), "{:?}", ears.lines);
}

#[tokio::test]
async fn every_failure_has_its_sentence_and_leaves_no_artifact() {
    let (host, server) = (GitHost::start(), Server::new());
    server.fails(&spec(host.url("absent.git"), "main"), "build.clone_failed", "no repository at this address").await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    server.fails(&spec(format!("http://{closed}/x"), "main"), "build.clone_failed", "can't connect").await;
    server.fails(&spec("file:///etc".into(), "main"), "build.clone_failed", "https://").await;

    let repository = host.repository(
        "app.git",
        &[
            ("README", "x"),
            ("web/package.json", r#"{"scripts":{"build":"node no.js"},"main":"a.js"}"#),
            ("web/a.js", ""),
        ],
    );
    repository.link("out", "/etc");
    repository.commit("Link", &[]);
    server.fails(&spec(host.url("app.git"), "main"), "build.not_detected", "but in `web`").await;
    for root in ["nope", "../..", "out", "/etc"] {
        let spec = BuildSpec { root_folder: root.into(), ..spec(host.url("app.git"), "main") };
        server.fails(&spec, "build.root_folder_missing", "root folder").await;
    }
    let spec = BuildSpec { root_folder: "web".into(), ..spec(host.url("app.git"), "main") };
    let ears =
        server.fails(&spec, "build.module_missing", "failed with exit code 1: `Error: Cannot find module '").await;
    assert!(ears.lines.iter().any(|line| line.contains("Cannot find module")), "{:#?}", ears.lines);
    assert_eq!(ears.steps.last(), Some(&("build", StepState::Failed)));
}

/// The app's files, and the code and words of its failure.
type Wrong<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);

/// Each row has the files of an app, the failing step and the expected message.
#[tokio::test]
async fn what_is_wrong_with_an_app_is_told_by_name() {
    let (host, mut server) = (GitHost::start(), Server::new());
    server.options.environment = fairlead_build::inherited_environment();
    let rows: [Wrong<'_>; 9] = [
        ("manifest", &[("fairlead.toml", "[bulid]")], "build.manifest_invalid", "unknown field `bulid`"),
        (
            "lock",
            &[
                ("package.json", r#"{"dependencies":{"is-odd":"3.0.1"},"main":"a.js"}"#),
                ("package-lock.json", LOCK),
                ("a.js", ""),
            ],
            "build.lock_outdated",
            "from lock file`. The lock file does not match: run `npm install`",
        ),
        (
            "host",
            &[
                ("package.json", r#"{"dependencies":{"x":"https://nowhere.invalid/x.tgz"},"main":"a.js"}"#),
                (".npmrc", "fetch-retries=0"),
                ("a.js", ""),
            ],
            "build.network_failed",
            "does not reach `nowhere.invalid`",
        ),
        (
            "variable",
            &[
                ("package.json", r#"{"scripts":{"build":"node build.js"},"main":"build.js"}"#),
                ("build.js", "throw new Error('Missing required environment variable: API_KEY')"),
            ],
            "build.variable_missing",
            "needs the variable `API_KEY`",
        ),
        ("output", &[("package.json", r#"{"scripts":{"build":"node -v"}}"#)], "build.output_missing", "output folder"),
        (
            "server",
            &[
                ("package.json", r#"{"scripts":{"build":"node -v"},"dependencies":{"@sveltejs/kit":"file:kit"}}"#),
                ("kit/package.json", r#"{"name":"@sveltejs/kit","version":"1.0.0"}"#),
                ("svelte.config.js", "import adapter from '@sveltejs/adapter-vercel';"),
            ],
            "build.output_missing",
            "produced no `build`, the server to start. @sveltejs/adapter-vercel builds for another host",
        ),
        (
            "runtime",
            &[("bun.lock", ""), ("package.json", r#"{"packageManager":"bun@1.4.5"}"#), ("index.ts", "")],
            "build.toolchain_missing",
            "`bun`",
        ),
        ("python", &[("requirements.txt", "")], "build.not_detected", "main.py"),
        (
            "command",
            &[("fairlead.toml", "[build]\nbuild_command = 'no-such-program x'\n"), ("index.html", "")],
            "build.command_failed",
            "`no-such-program`, which is not installed",
        ),
    ];
    for (name, files, code, words) in rows {
        host.repository(name, files);
        server.fails(&spec(host.url(name), "main"), code, words).await;
    }
    let docker = BuildSpec { builder: fairlead_model::Builder::Dockerfile, ..spec(host.url("output"), "main") };
    server.fails(&docker, "build.not_detected", "no file `Dockerfile`").await;
    let image = BuildSpec {
        builder: fairlead_model::Builder::Image,
        image: "busybox:1".into(),
        ..spec(host.url("output"), "main")
    };
    server.fails(&image, "build.container_failed", "no container engine").await;
}

#[tokio::test]
async fn a_build_that_takes_more_than_it_may_is_ended_and_told_which() {
    let (host, server) = (GitHost::start(), Server::new());
    let app = |build: &str| format!(r#"{{"scripts":{{"build":"node -e \"{build}\""}},"main":"a.js"}}"#);
    let fill = "const fs = require('fs'); for (let i = 0; i < 400; i++) fs.appendFileSync('big', Buffer.alloc(1 << 20, 1)); setInterval(() => {}, 1000)";
    host.repository("disk", &[("package.json", &app(fill)), ("a.js", "")]);
    let limits = BuildLimits { disk_bytes_max: 100 << 20, ..BuildLimits::default() };
    let disk = BuildSpec { limits, ..spec(host.url("disk"), "main") };
    server.fails(&disk, "build.too_large", "more than the 100 MiB").await;
    if server.options.cgroups.off_reason().is_some() {
        return;
    }
    let eat = "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))";
    host.repository("memory", &[("package.json", &app(eat)), ("a.js", "")]);
    let limits = BuildLimits { memory_bytes_max: 160 << 20, ..BuildLimits::default() };
    let memory = BuildSpec { limits, ..spec(host.url("memory"), "main") };
    server.fails(&memory, "build.out_of_memory", "more than its 160 MiB of memory").await;
}

/// A build that puts a link to a folder of the server in its own place, and hands it to the packing that follows.
#[tokio::test]
async fn a_build_that_replaces_its_own_folder_by_a_link_gets_nothing_of_the_server_into_its_artifact() {
    let (host, server) = (GitHost::start(), Server::new());
    let secret = server.folder.path().join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("key"), "secret").unwrap();
    std::fs::set_permissions(secret.join("key"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o700)).unwrap();
    let swap = format!(
        "const fs = require('fs'), at = process.cwd(); fs.renameSync(at, at + '2'); fs.symlinkSync('{}', at);",
        secret.display()
    );
    let package = r#"{"scripts":{"build":"node swap.js","start":"node a.js"}}"#;
    host.repository("app.git", &[("web/package.json", package), ("web/swap.js", &swap)]);
    let spec = BuildSpec { root_folder: "web".into(), ..spec(host.url("app.git"), "main") };
    server.fails(&spec, "build.command_failed", "replaced").await;
}

/// A build that starts a process in a session of its own, says so, and waits for ever.
/// The child is known by what it was started with: its number inside of the build is another one outside.
const ENDLESS: &str = "const time = '1000.' + process.hrtime.bigint();\
    const c = require('child_process').spawn('sleep', [time], { detached: true, stdio: 'ignore' });\
    c.unref(); console.log('child ' + time); setInterval(() => {}, 1000);";

fn child(ears: &Ears) -> String {
    ears.lines.iter().find_map(|line| line.strip_prefix("child ")).unwrap().to_owned()
}

fn runs(time: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut commands = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    // The command line of a zombie is empty.
    commands.any(|command| command.split(|byte| *byte == 0).any(|word| word == time.as_bytes()))
}

#[tokio::test]
async fn a_cancelled_build_stops_at_once_with_everything_it_started() {
    let (host, server) = (GitHost::start(), Server::new());
    let package = r#"{"scripts":{"build":"node endless.js","start":"node a.js"}}"#;
    host.repository("app.git", &[("package.json", package), ("endless.js", ENDLESS)]);
    let mut ears = Ears { cancel_at: Some(("child ", CancellationToken::new())), ..Ears::default() };
    let error = server.build(&spec(host.url("app.git"), "main"), &mut ears).await.unwrap_err();
    assert!(matches!(error, BuildError::Cancelled), "{error}");
    assert!(!runs(&child(&ears)));
    assert_eq!(ears.steps.last(), Some(&("build", StepState::Failed)));
}

#[tokio::test]
async fn a_build_over_its_time_is_ended_and_names_the_command() {
    let (host, server) = (GitHost::start(), Server::new());
    let package = r#"{"scripts":{"build":"node endless.js","start":"node a.js"}}"#;
    host.repository("app.git", &[("package.json", package), ("endless.js", ENDLESS)]);
    let spec = BuildSpec { timeout: Duration::from_secs(15), ..spec(host.url("app.git"), "main") };
    let ears = server.fails(&spec, "build.timeout", "npm run build").await;
    assert!(!runs(&child(&ears)));
}

/// A build that leaves a process in a session of its own, without the mark in its environment, and succeeds.
#[tokio::test]
async fn a_process_that_hides_from_the_end_of_its_build_is_ended_too() {
    let (host, server) = (GitHost::start(), Server::new());
    if server.options.user.is_none() {
        return;
    }
    let hide = "const time = '1000.' + process.hrtime.bigint();\
        const c = require('child_process').spawn('sleep', [time], { detached: true, stdio: 'ignore', env: {} });\
        c.unref(); console.log('child ' + time);";
    let package = r#"{"scripts":{"build":"node hide.js","start":"node a.js"}}"#;
    host.repository("app.git", &[("package.json", package), ("hide.js", hide)]);
    let mut ears = Ears::default();
    server.build(&spec(host.url("app.git"), "main"), &mut ears).await.unwrap();
    assert!(!runs(&child(&ears)));
}

#[test]
fn what_a_killed_agent_left_of_builds_is_ended_and_cleared_but_not_of_those_that_go_on() {
    let server = Server::new();
    let ids =
        [(); 2].map(|()| DeploymentId::parse(&format!("dep_{}", fairlead_base::random::alphanumeric(20))).unwrap());
    let mut processes = Vec::new();
    for id in &ids {
        std::fs::create_dir_all(server.options.builds.join(id.as_str()).join("source")).unwrap();
        std::fs::write(server.options.artifacts.join(format!("{id}.part")), "x").unwrap();
        let mut command = std::process::Command::new("sleep");
        processes.push(command.arg("1000").env("FAIRLEAD_BUILD_ID", id.as_str()).spawn().unwrap());
    }
    clear_abandoned(&server.options, &ids[1..]).unwrap();
    for folder in [&server.options.builds, &server.options.artifacts] {
        let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.len() == 1 && left[0].to_str().unwrap().starts_with(ids[1].as_str()), "{left:?}");
    }
    assert!(!processes[0].wait().unwrap().success());
    assert_eq!(processes[1].try_wait().unwrap(), None);
    processes[1].kill().unwrap();
    processes[1].wait().unwrap();
}

#[tokio::test]
async fn a_build_without_npm_says_what_is_missing() {
    let (host, server) = (GitHost::start(), Server::new());
    host.repository("app.git", &[("package.json", PACKAGE), ("package-lock.json", LOCK), ("build.js", "")]);
    let tools = server.folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    std::os::unix::fs::symlink("/usr/bin/git", tools.join("git")).unwrap();
    let mut server = server;
    server.options.path = tools.into();
    server.fails(&spec(host.url("app.git"), "main"), "build.toolchain_missing", "`node`, which is not installed").await;
}

/// A file system of a few MiB, so that it fills up; only root can make one.
#[tokio::test]
async fn a_full_disk_says_so() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let (host, server) = (GitHost::start(), Server::new());
    host.repository("app.git", &[("package.json", PACKAGE), ("build.js", "")]);
    mount("tmpfs", &server.options.builds, "tmpfs", MountFlags::NOSUID, Some(c"size=8m,mode=0755")).unwrap();
    let failure = {
        let mut ears = Ears::default();
        server.build(&spec(host.url("app.git"), "main"), &mut ears).await.unwrap_err().failure()
    };
    unmount(&server.options.builds, UnmountFlags::DETACH).unwrap();
    assert_eq!(failure.code, "build.disk_full");
    assert!(failure.message.contains("Free some space"), "{}", failure.message);
}

/// The same for an agent without root: this test runs one of the others as another user.
#[tokio::test]
async fn an_agent_without_root_builds_as_itself() {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let path = folder.path().to_owned();
    let output = tokio::task::spawn_blocking(move || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_pushed_app_becomes_an_artifact_that_holds_what_its_build_made", "--nocapture"])
            .env(FOLDER, &path)
            .env("TMPDIR", &path)
            .env("HOME", &path)
            .current_dir("/")
            .uid(65_534)
            .gid(65_534)
            .output()
            .unwrap()
    });
    let output = output.await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// Tests that the end of a build walks nothing that it leaves; `fairlead_base::tree` tests depth itself.
#[tokio::test]
async fn folders_of_any_depth_that_a_build_makes_are_taken_out_of_use_with_it() {
    let (host, server) = (GitHost::start(), Server::new());
    let script = r"
        const nest = (folder, levels) => {
            process.chdir(folder);
            for (let level = 0; level < levels; level += 1) {
                require('fs').mkdirSync('d');
                process.chdir('d');
            }
        };
        nest(process.env.HOME, Number('LEVELS'));
        nest(process.env.npm_config_cache.replace(/.npm$/, ''), 300);
        nest(__dirname, 300);
    ";
    // The long form sets a hundred thousand (CONTRIBUTING.md).
    let levels = std::env::var("FAIRLEAD_REMOVAL_LEVELS").unwrap_or_else(|_| "4000".to_owned());
    let package = r#"{"scripts":{"build":"node deep.js","start":"node a.js"}}"#;
    let script = script.replace("LEVELS", &levels);
    host.repository("deep", &[("package.json", package), ("deep.js", &script), ("a.js", "")]);
    let mut spec = spec(host.url("deep"), "main");
    server.fails(&spec, "build.command_failed", "nested deeper").await;
    let trash = server.options.trash.entries().unwrap();
    assert_eq!(trash.len(), 1, "{trash:?}");
    assert!(trash[0].join("home/d/d/d").is_dir(), "the attack was carried out");
    spec.without_cache = true;
    server.fails(&spec, "build.command_failed", "nested deeper").await;
    for entry in server.options.trash.entries().unwrap() {
        fairlead_base::tree::remove(&entry).unwrap();
    }
    assert!(server.options.trash.entries().unwrap().is_empty());
}
