"""The hub's settings: arguments, then environment `JIRA_HUB_*`, then `settings.toml` in its home."""

import os
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource
from pydantic_settings.exceptions import SettingsError

from hub.errors import Unready
from hub.logs import Form
from relay.ports import Ids

DEFAULT_HOME: Final = "~/.local/share/jira-hub"
DEFAULT_PORT: Final = 8765
_PREFIX: Final = "JIRA_HUB_"
LinkName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]


class ServedLink(BaseModel):
    """One pair of hub and agent: `[[links]]` in the settings file, or what the top of the file says of the only one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: LinkName
    share: Path | None = None  # else that of the top
    project: str | None = None
    link_types: tuple[str, ...] = ()

    @field_validator("share")
    @classmethod
    def _without_tilde(cls, path: Path | None) -> Path | None:
        return _absolute(path)

    @property
    def folder(self) -> Path | None:
        """Its own folder inside the share."""
        return None if self.share is None else self.share / self.name


class HubSettings(BaseSettings):
    """Everything the hub can be told before it starts; what can change while it runs is in its database."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="forbid")

    home: Path = Field(default=Path(DEFAULT_HOME), description="where database, token, backups and relay state stand")
    share: Path | None = Field(default=None, description="the folder hub and agent both see")
    database_url: str | None = Field(
        default=None, pattern="^postgres(ql)?://", description="a PostgreSQL database; else hub.sqlite in the home"
    )
    link: LinkName = Field(default="main", description="the pair of hub and agent, or which of several is meant")
    host: str = Field(default="127.0.0.1", description="address the API listens on")
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65_535, description="port of the API; 0 takes a free one")
    project: str | None = Field(default=None, description="key of the only Jira project creations may report")
    link_types: tuple[str, ...] = Field(default=(), description="logical link type names; empty: not checked")
    links: tuple[ServedLink, ...] = Field(default=(), description="further pairs of hub and agent")
    log_format: Form = Field(default="text", description="of the log on stderr: text or json")
    durability: str = Field(default="full", pattern="^(full|none)$", description="of the relay's files")

    @field_validator("home", "share")
    @classmethod
    def _without_tilde(cls, path: Path | None) -> Path | None:
        return _absolute(path)

    @field_validator("links")
    @classmethod
    def _each_once(cls, links: tuple[ServedLink, ...]) -> tuple[ServedLink, ...]:
        names = [link.name for link in links]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the link {twice[0]} stands twice")
        return links

    @property
    def served(self) -> tuple[ServedLink, ...]:
        """Every link of this hub. The top of the file stands for one where it names it, or where there is no other."""
        further = tuple(link if link.share else link.model_copy(update={"share": self.share}) for link in self.links)
        if further and (self._is_among(self.links) or "link" not in self.model_fields_set):
            return further
        return (
            ServedLink(name=self.link, share=self.share, project=self.project, link_types=self.link_types),
            *further,
        )

    @property
    def default_link(self) -> str | None:
        """The link that is meant where none is named; None where there are several and nothing tells."""
        return self.link if self._is_among(self.served) else self.served[0].name if len(self.served) == 1 else None

    def _is_among(self, links: Iterable[ServedLink]) -> bool:
        return any(link.name == self.link for link in links)

    def link_named(self, name: str | None) -> ServedLink:
        """The link of that name, the default one for None. Raises `Unready` with the nearest right name."""
        wanted = name or self.default_link
        names = [link.name for link in self.served]
        if wanted is None:
            raise Unready(f"which link? {', '.join(names)}: name one with --link")
        found = next((link for link in self.served if link.name == wanted), None)
        if found is None:
            raise Unready(f"this hub has no link {wanted}; {nearest_name(wanted, names)}")
        return found

    @property
    def database(self) -> Path:
        return self.home / "hub.sqlite"

    @property
    def backups(self) -> Path:
        return self.home / "backups"

    @property
    def mark(self) -> Path:
        return self.home / "hub.mark"

    @property
    def token_file(self) -> Path:
        return self.home / "token"


def load_settings(home: Path | None = None, **given: Any) -> HubSettings:
    """The settings of a home; `given` (flags, None for those not given) win. Raises `Unready` in one line."""
    folder = (home or Path(os.environ.get(f"{_PREFIX}HOME") or DEFAULT_HOME)).expanduser().absolute()
    file = folder / "settings.toml"
    _refuse_unknown_variables()

    class _OfHome(HubSettings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=file)

    try:
        return _OfHome(home=folder, **{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise Unready("; ".join(_fault(file, dict(found)) for found in error.errors(include_url=False))) from error
    except (SettingsError, ValueError, OSError) as error:  # not JSON in a variable, not TOML in the file, not readable
        raise Unready(f"{file}: {error}") from error


def token_of(settings: HubSettings, ids: Ids) -> str:
    """The bearer token of this home, made where there is none; the file is for its owner alone."""
    path = settings.token_file
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        token = path.read_text(encoding="ascii").strip()
        if not re.fullmatch(r"[!-~]{16,}", token):
            raise Unready(f"{path} holds no token: remove it and start again") from None
        return token
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        token = f"{ids.new_id()}{ids.new_id()}"
        stream.write(f"{token}\n")
    return token


def _refuse_unknown_variables() -> None:
    """A misspelt variable would be passed over in silence, and its setting would keep what it was meant to change."""
    known = [f"{_PREFIX}{name.upper()}" for name in (*HubSettings.model_fields, "url")]  # the url is for commands alone
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name.partition("__")[0] not in known:
            raise Unready(f"the variable {name}: there is no such setting; {nearest_name(name, known)}")


def _fault(file: Path, found: dict[str, Any]) -> str:
    name = ".".join(str(part) for part in found["loc"])
    if found["type"] != "extra_forbidden":
        return f"{name}: {found['msg']} ({file} or {_PREFIX}{name.upper()})"
    table, _, last = name.rpartition(".")
    valid = list(ServedLink.model_fields if table.startswith("links") else HubSettings.model_fields)
    return f"{file}: there is no setting {name}; {nearest_name(last, valid)}"


def nearest_name(name: str, valid: Sequence[str]) -> str:
    """The way out for a name that is none of these."""
    close = get_close_matches(name, valid, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"valid: {', '.join(valid)}"


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.expanduser().absolute()
