"""The search for restrictions: untrusted, fast, free to be clever; every result is confirmed by the abstract run."""
