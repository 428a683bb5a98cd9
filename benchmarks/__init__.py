"""LangGraph's checkpoint savers and ours, side by side in one run: ``python -m benchmarks``."""
