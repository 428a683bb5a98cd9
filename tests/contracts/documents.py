"""What every document store promises: one class, run against each of them.

A test module derives from :class:`DocumentContract` and supplies the fixture ``documents``: an
empty store, which it closes itself. Only the port is used, so that a store may be anything.
"""

from __future__ import annotations

from tests.contracts.document_port.declaring import CollectionContract
from tests.contracts.document_port.grouping import GroupingContract
from tests.contracts.document_port.matching import MatchingContract
from tests.contracts.document_port.paging import PagingContract
from tests.contracts.document_port.storing import StoringContract
from tests.contracts.document_port.uniqueness import UniquenessContract
from tests.contracts.document_port.versions import VersionContract
from tests.contracts.document_port.writing import WritingContract

__all__ = ["DocumentContract"]


class DocumentContract(
    StoringContract,
    VersionContract,
    CollectionContract,
    UniquenessContract,
    MatchingContract,
    PagingContract,
    GroupingContract,
    WritingContract,
):
    """Tests of the document port."""
