//! Redirect of a route to another URL.

use serde::{Deserialize, Serialize};

use super::{Checked, Parsed, TrafficError, TrafficPart, wrong};
use crate::message;

/// Redirect to another URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// Status code: 301, 302, 303, 307 or 308.
    #[serde(default = "permanent")]
    pub status: u16,
    /// Location: `https://host`, `https://host/path` or `/path`.
    pub to: String,
    /// True to append the rest of the path after the route's prefix, and the query.
    #[serde(default = "yes")]
    pub keep_path: bool,
}

fn permanent() -> u16 {
    308
}

fn yes() -> bool {
    true
}

impl TrafficPart for Redirect {
    type Message = message::Redirect;

    fn from_message(message: message::Redirect) -> Parsed<Self> {
        let status = u16::try_from(message.status).map_err(|_| TrafficError::new("status", "is not a status"))?;
        Ok(Self { status, to: message.to, keep_path: message.keep_path })
    }

    fn check(&self) -> Checked {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return wrong("status", format!("is {}, not 301, 302, 303, 307 or 308", self.status));
        }
        let rest = ["https://", "http://"].iter().find_map(|scheme| self.to.strip_prefix(scheme));
        let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
        let path = self.to.starts_with('/') && !self.to.starts_with("//");
        let plain =
            self.to.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>' | b'\\'));
        if !plain || self.to.len() > 2048 || !(path || host.is_some_and(|host| !host.is_empty() && !host.contains('@')))
        {
            return wrong("to", "is neither https://host, http://host (with or without a path) nor a path");
        }
        if self.keep_path && self.to.contains('?') {
            return wrong("to", "has a query, to which no path can be added");
        }
        Ok(())
    }
}
