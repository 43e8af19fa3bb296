"""The tuned numbers of this room.

They were set on the problems of ``benchmarks/race.py`` and on the cases of the tests: smaller and
larger values, by factors of two or so, took more passes or left runs that did not converge.
"""

from __future__ import annotations

# All rules
FAR_WORSE = 10.0  # a gap this many times the last (or best) one has exploded
MOST_TILT = 1000.0  # the balance of primal and dual steps moves no further: it may follow noise
DIVERGED = 1e8  # fixed steps: a gap this many times the smallest one is called divergence

# Prospect
HEARD = 0.5  # times the price of the fall-back: what a method may spend before it is judged, ...
DEARER = 2.0  # ... and what it may still need by its pace
MOST_IDLE = 300  # looks without any gain: a method that auto has chosen comes to its end

# AutoSteps
WORSE = 2.0  # a gap this many times the best one sends the run back to the best point
FORGIVE = 1.2  # after going back, a best gap that was luck is slowly forgotten
STALLED = 1e-3  # epochs that shrink the gap by less than this, ...
PATIENCE = 4  # ... so many of them in a row without failing, have steps that are too small
LAG = 4.0  # row terms of the certificate this many times its column terms: y lags behind x

# BalancedSteps, ColumnSteps, TileSteps
FAST = 0.7  # rows: tied passes that shrink the gap by less give way to the free x, ...
TWICE = 2  # ... which costs more than twice as much, if two looks say so
VAIN_LOOKS = 6  # cut data: looks without a better gap, after which the steps are too large
STILL_LOOKS = 40  # rows: looks that have not halved the best gap; then averages go on
MORE_CARE = 2.0  # cut data: steps of y are so many times shorter after a failure
STUCK = 0.97  # or one that saw next to no progress
CRAWL = 0.8  # a pass that shrinks the gap by less is slow
SLOW_LOOKS = 8  # slow looks before a method had better give way to its fall-back
FIRST_LOOKS = 2  # passes that are looked at one by one
MOST_PASSES = 3  # that may go by between two looks, later, ...
MOST_STEADY = 5  # ... or of a tied x, whose pace is steady, or when the steps have ...
SETTLED = 4  # ... been adjusted so many times
LATE = 0.2  # of a pass: the pace slows down, and a look that comes too early costs another
CALMER = 10  # epochs after which cautious changes of the balance are half as large
DOUBT = 25  # epochs that double the leeway of the first balance of steps
LEVEL = 10.0  # whole-row tiles: sums that differ by less are level
MEANT = 1e10  # a lag beyond this means that a mended y has no column terms, and nothing else

# Restarts of averages
AVERAGED_PASSES = 10  # of rows, between two looks
FALLEN_GAP = 0.3  # times the gap at the last restart: begin anew from the average, ...
LEAST_FALL = 0.8  # ... or with this much, if the stretch has taken ...
LONG_STRETCH = (
    0.36  # ... this share of all averaged passes (PDLP's; 0.5 took 8 % more passes), and ...
)
LEAST_STRETCH_PASSES = 20  # ... so many more
MOST_SHIFT = (
    4.0  # of eta at a restart: y may go far along ways that change nothing, and x not at all
)
