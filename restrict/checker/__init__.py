"""The trusted base: does this proof show what this file claims about this model?

``python -m restrict.checker MODEL CERTIFICATE``, or this folder alone: ``python -I FOLDER MODEL CERTIFICATE PROOF``. It
uses the standard library, imports nothing of the package and searches for nothing. Its contract (exit codes, one line,
steps and memory) is docs/checker.md, its theorems are in docs/trusted-base.md, the files that it reads in
docs/format.md and docs/kernel-format.md.

``account``     rejections, and the account of steps and memory
``read``        strict JSON, the fields of a format from a table, runs of positions
``tensors``     inline tensors and safetensors files
``normal_form`` a program in normal form: code, its values and intervals; reads `restrict-program/1`
``rules``       what a map or a score is: expressions, tables, dot products, and the code that each becomes
``formats``     the model at one length, and the claim of a certificate
``lower``       the model as a program
``kernel``      Theorem K: what is known, and the rule of each line of a proof; ``tree`` for lower bounds
``proof``       reads `restrict-kernel/1`, line by line, for the kernel
``refutation``  Corollary 2: a certificate with two words, of which one is in a language
``lower_bound`` how many positions each label takes at the least
``one_length``  what one of these three files claims, compared with what a proof concludes
``all_lengths`` Theorem B: claims about every length, with ``claims``, ``costs``, ``equations``, ``evaluate``,
                ``labelling``, ``lengths``, ``machines``, ``positions``, ``program``, ``rows`` and ``window``
``soft``        Theorem S: what softmax models' outputs can differ by, with ``soft_terms``, ``soft_model``,
                ``soft_sets``, ``soft_layers`` and ``soft_run``; the files are in docs/soft-format.md
``verdict``     signs of a trained model's logits on all words of a language, with ``verdict_model``,
                ``verdict_numbers``, ``verdict_forms`` and ``verdict_paths``: docs/soft-verdicts.md
``verdict_every``   the same at every length, for models without position embeddings
``main``        which module verifies which format; from Python, ``main.verify`` on bytes
``__main__``    the command line
"""
