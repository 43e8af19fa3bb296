"""Tuned numbers of clusters, each with its reason."""

from __future__ import annotations

LONGEST_WAIT = 600.0  # seconds that any wait for the cluster takes at most
QUIET = 2.0  # seconds after which the scheduler is asked whether a silent worker is still there
MOST_LOST = 100  # workers that a run may lose: more means that the data itself kills them
CLUSTER_COPIES_MB = (
    256.0  # of rows or columns that the caller may copy: working sets of Newton's method
)
SCHEDULER_WAIT = 30.0  # seconds to wait for a scheduler
FIRST_WORKER = 300.0  # seconds to wait for a first worker: a nanny on a busy machine takes 20
NOTICE = 3.0  # seconds that the scheduler takes at most to see that a worker is gone
STRIKES = 3  # messages that workers which are there could not take, before the run gives up
# Workers from which on they ask each other and add up on the way back: by the model of
# benchmarks/cluster_model.py both ways cost the same with 20 to 30, with fewer the waits count.
RELAYS_FROM = 32
FORK = 4  # workers that each asks: a thousand are five waits away
MOST_BROKEN = 20  # times that this may fail before a run goes on without
