"""Strings, and counts of sequences of tokens."""

import numpy as np

ASCII = ["a", "b", "A b", "monday", "Monday", "TUESDAY", "a,b,,c", "1.5", "a.b", "user@host.org"]
WORDS = ["", "été", "ÉTÉ", " x  y ", "straße", *ASCII]
PATTERNS = ["a", "[a-z]*", r"\w+", ".*", "(a|b)", "[A-Z][a-z]+", r"\d+\.\d", "a.b", "(?i)monday", "x?"]
PATTERNS.append(r"[^@]+@[^@]+\.[a-z]{2,3}")


def words(d, dims, of=WORDS):
    return np.array([d.one(of) for _ in range(int(np.prod(dims, dtype=int)))], object).reshape(dims)


def concat(d):
    d.since(20)
    dims = d.dims(0, 4)
    d.node("StringConcat", [d.input(words(d, d.fit(dims)), "string") for _ in range(2)])


def normalize(d):
    d.since(10)
    dims = d.one([[d.int(1, 5)], [1, d.int(1, 5)]])
    d.node(
        "StringNormalizer",
        # Of other letters, the reference leaves out accents, and ONNX Runtime wants a locale that a machine may not have.
        [d.input(words(d, dims, ASCII), "string")],
        case_change_action=d.maybe(d.one(["LOWER", "UPPER", "NONE"])),
        is_case_sensitive=d.maybe(d.int(0, 1)),
        stopwords=d.maybe(d.random.sample(ASCII, d.int(1, 3))),
    )


def split(d):
    d.since(20)
    delimiter = d.one([None, "", " ", ",", ".", "ab", "  "])
    # Of an empty string, one that a delimiter does not occur in, ONNX Runtime makes no part.
    x = words(d, d.dims(0, 3), WORDS if not delimiter else WORDS[1:])
    d.node("StringSplit", [d.input(x, "string")], 2, delimiter=delimiter, maxsplit=d.maybe(d.int(0, 2)))


def match(d):
    d.since(20)
    pattern = d.one(PATTERNS)
    d.node("RegexFullMatch", [d.input(words(d, d.dims(0, 3)), "string")], pattern=pattern)


def count(d):
    d.since(9)
    of = d.one(["int32", "int64", "string"])
    dims = d.one([[d.int(0, 8)], [d.int(1, 3), d.int(1, 8)]])
    if of == "string":
        x = np.array([d.one("abcd") for _ in range(int(np.prod(dims)))], object).reshape(dims)
    else:
        x = d.array(of, dims, 0, 3)
    least = d.int(1, 2)
    most = d.int(least, 3)
    pool, starts = [], []
    for n in range(1, most + 1):
        starts.append(len(pool))
        seen = {tuple(d.int(0, 3) for _ in range(n)) for _ in range(d.int(0 if n < most else 1, 3))}
        pool += [token for gram in sorted(seen) for token in gram]
    grams = sum((b - a) // n for n, (a, b) in enumerate(zip(starts, [*starts[1:], len(pool)]), 1))
    places = list(range(grams))
    d.random.shuffle(places)
    attributes = {"pool_strings": ["abcd"[p] for p in pool]} if of == "string" else {"pool_int64s": pool}
    d.node(
        "TfIdfVectorizer",
        [d.input(x, of)],
        mode=d.one(["TF", "IDF", "TFIDF"]),
        min_gram_length=least,
        max_gram_length=most,
        max_skip_count=d.int(0, 3),
        ngram_counts=starts,
        ngram_indexes=places,
        weights=d.maybe([d.int(1, 8) / 4 for _ in places]),
        **attributes,
    )


DRAWS = [
    ("string_concat", concat),
    ("string_normalize", normalize),
    ("string_split", split),
    ("match", match),
    ("count", count),
    ("count_more", count),
]
