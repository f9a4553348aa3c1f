//! Quotes lines of a program's output in a sentence, and finds the name of a variable that they report as missing.

/// Longest quotation, in characters.
const QUOTE_CHARS_MAX: usize = 200;
/// Lines after "Invalid environment variables" that name them.
const LIST_LINES_MAX: usize = 40;
const ESCAPE: char = '\u{1b}';

/// Returns the text without escape sequences (ECMA-48) and control characters.
pub fn plain(text: &str) -> String {
    cleaned(text, |_| false)
}

/// Returns the text with colors and styles as its only escape sequences, and without control characters.
pub fn styled(text: &str) -> String {
    cleaned(text, is_style)
}

fn cleaned(text: &str, keeps: impl Fn(&str) -> bool) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let length = match char {
            ESCAPE => escape_length(rest.as_bytes()).unwrap_or(rest.len()),
            char => char.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        match char {
            ESCAPE if keeps(piece) => cleaned.push_str(piece),
            '\t' => cleaned.push_str("    "),
            char if char.is_control() => {}
            char => cleaned.push(char),
        }
        rest = after;
    }
    cleaned
}

/// Returns the length of the escape sequence at the start of `bytes`; `None` if its end is missing. A sequence that is no valid one
/// ends before the first byte that does not belong to it.
pub fn escape_length(bytes: &[u8]) -> Option<usize> {
    let end = |from: usize, is_inside: fn(u8) -> bool| {
        bytes[from..].iter().position(|byte| !is_inside(*byte)).map(|count| from + count)
    };
    let with_final = |at: usize, is_final: bool| if is_final { at + 1 } else { at };
    match *bytes.get(1)? {
        // CSI: parameters, then one final byte.
        b'[' => end(2, |byte| matches!(byte, 0x20..=0x3f)).map(|at| with_final(at, matches!(bytes[at], 0x40..=0x7e))),
        // OSC and other strings: up to BEL or ESC \.
        b']' | b'P' | b'X' | b'^' | b'_' => {
            let at = end(2, |byte| !matches!(byte, 0x07 | 0x1b))?;
            if bytes[at] == 0x07 {
                return Some(at + 1);
            }
            bytes.get(at + 1).map(|byte| if *byte == b'\\' { at + 2 } else { at })
        }
        // Designations such as that of a character set.
        0x20..=0x2f => {
            end(2, |byte| matches!(byte, 0x20..=0x2f)).map(|at| with_final(at, matches!(bytes[at], 0x30..=0x7e)))
        }
        byte => Some(with_final(1, matches!(byte, 0x30..=0x7e))),
    }
}

/// Recognizes SGR: `ESC [ 1 ; 31 m`.
fn is_style(sequence: &str) -> bool {
    let parameters = sequence.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('m'));
    parameters.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
}

/// Returns a line between backticks, cut to what a sentence can hold. `line` must hold no secret.
pub fn quote(line: &str) -> String {
    let line = plain(line).replace('`', "'");
    let line = line.trim();
    let mut quoted: String = line.chars().take(QUOTE_CHARS_MAX).collect();
    if quoted.len() < line.len() {
        quoted.truncate(quoted.trim_end().len());
        quoted.push('…');
    }
    format!("`{quoted}`")
}

/// Words of lines that tell of an error.
const ERRORS: [&str; 12] = [
    "error",
    "failed",
    "fatal",
    "cannot",
    "can't",
    "not found",
    "exception",
    "panic",
    "unable",
    "invalid",
    "denied",
    "missing",
];
/// Words of lines that follow each error, whatever it was.
const NOISE: [&str; 20] = [
    "a complete log of this run",
    "npm error code",
    "npm error path",
    "npm error command",
    "npm error errno",
    "npm error lifecycle script",
    "npm error workspace",
    "npm error location",
    "elifecycle",
    "command failed with exit code",
    "exited with code",
    "exit status",
    "info visit",
    "failed with errors in",
    "for a full report",
    "npm warn",
    "error: process didn't exit successfully",
    "emitted 'error' event",
    "rust_backtrace",
    "^^",
];

/// Finds the last line that looks like an error, or the last line that a manager did not add.
pub fn telling_line(lines: &[impl AsRef<str>]) -> Option<&str> {
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let is_own = |line: &&str| {
        let line = line.replace("npm ERR!", "npm error").to_lowercase();
        let line = line.trim();
        // Managers show the command of a script before they run it.
        let is_echo = line.starts_with("> ") || line.starts_with("$ ");
        !(line.is_empty() || line == "npm error" || is_echo || is_frame(line) || has(line, &NOISE))
    };
    let own = || lines.iter().rev().map(AsRef::as_ref).filter(is_own);
    own().find(|line| has(&line.to_lowercase(), &ERRORS)).or_else(|| own().next())
}

/// Finds the environment variable that a program says it lacks, and the line that says so.
pub fn missing_variable(lines: &[impl AsRef<str>]) -> Option<(usize, String)> {
    lines.iter().enumerate().find_map(|(index, line)| {
        let line = line.as_ref();
        let lower = line.to_lowercase();
        // t3-env and its like list what is wrong below a heading.
        if lower.contains("invalid environment variables") {
            let list = lines[index..].iter().take(LIST_LINES_MAX);
            let name = list.filter(|line| !is_frame(line.as_ref())).find_map(|line| variable_name(line.as_ref()));
            return name.map(|name| (index, name));
        }
        let is_about_variables = ["environment variable", "env variable", "env var ", "envvar", "process.env."]
            .iter()
            .any(|words| lower.contains(words));
        let is_missing = [
            "missing",
            "not found",
            "not set",
            "required",
            "undefined",
            "not defined",
            "must be set",
            "set the",
            "unset",
        ]
        .iter()
        .any(|words| lower.contains(words));
        // This line is cargo's advice for the next build.
        let is_missing = is_missing && !lower.contains("to reuse those artifacts");
        let is_key = line.contains("KeyError: '") || line.contains("UndefinedValueError: ");
        // Node prints the line of code above the error.
        let is_code = line.trim_end().ends_with(['{', ';']);
        let found = (is_key || is_about_variables && is_missing || says_unset(line)) && !is_code && !is_frame(line);
        found.then(|| variable_name(line)).flatten().map(|name| (index, name))
    })
}

/// Recognizes `API_KEY must be set`, which does not say that it is a variable.
fn says_unset(line: &str) -> bool {
    // A name in the code has the same form.
    if line.contains("ReferenceError") || line.contains("NameError") {
        return false;
    }
    if line.contains("to use query macros online") {
        // sqlx
        return true;
    }
    let Some(name) = variable_name(line).filter(|name| name.contains('_')) else { return false };
    let after = line.split_once(&name).map_or("", |(_, after)| after).trim_start_matches(['`', '\'', '"']);
    [" is not set", " not set", " must be set", " is required", " is missing", " is not defined", " must be defined"]
        .iter()
        .any(|words| after.starts_with(words))
}

fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with("at ")
}

/// Returns the first word such as `DATABASE_URL`.
fn variable_name(line: &str) -> Option<String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let is_name = |word: &&str| {
        word.len() >= 4
            && word.chars().any(|char| char.is_ascii_uppercase())
            && !word.chars().any(|char| char.is_ascii_lowercase())
            && !word.starts_with(|char: char| char.is_ascii_digit())
            && !NOT_NAMES.contains(word)
    };
    line.split(|char| !is_part(char)).find(is_name).map(str::to_owned)
}

/// Words in capitals that are no names of variables.
const NOT_NAMES: [&str; 10] =
    ["ERROR", "FATAL", "WARN", "WARNING", "CRITICAL", "INFO", "HTTP", "HTTPS", "HTML", "JSON"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_short_plain_and_between_backticks() {
        assert_eq!(quote("  \u{1b}[31merror\u{1b}[0m: run `x`\u{7} "), "`error: run 'x'`");
        let long = quote(&"é".repeat(300));
        assert_eq!(long, format!("`{}…`", "é".repeat(200)));
    }

    #[test]
    fn a_plain_text_has_no_escape_sequence_and_a_styled_one_only_colors() {
        for (text, plain_text, styled_text) in [
            ("\u{1b}[1;32mok\u{1b}[0m\tdone\u{7}", "ok    done", "\u{1b}[1;32mok\u{1b}[0m    done"),
            ("\u{1b}[mreset\u{1b}[2K\u{1b}[?25l\u{1b}[1G", "reset", "\u{1b}[mreset"),
            ("\u{1b}]8;;https://a\u{1b}\\link\u{1b}]8;;\u{7}", "link", "link"),
            ("\u{1b}(B\u{1b}7saved\u{1b}8\u{1b}Pdata\u{1b}\\", "saved", "saved"),
            // xterm's modifyOtherKeys ends as a color does.
            ("\u{1b}[>4;1mkeys", "keys", "keys"),
            ("\u{1b}é \u{1b}[3é \u{1b}[31", "é é ", "é é "),
        ] {
            assert_eq!((plain(text).as_str(), styled(text).as_str()), (plain_text, styled_text), "{text:?}");
        }
    }

    #[test]
    fn the_line_that_tells_most_is_an_error_and_no_stack_frame() {
        for (lines, found) in [
            (
                vec![
                    "node:events:495",
                    "Error: listen EADDRINUSE",
                    "    at Server.error (node:net:1)",
                    "  errno: -98",
                    "Node.js v20",
                ],
                Some("Error: listen EADDRINUSE"),
            ),
            (vec!["panic: no such table", "", "goroutine 1 [running]:", "exit status 2"], Some("panic: no such table")),
            (vec!["one", "two", " "], Some("two")),
            (
                vec![
                    "> a@1.0.0 start",
                    "> node a.js",
                    "",
                    "no rope left",
                    "npm error code 1",
                    "npm error command sh -c node a.js",
                ],
                Some("no rope left"),
            ),
            (vec!["> node a.js", "npm error code 1"], None),
            (vec![], None),
        ] {
            assert_eq!(telling_line(&lines), found);
        }
    }

    #[test]
    fn the_missing_variable_is_found_in_the_words_of_each_library() {
        for (lines, name) in [
            (vec!["Error: Environment variable not found: DATABASE_URL."], "DATABASE_URL"),
            (vec!["PrismaConfigEnvError: Missing required environment variable: DATABASE_URL"], "DATABASE_URL"),
            (vec!["x", "❌ Invalid environment variables: { AUTH_SECRET: [ 'Required' ] }"], "AUTH_SECRET"),
            (
                vec![
                    "❌ Invalid environment variables: [",
                    "  {",
                    "    code: 'invalid_type',",
                    "    path: [ 'POSTGRES_URL' ],",
                ],
                "POSTGRES_URL",
            ),
            (vec!["KeyError: 'SECRET_KEY'"], "SECRET_KEY"),
            (
                vec![
                    "decouple.UndefinedValueError: SECRET_KEY not found. Declare it as envvar or define a default value.",
                ],
                "SECRET_KEY",
            ),
            (
                vec!["django.core.exceptions.ImproperlyConfigured: Set the SECRET_KEY environment variable"],
                "SECRET_KEY",
            ),
            (vec!["Error: STRIPE_KEY environment variable is not set"], "STRIPE_KEY"),
            (vec!["Error: process.env.API_URL is required"], "API_URL"),
            (vec!["Error: RENDER_WEBHOOK_SECRET is not set."], "RENDER_WEBHOOK_SECRET"),
            (vec!["error: set `DATABASE_URL` to use query macros online, or run `cargo sqlx prepare`"], "DATABASE_URL"),
            (vec!["thread 'main' panicked at src/main.rs:9:5: DATABASE_URL must be set: NotPresent"], "DATABASE_URL"),
        ] {
            assert_eq!(missing_variable(&lines).map(|(_, found)| found).as_deref(), Some(name), "{lines:?}");
        }
        for lines in [
            vec!["Loaded environment variables of .env"],
            vec!["KeyError: 'user'"],
            vec!["if (!process.env.API_URL) throw new Error('API_URL is required');"],
            vec!["error: API_URL answered 500"],
            vec!["ReferenceError: API_URL is not defined"],
            vec![
                "To reuse those artifacts with a future compilation, set the environment variable `CARGO_BUILD_BUILD_DIR` to that path.",
            ],
            vec!["NameError: name 'API_URL' is not defined"],
            vec!["    at missing (process.env.API_URL:1:2)"],
        ] {
            assert_eq!(missing_variable(&lines), None, "{lines:?}");
        }
    }
}
