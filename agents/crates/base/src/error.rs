//! An error with its causes in one line, for logs and for people. Never decides anything by text.

use std::error::Error;

/// `what: because: because`.
pub fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        // Transparent wrappers repeat what they hold.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = next.source();
    }
    line
}
