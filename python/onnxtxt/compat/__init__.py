"""Modules with the interfaces of other packages."""
