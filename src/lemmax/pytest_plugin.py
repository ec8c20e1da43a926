"""pytest plugin: collects theorem files. It must load without importing the heavy parts of lemmax."""
