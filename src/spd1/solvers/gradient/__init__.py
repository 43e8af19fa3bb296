"""What the paper compares with: PSGD, SVRG and SAGA, with lazy updates."""
