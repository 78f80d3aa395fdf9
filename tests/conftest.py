"""Settings of all tests."""

import os

from hypothesis import HealthCheck, settings

# Machines are busy: an example that takes long is no failure. Where a change is judged, the same examples are tried
# every time; elsewhere new ones are.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("judge", settings.get_profile("house"), derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") else "house")
