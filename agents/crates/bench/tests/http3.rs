//! Tests HTTP/3 load against an independent server: `h3` on `quinn`, with a certificate of the local authority.
#![cfg(test)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use fairlead_base::CancellationToken;
use fairlead_bench::{MeasurementTurns, ProxyTarget, Targets, run_plan};
use fairlead_model::{BenchmarkProtocol, BenchmarkRow, BenchmarkTarget};
use fairlead_tls::LocalAuthority;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, ServerConfig};
use rustls::pki_types::PrivateKeyDer;

use support::{HOST, plan};

/// An HTTP/3 server that says `hello` to every stream.
fn http3_server(authority: &LocalAuthority) -> SocketAddr {
    let leaf = authority.leaf(HOST).unwrap();
    let chain = leaf.chain_der.iter().map(|der| der.clone().into()).collect();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::Pkcs8(leaf.key_pkcs8_der.clone().into()))
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let endpoint = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                let Ok(connection) = incoming.await else { return };
                let connection = h3_quinn::Connection::new(connection);
                let Ok(mut connection) = h3::server::Connection::<_, Bytes>::new(connection).await else { return };
                while let Ok(Some(request)) = connection.accept().await {
                    let Ok((_, mut stream)) = request.resolve_request().await else { return };
                    let answered = async {
                        stream.send_response(http::Response::new(())).await?;
                        stream.send_data(Bytes::from_static(b"hello")).await?;
                        stream.finish().await
                    };
                    if answered.await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn many_streams_of_several_connections_are_counted_as_they_were_served() {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let address = http3_server(&authority);
    let proxy = |roots| Some(ProxyTarget { address, roots, pid: None });
    let plan = plan(BenchmarkTarget::Proxy, BenchmarkProtocol::Http3, 20);

    let trusted = Targets::of_app(proxy(vec![authority.root_der().to_vec()]), None, Vec::new());
    let rows =
        run_plan(&plan, &trusted, &MeasurementTurns::default(), CancellationToken::new(), &mut |_: &BenchmarkRow| {})
            .await
            .unwrap();
    assert!(rows.iter().all(|row| row.requests > 0 && row.errors == 0), "{rows:?}");
    assert!(rows.iter().all(|row| row.bytes_received == row.requests * 5));
}
