"""Let a learner from the package index play Pazaak through `croupier.env`, and measure the speed of the environment.

    python benchmarks/learn.py [--decisions 60000] [--rounds 3]     (pip install 'croupier[env]' scikit-learn)

The learner is scikit-learn's HistGradientBoostingRegressor. It predicts the share of the score at the end of a table
from the view and the move. In each round it plays some decisions against sample:dumb_bold, half of them drawn at first,
and is fitted again to all of them. Then it plays 2 000 new tables without drawn moves. The seeds are fixed.

The speed is that of 64 tables with moves that cost nothing, against `croupier.play` with one worker on the same bot, in
interleaved rounds: decisions of all seats a second.
"""

import argparse
import time
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import croupier

OPPONENT = "sample:dumb_bold"
TABLES, TEST_TABLES, SPEED_ROUNDS, SPEED_STEPS = 64, 2000, 5, 400
GOAL = 20


def features(view: Any) -> list[float]:
    """Return a view as numbers."""
    mine, theirs = sum(view.your_hand), sum(view.opponent_hand)
    ours, other = (view.wins_one, view.wins_two) if view.player_one else (view.wins_two, view.wins_one)
    fits = max((card for card in view.your_side_deck if mine + card <= GOAL), default=0)
    return [
        mine,
        theirs,
        ours,
        other,
        view.opponent_action == "STAND",
        view.opponent_side_cards_left,
        fits,
        mine + fits,
    ]


def hand_share(before: Any, after: Any | None, reward: float) -> float | None:
    """Return 1, ½ or 0 for a hand that has ended between two views of a seat; None if it goes on."""
    if after is None:
        return float(reward == 3)
    mine = [
        (view.wins_one, view.wins_two) if view.player_one else (view.wins_two, view.wins_one)
        for view in (before, after)
    ]
    if mine[0] != mine[1]:
        return float(mine[1][0] > mine[0][0])
    return 0.5 if len(after.your_hand) < len(before.your_hand) else None


class Learner:
    """Chooses the move with the highest predicted share of hands won."""

    def __init__(self, moves: int, seed: int) -> None:
        self._moves, self._chance = moves, np.random.default_rng(seed)
        self._inputs: list[list[float]] = []
        self._results: list[float] = []
        self._model: HistGradientBoostingRegressor | None = None

    def choose(self, views: list[Any], masks: Any, drawn: float) -> Any:
        """Return a move for each view; a share of them is drawn among the legal moves."""
        values = self._chance.random((len(views), self._moves))
        if self._model is not None:
            rows = [[*features(view), move] for view in views for move in range(self._moves)]
            predicted = self._model.predict(np.array(rows)).reshape(len(views), self._moves)
            keep = self._chance.random(len(views)) >= drawn
            values[keep] = 1 + predicted[keep]
        return np.where(masks, values, -1.0).argmax(axis=1)

    def play(self, env: Any, decisions: int, drawn: float, *, learns: bool) -> float:
        """Play a number of decisions. Return the share of tables won."""
        observed, _ = env.reset()
        open_moves: list[list[list[float]]] = [[] for _ in range(env.num_envs)]
        won = ended = 0
        for _ in range(decisions // env.num_envs):
            views = env.views
            moves = self.choose(views, observed["action_mask"], drawn)
            observed, rewards, over, _, _ = env.step(moves)
            for index, (before, after) in enumerate(zip(views, env.views, strict=True)):
                open_moves[index].append([*features(before), float(moves[index])])
                share = hand_share(before, None if over[index] else after, rewards[index])
                if share is not None and learns:
                    self._inputs += open_moves[index]
                    self._results += [share] * len(open_moves[index])
                if share is not None:
                    open_moves[index] = []
            won, ended = won + int((rewards[over] == 3).sum()), ended + int(over.sum())
        return won / ended

    def learn(self) -> None:
        """Fit the model to all moves so far."""
        self._model = HistGradientBoostingRegressor(random_state=1, categorical_features=[8]).fit(
            np.array(self._inputs), np.array(self._results)
        )


def speed() -> tuple[float, float]:
    """Return the decisions a second of the environment and of `croupier.play`, both with one C bot or two."""
    env = croupier.env("pazaak", [OPPONENT], tables=TABLES).vector()
    env.reset(seed=1)
    began = time.perf_counter()
    for _ in range(SPEED_STEPS):
        env.step(np.array([int(sum(view.your_hand) >= 17) for view in env.views]))
    stepped = 2 * TABLES * SPEED_STEPS / (time.perf_counter() - began)
    env.close()
    played = croupier.play("pazaak", [OPPONENT, "sample:dumb_cautious"], tables=4000, seed=1, workers=1)
    asked = sum(len([event for event in played.table(n).events if event["ev"] == "ask"]) for n in range(1, 101)) * 40
    return stepped, asked / played.seconds


def main() -> None:
    """Print the share of tables won after each round, and the speed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--decisions", type=int, default=60_000, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    env = croupier.env("pazaak", [OPPONENT], tables=TABLES).vector()
    env.reset(seed=7)
    learner = Learner(env.single_action_space.n, 7)
    for number in range(1, chosen.rounds + 1):
        learner.play(env, chosen.decisions, 1.0 if number == 1 else 0.2, learns=True)
        learner.learn()
        won = learner.play(env, 20 * TEST_TABLES, 0.0, learns=False)
        print(f"after {number * chosen.decisions} decisions: {won:.1%} of the tables won against {OPPONENT}")
    env.close()
    stepped, played = (median(values) for values in zip(*(speed() for _ in range(SPEED_ROUNDS)), strict=True))
    print(
        f"{stepped:.0f} decisions a second through the environment, {played:.0f} by croupier.play: {stepped / played:.2f}"
    )


if __name__ == "__main__":
    main()
