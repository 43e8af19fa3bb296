"""The one outer loop: clock, certificate, stopping rules, Ctrl-C."""
