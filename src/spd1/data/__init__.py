"""Dense and sparse data behind one interface: kernels see lines and entries, callers products."""
