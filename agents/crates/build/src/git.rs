//! Clones a repository at a pinned commit, without history, with its submodules and large files. Invariant: git runs as the
//! build's user over http, https or ssh only, without prompts, and reads only its own configuration.

mod kept_repository;

use std::ffi::OsStr;
use std::path::{Component, Path};

use fairlead_model::{BuildSpec, Commit, Step};

use crate::BuildError;
use crate::command::{CommandOutcome, CommandSpec, Workshop};
use crate::source_keys::{self, SourceCredentials};

/// Options of every git call, before the subcommand. Invariant: the content of a repository can't add to them.
const CONFIG: [&str; 16] = [
    "-c",
    "credential.helper=",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "http.lowSpeedLimit=1000",
    "-c",
    "http.lowSpeedTime=60",
    "-c",
    "advice.detachedHead=false",
    "-c",
    "init.defaultBranch=main",
    // In the foreground: nothing may change a repository while it is copied.
    "-c",
    "gc.autoDetach=false",
];
/// Settings that `git lfs install` would write. Only for git-lfs itself: elsewhere git needs it for each file.
const LARGE_FILES: [&str; 8] = [
    "-c",
    "filter.lfs.clean=git-lfs clean -- %f",
    "-c",
    "filter.lfs.smudge=git-lfs smudge -- %f",
    "-c",
    "filter.lfs.process=git-lfs filter-process",
    "-c",
    "filter.lfs.required=true",
];
const ENVIRONMENT: [(&str, &str); 8] = [
    // Never `file` or `ext`, which would reach what is on the server.
    ("GIT_ALLOW_PROTOCOL", "http:https:ssh"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Sentences are recognized by git's English words.
    ("LC_ALL", "C.UTF-8"),
    ("LANGUAGE", "C"),
];

/// More are a mistake, or an attack on the server's disk.
const SUBMODULES_MAX: usize = 100;
/// Full names of branches begin with it.
const BRANCHES: &str = "refs/heads/";
/// Address that relative ones begin at.
const ORIGIN: &str = "remote.origin.url";
/// Names the commit that was fetched, so that the next fetch from the kept repository gets only what differs from it.
const FETCHED: &str = "refs/fairlead/fetched";

/// Ref of the remote repository that a request resolved to.
struct ResolvedRef {
    /// Full ref name or commit hash to fetch.
    name: String,
    /// Description for the log.
    words: String,
}

impl ResolvedRef {
    /// Name of the branch; empty for a tag or a commit.
    fn branch(&self) -> &str {
        self.name.strip_prefix(BRANCHES).unwrap_or_default()
    }
}

/// Files that git-lfs keeps elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LargeFiles {
    Fetch,
    Leave,
}

/// Clones into the source, which is empty, and pins the commit. No key of the source is left when it ends.
pub(crate) async fn clone(
    workshop: &mut Workshop<'_>,
    spec: &BuildSpec,
    large_files: LargeFiles,
) -> Result<Commit, BuildError> {
    check_url(&spec.repository_url)?;
    if !spec.git_ref.is_empty() {
        check_ref(&spec.git_ref)?;
    }
    let keys = source_keys::put(workshop, spec).await?;
    let mut git = Git { workshop, keys: &keys, spec, fetches_large_files: large_files == LargeFiles::Fetch };
    let result = git.clone().await;
    let removed = source_keys::remove(workshop).await;
    result.and_then(|commit| removed.map(|()| commit))
}

/// Git in one repository, with what opens it.
struct Git<'a, 'b> {
    workshop: &'a mut Workshop<'b>,
    keys: &'a SourceCredentials,
    spec: &'a BuildSpec,
    fetches_large_files: bool,
}

impl Git<'_, '_> {
    /// Clones with what the last build kept, and anew when that can't be used.
    async fn clone(&mut self) -> Result<Commit, BuildError> {
        let found = self.find().await?;
        let words = format!("Fetching {} of {}", found.words, self.spec.repository_url);
        self.workshop.say(Step::Clone, words);
        let kept = kept_repository::take(self.workshop).await?;
        let known = if kept { self.reuse(&found).await? } else { None };
        let commit = match known {
            Some(commit) => commit,
            None => self.checked_out(&found).await?,
        };
        if let Err(error) = kept_repository::keep(self.workshop).await {
            // The next build clones anew.
            tracing::warn!(deployment = %self.workshop.deployment, %error, "the repository of a build is not kept");
        }
        Ok(commit)
    }

    /// Checks out with what the last build kept. `None`, and an empty source, when that can't be used.
    async fn reuse(&mut self, found: &ResolvedRef) -> Result<Option<Commit>, BuildError> {
        // Objects of another repository are none of this one's business.
        if self.is_of_this_url().await? {
            match self.checked_out(found).await {
                Ok(commit) => return Ok(Some(commit)),
                Err(BuildError::Cancelled) => {
                    kept_repository::put_back(self.workshop).await?;
                    return Err(BuildError::Cancelled);
                }
                Err(error @ (BuildError::Timeout { .. } | BuildError::DiskFull | BuildError::TooLarge { .. })) => {
                    return Err(error);
                }
                Err(_) => {
                    let words = "The cached repository can't be used. Cloning it again.";
                    self.workshop.say(Step::Clone, words);
                }
            }
        }
        kept_repository::discard(self.workshop).await?;
        Ok(None)
    }

    /// Fetches and checks out all of a commit into the source, which holds nothing but perhaps the kept repository.
    async fn checked_out(&mut self, found: &ResolvedRef) -> Result<Commit, BuildError> {
        let spec = self.spec;
        self.must(&["init", "--quiet", "."]).await?;
        let pinned = self.fetch(&found.name).await?;
        // Files that a kept index names are absent, which without force would count as the builder's own removal.
        self.must(&["checkout", "--quiet", "--force", "--detach", &pinned]).await?;
        let commit = Commit { branch: found.branch().to_owned(), ..self.read_commit().await? };
        let words = format!("Pinned {} {} ({})", &commit.hash[..12], commit.subject, commit.author);
        self.workshop.say(Step::Clone, words);
        // Base of relative submodule addresses, and the server of git-lfs.
        self.must(&["config", ORIGIN, &spec.repository_url]).await?;
        let has_submodules = self.submodules().await?;
        if self.fetches_large_files {
            self.large_files(has_submodules).await?;
        }
        Ok(commit)
    }

    /// Reports whether the kept repository came from the app's address: this app may not see objects of another one.
    async fn is_of_this_url(&mut self) -> Result<bool, BuildError> {
        let origin = self.run(true, &["config", "--local", "--get", ORIGIN]).await?;
        Ok(String::from_utf8_lossy(&origin.captured).trim_end() == self.spec.repository_url)
    }

    /// Fetches the submodules; returns whether there are any.
    async fn submodules(&mut self) -> Result<bool, BuildError> {
        let list = ["config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.url$"];
        let listed = self.run(true, &list).await?;
        let text = String::from_utf8_lossy(&listed.captured);
        let urls: Vec<&str> = text.lines().filter_map(|line| line.split_once(' ')).map(|(_, url)| url).collect();
        if urls.is_empty() {
            return Ok(false);
        }
        if urls.len() > SUBMODULES_MAX {
            return Err(BuildError::Clone(format!(
                "The repository has {} submodules, more than the {SUBMODULES_MAX} that are fetched. Leave some out.",
                urls.len()
            )));
        }
        if let Some(bad) =
            urls.iter().find(|url| !url.starts_with("../") && !url.starts_with("./") && check_url(url).is_err())
        {
            return Err(BuildError::Clone(format!(
                "The submodule {} can't be fetched: its address must begin with https://, http:// or ssh://. Change it in .gitmodules.",
                bad.chars().take(200).collect::<String>()
            )));
        }
        self.workshop.say(Step::Clone, format!("Fetching {} submodules", urls.len()));
        self.move_submodules().await?;
        let done = self
            .run(false, &["submodule", "--quiet", "update", "--init", "--recursive", "--depth=1", "--jobs=2"])
            .await?;
        match done.status.success() {
            true => Ok(true),
            false if done.disk_full() => Err(BuildError::DiskFull),
            false => {
                let said = done.tail.iter().rev().find(|line| line.starts_with("fatal: ")).or(done.tail.last());
                Err(BuildError::Clone(format!(
                    "A submodule of the repository could not be fetched: {}. Check its address in .gitmodules, and that what opens the repository opens it too.",
                    said.map_or("git says nothing", |line| line.trim_start_matches("fatal: ").trim_end_matches('.'))
                )))
            }
        }
    }

    /// Tells kept submodules their present addresses; `git submodule sync` leaves those out that are not checked out.
    async fn move_submodules(&mut self) -> Result<(), BuildError> {
        self.must(&["submodule", "--quiet", "init"]).await?;
        self.must(&["submodule", "--quiet", "sync"]).await?;
        let listed = self.run(true, &["config", "--local", "--get-regexp", r"^submodule\..*\.url$"]).await?;
        let text = String::from_utf8_lossy(&listed.captured).into_owned();
        for (key, url) in text.lines().filter_map(|line| line.split_once(' ')) {
            let name = key.strip_prefix("submodule.").and_then(|key| key.strip_suffix(".url")).unwrap_or_default();
            let config = format!(".git/modules/{name}/config");
            let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            if is_plain && self.workshop.build_folders.source.join(&config).is_file() {
                self.must(&["config", "--file", &config, ORIGIN, url]).await?;
            }
        }
        Ok(())
    }

    /// Files that git-lfs keeps elsewhere; without it they would be deployed as what points to them.
    async fn large_files(&mut self, has_submodules: bool) -> Result<(), BuildError> {
        let filter = ["grep", "--quiet", "--recurse-submodules", "-E", "filter=lfs", "--", ":(glob)**/.gitattributes"];
        if !self.run(true, &filter).await?.status.success() {
            return Ok(());
        }
        self.workshop.say(Step::Clone, "Fetching large files (git-lfs)");
        let pull = |words: &[&'static str]| LARGE_FILES.iter().chain(words).copied().collect::<Vec<_>>();
        self.pull_large_files(&pull(&["lfs", "pull"])).await?;
        if has_submodules {
            let each = ["submodule", "--quiet", "foreach", "--recursive", "git", "lfs", "pull"];
            self.pull_large_files(&pull(&each)).await?;
        }
        Ok(())
    }

    async fn pull_large_files(&mut self, pull: &[&str]) -> Result<(), BuildError> {
        let done = self.run(false, pull).await?;
        if done.status.success() {
            return Ok(());
        }
        if done.disk_full() {
            return Err(BuildError::DiskFull);
        }
        let missing = done.tail.iter().any(|line| line.contains("'lfs' is not a git command"));
        Err(BuildError::Clone(if missing {
            "The repository keeps large files with git-lfs, which is not installed on this server. Install git-lfs there, then redeploy.".to_owned()
        } else {
            let said = done.tail.last().map_or("git-lfs says nothing", String::as_str).trim_end_matches('.');
            format!("The large files of the repository could not be fetched: {said}. Check that they were pushed.")
        }))
    }

    async fn must(&mut self, arguments: &[&str]) -> Result<(), BuildError> {
        let done = self.run(false, arguments).await?;
        succeeded(&done, self.spec)
    }

    async fn run(&mut self, capture: bool, arguments: &[&str]) -> Result<CommandOutcome, BuildError> {
        let arguments: Vec<&OsStr> = CONFIG.iter().chain(arguments).map(OsStr::new).collect();
        let keys = self.keys.environment.iter().map(|(name, value)| (*name, value.as_str()));
        let environment: Vec<(&str, &str)> = ENVIRONMENT.iter().copied().chain(keys).collect();
        let folder = self.workshop.build_folders.source.clone();
        let order = CommandSpec {
            step: Step::Clone,
            program: "git",
            arguments: &arguments,
            folder: &folder,
            environment: &environment,
            capture,
            secrets: false,
        };
        self.workshop.run(&order).await
    }

    /// Asks the server which branch or tag is meant; a full hash is believed as it is.
    async fn find(&mut self) -> Result<ResolvedRef, BuildError> {
        let spec = self.spec;
        let wanted = spec.git_ref.as_str();
        if wanted.is_empty() {
            return self.find_default().await;
        }
        if is_hash(wanted) {
            return Ok(ResolvedRef { name: wanted.to_owned(), words: format!("commit {}", &wanted[..12]) });
        }
        let candidates = match wanted.strip_prefix("refs/") {
            Some(_) => vec![(wanted.to_owned(), wanted.to_owned())],
            None => vec![
                (format!("{BRANCHES}{wanted}"), format!("branch {wanted}")),
                (format!("refs/tags/{wanted}"), format!("tag {wanted}")),
            ],
        };
        let mut arguments = vec!["ls-remote", "--quiet", "--", spec.repository_url.as_str()];
        arguments.extend(candidates.iter().map(|(name, _)| name.as_str()));
        let listed = self.run(true, &arguments).await?;
        succeeded(&listed, spec)?;
        let text = String::from_utf8_lossy(&listed.captured);
        let has = |name: &str| text.lines().any(|line| line.split('\t').nth(1) == Some(name));
        let found = candidates.into_iter().find(|(name, _)| has(name));
        found.map(|(name, words)| ResolvedRef { name, words }).ok_or_else(|| not_found(spec))
    }

    /// Asks the server for the branch that its HEAD names.
    async fn find_default(&mut self) -> Result<ResolvedRef, BuildError> {
        let spec = self.spec;
        let arguments = ["ls-remote", "--quiet", "--symref", "--", spec.repository_url.as_str(), "HEAD"];
        let listed = self.run(true, &arguments).await?;
        succeeded(&listed, spec)?;
        let text = String::from_utf8_lossy(&listed.captured);
        let lines = || text.lines().filter_map(|line| line.split_once('\t')).filter(|(_, name)| *name == "HEAD");
        let branch = lines().find_map(|(target, _)| target.strip_prefix("ref: ")?.strip_prefix(BRANCHES));
        match branch {
            // Without a commit, git tells no hash of it.
            _ if lines().all(|(target, _)| target.starts_with("ref: ")) => Err(not_found(spec)),
            Some(branch) => {
                check_ref(branch)?;
                let words = format!("branch {branch} (the repository's default)");
                Ok(ResolvedRef { name: format!("{BRANCHES}{branch}"), words })
            }
            None => Ok(ResolvedRef { name: "HEAD".to_owned(), words: "the repository's default branch".to_owned() }),
        }
    }

    /// Fetches and returns what to check out.
    async fn fetch(&mut self, name: &str) -> Result<String, BuildError> {
        let spec = self.spec;
        let url = spec.repository_url.as_str();
        let wanted = format!("+{name}:{FETCHED}");
        let one = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1", "--", url, &wanted];
        let done = self.run(false, &one).await?;
        if done.status.success() || !is_hash(name) {
            return succeeded(&done, spec).map(|()| FETCHED.to_owned());
        }
        if done.disk_full() {
            return Err(BuildError::DiskFull);
        }
        // A server may refuse to give a commit that no branch points at: then it must be among all that it does give.
        self.workshop
            .say(Step::Clone, "The repository does not give that commit alone; fetching all branches and tags.");
        let (heads, tags) = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*");
        let all = ["fetch", "--quiet", "--no-recurse-submodules", "--", url, heads, tags];
        let done = self.run(false, &all).await?;
        succeeded(&done, spec)?;
        let commit = format!("{name}^{{commit}}");
        let known = self.run(true, &["rev-parse", "--quiet", "--verify", &commit]).await?;
        if known.status.success() { Ok(name.to_owned()) } else { Err(not_found(spec)) }
    }

    async fn read_commit(&mut self) -> Result<Commit, BuildError> {
        let spec = self.spec;
        let shown = self.run(true, &["log", "-1", "--format=%H%x00%s%x00%an%x00%ct"]).await?;
        succeeded(&shown, spec)?;
        let text = String::from_utf8_lossy(&shown.captured).into_owned();
        let mut fields = text.trim_end().split('\0').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let (hash, subject, author, seconds) = (next(), next(), next(), next());
        if !is_hash(&hash) {
            return Err(BuildError::Clone("The commit could not be read from the repository.".to_owned()));
        }
        let committed_unix_ms = seconds.parse::<u64>().unwrap_or_default().saturating_mul(1000);
        let short = |text: String| text.chars().take(200).collect();
        Ok(Commit { hash, subject: short(subject), author: short(author), committed_unix_ms, branch: String::new() })
    }
}

fn succeeded(done: &CommandOutcome, spec: &BuildSpec) -> Result<(), BuildError> {
    match done.status.success() {
        true => Ok(()),
        false if done.disk_full() => Err(BuildError::DiskFull),
        false => Err(explain(done, spec)),
    }
}

/// Git's words to a sentence that says what to do.
fn explain(done: &CommandOutcome, spec: &BuildSpec) -> BuildError {
    let tail = &done.tail;
    let url = &spec.repository_url;
    let fatal =
        tail.iter().rev().find_map(|line| line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")));
    let silent = format!("git ended with {}", done.status);
    let said = fatal.or(tail.last().map(String::as_str)).unwrap_or(&silent).trim();
    let has = |words: &str| tail.iter().any(|line| line.contains(words));
    if has("couldn't find remote ref") || has("not our ref") || has("did not match any") {
        return not_found(spec);
    }
    let advice = if has("could not read Username")
        || has("Authentication failed")
        || has("error: 403")
        || has("error: 401")
    {
        "It does not exist or is private. Check the address, and the user name and password or key of the app's source."
    } else if has("Host key verification failed") {
        "The host is not one of the known hosts of the app's source. Set its key there."
    } else if has("Permission denied") {
        "The host refused the key of the app's source. Add the key to the repository, with the right to read."
    } else if ["301", "302", "303", "307", "308"].iter().any(|status| has(&format!("returned error: {status}"))) {
        "The host redirects to another address, and the agent sends no password there. Enter the address that the repository has now."
    } else if has("not found") || has("error: 404") || has("does not appear to be a git repository") {
        "There is no repository at this address. Check it in the settings of the app."
    } else if has("Could not resolve host") {
        "The server can't find that host. Check the address, and the server's DNS."
    } else if has("SSL certificate") || has("certificate verify") || has("TLS") {
        "The host's certificate is not trusted by the server."
    } else if has("Failed to connect") || has("Connection refused") || has("timed out") || has("Could not connect") {
        "The server can't connect to that host. Check the address and the server's firewall."
    } else {
        "Check the address in the settings of the app, and that the server can reach it."
    };
    BuildError::Clone(format!("The repository {url} could not be cloned: {said}. {advice}"))
}

fn not_found(spec: &BuildSpec) -> BuildError {
    if spec.git_ref.is_empty() {
        return BuildError::RefNotFound(format!(
            "The repository {} has no commit on its default branch. Push one, or name a branch in the settings of the app.",
            spec.repository_url
        ));
    }
    let what = if is_hash(&spec.git_ref) { "commit" } else { "branch or tag" };
    BuildError::RefNotFound(format!(
        "The repository {} has no {what} `{}`. Push it, or change it in the settings of the app.",
        spec.repository_url, spec.git_ref
    ))
}

fn is_hash(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The address is data of a user: it must be one of three protocols and hold nothing else but, for ssh, a user's name.
fn check_url(url: &str) -> Result<(), BuildError> {
    let clean = url.len() <= 2048 && url.bytes().all(|byte| byte.is_ascii_graphic());
    let web = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let authority = |rest: &str| rest.split('/').next().unwrap_or_default().to_owned();
    let safe = |host: &str| !host.is_empty() && !host.contains('@') && !host.starts_with('-');
    let shaped = match (web, url.strip_prefix("ssh://")) {
        (Some(rest), _) => safe(&authority(rest)),
        (None, Some(rest)) => {
            let authority = authority(rest);
            let (user, host) = authority.split_once('@').unwrap_or(("git", &authority));
            // A password has no place in an address, and no word may begin like an option of ssh.
            safe(host) && !user.is_empty() && !user.starts_with('-') && !user.contains(':')
        }
        (None, None) => false,
    };
    if clean && shaped {
        return Ok(());
    }
    Err(BuildError::Clone(
        "The address of the repository can't be used. It must begin with https://, http:// or ssh:// and hold no password or space.".to_owned(),
    ))
}

/// The rules of git-check-ref-format(1), as far as they matter for an argument.
fn check_ref(name: &str) -> Result<(), BuildError> {
    const FORBIDDEN: &[u8] = b" ~^:?*[\\\"'`$;&|<>(){}!";
    let clean = name.bytes().all(|byte| byte > b' ' && byte != 0x7f && !FORBIDDEN.contains(&byte));
    let shaped = !name.is_empty() && name.len() <= 255 && !name.starts_with(['-', '/', '.']) && !name.contains("..");
    if clean && shaped && !name.contains("@{") {
        return Ok(());
    }
    Err(BuildError::RefNotFound(format!(
        "The text `{}` is not the name of a branch, tag or commit. Change it in the settings of the app.",
        name.chars().take(80).filter(|char| !char.is_control()).collect::<String>()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_refs_that_could_be_more_than_data_are_refused() {
        for good in
            ["https://example.com/a.git", "http://127.0.0.1:8080/x/y", "ssh://git@example.com:22/a.git", "ssh://host/x"]
        {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "file:///etc",
            "ssh://git:word@host/x",
            "ssh://-oProxyCommand=x/",
            "ssh://git@-oProxyCommand=x/y",
            "git@host:x",
            "https://",
            "https://user:word@host/x",
            "ext::sh -c x",
            "https://host/a b",
            "--upload-pack=x",
            "https://-oProxyCommand=x/",
            "https://host/\n",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
        for good in ["main", "feature/a-b_c.d", "v1.2.3", "refs/pull/1/head", "日本"] {
            assert!(check_ref(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "--upload-pack=x", "a b", "a..b", "a^", "a:b", "$(x)", "`x`", "a;b", "@{-1}", "a\nb"] {
            assert!(check_ref(bad).is_err(), "{bad}");
        }
    }
}
