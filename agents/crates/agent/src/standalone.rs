//! Standalone mode (`proxy --config`): the data plane without a control plane, configured by a file. The same proxy supervisor as
//! under `run` restarts, upgrades and drains the proxy.

mod config;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fairlead_base::shutdown;
use fairlead_proxy::{DrainOptions, ProxySupervisor, SupervisorOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::command::CommandResult;
use crate::metrics::Metrics;
use config::StandaloneConfig;
use watch::{FileWatcher, WatchedFile};

/// Drain timeout when the proxy is stopped.
const EXIT_DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads and checks the file; serves nothing.
pub(crate) fn check(path: &Path) -> CommandResult {
    let loaded = StandaloneConfig::read(path)?.load()?;
    let warnings = fairlead_proxy::check(&loaded.snapshot)?;
    println!(
        "{} is good: {} routes, {} apps",
        path.display(),
        loaded.snapshot.routes.len(),
        loaded.snapshot.apps.len()
    );
    warnings.iter().for_each(|warning| println!("warning: {warning}"));
    Ok(ExitCode::SUCCESS)
}

/// Serves until SIGTERM or SIGINT. SIGHUP or a changed file reloads the configuration. SIGUSR2 hands over to a new proxy process
/// of the program on disk, without losing clients.
pub(crate) fn serve(path: PathBuf) -> CommandResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(keep_serving(path))
}

async fn keep_serving(path: PathBuf) -> CommandResult {
    let shutdown = shutdown::on_signal()?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut upgrade = signal(SignalKind::user_defined2())?;
    let config = StandaloneConfig::read(&path)?;
    // Nothing listens before the whole configuration is valid.
    let first = config.load()?;
    fairlead_proxy::check(&first.snapshot)?;
    let listen = config.listen.clone();
    // Binds before the proxy starts, since a started proxy would keep serving if this address is taken.
    let metrics = Metrics::default();
    if let Some(address) = listen.metrics {
        let address = metrics.listen(address).await?;
        tracing::info!(%address, "metrics");
    }
    let (supervisor, mut stats) = ProxySupervisor::start(SupervisorOptions {
        program: std::env::current_exe()?,
        control_path: listen.control_path(&path),
        https: listen.https.clone(),
        http: listen.http.clone(),
        workers: listen.cores(),
        upgrade_drain: DrainOptions::default(),
    })
    .await?;
    tokio::spawn(async move {
        while let Some(stats) = stats.recv().await {
            metrics.add(&stats);
        }
    });
    supervisor.apply(first.snapshot).await?;
    tracing::info!(https = ?supervisor.https_address(), http = ?supervisor.http_address(), "serving by {}", path.display());
    let mut watch = FileWatcher::new(first.files);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            _ = hang_up.recv() => {}
            _ = upgrade.recv() => {
                // The supervisor logs the result.
                supervisor.upgrade().await.ok();
                continue;
            }
            () = watch.changed() => {}
        }
        let current = watch.current();
        watch = match reload(&path, &supervisor, &listen).await {
            Ok(files) => FileWatcher::new(files),
            Err(reason) => {
                tracing::error!("{reason}; the configuration before serves on");
                current
            }
        };
    }
    supervisor.stop(EXIT_DRAIN_TIMEOUT).await;
    Ok(ExitCode::SUCCESS)
}

/// Applies the changed configuration. Returns the files that it was read from, as they were before the read.
async fn reload(
    path: &Path,
    supervisor: &ProxySupervisor,
    listen: &config::ListenConfig,
) -> Result<Vec<WatchedFile>, String> {
    let config = StandaloneConfig::read(path).map_err(|error| error.to_string())?;
    let loaded = config.load().map_err(|error| error.to_string())?;
    supervisor.apply(loaded.snapshot).await.map_err(|reason| format!("{}: {reason}", path.display()))?;
    if config.listen != *listen {
        tracing::warn!("[listen] has changed: it is used from the next start on");
    }
    tracing::info!("configuration applied");
    Ok(loaded.files)
}
