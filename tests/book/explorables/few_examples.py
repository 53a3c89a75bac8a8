"""How many random states a test opens, in one window after another."""

from hypothesis import HealthCheck, settings

few = settings(
    deadline=None,
    max_examples=6,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
