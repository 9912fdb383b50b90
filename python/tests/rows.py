# SPDX-License-Identifier: MIT
from html.parser import HTMLParser

import numpy as np


def make_rows(rows, seed=0, dtype=np.float64, ties=None):
    """Labelled rows of a model that overrates what it is uncertain of; with ties: of so many distinct values."""
    random = np.random.default_rng(seed)
    score = random.random(rows) ** 2
    uncertainty = random.random(rows)
    if ties:
        score, uncertainty = np.round(score * ties) / ties, np.round(uncertainty * ties) / ties
    y = random.random(rows) < score ** (1 + uncertainty)
    return y, score.astype(dtype), uncertainty.astype(dtype)


def make_shops(seed=0, shops=1500, rows=30_000):
    """Training rows and labelled rows of shops, as columns with a score and a label, and the training rows of each labelled row's shop.

    The paper's process: a shop has a rate from Beta(1.5, 8.5) and 2 to 60 training rows; its score is the posterior mean by a prior that is
    too weak. The other columns tell nothing; ``number`` counts rows. ``chance`` is a label that depends on the score alone.
    """
    random = np.random.default_rng(seed)
    rate = random.beta(1.5, 8.5, shops)
    size = (2 * 30 ** random.random(shops)).astype(int)
    score = (random.binomial(size, rate) + 0.3) / (size + 2)

    def table(shop):
        count = len(shop)
        return {
            "number": list(range(count)),
            "shop": [f"s{at}" for at in shop],
            "shade": [None if at == 3 else ["red", "green", "blue"][at] for at in random.integers(0, 4, count)],
            "age": [None if value < 0.05 else 100 * value for value in random.random(count).tolist()],
            "plan": random.integers(1, 5, count).tolist(),
        }

    train = table(np.repeat(np.arange(shops), size))
    asked = random.integers(0, shops, rows)
    data = table(asked)
    data["score"] = score[asked].tolist()
    data["label"] = (random.random(rows) < rate[asked]).astype(int).tolist()
    data["chance"] = (random.random(rows) < score[asked]).astype(int).tolist()
    return train, data, size[asked]


class Page(HTMLParser):
    """A notebook's page as a reader sees it: tables of texts, paragraphs, and the names of all tags."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.paragraphs, self.tags = [], [], []
        self._text = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th", "p", "caption"):
            self._text = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self._text)
        elif tag in ("p", "caption"):
            self.paragraphs.append(self._text)

    def handle_data(self, text):
        if self._text is not None:
            self._text += text
