"""What files of programs and of graphs have in common."""
