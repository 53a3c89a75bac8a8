"""What judges a model from outside: scores of translations, hidden states, heads switched off."""
