"""What each command does in a few words, and the examples at the end of its help. A test runs all examples, in this
order, so that they stay true; another test checks that no line of the list is cut."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "new": ("new --list", "new random:layers=2,heads=2,states=4,seed=1 -o model.json"),
    "run": ("run and-of-ors 010011010",),
    "certify": (
        "certify and-of-ors -n 100 -o certificate.json",
        "certify random:layers=1,heads=2,states=2,every=1 -n 50 --target all --free 0.8",
    ),
    "check": ("check and-of-ors certificate.json", "check and-of-ors certificate.json --json"),
    "elaborate": ("elaborate and-of-ors certificate.json -o certificate.proof",),
    "show": ("show certificate.json --model and-of-ors",),
    "report": ("report certificate.json -o report.html", "report certificate.json --figure figure.svg"),
    "tighten": ("tighten and-of-ors certificate.json",),
    "explain": ("explain induction-head --input abcdabca",),
    "lower-bound": ("lower-bound and-of-ors -n 25 -o bound.json",),
    "bounds": ("bounds -L 1 -H 2 -C 0.9",),
    "language": ("language parity -n 100", "language 'regex:(ab)*' -n 20"),
    "refute": ("refute parity-attempt -L parity -n 100 -o refutation.json",),
    "automaton": ("automaton instances/brasp-ab-star.json -o ab-star-dfa.json",),
    "verify": ("verify instances/brasp-ab-star.json -L 'regex:(ab)*'",),
    "compile": ("compile 'once (1 and previous 1)' --alphabet 0,1 -o contains-11.json",),
    "simulate": ("simulate induction-head -n 6 -o soft.json",),
    "import": ("import b-rasp instances/brasp-dyck1-depth2.txt -o dyck.json",),
    "sweep": ("sweep grid.toml", "sweep grid.toml --recheck"),
    "warm-up": ("warm-up --list",),
    "soft influence": ("soft influence random:layers=1,seed=1 -n 16,32 --samples 100",),
    "soft certify": (
        "soft certify parity -n 12 --epsilon 0.5 -o soft-certificate.json",
        "soft certify instances/trained/tomita2-1l1h16d.safetensors -n 60",
    ),
    "soft check": ("soft check parity soft-certificate.json",),
    "soft cross-entropy": ("soft cross-entropy parity -L parity -n 8,16",),
    "soft run": ("soft run parity 0110 0111",),
    "soft verify": (
        "soft verify checkpoint.safetensors -n 20 -o verdict.json",
        "soft verify instances/trained/tomita1-1l1h16d-nope.safetensors --all-lengths",
        "soft verify checkpoint.safetensors -n 20 --equals '0' --inputs 'regex:(10)*'",
    ),
    "soft write": ("soft write parity -o parity-soft.json",),
    "soft import": (
        "soft import encoder.safetensors --heads 2 --alphabet 01 -o encoder.json",
        "soft import checkpoint.safetensors --weights new.safetensors",
    ),
    "soft export": ("soft export soft.json -n 6 -o induction-head.safetensors",),
}
SHORT = {
    "automaton": "What a model recognises at every length.",
    "bounds": "What Theorem 1 alone promises, by layers and heads.",
    "certify": "Fix few positions so that the output is forced.",
    "check": "Verify a certificate by the trusted checker.",
    "elaborate": "Write every step of a proof down, for the kernel.",
    "compile": "Logic or a star-free language to a transformer.",
    "explain": "Few symbols that force the output on one input.",
    "import": "Transformer Programs, B-RASP, exact weights.",
    "language": "Forcing cost of a language, and what follows.",
    "lower-bound": "Prove that fewer positions do not force the output.",
    "new": "Write the file of a built-in or random model.",
    "refute": "Two words: the model does not recognise a language.",
    "report": "One offline HTML page, or a figure, of any result.",
    "run": "A model on one word, variable by variable.",
    "show": "The same as `report`, as text.",
    "simulate": "Hard attention by softmax, and the error.",
    "soft": "Softmax transformers: influence, bounds, files.",
    "sweep": "A grid of models and lengths, resumable.",
    "tighten": "Remove claimed dependencies, by SAT.",
    "warm-up": "Compile all kernels now, and say where they are.",
    "verify": "Prove a language or an equality at every length.",
    "soft certify": "Fix few tokens so that the others move little.",
    "soft check": "Check a soft certificate in exact arithmetic.",
    "soft cross-entropy": "Theorem 6: optimum, bound and measured value.",
    "soft export": "Weights at one length as an nn.Module's.",
    "soft import": "A safetensors file of weights to a model file.",
    "soft influence": "How far one symbol can move the output.",
    "soft run": "A softmax model on words.",
    "soft verify": "Decide if a trained model is right on a language.",
    "soft write": "Write the file of a built-in softmax model.",
}
"""The lists of commands, on terminals of 80 columns."""
FIRST = (
    "certify and-of-ors -n 10000",
    "explain induction-head --input abcdabca",
    "refute parity-attempt -L parity -n 100",
)
"""What the help of the program itself proposes to try."""


def epilog(command: str) -> str | None:
    """The end of a command's help. ``command``: its name, such as ``certify`` or ``soft check``; empty for the program
    itself. Result: its examples, kept line by line by click; ``None`` where there are none."""
    lines = EXAMPLES.get(command, ()) if command else FIRST
    return "\n".join(["\b", "Examples:", *(f"  restrict {line}" for line in lines)]) if lines else None
