"""Train chapter 4b's two translators, hide each state in turn, and store what they looked at.

usage: python benchmarks/looks.py   (three minutes; d2lattn/book/experiments/looks.npz)
"""

import numpy as np
import torch

import d2lattn as d2l
from d2lattn.book.experiments.looks import FILE, KINDS, MODELS, NUM_SENTENCES
from d2lattn.corpus import Vocabulary, batches, load_corpus


def main():
    """Store weights, log-probabilities and whether each word was right."""
    torch.set_num_threads(1)
    corpus = load_corpus(num_train=42_000)
    vocabs = (
        Vocabulary(pair.source for pair in corpus.train),
        Vocabulary(pair.target for pair in corpus.train),
    )
    stored = {}
    for name in MODELS:
        torch.manual_seed(0)
        encoder = d2l.Seq2SeqEncoder(
            len(vocabs[0]), 64, 128, 1, bidirectional=name == "bidirectional"
        )
        decoder = d2l.Seq2SeqAttentionDecoder(len(vocabs[1]), 64, 128, 1, 0.1, bridge=False)
        model = d2l.EncoderDecoder(encoder, decoder)
        d2l.train(
            model,
            lambda generator: batches(corpus.train, *vocabs, 64, generator=generator),
            num_epochs=2,
            learning_rate=5e-3,
            decay_share=0.6,
            progress=True,
        )
        rows = {kind: [] for kind in KINDS}
        for pair in corpus.test[:NUM_SENTENCES]:
            (batch,) = batches([pair], *vocabs, 1)
            chances = d2l.hide_each_state(model, batch.source, batch.target)[0, :-1]
            d2l.teacher_forced_attention(model, batch)
            words = batch.target[0, :-1]  # without <eos>
            index = words.reshape(-1, 1, 1).expand(-1, chances.shape[1], 1)
            rows["weights"].append(model.decoder.attention_weights[0, :-1].half())
            rows["log_chance"].append(chances.gather(2, index).squeeze(2).log().half())
            rows["right"].append(chances.argmax(dim=-1) == words.unsqueeze(1))
        for kind, parts in rows.items():
            stored[f"{name} {kind}"] = torch.cat([part.flatten() for part in parts]).numpy()
    np.savez_compressed(FILE, **stored)
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
