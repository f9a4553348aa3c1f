//! Bound of temporary files: an instance that exceeds it is stopped and starts with a fresh layer, and its neighbours go on.

use super::*;

impl Server {
    /// Lets instances write 16 MiB, and counts continuously.
    async fn with_small_layers(copies: bool) -> Self {
        let mut server = Self::new().await;
        let isolation = Isolation::detect(&server.folders, shared());
        let isolation = if copies { isolation.with_copies() } else { isolation };
        let layer_bounds = LayerBounds { bytes_max: 16 << 20, pause: Duration::from_millis(50) };
        let engine = Engine::at(Path::new("/nowhere"));
        let options = options(&server.folders, shared(), Arc::new(EmptyFolders), engine);
        let started = Runtime::start(RuntimeOptions { isolation, layer_bounds, ..options }).await;
        (server.runtime, server.output) = started.unwrap();
        server
    }
}

async fn starts_again_with_a_fresh_layer(copies: bool, how: &str) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::with_small_layers(copies).await;
    let neighbour = AppSpec { key: key("app_b"), ..live(release(2, &["serve", "words"])) };
    server.desire([live(release(1, &["fills", how])), neighbour]);
    let (own, other) = server
        .until("the second start", |view| {
            let of = |app: &str| {
                let found = view.instances.iter().find(|status| status.key == key(app));
                found.filter(|status| status.state == InstanceState::Healthy).cloned()
            };
            of("app_a").filter(|status| status.restarts == 1).zip(of("app_b"))
        })
        .await;
    assert_eq!(other.restarts, 0);
    assert_eq!(get(address(&other)).await, "words");
    let folder = server.folders.instances().join(own.id.as_str());
    let size = fairlead_base::tree::size(&folder, |_| false).unwrap();
    assert!(size.bytes < 16 << 20, "what it wrote is gone: {size:?}");
    server.end().await;
}

#[tokio::test]
async fn an_instance_that_writes_too_much_starts_again_with_a_fresh_layer_and_its_neighbour_goes_on() {
    starts_again_with_a_fresh_layer(false, "app").await;
}

#[tokio::test]
async fn files_in_a_copied_layer_count() {
    starts_again_with_a_fresh_layer(true, "app").await;
}

#[tokio::test]
async fn files_in_tmp_count() {
    starts_again_with_a_fresh_layer(false, "tmp").await;
}

#[tokio::test]
async fn a_file_without_a_name_counts_while_its_app_holds_it() {
    let isolation_has_groups = fairlead_runtime::Cgroups::detect("fairlead-test-layers").off_reason().is_none();
    if isolation_has_groups {
        starts_again_with_a_fresh_layer(false, "unlinked").await;
    }
}

#[tokio::test]
async fn a_deployment_that_writes_too_much_fails_and_names_the_folder_and_the_next_step() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut server = Server::with_small_layers(false).await;
    let spec = AppSpec { live: None, ..live(release(1, &["serve"])) };
    server.desire([with_candidate(spec, release(1, &["fills", "again"]), PATIENCE)]);
    let status = server.finished("dep_1").await;
    let failure = status.failure.unwrap();
    assert_eq!((status.state, failure.code.as_str()), (WorkState::Failed, "rollout.files_too_large"));
    for words in ["more than the 16 MiB of an instance", "/app/uploads", "a volume below $FAIRLEAD_VOLUMES"] {
        assert!(failure.message.contains(words), "{}", failure.message);
    }
    server.end().await;
}
