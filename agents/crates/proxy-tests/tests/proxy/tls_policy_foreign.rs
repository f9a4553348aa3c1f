//! TLS policy of a host, as OpenSSL and curl meet it: they share no code with the proxy's TLS.

use std::path::Path;
use std::process::Stdio;

use fairlead_model::{HostTls, RoutePolicy};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, PKCS_RSA_SHA256,
    date_time_ymd,
};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::tls_policy::{Authority, Identity, OPEN, Setup};
use crate::support::HOST;

/// Files of client certificates, in DER.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes an identity; returns the options of `openssl s_client` that present it.
    fn identity(&self, name: &str, Identity { der, key }: &Identity) -> Vec<String> {
        let (certificate, key_file) = (self.path(&format!("{name}.crt")), self.path(&format!("{name}.key")));
        std::fs::write(&certificate, der).unwrap();
        std::fs::write(&key_file, key).unwrap();
        let options = ["-certform", "DER", "-cert", &certificate, "-keyform", "DER", "-key", &key_file];
        options.map(str::to_owned).to_vec()
    }
}

/// Issues a certificate for a client; `change` is called with its parameters.
fn issue(authority: &Issuer<'_, KeyPair>, key: &KeyPair, change: impl FnOnce(&mut CertificateParams)) -> Identity {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "ann");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut params);
    Identity { der: params.signed_by(key, authority).unwrap().der().to_vec(), key: key.serialize_der() }
}

/// Sends a request for `host` with this name in the handshake; returns the status, `None` without a response.
async fn openssl(setup: &Setup, name: Option<&str>, host: &str, options: &[String]) -> Option<u16> {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-ign_eof", "-connect"]).arg(setup.proxy.https.to_string()).args(options);
    match name {
        Some(name) => command.args(["-servername", name]),
        None => command.arg("-noservername"),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    // A client whose handshake fails reads no input.
    drop(child.stdin.take().unwrap().write_all(request.as_bytes()).await);
    let output = child.wait_with_output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let (_, status) = said.split_once("HTTP/1.1 ")?;
    status[..3].parse().ok()
}

/// Sends a request to `name` with another `Host`; returns the status, `None` without a response.
async fn curl(setup: &Setup, name: &str, host: &str, options: &[&str]) -> Option<u16> {
    let port = setup.proxy.https.port();
    let mut command = Command::new("curl");
    command.args(["--silent", "--insecure", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{http_code}"]);
    command.args(["--resolve", &format!("{name}:{port}:127.0.0.1"), "--header", &format!("Host: {host}")]);
    command.args(options).arg(format!("https://{name}:{port}/"));
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    let status: u16 = String::from_utf8_lossy(&output.stdout).parse().unwrap();
    (status != 0).then_some(status)
}

fn options(version: &str, identity: &[String]) -> Vec<String> {
    [&[version.to_owned()], identity].concat()
}

const VERSIONS: [&str; 2] = ["-tls1_2", "-tls1_3"];

#[tokio::test]
async fn openssl_reaches_a_host_with_client_certificates_by_its_own_name_and_certificate_alone() {
    let (authority, files) = (Authority::new(), Files::new());
    let setup = Setup::new(&authority.asks(true)).await;
    let visitor = files.identity("visitor", &authority.visitor());
    let stranger = files.identity("stranger", &Authority::new().visitor());
    let key = KeyPair::generate().unwrap();
    let expired = issue(&authority.issuer, &key, |params| {
        (params.not_before, params.not_after) = (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
    });
    let expired = files.identity("expired", &expired);
    let rsa = issue(&authority.issuer, &KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap(), |_| ());
    let rsa = files.identity("rsa", &rsa);
    for version in VERSIONS {
        for (identity, expected) in
            [(&visitor, Some(200)), (&rsa, Some(200)), (&stranger, None), (&expired, None), (&Vec::new(), None)]
        {
            let found = openssl(&setup, Some(HOST), HOST, &options(version, identity)).await;
            assert_eq!(found, expected, "{version} {identity:?}");
        }
        // Another name, or none, with and without the certificate that the host would take.
        for identity in [&visitor, &Vec::new()] {
            let options = options(version, identity);
            assert_eq!(openssl(&setup, Some(OPEN), OPEN, &options).await, Some(200), "{version}");
            assert_eq!(openssl(&setup, Some(OPEN), HOST, &options).await, Some(421), "{version}");
            assert_eq!(openssl(&setup, None, HOST, &options).await, None, "{version}");
        }
    }
}

#[tokio::test]
async fn openssl_sends_the_chain_to_the_authority() {
    let (authority, files) = (Authority::new(), Files::new());
    let setup = Setup::new(&authority.asks(true)).await;
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "department");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    std::fs::write(files.path("chain.pem"), params.signed_by(&key, &authority.issuer).unwrap().pem()).unwrap();
    let visitor = issue(&Issuer::new(params, key), &KeyPair::generate().unwrap(), |_| ());
    let identity = files.identity("visitor", &visitor);
    for version in VERSIONS {
        let alone = options(version, &identity);
        let with_chain = [&alone[..], &["-cert_chain".to_owned(), files.path("chain.pem")]].concat();
        assert_eq!(openssl(&setup, Some(HOST), HOST, &with_chain).await, Some(200), "{version}");
        assert_eq!(openssl(&setup, Some(HOST), HOST, &alone).await, None, "{version}");
    }
}

#[tokio::test]
async fn a_session_of_openssl_with_another_host_replaces_no_certificate() {
    let (authority, files) = (Authority::new(), Files::new());
    let setup = Setup::new(&authority.asks(true)).await;
    for version in VERSIONS {
        let session = files.path(version);
        let with = |option: &str| [version, option, &session].map(str::to_owned).to_vec();
        assert_eq!(openssl(&setup, Some(OPEN), OPEN, &with("-sess_out")).await, Some(200));
        assert!(Path::new(&session).exists(), "{version}");
        assert_eq!(openssl(&setup, Some(OPEN), OPEN, &with("-sess_in")).await, Some(200), "{version}");
        assert_eq!(openssl(&setup, Some(HOST), HOST, &with("-sess_in")).await, None, "{version}");
        // A session of one name in the handshake of another must not carry requests to the host either.
        assert_eq!(openssl(&setup, Some(OPEN), HOST, &with("-sess_in")).await, Some(421), "{version}");
    }
}

#[tokio::test]
async fn openssl_with_tls_1_2_is_refused_by_a_host_that_wants_1_3() {
    let tls = Some(HostTls { tls13_only: true, client_auth: None });
    let setup = Setup::new(&RoutePolicy { tls, ..RoutePolicy::default() }).await;
    for (version, name, host, expected) in [
        ("-tls1_2", HOST, HOST, None),
        ("-tls1_3", HOST, HOST, Some(200)),
        ("-tls1_2", OPEN, OPEN, Some(200)),
        ("-tls1_2", OPEN, HOST, Some(421)),
    ] {
        let found = openssl(&setup, Some(name), host, &options(version, &[])).await;
        assert_eq!(found, expected, "{version} {name} {host}");
    }
}

#[tokio::test]
async fn curl_meets_the_same_over_http_1_1_and_2() {
    let (authority, files) = (Authority::new(), Files::new());
    let setup = Setup::new(&authority.asks(true)).await;
    files.identity("visitor", &authority.visitor());
    let (certificate, key) = (files.path("visitor.crt"), files.path("visitor.key"));
    let identity = ["--cert-type", "DER", "--cert", &certificate, "--key-type", "DER", "--key", &key];
    for protocol in ["--http1.1", "--http2"] {
        for tls in [&["--tls-max", "1.2"][..], &["--tlsv1.3"]] {
            let anonymous = [&[protocol], tls].concat();
            let known = [&anonymous[..], &identity].concat();
            for (name, host, options, expected) in [
                (HOST, HOST, &known, Some(200)),
                (HOST, HOST, &anonymous, None),
                (OPEN, OPEN, &anonymous, Some(200)),
                (OPEN, HOST, &anonymous, Some(421)),
                (OPEN, HOST, &known, Some(421)),
            ] {
                assert_eq!(curl(&setup, name, host, options).await, expected, "{options:?} {name} {host}");
            }
        }
    }
}
