"""Reads the documents that the season process publishes. Each is decoded once, until its file is replaced."""

from collections import OrderedDict
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec

from host.season.documents import AdminDocument, AuthorDocument, SiteDocument, TokensDocument
from host.season.site.errors import not_found, unpublished

MAX_CACHED_DOCUMENTS = 512
MAX_NAME_BYTES = 200  # of a file: the file system's own limit is 255

Signature = tuple[int, int, int]
D = TypeVar("D", bound=msgspec.Struct)


class Loaded(NamedTuple, Generic[D]):
    """A document, and what identifies the file that it was read from: inode, modification time and size."""

    value: D
    signature: Signature


class Published:
    """The folder `published/` of a season."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache: OrderedDict[str, Loaded[msgspec.Struct]] = OrderedDict()

    def site(self) -> Loaded[SiteDocument]:
        """Return the document of the season as a whole. Raise Refusal if it is missing or damaged."""
        return self.required("site.json", SiteDocument)

    def tokens(self) -> TokensDocument:
        """Return the hashes of all secrets. Raise Refusal if they are missing or damaged."""
        return self.required("private/tokens.json", TokensDocument).value

    def author(self, name: str) -> Loaded[AuthorDocument]:
        """Return what an author sees. For an author who has done nothing yet it may be missing, and then it is empty."""
        found = self.optional(f"private/authors/{name}.json", AuthorDocument) if usable(name) else None
        return found or Loaded(AuthorDocument(name, (), (), (), (), {}), (0, 0, 0))

    def admin(self) -> Loaded[AdminDocument]:
        """Return what the organiser sees. Raise Refusal if it is missing or damaged."""
        return self.required("private/admin.json", AdminDocument)

    def required(self, name: str, kind: type[D]) -> Loaded[D]:
        """Return a document of every season. Raise Refusal (503) if it is missing or damaged."""
        found = self.optional(name, kind)
        if found is None:
            raise unpublished(name, "the season has not published this yet")
        return found

    def named(self, folder: str, name: str, kind: type[D], what: str) -> Loaded[D]:
        """Return a document that a visitor has named. Raise Refusal: 404 if there is none, 503 if it is damaged."""
        found = self.optional(f"{folder}/{name}.json", kind) if usable(name) else None
        if found is None:
            raise not_found(f"there is no {what} of this name", name[:MAX_NAME_BYTES])
        return found

    def optional(self, name: str, kind: type[D]) -> Loaded[D] | None:
        """Return a document; None if there is no such file. Raise Refusal (503) if it is damaged."""
        try:
            signature = signature_of(self.folder / name)
            if signature is None:
                return None
            known = self._cache.get(name)
            if known is None or known.signature != signature or not isinstance(known.value, kind):
                value = msgspec.json.decode((self.folder / name).read_bytes(), type=kind)
                known = self._cache[name] = Loaded(value, signature)
                while len(self._cache) > MAX_CACHED_DOCUMENTS:
                    self._cache.popitem(last=False)
            self._cache.move_to_end(name)
        except FileNotFoundError:  # removed since it was looked at
            return None
        except OSError as error:
            raise unpublished(name, f"cannot be read: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unpublished(name, "is damaged, or another version of croupier has published it") from error
        return Loaded(known.value, known.signature)  # type: ignore[arg-type]

    def file(self, name: str, below: str = "") -> Path:
        """Return the path of a file that a document names. Raise Refusal (404) if it is missing or lies elsewhere."""
        top = (self.folder / below).resolve()
        path = (top / name).resolve()
        if "\0" in name or not path.is_relative_to(top) or not path.is_file():
            raise not_found("the season does not keep this file any more", name)
        return path


def usable(name: str) -> bool:
    """Return whether a name can be the name of a file in a folder of documents, and of no other file."""
    return (
        bool(name)
        and not name.startswith(".")
        and "/" not in name
        and name.isprintable()
        and len(name.encode(errors="replace")) <= MAX_NAME_BYTES
    )


def signature_of(path: Path) -> Signature | None:
    """Return what identifies the content of a regular file; None if there is none. Raise OSError if it cannot be told."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
