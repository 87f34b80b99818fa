"""Pure decisions: values in, values out; no file, clock, process or network."""
