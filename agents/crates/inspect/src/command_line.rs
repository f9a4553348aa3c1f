//! Commands as people write them, and as they are shown.

/// Program and arguments of a typed line. Plain words are split at spaces; a line that only a shell understands is run by `sh -c`
/// as it stands. `None` for an empty line.
pub fn command(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    if line.is_empty() || line.contains('\0') {
        return None;
    }
    Some(plain(line).unwrap_or_else(|| ["sh", "-c", line].map(str::to_owned).to_vec()))
}

/// Words of a line that a shell would only split; `None` if it would do more.
pub(crate) fn plain(line: &str) -> Option<Vec<String>> {
    const BUILTINS: [&str; 12] =
        ["cd", "exec", "export", "set", "source", ".", "if", "for", "while", "[", "test", "trap"];
    let harmless = |byte: u8| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"_./:@=,+-%".contains(&byte);
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    // A first word with `=` sets a variable in a shell.
    let program = words.first().is_some_and(|word| !word.contains('=') && !BUILTINS.contains(word));
    (program && words.iter().all(|word| word.bytes().all(harmless)))
        .then(|| words.into_iter().map(str::to_owned).collect())
}

/// Command for people, who may type it again: a shell's line as it was typed, other words in quotes where a shell needs them.
pub fn display_command(command: &[String]) -> String {
    if let [shell, flag, line] = command
        && shell == "sh"
        && flag == "-c"
    {
        return line.clone();
    }
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if word.contains(['"', '$', '`', '\\', '!']) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let special = |char: char| char.is_whitespace() || "'<>|&;()*?[]{}#~".contains(char);
    if word.is_empty() || word.contains(special) { format!("\"{word}\"") } else { word.to_owned() }
}

/// Returns the names in backticks, separated by commas.
pub(crate) fn in_quotes(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_start_directly_and_all_else_goes_through_a_shell() {
        for (line, words) in [
            ("node server.js", &["node", "server.js"][..]),
            ("  gunicorn   app:app ", &["gunicorn", "app:app"]),
            ("gunicorn --bind 0.0.0.0:$PORT app:app", &["sh", "-c", "gunicorn --bind 0.0.0.0:$PORT app:app"]),
            ("A=1 node x.js", &["sh", "-c", "A=1 node x.js"]),
            ("cd web && npm start", &["sh", "-c", "cd web && npm start"]),
            ("node 'a b.js'", &["sh", "-c", "node 'a b.js'"]),
            ("node ~/x", &["sh", "-c", "node ~/x"]),
        ] {
            assert_eq!(command(line).unwrap(), words, "{line}");
            assert_eq!(
                display_command(&command(line).unwrap()),
                line.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
            );
        }
        assert_eq!((command(" "), command("a\0b")), (None, None));
    }

    #[test]
    fn words_that_a_shell_would_read_otherwise_are_shown_in_quotes() {
        let words = ["a", "", "b c", "setuptools<81", "uvicorn[standard]", "it's $HOME", "--x=1"].map(str::to_owned);
        let shown = display_command(&words);
        assert_eq!(shown, r#"a "" "b c" "setuptools<81" "uvicorn[standard]" 'it'\''s $HOME' --x=1"#);
    }

    /// The dashboard splits typed lines too, by the same cases.
    #[test]
    fn lines_are_split_as_the_dashboard_splits_them() {
        let cases = include_str!("../../../../packages/contract/fixtures/command-lines.json");
        let cases: serde_json::Value = serde_json::from_str(cases).unwrap();
        for (line, words) in cases["words"].as_object().unwrap() {
            let words: Vec<&str> = words.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            assert_eq!(command(line).unwrap_or_default(), words, "{line}");
        }
        for line in cases["shell"].as_array().unwrap() {
            let line = line.as_str().unwrap();
            assert_eq!(command(line).unwrap(), ["sh", "-c", line], "{line}");
        }
    }
}
