//! Integration tests of programs that take an app's port where apps share the server's network. A control shows that
//! each attack works where nothing checks the listener.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use fairlead_model::{Hook, UpstreamAddress};

use super::*;

/// User of a program that is not one of the server's apps.
const STRANGER: u32 = 89_997;

/// Program outside of every sandbox that listens on a port and answers all with 200. Ends with the test.
struct Squatter(Child);

impl Squatter {
    /// Listens, or returns what kept it from that.
    fn listen(address: SocketAddr, user: u32, shares: bool) -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairlead-test-app"));
        command.args(["squat", &address.to_string(), if shares { "shares" } else { "" }]);
        command.env_clear().stdout(Stdio::piped());
        if rustix::process::geteuid().is_root() {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let squatter = Self(child);
        if line.trim() == "listening" { Ok(squatter) } else { Err(line.trim().to_owned()) }
    }
}

impl Drop for Squatter {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn upstream(view: &RuntimeView) -> Option<UpstreamAddress> {
    view.upstreams.get(&key("app_a"))?.first().map(|upstream| upstream.address.clone())
}

/// Sends a request to one address, as a client without any check would.
async fn asked(address: SocketAddr) -> String {
    get(address).await
}

#[tokio::test]
async fn a_program_on_the_other_family_of_addresses_takes_no_traffic() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["six"]))]);
    let status = server.healthy(1).await.remove(0);
    let own = SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, status.port));
    let user = fs_user(status.pid);
    let expected = UpstreamAddress::Tcp { address: own, owner: Some(user) };
    assert_eq!(upstream(&server.output.view.borrow()), Some(expected.clone()));

    let _squatter = Squatter::listen(address(&status), STRANGER, false).unwrap();
    assert_eq!(asked(address(&status)).await, "hijacked", "control: it answers there");
    // The app counts its health checks: some come after the squatter listens.
    let checks = async |server: &Server| {
        let view = server.output.view.borrow().clone();
        assert_eq!(upstream(&view), Some(expected.clone()), "the routes never lead to it");
        asked(own).await.parse::<u32>().unwrap()
    };
    let first = checks(&server).await;
    while checks(&server).await < first + 4 {
        tokio::task::yield_now().await;
    }
    server.end().await;
}

#[tokio::test]
async fn a_program_that_takes_the_port_before_the_app_does_never_makes_it_live() {
    let mut server = Server::new().await;
    let old = live(release(1, &["serve", "one"]));
    server.desire([old.clone()]);
    let serving = server.healthy(1).await.remove(0);
    // The new release starts and is slow to listen.
    server.desire([with_candidate(old, release(2, &["never-listens"]), Duration::from_secs(5))]);
    let port = server
        .until("the new process", |view| {
            let new = view.instances.iter().find(|status| status.id != serving.id && status.pid != 0)?;
            Some(new.port)
        })
        .await;
    let taken = SocketAddr::from(([127, 0, 0, 1], port));
    let _squatter = Squatter::listen(taken, STRANGER, false).unwrap();
    assert_eq!(asked(taken).await, "hijacked", "control: it answers there");
    let status = server.finished("dep_2").await;
    let failure = status.failure.unwrap();
    assert_eq!(failure.code, "rollout.port_taken", "{}", failure.message);
    let words = format!("Another program on this server listens on the app's port {port}.");
    assert!(failure.message.starts_with(&words), "{}", failure.message);
    assert_eq!(server.healthy(1).await.remove(0).id, serving.id);
    server.end().await;
}

#[tokio::test]
async fn a_program_that_shares_the_app_s_port_makes_the_app_unhealthy() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["shares"]))]);
    let status = server.healthy(1).await.remove(0);
    let user = fs_user(status.pid);
    if rustix::process::geteuid().is_root() {
        let refused = Squatter::listen(address(&status), STRANGER, true).err();
        assert!(refused.is_some_and(|error| error.contains("98")), "the kernel lets no other user share it");
    }
    let _squatter = Squatter::listen(address(&status), user, true).unwrap();
    let unhealthy = server
        .until("an unhealthy instance", |view| {
            view.instances.iter().find(|status| status.state == InstanceState::Unhealthy).cloned()
        })
        .await;
    let words = format!("Another program on this server listens on the app's port {}.", status.port);
    assert!(unhealthy.detail.starts_with(&words), "{}", unhealthy.detail);
    server.end().await;
}

#[tokio::test]
async fn an_app_on_a_port_of_its_own_choice_fails_at_once() {
    let mut server = Server::new().await;
    let old = live(release(1, &["serve", "one"]));
    server.desire([old.clone()]);
    let serving = server.healthy(1).await.remove(0);
    let fixed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port() / 3 + 1024;
    server.desire([with_candidate(old, release(2, &["fixed-port", &fixed.to_string()]), PATIENCE * 2)]);
    // The failure comes long before the timeout, or this test would end before it.
    let failure = server.finished("dep_2").await.failure.unwrap();
    assert_eq!(failure.code, "rollout.wrong_port", "{}", failure.message);
    assert!(failure.message.contains("process.env.PORT"), "{}", failure.message);
    assert_eq!(server.healthy(1).await.remove(0).id, serving.id);
    server.end().await;
}

#[tokio::test]
async fn an_app_listens_on_the_loopback_unless_its_settings_say_otherwise() {
    let mut server = Server::new().await;
    server.desire([live(release(1, &["hosts"]))]);
    let status = server.healthy(1).await.remove(0);
    assert_eq!(get(address(&status)).await, "127.0.0.1 127.0.0.1");
    let mut set = release(2, &["hosts"]);
    set.variables.insert("HOST".into(), "0.0.0.0".into());
    server.desire([with_candidate(live(release(1, &["hosts"])), set, PATIENCE)]);
    assert_eq!(server.finished("dep_2").await.state, WorkState::Succeeded);
    let status = server.healthy(1).await.remove(0);
    assert_eq!(get(address(&status)).await, "0.0.0.0 127.0.0.1");
    server.end().await;
}

#[tokio::test]
async fn an_app_binds_its_own_port_and_no_other() {
    let mut server = Server::new().await;
    let off = Isolation::detect(&server.folders, shared()).off().join("\n");
    if off.contains("Linux 6.7") || off.contains("MPTCP") {
        return server.end().await;
    }
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let arguments = ["binds", &other.to_string()];
    let bare = Command::new(env!("CARGO_BIN_EXE_fairlead-test-app")).args(arguments).env_clear().output().unwrap();
    let bare = outcomes(&String::from_utf8(bare.stdout).unwrap());
    for call in ["other", "other-six", "picked", "unbound"] {
        assert_eq!(bare[call], "done", "{call} is possible without a sandbox: {bare:?}");
    }
    assert!(["done", "93"].contains(&bare["mptcp"].as_str()), "{bare:?}");

    let mut first = release(1, &arguments);
    first.readiness_check.command = vec![env!("CARGO_BIN_EXE_fairlead-test-app").into(), "checks".into()];
    server.desire([live(first.clone())]);
    let status = server.healthy(1).await.remove(0);
    let app = outcomes(&get(address(&status)).await);
    let (denied, unknown) = ("13", "93");
    let expected =
        [("other", denied), ("other-six", denied), ("picked", "done"), ("unbound", "done"), ("mptcp", unknown)];
    for (call, outcome) in expected {
        assert_eq!(app[call], outcome, "{call}: {app:?}");
    }

    let mut spec = with_candidate(live(first), release(2, &["serve", "two"]), PATIENCE);
    let hook = Hook {
        command: vec![env!("CARGO_BIN_EXE_fairlead-test-app").into(), "binds".into(), status.port.to_string()],
        timeout: PATIENCE,
    };
    spec.candidate.as_mut().unwrap().release_command = Some(hook);
    server.desire([spec]);
    assert_eq!(server.finished("dep_2").await.state, WorkState::Succeeded);
    let text = server.log_text();
    let report = text.lines().find(|line| line.contains("other=")).unwrap();
    let hook = outcomes(report);
    assert_eq!((hook["other"].as_str(), hook["picked"].as_str()), (denied, "done"), "{report}");
    server.end().await;
}

/// User of a process.
fn fs_user(pid: u32) -> u32 {
    std::fs::metadata(format!("/proc/{pid}")).unwrap().uid()
}

fn outcomes(report: &str) -> BTreeMap<String, String> {
    let pairs = report.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.map(|(name, outcome)| (name.to_owned(), outcome.to_owned())).collect()
}
