//! Inspections: the plan of a repository before its first build.

use fairlead_build::{Inspection, inspect_source};
use fairlead_inspect::BuildMethod;
use tokio::time::Instant;

use super::*;

async fn inspected(server: &Server, spec: &BuildSpec) -> Result<Inspection, BuildError> {
    let deadline = Instant::now() + spec.timeout;
    let result = inspect_source(spec, &server.options, deadline, CancellationToken::new()).await;
    for folder in [&server.options.builds, &server.options.artifacts, &server.options.caches] {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "nothing is left in {}", folder.display());
    }
    result
}

#[tokio::test]
async fn an_inspection_returns_commit_and_plan_and_runs_nothing_of_the_repository() {
    let (host, server) = (GitHost::start(), Server::new());
    let ran = server.folder.path().join("ran");
    let package = format!(
        r#"{{"scripts":{{"preinstall":"touch {0}","build":"touch {0}","start":"node server.js"}},"engines":{{"node":">=20"}}}}"#,
        ran.display()
    );
    let repository =
        host.repository("app.git", &[("package.json", &package), ("server.js", ""), (".env.example", "A=1")]);
    let Inspection { commit, plan } = inspected(&server, &spec(host.url("app.git"), "")).await.unwrap();
    assert_eq!((commit.hash, commit.branch), (repository.git(&["rev-parse", "HEAD"]), "main".to_owned()));
    let Ok(BuildMethod::Native(plan)) = plan else { panic!("{plan:?}") };
    assert_eq!((plan.runtime.as_str(), plan.start.join(" ").as_str()), ("node", "node server.js"));
    assert_eq!(plan.expected_variables, ["A"]);
    assert!(!ran.exists());
}

#[tokio::test]
async fn an_inspection_fails_with_the_codes_of_a_build_and_names_folders_to_choose() {
    let (host, server) = (GitHost::start(), Server::new());
    host.repository("app.git", &[("README", "x"), ("web/index.html", ""), ("api/go.mod", "module x")]);
    host.repository("private.git", &[("index.html", "x")]);
    let code = async |spec| inspected(&server, &spec).await.unwrap_err().failure().code;
    assert_eq!(code(spec(host.url("absent.git"), "main")).await, "build.clone_failed");
    assert_eq!(code(spec(host.url("private.git"), "main")).await, "build.clone_failed");
    assert_eq!(code(spec(host.url("app.git"), "nope")).await, "build.ref_not_found");
    let below = BuildSpec { root_folder: "nope".into(), ..spec(host.url("app.git"), "main") };
    assert_eq!(code(below).await, "build.root_folder_missing");
    let error = inspected(&server, &spec(host.url("app.git"), "main")).await.unwrap().plan.unwrap_err();
    assert_eq!((error.code(), error.app_folders().len()), ("build.not_detected", 2));
}

#[tokio::test]
async fn a_link_in_a_repository_shows_an_inspection_nothing_of_the_server() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (host, server) = (GitHost::start(), Server::new());
    let secret = server.folder.path().join("package.json");
    std::fs::write(&secret, r#"{"scripts":{"start":"node of-the-server.js"}}"#).unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    let repository = host.repository("app.git", &[("README", "x")]);
    repository.link("package.json", secret.to_str().unwrap());
    repository.commit("Link", &[]);
    let error = inspected(&server, &spec(host.url("app.git"), "main")).await.unwrap().plan.unwrap_err();
    assert!(!error.to_string().contains("of-the-server"), "{error}");
}

#[tokio::test]
async fn an_inspection_that_is_cancelled_or_late_leaves_nothing() {
    let server = Server::new();
    // Accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let waits = spec(format!("http://{}/x.git", silent.local_addr().unwrap()), "main");
    let cancel = CancellationToken::new();
    let deadline = Instant::now() + waits.timeout;
    let connected = tokio::task::spawn_blocking(move || silent.accept().map(|_| silent));
    let (result, silent) = tokio::join!(inspect_source(&waits, &server.options, deadline, cancel.clone()), async {
        let silent = connected.await.unwrap();
        cancel.cancel();
        silent
    });
    assert!(matches!(result, Err(BuildError::Cancelled)), "{result:?}");
    let late = inspect_source(&waits, &server.options, Instant::now(), CancellationToken::new()).await;
    assert!(matches!(late, Err(BuildError::Timeout { .. })), "{late:?}");
    drop(silent);
    assert_eq!(std::fs::read_dir(&server.options.builds).unwrap().count(), 0);
}

/// Makes a repository with a file `behaviour` that tells the inspecting process how to misbehave.
fn behaves(host: &GitHost, behaviour: &str) -> String {
    host.repository("app.git", &[("index.html", "x"), ("behaviour", behaviour)]);
    host.url("app.git")
}

#[tokio::test]
async fn a_repository_that_breaks_its_reading_breaks_neither_the_agent_nor_the_next_reading() {
    // Builds keep a cache, which inspections do not.
    let (server, builds) = (Server::new(), Server::new());
    for (behaviour, words) in [
        ("crash", "the process that reads them ended with"),
        ("fail", "ended with exit code 3"),
        ("garbage", "wrote no plan"),
        ("large", "more than 1024 KiB"),
    ] {
        let host = GitHost::start();
        let failed = inspected(&server, &spec(behaves(&host, behaviour), "main")).await.unwrap_err();
        assert!(matches!(&failed, BuildError::Reading(reason) if reason.to_string().contains(words)), "{failed:?}");
        builds.fails(&spec(host.url("app.git"), "main"), "build.plan_failed", words).await;
    }
    let host = GitHost::start();
    assert!(inspected(&server, &spec(behaves(&host, "none"), "main")).await.unwrap().plan.is_ok());
}

#[tokio::test]
async fn a_reading_that_stalls_or_never_stops_writing_ends_at_its_deadline() {
    let server = Server::new();
    for behaviour in ["stall", "flood"] {
        let host = GitHost::start();
        let spec = BuildSpec { timeout: Duration::from_secs(10), ..spec(behaves(&host, behaviour), "main") };
        let late = inspected(&server, &spec).await.unwrap_err();
        assert!(matches!(&late, BuildError::Timeout { doing, .. } if doing.starts_with("read the files")), "{late:?}");
    }
}

#[tokio::test]
async fn a_reading_has_the_memory_of_its_bound_and_no_network() {
    let server = Server::new();
    if server.options.cgroups.off_reason().is_some() || !rustix::process::geteuid().is_root() {
        return;
    }
    let host = GitHost::start();
    let greedy = inspected(&server, &spec(behaves(&host, "allocate"), "main")).await.unwrap_err();
    assert!(
        matches!(&greedy, BuildError::OutOfMemory { doing, .. } if doing.starts_with("read the files")),
        "{greedy:?}"
    );
    let host = GitHost::start();
    let mut ears = Ears::default();
    server.build(&spec(behaves(&host, "network"), "main"), &mut ears).await.unwrap_err();
    assert!(ears.lines.iter().any(|line| line == "1 devices"), "{:?}", ears.lines);
}
