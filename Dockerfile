# `qe score` and `qe serve` in containers that run as any user; examples for cron, systemd and Kubernetes:
# docs/operations.md.
#
#   docker build --target score --tag mtqe-score .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" mtqe-score \
#       --model model --input new.tsv --output scores.tsv
#
#   docker build --target serve --tag mtqe-serve .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data:ro" --publish 127.0.0.1:5002:5002 mtqe-serve \
#       --model model
#
# Python 3.11.16 on Debian 12, for all of its platforms; digest by github.com/docker-library/repo-info
# (repos/python/remote/3.11-slim-bookworm.md).
FROM python:3.11-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b AS score

COPY requirements.lock requirements-container.lock /tmp/
RUN pip install --no-cache-dir --require-hashes --requirement /tmp/requirements-container.lock

WORKDIR /tmp/mtqe
COPY pyproject.toml README.md LICENSE ./
COPY features features
COPY qe qe
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

# What Numba compiles is kept beside the code; who starts a container gets a copy. The demo asks for all of it.
WORKDIR /tmp/demo
RUN NUMBA_CACHE_DIR=/usr/local/share/qe/numba qe demo --quiet --output . \
    && NUMBA_CACHE_DIR=/usr/local/share/qe/numba qe score --quiet --model model --input data/new.tsv \
        --output warm.tsv --outside --flags --explain 2 --interval 0.9 \
    && chmod -R a+rX /usr/local/share/qe

# Any `--user`: what is kept for a while lies in /tmp, and no name of the user is asked for.
ENV HOME=/tmp USER=qe
WORKDIR /data
RUN rm -rf /tmp/mtqe /tmp/demo /tmp/requirements*.lock /tmp/.cache /tmp/.local
USER 10001
HEALTHCHECK NONE
ENTRYPOINT ["qe", "score"]
CMD ["--help"]

FROM score AS serve
EXPOSE 5002
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:5002/health', timeout=4)"]
ENTRYPOINT ["qe", "serve", "--host", "0.0.0.0", "--port", "5002"]
CMD ["--help"]
