//! TLS configuration, certificate selection by host name, password hashes and the local certificate authority. Never opens a
//! socket and never prints a key.

mod authority;
mod client;
mod files;
mod password;
mod policy;
mod server;
mod store;
mod ticket;
mod tls_alpn;

pub use authority::{AuthorityError, Certificate, LocalAuthority};
pub use client::{ClientConfigError, client_config, load_system_authorities};
pub use files::{CertificateFile, CertificateFileError, read_certificate};
pub use password::{PasswordHash, PasswordHashError, hash_password};
pub use policy::{ClientAuthSource, SelectedConfig, ServerConfigs, TlsPolicy, TlsPolicySource};
pub use server::server_config;
pub use store::{CertificateError, CertificateSet, CertificateSource, CertificateStore};
pub use ticket::{TICKET_LIFETIME, TicketSecret, Tickets};
pub use tls_alpn::{ACME_TLS_ALPN, TlsAlpnError};
