//! Recognizes why a command of a build failed from the last lines that it wrote, and says what to do next.
//! Pure: the same lines give the same sentence.

mod rules;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use fairlead_base::excerpt::{missing_variable, quote, telling_line};

use crate::BuildError;
use rules::{Class, RULES};

/// A command that failed.
pub(crate) struct CommandFailure<'a> {
    /// The command as people read it.
    pub(crate) command: &'a str,
    /// End of a sentence that begins with the command, such as "failed with exit code 1".
    pub(crate) how: &'a str,
    /// Last lines that it wrote, without secrets and escape sequences.
    pub(crate) lines: &'a [String],
    pub(crate) installs: bool,
    /// The kernel killed it, because memory ran out.
    pub(crate) was_killed: bool,
}

/// Returns the error with the failing line and the next step.
pub(crate) fn diagnose(failed: &CommandFailure<'_>) -> BuildError {
    let usual = if failed.installs { "build.install_failed" } else { "build.command_failed" };
    let cause = cause(failed.lines);
    let (code, line, advice) = match &cause {
        _ if failed.was_killed => ("build.out_of_memory", None, advice(Class::Killed, "")),
        Some(Cause::Rule(class, line)) => (class.code(), Some(*line), advice(*class, line)),
        Some(Cause::Variable(name, line)) => ("build.variable_missing", Some(*line), variable(name)),
        None => (usual, telling_line(failed.lines), "The last lines of the log say why.".to_owned()),
    };
    let quoted = line.map_or(String::new(), |line| format!(": {}", quote(line)));
    let sentence = format!("The command `{}` {}{quoted}. {advice}", failed.command, failed.how);
    BuildError::Diagnosed { code, sentence }
}

enum Cause<'a> {
    Rule(Class, &'a str),
    Variable(String, &'a str),
}

/// The first rule with a line decides, so that a symptom never hides its cause.
fn cause(lines: &[String]) -> Option<Cause<'_>> {
    let ruled = RULES.iter().enumerate().find_map(|(at, (class, words))| {
        let line = lines.iter().find(|line| matches(line, words))?;
        Some((at, *class, line.as_str()))
    });
    let variable = missing_variable(lines).map(|(index, name)| Cause::Variable(name, &lines[index]));
    match ruled {
        // A missing variable shows as an error of the code as well.
        Some((_, class, _)) if class.follows_variables() && variable.is_some() => variable,
        Some((_, class, line)) => Some(Cause::Rule(class, line)),
        None => variable,
    }
}

fn matches(line: &str, words: &[&str]) -> bool {
    // npm wrote its prefix in capitals until version 10.
    let line = line.replace("npm ERR!", "npm error");
    !is_warning(&line) && words.iter().all(|word| line.contains(word))
}

/// Recognizes warnings and retries: neither is a reason.
fn is_warning(line: &str) -> bool {
    let line = line.trim_start().to_lowercase();
    // pip names a host it did not reach nowhere else; this is its last attempt.
    let is_last_attempt = line.starts_with("warning: retrying (retry(total=0");
    let is_prefixed = ["npm warn", "warn", "warning", "[warn", "(node:", "info ", "pnpm warn"]
        .iter()
        .any(|prefix| line.starts_with(prefix));
    (is_prefixed || line.contains("will retry in")) && !is_last_attempt
}

fn variable(name: &str) -> String {
    format!(
        "The build needs the variable `{name}`. Add it as a variable with the scope “Build only”, or as a secret marked “Also at build time”, then deploy again."
    )
}

/// Returns the next step.
fn advice(class: Class, line: &str) -> String {
    let fixed = match class {
        Class::Lock { update, files } => {
            return format!("The lock file does not match: run `{update}`, commit {files}, then deploy again.");
        }
        Class::Network => return network(line),
        Class::Runtime(names) => {
            return format!("It needs a different version than the build uses. {names}, then deploy again.");
        }
        Class::Compiler(packages) => {
            return format!(
                "A package has to be compiled, and this server lacks the tools for that. Install them on the server (on Debian and Ubuntu: `apt-get install {packages}`), or use a version of the package with prebuilt binaries."
            );
        }
        Class::Program => return program(line),
        Class::Fonts => {
            "The build downloads Google Fonts, and this server does not reach them. Let it reach fonts.googleapis.com and fonts.gstatic.com, or keep the fonts in the repository (`next/font/local`), then deploy again."
        }
        Class::Credentials => {
            "The registry or repository asks for credentials. Add a token as a secret marked “Also at build time” and name it in the package manager's settings (such as .npmrc), then deploy again."
        }
        Class::NotFound => {
            "The registry has no such package or version. Correct its name or version, then deploy again. A private package needs a token: a secret marked “Also at build time”."
        }
        Class::Conflict => {
            "Two packages need different versions of a third one. Choose versions that agree, or commit a .npmrc with `legacy-peer-deps=true`, then deploy again."
        }
        Class::Heap => {
            "Node ran out of heap memory. Set `NODE_OPTIONS` to `--max-old-space-size=4096` for builds, and give builds at least that much memory in the settings."
        }
        Class::Killed => {
            "Give builds more memory in the settings, let fewer builds run at once on this server, or make the build need less."
        }
        Class::Script => {
            "package.json has no such script. Add it, or set another command in the settings, then deploy again."
        }
        Class::Code => "The error is in the app's own code. Correct it, push, then deploy again.",
        Class::Header => {
            "A package has to be compiled, and this server lacks a header file for that. Install the system package that contains it (on Debian and Ubuntu its name ends in `-dev`), or use a version with prebuilt binaries."
        }
        Class::Module => {
            "The code imports something that does not exist. Add the package to the dependencies, or correct the path (upper and lower case count on Linux), then deploy again."
        }
        Class::Denied => {
            "A build may write in the app's folder, in $HOME and in /tmp only. Let the command write there, then deploy again."
        }
        Class::File => {
            "The command reads a file that does not exist. Commit it (.gitignore may exclude it, and upper and lower case count on Linux) or correct its path, then deploy again."
        }
    };
    fixed.to_owned()
}

fn network(line: &str) -> String {
    let Some(host) = host(line) else {
        return "This server does not reach the package registry. Check its network, DNS and firewall, then deploy again.".to_owned();
    };
    if is_local(&host) {
        return format!(
            "Nothing answers at `{host}` while the app is built: its databases and services are not there yet. Connect when the app runs, not while it is built."
        );
    }
    format!("This server does not reach `{host}`. Check its network, DNS and firewall, then deploy again.")
}

/// A service of the app's own surroundings: loopback, a private address, or a name without a dot.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    match host.parse::<IpAddr>().or_else(|_| name.parse()) {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => !name.contains('.'),
    }
}

/// The host that a line about a failed connection names.
fn host(line: &str) -> Option<String> {
    const BEFORE: [&str; 18] = [
        "ENOTFOUND ",
        "EAI_AGAIN ",
        "ECONNREFUSED ",
        "ETIMEDOUT ",
        "EHOSTUNREACH ",
        "ENETUNREACH ",
        "Could not resolve host: ",
        "Could not resolve hostname ",
        "Failed to connect to ",
        "Failed to resolve '",
        "connect to host ",
        "host='",
        "lookup ",
        "resolve address for ",
        "dial tcp ",
        "reach database server at `",
        "://",
        "host name ",
    ];
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | ':' | '[' | ']' | '@' | '_');
    BEFORE.iter().find_map(|before| {
        let (_, rest) = line.split_once(before)?;
        let host: String = rest.chars().take_while(|char| is_part(*char)).collect();
        // Credentials of an address are no host.
        let host = host.rsplit('@').next().unwrap_or_default().trim_end_matches([':', '.']);
        let is_host = host.contains('.') || host.contains(':') || *before != "://" && host.len() > 1;
        // `failed to lookup address information` names the host elsewhere.
        (is_host && !matches!(host, "lookup" | "address")).then(|| host.to_owned())
    })
}

fn program(line: &str) -> String {
    // `sh: 1: vite: not found`, `bash: line 1: vite: command not found`, `env: 'vite': No such file or directory`.
    let before = ["command not found", "not found", "No such file or directory"]
        .iter()
        .find_map(|end| line.split_once(end))
        .map_or("", |(before, _)| before);
    let name = before.trim().trim_end_matches(':').rsplit(": ").next().unwrap_or_default();
    let name = name.trim_matches(['\'', '"', '‘', '’', ' ']);
    format!(
        "There is no program {}. Add the package that provides it to the dependencies, or install it on this server, then deploy again.",
        quote(name)
    )
}
