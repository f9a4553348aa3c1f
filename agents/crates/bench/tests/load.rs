//! Load against real sockets: what is counted is what was served.
#![cfg(test)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, ProxyTarget, Targets, run_plan};
use fairlead_model::{AppId, AppKey, BenchmarkPlan, BenchmarkProtocol, BenchmarkTarget, EnvironmentId, RunId};
use fairlead_tls::{CertificateSet, CertificateSource, CertificateStore, LocalAuthority, server_config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const HOST: &str = "bench.localhost";

/// Answers every request alike and counts them.
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

/// An HTTP/2 server behind TLS that says `hello` to every stream.
async fn http2_server(authority: &LocalAuthority) -> SocketAddr {
    let leaf = authority.leaf(HOST).unwrap();
    let store = Arc::new(CertificateStore::default());
    let hosts = [HOST.to_owned()];
    let source = CertificateSource { hosts: &hosts, chain_der: &leaf.chain_der, key_pkcs8_der: &leaf.key_pkcs8_der };
    store.swap(Arc::new(CertificateSet::build([source], &CertificateSet::default()).unwrap()));
    let acceptor = TlsAcceptor::from(server_config(store).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    let Ok(mut body) = respond.send_response(http::Response::new(()), false) else { return };
                    if body.send_data(Bytes::from_static(b"hello"), true).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn plan(target: BenchmarkTarget, protocol: BenchmarkProtocol, concurrency: u32) -> BenchmarkPlan {
    BenchmarkPlan {
        run: RunId::parse("run_1").unwrap(),
        key: AppKey { app: AppId::parse("app_1").unwrap(), environment: EnvironmentId::parse("env_1").unwrap() },
        host: HOST.to_owned(),
        path: "/".to_owned(),
        targets: vec![target],
        protocols: vec![protocol],
        concurrency: vec![concurrency],
        repeats: 2,
        duration: Duration::from_millis(150),
        warmup: Duration::from_millis(20),
    }
}

#[tokio::test]
async fn rows_count_what_the_app_served_and_no_more() {
    let (address, served) = http1_app(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").await;
    let targets = Targets { proxy: None, direct: Some(address) };
    let mut told = 0;
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 7);
    let rows = run_plan(&plan, &targets, CancellationToken::new(), |_| told += 1).await.unwrap();
    assert_eq!((rows.len(), told), (2, 2));
    for row in &rows {
        assert!(row.requests > 0);
        assert_eq!(row.errors, 0);
        assert_eq!(row.bytes_received, row.requests * 5);
        assert_eq!(row.latency.iter().map(|(_, count)| count).sum::<u64>(), row.requests);
    }
    assert!(rows.iter().map(|row| row.requests).sum::<u64>() <= served.load(Ordering::Relaxed));
}

#[tokio::test]
async fn answers_other_than_2xx_are_errors_and_never_requests() {
    let (address, _) = http1_app(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n").await;
    let targets = Targets { proxy: None, direct: Some(address) };
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 2);
    let error = run_plan(&plan, &targets, CancellationToken::new(), |_| {}).await.unwrap_err();
    assert_eq!(error.failure().code, "benchmark.target_unreachable");
    assert!(error.to_string().contains("it answered 500"), "{error}");
}

#[tokio::test]
async fn http2_is_spoken_over_tls_that_trusts_the_pinned_authority_only() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let address = http2_server(&authority).await;
    let proxy = |roots| Some(ProxyTarget { address, roots, pid: Some(std::process::id()) });
    let plan = plan(BenchmarkTarget::Proxy, BenchmarkProtocol::Http2, 20);

    let trusted = Targets { proxy: proxy(vec![authority.root_der().to_vec()]), direct: None };
    let rows = run_plan(&plan, &trusted, CancellationToken::new(), |_| {}).await.unwrap();
    assert!(rows.iter().all(|row| row.requests > 0 && row.errors == 0), "{rows:?}");
    assert!(rows.iter().all(|row| row.proxy_cpu > Duration::ZERO && row.proxy_memory_bytes > 0));

    let elsewhere = tempfile::tempdir().unwrap();
    let stranger = LocalAuthority::open_or_create(elsewhere.path()).unwrap();
    let distrusted = Targets { proxy: proxy(vec![stranger.root_der().to_vec()]), direct: None };
    let error = run_plan(&plan, &distrusted, CancellationToken::new(), |_| {}).await.unwrap_err();
    assert!(matches!(error, BenchError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn an_app_that_does_not_run_is_said_to_and_a_cancelled_run_ends() {
    let plan = plan(BenchmarkTarget::Direct, BenchmarkProtocol::Http1, 1);
    let nothing = run_plan(&plan, &Targets::default(), CancellationToken::new(), |_| {}).await.unwrap_err();
    assert_eq!(nothing.failure().code, "benchmark.app_not_running");

    let (address, _) = http1_app(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let targets = Targets { proxy: None, direct: Some(address) };
    let ended = run_plan(&plan, &targets, token, |_| cancel.cancel()).await.unwrap_err();
    assert!(matches!(ended, BenchError::Cancelled), "{ended}");
}
