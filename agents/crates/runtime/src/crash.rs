//! Recognizes why an app crashed from the last lines that it wrote. Pure.

use fairlead_base::excerpt::{missing_variable, telling_line};

use crate::output::names_refused_port;

/// Crash reason and the app's most telling line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// Reason, if it is a known one.
    pub reason: Option<CrashReason>,
    /// Most telling line, or empty. The shim redacted its secrets.
    pub line: String,
}

/// Known reason of a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrashReason {
    /// The app may not listen on the port that it chose.
    PortDenied,
    /// The port is taken, usually by the app itself.
    PortTaken,
    /// An environment variable is missing.
    Variable(String),
    /// The app imports a module that is not in the artifact.
    Module,
    /// The app writes to a path without permission.
    WriteDenied,
    /// The command runs a program that does not exist.
    Program,
    /// The app can't reach a database or service.
    Service,
}

/// Words that must all occur in one line. The first row with such a line decides.
const ROWS: &[(CrashReason, &[&str])] = &[
    (CrashReason::PortTaken, &["EADDRINUSE"]),
    (CrashReason::PortTaken, &["ddress already in use"]),
    (CrashReason::Module, &["Error: Cannot find module '"]),
    (CrashReason::Module, &["Cannot find package '"]),
    (CrashReason::Module, &["ModuleNotFoundError: No module named"]),
    (CrashReason::Module, &["ImportError: cannot import name"]),
    (CrashReason::Module, &["error: Module not found \""]),
    (CrashReason::Module, &["error while loading shared libraries"]),
    (CrashReason::WriteDenied, &["EACCES: permission denied"]),
    (CrashReason::WriteDenied, &["EROFS"]),
    (CrashReason::WriteDenied, &["ead-only file system"]),
    (CrashReason::WriteDenied, &["PermissionError: [Errno 13]"]),
    (CrashReason::WriteDenied, &["attempt to write a readonly database"]),
    (CrashReason::WriteDenied, &["unable to open database file"]),
    (CrashReason::WriteDenied, &[": permission denied", "open /"]),
    (CrashReason::Service, &["connection to server", "failed"]),
    (CrashReason::Service, &["connect ECONNREFUSED"]),
    (CrashReason::Service, &["getaddrinfo ENOTFOUND"]),
    (CrashReason::Service, &["getaddrinfo EAI_AGAIN"]),
    (CrashReason::Service, &["Can't reach database server"]),
    (CrashReason::Service, &["Can't connect to ", "server"]),
    (CrashReason::Service, &["could not translate host name"]),
    (CrashReason::Service, &["ServerSelectionTimeoutError"]),
    (CrashReason::Service, &["MongooseServerSelectionError"]),
    (CrashReason::Service, &["MongoServerSelectionError"]),
    (CrashReason::Service, &["redis.exceptions.ConnectionError"]),
    (CrashReason::Service, &["dial tcp", "connection refused"]),
    (CrashReason::Service, &["dial tcp", "no such host"]),
    (CrashReason::Service, &["Connection refused (os error 111)"]),
];
/// Only for an app that ended with exit code 127: others may write this and continue.
const NO_PROGRAM: [&str; 3] = ["not found", "No such file or directory", "executable file not found"];
/// Exit code of a shell that finds no program.
const NO_PROGRAM_CODE: i32 = 127;

/// Recognizes a crash from the last lines; `None` if there are none.
pub(crate) fn recognize(code: Option<i32>, lines: &[String]) -> Option<Crash> {
    let with = |reason, line: &String| Some(Crash { reason: Some(reason), line: line.clone() });
    if code == Some(NO_PROGRAM_CODE) {
        let line = lines.iter().rev().find(|line| NO_PROGRAM.iter().any(|words| line.contains(words)));
        // The engine of a container writes nothing into the app's log.
        return with(CrashReason::Program, line.unwrap_or(&String::new()));
    }
    if let Some(line) = lines.iter().rev().find(|line| names_refused_port(line)) {
        return with(CrashReason::PortDenied, line);
    }
    if let Some((index, name)) = missing_variable(lines) {
        return with(CrashReason::Variable(name), &lines[index]);
    }
    let found = ROWS.iter().find_map(|(reason, words)| {
        let line = lines.iter().rev().find(|line| words.iter().all(|word| line.contains(word)))?;
        Some((reason.clone(), line))
    });
    match found {
        Some((reason, line)) => with(reason, line),
        None => telling_line(lines).map(|line| Crash { reason: None, line: line.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_crash_is_known_by_its_last_lines() {
        for (code, output, reason, quoted) in [
            (1, "2026/11/24 listen tcp :80: bind: permission denied", Some(CrashReason::PortDenied), "listen tcp :80"),
            (
                1,
                "Error: listen EACCES: permission denied 0.0.0.0:80\n    at Server.x\n  code: 'EACCES',",
                Some(CrashReason::PortDenied),
                "listen EACCES",
            ),
            (
                1,
                "Error: listen EADDRINUSE: address already in use :::3000\n    at x",
                Some(CrashReason::PortTaken),
                "EADDRINUSE",
            ),
            (1, "OSError: [Errno 98] Address already in use", Some(CrashReason::PortTaken), "Errno 98"),
            (
                1,
                "Error: Cannot find module 'express'\nRequire stack:\n- /app/a.js",
                Some(CrashReason::Module),
                "express",
            ),
            (
                1,
                "Traceback (most recent call last):\nModuleNotFoundError: No module named 'django'",
                Some(CrashReason::Module),
                "django",
            ),
            (
                1,
                "[Error: EACCES: permission denied, open '/app/.astro/env.d.ts']",
                Some(CrashReason::WriteDenied),
                ".astro",
            ),
            (
                1,
                "PermissionError: [Errno 13] Permission denied: '/app/instance'",
                Some(CrashReason::WriteDenied),
                "/app/instance",
            ),
            (
                1,
                "OSError: [Errno 30] Read-only file system: '/app/instance'",
                Some(CrashReason::WriteDenied),
                "instance",
            ),
            (
                1,
                "django.db.utils.OperationalError: connection to server at \"localhost\" (::1), port 5432 failed: Connection refused",
                Some(CrashReason::Service),
                "5432",
            ),
            (
                1,
                "Error: connect ECONNREFUSED 127.0.0.1:6379\n    at TCPConnectWrap.afterConnect",
                Some(CrashReason::Service),
                "6379",
            ),
            (1, "dial tcp: lookup db on 10.0.0.1:53: no such host", Some(CrashReason::Service), "lookup db"),
            (127, "env: 'gunicorn': No such file or directory", Some(CrashReason::Program), "gunicorn"),
            (127, "sh: 1: nest: not found", Some(CrashReason::Program), "nest"),
            (1, "KeyError: 'SECRET_KEY'", Some(CrashReason::Variable("SECRET_KEY".to_owned())), "SECRET_KEY"),
            (1, "starting\nthe moon: error 7\nbye", None, "the moon"),
            (1, "page not found\nconfig broken: error", None, "config broken"),
        ] {
            let lines: Vec<String> = output.lines().map(str::to_owned).collect();
            let crash = recognize(Some(code), &lines).unwrap();
            assert_eq!(crash.reason, reason, "{output}");
            assert!(crash.line.contains(quoted), "{crash:?}");
        }
        assert_eq!(recognize(Some(1), &[]), None);
        assert_eq!(recognize(Some(127), &[]).unwrap().reason, Some(CrashReason::Program));
    }
}
