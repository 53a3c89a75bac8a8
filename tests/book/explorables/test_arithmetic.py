"""The kit's arithmetic, run in Chromium, beside PyTorch's."""

import json

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.book.explorables.base import BUILT
from d2lattn.kernel_regression import KERNELS, leave_one_out_error, nadaraya_watson

pytestmark = pytest.mark.browser

KIT = BUILT.with_name("kit")

quick = settings(
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
plain = st.floats(-50, 50, allow_nan=False).map(lambda x: round(x, 6))


@pytest.fixture(scope="module")
def js(chromium):
    """Call a function of the kit: js("softmax", [1, 2])."""
    page = chromium.new_page()

    def serve(route):
        path = KIT / route.request.url.rsplit("/", 1)[1]
        # A style sheet is nothing that a browser imports; the build takes it out.
        body = path.read_text(encoding="utf-8") if path.suffix == ".js" else ""
        route.fulfill(body=body, content_type="text/javascript")

    page.route("http://kit.test/*.*", serve)
    page.route("http://kit.test/", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://kit.test/")
    page.evaluate("import('/index.js').then((kit) => Object.assign(globalThis, kit))")

    def call(name, *arguments):
        text = page.evaluate(
            f"a => JSON.stringify({name}(...a), (k, v) => "
            "typeof v === 'number' && !Number.isFinite(v) ? String(v) : v)",
            list(arguments),
        )
        return json.loads(text)

    yield call
    page.close()


def floats(found):
    """JSON has no NaN: it arrives as a word."""
    return [floats(one) for one in found] if isinstance(found, list) else float(found)


def close(found, wanted):
    found = torch.tensor(floats(found), dtype=torch.float64)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6, equal_nan=True)


@given(st.lists(plain, min_size=1, max_size=12))
@quick
def test_softmax_and_entropy(js, scores):
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64), 0)
    close(js("softmax", scores), weights)
    close(js("entropy", weights.tolist()), torch.special.entr(weights).sum())


@given(st.lists(st.tuples(plain, st.booleans()), min_size=1, max_size=10))
@quick
def test_masked_softmax(js, pairs):
    scores = torch.tensor([score for score, _ in pairs], dtype=torch.float64)
    mask = torch.tensor([seen for _, seen in pairs])
    wanted = torch.softmax(scores.masked_fill(~mask, -torch.inf), 0).nan_to_num(0.0)
    close(js("softmax", scores.tolist(), mask.tolist()), wanted)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
@quick
def test_matrix_product(js, n, k, m, seed):
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(n, k, dtype=torch.float64, generator=generator)
    b = torch.randn(k, m, dtype=torch.float64, generator=generator)
    close(js("matmul", a.tolist(), b.tolist()), a @ b)
    close(js("dot", a[0].tolist(), b[:, 0].tolist()), a[0] @ b[:, 0])
    close(js("variance", a[0].tolist()), a[0].var(unbiased=False))


@given(
    st.lists(st.tuples(plain, plain), min_size=2, max_size=12),
    plain,
    st.floats(0.01, 100),
    st.sampled_from(sorted(KERNELS)),
)
@quick
def test_kernel_regression(js, points, query, bandwidth, kernel):
    keys, values = torch.tensor(points, dtype=torch.float64).T
    wanted, weights = nadaraya_watson(
        torch.tensor([query], dtype=torch.float64), keys, values, bandwidth, KERNELS[kernel]
    )
    keys_, values_ = keys.tolist(), values.tolist()
    close(js("kernelWeights", query, keys_, bandwidth, kernel), weights[0])
    close(js("kernelPrediction", query, keys_, values_, bandwidth, kernel), wanted[0])
    error = leave_one_out_error(keys, values, bandwidth, KERNELS[kernel])
    close(js("leaveOneOutError", keys_, values_, bandwidth, kernel), error)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_kernels_at_their_edge(js, kernel):
    for u in (-1.0, 1.0, 0.0):
        close(js(f"kernels.{kernel}", u), KERNELS[kernel](torch.tensor(u, dtype=torch.float64)))
