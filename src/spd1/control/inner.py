"""Steps of methods that solve inner problems: judged by the inner gap, which they know."""

from __future__ import annotations

import math

from .steps import Proposal, ScaledSteps, Seen

__all__ = ["InnerSteps"]


class InnerSteps(ScaledSteps):
    """The search of ``ScaledSteps``, judged by what an epoch leaves of the inner gap.

    The outer gap rises and falls with the momentum of the centre; the inner one is that of one
    problem. The method undoes an epoch that failed, so nothing is gone back to here.
    """

    def after_epoch(self, seen: Seen) -> Proposal:
        """Judge the epoch by the inner problem and choose the steps of the next one."""
        del seen
        self.epochs += 1
        before, after = self.method.inner
        if self.method.failed:
            self._retreat(after)
        else:
            known = 0.0 < after < math.inf and 0.0 < before < math.inf
            self._judge(math.log(before / after) if known else 0.0)
        return Proposal(self._steps())
