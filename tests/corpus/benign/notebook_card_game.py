import random
from collections import Counter
from enum import IntEnum
from itertools import product
from typing import NamedTuple


class Suit(IntEnum):
    CLUBS = 0
    DIAMONDS = 1
    HEARTS = 2
    SPADES = 3


class Card(NamedTuple):
    rank: int
    suit: Suit

    def __str__(self):
        names = {11: "J", 12: "Q", 13: "K", 14: "A"}
        return f"{names.get(self.rank, self.rank)}{'♣♦♥♠'[self.suit]}"


def classify(hand):
    ranks = sorted((c.rank for c in hand), reverse=True)
    counts = sorted(Counter(ranks).values(), reverse=True)
    flush = len({c.suit for c in hand}) == 1
    straight = len(set(ranks)) == 5 and ranks[0] - ranks[4] == 4
    match counts, flush, straight:
        case _, True, True:
            return "straight flush"
        case [4, *_], _, _:
            return "four of a kind"
        case [3, 2], _, _:
            return "full house"
        case _, True, _:
            return "flush"
        case _, _, True:
            return "straight"
        case [3, *_], _, _:
            return "three of a kind"
        case [2, 2, _], _, _:
            return "two pairs"
        case [2, *_], _, _:
            return "pair"
    return "high card"


deck = [Card(r, s) for r, s in product(range(2, 15), Suit)]
random.seed(1)
random.shuffle(deck)
for i in range(4):
    hand = sorted(deck[i * 5:i * 5 + 5], reverse=True)
    print(*hand, "->", classify(hand))
print(classify([Card(r, Suit.HEARTS) for r in range(6, 11)]), max(deck), len(deck), Suit(2).name)
tally = Counter(classify(random.sample(deck, 5)) for _ in range(2000))
print(tally.most_common(4))
