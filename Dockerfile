# Recall's image: two programs and what they link, nothing else; no shell. `cargo xtask image` builds it.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
# For jemalloc.
RUN apt-get update && apt-get install --yes --no-install-recommends make
COPY . .
RUN cargo build --release --locked --package recall-server --package recall-cli --features recall-server/jemalloc

FROM gcr.io/distroless/cc-debian12:nonroot
ARG VERSION
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Recall" \
      org.opencontainers.image.description="Memory for AI agents in disposable pods" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/polign/recall" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /src/target/release/recall-server /src/target/release/recall /usr/local/bin/
# The only place it writes to; a volume belongs here.
ENV RECALL_DATA_DIR=/var/lib/recall RECALL_LISTEN=0.0.0.0:8080 RECALL_ADMIN_LISTEN=0.0.0.0:9090
USER 65532:65532
VOLUME /var/lib/recall
EXPOSE 8080 9090
ENTRYPOINT ["/usr/local/bin/recall-server"]
