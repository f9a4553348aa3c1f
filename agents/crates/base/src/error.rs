//! Formats an error with its causes in one line, for logs and for people.

use std::error::Error;

/// Returns the error and its causes, separated by `: `.
pub fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        // Transparent wrappers repeat the text of their cause.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = next.source();
    }
    line
}
