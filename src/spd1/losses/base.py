"""What a loss is: four scalar functions and two constants."""

from __future__ import annotations

import math

__all__ = ["Loss"]


class Loss:
    """Interface of a loss phi(u; b): ``u`` the prediction a'x, ``b`` the label or target.

    A loss is a ``NamedTuple`` class decorated with ``@compiled(Loss)``; its methods take and
    return scalars. ``phi``, ``derivative`` and ``conjugate`` must be written; the prox of the
    conjugate has a default that works for any of them.
    """

    _inline = "never"  # scalars in, scalars out: LLVM inlines what is worth it, and compiles faster

    def phi(self, u, b):
        """Loss of the prediction u for the label b."""
        raise NotImplementedError

    def derivative(self, u, b):
        """Derivative of phi in u; any subgradient where there are several."""
        raise NotImplementedError

    def curvature(self, u, b):
        """Second derivative of phi, or one from either side where it jumps; for Newton's steps.

        Default: a central difference. Newton's steps are safeguarded, so it need not be exact.
        """
        h = 1e-5 * (1.0 + abs(u))
        return max((self.derivative(u + h, b) - self.derivative(u - h, b)) / (2.0 * h), 0.0)

    def conjugate(self, y, b):
        """sup_u { u y - phi(u) }, infinite outside its domain."""
        raise NotImplementedError

    def bracket(self, u, y, b, value, star):
        """Fenchel-Young term phi(u) + phi*(y) - u y >= 0; y is inside the domain of phi*.

        ``value`` and ``star`` are phi(u) and phi*(y). Default: as it stands, which cancels where
        the three are large and it is small. Losses that are made of u - b or 1 - b u write it in
        those, and lose nothing.
        """
        return max(value + star - u * y, 0.0)

    def domain(self, b):
        """Ends of the interval where phi* is finite; only used to mend a dual point well."""
        return -math.inf, math.inf

    def prox_conjugate(self, v, b, sigma):
        """argmin_y { sigma phi*(y) + (y - v)^2 / 2 }.

        Default: y = v - sigma u where u is the root of the increasing sigma u + phi'(u) - v,
        found by bisection to the last bit. Right for any convex phi, but slow: write your own.
        """
        reach = 1.0
        at_zero = self.derivative(0.0, b) - v
        while True:  # double until [-reach, reach] holds the root
            if at_zero < 0.0:
                if sigma * reach + self.derivative(reach, b) - v >= 0.0:
                    break
            elif -sigma * reach + self.derivative(-reach, b) - v <= 0.0:
                break
            if reach > 1e300:
                break
            reach *= 2.0
        low, high = (0.0, reach) if at_zero < 0.0 else (-reach, 0.0)
        for _ in range(2000):
            u = 0.5 * (low + high)
            if u <= low or u >= high:
                break
            if sigma * u + self.derivative(u, b) - v < 0.0:
                low = u
            else:
                high = u
        # y is a subgradient between the ends: this keeps it in the domain when v - sigma u cancels
        y = v - sigma * (0.5 * (low + high))
        return min(max(y, self.derivative(low, b)), self.derivative(high, b))

    def prox_near(self, v, b, sigma, y):
        """The same to within a thousandth of the way from y, for methods that repeat it anyway."""
        return self.prox_conjugate(v, b, sigma)

    @property
    def L(self) -> float:
        """Lipschitz constant of phi; infinite if there is none."""
        return math.inf

    @property
    def gamma(self) -> float:
        """Phi is (1/gamma)-smooth, phi* is gamma-strongly convex; 0 if neither."""
        return 0.0

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        """(l1, l2) if phi*(y) = b y + l1 |y| + l2/2 y^2 on its domain, else None."""
        return None

    @property
    def growth(self) -> float:
        """Such that |phi'''| <= growth phi''; infinite if there is none."""
        return math.inf

    @property
    def label_kind(self) -> str:
        """What b may be: 'sign' (-1 or +1), 'real' or 'count' (real, not negative)."""
        return "real"

    @property
    def positive_only(self) -> bool:
        """Of a 'count': whether b must not be zero either."""
        return False

    @property
    def quadratic(self) -> bool:
        """Whether phi(u) = (u - b)^2 / 2 and nothing else: a Gram matrix then tells it all."""
        return False

    @property
    def probabilities(self) -> bool:
        """Whether 1 / (1 + exp(-u)) is the probability of the label +1."""
        return False
