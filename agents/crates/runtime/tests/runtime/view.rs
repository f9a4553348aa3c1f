//! Integration tests of an instance's root file system: its release at `/app` with a layer of its own, and the release
//! as it was built.

use std::fs;

use super::*;

/// Makes a release of some files, as `unpack` leaves it.
struct Files;

impl PrepareRelease for Files {
    fn prepare<'a>(
        &'a self,
        _release: &'a ReleaseSpec,
        folder: &'a Path,
        _fetching: &'a (dyn Fn() + Send + Sync),
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            if !folder.exists() {
                fs::create_dir_all(folder.join("code")).unwrap();
                fs::create_dir_all(folder.join(".venv/bin")).unwrap();
                fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
                fs::write(folder.join("code/file"), "built").unwrap();
                fs::write(folder.join("old"), "built").unwrap();
            }
            Ok(())
        })
    }
}

impl Server {
    async fn with_files(copies: bool) -> Self {
        let mut server = Self::new().await;
        let isolation = Isolation::detect(&server.folders, shared());
        let isolation = if copies { isolation.with_copies() } else { isolation };
        (server.runtime, server.output) = start_isolated(&server.folders, isolation, Arc::new(Files)).await;
        server
    }
}

/// Lists every path below a folder with its text, mode and owner.
fn tree(folder: &Path) -> Vec<(PathBuf, u32, u32, Option<String>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, metadata) = (entry.path(), entry.metadata().unwrap());
            found.push((path.clone(), metadata.mode(), metadata.uid(), fs::read_to_string(&path).ok()));
            folders.extend(metadata.is_dir().then_some(path));
        }
    }
    found.sort();
    found
}

/// Empties the trash as the agent does.
fn empty_trash(server: &Server) {
    for entry in Trash::new(&server.folders).entries().unwrap() {
        fairlead_base::tree::remove(&entry).unwrap();
        assert!(!entry.exists(), "{}", entry.display());
    }
}

async fn writes_beside_its_code(copies: bool) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::with_files(copies).await;
    let folder = server.folders.releases().join("rel_1");
    let instances = server.folders.instances();
    let path = folder.to_str().unwrap().to_owned();
    let mut spec = live(release(1, &["leaves", &path]));
    spec.instances = 2;
    if let Some(release) = &mut spec.live {
        release.toolchains = vec!["node@24.4.1".into()];
    }
    server.desire([spec.clone()]);
    let statuses = server.healthy(2).await;
    let built = tree(&folder);
    for status in &statuses {
        let report = get(address(status)).await;
        let own =
            "path=/app/.fairlead/bin:/app/.venv/bin:/app/node_modules/.bin:/runtimes/node@24.4.1/bin:/usr/bin:/bin";
        assert!(report.starts_with("folder=/app found=.venv,code,old "), "nothing of the other one: {report}");
        assert!(report.contains(own), "{report}");
        assert!(report.contains("venv=/app/.venv deno=/app/.fairlead/deno unbuffered=1"), "{report}");
        assert!(report.ends_with("attempts=13,13,13"), "the release's own folder is out of reach: {report}");
        let layer = instances.join(status.id.as_str()).join("layer");
        assert_eq!(fs::metadata(&layer).unwrap().mode() & 0o777, 0o700);
        let upper = layer.join(if copies { "app" } else { "upper" });
        assert_eq!(fs::read_to_string(upper.join("own")).unwrap(), "mine");
        assert_eq!(fs::metadata(upper.join("own")).unwrap().uid(), fs::metadata(&upper).unwrap().uid());
    }
    assert_eq!(tree(&folder), built);
    assert_eq!(built.iter().filter(|entry| entry.3.as_deref() == Some("built")).count(), 2);

    // Instances keep their layers over an agent restart.
    let isolation = Isolation::detect(&server.folders, shared());
    let isolation = if copies { isolation.with_copies() } else { isolation };
    (server.runtime, server.output) = start_isolated(&server.folders, isolation, Arc::new(Files)).await;
    server.desire([spec]);
    server.healthy(2).await;
    assert_eq!(statuses.iter().filter(|status| instances.join(status.id.as_str()).join("layer").exists()).count(), 2);
    assert_eq!(tree(&folder), built);
    server.desire([]);
    server.until("the end of all instances", |view| view.instances.is_empty().then_some(())).await;
    for status in &statuses {
        assert!(!instances.join(status.id.as_str()).exists(), "the layer is gone with its instance");
    }
    empty_trash(&server);
    server.end().await;
}

#[tokio::test]
async fn an_instance_writes_beside_its_code_and_its_release_stays_as_it_was_built() {
    writes_beside_its_code(false).await;
}

#[tokio::test]
async fn where_no_overlay_can_be_mounted_an_instance_gets_a_copy_of_its_release() {
    writes_beside_its_code(true).await;
}

#[tokio::test]
async fn a_rollback_and_a_restart_find_the_release_as_it_was_built() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::with_files(false).await;
    for number in [1, 2, 1] {
        // Each of them changes and removes files, and would fail if an earlier one had done so in the release.
        server.desire([live(release(number, &["leaves"]))]);
        let expected = format!("rel_{number}");
        let status = server
            .until("the release", |view| {
                let [status] = view.instances.as_slice() else { return None };
                (status.state == InstanceState::Healthy && status.release.as_str() == expected).then(|| status.clone())
            })
            .await;
        assert!(get(address(&status)).await.contains("found=.venv,code,old "));
    }
    server.end().await;
}

#[tokio::test]
async fn a_health_command_sees_what_its_instance_wrote() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::with_files(false).await;
    let mut release = release(1, &["leaves"]);
    release.readiness_check.command =
        [env!("CARGO_BIN_EXE_fairlead-test-app"), "checks-files"].map(str::to_owned).into();
    server.desire([live(release)]);
    server.healthy(1).await;
    server.end().await;
}
