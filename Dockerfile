# `qe score` and `qe serve` in a container:
#
#   docker build --tag mtqe .
#   docker run --rm --volume "$PWD:/data" mtqe score --model model --input new.tsv --output scores.tsv
#   docker run --rm --volume "$PWD:/data" --publish 127.0.0.1:8000:8000 mtqe \
#       serve --model model --host 0.0.0.0 --port 8000
FROM python:3.11-slim

COPY requirements.lock /tmp/requirements.lock
RUN pip install --no-cache-dir --require-hashes --requirement /tmp/requirements.lock

COPY . /tmp/mtqe
RUN pip install --no-cache-dir --no-deps /tmp/mtqe && rm -rf /tmp/mtqe /tmp/requirements.lock \
    && useradd --create-home --uid 10001 qe
USER 10001

# Compiled kernels (in `numba`) and resources are kept here; mount a volume to keep them between containers.
ENV XDG_CACHE_HOME=/home/qe/.cache
WORKDIR /data
ENTRYPOINT ["qe"]
CMD ["--help"]
