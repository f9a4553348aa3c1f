//! Tests of benchmark gates on real sockets: the verdict, the turn among other measurements, and the end of a load.
#![cfg(test)]

mod support;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairlead_base::CancellationToken;
use fairlead_bench::{GateError, MeasurementTurns, Targets, run_gate, run_plan};
use fairlead_model::{
    BenchmarkGate, BenchmarkMetric, BenchmarkProtocol, BenchmarkRow, BenchmarkTarget, BenchmarkThreshold, GateProgress,
    NetworkPath, ThresholdBound,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use support::plan;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const BROKEN: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";

/// Starts an app that gives every request the same response; returns its open connections and the requested hosts too.
async fn app(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicU64>, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (open, head) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(String::new())));
    let (opened, heard) = (open.clone(), head.clone());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (opened, heard) = (opened.clone(), heard.clone());
            opened.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut request).await {
                    *heard.lock().unwrap() = String::from_utf8_lossy(&request[..length]).into_owned();
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
                opened.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    (address, open, head)
}

fn gate(thresholds: Vec<BenchmarkThreshold>) -> BenchmarkGate {
    BenchmarkGate {
        host: support::HOST.to_owned(),
        path: "/up?deep=1".to_owned(),
        concurrency: 4,
        rounds: 2,
        duration: Duration::from_millis(150),
        warmup: Duration::from_millis(20),
        thresholds,
    }
}

fn success() -> BenchmarkThreshold {
    BenchmarkThreshold {
        metric: BenchmarkMetric::SuccessPercent,
        bound: ThresholdBound::Min,
        thousandths: 100_000,
        relative: false,
    }
}

fn impossible() -> BenchmarkThreshold {
    BenchmarkThreshold {
        metric: BenchmarkMetric::RequestsPerSecond,
        bound: ThresholdBound::Min,
        thousandths: 1_000_000_000_000,
        relative: false,
    }
}

#[tokio::test]
async fn rounds_are_reported_and_thresholds_decide() {
    let (address, _, head) = app(OK).await;
    let rows = Mutex::new(Vec::new());
    let turns = MeasurementTurns::default();
    let on_progress = |progress| match progress {
        GateProgress::New(row) => rows.lock().unwrap().push(row),
        other => panic!("{other:?}"),
    };
    run_gate(&gate(vec![success()]), &address.into(), None, &turns, on_progress).await.unwrap();
    let rows = rows.into_inner().unwrap();
    assert_eq!(rows.iter().map(|row| row.round).collect::<Vec<_>>(), [0, 1]);
    for row in &rows {
        assert!(row.requests > 0 && row.errors == 0);
        assert_eq!((row.target, row.concurrency), (BenchmarkTarget::Direct, 4));
        assert_eq!(row.network_path, Some(NetworkPath::SharedNetwork));
    }
    let head = head.lock().unwrap().to_lowercase();
    assert!(head.starts_with("get /up?deep=1 "), "{head}");
    assert!(head.contains(&format!("host: {}", support::HOST)), "{head}");

    let error =
        run_gate(&gate(vec![success(), impossible()]), &address.into(), None, &turns, |_| {}).await.unwrap_err();
    let failure = error.failure();
    assert_eq!(failure.code, "benchmark.threshold_missed");
    assert!(failure.message.contains("at least 1000000000 requests/s"), "{}", failure.message);
}

#[tokio::test]
async fn an_app_without_a_successful_response_has_not_passed() {
    let (address, ..) = app(BROKEN).await;
    let turns = MeasurementTurns::default();
    let error = run_gate(&gate(vec![success()]), &address.into(), None, &turns, |_| {}).await.unwrap_err();
    assert!(matches!(error, GateError::NotMeasured(_)), "{error}");
    assert!(error.to_string().contains("it answered 500"), "{error}");
    assert_eq!(error.failure().code, "benchmark.gate_failed");
}

#[tokio::test]
async fn a_gate_and_a_benchmark_never_measure_at_the_same_time() {
    let (address, ..) = app(OK).await;
    let turns = MeasurementTurns::default();
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 2);
    let order = Mutex::new(Vec::new());
    let note = |name: &'static str| order.lock().unwrap().push(name);
    // The run goes first; the gate waits for its first row only, and its rounds stay together.
    let gate = gate(vec![success()]);
    let mut on_row = |_: &BenchmarkRow| note("row");
    let address = address.into();
    let (run, gate) = tokio::join!(
        run_plan(&plan, &targets, &turns, CancellationToken::new(), &mut on_row),
        run_gate(&gate, &address, None, &turns, |_| note("round")),
    );
    run.unwrap();
    gate.unwrap();
    assert_eq!(order.into_inner().unwrap(), ["row", "round", "round", "row"]);
}

#[tokio::test]
async fn a_dropped_gate_ends_its_load_and_its_turn() {
    let (address, open, _) = app(OK).await;
    let turns = MeasurementTurns::default();
    let long = BenchmarkGate { duration: Duration::from_secs(30), ..gate(vec![success()]) };
    let load = {
        let turns = turns.clone();
        tokio::spawn(async move { run_gate(&long, &address.into(), None, &turns, |_| {}).await })
    };
    while open.load(Ordering::Relaxed) < 4 {
        tokio::task::yield_now().await;
    }
    load.abort();
    assert!(load.await.unwrap_err().is_cancelled());
    while open.load(Ordering::Relaxed) > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    run_gate(&gate(vec![success()]), &address.into(), None, &turns, |_| {}).await.unwrap();
}

fn relative(thousandths: u64) -> BenchmarkThreshold {
    BenchmarkThreshold { metric: BenchmarkMetric::P50Ms, bound: ThresholdBound::Max, thousandths, relative: true }
}

#[tokio::test]
async fn a_relative_gate_measures_new_and_live_release_in_turn() {
    let (new, ..) = app(OK).await;
    let (live, ..) = app(OK).await;
    let turns = MeasurementTurns::default();
    let order = Mutex::new(Vec::new());
    let note = |progress| {
        order.lock().unwrap().push(match progress {
            GateProgress::New(row) => format!("new {}", row.round),
            GateProgress::Live(row) => format!("live {}", row.round),
            GateProgress::NotComparable(reason) => reason,
        });
    };
    let live = live.into();
    run_gate(&gate(vec![relative(1_000_000)]), &new.into(), Some(&live), &turns, note).await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["new 0", "live 0", "new 1", "live 1"]);
    let error = run_gate(&gate(vec![relative(1)]), &new.into(), Some(&live), &turns, |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("× that of the live release, and the gate wants at most 0.001 ×"), "{error}");
}

#[tokio::test]
async fn a_relative_threshold_passes_without_a_live_release_to_compare_with() {
    let (new, ..) = app(OK).await;
    let (broken, ..) = app(BROKEN).await;
    let (broken, turns) = (broken.into(), MeasurementTurns::default());
    for (live, reason) in [(None, "there is none on this server"), (Some(&broken), "it answered 500")] {
        let notes = Mutex::new(Vec::new());
        let note = |progress| match progress {
            GateProgress::NotComparable(reason) => notes.lock().unwrap().push(reason),
            GateProgress::New(_) => {}
            GateProgress::Live(row) => panic!("{row:?}"),
        };
        run_gate(&gate(vec![relative(1)]), &new.into(), live, &turns, note).await.unwrap();
        let notes = notes.into_inner().unwrap();
        assert!(matches!(notes.as_slice(), [note] if note.contains(reason)), "{notes:?}");
    }
}
