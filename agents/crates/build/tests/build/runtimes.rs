//! Small apps of each runtime, with programs from the registries of packages and the real tools.

use std::path::Path;
use std::process::{Command, Stdio};

use fairlead_base::{CancellationToken, busy_program};
use fairlead_build::{Mirrors, Toolchains, artifact_path, inherited_environment, unpack};

use super::*;

impl Server {
    fn with_toolchains(mut self) -> Self {
        let folder = self.folder.path().join("toolchains");
        let client = fairlead_fetch::FetchClient::new(None).unwrap();
        let agent = std::env::current_exe().unwrap();
        self.options.toolchains = Some(Toolchains::new(folder, agent, client, Mirrors::default()));
        // As in the agent: tools with their own certificate authorities learn the server's from these variables.
        self.options.environment = inherited_environment();
        self
    }

    /// Builds an app and gives its folder, unpacked, and what it is started with.
    async fn made(&self, host: &GitHost, name: &str, files: &[(&str, &str)]) -> (BuildOutcome, PathBuf, Ears) {
        host.repository(name, files);
        let mut ears = Ears::default();
        let made = self.build(&spec(host.url(name), "main"), &mut ears).await;
        let made = made.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
        let artifact = artifact_path(&self.options.artifacts, &made.artifact.digest).unwrap();
        let folder = self.folder.path().join("releases").join(name);
        unpack(&artifact, &made.artifact.digest, &folder).unwrap();
        (made, folder, ears)
    }

    /// Starts the app as planned, with the runtimes of its release; returns the first line of its output.
    fn started(&self, made: &BuildOutcome, folder: &Path) -> String {
        let toolchains = self.folder.path().join("toolchains");
        let own = made.artifact.manifest.toolchains.iter().map(|name| toolchains.join(name).join("bin"));
        let venv = folder.join(".venv/bin");
        let path = std::env::join_paths([venv].into_iter().chain(own).chain(std::env::split_paths(&self.options.path)));
        let path = path.unwrap();
        let run = std::fs::read(folder.join(fairlead_model::RunFile::PATH)).ok();
        let run = run.and_then(|bytes| fairlead_model::RunFile::parse(&bytes)).unwrap_or_default();
        let words = &made.artifact.command;
        let program = if words[0].contains('/') { folder.join(&words[0]) } else { words[0].clone().into() };
        let mut command = Command::new(program);
        command.args(&words[1..]).current_dir(folder).env_clear().env("PATH", path).env("HOME", self.folder.path());
        command.envs(run.environment);
        command.stdin(Stdio::null());
        let output = busy_program::retry(|| command.output()).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

#[tokio::test]
async fn a_node_of_the_apps_choice_with_pnpm_installs_and_runs() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let package = r#"{"dependencies":{"is-number":"7.0.0"},"packageManager":"pnpm@10.0.0","main":"a.js"}"#;
    let app = "console.log(process.version, require('is-number')(5), __dirname !== undefined);";
    let (made, folder, ears) =
        server.made(&host, "pnpm", &[("package.json", package), (".nvmrc", "v22.11\n"), ("a.js", app)]).await;
    assert_eq!(made.artifact.manifest.toolchains, ["node@22.11.0"]);
    assert_eq!(server.started(&made, &folder), "v22.11.0 true true");
    assert!(ears.lines.iter().any(|line| line == "Uses pnpm@10.0.0, for 10.0.0 of package.json (packageManager)."));
    let (again, ..) =
        server.made(&host, "pnpm-again", &[("package.json", package), (".nvmrc", "v22.11\n"), ("a.js", app)]).await;
    assert_eq!(again.artifact.manifest, made.artifact.manifest);
    let wanted = r#"{"dependencies":{"is-number":"7.0.0"},"engines":{"node":"999"},"main":"a.js"}"#;
    host.repository("future", &[("package.json", wanted), ("a.js", "")]);
    let mut ears = Ears::default();
    let failure = server.build(&spec(host.url("future"), "main"), &mut ears).await.unwrap_err().failure();
    assert_eq!(failure.code, "build.toolchain_missing");
    assert!(failure.message.contains("no Node 999 of package.json (engines)"), "{}", failure.message);
}

/// Uses the kernel features that build tools need: threads, child processes, shared memory, a native program of a package.
const HEAVY: &str = r#"
const { Worker, isMainThread } = require('node:worker_threads');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
if (!isMainThread) process.exit(0);
new Worker(__filename).on('exit', (code) => {
  require('esbuild').buildSync({ entryPoints: ['server.ts'], outfile: 'dist/server.js' });
  const listed = execFileSync('ps', ['-e', '-o', 'pid='], { encoding: 'utf8' }).split(/\s+/);
  const watcher = fs.watch('.', () => {});
  watcher.close();
  const shared = "import multiprocessing as m\nl = m.Lock()\nwith l: print('locked')\n";
  const locked = execFileSync('/usr/bin/python3', ['-c', shared], { encoding: 'utf8' });
  console.log('worker', code, 'ps', listed.includes(String(process.pid)), 'memory', os.totalmem() > 0, locked.trim(), os.userInfo().username);
});
"#;

#[tokio::test]
async fn threads_shared_memory_and_native_programs_work_in_a_build() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let package =
        r#"{"dependencies":{"esbuild":"0.25.0"},"scripts":{"build":"node heavy.js","start":"node dist/server.js"}}"#;
    let files = [
        ("package.json", package),
        ("heavy.js", HEAVY),
        ("server.ts", "const n: number = 5;\nconsole.log('served', n);\n"),
    ];
    let (made, folder, ears) = server.made(&host, "heavy", &files).await;
    let user = if server.options.user.is_some() { "build" } else { "" };
    let told = format!("worker 0 ps true memory true locked {user}");
    assert!(ears.lines.iter().any(|line| line.starts_with(&told)), "{:#?}", ears.lines);
    assert_eq!(server.started(&made, &folder), "served 5");
}

#[tokio::test]
async fn bun_installs_and_runs_typescript() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let files = [
        ("package.json", r#"{"dependencies":{"is-number":"7.0.0"},"packageManager":"bun@1.4.5"}"#),
        (
            "server.ts",
            "import isNumber from 'is-number';\nconst n: number = 5;\nconsole.log(Bun.version, isNumber(n));\n",
        ),
    ];
    let (made, folder, _) = server.made(&host, "bun", &files).await;
    assert_eq!(
        (made.artifact.runtime.as_str(), made.artifact.manifest.toolchains.as_slice()),
        ("bun", &["bun@1.4.5".to_owned()][..])
    );
    assert_eq!(server.started(&made, &folder), "1.4.5 true");
}

#[tokio::test]
async fn deno_runs_from_the_cache_that_its_build_packed() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let files = [
        ("deno.json", r#"{"imports":{"is-number":"npm:is-number@7.0.0"}}"#),
        (
            "main.ts",
            "import isNumber from \"is-number\";\nconsole.log(Deno.version.deno.split('.').length, isNumber(5));\n",
        ),
        (".deno-version", "2.9.6\n"),
    ];
    let (made, folder, _) = server.made(&host, "deno", &files).await;
    assert_eq!(made.artifact.manifest.toolchains, ["deno@2.9.6"]);
    assert_eq!(server.started(&made, &folder), "3 true");
}

#[tokio::test]
async fn python_gets_its_packages_into_the_artifact_by_uv() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let files =
        [("requirements.txt", "iniconfig==2.0.0\n"), ("main.py", "import iniconfig; print(iniconfig.__name__)\n")];
    let (made, folder, _) = server.made(&host, "python", &files).await;
    assert_eq!(made.artifact.runtime, "python");
    assert!(folder.join(".venv/bin/python").is_symlink());
    assert_eq!(server.started(&made, &folder), "iniconfig");
}

#[tokio::test]
async fn go_builds_one_program() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let main = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"from go\") }\n";
    let (made, folder, _) =
        server.made(&host, "go", &[("go.mod", "module example.com/a\n\ngo 1.21\n"), ("main.go", main)]).await;
    assert_eq!(made.artifact.command, [".fairlead/bin/a"]);
    assert_eq!(server.started(&made, &folder), "from go");
}

/// Go itself, by its own proxy and checksum database, where the app wants a newer one than the server has.
#[tokio::test]
async fn a_toolchain_of_go_is_proved_by_its_checksum() {
    let server = Server::new().with_toolchains();
    let toolchains = server.options.toolchains.clone().unwrap();
    let programs = toolchains.ensure("go@1.26.8", &CancellationToken::new()).await.unwrap();
    let mut go = Command::new(programs.join("go"));
    go.arg("version").env("GOTOOLCHAIN", "local");
    let said = busy_program::retry(|| go.output()).unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("go version go1.26.8 linux/"));
    for bad in ["go@../../x", "node@latest", "perl@5.0.0", "go@01.2.3"] {
        let error = toolchains.ensure(bad, &CancellationToken::new()).await.unwrap_err();
        assert!(error.to_string().contains("is not known"), "{bad}: {error}");
    }
}

#[tokio::test]
async fn a_site_is_packed_alone_and_served_by_the_agent() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let package =
        r#"{"scripts":{"build":"node -e \"fs.mkdirSync('dist'); fs.writeFileSync('dist/index.html', 'built')\""}}"#;
    let (made, folder, ears) =
        server.made(&host, "site", &[("package.json", package), (".env.example", "A=1\n")]).await;
    assert_eq!(made.artifact.command, ["fairlead-agent", "static", "."]);
    assert_eq!(made.artifact.manifest.toolchains, ["site@1"]);
    assert_eq!(made.artifact.manifest.expected_variables, ["A"]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "the site alone");
    assert_eq!(std::fs::read_to_string(folder.join("index.html")).unwrap(), "built");
    assert!(ears.lines.iter().any(|line| line == "The site is the folder dist."), "{:?}", ears.lines);
    let toolchains = server.options.toolchains.clone().unwrap();
    let programs = toolchains.ensure("site@1", &CancellationToken::new()).await.unwrap();
    assert_eq!(std::fs::metadata(programs.join("fairlead-agent")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn a_site_gets_compressed_files_and_the_fallback_page_that_its_build_left() {
    let (host, server) = (GitHost::start(), Server::new().with_toolchains());
    let script = "export const words = 'again and again';\n".repeat(100);
    let files = [("index.html", "home"), ("200.html", "app"), ("app.js", &script), ("style.css", "a {}")];
    let (made, folder, ears) = server.made(&host, "site", &files).await;
    assert_eq!(made.artifact.command, ["fairlead-agent", "static", ".", "--fallback", "200.html"]);
    assert_eq!(made.artifact.manifest.toolchains, ["site@2"]);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    assert_eq!(names, ["200.html", "app.js", "app.js.br", "app.js.gz", "app.js.zst", "index.html", "style.css"]);
    assert_eq!(zstd::decode_all(std::fs::File::open(folder.join("app.js.zst")).unwrap()).unwrap(), script.as_bytes());
    let said = ["Paths without a file get its page 200.html.", "Compressed 1 files with Brotli, zstd and gzip."];
    assert!(said.iter().all(|said| ears.lines.iter().any(|line| line == said)), "{:?}", ears.lines);
    let again = server.made(&host, "again", &files).await.0;
    assert_eq!(again.artifact.digest, made.artifact.digest);
    let manifest = |page: &str| format!("[site]\nfallback = {page}\n");
    let off = server.made(&host, "off", &[files[0], files[1], ("fairlead.toml", &manifest("false"))]).await.0;
    assert_eq!(off.artifact.command, ["fairlead-agent", "static", "."]);
    host.repository("absent.git", &[files[0], ("fairlead.toml", &manifest("\"app.html\""))]);
    let spec = spec(host.url("absent.git"), "main");
    Server::new()
        .with_toolchains()
        .fails(&spec, "build.output_missing", "no page `app.html`, which fairlead.toml names")
        .await;
}

#[tokio::test]
async fn rust_is_built_by_the_servers_own_cargo_and_one_that_builds_cant_use_is_told_before() {
    let (host, mut server) = (GitHost::start(), Server::new());
    host.repository("rust.git", &[("Cargo.toml", "[package]\nname = \"hello\"\nversion = \"0.1.0\"\n")]);
    let folder = server.folder.path().join("programs");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    let mut path = folder.clone().into_os_string();
    path.push(":");
    path.push(&server.options.path);
    server.options.path = path;
    let installed = |script: &str| {
        let program = folder.join("cargo");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    };
    // As rustup's own program says it where its toolchains are out of reach.
    installed("echo 'error: no default toolchain is configured' >&2; exit 1");
    let ears =
        server.fails(&spec(host.url("rust.git"), "main"), "build.toolchain_missing", "apt-get install cargo").await;
    assert!(!ears.lines.iter().any(|line| line.starts_with("$ cargo")), "{:#?}", ears.lines);

    installed(
        "case $1 in --version) echo 'cargo 1.90.0 (840b83a10 2025-07-30)';; *) mkdir -p .fairlead/bin; cp /bin/true .fairlead/bin/hello;; esac",
    );
    let made = server.build(&spec(host.url("rust.git"), "main"), &mut Ears::default()).await.unwrap();
    assert_eq!((made.artifact.runtime.as_str(), made.artifact.command), ("rust", vec![".fairlead/bin/hello".into()]));
    let told = &made.artifact.manifest.sentences;
    assert!(told.iter().any(|sentence| sentence == "Uses the server's cargo 1.90.0."), "{told:?}");
}

#[tokio::test]
async fn a_server_that_holds_copies_of_its_imports_is_packed_without_node_modules() {
    let (host, server) = (GitHost::start(), Server::new());
    let files = [
        ("package.json", r#"{"scripts":{"build":"node build.js"},"dependencies":{"nuxt":"file:framework"}}"#),
        ("framework/package.json", r#"{"name":"nuxt","version":"4.0.0","main":"x.js"}"#),
        ("framework/x.js", ""),
        (
            "build.js",
            "require.resolve('nuxt'); const fs = require('fs'); fs.mkdirSync('.output/server/node_modules/kept', { recursive: true });\
             fs.writeFileSync('.output/server/index.mjs', 'console.log(1)');\
             fs.writeFileSync('.output/server/node_modules/kept/x.js', '');",
        ),
    ];
    let (made, folder, ears) = server.made(&host, "nuxt.git", &files).await;
    assert_eq!(made.artifact.command, ["node", ".output/server/index.mjs"], "{:#?}", ears.lines);
    assert!(folder.join(".output/server/node_modules/kept/x.js").is_file());
    assert!(!folder.join("node_modules").exists());
    let kept = [files.as_slice(), &[("fairlead.toml", "[build]\nprune = false\n")]].concat();
    let (_, folder, _) = server.made(&host, "kept.git", &kept).await;
    assert!(folder.join("node_modules").is_dir());
}
