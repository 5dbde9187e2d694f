"""What is no error but mostly a bug: a training loop is observed, and findings name the line and what to change."""
