#!/bin/bash
# Runs a command in the file system of an image, as Kubernetes would with the manifests of this repository: read-only
# without exception, user 1000, no capabilities, no new privileges, process 1 of its own. The network is this machine's.
# It gets only the environment that is named. Needs root.
#
#   run.sh ROOT [NAME=VALUE…] COMMAND…     ROOT as `buildah mount CONTAINER` prints it
set -euo pipefail
# shellcheck disable=SC2016
exec unshare --mount --pid --fork bash -euc '
  root=$1; shift
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -o remount,ro,bind "$root"
  exec chroot "$root" /usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups --bounding-set=-all --inh-caps=-all \
    --no-new-privs /usr/bin/env -i -C /app PATH=/usr/local/bin:/usr/bin:/bin "$@"
' run "$@"
