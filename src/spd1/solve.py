"""solve: read the arguments, pick a method, find a starting point, run."""

from __future__ import annotations

import math
from contextlib import nullcontext
from functools import cache
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from .arguments import problem_of, refuse_unknown
from .certificate.feasible import replace_infeasible
from .certificate.points import dual_from_margins
from .certificate.segments import best_multiple
from .engines.choose import make_engine
from .engines.ledger import Ledger
from .engines.serial import Serial
from .errors import DataError, IncompatibleError, ParameterError
from .kernel.rng import key_of
from .kernel.seeds import check_seed
from .problem import Problem, check_point
from .result import Result

if TYPE_CHECKING:
    from .engines.serial import Engine
    from .loop.checkpoint import Keeper
    from .loop.run import Callback
    from .solvers.base import Method
    from .solvers.sprint.sprint import Sprint

__all__ = ["solve"]

KEPT_BYTES = 2**24
WORTH_KEEPING = 0.05  # relative gap: a point farther away sends other methods astray


@cache
def keep_pages() -> None:
    """Let the C library keep the memory of arrays up to 16 MB that are freed, once a process.

    glibc gives memory back to the system at once until it has seen a block of that size freed;
    then the next arrays, of the next fit too, come without the page faults that cost small fits
    up to a sixth of their time. It holds on to 32 MB at most; elsewhere this does nothing.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


def solve(
    problem: Any,
    y: Any = None,
    *,
    method: str = "auto",
    loss: Any = None,
    l1: Any = None,
    l2: Any = None,
    lower: Any = None,
    upper: Any = None,
    reg: Any = None,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_passes: float | None = None,
    max_seconds: float | None = None,
    steps: str | dict[str, float] = "auto",
    sampling: str = "auto",
    tile: Any = None,
    random_state: Any = 0,
    x0: Any = None,
    y0: Any = None,
    engine: str = "serial",
    n_threads: int | None = None,
    grid: tuple[int, int] | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: str | Path | None = None,
    every: float = 60.0,
    client: Any = None,
    n_workers: int | None = None,
    **unknown: Never,
) -> Result:
    """Minimise a problem until its certified relative duality gap is at most ``tol``.

    ``solve(X, y, loss="logistic", l2=0.1)`` is short for
    ``solve(Problem(X, y, loss="logistic", reg=ElasticNet(l2=0.1)))``.

    Parameters
    ----------
    problem : Problem, or data X of shape (n, d)
        With data, ``y`` and the six arguments after ``method`` say what the problem is.
    y : array of shape (n,), or str
        Labels or targets that go with X: see ``Problem``; labels 0 and 1 are taken as -1 and +1.
        After a Problem, the name of a method: ``solve(problem, "svrg")``.
    method : str
        "auto" picks an engine and says in ``result.method`` which and why: "ascent", "descent",
        "newton-cg" or "newton-gram" (whole solves in one kernel), "newton" (active sets), "learnt"
        (L-BFGS, for data that is cut), "multipliers" (losses with corners on few columns),
        "few-rows", "rows" (row tiles) or "direct" (least squares without penalty); where one stands
        still, "interior" (interior points) goes on. Further "columns" (column tiles), "spd1" and
        "spd1-vr" (Algorithms 1 and 2 of the paper) and what the paper compares with: "psgd",
        "svrg", "saga"; docs/laboratory/family.md has more.
    loss : str or loss, optional
        For data X. Default: "logistic".
    l1, l2, lower, upper : float or array of shape (d,), optional
        For data X: strengths of the penalty and bounds of the coefficients, see ``ElasticNet``.
        Default: none.
    reg : ElasticNet, L1(...), L2(...), Box(...), optional
        For data X, instead of the four numbers above.
    sample_weight : array of shape (n,), optional
        For data X.
    tol : float
        Relative duality gap to reach. Nothing else is called converged.
    max_passes : float, optional
        Limit on entries read / entries stored; everything counts, looks at the certificate and
        sweeps over a few lines included. Default: 2,000; for "newton", whose sweeps over small
        working sets are many and cost little, 500 looks.
    max_seconds : float, optional
        Limit on the time spent, evaluation included, compilation not.
    steps : "auto", "theory", "published" or dict
        "auto" watches the gap and needs no tuning. "theory" takes the step sizes of Theorem 1, 2
        or 3, or refuses by name; those of Theorem 2 with the constants that its proof asks for.
        "published" takes them as they were printed. A dict sets them: ``eta`` and ``tau`` for spd1
        and spd1-vr, ``eta`` for the others; spd1 and psgd also take ``decay`` (divide by
        1 + decay * epoch).
    sampling : {"auto", "uniform", "nonzeros", "importance"}
        For spd1 and spd1-vr: the paper's uniform entries, or stored entries only, each once a pass
        in random order, which is ours: a pass of sparse data then takes as many steps as it has
        entries, and no more passes are needed: spd1-vr took 16 and 12 to 1e-6 on two parts of
        rcv1-subset where uniform entries took 18 and 14 (docs/laboratory/method.md). "auto" takes
        uniform for dense and nonzeros for sparse data. "importance" draws rows and columns of
        dense data by their norms, stored entries of sparse data by their size and that of their
        lines, for data whose norms differ.
    tile : None, "auto" or (rows, columns)
        For spd1 and spd1-vr: None looks at one entry a step, as published; a pair looks at a tile
        of so many consecutive rows and columns. "auto" takes the fastest: a few whole rows.
    random_state : int, None or NumPy generator
        Same seed, same bits.
    x0, y0 : arrays, optional
        Starting points; default argmin g and argmin phi*.
    engine : {"serial", "threads", "async", "dask"}
        Who does the work. "threads" has products with the data, Gram matrices and tasks done by
        several threads; the answer has the same bits for any number of them. "async", for rows,
        spd1 and spd1-vr, lets threads update shared values without locks: **not reproducible**.
        "dask" leaves the chunks of a dask array, or the tiles of a store, on the workers of a
        cluster: see docs/howto/cluster.md. It has the bits of "threads" on the same grid.
    n_threads : int, optional
        Threads of the engine. Default: the cores that this process may use.
    grid : (rows, columns), optional
        Into how many tiles the data is cut, for methods that take tiles. Default: in one piece;
        with engine "threads" "spd1" and "spd1-vr" pick a grid from the data's size.
    callback : callable, optional
        Called with a ``Progress`` row after each evaluation; a true return value stops the run.
    verbose : bool
        Show a live progress line on standard error; in a notebook, a bar.
    checkpoint : path, optional
        A file that keeps the run: where it exists the run goes on from it, else it begins. A run
        that goes on ends with the same bits as one that was never stopped. Ctrl-C and SIGTERM
        write it, too, and limits wait for the end of an epoch. See docs/howto/checkpoints.md.
    every : float
        Seconds between two writings of the checkpoint.
    client : distributed.Client or str, optional
        For engine "dask": the cluster, or the address of its scheduler. Default: the client that
        is there, else processes on this machine, which end with the run.
    n_workers : int, optional
        For engine "dask" without a client: how many processes. Default: one a core.

    Returns
    -------
    Result
        The best certified point seen. Ctrl-C returns it too, with status "interrupted".

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C before a first step: there is no answer yet. While a kernel is compiled Ctrl-C waits
        until it is done.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(40, 10)); b = np.sign(A[:, 0])
    >>> result = spd1.solve(spd1.Problem(A, b, "logistic", spd1.L2(0.1)))
    >>> result.status, result.rel_gap <= 1e-6
    ('converged', True)
    >>> short = spd1.solve(A, b, loss="logistic", l2=0.1)
    >>> bool(np.all(short.x == result.x))
    True
    """
    if unknown:
        refuse_unknown(unknown, list(solve.__kwdefaults__ or {}))
    check_seed(random_state)
    numbers = {"l1": l1, "l2": l2, "lower": lower, "upper": upper}
    problem, method = problem_of(problem, y, method, loss, reg, numbers, sample_weight)
    with engine_of(engine, n_threads, client, n_workers) as workers:
        return _solve(
            problem, method, tol, max_passes, max_seconds, steps, sampling, tile, random_state,
            x0, y0, workers, grid, callback, verbose, checkpoint, every,
        )  # fmt: skip


@cache
def whole_solves() -> Any:
    """What solves in one kernel: imported when first needed, and looked up once."""
    from .solvers.sprint import sprint
    from .solvers.sprint.at_once import solved_at_once

    return sprint, solved_at_once


def engine_of(name: str, n_threads: Any, client: Any, n_workers: Any) -> Engine:
    """The engine of a name, or a refusal; it starts nothing yet."""
    if name != "dask":
        if client is not None or n_workers is not None:
            raise ParameterError(f"client and n_workers are for engine 'dask', not {name!r}")
        return make_engine(name, n_threads)
    if n_threads is not None:
        raise ParameterError("engine 'dask' has the threads of its workers: leave n_threads out")
    if n_workers is not None:
        whole = hasattr(n_workers, "__index__") and not isinstance(n_workers, bool)
        if not whole or n_workers < 1:
            raise ParameterError(f"n_workers must be a whole number from 1 on, got {n_workers!r}")
        if client is not None:
            raise ParameterError("a client has its workers: leave n_workers out")
    from .cluster.engine import Dask

    return Dask(client, n_workers)


def _solve(
    problem: Problem, method: str, tol: float, max_passes: float | None, max_seconds: float | None,
    steps: str | dict[str, float], sampling: str, tile: Any, random_state: Any, x0: Any, y0: Any,
    workers: Engine, grid: Any, callback: Callback | None, verbose: bool,
    checkpoint: str | Path | None, every: float,
) -> Result:  # fmt: skip
    """The same with an engine at hand."""
    _positive(tol, "tol")
    for name, limit in (("max_passes", max_passes), ("max_seconds", max_seconds)):
        if limit is not None:
            _positive(limit, name)
    if grid is not None:
        problem = problem.with_grid(problem.grid.cut(*check_grid(grid)))
    elif method in ("spd1", "spd1-vr") and tile is None and sampling != "importance":
        problem = cut_for_threads(problem, steps, workers)
    if hasattr(workers, "place"):
        problem = workers.place(problem)
    ledger = Ledger(problem.stored, max_passes, max_seconds)
    problem = problem.watched(ledger, None if isinstance(workers, Serial) else workers)
    if workers.racing and method == "auto":
        raise IncompatibleError("engine 'async' needs a method: 'rows', 'spd1' or 'spd1-vr'")
    if workers.racing and checkpoint is not None:
        raise IncompatibleError(
            "engine 'async' has no state to keep in a checkpoint: use engine 'serial' or 'threads'"
        )
    keep_pages()
    key, keeper, kept = key_of(random_state), None, None
    if checkpoint is not None:
        from .loop.checkpoint import Keeper
        from .loop.run import Run

        settings = {
            "method": method, "steps": steps, "sampling": sampling, "tile": tile,
            "random_state": None if random_state is None else int(key), "x0": x0, "y0": y0,
            "engine": type(workers).__name__.lower(), "grid": problem.grid.shape,
        }  # fmt: skip
        limits = {"tol": tol, "max_passes": max_passes, "max_seconds": max_seconds}
        others = {"engine": workers}
        keeper = Keeper(checkpoint, every, problem, ledger, settings, limits, others)
        kept = keeper.read()
        if isinstance(kept, Run):
            from .engines.blas import one_thread

            with one_thread(), keeper.listening():
                return kept.go_on(tol, callback, verbose, keeper)
    sprints, solved_at_once = whole_solves()
    found = kept if isinstance(kept, sprints.Sprint) else None
    plain = method == "auto" and y0 is None and steps == "auto" and tile is None
    if plain and x0 is not None:
        plain = sprints.kind_of(problem, tol) in sprints.FROM_ANYWHERE
    if plain and found is None:
        start = None if x0 is None else better_start(problem, x0)
        if keeper is None and not verbose:
            begun: Any = None
            if callback is None and start is None:
                begun = solved_at_once(problem, tol, key, ledger)
                if isinstance(begun, Result):
                    return begun
            found = sprints.sprint(problem, tol, key, ledger, callback, begun=begun, x0=start)
        else:
            found = sprint_in_view(
                problem, tol, key, ledger, callback, verbose, keeper, kept, start
            )  # fmt: skip
    ended: Sprint | None = found if found is not None and found.status else None
    if ended is not None and (ended.certificate.rel_gap <= tol or ended is not kept):
        return ended.result(ledger)
    return run_method(
        problem, method, tol, steps, sampling, tile, key, x0, y0, workers, callback, verbose,
        ledger, keeper, found,
    )  # fmt: skip


def sprint_in_view(
    problem: Problem, tol: float, key: np.uint64, ledger: Ledger, callback: Callback | None,
    verbose: bool, keeper: Keeper | None, begun: Any, x0: np.ndarray | None,
) -> Sprint | None:  # fmt: skip
    """A sprint that somebody watches, or that is kept."""
    from .kernel.announce import watching
    from .loop.checkpoint import listening
    from .loop.progress import ProgressLine
    from .solvers.sprint.sprint import sprint

    line = ProgressLine("auto", tol) if verbose else None
    with watching(line.compiling) if line else nullcontext(), listening(keeper):
        told = callback if line is None else line.telling(callback)
        found = sprint(problem, tol, key, ledger, told, keeper, begun, x0)
        if keeper is not None and found is not None and found.status == "converged":
            keeper.pause(found, found.status)
    return found


@np.errstate(all="ignore")  # what overflows is infinite, and certified as such
def run_method(
    problem: Problem, method: str, tol: float, steps: str | dict[str, float], sampling: str,
    tile: Any, key: np.uint64, x0: Any, y0: Any, workers: Engine, callback: Callback | None,
    verbose: bool, ledger: Ledger, keeper: Keeper | None, found: Sprint | None,
) -> Result:  # fmt: skip
    """Run a method in the outer loop, from where a sprint has ended if there was one."""
    # Not above: these bring the loop, all methods and SciPy's linear algebra.
    from .control.steps import make_rule
    from .engines.blas import one_thread
    from .loop.checkpoint import listening
    from .loop.run import Run
    from .solvers.auto import pick
    from .solvers.registry import builder, method_class

    chosen_here, given = method == "auto", x0 is not None
    if found is not None and found.certificate.rel_gap <= WORTH_KEEPING:
        x0, y0 = found.x, found.certificate.y
    with one_thread(), listening(keeper):
        label = f"{method} (async: not reproducible)" if workers.racing else method
        if chosen_here:
            method, reason = pick(problem)
            before = "" if found is None else f"{found.kind}, then "
            if method == "rows" and "newton" in before:
                method, reason = "newton", "columns that depend on each other"
            if method == "interior" and given:
                method, reason = "newton", "interior would begin anew, far from x0"
            label = f"auto: {before}{method} ({reason})"
        make = builder(method, problem, tile, workers.racing)
        kind = method_class(method)
        x, y, v = starting_point(problem, x0, y0, kind)
        worker = make(problem, sampling, key, ledger)
        worker.tol = tol
        worker.work_with(workers)
        run = Run(problem, worker, make_rule(worker, steps), tol, ledger, label, chosen_here)
        if chosen_here and method == "interior":  # whose end is no answer: newton would go on
            run.may_switch = False
            run.retired = method_class("newton")(problem, "auto", key, ledger)
            run.retired.work_with(workers)
        if found is not None:  # what it has proven stands, and so do its looks
            run.trace.rows.extend(found.rows)
            run.looks_before = len(found.rows)
            run.look(found.x, found.certificate.y)
        elif x0 is not None or y0 is not None:
            point, _ = run.look(x, y)  # a run never hands back less than it was given
            if not math.isfinite(point.value):
                raise DataError("x0 is too far away: the objective is not finite there")
        if x0 is not None and chosen_here:
            least = problem.reg.minimiser(problem.d)
            if problem.primal(x) > problem.primal(least):  # auto knows a better place to start from
                x, y, v = starting_point(problem, None, y0, kind)
        return run.go(x, y, v, callback, verbose, keeper)


def better_start(problem: Problem, x0: Any) -> np.ndarray:
    """x0, checked, or where all penalties are least if that is better."""
    x, _, _ = starting_point(problem, x0, None)
    value, least = problem.primal(x), problem.reg.minimiser(problem.d)
    if not math.isfinite(value):
        raise DataError("x0 is too far away: the objective is not finite there")
    return x if value <= problem.primal(least) else least


def cut_for_threads(problem: Problem, steps: Any, workers: Engine) -> Problem:
    """The problem on the grid whose rounds threads share, for steps on entries.

    "rows" shares its work by blocks of rows instead, which was faster than rounds. Theorems are
    about draws from all the data: their steps stay on one tile.
    """
    from .engines.threads import Threads
    from .solvers.rounds import picked_grid

    whole = problem.grid.shape == (1, 1) and problem.grid.at_hand
    if not whole or type(workers) is not Threads or steps in ("theory", "published"):
        return problem
    shape = picked_grid(problem)
    return problem if shape == (1, 1) else problem.with_grid(problem.grid.cut(*shape))


def _positive(value: Any, name: str) -> None:
    if type(value) is float and value > 0.0:  # nearly always
        return
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise ParameterError(f"{name} must be a positive number, got {value!r}")


def check_grid(grid: Any) -> tuple[int, int]:
    """Rows and columns of a grid, or a refusal."""
    try:
        rows, columns = (index(size) for size in grid)
    except (TypeError, ValueError):
        rows, columns = 0, 0
    if rows < 1 or columns < 1:
        raise ParameterError(f"grid must be a pair of whole numbers from 1 on, got {grid!r}")
    return rows, columns


def starting_point(
    problem: Problem, x0: Any, y0: Any, kind: type[Method] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Default x0 = argmin g, y0_i = argmin phi_i* = phi_i'(0); given points must be feasible.

    Some methods take the multiple of y0 with the best bound: argmin phi* may be far from optimal.
    Then v = -A'(c y0) is known, too.
    """
    minimiser = problem.reg.minimiser(problem.d)
    flat = dual_from_margins(problem, np.zeros(problem.n))
    x, y = minimiser, flat
    if x0 is not None:
        x = check_point(x0, problem.d, "x0").copy()
        if not np.all(np.isfinite(x)):
            raise DataError("x0 has infinite values")
        if np.any(x < problem.reg.lower) or np.any(x > problem.reg.upper):
            raise DataError("x0 is outside the feasible set")
        empty = problem.grid.column_counts_where(problem.c > 0) == 0
        x[empty] = minimiser[empty]  # columns without data are solved in closed form
    if y0 is not None:
        y = check_point(y0, problem.n, "y0").copy()
        if replace_infeasible(y.copy(), y, problem.b, problem.loss):
            raise DataError(f"y0 is outside the domain of the conjugate of {problem.loss}")
        empty = problem.grid.row_counts == 0
        y[empty] = flat[empty]  # and so are empty rows
    elif kind is not None and kind.scales_start(problem):
        y = dual_from_margins(problem, problem.margins(x)) if np.any(x) else flat
        dual = best_multiple(problem, y)
        empty = (problem.row_norms_squared if kind.reads_norms else problem.grid.row_counts) == 0
        return x, np.where(empty, flat, dual.y) if np.any(empty) else dual.y, dual.v
    return x, y, None
