//! `run`: starts link, runtime, builds, benchmarks, proxy and samples, and stops them in order. The reconciler decides; this file
//! only composes.

mod app_logs;
mod autoscale_input;
mod benchmarks;
mod builds;
mod certificate_orders;
mod certificates;
mod disk;
mod engine;
mod frame;
pub(crate) mod images;
mod inspections;
mod local_state;
mod logs;
mod network;
mod reconciler;
mod release;
mod router;
mod routes;
mod samples;
mod trash;
mod upgrades;
mod upload_retry;
mod volume_tasks;

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use fairlead_base::{Folders, StateFileError, Trash, config, shutdown};
use fairlead_build::{BuildOptions, Store, Toolchains};
use fairlead_engine::Engine;
use fairlead_lab::LabSetup;
use fairlead_link::{AcceptedState, AgentConfig, Link, LinkOptions, SpoolLimits};
use fairlead_model::{DeploymentId, DesiredState, Uninstall};
use fairlead_network::AppNetwork;
use fairlead_proxy::{DrainOptions, ProxySupervisor, SupervisorOptions};
use fairlead_runtime::{Identities, Isolation, LayerBounds, Runtime, RuntimeOptions, RuntimeOutput};
use fairlead_secret::{SealingKey, SealingKeyError};
use fairlead_tls::LocalAuthority;
use rustix::fs::{FlockOperation, flock};
use tokio::sync::{mpsc, watch};

use crate::cli::{Network, RunArgs};
use crate::command::{CommandResult, exec_uninstall};
use crate::host_info;
use crate::metrics::Metrics;
use crate::upgrade::{self, ReleaseKeys};

use app_logs::AppLogs;
use benchmarks::{AppSleeper, BenchmarkGates, Benchmarks};
use builds::Builds;
use certificate_orders::CertificateOrders;
use certificates::Certificates;
use disk::DiskMonitor;
use inspections::{Inspections, cleared_after};
pub(crate) use local_state::LocalState;
use logs::LogCollector;
use reconciler::{Reconciler, Sources};
use release::ArtifactReleases;
use router::{RouteVariation, Router, ServedTable};
use samples::Samples;
use trash::TrashEmptier;
use upgrades::Upgrades;
use volume_tasks::{VolumeServices, VolumeTasks};

/// Ports of instances; below the kernel's default range for outgoing connections.
const INSTANCE_PORTS: std::ops::RangeInclusive<u16> = 20_000..=29_999;
/// Maximum number of proxy cores; more would split upstream connections and load statistics into parts that are too small.
const WORKERS_MAX: usize = 64;
/// Capacity of the queue of lines that wait for their numbers.
const LOG_QUEUE: usize = 8_192;
/// Drain timeout with `--stop-apps-on-exit`.
const EXIT_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for the link to save its queue to disk.
const LINK_STOP_TIMEOUT: Duration = Duration::from_secs(5);
const PATH_FALLBACK: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs on one thread and one event loop: `run` decides rarely and must cost next to nothing when idle.
pub(crate) fn main(args: RunArgs) -> CommandResult {
    let folders = Folders::new(&args.data)?;
    if !folders.config().exists() {
        return Err(format!(
            "{} belongs to no control plane yet: make this machine a server with `fairlead-agent enrol`",
            folders.root().display()
        )
        .into());
    }
    folders.create()?;
    let lock = lock(&folders)?;
    upgrade::exec_selected(&folders);
    end_on_panic();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build()?;
    let ended = runtime.block_on(run(args, folders.clone()));
    // A running unpack must not delay the exit; it starts anew after a restart.
    runtime.shutdown_timeout(Duration::from_secs(1));
    match ended? {
        ExitReason::Stopped => Ok(ExitCode::SUCCESS),
        ExitReason::HandOver => {
            drop(lock);
            Err(upgrade::exec_installed(&folders))
        }
        ExitReason::Uninstall(order) => {
            drop(lock);
            exec_uninstall(&folders, order)
        }
    }
}

/// Reason for the end of `run`.
enum ExitReason {
    /// A signal asked it to stop.
    Stopped,
    /// Another program takes over the process; apps and proxy keep running.
    HandOver,
    /// The control plane asked the agent to remove itself.
    Uninstall(Uninstall),
}

async fn run(args: RunArgs, folders: Folders) -> Result<ExitReason, Box<dyn Error>> {
    let shutdown = shutdown::on_signal()?;
    let config: AgentConfig = config::read(&folders.config())?;
    let (control_url, ca_file) = (config.control_url.clone(), config.control_ca_file.clone());
    folders.let_proxy_enter_control()?;
    let program = std::env::current_exe()?;
    let ports = network::public_ports(&args.listen);
    let isolation = Isolation::detect(
        &folders,
        match args.network {
            Network::Own => AppNetwork::open(&folders, &program, &ports),
            Network::Shared => Err("the agent was started with --network shared".to_owned()),
        },
    );
    // Without root, each shim enforces its own firewall rules, which no other user can change.
    let kept_by_shims = isolation.has_networks() && isolation.network().is_none();
    let (network_end, network_report) =
        watch::channel(kept_by_shims.then(fairlead_wire::agent::NetworkStatus::default));
    let firewall = isolation
        .network()
        .map(|network| tokio::spawn(network::watch_firewall(network.firewall().clone(), ports, network_end)));
    let authority = Arc::new(LocalAuthority::open_or_create(&folders.authority())?);
    let host = host_info::read(&folders, &isolation)?;
    let (host_memory_bytes, build_groups) = (host.memory_bytes, isolation.groups().clone());
    let build_network = isolation.network().map(|network| (network.clone(), args.builds_reach_private_networks));
    for off in &host.isolation_off {
        tracing::warn!("isolation is reduced: {off}");
    }
    // Enrolment creates the key too, but agents of older versions have none yet.
    let sealing = Arc::new(open_sealing_key(&folders)?);
    let engine = Engine::usual();
    let (capabilities, engine_watch) = engine::watch(engine.clone(), upgrade::is_possible()).await;
    let (link, ends) = Link::open(LinkOptions {
        capabilities,
        config,
        folders: folders.clone(),
        agent_version: crate::VERSION.into(),
        host,
        sealing_recipient: sealing.recipient(),
        spool: SpoolLimits::default(),
    })?;

    let fetching = fairlead_fetch::FetchClient::new(ca_file.as_deref())?;
    let environment = fairlead_build::inherited_environment();
    let mirrors = args.mirrors.or_of_variables(|name| std::env::var(name).ok());
    let toolchains = Toolchains::new(folders.toolchains(), program.clone(), fetching.clone(), mirrors);
    let store = Store::new(fetching, &control_url, ends.transfer_token.clone());
    let upload_retry = tokio::spawn(upload_retry::run(folders.artifacts(), store.clone()));
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from(PATH_FALLBACK));
    let identities = Arc::new(Identities::open(&folders)?);
    let trash = Trash::new(&folders);
    let turns = fairlead_bench::MeasurementTurns::default();
    let (apps, output) = Runtime::start(RuntimeOptions {
        folders: folders.clone(),
        trash: trash.clone(),
        program: program.clone(),
        ports: INSTANCE_PORTS,
        path: path.clone(),
        isolation,
        layer_bounds: LayerBounds::default(),
        identities: identities.clone(),
        sealing: sealing.clone(),
        gates: Arc::new(BenchmarkGates { turns: turns.clone() }),
        prepare: Arc::new(ArtifactReleases {
            folders: folders.clone(),
            toolchains: toolchains.clone(),
            store: store.clone(),
            engine: engine.clone(),
        }),
        engine: engine.clone(),
    })
    .await?;
    let RuntimeOutput { view, log } = output;
    // Applies the saved state before anything else runs: the runtime's view without apps would remove their routes.
    let saved = ends.desired.borrow().state.clone();
    if let Some(state) = &saved {
        apps.apply(state.apps.clone());
    }
    let (agent_end, agent) = watch::channel(None);
    let (busy_end, busy) = watch::channel(true);
    let hand_over = fairlead_base::CancellationToken::new();
    let upgrades = Upgrades {
        folders: folders.clone(),
        store: store.clone(),
        desired: ends.desired.clone(),
        connected: ends.connected.clone(),
        busy,
        report: agent_end,
        proof: Duration::from_secs(args.proof_seconds),
        keys: ReleaseKeys::pinned(),
        hand_over: hand_over.clone(),
    };
    let (supervisor, stats) = ProxySupervisor::start(SupervisorOptions {
        program: program.clone(),
        control_path: folders.proxy_socket(),
        https: args.listen.https,
        http: args.listen.http,
        workers: std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX),
        upgrade_drain: DrainOptions::default(),
    })
    .await?;
    let wakes = supervisor.wakes();
    let supervisor = Arc::new(supervisor);
    let metrics = Metrics::default();
    if let Some(address) = args.metrics {
        let address = metrics.listen(address).await?;
        tracing::info!(%address, "metrics");
    }

    let (lines, collected) = mpsc::channel(LOG_QUEUE);
    let collector = LogCollector::open(folders.log_lines())?.run(collected, ends.pushes.clone());
    let collector = tokio::spawn(collector);
    let options = BuildOptions {
        builds: folders.builds(),
        artifacts: folders.artifacts(),
        caches: folders.caches(),
        trash: trash.clone(),
        user: None,
        // Runs this same program even if its file was replaced.
        program: "/proc/self/exe".into(),
        path,
        environment,
        limits: fairlead_build::usual_limits(host_memory_bytes),
        cgroups: build_groups,
        network: build_network,
        toolchains: Some(toolchains.clone()),
        engine: Some(engine.clone()),
        image_owner: fairlead_runtime::owner(&folders),
        store: Some(store.clone()),
        sealing: Some(sealing.clone()),
        redactor: None,
    };
    let (clearing, cleared) = cleared_after(clear_abandoned_builds(options.clone(), saved.clone()));
    let inspections = Inspections::new(options.clone(), identities.clone(), ends.inspections, cleared);
    let inspections = tokio::spawn(inspections.run(ends.inspect_requests));
    let certificates = Certificates::new(authority.clone(), folders.clone(), sealing.clone());
    let (orders, order_events) = CertificateOrders::new(sealing.clone());
    let (volume_tasks, volume_events) = VolumeTasks::new(VolumeServices {
        folders: folders.clone(),
        trash: trash.clone(),
        store,
        identities: identities.clone(),
        runtime: apps.clone(),
        view: view.clone(),
    });
    let (builds, build_events) = Builds::new(options, identities, sealing, lines.clone(), clearing);
    let folders_of_proxies = args.bench_path.iter().flat_map(std::env::split_paths).collect();
    let lab = LabSetup { agent: "/proc/self/exe".into(), folders: folders_of_proxies };
    let route_variation = Arc::new(RouteVariation::default());
    let app_logs = tokio::spawn(AppLogs::new(folders.clone(), ends.log_answers).run(ends.log_requests));
    let (disk, disk_report) =
        DiskMonitor::new(folders.clone(), trash.clone(), ends.desired.clone(), engine, toolchains);
    let disk = tokio::spawn(disk.run());
    let (routed_end, routed) = watch::channel(ServedTable::default());
    let sleeper = AppSleeper { runtime: apps.clone(), view: view.clone(), routed: routed.clone() };
    let (benchmarks, benchmark_events) = Benchmarks::new(turns, lab, sleeper, ends.state_verified);
    let router = Router {
        supervisor: supervisor.clone(),
        runtime: apps.clone(),
        desired: ends.desired.clone(),
        view: view.clone(),
        variation: route_variation.clone(),
        routed: routed_end,
        certificates,
        access_log: folders.logs().join("access.log"),
        control_sockets: folders.control(),
    };
    let router = tokio::spawn(router.run());
    // Starts only here: an agent on trial must first own a proxy and all apps.
    let upgrades = tokio::spawn(upgrades.run(program.clone()));
    let uninstall = tokio::spawn(wait_for_uninstall(ends.desired.clone(), hand_over.clone()));
    let link_shutdown = fairlead_base::CancellationToken::new();
    let mut link = tokio::spawn(link.run(link_shutdown.clone()));
    let emptier = tokio::spawn(TrashEmptier::new(trash.clone(), program, metrics.clone()).run());

    let reconciler = Reconciler {
        runtime: apps.clone(),
        supervisor: supervisor.clone(),
        authority,
        local: LocalState::open(folders.local_state())?,
        builds,
        benchmarks,
        route_variation,
        route_changes: None,
        orders,
        volume_tasks,
        samples: Samples::open(&folders)?,
        metrics,
        lines,
        pushes: ends.pushes,
        report: ends.report,
        busy: busy_end,
        applied: saved,
        folders: folders.clone(),
        trash,
    };
    let requested = ends.desired.clone();
    let sources = Sources {
        desired: ends.desired,
        view,
        routed,
        stats,
        wakes,
        runtime_log: log,
        build_events,
        benchmark_events,
        order_events,
        volume_events,
        disk: disk_report,
        network: network_report,
        agent,
    };
    reconciler.run(sources, shutdown.clone(), hand_over.clone()).await;
    let hands_over = hand_over.is_cancelled() && !shutdown.is_cancelled();

    upload_retry.abort();
    if let Some(firewall) = firewall {
        firewall.abort();
    }
    upgrades.abort();
    uninstall.abort();
    app_logs.abort();
    engine_watch.abort();
    disk.abort();
    emptier.abort();
    router.abort();
    if let Err(error) = router.await
        && !error.is_cancelled()
    {
        tracing::error!(%error, "the router did not end in order");
    }
    if args.stop_apps_on_exit && !hands_over {
        // The other references were in the reconciler and the router.
        if let Some(supervisor) = Arc::into_inner(supervisor) {
            supervisor.stop(EXIT_DRAIN_TIMEOUT).await;
        }
        apps.stop_all().await;
    }
    drop(apps);
    // The log collector stops before the link, which then saves its last lines to disk.
    stopped("log collector", tokio::time::timeout(LINK_STOP_TIMEOUT, collector).await);
    link_shutdown.cancel();
    stopped("link", tokio::time::timeout(LINK_STOP_TIMEOUT, &mut link).await);
    // The end of the link cancels inspections.
    stopped("inspections", tokio::time::timeout(LINK_STOP_TIMEOUT, inspections).await);
    // A stop signal during shutdown wins: the next program would never receive it.
    let hands_over = hands_over && !shutdown.is_cancelled();
    let order = requested.borrow().state.as_ref().and_then(|state| state.uninstall);
    tracing::info!(hands_over, uninstall = order.is_some(), "stopped");
    Ok(match order {
        _ if !hands_over => ExitReason::Stopped,
        Some(order) => ExitReason::Uninstall(order),
        None => ExitReason::HandOver,
    })
}

/// Ends `run` once the control plane asks the agent to remove itself.
async fn wait_for_uninstall(mut desired: watch::Receiver<AcceptedState>, hand_over: fairlead_base::CancellationToken) {
    let requested = |accepted: &AcceptedState| accepted.state.as_ref().is_some_and(|state| state.uninstall.is_some());
    // The channel is closed only while `run` ends.
    if desired.wait_for(requested).await.is_ok() {
        hand_over.cancel();
    }
}

/// Ends unwanted builds that a killed `run` left. The first build waits for it, since it identifies builds by their folders; the
/// link does not wait.
async fn clear_abandoned_builds(options: BuildOptions, saved: Option<Arc<DesiredState>>) {
    let keep: Vec<DeploymentId> = saved.map(|state| state.builds.keys().cloned().collect()).unwrap_or_default();
    let cleared = tokio::task::spawn_blocking(move || fairlead_build::clear_abandoned(&options, &keep)).await;
    if let Err(error) = cleared.unwrap_or_else(|error| Err(io::Error::other(error))) {
        tracing::warn!(%error, "what former builds left can't be cleared");
    }
}

/// Opens the key that secrets are sealed to, or creates it.
pub(crate) fn open_sealing_key(folders: &Folders) -> Result<SealingKey, StateFileError> {
    let path = folders.sealing_key();
    SealingKey::open_or_create(&path).map_err(|error| match error {
        SealingKeyError::Io(source) => StateFileError::Io { path, source },
        error => StateFileError::damaged(&path, error),
    })
}

/// Exits the process on any panic: without one of its tasks, `run` would seem alive and do half its work. The restarted `run`
/// adopts running apps and the proxy, which do not notice.
fn end_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::exit(101);
    }));
}

/// Locks the data folder. A second `run` of the same folder fails, as both would manage the same apps.
pub(crate) fn lock(folders: &Folders) -> Result<File, Box<dyn Error>> {
    let file = File::create(folders.run_lock())?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            Err(format!("an agent runs already with {}", folders.root().display()).into())
        }
        Err(error) => Err(io::Error::from(error).into()),
    }
}

fn stopped<T>(what: &str, ended: Result<Result<T, tokio::task::JoinError>, tokio::time::error::Elapsed>) {
    match ended {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::error!(%error, "{what} did not end in order"),
        Err(_) => tracing::warn!("{what} took too long to end"),
    }
}

#[cfg(test)]
fn empty_state() -> fairlead_model::DesiredState {
    fairlead_model::DesiredState {
        version: fairlead_model::Version { epoch: 1, number: 1 },
        server: fairlead_model::ServerId::parse("srv_1").unwrap(),
        requires: Vec::new(),
        apps: std::collections::BTreeMap::new(),
        routes: Vec::new(),
        builds: std::collections::BTreeMap::new(),
        benchmarks: Vec::new(),
        proxy: Default::default(),
        kept_artifacts: Default::default(),
        deleted_volumes: Vec::new(),
        agent: None,
        certificates: Vec::new(),
        volume_tasks: Vec::new(),
        uninstall: None,
    }
}
