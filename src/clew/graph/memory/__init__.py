"""Who holds how much, when and why: the ledger, the timeline, the prediction of a backward's peak, ``why_alive``."""
