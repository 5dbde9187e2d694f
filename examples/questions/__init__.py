"""The questions that people ask about graphs, each with the program that answers it."""
