//! Certificates and TLS settings: which certificate answers which name, what is offered to clients, and the local authority.
//! Owns keys and cipher choices. Never opens a socket, and never prints a key.

mod authority;
mod server;
mod store;

pub use authority::{AuthorityError, Certificate, LocalAuthority};
pub use server::server_config;
pub use store::{CertificateError, CertificateSet, CertificateSource, CertificateStore};
