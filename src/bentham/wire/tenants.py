"""Tenants and tokens."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import RequestBody, ResponseBody, Slug, Text, Weight

Role = Literal["admin", "tenant", "device"]


class Limits(RequestBody):
    """The limits of a tenant; None means no limit."""

    running_trials: Annotated[int, Field(ge=0, le=10**9)] | None = None
    device_seconds_per_day: Annotated[float, Field(ge=0.0, le=1e12)] | None = None


class TenantCreate(RequestBody):
    """A new tenant."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "vision", "weight": 2.0, "limits": {"running_trials": 4}}]
        }
    )

    name: Slug
    weight: Weight = 1.0
    limits: Limits = Limits()


class TenantChange(RequestBody):
    """Changes of a tenant; fields that are left out stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"weight": 3.0}]})

    weight: Weight | None = None
    limits: Limits | None = None


class TenantView(ResponseBody):
    """A tenant, the owner of studies, and its usage, which includes running trials."""

    name: str
    weight: float
    limits: Limits
    created: float
    studies: int
    open_studies: int
    running_trials: int
    device_seconds: float
    device_seconds_today: float


class TokenCreate(RequestBody):
    """A new token. `tenant` is required for the role tenant and refused for the others.

    `expires_in` is in seconds; by default the token does not expire.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"role": "tenant", "tenant": "vision", "expires_in": 2592000}]
        }
    )

    role: Role
    tenant: Slug | None = None
    label: Text = ""
    expires_in: Annotated[float, Field(gt=0.0, le=1e10)] | None = None


class TokenView(ResponseBody):
    """A token without its secret, which is not stored."""

    id: str
    role: Role
    tenant: str | None
    label: str
    created: float
    expires: float | None
    revoked: float | None


class IssuedToken(TokenView):
    """A newly issued token; only this response contains its secret."""

    secret: str
