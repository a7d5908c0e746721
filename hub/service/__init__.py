"""The use cases of the hub; `Service` is the only place that opens transactions."""

from hub.service.service import Service

__all__ = ["Service"]
