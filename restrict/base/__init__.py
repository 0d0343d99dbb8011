"""What every room stands on: errors, files, time, text, arrays; it knows nothing of models."""
