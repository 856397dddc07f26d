"""The version, as it was installed."""

from importlib import metadata

try:
    __version__ = metadata.version("inferprobe")
except metadata.PackageNotFoundError:  # used from a source tree
    __version__ = "0+unknown"
