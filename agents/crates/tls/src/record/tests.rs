//! Records against a rustls client, and against one that breaks the rules with the client's own keys.

use std::sync::Arc;

use rustls::client::ClientConnectionData;
use rustls::pki_types::ServerName;
use rustls::server::ServerConnectionData as Data;
use rustls::unbuffered::{ConnectionState, EncodeTlsData, UnbufferedStatus};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::*;
use crate::{CertificateSet, CertificateSource, CertificateStore, LocalAuthority, Tickets, server_config};

const HOST: &str = "records.localhost";

fn configs(version: &'static SupportedProtocolVersion) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let folder = tempfile::tempdir().unwrap();
    let authority = LocalAuthority::open_or_create(folder.path()).unwrap();
    let leaf = authority.leaf(HOST).unwrap();
    let hosts = [HOST.to_owned()];
    let source = CertificateSource { hosts: &hosts, chain_der: &leaf.chain_der, key_pkcs8_der: &leaf.key_pkcs8_der };
    let store = CertificateStore::default();
    store.swap(Arc::new(CertificateSet::build([source], &CertificateSet::default()).unwrap()));
    let mut roots = RootCertStore::empty();
    roots.add(authority.root_der().to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    let mut client = builder.with_root_certificates(roots).with_no_client_auth();
    client.enable_secret_extraction = true;
    (Arc::new(client), server_config(Arc::new(store), Tickets::new(&[[7; 32]]).unwrap()).unwrap())
}

fn encode(mut data: EncodeTlsData<'_, Data>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 16 * 1024, 0);
    let count = data.encode(&mut out[start..]).unwrap();
    out.truncate(start + count);
}

/// Shakes hands in memory; the client's last flight and our tickets have arrived.
fn shake(version: &'static SupportedProtocolVersion) -> (ClientConnection, UnbufferedServerConnection) {
    let (client, server) = configs(version);
    let mut client = ClientConnection::new(client, ServerName::try_from(HOST).unwrap()).unwrap();
    let mut server = UnbufferedServerConnection::new(server).unwrap();
    let mut to_server = Vec::new();
    loop {
        while client.wants_write() {
            client.write_tls(&mut to_server).unwrap();
        }
        let mut to_client = Vec::new();
        loop {
            let UnbufferedStatus { discard, state } = server.process_tls_records(&mut to_server);
            let waits = match state.unwrap() {
                ConnectionState::EncodeTlsData(data) => {
                    encode(data, &mut to_client);
                    false
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    false
                }
                _ => true,
            };
            to_server.drain(..discard);
            if waits {
                break;
            }
        }
        if to_client.is_empty() && !client.wants_write() {
            return (client, server);
        }
        receive(&mut client, &to_client);
    }
}

fn pair() -> (ClientConnection, RecordLayer) {
    let (client, server) = shake(&TLS13);
    assert!(RecordLayer::takes(&server));
    (client, RecordLayer::take_over(server).unwrap())
}

/// What the client reads in `bytes`.
fn receive(client: &mut ClientConnection, mut bytes: &[u8]) -> Vec<u8> {
    let mut plaintext = Vec::new();
    while !bytes.is_empty() {
        client.read_tls(&mut bytes).unwrap();
        let count = client.process_new_packets().unwrap().plaintext_bytes_to_read();
        let start = plaintext.len();
        plaintext.resize(start + count, 0);
        std::io::Read::read_exact(&mut client.reader(), &mut plaintext[start..]).unwrap();
    }
    plaintext
}

/// The client's records for `data`.
fn send(client: &mut ClientConnection, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in data.chunks(10_000) {
        std::io::Write::write_all(&mut client.writer(), piece).unwrap();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
    }
    bytes
}

/// Everything that `bytes` hold, arriving in pieces; and our answers.
fn open(server: &mut RecordLayer, bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut buffer, mut plaintext, mut outgoing) = (Vec::new(), Vec::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        buffer.extend_from_slice(piece);
        loop {
            match server.open(&mut buffer, &mut outgoing).unwrap() {
                Opened::Partial => break,
                Opened::Data(consumed, data) => {
                    plaintext.extend_from_slice(data);
                    buffer.drain(..consumed);
                }
                Opened::Closed(_) => panic!("nobody closed"),
            }
        }
    }
    assert!(buffer.is_empty());
    (plaintext, outgoing)
}

fn seal(server: &mut RecordLayer, data: &[u8]) -> Vec<u8> {
    let mut out = vec![0; data.len() + (data.len() / RECORD_DATA_BYTES_MAX + 1) * RECORD_OVERHEAD_BYTES];
    let mut all = Vec::new();
    let count = server.seal(data, &mut out, &mut all).unwrap();
    all.extend_from_slice(&out[..count]);
    all
}

fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + index / 251) as u8).collect()
}

#[test]
fn data_of_every_size_crosses_both_ways_however_it_arrives_and_after_a_rest() {
    let (mut client, mut server) = pair();
    for length in [1, 2, 100, 16_383, 16_384, 16_385, 70_000] {
        for piece in [1, 7, 1500, usize::MAX] {
            let data = noise(length);
            let sent = send(&mut client, &data);
            assert_eq!(open(&mut server, &sent, piece.min(sent.len())), (data.clone(), Vec::new()));
            let sealed = seal(&mut server, &data);
            assert!(receive(&mut client, &sealed) == data);
            server.rest();
        }
    }
}

#[test]
fn a_client_that_changes_its_keys_gets_new_ones_of_ours() {
    let (mut client, mut server) = pair();
    for round in 0..5 {
        client.refresh_traffic_keys().unwrap();
        let data = noise(round + 1);
        let sent = send(&mut client, &data);
        let (received, answer) = open(&mut server, &sent, sent.len());
        assert_eq!((received, answer), (data.clone(), Vec::new()));
        let before = server.send.sequence;
        let sealed = seal(&mut server, &data);
        assert!(server.send.sequence == 1 && before != 0 || round == 0);
        assert_eq!(receive(&mut client, &sealed), data);
    }
}

#[test]
fn a_client_that_asks_for_new_keys_without_end_and_reads_nothing_is_told_once() {
    let (mut client, mut server) = pair();
    for _ in 0..1000 {
        client.refresh_traffic_keys().unwrap();
        let sent = send(&mut client, b"x");
        assert_eq!(open(&mut server, &sent, sent.len()), (b"x".to_vec(), Vec::new()));
    }
    let sealed = seal(&mut server, b"one change, one record");
    assert_eq!(sealed.len(), 2 * RECORD_OVERHEAD_BYTES + 5 + 22);
    assert_eq!(receive(&mut client, &sealed), b"one change, one record");
    let sealed = seal(&mut server, b"no change");
    assert_eq!(sealed.len(), RECORD_OVERHEAD_BYTES + 9);
    assert_eq!(receive(&mut client, &sealed), b"no change");
}

#[test]
fn a_key_that_has_sealed_enough_is_changed_and_none_seals_twice_under_one_number() {
    let (mut client, mut server) = pair();
    server.rekey_after = 3;
    let mut changes = 0;
    for round in 0..20 {
        let before = server.send.sequence;
        let data = noise(round);
        let sealed = seal(&mut server, &data);
        assert_eq!(receive(&mut client, &sealed), data);
        changes += u32::from(server.send.sequence < before);
        assert!(server.send.sequence <= 3);
    }
    assert!(changes >= 5, "{changes}");
}

#[test]
fn both_sides_can_close() {
    let (mut client, mut server) = pair();
    let mut out = Vec::new();
    server.close(&mut out).unwrap();
    client.read_tls(&mut out.as_slice()).unwrap();
    assert!(client.process_new_packets().unwrap().peer_has_closed());
    client.send_close_notify();
    let mut sent = send(&mut client, b"");
    while client.wants_write() {
        client.write_tls(&mut sent).unwrap();
    }
    let length = sent.len();
    assert_eq!(server.open(&mut sent, &mut Vec::new()), Ok(Opened::Closed(length)));
}

#[test]
fn an_older_protocol_stays_with_rustls() {
    let (_, server) = shake(&TLS12);
    assert!(!RecordLayer::takes(&server));
}

/// A client's sending half in our hands, and the server it sends to.
fn forger() -> (Half, RecordLayer, impl FnMut(&[u8]) -> Option<rustls::AlertDescription>) {
    let (client, server) = shake(&TLS13);
    let (secrets, connection) = client_parts(client);
    let (half, mut receive) = (Half::new(secrets.tx), Half::new(secrets.rx));
    let read_alert = move |outgoing: &[u8]| {
        let _ = &connection;
        let mut record = outgoing.to_vec();
        let (header, body) = record.split_first_chunk_mut::<HEADER_BYTES>()?;
        match receive.open(*header, body).unwrap() {
            [2, alert, ALERT] => Some((*alert).into()),
            other => panic!("no alert: {other:?}"),
        }
    };
    (half, RecordLayer::take_over(server).unwrap(), read_alert)
}

fn client_parts(
    client: ClientConnection,
) -> (rustls::ExtractedSecrets, Option<KernelConnection<ClientConnectionData>>) {
    (client.dangerous_extract_secrets().unwrap(), None)
}

#[test]
fn what_breaks_the_rules_ends_the_connection_with_the_alert_that_says_so() {
    use rustls::AlertDescription::{BadRecordMac, RecordOverflow, UnexpectedMessage};
    let sealed = |half: &mut Half, kind: u8, content: &[u8]| {
        let mut record = vec![0; content.len() + RECORD_OVERHEAD_BYTES];
        half.seal(kind, content, &mut record).unwrap();
        record
    };
    type Forge = Box<dyn Fn(&mut Half) -> Vec<u8>>;
    let forgeries: Vec<(Forge, RecordError, Option<rustls::AlertDescription>)> = vec![
        (
            Box::new(move |half| {
                let mut record = sealed(half, DATA, b"hello");
                record[7] ^= 1;
                record
            }),
            RecordError::BadRecordMac,
            Some(BadRecordMac),
        ),
        (
            Box::new(move |half| {
                half.sequence += 1;
                sealed(half, DATA, b"a lost record came before")
            }),
            RecordError::BadRecordMac,
            Some(BadRecordMac),
        ),
        (Box::new(|_| vec![DATA, 3, 3, 0, 0]), RecordError::BadRecordMac, Some(BadRecordMac)),
        (Box::new(|_| vec![DATA, 3, 3, 0x41, 1]), RecordError::Overflow, Some(RecordOverflow)),
        (
            Box::new(move |half| sealed(half, DATA, &[1; RECORD_DATA_BYTES_MAX + 1])),
            RecordError::Overflow,
            Some(RecordOverflow),
        ),
        (Box::new(|_| vec![20, 3, 3, 0, 1, 1]), RecordError::Unexpected, Some(UnexpectedMessage)),
        (Box::new(|_| vec![ALERT, 3, 3, 0, 2, 2, 40]), RecordError::Unexpected, Some(UnexpectedMessage)),
        (Box::new(|_| b"GET / HTTP/1.1\r\n".to_vec()), RecordError::Unexpected, Some(UnexpectedMessage)),
        // Nothing but padding, an unknown type, an alert of another length.
        (Box::new(move |half| sealed(half, 0, &[0; 9])), RecordError::Unexpected, Some(UnexpectedMessage)),
        (Box::new(move |half| sealed(half, 99, b"x")), RecordError::Unexpected, Some(UnexpectedMessage)),
        (Box::new(move |half| sealed(half, ALERT, &[1])), RecordError::Unexpected, Some(UnexpectedMessage)),
        // Key updates: with something behind them, cut, of another value; and another handshake message.
        (
            Box::new(move |half| sealed(half, HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0, KEY_UPDATE, 0, 0, 1, 0])),
            RecordError::Unexpected,
            Some(UnexpectedMessage),
        ),
        (
            Box::new(move |half| sealed(half, HANDSHAKE, &[KEY_UPDATE, 0, 0])),
            RecordError::Unexpected,
            Some(UnexpectedMessage),
        ),
        (
            Box::new(move |half| sealed(half, HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 2])),
            RecordError::Unexpected,
            Some(UnexpectedMessage),
        ),
        (
            Box::new(move |half| sealed(half, HANDSHAKE, &[1, 0, 0, 0])),
            RecordError::Unexpected,
            Some(UnexpectedMessage),
        ),
        (Box::new(move |half| sealed(half, ALERT, &[2, 40])), RecordError::PeerAlert(40), None),
        (
            Box::new(move |half| (0..=IDLE_RECORDS_MAX).flat_map(|_| sealed(half, DATA, b"")).collect()),
            RecordError::Unexpected,
            Some(UnexpectedMessage),
        ),
    ];
    for (number, (forge, error, alert)) in forgeries.into_iter().enumerate() {
        let (mut half, mut server, mut read_alert) = forger();
        let (mut bytes, mut outgoing) = (forge(&mut half), Vec::new());
        let failed = loop {
            match server.open(&mut bytes, &mut outgoing) {
                Ok(Opened::Data(consumed, b"")) => drop(bytes.drain(..consumed)),
                Ok(other) => panic!("{number}: {other:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(failed, error, "{number}");
        assert_eq!(read_alert(&outgoing), alert, "{number}");
    }
}

#[test]
fn padding_is_taken_off_and_a_cancelled_handshake_is_no_end() {
    let (mut half, mut server, _) = forger();
    let mut record = vec![0; 200];
    // Content, its type, zeros: sealed as if the last zero were the type.
    let length = half.seal(0, b"hello\x17\0\0\0", &mut record).unwrap();
    record.truncate(length);
    assert_eq!(server.open(&mut record, &mut Vec::new()), Ok(Opened::Data(length, b"hello")));
    let length = half.seal(ALERT, &[1, USER_CANCELED], &mut record).unwrap_or_default();
    let mut record = record[..length].to_vec();
    assert_eq!(server.open(&mut record, &mut Vec::new()), Ok(Opened::Data(length, b"")));
}

#[test]
fn too_small_a_buffer_is_refused_before_a_key_is_used() {
    let (_, mut server) = pair();
    let before = server.send.sequence;
    for room in 0..5 + RECORD_OVERHEAD_BYTES {
        assert_eq!(server.seal(b"hello", &mut vec![0; room], &mut Vec::new()), Err(RecordError::NoRoom));
    }
    assert_eq!(server.send.sequence, before);
}
