//! ClientHello with any version and offers (RFC 5246, 7.4.1.2; RFC 8446, 4.1.2).

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::HOST;

/// Cipher suites that no client of this decade needs: RSA key exchange, CBC, 3DES, RC4, NULL, anonymous.
pub const WEAK: &[u16] = &[0x0035, 0x002f, 0x009c, 0x000a, 0x0005, 0x0002, 0x0034, 0xc013, 0xc014, 0xc009, 0xc00a];
const STRONG: &[u16] = &[0xc02b, 0xc02c, 0xcca9];

#[derive(Debug, Clone, Copy)]
pub struct Hello {
    pub version: u16,
    pub suites: &'static [u16],
    pub name: Option<&'static str>,
}

impl Hello {
    pub fn of(version: u16) -> Self {
        Self { version, suites: STRONG, name: Some(HOST) }
    }

    pub async fn send(&self, stream: &mut TcpStream) {
        let mut extensions = Vec::new();
        if let Some(name) = self.name {
            let entry = [&[0][..], &sized(name.as_bytes())].concat();
            extensions.extend(extension(0, &sized(&entry)));
        }
        // Groups, point formats, signature algorithms: a server needs them to continue.
        extensions.extend(extension(10, &sized(&[0, 29, 0, 23])));
        extensions.extend(extension(11, &[1, 0]));
        extensions.extend(extension(13, &sized(&[4, 3, 8, 4, 4, 1])));
        extensions.extend(extension(23, &[]));
        let suites: Vec<u8> = self.suites.iter().flat_map(|suite| suite.to_be_bytes()).collect();
        let body =
            [&self.version.to_be_bytes()[..], &[7; 32], &[0], &sized(&suites), &[1, 0], &sized(&extensions)].concat();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[1][..], &length[1..], &body].concat();
        let record = [&[22, 3, 1][..], &sized(&message)].concat();
        stream.write_all(&record).await.unwrap();
    }
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &sized(body)].concat()
}
