"""What a wheel has beside its packages: all that the app and the commands read of a checkout."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = (
    *(".streamlit/config.toml", "app.py", "serve.py", "pages"),
    *("cache/gallery", "cache/suites", "cache/effects", "cache/pushing", "sweeps"),
)


class ShippedHook(BuildHookInterface):
    """Lays it out as it lies in a checkout, in the folder that `base.folders` calls `ROOT`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add it to a wheel, and not to an editable installation, which has the checkout."""
        if version == "standard":
            build_data["force_include"] |= {
                name: f"coupling_core/shipped/{name}" for name in SHIPPED
            }
