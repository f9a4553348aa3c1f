//! Tests load on real sockets: the rows count what the app served.
#![cfg(test)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, MeasurementTurns, Targets, resume_plan, run_plan};
use fairlead_model::{BenchmarkProtocol, BenchmarkRow, BenchmarkTarget};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use support::plan;

/// Starts an app that gives every request the same response and counts the requests.
async fn http1_app(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, served) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
    let count = served.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let count = count.clone();
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                while stream.read(&mut request).await.is_ok_and(|length| length > 0) {
                    if stream.write_all(answer).await.is_err() {
                        return;
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    (address, served)
}

#[tokio::test]
async fn rows_count_what_the_app_served_and_no_more() {
    let (address, served) = http1_app(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").await;
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    let mut told = 0;
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 7);
    let rows =
        run_plan(&plan, &targets, &MeasurementTurns::default(), CancellationToken::new(), &mut |_: &BenchmarkRow| {
            told += 1
        })
        .await
        .unwrap();
    assert_eq!((rows.len(), told), (2, 2));
    for row in &rows {
        assert!(row.requests > 0);
        assert_eq!(row.errors, 0);
        assert_eq!(row.bytes_received, row.requests * 5);
        assert_eq!(row.latency.iter().map(|(_, count)| count).sum::<u64>(), row.requests);
        // Without the processes of this app, the time of other processes is unknown.
        assert!(row.noise.is_some_and(|noise| !noise.machine_cpu.is_zero() && noise.other_cpu.is_none()));
    }
    assert!(rows.iter().map(|row| row.requests).sum::<u64>() <= served.load(Ordering::Relaxed));
}

#[tokio::test]
async fn answers_other_than_2xx_are_errors_and_never_requests() {
    let (address, _) = http1_app(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n").await;
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 2);
    let error =
        run_plan(&plan, &targets, &MeasurementTurns::default(), CancellationToken::new(), &mut |_: &BenchmarkRow| {})
            .await
            .unwrap_err();
    assert_eq!(error.failure().code, "benchmark.target_unreachable");
    assert!(error.to_string().contains("it answered 500"), "{error}");
}

#[tokio::test]
async fn a_stopped_app_is_reported_and_a_cancelled_run_ends() {
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 1);
    let nothing = run_plan(
        &plan,
        &Targets::default(),
        &MeasurementTurns::default(),
        CancellationToken::new(),
        &mut |_: &BenchmarkRow| {},
    )
    .await
    .unwrap_err();
    assert_eq!(nothing.failure().code, "benchmark.app_not_running");

    let (address, _) = http1_app(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    let ended = run_plan(&plan, &targets, &MeasurementTurns::default(), token, &mut |_: &BenchmarkRow| cancel.cancel())
        .await
        .unwrap_err();
    assert!(matches!(ended, BenchError::Cancelled), "{ended}");
}

#[tokio::test]
async fn more_clients_than_open_files_are_refused_before_any_connects() {
    // Without a limit there is nothing to refuse.
    let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current else { return };
    let (address, served) = http1_app(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let clients = u32::try_from(limit).unwrap_or(u32::MAX);
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, clients);
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    let turns = MeasurementTurns::default();
    let refused = run_plan(&plan, &targets, &turns, CancellationToken::new(), &mut |_: &BenchmarkRow| {}).await;
    let error = refused.unwrap_err();
    assert!(error.to_string().contains("open files"), "{error}");
    assert_eq!(served.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_interrupted_run_goes_on_after_its_last_row() {
    let (address, _) = http1_app(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 2);
    let targets = Targets::of_app(None, Some(address.into()), Vec::new());
    let turns = MeasurementTurns::default();
    let (cancel, mut done) = (CancellationToken::new(), Vec::new());
    let mut interrupt = |row: &BenchmarkRow| {
        done.push(row.clone());
        cancel.cancel();
    };
    run_plan(&plan, &targets, &turns, cancel.clone(), &mut interrupt).await.unwrap_err();
    assert_eq!(done.len(), 1);

    let mut measured = Vec::new();
    let mut observe = |row: &BenchmarkRow| measured.push(row.position);
    let resume = resume_plan(&plan, &targets, done.clone(), &turns, CancellationToken::new(), &mut observe);
    let rows = resume.await.unwrap();
    assert_eq!((measured, rows.len()), (vec![1], 2));
    assert_eq!(rows[0], done[0]);

    let other = BenchmarkRow { concurrency: 3, ..done[0].clone() };
    let refused =
        resume_plan(&plan, &targets, vec![other], &turns, CancellationToken::new(), &mut |_: &BenchmarkRow| ()).await;
    assert!(refused.unwrap_err().to_string().contains("its targets changed"));
}
