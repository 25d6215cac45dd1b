# One image for the API (the default command), the indexer (node dist/src/indexer.js), the keeper (node dist/src/keeper.js), verification
# (node dist/src/verify.js) and the migrations (npm run migration:run:prod). It starts no child processes, so it needs no
# init. For a release name the base by its digest: --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Install scripts only prepare development tools. The client is for users of the service, not part of the image. npm opens up
# to 2,000 files at once where the disk is slow, and builders may allow 1,024: threads close them sooner, and sockets bound
# how many packages are unpacked at once.
RUN UV_THREADPOOL_SIZE=64 npm ci --ignore-scripts --workspaces=false --maxsockets=4 --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY contracts contracts
COPY migrations migrations
COPY src src
RUN npm run build \
 && npm prune --omit=dev --omit=optional --ignore-scripts --workspaces=false --no-audit --no-fund

# Without development code, and without what Node never loads: sources, types, maps and documents of packages. Our own maps
# stay, for stack traces, and so do licences.
FROM build AS production
RUN rm -rf dist/src/dev node_modules/.package-lock.json node_modules/.cache \
 && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.md' -o -name '*.markdown' \) \
      ! -iname '*licen[cs]e*' -delete \
 && find node_modules -type d -empty -delete
# Node keeps the compiled modules for the next start. It looks them up by its version, the user and the CPU's features;
# where one of these differs, it compiles as without them. The cache is all that differs between two builds:
# --build-arg COMPILE_CACHE= leaves it out.
ARG COMPILE_CACHE=1
RUN mkdir .compile-cache && chown 1000:1000 .compile-cache
USER 1000:1000
RUN [ -z "$COMPILE_CACHE" ] || NODE_ENV=production NODE_COMPILE_CACHE=/app/.compile-cache node -e "require('./dist/src/api/app.setup'); require('./dist/src/indexer/indexer.setup'); require('./dist/src/keeper/keeper.setup')"
USER 0:0
RUN chown -R 0:0 .compile-cache && chmod -R u=rwX,go=rX .compile-cache

FROM ${NODE_IMAGE}
ARG VERSION=
# Shown by the metric savings_build_info too: --build-arg COMMIT=$(git rev-parse --short HEAD)
ARG COMMIT=
LABEL org.opencontainers.image.title="pooled-savings" \
      org.opencontainers.image.description="REST backend for pooled savings, its chain indexer, keeper and migrations" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
# Under a memory limit Node makes the semi-spaces so small that collections take a fifth of the CPU time.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=32 BUILD_COMMIT=$COMMIT
WORKDIR /app
COPY --from=production /app/package.json ./
COPY --from=production /app/node_modules node_modules
COPY --from=production /app/dist/src dist/src
COPY --from=production /app/dist/migrations dist/migrations
COPY --from=production /app/.compile-cache .compile-cache
ENV NODE_COMPILE_CACHE=/app/.compile-cache
# The user `node` by number, so that Kubernetes can tell that it is not root. Nothing writes to the image.
USER 1000:1000
EXPOSE 3001
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3001}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/src/main.js"]
