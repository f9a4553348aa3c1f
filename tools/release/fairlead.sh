#!/bin/sh
# Runs Fairlead's command line on the release's own Node, also through a link such as /usr/local/bin/fairlead.
set -eu
root=$(dirname "$(dirname "$(readlink -f "$0")")")
case "${1:-}" in update | update-requested | uninstall) exec sh "$root/tools/install/install.sh" "$@" ;; esac
# One release has one Node. A small young generation: the process mostly waits.
exec "$root"/node_modules/node-linux-*/bin/node --disable-warning=ExperimentalWarning --max-semi-space-size=2 "$root/tools/fairlead.ts" "$@"
