"""What PyTorch has under this name for its compiler; here, what programs ask of it that has an answer."""
