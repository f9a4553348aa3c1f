//! Commands as people write them, taken apart without a shell.

/// Program and arguments of a line of plain words; `None` when a shell would do more with it than split it.
pub(crate) fn plain(line: &str) -> Option<Vec<String>> {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@=,+-%".contains(&byte);
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    // A first word with `=` sets a variable in a shell.
    let program = words.first().is_some_and(|word| !word.contains('='));
    (program && words.iter().all(|word| word.bytes().all(harmless)))
        .then(|| words.into_iter().map(str::to_owned).collect())
}

/// A command for people; words with spaces in quotes.
pub(crate) fn shown(command: &[String]) -> String {
    let word = |word: &String| if word.is_empty() || word.contains(' ') { format!("\"{word}\"") } else { word.clone() };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}
