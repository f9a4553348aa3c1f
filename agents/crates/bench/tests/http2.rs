//! Tests HTTP/2 load over TLS. It has its own process: CPU is read from the living threads of this process, so no other test's
//! threads may end.
#![cfg(test)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fairlead_base::CancellationToken;
use fairlead_bench::{BenchError, MeasurementTurns, ProxyTarget, Targets, run_plan};
use fairlead_model::{BenchmarkProtocol, BenchmarkRow, BenchmarkTarget};
use fairlead_tls::{CertificateSet, CertificateSource, CertificateStore, LocalAuthority, Tickets, server_config};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use support::{HOST, plan};

/// An HTTP/2 server behind TLS that says `hello` to every stream.
async fn http2_server(authority: &LocalAuthority) -> SocketAddr {
    let leaf = authority.leaf(HOST).unwrap();
    let store = Arc::new(CertificateStore::default());
    let hosts = [HOST.to_owned()];
    let source = CertificateSource { hosts: &hosts, chain_der: &leaf.chain_der, key_pkcs8_der: &leaf.key_pkcs8_der };
    store.swap(Arc::new(CertificateSet::build([source], &CertificateSet::default()).unwrap()));
    let acceptor = TlsAcceptor::from(server_config(store, Tickets::new(&[[1; 32]]).unwrap()).unwrap());
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

#[tokio::test]
async fn http2_is_spoken_over_tls_that_trusts_the_pinned_authority_only() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let address = http2_server(&authority).await;
    let proxy = |roots| Some(ProxyTarget { address, roots, pid: Some(std::process::id()) });
    let plan = plan(BenchmarkTarget::Proxy, BenchmarkProtocol::Http2, 20);

    let trusted = Targets::of_app(proxy(vec![authority.root_der().to_vec()]), None, Vec::new());
    let rows =
        run_plan(&plan, &trusted, &MeasurementTurns::default(), CancellationToken::new(), &mut |_: &BenchmarkRow| {})
            .await
            .unwrap();
    assert!(rows.iter().all(|row| row.requests > 0 && row.errors == 0), "{rows:?}");
    assert!(rows.iter().all(|row| row.proxy_cpu > Duration::ZERO && row.proxy_memory_bytes > 0));

    let elsewhere = tempfile::tempdir().unwrap();
    let stranger = LocalAuthority::open_or_create(elsewhere.path()).unwrap();
    let distrusted = Targets::of_app(proxy(vec![stranger.root_der().to_vec()]), None, Vec::new());
    let error = run_plan(
        &plan,
        &distrusted,
        &MeasurementTurns::default(),
        CancellationToken::new(),
        &mut |_: &BenchmarkRow| {},
    )
    .await
    .unwrap_err();
    assert!(matches!(error, BenchError::Unreachable { .. }), "{error}");
}
