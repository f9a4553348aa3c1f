//! Integration tests of apps with secrets, which the control plane's own library has sealed (the contract's fixture).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairlead_model::{Autoscaling, SealedSecrets};
use fairlead_secret::SealingKey;
use serde_json::Value;

use super::*;

fn fixture() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packages/contract/fixtures/sealing.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the key of the contract's fixture.
pub(crate) fn sealing_key() -> SealingKey {
    SealingKey::from_bytes(&(1..=32).collect::<Vec<u8>>()).unwrap()
}

pub(crate) fn sealed(name: &str, version: &str) -> Option<SealedSecrets> {
    let sealed = STANDARD.decode(fixture()[name].as_str().unwrap()).unwrap();
    Some(SealedSecrets { sealed, version: version.into() })
}

fn with_secrets(number: u64, arguments: &[&str], name: &str) -> ReleaseSpec {
    ReleaseSpec { secrets: sealed(name, "v1"), ..release(number, arguments) }
}

pub(crate) fn value(name: &str) -> String {
    let fixture = fixture();
    let secrets = fixture["secrets"].as_array().unwrap().iter();
    let found = secrets.clone().find(|secret| secret["name"] == name).unwrap();
    found["value"].as_str().unwrap().to_owned()
}

/// Returns texts that must appear nowhere: the values, and the lines of the one with several lines.
fn planted() -> Vec<String> {
    let file = value("TLS_KEY");
    let lines = file.lines().map(str::to_owned);
    [value("DATABASE_URL"), value("SESSION_KEY")].into_iter().chain(lines).collect()
}

fn assert_none(place: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for secret in planted() {
        assert!(!text.contains(&secret), "{place} shows {secret}");
    }
}

/// Searches every file below a folder; what only the kernel or a process holds is no file here.
pub(crate) fn search(folder: &Path) -> usize {
    let mut searched = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            searched += search(&entry.path());
        } else if kind.is_file() {
            assert_none(&entry.path().display().to_string(), &std::fs::read(entry.path()).unwrap());
            searched += 1;
        }
    }
    searched
}

fn expected(user: u32) -> String {
    let file = value("TLS_KEY").replace('\n', "/");
    format!("{}|{}|{file}|400|{user}|refused", value("DATABASE_URL"), value("SESSION_KEY"))
}

#[tokio::test]
async fn an_app_has_its_secrets_and_nothing_else_on_the_server_shows_them() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::new().await;
    let mut release = with_secrets(1, &["secrets"], "sealed");
    // It joins the instance's view of the files, and must find no secrets there.
    release.readiness_check.command =
        [env!("CARGO_BIN_EXE_fairlead-test-app"), "checks-secrets"].map(str::to_owned).into();
    server.desire([live(release)]);
    let first = server.healthy(1).await.remove(0);
    let user = Identities::open(&server.folders).unwrap().user_for("run/app_a/env_p").unwrap().unwrap();
    assert_eq!(get(address(&first)).await, expected(user));
    let instance = server.folders.instances().join(first.id.as_str());
    assert_eq!(std::fs::read_dir(instance.join("secrets")).unwrap().count(), 0, "the app alone sees its files");
    assert!(search(server.folders.root()) >= 3, "its record, its spec and its log were searched");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", first.pid)).unwrap();
    let shim = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
    for place in [format!("{shim}/cmdline"), format!("{shim}/environ"), format!("{}/cmdline", first.pid)] {
        assert_none(&place, &std::fs::read(format!("/proc/{place}")).unwrap());
    }
    // A new agent adopts it; secrets that were only sealed again restart nothing.
    server.restart_agent().await;
    server.desire([live(with_secrets(1, &["secrets"], "sealedAnew"))]);
    let after = server.healthy(1).await.remove(0);
    assert_eq!((&after.id, after.pid), (&first.id, first.pid));
    // A restart opens them again, even while the control plane can't seal them.
    let held_back = SealedSecrets { sealed: vec![0], version: "v1".into() };
    server.desire([live(ReleaseSpec { secrets: Some(held_back), ..with_secrets(1, &["secrets"], "sealed") })]);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(first.pid.cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let again = server
        .until("the restarted app", |view| {
            let mut healthy = view.instances.iter().filter(|status| status.state == InstanceState::Healthy);
            healthy.find(|status| status.pid != first.pid).cloned()
        })
        .await;
    assert_eq!(get(address(&again)).await, expected(user));
    server.end().await;
}

#[tokio::test]
async fn a_former_release_has_the_secrets_of_its_app_and_a_user_apart_from_the_apps() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::new().await;
    let former = AppKey { environment: EnvironmentId::parse("env_former").unwrap(), ..key("app_a") };
    let scale = Autoscaling {
        instances_min: 0,
        instances_max: 1,
        idle_timeout: Duration::from_secs(300),
        in_flight_target: 0,
        cpu_millis_target: 0,
        wake_timeout: Duration::from_secs(30),
    };
    let spec = AppSpec {
        key: former.clone(),
        autoscaling: Some(scale),
        release_environment: Some(key("app_a").environment),
        ..live(with_secrets(1, &["secrets"], "sealed"))
    };
    server.desire([spec]);
    let is_asleep = |view: &RuntimeView| (view.instances.first()?.state == InstanceState::Asleep).then_some(());
    server.until("sleep from the start", is_asleep).await;
    server.runtime.wake(former);
    let woken = server.healthy(1).await.remove(0);
    let identities = Identities::open(&server.folders).unwrap();
    let [user, own] =
        ["run/app_a/env_purls", "run/app_a/env_p"].map(|name| identities.user_for(name).unwrap().unwrap());
    assert_ne!(user, own);
    assert_eq!(get(address(&woken)).await, expected(user));
    server.end().await;
}

#[tokio::test]
async fn what_an_app_says_of_its_secrets_does_not_leave_the_server() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::new().await;
    let spec = live(release(1, &["serve"]));
    server.desire([spec.clone()]);
    server.healthy(1).await;
    server.desire([with_candidate(spec, with_secrets(2, &["secrets", "crash"], "sealed"), PATIENCE)]);
    let rollout = server.finished("dep_2").await;
    assert_eq!(rollout.failure.unwrap().code, "rollout.crash_loop");
    let log = server.log_text();
    assert_none("the deployment's log", log.as_bytes());
    for said in [
        "as it is: [redacted]",
        "in an address: [redacted]",
        "in JSON: {\"value\":\"[redacted]\"}",
        "in base64: [redacted]",
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
    for encoded in planted().iter().map(|secret| STANDARD.encode(secret)) {
        assert!(!log.replace('\n', "").contains(encoded.trim_end_matches('=')), "{log}");
    }
    server.end().await;
}

#[tokio::test]
async fn secrets_of_another_app_version_or_key_are_refused_and_what_served_goes_on() {
    let mut server = Server::new().await;
    let spec = live(release(1, &["serve"]));
    server.desire([spec.clone()]);
    let before = server.healthy(1).await.remove(0);
    let mut cut = sealed("sealed", "v1");
    cut.as_mut().unwrap().sealed.pop();
    let wrong =
        [(2, cut), (3, sealed("sealed", "v2")), (4, sealed("sealedToAnother", "v1")), (5, sealed("sealedEmpty", "v1"))];
    for (number, secrets) in wrong {
        let candidate = ReleaseSpec { secrets, ..release(number, &["serve"]) };
        server.desire([with_candidate(spec.clone(), candidate, PATIENCE)]);
        let rollout = server.finished(&format!("dep_{number}")).await;
        assert_eq!(rollout.failure.unwrap().code, "secret.unopenable");
    }
    let other =
        AppSpec { key: key("app_b"), ..with_candidate(spec.clone(), with_secrets(6, &["serve"], "sealed"), PATIENCE) };
    server.desire([spec, AppSpec { live: None, ..other }]);
    let failure = server.finished("dep_6").await.failure.unwrap();
    assert_eq!(failure.code, "secret.unopenable");
    assert!(failure.message.contains("another app"), "{}", failure.message);
    let after = server.healthy(1).await.remove(0);
    assert_eq!((after.id, after.pid), (before.id, before.pid));
    server.end().await;
}
