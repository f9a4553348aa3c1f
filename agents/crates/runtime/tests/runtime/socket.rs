//! Integration tests of apps that listen on a Unix socket instead of a port.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use fairlead_model::UpstreamAddress;
use tokio::net::UnixStream;

use super::*;

fn on_socket(number: u64, arguments: &[&str]) -> ReleaseSpec {
    ReleaseSpec { listens_on_socket: true, ..release(number, arguments) }
}

fn socket(server: &Server) -> (PathBuf, Option<u32>) {
    let view = server.output.view.borrow();
    match &view.upstreams[&key("app_a")][..] {
        [upstream] => match upstream.address.clone() {
            UpstreamAddress::Unix { path, owner } => (path, owner),
            other => panic!("it is asked at {other}"),
        },
        upstreams => panic!("{upstreams:?}"),
    }
}

async fn asked(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.rsplit("\r\n").next().unwrap().to_owned()
}

#[tokio::test]
async fn an_app_on_a_socket_is_healthy_there_survives_the_agent_and_a_crash_and_leaves_nothing() {
    let mut server = Server::new().await;
    let spec = live(on_socket(1, &["socket"]));
    server.desire([spec.clone()]);
    let first = server.healthy(1).await.remove(0);
    assert_eq!(first.port, 0);
    let (path, owner) = socket(&server);
    assert_eq!(asked(&path).await, path.to_str().unwrap(), "it was told this path, and no port");
    let folder = std::fs::metadata(path.parent().unwrap()).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let mode = if is_root { 0o710 } else { 0o700 };
    assert_eq!(folder.permissions().mode() & 0o777, mode, "no other app comes near it");
    assert_eq!(owner, is_root.then(|| folder.uid()));
    if is_root {
        assert_eq!(folder.gid(), fairlead_base::accounts::proxy_user().unwrap().gid, "the proxy does");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o666, 0o666);
    }

    server.restart_agent().await;
    server.desire([spec]);
    assert_eq!(server.healthy(1).await.remove(0).pid, first.pid);
    assert_eq!(socket(&server), (path.clone(), owner));

    // A killed app leaves its socket behind, at the path of its successor's socket.
    let pid = rustix::process::Pid::from_raw(first.pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    server.until("the crash", |view| view.instances.iter().any(|status| status.restarts == 1).then_some(())).await;
    let again = server.healthy(1).await.remove(0);
    assert_eq!(again.id, first.id);
    assert_eq!(asked(&path).await, path.to_str().unwrap());

    server.desire([]);
    server.until("nothing", |view| view.instances.is_empty().then_some(())).await;
    gone(again.pid).await;
    server.end().await;
}

#[tokio::test]
async fn a_link_to_somebody_elses_socket_is_never_taken_for_the_apps_own() {
    if !rustix::process::geteuid().is_root() {
        // Apps have users of their own only under root; without it, no other user exists for this test.
        return;
    }
    let mut server = Server::new().await;
    let foreign = temporary(0o755);
    let listener = tokio::net::UnixListener::bind(foreign.path().join("s")).unwrap();
    let path = foreign.path().join("s").to_str().unwrap().to_owned();
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read(&mut [0u8; 64]).await.unwrap()
    });
    let spec = with_candidate(live(release(1, &["serve"])), on_socket(2, &["socket", &path]), Duration::from_secs(3));
    server.desire([AppSpec { candidate: None, ..spec.clone() }]);
    server.healthy(1).await;
    server.desire([spec]);
    let failed = server.finished("dep_2").await;
    assert_eq!(failed.state, WorkState::Failed, "{failed:?}");
    assert_eq!(heard.await.unwrap(), 0, "it was reached and told nothing");
    server.end().await;
}

#[tokio::test]
async fn an_app_that_listens_elsewhere_is_told_of_its_socket() {
    let mut server = Server::new().await;
    let old = live(release(1, &["serve"]));
    server.desire([old.clone()]);
    server.healthy(1).await;
    server.desire([with_candidate(old, on_socket(2, &["wrong-port"]), Duration::from_secs(2))]);
    let failure = server.finished("dep_2").await.failure.unwrap();
    assert_eq!(failure.code, "rollout.wrong_port");
    assert!(failure.message.contains("FAIRLEAD_SOCKET"), "{}", failure.message);
    server.end().await;
}
