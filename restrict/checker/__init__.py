"""The trusted base: does this certificate prove its claim about this model?

``python -m restrict.checker MODEL CERTIFICATE``, or this folder alone: ``python -I FOLDER MODEL CERTIFICATE``. It uses
the standard library, imports nothing of the package and searches for nothing. Its contract (exit codes, one line,
steps and memory) is docs/checker.md, its theorems are in docs/trusted-base.md, the files that it reads in
docs/format.md.

``account``     rejections, and the account of steps and memory
``read``        strict JSON, the fields of a format from a table, runs of positions
``tensors``     inline tensors and safetensors files
``rules``       what a map or a score is: expressions with interval analysis, tables, dot products
``formats``     the model at one length, and the certificate
``kernel``      Theorems A and A': the abstract run, and the comparison with the claim
``refutation``  Corollary 2: a certificate with two words, of which one is in a language
``lower_bound`` Theorem C: no few fixed positions force a label
``all_lengths`` Theorem B: claims about every length, with ``claims``, ``costs``, ``equations``, ``labelling``,
                ``lengths``, ``machines``, ``positions``, ``program``, ``rows`` and ``window``
``soft``        Theorem S: what softmax models' outputs can differ by, with ``soft_terms``, ``soft_model``,
                ``soft_sets``, ``soft_layers`` and ``soft_run``; the files are in docs/soft-format.md
``verdict``     signs of a trained model's logits on all words of a language, with ``verdict_model``,
                ``verdict_numbers``, ``verdict_forms`` and ``verdict_paths``: docs/soft-verdicts.md
``verdict_every``   the same at every length, for models without position embeddings
``main``        which module verifies which format; from Python, ``main.verify`` on bytes
``__main__``    the command line
"""
