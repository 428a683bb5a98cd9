"""``abi demo``: a conversation that survives the kill of its process, measured and checked.

``script`` says what is said; ``librarian`` is the agent; ``child`` runs turns in a process of its
own and reports over ``protocol``; ``supervising`` starts, kills and restarts that process;
``checking`` judges what it reported; ``report`` prints it.
"""

from __future__ import annotations
