"""The engine of a Dask cluster: the data on its workers, vectors and decisions here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..data.chunked import ChunkedGrid
from ..data.facts import Nobody
from ..data.grid import Grid
from ..data.store_grid import StoreGrid
from ..engines.choose import available_cores
from ..engines.serial import Task
from ..engines.threads import Threads
from ..engines.work import Kept, Made, Room, TileWork
from ..errors import IncompatibleError, ParameterError, install
from ..problem import Problem
from . import tuning
from .grid import ClusterGrid
from .messages import Ask, Blank, Fresh, Place, Sent
from .seats import Seat, Source
from .team import Team

__all__ = ["Dask", "placed", "starts_cluster"]


class Dask(Threads):
    """Tiles on the workers of a cluster; what is small is done here, by threads.

    Parameters
    ----------
    client : distributed.Client, str or None
        A client, the address of a scheduler, or None: the client that is there already, else a
        cluster on this machine, which ends with the ``with`` block.
    n_workers : int, optional
        Processes of that cluster. Default: as many as this process has cores.
    limit : float, optional
        Seconds that any wait for the cluster takes at most.

    Attributes
    ----------
    teams : list of Team
        Who holds the data of the problems that were placed; ``team.traffic`` counts bytes.
    """

    def __init__(
        self, client: Any = None, n_workers: int | None = None, limit: float | None = None
    ) -> None:
        super().__init__(available_cores())
        self.given, self.n_workers, self.limit = client, n_workers, limit
        self.client: Any = None
        self.own: list[Any] = []  # what ends with the block
        self.teams: list[Team] = []

    def __enter__(self) -> Dask:
        self.client = self.given
        if self.given is None or isinstance(self.given, str):
            self.client = self._connected()
        return self

    def _connected(self) -> Any:
        try:
            from distributed import Client, get_client
        except ImportError:
            raise ImportError(install("engine 'dask' needs dask and distributed", "dask")) from None
        if isinstance(self.given, str):
            try:
                client = Client(self.given, set_as_default=False, timeout=tuning.SCHEDULER_WAIT)
            except OSError as error:
                raise ParameterError(f"no scheduler answers at {self.given}: {error}") from None
            self.own = [client]
            return client
        if self.n_workers is None:
            try:
                return get_client()
            except ValueError:
                pass
        cluster = starts_cluster(self.n_workers)
        client = Client(cluster, set_as_default=False)
        self.own = [client, cluster]
        print(f"spd1: a cluster on this machine, {client.dashboard_link}", file=sys.stderr)
        return client

    def __exit__(self, *_: object) -> None:
        self.close()
        for team in self.teams:
            team.close()
        own, self.own, self.teams = self.own, [], []
        for one in own:
            one.close()

    def place(self, problem: Problem) -> Problem:
        """The problem with its data on the workers, looked at and found in order."""
        grid = problem.grid
        if isinstance(grid, ClusterGrid):
            return problem
        if isinstance(grid, ChunkedGrid):
            source = Source.of_array(grid.array)
        elif isinstance(grid, StoreGrid):
            source = Source.of_store(grid.store)
        else:
            raise IncompatibleError(
                "engine 'dask' takes a dask array, or a store of several tiles that every worker "
                "can open: use dask.array.from_array(A, chunks=...), or write_store (spd1 "
                "convert); engine 'threads' is for data in memory"
            )
        team = Team(self.client, source, self.limit)
        self.teams.append(team)
        found = ClusterGrid(team, grid.row_ends, grid.column_ends)
        if isinstance(grid, StoreGrid):
            found.facts.known.update(grid.facts.known)  # they are part of the store
            found.facts.known["checksums"] = grid.checksums, 0.0
        return problem.moved(found)

    def run(self, grid: Grid, tasks: Sequence[Task]) -> float:
        """Run a round on the workers; returns the entries read."""
        if not isinstance(grid, ClusterGrid):
            return super().run(grid, tasks)
        works: dict[Place, TileWork] = {}
        for task in tasks:
            if not isinstance(task.work, TileWork):
                raise IncompatibleError(
                    "this method's steps can't be sent to a cluster: use method 'auto', 'newton', "
                    "'rows', 'spd1' or 'spd1-vr'"
                )
            works[task.row, task.column] = task.work

        def message(seat: Seat, places: list[Place]) -> tuple[Any, ...]:
            return ([asked(seat, place, works[place]) for place in places],)

        found = grid.team.ask(list(works), "run", message)
        read = 0.0
        for place, work in works.items():
            entries, arrays = found[place]
            read += entries
            seat = grid.team.home[place]
            for k, values in zip(work.written, arrays, strict=True):
                argument = work.arguments[k]
                if isinstance(argument, Room):
                    argument.values[...] = values
                else:
                    argument[...] = values
                    seat.heard[echo_name(place, work, k)] = values
        return read


def asked(seat: Seat, place: Place, work: TileWork) -> Ask:
    """A task as a message: what the holder has been sent before stays there."""
    arguments: list[Any] = []
    for k, argument in enumerate(work.arguments):
        if isinstance(argument, Room):
            arguments.append(Blank(argument.values.shape, argument.values.dtype.str))
        elif k in work.written:
            arguments.append(seat.echo(echo_name(place, work, k), argument))
        elif isinstance(argument, (Kept, Made)):
            name = f"{place[0]},{place[1]}: {argument.name}"
            value = argument.value if isinstance(argument, Kept) else argument
            arguments.append(Sent(name) if name in seat.sent else Fresh(name, value))
            seat.sent.add(name)
        else:
            arguments.append(argument)
    return Ask(place, work.function, tuple(arguments), work.written)


def echo_name(place: Place, work: TileWork, k: int) -> str:
    """Under which name a holder keeps what a task wrote: the next one often begins with it."""
    return f"{place[0]},{place[1]}: {work.function.__name__} {k}"


def starts_cluster(n_workers: int | None = None) -> Any:
    """A cluster of processes on this machine, one thread each."""
    from distributed import LocalCluster

    count = available_cores() if n_workers is None else n_workers
    return LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
    )  # fmt: skip


@contextmanager
def placed(problem: Problem, client: Any = None, n_workers: int | None = None) -> Iterator[Problem]:
    """A problem whose data lies on a cluster, for as long as the ``with`` block lasts.

    ``solve`` with engine "dask" does this itself. Use it to solve several problems on the same
    data, or to ask for ``problem.primal(x)``.

    Parameters
    ----------
    problem : Problem
        Of a dask array or a store.
    client, n_workers
        As for ``solve``.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
    ...     with Client(cluster) as client:
    ...         X = da.from_array(np.eye(4), chunks=(2, 2))
    ...         problem = spd1.Problem(X, [1.0, -1.0, 1.0, 2.0], "squared", spd1.L2(1.0))
    ...         with spd1.cluster.placed(problem, client) as here:
    ...             value = here.primal(np.array([1.0, 0.0, 0.0, 0.0]))
    >>> value
    1.25
    """
    with Dask(client, n_workers) as engine:
        yield engine.place(problem).watched(Nobody(), engine)
