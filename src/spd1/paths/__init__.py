"""Many penalties, one problem: what a path keeps from one alpha to the next."""
