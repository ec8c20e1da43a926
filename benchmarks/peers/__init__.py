"""Hand-written code that generated code is measured against."""
