#!/bin/bash
# Builds the image with buildah, without a daemon. The same commit on the same base gives the same layers.
#
#   build.sh NAME [arguments of buildah build]
#   build.sh pooled-savings:1.0.0 --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…
set -euo pipefail
name=${1:?the name of the image}
shift
cd "$(dirname "$0")/../.."
version=$(node -p "require('./package.json').version")
# No cache of layers: they would be copies of gigabytes. Timestamps of files are no part of what was built.
exec buildah build --format docker --layers=false --timestamp 0 \
  --build-arg "VERSION=$version" --build-arg "COMMIT=$(git rev-parse --short HEAD 2>/dev/null || true)" \
  -t "$name" "$@" .
