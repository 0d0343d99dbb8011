"""The names that a shell completes, written down: to import the models and languages takes half a second. A test holds
them equal to what there is."""

MODELS = (
    "all-ones", "alternating-tree", "anbn", "and-of-ors", "contains-one", "dot-dense", "dot-sparse", "dyck1-depth2",
    "dyck1-depth3", "first-symbol", "flip-flop", "induction-head", "or-of-ands", "parity-attempt", "parity8",
    "q-then-u", "random", "shared-hubs", "tagger", "tribes", "tribes-trap",
)  # fmt: skip
SOFT_MODELS = ("first", "parity", "random")
LANGUAGES = (
    "(aa)*", "1*", "anbn", "cfg", "dfa", "dyck", "first", "flip-flop", "majority", "palindromes", "parity", "regex",
    "shuffle-dyck",
)  # fmt: skip
