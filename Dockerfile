# The program alone, static, in an empty image: no shell, no libraries, no user but a number.
#
#   docker build --tag roce_exporter .
#   docker run --network host --volume /sys:/host/sys:ro roce_exporter --path.sysfs=/host/sys
#
# For another architecture give BUILD_IMAGE and the platform: the build stage runs on the target's own platform.
ARG BUILD_IMAGE=rust:1.95-slim-bookworm

# hadolint ignore=DL3006
FROM ${BUILD_IMAGE} AS build
ARG REVISION=unknown
WORKDIR /src
COPY Cargo.toml Cargo.lock build.rs README.md LICENSE CHANGELOG.md ./
COPY benches benches
COPY tests/vm/Cargo.toml tests/vm/
COPY src src
# `--target`, so that the flags do not reach build scripts and procedural macros, which cannot be static.
RUN target="$(rustc --print host-tuple)" \
    && RUSTFLAGS="-C target-feature=+crt-static" ROCE_EXPORTER_REVISION="${REVISION}" \
        cargo build --locked --release --bin roce_exporter --target "${target}" \
    && mkdir /out \
    && cp "target/${target}/release/roce_exporter" /out/

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="roce_exporter" \
      org.opencontainers.image.description="Prometheus exporter for lossless Ethernet: PFC pause, ECN and RoCE counters" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/roce_exporter /roce_exporter
USER 65534:65534
EXPOSE 10479
# It asks at --web.listen-address: give that flag here too where it is another one.
HEALTHCHECK --interval=15s --timeout=10s --start-period=10s CMD ["/roce_exporter", "healthcheck"]
ENTRYPOINT ["/roce_exporter"]
