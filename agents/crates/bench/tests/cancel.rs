//! Tests that a cancelled run ends its load before it returns, whatever it does.
#![cfg(test)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, MeasurementTurns, Targets, run_plan};
use fairlead_model::{BenchmarkPlan, BenchmarkProtocol, BenchmarkRow, BenchmarkScenario, BenchmarkTarget};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use support::plan;

const CLIENTS: u32 = 6;
/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// Requests and connections of an app, before and after the cancellation has returned.
#[derive(Debug, Default)]
struct Load {
    requests: AtomicU64,
    open: AtomicU64,
    has_ended: AtomicBool,
    late: AtomicU64,
}

/// Starts an app. It leaves requests without a response from the `answers`th on.
async fn app(load: Arc<Load>, answers: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let load = load.clone();
            load.open.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                while stream.read(&mut request).await.is_ok_and(|length| length > 0) {
                    let number = load.requests.fetch_add(1, Ordering::SeqCst);
                    load.late.fetch_add(load.has_ended.load(Ordering::SeqCst).into(), Ordering::SeqCst);
                    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                    if number < answers && stream.write_all(response).await.is_err() {
                        break;
                    }
                }
                load.open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    address
}

/// Cancels the run after `after` requests. Each client may have had one request on its way; nothing comes later.
async fn cancel_ends_the_load(plan: BenchmarkPlan, after: u64, answers: u64) {
    let load = Arc::new(Load::default());
    let address = app(load.clone(), answers).await;
    let (targets, turns, cancel) = (
        Targets::of_app(None, Some(address.into()), Vec::new()),
        MeasurementTurns::default(),
        CancellationToken::new(),
    );
    let cancelled = async {
        while load.requests.load(Ordering::SeqCst) < after {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let mut observer = |row: &BenchmarkRow| panic!("no row ends: {row:?}");
    let (ended, ()) = tokio::join!(run_plan(&plan, &targets, &turns, cancel.clone(), &mut observer), cancelled);
    assert!(matches!(ended, Err(BenchError::Cancelled)), "{ended:?}");
    load.has_ended.store(true, Ordering::SeqCst);
    let most = u64::from(CLIENTS);
    while load.open.load(Ordering::SeqCst) > 0 && load.late.load(Ordering::SeqCst) <= most {
        tokio::task::yield_now().await;
    }
    assert!(load.late.load(Ordering::SeqCst) <= most, "{load:?}");
}

fn long_plan(change: impl FnOnce(&mut BenchmarkPlan)) -> BenchmarkPlan {
    let mut plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, CLIENTS);
    (plan.warmup, plan.duration) = (Duration::ZERO, LONG);
    change(&mut plan);
    plan
}

#[tokio::test]
async fn in_the_measured_time() {
    cancel_ends_the_load(long_plan(|_| ()), 100, u64::MAX).await;
}

#[tokio::test]
async fn in_the_warm_up() {
    cancel_ends_the_load(long_plan(|plan| plan.warmup = LONG), 100, u64::MAX).await;
}

#[tokio::test]
async fn while_some_clients_have_no_response_yet() {
    cancel_ends_the_load(long_plan(|_| ()), u64::from(CLIENTS), 2).await;
}

#[tokio::test]
async fn on_fresh_connections() {
    cancel_ends_the_load(long_plan(|plan| plan.fresh_connections = true), 100, u64::MAX).await;
}

#[tokio::test]
async fn in_an_open_loop() {
    cancel_ends_the_load(long_plan(|plan| plan.rate = Some(500.0)), 100, u64::MAX).await;
}

#[tokio::test]
async fn before_a_burst() {
    let burst = |plan: &mut BenchmarkPlan| (plan.scenario, plan.rate) = (BenchmarkScenario::Burst, Some(500.0));
    cancel_ends_the_load(long_plan(burst), 100, u64::MAX).await;
}
