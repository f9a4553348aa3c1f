//! Accounts of the server (/etc/passwd), and the users of the proxy's process and of the lab's programs. Creates no account: the
//! kernel needs only a number.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use crate::file;

const PASSWD: &str = "/etc/passwd";
/// Account of the proxy, if an administrator created one.
const PROXY_ACCOUNT: &str = "fairlead-proxy";
/// User numbers of the proxy without such an account: above those of apps (70000 to 89999), below the first subordinate ids
/// (100000).
const PROXY_USERS: RangeInclusive<u32> = 90_000..=90_099;
/// Account of the programs in the benchmark lab, if an administrator created one.
const LAB_ACCOUNT: &str = "fairlead-lab";
/// User numbers of these programs without such an account. They must not be the proxy's: it may reach the agent and all apps.
const LAB_USERS: RangeInclusive<u32> = 90_100..=90_199;

/// A user and its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// Number of the user.
    pub uid: u32,
    /// Number of its primary group.
    pub gid: u32,
}

/// Returns the user of every proxy that root starts on this server: the account `fairlead-proxy`, else the first reserved number
/// without an account.
pub fn proxy_user() -> io::Result<User> {
    user_of(PROXY_ACCOUNT, PROXY_USERS)
}

/// Returns the user of the programs that an agent of root starts in the benchmark lab: the account `fairlead-lab`, else the first
/// reserved number without an account.
pub fn lab_user() -> io::Result<User> {
    user_of(LAB_ACCOUNT, LAB_USERS)
}

fn user_of(account: &str, reserved: RangeInclusive<u32>) -> io::Result<User> {
    let none = format!("all users {} to {} have accounts", reserved.start(), reserved.end());
    find_user(&read_passwd()?, account, reserved).ok_or_else(|| io::Error::other(none))
}

/// Returns the numbers of all users that have an account.
pub fn users() -> io::Result<Vec<u32>> {
    Ok(entries(&read_passwd()?).map(|(_, user)| user.uid).collect())
}

fn read_passwd() -> io::Result<String> {
    let bytes = file::read_if_present(Path::new(PASSWD))?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Parses names and numbers (passwd(5)).
fn entries(passwd: &str) -> impl Iterator<Item = (&str, User)> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
        Some((name, User { uid: uid.parse().ok()?, gid: gid.parse().ok()? }))
    })
}

fn find_user(passwd: &str, account: &str, mut reserved: RangeInclusive<u32>) -> Option<User> {
    let account = entries(passwd).find(|(name, user)| *name == account && user.uid != 0 && user.gid != 0);
    account.map(|(_, user)| user).or_else(|| {
        let is_free = |uid: &u32| entries(passwd).all(|(_, user)| user.uid != *uid && user.gid != *uid);
        reserved.find(is_free).map(|uid| User { uid, gid: uid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_has_its_account_or_a_number_that_no_account_has() {
        let root = "root:x:0:0:root:/root:/bin/bash\n";
        let with = |lines: &str| find_user(&format!("{root}{lines}"), PROXY_ACCOUNT, PROXY_USERS).unwrap();
        assert_eq!(with(""), User { uid: 90_000, gid: 90_000 });
        assert_eq!(with("ann:x:90000:100::/:/bin/sh\nbob:x:5:90001::/:/bin/sh\n"), User { uid: 90_002, gid: 90_002 });
        assert_eq!(with("fairlead-proxy:x:412:413::/:/bin/false\n"), User { uid: 412, gid: 413 });
        assert_eq!(with("fairlead-proxy:x:0:0::/:/bin/false\n").uid, 90_000, "root is no user to change to");
    }
}
