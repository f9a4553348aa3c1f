//! `proxy --config`: the data plane without a control plane. A file takes the place of desired state; the proxy itself is the
//! same process under the same keeper, so that it is restarted, upgraded and drained as under `run`.

mod config;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fairlead_base::shutdown;
use fairlead_proxy::{DrainOrder, KeeperOptions, ProxyKeeper};
use tokio::signal::unix::{SignalKind, signal};

use crate::command::Outcome;
use crate::metrics::Metrics;
use config::Config;
use watch::{Looked, Watch};

/// How long requests in flight may take when the proxy is told to end.
const EXIT_DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads and checks the file; serves nothing.
pub(crate) fn check(path: &Path) -> Outcome {
    let loaded = Config::read(path)?.load()?;
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

/// Serves until SIGTERM or SIGINT. SIGHUP, or a change of a file, makes it read its configuration
/// again; SIGUSR2 starts the program anew as proxy, as it is on disk now, under its clients.
pub(crate) fn serve(path: PathBuf) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(keep_serving(path))
}

async fn keep_serving(path: PathBuf) -> Outcome {
    let shutdown = shutdown::on_signal()?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut upgrade = signal(SignalKind::user_defined2())?;
    let config = Config::read(&path)?;
    // Nothing listens before all of the file is known to be good.
    let first = config.load()?;
    fairlead_proxy::check(&first.snapshot)?;
    let listen = config.listen.clone();
    // Before there is a proxy, which would serve on alone when this address is taken.
    let metrics = Metrics::default();
    if let Some(address) = listen.metrics {
        let address = metrics.listen(address).await?;
        tracing::info!(%address, "metrics");
    }
    let (keeper, mut stats) = ProxyKeeper::start(KeeperOptions {
        program: std::env::current_exe()?,
        control_path: listen.control_path(&path),
        https: listen.https.clone(),
        http: listen.http.clone(),
        workers: listen.cores(),
        retirement: DrainOrder::default(),
    })
    .await?;
    tokio::spawn(async move {
        while let Some(stats) = stats.recv().await {
            metrics.add(&stats);
        }
    });
    keeper.apply(first.snapshot).await?;
    tracing::info!(https = ?keeper.https_address(), http = ?keeper.http_address(), "serving by {}", path.display());
    let mut watch = Watch::new(first.files);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            _ = hang_up.recv() => {}
            _ = upgrade.recv() => {
                // What became of it is in the log.
                keeper.upgrade().await.ok();
                continue;
            }
            () = watch.changed() => {}
        }
        let again = watch.again();
        watch = match reload(&path, &keeper, &listen).await {
            Ok(files) => Watch::new(files),
            Err(reason) => {
                tracing::error!("{reason}; the configuration before serves on");
                again
            }
        };
    }
    keeper.stop(EXIT_DRAIN_TIMEOUT).await;
    Ok(ExitCode::SUCCESS)
}

/// Tells the files that the new configuration was made of, as they were before they were read.
async fn reload(path: &Path, keeper: &ProxyKeeper, listen: &config::Listen) -> Result<Vec<Looked>, String> {
    let config = Config::read(path).map_err(|error| error.to_string())?;
    let loaded = config.load().map_err(|error| error.to_string())?;
    keeper.apply(loaded.snapshot).await.map_err(|reason| format!("{}: {reason}", path.display()))?;
    if config.listen != *listen {
        tracing::warn!("[listen] has changed: it is used from the next start on");
    }
    tracing::info!("configuration applied");
    Ok(loaded.files)
}
