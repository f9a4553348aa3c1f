//! Ids as the control plane makes them: a prefix, an underscore and letters or digits. Safe in paths and logs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// An id that is not of the form `prefix_[A-Za-z0-9]+` with 1 to 64 characters after the underscore.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not an id that starts with `{prefix}_`")]
pub struct IdError {
    value: String,
    prefix: &'static str,
}

fn check(value: &str, prefix: &'static str) -> Result<(), IdError> {
    let body = value.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
    match body {
        Some(body) if (1..=64).contains(&body.len()) && body.bytes().all(|b| b.is_ascii_alphanumeric()) => Ok(()),
        _ => Err(IdError { value: value.chars().take(80).collect(), prefix }),
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses an id; the error names the given value.
            pub fn parse(value: &str) -> Result<Self, IdError> {
                check(value, $prefix)?;
                Ok(Self(Arc::from(value)))
            }

            /// Returns the id with its prefix.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(value: String) -> Result<Self, IdError> {
                Self::parse(&value)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(/// A machine with an agent, `srv_…`.
    ServerId, "srv");
id!(/// What a user deploys, `app_…`.
    AppId, "app");
id!(/// Production, preview…, `env_…`.
    EnvironmentId, "env");
id!(/// Artifact and config, immutable, `rel_…`.
    ReleaseId, "rel");
id!(/// Making a release live, `dep_…`.
    DeploymentId, "dep");
id!(/// One running copy, `ins_…`; made by the agent.
    InstanceId, "ins");
id!(/// A benchmark run, `run_…`.
    RunId, "run");
id!(/// Certificate of host names, `crt_…`.
    CertificateId, "crt");
id!(/// Account at a certificate authority, `aca_…`.
    AcmeAccountId, "aca");
id!(/// A snapshot or a restore of a volume, `vtk_…`.
    VolumeTaskId, "vtk");

/// App in an environment: the unit that is placed on a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AppKey {
    pub app: AppId,
    /// Environment that the app is placed in.
    pub environment: EnvironmentId,
}

impl fmt::Display for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.app, self.environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_leave_its_folder_or_has_a_foreign_prefix_is_refused() {
        for bad in ["", "app_", "app", "app_../x", "srv_abc", "app_a b", "app_ä", &format!("app_{}", "a".repeat(65))] {
            assert!(AppId::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(AppId::parse("app_01abcXYZ").unwrap().as_str(), "app_01abcXYZ");
    }
}
