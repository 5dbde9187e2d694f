"""How many digits a computation loses, and why a gradient is what it is."""
