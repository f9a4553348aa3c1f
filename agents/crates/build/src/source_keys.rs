//! Credentials of a source: name and password for https, key and known hosts for ssh. Invariant: they exist only while git
//! fetches, and never in an address or an argument.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use fairlead_model::BuildSpec;
use zeroize::Zeroizing;

use crate::as_user::as_user;
use crate::build_folders::blocking;
use crate::command::Workshop;
use crate::{BuildError, secrets};

/// Runs ssh with the file of settings; the words of git are passed on as they are.
const SSH_SCRIPT: &str = "#!/bin/sh\nexec ssh -F \"$FAIRLEAD_SSH_CONFIG\" \"$@\"\n";

/// Environment variables that pass the credentials to git.
pub(crate) struct SourceCredentials {
    pub(crate) environment: Vec<(&'static str, Zeroizing<String>)>,
}

/// Opens the credentials and lays out what ssh needs as files of the build's user, mode 0600.
pub(crate) async fn put(workshop: &mut Workshop<'_>, spec: &BuildSpec) -> Result<SourceCredentials, BuildError> {
    let given = secrets::open(workshop.options, spec, spec.credentials.as_ref())?;
    let mut environment = Vec::new();
    let url = &spec.repository_url;
    if !url.starts_with("ssh://") {
        if let Some(password) = secrets::text(&given, "password")? {
            environment = login(url, secrets::text(&given, "username")?.unwrap_or("git"), password);
        }
        return Ok(SourceCredentials { environment });
    }
    let Some(key) = secrets::text(&given, "ssh_key")? else {
        return Err(BuildError::Clone(
            "A repository over ssh needs a key. Set one in the source of the app, and add its public half to the repository.".to_owned(),
        ));
    };
    let known = secrets::text(&given, "ssh_known_hosts")?.unwrap_or_default();
    let folder = workshop.build_folders.keys.clone();
    let keys = workshop.build_folders.keys.clone();
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
    Ok(SourceCredentials { environment })
}

/// Git's configuration for a password: git sends it only to the host of `url`, so a submodule elsewhere gets nothing.
fn login(url: &str, username: &str, password: &str) -> Vec<(&'static str, Zeroizing<String>)> {
    let login = Zeroizing::new(format!("{username}:{password}"));
    let login = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(login.as_bytes()));
    let host = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    [
        ("GIT_CONFIG_COUNT", "2".to_owned()),
        ("GIT_CONFIG_KEY_0", format!("http.{host}/.extraHeader")),
        ("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {}", login.as_str())),
        // After a redirect git sends the first address's header to the new one, whatever host that is.
        ("GIT_CONFIG_KEY_1", format!("http.{host}/.followRedirects")),
        ("GIT_CONFIG_VALUE_1", "false".to_owned()),
    ]
    .map(|(name, value)| (name, Zeroizing::new(value)))
    .into()
}

/// Removes the files with the credentials.
pub(crate) async fn remove(workshop: &Workshop<'_>) -> Result<(), BuildError> {
    let folder = workshop.build_folders.keys.clone();
    blocking("removing the key of the source", move || fairlead_base::tree::remove(&folder)).await
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::{SocketAddr, TcpListener};
    use std::process::Command;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Host that answers requests by method with the same answers in turn, and reports the heads that it got.
    fn host(to_get: String, to_post: &'static str) -> (SocketAddr, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (heads, received) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let answer = if head[0].starts_with("GET") { to_get.as_str() } else { to_post };
                heads.send(head.join("\n").to_lowercase()).unwrap();
                stream.write_all(answer.as_bytes()).ok();
            }
        });
        (address, received)
    }

    /// Lists the refs of a repository on a host that redirects to another one; returns the request headers at the other host.
    fn redirected(without: Option<&str>) -> Vec<String> {
        // The protocol's second version (gitprotocol-v2), so that git sends a further request of its own.
        let refs = "001e# service=git-upload-pack\n0000000eversion 2\n000cls-refs\n0000";
        let found = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{refs}",
            refs.len(),
        );
        let failed = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let (other, received) = host(found, failed);
        let moved = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://{other}/moved.git/info/refs?service=git-upload-pack\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
        let (first, asked) = host(moved, failed);
        let url = format!("http://{first}/shop.git");
        let environment = login(&url, "ada", "open-sesame");
        let environment = environment.iter().map(|(name, value)| match without {
            Some(left_out) if value.contains(left_out) => (*name, "user.name"),
            _ => (*name, value.as_str()),
        });
        let output = Command::new("git")
            .args(["ls-remote", "--quiet", "--", &url])
            .envs(environment)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("no_proxy", "*")
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert!(asked.recv().unwrap().contains("authorization: basic"), "its own host gets the password");
        received.try_iter().collect()
    }

    #[test]
    fn a_redirect_takes_no_password_to_another_host() {
        assert_eq!(redirected(None), Vec::<String>::new());
        // Without the setting, git does send it there.
        let sent = redirected(Some(".followRedirects"));
        assert!(sent.iter().any(|head| head.contains("authorization: basic")), "{sent:?}");
    }
}
