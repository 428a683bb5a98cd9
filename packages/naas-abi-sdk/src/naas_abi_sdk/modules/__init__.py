"""Modules in processes of their own: what one declares, how it is run, how its agents are reached.

:mod:`.declaring` is what a module's author writes, :mod:`.running` its process, :mod:`.hosting` and
:mod:`.turns` answer callers there, and :mod:`.calling` is the caller's side. They speak the
messages of ``abi.turns.v1`` on the subjects of :mod:`.subjects`.
"""
