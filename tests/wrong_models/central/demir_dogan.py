"""One gradient step: the two equivalent models of the theorems."""

from __future__ import annotations

from wrong_models.trial import Central

CENTRAL: tuple[Central, ...] = ()
