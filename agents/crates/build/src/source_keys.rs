//! What opens a source: a name and a password for https, a key and known hosts for ssh. There while git fetches, gone
//! before anything of the repository runs. Never in an address or an argument.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use fairlead_model::BuildSpec;
use zeroize::Zeroizing;

use crate::as_user::as_user;
use crate::command::Workshop;
use crate::places::blocking;
use crate::{BuildError, secrets};

/// Runs ssh with the file of settings; the words of git are passed on as they are.
const SSH_SCRIPT: &str = "#!/bin/sh\nexec ssh -F \"$FAIRLEAD_SSH_CONFIG\" \"$@\"\n";

/// Variables for git.
pub(crate) struct Keys {
    pub(crate) environment: Vec<(&'static str, Zeroizing<String>)>,
}

/// Opens the credentials and lays out what ssh needs as files of the build's user, mode 0600.
pub(crate) async fn put(workshop: &mut Workshop<'_>, spec: &BuildSpec) -> Result<Keys, BuildError> {
    let given = secrets::open(workshop.options, spec, spec.credentials.as_ref())?;
    let mut environment = Vec::new();
    let url = &spec.repository_url;
    if !url.starts_with("ssh://") {
        if let Some(password) = secrets::text(&given, "password")? {
            let username = secrets::text(&given, "username")?.unwrap_or("git");
            let login = Zeroizing::new(format!("{username}:{password}"));
            let login = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(login.as_bytes()));
            let value = |text: String| Zeroizing::new(text);
            // Of its own host alone: a submodule elsewhere gets nothing.
            let host = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            environment.push(("GIT_CONFIG_COUNT", value("1".to_owned())));
            environment.push(("GIT_CONFIG_KEY_0", value(format!("http.{host}/.extraHeader"))));
            environment.push(("GIT_CONFIG_VALUE_0", value(format!("Authorization: Basic {}", login.as_str()))));
        }
        return Ok(Keys { environment });
    }
    let Some(key) = secrets::text(&given, "ssh_key")? else {
        return Err(BuildError::Clone(
            "A repository over ssh needs a key. Set one in the source of the app, and add its public half to the repository.".to_owned(),
        ));
    };
    let known = secrets::text(&given, "ssh_known_hosts")?.unwrap_or_default();
    let folder = workshop.places.keys.clone();
    let keys = workshop.places.keys.clone();
    let place = |name: &str| keys.join(name).to_string_lossy().into_owned();
    let config = format!(
        "Host *\n  IdentityFile \"{}\"\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile \"{}\"\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  UpdateHostKeys no\n  BatchMode yes\n  PasswordAuthentication no\n  KbdInteractiveAuthentication no\n  ForwardAgent no\n  PermitLocalCommand no\n  ConnectTimeout 20\n",
        place("key"),
        place("known_hosts"),
    );
    // OpenSSH wants a line end behind the key.
    let key = Zeroizing::new(format!("{}\n", key.trim_end()));
    let (known, user) = (known.to_owned(), workshop.options.user);
    blocking("laying out the key of the source", move || {
        as_user(user, || {
            write(&folder.join("key"), key.as_bytes(), 0o600)?;
            write(&folder.join("known_hosts"), format!("{}\n", known.trim_end()).as_bytes(), 0o600)?;
            write(&folder.join("config"), config.as_bytes(), 0o600)?;
            write(&folder.join("ssh"), SSH_SCRIPT.as_bytes(), 0o700)
        })?
    })
    .await?;
    environment.push(("GIT_SSH", Zeroizing::new(place("ssh"))));
    environment.push(("GIT_SSH_VARIANT", Zeroizing::new("ssh".to_owned())));
    environment.push(("FAIRLEAD_SSH_CONFIG", Zeroizing::new(place("config"))));
    Ok(Keys { environment })
}

/// Takes the files away again.
pub(crate) async fn remove(workshop: &Workshop<'_>) -> Result<(), BuildError> {
    let folder = workshop.places.keys.clone();
    blocking("removing the key of the source", move || fairlead_base::tree::remove(&folder)).await
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)
}
