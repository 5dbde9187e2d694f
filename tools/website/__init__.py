"""Builds the documentation site: `mkdocs build --strict` in the root of the repository."""
