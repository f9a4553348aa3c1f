#!/bin/sh
# Installs, updates and uninstalls a release of Fairlead on Debian 11+ and Ubuntu 20.04+ with systemd. Invariant: unpacks and
# runs nothing that the pinned key has not signed, and never touches apps in an update.
set -eu
umask 022

HELP='Usage: sh install.sh [install] --from DIR|URL [options]
       fairlead update [--from DIR|URL] [--to VERSION] [--yes]
       fairlead uninstall [--delete-data]

install     installs the release, or repairs an installation of the same version
update      backs up, installs a newer version, checks it, and rolls back if the check fails
uninstall   stops all apps of this server, removes units and programs; keeps data, settings and backups

  --from DIR|URL             folder with the files of a release, or its https address; update: default updates.feed of the settings
  --to VERSION               with update: install this version only
  --public-url URL           https address of the dashboard, with a name or an address of this server
  --email ADDRESS            contact for security reports, in security.txt
  --database-url-file FILE   file with the URL of your own PostgreSQL, instead of the embedded one
  --no-start                 with install: start nothing, to restore a backup first
  --delete-data              with uninstall: delete data, settings and backups too; asks first
  --yes                      ask nothing, except before data is deleted
  --help                     show this

docs/install.md describes what it installs and where.'

# Public keys of the releases, in the format of minisign: one, or two while the key is replaced. `npm run release` writes them.
PUBLIC_KEYS='@PUBLIC_KEYS@'

programs=/opt/fairlead
settings=/etc/fairlead/fairlead.toml
backups=/var/backups/fairlead
log=/var/log/fairlead/start.log
# The dashboard reads state and log of updates here, and writes its requests to a subfolder.
updater=/var/lib/fairlead-update
request=$updater/requests/request
units=/etc/systemd/system
UNITS='fairlead.service fairlead-apps.service fairlead-update.service fairlead-update.path'
command=/usr/local/bin/fairlead
START_SECONDS=300

say() {
  printf '%s\n' "fairlead: $*" >&2
  # A full disk must not end an update.
  if [ -n "${update_step:-}" ]; then printf '%s\n' "$*" >>"$updater/log" 2>/dev/null || true; fi
}
stop() { say "$*"; exit 1; }
need() { command -v "$1" >/dev/null 2>&1 || stop "$1 is missing. Install it, then run this again."; }

main() {
  verb=install from='' to='' public_url='' email='' database_url_file='' yes='' no_start='' delete_data=''
  case "${1:-}" in install | update | update-requested | uninstall | write-units) verb=$1 && shift ;; esac
  while [ $# -gt 0 ]; do
    case "$1" in
      --from | --to | --public-url | --email | --database-url-file) [ $# -gt 1 ] || stop "$1 needs a value. See --help" ;;
    esac
    case "$1" in
      --from) from=$2 && shift ;;
      --to) to=$2 && shift ;;
      --public-url) public_url=$2 && shift ;;
      --email) email=$2 && shift ;;
      --database-url-file) database_url_file=$2 && shift ;;
      --no-start) no_start=1 ;;
      --delete-data) delete_data=1 ;;
      --yes) yes=1 ;;
      --help | -h) printf '%s\n' "$HELP" && exit ;;
      *) stop "$1 is no option. See --help" ;;
    esac
    shift
  done
  [ "$(id -u)" = 0 ] || stop "this needs root: run it with sudo."
  [ -d /run/systemd/system ] || stop "this server does not run systemd, which Fairlead's units need."
  need systemctl
  data=$(data_folder)
  # The update of the previous version calls this, and holds the lock.
  if [ "$verb" = write-units ]; then write_units "${0%/tools/install/install.sh}" || true; return; fi
  # One at a time; programs that this starts do not hold the lock.
  exec 9>/run/fairlead-install.lock
  flock -n 9 || stop "another installation or update is running."
  case "$verb" in
    update-requested) update_requested 9>&- ;;
    *) "$verb" 9>&- ;;
  esac
}

install() {
  need_supported_system
  [ -n "$from" ] || stop "--from is missing: name the folder or the https address of a release. See --help"
  previous=$(current_version)
  check_answers
  fetch
  if [ -n "$previous" ] && [ "$previous" != "$version" ]; then
    stop "version $previous is installed. To install $version, run: fairlead update --from $from"
  fi
  changed=''
  unpack
  make_accounts
  [ -e "$settings" ] || write_settings
  link
  write_units "$programs/$version" || changed=1
  systemctl enable --quiet fairlead.service
  need_nftables
  if [ -n "$no_start" ]; then
    say "version $version is installed, and not started. Restore a backup with fairlead restore, then run this again without --no-start"
    return
  fi
  if [ -n "$changed" ] || ! systemctl is-active --quiet fairlead.service; then
    say "starting"
    start || stop "Fairlead did not start. The end of $log:
$(tail -n 15 "$log")"
  else
    say "version $version runs already, and nothing was missing"
  fi
  report
}

# Runs the update that an operator requested in the dashboard. The control plane is not trusted here: the request is one word, and
# what it names must be signed, in the place that the settings name, and newer.
update_requested() {
  to=''
  if [ -f "$request" ] && [ ! -L "$request" ]; then to=$(timeout 5 head -c 100 "$request" | tr -d '\n'); fi
  # Removed first, so that a refused request is not tried again.
  rm -rf "$request"
  is_version "$to" || { to='' && begin_update && stop "the request names no version."; }
  yes=''
  update
}

update() {
  [ -n "$(current_version)" ] || stop "Fairlead is not installed. Run install.sh of the release."
  begin_update
  finish_interrupted
  [ -n "$from" ] || from=$(setting updates feed)
  [ -n "$from" ] || stop "--from is missing: name the folder or the https address of a release, or set updates.feed. See --help"
  fetch
  [ -z "$to" ] || [ "$version" = "$to" ] || stop "$from holds version $version, not $to. Nothing was changed."
  to=$version
  [ "$version" != "$previous" ] || stop "version $version is installed already."
  # A pre-release, such as 1.0.0-rc.1, comes before its release.
  newest=$(printf '%s\n' "$previous" "$version" | sed 's/-/~/' | sort -V | tail -n 1 | sed 's/~/-/')
  [ "$newest" = "$version" ] || stop "$version is older than $previous, which is installed. An update never goes back."
  [ -d "$data/postgres" ] || [ -n "$yes" ] || stop "$data holds no database: back up your own PostgreSQL, then add --yes."
  progress prepare
  changed=''
  unpack
  need_space
  # Everything that takes long comes before the stop.
  "$programs/$version/bin/fairlead" warm-up --data "$data" >>"$log" 2>&1 ||
    stop "$version does not run on this server. The end of $log says why. Nothing was changed."
  progress back_up
  begin_backup
  # From here on, a signal or a lost terminal must not leave the server between two versions: programs inherit this too.
  trap '' INT HUP TERM
  say "stopping $previous; apps keep running"
  stopped_at=$(seconds_up)
  systemctl stop fairlead.service
  if ! finish_backup; then
    systemctl start fairlead.service
    stop "the backup failed, so nothing was changed, and $previous runs again. The line above says why."
  fi
  # A power cut leaves this file: the next update then finishes this one.
  printf '%s\n' "$previous" "$version" "$backup" "$backup_made_at" >"$updater/unfinished"
  progress start
  link
  # The units of a version come from its own installer.
  if sh "$programs/$version/tools/install/install.sh" write-units && start; then finish; else fall_back; fi
}

# Starts the state and the log that the dashboard shows.
begin_update() {
  previous=$(current_version) started_at=$(date -u +%Y-%m-%dT%H:%M:%SZ) update_state=running
  make_updater
  : >"$updater/log"
  trap leave EXIT
  trap 'exit 1' INT TERM HUP
  progress fetch
}

# Writes step $1 of the update. A full disk must not end an update.
progress() {
  update_step=$1
  {
    printf 'from %s\nto %s\nstate %s\nstep %s\nstarted_at %s\n' \
      "$previous" "$to" "$update_state" "$update_step" "$started_at"
    [ "$update_state" = running ] || printf 'finished_at %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  } >"$updater/state.new" 2>/dev/null && mv -f "$updater/state.new" "$updater/state" || true
}

# Runs at every exit.
leave() {
  [ -z "${work:-}" ] || rm -rf "$work"
  if [ "${update_state:-}" = running ]; then update_state=failed && progress "$update_step"; fi
}

finish() {
  say "updated from $previous to $version; the dashboard was away for $(($(seconds_up) - stopped_at)) s. The backup is in $backup"
  rm -f "$updater/unfinished"
  remove_versions
  update_state=succeeded
  progress start
}

fall_back() {
  say "$version did not start. The end of $log:
$(tail -n 15 "$log")"
  go_back
}

# Checks a version whose update was interrupted, as by a power cut. It may have served since, so only --yes restores the database.
finish_interrupted() {
  [ -f "$updater/unfinished" ] || return 0
  { read -r previous && read -r version && read -r backup && read -r backup_made_at; } <"$updater/unfinished"
  say "the last update, to $version, was interrupted"
  trap '' INT HUP TERM
  stopped_at=$(seconds_up) to=$version
  if [ "$(current_version)" != "$version" ]; then
    systemctl start fairlead.service
  elif ! is_healthy && ! start; then
    [ -n "$yes" ] || stop "$version does not start. To go back to $previous with its database of $backup_made_at, add --yes"
    fall_back
  fi
  rm -f "$updater/unfinished"
  trap 'exit 1' INT TERM HUP
  previous=$(current_version) to=''
}

# Returns to the previous version, with the database from before the update.
go_back() {
  failed=$version version=$previous
  progress roll_back
  systemctl stop fairlead.service || true
  link
  # Removed first, because the disk may be full.
  rm -rf "${programs:?}/$failed"
  if [ -d "$backup/postgres" ]; then
    say "going back to $previous and its database"
    for folder in postgres secrets; do
      put_back "$folder" || stop "the disk of $data is full. Make room, then run: cp -a $backup/$folder $data/ && systemctl start fairlead"
    done
  else
    say "going back to $previous. If $failed has changed your PostgreSQL, restore your own backup of it"
  fi
  write_units "$programs/$version" || true
  # Servers may have accepted states of the failed version, and refuse older ones.
  "$programs/$version/bin/fairlead" new-epoch --data "$data" --made-at "$backup_made_at" >>"$log" 2>&1 ||
    stop "$previous could not be prepared. The end of $log says why. The backup is in $backup"
  start || stop "$previous did not start either. The end of $log says why. The backup is in $backup"
  rm -f "$updater/unfinished"
  update_state=rolled_back
  progress roll_back
  stop "the update to $failed failed. $previous runs again with its database of $backup_made_at. The backup is in $backup"
}

# Puts folder $1 of the backup back. On a full disk the backup itself takes its place, which needs no room.
put_back() {
  rm -rf "${data:?}/$1"
  copy_back "$1" 2>/dev/null && return
  rm -rf "${data:?}/$1"
  # A plain rename: a copy would need room.
  perl -e 'rename($ARGV[0], $ARGV[1]) or die "$!\n"' "$backup/$1" "$data/$1"
}

copy_back() {
  for tree in $TREES; do
    case "$tree" in "$1" | "$1"/*) ;; *) continue ;; esac
    [ -d "$backup/$tree" ] || continue
    make_like "$backup/$tree" "$data/$tree"
    (cd "$backup/$tree" && as_owner . sh -c "$COPY_ALL" sh . "$data/$tree") || return 1
  done
}

is_healthy() {
  systemctl is-active --quiet fairlead.service && "$programs/current/bin/fairlead" health >>"$log" 2>&1
}

seconds_up() { cut -d . -f 1 /proc/uptime; }

uninstall() {
  if [ -n "$delete_data" ]; then
    need_own_data
    printf 'This deletes all accounts, apps, logs, settings and backups in %s, %s and %s.\nType "delete all data" to continue: ' \
      "$data" "${settings%/*}" "$backups" >&2
    [ "$(answer)" = 'delete all data' ] || stop "nothing was deleted or removed."
  fi
  systemctl disable --quiet fairlead.service 2>/dev/null || true
  systemctl stop fairlead.service 2>/dev/null || true
  # Apps and the proxy stay in its control group where the kernel delegates no limits.
  systemctl kill --signal=SIGKILL fairlead.service 2>/dev/null || true
  # The agent of a server for another control plane has the same unit for its apps.
  if [ ! -e "$units/fairlead-agent.service" ]; then
    systemctl kill --signal=SIGKILL fairlead-apps.service 2>/dev/null || true
    systemctl stop fairlead-apps.service 2>/dev/null || true
    rm -f "$units/fairlead-apps.service"
  fi
  systemctl disable --quiet --now fairlead-update.path 2>/dev/null || true
  rm -f "$units/fairlead.service" "$units/fairlead-update.service" "$units/fairlead-update.path" "$command"
  systemctl daemon-reload
  rm -rf "$updater"
  rm -rf "$programs"
  if [ -n "$delete_data" ]; then
    rm -rf "$data" "${settings%/*}" "$backups" "${log%/*}"
    say "uninstalled, and all data is deleted"
  else
    say "uninstalled. Data is in $data, settings in ${settings%/*}, backups in $backups"
  fi
}

# Refuses to delete a folder that Fairlead did not make, such as one with a typing error in the settings.
need_own_data() {
  resolved=$(readlink -f "$data" || true)
  [ -e "$data" ] || return 0
  case "$resolved" in
    "$data") ;;
    *) stop "data_dir is $data, which leads to $resolved. Nothing was deleted or removed." ;;
  esac
  case "$data" in /*/*) ;; *) stop "data_dir is $data, which is a top-level folder. Nothing was deleted or removed." ;; esac
  # The first start writes this file into an empty folder only.
  [ -f "$data/fairlead.json" ] || [ -z "$(ls -A "$data")" ] ||
    stop "$data does not hold Fairlead's data: fairlead.json is missing. Nothing was deleted or removed."
}

need_supported_system() {
  [ "$(uname -s)" = Linux ] || stop "Fairlead runs on Linux only. This is $(uname -s)."
  # shellcheck source=/dev/null
  name=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-0}")
  number=${name#* }
  case "$name" in
    debian\ *) least=11 ;;
    ubuntu\ *) least=20.04 ;;
    *) stop "Fairlead installs on Debian and Ubuntu only. This is ${name% *}." ;;
  esac
  # Debian testing has no number.
  [ "$number" = 0 ] || [ "$(printf '%s\n' "$least" "$number" | sort -V | head -n 1)" = "$least" ] ||
    stop "${name% *} $number is too old: Fairlead needs $least or newer."
}

# Asks for what the options do not say, on the first installation only.
check_answers() {
  if [ ! -e "$settings" ] && [ -z "$yes" ]; then
    if [ -z "$public_url" ]; then
      printf 'Domain or IP address of the dashboard, such as %s (empty: only this server reaches it): ' "$(own_address)" >&2
      public_url=$(answer)
    fi
    if [ -z "$email" ]; then
      printf 'Email address for security reports (empty: none): ' >&2
      email=$(answer)
    fi
  fi
  case "$public_url" in
    '' | http://* | https://*) ;;
    *) public_url="https://$public_url" ;;
  esac
  is_one_line "$public_url" '(https://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?/?)?' ||
    stop "--public-url must be an https address such as https://fairlead.example.com"
  is_one_line "$email" '([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+)?' || stop "--email must be an email address"
  [ -z "$database_url_file" ] || [ -r "$database_url_file" ] || stop "$database_url_file cannot be read."
}

is_version() { [ "${#1}" -le 40 ] && is_one_line "$1" '[0-9][0-9A-Za-z]*([.-][0-9A-Za-z]+)*'; }

own_address() { hostname -I 2>/dev/null | awk '{ address = $1 } END { print (address == "" ? "203.0.113.5" : address) }'; }

# Succeeds if text $1 is one line and matches the pattern $2 as a whole.
is_one_line() { [ "$(printf '%s\n' "$1" | wc -l)" = 1 ] && printf '%s\n' "$1" | grep -Eqx "$2"; }

# Reads one line: from the terminal if this script itself comes through a pipe.
answer() {
  line=''
  if [ -f "$0" ]; then read -r line || true; else read -r line </dev/tty || stop "there is no terminal to ask: add --yes"; fi
  printf '%s' "$line"
}

# Downloads the files of this machine and verifies them. Sets `version` and `archive`.
fetch() {
  case "$(uname -m)" in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) stop "there is no release for $(uname -m)." ;;
  esac
  mkdir -p "$programs"
  work=$(mktemp -d "$programs/.download-XXXXXX")
  trap leave EXIT
  trap 'exit 1' INT TERM HUP
  get SHA256SUMS.minisig 128 || exit 1
  get SHA256SUMS 128 || exit 1
  verify_signature "$work/SHA256SUMS" || stop "the signature of SHA256SUMS is wrong. Nothing was installed."
  version=$(sed -n '3s/^trusted comment: fairlead \([0-9][0-9A-Za-z.-]*\) SHA256SUMS$/\1/p' "$work/SHA256SUMS.minisig")
  [ -n "$version" ] || stop "the signature names no version. Nothing was installed."
  name="fairlead-$version-linux-$cpu.tar.gz"
  digest=$(awk -v name="$name" '$2 == name { print $1 }' "$work/SHA256SUMS")
  [ -n "$digest" ] || stop "this release has no $name."
  say "fetching $name"
  get "$name" 2097152 || exit 1
  archive=$work/$name
  printf '%s  %s\n' "$digest" "$archive" | sha256sum --check --status ||
    stop "$name does not have the digest that was signed. Nothing was installed."
}

# Fetches FILE of the release. BLOCKS of 512 bytes are its largest size: an endless download would fill the disk.
get() (
  case "$from" in
    https://*)
      ulimit -f "$2"
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$work/$1" "${from%/}/$1"
      else
        need wget
        wget --quiet --https-only --tries=3 --output-document="$work/$1" "${from%/}/$1"
      fi || stop "$1 could not be fetched from $from"
      ;;
    *://*) stop "--from must be a folder or an https address." ;;
    # A copy, which only root can change after it is verified.
    *) cp "$from/$1" "$work/$1" || stop "$from has no $1." ;;
  esac
)

# Verifies FILE.minisig with any of the pinned keys.
verify_signature() {
  for public_key in $PUBLIC_KEYS; do
    if verify_by "$public_key" "$1"; then return; fi
  done
  return 1
}

# Verifies FILE.minisig by a key: of the file's BLAKE2b-512 digest, and of the comment, which names the version.
verify_by() {
  printf '%s' "$1" | base64 -d >"$work/key" 2>/dev/null || return 1
  shift
  sed -n 2p "$1.minisig" | base64 -d >"$work/signature" 2>/dev/null || return 1
  sed -n 4p "$1.minisig" | base64 -d >"$work/comment-signature" 2>/dev/null || return 1
  key=$(hex "$work/key") signature=$(hex "$work/signature") comment_signature=$(hex "$work/comment-signature")
  [ "${#key}" = 84 ] && [ "${#signature}" = 148 ] && [ "${#comment_signature}" = 128 ] || return 1
  # Ed: Ed25519 key; ED: signature of a digest. Then the number of the key.
  [ "${key%"${key#????}"}" = 4564 ] && [ "${signature%"${signature#????}"}" = 4544 ] || return 1
  [ "$(cut_hex "$key" 5 20)" = "$(cut_hex "$signature" 5 20)" ] || return 1
  key=$(cut_hex "$key" 21 84) signature=$(cut_hex "$signature" 21 148)
  digest=$(b2sum "$1") && digest=${digest%% *}
  comment=$(sed -n '3s/^trusted comment: //p' "$1.minisig" | tr -d '\n' | od -An -v -tx1 | tr -d ' \n')
  ed25519 "$key" "$signature" "$digest" && ed25519 "$key" "$comment_signature" "$signature$comment"
}

hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
cut_hex() { printf '%s' "$1" | cut -c "$2-$3"; }

# Verifies an Ed25519 signature (RFC 8032) with key, signature and message in hex. openssl of Debian 11 and Ubuntu 20.04 can't,
# and their base has none; perl-base and coreutils are in every Debian and Ubuntu. The arithmetic is TweetNaCl's.
ed25519() {
  hash=$(perl -e 'print pack("H*", join("", @ARGV))' "$(cut_hex "$2" 1 64)" "$1" "$3" | sha512sum)
  perl - "$1" "$2" "${hash%% *}" <<'PERL'
@ED25519@
PERL
}

# Unpacks the verified archive beside the others, and repairs one that differs from it.
unpack() {
  mkdir "$work/unpacked"
  tar -xzf "$archive" -C "$work/unpacked" --strip-components=1 --no-same-owner || stop "$archive could not be unpacked."
  target=$programs/$version
  [ -d "$target" ] && diff -rq --no-dereference "$work/unpacked" "$target" >/dev/null && return
  changed=1
  if [ -d "$target" ]; then
    say "repairing $target"
    mv "$target" "$work/damaged"
  fi
  mv "$work/unpacked" "$target"
}

# Web, gateway and worker run as fairlead, whose group may read the settings. PostgreSQL refuses to run as root, and its unit
# can't add users.
make_accounts() {
  getent group fairlead >/dev/null || groupadd --system fairlead
  getent passwd fairlead >/dev/null ||
    useradd --system --gid fairlead --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin fairlead
  getent passwd postgres >/dev/null ||
    useradd --system --user-group --no-create-home --shell /usr/sbin/nologin postgres
}

write_settings() {
  url=''
  if [ -n "$database_url_file" ]; then
    url=$(cat "$database_url_file")
    is_one_line "$url" 'postgres(ql)?://[^"\\[:cntrl:]]+' ||
      stop "$database_url_file must hold one postgresql:// URL without quotes and backslashes."
  fi
  mkdir -p "${settings%/*}"
  (
    umask 077
    {
      echo '# Settings of Fairlead (docs/settings.md). They change with: systemctl restart fairlead'
      [ -z "$public_url" ] || printf 'public_url = "%s"\n' "$public_url"
      [ -z "$email" ] || printf 'security_contact = "mailto:%s"\n' "$email"
      [ -z "$url" ] || printf '\n[database]\nurl = "%s"\n' "$url"
    } >"$settings.new"
  )
  chown root:fairlead "$settings.new"
  chmod 0640 "$settings.new"
  mv "$settings.new" "$settings"
}

data_folder() {
  folder=$(setting '' data_dir)
  case "$folder" in
    '') folder=/var/lib/fairlead-control-plane ;;
    /*) ;;
    *) stop "data_dir in $settings must be an absolute path for an installed Fairlead." ;;
  esac
  printf '%s' "$folder"
}

# Reads a text of the settings file: key $2 of table $1, or before the first table.
setting() {
  [ -e "$settings" ] || return 0
  if [ -z "$1" ]; then
    sed -n "/^\[/q; s/^$2 *= *\"\([^\"]*\)\".*/\1/p" "$settings"
  else
    sed -n "/^\[$1\]/,/^\[/ s/^$2 *= *\"\([^\"]*\)\".*/\1/p" "$settings"
  fi
}

current_version() { if [ -L "$programs/current" ]; then basename "$(readlink "$programs/current")"; fi; }

link() {
  ln -sfn "$version" "$programs/current.new"
  mv -T "$programs/current.new" "$programs/current"
  ln -sfn "$programs/current/bin/fairlead" "$command"
}

# Writes the units of the version in folder $1. Returns 0 if they were there already.
write_units() {
  same=0
  mkdir -p "${log%/*}" "$data" "$backups"
  chmod 0711 "$data"
  chmod 0700 "${log%/*}" "$backups"
  # It holds the one-time link for the first account.
  [ -e "$log" ] || (umask 077 && : >"$log")
  # An update calls this for what it needs beside the units.
  make_accounts
  make_updater
  for unit in $UNITS; do
    sed "s|@DATA@|$data|; s|@LOG@|$log|" "$1/tools/install/$unit" >"$units/.$unit"
    if cmp -s "$units/.$unit" "$units/$unit"; then rm "$units/.$unit"; else mv "$units/.$unit" "$units/$unit" && same=1; fi
  done
  if [ "$same" != 0 ]; then
    systemctl daemon-reload
    systemctl enable --quiet --now fairlead-update.path
  fi
  return "$same"
}

make_updater() {
  mkdir -p "$updater/requests"
  chmod 0755 "$updater"
  chmod 0700 "$updater/requests"
  chown fairlead:fairlead "$updater/requests"
  [ -e "$updater/log" ] || : >"$updater/log"
  chown root:fairlead "$updater/log"
  chmod 0640 "$updater/log"
}

# The firewall of apps' own networks. Without it apps share the server's network, and the dashboard says so.
need_nftables() {
  PATH="$PATH:/usr/sbin:/sbin" command -v nft >/dev/null 2>&1 && return
  say "installing Debian's package nftables, the firewall between apps"
  { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nftables ||
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nftables; }; } >&2 ||
    say "nftables could not be installed, so apps share the server's network. Install it, then: systemctl restart fairlead"
}

# Starts the current version, and waits until it is up and healthy.
start() {
  before=$(wc -c <"$log" 2>/dev/null || echo 0)
  systemctl restart fairlead.service || return 1
  waited=0
  until said | grep -q 'Fairlead is up'; do
    systemctl is-active --quiet fairlead.service || return 1
    [ "$waited" -lt $((START_SECONDS * 4)) ] || return 1
    sleep 0.25
    waited=$((waited + 1))
  done
  "$programs/current/bin/fairlead" health >>"$log" 2>&1
}

# Prints the output of the last start.
said() { tail -c "+$((before + 1))" "$log" 2>/dev/null; }

report() {
  address=$(setting '' public_url)
  # The start writes this summary. The proxy of this server made the authority of its public URL.
  authority=$(summary_of Authority)
  signs="certificates of $address"
  if [ -z "$authority" ]; then authority=$data/agent/ca/ca.pem signs="certificates of https://*.localhost only"; fi
  fingerprint=$(sed '/^-/d' "$authority" | base64 -d | sha256sum | cut -d ' ' -f 1 | tr a-f A-F | sed 's/../&:/g; s/:$//')
  say "version $version is installed"
  printf '\n  Dashboard    %s\n' "${address:-http://localhost:4400 (on this server only)}"
  # There is none once the first account exists.
  setup=$(summary_of Setup)
  [ -z "$setup" ] || printf '  Set up       %s\n               The first account becomes the owner. The link works once.\n' "$setup"
  printf '  Authority    SHA-256 %s\n               of %s, which signs %s\n' "$fingerprint" "$authority" "$signs"
  printf '  Settings     %s\n  Data         %s\n  Log          %s and %s/logs\n' "$settings" "$data" "$log" "$data"
  case "$authority" in
    "$data/agent/ca/"*)
      if [ -z "$address" ]; then
        printf '\n  From your computer:  ssh -L 4400:localhost:4400 root@THIS-SERVER\n'
      else
        printf '\n  Your reverse proxy must serve %s (docs/guide.md#your-own-reverse-proxy).\n' "$address"
      fi
      ;;
    *)
      printf '\n  Browsers warn until they trust the authority: download %s/install/ca.pem,\n' "${address%/}"
      printf '  compare its fingerprint with the one above, and import it. Servers that you add trust it by themselves.\n'
      printf '  Or let the first run get a certificate that browsers trust, for a domain that leads to this server.\n'
      port=$(printf '%s' "$address" | sed -n 's|.*:\([0-9][0-9]*\)/*$|\1|p')
      printf '  If a firewall is on, open the ports of the dashboard and of apps:\n'
      printf '    ufw:       ufw allow 80,%s/tcp\n' "${port:-443}"
      printf '    nftables:  nft add rule inet filter input tcp dport { 80, %s } accept\n' "${port:-443}"
      ;;
  esac
  echo
}

# First word of a row in the summary of the last start.
summary_of() { awk -v row="$1" '/Fairlead is up/ { word = "" } $1 == row { word = $2 } END { print word }' "$log"; }

need_space() {
  # Copies of the database and the keys, and as much again for a migration.
  needed=0
  if [ -d "$data/postgres" ]; then needed=$(du -sk "$data/postgres" "$data/secrets" | awk '{ sum += $1 } END { print 2 * sum }'); fi
  free=$(df -Pk "$backups" | awk 'NR == 2 { print $4 }')
  [ "$free" -gt "$needed" ] || stop "$backups needs $needed KiB for the backup, and has $free KiB. Nothing was changed."
}

# Folders of the backup with an owner each; postgres/cluster is copied as a folder of its own.
TREES='postgres postgres/cluster secrets'

# Scripts for `as_owner`: the second copies what changed in folder $1 since the time $2 into the current one.
# shellcheck disable=SC2016
COPY_ALL='find "$1" -mindepth 1 -maxdepth 1 ! -path "$1/cluster" -exec cp -a --reflink=auto -t "$2" -- {} +'
# shellcheck disable=SC2016
COPY_CHANGES='set -e
mkdir .lists
names() { find . -mindepth 1 \( -path ./cluster -o -path ./.lists \) -prune -o "$@" -print0; }
(cd "$1" && names) | LC_ALL=C sort -z >.lists/now
names | LC_ALL=C sort -z >.lists/copied
# What is gone must not come back.
LC_ALL=C comm -z -13 .lists/now .lists/copied | xargs -0 -r rm -rf --
{
  LC_ALL=C comm -z -23 .lists/now .lists/copied
  (cd "$1" && names \( -type d -o -newermt "@$2" \))
} | LC_ALL=C sort -z -u >.lists/changed
{ tar --create --directory="$1" --no-recursion --null --verbatim-files-from --files-from=- <.lists/changed || : >.lists/failed; } |
  tar --extract --numeric-owner --preserve-permissions
[ ! -e .lists/failed ]
rm -rf .lists'

# Runs a command with no more rights than the owner of folder $1, whose processes may put links into it at any time. It has no
# terminal that such a process could write to.
as_owner() {
  owner=$(stat -c %u "$1") group=$(stat -c %g "$1")
  shift
  if [ "$owner" = 0 ]; then
    "$@"
  else
    setsid --wait env -i PATH="$PATH" setpriv --reuid="$owner" --regid="$group" --clear-groups --no-new-privs "$@" </dev/null
  fi
}

# Makes an empty folder $2 with owner and mode of folder $1.
make_like() {
  mkdir "$2" && chown --reference="$1" "$2" && chmod --reference="$1" "$2"
}

# Copies database and keys while they are in use, so that little is left for the time without a dashboard. Sets `backup`.
begin_backup() {
  backup=$backups/before-$version
  rm -rf "$backup" "$backup.partial"
  mkdir -m 0700 "$backup.partial"
  copied_at=$(date +%s)
  [ -d "$data/postgres" ] || return 0
  for tree in $TREES; do
    [ -d "$data/$tree" ] || continue
    make_like "$data/$tree" "$backup.partial/$tree"
    # Files change during the copy; the second pass copies these again.
    (cd "$backup.partial/$tree" && as_owner . sh -c "$COPY_ALL" sh "$data/$tree" . 2>/dev/null) || true
  done
}

# Makes the copy equal to the database and the keys of the stopped control plane.
finish_backup() {
  backup_made_at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  if [ -d "$data/postgres" ]; then
    # A cluster with this file was not stopped, and a copy of it would be torn.
    if find "$data/postgres" -name postmaster.pid | grep -q .; then say "PostgreSQL did not stop"; return 1; fi
    for tree in $TREES; do
      [ -d "$data/$tree" ] || continue
      # Two seconds are more than the resolution of any file system's clock.
      (cd "$backup.partial/$tree" && as_owner . sh -c "$COPY_CHANGES" sh "$data/$tree" "$((copied_at - 2))") || return 1
    done
  fi
  mv "$backup.partial" "$backup"
}

# Keeps the current version and the one before it, and the newest backup.
remove_versions() {
  for folder in "$programs"/*; do
    case "${folder##*/}" in current | "$version" | "$previous") ;; *) rm -rf "$folder" ;; esac
  done
  for folder in "$backups"/before-*; do [ "$folder" = "$backup" ] || rm -rf "$folder"; done
}

main "$@"
