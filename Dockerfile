# Needs nothing newer than Docker 20.10 and no BuildKit: no `# syntax=` line (it would fetch a front end from a registry), no
# `RUN --mount=type=cache` (its cache stays on one builder, whereas a layer can be pushed and shared by CI).

# Base images by digest: a tag may be moved, by whoever can. The tag beside it is for people, and Docker pulls by the digest.
# scripts/renew-base-images renews them, here and in docker-compose.yml.

# -- build ------------------------------------------------------------------------------------------------------------------
# The compiler of rust-toolchain.toml, on the Debian release of the final stage: a newer glibc here would not load there. The file
# itself stays out (.dockerignore), or rustup would fetch components for lints.
# The slim image has what the C parts (SQLite, ring) need: gcc and libc6-dev.
FROM rust:1.95.0-slim-trixie@sha256:e14e87345b4d5964ddcc3491d27ee046a0f23820f340c3c1e24da6880141f7c0 AS build
WORKDIR /build

# Dependencies in a layer of their own, which only a change of Cargo.toml or Cargo.lock makes anew. `cargo clean -p` drops what
# was built from the stubs: cargo compares modification times, and sources checked out before this layer was built look older
# than the stubs, so that the empty program would be shipped.
COPY Cargo.toml Cargo.lock ./
# The other package of the workspace, of which cargo wants to know, and builds nothing.
COPY tests/it/Cargo.toml tests/it/
# How SQLite is compiled.
COPY .cargo .cargo
RUN mkdir src \
 && touch src/lib.rs \
 && echo 'fn main() {}' > src/main.rs \
 && cargo build --locked --profile dist --bin sessiond \
 && cargo clean --locked --profile dist -p sessiond \
 && rm -r src

# Whatever .dockerignore lets through: src, and what it embeds: the console, the migrations, and the descriptions of the API.
COPY . .
# The line tables stay, so that a backtrace names files and lines, but compressed, which std's symboliser reads.
# /out/data is the seed of the volume: the final stage has no shell to make a directory with.
RUN cargo build --locked --profile dist --bin sessiond \
 && mkdir -p /out/data \
 && objcopy --compress-debug-sections=zlib target/dist/sessiond /out/sessiond

# -- run --------------------------------------------------------------------------------------------------------------------
# glibc, libgcc and the public CA certificates (TLS to a managed PostgreSQL reads them from the system); no shell, no package
# manager, nothing else to patch. Not a static musl binary: its allocator is slow under many threads, its resolver differs.
FROM gcr.io/distroless/cc-debian13:nonroot@sha256:e792ab3d241a468a4fd7519ddbbebe66b49b5f365771716ea688ad40b6c6f1c2

COPY --from=build /out/sessiond /usr/local/bin/sessiond
COPY --from=build --chown=65532:65532 /out/data /data

# By number, so that Kubernetes' runAsNonRoot can tell that it is not root.
USER 65532:65532

# Without DATABASE_URL the database is a SQLite file in the working directory. A volume, because that makes this one directory
# writable under `--read-only`; name it (`-v sessions:/data`) to keep the data. With PostgreSQL nothing is written here.
WORKDIR /data
VOLUME /data

# The defaults, loopback, would be the container's own, which no published port reaches. No way of authentication is set, and deliberately
# no SESSIOND_INSECURE_NO_AUTH: whoever runs the image chooses one (docs/access.md); until then sessiond refuses to start.
# Variables rather than flags in CMD, because `sessiond healthcheck` reads them too.
# The delay is for whoever balances load over containers: it looks at /readyz every few seconds.
ENV SESSIOND_LISTEN=0.0.0.0:8080 \
    SESSIOND_METRICS_LISTEN=0.0.0.0:9464 \
    SESSIOND_SHUTDOWN_DELAY=5s
EXPOSE 8080 9464

# SIGTERM: 5 s of delay, and a drain of up to 25 s, more than the 10 s that `docker stop` grants: use `--stop-timeout 40`.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/sessiond", "healthcheck"]

ENTRYPOINT ["/usr/local/bin/sessiond"]
CMD ["serve"]

# Last, so that a new revision makes no layer anew.
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="sessiond" \
      org.opencontainers.image.description="Session state for AI agents as a service: ADK sessions, events and scoped state over HTTP" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="gcr.io/distroless/cc-debian13:nonroot" \
      org.opencontainers.image.base.digest="sha256:e792ab3d241a468a4fd7519ddbbebe66b49b5f365771716ea688ad40b6c6f1c2"
