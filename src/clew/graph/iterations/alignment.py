"""Which node of one graph is which of another, by structure: lines of the source do not count.

In three stages, each of which leaves alone what those before it have matched:

1. Parts that were computed alike: the same operations from the same leaves, the largest first, with all below them.
2. From there to neighbours: the node at the same input, or that uses the same output, if it is the same operation.
3. What lies between two changes, and so has no matched neighbour: in the order of the two graphs.

A pair whose neighbours are matched with others than each other's is accepted only if as many agree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from .snapshot import NO_INPUT, Snapshot

UNMATCHED = -1
_MOST_IN_ORDER = 3000  # nodes of each graph in the third stage, which takes quadratic time

Use = tuple[int, int, int]  # the node that uses it, as which of its inputs, which output it uses


class _Side:
    """One of the two graphs, with what is asked of it again and again."""

    def __init__(self, graph: Snapshot, common_leaves: set[int]) -> None:
        self.graph = graph
        self.labels: list[Hashable] = [
            leaf if leaf in common_leaves else look.name for look, leaf in zip(graph.looks, graph.leaves, strict=True)
        ]
        self.match = [UNMATCHED] * graph.nodes
        self.users: list[list[Use]] = [[] for _ in range(graph.nodes)]
        for node in range(graph.nodes):
            for position, (below, output) in enumerate(self.edges(node)):
                if below != NO_INPUT:
                    self.users[below].append((node, position, output))

    def edges(self, node: int) -> Iterator[tuple[int, int]]:
        return zip(self.graph.inputs[node], self.graph.outputs[node], strict=True)

    def near(self, node: int) -> Iterator[tuple[int, ...]]:
        """The nodes beside one, and how each is connected with it."""
        for position, (below, output) in enumerate(self.edges(node)):
            if below != NO_INPUT:
                yield below, 0, position, output
        for user, position, output in self.users[node]:
            yield user, 1, position, output

    def open_ends(self, node: int) -> set[tuple[int, ...]]:
        """How a node is connected with unmatched nodes that are no leaves."""
        return {
            tuple(how) for near, *how in self.near(node) if self.match[near] == UNMATCHED and self.graph.inputs[near]
        }

    def heights(self) -> list[int]:
        """The length of the longest way from each node down to an input."""
        heights: list[int] = []
        for inputs in self.graph.inputs:
            heights.append(1 + max((heights[below] for below in inputs if below != NO_INPUT), default=0))
        return heights

    def computations(self, labels: Sequence[Hashable], numbers: dict[Hashable, int]) -> list[int]:
        """Equal numbers for nodes that were computed alike, from the leaves on."""
        found: list[int] = []
        for node, label in enumerate(labels):
            inputs = tuple((found[below] if below != NO_INPUT else below, output) for below, output in self.edges(node))
            found.append(numbers.setdefault((label, inputs), len(numbers)))
        return found

    def purposes(self, numbers: dict[Hashable, int]) -> list[int]:
        """Equal numbers for nodes from which the graph goes on alike, to its end."""
        found = [0] * self.graph.nodes
        for node in reversed(range(self.graph.nodes)):
            uses = tuple(sorted((found[user], position, output) for user, position, output in self.users[node]))
            found[node] = numbers.setdefault((self.labels[node], uses), len(numbers))
        return found


class Alignment:
    """The pairs of two graphs."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        common = (set(before.leaves) & set(after.leaves)) - {0}
        self._sides = self._a, self._b = _Side(before, common), _Side(after, common)
        self._match_computations()
        self._match_roots()
        self._spread(range(before.nodes))
        self._match_in_order()

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Which node of the first graph is which of the second."""
        return [(one, other) for one, other in enumerate(self._a.match) if other != UNMATCHED]

    @property
    def removed(self) -> list[int]:
        """The nodes of the first graph that are not in the second."""
        return [one for one, other in enumerate(self._a.match) if other == UNMATCHED]

    @property
    def added(self) -> list[int]:
        """The nodes of the second graph that are not in the first."""
        return [other for other, one in enumerate(self._b.match) if one == UNMATCHED]

    def is_rewired(self, one: int, other: int) -> bool:
        """Whether the nodes of a pair have inputs that are in both graphs and not each other's."""
        edges, others = list(self._a.edges(one)), list(self._b.edges(other))
        if len(edges) != len(others):
            return True
        for (below, output), (other_below, other_output) in zip(edges, others, strict=True):
            if NO_INPUT in (below, other_below):
                if below != other_below:
                    return True
            elif UNMATCHED not in (self._a.match[below], self._b.match[other_below]) and (
                self._a.match[below] != other_below or output != other_output
            ):
                return True
        return False

    def _pair(self, one: int, other: int) -> bool:
        if self._a.match[one] != UNMATCHED or self._b.match[other] != UNMATCHED:
            return False
        self._a.match[one], self._b.match[other] = other, one
        return True

    def _match_computations(self) -> None:
        numbers: dict[Hashable, int] = {}
        rough = [side.computations(side.labels, numbers) for side in self._sides]
        exact = [
            side.computations(list(zip(side.labels, side.graph.looks, strict=True)), numbers) for side in self._sides
        ]
        purpose = [side.purposes(numbers) for side in self._sides]
        whole = [side.computations(one, numbers) for side, one in zip(self._sides, purpose, strict=True)]
        levels: list[dict[int, list[int]]] = [{}, {}]
        for level, side in zip(levels, self._sides, strict=True):
            for node, height in enumerate(side.heights()):
                level.setdefault(height, []).append(node)
        for height in sorted(levels[0].keys() & levels[1].keys(), reverse=True):
            # Of several that were computed alike, those with the same shapes and purpose go first.
            for keys in ((exact, whole), (whole,), (exact, purpose), (exact,), (rough, purpose), (rough,)):
                self._match_level([level[height] for level in levels], keys)

    def _match_level(self, nodes: Sequence[Sequence[int]], keys: Sequence[Sequence[Sequence[int]]]) -> None:
        waiting: dict[Hashable, deque[int]] = {}
        for other in nodes[1]:
            if self._b.match[other] == UNMATCHED:
                waiting.setdefault(tuple(key[1][other] for key in keys), deque()).append(other)
        for one in nodes[0]:
            alike = waiting.get(tuple(key[0][one] for key in keys)) if self._a.match[one] == UNMATCHED else None
            if alike:
                self._match_below(one, alike.popleft())

    def _match_below(self, one: int, other: int) -> None:
        """Match two nodes that were computed alike, and all that they were computed from."""
        stack = [(one, other)]
        while stack:
            one, other = stack.pop()
            if self._pair(one, other):
                inputs = zip(self._a.graph.inputs[one], self._b.graph.inputs[other], strict=True)
                stack += [pair for pair in inputs if NO_INPUT not in pair]

    def _match_roots(self) -> None:
        """What the graphs end in, in its order."""
        roots = [[node for node, users in enumerate(side.users) if not users] for side in self._sides]
        for one, other in zip(*roots, strict=False):
            if self._a.labels[one] == self._b.labels[other]:
                self._pair(one, other)

    def _spread(self, start: Iterable[int]) -> None:
        """Match neighbours of matched nodes, first where nothing speaks against it."""
        known = [one for one in start if self._a.match[one] != UNMATCHED]
        for forgiving in (False, True):
            stack = known[::-1]
            while stack:
                one = stack.pop()
                for near, other in self._neighbours(one, self._a.match[one]):
                    if self._may_pair(near, other, forgiving):
                        self._pair(near, other)
                        stack.append(near)
                        known.append(near)

    def _neighbours(self, one: int, other: int) -> Iterator[tuple[int, int]]:
        """Pairs that may be matched because these two are."""
        for (below, output), (other_below, other_output) in zip(self._a.edges(one), self._b.edges(other), strict=False):
            if NO_INPUT not in (below, other_below) and output == other_output:
                yield below, other_below
        waiting: dict[Hashable, deque[int]] = {}
        for user, *use in self._b.users[other]:
            if self._b.match[user] == UNMATCHED:
                waiting.setdefault((self._b.labels[user], *use), deque()).append(user)
        for user, *use in self._a.users[one]:
            alike = waiting.get((self._a.labels[user], *use)) if self._a.match[user] == UNMATCHED else None
            if alike:
                yield user, alike.popleft()

    def _may_pair(self, one: int, other: int, forgiving: bool) -> bool:
        """Whether two nodes are alike, unmatched, and their matched neighbours each other's: all, or at least half."""
        if self._a.match[one] != UNMATCHED or self._b.match[other] != UNMATCHED:
            return False
        if self._a.labels[one] != self._b.labels[other]:
            return False
        mine = {(match, *how) for near, *how in self._a.near(one) if (match := self._a.match[near]) != UNMATCHED}
        others = {(near, *how) for near, *how in self._b.near(other) if self._b.match[near] != UNMATCHED}
        agreeing, conflicts = mine & others, mine ^ others
        if not conflicts or not forgiving:
            return not conflicts
        # Where a side has an unmatched node, one may have been inserted there.
        open_ends = self._a.open_ends(one) | self._b.open_ends(other)
        return len(agreeing) >= len({tuple(how) for _, *how in conflicts} - open_ends)

    def _match_in_order(self) -> None:
        removed, added = self.removed, self.added
        if max(len(removed), len(added)) > _MOST_IN_ORDER:
            return
        labels = [self._a.labels[one] for one in removed], [self._b.labels[other] for other in added]
        found = []
        for first, second, size in SequenceMatcher(None, *labels, autojunk=False).get_matching_blocks():
            for one, other in zip(removed[first : first + size], added[second : second + size], strict=True):
                if self._may_pair(one, other, forgiving=True) and self._pair(one, other):
                    found.append(one)
        self._spread(found)
