"""Row tiles with a maintained gradient."""
