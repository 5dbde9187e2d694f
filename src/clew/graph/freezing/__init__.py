"""Live graphs in files."""
