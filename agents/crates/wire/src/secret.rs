//! Parser of the plain text of sealed secrets. Invariant: no error here contains a value.

use std::collections::HashSet;
use std::fmt;

use fairlead_model::{AppKey, Secret, SecretBundle, SecretDelivery, StateError};
use prost::Message;
use zeroize::Zeroizing;

use crate::agent;
use crate::parse::{clip, id, wrong};

/// Maximum size of one release's sealed secrets: the 1 MiB of values that the control plane allows (`snapshotBytesMax`
/// of its rules), and as much again for names and the envelope. A release above it would make the agent reject the
/// server's whole state.
pub const SECRETS_BYTES_MAX: usize = 2 * 1024 * 1024;
const NAME_BYTES_MAX: usize = 128;

/// Parses the plain text of sealed secrets.
pub fn secret_bundle(bytes: &[u8]) -> Result<SecretBundle, StateError> {
    // The decoder's error message may quote what it read.
    let message = agent::SecretBundle::decode(bytes).map_err(|_| wrong("secrets", "can't be read"))?;
    let at = "secrets";
    let key = AppKey {
        app: id(at, "app_id", &message.app_id)?,
        environment: id(at, "environment_id", &message.environment_id)?,
    };
    let values = message.secrets.into_iter().map(|secret| (secret.name, Zeroizing::new(secret.value), secret.delivery));
    let values: Vec<(String, Zeroizing<Vec<u8>>, i32)> = values.collect();
    let (mut secrets, mut names) = (Vec::with_capacity(values.len()), HashSet::new());
    for (name, value, delivery) in values {
        let at = format!("secrets.{}", clip(&name));
        if !is_name(&name) || !names.insert(name.clone()) {
            return Err(wrong(&at, "is not the name of a variable, or not the first of its name"));
        }
        let delivery = match agent::SecretDelivery::try_from(delivery) {
            Ok(agent::SecretDelivery::Environment) => SecretDelivery::Environment,
            Ok(agent::SecretDelivery::File) => SecretDelivery::File,
            _ => return Err(wrong(&at, "asks for a delivery that is unknown here")),
        };
        if delivery == SecretDelivery::Environment && value.contains(&0) {
            return Err(wrong(&at, "has a NUL, which no variable can hold"));
        }
        secrets.push(Secret { name, value, delivery });
    }
    Ok(SecretBundle { key, version: message.version, secrets })
}

/// True if a name is valid for a variable, and so for a file as well.
pub(crate) fn is_name(name: &str) -> bool {
    let head = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    head && name.len() <= NAME_BYTES_MAX && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl fmt::Debug for agent::SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretValue").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(secrets: &[(&str, &str, i32)]) -> Vec<u8> {
        let secret = |(name, value, delivery): &(&str, &str, i32)| agent::SecretValue {
            name: (*name).into(),
            value: value.as_bytes().into(),
            delivery: *delivery,
        };
        let secrets = secrets.iter().map(secret).collect();
        let message = agent::SecretBundle {
            app_id: "app_a".into(),
            environment_id: "env_p".into(),
            version: "v1".into(),
            secrets,
        };
        assert!(!format!("{message:?}").contains("hidden"));
        message.encode_to_vec()
    }

    #[test]
    fn a_bundle_comes_apart_and_shows_no_value() {
        let found = secret_bundle(&bundle(&[("KEY", "hidden-one", 1), ("CERT", "hidden\0two", 2)])).unwrap();
        let parts: Vec<_> = found.secrets.iter().map(|one| (one.name.as_str(), one.delivery)).collect();
        assert_eq!(parts, [("KEY", SecretDelivery::Environment), ("CERT", SecretDelivery::File)]);
        assert_eq!(found.secrets[1].value.as_slice(), b"hidden\0two");
        assert!(!format!("{found:?}").contains("hidden"));
    }

    #[test]
    fn what_an_app_could_not_be_given_is_refused_without_its_value() {
        let wrong: [&[(&str, &str, i32)]; 7] = [
            &[("", "hidden", 1)],
            &[("../key", "hidden", 2)],
            &[("1KEY", "hidden", 1)],
            &[("KEY", "hidden", 0)],
            &[("KEY", "hidden", 9)],
            &[("KEY", "hid\0den", 1)],
            &[("KEY", "hidden", 1), ("KEY", "hidden", 2)],
        ];
        for secrets in wrong {
            let error = secret_bundle(&bundle(secrets)).unwrap_err().to_string();
            assert!(!error.contains("hid"), "{error}");
        }
        let mut cut = bundle(&[("KEY", "hidden", 1)]);
        cut.pop();
        assert_eq!(secret_bundle(&cut).unwrap_err().to_string(), "secrets: can't be read");
    }
}
