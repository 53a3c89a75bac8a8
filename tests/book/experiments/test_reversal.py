"""Words written backwards: the task and its measures."""

import pytest
import torch
from torch.nn import functional as F

from d2lattn import transformer
from d2lattn.book.experiments import reversal


@pytest.fixture
def decoder():
    torch.manual_seed(0)
    return transformer.TransformerDecoder(10, 8, 12, 2, 2, cross_attention=False)


class Mirror(transformer.TransformerDecoder):
    """Writes each word it reads backwards, without a mistake."""

    def __init__(self):
        super().__init__(10, 4, 4, 2, 3, cross_attention=False)

    def forward(self, X, state):
        self.seen = X if state.position == 0 else torch.cat((self.seen, X), dim=1)
        arrow = (self.seen[0] == reversal.ARROW).nonzero()[0, 0].item()
        truth = reversal.complete(self.seen[:, :arrow])
        answers = truth[:, state.position + 1 : self.seen.shape[1] + 1]
        scores = 50 * F.one_hot(answers, 10).float()
        return scores, state._replace(position=self.seen.shape[1])


def test_a_word_is_followed_by_its_letters_from_last_to_first():
    assert reversal.encode(["cafe", "bead"]).tolist() == [
        [2, 0, 5, 4, 8, 4, 5, 0, 2, 9],
        [1, 4, 0, 3, 8, 3, 0, 4, 1, 9],
    ]
    assert [reversal.TOKENS[token] for token in (0, 7, 8, 9)] == ["a", "h", ">", "."]


def test_the_loss_is_that_of_what_comes_after_the_arrow(decoder):
    batch = reversal.encode(["cafe", "bead"])
    loss, count = reversal.reversal_loss(decoder, batch)
    logits, _ = decoder(batch[:, :-1], decoder.init_state())
    chances = logits.log_softmax(-1)
    wanted = [-chances[i, t, batch[i, t + 1]] for i in range(2) for t in range(4, 9)]
    assert count == 10
    assert loss.item() == pytest.approx(sum(wanted).item() / 10, rel=1e-5)
    # The right answer costs nothing, whatever is said before it is asked for.
    assert reversal.reversal_loss(Mirror(), batch)[0].item() == pytest.approx(0, abs=1e-6)


def test_writing_takes_the_likeliest_token_step_by_step(decoder):
    letters = reversal.encode(["cafe", "bead"])[:, :4]
    written = reversal.write(decoder, letters)
    seen = torch.cat((letters, torch.full((2, 1), reversal.ARROW)), dim=1)
    for _ in range(5):
        logits, _ = decoder(seen, decoder.init_state())
        seen = torch.cat((seen, logits[:, -1:].argmax(-1)), dim=1)
    assert torch.equal(written, seen[:, 5:])
    assert decoder.training, "the mode is put back"
