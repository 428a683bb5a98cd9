"""Creating, replacing and deleting at a version."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from naas_abi_sdk.document.types import (
    Delete,
    Put,
)
from naas_abi_sdk.errors import (
    DocumentNotFound,
    InvalidArgument,
    VersionConflict,
)
from tests.contracts.document_port.common import NS, DocumentPortContract


class VersionContract(DocumentPortContract):
    """Creating, replacing and deleting at a version."""

    def test_put_with_version_0_only_creates(self, store):
        assert store.put(NS, "c", "x", {"n": 1}, if_version=0).version == 1
        with pytest.raises(VersionConflict):
            store.put(NS, "c", "x", {"n": 2}, if_version=0)
        assert store.get(NS, "c", "x").data == {"n": 1}

    def test_put_with_a_version_replaces_exactly_that(self, store):
        with pytest.raises(VersionConflict):
            store.put(NS, "c", "x", {}, if_version=1)
        created = store.put(NS, "c", "x", {"n": 1})
        replaced = store.put(NS, "c", "x", {"n": 2}, if_version=1)
        assert replaced.version == 2
        assert replaced.created_at == created.created_at
        for version in (1, 3):
            with pytest.raises(VersionConflict):
                store.put(NS, "c", "x", {"n": 3}, if_version=version)
        assert store.get(NS, "c", "x").data == {"n": 2}

    def test_delete_with_a_version_removes_exactly_that(self, store):
        store.delete(NS, "c", "x")
        store.put(NS, "c", "x", {})
        for version in (0, 2):
            with pytest.raises(VersionConflict):
                store.delete(NS, "c", "x", if_version=version)
        store.delete(NS, "c", "x", if_version=1)
        for version in (0, 1):
            with pytest.raises(VersionConflict):
                store.delete(NS, "c", "x", if_version=version)
        with pytest.raises(DocumentNotFound):
            store.get(NS, "c", "x")

    @pytest.mark.parametrize("version", [-1, True, 1.0, "1", 2**63])
    def test_versions_that_are_none_are_refused(self, store, version):
        for refused in (
            lambda: store.put(NS, "c", "x", {}, if_version=version),
            lambda: store.delete(NS, "c", "x", if_version=version),
            lambda: store.write(NS, [Put("c", "x", {}, version)]),
            lambda: store.write(NS, [Delete("c", "x", version)]),
        ):
            with pytest.raises(InvalidArgument, match="if_version"):
                refused()

    def test_of_concurrent_replacements_one_wins(self, store):
        store.put(NS, "c", "x", {"n": 0})

        def replace(number):
            try:
                store.put(NS, "c", "x", {"n": number}, if_version=1)
            except VersionConflict:
                return None
            return number

        with ThreadPoolExecutor(8) as threads:
            winners = [n for n in threads.map(replace, range(1, 17)) if n is not None]
        assert len(winners) == 1
        document = store.get(NS, "c", "x")
        assert (document.version, document.data) == (2, {"n": winners[0]})

    def test_concurrent_counting_up_loses_nothing(self, store):
        store.put(NS, "c", "x", {"n": 0})

        def add(_):
            while True:
                document = store.get(NS, "c", "x")
                try:
                    store.put(
                        NS, "c", "x", {"n": document.data["n"] + 1}, if_version=document.version
                    )
                except VersionConflict:
                    continue
                return

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(40)))
        assert store.get(NS, "c", "x").data == {"n": 40}
