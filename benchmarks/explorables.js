// What benchmarks/explorables.py calls in a page.

// Unfold a figure's parts where all that can be moved is folded away.
const unfold = () => {
  const buttons = ':is(.d2lx-film, .d2lx-reads, .d2lx-signs, .d2lx-states) button';
  const hands = `.d2lx input[type=range], .d2lx [role=slider], ${buttons}`;
  if ([...document.querySelectorAll(hands)].some((e) => e.checkVisibility())) return;
  document.querySelectorAll('details').forEach((one) => (one.open = true));
};

// Move a figure once, and return the milliseconds until it is painted. Of two requests around the
// figure's own, the first marks the start of the frame; the second posts a message that arrives
// once the frame is painted.
const move = async (i) => {
  const seen = (name) => [...document.querySelectorAll(name)].filter((e) => e.checkVisibility());
  const buttons = ':is(.d2lx-film, .d2lx-reads, .d2lx-signs, .d2lx-states) button';
  const ranges = seen('.d2lx input[type=range]');
  const points = seen('.d2lx [role=slider]');
  const sliders = ranges.length ? ranges : points.length ? points : seen(buttons);
  const keys = ['ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowDown'];
  const input = sliders[i % sliders.length];
  // Four points get another key in each round.
  const key = keys[(i + Math.floor(i / sliders.length)) % 4];
  const [low, high] = [Number(input.min), Number(input.max)];
  input.value = low + (high - low) * ((i * 0.618) % 1);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return new Promise((done) => {
    let start;
    requestAnimationFrame(() => (start = performance.now()));
    const event = ranges.length
      ? new Event('input', { bubbles: true })
      : points.length
        ? new KeyboardEvent('keydown', { key, shiftKey: true, bubbles: true })
        : new MouseEvent('click', { bubbles: true });
    const before = performance.now();
    input.dispatchEvent(event);
    const handled = performance.now() - before;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => done(handled + performance.now() - start);
      channel.port2.postMessage(0);
    });
  });
};
