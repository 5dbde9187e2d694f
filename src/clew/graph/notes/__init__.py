"""What raises no error but is usually a bug: a training loop is observed; findings name the line and what to change."""
