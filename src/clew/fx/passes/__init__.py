"""Passes over graphs."""

from ..._unsupported import missing_from

__getattr__ = missing_from(__name__)
