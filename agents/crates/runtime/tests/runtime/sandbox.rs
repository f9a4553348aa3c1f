//! Integration tests of the sandbox: a malicious app of the agent and a bare process with the same rights attempt the
//! same.

use std::collections::BTreeMap;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{Server, address, get, live, release};

fn outcomes(report: &str) -> BTreeMap<String, String> {
    let pairs = report.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.map(|(name, outcome)| (name.to_owned(), outcome.to_owned())).collect()
}

#[tokio::test]
async fn an_app_reaches_its_own_files_and_nothing_that_is_others_or_the_kernels() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::new().await;
    // Open to every user of the server, as files often are by mistake.
    let others = server.folders.root().join("others");
    std::fs::create_dir(&others).unwrap();
    std::fs::write(others.join("file"), "x").unwrap();
    for (path, mode) in [(others.clone(), 0o777), (others.join("file"), 0o644)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let (file, folder) = (others.join("file"), others.clone());
    let process = std::process::id().to_string();
    let socket = format!("fairlead-test-{process}");
    let theirs = std::os::unix::net::SocketAddr::from_abstract_name(&socket).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&theirs).unwrap();
    let arguments = ["intruder", file.to_str().unwrap(), folder.to_str().unwrap(), &process, &socket];

    let bare = Command::new(env!("CARGO_BIN_EXE_fairlead-test-app"))
        .args(arguments)
        .env_clear()
        .uid(89_998)
        .gid(89_998)
        .output()
        .unwrap();
    let bare = outcomes(&String::from_utf8(bare.stdout).unwrap());
    for possible in ["read", "write", "namespace", "clone", "process", "abstract"] {
        assert_eq!(bare[possible], "done", "{possible} is possible without a sandbox: {bare:?}");
    }
    assert!(bare["processes"].parse::<u32>().unwrap() > 1, "{bare:?}");
    std::fs::remove_file(others.join("left")).unwrap();

    server.desire([live(release(1, &arguments))]);
    let status = server.healthy(1).await.remove(0);
    let app = outcomes(&get(address(&status)).await);
    let (refused, denied, unknown) = ("1", "13", "38");
    for call in ["ptrace", "mount", "namespace", "clone", "bpf", "crypto-socket", "signal", "abstract"] {
        assert_eq!(app[call], refused, "{call}: {app:?}");
    }
    assert_eq!(app["clone3"], unknown, "{app:?}");
    for path in ["shadow", "read", "write"] {
        assert_eq!(app[path], denied, "{path}: {app:?}");
    }
    let own_view = ["own-process", "own-thread", "own-setting", "memory", "processors", "groups", "network", "child"];
    for own in ["home", "tmp", "dev", "hosts"].iter().chain(&own_view) {
        assert_eq!(app[*own], "done", "{own}: {app:?}");
    }
    let absent = "2";
    assert_eq!((app["process"].as_str(), app["processes"].as_str()), (absent, "1"), "{app:?}");
    assert!(!others.join("left").exists());
    assert_eq!(app["devices"], "13", "its /dev has what it needs and no disk: {app:?}");
    server.end().await;
}

#[tokio::test]
async fn memory_processor_and_processes_are_limited_as_the_release_says() {
    let mut server = Server::new().await;
    let mut limited = release(1, &["serve", "one"]);
    (limited.memory_bytes_max, limited.cpu_millis_max, limited.processes_max) = (256 << 20, 250, 77);
    server.desire([live(limited)]);
    let status = server.healthy(1).await.remove(0);
    let groups = std::fs::read_to_string(format!("/proc/{}/cgroup", status.pid)).unwrap();
    let read = |controller: &str, file: &str| {
        let line = groups
            .lines()
            .find(|line| line.split(':').nth(1).is_some_and(|list| list.split(',').any(|one| one == controller)))?;
        let (mount, place) =
            (if controller.is_empty() { String::new() } else { format!("/{controller}") }, line.splitn(3, ':').nth(2)?);
        std::fs::read_to_string(format!("/sys/fs/cgroup{mount}{place}/{file}")).ok()
    };
    let first = |older: (&str, &str), newer: &str| {
        let text = read(older.0, older.1).or_else(|| read("", newer));
        text.map(|text| text.split_whitespace().next().unwrap().to_owned())
    };
    let found = [
        first(("memory", "memory.limit_in_bytes"), "memory.max"),
        first(("cpu", "cpu.cfs_quota_us"), "cpu.max"),
        first(("pids", "pids.max"), "pids.max"),
    ];
    assert_eq!(found.map(Option::unwrap_or_default), ["268435456", "25000", "77"], "{groups}");
    server.end().await;
}
